"""Topics and subscriptions: created, changed, viewed, listed and deleted, with the deliveries of deleted ones.

Topics in use are cached with their subscriptions, because every publish needs them. The cache is dropped when a commit
fails.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.kernel.paging import Page, cut
from emulator.kernel.timers import Timers
from emulator.services.mns import limits
from emulator.services.mns.errors import MnsError, QueueNotExist, SubscriptionNotExist, TopicNotExist
from emulator.services.mns.limits import (
    PURGE_AT_ONCE,
    PURGE_PAUSE_MS,
    PURGE_ROWS,
    SUBSCRIPTION_NAME_LENGTH,
    SUBSCRIPTIONS,
    TAG_LENGTH,
)
from emulator.services.mns.ports import ResourceWatcher
from emulator.services.mns.queues.live_queues import QueueRegistry
from emulator.services.mns.queues.model import (
    Change,
    check_dead_letter_target,
    check_name,
    check_ranges,
    page_size,
    same_settings,
)
from emulator.services.mns.queues.store import Wanted
from emulator.services.mns.topics.model import (
    SUBSCRIPTION,
    TOPIC,
    QueueEndpoint,
    Subscription,
    SubscriptionId,
    SubscriptionSettings,
    Topic,
    TopicId,
    TopicSettings,
    TopicView,
    read_endpoint,
)
from emulator.services.mns.topics.store import TopicStore
from emulator.storage.database import Database


class LiveTopic:
    """A cached topic, with its subscriptions by name and the number of its messages with pending deliveries.

    ``message_count`` is None until it is first needed.
    """

    def __init__(self, topic: Topic, store: TopicStore) -> None:
        self.topic = topic
        self.message_count: int | None = None
        self._store = store

    @cached_property
    def subscriptions(self) -> dict[str, Subscription]:
        """The subscriptions by name; read at the first access, as there may be very many."""
        return {item.name: item for item in self._store.subscriptions(self.topic)}

    def subscription(self, name: str) -> Subscription:
        """Return a subscription.

        Raises: SubscriptionNotExist.
        """
        known = self.subscriptions.get(name)
        if known is None:
            raise SubscriptionNotExist
        return known


class TopicRegistry:
    """Finds topics by name."""

    def __init__(self, database: Database, store: TopicStore) -> None:
        self._store = store
        self._by_name: dict[tuple[Tenant, str], LiveTopic] = {}
        self._by_id: dict[TopicId, LiveTopic] = {}
        database.on_rollback(self.forget)

    def find(self, tenant: Tenant, name: str) -> LiveTopic:
        """Return a topic.

        Raises: TopicNotExist.
        """
        live = self._by_name.get((tenant, name))
        if live is not None:
            return live
        topic = self._store.topic(tenant, name)
        if topic is None:
            raise TopicNotExist
        return self.keep(topic)

    def of_row(self, topic: Topic) -> LiveTopic:
        """Return a topic that has just been read."""
        return self._by_id.get(topic.topic_id) or self.keep(topic)

    def keep(self, topic: Topic) -> LiveTopic:
        """Add a stored topic to the cache."""
        live = LiveTopic(topic, self._store)
        self._by_name[topic.tenant, topic.name] = live
        self._by_id[topic.topic_id] = live
        return live

    def counted(self, topic_id: TopicId, change: int) -> None:
        """Add *change* to the number of a topic's messages with pending deliveries, if it is cached."""
        live = self._by_id.get(topic_id)
        if live is not None and live.message_count is not None:
            live.message_count += change

    def message_count(self, live: LiveTopic) -> int:
        """Return the number of a topic's messages with pending deliveries; counted once, then cached."""
        if live.message_count is None:
            live.message_count = self._store.publication_count(live.topic.topic_id)
        return live.message_count

    def count_all(self, topics: Sequence[LiveTopic]) -> None:
        """Count the messages of those *topics* that have not been counted yet, by one query."""
        unknown = [live for live in topics if live.message_count is None]
        counted = self._store.publication_counts([live.topic.topic_id for live in unknown]) if unknown else {}
        for live in unknown:
            live.message_count = counted.get(live.topic.topic_id, 0)

    def recount(self) -> None:
        """Forget all numbers, because messages were removed without a call of `counted`."""
        for live in self._by_id.values():
            live.message_count = None

    def drop(self, topic: Topic) -> None:
        """Forget a deleted topic."""
        self._by_name.pop((topic.tenant, topic.name), None)
        self._by_id.pop(topic.topic_id, None)

    def forget(self) -> None:
        """Drop every topic from the cache."""
        self._by_name.clear()
        self._by_id.clear()


