"""Parameters of the management API, read into the values of the rules.

Everything arrives as text: booleans as ``True`` or ``true``, objects as JSON, lists of tags as ``Tag.1.Key``.
"""

import json
import re
from dataclasses import replace
from typing import Any

from emulator.services.mns import limits
from emulator.services.mns.model import DeadLetterPolicy, Encryption, RateLimit, SettingsChange
from emulator.services.mns.topic_model import SubscriptionDeadLetters, TopicChange
from emulator.wire.pop_errors import InvalidParameter, MissingParameter
from emulator.wire.rpc import Parameters

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
