"""Queues in memory, loaded from the tables on first use, with their counters.

The data can be loaded again; they are dropped when a commit fails. Counters are exact without counting rows: messages
become visible by the mere passing of time, so hidden messages are counted per timestamp, and reading the counters first
drops the timestamps that have passed.
"""

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.services.mns.errors import QueueNotExist
from emulator.services.mns.queues.model import Counters, Queue, QueueId
from emulator.services.mns.queues.store import QueueStore
from emulator.services.mns.queues.visibility import hidden_key
from emulator.storage.database import Database

_PRIORITIES = range(1, 17)


class PendingCounts:
    """The number of hidden messages by the time at which they become visible."""

    __slots__ = ("_heap", "_numbers", "_total")

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._heap: list[int] = []
        self._total = 0

    def add(self, at: int, now: Millis, number: int = 1) -> None:
        """Count *number* messages that become visible at *at*."""
        self.after(now)  # what has passed goes, so that a busy queue whose counters are never read keeps nothing old
        if at <= now:
            return
        self._total += number
        if at in self._numbers:
            self._numbers[at] += number
            return
        self._numbers[at] = number
        heappush(self._heap, at)

    def discard(self, at: int) -> None:
        """Uncount one message that was to become visible at *at*; do nothing when that time was dropped already."""
        number = self._numbers.get(at)
        if number is None:
            return
        self._total -= 1
        if number > 1:
            self._numbers[at] = number - 1
            return
        del self._numbers[at]
        if len(self._heap) > 64 and len(self._heap) > 2 * len(self._numbers):
            self._heap = list(self._numbers)
            heapify(self._heap)

    def after(self, now: Millis) -> int:
        """Return how many messages are still hidden at *now*, and drop the earlier times."""
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
        """Count *number* new messages, as visible ones."""
        self.total += number
        self._by_priority[priority] += number

    def hidden(self, visible_from: int, now: Millis, *, received: bool, number: int = 1) -> None:
        """Record that *number* counted messages are hidden until *visible_from*: received ones, or delayed ones."""
        (self._inactive if received else self._delayed).add(hidden_key(visible_from), now, number)

    def unhidden(self, visible_from: int, *, received: bool) -> None:
        """Undo one `hidden`; has no effect once the time has passed."""
        (self._inactive if received else self._delayed).discard(hidden_key(visible_from))

    def removed(self, priority: int, visible_from: int, *, received: bool) -> None:
        """Uncount one message, in any state."""
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


REMEMBERED = 10_000
"""From this many messages on, the counts of a queue are stored at an orderly end, to be read at the next start."""


class LiveQueue:
    """A queue in use: its stored form and its counters."""

    __slots__ = ("queue", "tally")

    def __init__(self, queue: Queue, tally: Tally) -> None:
        self.queue = queue
        self.tally = tally


class QueueRegistry:
    """Finds queues by name and by number."""

    def __init__(self, database: Database, store: QueueStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._by_name: dict[tuple[Tenant, str], LiveQueue] = {}
        self._by_id: dict[QueueId, LiveQueue] = {}
        database.on_rollback(self.forget)

    def find(self, tenant: Tenant, name: str) -> LiveQueue:
        """Return a queue.

        Raises: QueueNotExist.
        """
        live = self._by_name.get((tenant, name))
        if live is not None:
            return live
        queue = self._store.queue(tenant, name)
        if queue is None:
            raise QueueNotExist
        return self.keep(queue)

    def find_by_id(self, queue_id: QueueId) -> LiveQueue | None:
        """Return a queue, or None when it has been deleted."""
        live = self._by_id.get(queue_id)
        if live is not None:
            return live
        queue = self._store.queue_by_id(queue_id)
        return None if queue is None else self.keep(queue)

    def find_all(self, tenant: Tenant, names: Sequence[str]) -> Iterator[LiveQueue]:
        """Yield those of the named queues that exist; the ones not in memory are read by one query."""
        unknown = [name for name in names if (tenant, name) not in self._by_name]
        if len(unknown) > 1:
            for queue, has_messages in self._store.queues(tenant, unknown):
                if queue.queue_id not in self._by_id:
                    self.keep(queue, has_messages=has_messages)
        return (self.find(tenant, name) for name in names)

    def keep(self, queue: Queue, *, has_messages: bool = True) -> LiveQueue:
        """Load a stored queue into memory; its messages are counted, unless it is known to be empty."""
        live = LiveQueue(queue, self._count(queue.queue_id, self._clock.now()) if has_messages else Tally())
        self._by_name[queue.tenant, queue.name] = live
        self._by_id[queue.queue_id] = live
        return live

    def in_use(self) -> list[LiveQueue]:
        """Return the queues that are in memory."""
        return list(self._by_id.values())

    def drop(self, queue: Queue) -> None:
        """Forget a deleted queue."""
        self._by_name.pop((queue.tenant, queue.name), None)
        self._by_id.pop(queue.queue_id, None)

    def forget(self) -> None:
        """Drop every queue from memory, to be read again."""
        self._by_name.clear()
        self._by_id.clear()

    def remember(self) -> None:
        """Store the counts of large queues at an orderly end: counting a million messages takes a while."""
        for queue_id, live in self._by_id.items():
            if live.tally.total >= REMEMBERED:
                self._store.put_tally(queue_id, live.tally.numbers())

    def _count(self, queue_id: QueueId, now: Millis) -> Tally:
        tally = Tally()
        for priority, number in self._store.take_tally(queue_id) or self._store.numbers(queue_id):
            tally.added(priority, number)
            for visible_from, hidden, received in self._store.hidden_numbers(queue_id, priority, now):
                if received:
                    tally.hidden(visible_from, now, received=True, number=received)
                if hidden > received:
                    tally.hidden(visible_from, now, received=False, number=hidden - received)
        return tally
