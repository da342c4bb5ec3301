"""YAML is read to plain values, or refused with one error that says where."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.wire.yaml import DEEPEST, MOST_VALUES, UnreadableYaml, read_document, short_functions

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text("abz09 -_"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcXYZ", min_size=1), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


def problem_of(text):
    with pytest.raises(UnreadableYaml) as caught:
        read_document(text, short_functions)
    return caught.value


def test_values_and_shared_parts_are_read():
    """An alias means what its anchor does, a merge takes over fields."""
    text = "a: &x {b: 1, c: [yes, ~]}\nd: *x\ne: {<<: *x, b: 2}\n"

    shared = {"b": 1, "c": [True, None]}
    assert read_document(text).value == {"a": shared, "d": shared, "e": {"b": 2, "c": [True, None]}}


def test_an_empty_text_is_none():
    """Comments alone are no document."""
    assert read_document(b"# nothing\n").value is None


def doubling(levels: int) -> str:
    return "a0: &a0 x\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, levels))


def test_merging_over_and_over_stays_small():
    """What two merges bring in is in the map once."""
    bomb = doubling(60).replace("x", "{x: 1}").replace(" [", " {<<: [").replace("]", "]}")

    assert read_document(bomb).value["a59"] == {"x": 1}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (doubling(60), f"more than {MOST_VALUES} values"),
        ("a: &a [*a]", "contains itself"),
        ("&a {b: {c: *a}}", "contains itself"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "levels deep"),
        ("[" * 100_000, "levels deep"),
        ("- " * 20_000, "levels deep"),
        ("a: [", r"the bracket \[ is not closed"),
        ("a: {b: [1]\n\n", r"the bracket \{ is not closed"),
        ("a: [1\nb: 2\n", "did not find expected"),
        ("a:\n\t- b", "a tab cannot indent; use spaces"),
        ("a: !!int ''", "the tag"),
        ("a: !!bool perhaps", "the tag"),
        ("a: !!timestamp now", "the tag"),
        ("a: " + "9" * 5000, "not a number JSON can hold"),
        ("? [a]\n: b", "a key must be text"),
        ("a: !!python/name:os.system x", "the tag .* is not known"),
        ("a: \x00", "control characters|special characters"),
        ("a: 1\n---\nb: 2", "only one document"),
        ("a: .inf", "not a number JSON can hold"),
        ("a: 1\na: 2", "stands twice"),
        (b"a: \xff", "not utf-8 text"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(text, problem):
    """Bombs, loops, depth, misfits, foreign tags: the one error, after little work."""
    with pytest.raises(UnreadableYaml, match=problem):
        read_document(text)


def test_the_error_tells_the_place():
    """Lines and columns count from 1."""
    with pytest.raises(UnreadableYaml) as caught:
        read_document("a: 1\nb: x: y\n")

    assert (caught.value.line, caught.value.column) == (2, 5)


@given(st.text(max_size=60) | st.binary(max_size=60))
def test_any_text_is_a_value_or_the_one_error(text):
    """Nothing else is ever raised."""
    try:
        outcome = repr(read_document(text).value)
    except UnreadableYaml as error:
        outcome = error.problem

    assert outcome


def test_each_part_knows_its_place():
    """Keys, items and the values below them are found by their path."""
    document = read_document("a: 1\nb:\n  - x\n  - c: 2\n")

    assert document.value == {"a": 1, "b": ["x", {"c": 2}]}
    assert [document.marks[path] for path in [("a",), ("b",), ("b", "0"), ("b", "1", "c")]] == [
        (1, 1),
        (2, 1),
        (3, 5),
        (4, 5),
    ]


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
        ("v: !!int '5'", {"v": 5}),
        ('{\n\t"v": }', {"v": None}),
        ("v: !!timestamp 2015-09-01", {"v": "2015-09-01"}),
    ],
)
def test_values_are_read_as_files_mean_them(text, value):
    """Dates stay text, short tags become functions, merges bring in what the map does not have itself."""
    assert read_document(text, short_functions).value == value


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
        ("a: 1\nb: !<foo> x", 2),
        ("a: !!timestamp [1]", 1),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text, line):
    """Broken YAML, repeated keys, foreign tags and numbers JSON lacks are problems, not exceptions of the parser."""
    assert problem_of(text).line == line


def test_aliases_cannot_blow_a_small_file_up():
    """Nine levels of ten aliases each would be a billion values."""
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]

    assert "values" in problem_of("\n".join(lines)).problem


@pytest.mark.parametrize("text", ["[" * 5_000, "a: " + "{b: " * 3_000, "- " * 4_000 + "x"])
def test_depth_is_bounded(text):
    """Brackets without end are a problem of the file."""
    assert problem_of(text).line >= 1


@given(JSON)
def test_json_is_read_as_json(value):
    """Every JSON text has the value JSON gives it."""
    assert read_document(json.dumps({"v": value})).value == {"v": value}


@given(st.text(max_size=200) | st.text(st.sampled_from("ab:-[]{}!&*#|>'\" \n<?,0."), max_size=80))
def test_any_template_is_read_or_refused_with_a_line(text):
    """Nothing but UnreadableYaml comes out of any text, and each has a line."""
    try:
        lines = [mark.line for mark in read_document(text, short_functions).marks.values()]
    except UnreadableYaml as error:
        lines = [error.line]
    assert all(line >= 1 for line in lines)
