"""The events that triggers give to functions: of timers, topics and object storage; and which changes fire.

Source: Function Compute, formats of events for different triggers.
"""

import json
from collections.abc import Mapping
from hashlib import md5
from typing import Any

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant
from emulator.services.fc.model import Struct
from emulator.wire.dates import iso_seconds

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def timer_event(name: str, payload: str, fired_at: Millis) -> bytes:
    """Return the event of a timer trigger; *fired_at* is the time its schedule named."""
    return _bytes({"triggerTime": iso_seconds(fired_at), "triggerName": name, "payload": payload})


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


@frozen
class ObjectChange:
    """A change of an object in a bucket. ``event`` is like ``ObjectCreated:PutObject``; ``etag`` is without quotes."""

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


def _bytes(value: Mapping[str, Any]) -> bytes:
    return _encode(value).encode("utf-8", "replace")
