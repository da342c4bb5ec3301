"""Receiving the body of a request.

Until the sender is known, the bytes are counted against a limit of all connections. The body of a request that is
served before its end is passed on as it comes.
"""

import asyncio

from emulator.http.connections import Connections
from emulator.http.message import BodyBroken
from emulator.http.reader import BodyTooLarge, Malformed, RequestReader
from emulator.kernel.pieces import SentPieces


class Arrival:
    """The incoming side of a connection, which receives the body of its request.

    ``pieces`` receives the body of a request that is served early, until its end; otherwise it is None. ``counted`` is
    how many bytes of the body are counted in `Connections.untrusted`.
    """

    __slots__ = ("_connections", "_limit", "_reader", "_transport", "counted", "is_paused", "pieces")

    def __init__(self, reader: RequestReader, connections: Connections, transport: asyncio.Transport) -> None:
        self._reader = reader
        self._connections = connections
        self._transport = transport
        self.is_paused = False
        self._limit = 0
        self.counted = 0
        self.pieces: SentPieces | None = None

    def pause(self) -> None:
        """Stop reading from the socket until `resume`."""
        if not self.is_paused:
            self.is_paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read from the socket again."""
        if self.is_paused:
            self.is_paused = False
            self._transport.resume_reading()

    def count(self) -> bool:
        """Count the received body of a request whose sender is not known; return False when all such are too large."""
        connections = self._connections
        size = self._reader.body_held
        connections.untrusted += size - self.counted
        self.counted = size
        limits = connections.limits
        return connections.untrusted <= limits.untrusted_bytes or size <= limits.pipelined_bytes

    def discount(self) -> None:
        """Count the body no longer: its sender is known, or it is no longer held."""
        self._connections.untrusted -= self.counted
        self.counted = 0

    def pass_on(self, limit: int) -> SentPieces:
        """Return the pieces of a body of at most *limit* bytes, which `take` fills from now on."""
        self.discount()
        self._limit = limit
        self.pieces = pieces = SentPieces(self, self._connections.limits.early_bytes)
        return pieces

    def take(self) -> bool:
        """Pass on the bytes that have come; return whether that was the end of the body."""
        assert self.pieces is not None
        try:
            pieces, is_whole = self._reader.part(self._limit)
        except BodyTooLarge:
            self.end(BodyBroken(f"it is longer than {self._limit} bytes", self._limit))
            return False
        except Malformed as error:
            self.end(BodyBroken(error.reason))
            return False
        for piece in pieces:
            self.pieces.put(piece)
        if is_whole:
            self.end(None)
        return is_whole

    def end(self, error: BodyBroken | None) -> None:
        """End the body that is passed on, if any; with *error* the rest will not come."""
        pieces, self.pieces = self.pieces, None
        if pieces is not None:
            pieces.end(error)
