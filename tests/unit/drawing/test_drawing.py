"""Where things stand in the picture of a flow: nothing overlaps, every edge begins and ends at its boxes."""

import functools
import json
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.drawing.layout import SMALL, draw
from emulator.drawing.model import build, steps_of, with_badges
from emulator.drawing.picture import render_svg
from emulator.drawing.states import StepState, badges
from emulator.drawing.text_width import text_width
from emulator.services.workflow.languages.programs import read_program as parse_flow

NEAR = 0.6


def a_graph(steps):
    return build(parse_flow(json.dumps({"version": "v1", "type": "flow", "steps": steps})))


def a_task(name, **fields):
    return {"type": "task", "name": name, "resourceArn": f"acs:fc:::services/shop/functions/{name}", **fields}


def caught_by(name, *errors):
    return [{"errors": list(errors or ["FnF.ALL"]), "goto": name}]


POLLING = [
    a_task("StartJob"),
    {"type": "wait", "name": "Wait", "duration": 10},
    a_task("GetJobStatus", retry=[{"errors": ["FC.Unknown"]}]),
    {
        "type": "choice",
        "name": "Check",
        "choices": [
            {"condition": '$.status == "success"', "goto": "Succeeded"},
            {"condition": "$.try_count > 3", "goto": "Failed"},
            {"condition": '$.status == "running"', "goto": "Wait"},
        ],
    },
    {"type": "succeed", "name": "Succeeded"},
    {"type": "fail", "name": "Failed"},
]

TRANSACTION = [
    a_task("Buy", catch=caught_by("Refused", "FC.Unknown")),
    a_task("Fly", catch=caught_by("CancelBuy", "FC.Unknown")),
    a_task("Sleep", catch=caught_by("CancelFly", "FC.Unknown")),
    {"type": "succeed", "name": "Done"},
    a_task("CancelFly"),
    a_task("CancelBuy"),
    {"type": "fail", "name": "Refused", "error": "Order", "cause": "退订失败"},
]

NESTED = [
    {
        "type": "parallel",
        "name": "Both",
        "branches": [
            {"steps": [{"type": "pass", "name": "Left"}]},
            {
                "steps": [
                    {
                        "type": "foreach",
                        "name": "Each",
                        "iterationMapping": {"collection": "$.items", "item": "item"},
                        "steps": [a_task("Pick", catch=caught_by("Pick")), {"type": "pass", "name": "Pack"}],
                    }
                ]
            },
        ],
    },
    {
        "type": "choice",
        "name": "Judge",
        "choices": [
            {"condition": "$.a > 1", "steps": [{"type": "pass", "name": "A"}], "goto": "Both"},
            {"condition": '$.city == "上海浦东国际机场" && $.b < 2', "goto": "Last"},
        ],
        "default": {"steps": [{"type": "fail", "name": "Never"}]},
    },
    {"type": "pass", "name": "Between"},
    {"type": "pass", "name": "Last"},
]

SAGA = [a_task(f"S{n}", catch=caught_by("Handler")) for n in range(60)] + [
    {"type": "succeed", "name": "Ok"},
    {"type": "fail", "name": "Handler"},
]

WIDE = [
    {
        "type": "parallel",
        "name": "Fan",
        "branches": [{"steps": [{"type": "pass", "name": f"P{n}"}]} for n in range(100)],
    },
    {
        "type": "choice",
        "name": "Many",
        "choices": [{"condition": f"$.n == {n}", "goto": f"T{n % 7}"} for n in range(40)],
    },
    *({"type": "pass", "name": f"T{n}"} for n in range(7)),
]

LONG = [a_task("N" * 128), a_task("a_long_name_" * 10, catch=caught_by("N" * 128, *["Error." + "X" * 80] * 3))]

BACK_BELOW = [
    {"type": "choice", "name": "first", "choices": [{"condition": "$.a > 1"}]},
    {"type": "choice", "name": "second", "choices": [{"condition": "$.a > 1", "goto": "task"}]},
    {"type": "pass", "name": "x" * 60, "end": True},
    {"type": "pass", "name": "handler", "end": True},
    {
        "type": "task",
        "name": "task",
        "resourceArn": "acs:fc:::services/s/functions/f",
        "catch": [{"errors": ["A"], "goto": "handler"}],
    },
    {"type": "pass", "name": "last"},
]
"""An error leads back to a step that is drawn in the row below, beside the name of the error."""

FLOWS = {
    "polling": POLLING, "transaction": TRANSACTION, "nested": NESTED, "saga": SAGA, "wide": WIDE, "long": LONG,
    "back below": BACK_BELOW,
}  # fmt: skip


def edges_of(rect):
    return rect.x, rect.y, rect.x + rect.width, rect.y + rect.height


def overlap(first, second):
    ax, ay, bx, by = edges_of(first)
    cx, cy, dx, dy = edges_of(second)
    return min(bx, dx) - max(ax, cx) > NEAR and min(by, dy) - max(ay, cy) > NEAR


