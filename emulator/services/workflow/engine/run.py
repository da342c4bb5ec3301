"""Executions in memory while they have something to do, what a slice of such work changes, and the calls it makes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.tasks import TaskGroup
from emulator.services.workflow.engine.events import Event, parse_object
from emulator.services.workflow.engine.language import Arrival, CallService, Facts, Program, Replied, Result
from emulator.services.workflow.engine.snapshot import load
from emulator.services.workflow.engine.state import ExecutionState, apply
from emulator.services.workflow.engine.store import Changes, EngineStore
from emulator.services.workflow.engine.tokens import Mint
from emulator.services.workflow.limits import EXECUTION_S, EXPRESS_S, Bounds
from emulator.services.workflow.model import ExecutionId, LiveExecution, WorldId

if TYPE_CHECKING:
    from emulator.services.workflow.engine.breakpoints import Watch

_log = logging.getLogger(__name__)


class Run:
    """An execution's fixed facts and its state.

    ``deadline`` is when it times out. ``has_rows``: wake-ups or calls may be stored for it, ``has_deadline``: so is
    the one for the deadline. ``snapshot_at`` is the id of the event its stored snapshot was made after (0: none),
    ``snapshot_chars`` how long that is, ``chars_since`` how long the details of all later events. ``watch`` is set
    while it is being debugged.
    """

    __slots__ = (
        "callback_token", "chars_since", "deadline", "facts", "has_deadline", "has_rows", "id", "snapshot_at",
        "snapshot_chars", "started_at", "state", "tenant", "trace", "watch", "world_id",
    )  # fmt: skip

    def __init__(self, live: LiveExecution, facts: Facts, state: ExecutionState, snapshot_at: int) -> None:
        self.id: ExecutionId = live.id
        self.tenant: Tenant = live.tenant
        self.world_id: WorldId = live.world_id
        self.started_at = live.started_at
        self.callback_token = live.callback_token
        self.trace = live.trace
        self.facts = facts
        self.state = state
        longest_s = EXPRESS_S if live.is_express else EXECUTION_S
        timeout_s = facts.program.timeout_s if facts.program.timeout_s is not None else longest_s
        self.deadline = Millis(live.started_at + min(timeout_s, longest_s) * SECOND)
        self.has_rows = live.last_event > 0
        self.has_deadline = False
        self.snapshot_at = snapshot_at
        self.snapshot_chars = len(live.snapshot or "") if snapshot_at else 0
        self.chars_since = 0
        self.watch = None if live.watch is None else _watch(live.watch)

    def key(self, entry: int, attempt: int) -> str:
        """Return the idempotency key of an attempt's effect; the same after a restart."""
        return f"{self.tenant.account}-{self.id}-{self.started_at}-{entry}-{attempt}"


def _watch(text: str) -> "Watch | None":
    from emulator.services.workflow.engine.breakpoints import Watch  # here, because few executions are debugged

    return Watch.load(text)


def load_run(store: EngineStore, live: LiveExecution, program: Program, mint: Mint, bounds: Bounds) -> Run:
    """Bring an execution back to memory: its snapshot, and the events after it.

    Raises: NotAnObject, LookupError or ValueError when what is stored makes no sense.
    """

    def token(entry: int, attempt: int) -> str:
        return mint.make(live.tenant, live.flow_name, live.name, live.started_at, entry, attempt)

    def chance(number: int) -> bytes:
        return mint.chance(live.tenant, live.flow_name, live.name, live.started_at, number)

    facts = Facts(
        program=program,
        flow_name=live.flow_name,
        execution_name=live.name,
        input=parse_object(live.input) if live.last_event == 0 else {},
        token=token,
        halted=live.halted,
        bounds=bounds,
        chance=chance,
        role_arn=live.role_arn,
        is_express=live.is_express,
    )
    state = load(program, live.snapshot) if live.snapshot is not None else None
    snapshot_at = state.last if state is not None else 0
    state = state if state is not None else ExecutionState()
    run = Run(live, facts, state, snapshot_at)
    if live.last_event > snapshot_at:
        for row in store.events_after(live.id, snapshot_at):
            event = read_event(program, row)
            apply(program, state, event, Millis(row[7]))
            run.chars_since += len(event.detail)
    return run


