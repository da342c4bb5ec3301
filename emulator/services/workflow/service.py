"""The workflow service as one object: flows, executions and the engine that runs them, built and joined."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.instrumentation import Interference, NoInterference
from emulator.kernel.metering import Amount, Tally
from emulator.kernel.timers import Timers
from emulator.services.workflow.engine.driver import Driver
from emulator.services.workflow.engine.events import StepEntered
from emulator.services.workflow.engine.model import Task, all_steps
from emulator.services.workflow.engine.store import EngineStore, recorded
from emulator.services.workflow.engine.tokens import Mint
from emulator.services.workflow.errors import WorkflowError
from emulator.services.workflow.executions.effects import Effects
from emulator.services.workflow.executions.executions import EndWaiters, Executions
from emulator.services.workflow.executions.map_run_store import MapRunStore
from emulator.services.workflow.executions.map_runs import MapRuns
from emulator.services.workflow.executions.metering import amounts, of_express, of_history
from emulator.services.workflow.executions.reports import Reports
from emulator.services.workflow.executions.retention import Retention
from emulator.services.workflow.executions.store import ExecutionStore
from emulator.services.workflow.flows.flows import Flows, Versions
from emulator.services.workflow.flows.store import FlowStore
from emulator.services.workflow.languages.programs import Programs
from emulator.services.workflow.limits import DOCUMENTED, Bounds
from emulator.services.workflow.model import DueSchedule, FlowRecord, execution_input
from emulator.services.workflow.ports import (
    DIALECT,
    FunctionInvoker,
    HttpCaller,
    MessageSender,
    ObjectReader,
    TaskDoubles,
    TaskGuard,
    subject,
)
from emulator.services.workflow.schedules.schedules import Firing, Schedules
from emulator.services.workflow.schedules.store import ScheduleStore
from emulator.services.workflow.tenants import SCHEMA, Tenants
from emulator.storage.database import Database

if TYPE_CHECKING:
    from emulator.services.workflow.executions.debugger import Debugger
    from emulator.services.workflow.executions.forks import Forks
    from emulator.services.workflow.flows.lone_steps import LoneSteps

_RESET_PORTION = 100
"""Executions removed between two commits."""

__all__ = ["SCHEMA", "Workflow"]


_UNDISTURBED = NoInterference()


class Workflow:
    """Serverless Workflow.

    *kept_days* is how long executions are kept after their end, 0 for ever.
    Operations call methods of ``flows``, ``versions``, ``executions``, ``schedules`` and ``reports``; features that
    only the emulator has are in ``debugger``, ``forks`` and ``lone_steps``, each imported at the first use.
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
        http: HttpCaller | None = None,
        objects: ObjectReader | None = None,
        bounds: Bounds = DOCUMENTED,
        kept_days: int = 0,
        interference: Interference = _UNDISTURBED,
        doubles: TaskDoubles | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._ids = ids
        self._interference = interference
        self._scheduled = Tally()
        self._tenants = tenants = Tenants(database)
        self._flow_store = FlowStore(database, tenants)
        self._store = ExecutionStore(database, tenants)
        self.schedule_store = ScheduleStore(database, tenants)
        self._mint = Mint()
        self._waiters = EndWaiters(timers)
        self._retention = Retention(self._store, timers, clock, kept_days, database.is_writable)
        self._effects = Effects(
            self._store,
            self._waiters,
            functions,
            messages,
            guard,
            http,
            objects,
            interference,
            database.writable,
            doubles,
        )
        self._programs = programs = Programs(self._flow_store.definition)
        self._flow_store.watch_definitions(programs.drop)
        self.engine_store = EngineStore(database, tenants)
        self._engine = Driver(
            database=database,
            store=self.engine_store,
            clock=clock,
            timers=timers,
            mint=self._mint,
            programs=programs,
            outside=self._effects,
            bounds=bounds,
        )
        self.flows = Flows(self._flow_store, programs, clock, ids, self._flow_deleted)
        self.versions = Versions(self._flow_store, self.flows, clock, ids)
        self.executions = Executions(self._store, self.flows, self.versions, self._engine, self._waiters, clock, ids)
        self.reports = Reports(self._engine, self._mint, self.executions.get)
        self._firing = Firing(database, self.schedule_store, clock, timers, self._run_scheduled)
        self.schedules = Schedules(self.schedule_store, self.flows, self._firing, clock, ids)
        self._map_store = MapRunStore(database, tenants)
        self.maps = MapRuns(
            self._map_store, self.executions, self.flows, self._flow_store, programs, clock, self.reports.accept,
            database.is_writable,
        )  # fmt: skip
        database.on_rollback(self.maps.forget)
        self._effects.connect(self._engine, self.executions, self.reports, self._retention, self.maps)

    async def start(self) -> None:
        """Resume every execution that was under way; must run in the loop that will run the service."""
        self._store.add_restart(self._clock.now())
        await self._go_on()

    async def _go_on(self) -> None:
        self._mint.secret = self._store.secret(bytes.fromhex(self._ids.hex(64)))  # task tokens follow from a seed
        self._engine.recover()
        self._firing.start()
        self._retention.start()
        self._retention.sweep()
        await self._database.committed()

    async def suspend(self) -> None:
        """Break off the calls under way: the tables are about to be replaced, and `start` goes on from them."""
        self.end_polls()
        self._retention.close()
        await self._engine.suspend()
        await self._firing.suspend()

    async def resume(self) -> None:
        """Resume from what the tables hold now, after `suspend` and after every timer has been dropped."""
        self.executions.forget()
        self._engine.resume()
        self._firing.forget()
        await self._go_on()

    def end_polls(self) -> None:
        """Answer callers that wait for an end with the present state, now rather than at the end of their wait."""
        self._waiters.wake_all()

    async def close(self) -> None:
        """Stop; executions go on at the next start. Callers that wait are answered with the present state."""
        self.end_polls()
        self._retention.close()
        await self._firing.close()
        await self._engine.close()

    @cached_property
    def debugger(self) -> "Debugger":
        """The debugger, which lets executions stop at breakpoints."""
        from emulator.services.workflow.executions.debugger import Debugger

        return Debugger(self.executions, self.flows, self._programs, self._engine)

    @cached_property
    def forks(self) -> "Forks":
        """Starts executions that begin with the history of another one."""
        from emulator.services.workflow.executions.forks import Forks

        stores = (self._store, self.engine_store, self._flow_store)
        return Forks(self.executions, self.flows, stores, self._programs, self._clock)

    def tasks(self, tenant: Tenant, flow: str) -> dict[str, Task] | None:
        """Return the tasks of a flow by their names, None for one that does not exist."""
        try:
            record = self.flows.get(tenant, flow)
        except WorkflowError:
            return None
        program = self._programs.find_now(record.definition_id)
        return {step.name: step for step in all_steps(program.steps) if isinstance(step, Task)}

    async def metered_execution(self, tenant: Tenant, flow: str, name: str) -> list[Amount]:
        """Return the billable amounts of one execution, without those of its calls.

        Raises: FlowNotExists, ExecutionNotExists.
        """
        record = self.executions.get(tenant, flow, name)
        if self.flows.get(tenant, flow).settings.is_express:
            until = record.stopped_at if record.stopped_at is not None else self._clock.now()
            return list(of_express(flow, 1, until - record.started_at))
        program = await self._programs.read(record.definition)
        kinds = {step.name: step.kind for step in all_steps(program.steps)}
        entered = (event.step for event in recorded(self._database, record.id) if event.type == StepEntered.type)
        return list(of_history(flow, (kinds.get(step, "") for step in entered)))

    @cached_property
    def lone_steps(self) -> "LoneSteps":
        """Runs single steps without an execution."""
        from emulator.services.workflow.flows.lone_steps import LoneSteps

        return LoneSteps(self._programs, self._clock, self._ids, self._effects.call_alone)

    def restarts(self, begin: Millis, end: Millis) -> list[Millis]:
        """Return when the service was started with executions under way, from *begin* to *end*, oldest first."""
        return self._store.restarts(begin, end)

    @property
    def open_executions(self) -> int:
        """How many executions have not ended."""
        return sum(self._store.open_by_tenant().values())

    def open_in(self, tenant: Tenant) -> int:
        """Return how many executions of an account and region have not ended."""
        return self._store.open_by_tenant().get(tenant, 0)

    @property
    def ended(self) -> dict[str, int]:
        """How many executions have ended since the start, by status."""
        return self._engine.ended

    def metered(self) -> Iterator[Amount]:
        """Yield the billable amounts of executions and schedules since the emulator's start."""
        yield from amounts(self._engine.entered, self._engine.express)
        yield from self._scheduled.amounts()

    @property
    def calls_under_way(self) -> int:
        """How many calls of tasks are being made."""
        return self._engine.calls_under_way

    def waiting_for_reports(self, limit: int) -> list[tuple[str, str, str]]:
        """Return the steps of up to *limit* open executions that wait for a task token: flow, execution, step."""
        return self._engine.waiting_for_reports(limit)

    def tokens(self, tenant: Tenant, flow_name: str, execution: str) -> list[tuple[str, str]]:
        """Return the steps of an execution that wait for a report, each with its task token.

        Raises: FlowNotExists, ExecutionNotExists.
        """
        return self._engine.tokens(self.executions.get(tenant, flow_name, execution).id)

    @property
    def is_idle(self) -> bool:
        """Whether every execution waits for a timer, a call or a report, or has ended, and all of it is stored."""
        parts = (self._retention, self._engine, self._firing)
        return not self._database.dirty and all(part.is_idle for part in parts)

    def reset(self) -> None:
        """Forget every flow and execution of every account."""
        self._store.keep_numbers()
        self._tenants.clear()
        self._flow_store.forget()
        self._store.forget()
        self._firing.forget()
        self.executions.forget()
        self._engine.forget()
        self.maps.forget()
        self._waiters.wake_all()

    async def reset_flow(self, tenant: Tenant, name: str) -> int:
        """Stop and delete the executions of a flow; return how many there were. Its schedules stay.

        Raises: FlowNotExists, CommitFailed.
        """
        flow = self.flows.get(tenant, name)
        deleted = 0
        while execution := self._store.newest_open(flow.id):
            self.executions.stop(tenant, name, execution, "Reset", "")
            await self._database.committed()
        while portion := self._store.clear_ended_of(flow.id, _RESET_PORTION):
            deleted += portion
            await self._database.committed()
        return deleted

    def _flow_deleted(self, flow: FlowRecord) -> None:
        self.schedule_store.remove_of(flow.id)
        halted = self._store.halt(flow.id)
        self._engine.halt(halted)
        for execution in halted:
            self._waiters.wake(execution)
        self._retention.sweep()

    def _run_scheduled(self, schedule: DueSchedule) -> None:
        named = {"FlowName": schedule.flow_name, "ScheduleName": schedule.name}
        with self._interference.within(subject("StartExecution", named, "trigger"), DIALECT):
            flow = self.flows.get(schedule.tenant, schedule.flow_name)
            start = self.executions.start_express if flow.settings.is_express else self.executions.start
            start(schedule.tenant, schedule.flow_name, None, execution_input(schedule.payload))
            self._scheduled.add("fnf.schedules", schedule.flow_name)
