"""An HTML page of the coverage of flows by cases: the graph in colours, and the missing parts in words."""

from collections import Counter
from collections.abc import Iterable, Iterator
from html import escape

from emulator.drawing.layout import draw
from emulator.drawing.model import END, START, build, steps_of
from emulator.drawing.picture import Run, render_svg
from emulator.drawing.states import Passage, StepState
from emulator.services.workflow.engine.model import Definition, StepList, all_steps
from emulator.services.workflow.rehearsal.coverage import KINDS, Coverage, Item, item_of

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem;color:#0f172a;background:#fff}"
    "table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #cbd5e1}"
    ".missing{color:#b91c1c}svg{max-width:100%;height:auto}"
)


def page(title: str, flows: Iterable[tuple[str, Definition, Coverage]]) -> str:
    """Return an HTML page about flows: the name of each, its definition and its coverage."""
    parts = [part for name, program, coverage in flows for part in _flow(name, program, coverage)]
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
    return "\n".join([f"{head}<style>{_STYLE}</style>", f"<h1>{escape(title)}</h1>", *parts, "</html>", ""])


def picture_of(name: str, program: Definition, coverage: Coverage) -> str:
    """Return the graph of a flow as SVG; steps and ways that no case has taken are pale."""
    model = build(program)
    entered = Counter[str]()
    for step in all_steps(program.steps):
        entered[step.name] += coverage.taken[Item("step", coverage.places[id(step)][0], "")]
    states = {
        node.name: StepState(state="succeeded", entered=entered[node.name]) if entered[node.name] else StepState()
        for node in steps_of(model)
    }
    notes = {step: f"{state.entered}x" if state.entered else "not entered" for step, state in states.items()}
    run = Run(states=states, taken=frozenset(_passages(program.steps, coverage)))
    return render_svg(draw(model, notes, str), name, run)


def _passages(steps: StepList, coverage: Coverage) -> Iterator[Passage]:
    for position, step in enumerate(steps.steps):
        name = coverage.places[id(step)][0]
        if position == steps.start and coverage.taken[Item("step", name, "")]:
            yield Passage(START, step.name)
        parts = step.parts()
        for way in step.ways(steps, position):
            if coverage.taken[item_of(name, way)]:
                inner = parts[way.option][1].steps if parts and way.option is not None else ()
                first = inner[0].name if inner else ""
                yield Passage(step.name, END if way.target is None else way.target, way.caught is not None, first)
        for _, part in parts:
            yield from _passages(part, coverage)


def _flow(name: str, program: Definition, coverage: Coverage) -> Iterator[str]:
    yield f"<h2>{escape(name)}: {coverage.percentage:.0f} %</h2>"
    yield "<table><tr><th>kind<th>taken<th>of</tr>"
    for kind in KINDS:
        taken, there = coverage.counts(kind)
        if there:
            yield f"<tr><td>{kind}<td>{taken}<td>{there}</tr>"
    yield "</table>"
    missing = coverage.missing()
    if missing:
        yield '<h3>not taken</h3><ul class="missing">'
        yield from (f"<li>{item.kind}: {escape(item.text)}</li>" for item in missing)
        yield "</ul>"
    yield picture_of(name, program, coverage)
