"""The operations: checks, one transaction each, effects after the commit. Knows nothing of the wire."""

import asyncio
import logging
import re
from collections.abc import Callable
from typing import Any

from emulator.dialect.dates import iso_millis
from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.identity import World
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.kernel.timers import Timers
from emulator.services.workflow import limits
from emulator.services.workflow.definition.errors import DefinitionError
from emulator.services.workflow.definition.nodes import Flow
from emulator.services.workflow.engine.commands import CallService, Result, StopAsked
from emulator.services.workflow.engine.definitions import Definitions
from emulator.services.workflow.engine.driver import Driver
from emulator.services.workflow.engine.events import NotAnObject, parse_object
from emulator.services.workflow.engine.run import Run
from emulator.services.workflow.errors import (
    ActionNotSupported,
    ExecutionAlreadyCompleted,
    ExecutionAlreadyExists,
    ExecutionNotExists,
    FlowAlreadyExists,
    FlowNotExists,
    InvalidArgument,
    ResourceThrottled,
    WorkflowError,
)
from emulator.services.workflow.model import (
    ExecutionFilter,
    ExecutionId,
    ExecutionRecord,
    FlowRecord,
    FlowSettings,
    HistoryEvent,
    NewExecution,
    Status,
)
from emulator.services.workflow.ports import FunctionInvoker, MessageSender
from emulator.services.workflow.reports import Reports
from emulator.services.workflow.sqlite import SCHEMA, SqliteStore
from emulator.services.workflow.tasks import TaskCaller, child_of
from emulator.services.workflow.tokens import Mint
from emulator.services.workflow.waiting import EndWaiters
from emulator.storage.database import Database

__all__ = ["SCHEMA", "Workflow"]

_log = logging.getLogger(__name__)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,127}\Z", re.ASCII)
_CLEARED_AT_ONCE = 500
"""Rows of deleted flows removed in one tick; keeps a tick under a few milliseconds."""


