"""Messages entering and leaving queues, with all that depends on it kept in step, their retention and dead letters.

In step are the table, the counters, the order inside FIFO groups, the waiting receivers, and when the message expires.
Expired messages leave the file in small portions, and so do the messages of deleted queues. No answer depends on this
having happened: rules look at the age of a message themselves. One timer serves all queues; for each queue with
messages a bound is kept before which none of them can expire.

A message received too often moves to the dead-letter queue when it becomes visible once more. The move happens at that
time, by a timer per queue with a policy, so that a receiver of the dead-letter queue is woken; and, should the policy
have changed meanwhile, at the latest when a receiver would get the message.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.ids import Ids
from emulator.kernel.timers import Timers
from emulator.services.mns.errors import QueueNotExist
from emulator.services.mns.limits import SWEEP_GRAIN_MS, SWEEP_PAUSE_MS, SWEEP_ROWS
from emulator.services.mns.queues.live_queues import LiveQueue, QueueRegistry
from emulator.services.mns.queues.model import Message, Queue, QueueId, appended
from emulator.services.mns.queues.store import QueueStore, Trace, trace_of
from emulator.services.mns.queues.visibility import (
    HELD,
    dead_letter_properties,
    expiry_bound,
    is_held,
    is_last_receive,
    released,
)
from emulator.services.mns.queues.waiters import LongPolls
from emulator.storage.database import Database

_TIMER = ("mns", "sweep")


class Retention:
    """Removes what is over. *removed* is called for each expired message, after it has left the table."""

    def __init__(
        self,
        registry: QueueRegistry,
        database: Database,
        store: QueueStore,
        timers: Timers,
        clock: Clock,
        removed: Callable[[LiveQueue, Trace, Millis], None],
    ) -> None:
        self._registry = registry
        self._store = store
        self._timers = timers
        self._clock = clock
        self._removed = removed
        self._bounds: dict[QueueId, Millis] = {}
        self._heap: list[tuple[Millis, QueueId]] = []
        self._purging: deque[QueueId] = deque()
        self._armed: Millis | None = None
        database.on_rollback(self._replan_all)

    def start(self) -> None:
        """Plan the sweeps of what is in the tables."""
        self._replan_all()
        self._purging.extend(self._store.deleted_queues())
        self._arm()

    def close(self) -> None:
        """Plan no more sweeps."""
        self._timers.cancel(_TIMER)
        self._armed = None
        self._heap.clear()
        self._bounds.clear()
        self._purging.clear()

    def expect(self, queue_id: QueueId, at: int) -> None:
        """Note that a message of the queue expires at *at*."""
        bound = self._bounds.get(queue_id)
        if bound is None or at < bound:
            self._bounds[queue_id] = Millis(at)
            heappush(self._heap, (Millis(at), queue_id))
            self._arm()

    def replan(self, queue: Queue) -> None:
        """Find out anew when the oldest message of a queue expires."""
        self._bounds.pop(queue.queue_id, None)
        oldest = self._store.oldest(queue.queue_id)
        if oldest is not None:
            self.expect(queue.queue_id, oldest + queue.settings.retention_s * SECOND)

    def purge(self, queue_id: QueueId) -> None:
        """Remove the messages of a deleted queue: a few now, many bit by bit."""
        self._bounds.pop(queue_id, None)
        if not self._store.purge(queue_id, SWEEP_ROWS):
            self._purging.append(queue_id)
            self._arm()

    def sweep(self, live: LiveQueue, now: Millis) -> bool:
        """Remove expired messages of a queue; return whether that was all."""
        return self._sweep(live, now) < SWEEP_ROWS

    def remove_sent(self, live: LiveQueue, until: Millis, now: Millis) -> int:
        """Remove a portion of the messages sent at *until* or before, the oldest first; return how many these were."""
        gone = self._store.expired(live.queue.queue_id, until, SWEEP_ROWS)
        if gone:
            self._store.remove_all([trace.seq for trace in gone])
            for trace in gone:
                self._removed(live, trace, now)
        return len(gone)

    def _sweep(self, live: LiveQueue, now: Millis) -> int:
        queue = live.queue
        bound = self._bounds.get(queue.queue_id)
        if bound is None or bound > now:
            return 0
        gone = self.remove_sent(live, expiry_bound(queue.settings, now), now)
        if gone < SWEEP_ROWS:
            self.replan(queue)
        return gone

    def _replan_all(self) -> None:
        self._bounds.clear()
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
                del self._bounds[queue_id]
                continue
            budget -= 1 + self._sweep(live, now)
        self._arm()

    def _due(self, now: Millis) -> QueueId | None:
        """Return a queue whose oldest message may have expired."""
        while self._heap and self._bounds.get(self._heap[0][1]) != self._heap[0][0]:
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


class ReadyIndex:
    """Adds and removes messages of all queues; owns the sweeping of expired ones."""

    def __init__(
        self,
        registry: QueueRegistry,
        database: Database,
        store: QueueStore,
        waiters: LongPolls,
        timers: Timers,
        clock: Clock,
    ) -> None:
        self._store = store
        self._waiters = waiters
        self.retention = Retention(registry, database, store, timers, clock, self._removed)
        self._last_seq = store.last_seq()

    def renumber(self) -> None:
        """Number new messages after those in the table, which has been replaced."""
        self._last_seq = self._store.last_seq()

    def next_seq(self) -> int:
        """Return the number for a new message: the order of sending.

        A number may come back after a restart when its message is gone; receipt handles therefore name the message id
        too.
        """
        self._last_seq += 1
        return self._last_seq

    def add(self, live: LiveQueue, message: Message, now: Millis) -> Message:
        """Store a new message and return it as stored; in a FIFO queue it may be held behind others of its group."""
        settings = live.queue.settings
        if settings.fifo and message.group_id is not None:
            self.retention.sweep(live, now)  # an expired message holds no other back
            if self._store.first_of_group(live.queue.queue_id, message.group_id) is not None:
                message = message._replace(visible_from=HELD + message.visible_from)
        self._store.add(message)
        live.tally.added(message.priority)
        if message.visible_from > now:
            live.tally.hidden(message.visible_from, now, received=False)
        self._waiters.visible_at(live.queue.queue_id, message.visible_from, now)
        self.retention.expect(live.queue.queue_id, message.enqueued_at + settings.retention_s * SECOND)
        return message

    def remove(self, live: LiveQueue, trace: Trace, now: Millis) -> None:
        """Remove a message."""
        self._store.remove(trace.seq)
        self._removed(live, trace, now)

    def _removed(self, live: LiveQueue, trace: Trace, now: Millis) -> None:
        live.tally.removed(trace.priority, trace.visible_from, received=trace.dequeue_count > 0)
        if trace.group_id is not None:
            self._release_next(live.queue.queue_id, trace.group_id, now)

    def _release_next(self, queue_id: QueueId, group_id: str, now: Millis) -> None:
        """Let the next message of a group compete, if it was held."""
        message = self._store.first_of_group(queue_id, group_id)
        if message is not None and is_held(message.visible_from):
            visible_from = released(message.visible_from, now)
            # same revision: the handle of a delayed send stays good
            self._store.reschedule(message.seq, visible_from, message.revision)
            self._waiters.visible_at(queue_id, visible_from, now)


_REST_MS = 5 * SECOND
"""How long moves that failed wait for the next try."""


class DeadLetters:
    """Moves messages to dead-letter queues."""

    def __init__(
        self, registry: QueueRegistry, store: QueueStore, ready: ReadyIndex, timers: Timers, clock: Clock, ids: Ids
    ) -> None:
        self._registry = registry
        self._store = store
        self._ready = ready
        self._timers = timers
        self._clock = clock
        self._ids = ids
        self._armed: dict[QueueId, Millis] = {}

    def start(self) -> None:
        """Make the moves that are overdue, before retention removes the messages, and plan the others."""
        now = self._clock.now()
        for queue_id in self._store.with_dead_letters():
            live = self._registry.find_by_id(queue_id)
            while live is not None and self._move_due(live, now) == SWEEP_ROWS:
                pass
        self.replan_all()

    def replan_all(self) -> None:
        """Plan the moves that the tables know of."""
        for queue_id in self._store.with_dead_letters():
            self.replan(queue_id)

    def close(self) -> None:
        """Plan no more moves."""
        for queue_id in self._armed:
            self._timers.cancel(_key(queue_id))
        self._armed.clear()

    def expect(self, queue_id: QueueId, at: int) -> None:
        """Note that a message received for the last time becomes visible at *at*."""
        armed = self._armed.get(queue_id)
        if armed is None or at < armed:
            self._armed[queue_id] = Millis(at)
            self._timers.call_at(Millis(at), _key(queue_id), partial(self._fire, queue_id))

    def replan(self, queue_id: QueueId) -> None:
        """Find out anew when the next move of a queue is due."""
        if self._armed.pop(queue_id, None) is not None:
            self._timers.cancel(_key(queue_id))
        at = self._store.next_dying(queue_id)
        if at is not None:
            self.expect(queue_id, at)

    def move(self, live: LiveQueue, message: Message, now: Millis) -> bool:
        """Move a message to its queue's dead-letter queue; False, and nothing done, when that queue does not exist.

        It gets a new id, keeps priority, body, properties and the time it was sent, so that the time spent in both
        queues counts for its retention. Source: documented; that the id is new and the count restarts is assumed, as
        is what happens without a target.
        """
        policy = live.queue.settings.dead_letter
        if policy is None:
            return False
        try:
            target = self._registry.find(live.queue.tenant, policy.target)
        except QueueNotExist:
            return False
        moved = message._replace(
            seq=self._ready.next_seq(),
            queue_id=target.queue.queue_id,
            visible_from=now,
            dequeue_count=0,
            revision=0,
            first_dequeued_at=0,
            message_id=self._ids.hex(32).upper(),
            system_properties=appended(message.system_properties, dead_letter_properties(live.queue, message)),
        )
        self._ready.add(target, moved, now)  # first: should it fail, the message is where it was
        self._ready.remove(live, trace_of(message), now)
        return True

    def _fire(self, queue_id: QueueId) -> None:
        self._armed.pop(queue_id, None)
        live = self._registry.find_by_id(queue_id)
        if live is None:
            return
        now = self._clock.now()
        self._armed[queue_id] = Millis(now + _REST_MS)  # tried again, should anything below fail
        self._timers.call_at(Millis(now + _REST_MS), _key(queue_id), partial(self._fire, queue_id))
        if self._move_due(live, now) == SWEEP_ROWS:
            self.expect(queue_id, now + SWEEP_PAUSE_MS)
        else:
            self.replan(queue_id)

    def _move_due(self, live: LiveQueue, now: Millis) -> int:
        """Move a portion of what died at *now* or before; return how many messages were looked at.

        One that expired while it was hidden is left to retention.
        """
        settings = live.queue.settings
        due = self._store.dying(live.queue.queue_id, now, SWEEP_ROWS)
        for message in due:
            is_dead = is_last_receive(settings.dead_letter, message.dequeue_count)
            in_time = message.enqueued_at > expiry_bound(settings, Millis(message.visible_from))
            if not is_dead or not in_time or not self.move(live, message, now):
                self._store.spare(message.seq)
        return len(due)


def _key(queue_id: QueueId) -> tuple[str, str, int]:
    return ("mns", "dead", queue_id)
