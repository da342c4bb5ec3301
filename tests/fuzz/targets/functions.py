"""What function instances send: results that stand for HTTP answers, frames of the channel."""

import contextlib

from emulator.services.fc.errors import FcError
from emulator.services.fc.runtime.bootstrap.python.frames import BrokenFrame, FrameBuffer
from emulator.services.fc.triggers.http_envelope import read_result


def http_result(data: bytes) -> None:
    """Any result is an answer, or an error of the service."""
    with contextlib.suppress(FcError):
        answered = read_result(data)
        assert isinstance(answered.body, bytes)


def frames(data: bytes) -> None:
    """However the input is cut, the same frames come out, or the channel is given up."""
    whole = _frames([data])

    assert _frames([data[at : at + 1] for at in range(len(data))]) == whole


def _frames(pieces: list[bytes]) -> tuple[list[tuple], bool]:
    buffer = FrameBuffer(512)
    found = []
    try:
        for piece in pieces:
            buffer.feed(piece)
            while (frame := buffer.next()) is not None:
                found.append((frame[0], bytes(frame[1])))
    except BrokenFrame:
        return found, True
    return found, False
