"""Debugs executions: sets breakpoints, shows stops, and carries out a person's actions at a stop.

Breakpoints and stops are stored with the execution (`engine.breakpoints`), so that a stopped execution is still stopped
after a restart. Time goes on meanwhile: time-outs of the execution and of tasks in other branches still apply.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from emulator.kernel.identity import Tenant
from emulator.services.workflow.engine.breakpoints import MOMENTS, Breakpoint, Stop, Watch, with_data
from emulator.services.workflow.engine.decide import TooMuchData
from emulator.services.workflow.engine.driver import Driver
from emulator.services.workflow.engine.execution import Execution
from emulator.services.workflow.engine.json_text import canonical
from emulator.services.workflow.engine.language import Events, Park, Program
from emulator.services.workflow.engine.model import Phase, Strand, Task, all_steps
from emulator.services.workflow.errors import WorkflowError, invalid
from emulator.services.workflow.executions.executions import Executions
from emulator.services.workflow.flows.flows import Flows
from emulator.services.workflow.languages.programs import Programs
from emulator.services.workflow.model import ExecutionRecord

ACTIONS: Final = ("next", "continue", "change", "retry", "skip", "detach")
"""Go on to the next step; go on to the next breakpoint; change the data and stay; try a failed task again; leave the
step out; let the execution go for good."""


class Debugger:
    """The debugger of executions."""

    def __init__(self, executions: Executions, flows: Flows, programs: Programs, engine: Driver) -> None:
        self._executions = executions
        self._flows = flows
        self._programs = programs
        self._engine = engine

    def start(
        self, tenant: Tenant, flow_name: str, name: str | None, text: str, breakpoints: Iterable[Any]
    ) -> dict[str, Any]:
        """Start an execution that stops at *breakpoints*, or before its first step without any; return its `show`.

        Raises: FlowNotExists, InvalidArgument, ExecutionAlreadyExists, ResourceThrottled.
        """
        wanted = read_breakpoints(breakpoints)
        flow = self._flows.get(tenant, flow_name)
        _check_steps(self._programs.find_now(flow.definition_id), wanted)
        start = self._executions.start_express if flow.settings.is_express else self._executions.start
        record = start(tenant, flow_name, name, text)
        self._watch(record, wanted, stepping=not wanted)
        return self.show(tenant, flow_name, record.name)

    def watch(self, tenant: Tenant, flow_name: str, name: str, breakpoints: Iterable[Any]) -> dict[str, Any]:
        """Stop an open execution at *breakpoints* from now on, or before its next step without any.

        Raises: FlowNotExists, ExecutionNotExists, ExecutionAlreadyCompleted, InvalidArgument.
        """
        wanted = read_breakpoints(breakpoints)
        self._watch(self._executions.get(tenant, flow_name, name), wanted, stepping=not wanted)
        return self.show(tenant, flow_name, name)

    def show(self, tenant: Tenant, flow_name: str, name: str) -> dict[str, Any]:
        """Return an execution's breakpoints and its stops as a JSON value.

        Raises: FlowNotExists, ExecutionNotExists.
        """
        record = self._executions.get(tenant, flow_name, name)
        watch = self._engine.watched(record.id) or Watch()
        state = self._engine.look(record.id)
        stops = [] if state is None else [
            {**_shown(stop), "local": state.strands[stop.strand].scopes[-1].local, "actions": actions}
            for stop in watch.stops.values()
            if (actions := _actions(state.strands[stop.strand], stop))
        ]  # fmt: skip
        return {
            "flow": flow_name,
            "execution": name,
            "status": record.status.value,
            "breakpoints": [{"when": each.when, "step": each.step} for each in watch.breakpoints],
            "stepping": watch.stepping,
            "stops": stops,
            "global": state.variables if state is not None else {},
            "output": record.output,
            "error": record.error,
            "cause": record.cause,
        }

    def act(
        self, tenant: Tenant, flow_name: str, name: str, action: str, strand: int | None, data: Any
    ) -> dict[str, Any]:
        """Do one of `ACTIONS` at the stop of *strand*, by default at the oldest, and return `show` of the execution.

        *data* None leaves the data as they are. ``continue`` lets go of every stop, when *strand* is None.

        Raises: FlowNotExists, ExecutionNotExists, ExecutionAlreadyCompleted, InvalidArgument.
        """
        if action not in ACTIONS:
            raise invalid(f"there is no action {action!r}; there are {', '.join(ACTIONS)}")
        if data is not None and not isinstance(data, dict):
            raise invalid("data must be an object")

        def act(run: Execution) -> Events:
            if action == "detach":
                _detach(run)
                return ()
            stop = _chosen_stop(run, strand)
            if data is not None and len(canonical(data).encode()) > run.facts.step_data_bytes:
                raise invalid(f"the data of a step holds at most {run.facts.step_data_bytes} bytes")
            return _act(run, stop, action, data, everywhere=strand is None)

        self._intervene(self._executions.get(tenant, flow_name, name), act)
        return self.show(tenant, flow_name, name)

    def _watch(self, record: ExecutionRecord, wanted: tuple[Breakpoint, ...], *, stepping: bool) -> None:
        def act(run: Execution) -> Events:
            _check_steps(run.facts.program, wanted)
            if run.watch is None:
                run.watch = Watch(wanted, stepping=stepping)
            else:
                goes_on = run.watch.stepping if run.watch.stops else stepping  # a stop decides how it is left
                run.watch.breakpoints, run.watch.stepping, run.watch.is_changed = wanted, goes_on, True
            return ()

        self._intervene(record, act)

    def _intervene(self, record: ExecutionRecord, act: Callable[[Execution], Events]) -> None:
        if not self._engine.intervene(record.id, act):
            raise WorkflowError("ExecutionAlreadyCompleted", execution=record.name, flow=record.flow_name)


def _check_steps(program: Program, wanted: Iterable[Breakpoint]) -> None:
    """Raises: InvalidArgument for a breakpoint at a step that the flow does not have."""
    names = {step.name for step in all_steps(program.steps)}
    unknown = next((each.step for each in wanted if each.step and each.step not in names), None)
    if unknown is not None:
        raise invalid(f"the flow has no step {unknown!r}; there are {', '.join(sorted(names))}")


def read_breakpoints(documents: Iterable[Any]) -> tuple[Breakpoint, ...]:
    """Read breakpoints as the admin API has them: ``{"when": "before", "step": "NAME"}``.

    Raises: InvalidArgument.
    """
    breakpoints = []
    for each in documents:
        if not isinstance(each, Mapping) or not each.keys() <= {"when", "step"}:
            raise invalid('a breakpoint is an object such as {"when": "before", "step": "NAME"}')
        when, step = each.get("when", "before"), each.get("step", "")
        if when not in MOMENTS or not isinstance(step, str):
            raise invalid(f"when of a breakpoint is one of {', '.join(MOMENTS)}, and step is a text")
        breakpoints.append(Breakpoint(when, step))
    return tuple(breakpoints)


def _shown(stop: Stop) -> dict[str, Any]:
    shown: dict[str, Any] = {"strand": stop.strand, "event": stop.at, "when": stop.when, "step": stop.step}
    if stop.when == "failure":
        return {**shown, "error": stop.error, "cause": stop.cause}
    return {**shown, "data": stop.data}


def _actions(strand: Strand, stop: Stop) -> list[str]:
    """Return those of `ACTIONS` that are possible at a stop."""
    scope = strand.scopes[-1]
    if stop.when == "after":
        return ["next", "continue", "change"]
    if stop.when == "before":
        step = scope.steps.steps[scope.position]
        return ["next", "continue", "change", *(["skip"] if step.can_be_skipped else [])]
    entry = scope.entry
    is_task = entry is not None and isinstance(entry.step, Task) and entry.phase is Phase.TROUBLED
    can_be_skipped = entry is not None and entry.step.can_be_skipped
    return ["next", "continue", *(["retry"] if is_task else []), *(["skip"] if can_be_skipped else [])]


def _chosen_stop(run: Execution, strand: int | None) -> Stop:
    stops = run.watch.stops if run.watch is not None else {}
    if not stops:
        raise invalid("the execution has not stopped anywhere")
    if strand is None:
        return next(iter(stops.values()))
    if strand not in stops:
        raise invalid(f"nothing has stopped in strand {strand}; it has in {', '.join(map(str, stops))}")
    return stops[strand]


def _detach(run: Execution) -> None:
    watch = run.watch
    if watch is None:
        return
    watch.breakpoints, watch.stepping = (), False
    for stop in list(watch.stops.values()):
        _let_go(run, watch, stop)


def _let_go(run: Execution, watch: Watch, stop: Stop) -> None:
    watch.release(stop)
    run.state.unpark(run.state.strands[stop.strand])


def _act(run: Execution, stop: Stop, action: str, data: Any, *, everywhere: bool) -> Events:
    watch, state = run.watch, run.state
    assert watch is not None
    strand = state.strands[stop.strand]
    if action not in _actions(strand, stop):
        raise invalid(f"at this stop there are {', '.join(_actions(strand, stop))}, not {action}")
    if action in {"retry", "skip"}:
        recorded = _recorded(run, strand, stop, action, data)
        watch.release(stop)
        watch.passed.pop(stop.strand, None)
        watch.changes.pop(stop.strand, None)
        return recorded
    if data is not None:
        if stop.when == "failure":
            raise invalid("a failure has no data to change; retry and skip take data")
        watch.change(stop, data)
    elif action == "change":
        raise invalid("data is missing")
    if action != "change":
        watch.stepping = action == "next"
        for each in list(watch.stops.values()) if everywhere and action == "continue" else [watch.stops[stop.strand]]:
            _let_go(run, watch, each)
    return ()


def _recorded(run: Execution, strand: Strand, stop: Stop, action: str, data: Any) -> Events:
    """Return the events of one more attempt, or of leaving the step out.

    Raises: InvalidArgument when the language cannot make them.
    """
    facts, state = run.facts, run.state
    scope = strand.scopes[-1]
    program = facts.program
    try:
        if action == "retry":
            assert scope.entry is not None
            first, *rest = program.again(facts, state, strand, scope.entry)
            return (first if data is None else with_data(first, data), *rest)
        if scope.entry is not None:
            return (program.skipped(facts, strand, scope.entry.step, state.last + 1, data),)
        entered = program.decide(facts, state, strand)
        if isinstance(entered, Park) or entered[0].step != stop.step:
            raise invalid("the step cannot be entered")
        step = scope.steps.steps[scope.position]
        left = program.skipped(facts, strand, step, state.last + 2, data)
        left.scheduled = entered[0].id
        return (entered[0], left)
    except (TooMuchData, ValueError) as problem:
        raise invalid(f"the step cannot be tried again or left out: {problem}") from problem