def contains(outer, inner):
    ax, ay, bx, by = edges_of(outer)
    cx, cy, dx, dy = edges_of(inner)
    return ax - NEAR <= cx and ay - NEAR <= cy and dx <= bx + NEAR and dy <= by + NEAR


def is_inside(box, other):
    """Whether *box* stands in a scope of *other*."""
    depth = len(other.path)
    return (
        len(box.path) > depth and box.path[:depth] == other.path and box.path[depth].startswith(f"{other.node.name}/")
    )


def on_border(point, rect):
    x, y = point
    left, top, right, bottom = edges_of(rect)
    within = left - NEAR <= x <= right + NEAR and top - NEAR <= y <= bottom + NEAR
    return within and (min(abs(x - left), abs(x - right), abs(y - top), abs(y - bottom)) <= NEAR)


def on_line(point, points):
    x, y = point
    return any(
        min(ax, bx) - NEAR <= x <= max(ax, bx) + NEAR and min(ay, by) - NEAR <= y <= max(ay, by) + NEAR
        for (ax, ay), (bx, by) in pairwise(points)
    )


def runs_through(points, rect):
    """Whether a line has a piece inside *rect*; lines along its border do not count."""
    left, top, right, bottom = edges_of(rect)
    return any(
        min(ax, bx) < right - 1 and max(ax, bx) > left + 1 and min(ay, by) < bottom - 1 and max(ay, by) > top + 1
        for (ax, ay), (bx, by) in pairwise(points)
    )


def assert_sound(graph, drawing):
    steps = [node.name for node in steps_of(graph)]
    boxes = [box for box in drawing.boxes if box.rect.height]
    assert sorted(box.node.name for box in boxes if box.node.kind not in {"start", "end"}) == sorted(steps)
    for box in boxes:
        assert box.rect.x >= -NEAR
        assert box.rect.y >= -NEAR
        assert box.rect.x + box.rect.width <= drawing.width + NEAR
        assert box.rect.y + box.rect.height <= drawing.height + NEAR
    for first, second in combinations(boxes, 2):
        if is_inside(second, first):
            assert contains(first.rect, second.rect), (first.node.name, second.node.name)
        elif not is_inside(first, second):
            assert not overlap(first.rect, second.rect), (first.node.name, second.node.name)
    leaves = [box for box in boxes if not box.node.scopes]
    for tag in drawing.tags:
        for box in leaves:
            # The start of an option is its condition.
            assert box.node.kind == "start" or not overlap(tag.rect, box.rect), (tag.text, box.node.name)
    for first, second in combinations(drawing.tags, 2):
        assert not overlap(first.rect, second.rect), (first.text, second.text)
    assert_edges_sound(drawing, leaves)


def assert_edges_sound(drawing, leaves):
    rects = {(box.path, box.node.name): box.rect for box in drawing.boxes}
    drawn = [route for route in drawing.routes if route.edge is not None]
    for route in drawn:
        edge = route.edge
        assert on_border(route.points[0], rects[route.path, edge.source]), edge
        others = [
            other.points
            for other in drawn
            if other is not route and (other.path, other.edge.target) == (route.path, edge.target)
        ]
        if route.joins:
            assert any(on_line(route.points[-1], points) for points in others), edge
        else:
            assert on_border(route.points[-1], rects[route.path, edge.target]), edge
        for box in leaves:
            assert box.node.kind == "start" or not runs_through(route.points, box.rect), (edge, box.node.name)


@pytest.mark.parametrize("steps", FLOWS.values(), ids=FLOWS.keys())
def test_nothing_overlaps_and_every_edge_ends_at_a_box(steps):
    """Also with backward jumps, shared error handlers, a hundred branches, names of 128 letters."""
    graph = a_graph(steps)

    drawing = draw(graph, {})

    assert_sound(graph, drawing)


@pytest.mark.parametrize("steps", FLOWS.values(), ids=FLOWS.keys())
def test_picture_is_xml_with_every_step_and_every_edge(steps):
    """The text parses; steps and edges carry their names for those who style or test them."""
    graph = a_graph(steps)
    drawing = draw(graph, {})

    root = ElementTree.fromstring(render_svg(drawing, "flow & <name>"))

    shown = [each.get("data-step") for each in root.iter() if each.get("data-step")]
    assert sorted(shown) == sorted(node.name for node in steps_of(graph))
    ways = [(each.get("data-from"), each.get("data-to")) for each in root.iter() if each.get("data-from")]
    assert len(ways) == sum(1 for route in drawing.routes if route.edge is not None)
    assert root.get("aria-label") == "flow & <name>"
    assert not [each for each in root.iter() if each.tag.endswith(("script", "image", "style", "foreignObject"))]


def test_same_flow_gives_the_same_picture():
    """Not a digit changes between two runs, so pictures can be kept under version control."""
    first, second = (render_svg(draw(a_graph(NESTED), {}), "f") for _ in range(2))

    assert first == second


def test_characters_xml_cannot_hold_are_left_out():
    """Whatever a condition or an error holds, the picture stays readable."""
    steps = [{"type": "fail", "name": "F", "error": "a\u0001<b>&\"c'\ud7ff", "cause": "]]>\ufffe"}]

    root = ElementTree.fromstring(render_svg(draw(a_graph(steps), {}), "\u0000"))

    assert any("a<b>" in (each.text or "") for each in root.iter())


