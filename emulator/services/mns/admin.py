"""Administration of queues and topics: purging, deliveries, the outbox, the signing certificate, Prometheus metrics."""

from collections.abc import Iterator
from heapq import nlargest
from typing import Any, Final

from emulator.http.message import Response
from emulator.kernel.clock import Millis
from emulator.kernel.metrics import Family, Sample, gauge, labelled
from emulator.services.mns.errors import MnsError
from emulator.services.mns.queues.live_queues import LiveQueue
from emulator.services.mns.queues.message import Message, restored
from emulator.services.mns.queues.visibility import handle_of, hidden_key, is_held, source_of, state
from emulator.services.mns.service import CERTIFICATE_PAGE, MessageService
from emulator.services.mns.topics.model import DeliveryReport, OutboxEntry, Push
from emulator.wire.operation import ANYONE, operation
from emulator.wire.request import OperationRequest
from emulator.wire.schema.kinds import COUNT, argument

MOST_QUEUES: Final = 200
"""How many queues have metrics of their own, those with the most messages: a test run may make thousands."""

MOST_MOVED: Final = 1_000
"""How many messages one call of move-messages moves at most."""

_LIMIT = argument("limit", COUNT, "The most rows to return.", default=100)


@operation("purge-queue", "POST /purge-queue", argument("queue", about="The queue's name.", default=""))
async def purge_queue(service: MessageService, call: OperationRequest) -> dict[str, Any]:
    """Delete every message of a queue; returns their number.

    Raises: QueueNotExist.
    """
    queue = call.arguments["queue"]
    return {"queue": queue, "deleted": await service.purge(call.tenant, queue)}


@operation("messages", "GET /messages", argument("queue", about="The queue's name."), _LIMIT)
def messages(service: MessageService, call: OperationRequest) -> dict[str, Any]:
    """The visible and hidden messages of a queue, next ones first; changes nothing.

    Raises: QueueNotExist.
    """
    live = service.find(call.tenant, call.arguments["queue"])
    listed = service.messages.listed(live, call.arguments["limit"])
    return {"messages": [message_object(each, call.now) for each in listed]}


@operation(
    "move-messages",
    "POST /move-messages",
    argument("queue", about="The queue's name."),
    argument("to", about="The name of the other queue; empty: the source queue of each dead letter.", default=""),
    argument("message", about="Only the message with this id, visible or hidden.", default=""),
)
def move_messages(service: MessageService, call: OperationRequest) -> dict[str, Any]:
    """Move visible messages, at most a thousand, to another queue; returns their number.

    Messages keep body, priority, group and properties of their own. Without ``to`` those that are no dead letters stay.

    Raises: QueueNotExist; MessageNotExist when there is none with that id.
    """
    name, target, wanted = (call.arguments[each] for each in ("queue", "to", "message"))
    live = service.find(call.tenant, name)
    listed = service.messages.listed(live, MOST_MOVED)
    if wanted:
        chosen = [each for each in listed if each.message_id == wanted]
        if not chosen:
            raise MnsError("MessageNotExist")
    else:
        chosen = [each for each in listed if state(each, call.now) == "active"]
    places = [(each, target or source_of(each)) for each in chosen]
    for each, place in places:
        if place:
            service.messages.move(live, each, service.find(call.tenant, place))
    return {"moved": sum(1 for _, place in places if place)}


@operation(
    "redeliver",
    "POST /redeliver",
    argument("topic", about="The topic's name."),
    argument("subscription", about="The subscription's name."),
    argument("message", about="The message's id."),
)
def redeliver(service: MessageService, call: OperationRequest) -> dict[str, Any] | None:
    """Deliver a message now, whether it waits for its next attempt or its delivery has ended.

    Raises: TopicNotExist, SubscriptionNotExist.
    """
    topic, subscription, message = (call.arguments[name] for name in ("topic", "subscription", "message"))
    return {"message": message} if service.redeliver(call.tenant, topic, subscription, message) else None


@operation(
    "deliveries",
    "GET /deliveries",
    argument("topic", about="The topic's name.", default=""),
    argument("subscription", about="The subscription's name.", default=""),
    _LIMIT,
)
def deliveries(service: MessageService, call: OperationRequest) -> dict[str, Any]:
    """The deliveries of a subscription, pending ones first, with their latest attempts.

    Raises: TopicNotExist, SubscriptionNotExist.
    """
    topic, subscription, limit = (call.arguments[name] for name in ("topic", "subscription", "limit"))
    reports = service.list_deliveries(call.tenant, topic, subscription, limit)
    return {"deliveries": [delivery_object(each) for each in reports]}


@operation("outbox", "GET /outbox", _LIMIT)
def outbox(service: MessageService, call: OperationRequest) -> dict[str, Any]:
    """Mails, short messages and notifications that were recorded instead of sent, newest first."""
    entries = service.topic_store.outbox(call.tenant, call.arguments["limit"])
    return {"entries": [outbox_object(each) for each in entries]}


