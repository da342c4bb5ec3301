"""Answers as tests, commands and files write them."""

import pytest

from emulator.wire.answers import error_in, typed_value


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


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"ok": true}', {"ok": True}), (" [1]", [1]), ('"a"', "a"), ("7", 7), ("null", None), ("done", "done"), ("", "")],
)
def test_typed_value_is_what_the_text_is_in_json_or_the_text(text, value):
    """Nobody puts quotes around a word."""
    assert typed_value(text) == value


@pytest.mark.parametrize("text", ['{"ok": true', "{'ok': true}", " [1", '"a'])
def test_value_that_begins_as_json_has_to_be_json(text):
    """A bracket that is never closed is a slip, not a text."""
    with pytest.raises(ValueError, match="line 1 column"):
        typed_value(text)
