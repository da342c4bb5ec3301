"""The events that triggers give to functions. Pure.

Source: Function Compute, formats of events for different triggers.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import md5
from typing import Any

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant
from emulator.services.fc.model import Struct
from emulator.services.fc.ports import QueuedMessage
from emulator.wire.dates import iso_seconds

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def timer_event(name: str, payload: str, fired_at: Millis) -> bytes:
    """Return the event of a timer trigger; *fired_at* is the time its schedule named."""
    return _bytes({"triggerTime": iso_seconds(fired_at), "triggerName": name, "payload": payload})


# --- topics ------------------------------------------------------------------------------------------------------


@frozen
class TopicMessage:
    """A message of a topic on its way to a function. ``attributes`` are texts; ``body`` is as published."""

    topic: str
    subscription: str
    message_id: str
    body: str
    published_at: Millis
    tag: str = ""
    attributes: Mapping[str, str]


def topic_event(content_format: str, tenant: Tenant, message: TopicMessage) -> bytes:
    """Return the event of a topic trigger in the format ``STREAM`` or ``JSON``.

    STREAM is the bare body, or body and attributes together when there are any; in JSON attributes are further keys
    and the timestamp is a number. Source: that the bare body is no JSON literal, and the tag's key, is assumed.
    """
    if content_format != "JSON":
        if not message.attributes:
            return message.body.encode("utf-8", "replace")
        return _bytes({"body": message.body, "attrs": dict(message.attributes)})
    members: dict[str, Any] = {
        "TopicOwner": tenant.account,
        "TopicName": message.topic,
        "Subscriber": tenant.account,
        "SubscriptionName": message.subscription,
        "MessageId": message.message_id,
        "MessageMD5": md5(message.body.encode("utf-8", "replace"), usedforsecurity=False).hexdigest().upper(),
        "Message": message.body,
        "PublishTime": message.published_at,
    }
    if message.tag:
        members["MessageTag"] = message.tag
    return _bytes(members | {name: text for name, text in message.attributes.items() if name not in members})


# --- objects -----------------------------------------------------------------------------------------------------


@frozen
class ObjectChange:
    """Something that happened to an object. ``event`` is like ``ObjectCreated:PutObject``; ``etag`` without quotes."""

    event: str
    bucket: str
    key: str
    size: int
    etag: str
    at: Millis
    request_id: str
    source_ip: str = "127.0.0.1"
    principal: str = ""
    size_before: int = 0
    content_type: str = "application/octet-stream"
    metadata: Mapping[str, str]


def fires(config: Struct, change: ObjectChange) -> bool:
    """Whether an object trigger with *config* fires: one of its events matches, and prefix and suffix do."""
    key = (config.get("filter") or {}).get("key") or {}
    return (
        any(_event_matches(str(pattern), change.event) for pattern in config.get("events", ()))
        and change.key.startswith(key.get("prefix", ""))
        and change.key.endswith(key.get("suffix", ""))
    )


def _event_matches(pattern: str, event: str) -> bool:
    wanted = pattern.removeprefix("oss:")
    return event == wanted or (wanted.endswith("*") and event.startswith(wanted[:-1]))


def object_event(tenant: Tenant, rule_id: str, change: ObjectChange) -> bytes:
    """Return the event of an object trigger; *rule_id* names the trigger."""
    return _bytes(
        {
            "events": [
                {
                    "eventName": change.event,
                    "eventSource": "acs:oss",
                    "eventTime": f"{iso_seconds(change.at)[:-1]}.{change.at % SECOND:03d}Z",
                    "eventVersion": "1.0",
                    "oss": {
                        "bucket": {
                            "arn": f"acs:oss:{tenant.region}:{tenant.account}:{change.bucket}",
                            "name": change.bucket,
                            "ownerIdentity": tenant.account,
                        },
                        "object": {
                            "deltaSize": change.size - change.size_before,
                            "eTag": change.etag,
                            "key": change.key,
                            "objectMeta": {"mimeType": change.content_type, "userMeta": dict(change.metadata)},
                            "size": change.size,
                        },
                        "ossSchemaVersion": "1.0",
                        "ruleId": rule_id,
                    },
                    "region": tenant.region,
                    "requestParameters": {"sourceIPAddress": change.source_ip},
                    "responseElements": {"requestId": change.request_id},
                    "userIdentity": {"principalId": change.principal or tenant.account},
                }
            ]
        }
    )


# --- events of an event bus ------------------------------------------------------------------------------------------


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
    """Return what the function gets: with *streaming* a list of events as texts, else the one event.

    Source: EventBridge triggers of Function Compute.
    """
    return _encode([_encode(event) for event in events]).encode("utf-8", "replace") if streaming else _bytes(events[0])


def event_matches(pattern: str, event: Mapping[str, Any]) -> bool:
    """Whether *event* fits an event pattern: each member is one of the values listed, or begins or ends as one says.

    Source: EventBridge, event patterns; of the operators ``prefix`` and ``suffix`` are known, any other fits nothing.
    """
    try:
        wanted = json.loads(pattern)
    except ValueError:
        return False
    return _fits(wanted, event)


def _fits(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(_fits(each, found.get(name)) for name, each in wanted.items())
    return isinstance(wanted, list) and any(_is(each, found) for each in wanted)


def _is(choice: Any, found: Any) -> bool:
    if not isinstance(choice, Mapping):
        return bool(choice == found)
    text = found if isinstance(found, str) else ""
    return ("prefix" in choice and text.startswith(str(choice["prefix"]))) or (
        "suffix" in choice and text.endswith(str(choice["suffix"]))
    )


def _bytes(value: Mapping[str, Any]) -> bytes:
    return _encode(value).encode("utf-8", "replace")
