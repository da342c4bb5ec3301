"""``queue`` and ``topic``: queues, topics and their messages, through the API the SDKs use."""

from argparse import Namespace
from collections.abc import Sequence
from functools import partial

from emulator.cli.client import MNS_VERSION, Client, connect, say_what_is_elsewhere
from emulator.cli.mns import Mns, chosen, element, fields, path_of, read_body, shown_body
from emulator.cli.output import (
    DONE,
    FAILED,
    CallRefused,
    Fields,
    WrongUsage,
    _,
    complain,
    note,
    sentences,
    show,
    show_table,
    tell,
    wants_json,
)
from emulator.config import Settings
from emulator.wire.xml import Element

_COLUMNS = {
    "queue": "QueueName",
    "active": "ActiveMessages",
    "inactive": "InactiveMessages",
    "delayed": "DelayMessages",
}


_MANAGED = ("QueueType", "DlqPolicy")
"""Attributes of a queue that only the management API returns."""


def _create(kind: str, arguments: Namespace, settings: Settings) -> int:
    """Create a queue or topic; does nothing when it exists with the same attributes."""
    name = getattr(arguments, kind.lower())
    content = element(kind, chosen(kind, arguments))
    Mns(connect(settings)).call("PUT", path_of(f"{kind.lower()}s", name), content)
    return tell(arguments, _("created {name}", name=name), {f"{kind}Name": name})


def _delete(kind: str, arguments: Namespace, settings: Settings) -> int:
    """Delete a queue and its messages, or a topic, its subscriptions and its undelivered messages."""
    name = getattr(arguments, kind.lower())
    Mns(connect(settings)).call("DELETE", path_of(f"{kind.lower()}s", name))
    return tell(arguments, _("deleted {name}", name=name), {f"{kind}Name": name})


create_queue, create_topic = partial(_create, "Queue"), partial(_create, "Topic")
delete_queue, delete_topic = partial(_delete, "Queue"), partial(_delete, "Topic")


def list_queues(arguments: Namespace, settings: Settings) -> int:
    """List queues with the numbers of their messages."""
    client = connect(settings)
    code = show_table(arguments, _COLUMNS, list(Mns(client).listed("/queues", "Queue", arguments.prefix)))
    say_what_is_elsewhere(arguments, client, "queues")
    return code


def attributes(arguments: Namespace, settings: Settings) -> int:
    """Print the attributes of a queue, after changing those given as options."""
    client = connect(settings)
    service = Mns(client)
    path = path_of("queues", arguments.queue)
    changed = chosen("Queue", arguments)
    if changed:
        service.call("PUT", path, element("Queue", changed), query={"metaoverride": "true"})
    root = service.call("GET", path)
    shown = {} if root is None else fields(root)
    managed = client.rpc(MNS_VERSION, "GetQueueAttributes", {"QueueName": arguments.queue})["Data"]
    shown |= {name: managed[name] for name in _MANAGED}
    return show(arguments, [shown], as_list=False)


def purge(arguments: Namespace, settings: Settings) -> int:
    """Delete every message of a queue: visible, hidden and delayed ones."""
    done = connect(settings).admin("POST", "purge-queue", queue=arguments.queue)
    name, number = arguments.queue, done["deleted"]
    text = _("purged {name}: 1 message", name=name)
    return tell(
        arguments, text if number == 1 else _("purged {name}: {number} messages", name=name, number=number), done
    )


def send(arguments: Namespace, settings: Settings) -> int:
    """Send a message."""
    message = {
        "MessageBody": read_body(arguments.body, as_base64=arguments.base64),
        "DelaySeconds": arguments.delay_seconds,
        "Priority": arguments.priority,
        "MessageGroupId": arguments.group,
    }
    sent = _post(settings, path_of("queues", arguments.queue, "messages"), message)
    return tell(arguments, _("sent {id}", id=sent.get("MessageId")), sent)


def _post(settings: Settings, path: str, message: Fields) -> Fields:
    """Send or publish a message and return the service's answer. Raises: WrongUsage."""
    if not message["MessageBody"]:
        raise WrongUsage(_("the body of a message must not be empty"))
    root = Mns(connect(settings)).call("POST", path, element("Message", message))
    return {} if root is None else fields(root)


def receive(arguments: Namespace, settings: Settings) -> int:
    """Receive messages; the exit code is 1 when none came in time."""
    service = Mns(connect(settings))
    path = path_of("queues", arguments.queue, "messages")
    query = {"numOfMessages": arguments.number}
    query |= {} if arguments.wait is None else {"waitseconds": arguments.wait}
    messages = _messages(service, path, query)
    code = _show(arguments, service, messages)
    if arguments.delete and messages:
        handles = [Element("ReceiptHandle", message["ReceiptHandle"]) for message in messages]
        service.call("DELETE", path, Element("ReceiptHandles", children=handles))
        if not wants_json(arguments):
            note(_("deleted {name}", name=", ".join(str(message["MessageId"]) for message in messages)))
    return code


def peek(arguments: Namespace, settings: Settings) -> int:
    """Print visible messages without hiding them; the exit code is 1 when there is none."""
    query = {"peekonly": "true", "numOfMessages": arguments.number}
    service = Mns(connect(settings))
    return _show(arguments, service, _messages(service, path_of("queues", arguments.queue, "messages"), query))


def _messages(service: Mns, path: str, query: dict[str, str | int]) -> list[Fields]:
    try:
        root = service.call("GET", path, query=query)
    except CallRefused as refusal:
        if refusal.code == "MessageNotExist":  # the service's answer when a queue has no message to deliver
            return []
        raise
    return [] if root is None else [fields(message) for message in root.all("Message")]


