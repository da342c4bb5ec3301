"""The calls of tasks in flight; each attempt of a task is called once at a time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from emulator.kernel.tasks import TaskGroup
from emulator.kernel.turnstile import Turnstile
from emulator.services.workflow.engine.decide import RUNTIME_ERROR
from emulator.services.workflow.engine.language import Arrival, CallService, Replied, Result
from emulator.services.workflow.engine.run import Run
from emulator.services.workflow.engine.tasks import befallen_result
from emulator.services.workflow.model import ExecutionId

_log = logging.getLogger(__name__)


class Calls:
    """Makes calls and posts their results.

    *perform* makes one call; *post* is given the `Replied` of each that was not cancelled.
    """

    def __init__(
        self,
        perform: Callable[[Run, CallService], Awaitable[Result]],
        post: Callable[[ExecutionId, Arrival], None],
        turns: Turnstile,
    ) -> None:
        self._turns = turns
        self.tasks = TaskGroup("workflow")
        self._perform = perform
        self._post = post
        self._making: dict[ExecutionId, dict[int, tuple[int, asyncio.Task[None]]]] = {}

    def make(self, run: Run, call: CallService) -> None:
        """Start the call of an attempt, unless it is in flight."""
        if not self.is_making(run.id, call):
            task = self.tasks.spawn(self._make(run, call), f"call {run.key(call.entry, call.attempt)}")
            self._making.setdefault(run.id, {})[call.entry] = (call.attempt, task)

    def is_making(self, execution: ExecutionId, call: CallService) -> bool:
        """Whether the call of an attempt is in flight."""
        making = self._making.get(execution, {}).get(call.entry)
        return making is not None and making[0] == call.attempt

    def cancel(self, execution: ExecutionId, entry: int) -> None:
        """Cancel the call of an entry, if one is in flight."""
        making = self._making.get(execution, {}).get(entry)
        if making is not None:
            making[1].cancel()

    def cancel_execution(self, execution: ExecutionId) -> None:
        """Cancel every call of an execution."""
        for _, task in self._making.get(execution, {}).values():
            task.cancel()

    def cancel_all(self) -> None:
        """Cancel and forget every call: the state restored next may ask for the same attempts before these end."""
        for execution in self._making:
            self.cancel_execution(execution)
        self._making.clear()

    async def close(self) -> None:
        """Cancel every call and wait until all have ended."""
        await self.tasks.close()

    async def _make(self, run: Run, call: CallService) -> None:
        turns = self._turns
        try:
            result = await self._perform(run, call) if not turns.active else await self._in_turn(run, call)
        except Exception:
            _log.exception(
                "the call of step %r, execution %s, failed inside the emulator",
                call.step.name,
                run.facts.execution_name,
            )
            result = Result(error=RUNTIME_ERROR, cause="The call could not be made.", refused=True)
        finally:
            self._done(run.id, call)
        self._post(run.id, Replied(call.entry, call.attempt, result))

    async def _in_turn(self, run: Run, call: CallService) -> Result:
        """Make a call in its turn of a schedule of effects, and take its reply in another turn."""
        turns = self._turns
        name = f"{run.facts.flow_name}/{run.facts.execution_name}/{call.step.name}#{call.attempt + 1}"
        try:
            result = await turns.made("call", name, partial(self._perform, run, call), partial(befallen_result, call))
        except BaseException:
            turns.over(name)
            raise
        await turns.turn("reply", name)
        return result

    def _done(self, execution: ExecutionId, call: CallService) -> None:
        """Forget the call made by the current asyncio task, unless another one has replaced it."""
        making = self._making.get(execution, {})
        if call.entry in making and making[call.entry][1] is asyncio.current_task():
            del making[call.entry]
            if not making:
                del self._making[execution]
