"""Deliveries and outbox entries for people who look: JSON with names in the style of the API."""

from typing import Any

from emulator.services.mns.topic_model import DeliveryReport, OutboxEntry


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
