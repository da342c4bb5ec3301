"""The data of topics, subscriptions with their endpoints, and deliveries."""

import re
from enum import Enum
from functools import lru_cache
from typing import Literal, NewType, assert_never
from urllib.parse import urlsplit

from emulator.http.message import Unsendable, split_url
from emulator.kernel.clock import Millis
from emulator.kernel.frozen import field, frozen
from emulator.kernel.identity import Tenant
from emulator.kernel.names import OF_QUEUES_AND_TOPICS
from emulator.services.mns import limits
from emulator.services.mns.errors import MnsError
from emulator.services.mns.limits import ENDPOINT_LENGTH
from emulator.services.mns.queues.message import Properties
from emulator.services.mns.queues.model import (
    DEAD_LETTER_TARGET,
    ENABLED,
    ENCRYPTION,
    LOGGING,
    RATE_LIMIT,
    SHOWN,
    TAGS,
    TYPES,
    DeadLetters,
    Encryption,
    RateLimit,
    cloud_url,
    created_and_modified,
)
from emulator.wire.schema.kinds import FLAG, OBJECT, WHOLE, Field, Flag, Shape, member_of, whole

TopicId = NewType("TopicId", int)
SubscriptionId = NewType("SubscriptionId", int)
PublicationId = NewType("PublicationId", int)
DeliveryId = NewType("DeliveryId", int)

OutboxKind = Literal["mail", "sms", "push", "event"]

Attributes = dict[str, str]
"""Message attributes (``DirectMail``, ``DirectSMS`` ...): name -> JSON text."""


class NotifyStrategy(Enum):
    """The strategy by which failed pushes are retried; see `publishing.next_attempt`."""

    BACKOFF = "BACKOFF_RETRY"
    DECAY = "EXPONENTIAL_DECAY_RETRY"


class ContentFormat(Enum):
    """The format of pushed messages: an XML or JSON envelope, the bare body, or the event of a function trigger."""

    XML = "XML"
    JSON = "JSON"
    SIMPLIFIED = "SIMPLIFIED"
    STREAM = "STREAM"


@frozen
class TopicSettings:
    """The settable attributes of a topic, which are described in `TOPIC`."""

    maximum_message_size: int = limits.MESSAGE_SIZE.default
    logging_enabled: bool = False
    fifo: bool = False
    encryption: Encryption = field(default_factory=Encryption)
    tags: tuple[tuple[str, str], ...] = ()


@frozen(kw_only=False)
class Topic:
    """A topic as it is stored."""

    topic_id: TopicId
    tenant: Tenant
    name: str
    settings: TopicSettings
    created_at: Millis
    modified_at: Millis


@frozen
class TopicView:
    """A topic and the number of its messages with pending deliveries."""

    topic: Topic
    message_count: int


@frozen
class SubscriptionSettings:
    """The settable attributes of a subscription, which are described in `SUBSCRIPTION`.

    ``extras`` are attributes of the management API by name, stored without effect, except that ``DmAttributes`` and
    ``DysmsAttributes`` complete the attributes of a mail or short message.
    """

    endpoint: str
    filter_tag: str | None = None
    strategy: NotifyStrategy = NotifyStrategy.BACKOFF
    content_format: ContentFormat = ContentFormat.XML
    dead_letters: DeadLetters | None = None
    rate_limit: RateLimit | None = None
    extras: dict[str, str] = field(default_factory=dict)


@frozen(kw_only=False)
class Subscription:
    """A subscription as it is stored."""

    subscription_id: SubscriptionId
    topic_id: TopicId
    tenant: Tenant
    topic_name: str
    name: str
    settings: SubscriptionSettings
    created_at: Millis
    modified_at: Millis


_SIZE = {"rpc": ("MaxMessageSize",), "reply": ("MaxMessageSize",)}
_CREATED, _MODIFIED = created_and_modified(lambda view: view.topic)

TOPIC = Shape(
    "Topic",
    (
        Field("TopicName", only=SHOWN, shown=lambda view: view.topic.name),
        Field(
            "TopicType", "fifo", Flag(TYPES), fixed=True, only=("rpc", "reply", "file"),
            help=(
                "normal, or fifo: messages are delivered in the order of publishing",
                "normal，或 fifo：按发布顺序投递消息",
            ),
            source="CreateTopic (2022-01-19)",
        ),
        Field("TopicUrl", only=("reply",), shown=lambda view: _url(view.topic, "")),
        Field("TopicInnerUrl", only=("reply",), shown=lambda view: _url(view.topic, "-internal")),
        _CREATED,
        _MODIFIED,
        Field(
            "MaximumMessageSize", "maximum_message_size", whole(limits.MESSAGE_SIZE, "bytes"), names=_SIZE,
            help=("largest body, in bytes", "消息体的最大字节数"), source="CreateTopic",
        ),
        Field("MessageRetentionPeriod", kind=WHOLE, only=SHOWN, shown=lambda view: limits.TOPIC_RETENTION_S),
        Field("MessageCount", kind=WHOLE, only=SHOWN, shown=lambda view: view.message_count),
        LOGGING,
        Field(
            "EncryptionEnabled", kind=FLAG, only=("reply",), shown=lambda view: view.topic.settings.encryption.enabled
        ),
        ENCRYPTION,
        TAGS,
    ),
    TopicSettings,
)  # fmt: skip

