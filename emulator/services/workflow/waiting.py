"""Callers that wait for an execution to end: a callback each and a timer, no task."""

from collections.abc import Callable
from itertools import count

from emulator.kernel.clock import Millis
from emulator.kernel.timers import Timers
from emulator.services.workflow.model import ExecutionId


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