class Topics:
    """The topics of every tenant.

    *unsubscribed* is called with the subscriptions that go with their topic, and those of them that had deliveries.
    """

    def __init__(
        self,
        registry: TopicRegistry,
        store: TopicStore,
        clock: Clock,
        profile: limits.Profile,
        unsubscribed: Callable[[Sequence[SubscriptionId], Sequence[SubscriptionId]], None],
    ) -> None:
        self._registry = registry
        self._store = store
        self._clock = clock
        self._profile = profile
        self.watcher: ResourceWatcher | None = None
        """Is told of new topics."""
        self._unsubscribed = unsubscribed

    def view(self, tenant: Tenant, name: str) -> TopicView:
        """Return a topic and the number of its messages with pending deliveries.

        Raises: TopicNotExist.
        """
        return self._view(self._registry.find(tenant, name))

    def page(self, tenant: Tenant, *, prefix: str = "", start: str = "", limit: int | None = None) -> Page[TopicView]:
        """Return topics by name, from the name *start* on; the page's marker is the first name of the next page.

        Raises: InvalidArgument for a limit outside 1..1000. Source: order and refusal assumed, as for queues.
        """
        size = page_size(limit)
        rows = self._store.topics(tenant, Wanted(prefix), start=start, limit=size + 1)
        part = cut(rows, size, lambda topic: topic.name)
        return Page(self._views(part.items), part.next_marker)

    def numbered(self, tenant: Tenant, wanted: Wanted, skipped: int, limit: int) -> tuple[list[TopicView], int]:
        """Return up to *limit* *wanted* topics by name, after the first *skipped*, and the number of all wanted."""
        rows = self._store.topics(tenant, wanted, start="", limit=limit, skipped=skipped)
        return self._views(rows), self._store.count(tenant, wanted)

    def create(self, tenant: Tenant, name: str, change: Change) -> bool:
        """Create a topic; return whether it is new (False: it existed with the same attributes).

        The attributes of the XML API are compared with their defaults filled in, the others when they are named.

        Raises: TopicNameInvalid, TopicNameLengthError, InvalidArgument, TopicAlreadyExist.
        """
        longest = self._profile.queue_name_length  # topics and queues have the same limit
        check_name(name, longest, "TopicNameLengthError", "TopicNameInvalid")
        check_ranges(TOPIC, change)
        existing = self._store.topic(tenant, name)
        if existing is None:
            self._registry.keep(self._store.add_topic(tenant, name, TopicSettings(**change), self._clock.now()))
            if self.watcher is not None:
                self.watcher.topic_made(tenant, name)
            return True
        if not same_settings(TOPIC, existing.settings, change):
            raise MnsError("TopicAlreadyExist")
        return False

    def change(self, tenant: Tenant, name: str, change: Change) -> None:
        """Change attributes of a topic.

        Raises: TopicNotExist, InvalidArgument.
        """
        live = self._registry.find(tenant, name)
        check_ranges(TOPIC, change)
        changed = replace(live.topic, settings=replace(live.topic.settings, **change), modified_at=self._clock.now())
        self._store.put_topic(changed)
        live.topic = changed

    def delete(self, tenant: Tenant, name: str) -> None:
        """Delete a topic, its subscriptions, and its pending deliveries.

        Deleting a missing topic succeeds. Source: assumed; no client knows an error.
        """
        try:
            live = self._registry.find(tenant, name)
        except TopicNotExist:
            return
        gone, left = self._store.remove_topic(live.topic.topic_id)
        self._registry.drop(live.topic)
        self._unsubscribed(gone, left)

    def _views(self, rows: Sequence[Topic]) -> list[TopicView]:
        topics = [self._registry.of_row(item) for item in rows]
        self._registry.count_all(topics)
        return [self._view(live) for live in topics]

    def _view(self, live: LiveTopic) -> TopicView:
        return TopicView(topic=live.topic, message_count=self._registry.message_count(live))