def _show(arguments: Namespace, service: Mns, messages: Sequence[Fields]) -> int:
    shown = [
        {**message, "MessageBody": shown_body(message["MessageBody"], from_base64=arguments.base64)}
        for message in messages
    ]
    if not shown and not wants_json(arguments):
        complain(_none_visible(service, arguments.queue))
    show(arguments, shown)
    return DONE if shown else FAILED


def _none_visible(service: Mns, queue: str) -> str:
    """Return the sentence about an empty answer of a queue: how many messages cannot be received yet."""
    root = service.call("GET", path_of("queues", queue))
    counts = {} if root is None else fields(root)
    hidden, delayed = counts.get("InactiveMessages", 0), counts.get("DelayMessages", 0)
    if hidden == delayed == 0:
        return _("no message in {name}", name=queue)
    return _(
        "no message in {name} is visible: {hidden} hidden, {delayed} delayed",
        name=queue,
        hidden=hidden,
        delayed=delayed,
    )


_QUEUE = "queue:"
_TOPICS = {"topic": "TopicName", "pending": "MessageCount"}
_SUBSCRIPTIONS = {
    "subscription": "SubscriptionName",
    "endpoint": "Endpoint",
    "tag": "FilterTag",
    "format": "NotifyContentFormat",
    "strategy": "NotifyStrategy",
}
_DELIVERIES = {
    "published": "PublishTime",
    "message": "MessageId",
    "state": "State",
    "attempts": "Attempts",
    "tag": "MessageTag",
    "next": "NextTime",
    "last result": "LastResult",
    "URL": "Endpoint",
    "body": "MessageBody",
}
_OUTBOX = {"recorded": "RecordTime", "kind": "Kind", "address": "Address", "topic": "TopicName", "body": "MessageBody"}


def list_topics(arguments: Namespace, settings: Settings) -> int:
    """List topics."""
    client = connect(settings)
    code = show_table(arguments, _TOPICS, list(Mns(client).listed("/topics", "Topic", arguments.prefix)))
    say_what_is_elsewhere(arguments, client, "topics")
    return code


def publish(arguments: Namespace, settings: Settings) -> int:
    """Publish a message."""
    message = {
        "MessageBody": read_body(arguments.body, as_base64=arguments.base64),
        "MessageTag": arguments.tag,
        "MessageGroupId": arguments.group,
    }
    sent = _post(settings, path_of("topics", arguments.topic, "messages"), message)
    return tell(arguments, _("published {id}", id=sent.get("MessageId")), sent)


def subscribe(arguments: Namespace, settings: Settings) -> int:
    """Subscribe an endpoint; does nothing when the subscription exists with the same attributes."""
    client = connect(settings)
    subscription = chosen("Subscription", arguments) | {"Endpoint": _endpoint(client, arguments.endpoint)}
    path = path_of("topics", arguments.topic, "subscriptions", arguments.subscription)
    try:
        Mns(client).call("PUT", path, element("Subscription", subscription))
    except CallRefused as error:
        if error.code != "EndpointInvalid":
            raise
        advice = _("An endpoint is queue:NAME, an http URL, or another form of the API.")
        text = sentences(str(error).removeprefix(f"{error.code}: "), advice)
        raise CallRefused(error.status, error.code, text, error.content) from error
    done = {"TopicName": arguments.topic, "SubscriptionName": arguments.subscription}
    text = _("subscribed {subscription} to {topic}", subscription=arguments.subscription, topic=arguments.topic)
    return tell(arguments, text, done)


def _endpoint(client: Client, endpoint: str) -> str:
    """Return the endpoint's full form; ``queue:NAME`` stands for the queue's."""
    if not endpoint.startswith(_QUEUE):
        return endpoint
    return f"acs:mns:{client.keys.region}:{client.account}:queues/{endpoint.removeprefix(_QUEUE)}"


def unsubscribe(arguments: Namespace, settings: Settings) -> int:
    """End a subscription."""
    path = path_of("topics", arguments.topic, "subscriptions", arguments.subscription)
    Mns(connect(settings)).call("DELETE", path)
    done = {"TopicName": arguments.topic, "SubscriptionName": arguments.subscription}
    text = _("unsubscribed {subscription} from {topic}", subscription=arguments.subscription, topic=arguments.topic)
    return tell(arguments, text, done)


def subscriptions(arguments: Namespace, settings: Settings) -> int:
    """List the subscriptions of a topic."""
    path = path_of("topics", arguments.topic, "subscriptions")
    return show_table(arguments, _SUBSCRIPTIONS, list(Mns(connect(settings)).listed(path, "Subscription")))


def deliveries(arguments: Namespace, settings: Settings) -> int:
    """Print the deliveries of a subscription: those still pending, then those that have ended."""
    answer = connect(settings).admin(
        "GET", "deliveries", topic=arguments.topic, subscription=arguments.subscription, limit=str(arguments.number)
    )
    rows = answer["deliveries"]
    if not wants_json(arguments):
        words = {
            "pending": _("pending"),
            "delivered": _("delivered"),
            "dropped": _("dropped"),
            "dead-lettered": _("dead-lettered"),
        }
        rows = [{**each, "State": words[each["State"]]} for each in rows]
    return show(arguments, rows) if arguments.full else show_table(arguments, _DELIVERIES, rows)


def outbox(arguments: Namespace, settings: Settings) -> int:
    """Print the mails, short messages and mobile notifications that were recorded instead of being sent."""
    answer = connect(settings).admin("GET", "outbox", limit=str(arguments.number))
    return show_table(arguments, _OUTBOX, answer["entries"])
