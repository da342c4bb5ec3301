"""What queues and messages are made of: plain values, no rules."""

import json
import re
from enum import Enum
from typing import Literal, NamedTuple, NewType, TypedDict

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant
from emulator.services.mns import limits
from emulator.services.mns.errors import InvalidArgument, SchemaViolation
from emulator.services.mns.limits import PROPERTY_NAME_LENGTH, PROPERTY_VALUE_LENGTH, USER_PROPERTIES

QueueId = NewType("QueueId", int)
"""Number of a queue in the state file; never used again after the queue is deleted."""


# --- queues ------------------------------------------------------------------------------------------------------


@frozen
class DeadLetterPolicy:
    """Where a message goes when it has been received *max_receives* times and would be received once more."""

    enabled: bool
    target: str
    max_receives: int = limits.MAX_RECEIVES.default


@frozen
class RateLimit:
    """Tenant rate limit; kept, not enforced."""

    enabled: bool
    max_receives_per_second: int | None = None


@frozen
class Encryption:
    """Server-side encryption; kept, without effect."""

    enabled: bool = False
    kind: str = ""
    algorithm: str = ""
    key_id: str = ""


@frozen
class QueueSettings:
    """What a caller can choose about a queue.

    The first six are the attributes of the XML API; the others exist only in the management API.
    """

    delay_s: int = limits.DELAY_S.default
    maximum_message_size: int = limits.MESSAGE_SIZE.default
    retention_s: int = limits.RETENTION_S.default
    visibility_timeout_s: int = limits.VISIBILITY_TIMEOUT_S.default
    polling_wait_s: int = limits.POLLING_WAIT_S.default
    logging_enabled: bool = False
    fifo: bool = False
    dead_letter: DeadLetterPolicy | None = None
    rate_limit: RateLimit | None = None
    encryption: Encryption = Encryption()
    tags: tuple[tuple[str, str], ...] = ()


class SettingsChange(TypedDict, total=False):
    """The settings a request names; what is absent stays, or takes its default in a new queue."""

    delay_s: int
    maximum_message_size: int
    retention_s: int
    visibility_timeout_s: int
    polling_wait_s: int
    logging_enabled: bool
    fifo: bool
    dead_letter: DeadLetterPolicy | None
    rate_limit: RateLimit | None
    encryption: Encryption
    tags: tuple[tuple[str, str], ...]


@frozen
class Queue:
    """A queue as it is stored."""

    queue_id: QueueId
    tenant: Tenant
    name: str
    settings: QueueSettings
    created_at: Millis
    modified_at: Millis


@frozen
class Counters:
    """How many messages are receivable, received and hidden, and not yet due."""

    active: int
    inactive: int
    delayed: int


@frozen
class QueueView:
    """A queue and its counters at one instant."""

    queue: Queue
    counters: Counters


@frozen
class AccountAttributes:
    """What an account chose for all its queues; kept, without effect."""

    logging_bucket: str = ""
    trace_enabled: bool = False


# --- messages ----------------------------------------------------------------------------------------------------


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

    A named tuple, because rows become messages on every receive and this costs a fifth of a dataclass. Instants are
    milliseconds; ``visible_from`` is explained in `emulator.services.mns.queues.visibility`. ``first_dequeued_at`` is 0 before the
    first receive. ``revision`` grows with every change and makes earlier receipt handles stale. ``trace`` is the
    request it comes from.
    """

    seq: int
    queue_id: int
    priority: int
    visible_from: int
    dequeue_count: int
    revision: int
    enqueued_at: int
    first_dequeued_at: int
    message_id: str
    body_md5: str
    group_id: str | None
    user_properties: str | None
    system_properties: str | None
    body: str
    trace: str = ""


class MessageReceipt(NamedTuple):
    """What the sender learns. ``handle`` is there only while the message is delayed."""

    message_id: str
    body_md5: str
    handle: str | None = None
    group_id: str | None = None


class Refused(NamedTuple):
    """An entry of a batch that failed; ``handle`` is the one it was about, "" for a send."""

    code: str
    message: str
    handle: str = ""


BatchEntry = MessageReceipt | Refused
MessageState = Literal["active", "inactive", "delayed"]

_TYPES = frozenset(kind.value for kind in PropertyType)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)


def check_user_properties(properties: Properties) -> None:
    """Check the properties a sender chose.

    Raises: InvalidArgument. Source: numbers from a client citing the limits page; the code is assumed.
    """
    if len(properties) > USER_PROPERTIES:
        raise InvalidArgument(name="UserProperties", low=0, high=USER_PROPERTIES, unit="")
    for name, value, kind in properties:
        if not 1 <= len(name) <= PROPERTY_NAME_LENGTH:
            raise InvalidArgument(name="Name", low=1, high=PROPERTY_NAME_LENGTH, unit=" characters")
        if len(value) > PROPERTY_VALUE_LENGTH:
            raise InvalidArgument(name="Value", low=0, high=PROPERTY_VALUE_LENGTH, unit=" characters")
        if kind not in _TYPES:
            raise SchemaViolation(name="Type")
        wrong_number = kind == PropertyType.NUMBER.value and _NUMBER.fullmatch(value.strip()) is None
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
        if len(value) > PROPERTY_VALUE_LENGTH:
            raise InvalidArgument(name="Value", low=0, high=PROPERTY_VALUE_LENGTH, unit=" characters")


def known_system_properties(properties: Properties) -> Properties:
    """Return those whose names the service knows: the Java client fails on a message that carries any other."""
    return tuple(item for item in properties if item.name in SYSTEM_PROPERTY_NAMES)


def stored(properties: Properties) -> str | None:
    """Return the form for the tables."""
    return json.dumps(properties, ensure_ascii=False, separators=(",", ":")) if properties else None


def restored(text: str | None) -> Properties:
    """Read the form of the tables."""
    return tuple(Property._make(item) for item in json.loads(text)) if text else ()


def appended(text: str | None, more: Properties) -> str | None:
    """Return stored system properties with *more*, which replace those of the same names."""
    names = {item.name for item in more}
    return stored(tuple(item for item in restored(text) if item.name not in names) + more)
