"""The server's end of an instance's channel: frames in, frames out, over any stream transport of the loop."""

import asyncio
from collections.abc import Callable
from typing import Any

from emulator.services.fc.runtime.bootstrap.python.frames import BrokenFrame, FrameBuffer, Header, encode

_CHUNK = 16 * 1024

__all__ = ["Channel", "Header", "encode"]


class Channel(asyncio.BufferedProtocol):
    """Sends frames and hands each received one to *on_frame*.

    *on_lost* is called once, with the error (None at a clean end), when the other end is gone or has sent what is no
    frame, or more payload than *payload_limit* bytes.
    """

    def __init__(
        self,
        on_frame: Callable[[Header, bytes], None],
        on_lost: Callable[[Exception | None], None],
        payload_limit: int,
    ) -> None:
        self._on_frame = on_frame
        self._on_lost = on_lost
        self._buffer = FrameBuffer(payload_limit)
        self._transport: asyncio.Transport | None = None
        self._broken: Exception | None = None
        # One buffer for all reads: a fresh one of the transport's size costs a system call to get and one to free.
        self._chunk = memoryview(bytearray(_CHUNK))
        self.received = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where the transport puts what it reads."""
        return self._chunk

    def buffer_updated(self, nbytes: int) -> None:
        """Hand on every frame that is complete now."""
        self.feed(self._chunk[:nbytes])

    def feed(self, data: bytes | memoryview) -> None:
        """Take in *data* as if it had been received."""
        self.received += len(data)
        self._buffer.feed(data)
        try:
            while self._broken is None and (frame := self._buffer.next()) is not None:
                self._on_frame(*frame)
        except BrokenFrame as error:
            self._broken = error
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the end."""
        self._transport = None
        self._on_lost(self._broken or exc)

    def send(self, header: dict[str, Any], payload: bytes = b"") -> None:
        """Send one frame; does nothing when the other end is gone, which `on_lost` reports."""
        self.write(encode(header, payload))

    def write(self, data: bytes) -> None:
        """Send bytes of frames, as `send` does."""
        if self._transport is not None:
            self._transport.write(data)

    def pause(self) -> None:
        """Stop reading, so that the other end has to wait."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        """Close this end."""
        if self._transport is not None:
            self._transport.abort()
