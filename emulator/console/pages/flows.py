"""Flows and their executions: definition, history step by step, starting, stopping, reporting, comparing."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from flask import Blueprint, g, render_template, request
from werkzeug.wrappers import Response

from emulator.console.activity import NONE, Activities
from emulator.console.executions import EVENTS_SHOWN, Fold, Look, compared, graph, rows, with_restarts
from emulator.console.forms import FormRefused
from emulator.console.frames import frames
from emulator.console.language import translated
from emulator.console.lists import chosen, wanted
from emulator.console.pages.functions import memory_of, used_too_much
from emulator.console.values import short
from emulator.console.view import PAGE, Row, done, field, marker, nonempty, number, view, whole
from emulator.drawing.model import build, steps_of
from emulator.kernel.paging import Page
from emulator.lab.mocks import Recorded
from emulator.services.workflow.engine.language import TIMER_NAMES, DefinitionError
from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.model import (
    ExecutionFilter,
    ExecutionRecord,
    FlowRecord,
    HistoryEvent,
    HistoryId,
    Status,
)
from emulator.wire import large_json
from emulator.wire.yaml import UnreadableYaml, plain_value, read_nodes

blueprint = Blueprint("flows", __name__, url_prefix="/flows")

_EVENTS = 1_000
"""The most events read in one call, so that the loop is not blocked."""

_ANY = ExecutionFilter()
_COMING = 1_000
_OTHERS = 20
_RERUN = 100
"""The most executions started again at once."""


@blueprint.get("")
def index() -> str:
    """List the flows."""
    limits, known = wanted(), view().activities()

    def keep(row: Row) -> bool:
        last = row["last"]
        return limits.names(row["flow"].name) and (
            not limits.state or (last is not None and last.status == limits.state)
        )

    def read(start: str) -> Page[Row]:
        page = view().call(view().workflow.flows.page, view().tenant, PAGE, start)
        return Page([_listed(each, known) for each in page.items], page.next_marker)

    rows, following = chosen(read, keep, lambda row: str(row["flow"].name))
    return render_template(
        "flows.html", flows=rows, following=following, states=tuple(Status), limited=limits.is_limited
    )


def _listed(flow: FlowRecord, known: Activities) -> Row:
    """Return a flow with its latest execution and the latest that failed."""
    last = next(iter(executions_of(flow.name, 1, "").items), None)
    failed = next(iter(executions_of(flow.name, 1, "", ExecutionFilter(status=Status.FAILED)).items), None)
    return {"flow": flow, "last": last, "failed": failed, "activity": known.get(("flow", flow.name), NONE)}


@blueprint.get("/<name>")
def show(name: str) -> str:
    """Show a flow and its executions."""
    flow = view().call(view().workflow.flows.get, view().tenant, name)
    limits = wanted()
    state = next((each for each in Status if each == limits.state), None)
    criteria = ExecutionFilter(status=state, started_from=limits.since, name_prefix=limits.text)
    return render_template(
        "flow.html",
        flow=flow,
        graph=lambda: graph(flow.definition, None, name, _said),
        executions=lambda: executions_of(name, PAGE, marker(), criteria),
        states=tuple(Status),
        limited=limits.is_limited,
    )


@blueprint.post("/<name>/start")
def start(name: str) -> Response:
    """Start an execution, or one that stops at every step."""
    if "debug" in request.form:
        arguments = nonempty(input=_object("input"), name=field("name"))
        stopped = view().admin("POST", f"/flows/{quote(name, safe='')}/debug", **arguments)
        return done("flows.execution", name=name, execution=stopped["execution"])
    return _started(name, request.form.get("input", "").strip(), field("name") or None)


@blueprint.get("/<name>/executions/<execution>")
def execution(name: str, execution: str) -> str:
    """Show an execution: graph, steps, waiting tokens and history, at any of its events."""
    look = Look(
        at=number("at") or None, visit=number("step") or 0, opened=number("open") or 0, offset=number("offset") or 0
    )
    record, history = view().call(view().workflow.executions.with_history, view().tenant, name, execution)
    return render_template("execution.html", record=record, execution=_shown(record, history, look), look=look)


@blueprint.get("/<name>/executions/<execution>/frames")
def changes(name: str, execution: str) -> Row:
    """Return the history as changes of the picture, for the slider (`emulator.console.frames`)."""
    view().call(view().workflow.executions.get, view().tenant, name, execution)
    return frames(_history(name, execution), _said)


@blueprint.get("/<name>/executions/<execution>/compare")
def compare(name: str, execution: str) -> str:
    """Show two executions of a flow side by side, from the first event in which they differ."""
    other = request.args.get("with", "").strip()
    others = [each.name for each in executions_of(name, _OTHERS, "").items if each.name != execution]
    sides = []
    for each in (execution, other) if other else ():
        record, history = view().call(view().workflow.executions.with_history, view().tenant, name, each)
        fold = view().folds.upto(history, _reader(name, each), None)
        drawn = graph(record.definition, fold, f"{name} / {short(each)}", _said)
        sides.append((record, drawn))
    pairs = compared(_history(name, execution), _history(name, other)) if other else None
    return render_template(
        "compare.html", flow=name, execution=execution, other=other, others=others, sides=sides, pairs=pairs
    )


@blueprint.post("/<name>/executions/<execution>/stop")
def stop(name: str, execution: str) -> Response:
    """Stop an execution."""
    view().call(view().workflow.executions.stop, view().tenant, name, execution, "", "stopped in the console")
    return done("flows.execution", name=name, execution=execution)


@blueprint.post("/<name>/executions/<execution>/again")
def again(name: str, execution: str) -> Response:
    """Start another execution with the same input."""
    before = view().call(view().workflow.executions.get, view().tenant, name, execution)
    return _started(name, before.input)


@blueprint.post("/<name>/rerun")
def rerun(name: str) -> Response:
    """Start the latest executions that failed again, each with its input."""
    failed = executions_of(name, _RERUN, "", ExecutionFilter(status=Status.FAILED)).items
    for each in reversed(failed):
        view().call(view().workflow.executions.start, view().tenant, name, None, each.input)
    return done("flows.show", name=name)


@blueprint.post("/<name>/executions/<execution>/fork")
def fork(name: str, execution: str) -> Response:
    """Start an execution that shares the history up to an event."""
    arguments = nonempty(event=whole("event", 1, 999_999), input=_object("input"))
    forked = view().admin("POST", f"{_path(name, execution)}/fork", **arguments)
    return done("flows.execution", name=forked["flow"], execution=forked["execution"])


@blueprint.post("/<name>/executions/<execution>/debug")
def debug(name: str, execution: str) -> Response:
    """Add or remove a breakpoint, or continue from a stop."""
    path = f"{_path(name, execution)}/debug"
    action = field("action")
    if action == "break":
        wanted = nonempty(when=field("when"), step=field("step"))
        present = view().admin("GET", path)["breakpoints"]
        view().admin("POST", path, breakpoints=[each for each in present if each != wanted] + [wanted])
    else:
        arguments = nonempty(data=_object("data"))
        strand = whole("strand", 0, 999_999_999)
        view().admin(
            "POST", f"{path}/{quote(action, safe='')}", **arguments, **({} if strand is None else {"strand": strand})
        )
    return done("flows.execution", name=name, execution=execution)


@blueprint.post("/<name>/executions/<execution>/report")
def report(name: str, execution: str) -> Response:
    """Report the end of a task that waits for its token."""
    token, reports = request.form.get("token", ""), view().workflow.reports
    if request.form.get("outcome") == "failed":
        error, cause = request.form.get("error", "") or "Failed", request.form.get("cause", "")
        view().call(reports.failed, view().tenant, token, error, cause)
    else:
        view().call(reports.succeeded, view().tenant, token, request.form.get("output", "") or "{}")
    return done("flows.execution", name=name, execution=execution)


def _started(flow: str, input_text: str, name: str | None = None) -> Response:
    record = view().call(view().workflow.executions.start, view().tenant, flow, name, input_text or "{}")
    return done("flows.execution", name=flow, execution=record.name)


def _path(flow: str, execution: str) -> str:
    """Return the address of an execution in the admin API."""
    return f"/flows/{quote(flow, safe='')}/executions/{quote(execution, safe='')}"


def _object(name: str) -> Row | None:
    """Return the JSON object in a form field, None when it is empty. Raises: FormRefused."""
    text = field(name)
    try:
        value = large_json.loads(text.encode("utf-8", "replace")) if text else None
    except (ValueError, RecursionError):
        value = text
    if value is None or isinstance(value, dict):
        return value
    raise FormRefused("{name} must be a JSON object", name=name)


def executions_of(flow: str, limit: int, start: str, criteria: ExecutionFilter = _ANY) -> Page[ExecutionRecord]:
    """Return executions of a flow, newest first, from one on.

    Raises: WorkflowError.
    """
    return view().call(view().workflow.executions.page, view().tenant, flow, criteria, limit, start)


def _reader(flow: str, name: str) -> Any:
    """Return a function that reads a page of an execution's events from an id on."""

    def read(start: int, *, whole: bool = False, limit: int = _EVENTS) -> list[HistoryEvent]:
        history = view().workflow.executions.history
        return list(view().call(history, view().tenant, flow, name, limit, start, whole=whole).items)

    return read


