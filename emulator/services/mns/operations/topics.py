"""Operations of the XML API on topics, subscriptions and published messages, and the XML of what they take."""

from emulator.http.message import Response
from emulator.services.mns.codec import (
    base_url,
    read_attributes,
    read_change,
    read_document,
    read_listing,
    render_list,
    render_resource,
    respond,
)
from emulator.services.mns.errors import SchemaViolation
from emulator.services.mns.queues.codec import read_properties, render_receipt
from emulator.services.mns.service import MessageService
from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC, PublishDraft, SubscriptionSettings
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest


@operation("CreateTopic", "PUT /topics/{topic}")
def create_topic(service: MessageService, call: OperationRequest) -> Response:
    """Create a topic: 201 with its URL, 204 when one with the same attributes exists.

    Raises: TopicNameInvalid, TopicNameLengthError, InvalidArgument, TopicAlreadyExist, MalformedXML, SchemaViolation.
    Source: CreateTopic; the URL in a 204: aliyun-mns-python-sdk.
    """
    name = call.path["topic"]
    is_new = service.topics.create(call.tenant, name, read_change(TOPIC, call.http.body))
    return respond(call, 201 if is_new else 204, location=f"/topics/{name}")


@operation("SetTopicAttributes", "PUT /topics/{topic}?metaoverride=true")
def set_topic_attributes(service: MessageService, call: OperationRequest) -> Response:
    """Change the attributes of a topic that the body names: 204.

    Raises: TopicNotExist, InvalidArgument, MalformedXML, SchemaViolation. Source: SetTopicAttributes.
    """
    tenant, name = call.tenant, call.path["topic"]
    service.topics.view(tenant, name)  # a missing topic is refused before a bad body
    service.topics.change(tenant, name, read_change(TOPIC, call.http.body))
    return respond(call, 204)


@operation("GetTopicAttributes", "GET /topics/{topic}")
def get_topic_attributes(service: MessageService, call: OperationRequest) -> Response:
    """Return the attributes of a topic: 200.

    Raises: TopicNotExist.
    Source: GetTopicAttributes.
    """
    view = service.topics.view(call.tenant, call.path["topic"])
    return respond(call, 200, render_resource(TOPIC, view.topic.settings, view))


@operation("DeleteTopic", "DELETE /topics/{topic}")
def delete_topic(service: MessageService, call: OperationRequest) -> Response:
    """Delete a topic with its subscriptions: 204, also when it does not exist.

    Source: DeleteTopic.
    """
    service.topics.delete(call.tenant, call.path["topic"])
    return respond(call, 204)


@operation("ListTopic", "GET /topics")
def list_topics(service: MessageService, call: OperationRequest) -> Response:
    """Return a page of topic URLs, with attributes on request: 200.

    Raises: InvalidArgument.
    Source: ListTopic.
    """
    prefix, start, limit, with_meta = read_listing(call)
    page = service.topics.page(call.tenant, prefix=prefix, start=start, limit=limit)
    url = base_url(call.http) + "/topics/"
    entries = [(url + each.topic.name, each.topic.settings if with_meta else None, each) for each in page.items]
    return respond(call, 200, render_list(TOPIC, entries, page.next_marker))


@operation("PublishMessage", "POST /topics/{topic}/messages")
def publish_message(service: MessageService, call: OperationRequest) -> Response:
    """Publish a message: 201 with its id and digest.

    Raises: TopicNotExist, MalformedXML, SchemaViolation, InvalidArgument, FifoMissingMessageGroupId.
    Source: PublishMessage.
    """
    tenant, name = call.tenant, call.path["topic"]
    service.topics.view(tenant, name)
    draft = read_publish(call.http.body)
    receipt = service.publishing.publish(tenant, name, draft)
    call.about = {"message_id": receipt.message_id, "topic": name, "tag": draft.tag or ""}
    return respond(call, 201, render_receipt(receipt))


@operation("Subscribe", "PUT /topics/{topic}/subscriptions/{subscription}")
def subscribe(service: MessageService, call: OperationRequest) -> Response:
    """Subscribe an endpoint to a topic: 201 with the URL, 204 when the same subscription exists.

    Raises: TopicNotExist, SubscriptionNameInvalid, SubscriptionNameLengthError, InvalidArgument, EndpointInvalid,
    SubscriptionAlreadyExist, SubscriptionNumExceededLimit, MalformedXML, SchemaViolation. Source: Subscribe.
    """
    tenant, topic, name = call.tenant, call.path["topic"], call.path["subscription"]
    service.topics.view(tenant, topic)
    is_new = service.subscriptions.create(tenant, topic, name, read_subscription(call.http.body))
    return respond(call, 201 if is_new else 204, location=f"/topics/{topic}/subscriptions/{name}")


@operation("SetSubscriptionAttributes", "PUT /topics/{topic}/subscriptions/{subscription}?metaoverride=true")
def set_subscription_attributes(service: MessageService, call: OperationRequest) -> Response:
    """Change the attributes of a subscription that the body names: 204.

    Raises: TopicNotExist, SubscriptionNotExist, InvalidArgument, MalformedXML, SchemaViolation.
    Source: SetSubscriptionAttributes.
    """
    tenant, topic, name = call.tenant, call.path["topic"], call.path["subscription"]
    service.subscriptions.get(tenant, topic, name)
    service.subscriptions.change(tenant, topic, name, read_change(SUBSCRIPTION, call.http.body, changing=True))
    return respond(call, 204)


@operation("GetSubscriptionAttributes", "GET /topics/{topic}/subscriptions/{subscription}")
def get_subscription_attributes(service: MessageService, call: OperationRequest) -> Response:
    """Return the attributes of a subscription: 200.

    Raises: TopicNotExist, SubscriptionNotExist. Source: GetSubscriptionAttributes.
    """
    subscription = service.subscriptions.get(call.tenant, call.path["topic"], call.path["subscription"])
    return respond(call, 200, render_resource(SUBSCRIPTION, subscription.settings, subscription))


@operation("Unsubscribe", "DELETE /topics/{topic}/subscriptions/{subscription}")
def unsubscribe(service: MessageService, call: OperationRequest) -> Response:
    """End a subscription: 204, also when it does not exist.

    Source: Unsubscribe.
    """
    service.subscriptions.delete(call.tenant, call.path["topic"], call.path["subscription"])
    return respond(call, 204)


@operation("ListSubscriptionByTopic", "GET /topics/{topic}/subscriptions")
def list_subscriptions(service: MessageService, call: OperationRequest) -> Response:
    """Return a page of the subscriptions of a topic, with attributes on request: 200.

    Raises: TopicNotExist, InvalidArgument. Source: ListSubscriptionByTopic.
    """
    prefix, start, limit, with_meta = read_listing(call)
    topic = call.path["topic"]
    page = service.subscriptions.page(call.tenant, topic, prefix=prefix, start=start, limit=limit)
    url = f"{base_url(call.http)}/topics/{topic}/subscriptions/"
    entries = [(url + each.name, each.settings if with_meta else None, each) for each in page.items]
    return respond(call, 200, render_list(SUBSCRIPTION, entries, page.next_marker))


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
