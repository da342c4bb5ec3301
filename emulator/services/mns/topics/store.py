"""All SQL of topics, subscriptions, deliveries, the outbox and the settings of the management API: `TopicStore`."""

import json
from collections.abc import Sequence
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.mns.queues.message import restored, stored
from emulator.services.mns.queues.store import (
    ABOVE_ALL_NAMES,
    EVERY,
    Wanted,
    all_named,
    change,
    count_named,
    inserted,
    insertion,
    names_with,
    one_named,
)
from emulator.services.mns.topics.model import (
    SUBSCRIPTION,
    TOPIC,
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
from emulator.storage.database import Database
from emulator.storage.rows import row_of

_TOPIC_SETTINGS, _SUBSCRIPTION_SETTINGS = row_of(TOPIC), row_of(SUBSCRIPTION)
_TOPIC = f"SELECT id, account, region, name, created_at, modified_at, {_TOPIC_SETTINGS.text} FROM mns_topics"  # noqa: S608 - constants
_SUBSCRIPTION = (
    "SELECT s.id, s.topic, t.account, t.region, t.name, s.name, s.created_at, s.modified_at, "  # noqa: S608 - constants
    f"s.{_SUBSCRIPTION_SETTINGS.text.replace(', ', ', s.')} "
    "FROM mns_subscriptions AS s JOIN mns_topics AS t ON t.id = s.topic"
)
_PUBLICATION = (
    "message_id, body, body_md5, tag, attributes, group_id, user_properties, system_properties, published_at, trace"
)
_DELIVERY = (
    "SELECT d.id, d.subscription, d.publication, d.attempts, d.due_at, "  # noqa: S608 - constants
    f"p.{_PUBLICATION.replace(', ', ', p.')} "
    "FROM mns_deliveries AS d JOIN mns_publications AS p ON p.id = d.publication WHERE d.id = ?"
)
_SETTLE = (
    "DELETE FROM mns_publications WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM mns_deliveries WHERE publication = ?1)"
)
_PENDING = (
    "SELECT d.id, p.message_id, p.body, p.tag, p.published_at, 'pending', d.attempts, d.last_result, d.due_at "
    "FROM mns_deliveries AS d JOIN mns_publications AS p ON p.id = d.publication "
    "WHERE d.subscription = ? ORDER BY d.due_at, d.id LIMIT ?"
)
_ADD_TOPIC = insertion("mns_topics", _TOPIC_SETTINGS, "account", "region", "name", "created_at", "modified_at")
_PUT_TOPIC = change("mns_topics", _TOPIC_SETTINGS)
_ADD_SUBSCRIPTION = insertion("mns_subscriptions", _SUBSCRIPTION_SETTINGS, "topic", "name", "created_at", "modified_at")
_PUT_SUBSCRIPTION = change("mns_subscriptions", _SUBSCRIPTION_SETTINGS)

_ADD_PUBLICATION = f"INSERT INTO mns_publications (topic, {_PUBLICATION}) VALUES ({', '.join('?' * 11)})"  # noqa: S608 - constants

_TABLES = (
    "mns_deliveries", "mns_publications", "mns_subscriptions", "mns_deleted_subscriptions", "mns_topics", "mns_outbox",
    "mns_open_settings",
)  # fmt: skip


class TopicStore:
    """The tables of ``schema/0002_topics.sql``; reads see uncommitted writes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def tenants(self) -> dict[Tenant, int]:
        """Return how many topics each account has in each region where it has some."""
        rows = self._database.read("SELECT account, region, count(*) FROM mns_topics GROUP BY account, region")
        return {Tenant(AccountId(row[0]), Region(row[1])): row[2] for row in rows}

    def topic(self, tenant: Tenant, name: str) -> Topic | None:
        """Return a topic."""
        row = one_named(self._database, _TOPIC, tenant, name)
        return _topic(row) if row else None

    def names_with(self, tenant: Tenant, containing: str, limit: int) -> list[str]:
        """Return up to *limit* names of topics that contain *containing*, given in lower case, sorted."""
        return names_with(self._database, "mns_topics", tenant, containing, limit)

    def count(self, tenant: Tenant, wanted: Wanted = EVERY) -> int:
        """Return how many topics a tenant has that are *wanted*."""
        return count_named(self._database, "mns_topics", tenant, wanted)

    def topics(self, tenant: Tenant, wanted: Wanted, *, start: str, limit: int, skipped: int = 0) -> list[Topic]:
        """Return at most *limit* *wanted* topics, from the name *start* on, in order, without the first *skipped*."""
        return [_topic(row) for row in all_named(self._database, _TOPIC, tenant, wanted, start, limit, skipped)]

    def add_topic(self, tenant: Tenant, name: str, settings: TopicSettings, now: Millis) -> Topic:
        """Store a new topic."""
        values = (tenant.account, tenant.region, name, now, now, *_TOPIC_SETTINGS.values(settings))
        return Topic(TopicId(inserted(self._database, _ADD_TOPIC, values)), tenant, name, settings, now, now)

    def put_topic(self, topic: Topic) -> None:
        """Store a topic's changed settings and time of change."""
        self._database.write(_PUT_TOPIC, (topic.modified_at, *_TOPIC_SETTINGS.values(topic.settings), topic.topic_id))

    def remove_topic(self, topic_id: TopicId) -> tuple[list[SubscriptionId], list[SubscriptionId]]:
        """Remove a topic and its subscriptions; return these, and those with deliveries, which are left to `purge`."""
        rows = self._database.read(
            "SELECT s.id, EXISTS (SELECT 1 FROM mns_deliveries WHERE subscription = s.id)"
            " FROM mns_subscriptions s WHERE s.topic = ?",
            (topic_id,),
        ).fetchall()
        left = [SubscriptionId(number) for number, has_deliveries in rows if has_deliveries]
        self._database.write_many("INSERT INTO mns_deleted_subscriptions VALUES (?)", [(number,) for number in left])
        self._database.write("DELETE FROM mns_subscriptions WHERE topic = ?", (topic_id,))
        self._database.write("DELETE FROM mns_topics WHERE id = ?", (topic_id,))
        return [SubscriptionId(number) for number, _ in rows], left

    def read_through(self) -> None:
        """Parse every row, to validate a database of unknown origin.

        Raises: any exception, for a row that cannot be parsed.
        """
        for row in self._database.read(_TOPIC):
            _topic(row)
        for row in self._database.read(_SUBSCRIPTION):
            _subscription(row)
        for row in self._database.read(f"SELECT {_PUBLICATION} FROM mns_publications"):  # noqa: S608 - constants
            _publication(row)
        for (text,) in self._database.read("SELECT content FROM mns_open_settings"):
            json.loads(text)

    def subscriptions(self, topic: Topic) -> list[Subscription]:
        """Return the subscriptions of a topic, ordered by name."""
        rows = self._database.read(f"{_SUBSCRIPTION} WHERE s.topic = ? ORDER BY s.name", (topic.topic_id,))
        return [_subscription(row) for row in rows]

    def subscription_by_id(self, subscription_id: SubscriptionId) -> Subscription | None:
        """Return a subscription that has not been deleted."""
        row = self._database.read(f"{_SUBSCRIPTION} WHERE s.id = ?", (subscription_id,)).fetchone()
        return _subscription(row) if row else None

    def add_subscription(self, topic: Topic, name: str, settings: SubscriptionSettings, now: Millis) -> Subscription:
        """Store a new subscription."""
        values = (topic.topic_id, name, now, now, *_SUBSCRIPTION_SETTINGS.values(settings))
        number = SubscriptionId(inserted(self._database, _ADD_SUBSCRIPTION, values))
        return Subscription(number, topic.topic_id, topic.tenant, topic.name, name, settings, now, now)

    def put_subscription(self, subscription: Subscription) -> None:
        """Store a subscription's changed settings and time of change."""
        self._database.write(
            _PUT_SUBSCRIPTION,
            (
                subscription.modified_at,
                *_SUBSCRIPTION_SETTINGS.values(subscription.settings),
                subscription.subscription_id,
            ),
        )

    def remove_subscription(self, subscription_id: SubscriptionId) -> None:
        """Remove a subscription; its deliveries are left to `purge`."""
        self._database.write("DELETE FROM mns_subscriptions WHERE id = ?", (subscription_id,))
        self._database.write("INSERT INTO mns_deleted_subscriptions VALUES (?)", (subscription_id,))

    def clear_topics(self) -> None:
        """Remove everything."""
        for table in _TABLES:
            self._database.write(f"DELETE FROM {table}")  # noqa: S608 - the names above

    def add_publication(self, topic_id: TopicId, publication: Publication) -> PublicationId:
        """Store a message that has deliveries."""
        values = (
            topic_id, publication.message_id, publication.body, publication.body_md5, publication.tag,
            json.dumps(publication.attributes, ensure_ascii=False), publication.group_id,
            stored(publication.user_properties), stored(publication.system_properties), publication.published_at,
            publication.trace,
        )  # fmt: skip
        return PublicationId(inserted(self._database, _ADD_PUBLICATION, values))

    def publication_count(self, topic_id: TopicId) -> int:
        """Return how many messages of a topic have pending deliveries."""
        row = self._database.read("SELECT count(*) FROM mns_publications WHERE topic = ?", (topic_id,)).fetchone()
        return int(row[0])

    def publication_counts(self, topics: Sequence[TopicId]) -> dict[TopicId, int]:
        """Return the number of messages with pending deliveries by topic, for those of *topics* that have any."""
        marks = ", ".join("?" * len(topics))
        sql = f"SELECT topic, count(*) FROM mns_publications WHERE topic IN ({marks}) GROUP BY topic"  # noqa: S608 - marks
        return dict(self._database.read(sql, topics).fetchall())

    def add_deliveries(
        self, publication_id: PublicationId, rows: Sequence[tuple[SubscriptionId, int, Millis, str]]
    ) -> None:
        """Store deliveries: subscription, attempts made, time of the next one, result of the last one."""
        self._database.write_many(
            "INSERT INTO mns_deliveries (publication, subscription, attempts, due_at, last_result) "
            "VALUES (?, ?, ?, ?, ?)",
            [(publication_id, *row) for row in rows],
        )

    def keep_due(self, now: Millis, before: Millis) -> None:
        """Make due at *now* what became due up to *before*."""
        self._database.write(
            "UPDATE mns_deliveries SET due_at = ? WHERE due_at > ? AND due_at <= ?", (now, now, before)
        )

    def due(self, subscription_id: SubscriptionId, now: Millis, limit: int) -> list[DeliveryId]:
        """Return the deliveries of a subscription that are due, the longest due first."""
        rows = self._database.read(
            "SELECT id FROM mns_deliveries WHERE subscription = ? AND due_at <= ? ORDER BY due_at, id LIMIT ?",
            (subscription_id, now, limit),
        )
        return [DeliveryId(number) for (number,) in rows]

    def next_due(self, subscription_id: SubscriptionId, after: Millis) -> Millis | None:
        """Return the first time after *after* at which a delivery of a subscription is due."""
        row = self._database.read(
            "SELECT min(due_at) FROM mns_deliveries WHERE subscription = ? AND due_at > ?", (subscription_id, after)
        ).fetchone()
        return None if row[0] is None else Millis(row[0])

    def delivery(self, delivery_id: DeliveryId) -> Delivery | None:
        """Return a delivery with its message."""
        row = self._database.read(_DELIVERY, (delivery_id,)).fetchone()
        if row is None:
            return None
        number, subscription, publication, attempts, due_at, *content = row
        return Delivery(number, subscription, publication, _publication(content), attempts, due_at)

    def postpone(self, delivery_id: DeliveryId, attempts: int, due_at: Millis, last_result: str) -> None:
        """Store a failed attempt and the time of the next one."""
        self._database.write(
            "UPDATE mns_deliveries SET attempts = ?, due_at = ?, last_result = ? WHERE id = ?",
            (attempts, due_at, last_result, delivery_id),
        )

    def delivery_of(self, subscription_id: SubscriptionId, message_id: str) -> DeliveryId | None:
        """Return the pending delivery of a message to a subscription."""
        row = self._database.read(
            "SELECT d.id FROM mns_deliveries d JOIN mns_publications p ON p.id = d.publication"
            " WHERE d.subscription = ? AND p.message_id = ?",
            (subscription_id, message_id),
        ).fetchone()
        return None if row is None else DeliveryId(row[0])

    def hasten(self, delivery_id: DeliveryId, due_at: Millis) -> None:
        """Set the time of the next attempt at a delivery."""
        self._database.write("UPDATE mns_deliveries SET due_at = ? WHERE id = ?", (due_at, delivery_id))

    def settle(self, delivery_id: DeliveryId, publication_id: PublicationId) -> bool:
        """Remove an ended delivery, and its message with the last delivery; return whether the message was removed."""
        self._database.write("DELETE FROM mns_deliveries WHERE id = ?", (delivery_id,))
        return self._database.write(_SETTLE, (publication_id,)).rowcount > 0

    def upcoming(self, now: Millis, limit: int) -> list[tuple[str, str, int, Millis]]:
        """Return the next *limit* attempts due after *now*: topic, subscription, failures so far, time."""
        return self._database.read(
            "SELECT t.name, s.name, d.attempts, d.due_at FROM mns_deliveries d"
            " JOIN mns_subscriptions s ON s.id = d.subscription JOIN mns_topics t ON t.id = s.topic"
            " WHERE d.due_at > ? ORDER BY d.due_at LIMIT ?",
            (now, limit),
        ).fetchall()

    def subscriptions_with_deliveries(self) -> list[SubscriptionId]:
        """Return the subscriptions that have pending deliveries."""
        rows = self._database.read(
            "SELECT id FROM mns_subscriptions AS s "
            "WHERE EXISTS (SELECT 1 FROM mns_deliveries WHERE subscription = s.id) ORDER BY id"
        )
        return [SubscriptionId(number) for (number,) in rows]

    def pending(self, subscription_id: SubscriptionId, limit: int) -> list[DeliveryReport]:
        """Return pending deliveries, the next one first."""
        rows = self._database.read(_PENDING, (subscription_id, limit))
        return [DeliveryReport(*row) for row in rows]

    def deleted_subscriptions(self) -> list[SubscriptionId]:
        """Return the deleted subscriptions that may still have deliveries."""
        rows = self._database.read("SELECT id FROM mns_deleted_subscriptions ORDER BY id")
        return [SubscriptionId(number) for (number,) in rows]

    def purge(self, subscription_id: SubscriptionId, limit: int) -> bool:
        """Remove at most *limit* deliveries of a deleted subscription; return whether none is left."""
        rows = self._database.read(
            "SELECT id, publication FROM mns_deliveries WHERE subscription = ? LIMIT ?", (subscription_id, limit)
        ).fetchall()
        for number, publication in rows:
            self.settle(DeliveryId(number), PublicationId(publication))
        if len(rows) == limit:
            return False
        self._database.write("DELETE FROM mns_deleted_subscriptions WHERE id = ?", (subscription_id,))
        return True

    def add_outbox(self, tenant: Tenant, entry: OutboxEntry, keep: int) -> None:
        """Store an entry and drop the oldest beyond *keep*."""
        self._database.write(
            "INSERT INTO mns_outbox (account, region, kind, address, topic, subscription, message_id, body, details, "
            "recorded_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                tenant.account, tenant.region, entry.kind, entry.address, entry.topic_name, entry.subscription_name,
                entry.message_id, entry.body, json.dumps(entry.details), entry.recorded_at,
            ),
        )  # fmt: skip
        self._database.write(
            "DELETE FROM mns_outbox WHERE account = ?1 AND region = ?2 AND id <= "
            "(SELECT id FROM mns_outbox WHERE account = ?1 AND region = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)",
            (tenant.account, tenant.region, keep),
        )

    def outbox(self, tenant: Tenant, limit: int) -> list[OutboxEntry]:
        """Return the newest entries, newest first."""
        rows = self._database.read(
            "SELECT kind, address, topic, subscription, message_id, body, details, recorded_at FROM mns_outbox "
            "WHERE account = ? AND region = ? ORDER BY id DESC LIMIT ?",
            (tenant.account, tenant.region, limit),
        )
        return [OutboxEntry(*[*entry, json.loads(details), at]) for *entry, details, at in rows]

    def open_setting(self, tenant: Tenant, name: str) -> object | None:
        """Return a stored setting of the management API, None without one."""
        row = self._database.read(
            "SELECT content FROM mns_open_settings WHERE account = ? AND region = ? AND name = ?",
            (tenant.account, tenant.region, name),
        ).fetchone()
        return json.loads(row[0]) if row else None

    def open_settings(self, tenant: Tenant, prefix: str) -> list[object]:
        """Return the settings of the management API whose names start with *prefix*, by name."""
        rows = self._database.read(
            "SELECT content FROM mns_open_settings WHERE account = ? AND region = ? AND name >= ? AND name < ? "
            "ORDER BY name",
            (tenant.account, tenant.region, prefix, prefix + ABOVE_ALL_NAMES),
        )
        return [json.loads(content) for (content,) in rows]

    def put_open_setting(self, tenant: Tenant, name: str, value: object | None) -> None:
        """Store a setting of the management API, a JSON value; None removes it."""
        key = (tenant.account, tenant.region, name)
        if value is None:
            self._database.write("DELETE FROM mns_open_settings WHERE account = ? AND region = ? AND name = ?", key)
            return
        self._database.write("INSERT OR REPLACE INTO mns_open_settings VALUES (?, ?, ?, ?)", (*key, json.dumps(value)))


def _topic(row: tuple[Any, ...]) -> Topic:
    number, account, region, name, created_at, modified_at, *chosen = row
    return Topic(number, Tenant(account, region), name, _TOPIC_SETTINGS.item(chosen), created_at, modified_at)


def _subscription(row: tuple[Any, ...]) -> Subscription:
    number, topic, account, region, topic_name, name, created_at, modified_at, *chosen = row
    settings = _SUBSCRIPTION_SETTINGS.item(chosen)
    return Subscription(number, topic, Tenant(account, region), topic_name, name, settings, created_at, modified_at)


def _publication(content: Sequence[Any]) -> Publication:
    message_id, body, body_md5, tag, attributes, group_id, user, system, published_at, trace = content
    known = json.loads(attributes)
    return Publication(
        message_id, body, body_md5, tag, known, group_id, restored(user), restored(system), published_at, trace
    )
