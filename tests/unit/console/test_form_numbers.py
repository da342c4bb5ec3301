"""Numbers in the console's forms and addresses."""

import pytest

from emulator.console.forms import FormRefused, read
from emulator.console.making import KINDS

QUEUE = KINDS["queue"]


def delay(text):
    return read(QUEUE.shape, QUEUE.form, {"DelaySeconds": text})["DelaySeconds"]


def test_number_is_read():
    assert delay(" 30 ") == 30


@pytest.mark.parametrize("text", ["--5", "²", "3.5", "9" * 5000, "-1"])
def test_what_is_no_number_is_refused(text):
    """In the form's own words, whatever `int` makes of it."""
    with pytest.raises(FormRefused, match="must be a whole number from 0 to"):
        delay(text)
