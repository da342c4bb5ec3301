"""Expressions: what they yield, where the trouble is in those that do not parse, and their bounds."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.services.workflow.engine.language import EvaluationError
from emulator.services.workflow.languages.statemachine.expressions import (
    ITEM_ROOTS,
    RESULT_ROOTS,
    STATE_ROOTS,
    Call,
    Object,
    Path,
    parse,
)
from emulator.services.workflow.languages.statemachine.functions import FUNCTIONS
from emulator.services.workflow.languages.terms import (
    And,
    Array,
    Budget,
    Comparison,
    Constant,
    Evaluation,
    Minus,
    Not,
    Or,
)
from emulator.services.workflow.languages.values import MISSING, ExpressionError

DATA = {
    "$Input": {"a": {"b": [1, 2]}, "名": 3, "x-y": 4, "text": "abc", "flag": True, "none": None, "big": "x" * 60_000},
    "$Context": {"Execution": {"Name": "e"}, "Current": {"Name": "s"}},
    "$Global": {"g": 1},
    "$Output": {"o": "out"},
}


class Counting:
    """Numbers that are as random as a counter."""

    def __init__(self) -> None:
        self.count = 0

    def number(self) -> int:
        self.count += 1
        return self.count * 0x0123456789ABCDEF0123456789ABCDEF % 2**128


def value_of(text: str, roots=RESULT_ROOTS, budget: int = 4_000_000):
    evaluation = Evaluation(lambda root: DATA.get(root, MISSING), Counting(), Budget(budget))
    return parse(text, roots).value(evaluation)


VALUES = [
    ("$Input.a.b[1]", 2),
    ('$Input["a"]["b"][0]', 1),
    ("$Input['x-y']", 4),
    ("$Input.x-y", 4),
    ("$Input.名", 3),
    ("$Input.a.b[7]", MISSING),
    ("$Input.a.b.c", MISSING),
    ("$Input.text[0]", MISSING),
    ("$Context.Execution.Name", "e"),
    ("$Global.g", 1),
    ("$Output.o", "out"),
    ("1", 1),
    ("12.5", 12.5),
    ("1e3", 1000.0),
    ("-5", -5),
    ("-(5)", -5),
    ("-$Global.g", -1),
    ("true", True),
    ("false", False),
    ("null", None),
    ('"a\\n\\u0041\\""', 'a\nA"'),
    ('"\\d+"', "\\d+"),
    ("'{\"a\": 1}'", '{"a": 1}'),
    ("`a\\nb`", "a\\nb"),
    ('"\\ud83d\\ude00"', "😀"),
    ("[1, 'a', $Input.nothing]", [1, "a", None]),
    ("[]", []),
    ("{}", {}),
    ('{"a": 1, "b": [$Global.g]}', {"a": 1, "b": [1]}),
    ("1 < 2", True),
    ("2 <= 1", False),
    ('"b" > "a"', True),
    ("1 == 1.0", True),
    ("true == true", True),
    ("null == null", True),
    ("$Input.none == null", True),
    ("$Input.nothing == null", False),
    ("$Input.nothing != 1", True),
    ("$Input.nothing < 1", False),
    ("1 < 'a'", False),
    ("$Input.flag && 1 == 1 || false", True),
    ("false && $Input.text", False),
    ("true || $Input.text", True),
    ("!(1 > 2)", True),
    ("!!true", True),
    ('arrayContains(["Tom", 10], 10)', True),
    ('arrayContains(["10"], 10)', False),
    ("arrayContains([true], 1)", False),
    ("arrayContains([{'a': 1}], {'a': 1})", True),
    ("arrayUnique([1, 2, 3, 1])", [1, 2, 3]),
    ("arrayUnique([1, true, '1', 1])", [1, True, "1"]),
    ("toArray()", []),
    ("toArray(1, 'a')", [1, "a"]),
    ('format("hello {}", "world")', "hello world"),
    ('format("{} {}", 1, [true])', "1 [true]"),
    ('format("{} {}", 1)', "1 {}"),
    ('format("none", 1)', "none"),
    ("length([1, 2, 3])", 3),
    ("length($Input.a)", 1),
    ("length('四字符号')", 4),
    ("split('a,b', ',')", ["a", "b"]),
    ("split('ab', '')", ["a", "b"]),
    ('regexMatchString("^a+$", "aaa")', True),
    ('regexMatchString("^a+$", "ab")', False),
    ("mapKeys({'b': 1, 'a': 2})", ["a", "b"]),
    ("mapValues({'b': 1, 'a': 2})", [2, 1]),
    ('fromBase64("Rm5G")', "FnF"),
    ('toBase64("FnF")', "Rm5G"),
    ('hash("abc", "MD5")', "900150983cd24fb0d6963f7d28e17f72"),
    ('hash("abc", "SHA-1")', "a9993e364706816aba3e25717850c26c9cd0d89d"),
    ('length(hash("abc", "SHA-256"))', 64),
    ('length(hash("abc", "SHA-512"))', 128),
    ("length(uuid())", 36),
    ("randomInt(3, 4)", 3),
    ("""stringToJson('{"name": "Tom", "age": 10}')""", {"name": "Tom", "age": 10}),
    ("fromJSON('[1]')", [1]),
    ("jsonToString({'b': 1, 'a': '名'})", '{"a":"名","b":1}'),
    ("toJSON(null)", "null"),
    ("jsonMerge({'n': 1, 'a': 1}, {'n': 2, 'c': 3})", {"n": 2, "a": 1, "c": 3}),
    ("get([1, 2], 1)", 2),
    ("get([1, 2], 2)", None),
    ("get({'a': 1}, 'a')", 1),
    ("intAdd(1, -3)", -2),
    ("intAdd(1, 2.0)", 3),
]


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_an_expression_yields_its_value(text, expected):
    """Paths, literals, operators and functions give what the documentation says."""
    found = value_of(text)

    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_printing_an_expression_gives_one_that_parses_to_the_same(text, expected):
    """What is printed means what was written."""
    tree = parse(text, RESULT_ROOTS)

    assert parse(str(tree), RESULT_ROOTS) == tree


BROKEN = [
    ("", 0, "value expected"),
    ("  ", 2, "value expected"),
    ("$input.a", 0, "did you mean $Input"),
    ("$local.a", 0, "did you mean $Output"),
    ("$Nothing", 0, "paths start with"),
    ("$Item.a", 0, "no value here"),
    ("$Environment.X", 0, "not documented"),
    ("$Context.Environment.X", 0, "not documented"),
    ("$Context.Flow", 0, "Execution and Current"),
    ("$Input.", 6, "name must follow"),
    ("$Input[-1]", 6, "brackets hold"),
    ("$Input[1.5]", 7, "whole number"),
    ("$Input[1", 6, "brackets hold"),
    ("$Input[9999999999]", 7, "whole number"),
    ("foo(1)", 0, "no function 'foo'"),
    ("lenght(1)", 0, "did you mean length"),
    ("length()", 0, "takes 1 argument,"),
    ("uuid(1)", 0, "takes 0 arguments, not 1"),
    ("length(1", 8, "',' or ')'"),
    ("[1 2]", 3, "',' or ']'"),
    ("{a: 1}", 1, "key in quotes"),
    ("{'a' 1}", 5, "':' expected"),
    ("{'a': 1 'b': 2}", 8, "',' or '}'"),
    ("{'a': 1, 'a': 2}", 9, "stands twice"),
    ("(1", 2, "')' expected"),
    ("1 2", 2, "operator or the end"),
    ("1 + 1", 2, "no arithmetic"),
    ("1 = 1", 2, "did you mean =="),
    ("true & true", 5, "did you mean &&"),
    ("1 == 2 == 3", 7, "chained"),
    ('"abc', 0, 'no closing "'),
    ("'abc", 0, "no closing '"),
    ("hello", 0, "is not a value"),
    ("~", 0, "unexpected '~'"),
    ('"\\ud83d"', 0, "surrogate"),
    ("9" * 401, 0, "too long"),
    ("1e999", 0, "too large"),
    ("(" * 60 + "1" + ")" * 60, None, "levels deep"),
    ("length(" * 11 + "1" + ")" * 11, 70, "10 calls"),
    (" " * 20_000 + "1", None, "at most"),
]


@pytest.mark.parametrize(("text", "position", "message"), BROKEN)
def test_a_broken_expression_is_refused_where_it_is_broken(text, position, message):
    """The complaint has the offset of the trouble and a sentence."""
    with pytest.raises(ExpressionError) as refused:
        parse(text, (*STATE_ROOTS, "$Output"))

    assert message in refused.value.message
    assert position is None or refused.value.position == position


def test_ten_calls_may_stand_inside_one_another():
    """The documented nesting is allowed, and calls side by side do not count."""
    nested = "toArray(" * 10 + "1" + ")" * 10

    assert parse(f"[{nested}, {nested}]", STATE_ROOTS)


def test_the_element_of_a_map_is_known_in_its_constructor_only():
    """$Item is a root where ITEM_ROOTS are."""
    assert parse("$Item.a", ITEM_ROOTS) == Path("$Item", ("a",))


FAULTS = [
    ("1 && true", "booleans"),
    ("!$Input.text", "booleans"),
    ("-'a'", "'-' takes a number"),
    ("length(1)", "takes text, an array or a map, not a number"),
    ("length(null)", "not null"),
    ("split(1, 2)", "takes text"),
    ("mapKeys([1])", "takes a map, not an array"),
    ("arrayUnique({})", "takes an array, not a map"),
    ("fromBase64('!')", "Base64"),
    ("fromBase64('/w==')", "Base64"),
    ("hash('a', 'md5')", "knows MD5"),
    ("randomInt(1, 1)", "greater upper end"),
    ("intAdd(1, 1.5)", "whole numbers"),
    ("intAdd(true, 1)", "not a boolean"),
    ("stringToJson('{')", "JSON text"),
    ("stringToJson('1,\"x\":2')", "JSON text"),
    ("get(1, 1)", "takes an array"),
    ("get([1], 'a')", "whole numbers"),
    ("regexMatchString('(', 'a')", "')' expected"),
]


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_data_of_a_wrong_kind_is_a_fault_of_the_evaluation(text, message):
    """Nothing but EvaluationError comes out of an evaluation."""
    with pytest.raises(EvaluationError, match=r".") as fault:
        value_of(text)

    assert message in str(fault.value)


@pytest.mark.parametrize(
    "text",
    [
        "toArray(" * 9 + ",".join(["$Input.big"] * 90) + ")" * 9,
        'format("' + "{}" * 500 + '", ' + ", ".join(["$Input.big"] * 500) + ")",
        "{" + ", ".join(f'"k{n}": $Input.big' for n in range(90)) + "}",
        "jsonToString(toArray(" + ",".join(["$Input"] * 90) + "))",
        "$Input.big == [" + ",".join(["$Input.big"] * 90) + "]",
    ],
    ids=["arrays", "format", "object", "text", "comparison"],
)
def test_an_expression_that_makes_too_much_data_is_stopped(text):
    """Work and output come out of a budget, whatever is nested in whatever."""
    with pytest.raises(EvaluationError, match=r"^the expression makes too much data"):
        value_of(text)


def test_data_that_nests_too_deep_is_a_fault():
    """What could not be written again is not made."""
    with pytest.raises(EvaluationError, match=r"^the data nests deeper"):
        Budget().weigh(json.loads("[" * 300 + "]" * 300))


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
LITERALS = st.one_of(
    TEXTS, st.integers(0, 10**12), st.floats(0, 1e15, allow_subnormal=False).map(abs), st.booleans(), st.none()
).map(Constant)
PATHS = st.builds(
    Path,
    st.sampled_from(["$Input", "$Global", "$Output"]),
    st.lists(st.one_of(TEXTS, st.integers(0, 5), st.sampled_from(["a", "b", "text"])), max_size=3).map(tuple),
)


def _inner(trees):
    several = st.lists(trees, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Not, trees),
        st.builds(Minus, trees),
        st.builds(Comparison, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), trees, trees),
        st.builds(And, several),
        st.builds(Or, several),
        st.lists(trees, max_size=3).map(lambda items: Array(tuple(items))),
        st.dictionaries(TEXTS, trees, max_size=3).map(lambda members: Object(tuple(members.items()))),
        calls(trees),
    )


@st.composite
def calls(draw, trees):
    name = draw(st.sampled_from(sorted(FUNCTIONS)))
    known = FUNCTIONS[name]
    count = draw(st.integers(known.least, min(known.most, known.least + 2)))
    return Call(name, tuple(draw(trees) for _ in range(count)), known.function)


TREES = st.recursive(st.one_of(LITERALS, PATHS), _inner, max_leaves=8)


@given(tree=TREES)
@settings(max_examples=200)
def test_any_tree_is_printed_and_parsed_back(tree):
    """Printing loses nothing."""
    assert parse(str(tree), RESULT_ROOTS) == tree


@given(tree=TREES)
@settings(max_examples=200)
def test_any_tree_is_evaluated_or_refused(tree):
    """Evaluation gives JSON that can be written, or EvaluationError."""
    try:
        value = tree.value(Evaluation(lambda root: DATA.get(root, MISSING), Counting(), Budget()))
    except EvaluationError:
        return

    assert value is MISSING or json.loads(json.dumps(value)) == value


@given(text=st.text(st.sampled_from(list("$Input.ab[]0\"'`(){},:=!<>&|-+ \\\nlengthTrue名")), max_size=30))
@settings(max_examples=300)
def test_any_text_is_parsed_or_refused(text):
    """The parser raises nothing but ExpressionError, with a place inside the text or at its end."""
    position = 0
    try:
        parse(text, RESULT_ROOTS)
    except ExpressionError as error:
        position = error.position

    assert 0 <= position <= len(text)
