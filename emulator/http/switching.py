"""Connections that change their protocol: the answer 101, and a relay to a server that speaks what comes after it.

Source: RFC 9110 section 7.8 (Upgrade), section 15.2.2 (101).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from emulator.http.client_connection import ClientError
from emulator.http.connections import NEVER, Connections
from emulator.http.message import Headers, Response

_log = logging.getLogger(__name__)


class Successor(Protocol):
    """Handles a connection after its protocol was switched."""

    def take(self, transport: asyncio.Transport, connections: Connections, first: bytes) -> None:
        """Take over a connection; *first* are the bytes that were already received."""
        ...


class SwitchingProtocols(Response):
    """An answer after which the connection belongs to ``socket``; *body* is closed when it cannot be sent."""

    __slots__ = ("socket",)

    def __init__(
        self, socket: Successor, headers: list[tuple[str, str]], body: bytes | AsyncIterator[bytes] = b""
    ) -> None:
        super().__init__(101, body, headers)
        self.socket = socket

    def head(self) -> bytes:
        """Return the bytes of this answer."""
        lines = ["HTTP/1.1 101 Switching Protocols", *(f"{name}: {value}" for name, value in self.headers)]
        return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


def asks_for_websocket(headers: Headers) -> bool:
    """Whether a request asks for a WebSocket in place of an answer."""
    return headers.get("upgrade").lower() == "websocket" and "upgrade" in headers.get("connection").lower()


class Upstream(Protocol):
    """A server's connection, for sending."""

    def write(self, data: bytes) -> None:
        """Send bytes."""
        ...

    def on_pace(self, pace: Callable[[bool], None]) -> None:
        """Call *pace* with False when the server reads more slowly than is sent, with True when it has caught up."""
        ...


class Pieces(Protocol):
    """The bytes that a server sends after the switch, piece by piece."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None:
        """Stop reading and close the connection to the server."""
        ...


class Relay(asyncio.Protocol):
    """Passes bytes between a client, whose connection it takes over, and a server, in both directions.

    A side that reads slowly pauses the other. When either connection ends, the other is closed.
    """

    def __init__(self, pieces: Pieces, upstream: Upstream) -> None:
        self.deadline = NEVER
        self._pieces = pieces
        self._upstream = upstream
        self._transport: asyncio.Transport | None = None
        self._connections: Connections | None = None
        self._passing: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    def take(self, transport: asyncio.Transport, connections: Connections, first: bytes) -> None:
        """Take over a connection; *first* are the bytes that were already received."""
        self._transport = transport
        self._connections = connections
        connections.add(self)
        transport.set_protocol(self)
        self._upstream.on_pace(self._pace)
        if first:
            self._upstream.write(first)
        self._passing = connections.tasks.spawn(self._pass_on(transport), "relay")

    def overdue(self) -> None:
        """Do nothing; never called, as the connection has no deadline."""

    def wind_down(self) -> None:
        """Close: the server is stopping."""
        self.abort()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Pass on what the client sent."""
        self._upstream.write(data)

    def pause_writing(self) -> None:
        """Pause the server: the client reads more slowly."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Resume reading from the server."""
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the server's side too."""
        if self._connections is not None:
            self._connections.discard(self)
        if self._passing is not None:
            self._passing.cancel()

    def _pace(self, go: bool) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if go:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    async def _pass_on(self, transport: asyncio.Transport) -> None:
        try:
            async for piece in self._pieces:
                transport.write(piece)
                await self._writable.wait()
            transport.close()
        except ClientError as error:
            _log.debug("a relayed connection ended: %s", error)
            transport.abort()
        finally:
            await self._pieces.aclose()
