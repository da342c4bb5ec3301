"""The lab as one object: everything that tests need over all services."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from pathlib import Path
from typing import Any, Protocol, TypeVar

from emulator.gateway.journal import Journal
from emulator.gateway.traffic import OpenRequests
from emulator.kernel.clock import AdjustableClock, Clock
from emulator.kernel.identity import AccountId, Tenant
from emulator.kernel.ids import Drawn, Ids, SeededDraws
from emulator.kernel.instrumentation import Observed, Waiting
from emulator.kernel.tasks import in_turns
from emulator.kernel.timers import LoopTimers, Timers
from emulator.lab.checkpoints.examination import Examination
from emulator.lab.checkpoints.service import Checkpoints
from emulator.lab.checkpoints.standstill import Standstill, Suspendable
from emulator.lab.checkpoints.store import CheckpointStore
from emulator.lab.clock import TimeControl
from emulator.lab.effect_log import EffectLog
from emulator.lab.faults import Operations
from emulator.lab.interference import Faults, Stage
from emulator.lab.mocks import CallLog, Mocks
from emulator.lab.ordering import Ordering
from emulator.lab.outcomes import Explorations
from emulator.lab.sinks import Sinks
from emulator.storage.database import Database
from emulator.storage.exchange import empty
from emulator.storage.migration import Schema
from emulator.storage.steps import performed

T = TypeVar("T")


class Conditions(Protocol):
    """Looks at resources for the conditions of a skip."""

    def look(self, kind: str, tenant: Tenant, name: str, number: int) -> Callable[[], bool]:
        """Return a function that says whether the condition holds.

        *kind* is ``execution`` (``flow/name``: it has ended), ``queue`` (it has *number* visible messages) or ``calls``
        (``service/function``: it was called *number* times since this look).

        Raises: LabError (NotFound) when there is no such resource; ServiceError.
        """
        ...

    def held(self, kind: str, tenant: Tenant, name: str) -> list[Waiting]:
        """Return what keeps the condition of `look` from holding until a person acts: breakpoints of an execution."""
        ...


class Services(Suspendable, Protocol):
    """The services as the lab needs them."""

    def activities(self) -> list[Observed]:
        """Return what each service is doing."""
        ...

    def conditions(self) -> Conditions:
        """Return the object that checks conditions of a skip."""
        ...

    def read_through(self, database: Database) -> list[str]:
        """Read all rows of *database*, another state, as at a start; return the files they name.

        Raises: any exception, for invalid rows.
        """
        ...

    def clock_moved(self, clock: AdjustableClock) -> None:
        """Pass the emulator's time on to functions after it was moved, frozen or unfrozen."""
        ...