def read_event(program: Program, row: tuple[object, ...]) -> Event:
    """Return an event from a row of `EngineStore.events_after`."""
    event_id, kind, strand, cause, step, detail, mark, _ = row
    return Event(event_id, kind, strand, cause, step, detail, mark, program.decode(kind, detail))  # type: ignore[arg-type]  # columns are typed by the schema


class Slice(Changes):
    """What a slice has changed, and the effects that follow its commit.

    ``orphans`` are abandoned sync tasks, whose child executions and queued calls stop with them.
    """

    __slots__ = ("cancelled", "dispatches", "orphans")

    def __init__(self) -> None:
        super().__init__()
        self.dispatches: list[tuple[Run, CallService]] = []
        self.cancelled: list[tuple[ExecutionId, int]] = []
        self.orphans: list[tuple[Run, CallService]] = []

    def earliest(self) -> Millis | None:
        """Return the earliest time for which a wake-up was set."""
        return min((value[1] for value in self.wakeups.values() if value is not None), default=None)

    def has_effects(self) -> bool:
        """Whether something follows the commit."""
        return bool(self.dispatches or self.cancelled or self.orphans or self.endings)


class Calls:
    """Makes calls and posts what they bring.

    *perform* makes one call; *post* is given the `Replied` of each that was not called off.
    """

    def __init__(
        self,
        perform: Callable[[Run, CallService], Awaitable[Result]],
        post: Callable[[ExecutionId, Arrival], None],
    ) -> None:
        self.tasks = TaskGroup("workflow")
        self._perform = perform
        self._post = post
        self._making: dict[ExecutionId, dict[int, tuple[int, asyncio.Task[None]]]] = {}

    def make(self, run: Run, call: CallService) -> None:
        """Start a call, unless that very attempt is being made."""
        if not self.is_making(run.id, call):
            task = self.tasks.spawn(self._make(run, call), f"call {run.key(call.entry, call.attempt)}")
            self._making.setdefault(run.id, {})[call.entry] = (call.attempt, task)

    def is_making(self, execution: ExecutionId, call: CallService) -> bool:
        """Whether that attempt is being made."""
        making = self._making.get(execution, {}).get(call.entry)
        return making is not None and making[0] == call.attempt

    def cancel(self, execution: ExecutionId, entry: int) -> None:
        """Call off the call of an entry, if there is one."""
        making = self._making.get(execution, {}).get(entry)
        if making is not None:
            making[1].cancel()

    def cancel_execution(self, execution: ExecutionId) -> None:
        """Call off every call of an execution."""
        for _, task in self._making.get(execution, {}).values():
            task.cancel()

    def cancel_all(self) -> None:
        """Call off every call."""
        for execution in list(self._making):
            self.cancel_execution(execution)

    async def close(self) -> None:
        """Call off every call and wait until all have ended."""
        await self.tasks.close()

    async def _make(self, run: Run, call: CallService) -> None:
        try:
            result = await self._perform(run, call)
        except Exception:
            _log.exception("the call of step %r, execution %s, failed inside", call.step.name, run.facts.execution_name)
            result = Result(error="FnF.RuntimeError", cause="The call could not be made.", refused=True)
        finally:
            self._done(run.id, call)
        self._post(run.id, Replied(call.entry, call.attempt, result))

    def _done(self, execution: ExecutionId, call: CallService) -> None:
        making = self._making.get(execution)
        if making is not None and call.entry in making and making[call.entry][0] == call.attempt:
            del making[call.entry]
            if not making:
                del self._making[execution]
