"""XML of topics, subscriptions and published messages."""

from emulator.services.mns.codec import read_attributes, read_document
from emulator.services.mns.errors import SchemaViolation
from emulator.services.mns.queues.codec import read_properties
from emulator.services.mns.topics.model import (
    SUBSCRIPTION,
    PublishDraft,
    SubscriptionSettings,
)


def read_subscription(body: bytes) -> SubscriptionSettings:
    """Read a new subscription.

    Raises: MalformedXML, SchemaViolation, InvalidArgument.
    """
    settings = read_attributes(SUBSCRIPTION, body)
    if not settings.get("endpoint"):
        raise SchemaViolation(name="Endpoint")
    return SubscriptionSettings(**settings)


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
