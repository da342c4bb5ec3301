"""Distributed maps: every element becomes an execution of its own, a limited number at a time.

A run is begun by the call of a map state, and its end is reported to the state's token, like that of a child flow. Each
action follows from stored rows and may be repeated: after a restart every open run goes on from the state of its
executions. An execution has up to `OPEN_MAP_RUNS` open runs; further ones wait until one of them has ended.

Source: Map, CloudFlow documentation, distributed mode; assumed: results of failed executions are left out of ``Items``,
and runs beyond the limit wait.
"""

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import Callable
from functools import partial

from emulator.kernel.clock import Clock
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.services.workflow.engine.json_text import canonical
from emulator.services.workflow.engine.language import CallService, Result
from emulator.services.workflow.engine.model import all_steps
from emulator.services.workflow.engine.tokens import read_token
from emulator.services.workflow.errors import WorkflowError
from emulator.services.workflow.executions.executions import Executions
from emulator.services.workflow.executions.map_run_store import MapRunStore
from emulator.services.workflow.flows.flows import Flows
from emulator.services.workflow.flows.store import FlowStore
from emulator.services.workflow.languages.programs import Programs
from emulator.services.workflow.languages.values import as_input
from emulator.services.workflow.limits import OPEN_MAP_RUNS
from emulator.services.workflow.model import EndedExecution, ExecutionId, ExecutionRecord, MapRun, Status
from emulator.services.workflow.ports import MapResource

_log = logging.getLogger(__name__)


AT_ONCE = 32
"""How many executions are started in one turn of the loop."""


class _Progress:
    """The progress of an open run, counted once from the store and updated from then on.

    ``running`` are the executions under way; ``waits`` is set while the limit of open runs keeps the run from starting.
    """

    __slots__ = ("failed", "run", "running", "started", "waits")

    def __init__(self, run: MapRun, counts: Counter[Status], running: set[ExecutionId], *, waits: bool) -> None:
        self.run = run
        self.waits = waits
        self.started = counts.total()
        self.running = running
        self.failed = counts[Status.FAILED] + counts[Status.TIMED_OUT] + counts[Status.STOPPED]

    def has_begun(self, execution: ExecutionId) -> None:
        self.started += 1
        self.running.add(execution)

    def ended(self, record: ExecutionRecord) -> None:
        if record.id in self.running:  # else it has been counted as ended
            self.running.remove(record.id)
            self.failed += record.status is not Status.SUCCEEDED


