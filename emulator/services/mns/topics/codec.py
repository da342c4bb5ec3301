"""XML of topics, subscriptions and published messages."""

from emulator.kernel.paging import Page
from emulator.services.mns.codec import document, read_attributes, read_document, render_attributes, render_list
from emulator.services.mns.errors import SchemaViolation
from emulator.services.mns.queues.codec import read_properties
from emulator.services.mns.queues.model import Change
from emulator.services.mns.topics.model import (
    SUBSCRIPTION,
    TOPIC,
    PublishDraft,
    Subscription,
    SubscriptionSettings,
    TopicView,
)


def read_topic(body: bytes) -> Change:
    """Read the attributes a request names; an empty body names none.

    Raises: MalformedXML, SchemaViolation.
    """
    return read_attributes(TOPIC, read_document(body, "Topic")) if body.strip() else {}


def read_subscription(body: bytes) -> SubscriptionSettings:
    """Read a new subscription.

    Raises: MalformedXML, SchemaViolation, InvalidArgument.
    """
    settings = read_attributes(SUBSCRIPTION, read_document(body, "Subscription"))
    if not settings.get("endpoint"):
        raise SchemaViolation(name="Endpoint")
    return SubscriptionSettings(**settings)


def read_subscription_change(body: bytes) -> Change:
    """Read the attributes a request names; endpoint and format cannot be changed and are ignored.

    Raises: MalformedXML, SchemaViolation, InvalidArgument.
    """
    return read_attributes(SUBSCRIPTION, read_document(body, "Subscription"), changing=True) if body.strip() else {}


def read_publish(body: bytes) -> PublishDraft:
    """Read a message to be published; the attributes are elements with JSON text.

    Raises: MalformedXML, SchemaViolation.
    """
    root = read_document(body, "Message")
    text = root.find("MessageBody")
    if text is None or text.children:
        raise SchemaViolation(name="MessageBody")
    attributes = root.find("MessageAttributes")
    return PublishDraft(
        body=text.text,
        tag=root.text_of("MessageTag"),
        attributes={child.name: child.text for child in attributes.children} if attributes is not None else {},
        group_id=root.text_of("MessageGroupId"),
        user_properties=read_properties(root.find("UserProperties"), "PropertyValue"),
        system_properties=read_properties(root.find("SystemProperties"), "SystemPropertyValue"),
    )


def render_topic(view: TopicView) -> bytes:
    """Write GetTopicAttributes: flat, what only the management API knows stays out."""
    return document("Topic", render_attributes(TOPIC, view.topic.settings, view))


def render_topics(page: Page[TopicView], base: str, *, with_meta: bool) -> bytes:
    """Write a page of topics."""
    entries = (
        (
            f"{base}/topics/{view.topic.name}",
            render_attributes(TOPIC, view.topic.settings, view, "    ") if with_meta else "",
        )
        for view in page.items
    )
    return render_list("Topic", entries, page.next_marker)


def render_subscription(subscription: Subscription) -> bytes:
    """Write GetSubscriptionAttributes; the filter is there only when there is one."""
    return document("Subscription", render_attributes(SUBSCRIPTION, subscription.settings, subscription))


def render_subscriptions(page: Page[Subscription], base: str, *, with_meta: bool) -> bytes:
    """Write a page of subscriptions."""
    entries = (
        (
            f"{base}/topics/{each.topic_name}/subscriptions/{each.name}",
            render_attributes(SUBSCRIPTION, each.settings, each, "    ") if with_meta else "",
        )
        for each in page.items
    )
    return render_list("Subscription", entries, page.next_marker)
