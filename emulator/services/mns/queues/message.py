"""Messages: drafts of senders with their checks, stored messages, receipts. Pure."""

import json
import re
from collections.abc import Sequence
from enum import Enum
from typing import Literal, NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.services.mns import limits
from emulator.services.mns.errors import MnsError, SchemaViolation
from emulator.services.mns.queues.model import QueueId, QueueSettings, check_range


class PropertyType(Enum):
    """Types of a message property; the value is text in each of them."""

    STRING = "STRING"
    NUMBER = "NUMBER"
    BOOLEAN = "BOOLEAN"
    BINARY = "BINARY"


class Property(NamedTuple):
    """A user or system property as it was sent; a BINARY value stays Base64 text."""

    name: str
    value: str
    type: str


Properties = tuple[Property, ...]

SYSTEM_PROPERTY_NAMES = frozenset(
    {"traceparent", "tracestate", "baggage", "DLQMessageType", "DLQSourceArn", "DLQOriginMessageId"}
)


@frozen
class Draft:
    """A message to be sent; None means the queue's or the service's default."""

    body: str
    delay_s: int | None = None
    priority: int | None = None
    group_id: str | None = None
    user_properties: Properties = ()
    system_properties: Properties = ()


class Message(NamedTuple):
    """A stored message, fields named as the table's columns.

    A named tuple, because rows become messages on every receive and this costs a fifth of a dataclass.
    ``visible_from`` is explained in `visibility`. ``first_dequeued_at`` is 0 before the first receive. ``revision``
    grows with every change and makes earlier receipt handles stale. ``trace`` is the request that sent it.
    """

    seq: int
    queue_id: QueueId
    priority: int
    visible_from: int
    dequeue_count: int
    revision: int
    enqueued_at: Millis
    first_dequeued_at: Millis
    message_id: str
    body_md5: str
    group_id: str | None
    user_properties: str | None
    system_properties: str | None
    body: str
    trace: str = ""


class MessageReceipt(NamedTuple):
    """The answer to a send. ``handle`` is set only for a delayed message."""

    message_id: str
    body_md5: str
    handle: str | None = None
    group_id: str | None = None


class Refused(NamedTuple):
    """A failed entry of a batch; ``handle`` is the receipt handle in the request, "" for a send."""

    code: str
    message: str
    handle: str = ""


BatchEntry = MessageReceipt | Refused
MessageState = Literal["active", "inactive", "delayed"]


def known_system_properties(properties: Properties) -> Properties:
    """Return the known ones of *properties*: the Java client fails on a message that carries any other."""
    return tuple(item for item in properties if item.name in SYSTEM_PROPERTY_NAMES)


def stored(properties: Properties) -> str | None:
    """Return properties as the text of a column, None for none."""
    return json.dumps(properties, ensure_ascii=False, separators=(",", ":")) if properties else None


def restored(text: str | None) -> Properties:
    """Return the properties in the text of a column."""
    return tuple(Property._make(item) for item in json.loads(text)) if text else ()


def appended(text: str | None, more: Properties) -> str | None:
    """Return stored system properties with *more*, which replace those of the same names."""
    names = {item.name for item in more}
    return stored(tuple(item for item in restored(text) if item.name not in names) + more)


def check_draft(draft: Draft, settings: QueueSettings, profile: limits.Profile) -> int:
    """Check one message against its queue; return the size of its body in bytes.

    Raises: InvalidArgument, SchemaViolation, FifoMissingMessageGroupId.
    Source: SendMessage page; that the size is that of the body's UTF-8 bytes is assumed.
    """
    if not draft.body:
        raise SchemaViolation(name="MessageBody")
    size = len(draft.body) if draft.body.isascii() else len(draft.body.encode())
    if size > settings.maximum_message_size:
        raise MnsError("InvalidArgument", name="MessageBody", low=1, high=settings.maximum_message_size, unit=" bytes")
    if draft.delay_s is not None:
        check_range("DelaySeconds", draft.delay_s, limits.DELAY_S, " seconds")
    if draft.priority is not None and not (draft.priority == 0 and profile.zero_priority_is_default):
        check_range("Priority", draft.priority, limits.PRIORITY)
    if draft.group_id is not None and len(draft.group_id) > limits.GROUP_ID_LENGTH:
        raise MnsError("InvalidArgument", name="MessageGroupId", low=1, high=limits.GROUP_ID_LENGTH, unit=" characters")
    if settings.fifo and not draft.group_id:
        raise MnsError("FifoMissingMessageGroupId")
    if draft.user_properties:
        check_user_properties(draft.user_properties)
    if draft.system_properties:
        check_system_properties(draft.system_properties)
    return size


def check_batch(drafts: Sequence[Draft], settings: QueueSettings, profile: limits.Profile) -> None:
    """Check a batch: one bad message refuses them all before any is stored.

    Raises: as `check_draft`; InvalidArgument for too many messages or bytes. Source: limits page, the code is assumed.
    """
    check_range("Messages", len(drafts), limits.BATCH)
    if sum(check_draft(draft, settings, profile) for draft in drafts) > limits.BATCH_BYTES:
        raise MnsError("InvalidArgument", name="Messages", low=1, high=limits.BATCH_BYTES, unit=" bytes")


_TYPES = frozenset(kind.value for kind in PropertyType)
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


def check_user_properties(properties: Properties) -> None:
    """Check the properties a sender chose.

    Raises: InvalidArgument. Source: numbers from a client citing the limits page; the code is assumed.
    """
    if len(properties) > limits.USER_PROPERTIES:
        raise MnsError("InvalidArgument", name="UserProperties", low=0, high=limits.USER_PROPERTIES, unit="")
    for name, value, kind in properties:
        if not 1 <= len(name) <= limits.PROPERTY_NAME_LENGTH:
            raise MnsError("InvalidArgument", name="Name", low=1, high=limits.PROPERTY_NAME_LENGTH, unit=" characters")
        if len(value) > limits.PROPERTY_VALUE_LENGTH:
            raise MnsError(
                "InvalidArgument", name="Value", low=0, high=limits.PROPERTY_VALUE_LENGTH, unit=" characters"
            )
        if kind not in _TYPES:
            raise SchemaViolation(name="Type")
        wrong_number = kind == PropertyType.NUMBER.value and re.fullmatch(_NUMBER, value.strip()) is None
        wrong_boolean = kind == PropertyType.BOOLEAN.value and value.strip().lower() not in {"true", "false"}
        if wrong_number or wrong_boolean:
            raise SchemaViolation(name="Value")


def check_system_properties(properties: Properties) -> None:
    """Check system properties.

    Raises: SchemaViolation for one that is no text; InvalidArgument for a value that is too long.
    """
    for _, value, kind in properties:
        if kind != PropertyType.STRING.value:
            raise SchemaViolation(name="Type")
        if len(value) > limits.PROPERTY_VALUE_LENGTH:
            raise MnsError(
                "InvalidArgument", name="Value", low=0, high=limits.PROPERTY_VALUE_LENGTH, unit=" characters"
            )