@operation("signing-certificate", f"GET /{CERTIFICATE_PAGE}", right=ANYONE)
async def signing_certificate(service: MessageService, call: OperationRequest) -> Response:
    """The certificate to verify pushes of topics with; readable without a key because receivers have none.

    Raises: SigningFailed.
    """
    return Response(200, await service.certificate(), [("Content-Type", "application/x-pem-file")])


def delivery_object(report: DeliveryReport) -> dict[str, Any]:
    """Return a delivery; ``NextTime`` is there while it is pending, ``EndTime`` afterwards. Times are milliseconds.

    ``State`` is ``pending``, ``delivered``, ``dropped`` or ``dead-lettered``. ``Request`` and ``Answer`` are those of
    the last push over HTTP since the start of the emulator, ``Tries`` the latest attempts since then with theirs.
    """
    content: dict[str, Any] = {
        "MessageId": report.message_id,
        "PublishTime": report.published_at,
        "State": report.state,
        "Attempts": report.attempts,
        "LastResult": report.last_result,
        "Endpoint": report.endpoint,
        "MessageBody": report.body,
        "MessageTag": report.tag or "",
    }
    content["Tries"] = [
        {"Number": each.number, "Time": each.at, "Delivered": each.delivered, "Result": each.detail}
        | _pushed(each.push)
        for each in report.tries
    ]
    content |= _pushed(report.tries[-1].push if report.tries else None)
    if report.next_at is not None:
        content["NextTime"] = report.next_at
    if report.ended_at is not None:
        content["EndTime"] = report.ended_at
    return content


def _pushed(push: Push | None) -> dict[str, Any]:
    """Return request and answer of a push, nothing when there was none."""
    if push is None:
        return {}
    content: dict[str, Any] = {
        "Request": {"Url": push.url, "Target": push.target, "Headers": dict(push.headers), "Body": push.body}
    }
    if push.status is not None:
        content["Answer"] = {"Status": push.status, "Headers": dict(push.answer_headers), "Body": push.answer_body}
    return content


def message_object(message: Message, now: Millis) -> dict[str, Any]:
    """Return a message; times are milliseconds. ``State`` is ``active``, ``inactive`` or ``delayed``.

    ``NextVisibleTime`` is there while it is hidden, ``Held`` says that it waits behind another of its group,
    ``DeadLetterOf`` is the queue that a dead letter comes from, ``ReceiptHandle`` is good while it is hidden.
    """
    content: dict[str, Any] = {
        "MessageId": message.message_id,
        "State": state(message, now),
        "MessageBody": message.body,
        "Priority": message.priority,
        "EnqueueTime": message.enqueued_at,
        "DequeueCount": message.dequeue_count,
        "Request": message.trace,
        "DeadLetterOf": source_of(message),
        "Held": is_held(message.visible_from),
        "UserProperties": {each.name: each.value for each in restored(message.user_properties)},
        "SystemProperties": {each.name: each.value for each in restored(message.system_properties)},
    }
    if message.group_id is not None:
        content["MessageGroupId"] = message.group_id
    if message.visible_from > now:
        content["NextVisibleTime"] = hidden_key(message.visible_from)
        content["ReceiptHandle"] = handle_of(message)
    return content


def outbox_object(entry: OutboxEntry) -> dict[str, Any]:
    """Return a mail, short message, mobile notification or event; ``Details`` are its message attributes."""
    return {
        "Kind": entry.kind,
        "Address": entry.address,
        "TopicName": entry.topic_name,
        "SubscriptionName": entry.subscription_name,
        "MessageId": entry.message_id,
        "MessageBody": entry.body,
        "Details": entry.details,
        "RecordTime": entry.recorded_at,
    }


def metrics(service: MessageService, now: Millis) -> Iterator[Family]:
    """Yield the numbers of messages in queues used since the start, of waiting receivers, and of delivery attempts."""
    live = service.registry.in_use()
    yield _depths(live, now)
    yield gauge("localyun_mns_queues_in_use", "Queues used since the start.", len(live))
    yield gauge("localyun_mns_parked_receivers", "Receivers waiting for a message.", len(service.long_polls))
    yield gauge(
        "localyun_mns_deliveries_under_way", "Pushes and calls of topics being made.", service.courier.under_way
    )
    history = service.courier.history
    attempts = [
        Sample({"endpoint": kind, "result": result}, tried) for (kind, result), tried in history.attempts.items()
    ]
    text = "Attempts to deliver a message of a topic, by kind of endpoint and result."
    yield Family("localyun_mns_delivery_attempts_total", "counter", text, attempts)
    text = "Deliveries of topics that have ended, by how."
    yield labelled("localyun_mns_deliveries_total", "counter", text, "state", history.ended)


def _depths(live: list[LiveQueue], now: Millis) -> Family:
    samples = []
    for each in nlargest(MOST_QUEUES, live, key=lambda each: each.tally.total):
        counters = each.tally.counters(now)
        labels = {"queue": each.queue.name, "region": str(each.queue.tenant.region)}
        states = ("active", "inactive", "delayed")
        samples += [Sample({**labels, "state": state}, getattr(counters, state)) for state in states]
    text = f"Messages of a queue by state; of the {MOST_QUEUES} fullest queues used since the start."
    return Family("localyun_mns_messages", "gauge", text, samples)
