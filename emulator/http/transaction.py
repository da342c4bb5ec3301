"""One request and its answer: what the application holds while it works on it."""

import asyncio
import logging
import socket
import struct
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

from emulator.http.answer import Framing, Piece, Unsendable, pour, slices
from emulator.http.connections import Connections
from emulator.http.message import Response

_log = logging.getLogger(__name__)


class Wire(Protocol):
    """What an exchange asks of its connection."""

    def answer(self, exchange: "Exchange", response: Response) -> None:
        """Send *response*, which ends *exchange*."""
        ...

    def fail(self, exchange: "Exchange") -> None:
        """Answer *exchange* after a failure of the application itself, and close."""
        ...

    def drop(self, response: Response) -> None:
        """Let go of an answer that will not be sent."""
        ...


class Exchange:
    """One request and its answer; `respond` is what the application is given."""

    __slots__ = ("_call", "_connection", "abandoned", "answered", "http_1_0", "keep_alive", "method", "unread")

    def __init__(
        self,
        connection: Wire,
        *,
        method: str = "",
        http_1_0: bool = False,
        keep_alive: bool = False,
        unread: bool = False,
    ) -> None:
        self._connection = connection
        self._call: asyncio.Future[Any] | None = None
        self.method = method
        self.http_1_0 = http_1_0
        self.keep_alive = keep_alive
        self.unread = unread
        self.answered = False
        self.abandoned = False

    def respond(self, response: Response) -> None:
        """Send *response*. After the client has gone it is dropped; a second answer is a bug, logged and dropped."""
        if self.abandoned:
            self._connection.drop(response)
        elif self.answered:
            _log.error("a %s request was answered twice, with status %d", self.method, response.status, stack_info=True)
            self._connection.drop(response)
        else:
            self.answered = True
            self._connection.answer(self, response)

    def attend(self, call: asyncio.Future[Any]) -> None:
        """Watch the work behind the answer, so that neither side waits for the other in vain."""
        if self.abandoned:
            call.cancel()
        elif not self.answered:
            self._call = call
            call.add_done_callback(self._ended)

    def abandon(self) -> None:
        """Call the work off: the client has gone."""
        self.abandoned = True
        if self._call is not None and not self._call.done():
            self._call.cancel()

    def _ended(self, call: asyncio.Future[Any]) -> None:
        error = None if call.cancelled() else call.exception()
        if self.abandoned or self.answered or (error is None and not call.cancelled()):
            return
        _log.error("a %s request ended without an answer", self.method, exc_info=error)
        self._connection.fail(self)


class Sender:
    """Writes answers to *transport* and calls *sent* after each, telling whether the connection has to close now."""

    __slots__ = ("_connections", "_drained", "_sent", "_stream", "_transport", "_unsent", "writable")

    def __init__(self, connections: Connections, transport: asyncio.Transport, sent: Callable[[bool], None]) -> None:
        self._connections = connections
        self._transport = transport
        self._sent = sent
        self._stream: asyncio.Task[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._unsent = 0
        self.writable = True

    def send(self, exchange: Exchange, response: Response) -> None:
        """Send *response*: an ordinary one in one write, one in pieces or a long one by a task."""
        framing, response = self._frame(exchange, response)
        body = response.body
        if framing.bodiless:
            self._transport.write(framing.head)
            self.drop(response)
        elif not isinstance(body, bytes):
            self._send_pieces(framing, body)
            return
        elif len(body) > self._connections.limits.slice_bytes:
            self._send_pieces(framing, slices(body, self._connections.limits.slice_bytes))
            return
        else:
            self._transport.write(framing.head + body)
        self._sent(framing.close)

    def drop(self, response: Response) -> None:
        """Let go of an answer that will not be sent."""
        if not isinstance(response.body, bytes):
            self._connections.dispose(response.body)

    def pause(self) -> None:
        """Hold back: the client does not take what was sent."""
        self.writable = False
        self._unsent = self._transport.get_write_buffer_size()

    def resume(self) -> None:
        """Go on: the client has taken most of what was sent."""
        self.writable = True
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def stalled(self) -> bool:
        """Tell whether the client has taken nothing since this was last asked."""
        before, self._unsent = self._unsent, self._transport.get_write_buffer_size()
        return self._unsent >= before

    def close(self) -> None:
        """Let what is unsent leave, then close. `stalled` tells whether it does leave."""
        self._unsent = self._transport.get_write_buffer_size()
        self._transport.close()

    def cancel(self) -> None:
        """Stop sending: the connection is gone."""
        if self._stream is not None:
            self._stream.cancel()

    def _frame(self, exchange: Exchange, response: Response) -> tuple[Framing, Response]:
        """Frame *response*, or a 500 in its place when it cannot go on the wire."""
        begin = self._connections.writer.begin
        try:
            framing = begin(
                response, method=exchange.method, http_1_0=exchange.http_1_0, keep_alive=exchange.keep_alive
            )
            return framing, response
        except Unsendable:
            _log.exception("the answer with status %d cannot be sent", response.status)
        self.drop(response)
        substitute = self._connections.malformed(500, "the answer could not be sent")
        try:
            framing = begin(substitute, method=exchange.method, http_1_0=exchange.http_1_0, keep_alive=False)
        except Unsendable:
            _log.exception("the refusal 500 cannot be sent")
            substitute = Response(500)
            framing = begin(substitute, method=exchange.method, http_1_0=exchange.http_1_0, keep_alive=False)
        return framing, substitute

    def _send_pieces(self, framing: Framing, body: AsyncIterator[Piece]) -> None:
        self._transport.write(framing.head)
        self._stream = self._connections.tasks.spawn(self._stream_out(framing, body), "answer")

    async def _stream_out(self, framing: Framing, body: AsyncIterator[Piece]) -> None:
        try:
            await pour(framing, body, self._transport.write, self._drain)
        except Exception:
            _log.exception("an answer broke off")
            self._break_off()
            return
        finally:
            self._stream = None
        self._sent(framing.close)

    async def _drain(self) -> None:
        """Wait until the client has taken what was sent, at least as long as the other connections' turn."""
        if self.writable:
            await asyncio.sleep(0)
        else:
            self._drained = asyncio.get_running_loop().create_future()
            await self._drained

    def _break_off(self) -> None:
        """End with a reset: a plain close would make a body without a length look complete."""
        sock = self._transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()
