"""Callers that wait for an execution to end: a callback each and a timer, no task."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count

from emulator.kernel.clock import Millis
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import Tenant
from emulator.kernel.timers import Timers
from emulator.services.workflow.executions.operations import Executions
from emulator.services.workflow.model import ExecutionId, ExecutionRecord
from emulator.wire.rpc import Reply


class EndWaiters:
    """Who waits for which execution."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._numbers = count(1)
        self._waiting: dict[ExecutionId, dict[int, Callable[[], None]]] = {}

    def park(self, execution: ExecutionId, until: Millis, tell: Callable[[], None]) -> Callable[[], None]:
        """Call *tell* once, when *execution* has ended or at *until*; the returned function calls it off."""
        number = next(self._numbers)
        self._waiting.setdefault(execution, {})[number] = tell

        def leave() -> None:
            self._timers.cancel(("workflow", "poll", number))
            waiting = self._waiting.get(execution)
            if waiting is not None:
                waiting.pop(number, None)
                if not waiting:
                    del self._waiting[execution]

        def time_over() -> None:
            leave()
            tell()

        self._timers.call_at(until, ("workflow", "poll", number), time_over)
        return leave

    def wake(self, execution: ExecutionId) -> None:
        """Tell everybody who waits for *execution*."""
        for number, tell in self._waiting.pop(execution, {}).items():
            self._timers.cancel(("workflow", "poll", number))
            tell()

    def wake_all(self) -> None:
        """Tell everybody."""
        for execution in list(self._waiting):
            self.wake(execution)

    def __len__(self) -> int:
        return sum(len(waiting) for waiting in self._waiting.values())


def reply_at_end(
    executions: Executions,
    tenant: Tenant,
    record: ExecutionRecord,
    wait_s: int,
    render: Callable[[ExecutionRecord], Reply],
) -> Awaitable[Reply]:
    """Return a reply that *render* makes of the execution when it has ended, or of its state after *wait_s* seconds."""
    reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    def tell() -> None:
        if reply.done():
            return
        try:
            reply.set_result(render(executions.get(tenant, record.flow_name, record.name)))
        except ServiceError as error:  # the flow has been deleted meanwhile
            reply.set_exception(error)

    leave = executions.when_ended(record.id, wait_s, tell)
    reply.add_done_callback(lambda _: leave())
    return reply
