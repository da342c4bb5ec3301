"""Regular expressions in linear time."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.services.workflow.languages.statemachine.patterns import Pattern, PatternError


def found(pattern: str, text: str) -> bool:
    return Pattern(pattern).found_in(text, lambda work: None)


MATCHES = [
    ("", "anything", True),
    ("b", "abc", True),
    ("^b", "abc", False),
    ("c$", "abc", True),
    (r"\Aab\z", "ab", True),
    ("a.c", "abc", True),
    ("a.c", "a\nc", False),
    ("^(ab|cd)+$", "abcdab", True),
    ("^a{2,3}$", "aa", True),
    ("^a{2,3}$", "aaaa", False),
    ("^a{2}$", "aa", True),
    ("^a{2,}$", "aaaaa", True),
    ("a{x", "a{x", True),
    ("^a*{x", "aa{x", True),
    ("^(a?)+$", "aa", True),
    ("^[a-c]+?$", "abc", True),
    ("[^a-c]", "abc", False),
    ("[]a]", "]", True),
    ("[a-]", "-", True),
    (r"^[\d.]+$", "1.5", True),
    (r"^\w+@\w+\.com$", "tom@example.com", True),
    (r"\bfoo\b", "a foo b", True),
    (r"\bfoo\b", "afoob", False),
    (r"o\B", "foob", True),
    (r"\D", "12", False),
    (r"\S\s", "a b", True),
    (r"\t", "a\tb", True),
    (r"\.", "ab", False),
    ("(?i)ABC", "xabcx", True),
    ("(?:a|b)c", "bc", True),
    ("(?P<n>a)b", "ab", True),
    ("(?<n>a)b", "ab", True),
    ("名+", "名名", True),
    ("x*", "", True),
]


@pytest.mark.parametrize(("pattern", "text", "expected"), MATCHES)
def test_a_pattern_is_found_where_it_matches(pattern, text, expected):
    """The syntax of RE2, searched anywhere in the text."""
    assert found(pattern, text) is expected


@pytest.mark.parametrize(
    "pattern",
    ["(", ")", "a)", "*", "+a", "a**", "a?+", "a*??", "a{2}{3}", "a{2}*", "a+{2}",
     "[a", "[b-a]", r"[a-\d]", "\\", r"\k", "(?=a)", "(?<=a)b", "a{2000}", "a{3,2}",
     "(" * 60 + ")" * 60, "((a{100}){100}){100}", "a" * 1001],
)  # fmt: skip
def test_a_broken_or_huge_pattern_is_refused(pattern):
    """What RE2 does not know, or what grows too large, is a PatternError."""
    with pytest.raises(PatternError, match=r"."):
        Pattern(pattern)


def test_a_pattern_that_ruins_others_takes_linear_time():
    """Each character costs a bounded amount of work."""
    spent = []

    Pattern("^(a|a?)*(a*)*b$").found_in("a" * 50_000, spent.append)

    assert sum(spent) < 100_000


@given(
    pattern=st.text(st.sampled_from(list("ab.*+?|()^$[]")), max_size=8), text=st.text(st.sampled_from("ab"), max_size=8)
)
@settings(max_examples=300)
def test_patterns_agree_with_those_of_python(pattern, text):
    """Where both know the syntax, both find the same."""
    try:
        expected = re.search(pattern.replace("$", r"\Z"), text) is not None
        ours = found(pattern, text)
    except (re.error, PatternError, FutureWarning):
        return

    assert ours is expected
