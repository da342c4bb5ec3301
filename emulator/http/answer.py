"""From an answer to the socket: one request's transaction, status line, framing, Date, pieces.

The framing is decided here and nowhere else.
"""

import asyncio
import logging
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final, NamedTuple, Protocol

from emulator.http.connections import Connections
from emulator.http.message import Following, Response, Unsendable, field_name, join_head
from emulator.kernel.digits import read_digits

_log = logging.getLogger(__name__)

LAST_CHUNK = b"0\r\n\r\n"

_HOP_BY_HOP: Final = frozenset({"transfer-encoding", "keep-alive", "te", "trailer"})
_STATUS_LINES: Final = {status.value: f"HTTP/1.1 {status.value} {status.phrase}" for status in HTTPStatus}

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class Answering(Protocol):
    """The connection, as a `Transaction` uses it."""

    def answer(self, transaction: "Transaction", response: Response) -> None:
        """Send *response*, which ends *transaction*."""
        ...

    def fail(self, transaction: "Transaction") -> None:
        """Answer *transaction* with 500 after a failure of the application, and close."""
        ...

    def drop(self, response: Response) -> None:
        """Close the body of an answer that will not be sent."""
        ...


class Transaction:
    """One request and its answer; `respond` is what the application is given."""

    __slots__ = ("_call", "_connection", "abandoned", "answered", "http_1_0", "keep_alive", "method", "unread")

    def __init__(
        self,
        connection: Answering,
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
        """Cancel *call* when the client leaves; answer 500 when it ends without an answer."""
        if self.abandoned:
            call.cancel()
        elif not self.answered:
            self._call = call
            call.add_done_callback(self._ended)

    def abandon(self) -> None:
        """Cancel the work on the answer: the client has gone."""
        self.abandoned = True
        if self._call is not None and not self._call.done():
            self._call.cancel()

    def _ended(self, call: asyncio.Future[Any]) -> None:
        error = None if call.cancelled() else call.exception()
        if self.abandoned or self.answered or (error is None and not call.cancelled()):
            return
        _log.error("a %s request ended without an answer", self.method, exc_info=error)
        self._connection.fail(self)


class Framing(NamedTuple):
    """How one answer is laid on the wire; made by `frame`.

    ``head`` is the rendered status line and header fields with the final empty line. ``chunked``: the pieces
    of the body are framed; ``bodiless``: none may follow; ``close``: the connection ends after it. ``length``
    is the promised number of bytes, None when the body ends with its last chunk or with the connection.
    """

    head: bytes
    length: int | None
    chunked: bool
    bodiless: bool
    close: bool


def frame(response: Response, transaction: Transaction, date_line: Callable[[], str]) -> Framing:
    """Decide how *response* is framed and render its head; *date_line* returns the present ``Date`` field.

    Raises: Unsendable.
    """
    status = response.status
    lines = [_STATUS_LINES.get(status) or _unknown_status(status)]
    promised, dated, closing = _copy_fields(response, lines)
    no_content = status < 200 or status == 204
    bodiless = no_content or status == 304 or transaction.method == "HEAD"
    length = len(response.body) if isinstance(response.body, bytes) else None
    if promised and (length is None or (bodiless and not length)):
        length = _count(promised)
    http_1_0 = transaction.http_1_0
    chunked = length is None and not http_1_0 and not no_content and status != 304
    keep_alive = transaction.keep_alive and not closing and (chunked or bodiless or length is not None)
    if not dated:
        lines.append(date_line())
    if chunked:
        lines.append("Transfer-Encoding: chunked")
    elif length is not None and not no_content and (status != 304 or promised):
        lines.append(f"Content-Length: {length}")
    if not keep_alive:
        lines.append("Connection: close")
    elif http_1_0:
        lines.append("Connection: keep-alive")
    return Framing(join_head(lines), length, chunked and not bodiless, bodiless, not keep_alive)


def _copy_fields(response: Response, lines: list[str]) -> tuple[str, bool, bool]:
    """Append the fields that are the application's to choose.

    Returns (its Content-Length or "", whether it gave a Date, whether it wants the connection closed).
    """
    promised = ""
    dated = closing = False
    for name, value in response.headers:
        key = field_name(name)
        if key == "content-length":
            promised = value
        elif key == "connection":
            closing = closing or "close" in value.lower()
        elif key not in _HOP_BY_HOP:
            dated = dated or key == "date"
            lines.append(f"{name}: {value}")
    return promised, dated, closing


def _unknown_status(status: int) -> str:
    if not 100 <= status <= 999:
        raise Unsendable(f"{status} is not a status")
    return f"HTTP/1.1 {status} "


def _count(text: str) -> int:
    count = read_digits(text)
    if count is None:
        raise Unsendable(f"Content-Length {text!r} is not a number")
    return count


Piece = bytes | memoryview


async def slices(body: bytes, size: int) -> AsyncIterator[Piece]:
    """Yield *body* in slices of *size* bytes, without copying it."""
    view = memoryview(body)
    for start in range(0, len(view), size):
        yield view[start : start + size]


async def pour(
    framing: Framing, body: AsyncIterator[Piece], write: Callable[[Piece], None], drained: Callable[[], Awaitable[None]]
) -> None:
    """Write every piece of *body* as *framing* says, each after the one before it has *drained*; close *body* after.

    Raises: Unsendable when the body is not as long as its head has promised; what *body* raises.
    """
    sent = 0
    try:
        async for piece in body:
            sent += len(piece)
            if framing.length is not None and sent > framing.length:
                raise Unsendable(f"the body outgrew its length of {framing.length} bytes")
            if piece:
                write(b"".join((b"%x\r\n" % len(piece), piece, b"\r\n")) if framing.chunked else piece)
                await drained()
        if framing.length is not None and sent < framing.length:
            raise Unsendable(f"the body has {sent} bytes of {framing.length}")
    finally:
        close = getattr(body, "aclose", None)
        if close is not None:
            await close()
    if framing.chunked:
        write(LAST_CHUNK)


class Sender:
    """Writes answers to *transport* and calls *sent* after each, telling whether the connection has to close now."""

    __slots__ = ("_connections", "_drained", "_follows", "_sent", "_stream", "_transport", "_unsent", "writable")

    def __init__(self, connections: Connections, transport: asyncio.Transport, sent: Callable[[bool], None]) -> None:
        self._connections = connections
        self._transport = transport
        self._sent = sent
        self._stream: asyncio.Task[None] | None = None
        self._follows = False
        self._drained: asyncio.Future[None] | None = None
        self._unsent = 0
        self.writable = True

    def send(self, transaction: Transaction, response: Response) -> None:
        """Send *response*: an ordinary one in one write, one in pieces or a long one by a task."""
        framing, response = self._frame(transaction, response)
        body = response.body
        if framing.bodiless:
            self._transport.write(framing.head)
            self.drop(response)
        elif not isinstance(body, bytes):
            self._follows = isinstance(response, Following)
            self._send_pieces(framing, body)
            return
        elif len(body) > self._connections.limits.slice_bytes:
            self._send_pieces(framing, slices(body, self._connections.limits.slice_bytes))
            return
        else:
            self._transport.write(framing.head + body)
        self._sent(framing.close)

    def drop(self, response: Response) -> None:
        """Close the body of an answer that will not be sent."""
        if not isinstance(response.body, bytes):
            self._connections.dispose(response.body)

    def pause(self) -> None:
        """Pause: the client reads more slowly than the answer is sent."""
        self.writable = False
        self._unsent = self._transport.get_write_buffer_size()

    def resume(self) -> None:
        """Resume sending: the client has read most of what was sent."""
        self.writable = True
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def stalled(self) -> bool:
        """Whether the client has read nothing since the last call."""
        before, self._unsent = self._unsent, self._transport.get_write_buffer_size()
        return self._unsent >= before

    def end_following(self) -> bool:
        """End the answer under way, and the connection, if it would last until its client leaves; return whether so."""
        if not self._follows or self._stream is None:
            return False
        self._stream.cancel()
        return True

    def close(self) -> None:
        """Close once everything is sent; `stalled` says whether the client still reads."""
        self._unsent = self._transport.get_write_buffer_size()
        self._transport.close()

    def cancel(self) -> None:
        """Stop sending: the connection is gone."""
        self._follows = False
        if self._stream is not None:
            self._stream.cancel()

    def _frame(self, transaction: Transaction, response: Response) -> tuple[Framing, Response]:
        """Frame *response*, or a 500 in its place when it cannot go on the wire."""
        date_line = self._connections.date_line
        try:
            return frame(response, transaction, date_line), response
        except Unsendable:
            _log.exception("the answer with status %d cannot be sent", response.status)
        self.drop(response)
        transaction.keep_alive = False
        substitute = self._connections.malformed(500, "the answer could not be sent")
        try:
            return frame(substitute, transaction, date_line), substitute
        except Unsendable:
            _log.exception("the refusal 500 cannot be sent")
        substitute = Response(500)
        return frame(substitute, transaction, date_line), substitute

    def _send_pieces(self, framing: Framing, body: AsyncIterator[Piece]) -> None:
        self._transport.write(framing.head)
        self._stream = self._connections.tasks.spawn(self._stream_out(framing, body), "answer")

    async def _stream_out(self, framing: Framing, body: AsyncIterator[Piece]) -> None:
        close = framing.close
        try:
            await pour(framing, body, self._transport.write, self._drain)
        except asyncio.CancelledError:
            if not self._follows:
                raise
            close = True
            if framing.chunked:
                self._transport.write(LAST_CHUNK)
        except Exception:
            _log.exception("an answer broke off")
            self._break_off()
            return
        finally:
            self._stream = None
        self._sent(close)

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
