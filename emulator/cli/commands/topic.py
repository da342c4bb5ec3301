"""``topic``: topics, their subscriptions, and what became of published messages."""

from argparse import Namespace

from emulator.cli.client import Client, connect
from emulator.cli.mns import Mns, chosen, element, fields, path_of, read_body
from emulator.cli.output import _, show, show_table, tell
from emulator.config import Settings

_QUEUE = "queue:"
_TOPICS = {"topic": "TopicName", "on their way": "MessageCount"}
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
_OUTBOX = {
    "recorded": "RecordTime",
    "kind": "Kind",
    "address": "Address",
    "topic": "TopicName",
    "body": "MessageBody",
}


# --- topics ------------------------------------------------------------------------------------------------------


def create(arguments: Namespace, settings: Settings) -> int:
    """Create a topic; nothing changes when it exists with the same attributes."""
    content = element("Topic", chosen("Topic", arguments))
    Mns(connect(settings)).call("PUT", path_of("topics", arguments.topic), content)
    return tell(arguments, _("created {name}", name=arguments.topic), {"TopicName": arguments.topic})


def delete(arguments: Namespace, settings: Settings) -> int:
    """Delete a topic, its subscriptions and what is on its way."""
    Mns(connect(settings)).call("DELETE", path_of("topics", arguments.topic))
    return tell(arguments, _("deleted {name}", name=arguments.topic), {"TopicName": arguments.topic})


def show_list(arguments: Namespace, settings: Settings) -> int:
    """List topics."""
    return show_table(arguments, _TOPICS, list(Mns(connect(settings)).listed("/topics", "Topic", arguments.prefix)))


def publish(arguments: Namespace, settings: Settings) -> int:
    """Publish a message."""
    message = {
        "MessageBody": read_body(arguments.body, as_base64=arguments.base64),
        "MessageTag": arguments.tag,
        "MessageGroupId": arguments.group,
    }
    service = Mns(connect(settings))
    root = service.call("POST", path_of("topics", arguments.topic, "messages"), element("Message", message))
    sent = {} if root is None else fields(root)
    return tell(arguments, _("published {id}", id=sent.get("MessageId")), sent)


# --- subscriptions -----------------------------------------------------------------------------------------------


def subscribe(arguments: Namespace, settings: Settings) -> int:
    """Subscribe an endpoint; nothing changes when it exists with the same attributes."""
    client = connect(settings)
    subscription = chosen("Subscription", arguments) | {"Endpoint": _endpoint(client, arguments.endpoint)}
    path = path_of("topics", arguments.topic, "subscriptions", arguments.subscription)
    Mns(client).call("PUT", path, element("Subscription", subscription))
    done = {"TopicName": arguments.topic, "SubscriptionName": arguments.subscription}
    text = _("subscribed {subscription} to {topic}", subscription=arguments.subscription, topic=arguments.topic)
    return tell(arguments, text, done)


def _endpoint(client: Client, endpoint: str) -> str:
    """Return the endpoint's full form; ``queue:NAME`` is short for the queue's."""
    if not endpoint.startswith(_QUEUE):
        return endpoint
    return f"acs:mns:{client.keys.region}:{client.keys.account_id}:queues/{endpoint.removeprefix(_QUEUE)}"


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


# --- what became of messages -------------------------------------------------------------------------------------


def deliveries(arguments: Namespace, settings: Settings) -> int:
    """Print the deliveries of a subscription: those still pending, then those that have ended."""
    answer = connect(settings).admin(
        "GET",
        "deliveries",
        topic=arguments.topic,
        subscription=arguments.subscription,
        limit=str(arguments.number),
    )
    rows = answer["deliveries"]
    return show(arguments, rows) if arguments.full else show_table(arguments, _DELIVERIES, rows)


def outbox(arguments: Namespace, settings: Settings) -> int:
    """Print the mails, short messages and mobile notifications that were recorded instead of being sent."""
    answer = connect(settings).admin("GET", "outbox", limit=str(arguments.number))
    return show_table(arguments, _OUTBOX, answer["entries"])
