"""InstanceExec: a client's terminal on one end, a command beside an instance on the other.

The first byte of a message tells its channel: 0 what the client types, 1 and 2 what the command writes, 3 an error of
the service, 4 a new size of the terminal, 5 the end.

Source: fc-go-sdk `instance_exec.go`, aliyun-fc2 `client.py`; the form of a size (``{"Width", "Height"}``) is assumed.
"""

import asyncio
import json
import shlex
from collections.abc import Callable, Sequence

from emulator.http.websocket import WebSocket
from emulator.services.fc.ports import Shell
from emulator.services.fc.runtime.model import RuntimeFailure

_ERROR = 3
_LAST_CHANNEL = 5
_MOST_CELLS = 1000

Start = Callable[[Callable[[int, bytes], None], Callable[[], None]], Shell]
"""Starts the command, given who gets its output and who is told of its end. Raises: OSError, RuntimeFailure."""


class Terminal:
    """One session; the other side of its `WebSocket`. It closes after *idle_s* seconds in which nothing was said."""

    def __init__(self, start: Start, idle_s: float) -> None:
        self._start = start
        self._idle_s = idle_s
        self._socket: WebSocket | None = None
        self._shell: Shell | None = None
        self._idle: asyncio.TimerHandle | None = None

    def opened(self, socket: WebSocket) -> None:
        """Start the command."""
        self._socket = socket
        self._busy()
        try:
            self._shell = self._start(self._output, self._ended)
        except (OSError, RuntimeFailure) as error:
            socket.send(bytes([_ERROR]) + str(error).encode("utf-8", "replace"))
            socket.close()

    def message(self, data: bytes) -> None:
        """Take what the client sent. One official client puts no channel in front of what is typed."""
        self._busy()
        if self._shell is None or not data:
            return
        match data[0]:
            case 0:
                self._shell.write(data[1:])
            case 4:
                size = _size(data[1:])
                if size is not None:
                    self._shell.resize(*size)
            case channel if channel > _LAST_CHANNEL:
                self._shell.write(data)

    def pace(self, go: bool) -> None:
        """Let the command wait for a client that does not keep up."""
        if self._shell is not None:
            self._shell.pace(go)

    def closed(self) -> None:
        """End the command: its client has gone."""
        if self._idle is not None:
            self._idle.cancel()
        if self._shell is not None:
            self._shell.end()

    def _output(self, channel: int, data: bytes) -> None:
        self._busy()
        if self._socket is not None:
            self._socket.send(bytes([channel]) + data)

    def _ended(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _busy(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        if self._socket is not None:
            self._idle = asyncio.get_running_loop().call_later(self._idle_s, self._socket.close)


def command_line(parts: Sequence[str]) -> list[str]:
    """Return a command in words: one text is split as a shell would, several are taken as they are.

    Raises: ValueError for a text with an open quote.
    """
    return shlex.split(parts[0]) if len(parts) == 1 else list(parts)


def _size(data: bytes) -> tuple[int, int] | None:
    """Return columns and rows, None when the message tells none."""
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    width, height = (told.get(name, told.get(name.lower())) for name in ("Width", "Height"))
    if type(width) is int and type(height) is int and 0 < width < _MOST_CELLS and 0 < height < _MOST_CELLS:
        return width, height
    return None
