"""Whole numbers as text: ASCII digits, no more of them than are wanted."""

import pytest

from emulator.kernel.digits import read_digits, read_whole

NO_DIGITS = ["", " 1", "1 ", "+1", "1_000", "1.0", "1e3", "²", "٣", "-", "--5", "-+5", "x", "9" * 19, "9" * 5000]


@pytest.mark.parametrize("text", [*NO_DIGITS, "-5"])
def test_what_is_no_number_in_digits(text):
    """`int` would take some of it, and raise for some that `str.isdigit` takes."""
    assert read_digits(text) is None


@pytest.mark.parametrize("text", NO_DIGITS)
def test_what_is_no_whole_number(text):
    assert read_whole(text) is None


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("9" * 18, 10**18 - 1)])
def test_number_in_digits(text, number):
    assert read_digits(text) == read_whole(text) == number


@pytest.mark.parametrize(("text", "number"), [("-0", 0), ("-12", -12), ("-" + "9" * 18, 1 - 10**18)])
def test_number_after_a_minus(text, number):
    assert read_whole(text) == number


def test_longest_is_a_number_of_digits():
    assert (read_digits("999", 3), read_digits("1000", 3), read_whole("-999", 3)) == (999, None, -999)
