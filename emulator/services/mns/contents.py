"""Messages entering and leaving queues, with all that depends on it kept in step.

That is: the table, the counters, the order inside FIFO groups, who is woken, and when the message expires.
"""

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.timers import Timers
from emulator.services.mns.model import Message, QueueId
from emulator.services.mns.queue import HELD, is_held, released
from emulator.services.mns.registry import LiveQueue, Registry
from emulator.services.mns.store import Store, Trace
from emulator.services.mns.sweeping import Sweeper
from emulator.services.mns.waiting import Lobby
from emulator.storage.database import Database


class Contents:
    """Adds and removes messages of all queues; owns the sweeping of expired ones."""

    def __init__(
        self, registry: Registry, database: Database, store: Store, lobby: Lobby, timers: Timers, clock: Clock
    ) -> None:
        self._store = store
        self._lobby = lobby
        self.sweeper = Sweeper(registry, database, store, timers, clock, self._removed)
        self._last_seq = store.last_seq()

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
            self.sweeper.sweep(live, now)  # an expired message holds nobody back
            if self._store.first_of_group(live.queue.queue_id, message.group_id) is not None:
                message = message._replace(visible_from=HELD + message.visible_from)
        self._store.add(message)
        live.tally.added(message.priority)
        if message.visible_from > now:
            live.tally.hidden(message.visible_from, now, received=False)
        self._lobby.visible_at(live.queue.queue_id, message.visible_from, now)
        self.sweeper.expect(live.queue.queue_id, message.enqueued_at + settings.retention_s * SECOND)
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
            self._lobby.visible_at(queue_id, visible_from, now)