def _history(flow: str, name: str) -> list[HistoryEvent]:
    read, events = _reader(flow, name), list[HistoryEvent]()
    while page := read(len(events) + 1):
        events += page
    return events


def _shown(record: ExecutionRecord, history: HistoryId, look: Look) -> Row:
    """Return an execution as *look* asks for it: steps, graph, the chosen step, waiting tokens, events.

    Raises: WorkflowError.
    """
    flow, name = record.flow_name, record.name
    read = _reader(flow, name)
    latest = view().folds.upto(history, read, None)
    at = look.at if look.at is not None and 0 < look.at < latest.upto else None
    fold = latest if at is None else view().folds.upto(history, read, at)
    is_open = record.is_open and at is None
    now = view().now() if is_open else fold.at
    last = at or latest.upto
    restarts = view().call(view().workflow.restarts, record.started_at, now)
    events = read(max(1, last - EVENTS_SHOWN + 1), whole=True, limit=EVENTS_SHOWN)
    return {
        "history": history,
        "status": fold.execution.status,
        "input": record.input,
        "output": record.output if at is None else "",
        "error": record.error if at is None else "",
        "cause": record.cause if at is None else "",
        **_failure(fold),
        "at": at,
        "last": latest.upto,
        "has_earlier": last > EVENTS_SHOWN,
        "time": fold.at,
        "restarts": restarts,
        "steps": rows(fold, look, now, restarts),
        "chosen": fold.by_id.get(look.visit),
        "about": _definition_of(record.definition, request.args.get("about", "")),
        "whole_ms": max(1, (fold.execution.ended or now) - record.started_at),
        "calls": _calls(fold, look, flow, name),
        "graph": graph(record.definition, fold, f"{flow} / {short(name)}", _said),
        "events": with_restarts((event for event in reversed(events) if event.id <= last), restarts),
        "next": _next(flow, name) if is_open else [],
        "debugging": view().admin("GET", f"{_path(flow, name)}/debug") if is_open else None,
        "names": sorted({visit.step for visit in fold.by_id.values()} | set(_steps(record.definition))),
        "tokens": view().call(view().workflow.tokens, view().tenant, flow, name) if is_open else [],
    }