class Workflow:
    """Serverless Workflow: flows, their executions, and the engine that runs them.

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
    ) -> None:
        self._database = database
        self._clock = clock
        self._ids = ids
        self._timers = timers
        self._store = SqliteStore(database)
        self._definitions = Definitions(self._store.definition)
        self._caller = TaskCaller(functions, messages, self)
        self._waiters = EndWaiters(timers)
        self._open: dict[World, int] = {}
        self._sweeping = False
        self._started: tuple[Driver, Reports] | None = None

    # --- life ----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Take up every execution that was under way; must run in the loop that will run the service."""
        mint = Mint(self._store.secret(self._ids.secret(32)))
        driver = Driver(
            database=self._database,
            store=self._store,
            clock=self._clock,
            timers=self._timers,
            mint=mint,
            definitions=self._definitions,
            surroundings=self,
        )
        self._started = driver, Reports(driver, mint, self.execution)
        driver.recover()
        for execution in self._store.pending_callbacks():
            self._call_back(execution)
        self._sweep()
        await self._database.committed()

    def end_polls(self) -> None:
        """Tell callers that wait for an end the present state, now rather than at the end of their wait."""
        self._waiters.wake_all()

    async def close(self) -> None:
        """Stop; executions go on at the next start. Callers that wait are told the present state."""
        self.end_polls()
        if self._started is not None:
            await self._engine.close()

    @property
    def is_idle(self) -> bool:
        """Whether every execution waits for a timer, a call or a report, or has ended, and all of it is stored."""
        return not self._sweeping and not self._database.dirty and self._engine.is_idle

    def reset(self) -> None:
        """Forget every flow and execution of every account."""
        self._store.clear()
        self._open.clear()
        self._engine.forget()
        self._waiters.wake_all()

    # --- flows ---------------------------------------------------------------------------------------------------

    async def create_flow(self, world: World, name: str, definition: str, settings: FlowSettings) -> FlowRecord:
        """Keep a new flow.

        Raises: InvalidArgument, FlowAlreadyExists, ResourceThrottled.
        """
        check_name("Name", name)
        flow = await self._parsed(definition)
        if self._store.flow(world, name) is not None:
            raise FlowAlreadyExists(flow=name)
        if self._store.count_flows(world) >= limits.FLOWS:
            raise ResourceThrottled(reason=f"An account has at most {limits.FLOWS} flows.")
        self._store.add_flow(world, name, self._ids.uuid(), definition, settings, self._clock.now())
        record = self.flow(world, name)
        self._keep(record, flow)
        return record

    def flow(self, world: World, name: str) -> FlowRecord:
        """Return a flow.

        Raises: FlowNotExists.
        """
        record = self._store.flow(world, name)
        if record is None:
            raise FlowNotExists(flow=name)
        return record

    async def update_flow(
        self, world: World, name: str, definition: str | None, changed: Callable[[FlowSettings], FlowSettings]
    ) -> FlowRecord:
        """Replace what is given; executions that run keep what they started with.

        *changed* is given the present settings and returns the new ones.

        Raises: FlowNotExists, InvalidArgument.
        """
        flow = await self._parsed(definition) if definition is not None else None
        record = self.flow(world, name)  # not before: it may go, or change, while a long definition is parsed
        text = definition if definition is not None else record.definition
        now = Millis(max(self._clock.now(), record.modified_at))
        self._store.change_flow(record, text, changed(record.settings), now)
        record = self.flow(world, name)
        if flow is not None:
            self._keep(record, flow)
        return record

    def delete_flow(self, world: World, name: str) -> None:
        """Delete a flow with its executions; those that run stop, unseen, after their current step.

        Raises: FlowNotExists.
        Source: DeleteFlow, Serverless Workflow API reference.
        """
        live = self._store.delete_flow(self.flow(world, name))
        self._engine.halt(live)
        for execution in live:
            self._waiters.wake(execution)
        self._sweep()

    def flows(self, world: World, limit: int, marker: str, resource_group: str = "") -> Page[FlowRecord]:
        """Return flows by name; the marker is the name of the next one."""
        rows = self._store.flows(world, marker, limit + 1, resource_group)
        return cut(rows, limit, lambda record: record.name)

    async def _parsed(self, definition: str) -> Flow:
        try:
            flow = await self._definitions.parse(definition)
        except DefinitionError as error:
            raise InvalidArgument(reason=f"Definition: {error}") from error
        for warning in flow.warnings:
            _log.warning("flow definition: %s", warning)
        return flow

    def _keep(self, record: FlowRecord, flow: Flow) -> None:
        self._definitions.keep(record.definition_id, flow)

    # --- executions ----------------------------------------------------------------------------------------------

    def start_execution(
        self, world: World, flow_name: str, name: str | None, given: str, callback_token: str = ""
    ) -> ExecutionRecord:
        """Accept an execution; it begins after this call has been answered.

        While an execution of that name runs, it is returned and nothing starts. *name* None: a UUID.

        Raises: FlowNotExists, InvalidArgument, ActionNotSupported, ExecutionAlreadyExists, ResourceThrottled.
        Source: StartExecution, Serverless Workflow API reference.
        """
        if name is not None:
            check_name("ExecutionName", name)
        return self._accept(world, flow_name, name, given, callback_token)

    def _accept(
        self, world: World, flow_name: str, name: str | None, given: str, callback_token: str
    ) -> ExecutionRecord:
        text = given if given.strip() else "{}"
        try:
            parse_object(text)
        except NotAnObject as error:
            raise InvalidArgument(reason=f"Input must be a JSON object: {error}") from error
        flow = self.flow(world, flow_name)
        if flow.settings.execution_mode == "Express":
            raise ActionNotSupported("Express execution is not supported")
        if name is not None and (existing := self._store.execution(flow.id, name)) is not None:
            if existing.is_open:
                return existing
            raise ExecutionAlreadyExists(execution=name, flow=flow_name)
        self._make_room(world)
        new = NewExecution(
            flow=flow,
            name=name if name is not None else self._ids.uuid(),
            input=text,
            callback_token=callback_token,
            started_at=self._clock.now(),
        )
        execution = self._store.add_execution(world, new)
        self._engine.start(execution)
        return ExecutionRecord(
            id=execution,
            flow_name=flow_name,
            name=new.name,
            definition=flow.definition,
            role_arn=flow.settings.role_arn,
            environment=flow.settings.environment,
            input=text,
            output="",
            status=Status.STARTING,
            started_at=new.started_at,
            stopped_at=None,
        )

    def execution(self, world: World, flow_name: str, name: str) -> ExecutionRecord:
        """Return an execution.

        Raises: FlowNotExists, ExecutionNotExists.
        """
        record = self._store.execution(self.flow(world, flow_name).id, name)
        if record is None:
            raise ExecutionNotExists(execution=name, flow=flow_name)
        return record

    def when_ended(self, execution: ExecutionId, wait_s: int, tell: Callable[[], None]) -> Callable[[], None]:
        """Call *tell* once, when *execution* has ended or after *wait_s* seconds; what is returned calls it off."""
        return self._waiters.park(execution, Millis(self._clock.now() + wait_s * SECOND), tell)

    def stop_execution(self, world: World, flow_name: str, name: str, error: str, cause: str) -> ExecutionRecord:
        """Stop an execution at once; its calls are cancelled, waits and callbacks dropped.

        Raises: FlowNotExists, ExecutionNotExists, ExecutionAlreadyCompleted.
        """
        record = self.execution(world, flow_name, name)
        if not record.is_open or not self._engine.deliver(record.id, StopAsked(error, cause)):
            raise ExecutionAlreadyCompleted(execution=name, flow=flow_name)
        return self.execution(world, flow_name, name)

    def executions(
        self, world: World, flow_name: str, criteria: ExecutionFilter, limit: int, marker: str
    ) -> Page[ExecutionRecord]:
        """Return executions, newest first; the marker is the name of the next one.

        Raises: FlowNotExists, InvalidArgument for a marker that names no execution.
        """
        flow = self.flow(world, flow_name)
        start = self._store.execution(flow.id, marker) if marker else None
        if marker and start is None:
            raise InvalidArgument(reason="NextToken is not one that this operation has returned.")
        rows = self._store.executions(flow.id, criteria, start, limit + 1)
        return cut(rows, limit, lambda record: record.name)

    def history(self, world: World, flow_name: str, name: str, limit: int, start: int) -> Page[HistoryEvent]:
        """Return events in order, from id *start* on; the marker is the id of the next one.

        Raises: FlowNotExists, ExecutionNotExists.
        """
        record = self.execution(world, flow_name, name)
        rows = self._store.history(record.id, start, limit + 1)
        return cut(rows, limit, lambda event: str(event.id))

    def _make_room(self, world: World) -> None:
        """Refuse one execution too many. The kept number may be too high, never too low; it is counted when it matters.

        Raises: ResourceThrottled.
        """
        if self._open.get(world, limits.OPEN_EXECUTIONS) >= limits.OPEN_EXECUTIONS:
            self._open[world] = self._store.open_executions().get(world, 0)
            if self._open[world] >= limits.OPEN_EXECUTIONS:
                raise ResourceThrottled(reason=f"At most {limits.OPEN_EXECUTIONS} executions run at a time.")
        self._open[world] += 1

    # --- reports -------------------------------------------------------------------------------------------------

    def report_succeeded(self, world: World, token: str, output: str) -> int:
        """Complete the attempt *token* was made for and return the id of the event.

        Raises: InvalidArgument, FlowNotExists, ExecutionNotExists, TaskAlreadyCompleted.
        """
        try:
            parse_object(output)
        except NotAnObject as error:
            raise InvalidArgument(reason=f"Output must be a JSON object: {error}") from error
        return self._reports.accept(world, token, Result(output=output))

    def report_failed(self, world: World, token: str, error: str, cause: str) -> int:
        """Fail the attempt *token* was made for and return the id of the event.

        Raises: InvalidArgument, FlowNotExists, ExecutionNotExists, TaskAlreadyCompleted.
        """
        return self._reports.accept(world, token, Result(error=error, cause=cause))

    # --- what the engine reaches (engine.driver.Surroundings, tasks.FlowStarter) ---------------------------------

    async def perform(self, run: Run, call: CallService) -> Result:
        """Make the call of a task's attempt."""
        token = run.facts.token(call.entry, call.attempt)
        return await self._caller.perform(run.world, call, run.key(call.entry, call.attempt), token)

    def execution_ended(self, execution: ExecutionId) -> None:
        """Tell those who wait for an execution, and the task it was started by."""
        self._waiters.wake(execution)
        ended = self._store.ended(execution)
        if ended is not None and ended.callback_token:
            self._call_back(execution)
        if ended is not None and ended.deleted:
            self._sweep()

    def task_abandoned(self, run: Run, call: CallService) -> None:
        """Stop the execution a given-up sync task has started."""
        child = child_of(call, run.key(call.entry, call.attempt))
        if child is not None:
            try:
                self.stop_execution(run.world, *child, "", "The execution that started it has ended.")
            except WorkflowError as error:
                _log.debug("child execution %s of %s is not stopped: %s", child, run.facts.execution_name, error)

    def start_child(
        self, world: World, flow: str, execution: str, given: str, callback_token: str, *, own_name: bool
    ) -> dict[str, Any]:
        """Start an execution for a task and return the members of the reply, but for the definition: it may be long."""
        if not own_name:
            check_name("ExecutionName", execution)  # a name made here is a UUID, which may begin with a digit
        try:
            record = self._accept(world, flow, execution, given, callback_token)
        except ExecutionAlreadyExists:
            if not own_name:
                _log.warning("flow %s: a task starts execution %s, which has ended already", flow, execution)
                raise
            record = self.execution(world, flow, execution)
        return {
            "FlowName": record.flow_name,
            "Name": record.name,
            "Input": record.input,
            "Output": record.output,
            "Status": record.status.value,
            "StartedTime": iso_millis(record.started_at),
            "StoppedTime": iso_millis(record.stopped_at) if record.stopped_at is not None else "",
        }

    def _call_back(self, execution: ExecutionId) -> None:
        """Report the end of an execution to the token it was started with."""
        ended = self._store.ended(execution)
        if ended is None:
            return
        record = ended.record
        if record.status is Status.SUCCEEDED:
            result = Result(output=record.output)
        else:
            default = {Status.STOPPED: "FnF.ExecutionStopped", Status.TIMED_OUT: "FnF.Timeout"}
            result = Result(error=record.error or default.get(record.status, ""), cause=record.cause)
        try:
            self._reports.accept(ended.world, ended.callback_token, result, told=execution)
        except WorkflowError as error:
            _log.info("execution %s: its callback token is not told: %s", record.name, error)
            self._engine.told(execution)

    # --- deleted flows -------------------------------------------------------------------------------------------

    def _sweep(self) -> None:
        if not self._sweeping:
            self._sweeping = True
            asyncio.get_running_loop().call_soon(self._sweep_some)

    def _sweep_some(self) -> None:
        self._sweeping = False
        if self._store.clear_deleted(_CLEARED_AT_ONCE):
            self._sweep()

    @property
    def _engine(self) -> Driver:
        if self._started is None:
            raise RuntimeError("the workflow service has not been started")
        return self._started[0]

    @property
    def _reports(self) -> Reports:
        if self._started is None:
            raise RuntimeError("the workflow service has not been started")
        return self._started[1]


def check_name(parameter: str, name: str) -> None:
    """Hold a flow's or execution's name against the rule.

    Raises: InvalidArgument.
    """
    if not _NAME.match(name):
        raise InvalidArgument(
            reason=f"{parameter} must have 1 to {limits.NAME_MAX} characters: letters, digits, '_' and '-', beginning "
            "with a letter or '_'."
        )
