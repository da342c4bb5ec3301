"""Topics and subscriptions: created, changed, viewed, listed, deleted."""

import re
from collections.abc import Callable
from dataclasses import replace

from emulator.kernel.clock import Clock
from emulator.kernel.identity import Tenant
from emulator.kernel.paging import Page, cut
from emulator.services.mns import limits
from emulator.services.mns.errors import MnsError, QueueNotExist, TopicNotExist
from emulator.services.mns.limits import SUBSCRIPTION_NAME_LENGTH, SUBSCRIPTIONS, TAG_LENGTH
from emulator.services.mns.queues.live_queues import QueueRegistry
from emulator.services.mns.queues.model import Change
from emulator.services.mns.queues.validation import check_range, check_ranges, same_settings
from emulator.services.mns.topics.endpoints import QueueEndpoint, read_endpoint
from emulator.services.mns.topics.live_topics import LiveTopic, TopicRegistry
from emulator.services.mns.topics.model import (
    SUBSCRIPTION,
    TOPIC,
    Subscription,
    SubscriptionDeadLetters,
    SubscriptionId,
    SubscriptionSettings,
    Topic,
    TopicSettings,
    TopicView,
)
from emulator.services.mns.topics.store import TopicStore

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*", re.ASCII)


class Topics:
    """The topics of every tenant. *unsubscribed* is told of each subscription that goes with its topic."""

    def __init__(
        self,
        registry: TopicRegistry,
        store: TopicStore,
        clock: Clock,
        profile: limits.Profile,
        unsubscribed: Callable[[SubscriptionId], None],
    ) -> None:
        self._registry = registry
        self._store = store
        self._clock = clock
        self._profile = profile
        self._unsubscribed = unsubscribed

    def view(self, tenant: Tenant, name: str) -> TopicView:
        """Return a topic and how many of its messages are on their way.

        Raises: TopicNotExist.
        """
        return self._view(self._registry.find(tenant, name))

    def page(self, tenant: Tenant, *, prefix: str = "", start: str = "", limit: int | None = None) -> Page[TopicView]:
        """Return topics by name, from the name *start* on; the page's marker is the name to go on with.

        Raises: InvalidArgument for a limit outside 1..1000. Source: order and refusal assumed, as for queues.
        """
        wanted = limits.LIST_PAGE.default if limit is None else limit
        check_range("x-mns-ret-number", wanted, limits.LIST_PAGE)
        found = self._store.topics(tenant, prefix=prefix, start=start, limit=wanted + 1)
        part = cut(found, wanted, lambda topic: topic.name)
        return Page([self._view(self._registry.find(tenant, item.name)) for item in part.items], part.next_marker)

    def create(self, tenant: Tenant, name: str, change: Change) -> bool:
        """Create a topic; tell whether it is new (False: it existed with the same attributes).

        The attributes of the XML API are compared with their defaults filled in, the others when they are named.

        Raises: TopicNameInvalid, TopicNameLengthError, InvalidArgument, TopicAlreadyExist.
        """
        self._check_name(name)
        check_ranges(TOPIC, change)
        existing = self._store.topic(tenant, name)
        if existing is None:
            self._registry.keep(self._store.add_topic(tenant, name, TopicSettings(**change), self._clock.now()))
            return True
        if not same_settings(TOPIC, existing.settings, change):
            raise MnsError("TopicAlreadyExist")
        return False

    def change(self, tenant: Tenant, name: str, change: Change) -> None:
        """Change the attributes a request names.

        Raises: TopicNotExist, InvalidArgument.
        """
        live = self._registry.find(tenant, name)
        check_ranges(TOPIC, change)
        changed = replace(live.topic, settings=replace(live.topic.settings, **change), modified_at=self._clock.now())
        self._store.put_topic(changed)
        live.topic = changed

    def delete(self, tenant: Tenant, name: str) -> None:
        """Delete a topic, its subscriptions, and its messages on their way.

        A topic that is not there is as good as deleted. Source: assumed; no client knows an error.
        """
        try:
            live = self._registry.find(tenant, name)
        except TopicNotExist:
            return
        for subscription in live.subscriptions.values():
            self._store.remove_subscription(subscription.subscription_id)
        self._store.remove_topic(live.topic.topic_id)
        self._registry.drop(live.topic)
        for subscription in live.subscriptions.values():
            self._unsubscribed(subscription.subscription_id)

    def _view(self, live: LiveTopic) -> TopicView:
        return TopicView(topic=live.topic, message_count=self._registry.message_count(live))

    def _check_name(self, name: str) -> None:
        if len(name) > self._profile.queue_name_length:  # topics and queues have the same limit
            raise MnsError("TopicNameLengthError")
        if _NAME.fullmatch(name) is None:
            raise MnsError("TopicNameInvalid")


