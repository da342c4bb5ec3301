"""Standing still: a restart without a restart, for changes of the whole state or of the time; and removing an account.

What runs is ended and the clock is held; the tables or the clock are changed; every service goes on from there as after
a start. Processes that make function instances stay.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from emulator.kernel.identity import AccountId
from emulator.kernel.timers import LoopTimers
from emulator.lab.clock import TimeControl
from emulator.storage.database import Database


class World(Protocol):
    """The services, whose state is changed."""

    def files(self) -> list[str]:
        """Return the files the tables name: paths below the work folder."""
        ...

    async def suspend(self) -> None:
        """End what runs: all tables are about to be replaced."""
        ...

    async def resume(self) -> None:
        """Go on with what the tables hold now; every timer has been dropped."""
        ...


class Standstill:
    """Lets the *world* stand still while tables or clock are changed."""

    def __init__(self, world: World, time: TimeControl, timers: LoopTimers) -> None:
        self._world = world
        self._time = time
        self._timers = timers

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[set[str]]:
        """Stand still for the context, which is given a set: the files that no table names any more, at its end."""
        gone: set[str] = set()
        async with self._time.held():
            await self._world.suspend()
            before = set(self._world.files())
            try:
                yield gone
            finally:
                self._timers.clear()  # they are set anew, by what time it is then
                await self._world.resume()
                gone |= before.difference(self._world.files())


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

OF_INSTALLATION = {
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
