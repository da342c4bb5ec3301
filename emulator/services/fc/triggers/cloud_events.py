"""Messages of queues as CloudEvents, and the patterns that choose among events."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from emulator.kernel.clock import SECOND
from emulator.kernel.identity import Tenant
from emulator.services.fc.ports import QueuedMessage
from emulator.wire.dates import iso_seconds

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def message_event(tenant: Tenant, bus: str, queue: str, message: QueuedMessage) -> dict[str, Any]:
    """Return a queue's message as a CloudEvent on the event bus *bus*.

    Source: EventBridge, events of Message Service sources; the request id is assumed to be the message's.
    """
    at = f"{iso_seconds(message.sent_at)[:-1]}.{message.sent_at % SECOND:03d}Z"
    return {
        "id": message.message_id,
        "source": bus,
        "specversion": "1.0",
        "type": "mns:Queue:SendMessage",
        "datacontenttype": "application/json; charset=utf-8",
        "subject": f"acs:mns:{tenant.region}:{tenant.account}:queues/{queue}",
        "time": at,
        "aliyunaccountid": tenant.account,
        "aliyunpublishtime": at,
        "aliyuneventbusname": bus,
        "aliyunregionid": tenant.region,
        "data": {"requestId": message.message_id, "messageId": message.message_id, "messageBody": message.body},
    }


def message_events(events: Sequence[Mapping[str, Any]], *, streaming: bool) -> bytes:
    """Return the event for the function: with *streaming* a list of events as texts, else the one event.

    Source: EventBridge triggers of Function Compute.
    """
    content = [_encode(event) for event in events] if streaming else events[0]
    return _encode(content).encode("utf-8", "replace")


def event_matches(pattern: str, event: Mapping[str, Any]) -> bool:
    """Whether *event* fits an event pattern: each member is one of the values listed, or begins or ends as one says.

    Source: EventBridge, event patterns; of the operators ``prefix`` and ``suffix`` are known, any other fits nothing.
    """
    try:
        wanted = json.loads(pattern)
    except ValueError:
        return False
    return _fits(wanted, event)


def _fits(pattern: Any, value: Any) -> bool:
    if isinstance(pattern, Mapping):
        return isinstance(value, Mapping) and all(_fits(each, value.get(name)) for name, each in pattern.items())
    return isinstance(pattern, list) and any(_is(each, value) for each in pattern)


def _is(choice: Any, value: Any) -> bool:
    if not isinstance(choice, Mapping):
        return bool(choice == value)
    text = value if isinstance(value, str) else ""
    return ("prefix" in choice and text.startswith(str(choice["prefix"]))) or (
        "suffix" in choice and text.endswith(str(choice["suffix"]))
    )
