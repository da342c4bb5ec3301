"""The functions of templates that need nothing but their arguments."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.deploy.value_functions import REFUSALS, VALUE_FUNCTIONS
from tests.unit.deploy.anything import values_of

MAPS = [{"a": 1, "c": 3}, {"a": 2, "b": 5}, {"b": 6}]
BUILD = {"parameters": [{"name": "x", "type": "s"}, {"name": "y"}], "id": 7}


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [
        ("Join", ["-", ["a", 1, True]], "a-1-true"),
        ("Str", 5, "5"),
        ("Replace", [{"<a>": "x", "<b>": 2}, "<a>-<b>-<a>"], "x-2-x"),
        ("Replace", [{"<s>": "app", "<arn>": "f-<s>"}, "<arn>/<s>"], "f-app/app"),
        ("Replace", [{"<a>": "<b>", "<b>": "<a>"}, "<a>"], "<a>"),
        ("GetJsonValue", ["k", '{"k": "v"}'], "v"),
        ("GetJsonValue", ["k", {"k": [1]}], [1]),
        ("Index", ["b", ["a", "b"]], 1),
        ("Indent", ["a\nb\n\nc", 1], "  a\n  b\n\n  c"),
        ("Indent", ["a", 2, 4], "        a"),
        ("MergeMapToList", [{"a": [1, 2]}, {"b": [3]}], [{"a": 1, "b": 3}, {"a": 2, "b": 3}]),
        ("SelectMapList", ["b", MAPS], [5, 6]),
        ("Avg", [1, [1, 2, "6.0"]], 3.0),
        ("Add", [1, 2, 3.5], 6.5),
        ("Add", ["1", 2], 3),
        ("Add", [["a"], ["b"]], ["a", "b"]),
        ("Max", [1, 4, 2], 4),
        ("Min", [1, "0.5"], 0.5),
        ("Calculate", ["(2+3)/2*3-1", 1], 5),
        ("Calculate", ["(2.0+3)/2*3-1", 1], 6.5),
        ("Calculate", ["({1}+3)/2*3-1", 1, [3, 5, 6]], 11),
        ("Calculate", ["({0}+{1})%3", 0, [5, 6]], 2),
        ("Calculate", ["-(1)", 0], -1),
        ("Contains", [["a", "b"], "b"], True),
        ("EachMemberIn", [["a"], ["a", "b"]], True),
        ("EachMemberIn", [["a", "c"], ["a", "b"]], False),
        ("MatchPattern", ["[a-z]+", "adb"], True),
        ("MatchPattern", ["[a-z]+", "12b"], False),
        ("Cidr", ["10.0.0.0/16", 2, 8], ["10.0.0.0/24", "10.0.1.0/24"]),
        ("Jq", ["First", ".test", '{"test": "t"}'], "t"),
        ("Jq", ["First", ".gone", {}], None),
        ("Jq", ["All", ".parameters[].name", BUILD], ["x", "y"]),
        ("Jq", ["First", ".parameters[1]", BUILD], {"name": "y"}),
        ("Jq", ["All", '.parameters[] | {"n": .name}', BUILD], [{"n": "x"}, {"n": "y"}]),
        ("Jq", ["First", ".parameters[] | {name, type}", BUILD], {"name": "x", "type": "s"}),
        ("Jq", ["First", "[.parameters[].name]", BUILD], ["x", "y"]),
        ("Jq", ["First", '."id"', BUILD], 7),
        ("Jq", ["First", ".", 1], 1),
    ],
)  # fmt: skip
def test_function_has_its_documented_value(name, argument, value):
    """Examples of the vendor's pages, and what they leave open."""
    assert VALUE_FUNCTIONS[f"Fn::{name}"](argument) == value


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("GetJsonValue", ["k", "nonsense"]),
        ("GetJsonValue", ["k", "{}"]),
        ("Index", ["c", ["a"]]),
        ("Indent", ["a", 21]),
        ("Avg", [1, []]),
        ("Calculate", ["1/0", 0]),
        ("Calculate", ["__import__('os')", 0]),
        ("Calculate", ["2**9", 0]),
        ("Calculate", ["{3}", 0, [1]]),
        ("MatchPattern", ["(", "a"]),
        ("MatchPattern", {"Patterns": ["a"], "Value": "a"}),
        ("MergeMapToList", [{"a": 1}]),
        ("Jq", ["Some", ".", {}]),
        ("Jq", ["First", "map(.x)", {}]),
        ("Cidr", ["10.0.0.0/30", 2, 8]),
        ("Replace", ["a", "b"]),
    ],
)
def test_arguments_without_sense_are_refused(name, argument):
    """With one of three errors, which become problems of the file."""
    with pytest.raises(REFUSALS):
        VALUE_FUNCTIONS[f"Fn::{name}"](argument)


@given(st.sampled_from(sorted(VALUE_FUNCTIONS)), values_of(st.text('.[]{}|"ab0 <>-+*/%', max_size=12)))
def test_any_argument_has_a_value_or_is_refused(name, argument):
    """Nothing else than a caller expects is raised, whatever a template says."""
    value = None
    with contextlib.suppress(*REFUSALS):
        value = VALUE_FUNCTIONS[name](argument)

    assert isinstance(value, str | int | float | list | dict | None)
