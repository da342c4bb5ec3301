"""Expectations: matched as far as they are given."""

import pytest

from emulator.services.workflow.rehearsal.matching import differences, problem_of


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        pytest.param({}, {"a": 1}, id="nothing is expected"),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, id="a map may hold more"),
        pytest.param({"a": {"b": "any"}}, {"a": {"b": False}}, id="anything that is not null"),
        pytest.param({"a": "1..5"}, {"a": 5}, id="a range"),
        pytest.param({"a": "..5"}, {"a": -1.5}, id="a range without a beginning"),
        pytest.param({"a": "/^o-[0-9]+$/"}, {"a": "o-12"}, id="a pattern"),
        pytest.param({"a": "absent"}, {"b": 1}, id="a member that is not there"),
        pytest.param({"a": {"is": "any"}}, {"a": "any"}, id="a text that looks like a word of this language"),
        pytest.param(["any", 2], [1, 2], id="a list, item by item"),
        pytest.param("1..5", "1..5", id="a text that looks like a range, as it is"),
    ],
)
def test_what_fits(expected, found):
    """Nothing is said of a value that is what is expected."""
    assert list(differences(expected, found)) == []


@pytest.mark.parametrize(
    ("expected", "found", "told"),
    [
        pytest.param({"a": 1}, {}, "output.a is not there, expected 1", id="a member is missing"),
        pytest.param({"a": {"b": 1}}, {"a": {"b": 2}}, "output.a.b is 2, expected 1", id="another value"),
        pytest.param({"a": "any"}, {"a": None}, 'output.a is null, expected "any"', id="null is not something"),
        pytest.param({"a": "1..5"}, {"a": 6}, 'output.a is 6, expected "1..5"', id="out of the range"),
        pytest.param({"a": "1..5"}, {"a": True}, 'output.a is true, expected "1..5"', id="a flag is no number"),
        pytest.param({"a": "absent"}, {"a": 1}, "output.a is 1, expected none", id="there after all"),
        pytest.param([1], [1, 2], "output has 2 items, expected 1", id="too many items"),
        pytest.param({"a": {"is": {"b": 1}}}, {"a": {"b": 1, "c": 2}}, None, id="just that value"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(expected, found, told):
    """The path of the value, what it is, and what was expected."""
    said = list(differences(expected, found, "output"))

    assert len(said) == 1
    assert told is None or said == [told]


def test_a_pattern_that_is_none_is_told_before_anything_runs():
    """A file of cases with such a pattern is refused."""
    assert "/(/ is not a valid pattern" in problem_of({"a": ["/(/"]})
