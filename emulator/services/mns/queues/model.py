"""Queues, their attributes, messages and properties: values, and which values a queue and a message may have. Pure."""

import json
import re
from collections.abc import Sequence
from enum import Enum
from typing import Any, Literal, NamedTuple, NewType

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen, replace
from emulator.kernel.identity import Tenant
from emulator.kernel.paging import Range
from emulator.services.mns import limits
from emulator.services.mns.errors import MnsError, SchemaViolation
from emulator.wire.attributes import Attribute, Resource

QueueId = NewType("QueueId", int)
"""Number of a queue in the state file; never used again after the queue is deleted."""


@frozen
class DeadLetters:
    """Where a message goes that cannot be delivered."""

    enabled: bool = False
    target: str = ""


@frozen
class DeadLetterPolicy(DeadLetters):
    """Where a message goes when it has been received *max_receives* times and would be received once more."""

    max_receives: int = limits.MAX_RECEIVES.default


@frozen
class RateLimit:
    """Tenant rate limit; kept, not enforced."""

    enabled: bool = False
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
    """What a caller can choose about a queue; the attributes are described in `QUEUE`."""

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


Change = dict[str, Any]
"""Settings by field that a request names; what is absent stays, or takes its default in a new resource."""


@frozen(kw_only=False)
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
    """A queue and its counters at one time."""

    queue: Queue
    counters: Counters


@frozen
class AccountAttributes:
    """What an account chose for all its queues; kept, without effect."""

    logging_bucket: str = ""
    trace_enabled: bool = False


ENABLED = Attribute("Enabled", "enabled", bool)
DEAD_LETTER_TARGET = Attribute("DeadLetterTargetQueue", "target")

RATE_LIMIT = Attribute(
    "TenantRateLimitPolicy", "rate_limit", RateLimit, only=("rpc", "reply"), absent={"Enabled": False},
    members=(ENABLED, Attribute("MaxReceivesPerSecond", "max_receives_per_second", int)),
    source="SetQueueAttributes and Subscribe (2022-01-19)",
)  # fmt: skip
ENCRYPTION = Attribute(
    "Encryption", "encryption", Encryption, flat=True, only=("rpc", "reply"),
    members=(
        Attribute("EnableSSE", "enabled", bool),
        Attribute("SseType", "kind"),
        Attribute("SseAlgorithm", "algorithm"),
        Attribute("KmsKeyId", "key_id"),
    ),
    source="CreateQueue and CreateTopic (2022-01-19)",
)  # fmt: skip
TAGS = Attribute("Tags", "tags", tuple, only=("reply",), source="CreateQueue and CreateTopic (2022-01-19)")
LOGGING = Attribute(
    "LoggingEnabled", "logging_enabled", bool, names={"rpc": "EnableLogging"}, source="CreateQueue, CreateTopic"
)
TYPES = {"normal": False, "fifo": True}

