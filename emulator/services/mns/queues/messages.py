"""Sending, receiving, peeking, deleting and changing visibility: one method per operation.

Every operation checks first and then writes, reads the clock once, and keeps table and counters in step.
"""

import asyncio
from collections.abc import Sequence
from hashlib import md5
from typing import NamedTuple

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.ids import Ids
from emulator.kernel.tracing import current_trace
from emulator.kernel.turnstile import Turnstile
from emulator.services.mns import limits
from emulator.services.mns.errors import ERRORS, MessageNotExist, ReceiptHandleError
from emulator.services.mns.queues.contents import Contents
from emulator.services.mns.queues.dead_letters import DeadLetters
from emulator.services.mns.queues.live_queues import LiveQueue, QueueRegistry
from emulator.services.mns.queues.message import (
    BatchEntry,
    Draft,
    Message,
    MessageReceipt,
    Refused,
    check_batch,
    check_draft,
    known_system_properties,
    restored,
    stored,
)
from emulator.services.mns.queues.model import QueueId, check_range
from emulator.services.mns.queues.store import Envelope, NotStored, QueueStore, envelope_of
from emulator.services.mns.queues.visibility import (
    HELD,
    due_at,
    expiry_bound,
    hidden_until,
    is_held,
    is_last_receive,
    read_handle,
    write_handle,
)
from emulator.services.mns.queues.waiters import LongPolls, Shape, T

_NEVER = Millis(0)
_CHOSEN_FROM = 16
"""How many visible messages a schedule of effects can choose from for a receive."""


class ChangedVisibility(NamedTuple):
    """A new receipt handle, and the time until which it is valid."""

    handle: str
    next_visible_at: int


