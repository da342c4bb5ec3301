"""Moves messages received too often to the dead-letter queue, when they become visible once more.

The move happens at that time, by a timer per queue with a policy, so that a receiver of the dead-letter queue is woken;
and, should the policy have changed meanwhile, at the latest when a receiver would get the message.
"""

import asyncio
import logging
from collections.abc import Iterator
from functools import partial

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.ids import Ids
from emulator.kernel.timers import Timers
from emulator.services.mns.errors import QueueNotExist
from emulator.services.mns.limits import SWEEP_PAUSE_MS, SWEEP_ROWS
from emulator.services.mns.queues.contents import Contents
from emulator.services.mns.queues.live_queues import LiveQueue, QueueRegistry
from emulator.services.mns.queues.message import Message, appended
from emulator.services.mns.queues.model import QueueId
from emulator.services.mns.queues.store import QueueStore, envelope_of
from emulator.services.mns.queues.visibility import dead_letter_properties, expiry_bound, is_last_receive

_log = logging.getLogger(__name__)

_REST_MS = 5 * SECOND
"""How long moves that failed wait for the next try."""


class DeadLetters:
    """Moves messages to dead-letter queues."""

    def __init__(
        self, registry: QueueRegistry, store: QueueStore, contents: Contents, timers: Timers, clock: Clock, ids: Ids
    ) -> None:
        self._registry = registry
        self._store = store
        self._contents = contents
        self._timers = timers
        self._clock = clock
        self._ids = ids
        self._armed: dict[QueueId, Millis] = {}

    async def catch_up(self) -> None:
        """Make overdue moves, some in each turn of the loop; called before `start`, so before retention acts."""
        for _ in self._overdue():
            await asyncio.sleep(0)

    def start(self) -> None:
        """Make overdue moves, before retention removes the messages, and set timers for the others."""
        for _ in self._overdue():
            pass
        self.replan_all()

    def _overdue(self) -> Iterator[None]:
        """Make overdue moves, a portion before each yield."""
        now = self._clock.now()
        for queue_id in self._store.with_dying(now):
            live = self._registry.find_by_id(queue_id)
            while live is not None and self._move_due(live, now) == SWEEP_ROWS:
                yield

    def replan_all(self) -> None:
        """Set the timers of all queues anew from the tables."""
        for queue_id in {*self._armed, *self._store.with_dying()}:
            self.replan(queue_id)

    def close(self) -> None:
        """Cancel the timers of all queues."""
        for queue_id in self._armed:
            self._timers.cancel(_key(queue_id))
        self._armed.clear()

    def expect(self, queue_id: QueueId, at: int) -> None:
        """Record that a message received for the last time becomes visible at *at*."""
        armed = self._armed.get(queue_id)
        if armed is None or at < armed:
            self._armed[queue_id] = Millis(at)
            self._timers.call_at(Millis(at), _key(queue_id), partial(self._fire, queue_id))

    def replan(self, queue_id: QueueId) -> None:
        """Set the timer of a queue anew from the table."""
        if self._armed.pop(queue_id, None) is not None:
            self._timers.cancel(_key(queue_id))
        at = self._store.next_dying(queue_id)
        if at is not None:
            self.expect(queue_id, at)

    def move(self, live: LiveQueue, message: Message, now: Millis) -> bool:
        """Move a message to its queue's dead-letter queue; False, and nothing done, when that queue does not exist.

        The message gets a new id and keeps priority, body, properties and the time it was sent, so that the time spent
        in both queues counts for its retention. Source: documented; that the id is new and the count restarts is
        assumed, as is what happens without a target.
        """
        policy = live.queue.settings.dead_letter
        if policy is None:
            return False
        try:
            target = self._registry.find(live.queue.tenant, policy.target)
        except QueueNotExist:
            return False
        moved = message._replace(
            seq=self._contents.next_seq(),
            queue_id=target.queue.queue_id,
            visible_from=now,
            dequeue_count=0,
            revision=0,
            first_dequeued_at=Millis(0),
            message_id=self._ids.hex(32).upper(),
            system_properties=appended(message.system_properties, dead_letter_properties(live.queue, message)),
        )
        self._contents.add(target, moved, now)  # first: should it fail, the message is where it was
        self._contents.remove(live, envelope_of(message), now)
        _log.info(
            "message %(message_id)s of queue %(queue)s is the dead letter %(dead_letter_of)s of queue %(source)s",
            {
                "message_id": moved.message_id, "queue": policy.target, "dead_letter_of": message.message_id,
                "source": live.queue.name, "received": message.dequeue_count, "trace": message.trace,
            },
        )  # fmt: skip
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
        """Move a portion of the dead letters that are visible at *now*; return how many messages were examined.

        A message that expired while it was hidden is left to retention.
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