QUEUE = Resource(
    "Queue",
    QueueSettings,
    (
        Attribute("QueueName", only=("xml", "reply"), shown=lambda view: view.queue.name),
        Attribute(
            "QueueType", "fifo", bool, words=TYPES, fixed=True, only=("rpc", "reply", "file"),
            source="CreateQueue (2022-01-19)",
        ),
        Attribute("DelaySeconds", "delay_s", int, limits.DELAY_S, " seconds", source="CreateQueue"),
        Attribute(
            "MaximumMessageSize", "maximum_message_size", int, limits.MESSAGE_SIZE, " bytes", source="CreateQueue"
        ),
        Attribute("MessageRetentionPeriod", "retention_s", int, limits.RETENTION_S, " seconds", source="CreateQueue"),
        Attribute(
            "VisibilityTimeout", "visibility_timeout_s", int, limits.VISIBILITY_TIMEOUT_S, " seconds",
            source="CreateQueue",
        ),
        Attribute("CreateTime", kind=int, only=("xml", "reply"), shown=lambda view: view.queue.created_at // 1000),
        Attribute("LastModifyTime", kind=int, only=("xml", "reply"), shown=lambda view: view.queue.modified_at // 1000),
        Attribute("PollingWaitSeconds", "polling_wait_s", int, limits.POLLING_WAIT_S, " seconds", source="CreateQueue"),
        Attribute("ActiveMessages", kind=int, only=("xml", "reply"), shown=lambda view: view.counters.active),
        Attribute("InactiveMessages", kind=int, only=("xml", "reply"), shown=lambda view: view.counters.inactive),
        Attribute("DelayMessages", kind=int, only=("xml", "reply"), shown=lambda view: view.counters.delayed),
        LOGGING,
        Attribute("MessageType", kind=int, only=("xml",), shown=lambda view: 0, source="GetQueueAttributes, observed"),
        Attribute("EnableSSE", kind=bool, only=("xml",), shown=lambda view: view.queue.settings.encryption.enabled),
        Attribute(
            "EncryptionEnabled", kind=bool, only=("reply",), shown=lambda view: view.queue.settings.encryption.enabled
        ),
        ENCRYPTION,
        Attribute(
            "DlqPolicy", "dead_letter", DeadLetterPolicy, only=("rpc", "reply", "file"), absent={"Enabled": False},
            members=(
                ENABLED,
                DEAD_LETTER_TARGET,
                # a text in answers, unlike any other number
                Attribute("MaxReceiveCount", "max_receives", int, limits.MAX_RECEIVES, shown=str),
            ),
            source="CreateQueue (2022-01-19)",
        ),
        TAGS,
        RATE_LIMIT,
    ),
)  # fmt: skip
"""A new attribute is a row here, a field of `QueueSettings` and a column in ``schema/``."""


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

    A named tuple, because rows become messages on every receive and this costs a fifth of a dataclass. Timestamps are
    milliseconds; ``visible_from`` is explained in `visibility`. ``first_dequeued_at`` is 0 before the first receive.
    ``revision`` grows with every change and makes earlier receipt handles stale. ``trace`` is the request it comes
    from.
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


def known_system_properties(properties: Properties) -> Properties:
    """Return the properties that the service knows: the Java client fails on a message that carries any other."""
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


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*", re.ASCII)


def check_range(name: str, value: int, allowed: Range, unit: str = "") -> None:
    """Check a number of a request.

    Raises: InvalidArgument.
    """
    if not allowed.low <= value <= allowed.high:
        raise MnsError("InvalidArgument", name=name, low=allowed.low, high=allowed.high, unit=unit)


def check_name(name: str, longest: int, too_long: str, malformed: str) -> None:
    """Check the name of something that is to be created; *too_long* and *malformed* are the errors.

    Raises: these two.
    """
    if len(name) > longest:
        raise MnsError(too_long, high=longest)
    if _NAME.fullmatch(name) is None:
        raise MnsError(malformed)


def check_queue_name(name: str, profile: limits.Profile) -> None:
    """Check the name of a queue that is to be created.

    Raises: InvalidQueueName, QueueNameLengthError.
    """
    check_name(name, profile.queue_name_length, "QueueNameLengthError", "InvalidQueueName")


def check_settings(change: Change, queue_name: str) -> None:
    """Check the attributes a request names.

    Raises: InvalidArgument.
    """
    check_ranges(QUEUE, change)
    check_dead_letter_target(change.get("dead_letter"), queue_name)


def check_dead_letter_target(policy: DeadLetters | None, own: str) -> None:
    """Check that a policy names a queue other than *own*, the one its messages come from.

    Raises: InvalidArgument.
    """
    if policy is not None and policy.enabled and policy.target in {"", own}:
        raise MnsError("InvalidArgument", "The value of DeadLetterTargetQueue should be the name of another queue.")


def page_size(limit: int | None) -> int:
    """Return how many names a list holds that is asked for *limit*.

    Raises: InvalidArgument.
    """
    wanted = limits.LIST_PAGE.default if limit is None else limit
    check_range("x-mns-ret-number", wanted, limits.LIST_PAGE)
    return wanted


def check_ranges(resource: Resource[Any], change: Change) -> None:
    """Check the numbers a request names against the table of the resource.

    Raises: InvalidArgument.
    """
    for name, allowed, unit in resource.out_of_range(change):
        raise MnsError("InvalidArgument", name=name, low=allowed.low, high=allowed.high, unit=unit)


def same_settings(resource: Resource[Any], existing: Any, change: Change) -> bool:
    """Whether creating a resource again with *change* names what exists.

    The attributes of the XML API count with their defaults filled in; the others count when they are named, so that
    either API can create again what the other has made. Source: assumed; one observed exchange fits.
    """
    wanted = replace(resource.settings(), **change)
    compared = {each.field for each in resource.of_form("xml")} | change.keys()
    return all(getattr(existing, field) == getattr(wanted, field) for field in compared)


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
