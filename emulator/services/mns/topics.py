"""Topics: created, changed, looked at, listed, deleted."""

import re
from collections.abc import Callable
from dataclasses import replace

from emulator.kernel.clock import Clock
from emulator.kernel.identity import Tenant
from emulator.kernel.paging import Page, cut
from emulator.services.mns import limits
from emulator.services.mns.settings import check_range
from emulator.services.mns.topic_errors import (
    TopicAlreadyExist,
    TopicNameInvalid,
    TopicNameLengthError,
    TopicNotExist,
)
from emulator.services.mns.topic_model import SubscriptionId, TopicChange, TopicSettings, TopicView
from emulator.services.mns.topic_registry import LiveTopic, TopicRegistry
from emulator.services.mns.topic_store import TopicsStore

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*", re.ASCII)

_COMPARED = ("maximum_message_size", "logging_enabled")


class Topics:
    """The topics of every tenant. *unsubscribed* is told of each subscription that goes with its topic."""

    def __init__(
        self,
        registry: TopicRegistry,
        store: TopicsStore,
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

    def create(self, tenant: Tenant, name: str, change: TopicChange) -> bool:
        """Create a topic; tell whether it is new (False: it existed with the same attributes).

        The attributes of the XML API are compared with their defaults filled in, the others when they are named.

        Raises: TopicNameInvalid, TopicNameLengthError, InvalidArgument, TopicAlreadyExist.
        """
        self._check_name(name)
        _check(change)
        wanted = replace(TopicSettings(), **change)
        existing = self._store.topic(tenant, name)
        if existing is None:
            self._registry.keep(self._store.add_topic(tenant, name, wanted, self._clock.now()))
            return True
        if any(getattr(existing.settings, key) != getattr(wanted, key) for key in {*_COMPARED, *change}):
            raise TopicAlreadyExist
        return False

    def change(self, tenant: Tenant, name: str, change: TopicChange) -> None:
        """Change the attributes a request names.

        Raises: TopicNotExist, InvalidArgument.
        """
        live = self._registry.find(tenant, name)
        _check(change)
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
            raise TopicNameLengthError
        if NAME.fullmatch(name) is None:
            raise TopicNameInvalid


def _check(change: TopicChange) -> None:
    if "maximum_message_size" in change:
        check_range("MaximumMessageSize", change["maximum_message_size"], limits.MESSAGE_SIZE, " bytes")
