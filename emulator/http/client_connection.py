"""One connection of the HTTP client: sends a request, parses its answer, pauses the server when it is not read.

What can go wrong with an outgoing call::

    ClientError
    +- AddressRefused     the address policy allows none of the host's addresses; nothing was sent
    +- ConnectFailed      no connection: unknown name, refused, TLS failure
    +- ConnectionLost     the connection ended before the whole answer had come
    +- AnswerTooLarge     the body is longer than the caller takes
    +- BadAnswer          what came is no HTTP answer
    +- CallTimedOut       (also a TimeoutError) the call took longer than its timeout
"""

import asyncio
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Final, NamedTuple, cast

import httptools

from emulator.http.message import Headers, Pairs


class ClientError(Exception):
    """An outgoing call did not get its answer."""


class AddressRefused(ClientError):
    """The address policy allows none of the host's addresses."""


class ConnectFailed(ClientError):
    """No connection could be made."""


class ConnectionLost(ClientError):
    """The connection ended before the whole answer had come. ``unanswered``: not one byte of it had."""

    def __init__(self, reason: str, *, unanswered: bool = False) -> None:
        self.unanswered = unanswered
        super().__init__(reason)


class AnswerTooLarge(ClientError):
    """The body of the answer is longer than the caller takes."""


class BadAnswer(ClientError):
    """The bytes received are no HTTP answer."""


class CallTimedOut(ClientError, TimeoutError):
    """The call took longer than its timeout."""


_SWITCHING: Final = 101
_HEAD_BYTES: Final = 256 * 1024
_UNREAD_BYTES: Final = 256 * 1024
_JOINED_BYTES: Final = 64 * 1024
_QUICK_ACK: Final[int | None] = getattr(socket, "TCP_QUICKACK", None)


class Answer(NamedTuple):
    """The head of an answer."""

    status: int
    headers: Headers


