"""Answers as tests, commands and files write them."""

import pytest

from emulator.wire.answers import error_in


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("SoldOut", "SoldOut", ""),
        ("FC.ResourceThrottled", "FC.ResourceThrottled", ""),
        ("SoldOut: no seat is left", "SoldOut", "no seat is left"),
        ("sold_out: no seat is left", "sold_out", "no seat is left"),
        ("full", "Error", "full"),
        ("No seat is left", "Error", "No seat is left"),
        ("no seat is left: try row 4", "Error", "no seat is left: try row 4"),
        ("", "Error", ""),
    ],
)
def test_text_of_an_error_is_its_name_both_or_its_message(text, kind, message):
    """A word with a capital is a name, as it is in the clouds and in Python."""
    assert error_in(text) == {"errorType": kind, "errorMessage": message}
