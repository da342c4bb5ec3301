"""The lab as one object: everything that tests need over all services."""

from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Protocol

from emulator.gateway.journal import Journal
from emulator.gateway.traffic import OpenRequests
from emulator.kernel.clock import AdjustableClock, Clock
from emulator.kernel.identity import AccountId, Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.instrumentation import Observed
from emulator.kernel.timers import LoopTimers, Timers
from emulator.lab.checkpoints.service import Checkpoints, Standstill, Suspendable
from emulator.lab.checkpoints.store import CheckpointStore
from emulator.lab.clock import TimeControl
from emulator.lab.faults import Operations
from emulator.lab.interference import Faults, Stage
from emulator.lab.mocks import CallLog, Mocks
from emulator.lab.sinks import Sinks
from emulator.lab.traces import EffectLog
from emulator.storage.database import Database, Schema


class Conditions(Protocol):
    """Looks at resources for the conditions of a skip."""

    def look(self, kind: str, tenant: Tenant, name: str, number: int) -> Callable[[], bool]:
        """Return a function that says whether the condition holds.

        *kind* is ``execution`` (``flow/name``: it has ended), ``queue`` (it has *number* visible messages) or ``calls``
        (``service/function``: it was called *number* times since this call).

        Raises: LabError (NotFound) when there is no such resource; ServiceError.
        """
        ...


class Services(Suspendable, Protocol):
    """The services as the lab needs them."""

    def activities(self) -> list[Observed]:
        """Return what each service is doing."""
        ...

    def conditions(self) -> Conditions:
        """Return what looks at resources for a skip."""
        ...

    def clock_moved(self, clock: AdjustableClock) -> None:
        """Let functions see the time after it has been moved, frozen or released."""
        ...


class Bench:
    """What tests put between the parts of an application: faults, mocks, sinks; and the record of calls.

    All of it is in memory and ends with the emulator or a reset. *interfere* and *operations* are for the faults.

    *timers* and *address* are asked for when they are needed: the emulator has them once it listens.
    """

    def __init__(
        self,
        clock: Clock,
        ids: Ids,
        *,
        timers: Callable[[], Timers],
        changed: Callable[[], None],
        address: Callable[[], str],
        interfere: Callable[[Stage | None], None],
        sign: Callable[[str], Awaitable[str]],
        operations: Operations,
    ) -> None:
        self.faults = Faults(interfere)
        self.mocks = Mocks(clock, timers, changed)
        self.sinks = Sinks(clock, ids, address)
        self.calls = CallLog()
        self.sign = sign
        self.operations = operations

    def kept(self) -> object:
        """Return a copy of the faults, mocks and sinks, with what each has given so far."""
        return deepcopy((self.faults.book, *self.mocks.parts(), *self.sinks.parts()))

    def put_back(self, kept: Any) -> None:
        """Put what `kept` has returned in the place of what there is, nothing for None; the calls are forgotten."""
        self.clear()
        if kept is None:
            return
        book, by_id, by_name, sinks, received = deepcopy(kept)
        self.faults.take_up(book)
        self.mocks.take_up(by_id, by_name)
        self.sinks.take_up(sinks, received)

    def clear(self) -> None:
        """Remove everything and forget the calls."""
        self.faults.clear()
        self.mocks.clear()
        self.sinks.clear()
        self.calls.clear()


class Lab:
    """``time`` moves the clock, ``bench`` holds faults, mocks and sinks; the rest is named as it is.

    Checkpoints are kept below *work*, where code and objects are; *schemas* are this program's tables.
    """

    def __init__(
        self,
        database: Database,
        clock: AdjustableClock,
        timers: LoopTimers,
        services: Services,
        *,
        bench: Bench,
        requests: OpenRequests,
        journal: Journal,
        tenant: Tenant,
        work: Path,
        schemas: Sequence[Schema],
    ) -> None:
        self._database = database
        self.bench = bench
        self.time = TimeControl(
            database,
            clock,
            timers,
            requests.watchers.add,
            [requests, *services.activities()],
            lambda: services.clock_moved(clock),
        )
        self.conditions = services.conditions()
        self.effects = EffectLog(database, journal)
        self._standstill = Standstill(services, self.time, timers)
        self.checkpoints = Checkpoints(
            CheckpointStore(work / "checkpoints", work, list(schemas)),
            database,
            clock,
            self.time,
            services,
            self._standstill,
            tenant,
            kept=bench.kept,
            put_back=bench.put_back,
            resumed=journal.mark,
        )

    async def reset_clock(self) -> None:
        """Go back to the system's time while everything stands still."""
        async with self._standstill():
            self.time.reset()

    async def remove_account(self, account: AccountId) -> None:
        """Remove all that an account has made."""
        async with self._standstill() as gone:
            remove_rows(self._database, account)
        await self.checkpoints.release(gone)


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
    "lab_clock", "lab_effects", "mns_deleted_queues", "mns_deleted_subscriptions", "schema_versions",
    "workflow_restarts", "workflow_secret",
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