class ClientConnection(asyncio.Protocol):
    """Carries one request at a time: `send`, then `pieces` or `rest` to its end, then the next one if `reusable`."""

    def __init__(self) -> None:
        self.idle_since = 0.0
        self._error: Exception | None = None
        self._sending: asyncio.Task[None] | None = None
        self._writable = True
        self._drained: asyncio.Future[None] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._pace: Callable[[bool], None] | None = None
        self._switched = False
        self._begin("", switching=False)
        self._complete = True

    def _begin(self, method: str, *, switching: bool) -> None:
        self._may_switch = switching
        self._parser = httptools.HttpResponseParser(self)  # after HEAD the old one waits for a body that never comes
        self._body_allowed = method != "HEAD"
        self._fields: Pairs = []
        self._head: Answer | None = None
        self._head_bytes = 0
        self._informal = False
        self._delimited = True
        self._keep_alive = True
        self._complete = False
        self._received = False
        self._pieces: deque[bytes] = deque()
        self._unread = 0
        self._paused = False

    @property
    def reusable(self) -> bool:
        """Whether another request may be sent: both messages are complete and both sides keep the connection."""
        return (
            self._complete
            and self._keep_alive
            and self._sending is None
            and self._error is None
            and not self._transport.is_closing()
        )

    async def send(
        self, method: str, head: bytes, body: bytes | AsyncIterator[bytes], *, chunked: bool, switching: bool = False
    ) -> Answer:
        """Send one request and return the head of its answer.

        Pieces of *body* are framed when *chunked*. They are still sent while the answer comes, until the answer is
        complete or the connection is closed. With *switching* the answer may be 101: `pieces` then yields what the
        server sends, until it closes, and `write` sends to it.

        Raises: ClientError; what *body* raises, which ends the connection.
        """
        self._begin(method, switching=switching)
        if not isinstance(body, bytes):
            self._transport.write(head)
            self._sending = asyncio.get_running_loop().create_task(self._send_pieces(body, chunked=chunked))
            self._sending.add_done_callback(self._sent)
        elif len(body) <= _JOINED_BYTES:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)
        while self._head is None:
            await self._more()
        return self._head

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the answer's body as it comes.

        Raises: as `send`.
        """
        while True:
            while self._pieces:
                piece = self._pieces.popleft()
                self._unread -= len(piece)
                if self._paused and self._unread < _UNREAD_BYTES // 2:
                    self._paused = False
                    self._transport.resume_reading()
                yield piece
            if self._complete:
                return
            await self._more()

    def write(self, data: bytes) -> None:
        """Send bytes on a connection that has changed its protocol."""
        self._transport.write(data)

    def on_pace(self, pace: Callable[[bool], None]) -> None:
        """Call *pace* with False when the server reads more slowly than is sent, with True when it has caught up."""
        self._pace = pace

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()
        self._keep_alive = False
        self._stop_sending()

    # Methods of asyncio.Protocol.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Parse bytes that were received."""
        if self._switched:
            self.on_body(data)
            self._wake()
            return
        if self._complete:
            self._fail(BadAnswer("something came that was not asked for"))
            return
        self._received = True
        if self._head is None:
            self._head_bytes += len(data)
        self._parse(data)
        if self._head is None and self._head_bytes > _HEAD_BYTES:
            self._fail(BadAnswer("the head of the answer is too long"))
        if not self._complete:
            self._acknowledge()
        self._wake()

    def eof_received(self) -> None:
        """Take the end of the connection for the end of an answer without a length."""
        if self._head is not None and not self._delimited:
            self._complete = True
            self._keep_alive = False
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the call that is under way."""
        if not self._complete and self._error is None:
            reason = "the connection was closed before the answer was complete" if exc is None else str(exc)
            self._error = ConnectionLost(reason, unanswered=not self._received)
        self._keep_alive = False
        self._writable = True
        self._stop_sending()
        self._wake()

    def pause_writing(self) -> None:
        """Pause the request's body."""
        self._writable = False
        if self._pace is not None:
            self._pace(False)

    def resume_writing(self) -> None:
        """Resume sending the request's body."""
        self._writable = True
        if self._pace is not None:
            self._pace(True)
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    # Callbacks of httptools.

    def on_message_begin(self) -> None:
        """Begin a head: the first, or the one after an interim answer. One after the answer was not asked for."""
        if self._complete:
            self._keep_alive = False
        else:
            self._fields = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """Parse one header field; those of a trailer are dropped."""
        if self._head is None:
            text = value.strip(b" \t").decode("utf-8", "surrogateescape")
            self._fields.append((name.decode("ascii", "surrogateescape"), text))

    def on_headers_complete(self) -> None:
        """Keep the head, unless it is an interim one."""
        if self._complete:
            return
        status = self._parser.get_status_code()
        self._informal = 100 <= status < 200
        if self._informal:
            if status == _SWITCHING and self._may_switch:
                self._delimited = self._keep_alive = False
                self._head = Answer(status, Headers(self._fields))
            return
        headers = Headers(self._fields)
        self._body_allowed = self._body_allowed and status not in {204, 304}
        self._delimited = not self._body_allowed or "content-length" in headers or "transfer-encoding" in headers
        self._keep_alive = self._delimited and self._parser.should_keep_alive()
        self._head = Answer(status, headers)
        if not self._body_allowed:
            self._complete = True

    def on_body(self, data: bytes) -> None:
        """Keep a piece of the body; stop reading when too much waits."""
        if self._complete:  # a body after HEAD, which the parser does not expect
            self._keep_alive = False
            return
        self._pieces.append(data)
        self._unread += len(data)
        if self._unread > _UNREAD_BYTES and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        """Record that the answer is complete."""
        if not self._informal:
            self._complete = True

    async def _send_pieces(self, body: AsyncIterator[bytes], *, chunked: bool) -> None:
        try:
            async for piece in body:
                if piece:
                    self._transport.write(b"".join((b"%x\r\n" % len(piece), piece, b"\r\n")) if chunked else piece)
                if not self._writable:
                    self._drained = asyncio.get_running_loop().create_future()
                    await self._drained
        finally:
            close = getattr(body, "aclose", None)
            if close is not None:
                await close()
        if chunked:
            self._transport.write(b"0\r\n\r\n")

    def _sent(self, sending: asyncio.Task[None]) -> None:
        """Note the end of a body, or what has broken it."""
        self._sending = None
        error = None if sending.cancelled() else sending.exception()
        if isinstance(error, Exception):
            self._fail(error)
            self._wake()

    def _stop_sending(self) -> None:
        if self._sending is not None:
            self._sending.cancel()

    def _acknowledge(self) -> None:
        """Acknowledge what came at once.

        A server that writes head and body apart, without TCP_NODELAY, holds the body back until then, and the system
        would let it wait for 40 ms. Only Linux has the option.
        """
        if _QUICK_ACK is not None:
            self._transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self._head is None or self._head.status != _SWITCHING:
                self._fail(BadAnswer("the connection was switched to another protocol"))
                return
            self._switched = True
            if rest := data[upgrade.args[0] :]:
                self.on_body(rest)
        except httptools.HttpParserError as error:
            if self._complete:  # bytes follow a complete answer
                self._keep_alive = False
            else:
                self._fail(BadAnswer(f"the answer cannot be parsed: {error}"))

    async def _more(self) -> None:
        """Wait for something to come.

        Raises: the error that ended the connection.
        """
        if self._error is not None:
            raise self._error
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _fail(self, error: Exception) -> None:
        self._error = self._error or error
        self._keep_alive = False
        self._transport.abort()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
