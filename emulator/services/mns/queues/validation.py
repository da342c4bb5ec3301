"""What a queue may be called, which attributes it may have, and which messages may be sent: pure checks."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from emulator.kernel.paging import Range
from emulator.services.mns import limits
from emulator.services.mns.errors import MnsError, SchemaViolation
from emulator.services.mns.queues.model import (
    QUEUE,
    Change,
    Draft,
    Properties,
    PropertyType,
    QueueSettings,
)
from emulator.wire.attributes import Resource

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*", re.ASCII)


def check_range(name: str, value: int, allowed: Range, unit: str = "") -> None:
    """Check a number of a request.

    Raises: InvalidArgument.
    """
    if not allowed.low <= value <= allowed.high:
        raise MnsError("InvalidArgument", name=name, low=allowed.low, high=allowed.high, unit=unit)


def check_queue_name(name: str, profile: limits.Profile) -> None:
    """Check the name of a queue that is to be created.

    Raises: InvalidQueueName, QueueNameLengthError.
    Source: CreateQueue page; that a digit may come first is said there and denied by the error's own text.
    """
    if len(name) > profile.queue_name_length:
        raise MnsError("QueueNameLengthError")
    if _NAME.fullmatch(name) is None:
        raise MnsError("InvalidQueueName")


def check_settings(change: Change, queue_name: str) -> None:
    """Check the attributes a request names.

    Raises: InvalidArgument. Source: CreateQueue.
    """
    check_ranges(QUEUE, change)
    policy = change.get("dead_letter")
    if policy is not None and policy.enabled and policy.target in {"", queue_name}:
        raise MnsError("InvalidArgument", "The value of DeadLetterTargetQueue should be the name of another queue.")


def check_ranges(resource: Resource[Any], change: Change) -> None:
    """Check the numbers a request names against the table of the resource.

    Raises: InvalidArgument.
    """
    for name, allowed, unit in resource.out_of_range(change):
        raise MnsError("InvalidArgument", name=name, low=allowed.low, high=allowed.high, unit=unit)


def same_settings(resource: Resource[Any], existing: Any, change: Change) -> bool:
    """Whether creating a resource again with *change* names what exists.

    The attributes of the XML API count with their defaults filled in; the others count when they are named, so that
    either API can create again what the other has made. Source: assumed; one observed exchange fits.
    """
    wanted = replace(resource.settings(), **change)
    compared = {each.field for each in resource.of_form("xml")} | change.keys()
    return all(getattr(existing, field) == getattr(wanted, field) for field in compared)


# --- messages ----------------------------------------------------------------------------------------------------


def check_draft(draft: Draft, settings: QueueSettings, profile: limits.Profile) -> int:
    """Check one message against its queue; return the size of its body in bytes.

    Raises: InvalidArgument, SchemaViolation, FifoMissingMessageGroupId.
    Source: SendMessage page; that the size is that of the body's UTF-8 bytes is assumed.
    """
    if not draft.body:
        raise SchemaViolation(name="MessageBody")
    size = len(draft.body) if draft.body.isascii() else len(draft.body.encode())
    if size > settings.maximum_message_size:
        raise MnsError("InvalidArgument", name="MessageBody", low=1, high=settings.maximum_message_size, unit=" bytes")
    if draft.delay_s is not None:
        check_range("DelaySeconds", draft.delay_s, limits.DELAY_S, " seconds")
    if draft.priority is not None and not (draft.priority == 0 and profile.zero_priority_is_default):
        check_range("Priority", draft.priority, limits.PRIORITY)
    if draft.group_id is not None and len(draft.group_id) > limits.GROUP_ID_LENGTH:
        raise MnsError("InvalidArgument", name="MessageGroupId", low=1, high=limits.GROUP_ID_LENGTH, unit=" characters")
    if settings.fifo and not draft.group_id:
        raise MnsError("FifoMissingMessageGroupId")
    if draft.user_properties:
        check_user_properties(draft.user_properties)
    if draft.system_properties:
        check_system_properties(draft.system_properties)
    return size


def check_batch(drafts: Sequence[Draft], settings: QueueSettings, profile: limits.Profile) -> None:
    """Check a batch: one bad message refuses them all before any is stored.

    Raises: as `check_draft`; InvalidArgument for too many messages or bytes. Source: limits page, the code is assumed.
    """
    check_range("Messages", len(drafts), limits.BATCH)
    if sum(check_draft(draft, settings, profile) for draft in drafts) > limits.BATCH_BYTES:
        raise MnsError("InvalidArgument", name="Messages", low=1, high=limits.BATCH_BYTES, unit=" bytes")


# --- properties --------------------------------------------------------------------------------------------------

_TYPES = frozenset(kind.value for kind in PropertyType)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)


def check_user_properties(properties: Properties) -> None:
    """Check the properties a sender chose.

    Raises: InvalidArgument. Source: numbers from a client citing the limits page; the code is assumed.
    """
    if len(properties) > limits.USER_PROPERTIES:
        raise MnsError("InvalidArgument", name="UserProperties", low=0, high=limits.USER_PROPERTIES, unit="")
    for name, value, kind in properties:
        if not 1 <= len(name) <= limits.PROPERTY_NAME_LENGTH:
            raise MnsError("InvalidArgument", name="Name", low=1, high=limits.PROPERTY_NAME_LENGTH, unit=" characters")
        if len(value) > limits.PROPERTY_VALUE_LENGTH:
            raise MnsError(
                "InvalidArgument", name="Value", low=0, high=limits.PROPERTY_VALUE_LENGTH, unit=" characters"
            )
        if kind not in _TYPES:
            raise SchemaViolation(name="Type")
        wrong_number = kind == PropertyType.NUMBER.value and _NUMBER.fullmatch(value.strip()) is None
        wrong_boolean = kind == PropertyType.BOOLEAN.value and value.strip().lower() not in {"true", "false"}
        if wrong_number or wrong_boolean:
            raise SchemaViolation(name="Value")


def check_system_properties(properties: Properties) -> None:
    """Check system properties.

    Raises: SchemaViolation for one that is no text; InvalidArgument for a value that is too long.
    """
    for _, value, kind in properties:
        if kind != PropertyType.STRING.value:
            raise SchemaViolation(name="Type")
        if len(value) > limits.PROPERTY_VALUE_LENGTH:
            raise MnsError(
                "InvalidArgument", name="Value", low=0, high=limits.PROPERTY_VALUE_LENGTH, unit=" characters"
            )
