"""Long polls for the end of an execution: a callback and a timer each, no task."""

from collections.abc import Callable
from itertools import count

from emulator.kernel.clock import Millis
from emulator.kernel.timers import Timers
from emulator.services.workflow.model import ExecutionId


class EndWaiters:
    """The callbacks to call when executions end."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._numbers = count(1)
        self._waiting: dict[ExecutionId, dict[int, Callable[[], None]]] = {}

    def park(self, execution: ExecutionId, until: Millis, wake: Callable[[], None]) -> Callable[[], None]:
        """Call *wake* once, when *execution* has ended or at *until*; the returned function cancels that."""
        number = next(self._numbers)
        self._waiting.setdefault(execution, {})[number] = wake

        def leave() -> None:
            self._timers.cancel(("workflow", "poll", number))
            waiting = self._waiting.get(execution)
            if waiting is not None:
                waiting.pop(number, None)
                if not waiting:
                    del self._waiting[execution]

        def time_over() -> None:
            leave()
            wake()

        self._timers.call_at(until, ("workflow", "poll", number), time_over)
        return leave

    def wake(self, execution: ExecutionId) -> None:
        """Wake all that wait for *execution*."""
        for number, wake in self._waiting.pop(execution, {}).items():
            self._timers.cancel(("workflow", "poll", number))
            wake()

    def wake_all(self) -> None:
        """Wake all."""
        for execution in list(self._waiting):
            self.wake(execution)

    def __len__(self) -> int:
        return sum(len(waiting) for waiting in self._waiting.values())
