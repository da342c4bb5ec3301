"""All SQL of accounts, queues and messages: `QueueStore`."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.mns.queues.message import Message, restored
from emulator.services.mns.queues.model import QUEUE, AccountAttributes, Counters, Queue, QueueId, QueueSettings
from emulator.services.mns.queues.visibility import HELD, hidden_key
from emulator.storage.database import Database
from emulator.storage.rows import Row, row_of
from emulator.storage.write_lock import StateLocked


class Envelope(NamedTuple):
    """The fields of a stored message that counters and rules need, without its content."""

    seq: int
    priority: int
    visible_from: int
    dequeue_count: int
    revision: int
    group_id: str | None


def envelope_of(message: Message) -> Envelope:
    """Return the envelope of *message*."""
    return Envelope._make(getattr(message, name) for name in Envelope._fields)


class NotStored(Exception):
    """A message could not be written, for example because the disk is full; no part of it was."""


_SETTINGS = row_of(QUEUE)
_QUEUE = f"SELECT id, account, region, name, created_at, modified_at, {_SETTINGS.text} FROM mns_queues"  # noqa: S608 - constants
_FILLED = _QUEUE.replace(
    " FROM",
    ", EXISTS (SELECT 1 FROM mns_messages WHERE queue = mns_queues.id) OR "
    "EXISTS (SELECT 1 FROM mns_tallies WHERE queue = mns_queues.id) FROM",
)
ABOVE_ALL_NAMES = "\U0010ffff"


def insertion(table: str, settings: Row[Any], *columns: str) -> str:
    """Return the SQL that adds a row: *columns*, then the *settings* of a resource."""
    places = ", ".join("?" * (len(columns) + len(settings.names)))
    return f"INSERT INTO {table} ({', '.join(columns)}, {settings.text}) VALUES ({places})"  # noqa: S608 - names of tables


def change(table: str, settings: Row[Any]) -> str:
    """Return the SQL that stores a time of change and the *settings* of a resource in the row of an id."""
    places = ", ".join("?" * (1 + len(settings.names)))
    return f"UPDATE {table} SET (modified_at, {settings.text}) = ({places}) WHERE id = ?"  # noqa: S608 - as above


def inserted(database: Database, sql: str, values: Sequence[Any]) -> int:
    """Add a row and return its number."""
    number = database.write(sql, values).lastrowid
    if number is None:
        raise LookupError("an insert without a row number")
    return number


def one_named(database: Database, select: str, tenant: Tenant, name: str) -> tuple[Any, ...] | None:
    """Return the row of a tenant's resource *name*, read by the query *select*; None without one."""
    where = "account = ? AND region = ? AND name = ?"
    row: tuple[Any, ...] | None = database.read(
        f"{select} WHERE {where}", (tenant.account, tenant.region, name)
    ).fetchone()
    return row


class Wanted(NamedTuple):
    """A filter of queues or topics: names that start with ``prefix``, the type (None for any), all of the ``tags``."""

    prefix: str = ""
    fifo: bool | None = None
    tags: frozenset[tuple[str, str]] = frozenset()

    def where(self, tenant: Tenant, start: str = "") -> tuple[str, list[Any]]:
        """Return the condition of a tenant's rows from the name *start* on, and its values."""
        sql = "account = ? AND region = ? AND name >= ? AND name < ?"
        values: list[Any] = [*tenant, max(self.prefix, start), self.prefix + ABOVE_ALL_NAMES]
        if self.fifo is not None:
            sql += " AND fifo = ?"
            values.append(self.fifo)
        for tag in self.tags:
            sql += " AND instr(tags, ?)"  # a text cannot contain it: quotes in texts are escaped
            values.append(json.dumps(tag))
        return sql, values


EVERY = Wanted()


def all_named(
    database: Database, select: str, tenant: Tenant, wanted: Wanted, start: str, limit: int, skipped: int = 0
) -> Iterable[Any]:
    """Return at most *limit* rows that are *wanted*, from the name *start* on, ordered by name.

    The first *skipped* of them are left out.
    """
    where, values = wanted.where(tenant, start)
    return database.read(f"{select} WHERE {where} ORDER BY name LIMIT ? OFFSET ?", (*values, limit, skipped))


