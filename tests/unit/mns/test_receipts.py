"""Receipt handles: reading gives what was written, and any other text is refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.services.mns.errors import ReceiptHandleError
from emulator.services.mns.queues.visibility import ReceiptHandle, read_handle, write_handle

numbers = st.integers(0, 10**18 - 1)


@given(st.text("0123456789ABCDEF", min_size=32, max_size=32), numbers, numbers, numbers, numbers)
def test_reading_gives_what_was_written(message_id, queue_id, seq, revision, until):
    """And the text survives a query string, escaped or not."""
    text = write_handle(message_id, queue_id, seq, revision, until)

    assert read_handle(text) == ReceiptHandle(message_id, queue_id, seq, revision, until)
    assert re.fullmatch("[A-Za-z0-9=-]+", text)


@given(st.one_of(st.text(max_size=80), st.from_regex(r"[0-9A-F]{32}-[A-Za-z0-9]{0,40}={0,2}", fullmatch=True)))
def test_other_texts_are_refused_or_read(text):
    """Never anything but the service's own error."""
    try:
        told = read_handle(text)
    except ReceiptHandleError:
        return
    assert read_handle(write_handle(*told)) == told


@pytest.mark.parametrize("text", ["", "A" * 32 + "-QQ==\n", "A" * 32 + "-MQ==", "a" * 32 + "-MSAxIDEgMQ=="])
def test_texts_that_are_almost_handles(text):
    """Trailing line break, too few numbers, lower-case id."""
    with pytest.raises(ReceiptHandleError):
        read_handle(text)
