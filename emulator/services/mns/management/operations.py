"""The management API of the message service, version 2022-01-19, spoken RPC.

It works on the queues, topics and subscriptions of the XML API and adds what that has no elements for. Failures are
answered with the XML API's codes and statuses; the API's own description names none (assumed).
"""

from collections.abc import Callable, Iterator, Mapping

from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import Demand, Tenant
from emulator.kernel.ids import Ids
from emulator.services.mns.errors import MnsError
from emulator.services.mns.front import Route, demand
from emulator.services.mns.management.codec import (
    done,
    page,
    queue_object,
    read_fifo,
    read_json,
    read_page,
    read_queue,
    read_rate_limit,
    read_subscription_dead_letters,
    read_tags,
    read_topic,
    required,
    subscription_object,
    success,
    topic_object,
)
from emulator.services.mns.management.settings import OpenAccount, OpenRules
from emulator.services.mns.queues.model import Encryption, QueueView
from emulator.services.mns.service import MessageService
from emulator.services.mns.topic_service import TopicService
from emulator.services.mns.topics.codec import read_format, read_strategy
from emulator.services.mns.topics.endpoints import (
    FunctionEndpoint,
    HttpEndpoint,
    OutboxEndpoint,
    QueueEndpoint,
    queue_endpoint,
    read_endpoint,
)
from emulator.services.mns.topics.model import (
    ContentFormat,
    NotifyStrategy,
    Subscription,
    SubscriptionChange,
    SubscriptionSettings,
    TopicView,
)
from emulator.wire.pop_errors import InvalidParameter
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Operation, Parameters, Reply, RpcFront