def names_with(
    database: Database, table: Literal["mns_queues", "mns_topics"], tenant: Tenant, containing: str, limit: int
) -> list[str]:
    """Return up to *limit* names in a table that contain *containing*, given in lower case, sorted."""
    where = "account = ? AND region = ? AND instr(lower(name), ?) ORDER BY name LIMIT ?"
    rows = database.read(f"SELECT name FROM {table} WHERE {where}", (*tenant, containing, limit))  # noqa: S608 - as below
    return [name for (name,) in rows]


def count_named(database: Database, table: Literal["mns_queues", "mns_topics"], tenant: Tenant, wanted: Wanted) -> int:
    """Return how many rows of a table a tenant has that are *wanted*."""
    where, values = wanted.where(tenant)
    return int(database.read(f"SELECT count(*) FROM {table} WHERE {where}", values).fetchone()[0])  # noqa: S608 - constants


_ADD_QUEUE = insertion("mns_queues", _SETTINGS, "account", "region", "name", "created_at", "modified_at")
_PUT_QUEUE = change("mns_queues", _SETTINGS)

_COLUMNS = ", ".join(Message._fields).replace("queue_id", "queue")
_MESSAGE = f"SELECT {_COLUMNS} FROM mns_messages"  # noqa: S608 - constants
_ADD_MESSAGE = f"INSERT INTO mns_messages ({_COLUMNS}) VALUES ({', '.join('?' * len(Message._fields))})"  # noqa: S608 - constants
_FIRST_VISIBLE = (
    f"{_MESSAGE} WHERE queue = ? AND priority = ? AND visible_from > ? AND visible_from <= ? AND enqueued_at > ? "
    "ORDER BY visible_from, seq LIMIT ?"
)
_ENVELOPE = f"SELECT {', '.join(Envelope._fields)} FROM mns_messages"  # noqa: S608 - constants
_FIND = f"{_ENVELOPE} WHERE seq = ? AND queue = ? AND message_id = ? AND revision = ? AND enqueued_at > ?"
_EXPIRED = f"{_ENVELOPE} WHERE queue = ? AND enqueued_at <= ? ORDER BY enqueued_at LIMIT ?"
_UP_TO = f"{_ENVELOPE} WHERE queue = ? AND seq <= ? ORDER BY enqueued_at LIMIT ?"
_NEXT_VISIBLE = (
    "SELECT visible_from FROM mns_messages WHERE queue = ? AND priority = ? AND visible_from > ? "
    "ORDER BY visible_from LIMIT 1"
)
_HIDE = "UPDATE mns_messages SET visible_from = ?, dequeue_count = ?, revision = ?, first_dequeued_at = ? WHERE seq = ?"
_HIDE_DYING = _HIDE.replace("SET", "SET dying = 1,")
_HIDDEN = (
    "SELECT visible_from, count(*), sum(dequeue_count > 0) FROM mns_messages "
    "WHERE queue = ? AND priority = ? AND visible_from > ? GROUP BY visible_from"
)
_EXPIRED_STATES = (
    "SELECT visible_from, dequeue_count > 0, count(*) FROM mns_messages WHERE queue = ? AND enqueued_at <= ? "
    "GROUP BY visible_from, dequeue_count > 0"
)


