"""XML of topics, subscriptions and published messages."""

from collections.abc import Sequence

from emulator.services.mns.codec import document, leaf, read_bool, read_document, read_int
from emulator.services.mns.errors import InvalidArgument, SchemaViolation
from emulator.services.mns.limits import TOPIC_RETENTION_S
from emulator.services.mns.queues.codec import read_properties, write_marker
from emulator.services.mns.topics.model import (
    ContentFormat,
    NotifyStrategy,
    PublishDraft,
    Subscription,
    SubscriptionChange,
    SubscriptionSettings,
    TopicChange,
    TopicView,
)

# --- requests ----------------------------------------------------------------------------------------------------


def read_topic(body: bytes) -> TopicChange:
    """Read the attributes a request names; an empty body names none.

    Raises: MalformedXML, SchemaViolation.
    """
    if not body.strip():
        return {}
    root = read_document(body, "Topic")
    change: TopicChange = {}
    if (text := root.text_of("MaximumMessageSize")) is not None:
        change["maximum_message_size"] = read_int(text, "MaximumMessageSize")
    if (text := root.text_of("LoggingEnabled")) is not None:
        change["logging_enabled"] = read_bool(text, "LoggingEnabled")
    return change


def read_publish(body: bytes) -> PublishDraft:
    """Read a message to be published; the attributes are elements with JSON text.

    Raises: MalformedXML, SchemaViolation.
    """
    root = read_document(body, "Message")
    found = root.find("MessageBody")
    if found is None or found.children:
        raise SchemaViolation(name="MessageBody")
    attributes = root.find("MessageAttributes")
    return PublishDraft(
        body=found.text,
        tag=root.text_of("MessageTag"),
        attributes={child.name: child.text for child in attributes.children} if attributes is not None else {},
        group_id=root.text_of("MessageGroupId"),
        user_properties=read_properties(root.find("UserProperties"), "PropertyValue"),
        system_properties=read_properties(root.find("SystemProperties"), "SystemPropertyValue"),
    )


def read_subscription(body: bytes) -> SubscriptionSettings:
    """Read a new subscription.

    Raises: MalformedXML, SchemaViolation, InvalidArgument.
    """
    root = read_document(body, "Subscription")
    endpoint = (root.text_of("Endpoint") or "").strip()
    if not endpoint:
        raise SchemaViolation(name="Endpoint")
    strategy, content_format = root.text_of("NotifyStrategy"), root.text_of("NotifyContentFormat")
    return SubscriptionSettings(
        endpoint=endpoint,
        filter_tag=(root.text_of("FilterTag") or "").strip() or None,
        strategy=read_strategy(strategy) if strategy else NotifyStrategy.BACKOFF,
        content_format=read_format(content_format) if content_format else ContentFormat.XML,
    )


def read_subscription_change(body: bytes) -> SubscriptionChange:
    """Read the attributes a request names; endpoint and format cannot be changed and are not looked at.

    Raises: MalformedXML, SchemaViolation, InvalidArgument.
    """
    if not body.strip():
        return {}
    root = read_document(body, "Subscription")
    change: SubscriptionChange = {}
    if text := root.text_of("NotifyStrategy"):
        change["strategy"] = read_strategy(text)
    if (text := root.text_of("FilterTag")) is not None:
        change["filter_tag"] = text.strip() or None
    return change


def read_strategy(text: str) -> NotifyStrategy:
    """Read a notify strategy.

    Raises: InvalidArgument.
    """
    try:
        return NotifyStrategy(text.strip())
    except ValueError:
        raise InvalidArgument("The value of NotifyStrategy is invalid.") from None


def read_format(text: str) -> ContentFormat:
    """Read a notify content format.

    Raises: InvalidArgument.
    """
    try:
        return ContentFormat(text.strip())
    except ValueError:
        raise InvalidArgument("The value of NotifyContentFormat is invalid.") from None


# --- answers -----------------------------------------------------------------------------------------------------


def render_topic(view: TopicView) -> bytes:
    """Write GetTopicAttributes: flat, what only the management API knows stays out."""
    return document("Topic", _topic(view, "  "))


def render_topics(views: Sequence[TopicView], *, base: str, with_meta: bool, marker: str | None) -> bytes:
    """Write a page of topics."""
    entries = [
        leaf("TopicURL", f"{base}/topics/{view.topic.name}", "    ") + (_topic(view, "    ") if with_meta else "")
        for view in views
    ]
    return _page("Topic", entries, marker)


def render_subscription(subscription: Subscription) -> bytes:
    """Write GetSubscriptionAttributes. No element is empty: the filter is there only when there is one."""
    return document("Subscription", _subscription(subscription, "  "))


def render_subscriptions(
    subscriptions: Sequence[Subscription], *, base: str, with_meta: bool, marker: str | None
) -> bytes:
    """Write a page of subscriptions."""
    entries = [
        leaf("SubscriptionURL", f"{base}/topics/{item.topic_name}/subscriptions/{item.name}", "    ")
        + (_subscription(item, "    ") if with_meta else "")
        for item in subscriptions
    ]
    return _page("Subscription", entries, marker)


def _page(name: str, entries: Sequence[str], marker: str | None) -> bytes:
    lines = [f"\n  <{name}>{entry}\n  </{name}>" for entry in entries]
    if marker is not None:
        lines.append(leaf("NextMarker", write_marker(marker)))
    return document(f"{name}s", "".join(lines))


def _topic(view: TopicView, indent: str) -> str:
    topic = view.topic
    values: tuple[tuple[str, str | int], ...] = (
        ("TopicName", topic.name),
        ("CreateTime", topic.created_at // 1000),
        ("LastModifyTime", topic.modified_at // 1000),
        ("MaximumMessageSize", topic.settings.maximum_message_size),
        ("MessageRetentionPeriod", TOPIC_RETENTION_S),
        ("MessageCount", view.message_count),
        ("LoggingEnabled", str(topic.settings.logging_enabled)),
    )
    return "".join(leaf(name, value, indent) for name, value in values)


def _subscription(subscription: Subscription, indent: str) -> str:
    settings = subscription.settings
    values: list[tuple[str, str | int]] = [
        ("TopicOwner", subscription.tenant.account),
        ("TopicName", subscription.topic_name),
        ("Subscriber", subscription.tenant.account),
        ("SubscriptionName", subscription.name),
        ("Endpoint", settings.endpoint),
        *([("FilterTag", settings.filter_tag)] if settings.filter_tag else []),
        ("NotifyStrategy", settings.strategy.value),
        ("NotifyContentFormat", settings.content_format.value),
        ("CreateTime", subscription.created_at // 1000),
        ("LastModifyTime", subscription.modified_at // 1000),
    ]
    return "".join(leaf(name, value, indent) for name, value in values)
