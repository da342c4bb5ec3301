"""Adds and removes messages, and keeps everything that depends on them consistent.

That is the table, the counters, the order inside FIFO groups, the waiting receivers, and the timers of retention.
"""

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.timers import Timers
from emulator.services.mns.queues.live_queues import LiveQueue, QueueRegistry
from emulator.services.mns.queues.message import Message
from emulator.services.mns.queues.model import QueueId
from emulator.services.mns.queues.retention import Retention
from emulator.services.mns.queues.store import Envelope, QueueStore
from emulator.services.mns.queues.visibility import HELD, is_held, released
from emulator.services.mns.queues.waiters import LongPolls
from emulator.storage.database import Database


class Contents:
    """The messages in all queues: the only class that adds and removes one. Owns their `Retention`."""

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
        self._bounds = self.retention.bounds
        self.last_seq = store.last_seq()
        """The latest number given to a message."""

    def renumber(self) -> None:
        """Number new messages after the highest number in the table, which has been replaced."""
        self.last_seq = self._store.last_seq()

    def next_seq(self) -> int:
        """Return the number for a new message: the order of sending.

        A number may be reused after a restart when its message is gone; receipt handles therefore contain the message
        id too.
        """
        self.last_seq += 1
        return self.last_seq

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
        expires_at = message.enqueued_at + settings.retention_s * SECOND
        bound = self._bounds.get(live.queue.queue_id)
        if bound is None or expires_at < bound:
            self.retention.expect(live.queue.queue_id, expires_at)
        return message

    def remove(self, live: LiveQueue, envelope: Envelope, now: Millis) -> None:
        """Remove a message."""
        self._store.remove(envelope.seq)
        self._removed(live, envelope, now)

    def _removed(self, live: LiveQueue, envelope: Envelope, now: Millis) -> None:
        live.tally.removed(envelope.priority, envelope.visible_from, received=envelope.dequeue_count > 0)
        if envelope.group_id is not None:
            self._release_next(live.queue.queue_id, envelope.group_id, now)

    def _release_next(self, queue_id: QueueId, group_id: str, now: Millis) -> None:
        """Release the next message of a FIFO group, if it was held."""
        message = self._store.first_of_group(queue_id, group_id)
        if message is not None and is_held(message.visible_from):
            visible_from = released(message.visible_from, now)
            # same revision: the handle of a delayed send stays good
            self._store.reschedule(message.seq, visible_from, message.revision)
            self._waiters.visible_at(queue_id, visible_from, now)