class Subscriptions:
    """The subscriptions of every tenant. *changed* is called for a new one, *unsubscribed* for each that has ended."""

    def __init__(
        self,
        registry: TopicRegistry,
        store: TopicStore,
        queues: QueueRegistry,
        clock: Clock,
        changed: Callable[[Subscription], None],
        unsubscribed: Callable[[SubscriptionId], None],
    ) -> None:
        self._registry = registry
        self._store = store
        self._queues = queues
        self._clock = clock
        self._changed = changed
        self._unsubscribed = unsubscribed

    def get(self, tenant: Tenant, topic: str, name: str) -> Subscription:
        """Return a subscription.

        Raises: TopicNotExist, SubscriptionNotExist.
        """
        return self._registry.find(tenant, topic).subscription(name)

    def all(self, tenant: Tenant, topic: str) -> list[Subscription]:
        """Return the subscriptions of a topic by name.

        Raises: TopicNotExist.
        """
        subscriptions = self._registry.find(tenant, topic).subscriptions
        return [subscriptions[name] for name in sorted(subscriptions)]

    def page(
        self, tenant: Tenant, topic: str, *, prefix: str = "", start: str = "", limit: int | None = None
    ) -> Page[Subscription]:
        """Return subscriptions by name, from the name *start* on; the page's marker is the first name of the next page.

        Raises: TopicNotExist, InvalidArgument. Source: order and refusal assumed, as for queues.
        """
        wanted = page_size(limit)
        rows = [item for item in self.all(tenant, topic) if item.name.startswith(prefix) and item.name >= start]
        return cut(rows[: wanted + 1], wanted, lambda item: item.name)

    def create(
        self, tenant: Tenant, topic: str, name: str, settings: SubscriptionSettings, *, any_size: bool = False
    ) -> bool:
        """Subscribe; return whether the subscription is new (False: it existed with the same attributes).

        A queue that does not exist can be subscribed; deliveries to it fail until it does. Source: assumed. With
        *any_size* a queue may take less than the topic's largest messages.

        Raises: TopicNotExist, SubscriptionNameInvalid, SubscriptionNameLengthError, InvalidArgument, EndpointInvalid,
        SubscriptionAlreadyExist, SubscriptionNumExceededLimit.
        """
        live = self._registry.find(tenant, topic)
        check_name(name, SUBSCRIPTION_NAME_LENGTH, "SubscriptionNameLengthError", "SubscriptionNameInvalid")
        _check_tag(settings.filter_tag)
        _check_dead_letters(settings)
        if not any_size:
            self._check_queue(live.topic, settings)
        existing = live.subscriptions.get(name)
        if existing is not None:
            if not _same(existing.settings, settings):
                raise MnsError("SubscriptionAlreadyExist")
            return False
        if len(live.subscriptions) >= SUBSCRIPTIONS:
            raise MnsError("SubscriptionNumExceededLimit", high=SUBSCRIPTIONS)
        made = self._store.add_subscription(live.topic, name, settings, self._clock.now())
        live.subscriptions[name] = made
        self._changed(made)
        return True

    def change(self, tenant: Tenant, topic: str, name: str, change: Change) -> None:
        """Change attributes of a subscription; a new strategy applies from the next failure on.

        Raises: TopicNotExist, SubscriptionNotExist, InvalidArgument.
        """
        live = self._registry.find(tenant, topic)
        before = live.subscription(name)
        settings = replace(before.settings, **change)
        _check_tag(settings.filter_tag)
        if "dead_letters" in change:
            _check_dead_letters(settings)
        changed = replace(before, settings=settings, modified_at=self._clock.now())
        self._store.put_subscription(changed)
        live.subscriptions[name] = changed

    def delete(self, tenant: Tenant, topic: str, name: str) -> None:
        """Delete a subscription; its pending deliveries are dropped.

        Ending a missing subscription succeeds. Source: assumed; no client knows an error.
        """
        try:
            live = self._registry.find(tenant, topic)
        except TopicNotExist:
            return
        gone = live.subscriptions.pop(name, None)
        if gone is not None:
            self._store.remove_subscription(gone.subscription_id)
            self._unsubscribed(gone.subscription_id)

    def _check_queue(self, topic: Topic, settings: SubscriptionSettings) -> None:
        """Check that the queue of an endpoint, when there is one, takes the topic's largest messages.

        Source: the limits page demands it; the code is assumed.
        """
        endpoint = read_endpoint(settings.endpoint)
        if not isinstance(endpoint, QueueEndpoint):
            return
        try:
            queue = self._queues.find(topic.tenant, endpoint.queue).queue
        except QueueNotExist:
            return
        if queue.settings.maximum_message_size < topic.settings.maximum_message_size:
            raise MnsError("EndpointInvalid", "The MaximumMessageSize of the queue is smaller than that of the topic.")


