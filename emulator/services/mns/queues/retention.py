"""Removes expired messages, and those of deleted queues, from the tables in small portions.

No answer depends on the removal, as every rule checks the age of a message. One timer serves all queues; for each queue
with messages a bound is kept before which none of them can expire.

Source: MessageRetentionPeriod of CreateQueue, Message Service API reference: it counts from the send, received or not;
that a changed period holds for stored messages is assumed.
"""

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.timers import Timers
from emulator.services.mns.limits import SWEEP_GRAIN_MS, SWEEP_PAUSE_MS, SWEEP_ROWS
from emulator.services.mns.queues.live_queues import LiveQueue, QueueRegistry
from emulator.services.mns.queues.model import Queue, QueueId
from emulator.services.mns.queues.store import Envelope, QueueStore
from emulator.services.mns.queues.visibility import expiry_bound
from emulator.storage.database import Database

_TIMER = ("mns", "sweep")


class Retention:
    """Removes messages that have expired, and those of deleted queues.

    *removed* is called for each expired message, after it has left the table. ``bounds`` has, for each queue with
    messages, a time before which none of them expires.
    """

    def __init__(
        self,
        registry: QueueRegistry,
        database: Database,
        store: QueueStore,
        timers: Timers,
        clock: Clock,
        removed: Callable[[LiveQueue, Envelope, Millis], None],
    ) -> None:
        self._registry = registry
        self._store = store
        self._timers = timers
        self._clock = clock
        self._removed = removed
        self.bounds: dict[QueueId, Millis] = {}
        self._heap: list[tuple[Millis, QueueId]] = []
        self._purging: deque[QueueId] = deque()
        self._armed: Millis | None = None
        database.on_rollback(self._replan_all)

    def start(self) -> None:
        """Set the timer for the messages in the tables, and go on purging deleted queues."""
        self._replan_all()
        self._purging.extend(self._store.deleted_queues())
        self._arm()

    def close(self) -> None:
        """Cancel the timer."""
        self._timers.cancel(_TIMER)
        self._armed = None
        self._heap.clear()
        self.bounds.clear()
        self._purging.clear()

    def expect(self, queue_id: QueueId, at: int) -> None:
        """Record that a message of the queue expires at *at*."""
        bound = self.bounds.get(queue_id)
        if bound is None or at < bound:
            self.bounds[queue_id] = Millis(at)
            heappush(self._heap, (Millis(at), queue_id))
            self._arm()

    def replan(self, queue: Queue) -> None:
        """Compute anew when the oldest message of a queue expires."""
        self.bounds.pop(queue.queue_id, None)
        oldest = self._store.oldest(queue.queue_id)
        if oldest is not None:
            self.expect(queue.queue_id, oldest + queue.settings.retention_s * SECOND)

    def purge(self, queue_id: QueueId) -> None:
        """Remove the messages of a deleted queue: a portion now, the rest by the timer."""
        self.bounds.pop(queue_id, None)
        if not self._store.purge(queue_id, SWEEP_ROWS):
            self._purging.append(queue_id)
            self._arm()

    def sweep(self, live: LiveQueue, now: Millis) -> bool:
        """Remove a portion of a queue's expired messages; return whether none is left."""
        return self._sweep(live, now) < SWEEP_ROWS

    def remove_up_to(self, live: LiveQueue, seq: int, now: Millis) -> int:
        """Remove a portion of a queue's messages, those with the number *seq* or a lower one; return how many."""
        return self._remove(live, self._store.numbered_up_to(live.queue.queue_id, seq, SWEEP_ROWS), now)

    def _remove(self, live: LiveQueue, gone: Sequence[Envelope], now: Millis) -> int:
        if gone:
            self._store.remove_all([each.seq for each in gone])
            for each in gone:
                self._removed(live, each, now)
        return len(gone)

    def _sweep(self, live: LiveQueue, now: Millis) -> int:
        queue = live.queue
        bound = self.bounds.get(queue.queue_id)
        if bound is None or bound > now:
            return 0
        expired = self._store.expired(queue.queue_id, expiry_bound(queue.settings, now), SWEEP_ROWS)
        gone = self._remove(live, expired, now)
        if gone < SWEEP_ROWS:
            self.replan(queue)
        return gone

    def _replan_all(self) -> None:
        self.bounds.clear()
        self._heap.clear()
        for queue_id, retention_s, oldest in self._store.oldest_of_all():
            self.expect(queue_id, oldest + retention_s * SECOND)

    def _fire(self) -> None:
        self._armed = None
        now = self._clock.now()
        if self._purging and self._store.purge(self._purging[0], SWEEP_ROWS):
            self._purging.popleft()
        budget = SWEEP_ROWS
        while budget > 0 and (queue_id := self._due(now)) is not None:
            live = self._registry.find_by_id(queue_id)
            if live is None:
                del self.bounds[queue_id]
                continue
            budget -= 1 + self._sweep(live, now)
        self._arm()

    def _due(self, now: Millis) -> QueueId | None:
        """Return a queue whose oldest message may have expired."""
        while self._heap and self.bounds.get(self._heap[0][1]) != self._heap[0][0]:
            heappop(self._heap)  # the queue has another bound by now
        return self._heap[0][1] if self._heap and self._heap[0][0] <= now else None

    def _arm(self) -> None:
        soon = self._clock.now() + SWEEP_PAUSE_MS
        self._due(Millis(0))
        if self._purging:
            at = soon
        elif self._heap:
            at = max(soon, (self._heap[0][0] // SWEEP_GRAIN_MS + 1) * SWEEP_GRAIN_MS)
        else:
            return
        if self._armed is None or at < self._armed:
            self._armed = Millis(at)
            self._timers.call_at(self._armed, _TIMER, self._fire)
