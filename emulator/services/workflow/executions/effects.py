"""The effects of the engine outside its store: calls of tasks, child executions, and reports of ends."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

from emulator.kernel.identity import Tenant
from emulator.kernel.instrumentation import Interference
from emulator.kernel.tracing import because, begin, step_key
from emulator.services.workflow.codec import render_child
from emulator.services.workflow.engine.driver import Driver
from emulator.services.workflow.engine.language import CallService, Reported, Result, Submitted
from emulator.services.workflow.engine.run import Run
from emulator.services.workflow.engine.store import Orphan
from emulator.services.workflow.engine.tasks import TaskCaller, child_of, refused, target_of
from emulator.services.workflow.engine.turns import Ended
from emulator.services.workflow.errors import ExecutionAlreadyExists, WorkflowError
from emulator.services.workflow.executions.executions import EndWaiters, Executions
from emulator.services.workflow.executions.map_runs import MapRuns
from emulator.services.workflow.executions.reports import Reports
from emulator.services.workflow.executions.retention import Retention
from emulator.services.workflow.executions.store import ExecutionStore
from emulator.services.workflow.model import ExecutionId, Status
from emulator.services.workflow.ports import (
    DIALECT,
    FunctionInvoker,
    HttpCaller,
    MapResource,
    MessageSender,
    ObjectReader,
    TaskDouble,
    TaskDoubles,
    TaskGuard,
    subject,
)
from emulator.services.workflow.rehearsal.answers import (
    function_name,
    is_reported,
    named_by,
    refused_parameters,
    report_of,
    result_of,
)

_log = logging.getLogger(__name__)


class Effects:
    """Implements `engine.effects.Outside` and `engine.tasks.FlowStarter`.

    This object and the parts above the driver need each other, so `connect` is called before the first call.
    """

    def __init__(
        self,
        store: ExecutionStore,
        waiters: EndWaiters,
        functions: FunctionInvoker | None,
        messages: MessageSender | None,
        guard: TaskGuard | None,
        http: HttpCaller | None,
        objects: ObjectReader | None,
        interference: Interference,
        writable: Callable[[], Awaitable[None]],
        doubles: TaskDoubles | None = None,
    ) -> None:
        self._doubles = doubles
        self._interference = interference
        self._store = store
        self._waiters = waiters
        self._caller = TaskCaller(functions, messages, self, http, objects, writable)
        self._guard = guard

    def connect(
        self, engine: Driver, executions: Executions, reports: Reports, retention: Retention, maps: MapRuns
    ) -> None:
        """Set the parts that this object calls; called once, while the service is built."""
        self._engine = engine
        self._executions = executions
        self._reports = reports
        self._retention = retention
        self._maps = maps

    def left(self) -> Iterator[Callable[[], None]]:
        """Yield functions that send the reports which an earlier run or a lost transaction has left unsent."""
        for execution in self._store.pending_callbacks():
            yield partial(self._call_back, execution)
        yield self._retention.sweep  # of deleted flows: what was kept for its report
        yield self._maps.resume

    async def perform(self, run: Run, call: CallService) -> Result:
        """Make the call of a task's attempt."""
        begin(run.trace)
        because(step_key(run.facts.flow_name, run.facts.execution_name, call.step.name, call.attempt + 1))
        double = self._double(run, call)
        if double is not None:
            return await self._doubled(run, call, double)
        denied = self._denied(run, call) if self._guard is not None else None
        if denied is not None:
            return denied
        token = run.facts.token(call.entry, call.attempt)

        def submitted(result: Result) -> None:
            self._engine.post(run.id, Submitted(call.entry, call.attempt, result))

        result = await self._caller.perform(run.tenant, call, run.key(call.entry, call.attempt), token, submitted)
        _log.info(
            "execution %(execution)s of flow %(flow)s: task %(step)s, attempt %(attempt)d, %(result)s",
            {
                "execution": run.facts.execution_name, "flow": run.facts.flow_name, "step": call.step.name,
                "attempt": call.attempt + 1, "result": result.error or "succeeded",
            },
        )  # fmt: skip
        return result

    def _double(self, run: Run, call: CallService) -> TaskDouble | None:
        if self._doubles is None:
            return None
        target, facts = target_of(call), run.facts
        step, *others = named_by(call.step, target)  # a step may be called as its function is
        names = [step, *(name for name in others if target is None or name != function_name(target))]
        return self._doubles.find(facts.flow_name, facts.execution_name, names, call.input_text, call.attempt + 1)

    async def _doubled(self, run: Run, call: CallService, double: TaskDouble) -> Result:
        """Return the result of a mock; one that stands for a report is posted as a report."""
        refused_call = refused_parameters(call)
        if refused_call is not None:
            return refused_call
        if not is_reported(call.step):
            await double.rest()
            return result_of(call, double.answer)
        self._engine.post(run.id, Submitted(call.entry, call.attempt, Result()))
        await double.rest()
        self._engine.post(run.id, Reported(call.entry, call.attempt, report_of(double.answer)))
        return Result()  # late by now

    async def call_alone(
        self, tenant: Tenant, call: CallService, key: str, token: str, submitted: Callable[[Result], None]
    ) -> Result:
        """Make the call of a step that belongs to no execution, with the rights of the account."""
        return await self._caller.perform(tenant, call, key, token, submitted)

    def _denied(self, run: Run, call: CallService) -> Result | None:
        """Return the result of a call that the role of the flow may not make."""
        target = target_of(call)
        if target is None or self._guard is None or isinstance(target, MapResource):
            return None
        try:
            role = self._executions.get(run.tenant, run.facts.flow_name, run.facts.execution_name).role_arn
        except WorkflowError:
            role = ""  # the flow has just been deleted, and its rights with it
        refusal = self._guard.refusal(run.tenant, role, target)
        return refused(target, refusal) if refusal is not None else None

    def execution_ended(self, ended: Ended) -> None:
        """Wake the waiters for an execution, and report to the task it was started by."""
        self._waiters.wake(ended.id)
        _log.info(
            "execution %(execution)s of flow %(flow)s has ended: %(status)s",
            {"execution": ended.name, "flow": ended.flow_name, "status": ended.status.value, "trace": ended.trace},
        )
        if ended.callback_token:
            self._call_back(ended.id)
        if ended.halted:
            self._retention.sweep()

    def task_abandoned(self, run: Run, call: CallService) -> None:
        """Stop the execution, or the asynchronous call, that an abandoned task has started."""
        key = run.key(call.entry, call.attempt)
        if isinstance(target_of(call), MapResource):
            self._maps.abandon(run.id, key)
            return
        self._caller.abandon(run.tenant, call, key)
        child = child_of(call, key)
        if child is not None:
            self._stop_child(run.tenant, child)

    def orphan_left(self, orphan: Orphan, key: str, child: tuple[str, str] | None) -> None:
        """Stop the map run, queued call and child execution of a task that an earlier run has abandoned."""
        self._maps.abandon(orphan.execution, key)
        self._caller.abandon_queued(orphan.tenant, key)
        if child is not None:
            self._stop_child(orphan.tenant, child)

    def _stop_child(self, tenant: Tenant, child: tuple[str, str]) -> None:
        try:
            self._executions.stop(tenant, *child, "", "The execution that started it has ended.")
        except WorkflowError as error:
            _log.debug("child execution %s is not stopped: %s", child, error)

    def start_child(
        self, tenant: Tenant, flow: str, execution: str, text: str, callback_token: str, *, own_name: bool
    ) -> dict[str, Any]:
        """Start an execution for a task and return the members of the reply.

        With *own_name* the name was generated: a UUID, which may begin with a digit.
        """
        named = {"FlowName": flow, "ExecutionName": execution}
        with self._interference.within(subject("StartExecution", named, "flow"), DIALECT):
            try:
                record = self._executions.start(
                    tenant, flow, execution, text, callback_token=callback_token, check=not own_name
                )
            except ExecutionAlreadyExists:
                if not own_name:
                    _log.warning("flow %s: a task starts execution %s, which has ended already", flow, execution)
                    raise
                record = self._executions.get(tenant, flow, execution)
        return render_child(record)

    def start_map_run(self, tenant: Tenant, call: CallService, target: MapResource, key: str, token: str) -> Result:
        """Start a run of a distributed map."""
        return self._maps.start(tenant, call, target, key, token)

    def _call_back(self, execution: ExecutionId) -> None:
        """Report the end of an execution to the token it was started with, or to its map run."""
        ended = self._store.ended(execution)
        if ended is None:
            return
        if ended.map_run is not None:
            if not self._maps.child_ended(ended):
                self._engine.callback_done(execution)
            return
        record = ended.record
        if record.status is Status.SUCCEEDED:
            result = Result(output=record.output)
        else:
            default = {Status.STOPPED: "FnF.ExecutionStopped", Status.TIMED_OUT: "FnF.Timeout"}
            result = Result(error=record.error or default.get(record.status, ""), cause=record.cause)
        try:
            self._reports.accept(ended.tenant, ended.callback_token, result, reported=execution)
        except WorkflowError as error:
            _log.info("execution %s: its end is not reported: %s", record.name, error)
            self._engine.callback_done(execution)
