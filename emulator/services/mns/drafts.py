"""Checks of a message before it is sent."""

from collections.abc import Sequence

from emulator.services.mns import limits
from emulator.services.mns.errors import FifoMissingMessageGroupId, InvalidArgument, SchemaViolation
from emulator.services.mns.model import Draft, QueueSettings
from emulator.services.mns.properties import check_system_properties, check_user_properties
from emulator.services.mns.settings import check_range


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
