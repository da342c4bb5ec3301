"""Queues and their attributes: values, and which values a queue may have. Pure."""

import re
from collections.abc import Callable
from typing import Any, NewType

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen, replace
from emulator.kernel.identity import Tenant
from emulator.kernel.names import OF_QUEUES_AND_TOPICS
from emulator.kernel.paging import Range
from emulator.services.mns import limits
from emulator.services.mns.errors import MnsError
from emulator.wire.schema.kinds import FLAG, TEXTS, TIME, WHOLE, Field, Flag, Items, Shape, duration, whole
from emulator.wire.schema.texts import out_of_range

QueueId = NewType("QueueId", int)
"""The number of a queue in the tables; never reused after the queue is deleted."""


@frozen
class DeadLetters:
    """The dead-letter policy of a subscription: ``target`` is the queue for messages that cannot be delivered."""

    enabled: bool = False
    target: str = ""


@frozen
class DeadLetterPolicy(DeadLetters):
    """The dead-letter policy of a queue: for messages received ``max_receives`` times that become visible once more.

    A policy that is not enabled may have no number: answers do not show a number that was never set.
    """

    max_receives: int | None = None

    @property
    def limit(self) -> int:
        """How often a message is received before it is moved, if the policy is enabled."""
        return self.max_receives or limits.MAX_RECEIVES.default


@frozen
class RateLimit:
    """Tenant rate limit; kept, not enforced."""

    enabled: bool = False
    max_receives_per_second: int | None = None


@frozen
class Encryption:
    """Server-side encryption; stored, without effect."""

    enabled: bool = False
    kind: str = ""
    algorithm: str = ""
    key_id: str = ""


@frozen
class QueueSettings:
    """The settable attributes of a queue, which are described in `QUEUE`."""

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
"""The settings in a request, field -> value; an absent one stays as it is, or takes its default in a new resource."""


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
    """The attributes of an account; stored, without effect."""

    logging_bucket: str = ""
    trace_enabled: bool = False


ENABLED = Field("Enabled", "enabled", FLAG, help=("whether it is enabled", "是否启用"))
DEAD_LETTER_TARGET = Field("DeadLetterTargetQueue", "target")

RATE_LIMIT = Field(
    "TenantRateLimitPolicy", "rate_limit", only=("rpc", "reply"), unset={"Enabled": False},
    kind=Shape(
        "",
        (
            ENABLED,
            Field(
                "MaxReceivesPerSecond", "max_receives_per_second", WHOLE,
                help=("maximum number of messages received per second", "每秒最多消费的消息数"),
            ),
        ),
        RateLimit,
    ),
    source="SetQueueAttributes and Subscribe (2022-01-19)",
    help=("limit of the receive rate; stored, without effect", "消费速率限制；保存，不起作用"),
)  # fmt: skip
ENCRYPTION = Field(
    "Encryption", "encryption", flat=True, only=("rpc", "reply"),
    help=("encryption at rest; stored, without effect", "服务端加密；保存，不起作用"),
    kind=Shape(
        "",
        (
            Field("EnableSSE", "enabled", FLAG),
            Field("SseType", "kind"),
            Field("SseAlgorithm", "algorithm"),
            Field("KmsKeyId", "key_id"),
        ),
        Encryption,
    ),
    source="CreateQueue and CreateTopic (2022-01-19)",
)  # fmt: skip
TAGS = Field("Tags", "tags", Items(TEXTS), only=("reply",), source="CreateQueue and CreateTopic (2022-01-19)")
LOGGING = Field(
    "LoggingEnabled", "logging_enabled", FLAG, names={"rpc": ("EnableLogging",)}, source="CreateQueue, CreateTopic",
    help=("stored, without effect", "只保存，不起作用"),
)  # fmt: skip
TYPES = {"normal": False, "fifo": True}
SHOWN = ("xml", "reply")
"""The forms in which read-only fields are shown: answers of both APIs."""


def created_and_modified(of: Callable[[Any], Any]) -> tuple[Field, Field]:
    """Return the read-only fields with the times of a resource; *of* returns the resource of a view."""
    return (
        Field("CreateTime", kind=TIME, only=SHOWN, shown=lambda view: of(view).created_at),
        Field("LastModifyTime", kind=TIME, only=SHOWN, shown=lambda view: of(view).modified_at),
    )


_CREATED, _MODIFIED = created_and_modified(lambda view: view.queue)

