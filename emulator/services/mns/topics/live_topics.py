"""Topics in use with their subscriptions, kept in memory because every publish needs them.

Everything here can be made again from the tables; it is dropped when a commit fails.
"""

from emulator.kernel.identity import Tenant
from emulator.services.mns.errors import SubscriptionNotExist, TopicNotExist
from emulator.services.mns.topics.model import Subscription, SubscriptionId, Topic, TopicId
from emulator.services.mns.topics.store import TopicStore
from emulator.storage.database import Database


class LiveTopic:
    """A topic in use: its stored form, its subscriptions by name, and how many of its messages are on their way.

    That number is None until somebody asks for it.
    """

    __slots__ = ("message_count", "subscriptions", "topic")

    def __init__(self, topic: Topic, subscriptions: list[Subscription]) -> None:
        self.topic = topic
        self.subscriptions = {item.name: item for item in subscriptions}
        self.message_count: int | None = None

    def subscription(self, name: str) -> Subscription:
        """Return a subscription.

        Raises: SubscriptionNotExist.
        """
        found = self.subscriptions.get(name)
        if found is None:
            raise SubscriptionNotExist
        return found


class TopicRegistry:
    """Finds topics by name and subscriptions by number."""

    def __init__(self, database: Database, store: TopicStore) -> None:
        self._store = store
        self._by_name: dict[tuple[str, str, str], LiveTopic] = {}
        self._by_id: dict[TopicId, LiveTopic] = {}
        database.on_rollback(self.forget)

    def find(self, tenant: Tenant, name: str) -> LiveTopic:
        """Return a topic.

        Raises: TopicNotExist.
        """
        live = self._by_name.get((tenant.account, tenant.region, name))
        if live is not None:
            return live
        topic = self._store.topic(tenant, name)
        if topic is None:
            raise TopicNotExist
        return self.keep(topic)

    def keep(self, topic: Topic) -> LiveTopic:
        """Take a stored topic into use."""
        live = LiveTopic(topic, self._store.subscriptions(topic))
        self._by_name[topic.tenant.account, topic.tenant.region, topic.name] = live
        self._by_id[topic.topic_id] = live
        return live

    def subscription(self, subscription_id: SubscriptionId) -> Subscription | None:
        """Return a subscription, or None when it has been deleted."""
        return self._store.subscription_by_id(subscription_id)

    def counted(self, topic_id: TopicId, change: int) -> None:
        """Take note that a topic has more or fewer messages on their way."""
        live = self._by_id.get(topic_id)
        if live is not None and live.message_count is not None:
            live.message_count += change

    def message_count(self, live: LiveTopic) -> int:
        """Return how many messages of a topic are on their way; counted once, then kept."""
        if live.message_count is None:
            live.message_count = self._store.publication_count(live.topic.topic_id)
        return live.message_count

    def recount(self) -> None:
        """Take note that messages have gone that nobody has told `counted` of."""
        for live in self._by_id.values():
            live.message_count = None

    def drop(self, topic: Topic) -> None:
        """Forget a deleted topic."""
        self._by_name.pop((topic.tenant.account, topic.tenant.region, topic.name), None)
        self._by_id.pop(topic.topic_id, None)

    def forget(self) -> None:
        """Forget every topic; the tables are asked again."""
        self._by_name.clear()
        self._by_id.clear()
