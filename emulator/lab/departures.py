"""Removing all that an account has made: its rows in every table.

Most tables name the account, those of flows its number; what belongs to a row that does is listed here. Objects know
which content they share, so the object store removes its own.
"""

from emulator.kernel.identity import AccountId
from emulator.storage.database import Database

_QUEUES = "queue IN (SELECT id FROM mns_queues WHERE account = :account)"
_TOPICS = "topic IN (SELECT id FROM mns_topics WHERE account = :account)"
PARTS = {
    "mns_messages": _QUEUES,
    "mns_tallies": _QUEUES,
    "mns_deliveries": f"subscription IN (SELECT id FROM mns_subscriptions WHERE {_TOPICS})",  # noqa: S608 - constants
    "mns_publications": _TOPICS,
    "mns_subscriptions": _TOPICS,
    "fc_task_events": "seq IN (SELECT seq FROM fc_async_calls WHERE account = :account)",
}
"""Tables without an account of their own, and which rows are one's."""

OBJECTS = ("oss_buckets", "oss_contents", "oss_objects", "oss_parts", "oss_settings", "oss_uploads")
"""Tables that `emulator.oss.store.ObjectStore.remove_account` clears."""

NOBODYS = {
    "lab_clock", "lab_effects", "mns_deleted_queues", "mns_deleted_subscriptions", "schema_versions", "workflow_secret",
}  # fmt: skip
"""Tables of the installation."""

_WORLDS = "world IN (SELECT id FROM workflow_worlds WHERE account = :account)"


def remove_rows(database: Database, account: AccountId) -> None:
    """Remove all rows of an account, while the services stand still; memory goes by what is left."""
    from emulator.oss.store import ObjectStore  # small, and rarely needed

    ObjectStore(database).remove_account(account)
    names = [row[0] for row in database.read("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()]
    columns = {name: {row[1] for row in database.read(f'PRAGMA table_info("{name}")').fetchall()} for name in names}
    conditions = [
        *PARTS.items(),
        *((name, _WORLDS) for name in names if "world" in columns[name]),
        *((name, "account = :account") for name in names if "account" in columns[name] and name not in OBJECTS),
    ]
    for name, condition in conditions:
        database.write(f'DELETE FROM "{name}" WHERE {condition}', {"account": account})  # noqa: S608 - names of tables
    database.commit()
    database.forget()
