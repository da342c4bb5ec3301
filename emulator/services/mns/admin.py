"""Figures of queues and topics for those who watch."""

from collections.abc import Iterator
from heapq import nlargest
from typing import Any, Final

from emulator.kernel.clock import Millis
from emulator.kernel.metrics import Family, Sample, gauge, labelled
from emulator.services.mns.queues.live_queues import LiveQueue
from emulator.services.mns.service import MessageService
from emulator.services.mns.topic_service import TopicService
from emulator.services.mns.topics.model import DeliveryReport, OutboxEntry

MOST_QUEUES: Final = 200
"""Queues told apart, those with the most messages; a test run that makes thousands must not swamp the reader."""


def mns_figures(queues: MessageService, topics: TopicService, now: Millis) -> Iterator[Family]:
    """Yield depths of queues that have been used since the start, receivers that wait, and attempts at deliveries."""
    live = queues.in_use()
    yield _depths(live, now)
    yield gauge("localyun_mns_queues_in_use", "Queues used since the start.", len(live))
    yield gauge("localyun_mns_parked_receivers", "Receivers waiting for a message.", queues.parked)
    yield gauge("localyun_mns_deliveries_under_way", "Pushes and calls of topics being made.", topics.under_way)
    attempts = [Sample({"endpoint": kind, "result": result}, number) for (kind, result), number in topics.attempts()]
    text = "Attempts to deliver a message of a topic, by kind of endpoint and result."
    yield Family("localyun_mns_delivery_attempts_total", "counter", text, attempts)
    text = "Deliveries of topics that have ended, by how."
    yield labelled("localyun_mns_deliveries_total", "counter", text, "state", topics.ended())


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


def delivery_object(report: DeliveryReport) -> dict[str, Any]:
    """Return a delivery; ``NextTime`` is there while it is pending, ``EndTime`` afterwards. Instants are milliseconds.

    ``State`` is ``pending``, ``delivered``, ``dropped`` or ``dead-lettered``.
    """
    content: dict[str, Any] = {
        "MessageId": report.message_id,
        "PublishTime": report.published_at,
        "State": report.state,
        "Attempts": report.attempts,
        "LastResult": report.last_result,
    }
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
