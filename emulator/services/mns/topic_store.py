"""What topics ask of their storage, in words of topics, subscriptions and deliveries."""

from collections.abc import Sequence
from typing import Protocol

from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
from emulator.services.mns.topic_model import (
    Delivery,
    DeliveryId,
    DeliveryReport,
    OutboxEntry,
    Publication,
    PublicationId,
    Subscription,
    SubscriptionId,
    SubscriptionSettings,
    Topic,
    TopicId,
    TopicSettings,
)


class TopicStore(Protocol):
    """Topics and their subscriptions."""

    def topic(self, tenant: Tenant, name: str) -> Topic | None:
        """Return a topic."""
        ...

    def topics(self, tenant: Tenant, *, prefix: str, start: str, limit: int) -> list[Topic]:
        """Return at most *limit* topics whose name starts with *prefix*, from the name *start* on, ordered by name."""
        ...

    def add_topic(self, tenant: Tenant, name: str, settings: TopicSettings, now: Millis) -> Topic:
        """Store a new topic."""
        ...

    def put_topic(self, topic: Topic) -> None:
        """Store a topic's changed settings and instant of change."""
        ...

    def remove_topic(self, topic_id: TopicId) -> None:
        """Forget a topic that has no subscriptions left."""
        ...

    def subscriptions(self, topic: Topic) -> list[Subscription]:
        """Return the subscriptions of a topic, ordered by name."""
        ...

    def subscription_by_id(self, subscription_id: SubscriptionId) -> Subscription | None:
        """Return a subscription that has not been deleted."""
        ...

    def add_subscription(self, topic: Topic, name: str, settings: SubscriptionSettings, now: Millis) -> Subscription:
        """Store a new subscription."""
        ...

    def put_subscription(self, subscription: Subscription) -> None:
        """Store a subscription's changed settings and instant of change."""
        ...

    def remove_subscription(self, subscription_id: SubscriptionId) -> None:
        """Forget a subscription; its deliveries are left to `purge`."""
        ...

    def clear_topics(self) -> None:
        """Forget everything there is."""
        ...


class DeliveryStore(Protocol):
    """Messages on their way."""

    def add_publication(self, topic_id: TopicId, publication: Publication) -> PublicationId:
        """Store a message that has deliveries."""
        ...

    def publication_count(self, topic_id: TopicId) -> int:
        """Return how many messages of a topic have pending deliveries."""
        ...

    def add_deliveries(
        self, publication_id: PublicationId, rows: Sequence[tuple[SubscriptionId, int, Millis, str]]
    ) -> None:
        """Store deliveries: subscription, attempts made, instant of the next one, result of the last one."""
        ...

    def keep_due(self, now: Millis, before: Millis) -> None:
        """Make due at *now* what became due up to *before*."""
        ...

    def due(self, subscription_id: SubscriptionId, now: Millis, limit: int) -> list[DeliveryId]:
        """Return the deliveries of a subscription that are due, the longest due first."""
        ...

    def next_due(self, subscription_id: SubscriptionId, after: Millis) -> Millis | None:
        """Return the first instant after *after* at which a delivery of a subscription is due."""
        ...

    def delivery(self, delivery_id: DeliveryId) -> Delivery | None:
        """Return a delivery with its message."""
        ...

    def postpone(self, delivery_id: DeliveryId, attempts: int, due_at: Millis, last_result: str) -> None:
        """Store a failed attempt and the instant of the next one."""
        ...

    def settle(self, delivery_id: DeliveryId, publication_id: PublicationId) -> bool:
        """Remove an ended delivery, and its message with the last one; tell whether the message went too."""
        ...

    def subscriptions_with_deliveries(self) -> list[SubscriptionId]:
        """Return the subscriptions that have pending deliveries."""
        ...

    def pending(self, subscription_id: SubscriptionId, limit: int) -> list[DeliveryReport]:
        """Return pending deliveries, the next one first."""
        ...

    def deleted_subscriptions(self) -> list[SubscriptionId]:
        """Return the deleted subscriptions that may still have deliveries."""
        ...

    def purge(self, subscription_id: SubscriptionId, limit: int) -> bool:
        """Remove at most *limit* deliveries of a deleted subscription; tell whether that was all."""
        ...


class OutboxStore(Protocol):
    """What was recorded instead of being sent."""

    def add_outbox(self, tenant: Tenant, entry: OutboxEntry, keep: int) -> None:
        """Store an entry and drop the oldest beyond *keep*."""
        ...

    def outbox(self, tenant: Tenant, limit: int) -> list[OutboxEntry]:
        """Return the newest entries, newest first."""
        ...


class OpenSettingsStore(Protocol):
    """What only the management API knows, as JSON values by name."""

    def open_setting(self, tenant: Tenant, name: str) -> object | None:
        """Return a value, or None."""
        ...

    def open_settings(self, tenant: Tenant, prefix: str) -> list[object]:
        """Return the values whose name starts with *prefix*, ordered by name."""
        ...

    def put_open_setting(self, tenant: Tenant, name: str, value: object | None) -> None:
        """Store a value; None removes it."""
        ...


class TopicsStore(TopicStore, DeliveryStore, OutboxStore, OpenSettingsStore, Protocol):
    """Everything."""
