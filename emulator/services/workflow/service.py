"""The workflow service as one object: flows, executions and the engine that runs them, built and joined."""

from emulator.kernel.clock import Clock
from emulator.kernel.ids import Ids
from emulator.kernel.timers import Timers
from emulator.services.workflow.engine.driver import Driver
from emulator.services.workflow.engine.effects import Effects
from emulator.services.workflow.engine.store import SqliteEngineStore
from emulator.services.workflow.executions.operations import Executions, Express
from emulator.services.workflow.executions.reports import Mint, Reports
from emulator.services.workflow.executions.retention import Retention, kept_ms
from emulator.services.workflow.executions.waiters import EndWaiters
from emulator.services.workflow.flows.operations import Flows
from emulator.services.workflow.flows.version_store import SqliteVersionStore
from emulator.services.workflow.flows.versions import Versions
from emulator.services.workflow.languages.programs import Definitions
from emulator.services.workflow.limits import DOCUMENTED, Bounds
from emulator.services.workflow.model import ExecutionId, FlowRecord
from emulator.services.workflow.ports import FunctionInvoker, MessageSender, TaskGuard
from emulator.services.workflow.schedules.firing import Firing
from emulator.services.workflow.schedules.model import DueSchedule, execution_input
from emulator.services.workflow.schedules.operations import Schedules
from emulator.services.workflow.schedules.store import SqliteScheduleStore
from emulator.services.workflow.sqlite import SCHEMA, SqliteStore
from emulator.services.workflow.tenants import Tenants
from emulator.storage.database import Database

__all__ = ["SCHEMA", "Workflow"]


class Workflow:
    """Serverless Workflow.

    *kept_days* is how long executions are kept after their end, 0 for ever.
    The operations are methods of ``flows``, ``versions``, ``executions``, ``express``, ``schedules`` and ``reports``.
    Call `start` once the schema has been applied and a loop is running, `close` at the end.
    """

    SCHEMA = SCHEMA

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        ids: Ids,
        timers: Timers,
        functions: FunctionInvoker | None = None,
        messages: MessageSender | None = None,
        guard: TaskGuard | None = None,
        bounds: Bounds = DOCUMENTED,
        kept_days: int = 0,
    ) -> None:
        self._database = database
        self._ids = ids
        tenants = Tenants(database)
        self._store = store = SqliteStore(database, tenants)
        self._mint = mint = Mint()
        self._waiters = waiters = EndWaiters(timers)
        self._effects = effects = Effects(store, waiters, functions, messages, guard)
        definitions = Definitions(store.definition)
        self._engine = engine = Driver(
            database=database,
            store=SqliteEngineStore(database, tenants),
            clock=clock,
            timers=timers,
            mint=mint,
            definitions=definitions,
            surroundings=effects,
            bounds=bounds,
        )
        self.flows = Flows(store, definitions, clock, ids, self._flow_deleted)
        self._version_store = SqliteVersionStore(database)
        self.versions = Versions(self._version_store, self.flows, clock, ids)
        self.executions = Executions(store, self.flows, self.versions, engine, waiters, clock, ids)
        self.express = Express(self.flows, self.versions, self.executions, clock, ids)
        self.reports = Reports(engine, mint, self.executions.get)
        self._schedule_store = SqliteScheduleStore(database, tenants)
        self._firing = Firing(database, self._schedule_store, clock, timers, self._run_scheduled)
        self.schedules = Schedules(self._schedule_store, self.flows, self._firing, clock, ids)
        self._retention = Retention(store, timers, clock, kept_ms(kept_days))
        effects.connect(engine, self.flows, self.executions, self.reports)

    async def start(self) -> None:
        """Take up every execution that was under way; must run in the loop that will run the service."""
        self._mint.secret = self._store.secret(self._ids.secret(32))
        self._engine.recover()
        self._effects.resume()
        self._firing.start()
        self.flows.sweep()
        self._retention.start()
        await self._database.committed()

    def end_polls(self) -> None:
        """Tell callers that wait for an end the present state, now rather than at the end of their wait."""
        self._waiters.wake_all()

    async def close(self) -> None:
        """Stop; executions go on at the next start. Callers that wait are told the present state."""
        self.end_polls()
        self._retention.close()
        await self._firing.close()
        await self._engine.close()

    @property
    def open_executions(self) -> int:
        """How many executions have not ended."""
        return sum(self._store.open_executions().values())

    @property
    def ended(self) -> dict[str, int]:
        """How many executions have ended since the start, by status."""
        return self._engine.ended

    @property
    def calls_under_way(self) -> int:
        """How many calls of tasks are being made."""
        return self._engine.calls_under_way

    @property
    def is_idle(self) -> bool:
        """Whether every execution waits for a timer, a call or a report, or has ended, and all of it is stored."""
        parts = (self.flows, self._engine, self._firing)
        return not self._database.dirty and all(part.is_idle for part in parts)

    def reset(self) -> None:
        """Forget every flow and execution of every account."""
        self._store.clear()
        self._schedule_store.clear()
        self._version_store.clear()
        self._firing.forget()
        self.executions.forget()
        self._engine.forget()
        self._waiters.wake_all()

    def _flow_deleted(self, flow: FlowRecord, live: list[ExecutionId]) -> None:
        self.schedules.flow_deleted(flow)
        self.versions.flow_deleted(flow)
        self._engine.halt(live)
        for execution in live:
            self._waiters.wake(execution)

    def _run_scheduled(self, schedule: DueSchedule) -> None:
        flow = self.flows.get(schedule.tenant, schedule.flow_name)
        start = self.express.start if flow.settings.is_express else self.executions.start
        start(schedule.tenant, schedule.flow_name, None, execution_input(schedule.payload))