QUEUE = Shape(
    "Queue",
    (
        Field("QueueName", only=SHOWN, shown=lambda view: view.queue.name),
        Field(
            "QueueType", "fifo", Flag(TYPES), fixed=True, only=("rpc", "reply", "file"),
            help=(
                "normal, or fifo: messages are received in the order of sending",
                "normal，或 fifo：按发送顺序接收消息",
            ),
            source="CreateQueue (2022-01-19)",
        ),
        Field(
            "DelaySeconds", "delay_s", duration(limits.DELAY_S), source="CreateQueue",
            help=("messages become visible N seconds after they are sent", "消息发送 N 秒后可见"),
        ),
        Field(
            "MaximumMessageSize", "maximum_message_size", whole(limits.MESSAGE_SIZE, "bytes"), source="CreateQueue",
            help=("largest body, in bytes", "消息体的最大字节数"),
        ),
        Field(
            "MessageRetentionPeriod", "retention_s", duration(limits.RETENTION_S), source="CreateQueue",
            help=("messages are deleted after N seconds", "消息在 N 秒后删除"),
        ),
        Field(
            "VisibilityTimeout", "visibility_timeout_s", duration(limits.VISIBILITY_TIMEOUT_S), source="CreateQueue",
            help=("a received message is hidden for N seconds", "接收后 N 秒内不可见"),
        ),
        _CREATED,
        _MODIFIED,
        Field(
            "PollingWaitSeconds", "polling_wait_s", duration(limits.POLLING_WAIT_S), source="CreateQueue",
            help=("a receive waits up to N seconds for a message", "接收时最多等待消息 N 秒"),
        ),
        Field("ActiveMessages", kind=WHOLE, only=SHOWN, shown=lambda view: view.counters.active),
        Field("InactiveMessages", kind=WHOLE, only=SHOWN, shown=lambda view: view.counters.inactive),
        Field("DelayMessages", kind=WHOLE, only=SHOWN, shown=lambda view: view.counters.delayed),
        LOGGING,
        Field("MessageType", kind=WHOLE, only=("xml",), shown=lambda view: 0, source="GetQueueAttributes, observed"),
        Field("EnableSSE", kind=FLAG, only=("xml",), shown=lambda view: view.queue.settings.encryption.enabled),
        Field(
            "EncryptionEnabled", kind=FLAG, only=("reply",), shown=lambda view: view.queue.settings.encryption.enabled
        ),
        ENCRYPTION,
        Field(
            "DlqPolicy", "dead_letter", only=("rpc", "reply", "file"), unset={"Enabled": False},
            kind=Shape(
                "",
                (
                    ENABLED,
                    DEAD_LETTER_TARGET,
                    # a text in answers, unlike any other number
                    Field("MaxReceiveCount", "max_receives", whole(limits.MAX_RECEIVES), shown=str),
                ),
                DeadLetterPolicy,
            ),
            help=("dead-letter queue for messages that were received too often", "死信队列，存放接收次数过多的消息"),
            source="CreateQueue (2022-01-19)",
        ),
        TAGS,
        RATE_LIMIT,
        Field("QueueUrl", only=("listed",), shown=lambda view: _url(view.queue, "")),
        Field("QueueInternalUrl", only=("listed",), shown=lambda view: _url(view.queue, "-internal")),
    ),
    QueueSettings,
)  # fmt: skip
"""The attributes of a queue; a new one needs a row here, a field of `QueueSettings` and a column in ``schema/``."""


def cloud_url(tenant: Tenant, path: str, network: str = "") -> str:
    """Return the address that *path* would have in the cloud; *network* is a suffix, "" for the public network."""
    return f"http://{tenant.account}.mns.{tenant.region}{network}.aliyuncs.com/{path}"


def _url(queue: Queue, network: str) -> str:
    return cloud_url(queue.tenant, f"queues/{queue.name}", network)


_NAME = re.compile(OF_QUEUES_AND_TOPICS)


def check_range(name: str, value: int, allowed: Range, unit: str = "") -> None:
    """Check a number of a request.

    Raises: InvalidArgument.
    """
    if not allowed.low <= value <= allowed.high:
        raise MnsError("InvalidArgument", name=name, low=allowed.low, high=allowed.high, unit=unit)


def check_name(name: str, longest: int, too_long: str, malformed: str) -> None:
    """Check the name of a resource that is to be created.

    Raises: MnsError with the code *too_long* or *malformed*.
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


def settled(change: Change, queue_name: str) -> Change:
    """Check the attributes in a request, and return them in stored form: an enabled dead-letter policy has a number.

    A number of 0 in a policy that is not enabled is dropped: terraform-provider-alicloud sends 0 for no number.

    Raises: InvalidArgument.
    """
    policy = change.get("dead_letter")
    if policy is not None and policy.enabled and policy.max_receives is None:
        change = change | {"dead_letter": replace(policy, max_receives=policy.limit)}
    elif policy is not None and not policy.enabled and policy.max_receives == 0:
        change = change | {"dead_letter": replace(policy, max_receives=None)}
    check_ranges(QUEUE, change)
    check_dead_letter_target(change.get("dead_letter"), queue_name)
    return change


def check_dead_letter_target(policy: DeadLetters | None, own: str) -> None:
    """Check that a policy names a queue other than *own*, the one its messages come from.

    Raises: InvalidArgument.
    """
    if policy is not None and policy.enabled and policy.target in {"", own}:
        raise MnsError("InvalidArgument", "The value of DeadLetterTargetQueue should be the name of another queue.")


def page_size(limit: int | None) -> int:
    """Return the page size for a requested *limit*, the default for None.

    Raises: InvalidArgument.
    """
    wanted = limits.LIST_PAGE.default if limit is None else limit
    check_range("x-mns-ret-number", wanted, limits.LIST_PAGE)
    return wanted


def check_ranges(resource: Shape, change: Change) -> None:
    """Check the numbers in a request against the ranges of the resource's fields.

    Raises: InvalidArgument.
    """
    for name, allowed in out_of_range(resource.stored, change):
        unit = f" {allowed.unit}" if allowed.unit else ""
        raise MnsError("InvalidArgument", name=name, low=allowed.low, high=allowed.high, unit=unit)


def same_settings(resource: Shape, existing: Any, change: Change) -> bool:
    """Whether the settings *existing* are those of a request that creates the resource again with *change*.

    The attributes of the XML API count with their defaults filled in; the others count when they are named, so that
    either API can create again what the other has made. Source: assumed; one observed exchange fits.
    """
    assert resource.record is not None
    wanted = resource.record(**change)
    compared = {each.attribute for each in resource.of_form("xml")} | change.keys()
    return all(getattr(existing, field) == getattr(wanted, field) for field in compared)
