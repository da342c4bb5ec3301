"""From an answer to bytes: status line, framing, Date. The framing is decided here and nowhere else."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import lru_cache
from http import HTTPStatus
from time import gmtime
from typing import Final

from emulator.http.message import Response
from emulator.kernel.clock import SECOND, Clock, Millis

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class Unsendable(ValueError):
    """A message whose first line or header fields cannot go on the wire."""


@lru_cache(maxsize=1024)
def field_name(name: str) -> str:
    """Return *name* in lower case.

    Raises: Unsendable when it is no name of a header field.
    """
    if not _TOKEN.fullmatch(name):
        raise Unsendable(f"{name!r} is not the name of a header field")
    return name.lower()


def join_head(lines: list[str]) -> bytes:
    """Return the bytes of a head made of *lines*, with the empty line that ends it.

    Raises: Unsendable when a value would break out of its line.
    """
    text = "\r\n".join(lines)
    breaks = len(lines) - 1
    if text.count("\n") != breaks or text.count("\r") != breaks or "\0" in text:
        raise Unsendable("a header field has a line break or NUL in its value")
    try:
        return text.encode("utf-8", "surrogateescape") + b"\r\n\r\n"
    except UnicodeEncodeError as error:
        raise Unsendable(f"a header field cannot be encoded: {error.reason}") from None


_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HOP_BY_HOP: Final = frozenset({"transfer-encoding", "keep-alive", "te", "trailer"})
_STATUS_LINES: Final = {status.value: f"HTTP/1.1 {status.value} {status.phrase}" for status in HTTPStatus}

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class Framing:
    """How one answer is laid on the wire; made by `AnswerWriter.begin`.

    ``head`` is the rendered status line and header fields with the final empty line. ``chunked`` tells that the pieces
    of the body are framed, ``bodiless`` that none may follow, ``close`` that the connection ends after it. ``length``
    is the promised number of bytes, None when the body ends with its last chunk or with the connection.
    """

    __slots__ = ("bodiless", "chunked", "close", "head", "length")

    def __init__(self, *, head: bytes, length: int | None, chunked: bool, bodiless: bool, close: bool) -> None:
        self.head = head
        self.length = length
        self.chunked = chunked
        self.bodiless = bodiless
        self.close = close


class AnswerWriter:
    """Renders the heads of answers; one per server, because it keeps the second's Date."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._second = -1
        self._date_line = ""

    def begin(self, response: Response, *, method: str, http_1_0: bool, keep_alive: bool) -> Framing:
        """Decide how *response* is framed and render its head.

        Raises: Unsendable.
        """
        status = response.status
        lines = [_STATUS_LINES.get(status) or _unknown_status(status)]
        promised, dated, closing = _copy_fields(response, lines)
        no_content = status < 200 or status == 204
        bodiless = no_content or status == 304 or method == "HEAD"
        length = len(response.body) if isinstance(response.body, bytes) else None
        if promised and (length is None or (bodiless and not length)):
            length = _count(promised)
        chunked = length is None and not http_1_0 and not no_content and status != 304
        keep_alive = keep_alive and not closing and (chunked or bodiless or length is not None)
        if not dated:
            lines.append(self._date())
        if chunked:
            lines.append("Transfer-Encoding: chunked")
        elif length is not None and not no_content and (status != 304 or promised):
            lines.append(f"Content-Length: {length}")
        if not keep_alive:
            lines.append("Connection: close")
        elif http_1_0:
            lines.append("Connection: keep-alive")
        return Framing(
            head=join_head(lines),
            length=length,
            chunked=chunked and not bodiless,
            bodiless=bodiless,
            close=not keep_alive,
        )

    def _date(self) -> str:
        second = self._clock.now() // SECOND
        if second != self._second:
            self._second = second
            self._date_line = f"Date: {_http_date(Millis(second * SECOND))}"
        return self._date_line


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
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Unsendable(f"Content-Length {text!r} is not a number")
    return int(text)


def _http_date(instant: Millis) -> str:
    """Return ``Fri, 20 Nov 2026 00:00:00 GMT``."""
    at = gmtime(instant // SECOND)
    return (
        f"{_DAYS[at.tm_wday]}, {at.tm_mday:02d} {_MONTHS[at.tm_mon - 1]} {at.tm_year} "
        f"{at.tm_hour:02d}:{at.tm_min:02d}:{at.tm_sec:02d} GMT"
    )


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
        write(b"0\r\n\r\n")
