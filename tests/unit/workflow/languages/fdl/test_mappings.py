"""Mappings build the objects the guide describes."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.services.workflow.languages.fdl.mappings import (
    Mapping,
    apply,
    merge,
    parse_error_source,
    parse_parameter,
    parse_source,
)
from emulator.services.workflow.languages.fdl.paths import Path
from emulator.services.workflow.languages.values import ExpressionError

SCOPE = {
    "input": {"n": 2, "both": "input", "obj": {"k": [1]}},
    "local": {"x": 1, "both": "local"},
    "context": {"task": {"token": "T"}},
}


def mapped(*entries, scope=SCOPE):
    """Apply mappings given as (target, source) pairs."""
    return apply(tuple(Mapping(target=target, source=parse_source(source)) for target, source in entries), scope)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("$input", SCOPE["input"]),
        ("$local", SCOPE["local"]),
        ("$context", SCOPE["context"]),
        ("$input.n", 2),
        ("$input['n']", 2),
        ("$local.x", 1),
        ("$context.task.token", "T"),
        ("$input.obj.k[0]", 1),
        ("hello", "hello"),
        ("", ""),
        ("$inputs.n", "$inputs.n"),
        ("$input-n", "$input-n"),
        ("$input\n", "$input\n"),
        (" $input.n", " $input.n"),
        ("$output.n", "$output.n"),
        ("$$", "$$"),
        ("$5", "$5"),
        ("$.50 off", "$.50 off"),
        ("$", {"n": 2, "both": "local", "obj": {"k": [1]}, "x": 1}),
        ("$.n", 2),
        ("$.x", 1),
        ("$.both", "local"),
        ("$['obj'].k", [1]),
        (0, 0),
        (1.5, 1.5),
        (True, True),
        (None, None),
        (["A", "$input.n"], ["A", "$input.n"]),
        ({"a": "$local.x"}, {"a": "$local.x"}),
    ],
)
def test_a_source_is_a_path_or_a_constant(source, expected):
    """Only text that starts with one of the roots is looked up; all else stays what it is, type included."""
    built = mapped(("t", source))

    assert built == {"t": expected}
    assert type(built["t"]) is type(expected)


@pytest.mark.parametrize("source", ["$input.", "$local[", "$context.a b", "$input.x y"])
def test_text_that_starts_like_a_path_must_be_one(source):
    """A broken path on a mapping root is refused instead of passing for a constant."""
    with pytest.raises(ExpressionError):
        parse_source(source)


@pytest.mark.parametrize("source", ["$input.maxKeys", "$local.a.b", "$.nothing", "$context.nothing"])
def test_a_path_that_matches_nothing_leaves_its_target_out(source):
    """The target is absent, not null, and earlier targets stay."""
    assert mapped(("kept", 1), ("gone", source)) == {"kept": 1}


def test_null_is_something():
    """A key whose value is null is mapped as null."""
    assert mapped(("t", "$input.x"), scope={"input": {"x": None}}) == {"t": None}


def test_a_collecting_path_is_never_left_out():
    """A wildcard that matches nothing gives the empty array."""
    assert mapped(("t", "$local[*].x"), scope={"input": {}, "local": []}) == {"t": []}


def test_no_mappings_give_the_empty_object():
    """An empty list of mappings passes nothing on."""
    assert apply((), SCOPE) == {}


def test_later_entries_replace_earlier_ones():
    """Entries work in order."""
    assert mapped(("t", 1), ("u", 2), ("t", 3)) == {"t": 3, "u": 2}


def test_dotted_targets_open_nested_objects():
    """A dot goes one object deeper; values that are no objects give way."""
    assert mapped(("a.b.c", 1), ("a.b.d", 2), ("a.e", 3)) == {"a": {"b": {"c": 1, "d": 2}, "e": 3}}
    assert mapped(("a", 1), ("a.b", 2)) == {"a": {"b": 2}}
    assert mapped(("a.b", 2), ("a", 1)) == {"a": 1}


def test_a_dotted_target_does_not_write_into_the_source():
    """An object taken over from the input stays as it is there when a later entry adds to it."""
    scope = copy.deepcopy(SCOPE)

    built = mapped(("o", "$input.obj"), ("o.extra", 1), ("o.k2.deep", 2), scope=scope)

    assert built == {"o": {"k": [1], "extra": 1, "k2": {"deep": 2}}}
    assert scope == SCOPE


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("$local.error", "E"),
        ("$local.code", "E"),
        ("$local['cause']", "C"),
        ("$input.n", 2),
        ("$.error", "E"),
        ("$.n", 2),
        ("constant", "constant"),
    ],
)
def test_error_mappings_read_error_and_cause(source, expected):
    """The caught error is in the step's local; ``code`` is another name of ``error``."""
    scope = {"input": {"n": 2}, "local": {"error": "E", "cause": "C"}, "context": {}}

    assert apply((Mapping(target="t", source=parse_error_source(source)),), scope) == {"t": expected}