_SUBSCRIBED, _CHANGED = created_and_modified(lambda view: view)

SUBSCRIPTION = Shape(
    "Subscription",
    (
        Field("TopicOwner", only=SHOWN, shown=lambda view: view.tenant.account),
        Field("TopicName", only=SHOWN, shown=lambda view: view.topic_name),
        Field("Subscriber", only=("xml",), shown=lambda view: view.tenant.account),
        Field("SubscriptionName", only=SHOWN, shown=lambda view: view.name),
        Field(
            "Endpoint", "endpoint", fixed=True, required=True, source="Subscribe",
            help=(
                "endpoint that messages are pushed to; queue:NAME is a queue of this emulator",
                "消息推送的目标；queue:NAME 是本模拟器的队列",
            ),
        ),
        Field(
            "FilterTag", "filter_tag", names={"rpc": ("MessageTag",), "option": ("Tag",)}, unset="",
            help=("only messages with this tag", "只接收带此标签的消息"), source="Subscribe",
        ),
        Field(
            "NotifyStrategy", "strategy", member_of(NotifyStrategy), names={"option": ("Strategy",)},
            help=(
                "retry strategy for failed pushes (default: BACKOFF_RETRY)",
                "推送失败后的重试策略（默认：BACKOFF_RETRY）",
            ),
            source="Subscribe, NotifyStrategy",
        ),
        Field(
            "NotifyContentFormat", "content_format", member_of(ContentFormat),
            names={"option": ("ContentFormat", "Format")}, fixed=True,
            help=(
                "format of pushes (default: XML); SIMPLIFIED is the bare body",
                "推送格式（默认：XML）；SIMPLIFIED 只含消息体",
            ),
            source="Subscribe",
        ),
        _SUBSCRIBED,
        _CHANGED,
        Field(
            "DlqPolicy", "dead_letters", Shape("", (ENABLED, DEAD_LETTER_TARGET), DeadLetters),
            only=("rpc", "reply", "file"), unset={"Enabled": False},
            help=("dead-letter queue for messages that could not be pushed", "死信队列，存放无法推送的消息"),
            source="Subscribe (2022-01-19)",
        ),
        RATE_LIMIT,
        Field("Extras", "extras", OBJECT, only=("column",)),
        Field(
            "SubscriptionURL", only=("listed",),
            shown=lambda view: cloud_url(view.tenant, f"topics/{view.topic_name}/subscriptions/{view.name}"),
        ),
    ),
    SubscriptionSettings,
)  # fmt: skip


def _url(topic: Topic, network: str) -> str:
    return cloud_url(topic.tenant, f"topics/{topic.name}", network)


@frozen
class PublishDraft:
    """A message to be published."""

    body: str
    tag: str | None = None
    attributes: Attributes = field(default_factory=dict)
    group_id: str | None = None
    user_properties: Properties = ()
    system_properties: Properties = ()


@frozen(kw_only=False)
class Publication:
    """A published message, stored while it has pending deliveries. ``trace`` is the request that published it."""

    message_id: str
    body: str
    body_md5: str
    tag: str | None
    attributes: Attributes
    group_id: str | None
    user_properties: Properties
    system_properties: Properties
    published_at: Millis
    trace: str = ""


@frozen(kw_only=False)
class Delivery:
    """A pending delivery of a message to one subscriber: tried *attempts* times, next at ``due_at``."""

    delivery_id: DeliveryId
    subscription_id: SubscriptionId
    publication_id: PublicationId
    publication: Publication
    attempts: int
    due_at: Millis


@frozen
class Push:
    """One push over HTTP; of bodies the first `limits.BODY_SHOWN` characters.

    ``target`` is the path and query that the signature covers. ``status`` is None without an answer.
    """

    url: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: str
    status: int | None = None
    answer_headers: tuple[tuple[str, str], ...] = ()
    answer_body: str = ""


@frozen
class Outcome:
    """The result of one attempt: whether the subscriber has the message, and a description."""

    delivered: bool
    detail: str
    push: Push | None = None


@frozen
class Try(Outcome):
    """One finished attempt at a delivery: its number from 1, its time, its result."""

    number: int
    at: Millis


DeliveryState = Literal["pending", "delivered", "dropped", "dead-lettered"]