class OpenQueues:
    """Operations on queues."""

    def __init__(self, service: MessageService) -> None:
        self._service = service
        self._queues = service.queues
        self.operations: Mapping[str, Operation] = {
            "CreateQueue": self._create,
            "SetQueueAttributes": self._set,
            "GetQueueAttributes": self._get,
            "DeleteQueue": self._delete,
            "ListQueue": self._list,
        }

    def _create(self, context: OperationRequest, parameters: Parameters) -> Reply:
        name = required(parameters, "QueueName")
        change = read_queue(parameters, Encryption())
        if (fifo := read_fifo(parameters, "QueueType")) is not None:
            change["fifo"] = fifo
        if tags := read_tags(parameters):
            change["tags"] = tags
        self._queues.create(context.tenant, name, change)
        return done()

    def _set(self, context: OperationRequest, parameters: Parameters) -> Reply:
        name = required(parameters, "QueueName")
        before = self._service.find(context.tenant, name).queue.settings.encryption
        self._queues.change(context.tenant, name, read_queue(parameters, before))
        return done()

    def _get(self, context: OperationRequest, parameters: Parameters) -> Reply:
        return success(queue_object(self._queues.view(context.tenant, required(parameters, "QueueName"))))

    def _delete(self, context: OperationRequest, parameters: Parameters) -> Reply:
        self._queues.delete(context.tenant, required(parameters, "QueueName"))
        return done()

    def _list(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """Return a page of the queues whose names start with QueueName, of the type and with all the tags asked for.

        Source: that the name is a prefix is assumed.
        """
        number, size = read_page(parameters)
        fifo, tags = read_fifo(parameters, "QueueType"), set(read_tags(parameters))
        found = [
            queue_object(view, listed=True)
            for view in self._all(context.tenant, parameters.get("QueueName", ""))
            if fifo in {None, view.queue.settings.fifo} and tags <= set(view.queue.settings.tags)
        ]
        return success(page(found, number, size))

    def _all(self, tenant: Tenant, prefix: str) -> Iterator[QueueView]:
        start: str | None = ""
        while start is not None:
            part = self._queues.page(tenant, prefix=prefix, start=start)
            yield from part.items
            start = part.next_marker


_EXTRAS = ("DmAttributes", "DysmsAttributes", "KafkaAttributes")
_FORMS: Mapping[str, Callable[[Tenant, str], str]] = {
    "http": lambda tenant, text: text,
    "queue": lambda tenant, text: queue_endpoint(tenant, text) if ":" not in text else text,
    "dm": lambda tenant, text: f"mail:directmail:{text}" if ":" not in text else text,
    "email": lambda tenant, text: f"mail:directmail:{text}" if ":" not in text else text,
    "dysms": lambda tenant, text: f"sms:directsms:{text}" if ":" not in text else text,
    "alisms": lambda tenant, text: f"sms:directsms:{text}" if ":" not in text else text,
    "mpush": lambda tenant, text: f"push:{text}" if ":" not in text else text,
    "fc": lambda tenant, text: text,
    "eventbus": lambda tenant, text: text,
    "kafka": lambda tenant, text: text if text.startswith("kafka:") else f"kafka:{text}",
}
"""How each push type's endpoint is written where the XML API shows it; names and addresses may also come bare."""

_KINDS: Mapping[str, tuple[type, str]] = {
    "http": (HttpEndpoint, ""),
    "queue": (QueueEndpoint, ""),
    "fc": (FunctionEndpoint, ""),
    "dm": (OutboxEndpoint, "mail"),
    "email": (OutboxEndpoint, "mail"),
    "dysms": (OutboxEndpoint, "sms"),
    "alisms": (OutboxEndpoint, "sms"),
    "mpush": (OutboxEndpoint, "push"),
    "eventbus": (OutboxEndpoint, "event"),
    "kafka": (OutboxEndpoint, "event"),
}


class OpenTopics:
    """Operations on topics and subscriptions."""

    def __init__(self, service: TopicService) -> None:
        self._topics = service.topics
        self._subscriptions = service.subscriptions
        self.operations: Mapping[str, Operation] = {
            "CreateTopic": self._create,
            "SetTopicAttributes": self._set,
            "GetTopicAttributes": self._get,
            "DeleteTopic": self._delete,
            "ListTopic": self._list,
            "Subscribe": self._subscribe,
            "SetSubscriptionAttributes": self._set_subscription,
            "GetSubscriptionAttributes": self._get_subscription,
            "Unsubscribe": self._unsubscribe,
            "ListSubscriptionByTopic": self._list_subscriptions,
        }

    # --- topics --------------------------------------------------------------------------------------------------

    def _create(self, context: OperationRequest, parameters: Parameters) -> Reply:
        name = required(parameters, "TopicName")
        change = read_topic(parameters, Encryption())
        if (fifo := read_fifo(parameters, "TopicType")) is not None:
            change["fifo"] = fifo
        if tags := read_tags(parameters):
            change["tags"] = tags
        self._topics.create(context.tenant, name, change)
        return done()

    def _set(self, context: OperationRequest, parameters: Parameters) -> Reply:
        name = required(parameters, "TopicName")
        before = self._topics.view(context.tenant, name).topic.settings.encryption
        self._topics.change(context.tenant, name, read_topic(parameters, before))
        return done()

    def _get(self, context: OperationRequest, parameters: Parameters) -> Reply:
        return success(topic_object(self._topics.view(context.tenant, required(parameters, "TopicName"))))

    def _delete(self, context: OperationRequest, parameters: Parameters) -> Reply:
        self._topics.delete(context.tenant, required(parameters, "TopicName"))
        return done()

    def _list(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """Return a page of the topics whose names start with TopicName, of the type and with all the tags asked for.

        This list alone tells neither how many pages there are nor how long this one is.
        """
        number, size = read_page(parameters)
        fifo, tags = read_fifo(parameters, "TopicType"), set(read_tags(parameters))
        found = [
            topic_object(view)
            for view in self._all(context.tenant, parameters.get("TopicName", ""))
            if fifo in {None, view.topic.settings.fifo} and tags <= set(view.topic.settings.tags)
        ]
        part = page(found, number, size)
        return success({name: part[name] for name in ("PageData", "PageNum", "PageSize", "Total")})

    def _all(self, tenant: Tenant, prefix: str) -> Iterator[TopicView]:
        start: str | None = ""
        while start is not None:
            part = self._topics.page(tenant, prefix=prefix, start=start)
            yield from part.items
            start = part.next_marker

    # --- subscriptions -------------------------------------------------------------------------------------------

    def _subscribe(self, context: OperationRequest, parameters: Parameters) -> Reply:
        topic, name = required(parameters, "TopicName"), required(parameters, "SubscriptionName")
        self._topics.view(context.tenant, topic)
        endpoint = _endpoint(context.tenant, required(parameters, "PushType"), required(parameters, "Endpoint"))
        strategy, content_format = parameters.get("NotifyStrategy"), parameters.get("NotifyContentFormat")
        settings = SubscriptionSettings(
            endpoint=endpoint,
            filter_tag=parameters.get("MessageTag") or None,
            strategy=read_strategy(strategy) if strategy else NotifyStrategy.BACKOFF,
            content_format=read_format(content_format) if content_format else ContentFormat.XML,
            dead_letters=read_subscription_dead_letters(parameters),
            rate_limit=read_rate_limit(parameters),
            extras=_extras(parameters),
        )
        self._subscriptions.create(context.tenant, topic, name, settings)
        return success(name)

    def _set_subscription(self, context: OperationRequest, parameters: Parameters) -> Reply:
        topic, name = required(parameters, "TopicName"), required(parameters, "SubscriptionName")
        before = self._subscriptions.get(context.tenant, topic, name)
        change: SubscriptionChange = {}
        if strategy := parameters.get("NotifyStrategy"):
            change["strategy"] = read_strategy(strategy)
        if (policy := read_subscription_dead_letters(parameters)) is not None:
            change["dead_letters"] = policy
        if (rate_limit := read_rate_limit(parameters)) is not None:
            change["rate_limit"] = rate_limit
        if extras := _extras(parameters):
            change["extras"] = before.settings.extras | extras
        self._subscriptions.change(context.tenant, topic, name, change)
        return done()

    def _get_subscription(self, context: OperationRequest, parameters: Parameters) -> Reply:
        topic, name = required(parameters, "TopicName"), required(parameters, "SubscriptionName")
        return success(subscription_object(self._subscriptions.get(context.tenant, topic, name)))

    def _unsubscribe(self, context: OperationRequest, parameters: Parameters) -> Reply:
        topic, name = required(parameters, "TopicName"), required(parameters, "SubscriptionName")
        self._subscriptions.delete(context.tenant, topic, name)
        return done()

    def _list_subscriptions(self, context: OperationRequest, parameters: Parameters) -> Reply:
        number, size = read_page(parameters)
        prefix = parameters.get("SubscriptionName", "")
        kind, value = parameters.get("EndpointType", ""), parameters.get("EndpointValue", "")
        found = [
            subscription_object(item, listed=True)
            for item in self._subscriptions.all(context.tenant, required(parameters, "TopicName"))
            if item.name.startswith(prefix) and _leads_to(item, kind, value)
        ]
        return success(page(found, number, size))


def _endpoint(tenant: Tenant, push_type: str, text: str) -> str:
    """Return an endpoint in the form of the XML API.

    Raises: InvalidParameter for an unknown push type; EndpointInvalid for an endpoint of another type.
    """
    form = _FORMS.get(push_type.lower())
    if form is None:
        raise InvalidParameter(name="PushType")
    endpoint = form(tenant, text)
    if not _is_of_kind(endpoint, push_type):
        raise MnsError("EndpointInvalid")
    return endpoint


def _is_of_kind(endpoint: str, push_type: str) -> bool:
    found = read_endpoint(endpoint)
    kind, outbox = _KINDS.get(push_type.lower(), (type(None), ""))
    return isinstance(found, kind) and (not isinstance(found, OutboxEndpoint) or found.kind == outbox)


def _leads_to(subscription: Subscription, kind: str, value: str) -> bool:
    """Tell whether a subscription has an endpoint of that type whose text, or last part, is *value*."""
    endpoint = subscription.settings.endpoint
    if kind and not _is_of_kind(endpoint, kind):
        return False
    return not value or endpoint == value or endpoint.endswith((f"/{value}", f":{value}"))


def _extras(parameters: Parameters) -> dict[str, str]:
    """Return what is only kept.

    Raises: InvalidParameter for attributes that are no JSON object.
    """
    extras = {name: parameters[name] for name in _EXTRAS if read_json(parameters, name, dict) is not None}
    if role := parameters.get("StsRoleArn"):
        extras["StsRoleArn"] = role
    return extras


VERSION = "2022-01-19"


class MnsOpenFront(RpcFront):
    """All of its operations."""

    def __init__(self, service: MessageService, topics: TopicService, ids: Ids) -> None:
        operations = {
            **OpenQueues(service).operations,
            **OpenTopics(topics).operations,
            **OpenAccount(service, topics.store).operations,
            **OpenRules(topics).operations,
        }
        super().__init__("mns-open", VERSION, operations, ids, upper_case_ids=True)

    def rights(self, operation: str, parameters: Parameters, context: OperationRequest) -> list[Demand]:
        """Return the right that the XML API asks for the same operation."""
        name = parameters.get("QueueName" if "Queue" in operation else "TopicName", "")
        return [demand(context.tenant, Route(operation, name, parameters.get("SubscriptionName", "")))]

    def denied(self, demand: Demand, context: OperationRequest) -> ServiceError:
        """Return the XML API's error for a caller without the right."""
        del context
        return MnsError("AccessDenied").to(demand)
