"""Policy documents: what is read and what is refused."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.auth.policy import MalformedPolicy, glob_matches, parse_policy, parse_trust_policy

ALLOW = {"Effect": "Allow", "Action": "mns:SendMessage", "Resource": "*"}
TRUST = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "fc.aliyuncs.com"}}


def document(*statements, **other):
    return json.dumps({"Version": "1", "Statement": list(statements), **other})


def test_documented_forms_are_read():
    """Texts or lists of texts; one statement may stand without a list."""
    listed = parse_policy(document({**ALLOW, "Action": ["mns:*", "fc:Get*"], "Sid": "one"}))
    single = parse_policy(json.dumps({"Version": "1", "Statement": ALLOW}))

    assert listed.statements[0].actions == ("mns:*", "fc:get*")
    assert single.statements[0].resources == ("*",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "JSON"),
        ("[]", "object"),
        ("[" * 100_000, "JSON"),
        (document(ALLOW, Version="2012-10-17"), "Version"),
        (document(), "Statement"),
        (document("x"), "Statement"),
        (document(ALLOW, Id="x"), "Id"),
        (document({**ALLOW, "Effect": "allow"}), "Effect"),
        (document({"Effect": "Allow", "Resource": "*"}), "Action"),
        (document({**ALLOW, "NotAction": "fc:*"}), "NotAction"),
        (document({"Effect": "Allow", "Action": "fc:*"}), "Resource"),
        (document({**ALLOW, "Action": []}), "Action"),
        (document({**ALLOW, "Action": "SendMessage"}), "Action"),
        (document({**ALLOW, "Action": "a:b:c"}), "Action"),
        (document({**ALLOW, "Action": 5}), "Action"),
        (document({**ALLOW, "Resource": "queue"}), "Resource"),
        (document({**ALLOW, "Resource": [""]}), "Resource"),
        (document({**ALLOW, "Principal": {"RAM": "*"}}), "Principal"),
        (document({**ALLOW, "Condition": {"StringIs": {}}}), "Condition"),
        ('{"Version":"1","Version":"1","Statement":[]}', "twice"),
    ],
)
def test_malformed_document_is_told_with_its_reason(text, says):
    """The message names what is wrong."""
    with pytest.raises(MalformedPolicy, match=says):
        parse_policy(text)


@pytest.mark.parametrize(
    "statement",
    [
        ALLOW,
        {**TRUST, "Principal": {}},
        {**TRUST, "Principal": "*"},
        {**TRUST, "Principal": {"AWS": "*"}},
        {**TRUST, "Principal": {"Service": []}},
        {**TRUST, "Principal": {"Service": [], "RAM": []}},
        {**TRUST, "Principal": {"Service": [], "RAM": [""]}},
        {**TRUST, "Resource": "*"},
    ],
)
def test_trust_policy_needs_its_principals(statement):
    """It says who, and is about the role it belongs to."""
    with pytest.raises(MalformedPolicy):
        parse_trust_policy(document(statement))


def test_trust_policy_names_kinds_of_principals():
    """Accounts and users, services, identity providers; a kind with an empty list is not there."""
    principals = {"RAM": "acs:ram::1:root", "Service": ["fc.aliyuncs.com"], "Federated": ["acs:ram::1:saml-provider/p"]}

    read = parse_trust_policy(document({**TRUST, "Principal": principals})).statements[0].principals

    assert read == {kind: tuple([names] if isinstance(names, str) else names) for kind, names in principals.items()}


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    """Nothing but MalformedPolicy comes out."""
    for parse in (parse_policy, parse_trust_policy):
        with contextlib.suppress(MalformedPolicy):
            assert parse(text).statements


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=10)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=10), inner, max_size=3)),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(
            ["Effect", "Action", "NotAction", "Resource", "NotResource", "Condition", "Principal", "Sid", "Other"]
        ),
        st.one_of(json_values, st.sampled_from(["Allow", "*", "fc:*", {"RAM": "*"}, {"StringEquals": {"k": "v"}}])),
    )
)
def test_any_statement_is_read_or_refused(statement):
    """Whatever its elements hold."""
    for parse in (parse_policy, parse_trust_policy):
        try:
            policy = parse(json.dumps({"Version": "1", "Statement": [statement]}))
        except MalformedPolicy:
            continue
        assert policy.statements[0].is_about("fc:InvokeFunction", ("acs:fc:::x",), {}) in (True, False)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("", "", True), ("", "a", False), ("*", "", True), ("*", "a/b", True), ("?", "", False), ("?", "a", True),
        ("a*", "abc", True), ("*c", "abc", True), ("a*c", "abc", True), ("a*c", "abd", False), ("a?c", "abc", True),
        ("a*b*c", "a-b-b-c", True), ("a*b*c", "acb", False), ("**", "x", True), ("a.c", "abc", False),
        ("[a]", "a", False), ("A", "a", False),
    ],
)  # fmt: skip
def test_wildcards(pattern, text, expected):
    """A star is any number of characters, a question mark exactly one; all else is itself."""
    assert glob_matches(pattern, text) is expected


small = st.text(alphabet="ab*?", max_size=8)


def slow(pattern, text):
    """The definition, word by word."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(slow(pattern[1:], text[start:]) for start in range(len(text) + 1))
    return bool(text) and pattern[0] in ("?", text[0]) and slow(pattern[1:], text[1:])


@given(small, st.text(alphabet="ab", max_size=8))
def test_wildcards_agree_with_their_definition(pattern, text):
    """The quick way finds what trying everything finds."""
    assert glob_matches(pattern, text) is slow(pattern, text)


def test_hostile_pattern_is_judged_in_bounded_time():
    """A pattern of many stars does not go through all ways to place them."""
    assert not glob_matches("*a" * 200 + "b", "a" * 2_000)
