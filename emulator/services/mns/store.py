"""What the service asks of its storage, in words of queues and messages."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
from emulator.services.mns.model import AccountAttributes, Message, Queue, QueueId, QueueSettings


class Trace(NamedTuple):
    """What the counters need to know of a message that changes or goes, without its body."""

    seq: int
    priority: int
    visible_from: int
    dequeue_count: int
    revision: int
    group_id: str | None


class HiddenNumber(NamedTuple):
    """How many messages of a queue become visible at one instant, and how many of them have been received."""

    visible_from: int
    number: int
    received: int


class StateNumbers(NamedTuple):
    """Messages by what the counters call them."""

    active: int
    inactive: int
    delayed: int


class NotStored(Exception):
    """A message could not be written (disk full, ...); nothing of it was."""


class AccountStore(Protocol):
    """Account attributes."""

    def account(self, tenant: Tenant) -> AccountAttributes:
        """Return what was stored, or the defaults."""
        ...

    def put_account(self, tenant: Tenant, attributes: AccountAttributes) -> None:
        """Store the attributes of an account."""
        ...


class QueueStore(Protocol):
    """Queues and the remains of deleted ones."""

    def queue(self, tenant: Tenant, name: str) -> Queue | None:
        """Return a queue."""
        ...

    def queue_by_id(self, queue_id: QueueId) -> Queue | None:
        """Return a queue that has not been deleted."""
        ...

    def queues(self, tenant: Tenant, *, prefix: str, start: str, limit: int) -> list[Queue]:
        """Return at most *limit* queues whose name starts with *prefix*, from the name *start* on, ordered by name."""
        ...

    def all_queues(self) -> list[Queue]:
        """Return every queue of every tenant."""
        ...

    def add_queue(self, tenant: Tenant, name: str, settings: QueueSettings, now: Millis) -> Queue:
        """Store a new queue."""
        ...

    def put_queue(self, queue: Queue) -> None:
        """Store a queue's changed settings and instant of change."""
        ...

    def remove_queue(self, queue_id: QueueId) -> None:
        """Forget a queue; its messages are left to `purge`."""
        ...

    def deleted_queues(self) -> list[QueueId]:
        """Return the deleted queues that may still have messages."""
        ...

    def purge(self, queue_id: QueueId, limit: int) -> bool:
        """Remove at most *limit* messages of a deleted queue; tell whether that was all."""
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...


class MessageStore(Protocol):
    """Messages. Every call is one probe or a short range of an index, unless it says otherwise."""

    def keep_visible(self, now: Millis, before: Millis) -> None:
        """Make visible at *now* what became visible up to *before*; the order among these is that of sending."""
        ...

    def last_seq(self) -> int:
        """Return the highest number a message has, or 0."""
        ...

    def add(self, message: Message) -> None:
        """Store a new message.

        Raises: NotStored.
        """
        ...

    def find(self, queue_id: QueueId, seq: int, message_id: str, revision: int, sent_after: Millis) -> Trace | None:
        """Return the message a receipt handle is about, if it still is in that revision and not expired."""
        ...

    def first_visible(
        self, queue_id: QueueId, priority: int, *, now: Millis, sent_after: Millis, limit: int
    ) -> list[Message]:
        """Return the first messages of a priority that are visible at *now* and were sent after *sent_after*."""
        ...

    def next_visible_from(self, queue_id: QueueId, priority: int, now: Millis) -> int | None:
        """Return the first instant after *now* at which a message of that priority becomes visible."""
        ...

    def hide(self, message: Message, *, dying: bool) -> None:
        """Store visibility, counts and revision of a received message; *dying* marks its last receive."""
        ...

    def reschedule(self, seq: int, visible_from: int, revision: int) -> None:
        """Store visibility and revision of a message."""
        ...

    def remove(self, seq: int) -> None:
        """Remove a message."""
        ...

    def remove_all(self, seqs: Sequence[int]) -> None:
        """Remove messages."""
        ...

    def expired(self, queue_id: QueueId, bound: Millis, limit: int) -> list[Trace]:
        """Return the oldest messages, sent at *bound* or before."""
        ...

    def oldest(self, queue_id: QueueId) -> Millis | None:
        """Return the instant the queue's oldest message was sent."""
        ...

    def first_of_group(self, queue_id: QueueId, group_id: str) -> Message | None:
        """Return the message of the group that was sent first."""
        ...

    def dying(self, queue_id: QueueId, now: Millis, limit: int) -> list[Message]:
        """Return messages marked by their last receive that are visible at *now*."""
        ...

    def next_dying(self, queue_id: QueueId) -> Millis | None:
        """Return the first instant at which a message marked by its last receive is visible."""
        ...

    def spare(self, seq: int) -> None:
        """Take the mark of the last receive off a message."""
        ...

    def numbers(self, queue_id: QueueId) -> list[tuple[int, int]]:
        """Return (priority, number of messages). Walks the queue's index: once per queue after a start."""
        ...

    def put_tally(self, queue_id: QueueId, numbers: list[tuple[int, int]]) -> None:
        """Keep (priority, number of messages) of a queue that is not used any more in this run."""
        ...

    def take_tally(self, queue_id: QueueId) -> list[tuple[int, int]]:
        """Return what an earlier run has kept of a queue, and forget it: from now on it changes."""
        ...

    def hidden_numbers(self, queue_id: QueueId, priority: int, now: Millis) -> list[HiddenNumber]:
        """Return the messages hidden at *now* by instant. Walks the hidden part: once per queue after a start."""
        ...

    def expired_numbers(self, queue_id: QueueId, bound: Millis, now: Millis) -> StateNumbers:
        """Return how many expired messages count as active, inactive and delayed. Walks the expired part."""
        ...


class Store(AccountStore, QueueStore, MessageStore, Protocol):
    """Everything."""