@pytest.mark.parametrize("source", ["$local", "$local.x", "$local[0]", "$local[*]"])
def test_error_mappings_know_no_other_local(source):
    """Anything else of the local is refused when the definition is read."""
    with pytest.raises(ExpressionError):
        parse_error_source(source)


@pytest.mark.parametrize(
    ("value", "is_path"),
    [
        ("$", True),
        ("$.a.b[0]", True),
        ("$['a b']", True),
        ("$input.a", False),
        ("$.", False),
        ("$.a b", False),
        ("a$.b", False),
        (5, False),
        ({"a": "$"}, False),
    ],
)
def test_service_parameters_are_paths_on_the_input_or_constants(value, is_path):
    """``$`` and ``$.x`` are paths, anything else is a constant."""
    parsed = parse_parameter(value)

    assert isinstance(parsed, Path) == is_path
    assert is_path or parsed == value


def test_worked_example_of_scopes():
    """Two pass steps and the flow's output: input mappings read the parent's data, output mappings the step's own."""
    flow_input: dict = {"n": 2}

    a_output = mapped(("x", 1), scope={"input": merge(flow_input, {}), "local": {}})
    local = merge({}, a_output)
    b_input = mapped(("y", "$local.x"), scope={"input": flow_input, "local": local})
    b_output = mapped(("z", "$input.y"), scope={"input": b_input, "local": {}})
    local = merge(local, b_output)
    output = mapped(("n", "$input.n"), ("all", "$local"), scope={"input": flow_input, "local": local})

    assert (a_output, b_input, b_output) == ({"x": 1}, {"y": 1}, {"z": 1})
    assert output == {"n": 2, "all": {"x": 1, "z": 1}}


OBJECTS = st.dictionaries(st.sampled_from("abcd"), st.one_of(st.integers(), st.lists(st.integers(), max_size=2)))


@given(OBJECTS, OBJECTS, OBJECTS)
def test_merging_is_shallow_associative_and_prefers_the_later(one, two, three):
    """Keys of the later object win whole; grouping does not matter; the arguments stay as they are."""
    before = copy.deepcopy((one, two))

    merged = merge(one, two)

    assert merged.keys() == one.keys() | two.keys()
    assert all(merged[key] == two.get(key, one.get(key)) for key in merged)
    assert merge(merged, three) == merge(one, merge(two, three))
    assert (one, two) == before
    assert merge(one, [1]) == one


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "a.b", "a.c", "a.b.c"]),
            st.one_of(st.integers(), st.sampled_from(["$input", "$local.a", "$input.b", "$", "$local[*]", "x"])),
        )
    ),
    OBJECTS,
    OBJECTS,
)
def test_mapping_never_changes_its_scope(entries, step_input, local):
    """Whatever the mappings, the scope is left alone and the result is JSON with keys of the targets only."""
    scope = {"input": step_input, "local": local}
    before = json.dumps(scope)

    built = mapped(*entries, scope=scope)

    assert json.dumps(scope) == before
    assert built.keys() <= {target.split(".")[0] for target, _ in entries}
    assert json.loads(json.dumps(built)) == built
