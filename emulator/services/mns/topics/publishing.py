"""Publishing: a message is checked, named, and handed to those who subscribe to it."""

from hashlib import md5

from emulator.kernel.clock import Clock
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.tracing import trace
from emulator.services.mns import limits
from emulator.services.mns.errors import MnsError
from emulator.services.mns.limits import ATTRIBUTES_BYTES, TAG_LENGTH
from emulator.services.mns.queues.model import Draft, MessageReceipt, QueueSettings
from emulator.services.mns.queues.validation import check_draft
from emulator.services.mns.topics.deliveries import Courier
from emulator.services.mns.topics.live_topics import TopicRegistry
from emulator.services.mns.topics.model import Publication, PublishDraft, TopicSettings
from emulator.services.mns.topics.routing import subscribers


class Publishing:
    """Publishes messages."""

    def __init__(
        self, registry: TopicRegistry, courier: Courier, clock: Clock, ids: Ids, profile: limits.Profile
    ) -> None:
        self._registry = registry
        self._courier = courier
        self._clock = clock
        self._ids = ids
        self._profile = profile

    def publish(self, tenant: Tenant, topic: str, draft: PublishDraft) -> MessageReceipt:
        """Publish a message; without anybody who subscribes to it, it is accepted and gone.

        Queues have it when the answer is out, everybody else soon after.

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
            trace=trace(),
        )
        wanted = subscribers(live.subscriptions.values(), tag)
        if wanted:
            self._courier.dispatch(live.topic, publication, wanted, now)
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
