"""Administration of queues and topics: purging, deliveries, the outbox, the signing certificate, Prometheus metrics."""

from collections.abc import Iterator
from heapq import nlargest
from typing import Any, Final

from emulator.http.message import Response
from emulator.kernel.clock import Millis
from emulator.kernel.metrics import Family, Sample, gauge, labelled
from emulator.services.mns.queues.live_queues import LiveQueue
from emulator.services.mns.service import CERTIFICATE_PAGE, MessageService
from emulator.services.mns.topics.model import DeliveryReport, OutboxEntry
from emulator.wire.operation import ANYONE, Parameter, operation
from emulator.wire.request import OperationRequest

MOST_QUEUES: Final = 200
"""Queues shown one by one, those with the most messages; a test run that makes thousands must not swamp the reader."""

_LIMIT = Parameter("limit", int, "The most rows to return.", default=100)


# --- operations --------------------------------------------------------------------------------------------------


@operation("purge-queue", "POST /purge-queue", Parameter("queue", about="The queue's name.", default=""))
async def purge_queue(service: MessageService, call: OperationRequest) -> dict[str, Any]:
    """Delete every message of a queue; answers how many there were.

    Raises: QueueNotExist.
    """
    queue = call.arguments["queue"]
    return {"queue": queue, "deleted": await service.purge(call.tenant, queue)}


@operation(
    "deliveries",
    "GET /deliveries",
    Parameter("topic", about="The topic's name.", default=""),
    Parameter("subscription", about="The subscription's name.", default=""),
    _LIMIT,
)
def deliveries(service: MessageService, call: OperationRequest) -> dict[str, Any]:
    """The deliveries of a subscription, pending ones first.

    Raises: TopicNotExist, SubscriptionNotExist.
    """
    topic, subscription, limit = (call.arguments[name] for name in ("topic", "subscription", "limit"))
    reports = service.list_deliveries(call.tenant, topic, subscription, limit)
    return {"deliveries": [delivery_object(each) for each in reports]}


@operation("outbox", "GET /outbox", _LIMIT)
def outbox(service: MessageService, call: OperationRequest) -> dict[str, Any]:
    """Mails, short messages and the like that were recorded instead of sent, newest first."""
    entries = service.outbox(call.tenant, call.arguments["limit"])
    return {"entries": [outbox_object(each) for each in entries]}


@operation("signing-certificate", f"GET /{CERTIFICATE_PAGE}", right=ANYONE)
async def signing_certificate(service: MessageService, call: OperationRequest) -> Response:
    """The certificate that pushes of topics are verified with; receivers have no key, so anyone may read it.

    Raises: SigningFailed.
    """
    del call
    return Response(200, await service.certificate(), [("Content-Type", "application/x-pem-file")])


def delivery_object(report: DeliveryReport) -> dict[str, Any]:
    """Return a delivery; ``NextTime`` is there while it is pending, ``EndTime`` afterwards. Times are milliseconds.

    ``State`` is ``pending``, ``delivered``, ``dropped`` or ``dead-lettered``. ``Request`` and ``Answer`` hold the
    headers of the last push over HTTP since the start of the emulator.
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
    if report.push is not None:
        content["Request"] = {"Headers": dict(report.push.headers)}
        if report.push.status is not None:
            content["Answer"] = {"Status": report.push.status, "Headers": dict(report.push.answer_headers)}
    if report.next_at is not None:
        content["NextTime"] = report.next_at
    if report.ended_at is not None:
        content["EndTime"] = report.ended_at
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


# --- metrics -----------------------------------------------------------------------------------------------------


def metrics(service: MessageService, now: Millis) -> Iterator[Family]:
    """Yield depths of queues that have been used since the start, waiting receivers, and attempts at deliveries."""
    live = service.in_use()
    yield _depths(live, now)
    yield gauge("localyun_mns_queues_in_use", "Queues used since the start.", len(live))
    yield gauge("localyun_mns_parked_receivers", "Receivers waiting for a message.", service.parked)
    yield gauge("localyun_mns_deliveries_under_way", "Pushes and calls of topics being made.", service.under_way)
    attempts = [Sample({"endpoint": kind, "result": result}, number) for (kind, result), number in service.attempts()]
    text = "Attempts to deliver a message of a topic, by kind of endpoint and result."
    yield Family("localyun_mns_delivery_attempts_total", "counter", text, attempts)
    text = "Deliveries of topics that have ended, by how."
    yield labelled("localyun_mns_deliveries_total", "counter", text, "state", service.ended())


def _depths(live: list[LiveQueue], now: Millis) -> Family:
    samples = []
    for each in nlargest(MOST_QUEUES, live, key=lambda each: each.tally.total):
        counters = each.tally.counters(now)
        labels = {"queue": each.queue.name, "region": str(each.queue.tenant.region)}
        samples += [
            Sample({**labels, "state": "active"}, counters.active),
            Sample({**labels, "state": "inactive"}, counters.inactive),
            Sample({**labels, "state": "delayed"}, counters.delayed),
        ]
    text = f"Messages of a queue by state; of the {MOST_QUEUES} fullest queues used since the start."
    return Family("localyun_mns_messages", "gauge", text, samples)