def _failure(fold: Fold) -> Row:
    """Return the visit that ended a failed execution, and ``trouble``: the earlier visit that had an error."""
    if fold.execution.status != "Failed":
        return {}
    visits = list(fold.execution.visits())
    failure = next((each for each in reversed(visits) if each.outcome == "failed"), None)
    trouble = next((each for each in reversed(visits) if each.error and each is not failure), None)
    return {"failure": failure, "trouble": None if failure is None or failure.error else trouble}


def _steps(definition: str) -> list[str]:
    """Return the names of the steps of a definition, none of one that cannot be read."""
    try:
        return [each.name for each in steps_of(build(read_program(definition)))]
    except DefinitionError:
        return []


def _definition_of(definition: str, step: str) -> Row | None:
    """Return the definition of a step, None when there is none of that name."""
    try:
        root = read_nodes(definition)
        found = next(_named(plain_value(root), step), None) if step and root is not None else None
    except UnreadableYaml:
        return None
    return None if found is None else {"step": step, "definition": found}


def _named(value: Any, step: str) -> Iterator[Row]:
    """Yield the definitions of steps of that name: members of a list, or of States under its name."""
    if isinstance(value, dict):
        states = value.get("States")
        if isinstance(states, dict) and isinstance(states.get(step), dict):
            yield states[step]
        elif step in (value.get("name"), value.get("Name")):
            yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _named(each, step)


def _next(flow: str, name: str) -> list[Row]:
    coming = view().call(view().workflow.engine_store.upcoming, view().now(), _COMING)
    return [
        {"what": TIMER_NAMES[what], "at": due, "in_ms": due - view().now()}
        for its_flow, its_name, what, due in coming
        if (its_flow, its_name) == (flow, name)
    ]


def _calls(fold: Fold, look: Look, flow: str, name: str) -> list[Row]:
    """Return the function calls made by the chosen step while it was open, as far as they are still in the log."""
    visit = fold.by_id.get(look.visit)
    if visit is None or not visit.resource:
        return []
    until = visit.ended if visit.ended is not None else view().now()
    lines = view().call(view().lab.effects.calls_of, flow, name, visit.step)
    kept = {each.request_id: each for each in view().call(list, view().bench.calls)}
    return [
        _call_row(line.fields, line.at, kept.get(str(line.fields["request"])))
        for line in lines
        if visit.entered <= line.at <= until
    ][-_OTHERS:]


def _call_row(fields: Mapping[str, Any], at: int, kept: Recorded | None) -> Row:
    answer = kept.answer.decode("utf-8", "replace") if kept is not None else ""
    return {
        "function": str(fields["function"]),
        "request_id": str(fields["request"]),
        "state": "succeeded" if fields["result"] == "succeeded" else "failed",
        "start": str(fields.get("start") or ""),
        "ms": round(float(fields.get("ms") or 0)),
        "at": at,
        "log": kept.log.decode("utf-8", "replace") if kept is not None else "",
        "answer": answer,
        "limit_mb": (limit := memory_of(kept.service, kept.function) if kept is not None else 0),
        "used_mb": used_too_much(answer, limit),
    }


def _said(text: str) -> str:
    """Return a word of a picture in the language of the page."""
    return translated(g.language, text)
