"""The rules of a queue: when a message is visible, to whom, and when it expires. Pure: every function takes ``now``.

::

    send --delay--> delayed --due--> active --receive--> inactive --visible again--> active ...
    any state --enqueued_at + retention--> gone

One number says when a message can be received: ``visible_from``. A message is active from that time on; before it,
it is inactive when it has been received and delayed when it has not. In a FIFO queue only the first message of a group
competes; those behind it are *held*: their ``visible_from`` is `HELD` plus the time they are due, far beyond any
clock, until the one before them is gone. That keeps one index in delivery order for all kinds of queues.

Source: MNS developer guide, message life cycle and ordered messages; rules marked "assumed" are not documented.
"""

import re
from binascii import Error, a2b_base64, b2a_base64
from typing import NamedTuple

from emulator.kernel.clock import SECOND, Millis
from emulator.services.mns.errors import ReceiptHandleError
from emulator.services.mns.queues.message import Message, MessageState, Property, restored
from emulator.services.mns.queues.model import DeadLetterPolicy, Queue, QueueSettings

HELD = 1 << 60
"""Added to the due time of a message that waits behind another one of its group."""


def due_at(settings: QueueSettings, delay_s: int | None, now: Millis) -> Millis:
    """Return when a message sent at *now* becomes visible; its own delay, even 0, takes precedence over the queue's."""
    return Millis(now + SECOND * (settings.delay_s if delay_s is None else delay_s))


def hidden_until(timeout_s: int, now: Millis) -> Millis:
    """Return when a message that is received, or whose visibility is changed, at *now* becomes visible again."""
    return Millis(now + SECOND * timeout_s)


def expiry_bound(settings: QueueSettings, now: Millis) -> Millis:
    """Return the latest enqueue time of expired messages: those sent then or before have expired at *now*.

    The queue's present retention counts, also for messages sent before it was changed. Source: assumed.
    """
    return Millis(now - SECOND * settings.retention_s)


def is_held(visible_from: int) -> bool:
    """Whether a message waits behind another one of its group."""
    return visible_from >= HELD


def hidden_key(visible_from: int) -> int:
    """Return the time up to which a message counts as delayed or inactive; held ones count by their own delay."""
    return visible_from - HELD if visible_from >= HELD else visible_from


def released(visible_from: int, now: Millis) -> Millis:
    """Return ``visible_from`` of a held message that is next in its group: now, or the end of its delay."""
    return Millis(max(now, visible_from - HELD))


def state(message: Message, now: Millis) -> MessageState:
    """Return the state of a message at *now*, by the names of the counters."""
    if hidden_key(message.visible_from) <= now:
        return "active"
    return "inactive" if message.dequeue_count else "delayed"


def is_last_receive(policy: DeadLetterPolicy | None, dequeue_count: int) -> bool:
    """Whether a message received *dequeue_count* times is dead once it becomes visible again.

    Source: documented as "exceeds"; that the move happens at that time, not at the next receive, is assumed.
    """
    return policy is not None and policy.enabled and dequeue_count >= policy.limit


_SOURCE_ARN = "DLQSourceArn"


def dead_letter_properties(source: Queue, message: Message) -> tuple[Property, ...]:
    """Return the system properties that name the origin of a dead letter.

    Source: names from the SDKs, values assumed.
    """
    arn = f"acs:mns:{source.tenant.region}:{source.tenant.account}:/queues/{source.name}"
    return (
        Property("DLQMessageType", "QUEUE", "STRING"),
        Property(_SOURCE_ARN, arn, "STRING"),
        Property("DLQOriginMessageId", message.message_id, "STRING"),
    )


_SOURCE = r"acs:mns:[^:]*:[^:]*:/queues/([^/]+)"


def source_of(message: Message) -> str:
    """Return the queue that a dead letter comes from, empty for any other message."""
    matches = (
        re.fullmatch(_SOURCE, each.value) for each in restored(message.system_properties) if each.name == _SOURCE_ARN
    )
    return next((match[1] for match in matches if match is not None), "")


_FORM = re.compile(r"([0-9A-F]{32})-([A-Za-z0-9]+={0,2})", re.ASCII)
_CONTENT = re.compile(rb"([0-9]{1,18}) ([0-9]{1,18}) ([0-9]{1,18}) ([0-9]{1,18})")


class ReceiptHandle(NamedTuple):
    """The parts of a receipt handle, valid before the time ``until`` and while the message has this ``revision``."""

    message_id: str
    queue_id: int
    seq: int
    revision: int
    until: int


def write_handle(message_id: str, queue_id: int, seq: int, revision: int, until: int) -> str:
    """Return the text of a handle. Base64 of digits and blanks has neither ``+`` nor ``/``."""
    content = b2a_base64(b"%d %d %d %d" % (queue_id, seq, revision, until), newline=False).decode("ascii")
    return f"{message_id}-{content}"


def handle_of(message: Message) -> str:
    """Return the receipt handle of a message in its present revision, valid while the message is hidden."""
    return write_handle(message.message_id, message.queue_id, message.seq, message.revision, message.visible_from)


def read_handle(text: str) -> ReceiptHandle:
    """Read a handle.

    Raises: ReceiptHandleError for a text that is not a receipt handle.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        raise ReceiptHandleError
    try:
        content = _CONTENT.fullmatch(a2b_base64(form[2]))
    except Error:
        raise ReceiptHandleError from None
    if content is None:
        raise ReceiptHandleError
    return ReceiptHandle(form[1], int(content[1]), int(content[2]), int(content[3]), int(content[4]))
