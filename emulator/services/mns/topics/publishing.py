"""Publishing: checks a message and dispatches it to matching subscriptions; and the rules for retries.

Source: MNS developer guide on filter tags; NotifyStrategy page.
"""

from collections.abc import Callable, Sequence
from hashlib import md5

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.tracing import current_trace
from emulator.services.mns import limits
from emulator.services.mns.errors import MnsError
from emulator.services.mns.limits import (
    ATTRIBUTES_BYTES,
    BACKOFF_GAP_S,
    BACKOFF_RETRIES,
    DECAY_GAPS_S,
    TAG_LENGTH,
    TOPIC_RETENTION_S,
)
from emulator.services.mns.queues.message import Draft, MessageReceipt, check_draft
from emulator.services.mns.queues.model import QueueSettings
from emulator.services.mns.topics.catalog import TopicRegistry
from emulator.services.mns.topics.model import (
    NotifyStrategy,
    Publication,
    PublishDraft,
    Subscription,
    Topic,
    TopicSettings,
)


def wants(filter_tag: str | None, tag: str | None) -> bool:
    """Whether a subscription with *filter_tag* gets a message with *tag*.

    Without a filter it gets every message, tagged or not; with one only those with the equal tag. That case matters is
    assumed.
    """
    return not filter_tag or filter_tag == tag


def retries(strategy: NotifyStrategy) -> int:
    """Return how often a failed delivery is tried again."""
    return BACKOFF_RETRIES if strategy is NotifyStrategy.BACKOFF else len(DECAY_GAPS_S)


def next_attempt(
    strategy: NotifyStrategy, failures: int, failed_at: Millis, published_at: Millis, draw: float, scale: float = 1.0
) -> Millis | None:
    """Return when a delivery that has failed *failures* times is tried again, None for never.

    The gap counts from the failure. *draw* in [0, 1) chooses within the range of the back-off; *scale* multiplies every
    gap. A message older than the retention of topics is not tried again.
    """
    if failures > retries(strategy):
        return None
    if strategy is NotifyStrategy.BACKOFF:
        gap_s = BACKOFF_GAP_S.low + draw * (BACKOFF_GAP_S.high - BACKOFF_GAP_S.low)
    else:
        gap_s = float(DECAY_GAPS_S[failures - 1])
    at = Millis(failed_at + round(gap_s * scale * SECOND))
    return at if at < published_at + TOPIC_RETENTION_S * SECOND else None


Dispatch = Callable[[Topic, Publication, Sequence[Subscription], Millis], None]
"""Hands a message to subscriptions; `Courier.dispatch`."""


class Publishing:
    """Publishes messages to topics."""

    def __init__(
        self, registry: TopicRegistry, dispatch: Dispatch, clock: Clock, ids: Ids, profile: limits.Profile
    ) -> None:
        self._registry = registry
        self._dispatch = dispatch
        self._clock = clock
        self._ids = ids
        self._profile = profile

    def publish(self, tenant: Tenant, topic: str, draft: PublishDraft) -> MessageReceipt:
        """Publish a message; without a matching subscription it is accepted and dropped.

        Subscribed queues have the message when the answer is sent, other subscribers soon after.

        Raises: TopicNotExist, InvalidArgument, SchemaViolation, FifoMissingMessageGroupId.
        """
        live = self._registry.find(tenant, topic)
        _check(draft, live.topic.settings, self._profile)
        now = self._clock.now()
        tag = (draft.tag or "").strip() or None
        publication = Publication(
            message_id=self._ids.hex(32).upper(),
            body=draft.body,
            body_md5=md5(draft.body.encode(), usedforsecurity=False).hexdigest().upper(),
            tag=tag,
            attributes=draft.attributes,
            group_id=draft.group_id or None,
            user_properties=draft.user_properties,
            system_properties=draft.system_properties,
            published_at=now,
            trace=current_trace(),
        )
        wanted = [each for each in live.subscriptions.values() if wants(each.settings.filter_tag, tag)]
        if wanted:
            self._dispatch(live.topic, publication, wanted, now)
        return MessageReceipt(publication.message_id, publication.body_md5, group_id=publication.group_id)


def _check(draft: PublishDraft, settings: TopicSettings, profile: limits.Profile) -> None:
    """Check a message against its topic; body, group and properties follow the rules of a queue.

    A tag travels in a header of a push, so it has no control characters. Source: assumed.
    """
    as_sent = Draft(
        body=draft.body,
        group_id=draft.group_id,
        user_properties=draft.user_properties,
        system_properties=draft.system_properties,
    )
    allowed = QueueSettings(maximum_message_size=settings.maximum_message_size, fifo=settings.fifo)
    check_draft(as_sent, allowed, profile)
    if draft.tag is not None and len(draft.tag) > TAG_LENGTH:
        raise MnsError("InvalidArgument", name="MessageTag", low=1, high=TAG_LENGTH, unit=" characters")
    if draft.tag and not draft.tag.isprintable():
        raise MnsError("InvalidArgument", "The value of MessageTag should not contain control characters.")
    if sum(len(name) + len(text.encode()) for name, text in draft.attributes.items()) > ATTRIBUTES_BYTES:
        raise MnsError("InvalidArgument", name="MessageAttributes", low=0, high=ATTRIBUTES_BYTES, unit=" bytes")