class Bench:
    """The test doubles of an application (faults, mocks, sinks), and the record of calls.

    All are in memory and end with the emulator or a reset. *interfere*, *operations* and *errors* are arguments of the
    faults. *timers* and *address* are functions, because the emulator has neither before it listens.
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
        errors: Callable[[], Collection[str]],
    ) -> None:
        self.faults = Faults(interfere)
        self.mocks = Mocks(clock, timers, changed)
        self.sinks = Sinks(clock, ids, address)
        self.calls = CallLog()
        self.sign = sign
        self.operations = operations
        self.errors = errors

    def kept(self) -> object:
        """Return a copy of the faults, mocks and sinks, with their counts and recorded requests."""
        return deepcopy((self.faults.book, *self.mocks.parts(), *self.sinks.parts()))

    def put_back(self, kept: Any) -> None:
        """Restore the result of `kept`, or an empty state for None; recorded calls are dropped."""
        self.clear()
        if kept is None:
            return
        book, by_id, by_name, sinks, received = deepcopy(kept)
        self.faults.take_up(book)
        self.mocks.take_up(by_id, by_name)
        self.sinks.take_up(sinks, received)

    def calls_of_mock(self, id: str) -> CallLog:
        """Return the calls that a mock has answered or left to the function, including those that have just ended.

        Raises: LabError (NotFound).
        """
        self.calls.late()
        return self.mocks.get(id).calls

    def clear(self) -> None:
        """Remove all faults, mocks, sinks and recorded calls."""
        self.faults.clear()
        self.mocks.clear()
        self.sinks.clear()
        self.calls.clear()


class Lab:
    """The parts of the lab: ``time`` moves the clock, ``bench`` holds the test doubles, others are named as they are.

    Checkpoints are kept below *work*, where code and objects are; *schemas* are this program's tables. *close_door*
    makes requests wait while its context lasts; *resumed* is called after a checkpoint was restored.
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
        close_door: Callable[[], AbstractContextManager[None]],
        draws: SeededDraws | None = None,
        resumed: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = database
        self._draws = draws
        self._resumed = resumed
        self.bench = bench
        self.explorations = Explorations(clock)
        self.time = TimeControl(
            database,
            clock,
            timers,
            requests.watchers.add,
            [requests, *services.activities()],
            lambda: services.clock_moved(clock),
        )
        self.conditions = services.conditions()
        self._journal = journal
        self.effects = EffectLog(database, journal, lambda: clock.frozen_at is not None)
        self._standstill = Standstill(services, self.time, timers, close_door, database)
        self.checkpoints = Checkpoints(
            CheckpointStore(work / "checkpoints", work),
            Examination(schemas, services.read_through),
            database,
            clock,
            self.time,
            services,
            self._standstill,
            tenant,
            kept=self._kept,
            put_back=self._put_back,
            resumed=self._mark,
        )
        self.ordering = Ordering(
            timers.turns,
            self.time,
            requests,
            clock,
            watches=(database.watchers.add, requests.watchers.add, self.time.gone_on.add),
            committed=lambda: database.committed() if database.dirty else None,
            observe=bench.faults.observe,
            restart=self._standstill.restart,
        )

    def _mark(self) -> None:
        self._journal.mark()
        self._resumed()

    def _kept(self) -> object:
        return self._draws.drawn if self._draws is not None else None, self.bench.kept(), self._journal.kept()

    def _put_back(self, kept: Any) -> None:
        """Restore the state in memory of a checkpoint; None for one of another run, or for an empty state.

        Random draws then continue in a new series: the restored state may contain ids that this run's series would
        draw.
        """
        drawn, on_bench, in_journal = kept or (None, None, None)
        if self._draws is not None:
            self._draws.drawn = drawn or Drawn(next_series(self._database, self._draws.drawn.series), 0)
            keep_series(self._database, self._draws.drawn.series)
        self.bench.put_back(on_bench)
        self._journal.put_back(in_journal)

    async def close(self) -> None:
        """Hold further effects, and wait for saving and restoring under way."""
        await self.ordering.close()
        await self.checkpoints.close()

    async def alone(self, work: Callable[[], Awaitable[T]], what: str) -> T:
        """Return what *work* returns, which comes to its end though its caller goes away.

        No checkpoint is saved or restored meanwhile: what is deleted would be half there again.
        """
        begin: Callable[[], Awaitable[T] | T] = work
        done = await self.checkpoints.alone(performed(self._database, begin), what)
        self._database.eras.keep_up()  # who has asked for it goes on in what it has brought
        return done

    async def forget(self, forget: Callable[[], Awaitable[None]]) -> None:
        """Empty the tables of the services and return to the system's time; *forget* drops state outside of tables."""

        async def change() -> None:
            await empty(self._database, KEPT)
            self.time.reset()
            self._journal.put_back(None)
            await forget()

        await self.checkpoints.release(await self._standstill.change(change))

    async def remove_account(self, account: AccountId) -> None:
        """Remove all resources of an account."""

        async def change() -> None:
            await remove_rows(self._database, account)

        await self.checkpoints.release(await self._standstill.change(change))


def next_series(database: Database, used: int = 0) -> int:
    """Return the number of an unused series of random draws, after those of the state and after *used*."""
    return max(used, int(database.read("PRAGMA user_version").fetchone()[0])) + 1


def keep_series(database: Database, series: int) -> None:
    """Store the series in use as ``user_version``, the one number that the file's header has room for."""
    known = int(database.read("PRAGMA user_version").fetchone()[0])
    database.write(f"PRAGMA user_version = {max(known, series)}")


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
"""Tables without a column ``account``, with the condition for the rows of an account."""

OBJECTS = ("oss_buckets", "oss_contents", "oss_objects", "oss_parts", "oss_settings", "oss_uploads")
"""Tables that `emulator.oss.store.ObjectStore.removal` clears."""

OF_INSTALLATION = {
    "lab_clock", "lab_effects", "mns_deleted_queues", "mns_deleted_subscriptions", "schema_versions",
    "usage_amounts", "workflow_numbers", "workflow_restarts", "workflow_secret",
}  # fmt: skip
"""Tables that belong to the installation, not to an account."""

KEPT = OF_INSTALLATION - {"mns_deleted_queues", "mns_deleted_subscriptions"} | {
    "ram_accounts", "sqlite_sequence", "sts_keys", "workflow_worlds",
}  # fmt: skip
"""Tables that a reset does not empty; temporary keys stay valid."""

_WORLDS = "world IN (SELECT id FROM workflow_worlds WHERE account = :account)"


async def remove_rows(database: Database, account: AccountId) -> None:
    """Remove all rows of an account in several turns of the loop, while the services stand still.

    The account's own row is removed last, so that an interrupted removal can be repeated. What memory holds of the
    tables is dropped at the end.
    """
    from emulator.oss.store import ObjectStore  # rarely needed

    async for _ in in_turns(ObjectStore(database).removal(account)):
        pass
    names = [row[0] for row in database.read("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()]
    columns = {name: {row[1] for row in database.read(f'PRAGMA table_info("{name}")').fetchall()} for name in names}
    owned = [name for name in names if "account" in columns[name] and name not in OBJECTS]
    conditions = [
        *PARTS.items(),
        *((name, _WORLDS) for name in names if "world" in columns[name]),
        *((name, "account = :account") for name in sorted(owned, key=_ACCOUNTS.__eq__)),
    ]
    async for name, condition in in_turns(conditions, 1):
        database.write(f'DELETE FROM "{name}" WHERE {condition}', {"account": account})  # noqa: S608 - the names are constants
    database.commit()
    database.forget()


_ACCOUNTS = "ram_accounts"
