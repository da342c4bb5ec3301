"""Counters of a queue, kept exact without ever counting rows.

Messages move between states while time passes and nobody asks; so the hidden ones are kept as numbers per instant, and
asking for the counters first lets the instants that have passed drop out.
"""

from heapq import heapify, heappop, heappush

from emulator.kernel.clock import Millis
from emulator.services.mns.model import Counters
from emulator.services.mns.queue import hidden_key

_PRIORITIES = range(1, 17)


class PendingCounts:
    """How many messages become visible at which instant."""

    __slots__ = ("_heap", "_numbers", "_total")

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._heap: list[int] = []
        self._total = 0

    def add(self, instant: int, now: Millis, number: int = 1) -> None:
        """Count *number* messages that become visible at *instant*."""
        self.after(now)  # what has passed goes, so that a busy queue nobody asks about keeps nothing old
        if instant <= now:
            return
        self._total += number
        if instant in self._numbers:
            self._numbers[instant] += number
            return
        self._numbers[instant] = number
        heappush(self._heap, instant)

    def discard(self, instant: int) -> None:
        """Forget one message that was to become visible at *instant*; nothing when that has dropped out already."""
        number = self._numbers.get(instant)
        if number is None:
            return
        self._total -= 1
        if number > 1:
            self._numbers[instant] = number - 1
            return
        del self._numbers[instant]
        if len(self._heap) > 64 and len(self._heap) > 2 * len(self._numbers):
            self._heap = list(self._numbers)
            heapify(self._heap)

    def after(self, now: Millis) -> int:
        """Return how many are still hidden at *now*."""
        heap = self._heap
        while heap and heap[0] <= now:
            self._total -= self._numbers.pop(heappop(heap), 0)
        return self._total


class Tally:
    """The counters of one queue."""

    __slots__ = ("_by_priority", "_delayed", "_inactive", "total")

    def __init__(self) -> None:
        self.total = 0
        self._by_priority = [0] * (len(_PRIORITIES) + 1)
        self._inactive = PendingCounts()
        self._delayed = PendingCounts()

    def added(self, priority: int, number: int = 1) -> None:
        """Count *number* messages more."""
        self.total += number
        self._by_priority[priority] += number

    def hidden(self, visible_from: int, now: Millis, *, received: bool, number: int = 1) -> None:
        """Note that *number* counted messages are hidden until *visible_from*: received ones, or delayed ones."""
        (self._inactive if received else self._delayed).add(hidden_key(visible_from), now, number)

    def unhidden(self, visible_from: int, *, received: bool) -> None:
        """Take back one `hidden`; harmless when the instant has passed."""
        (self._inactive if received else self._delayed).discard(hidden_key(visible_from))

    def removed(self, priority: int, visible_from: int, *, received: bool) -> None:
        """Count one message less, whatever state it was in."""
        self.total -= 1
        self._by_priority[priority] -= 1
        self.unhidden(visible_from, received=received)

    def priorities(self) -> list[int]:
        """Return the priorities that some message has, the most urgent first."""
        return [priority for priority in _PRIORITIES if self._by_priority[priority]]

    def numbers(self) -> list[tuple[int, int]]:
        """Return (priority, number of messages) of the priorities that some message has."""
        return [(priority, self._by_priority[priority]) for priority in self.priorities()]

    def counters(self, now: Millis) -> Counters:
        """Return the counters at *now*."""
        inactive, delayed = self._inactive.after(now), self._delayed.after(now)
        return Counters(active=self.total - inactive - delayed, inactive=inactive, delayed=delayed)