def _check_tag(tag: str | None) -> None:
    if tag is not None and len(tag) > TAG_LENGTH:
        raise MnsError("InvalidArgument", name="FilterTag", low=1, high=TAG_LENGTH, unit=" characters")


def _check_dead_letters(settings: SubscriptionSettings) -> None:
    own = read_endpoint(settings.endpoint)
    check_dead_letter_target(settings.dead_letters, own.queue if isinstance(own, QueueEndpoint) else "")


def _same(existing: SubscriptionSettings, wanted: SubscriptionSettings) -> bool:
    """Whether the settings are equal: those of the XML API, and others only if given, so that either API can repeat."""
    always = {each.attribute for each in SUBSCRIPTION.of_form("xml")}
    return all(
        getattr(existing, each.attribute) == getattr(wanted, each.attribute)
        for each in SUBSCRIPTION.stored
        if each.attribute in always or getattr(wanted, each.attribute)
    )


_TIMER = ("mns", "purge")


class Purge:
    """Removes the deliveries of deleted subscriptions in portions; after a crash the next start goes on."""

    def __init__(self, registry: TopicRegistry, store: TopicStore, timers: Timers, clock: Clock) -> None:
        self._registry = registry
        self._store = store
        self._timers = timers
        self._clock = clock
        self._waiting: deque[SubscriptionId] = deque()

    def start(self) -> None:
        """Go on with the deleted subscriptions of an earlier run."""
        self._waiting.extend(self._store.deleted_subscriptions())
        self._arm()

    def close(self) -> None:
        """Stop removing; the next start continues."""
        self._timers.cancel(_TIMER)
        self._waiting.clear()

    def remove(self, subscription_id: SubscriptionId) -> None:
        """Remove the deliveries of a deleted subscription: a portion now, the others by a timer."""
        if not self._purge(subscription_id):
            self._waiting.append(subscription_id)
            self._arm()

    def remove_all(self, subscription_ids: Sequence[SubscriptionId]) -> None:
        """Remove the deliveries of the subscriptions of a deleted topic: some now, the others by a timer."""
        self._waiting.extend(subscription_ids)
        self._remove_some()

    def _purge(self, subscription_id: SubscriptionId) -> bool:
        done = self._store.purge(subscription_id, PURGE_ROWS)
        self._registry.recount()
        return done

    def _remove_some(self) -> None:
        for _ in range(min(PURGE_AT_ONCE, len(self._waiting))):
            if not self._purge(self._waiting[0]):
                break
            self._waiting.popleft()
        self._arm()

    def _arm(self) -> None:
        if self._waiting:
            self._timers.call_at(Millis(self._clock.now() + PURGE_PAUSE_MS), _TIMER, self._remove_some)