@frozen(kw_only=False)
class DeliveryReport:
    """One delivery as administration shows it. ``next_at`` is set while it is pending, ``ended_at`` afterwards.

    ``endpoint`` is the subscription's. ``tries`` are the latest attempts since the start. ``delivery_id`` is 0 once
    ended.
    """

    delivery_id: DeliveryId
    message_id: str
    body: str
    tag: str | None
    published_at: Millis
    state: DeliveryState
    attempts: int
    last_result: str
    next_at: Millis | None = None
    ended_at: Millis | None = None
    endpoint: str = ""
    tries: tuple[Try, ...] = ()


@frozen(kw_only=False)
class OutboxEntry:
    """A mail, short message, mobile notification or event that was recorded instead of being sent.

    ``details`` are the message attributes of its kind, as JSON values.
    """

    kind: OutboxKind
    address: str
    topic_name: str
    subscription_name: str
    message_id: str
    body: str
    details: dict[str, object]
    recorded_at: Millis


DEFAULT_PATH = "/notifications"

# SDK helpers cut account and region out of the host they talk to, so a local address gives odd ones; only names count.
_QUEUE = rf"acs:mns:[^:/]*:[^/]*:/?queues/({OF_QUEUES_AND_TOPICS})"
_OUTBOX: tuple[tuple[OutboxKind, str], ...] = (
    ("mail", r"mail:directmail:([^\s:@]+@[^\s:@]+)"),
    ("mail", r"smq-ep:dm:[^:]*:(__dynamic|[^\s:@]+@[^\s:@]+)"),
    ("sms", r"sms:(?:directsms|dayu):(anonymous|\+?[0-9]{1,20})"),
    ("sms", r"smq-ep:dysms:[^:]*:(__dynamic|\+?[0-9]{1,20})"),
    ("push", r"push:([A-Za-z0-9_-]+)"),
    ("event", r"acs:eventbridge:[^:/]*:[^:/]*:eventbus/([A-Za-z0-9_.-]+)"),
    ("event", r"kafka:([^\s]+)"),
)
_FUNCTION = r"acs:fc:[^:/]*:[^:/]*:(?:services/[A-Za-z0-9_.$-]+/)?functions/[A-Za-z0-9_.$-]+(?:/[A-Za-z0-9_.$-]+)?"


@frozen(kw_only=False)
class HttpEndpoint:
    """A web address; ``url`` is where the push goes."""

    url: str


@frozen(kw_only=False)
class QueueEndpoint:
    """A queue of the same account and region."""

    queue: str


@frozen(kw_only=False)
class FunctionEndpoint:
    """A function, by its resource name."""

    arn: str


@frozen(kw_only=False)
class OutboxEndpoint:
    """A mail address, telephone number, app or event bus: recorded instead of being sent."""

    kind: OutboxKind
    address: str


Endpoint = HttpEndpoint | QueueEndpoint | FunctionEndpoint | OutboxEndpoint


@lru_cache(maxsize=1024)
def read_endpoint(text: str) -> Endpoint:
    """Read the endpoint of a subscription.

    A web address without a path gets ``/notifications``. Region and account of a queue are ignored.

    Raises: EndpointInvalid.
    """
    if len(text) > ENDPOINT_LENGTH:
        raise MnsError("EndpointInvalid")
    if text[:8].lower().startswith(("http://", "https://")):
        return HttpEndpoint(_push_url(text))
    if match := re.fullmatch(_QUEUE, text):
        return QueueEndpoint(match[1])
    for kind, form in _OUTBOX:
        if match := re.fullmatch(form, text):
            return OutboxEndpoint(kind, match[1])
    if re.fullmatch(_FUNCTION, text):
        return FunctionEndpoint(text)
    raise MnsError("EndpointInvalid")


def kind_of(text: str) -> str:
    """Return the kind of a subscription's endpoint, for metrics: ``http``, ``queue``, ``function`` or ``outbox``."""
    match read_endpoint(text):
        case HttpEndpoint():
            return "http"
        case QueueEndpoint():
            return "queue"
        case FunctionEndpoint():
            return "function"
        case OutboxEndpoint():
            return "outbox"
        case endpoint:
            assert_never(endpoint)


def queue_endpoint(tenant: Tenant, queue: str) -> str:
    """Return the endpoint that names a queue."""
    return f"acs:mns:{tenant.region}:{tenant.account}:queues/{queue}"


def _push_url(text: str) -> str:
    if not text.isprintable() or " " in text:
        raise MnsError("EndpointInvalid")
    try:
        split_url(text)
        parts = urlsplit(text)
    except (Unsendable, ValueError):
        raise MnsError("EndpointInvalid") from None
    path = parts.path or DEFAULT_PATH
    return f"{parts.scheme.lower()}://{parts.netloc}{path}" + (f"?{parts.query}" if parts.query else "")
