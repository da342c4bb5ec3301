"""Names and attributes of queues: what is allowed, and whether two sets of attributes are the same."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from emulator.kernel.paging import Range
from emulator.services.mns import limits
from emulator.services.mns.errors import (
    FifoMissingMessageGroupId,
    InvalidArgument,
    InvalidQueueName,
    QueueNameLengthError,
    SchemaViolation,
)
from emulator.services.mns.queues.model import (
    Draft,
    QueueSettings,
    SettingsChange,
    check_system_properties,
    check_user_properties,
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*", re.ASCII)

_RANGES: tuple[tuple[str, str, Range, str], ...] = (
    ("delay_s", "DelaySeconds", limits.DELAY_S, " seconds"),
    ("maximum_message_size", "MaximumMessageSize", limits.MESSAGE_SIZE, " bytes"),
    ("retention_s", "MessageRetentionPeriod", limits.RETENTION_S, " seconds"),
    ("visibility_timeout_s", "VisibilityTimeout", limits.VISIBILITY_TIMEOUT_S, " seconds"),
    ("polling_wait_s", "PollingWaitSeconds", limits.POLLING_WAIT_S, " seconds"),
)
_COMPARED = (
    "delay_s",
    "maximum_message_size",
    "retention_s",
    "visibility_timeout_s",
    "polling_wait_s",
    "logging_enabled",
)


def check_range(name: str, value: int, allowed: Range, unit: str = "") -> None:
    """Check a number of a request.

    Raises: InvalidArgument.
    """
    if not allowed.low <= value <= allowed.high:
        raise InvalidArgument(name=name, low=allowed.low, high=allowed.high, unit=unit)


def check_queue_name(name: str, profile: limits.Profile) -> None:
    """Check the name of a queue that is to be created.

    Raises: InvalidQueueName, QueueNameLengthError.
    Source: CreateQueue page; that a digit may come first is said there and denied by the error's own text.
    """
    if len(name) > profile.queue_name_length:
        raise QueueNameLengthError
    if _NAME.fullmatch(name) is None:
        raise InvalidQueueName


def check_settings(change: SettingsChange, queue_name: str) -> None:
    """Check the attributes a request names.

    Raises: InvalidArgument.
    """
    named: dict[str, Any] = dict(change)
    for field, element, allowed, unit in _RANGES:
        if field in named:
            check_range(element, named[field], allowed, unit)
    policy = change.get("dead_letter")
    if policy is not None:
        check_range("MaxReceiveCount", policy.max_receives, limits.MAX_RECEIVES)
        if policy.enabled and policy.target in {"", queue_name}:
            raise InvalidArgument("The value of DeadLetterTargetQueue should be the name of another queue.")


def applied(settings: QueueSettings, change: SettingsChange) -> QueueSettings:
    """Return *settings* with what the request names."""
    return replace(settings, **change)


def same_settings(existing: QueueSettings, change: SettingsChange) -> bool:
    """Tell whether creating a queue again with *change* asks for what exists.

    The six attributes of the XML API count with their defaults filled in; the others count when they are named, so that
    either API can create again what the other has made. Source: assumed; one observed exchange fits.
    """
    wanted = applied(QueueSettings(), change)
    return all(getattr(existing, field) == getattr(wanted, field) for field in {*_COMPARED, *change})


def check_draft(draft: Draft, settings: QueueSettings, profile: limits.Profile) -> int:
    """Check one message against its queue; return the size of its body in bytes.

    Raises: InvalidArgument, SchemaViolation, FifoMissingMessageGroupId.
    Source: SendMessage page; that the size is that of the body's UTF-8 bytes is assumed.
    """
    if not draft.body:
        raise SchemaViolation(name="MessageBody")
    size = len(draft.body) if draft.body.isascii() else len(draft.body.encode())
    if size > settings.maximum_message_size:
        raise InvalidArgument(name="MessageBody", low=1, high=settings.maximum_message_size, unit=" bytes")
    if draft.delay_s is not None:
        check_range("DelaySeconds", draft.delay_s, limits.DELAY_S, " seconds")
    if draft.priority is not None and not (draft.priority == 0 and profile.zero_priority_is_default):
        check_range("Priority", draft.priority, limits.PRIORITY)
    if draft.group_id is not None and len(draft.group_id) > limits.GROUP_ID_LENGTH:
        raise InvalidArgument(name="MessageGroupId", low=1, high=limits.GROUP_ID_LENGTH, unit=" characters")
    if settings.fifo and not draft.group_id:
        raise FifoMissingMessageGroupId
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
        raise InvalidArgument(name="Messages", low=1, high=limits.BATCH_BYTES, unit=" bytes")


def priority_of(draft: Draft) -> int:
    """Return the priority a message gets."""
    return draft.priority or limits.PRIORITY.default