class MapRuns:
    """Runs distributed maps. *report* reports a result to a token; its last argument is the run's last execution.

    *is_writable* is as `Database.is_writable`.
    """

    def __init__(
        self,
        store: MapRunStore,
        executions: Executions,
        flows: Flows,
        flow_store: FlowStore,
        programs: Programs,
        clock: Clock,
        report: Callable[[Tenant, str, Result, ExecutionId | None], int],
        is_writable: Callable[[Callable[[], None]], bool],
    ) -> None:
        self._store = store
        self._executions = executions
        self._flows = flows
        self._flow_store = flow_store
        self._programs = programs
        self._clock = clock
        self._report = report
        self._is_writable = is_writable
        self._progress: dict[int, _Progress] = {}

    def start(self, tenant: Tenant, call: CallService, target: MapResource, key: str, token: str) -> Result:
        """Start the run of a map's attempt and return its name; repeated with the same *key*, return the same run."""
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
        run = self._store.get(record.id, name)
        assert run is not None
        self._soon(run.id)
        return Result(output=canonical({"MapRunName": name}))

    def resume(self) -> None:
        """Resume every open run, at start."""
        for run in self._store.open_runs():
            self._go_on_with(run.id)

    def child_ended(self, ended: EndedExecution) -> bool:
        """Go on with the run that an ended execution belongs to; return False when its end needs no report any more."""
        run = ended.map_run
        if run is None or (progress := self._progress.get(run) or self._taken_up(run)) is None:
            return False
        progress.ended(ended.record)
        return self._go_on(progress, ended)

    def abandon(self, execution: ExecutionId, key: str) -> None:
        """Stop the run that an abandoned attempt has started."""
        run = self._store.get(execution, hashlib.sha256(key.encode()).hexdigest()[:32])
        if run is not None and run.stopped_at is None:
            self._end(run, "Aborted")

    def describe(self, execution: ExecutionId, name: str) -> tuple[MapRun, dict[str, int]] | None:
        """Return a run, and the number of its elements by status.

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
        elif self._waits(run):
            run = replace(run, status="Pending")
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
        """Change the limits of an open run: executions at once, and tolerated failures as a number and in percent."""
        self._store.change(run, at_once, count, percentage)
        self._progress.pop(run.id, None)
        self._go_on_with(run.id)

    def forget(self) -> None:
        """Drop the progress in memory, because the tables were changed from outside."""
        self._progress.clear()

    def _taken_up(self, run: int) -> _Progress | None:
        """Return the progress of an open run, counted if it is not in memory; None when the run has ended."""
        record = self._store.by_id(run)
        if record is None or record.stopped_at is not None:
            return None
        counts = self._store.counts(record)
        running = {execution for execution, _, _ in self._store.open_children(record)}
        progress = self._progress[run] = _Progress(record, counts, running, waits=self._waits(record))
        return progress

    def _waits(self, run: MapRun) -> bool:
        last = self._store.open_run(run.execution, OPEN_MAP_RUNS - 1)
        return last is not None and run.id > last

    def _admit(self, execution: ExecutionId) -> None:
        """Start the run of an execution that has waited for the end of another run."""
        run = self._store.open_run(execution, OPEN_MAP_RUNS - 1)
        if run is not None and ((progress := self._progress.get(run)) is None or progress.waits):
            self._progress.pop(run, None)
            self._soon(run)

    def _soon(self, run: int) -> None:
        asyncio.get_running_loop().call_soon(self._go_on_with, run)

    def _go_on_with(self, run: int) -> None:
        if not self._is_writable(partial(self._go_on_with, run)):
            return
        progress = self._progress.get(run) or self._taken_up(run)
        if progress is not None:
            self._go_on(progress, None)

    def _go_on(self, progress: _Progress, last: EndedExecution | None) -> bool:
        """Start further executions, or report the run's end; return whether the end was reported with *last*."""
        run = progress.run
        if progress.waits:
            return False
        if progress.failed > run.tolerated:
            error, cause = self._store.first_failure(run)
            self._end(run, "Failed")
            error = error or "FnF.MapRunFailed"
            cause = cause or f"{progress.failed} executions of the map run have failed."
            return self._reported(run, Result(error=error, cause=cause), last)
        if progress.started == len(run.items) and not progress.running:
            self._note_end(run, "Succeeded")
            return self._reported(run, Result(output=canonical({"Items": self._store.outputs(run)})), last)
        self._start_some(progress)
        return False

    def _start_some(self, progress: _Progress) -> None:
        run = progress.run
        room = min(len(run.items) - progress.started, run.at_once - len(progress.running))
        if room <= 0:
            return
        try:
            flow = self._flows.get(run.tenant, run.flow)
            flow = self._flow_store.keep_definition(flow, self._flow_store.definition(run.definition))
            for _ in range(min(room, AT_ONCE)):
                index = progress.started
                name, text = f"{run.name}-{index}", canonical(as_input(run.items[index]))
                progress.has_begun(self._executions.start_element(run.tenant, flow, name, text, run.id, index).id)
        except WorkflowError as error:  # one more than may run: goes on with the end of another; or the flow is deleted
            _log.warning("map run %s cannot start an execution: %s", run.name, error)
            return
        if room > AT_ONCE:
            self._soon(run.id)

    def _reported(self, run: MapRun, result: Result, last: EndedExecution | None) -> bool:
        try:
            self._report(run.tenant, run.token, result, last.record.id if last is not None else None)
        except WorkflowError as error:
            _log.info("map run %s: its end is not reported: %s", run.name, error)
            return False
        return True

    def _note_end(self, run: MapRun, status: str) -> None:
        self._progress.pop(run.id, None)
        self._store.end(run, status, self._clock.now())
        self._admit(run.execution)

    def _end(self, run: MapRun, status: str) -> None:
        self._note_end(run, status)
        for _, flow, name in self._store.open_children(run):
            try:
                self._executions.stop(run.tenant, flow, name, "", "The map run has ended.")
            except WorkflowError as error:
                _log.debug("execution %s of map run %s is not stopped: %s", name, run.name, error)
