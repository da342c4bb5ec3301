"""YAML is read to plain values, or refused with one error that says where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.wire.yaml import DEEPEST, MOST_VALUES, UnreadableYaml, YamlText, read_yaml


def test_values_and_shared_parts_are_read():
    """An alias means what its anchor does, a merge takes over fields."""
    text = "a: &x {b: 1, c: [yes, ~]}\nd: *x\ne: {<<: *x, b: 2}\n"

    shared = {"b": 1, "c": [True, None]}
    assert read_yaml(text) == {"a": shared, "d": shared, "e": {"b": 2, "c": [True, None]}}


def test_an_empty_text_is_none():
    """Comments alone are no document."""
    assert read_yaml(b"# nothing\n") is None


def test_parts_are_built_on_their_own():
    """The nodes tell their lines, and each gives its value."""
    document = YamlText("a: 1\nb: [2]\n")
    (_, _), (key, value) = document.root.value

    assert key.start_mark.line == 1
    assert document.value(value) == [2]


def doubling(levels: int) -> str:
    return "a0: &a0 x\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, levels))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (doubling(60), f"more than {MOST_VALUES} values"),
        (doubling(60).replace("x", "{x: 1}").replace(" [", " {<<: [").replace("]", "]}"), "more than"),
        ("a: &a [*a]", "contains itself"),
        ("&a {b: {c: *a}}", "contains itself"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "levels deep"),
        ("[" * 100_000, "recursion"),
        ("- " * 20_000, "recursion"),
        ("a: [", "expected"),
        ("a: 2001-99-99", "cannot be used"),
        ("a: !!int ''", "cannot be used"),
        ("a: !!bool perhaps", "cannot be used"),
        ("a: !!timestamp now", "cannot be used"),
        ("a: 190:20" + ":20" * 400 + ".5", "cannot be used"),
        ("a: " + "9" * 5000, "cannot be used"),
        ("? [a]\n: b", "unhashable key"),
        ("a: !!python/name:os.system x", "could not determine a constructor"),
        ("a: \x00", "special characters"),
        ("a: 1\n---\nb: 2", "another document"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(text, problem):
    """Bombs, loops, depth, misfits, foreign tags: the one error, after little work."""
    with pytest.raises(UnreadableYaml, match=problem):
        read_yaml(text)


def test_the_error_tells_the_place():
    """Lines and columns count from 1."""
    with pytest.raises(UnreadableYaml) as caught:
        read_yaml("a: 1\nb: [\n\n")

    assert (caught.value.line, caught.value.column) == (4, 1)


@given(st.text(max_size=60) | st.binary(max_size=60))
def test_any_text_is_a_value_or_the_one_error(text):
    """Nothing else is ever raised."""
    try:
        outcome = repr(read_yaml(text))
    except UnreadableYaml as error:
        outcome = error.problem

    assert outcome
