"""What the admin API answers to whatever it is sent: every operation, by the description that the emulator gives."""

import http.client
import json
from typing import NamedTuple
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.testing import Emulator

pytestmark = pytest.mark.sdk

LEFT_OUT = {"/_localyun/stop"}
"""Ends the emulator."""

NAMES = [
    "q",
    "t",
    "f",
    "x",
    "run",
    "svc/fn",
    "1s",
    "9999999999999d",
    "..",
    "\0",
    "a\ud800",
    "é" * 300,
    "repeat",
    "before",
]
MEMBERS = ["execution", "queue", "visible", "error", "status", "delay", "function", "return", "body", "when", "step"]

FLOW = "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: a\n"

HALF = "a\ud800"
"""Half of a surrogate pair: JSON can say it, no database and no file name can hold it."""

WRONG = {
    "string": [HALF, 1, True, [], {}],
    "integer": [-1, 2**64, 10**400, 1.5, float("inf"), "x", True, [], {}],
    "number": [10**400, float("inf"), float("nan"), "x", True, [], {}],
    "boolean": [0, 1, "x", [], {}],
    "object": [{"a": HALF}, {HALF: 1}, {"a": [1, float("inf")]}, 1, "x", True, []],
    "array": [[HALF], [{"a": HALF}], [float("nan")], 1, "x", True, {}],
}
"""Values that no parameter of a type may have."""

RIGHT = {"string": "x", "integer": 1, "number": 1, "boolean": False, "object": {}, "array": []}


class Described(NamedTuple):
    """An operation: the schemas of its parameters by place and name, and the names of those it needs."""

    method: str
    route: str
    places: dict
    needed: set


@pytest.fixture(scope="module")
def kit():
    """An emulator with something to find."""
    with Emulator() as started:
        started.queue("q").send("hello")
        started.topic("t")
        started.flow("f", FLOW).start({})
        yield started


@pytest.fixture(scope="module")
def operations(kit):
    """What the emulator says it serves."""
    with urlopen(f"{kit.endpoint}/_localyun/openapi.json") as answer:
        paths = json.load(answer)["paths"]
    return [
        _described(method, route, about)
        for route, methods in paths.items()
        for method, about in methods.items()
        if route not in LEFT_OUT
    ]


def _described(method, route, about):
    places = {"path": {}, "query": {}, "body": {}}
    needed = set()
    for each in about.get("parameters", ()):
        places[each["in"]][each["name"]] = each["schema"]
        needed |= {each["name"]} if each["required"] else set()
    schema = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    places["body"] = schema.get("properties", {})
    return Described(method.upper(), route, places, needed | set(schema.get("required", ())))


@pytest.fixture(scope="module")
def ask(kit):
    """Send values to an operation by place and name; return status and JSON, None for another form."""
    address = urlsplit(kit.endpoint)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)

    def send(operation, values):
        path = operation.route
        for name, value in values["path"].items():
            path = path.replace("{" + name + "}", _escaped(value) or "x")
        query = "&".join(f"{name}={_escaped(_text(value))}" for name, value in values["query"].items())
        body = json.dumps(values["body"]) if operation.method == "POST" else None
        headers = {"X-Localyun-Token": kit.env["LOCALYUN_TOKEN"], "Content-Type": "application/json"}
        connection.request(operation.method, f"{path}?{query}" if query else path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content) if answer.headers["Content-Type"] == "application/json" else None

    yield send
    connection.close()


def _text(value):
    return value if isinstance(value, str) else json.dumps(value)


def _escaped(text):
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _plain(operation):
    """Values that are all of the right type, where some are needed."""
    return {
        place: {name: RIGHT[schema["type"]] for name, schema in schemas.items() if name in operation.needed}
        for place, schemas in operation.places.items()
    }


def _is_wrong_text(kind, text):
    """Whether a text, as a query has it, is wrong for a type; a text that says a number is one there."""
    return text == HALF if kind == "string" else not (kind == "boolean" and text in {"0", "1"})


def test_wrong_values_are_refused_by_the_name_of_their_member(operations, ask):
    """For each operation, each parameter and each value that its type forbids: 400, and which one it is."""
    answers = []
    for operation in operations:
        for place, schemas in operation.places.items():
            for name, schema in schemas.items():
                wrong = WRONG[schema["type"]]
                if place != "body":
                    wrong = [_text(each) for each in wrong if _is_wrong_text(schema["type"], _text(each))]
                for value in wrong:
                    values = _plain(operation)
                    values[place][name] = value
                    status, answer = ask(operation, values)
                    named = status == 400 and answer["Code"] == "InvalidArgument" and name in answer["Message"]
                    answers.append((operation.method, operation.route, place, name, value, named, status, answer))

    assert len(answers) > 400
    assert [each for each in answers if not each[5]] == []


TEXTS = st.sampled_from(NAMES) | st.text(st.characters(), max_size=20)
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.sampled_from([2**63, -(2**63) - 1, 10**30])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS) | TEXTS, inner, max_size=3),
    max_leaves=8,
)
BY_TYPE = {
    "string": TEXTS,
    "integer": st.integers(0, 2**53) | st.integers(),
    "number": st.floats() | st.integers(),
    "boolean": st.booleans(),
    "object": st.dictionaries(st.sampled_from(MEMBERS), VALUES, max_size=3),
    "array": st.lists(VALUES, max_size=3),
}


@st.composite
def values_of(draw, operation):
    """Values for an operation, most of them of the right type, some left out."""
    values = {}
    for place, schemas in operation.places.items():
        values[place] = {
            name: draw(TEXTS if place == "path" else BY_TYPE[schema["type"]] | VALUES)
            for name, schema in schemas.items()
            if place == "path" or (name in operation.needed) != (draw(st.integers(0, 9)) == 0)
        }
    values["query"].pop("follow", None)  # an answer without end
    return values


def test_no_value_whatever_fails_inside(operations, ask):
    """Served, or refused with code and message as JSON; never an internal error, never a number that is none."""
    seen = set()

    @settings(max_examples=8, deadline=None)
    @given(st.data())
    def call(operation, data):
        values = data.draw(values_of(operation))
        status, answer = ask(operation, values)
        seen.add((operation.method, operation.route))
        assert status in {200, 400, 404, 409, 413}, (operation, values, answer)
        if status != 200:
            assert answer is not None, (operation, values)
            assert {"Code", "Message"} <= answer.keys(), (operation, values, answer)

    for each in operations:
        call(each)

    assert len(seen) == len(operations)
