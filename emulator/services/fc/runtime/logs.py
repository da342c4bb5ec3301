"""The log of an instance: markers, the part that belongs to one call, and the pipe that user code writes to.

Source: Function Compute, function logs; the order of markers and summary as observed.
"""

import asyncio
import base64
import json
import math
import os
from collections.abc import Callable
from typing import Literal

from emulator.services.fc.limits import LOG_TAIL_BYTES

Marker = Literal["Invoke", "Initialize", "PreFreeze", "PreStop"]

UNHANDLED = "Unhandled function error"
HANDLED = "Handled function error"

_CHUNK = 64 * 1024
_RATE = 8 * 1024 * 1024
_BURST = 1024 * 1024


def tail(log: bytes) -> str:
    """Return the last 4096 bytes as base64 text, which is the value of ``X-Fc-Log-Result``."""
    return base64.b64encode(log[-LOG_TAIL_BYTES:]).decode("ascii")


def start_marker(marker: Marker, request_id: str) -> bytes:
    """Return the line before a call's output."""
    return f"FC {marker} Start RequestId: {request_id}\n".encode()


def end_marker(marker: Marker, request_id: str, error: str = "") -> bytes:
    """Return the line after a call's output; *error* is empty for success."""
    return f"FC {marker} End RequestId: {request_id}{', Error: ' if error else ''}{error}\n".encode()


def summary(duration_ms: float, memory_mb: int, max_memory_mb: float) -> bytes:
    """Return the empty line and the line of figures that close an invocation; a started millisecond is billed."""
    return (
        f"\nDuration: {duration_ms:.2f} ms, Billed Duration: {math.ceil(duration_ms)} ms, "
        f"Memory Size: {memory_mb} MB, Max Memory Used: {max_memory_mb:.2f} MB\n"
    ).encode()


def megabytes(value: float) -> str:
    """Return a size as failure messages write it: two decimals at most."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


class CallLog:
    """The lines of one call, the last *limit* bytes of which are kept.

    Output goes to *emit* at once, the platform's own lines with the next output or with `flush`: most calls are short
    and silent, and theirs go together.
    """

    def __init__(self, limit: int, emit: Callable[[bytes], None]) -> None:
        self._limit = limit
        self._emit = emit
        self._kept = bytearray()
        self._held = b""

    def add(self, data: bytes) -> None:
        """Append output as it came."""
        data, self._held = self._held + data, b""
        self._emit(data)
        self._kept += data
        if len(self._kept) > 2 * self._limit:
            del self._kept[: -self._limit]

    def add_line(self, line: bytes) -> None:
        """Append a line of the platform's own, on a line of its own."""
        if self._kept and self._kept[-1] != 0x0A and not self._held:
            line = b"\n" + line
        self._held += line

    def flush(self) -> None:
        """Pass on the lines that wait for output."""
        if self._held:
            self.add(b"")

    def content(self) -> bytes:
        """Return the kept part of the log, at most *limit* bytes."""
        self.flush()
        return bytes(self._kept[-self._limit :])


class Throttle:
    """Lets a megabyte through at once and 8 MB a second from then on, so that a flood slows only its source."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._allowance = float(_BURST)
        self._at = loop.time()

    def spend(self, size: int) -> float:
        """Account for *size* bytes and return the seconds to wait before reading on."""
        now = self._loop.time()
        self._allowance = min(_BURST, self._allowance + (now - self._at) * _RATE) - size
        self._at = now
        return max(0.0, -self._allowance / _RATE)


class PipeLog:
    """Reads the pipe that an instance's stdout and stderr go to; a `LogSource`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, descriptor: int, on_output: Callable[[bytes], None]) -> None:
        self._loop = loop
        self._descriptor = descriptor
        self._on_output = on_output
        self._throttle = Throttle(loop)
        self._resume: asyncio.TimerHandle | None = None
        os.set_blocking(descriptor, False)
        loop.add_reader(descriptor, self._readable)

    def settle(self, sequence: str, then: Callable[[], None]) -> None:
        """Read the output that is in the pipe now, and call *then*.

        Output written before a frame was sent is in the pipe when the frame arrives, and one read empties the pipe: no
        marker is needed to know where a call's output ends.
        """
        if self._descriptor >= 0:
            self._read()
        then()

    def close(self) -> None:
        """Read the rest, at most a megabyte of it, and close."""
        if self._descriptor < 0:
            return
        for _ in range(_BURST // _CHUNK):
            if not self._read():
                break
        self._stop_reading()
        os.close(self._descriptor)
        self._descriptor = -1

    def _readable(self) -> None:
        size = self._read()
        if size is None:
            return
        if size == 0:
            self._loop.remove_reader(self._descriptor)
            return
        pause_s = self._throttle.spend(size)
        if pause_s > 0:
            self._loop.remove_reader(self._descriptor)
            self._resume = self._loop.call_later(pause_s, self._loop.add_reader, self._descriptor, self._readable)

    def _read(self) -> int | None:
        """Read once and return the size, 0 at the end, None when nothing is there yet."""
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return None
        if data:
            self._on_output(data)
        return len(data)

    def _stop_reading(self) -> None:
        if self._resume is not None:
            self._resume.cancel()
            self._resume = None
        self._loop.remove_reader(self._descriptor)


def timed_out(timeout_s: int, max_memory_mb: float) -> str:
    """Return the message for a call that took too long."""
    return f"Function timed out after {timeout_s} seconds (maxMemoryUsage: {megabytes(max_memory_mb)}MB)"


def process_exited(duration_ms: float, max_memory_mb: float) -> str:
    """Return the message for a process that ended, crashed, or was killed for its memory."""
    return f"Process exited unexpectedly before completing request ({_figures(duration_ms, max_memory_mb)})"


def canceled(duration_ms: float, max_memory_mb: float) -> str:
    """Return the message in the log for a call whose caller did not wait for the answer."""
    return f"Invocation canceled by client ({_figures(duration_ms, max_memory_mb)})"


def error_body(message: str) -> bytes:
    """Return the error JSON for a message."""
    return json.dumps({"errorMessage": message}, separators=(",", ":")).encode("utf-8")


def _figures(duration_ms: float, max_memory_mb: float) -> str:
    return f"duration: {round(duration_ms)}ms, maxMemoryUsage: {megabytes(max_memory_mb)}MB"