class Subscriptions:
    """The subscriptions of every tenant. *changed* is told of a new one, *unsubscribed* of each that has ended."""

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
        found = self._registry.find(tenant, topic).subscriptions
        return [found[name] for name in sorted(found)]

    def page(
        self, tenant: Tenant, topic: str, *, prefix: str = "", start: str = "", limit: int | None = None
    ) -> Page[Subscription]:
        """Return subscriptions by name, from the name *start* on; the page's marker is the name to go on with.

        Raises: TopicNotExist, InvalidArgument. Source: order and refusal assumed, as for queues.
        """
        wanted = limits.LIST_PAGE.default if limit is None else limit
        check_range("x-mns-ret-number", wanted, limits.LIST_PAGE)
        found = [item for item in self.all(tenant, topic) if item.name.startswith(prefix) and item.name >= start]
        return cut(found[: wanted + 1], wanted, lambda item: item.name)

    def create(self, tenant: Tenant, topic: str, name: str, settings: SubscriptionSettings) -> bool:
        """Subscribe; tell whether the subscription is new (False: it existed with the same attributes).

        A queue that does not exist can be subscribed; deliveries to it fail until it does. Source: assumed.

        Raises: TopicNotExist, SubscriptionNameInvalid, SubscriptionNameLengthError, InvalidArgument, EndpointInvalid,
        SubscriptionAlreadyExist, SubscriptionNumExceededLimit.
        """
        live = self._registry.find(tenant, topic)
        _check_name(name)
        _check_tag(settings.filter_tag)
        self._check_endpoint(live.topic, settings)
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
        """Change the attributes a request names; a new strategy counts from the next failure on.

        Raises: TopicNotExist, SubscriptionNotExist, InvalidArgument.
        """
        live = self._registry.find(tenant, topic)
        before = live.subscription(name)
        settings = replace(before.settings, **change)
        _check_tag(settings.filter_tag)
        if "dead_letters" in change:
            _check_dead_letters(settings.dead_letters, settings.endpoint)
        changed = replace(before, settings=settings, modified_at=self._clock.now())
        self._store.put_subscription(changed)
        live.subscriptions[name] = changed

    def delete(self, tenant: Tenant, topic: str, name: str) -> None:
        """Unsubscribe; what is on its way to the subscriber is dropped.

        What is not there is as good as deleted. Source: assumed; no client knows an error.
        """
        try:
            live = self._registry.find(tenant, topic)
        except TopicNotExist:
            return
        gone = live.subscriptions.pop(name, None)
        if gone is not None:
            self._store.remove_subscription(gone.subscription_id)
            self._unsubscribed(gone.subscription_id)

    def _check_endpoint(self, topic: Topic, settings: SubscriptionSettings) -> None:
        """Check the form of an endpoint, and that its queue, when there is one, takes the topic's largest messages.

        Source: the limits page demands the latter; the code is assumed.
        """
        endpoint = read_endpoint(settings.endpoint)
        _check_dead_letters(settings.dead_letters, settings.endpoint)
        if not isinstance(endpoint, QueueEndpoint):
            return
        try:
            queue = self._queues.find(topic.tenant, endpoint.queue).queue
        except QueueNotExist:
            return
        if queue.settings.maximum_message_size < topic.settings.maximum_message_size:
            raise MnsError("EndpointInvalid", "The MaximumMessageSize of the queue is smaller than that of the topic.")


def _check_name(name: str) -> None:
    if len(name) > SUBSCRIPTION_NAME_LENGTH:
        raise MnsError("SubscriptionNameLengthError", high=SUBSCRIPTION_NAME_LENGTH)
    if _NAME.fullmatch(name) is None:
        raise MnsError("SubscriptionNameInvalid")


def _check_tag(tag: str | None) -> None:
    if tag is not None and len(tag) > TAG_LENGTH:
        raise MnsError("InvalidArgument", name="FilterTag", low=1, high=TAG_LENGTH, unit=" characters")


def _check_dead_letters(policy: SubscriptionDeadLetters | None, endpoint: str) -> None:
    if policy is None or not policy.enabled:
        return
    own = read_endpoint(endpoint)
    if not policy.target or (isinstance(own, QueueEndpoint) and own.queue == policy.target):
        raise MnsError("InvalidArgument", "The value of DeadLetterTargetQueue should be the name of another queue.")


def _same(existing: SubscriptionSettings, wanted: SubscriptionSettings) -> bool:
    """Compare what the XML API knows, and the rest where the request names it, so that either API can repeat a call."""
    always = {each.field for each in SUBSCRIPTION.of_form("xml")}
    return all(
        getattr(existing, each.field) == getattr(wanted, each.field)
        for each in SUBSCRIPTION.stored
        if each.field in always or getattr(wanted, each.field)
    )
