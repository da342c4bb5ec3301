"""The server's side of a WebSocket (RFC 6455): the handshake, messages in, messages out. No extensions.

A handler answers a request with `accept`'s response; from then on the connection speaks frames, and what arrives is
handed to a `Talk`.
"""

import asyncio
import binascii
import hashlib
import struct
from enum import IntEnum
from typing import Final, Protocol, assert_never

from emulator.http.connections import NEVER, Connections
from emulator.http.message import Request
from emulator.http.switching import SwitchingProtocols, asks_for_websocket

_MAGIC: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_LARGEST_MESSAGE: Final = 1024 * 1024
_LARGEST_CONTROL: Final = 125

NORMAL: Final = 1000
GOING_AWAY: Final = 1001
_PROTOCOL_ERROR: Final = 1002
_TOO_BIG: Final = 1009


class Opcode(IntEnum):
    """What a frame is."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


_OPCODES = frozenset(Opcode)


class Talk(Protocol):
    """Receives the messages of a `WebSocket`."""

    def opened(self, socket: "WebSocket") -> None:
        """Called when the connection is open."""
        ...

    def message(self, data: bytes) -> None:
        """Called with each complete message, text or binary."""
        ...

    def pace(self, go: bool) -> None:
        """Called with False when the client reads more slowly than is sent, and with True when it has caught up."""
        ...

    def closed(self) -> None:
        """Called when the connection has ended."""
        ...


class NoHandshake(Exception):
    """The request does not begin a WebSocket; the text says what is missing."""


def accept(request: Request, talk: Talk) -> SwitchingProtocols:
    """Return the answer to a handshake, after which *talk* has the connection.

    Raises: NoHandshake.
    """
    headers = request.headers
    if not asks_for_websocket(headers):
        raise NoHandshake("an upgrade to websocket is required")
    if headers.get("sec-websocket-version") != "13":
        raise NoHandshake("Sec-WebSocket-Version must be 13")
    key = headers.get("sec-websocket-key").encode("ascii", "replace")
    if len(key) != 24:  # 16 bytes in base64
        raise NoHandshake("Sec-WebSocket-Key is required")
    digest = hashlib.sha1(key + _MAGIC, usedforsecurity=False).digest()
    agreed = binascii.b2a_base64(digest, newline=False).decode("ascii")
    pairs = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", agreed)]
    return SwitchingProtocols(WebSocket(talk), pairs)


class WebSocket(asyncio.Protocol):
    """One open WebSocket; a `Connection` without a deadline."""

    def __init__(self, talk: Talk) -> None:
        self.deadline = NEVER
        self._talk = talk
        self._buffer = bytearray()
        self._message = bytearray()
        self._fragmented = False
        self._closing = False
        self._transport: asyncio.Transport | None = None
        self._connections: Connections | None = None

    def take(self, transport: asyncio.Transport, connections: Connections, first: bytes) -> None:
        """Take over a connection; *first* are the bytes that were already received."""
        self._transport = transport
        self._connections = connections
        connections.add(self)
        transport.set_protocol(self)
        self._talk.opened(self)
        if first:
            self.data_received(first)

    def overdue(self) -> None:
        """Do nothing; never called, as the connection has no deadline."""

    def wind_down(self) -> None:
        """Close: the server is stopping."""
        self.close(GOING_AWAY)

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def send(self, data: bytes) -> None:
        """Send a message: as text when it is UTF-8, which one of the official clients insists on, else as binary."""
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            self._frame(Opcode.BINARY, data)
        else:
            self._frame(Opcode.TEXT, data)

    def close(self, status: int = NORMAL) -> None:
        """Send a close frame, then close the connection."""
        if not self._closing and self._transport is not None:
            self._frame(Opcode.CLOSE, struct.pack("!H", status))
            self._closing = True
            self._transport.close()

    def _frame(self, opcode: Opcode, data: bytes) -> None:
        if self._closing or self._transport is None:
            return
        size = len(data)
        if size <= _LARGEST_CONTROL:
            head = struct.pack("!BB", 0x80 | opcode, size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", 0x80 | opcode, 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 127, size)
        self._transport.write(head + data)

    def data_received(self, data: bytes) -> None:
        """Parse the bytes of frames."""
        self._buffer += data
        while not self._closing and self._step():
            pass

    def pause_writing(self) -> None:
        """Have *talk* pause: the client reads more slowly."""
        self._talk.pace(False)

    def resume_writing(self) -> None:
        """Have *talk* resume sending."""
        self._talk.pace(True)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell *talk* that the connection has ended."""
        self._closing = True
        if self._connections is not None:
            self._connections.discard(self)
        self._talk.closed()

    def _step(self) -> bool:
        """Take one frame out of what has come; return False when more is needed."""
        buffer = self._buffer
        if len(buffer) < 2:
            return False
        final, reserved, opcode = buffer[0] & 0x80, buffer[0] & 0x70, buffer[0] & 0x0F
        size, at = buffer[1] & 0x7F, 2
        if size == 126:
            size, at = int.from_bytes(buffer[2:4], "big"), 4
        elif size == 127:
            size, at = int.from_bytes(buffer[2:10], "big"), 10
        if len(buffer) < at:
            return False
        if reserved or not buffer[1] & 0x80:  # a client must mask, and no extension was negotiated
            self.close(_PROTOCOL_ERROR)
            return False
        if size + len(self._message) > _LARGEST_MESSAGE:
            self.close(_TOO_BIG)
            return False
        end = at + 4 + size
        if len(buffer) < end:
            return False
        payload = _unmask(bytes(buffer[at + 4 : end]), bytes(buffer[at : at + 4]))
        del buffer[:end]
        self._take_frame(opcode, payload, final=bool(final))
        return True

    def _take_frame(self, number: int, payload: bytes, *, final: bool) -> None:
        if number not in _OPCODES or (number >= Opcode.CLOSE and (not final or len(payload) > _LARGEST_CONTROL)):
            self.close(_PROTOCOL_ERROR)
            return
        opcode = Opcode(number)
        match opcode:
            case Opcode.PING:
                self._frame(Opcode.PONG, payload)
            case Opcode.PONG:
                pass
            case Opcode.CLOSE:
                self.close()
            case Opcode.TEXT | Opcode.BINARY | Opcode.CONTINUATION:
                self._take_data(payload, continues=opcode is Opcode.CONTINUATION, final=final)
            case _:
                assert_never(opcode)

    def _take_data(self, payload: bytes, *, continues: bool, final: bool) -> None:
        """Add a frame to the message that is being received; one that continues must follow one that was not final."""
        if continues != self._fragmented:
            self.close(_PROTOCOL_ERROR)
            return
        self._message += payload
        self._fragmented = not final
        if final:
            message, self._message = bytes(self._message), bytearray()
            self._talk.message(message)


def _unmask(payload: bytes, mask: bytes) -> bytes:
    if not payload:
        return payload
    size = len(payload)
    key = int.from_bytes((mask * (size // 4 + 1))[:size], "big")
    return (int.from_bytes(payload, "big") ^ key).to_bytes(size, "big")
