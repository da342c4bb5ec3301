"""Distributed maps: every element becomes an execution of its own, so many at a time.

A run is begun by the call of a map state, and its end is reported to the state's token, like that of a child flow. Each
step follows from what is stored, so it may be taken again: after a restart every open run goes on from where its
executions stand.

Source: Map, CloudFlow documentation, distributed mode; assumed: results of failed executions are left out of ``Items``.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable

from emulator.kernel.clock import Clock
from emulator.kernel.identity import Tenant
from emulator.services.workflow.engine.events import canonical
from emulator.services.workflow.engine.language import CallService, Result
from emulator.services.workflow.engine.model import all_steps
from emulator.services.workflow.engine.tokens import read_token
from emulator.services.workflow.errors import WorkflowError
from emulator.services.workflow.executions.executions import Executions
from emulator.services.workflow.executions.store import MapRunStore
from emulator.services.workflow.flows.flows import Flows
from emulator.services.workflow.flows.store import FlowStore
from emulator.services.workflow.languages.programs import Programs
from emulator.services.workflow.model import EndedExecution, ExecutionId, MapRun, Status
from emulator.services.workflow.ports import MapResource

_log = logging.getLogger(__name__)


class MapRuns:
    """Runs distributed maps. *report* reports a result to a token, for the execution that was the last, if any."""

    def __init__(
        self,
        store: MapRunStore,
        executions: Executions,
        flows: Flows,
        flow_store: FlowStore,
        programs: Programs,
        clock: Clock,
        report: Callable[[Tenant, str, Result, ExecutionId | None], int],
    ) -> None:
        self._store = store
        self._executions = executions
        self._flows = flows
        self._flow_store = flow_store
        self._programs = programs
        self._clock = clock
        self._report = report

    def start(self, tenant: Tenant, call: CallService, target: MapResource, key: str, token: str) -> Result:
        """Begin the run of a map's attempt and return its name; the same run when that is asked for again."""
        asked = read_token(token)
        if asked is None:
            return Result(error="FnF.ActionNotSupported", cause="A step alone has no map runs.", refused=True)
        try:
            record = self._executions.get(tenant, asked.flow, asked.execution)
        except WorkflowError as error:
            return Result(error=f"FnF.{error.code}", cause=error.message, refused=True)
        flow = self._flow_store.keep_definition(self._flows.get(tenant, asked.flow), record.definition)
        name = hashlib.sha256(key.encode()).hexdigest()[:32]
        items, now = call.input["items"], self._clock.now()
        states = all_steps(self._programs.find_now(flow.definition_id).steps)
        own: object = call.step
        step = next(number for number, state in enumerate(states) if state == own)
        self._store.add(tenant, name, record.id, token, flow.definition_id, step, target, items, now)
        asyncio.get_running_loop().call_soon(self._go_on_with, record.id, name)
        return Result(output=canonical({"MapRunName": name}))

    def resume(self) -> None:
        """Go on with every open run, at start."""
        for run in self._store.open_runs():
            self._go_on(run, None)

    def child_ended(self, ended: EndedExecution) -> bool:
        """Go on with the run that an ended execution belongs to; False when its end need not be kept any more."""
        run = self._store.of_child(ended.record.id)
        return run is not None and run.stopped_at is None and self._go_on(run, ended)

    def abandon(self, execution: ExecutionId, key: str) -> None:
        """Stop the run that an attempt has begun: the map has been given up."""
        run = self._store.get(execution, hashlib.sha256(key.encode()).hexdigest()[:32])
        if run is not None and run.stopped_at is None:
            self._end(run, "Aborted")

    def describe(self, execution: ExecutionId, name: str) -> tuple[MapRun, dict[str, int]] | None:
        """Return a run and how many of its elements stand where.

        Elements that a run has given up before they were started count as aborted. Source: assumed.
        """
        run = self._store.get(execution, name)
        if run is None:
            return None
        counts = self._store.counts(run)
        waiting = len(run.items) - counts.total()
        if run.stopped_at is not None:  # of one that succeeded, elements may have been removed since
            counts[Status.STOPPED] += waiting if run.status != "Succeeded" else 0
            waiting = 0
        return run, {
            "Pending": waiting,
            "Running": counts[Status.STARTING] + counts[Status.RUNNING],
            "Succeed": counts[Status.SUCCEEDED],
            "Failed": counts[Status.FAILED] + counts[Status.TIMED_OUT],
            "Aborted": counts[Status.STOPPED],
            "Total": len(run.items),
        }

    def of_flow(self, tenant: Tenant, flow: str, name: str) -> int | None:
        """Return the number of the run of that name of any execution of a flow."""
        return self._store.find(self._flows.get(tenant, flow).id, name)

    def change(self, run: MapRun, at_once: int, count: int, percentage: float) -> None:
        """Give an open run other bounds, and go on within them."""
        self._store.change(run, at_once, count, percentage)
        self._go_on_with(run.execution, run.name)

    def _go_on_with(self, execution: ExecutionId, name: str) -> None:
        run = self._store.get(execution, name)
        if run is not None and run.stopped_at is None:
            self._go_on(run, None)

    def _go_on(self, run: MapRun, last: EndedExecution | None) -> bool:
        """Start further executions, or report the end; return whether that was reported for *last*."""
        counts = self._store.counts(run)
        started = counts.total()
        running = counts[Status.STARTING] + counts[Status.RUNNING]
        failed = counts[Status.FAILED] + counts[Status.TIMED_OUT] + counts[Status.STOPPED]
        if failed > run.tolerated:
            self._end(run, "Failed")
            record = last.record if last is not None else None
            error = (record.error if record is not None else "") or "FnF.MapRunFailed"
            cause = (record.cause if record is not None else "") or f"{failed} executions of the map run have failed."
            return self._reported(run, Result(error=error, cause=cause), last)
        if started == len(run.items) and not running:
            self._store.end(run, "Succeeded", self._clock.now())
            return self._reported(run, Result(output=canonical({"Items": self._store.outputs(run)})), last)
        flow = self._flows.get(run.tenant, run.flow)
        flow = self._flow_store.keep_definition(flow, self._flow_store.definition(run.definition))
        for index in range(started, min(len(run.items), started + run.at_once - running)):
            try:
                name, text = f"{run.name}-{index}", canonical(run.items[index])
                self._executions.start_element(run.tenant, flow, name, text, run.id, index)
            except WorkflowError as error:  # one more than may run: goes on with the end of another
                _log.warning("map run %s cannot start an execution: %s", run.name, error)
                break
        return False

    def _reported(self, run: MapRun, result: Result, last: EndedExecution | None) -> bool:
        try:
            self._report(run.tenant, run.token, result, last.record.id if last is not None else None)
        except WorkflowError as error:
            _log.info("map run %s: its end is not reported: %s", run.name, error)
            return False
        return True

    def _end(self, run: MapRun, status: str) -> None:
        self._store.end(run, status, self._clock.now())
        for flow, name in self._store.open_children(run):
            try:
                self._executions.stop(run.tenant, flow, name, "", "The map run has ended.")
            except WorkflowError as error:
                _log.debug("execution %s of map run %s is not stopped: %s", name, run.name, error)
