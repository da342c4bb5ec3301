"""Queues, topics and subscriptions through the management API, the same ones as through the XML API.

Failures are answered with the XML API's codes and statuses; the API's own description names none (assumed).

Source: API reference of version 2022-01-19, one page per operation; alibabacloud_mns_open20220119. The operations on
tags are in no published SDK; their source is terraform-provider-alicloud, SetResourceTags of its service for MNS.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from emulator.kernel.identity import Tenant
from emulator.services.mns.errors import MnsError
from emulator.services.mns.management.codec import (
    PARAMETERS,
    Parameters,
    done,
    numbered,
    page,
    page_of,
    queue_object,
    read_fifo,
    read_json,
    read_page,
    read_tags,
    required,
    subscription_object,
    success,
    topic_object,
)
from emulator.services.mns.queues.model import QUEUE, Change
from emulator.services.mns.queues.store import Wanted
from emulator.services.mns.service import MessageService
from emulator.services.mns.topics.model import (
    SUBSCRIPTION,
    TOPIC,
    FunctionEndpoint,
    HttpEndpoint,
    OutboxEndpoint,
    QueueEndpoint,
    Subscription,
    SubscriptionSettings,
    queue_endpoint,
    read_endpoint,
)
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import InvalidParameter, MissingParameter, Reply


@operation("CreateQueue")
def create_queue(service: MessageService, call: OperationRequest) -> Reply:
    """Create a queue, or confirm that one with the same attributes exists.

    Raises: MissingParameter, InvalidParameter, InvalidQueueName, QueueNameLengthError, InvalidArgument,
    QueueAlreadyExist. Source: CreateQueue (2022-01-19).
    """
    name = required(call.parameters, "QueueName")
    service.queues.create(call.tenant, name, _with_tags(PARAMETERS.read(QUEUE, call.parameters.get), call.parameters))
    return done()


@operation("SetQueueAttributes")
def set_queue_attributes(service: MessageService, call: OperationRequest) -> Reply | Awaitable[Reply]:
    """Change the attributes of a queue that the parameters name.

    Raises: MissingParameter, InvalidParameter, QueueNotExist, InvalidArgument. Source: SetQueueAttributes (2022-01-19).
    """
    name = required(call.parameters, "QueueName")
    before = service.find(call.tenant, name).queue.settings
    change = PARAMETERS.read(QUEUE, call.parameters.get, before=before, changing=True)
    later = service.change_queue(call.tenant, name, change)
    return done() if later is None else _done_after(later)


async def _done_after(later: Awaitable[None]) -> Reply:
    await later
    return done()


@operation("GetQueueAttributes")
def get_queue_attributes(service: MessageService, call: OperationRequest) -> Reply:
    """Return a queue.

    Raises: MissingParameter, QueueNotExist. Source: GetQueueAttributes (2022-01-19).
    """
    return success(queue_object(service.queues.view(call.tenant, required(call.parameters, "QueueName"))))


@operation("DeleteQueue")
def delete_queue(service: MessageService, call: OperationRequest) -> Reply:
    """Delete a queue; deleting a missing one succeeds.

    Raises: MissingParameter. Source: DeleteQueue (2022-01-19).
    """
    service.queues.delete(call.tenant, required(call.parameters, "QueueName"))
    return done()


@operation("ListQueue")
def list_queues(service: MessageService, call: OperationRequest) -> Reply:
    """Return a page of the queues whose names start with QueueName, of the QueueType and with all the Tags.

    Raises: InvalidParameter. Source: ListQueue (2022-01-19); assumed: the name is a prefix.
    """
    parameters = call.parameters
    number, size = read_page(parameters)
    part = service.queues.numbered(call.tenant, _wanted(parameters, "Queue"), (number - 1) * size, size)
    return success(page_of(*part, number, size, partial(queue_object, listed=True)))


def _wanted(parameters: Parameters, kind: str) -> Wanted:
    fifo, tags = read_fifo(parameters, f"{kind}Type"), frozenset(read_tags(parameters))
    return Wanted(parameters.get(f"{kind}Name", ""), fifo, tags)


def _with_tags(change: Change, parameters: Parameters) -> Change:
    tags = read_tags(parameters)
    return change | {"tags": tags} if tags else change


@operation("CreateTopic")
def create_topic(service: MessageService, call: OperationRequest) -> Reply:
    """Create a topic, or confirm that one with the same attributes exists.

    Raises: MissingParameter, InvalidParameter, TopicNameInvalid, TopicNameLengthError, InvalidArgument,
    TopicAlreadyExist. Source: CreateTopic (2022-01-19).
    """
    name = required(call.parameters, "TopicName")
    service.topics.create(call.tenant, name, _with_tags(PARAMETERS.read(TOPIC, call.parameters.get), call.parameters))
    return done()


@operation("SetTopicAttributes")
def set_topic_attributes(service: MessageService, call: OperationRequest) -> Reply:
    """Change the attributes of a topic that the parameters name.

    Raises: MissingParameter, InvalidParameter, TopicNotExist, InvalidArgument. Source: SetTopicAttributes (2022-01-19).
    """
    name = required(call.parameters, "TopicName")
    before = service.topics.view(call.tenant, name).topic.settings
    service.topics.change(call.tenant, name, PARAMETERS.read(TOPIC, call.parameters.get, before=before, changing=True))
    return done()


@operation("GetTopicAttributes")
def get_topic_attributes(service: MessageService, call: OperationRequest) -> Reply:
    """Return a topic.

    Raises: MissingParameter, TopicNotExist. Source: GetTopicAttributes (2022-01-19).
    """
    return success(topic_object(service.topics.view(call.tenant, required(call.parameters, "TopicName"))))


@operation("DeleteTopic")
def delete_topic(service: MessageService, call: OperationRequest) -> Reply:
    """Delete a topic; deleting a missing one succeeds.

    Raises: MissingParameter. Source: DeleteTopic (2022-01-19).
    """
    service.topics.delete(call.tenant, required(call.parameters, "TopicName"))
    return done()


@operation("ListTopic")
def list_topics(service: MessageService, call: OperationRequest) -> Reply:
    """Return a page of the topics whose names start with TopicName, of the TopicType and with all the Tags.

    This list alone has neither the number of pages nor the length of the page.

    Raises: InvalidParameter. Source: ListTopic (2022-01-19).
    """
    parameters = call.parameters
    number, size = read_page(parameters)
    found = service.topics.numbered(call.tenant, _wanted(parameters, "Topic"), (number - 1) * size, size)
    part = page_of(*found, number, size, topic_object)
    return success({name: part[name] for name in ("PageData", "PageNum", "PageSize", "Total")})


@operation("Subscribe")
def subscribe(service: MessageService, call: OperationRequest) -> Reply:
    """Subscribe an endpoint to a topic, or confirm that the same subscription exists; return its name.

    A queue whose MaximumMessageSize is below the topic's is accepted, as the XML API does not: what is too large for it
    fails when it is delivered. Source: terraform-provider-alicloud, test of event rules.

    Raises: MissingParameter, InvalidParameter, TopicNotExist, EndpointInvalid, InvalidArgument,
    SubscriptionAlreadyExist and others of the XML API. Source: Subscribe (2022-01-19).
    """
    parameters = call.parameters
    topic, name = _names(parameters)
    service.topics.view(call.tenant, topic)
    endpoint = _endpoint(call.tenant, required(parameters, "PushType"), required(parameters, "Endpoint"))
    settings = PARAMETERS.read(SUBSCRIPTION, parameters.get) | {"endpoint": endpoint, "extras": _extras(parameters)}
    service.subscriptions.create(call.tenant, topic, name, SubscriptionSettings(**settings), any_size=True)
    return success(name)


@operation("SetSubscriptionAttributes")
def set_subscription_attributes(service: MessageService, call: OperationRequest) -> Reply:
    """Change the attributes of a subscription that the parameters name, except its filter.

    Raises: MissingParameter, InvalidParameter, TopicNotExist, SubscriptionNotExist, InvalidArgument.
    Source: SetSubscriptionAttributes (2022-01-19).
    """
    topic, name = _names(call.parameters)
    before = service.subscriptions.get(call.tenant, topic, name).settings
    change = PARAMETERS.read(SUBSCRIPTION, call.parameters.get, changing=True)
    change.pop("filter_tag", None)
    if extras := _extras(call.parameters):
        change["extras"] = before.extras | extras
    service.subscriptions.change(call.tenant, topic, name, change)
    return done()


@operation("GetSubscriptionAttributes")
def get_subscription_attributes(service: MessageService, call: OperationRequest) -> Reply:
    """Return a subscription.

    Raises: MissingParameter, TopicNotExist, SubscriptionNotExist. Source: GetSubscriptionAttributes (2022-01-19).
    """
    return success(subscription_object(service.subscriptions.get(call.tenant, *_names(call.parameters))))


@operation("Unsubscribe")
def unsubscribe(service: MessageService, call: OperationRequest) -> Reply:
    """End a subscription; ending a missing one succeeds.

    Raises: MissingParameter. Source: Unsubscribe (2022-01-19).
    """
    service.subscriptions.delete(call.tenant, *_names(call.parameters))
    return done()


@operation("ListSubscriptionByTopic")
def list_subscriptions(service: MessageService, call: OperationRequest) -> Reply:
    """Return a page of a topic's subscriptions whose names start with SubscriptionName and that have the endpoint.

    Raises: MissingParameter, InvalidParameter, TopicNotExist. Source: ListSubscriptionByTopic (2022-01-19).
    """
    parameters = call.parameters
    number, size = read_page(parameters)
    prefix = parameters.get("SubscriptionName", "")
    kind, value = parameters.get("EndpointType", ""), parameters.get("EndpointValue", "")
    subscriptions = [
        each
        for each in service.subscriptions.all(call.tenant, required(parameters, "TopicName"))
        if each.name.startswith(prefix) and _leads_to(each, kind, value)
    ]
    return success(page(subscriptions, number, size, partial(subscription_object, listed=True)))


def _names(parameters: Parameters) -> tuple[str, str]:
    return required(parameters, "TopicName"), required(parameters, "SubscriptionName")


_EXTRAS = ("DmAttributes", "DysmsAttributes", "KafkaAttributes")
_PUSH_TYPES: Mapping[str, tuple[type, str, str]] = {
    "http": (HttpEndpoint, "", ""),
    "queue": (QueueEndpoint, "", ""),
    "fc": (FunctionEndpoint, "", ""),
    "dm": (OutboxEndpoint, "mail", "mail:directmail:"),
    "email": (OutboxEndpoint, "mail", "mail:directmail:"),
    "dysms": (OutboxEndpoint, "sms", "sms:directsms:"),
    "alisms": (OutboxEndpoint, "sms", "sms:directsms:"),
    "mpush": (OutboxEndpoint, "push", "push:"),
    "eventbus": (OutboxEndpoint, "event", ""),
    "kafka": (OutboxEndpoint, "event", "kafka:"),
}
"""For each push type: its endpoint, the kind of outbox, and what the XML API writes before a bare name or address."""


def _endpoint(tenant: Tenant, push_type: str, text: str) -> str:
    """Return an endpoint in the form of the XML API.

    Raises: InvalidParameter for an unknown push type; EndpointInvalid for an endpoint of another type.
    """
    push_type = push_type.lower()
    if push_type not in _PUSH_TYPES:
        raise InvalidParameter(name="PushType")
    prefix = _PUSH_TYPES[push_type][2]
    if push_type == "queue" and ":" not in text:
        text = queue_endpoint(tenant, text)
    elif ":" not in text or push_type == "kafka":  # brokers have ports
        text = prefix + text.removeprefix(prefix)
    if not _is_of_kind(text, push_type):
        raise MnsError("EndpointInvalid")
    return text


def _is_of_kind(endpoint: str, push_type: str) -> bool:
    target = read_endpoint(endpoint)
    kind, outbox, _ = _PUSH_TYPES.get(push_type.lower(), (type(None), "", ""))
    return isinstance(target, kind) and (not isinstance(target, OutboxEndpoint) or target.kind == outbox)


def _leads_to(subscription: Subscription, kind: str, value: str) -> bool:
    """Whether a subscription has an endpoint of that type whose text, or last part, is *value*."""
    endpoint = subscription.settings.endpoint
    if kind and not _is_of_kind(endpoint, kind):
        return False
    return not value or endpoint == value or endpoint.endswith((f"/{value}", f":{value}"))


def _extras(parameters: Parameters) -> dict[str, str]:
    """Return the attributes that are stored without effect.

    Raises: InvalidParameter for attributes that are no JSON object.
    """
    extras = {name: parameters[name] for name in _EXTRAS if read_json(parameters, name, dict) is not None}
    if role := parameters.get("StsRoleArn"):
        extras["StsRoleArn"] = role
    return extras


Tags = dict[str, str]


@operation("TagResources")
def tag_resources(service: MessageService, call: OperationRequest) -> Reply:
    """Set tags of queues or topics; tags with the same keys are replaced.

    Raises: MissingParameter, InvalidParameter, QueueNotExist, TopicNotExist.
    Source: terraform-provider-alicloud, SetResourceTags; assumed: the response.
    """
    tags = dict(read_tags(call.parameters))
    if not tags:
        raise MissingParameter(name="Tag")
    return _changed(service, call, lambda present: present | tags)


@operation("UntagResources")
def untag_resources(service: MessageService, call: OperationRequest) -> Reply:
    """Remove the tags with the keys that the request names.

    Raises: MissingParameter, InvalidParameter, QueueNotExist, TopicNotExist.
    Source: terraform-provider-alicloud, SetResourceTags; assumed: the response.
    """
    keys = numbered(call.parameters, "TagKey")
    return _changed(service, call, lambda present: {key: present[key] for key in present if key not in keys})


def _changed(service: MessageService, call: OperationRequest, change: Callable[[Tags], Tags]) -> Reply:
    kind, names = required(call.parameters, "ResourceType"), numbered(call.parameters, "ResourceId")
    resources: Any = {"queue": service.queues, "topic": service.topics}.get(kind)
    if resources is None:
        raise InvalidParameter(name="ResourceType")
    for name in names:
        tags = change(dict(getattr(resources.view(call.tenant, name), kind).settings.tags))
        resources.change(call.tenant, name, {"tags": tuple(tags.items())})
    return success()
