"""The lab as one object: everything that tests need over all services."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from emulator.gateway.journal import Journal
from emulator.gateway.traffic import OpenRequests
from emulator.kernel.clock import AdjustableClock
from emulator.kernel.identity import AccountId, Tenant
from emulator.kernel.observing import Observed
from emulator.kernel.timers import LoopTimers
from emulator.lab.bench import Bench
from emulator.lab.checkpoints.service import Checkpoints
from emulator.lab.checkpoints.store import CheckpointStore
from emulator.lab.clock import TimeControl
from emulator.lab.standstill import Standstill, World, remove_rows
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


class Services(World, Protocol):
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
            bench=bench,
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