class QueueStore:
    """The tables of accounts, queues and messages; reads see uncommitted writes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def names_with(self, tenant: Tenant, containing: str, limit: int) -> list[str]:
        """Return up to *limit* names of queues that contain *containing*, given in lower case, sorted."""
        return names_with(self._database, "mns_queues", tenant, containing, limit)

    def tenants(self) -> dict[Tenant, int]:
        """Return how many queues each account has in each region where it has some."""
        rows = self._database.read("SELECT account, region, count(*) FROM mns_queues GROUP BY account, region")
        return {Tenant(AccountId(row[0]), Region(row[1])): row[2] for row in rows}

    def account(self, tenant: Tenant) -> AccountAttributes:
        """Return the stored attributes of an account, or the defaults."""
        row = self._database.read(
            "SELECT logging_bucket, trace_enabled FROM mns_accounts WHERE account = ? AND region = ?",
            (tenant.account, tenant.region),
        ).fetchone()
        return AccountAttributes(logging_bucket=row[0], trace_enabled=bool(row[1])) if row else AccountAttributes()

    def put_account(self, tenant: Tenant, attributes: AccountAttributes) -> None:
        """Store the attributes of an account."""
        self._database.write(
            "INSERT OR REPLACE INTO mns_accounts VALUES (?, ?, ?, ?)",
            (tenant.account, tenant.region, attributes.logging_bucket, attributes.trace_enabled),
        )

    def queue(self, tenant: Tenant, name: str) -> Queue | None:
        """Return a queue."""
        row = one_named(self._database, _QUEUE, tenant, name)
        return _queue(row) if row else None

    def queue_by_id(self, queue_id: QueueId) -> Queue | None:
        """Return a queue that has not been deleted."""
        row = self._database.read(f"{_QUEUE} WHERE id = ?", (queue_id,)).fetchone()
        return _queue(row) if row else None

    def queues(self, tenant: Tenant, names: Sequence[str]) -> Iterator[tuple[Queue, bool]]:
        """Yield the queues with *names*, each with whether it has messages."""
        rows = self._database.read(
            f"{_FILLED} WHERE account = ? AND region = ? AND name IN (SELECT value FROM json_each(?))",  # noqa: S608 - a constant
            (*tenant, json.dumps(names)),
        )
        return ((_queue(row[:-1]), bool(row[-1])) for row in rows.fetchall())

    def names(self, tenant: Tenant, wanted: Wanted, *, start: str, limit: int, skipped: int = 0) -> list[str]:
        """Return at most *limit* names of *wanted* queues, from *start* on, in order, without the first *skipped*."""
        rows = all_named(self._database, "SELECT name FROM mns_queues", tenant, wanted, start, limit, skipped)
        return [name for (name,) in rows]

    def count(self, tenant: Tenant, wanted: Wanted = EVERY) -> int:
        """Return how many queues a tenant has that are *wanted*."""
        return count_named(self._database, "mns_queues", tenant, wanted)

    def all_queues(self) -> list[Queue]:
        """Return every queue of every tenant."""
        return [_queue(row) for row in self._database.read(f"{_QUEUE} ORDER BY id")]

    def read_through(self) -> None:
        """Parse every row, to validate a database of unknown origin.

        Raises: any exception, for a row that cannot be parsed.
        """
        self.all_queues()
        for columns in self._database.read("SELECT user_properties, system_properties FROM mns_messages"):
            for column in columns:
                restored(column)

    def add_queue(self, tenant: Tenant, name: str, settings: QueueSettings, now: Millis) -> Queue:
        """Store a new queue."""
        values = (tenant.account, tenant.region, name, now, now, *_SETTINGS.values(settings))
        return Queue(QueueId(inserted(self._database, _ADD_QUEUE, values)), tenant, name, settings, now, now)

    def put_queue(self, queue: Queue) -> None:
        """Store a queue's changed settings and time of change."""
        self._database.write(_PUT_QUEUE, (queue.modified_at, *_SETTINGS.values(queue.settings), queue.queue_id))

    def remove_queue(self, queue_id: QueueId) -> None:
        """Remove a queue; its messages are left to `purge`."""
        self._database.write("INSERT INTO mns_deleted_queues VALUES (?)", (queue_id,))
        self._database.write("DELETE FROM mns_queues WHERE id = ?", (queue_id,))

    def deleted_queues(self) -> list[QueueId]:
        """Return the deleted queues that may still have messages."""
        return [QueueId(number) for (number,) in self._database.read("SELECT id FROM mns_deleted_queues ORDER BY id")]

    def purge(self, queue_id: QueueId, limit: int) -> bool:
        """Remove at most *limit* messages of a deleted queue; return whether none is left."""
        rows = self._database.read("SELECT seq FROM mns_messages WHERE queue = ? LIMIT ?", (queue_id, limit)).fetchall()
        self.remove_all([seq for (seq,) in rows])
        if len(rows) == limit:
            return False
        self._database.write("DELETE FROM mns_deleted_queues WHERE id = ?", (queue_id,))
        return True

    def clear(self) -> None:
        """Remove everything."""
        for table in ("mns_messages", "mns_queues", "mns_deleted_queues", "mns_accounts", "mns_tallies"):
            self._database.write(f"DELETE FROM {table}")  # noqa: S608 - the names above

    def keep_visible(self, now: Millis, before: Millis) -> None:
        """Set messages that became visible after *now* and up to *before* to visible at *now*, for a clock set back.

        They are received in the order in which they were sent.
        """
        self._database.write(
            "UPDATE mns_messages SET visible_from = ? WHERE visible_from > ? AND visible_from <= ?", (now, now, before)
        )

    def last_seq(self) -> int:
        """Return the highest number a message has, or 0."""
        return int(self._database.read("SELECT ifnull(max(seq), 0) FROM mns_messages").fetchone()[0])

    def add(self, message: Message) -> None:
        """Store a new message.

        Raises: NotStored, StateLocked.
        """
        try:
            self._database.write(_ADD_MESSAGE, message)
        except StateLocked:
            raise  # the whole operation is made again
        except sqlite3.Error as error:
            raise NotStored(str(error)) from error

    def find(self, queue_id: QueueId, seq: int, message_id: str, revision: int, sent_after: Millis) -> Envelope | None:
        """Return the message of a receipt handle, None when its revision has changed or it has expired."""
        row = self._database.read(_FIND, (seq, queue_id, message_id, revision, sent_after)).fetchone()
        return Envelope._make(row) if row else None

    def first_visible(
        self, queue_id: QueueId, priority: int, *, now: Millis, sent_after: Millis, limit: int
    ) -> list[Message]:
        """Return the first messages of a priority that are visible at *now* and were sent after *sent_after*.

        No message is visible before it is sent, so the query may demand ``visible_from > sent_after``, by which the
        index skips all messages that have expired without being received.
        """
        rows = self._database.read(_FIRST_VISIBLE, (queue_id, priority, sent_after, now, sent_after, limit))
        return [Message._make(row) for row in rows]

    def latest(self, tenant: Tenant, before: int, limit: int) -> list[tuple[int, str, str, str]]:
        """Return number, queue, id and body of up to *limit* messages of a tenant, newest first, *before* a number."""
        return self._database.read(
            "SELECT m.seq, q.name, m.message_id, m.body FROM mns_messages m CROSS JOIN mns_queues q ON q.id = m.queue"
            " WHERE m.seq < ? AND q.account = ? AND q.region = ? ORDER BY m.seq DESC LIMIT ?",
            (before, *tenant, limit),
        ).fetchall()

    def hidden(self, queue_id: QueueId, priority: int, now: Millis, limit: int) -> list[Message]:
        """Return up to *limit* messages of a priority that are hidden at *now*, by the time they become visible."""
        rows = self._database.read(
            f"{_MESSAGE} WHERE queue = ? AND priority = ? AND visible_from > ? ORDER BY visible_from, seq LIMIT ?",
            (queue_id, priority, now, limit),
        )
        return [Message._make(row) for row in rows]

    def next_visible_from(self, queue_id: QueueId, priority: int, now: Millis) -> int | None:
        """Return the first time after *now* at which a message of that priority becomes visible."""
        row = self._database.read(_NEXT_VISIBLE, (queue_id, priority, now)).fetchone()
        return row[0] if row and row[0] < HELD else None

    def hide(self, message: Message, *, dying: bool) -> None:
        """Store visibility, counts and revision of a received message; *dying* marks its last receive."""
        values = (
            message.visible_from, message.dequeue_count, message.revision, message.first_dequeued_at, message.seq,
        )  # fmt: skip
        self._database.write(_HIDE_DYING if dying else _HIDE, values)

    def reschedule(self, seq: int, visible_from: int, revision: int) -> None:
        """Store visibility and revision of a message."""
        self._database.write(
            "UPDATE mns_messages SET visible_from = ?, revision = ? WHERE seq = ?", (visible_from, revision, seq)
        )

    def remove(self, seq: int) -> None:
        """Remove a message."""
        self._database.write("DELETE FROM mns_messages WHERE seq = ?", (seq,))

    def remove_all(self, seqs: Sequence[int]) -> None:
        """Remove messages."""
        self._database.write_many("DELETE FROM mns_messages WHERE seq = ?", [(seq,) for seq in seqs])

    def numbered_up_to(self, queue_id: QueueId, seq: int, limit: int) -> list[Envelope]:
        """Return the oldest messages with the number *seq* or a lower one."""
        rows = self._database.read(_UP_TO, (queue_id, seq, limit))
        return [Envelope._make(row) for row in rows]

    def expired(self, queue_id: QueueId, bound: Millis, limit: int) -> list[Envelope]:
        """Return the oldest messages, sent at *bound* or before."""
        rows = self._database.read(_EXPIRED, (queue_id, bound, limit))
        return [Envelope._make(row) for row in rows]

    def oldest(self, queue_id: QueueId) -> Millis | None:
        """Return the time the queue's oldest message was sent."""
        row = self._database.read("SELECT min(enqueued_at) FROM mns_messages WHERE queue = ?", (queue_id,)).fetchone()
        return None if row[0] is None else Millis(row[0])

    def oldest_of_all(self) -> list[tuple[QueueId, int, Millis]]:
        """Return every queue with messages: its retention in seconds, and when its oldest message was sent."""
        rows = self._database.read(
            "SELECT id, retention_s, (SELECT min(enqueued_at) FROM mns_messages WHERE queue = mns_queues.id) AS oldest"
            " FROM mns_queues WHERE oldest IS NOT NULL"
        )
        return [(QueueId(number), retention_s, Millis(oldest)) for number, retention_s, oldest in rows]

    def with_dying(self, now: Millis | None = None) -> list[QueueId]:
        """Return the queues with a dead-letter queue that hold a message marked by its last receive.

        With *now*, those where such a message is visible by then.
        """
        until = "" if now is None else "AND visible_from <= ?"
        rows = self._database.read(
            f"SELECT DISTINCT queue FROM mns_messages WHERE dying = 1 {until}"  # noqa: S608 - constants
            " AND queue IN (SELECT id FROM mns_queues WHERE dead_letter IS NOT NULL)",
            () if now is None else (now,),
        )
        return [QueueId(queue) for (queue,) in rows]

    def first_of_group(self, queue_id: QueueId, group_id: str) -> Message | None:
        """Return the message of the group that was sent first."""
        row = self._database.read(
            f"{_MESSAGE} WHERE queue = ? AND group_id = ? ORDER BY seq LIMIT 1", (queue_id, group_id)
        ).fetchone()
        return Message._make(row) if row else None

    def dying(self, queue_id: QueueId, now: Millis, limit: int) -> list[Message]:
        """Return messages marked by their last receive that are visible at *now*."""
        rows = self._database.read(
            f"{_MESSAGE} WHERE queue = ? AND dying = 1 AND visible_from <= ? ORDER BY visible_from LIMIT ?",
            (queue_id, now, limit),
        )
        return [Message._make(row) for row in rows]

    def next_dying(self, queue_id: QueueId) -> Millis | None:
        """Return the first time at which a message marked by its last receive is visible."""
        row = self._database.read(
            "SELECT min(visible_from) FROM mns_messages WHERE queue = ? AND dying = 1", (queue_id,)
        ).fetchone()
        return None if row[0] is None else Millis(row[0])

    def spare(self, seq: int) -> None:
        """Remove the mark of the last receive from a message."""
        self._database.write("UPDATE mns_messages SET dying = 0 WHERE seq = ?", (seq,))

    def numbers(self, queue_id: QueueId) -> list[tuple[int, int]]:
        """Return (priority, number of messages) for each priority in a queue."""
        return self._database.read(
            "SELECT priority, count(*) FROM mns_messages WHERE queue = ? GROUP BY priority", (queue_id,)
        ).fetchall()

    def put_tally(self, queue_id: QueueId, numbers: list[tuple[int, int]]) -> None:
        """Store (priority, number of messages) of a queue at the end of a run."""
        rows = [(queue_id, priority, number) for priority, number in numbers]
        self._database.write_many("INSERT OR REPLACE INTO mns_tallies VALUES (?, ?, ?)", rows)

    def take_tally(self, queue_id: QueueId) -> list[tuple[int, int]]:
        """Return the numbers that an earlier run has stored with `put_tally`, and remove them, as they will change."""
        rows = self._database.read(
            "SELECT priority, number FROM mns_tallies WHERE queue = ?", (queue_id,)
        ).fetchall()  # fmt: skip
        if rows:
            self._database.write("DELETE FROM mns_tallies WHERE queue = ?", (queue_id,))
        return rows

    def hidden_numbers(self, queue_id: QueueId, priority: int, now: Millis) -> list[tuple[int, int, int]]:
        """Return (time, messages that become visible then, how many of these were received) of times after *now*."""
        return self._database.read(_HIDDEN, (queue_id, priority, now)).fetchall()

    def expired_numbers(self, queue_id: QueueId, bound: Millis, now: Millis) -> Counters:
        """Return how many expired messages, sent at *bound* or before, are counted as active, inactive and delayed."""
        active = inactive = delayed = 0
        for visible_from, received, number in self._database.read(_EXPIRED_STATES, (queue_id, bound)):
            if hidden_key(visible_from) <= now:
                active += number
            elif received:
                inactive += number
            else:
                delayed += number
        return Counters(active=active, inactive=inactive, delayed=delayed)


def _queue(row: tuple[Any, ...]) -> Queue:
    number, account, region, name, created_at, modified_at, *chosen = row
    return Queue(number, Tenant(account, region), name, _SETTINGS.item(chosen), created_at, modified_at)
