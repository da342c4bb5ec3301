"""YAML and JSON -> values with lines."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.deploy.document import read
from emulator.deploy.errors import FileProblems

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text("abz09 -_"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcXYZ", min_size=1), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


def problem_of(text):
    with pytest.raises(FileProblems) as caught:
        read(text)
    return caught.value.problems[0]


def test_each_part_knows_its_line():
    """Keys, items and the values below them are found by their path."""
    document = read("a: 1\nb:\n  - x\n  - c: 2\n")

    assert document.value == {"a": 1, "b": ["x", {"c": 2}]}
    assert [document.lines[path] for path in [("a",), ("b",), ("b", "0"), ("b", "1", "c")]] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("v: 2015-09-01", {"v": "2015-09-01"}),
        ("v: 12:30", {"v": "12:30"}),
        ("v: 1.0.0", {"v": "1.0.0"}),
        ("v: !Ref x", {"v": {"Ref": "x"}}),
        ("v: !GetAtt a.b.c", {"v": {"Fn::GetAtt": ["a", "b.c"]}}),
        ("v: !Join ['-', [a, !Ref b]]", {"v": {"Fn::Join": ["-", ["a", {"Ref": "b"}]]}}),
        ("v: !If [c, 1, 2]", {"v": {"Fn::If": ["c", 1, 2]}}),
        ("x: &a {p: 1}\nv: {<<: *a, q: 2}", {"x": {"p": 1}, "v": {"q": 2, "p": 1}}),
        ("", None),
    ],
)
def test_values_are_read_as_files_mean_them(text, value):
    """Dates stay text, short tags become functions, merges bring in what the map does not have itself."""
    assert read(text).value == value


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: [", 2),
        ("a: 1\na: 2", 2),
        ("a: 1\nb: !!python/object:os.system x", 2),
        ("a: .inf", 1),
        ("\n\n? [a]\n: 1", 3),
        ("a: 1\n<<: 3", 2),
        ("a: \x07", 1),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text, line):
    """Broken YAML, repeated keys, foreign tags and numbers JSON lacks are problems, not exceptions of the parser."""
    assert problem_of(text).line == line


def test_aliases_cannot_blow_a_small_file_up():
    """Nine levels of ten aliases each would be a billion values."""
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]

    assert "values" in problem_of("\n".join(lines)).text


@pytest.mark.parametrize("text", ["[" * 5_000, "a: " + "{b: " * 3_000, "- " * 4_000 + "x"])
def test_depth_is_bounded(text):
    """Brackets without end are a problem of the file."""
    assert problem_of(text).line >= 1


@given(JSON)
def test_json_is_read_as_json(value):
    """Every JSON text has the value JSON gives it."""
    assert read(json.dumps({"v": value})).value == {"v": value}


@given(st.text(max_size=200) | st.text(st.sampled_from("ab:-[]{}!&*#|>'\" \n<?,0."), max_size=80))
def test_any_text_is_read_or_refused_with_a_line(text):
    """Nothing but FileProblems comes out of any text, and each has a line."""
    try:
        lines = list(read(text).lines.values())
    except FileProblems as error:
        lines = [problem.line for problem in error.problems]
    assert all(line >= 1 for line in lines)
