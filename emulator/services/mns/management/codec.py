"""Parameters of the management API, read into the values of the rules.

Everything arrives as text: booleans as ``True`` or ``true``, objects as JSON, lists of tags as ``Tag.1.Key``.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from emulator.kernel.identity import Tenant
from emulator.services.mns import limits
from emulator.services.mns.limits import TOPIC_RETENTION_S
from emulator.services.mns.queues.model import DeadLetterPolicy, Encryption, QueueView, RateLimit, SettingsChange
from emulator.services.mns.topics.model import Subscription, SubscriptionDeadLetters, TopicChange, TopicView
from emulator.wire.pop_errors import InvalidParameter, MissingParameter
from emulator.wire.rpc import Parameters, Reply

_TAG = re.compile(r"Tag\.(\d{1,4})\.(Key|Value)")
_KINDS = {"normal": False, "fifo": True}

PAGE_NUMBER = (1, 100_000_000)
PAGE_SIZE = (10, 50)


# --- single values -----------------------------------------------------------------------------------------------


def required(parameters: Parameters, name: str) -> str:
    """Return a parameter.

    Raises: MissingParameter.
    """
    value = parameters.get(name, "")
    if not value:
        raise MissingParameter(name=name)
    return value


def read_number(parameters: Parameters, name: str) -> int | None:
    """Return a whole number, or None.

    Raises: InvalidParameter.
    """
    text = parameters.get(name, "").strip()
    return _number(text, name) if text else None


def read_switch(parameters: Parameters, name: str) -> bool | None:
    """Return a boolean, or None.

    Raises: InvalidParameter.
    """
    text = parameters.get(name, "")
    return _switch(text, name) if text else None


def read_json(parameters: Parameters, name: str, kind: type[dict[str, Any]] | type[list[Any]]) -> Any:
    """Return a parameter that is the JSON text of an object or a list, or None.

    Raises: InvalidParameter.
    """
    text = parameters.get(name, "")
    if not text:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
        raise InvalidParameter(name=name)
    return value


def read_fifo(parameters: Parameters, name: str) -> bool | None:
    """Return whether ``normal`` or ``fifo`` was asked for, or None.

    Raises: InvalidParameter.
    """
    text = parameters.get(name, "")
    if not text:
        return None
    if text.lower() not in _KINDS:
        raise InvalidParameter(name=name)
    return _KINDS[text.lower()]


def read_tags(parameters: Parameters) -> tuple[tuple[str, str], ...]:
    """Return the resource tags in order.

    Raises: InvalidParameter for a tag without a key.
    """
    found: dict[int, dict[str, str]] = {}
    for name, value in parameters.items():
        if match := _TAG.fullmatch(name):
            found.setdefault(int(match[1]), {})[match[2]] = value
    tags = tuple((found[number].get("Key", ""), found[number].get("Value", "")) for number in sorted(found))
    if not all(key for key, _ in tags):
        raise InvalidParameter(name="Tag")
    return tags


def read_page(parameters: Parameters) -> tuple[int, int]:
    """Return number and size of the page; what is out of range is moved to the nearest bound.

    Raises: InvalidParameter for what is no number.
    """
    number, size = read_number(parameters, "PageNum"), read_number(parameters, "PageSize")
    return (
        min(max(PAGE_NUMBER[0] if number is None else number, PAGE_NUMBER[0]), PAGE_NUMBER[1]),
        min(max(PAGE_SIZE[0] if size is None else size, PAGE_SIZE[0]), PAGE_SIZE[1]),
    )


# --- attributes --------------------------------------------------------------------------------------------------


def read_queue(parameters: Parameters, before: Encryption) -> SettingsChange:
    """Read the attributes of a queue that a request names. *before* is what its encryption was.

    Raises: InvalidParameter.
    """
    change: SettingsChange = {}
    if (number := read_number(parameters, "DelaySeconds")) is not None:
        change["delay_s"] = number
    if (number := read_number(parameters, "MaximumMessageSize")) is not None:
        change["maximum_message_size"] = number
    if (number := read_number(parameters, "MessageRetentionPeriod")) is not None:
        change["retention_s"] = number
    if (number := read_number(parameters, "VisibilityTimeout")) is not None:
        change["visibility_timeout_s"] = number
    if (number := read_number(parameters, "PollingWaitSeconds")) is not None:
        change["polling_wait_s"] = number
    if (switch := read_switch(parameters, "EnableLogging")) is not None:
        change["logging_enabled"] = switch
    if (policy := read_json(parameters, "DlqPolicy", dict)) is not None:
        change["dead_letter"] = _queue_dead_letters(policy)
    if (policy := read_rate_limit(parameters)) is not None:
        change["rate_limit"] = policy
    if (encryption := _encryption(parameters, before)) is not None:
        change["encryption"] = encryption
    return change


def read_topic(parameters: Parameters, before: Encryption) -> TopicChange:
    """Read the attributes of a topic that a request names. *before* is what its encryption was.

    Raises: InvalidParameter.
    """
    change: TopicChange = {}
    if (number := read_number(parameters, "MaxMessageSize")) is not None:
        change["maximum_message_size"] = number
    if (switch := read_switch(parameters, "EnableLogging")) is not None:
        change["logging_enabled"] = switch
    if (encryption := _encryption(parameters, before)) is not None:
        change["encryption"] = encryption
    return change


def read_rate_limit(parameters: Parameters) -> RateLimit | None:
    """Read TenantRateLimitPolicy, or None.

    Raises: InvalidParameter.
    """
    policy = read_json(parameters, "TenantRateLimitPolicy", dict)
    if policy is None:
        return None
    name = "TenantRateLimitPolicy"
    most = policy.get("MaxReceivesPerSecond")
    return RateLimit(
        enabled=_switch(policy.get("Enabled", False), name),
        max_receives_per_second=None if most is None else _number(most, name),
    )


def read_subscription_dead_letters(parameters: Parameters) -> SubscriptionDeadLetters | None:
    """Read DlqPolicy of a subscription, or None.

    Raises: InvalidParameter.
    """
    policy = read_json(parameters, "DlqPolicy", dict)
    if policy is None:
        return None
    return SubscriptionDeadLetters(
        enabled=_switch(policy.get("Enabled", False), "DlqPolicy"), target=_text(policy, "DeadLetterTargetQueue")
    )


def _queue_dead_letters(policy: dict[str, Any]) -> DeadLetterPolicy:
    most = policy.get("MaxReceiveCount")
    return DeadLetterPolicy(
        enabled=_switch(policy.get("Enabled", False), "DlqPolicy"),
        target=_text(policy, "DeadLetterTargetQueue"),
        max_receives=limits.MAX_RECEIVES.default if most is None else _number(most, "DlqPolicy"),
    )


def _encryption(parameters: Parameters, before: Encryption) -> Encryption | None:
    enabled = read_switch(parameters, "EnableSSE")
    named = {
        field: parameters[name]
        for name, field in (("SseType", "kind"), ("SseAlgorithm", "algorithm"), ("KmsKeyId", "key_id"))
        if name in parameters
    }
    if enabled is None and not named:
        return None
    return replace(before, enabled=before.enabled if enabled is None else enabled, **named)


def _text(policy: dict[str, Any], member: str) -> str:
    value = policy.get(member)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidParameter(name="DlqPolicy")
    return value


def _switch(value: object, name: str) -> bool:
    text = str(value).strip().lower()
    if text not in {"true", "false"}:
        raise InvalidParameter(name=name)
    return text == "true"


def _number(value: object, name: str) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or len(text) > 15 or not text.isascii() or not text.removeprefix("-").isdigit():
        raise InvalidParameter(name=name)
    return int(text)


Object = dict[str, Any]

_DONE = "operation success"


def success(data: Any = None) -> Reply:
    """Return the envelope around *data*; ``Code`` is a number there and nowhere else."""
    reply: Reply = {"Code": 200, "Status": "Success", "Message": _DONE, "Success": True}
    if data is not None:
        reply["Data"] = data
    return reply


def done() -> Reply:
    """Return the envelope of an operation that has nothing to tell: it says so once more inside."""
    return success({"Code": 200, "Message": _DONE, "Success": True})


def page(items: Sequence[Object], number: int, size: int) -> Object:
    """Return one page of all *items*."""
    part = list(items[(number - 1) * size : number * size])
    return {
        "PageData": part,
        "PageNum": number,
        "PageSize": size,
        "Pages": -(-len(items) // size),
        "Size": len(part),
        "Total": len(items),
    }


def queue_object(view: QueueView, *, listed: bool = False) -> Object:
    """Return a queue; one in a list has no rate limit. Counts of receives are texts in a policy, nowhere else."""
    queue, counters = view.queue, view.counters
    settings = queue.settings
    members: Object = {
        "QueueName": queue.name,
        "QueueType": _kind(fifo=settings.fifo),
        "CreateTime": queue.created_at // 1000,
        "LastModifyTime": queue.modified_at // 1000,
        "DelaySeconds": settings.delay_s,
        "MaximumMessageSize": settings.maximum_message_size,
        "MessageRetentionPeriod": settings.retention_s,
        "VisibilityTimeout": settings.visibility_timeout_s,
        "PollingWaitSeconds": settings.polling_wait_s,
        "ActiveMessages": counters.active,
        "InactiveMessages": counters.inactive,
        "DelayMessages": counters.delayed,
        "LoggingEnabled": settings.logging_enabled,
        **_encryption_open_replies(settings.encryption),
        "DlqPolicy": _queue_policy(settings.dead_letter),
        "Tags": _tags(settings.tags),
    }
    if not listed:
        members["TenantRateLimitPolicy"] = _rate_limit(settings.rate_limit)
    return members


def topic_object(view: TopicView) -> Object:
    """Return a topic, with the addresses it would have in the cloud."""
    topic = view.topic
    settings = topic.settings
    return {
        "TopicName": topic.name,
        "TopicType": _kind(fifo=settings.fifo),
        "TopicUrl": _topic_url(topic.tenant, topic.name, ""),
        "TopicInnerUrl": _topic_url(topic.tenant, topic.name, "-internal"),
        "CreateTime": topic.created_at // 1000,
        "LastModifyTime": topic.modified_at // 1000,
        "MaxMessageSize": settings.maximum_message_size,
        "MessageRetentionPeriod": TOPIC_RETENTION_S,
        "MessageCount": view.message_count,
        "LoggingEnabled": settings.logging_enabled,
        **_encryption_open_replies(settings.encryption),
        "Tags": _tags(settings.tags),
    }


def subscription_object(subscription: Subscription, *, listed: bool = False) -> Object:
    """Return a subscription; one in a list has no rate limit."""
    settings = subscription.settings
    policy = settings.dead_letters
    members: Object = {
        "TopicOwner": subscription.tenant.account,
        "TopicName": subscription.topic_name,
        "SubscriptionName": subscription.name,
        "Endpoint": settings.endpoint,
        "FilterTag": settings.filter_tag or "",
        "NotifyStrategy": settings.strategy.value,
        "NotifyContentFormat": settings.content_format.value,
        "CreateTime": subscription.created_at // 1000,
        "LastModifyTime": subscription.modified_at // 1000,
        "DlqPolicy": {"Enabled": False}
        if policy is None
        else {"Enabled": policy.enabled, "DeadLetterTargetQueue": policy.target},
    }
    if not listed:
        members["TenantRateLimitPolicy"] = _rate_limit(settings.rate_limit)
    return members


def _kind(*, fifo: bool) -> str:
    return "fifo" if fifo else "normal"


def _topic_url(tenant: Tenant, name: str, network: str) -> str:
    return f"http://{tenant.account}.mns.{tenant.region}{network}.aliyuncs.com/topics/{name}"


def _encryption_open_replies(encryption: Encryption) -> Object:
    return {
        "EncryptionEnabled": encryption.enabled,
        "EnableSSE": encryption.enabled,
        "SseType": encryption.kind,
        "SseAlgorithm": encryption.algorithm,
        "KmsKeyId": encryption.key_id,
    }


def _queue_policy(policy: DeadLetterPolicy | None) -> Object:
    if policy is None:
        return {"Enabled": False}
    return {
        "Enabled": policy.enabled,
        "DeadLetterTargetQueue": policy.target,
        "MaxReceiveCount": str(policy.max_receives),
    }


def _rate_limit(policy: RateLimit | None) -> Object:
    if policy is None:
        return {"Enabled": False}
    members: Object = {"Enabled": policy.enabled}
    if policy.max_receives_per_second is not None:
        members["MaxReceivesPerSecond"] = policy.max_receives_per_second
    return members


def _tags(tags: Sequence[tuple[str, str]]) -> list[Object]:
    return [{"TagKey": key, "TagValue": value} for key, value in tags]
