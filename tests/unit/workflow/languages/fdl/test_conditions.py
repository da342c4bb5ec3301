"""Conditions hold exactly when the rules of the choice step say so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.services.workflow.engine.language import EvaluationError
from emulator.services.workflow.languages.fdl.conditions import Condition
from emulator.services.workflow.languages.fdl.paths import EVERY, Path
from emulator.services.workflow.languages.terms import (
    And,
    Array,
    Comparison,
    Constant,
    Minus,
    Not,
    Or,
    Term,
)
from emulator.services.workflow.languages.values import ExpressionError

DATA = {
    "status": "success",
    "count": 4,
    "half": 0.5,
    "whole": 4.0,
    "yes": True,
    "no": False,
    "none": None,
    "marker": "",
    "digits": "4",
    "truth": "true",
    "list": [1, "b", None],
    "map": {"x": {"y": 0}},
    "audited": True,
    "a": "a",
    "b": "b",
    "odd key": 1,
    "emoji": "\U0001f600",
    "late": "\uffff",
}

TRUE = [
    '$.status == "success"',
    "$.status == `success`",
    "$.count > 3",
    "$.count >= 4",
    "$.count <= 4",
    "$.count < 4.5",
    "$.count == 4",
    "$.count == 4.0",
    "$.whole == 4",
    "$.count != 5",
    "$.half == 0.5",
    "$.half < $.count",
    "$.yes",
    "!$.no",
    "!!$.yes",
    "$.yes && $.count > 3",
    "$.no || $.yes",
    "$.map.x.y == 0",
    "$['odd key'] == 1",
    '$.marker == ""',
    '$.status != ""',
    "$.list[-1] == null",
    "$.none == null",
    '$.audited == "true"',
    "$.truth == true",
    '$.count == "4"',
    "$.digits == 4",
    '$.whole == "4"',
    '$.none == "null"',
    "1 == `1`",
    "true == true",
    "null == null",
    "[1, 2] == [1, 2]",
    '[1, 2] == "[1,2]"',
    '$.list == [1, "b", null]',
    '$.map == "{\\"x\\":{\\"y\\":0}}"',
    '$.a < "b"',
    '"B" < "a"',
    '"10" < "9"',
    "$.late < $.emoji",
    "$.b in $.list",
    '$.status in ["x", "success"]',
    "$.count in [$.nothing, $.whole]",
    '"1" in $.list',
    "-1 < 0",
    "- $.count == -4",
    "$.count > -1",
    "$.nothing != 1",
    "$.nothing != $.nothing",
    "-$.status != 1",
    "!$.nothing",
    "!$.count",
    '"a\\n\\"\\u0041" == "a\n\\"A"',
    '`a\\n` == "a\\\\n"',
    "$.list[*] == $.list",
    "$.no == false",
    "($.yes)",
    "$.yes || $.no && $.no",
    "!$.no && $.yes",
    "$.no == ($.count > 9)",
    "true",
    "\t\n $.yes \n",
]
FALSE = [
    '$.status == "failed"',
    "$.count > 4",
    "$.count == 5",
    "$.no",
    "$.count",
    "$.status",
    "$.truth",
    "1",
    "null",
    "$.none",
    "$.list",
    "$.nothing",
    "$.nothing == null",
    "$.nothing == $.nothing",
    "$.nothing == 1",
    "$.nothing > 1",
    "$.nothing >= 4000",
    "$.nothing in [1]",
    "1 in $.nothing",
    '1 in "1"',
    '$.count < "5"',
    "$.digits > 3",
    "$.yes > $.no",
    "$.none <= $.none",
    "[1] < [2]",
    "$.count == true",
    "1 == true",
    "$.yes && 1",
    "$.yes && $.status",
    "1 || $.status",
    "($.yes || $.no) && $.no",
    "!$.yes",
    "!($.count > 3)",
    "-$.status == 1",
    "-$.yes < 0",
    "[] == null",
]


@pytest.mark.parametrize("text", TRUE)
def test_a_condition_holds(text):
    """Each of these is true for the data above."""
    assert Condition.parse(text).holds(DATA) is True


@pytest.mark.parametrize("text", FALSE)
def test_a_condition_does_not_hold(text):
    """Each of these is false for the data above, without a failure."""
    assert Condition.parse(text).holds(DATA) is False


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"has_more": True, "event_id": 4000}, True),
        ({"has_more": True, "total_group_count": 3, "total_group_threshold": 3}, True),
        ({"has_more": True, "total_group_count": 2, "total_group_threshold": 3}, False),
        ({"event_id": 5000}, False),
        ({}, False),
    ],
)
def test_a_published_condition_with_keys_nobody_sets(document, expected):
    """Groups, paths on both sides and absent keys work together as published flows need it."""
    condition = Condition.parse("$.has_more && ($.event_id >= 4000 || $.total_group_count >= $.total_group_threshold)")

    assert condition.holds(document) is expected


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("$.a||$.b&&$.c==1", "$.a || $.b && $.c == 1"),
        ("($.a||$.b)&&$.c", "($.a || $.b) && $.c"),
        ("((($.a)))", "$.a"),
        ("!($.a==1)", "!($.a == 1)"),
        ("!$.a==1", "!$.a == 1"),
        ("-(-1)", "--1"),
        ("$.a&&($.b&&$.c)", "$.a && ($.b && $.c)"),
        ('`x"`', '"x\\""'),
        ("10000000000000000.5", "10000000000000000.0"),
        ("0.00000001", "0.00000001"),
        ("[1,`a`,[]]", '[1, "a", []]'),
    ],
)
def test_precedence_shows_in_the_printed_form(text, printed):
    """``!`` and ``-`` bind tightest, then comparison, then ``&&``, then ``||``."""
    assert str(Condition.parse(text)) == printed


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("   ", 3),
        ("$.a = 1", 4),
        ("$.a & $.b", 4),
        ("$.a == 'x'", 7),
        ("$.a == success", 7),
        ('$.a == "x', 7),
        ("$.a == `x", 7),
        ('$.a == "\\x"', 7),
        ("$.a == 1 == 2", 9),
        ("$.a ==", 6),
        ("== 1", 0),
        ("($.a", 4),
        ("$.a)", 3),
        ("[1, ]", 4),
        ("[1", 2),
        ("$.a $.b", 4),
        ("$.a [0]", 4),
        ("$.a.", 3),
        ("$input.a == 1", 0),
        ("$.a == 1.", 7),
        ("$.a == 1x", 7),
        ("$.a == 1e5", 7),
        ("$.a + 1", 4),
        ("len($.a)", 0),
        ("True", 0),
        ("$.a;", 3),
        ("1" * 401, 0),
        ("1" * 390 + ".0", 0),
        ("(" * 60 + "1" + ")" * 60, 50),
        ("!" * 60 + "true", 50),
        ("[" * 60, 50),
    ],
)
def test_what_is_no_condition_is_refused_with_its_position(text, position):
    """The error points at the character in question."""
    with pytest.raises(ExpressionError) as caught:
        Condition.parse(text)

    assert caught.value.position == position


def test_the_first_operand_that_decides_ends_the_evaluation():
    """What stands behind it is not evaluated, even if it could not be."""
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    document = {"yes": True, "no": False, "deep": deep}

    assert Condition.parse("$.yes || $.deep == 1").holds(document)
    assert not Condition.parse("$.no && $.deep == 1").holds(document)
    with pytest.raises(EvaluationError):
        Condition.parse("$.deep == 1").holds(document)
    while deep:
        deep = deep.pop()


def test_long_chains_do_not_exhaust_the_stack():
    """Ten thousand alternatives are read and evaluated like two."""
    condition = Condition.parse(" || ".join(f"$.n == {number}" for number in range(10_000)))

    assert condition.holds({"n": 9_999})
    assert not condition.holds({"n": -1})
    assert Condition.parse(str(condition)) == condition


def test_constants_of_different_types_make_different_conditions():
    """1, 1.0 and true are told apart although Python holds them for equal."""
    one, double, truth = (Condition.parse(text) for text in ("1", "1.0", "true"))

    assert len({one, double, truth}) == 3
    assert one != double


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.just("true")),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=10,
)
PATHS = st.lists(st.one_of(st.sampled_from("abc"), st.text(max_size=3), st.integers(-2, 2), st.just(EVERY)), max_size=3)
CONSTANTS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 10**20),
    st.floats(0, allow_nan=False, allow_infinity=False).map(abs),
    st.text(st.characters(exclude_categories=()), max_size=5),
)
LEAVES = st.one_of(
    CONSTANTS.map(Constant),
    PATHS.map(lambda segments: Path(text="", root="$", segments=tuple(segments))),
)


def _composed(inner):
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        several.map(And),
        several.map(Or),
        inner.map(Not),
        inner.map(Minus),
        st.lists(inner, max_size=3).map(lambda items: Array(tuple(items))),
        st.builds(Comparison, st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in"]), inner, inner),
    )


TERMS: st.SearchStrategy[Term] = st.recursive(LEAVES, _composed, max_leaves=15)


@pytest.mark.parametrize("sign", ["=", "&", "|"])
def test_half_an_operator_is_completed(sign):
    """The comparisons with ``<`` and ``>`` exist too, so that a list of a few operators would mislead."""
    with pytest.raises(ExpressionError) as caught:
        Condition.parse(f"$.a {sign} 1")

    assert str(caught.value).startswith(f"unknown operator '{sign}'; did you mean {sign * 2}?")


@given(TERMS)
def test_printing_and_parsing_a_condition_is_identity(term):
    """The printed form parses back to an equal tree, and prints the same again."""
    printed = str(term)

    parsed = Condition.parse(printed)

    assert parsed.tree == term
    assert str(parsed) == printed


@given(TERMS, JSON)
def test_evaluation_is_total(term, document):
    """Any condition on any input is true or false."""
    assert Condition(text="", tree=term).holds(document) in {True, False}


@given(st.text(alphabet="$.ab[]*()!&|<>=-\"`\\'1 0,intrue\n", max_size=30))
def test_any_text_is_a_condition_or_an_expression_error(text):
    """Nothing but ExpressionError leaves the parser; its position lies in the text."""
    position, condition = 0, None
    try:
        condition = Condition.parse(text)
    except ExpressionError as error:
        position = error.position

    assert 0 <= position <= len(text)
    assert condition is None or Condition.parse(str(condition)) == condition