class Messages:
    """The operations on messages of all queues; the `Source` of parked receivers."""

    def __init__(
        self,
        registry: QueueRegistry,
        store: QueueStore,
        contents: Contents,
        dead_letters: DeadLetters,
        waiters: LongPolls,
        clock: Clock,
        ids: Ids,
        profile: limits.Profile,
        turns: Turnstile,
    ) -> None:
        self._turns = turns
        self._registry = registry
        self._store = store
        self._contents = contents
        self._dead_letters = dead_letters
        self._waiters = waiters
        self._clock = clock
        self._ids = ids
        self._profile = profile

    def send(self, live: LiveQueue, draft: Draft) -> MessageReceipt:
        """Store a message; it is visible at once or after its delay.

        Raises: InvalidArgument, SchemaViolation, FifoMissingMessageGroupId.
        """
        check_draft(draft, live.queue.settings, self._profile)
        return self._store_draft(live, draft, self._clock.now())

    def send_batch(self, live: LiveQueue, drafts: Sequence[Draft]) -> list[BatchEntry]:
        """Store up to 16 messages; the answer has an entry for each, in their order.

        Raises: InvalidArgument, SchemaViolation, FifoMissingMessageGroupId; then nothing is stored.
        """
        check_batch(drafts, live.queue.settings, self._profile)
        now = self._clock.now()
        entries: list[BatchEntry] = []
        for draft in drafts:
            try:
                entries.append(self._store_draft(live, draft, now))
            except NotStored:
                entries.append(Refused("InternalError", "Internal Error."))
        return entries

    def _store_draft(self, live: LiveQueue, draft: Draft, now: Millis) -> MessageReceipt:
        queue = live.queue
        due = due_at(queue.settings, draft.delay_s, now)
        if self._turns.active:
            self._turns.touch(f"queue {queue.queue_id}")
        message_id = self._ids.hex(32).upper()
        body_md5 = md5(draft.body.encode(), usedforsecurity=False).hexdigest().upper()
        user, system = draft.user_properties, draft.system_properties
        priority = draft.priority or limits.PRIORITY.default
        message = Message(
            self._contents.next_seq(), queue.queue_id, priority, due, 0, 0, now, _NEVER, message_id,
            body_md5, draft.group_id or None, stored(user) if user else None,
            stored(known_system_properties(system)) if system else None, draft.body, current_trace(),
        )  # fmt: skip
        self._contents.add(live, message, now)
        handle = write_handle(message_id, queue.queue_id, message.seq, 0, due) if due > now else None
        return MessageReceipt(message_id, body_md5, handle, message.group_id)

    def receive(self, live: LiveQueue, count: int, wait_s: int | None, shape: Shape[T]) -> "T | asyncio.Future[T]":
        """Return up to *count* visible messages, shaped by *shape*, and hide them for the queue's visibility timeout.

        Urgent priorities come first, then messages that have been visible longest. When none is visible, return a
        future that waits up to *wait_s* seconds (None: the queue's polling wait) for one.

        Raises: InvalidArgument; MessageNotExist, also by the future, when no message came in time.
        """
        check_range("numOfMessages", count, limits.BATCH)
        if wait_s is not None:
            check_range("waitseconds", wait_s, limits.POLLING_WAIT_S, " seconds")
        now = self._clock.now()
        messages = self._claim(live, count, now)
        if messages:
            return shape(messages)
        wait = live.queue.settings.polling_wait_s if wait_s is None else wait_s
        if wait == 0:
            raise MessageNotExist
        deadline = Millis(now + wait * SECOND - limits.POLL_MARGIN_MS)
        return self._waiters.park(live.queue.queue_id, count, deadline, shape, self)

    def peek(self, live: LiveQueue, count: int) -> list[Message]:
        """Return up to *count* visible messages; they stay visible.

        Raises: InvalidArgument, MessageNotExist. Source: that only active messages are shown is assumed.
        """
        check_range("numOfMessages", count, limits.BATCH)
        now = self._clock.now()
        if self._turns.active:
            self._turns.touch(f"queue {live.queue.queue_id}")
        messages: list[Message] = []
        for priority in live.tally.priorities():
            if len(messages) < count:
                messages += self._visible(live, priority, count - len(messages), now)
        if not messages:
            raise MessageNotExist
        return messages

    def listed(self, live: LiveQueue, limit: int) -> list[Message]:
        """Return up to *limit* messages: visible ones in the order of receiving, then hidden ones by the time due."""
        now = self._clock.now()
        priorities = live.tally.priorities()
        visible = [each for priority in priorities for each in self._visible(live, priority, limit, now)]
        hidden = [each for item in priorities for each in self._store.hidden(live.queue.queue_id, item, now, limit)]
        return visible[:limit] + sorted(hidden, key=lambda each: (each.visible_from, each.seq))[:limit]

    def claim(self, queue_id: QueueId, count: int, now: Millis) -> list[Message]:
        """Receive up to *count* visible messages of a queue for a parked receiver; none when the queue is gone."""
        live = self._registry.find_by_id(queue_id)
        return [] if live is None else self._claim(live, count, now)

    def next_visible(self, queue_id: QueueId, now: Millis) -> Millis | None:
        """Return the first time after *now* at which a hidden message becomes visible, None without any."""
        live = self._registry.find_by_id(queue_id)
        if live is None:
            return None
        times = (self._store.next_visible_from(queue_id, item, now) for item in live.tally.priorities())
        return min((Millis(at) for at in times if at is not None), default=None)

    def _visible(self, live: LiveQueue, priority: int, limit: int, now: Millis) -> list[Message]:
        queue = live.queue
        sent_after = expiry_bound(queue.settings, now)
        return self._store.first_visible(queue.queue_id, priority, now=now, sent_after=sent_after, limit=limit)

    def _claim(self, live: LiveQueue, count: int, now: Millis) -> list[Message]:
        settings = live.queue.settings
        if settings.fifo:
            self._contents.retention.sweep(live, now)  # an expired message holds no other back
        claimed: list[Message] = []
        for priority in live.tally.priorities():
            candidates = self._first(live, priority, count - len(claimed), now)
            if settings.dead_letter is not None:
                candidates = self._without_dead(live, candidates, now)
            claimed += [self._hand_out(live, message, now) for message in candidates]
            if self._turns.active:
                self._repeat(live, candidates, now)
            if len(claimed) == count:
                break
        return claimed

    def _first(self, live: LiveQueue, priority: int, count: int, now: Millis) -> list[Message]:
        """Return the first messages of a priority, or those that a schedule of effects chooses."""
        turns = self._turns
        if not turns.active:
            return self._visible(live, priority, count, now)
        turns.touch(f"queue {live.queue.queue_id}")
        if not turns.varies("message"):
            return self._visible(live, priority, count, now)
        name = live.queue.name
        visible = self._visible(live, priority, _CHOSEN_FROM, now)
        return list(turns.arranged("message", visible, lambda each: f"{name} {each.body[:60]!r}", count))

    def _repeat(self, live: LiveQueue, messages: list[Message], now: Millis) -> None:
        """Duplicate messages that are received for the first time, where a schedule of effects demands it."""
        for message in messages:
            name = f"{live.queue.name} {message.body[:60]!r}"
            if message.dequeue_count == 0 and self._turns.befalls("message", name) == "duplicate":
                self._contents.add(live, message._replace(seq=self._contents.next_seq()), now)

    def _without_dead(self, live: LiveQueue, candidates: list[Message], now: Millis) -> list[Message]:
        """Move dead letters among *candidates* that the timer has not moved yet, and return others in their places.

        The number of moves is bounded: further dead letters are left to the next receive.
        """
        policy = live.queue.settings.dead_letter
        for _ in range(limits.SWEEP_ROWS):
            dead = next((item for item in candidates if is_last_receive(policy, item.dequeue_count)), None)
            if dead is None or not self._dead_letters.move(live, dead, now):
                return candidates
            candidates = self._visible(live, dead.priority, len(candidates), now)
        return []

    def _hand_out(self, live: LiveQueue, message: Message, now: Millis) -> Message:
        queue = live.queue
        until = hidden_until(queue.settings.visibility_timeout_s, now)
        received = message._replace(
            visible_from=until,
            dequeue_count=message.dequeue_count + 1,
            revision=message.revision + 1,
            first_dequeued_at=message.first_dequeued_at or now,
        )
        dying = is_last_receive(queue.settings.dead_letter, received.dequeue_count)
        self._store.hide(received, dying=dying)
        live.tally.hidden(until, now, received=True)
        self._waiters.visible_at(queue.queue_id, until, now)
        if dying:
            self._dead_letters.expect(queue.queue_id, until)
        return received

    def move(self, live: LiveQueue, message: Message, target: LiveQueue) -> MessageReceipt:
        """Send a message of *live*, in any state, to another queue, and delete it from *live*.

        Raises: as `send`; then the message stays.
        """
        draft = Draft(
            body=message.body,
            priority=message.priority,
            group_id=message.group_id,
            user_properties=restored(message.user_properties),
        )
        receipt = self.send(target, draft)
        self._contents.remove(live, envelope_of(message), self._clock.now())
        return receipt

    def delete(self, live: LiveQueue, handle: str) -> None:
        """Delete the message of a receipt handle.

        Raises: ReceiptHandleError for a text that never was a handle of this queue; MessageNotExist for a handle that
        is expired, superseded or used. Source: FAQ on deleting; for superseded and used ones assumed.
        """
        now = self._clock.now()
        self._contents.remove(live, self._find(live, handle, now), now)

    def delete_batch(self, live: LiveQueue, handles: Sequence[str]) -> list[Refused]:
        """Delete up to 16 messages and return what failed; the others are deleted.

        Raises: InvalidArgument.
        Source: BatchDeleteMessage page; its example has ReceiptHandleError for stale handles.
        """
        check_range("ReceiptHandles", len(handles), limits.BATCH)
        now = self._clock.now()
        failed = []
        for handle in handles:
            try:
                self._contents.remove(live, self._find(live, handle, now), now)
            except (ReceiptHandleError, MessageNotExist):
                failed.append(Refused("ReceiptHandleError", ERRORS["ReceiptHandleError"].text, handle))
        return failed

    def change_visibility(self, live: LiveQueue, handle: str, timeout_s: int) -> ChangedVisibility:
        """Hide a received message until *timeout_s* seconds from now, or make a delayed one due then.

        Raises: InvalidArgument; ReceiptHandleError, MessageNotExist as `delete`.
        """
        check_range("VisibilityTimeout", timeout_s, limits.VISIBILITY_TIMEOUT_S, " seconds")
        now = self._clock.now()
        found = self._find(live, handle, now)
        queue_id = live.queue.queue_id
        until = hidden_until(timeout_s, now)
        visible_from = HELD + until if is_held(found.visible_from) else until
        self._store.reschedule(found.seq, visible_from, found.revision + 1)
        received = found.dequeue_count > 0
        live.tally.unhidden(found.visible_from, received=received)
        live.tally.hidden(visible_from, now, received=received)
        self._waiters.visible_at(queue_id, visible_from, now)
        if is_last_receive(live.queue.settings.dead_letter, found.dequeue_count):
            self._dead_letters.expect(queue_id, until)
        message_id = read_handle(handle).message_id
        return ChangedVisibility(write_handle(message_id, queue_id, found.seq, found.revision + 1, until), until)

    def _find(self, live: LiveQueue, handle: str, now: Millis) -> Envelope:
        parsed = read_handle(handle)
        queue = live.queue
        if self._turns.active:
            self._turns.touch(f"queue {queue.queue_id}")
        if parsed.queue_id != queue.queue_id:
            raise ReceiptHandleError
        if parsed.until <= now:
            raise MessageNotExist
        sent_after = expiry_bound(queue.settings, now)
        found = self._store.find(queue.queue_id, parsed.seq, parsed.message_id, parsed.revision, sent_after)
        if found is None:
            raise MessageNotExist
        return found
