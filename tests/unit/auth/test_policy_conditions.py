"""Conditions of policies."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.auth.policy import OPERATORS, MalformedCondition, parse_conditions

FACTS = {
    "acs:CurrentTime": ("2026-06-01T12:00:00Z",),
    "acs:SourceIp": ("10.1.2.3",),
    "acs:SecureTransport": ("true",),
    "s": ("Alpha",),
    "n": ("5",),
    "many": ("a", "b"),
    "six": ("2001:db8::1",),
    "word": ("soon",),
}


def holds(operator, key, value, facts=FACTS):
    return all(condition.holds(facts) for condition in parse_conditions({operator: {key: value}}))


@pytest.mark.parametrize(
    ("operator", "key", "value", "expected"),
    [
        ("StringEquals", "s", "Alpha", True),
        ("StringEquals", "s", "alpha", False),
        ("StringEquals", "s", ["Beta", "Alpha"], True),
        ("StringNotEquals", "s", "Alpha", False),
        ("StringNotEquals", "s", ["Beta", "Gamma"], True),
        ("StringNotEquals", "s", ["Beta", "Alpha"], False),
        ("StringEqualsIgnoreCase", "s", "aLPHA", True),
        ("StringNotEqualsIgnoreCase", "s", "aLPHA", False),
        ("StringLike", "s", "A*a", True),
        ("StringLike", "s", "A?a", False),
        ("StringNotLike", "s", "A*", False),
        ("NumericEquals", "n", 5, True),
        ("NumericEquals", "n", "5.0", True),
        ("NumericNotEquals", "n", "4", True),
        ("NumericLessThan", "n", "5", False),
        ("NumericLessThanEquals", "n", "5", True),
        ("NumericGreaterThan", "n", ["9", "4"], True),
        ("NumericGreaterThanEquals", "n", "6", False),
        ("NumericEquals", "word", "5", False),
        ("DateEquals", "acs:CurrentTime", "2026-06-01T20:00:00+08:00", True),
        ("DateNotEquals", "acs:CurrentTime", "2026-06-01T12:00:00Z", False),
        ("DateLessThan", "acs:CurrentTime", "2026-06-01T12:00:01Z", True),
        ("DateLessThanEquals", "acs:CurrentTime", "2026-06-01T12:00:00Z", True),
        ("DateGreaterThan", "acs:CurrentTime", "2026-06-01T12:00:00Z", False),
        ("DateGreaterThanEquals", "acs:CurrentTime", "2026-06-01T12:00:00Z", True),
        ("Bool", "acs:SecureTransport", "true", True),
        ("Bool", "acs:SecureTransport", False, False),
        ("IpAddress", "acs:SourceIp", "10.0.0.0/8", True),
        ("IpAddress", "acs:SourceIp", ["192.168.0.0/16", "10.1.2.3"], True),
        ("IpAddress", "acs:SourceIp", "2001:db8::/32", False),
        ("IpAddress", "six", "2001:db8::/32", True),
        ("NotIpAddress", "acs:SourceIp", "10.0.0.0/8", False),
        ("NotIpAddress", "acs:SourceIp", "192.168.0.0/16", True),
        ("ForAnyValue:StringEquals", "many", "b", True),
        ("ForAllValues:StringEquals", "many", "b", False),
        ("ForAllValues:StringEquals", "many", ["a", "b", "c"], True),
        ("ForAllValues:StringNotEquals", "many", "c", True),
    ],
)
def test_operator_compares_the_requests_value_with_those_of_the_policy(operator, key, value, expected):
    """One of several values is enough; for a negated operator none may match."""
    assert holds(operator, key, value) is expected


@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_missing_key_fulfils_negated_operators_only(operator):
    """What is not known of a request equals nothing."""
    kinds = {"Date": "2026-01-01T00:00:00Z", "Numeric": "1", "Bool": "true", "String": "x"}
    value = next((text for kind, text in kinds.items() if operator.startswith(kind)), "10.0.0.1")

    assert holds(operator, "absent", value) is ("Not" in operator)


def test_all_operators_and_all_keys_must_hold():
    """A statement with two conditions counts when both hold."""
    block = {"StringEquals": {"s": "Alpha"}, "NumericLessThan": {"n": "3"}}

    assert [condition.holds(FACTS) for condition in parse_conditions(block)] == [True, False]


@pytest.mark.parametrize(
    "block",
    [
        [],
        "StringEquals",
        {"StringIs": {"s": "x"}},
        {"Some:StringEquals": {"s": "x"}},
        {"StringEquals": []},
        {"StringEquals": {}},
        {"StringEquals": {"s": []}},
        {"StringEquals": {"s": None}},
        {"StringEquals": {"s": {"x": 1}}},
        {"StringEquals": {"": "x"}},
        {"NumericEquals": {"n": "five"}},
        {"NumericEquals": {"n": float("inf")}},
        {"DateEquals": {"d": "yesterday"}},
        {"DateEquals": {"d": "2026-06-01T12:00:00"}},
        {"Bool": {"b": "yes"}},
        {"IpAddress": {"i": "10.0.0.0/99"}},
        {"IpAddress": {"i": "here"}},
    ],
    ids=json.dumps,
)
def test_malformed_condition_is_told(block):
    """What cannot be read never becomes a condition that silently never holds."""
    with pytest.raises(MalformedCondition):
        parse_conditions(block)


texts = st.text(max_size=30)


@given(
    operator=st.sampled_from(sorted(OPERATORS)),
    value=st.one_of(texts, st.integers(), st.floats(), st.booleans(), st.none(), st.lists(texts, max_size=3)),
    given_values=st.lists(texts, max_size=3),
)
def test_any_input_is_read_or_refused(operator, value, given_values):
    """Nothing but MalformedCondition is raised, and what has been read always answers."""
    try:
        conditions = parse_conditions({operator: {"k": value}})
    except MalformedCondition:
        return
    assert all(condition.holds({"k": given_values}) in (True, False) for condition in conditions)


@given(
    pair=st.sampled_from([(name, name.replace("Not", "")) for name in OPERATORS if "Not" in name and "Ip" not in name]),
    value=st.one_of(st.just("5"), st.just("true"), st.just("2026-01-01T00:00:00Z"), texts),
    given_value=st.one_of(st.just("5"), st.just("2026-01-01T00:00:00Z"), texts),
)
def test_negated_operator_is_the_opposite(pair, value, given_value):
    """For a request that has the key, exactly one of an operator and its negation holds."""
    try:
        results = [holds(operator, "k", value, {"k": (given_value,)}) for operator in pair]
    except MalformedCondition:
        return
    assert sorted(results) == [False, True]
