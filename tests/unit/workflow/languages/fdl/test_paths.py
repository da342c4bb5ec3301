"""Paths find what stands in the data, and nothing else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.services.workflow.languages.fdl.paths import EVERY, MAPPING_ROOTS, STEP_ROOTS, Path
from emulator.services.workflow.languages.values import MISSING, ExpressionError

DATA = {
    "events": [{"oss": {"object": {"key": "k"}}}, {"oss": None}],
    "a-b": 1,
    "0": "digit",
    "odd key": {"it's": 2, "back\\slash": 3, "": 4},
    "parts": [{"p": [1, 2], "n": "x"}, {"n": "y"}, {"p": []}, {"p": [3]}, 7],
    "yes": True,
    "none": None,
    "map": {"x": 1, "y": 2},
    "empty": [],
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$", DATA),
        ("$.events[0].oss.object.key", "k"),
        ("$.a-b", 1),
        ("$.0", "digit"),
        ("$['odd key']", DATA["odd key"]),
        ('$["odd key"]', DATA["odd key"]),
        (r"$['odd key']['it\'s']", 2),
        ("$['odd key'][\"it's\"]", 2),
        (r"$['odd key']['back\\slash']", 3),
        ("$['odd key']['']", 4),
        ("$.parts[-1]", 7),
        ("$.parts[-2].p[0]", 3),
        ("$.yes", True),
        ("$.none", None),
        ("$.parts[*].n", ["x", "y"]),
        ("$.parts[*].p", [[1, 2], [], [3]]),
        ("$.parts[*].p[*]", [1, 2, 3]),
        ("$.map.*", [1, 2]),
        ("$.map[*]", [1, 2]),
        ("$.parts.*.n", ["x", "y"]),
        ("$.empty[*]", []),
        ("$.nothing[*].x", []),
        ("$.yes[*]", []),
    ],
)
def test_a_path_yields_the_value_with_its_type(text, expected):
    """Every documented form finds its value; a wildcard collects into one flat array."""
    path = Path.parse(text, STEP_ROOTS)

    found = path.find_in(DATA)

    assert found == expected
    assert type(found) is type(expected)
    assert path.collects == ("*" in text)


@pytest.mark.parametrize(
    "text",
    ["$.nothing", "$.nothing.deeper", "$.a-b.c", "$.none.x", "$.parts[9]", "$.parts[-6]", "$.events.oss", "$.map[0]"],
)
def test_a_path_that_matches_nothing_yields_missing(text):
    """Absent keys, indices out of range and steps into the wrong kind of value are all missing, never an error."""
    assert Path.parse(text, STEP_ROOTS).find_in(DATA) is MISSING


def test_roots_choose_the_part_of_the_scope():
    """Each root reads its own document; ``$`` is the step's input."""
    scope = {"input": {"x": 1}, "local": {"x": 2}, "context": {"x": 3}}

    found = [Path.parse(f"{root}.x", (root,)).find(scope) for root in (*STEP_ROOTS, *MAPPING_ROOTS)]

    assert found == [1, 1, 2, 3]


def test_a_root_the_scope_lacks_is_missing():
    """A scope without a context makes paths on it missing."""
    assert Path.parse("$context.task.token").find({"input": {}, "local": {}}) is MISSING


def test_missing_is_false_but_not_null():
    """The sentinel cannot be taken for a JSON value."""
    assert not MISSING
    assert MISSING is not None


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("x", 0),
        ("$output.x", 0),
        ("$.x", 0),
        ("$input2", 0),
        ("$input.", 6),
        ("$input..x", 6),
        ("$input.a b", 8),
        ("$input.ключ", 6),
        ("$input[", 7),
        ("$input[]", 7),
        ("$input[0", 8),
        ("$input['a]", 7),
        ("$input[a]", 7),
        ("$input[1:2]", 8),
        ("$input[?(@.x)]", 7),
        ("$input[12345678901]", 16),
        ("$input.x ", 8),
    ],
)
def test_what_is_no_path_is_refused_with_its_position(text, position):
    """The error points at the character where the path stops being one."""
    with pytest.raises(ExpressionError) as caught:
        Path.parse(text, MAPPING_ROOTS)

    assert caught.value.position == position
    assert str(position + 1) in str(caught.value)


def test_a_path_keeps_its_text_and_equals_its_other_spellings():
    """The definition's spelling stays readable, but does not make two paths different."""
    spelled = Path.parse("$input['a'][\"b\"].*")

    assert spelled.text == "$input['a'][\"b\"].*"
    assert spelled == Path.parse("$input.a.b[*]")
    assert hash(spelled) == hash(Path.parse("$input.a.b[*]"))


SEGMENTS = st.lists(st.one_of(st.text(max_size=6), st.integers(-99, 99), st.just(EVERY)), max_size=6)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text("ab-", max_size=2), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(root=st.sampled_from(MAPPING_ROOTS), segments=SEGMENTS)
def test_printing_and_parsing_a_path_is_identity(root, segments):
    """Whatever the keys hold, the printed path means the same."""
    path = Path(text="", root=root, segments=tuple(segments))

    assert Path.parse(str(path)) == path


@given(
    segments=st.lists(st.one_of(st.text("ab-", max_size=2), st.integers(-4, 4), st.just(EVERY)), max_size=5), data=JSON
)
def test_finding_never_fails_and_never_changes_the_data(segments, data):
    """Any path on any data yields a value, an array or nothing, and leaves the data as it was."""
    before = json.dumps(data)
    path = Path(text="", root="$", segments=tuple(segments))

    found = path.find_in(data)

    assert not path.collects or isinstance(found, list)
    assert json.dumps(data) == before
