"""Frames between server and instance, and the marks in a log that comes another way."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.services.fc.runtime.bootstrap.python.frames import LENGTHS, BrokenFrame, FrameBuffer, encode
from emulator.services.fc.runtime.spawn import MarkedLog

headers = st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()))


@given(st.lists(st.tuples(headers, st.binary())), st.integers(1, 50))
def test_frames_survive_any_cutting(frames, size):
    """What was encoded comes out whole and in order, however the bytes arrive."""
    data = b"".join(encode(header, payload) for header, payload in frames)
    buffer = FrameBuffer()
    received = []

    for at in range(0, len(data), size):
        buffer.feed(data[at : at + size])
        while (frame := buffer.next()) is not None:
            received.append(frame)

    assert received == frames


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 16,
        LENGTHS.pack(2, 0) + b"{]",
        LENGTHS.pack(2, 0) + b"12",
        LENGTHS.pack(2, 0) + b"\xff\xff",
        LENGTHS.pack(2, 1001) + b"{}",
        LENGTHS.pack(200_000, 0) + b"[" * 200_000,
    ],
    ids=["lengths", "json", "no object", "no utf-8", "too much", "too deep"],
)
def test_what_is_no_frame_is_refused(data):
    """One exception type for every kind of nonsense."""
    buffer = FrameBuffer(payload_limit=1000)
    buffer.feed(data)

    with pytest.raises(BrokenFrame):
        buffer.next()


class FakeProcess:
    """Knows which calls are pending and collects output."""

    def __init__(self, *pending):
        self.pending = pending
        self.written = b""

    def expects(self, sequence):
        return sequence in self.pending

    def output(self, data):
        self.written += data


@given(st.lists(st.sampled_from([b"text\n", b"\0", b"\0" * 20, b"0123456789abcdef\n"])), st.integers(1, 30))
async def test_everything_but_the_mark_is_output(pieces, size):
    """NUL bytes of user code are passed on; the mark is not, and comes after what was written before it."""
    mark = "0123456789abcdef"
    before = b"".join(pieces)
    while b"\0" + mark.encode() + b"\n" in before:
        before = before.replace(b"\0" + mark.encode() + b"\n", b"")
    process = FakeProcess(mark)
    log = MarkedLog(process, lambda: None)
    data = before + b"\0" + mark.encode() + b"\n" + b"after"
    settled = []

    log.settle(mark, lambda: settled.append(process.written))
    for at in range(0, len(data), size):
        log.feed(data[at : at + size])
    log.close()

    assert settled == [before]
    assert process.written == before + b"after"


def test_mark_that_came_first_is_remembered():
    """The answer may arrive later than the log."""
    process = FakeProcess("0" * 16)
    log = MarkedLog(process, lambda: None)
    settled = []

    log.feed(b"said\0" + b"0" * 16 + b"\n")
    log.settle("0" * 16, lambda: settled.append(True))

    assert settled == [True]
    assert process.written == b"said"


async def test_missing_mark_is_not_waited_for_for_ever():
    """User code that closed its output still gets its answer delivered."""
    log = MarkedLog(FakeProcess(), lambda: None)

    done = asyncio.Event()
    log.settle("1" * 16, done.set)
    async with asyncio.timeout(5):
        await done.wait()
    assert done.is_set()
