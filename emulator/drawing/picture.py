"""A picture of a flow or of one of its executions: from a definition to SVG, written here, or to Mermaid text.

SVG has text, lines and shapes only, no scripts, no fonts or pictures from elsewhere. Colours have a contrast of at
least 4.5 to 1 on their ground, and none is the only sign of anything: a state also stands in words, an error's way is
dashed, each kind of step has a shape and its name.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, assert_never
from xml.sax.saxutils import escape, quoteattr

from emulator.drawing import mermaid
from emulator.drawing.execution_tree import Execution
from emulator.drawing.layout import SMALL, TITLE, Box, Drawing, Frame, Rect, Route, Tag, draw
from emulator.drawing.looks import look
from emulator.drawing.model import build, steps_of, with_badges
from emulator.drawing.routing import Point
from emulator.drawing.states import COLOURS, Passage, State, StepState, badges, states, taken
from emulator.drawing.text_width import LINE_HEIGHT, text_width
from emulator.drawing.words import Say, retry_rules, spoken
from emulator.kernel.frozen import frozen
from emulator.services.workflow.languages.programs import read_program

Form = Literal["svg", "mermaid"]

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'PingFang SC', 'Microsoft YaHei', sans-serif"

_EDGE = 24.0
_INK, _QUIET, _LINE, _ERROR = "#0f172a", "#475569", "#475569", "#b91c1c"
_ROUND = 7.0
"""Radius of the corners of edges."""


@frozen
class Run:
    """An execution in a picture: the states of the steps by name, and the ways taken."""

    states: Mapping[str, StepState]
    taken: frozenset[Passage]


def picture(definition: str, title: str, execution: Execution | None, form: Form, say: Say = str) -> str:
    """Return the text of a picture of a flow; with *execution*, steps have the colours of their states.

    Words are translated by *say*.

    Raises: DefinitionError.
    """
    model = spoken(build(read_program(definition)), say)
    run, notes = None, {}
    if execution is not None:
        state_of = states(execution, [node.name for node in steps_of(model)])
        run = Run(states=state_of, taken=taken(execution))
        notes = {name: state.note(say) for name, state in state_of.items()}
        model = with_badges(model, badges(state_of, steps_of(model), say))
    if form == "mermaid":
        return mermaid.render(model, title, run.states if run is not None else None, say)
    return render_svg(draw(model, notes, say), title, run, say)


def render_svg(drawing: Drawing, title: str, run: Run | None = None, say: Say = str) -> str:
    """Return *drawing* under a heading; with *run* steps have the colours of an execution, explained by a legend."""
    states = run.states if run is not None else None
    legend = list(_legend(states, say)) if states is not None else []
    head = _EDGE + TITLE * 2 + (30.0 if legend else 0.0)
    legend_width = sum(text_width(say(state), SMALL) + 40 for state in _present(states or {}))
    width = max(drawing.width, text_width(title, TITLE + 2, bold=True), legend_width) + 2 * _EDGE
    height = drawing.height + head + _EDGE
    left = (width - drawing.width) / 2
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" role="img" aria-label={quoteattr(_clean(title))} '
        f'font-family="{FONT}" font-size="{_n(SMALL)}" fill="{_INK}">',
        f"<title>{_text(title)}</title>",
        f"<defs>{_marker('arrow', _LINE)}{_marker('arrow-error', _ERROR)}</defs>",
        f'<rect width="{_n(width)}" height="{_n(height)}" fill="#ffffff"/>',
        f'<text x="{_n(_EDGE)}" y="{_n(_EDGE + TITLE)}" font-size="{_n(TITLE + 2)}" font-weight="600">'
        f"{_text(title)}</text>",
        *legend,
        f'<g transform="translate({_n(left)} {_n(head)})">',
    ]
    firsts = _first_steps(drawing)
    holders = [box for box in drawing.boxes if box.node.scopes]
    lines += [line for box in holders for line in _box(box, states, say)]
    lines += [_frame(frame) for frame in drawing.frames]
    lines += [_route(each, _is_taken(each, firsts, run)) for each in drawing.routes]
    lines += [line for tag in drawing.tags for line in _tag(tag)]
    lines += [line for box in drawing.boxes if not box.node.scopes for line in _box(box, states, say)]
    return "\n".join([*lines, "</g>", "</svg>", ""])


def _box(box: Box, states: Mapping[str, StepState] | None, say: Say) -> Iterator[str]:
    node, rect = box.node, box.rect
    if node.kind in {"start", "end"}:
        if rect.height:
            yield from _scope_end(box)
        return
    state = states.get(node.name) if states is not None else None
    fill, stroke = COLOURS[state.state] if state is not None else ("#ffffff", look(node.kind).colour)
    data = f' data-state="{state.state}"' if state is not None else ""
    yield f'<g class="step" data-step={quoteattr(node.name)} data-kind="{node.kind}"{data}>'
    words = [node.name, say(node.kind), node.about, retry_rules(node, say)]
    words += [box.note, state.error if state is not None else ""]
    yield f"<title>{_text(chr(10).join(part for part in words if part))}</title>"
    yield _shape(box, fill, stroke, is_dashed=state is not None and not state.entered)
    yield from _words(box, say)
    if node.retry:
        yield from _badge(node.retry, rect)
    yield "</g>"


def _shape(box: Box, fill: str, stroke: str, *, is_dashed: bool) -> str:
    rect = box.rect
    dash = ' stroke-dasharray="5 4"' if is_dashed else ""
    style = f'stroke="{stroke}" stroke-width="1.5"{dash}'
    x, y, w, h = rect.x, rect.y, rect.width, rect.height
    round_ends = min(h / 2, 20.0)
    outline = "frame" if box.node.scopes else look(box.node.kind).outline
    match outline:
        case "frame":
            # The frame has the class ``shape``; the head is only a band in it.
            band = f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(box.head)}" rx="6" fill="{fill}"/>'
            line = f'<path d="M{_n(x)} {_n(y + box.head)}h{_n(w)}" stroke="{stroke}" stroke-width="1"/>'
            return f'{band}{line}<rect class="shape" {_place(rect)} rx="6" fill="none" {style}/>'
        case "diamond":
            p = 14.0
            corners = f"{_n(x)},{_n(y + h / 2)} {_n(x + p)},{_n(y)} {_n(x + w - p)},{_n(y)} "
            corners += f"{_n(x + w)},{_n(y + h / 2)} {_n(x + w - p)},{_n(y + h)} {_n(x + p)},{_n(y + h)}"
            return f'<polygon class="shape" points="{corners}" fill="{fill}" {style}/>'
        case "barred":
            bar = f'<rect x="{_n(x)}" y="{_n(y + 6)}" width="4" height="{_n(h - 12)}" fill="{stroke}"/>'
            return _rounded(rect, 6.0, fill, style) + bar
        case "square":
            return _rounded(rect, 0.0, fill, style)
        case "round" | "dot":
            return _rounded(rect, round_ends, fill, style)
        case "double":
            inner = Rect(x=x + 3, y=y + 3, width=w - 6, height=h - 6)
            second = f'<rect {_place(inner)} rx="{_n(max(round_ends - 3, 0))}" fill="none" stroke="{stroke}"/>'
            return _rounded(rect, round_ends, fill, style) + second
        case _:
            assert_never(outline)


def _rounded(rect: Rect, radius: float, fill: str, style: str) -> str:
    return f'<rect class="shape" {_place(rect)} rx="{_n(radius)}" fill="{fill}" {style}/>'


def _words(box: Box, say: Say) -> Iterator[str]:
    rect = box.rect
    middle = rect.x + rect.width / 2
    y = rect.y + 9 + SMALL * LINE_HEIGHT * 0.75
    accent = look(box.node.kind).colour
    yield _line(middle, y, say(box.node.kind), f'fill="{accent}" font-size="{_n(SMALL - 1)}"')
    y += TITLE * LINE_HEIGHT
    for line in box.title:
        yield _line(middle, y, line, f'font-size="{_n(TITLE)}" font-weight="600"')
        y += TITLE * LINE_HEIGHT
    y -= (TITLE - SMALL) * LINE_HEIGHT
    for line in box.about:
        yield _line(middle, y, line, f'fill="{_QUIET}"')
        y += SMALL * LINE_HEIGHT
    if box.note:
        yield _line(middle, y, box.note, 'font-weight="600"')


def _badge(text: str, rect: Rect) -> Iterator[str]:
    width = text_width(text, SMALL - 1, bold=True) + 12
    place = Rect(x=rect.x - 8, y=rect.y - 9, width=width, height=17)
    yield f'<rect class="badge" {_place(place)} rx="8.5" fill="#334155"/>'
    style = f'fill="#ffffff" font-weight="600" font-size="{_n(SMALL - 1)}"'
    yield _line(place.x + width / 2, place.y + 12, text, style)


def _scope_end(box: Box) -> Iterator[str]:
    rect = box.rect
    if box.title:
        yield f'<g class="{box.node.kind}"><rect {_place(rect)} rx="{_n(rect.height / 2)}" fill="{_INK}"/>'
        style = f'fill="#ffffff" font-weight="600" font-size="{_n(TITLE)}"'
        yield _line(rect.x + rect.width / 2, rect.y + rect.height / 2 + 4.5, box.title[0], style) + "</g>"
    elif rect.width == rect.height:
        radius = rect.width / 2
        yield f'<circle cx="{_n(rect.x + radius)}" cy="{_n(rect.y + radius)}" r="{_n(radius)}" fill="{_INK}"/>'


def _frame(frame: Frame) -> str:
    words = f'<text x="{_n(frame.rect.x + 8)}" y="{_n(frame.rect.y + 14)}" fill="{_QUIET}">{_text(frame.label)}</text>'
    return f'<rect {_place(frame.rect)} rx="4" fill="none" stroke="#64748b" stroke-dasharray="2 3"/>{words}'


def _tag(tag: Tag) -> Iterator[str]:
    rect = tag.rect
    colour = _ERROR if tag.caught else _INK
    yield f'<g class="label"><title>{_text(tag.text)}</title><rect {_place(rect)} rx="3" fill="#ffffff"/>'
    y = rect.y + 2 + SMALL * LINE_HEIGHT * 0.78
    for line in tag.lines:
        yield _line(rect.x + rect.width / 2, y, line, f'fill="{colour}"')
        y += SMALL * LINE_HEIGHT
    yield "</g>"


def _route(route: Route, is_taken: bool | None) -> str:
    edge = route.edge
    is_error = edge is not None and edge.caught
    colour = _ERROR if is_error else _LINE
    width = {None: 1.5, True: 2.4, False: 1.0}[is_taken]
    extra = ' stroke-dasharray="6 4"' if is_error else ""
    if route.arrow:
        extra += f' marker-end="url(#{"arrow-error" if is_error else "arrow"})"'
    if edge is not None:
        extra += f" data-from={quoteattr(edge.source)} data-to={quoteattr(edge.target)}"
        if is_taken is not None:
            extra += f' data-taken="{str(is_taken).lower()}"'
    return f'<path class="edge" d="{_path(route)}" fill="none" stroke="{colour}" stroke-width="{width}"{extra}/>'


def _path(route: Route) -> str:
    """Return the path with round corners."""
    points = route.points
    parts = [f"M{_n(points[0][0])} {_n(points[0][1])}"]
    for before, (x, y), after in zip(points, points[1:], points[2:], strict=False):
        (ax, ay), (bx, by) = _towards((x, y), before), _towards((x, y), after)
        parts.append(f"L{_n(ax)} {_n(ay)}Q{_n(x)} {_n(y)} {_n(bx)} {_n(by)}")
    return "".join(parts) + f"L{_n(points[-1][0])} {_n(points[-1][1])}"


def _towards(corner: Point, other: Point) -> Point:
    """Return the point where the rounding of a corner begins on the line to *other*."""
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    length = abs(dx) + abs(dy)
    part = min(_ROUND, length / 2) / length
    return corner[0] + dx * part, corner[1] + dy * part


def _first_steps(drawing: Drawing) -> dict[tuple[str, int], str]:
    """Return the first step of each option, by choice and index; empty for options without steps."""
    return {
        (box.node.name, index): next((node.name for node in steps_of(scope)), "")
        for box in drawing.boxes
        if box.node.kind == "choice"
        for index, scope in enumerate(box.node.scopes)
    }


def _is_taken(route: Route, firsts: Mapping[tuple[str, int], str], run: Run | None) -> bool | None:
    edge = route.edge or route.leads
    if run is None or edge is None:
        return None
    first = firsts[edge.source, edge.option] if edge.option is not None else ""
    return Passage(edge.source, edge.target, edge.caught, first) in run.taken


def _legend(states: Mapping[str, StepState], say: Say) -> Iterator[str]:
    x, y = _EDGE, _EDGE + TITLE * 1.6
    yield '<g class="legend">'
    for state in _present(states):
        fill, stroke = COLOURS[state]
        dash = ' stroke-dasharray="3 2"' if state == "not entered" else ""
        swatch = Rect(x=x, y=y, width=16, height=12)
        style = f'fill="{fill}" stroke="{stroke}" stroke-width="1.5"{dash}'
        yield f'<rect {_place(swatch)} rx="3" data-state="{state}" {style}/>'
        yield f'<text x="{_n(x + 22)}" y="{_n(y + 10)}">{_text(say(state))}</text>'
        x += text_width(say(state), SMALL) + 40
    yield "</g>"


def _present(states: Mapping[str, StepState]) -> list[State]:
    present = {each.state for each in states.values()}
    return [state for state in COLOURS if state in present]


def _marker(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.5L10 5L0 9.5z" fill="{colour}"/></marker>'
    )


def _line(x: float, y: float, text: str, style: str) -> str:
    return f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="middle" {style}>{_text(text)}</text>'


def _place(rect: Rect) -> str:
    return f'x="{_n(rect.x)}" y="{_n(rect.y)}" width="{_n(rect.width)}" height="{_n(rect.height)}"'


def _n(value: float) -> str:
    """Return a number with one decimal at most."""
    return f"{round(value, 1) + 0.0:g}"


def _clean(text: str) -> str:
    """Return *text* without the characters XML cannot hold."""
    return "".join(
        each
        for each in text
        if each in "\t\n\r" or (each >= " " and each not in "\ufffe\uffff" and not "\ud800" <= each <= "\udfff")
    )


def _text(text: str) -> str:
    return escape(_clean(text))