@st.composite
def step_lists(draw_from, depth=2):
    """A list of steps with jumps in both directions; names are given later."""
    chosen = draw_from(kinds(depth))
    return [draw_from(steps_of_kind(kind, len(chosen), depth)) for kind in chosen]


@functools.cache  # as below: a strategy that is made anew for each draw takes longer than what is drawn from it
def kinds(depth):
    nested = ["parallel", "foreach"] if depth else []
    known = st.sampled_from(["pass", "task", "wait", "succeed", "fail", "choice", *nested])
    return st.lists(known, min_size=1, max_size=6 if depth == 2 else 3)


@functools.cache
def steps_of_kind(kind, number, depth):
    """A step of a list of *number* steps."""
    jump = st.none() | st.integers(0, number - 1)
    inner = step_lists(depth - 1) if depth else st.none()
    catch = st.lists(st.tuples(st.sampled_from(["A", "Very.Long.Error.Name.Of.Something"]), jump), max_size=2)
    option = st.tuples(st.sampled_from(["$.a > 1", '$.status == "等待支付" || $.c']), jump, st.none() | inner)
    return st.fixed_dictionaries(
        {
            "kind": st.just(kind),
            "name": st.sampled_from(["s", "AStepWithALongName", "x" * 60]),
            "end": st.booleans(),
            "catch": catch if kind == "task" else st.just([]),
            "options": st.lists(option, min_size=1, max_size=4) if kind == "choice" else st.just([]),
            "default": st.none() | st.tuples(jump, st.none() | inner) if kind == "choice" else st.none(),
            "lists": st.lists(inner, min_size=1, max_size=3) if kind in {"parallel", "foreach"} else st.just([]),
        }
    )


class Writer:
    """Turns drawn lists into the steps of a definition; each step gets a name of its own."""

    def __init__(self):
        self.count = 0

    def steps(self, drawn):
        names = []
        for each in drawn:
            self.count += 1
            names.append(f"{each['name']}{self.count}")
        return [self.step(each, name, names) for each, name in zip(drawn, names, strict=True)]

    def step(self, drawn, name, names):
        kind = drawn["kind"]
        step = {"type": kind, "name": name}
        if drawn["end"] and kind not in {"succeed", "fail"}:
            step["end"] = True
        if kind == "task":
            step["resourceArn"] = "acs:fc:::services/s/functions/f"
            jumps = [(error, to) for error, to in drawn["catch"] if to is not None]
            step |= {"catch": [{"errors": [error], "goto": names[to]} for error, to in jumps]} if jumps else {}
        if kind == "wait":
            step["duration"] = 1
        if kind == "choice":
            step["choices"] = [
                {"condition": condition, **self.way(to, inner, names)} for condition, to, inner in drawn["options"]
            ]
            step |= {"default": self.way(*drawn["default"], names)} if drawn["default"] else {}
        if kind == "parallel":
            step["branches"] = [{"steps": self.steps(each)} for each in drawn["lists"]]
        if kind == "foreach":
            step["iterationMapping"] = {"collection": "$.items", "item": "item"}
            step["steps"] = self.steps(drawn["lists"][0])
        return step

    def way(self, to, inner, names):
        way = {} if to is None else {"goto": names[to]}
        return way | ({"steps": self.steps(inner)} if inner else {})


@settings(max_examples=60)
@given(step_lists())
def test_any_flow_is_drawn_without_overlaps(drawn):
    """Whatever the steps, their nesting and their jumps."""
    graph = a_graph(Writer().steps(drawn))

    drawing = draw(graph, {})

    assert_sound(graph, drawing)
    ElementTree.fromstring(render_svg(drawing, "f"))


RETRIED = [
    {
        "type": "task",
        "name": "Book",
        "resourceArn": "acs:fc:::services/s/functions/f",
        "retry": [{"errors": ["Busy"], "intervalSeconds": 1, "maxAttempts": 3, "multiplier": 2}],
    }
]


@pytest.mark.parametrize(
    ("state", "badge"),
    [
        (StepState(state="caught or retried", entered=1, retries=2), "2 of 3 retries"),
        (StepState(state="succeeded", entered=1), "retry 3"),
        (StepState(state="caught or retried", entered=2, retries=4), "retry 3"),
    ],
    ids=["retried", "not retried", "entered twice"],
)
def test_badge_counts_the_retries_that_were_used(state, badge):
    """Of a step that was entered several times the note has the number; the badge ends left of the arrow."""
    graph = a_graph(RETRIED)
    found = {"Book": state}

    drawing = draw(with_badges(graph, badges(found, steps_of(graph))), {"Book": state.note()})

    box = next(each for each in drawing.boxes if each.node.name == "Book")
    assert box.node.retry == badge
    assert text_width(badge, SMALL - 1, bold=True) + 4 < box.rect.width / 2
    assert ("4 retries" in state.note()) is (state.entered == 2)
