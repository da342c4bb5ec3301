"""From bytes to requests, without any I/O: one `RequestReader` per connection.

`httptools` parses; this module decides how much it is given. A head is handed over only when it is complete, and a
body only up to its end, so the parser never runs ahead into the next pipelined request: that one stays in the buffer
until it is asked for. What the parser tolerates but a strict server must not (several ``Host`` fields, foreign
transfer codings, spare blanks in the request line, targets that are no target) is refused here.
"""

import re
from typing import Final, NamedTuple

import httptools

from emulator.http.connections import HttpLimits
from emulator.http.message import Headers, Pairs, Request

_END: Final = b"\r\n\r\n"
_BARE_LF = re.compile(rb"(?<!\r)\n")
_LINE_ENDS = re.compile(rb"(?:\r\n)+")
_METHOD_START = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,32}(?: |\Z)")
_VERSION = re.compile(rb".* HTTP/[0-9](?:\.[0-9])?\Z", re.DOTALL)
_AUTHORITY = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=%-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{0,5}))?")
_ABSOLUTE = re.compile(r"https?://([^/?#]*)([^#]*)\Z", re.IGNORECASE)


class Malformed(Exception):
    """The input is no HTTP request this server takes. ``status`` is the answer's."""

    def __init__(self, status: int, reason: str) -> None:
        self.status = status
        self.reason = reason
        super().__init__(reason)


class BodyTooLarge(Exception):
    """A body outgrew what its request may carry."""


class Incoming(NamedTuple):
    """A request whose head has been read.

    ``length`` is the declared length of the body (0 without a body, None when it is chunked); ``expects_continue``
    that the client waits for ``100 Continue``; ``keep_alive`` that the connection may serve another request.
    """

    request: Request
    length: int | None
    keep_alive: bool
    http_1_0: bool
    expects_continue: bool

    def of_proxy(self) -> "Incoming":
        """Return the request without its ``Proxy-`` header fields, as the only one of its connection."""
        kept = [pair for pair in self.request.headers.pairs if not pair[0].lower().startswith("proxy-")]
        self.request.headers = Headers(kept)
        return self._replace(keep_alive=False)


class RequestReader:
    """Cuts the bytes of one connection into requests. Use in turn: `feed`, `head`, `body` until it gives the body.

    In place of `body` there is `part`, until it gives the end. After `Malformed` or `BodyTooLarge` the connection is of
    no further use.
    """

    _body: list[bytes]
    _length: int | None
    _keep_alive: bool | None

    def __init__(self, limits: HttpLimits, *, scheme: str = "http", remote: str = "") -> None:
        self._limits = limits
        self._peer = (scheme, remote)
        self._parser: httptools.HttpRequestParser | None = None
        self._buffer = b""
        self._start = 0  # index into the buffer; the bytes before it have been parsed
        self._scanned = 0  # index into the buffer; no head ends before it
        self._begin()

    @property
    def held(self) -> int:
        """Bytes received and not yet part of a request."""
        return len(self._buffer) - self._start

    @property
    def body_held(self) -> int:
        """Bytes of the present request's body that have come, framing included."""
        return self._body_size + self.held

    def feed(self, data: bytes) -> None:
        """Parse bytes that were received."""
        self._buffer = self._buffer[self._start :] + data if self.held else data
        self._scanned -= self._start
        self._start = 0

    def head(self) -> Incoming | None:
        """Return the next request's head, or None when it is not complete yet.

        Raises: Malformed.
        """
        if self._start == len(self._buffer):
            return None
        start = self._skip_line_ends()
        if start is None:
            return None
        end = self._buffer.find(_END, max(start, self._scanned - 3))
        line_end = self._buffer.find(b"\r\n", start)
        upto = end if end >= 0 else len(self._buffer)
        self._check_size((line_end if line_end >= 0 else upto) - start, upto - start)
        if end < 0:
            self._check_beginning()
            self._scanned = len(self._buffer)
            return None
        self._start = self._scanned = end + 4
        return self._parse(self._buffer[start : end + 4], self._buffer[start:line_end])

    def body(self, limit: int) -> bytes | None:
        """Return the body of the request begun by `head`, or None when it is not complete yet.

        Raises: BodyTooLarge when it grows beyond *limit* bytes; Malformed.
        """
        pieces = self.pieces(limit)
        return None if pieces is None else b"".join(pieces)

    def pieces(self, limit: int) -> list[bytes] | None:
        """Return the body as `body` does, in the pieces it came in.

        Raises: as `body`.
        """
        if not self._done:
            if self._length is None:
                self._feed_chunked()
            else:
                start = self._start
                self._start = min(start + self._length - self._body_size, len(self._buffer))
                self._give(self._buffer[start : self._start])
            if self._body_size > limit:
                raise BodyTooLarge
        if not self._done:
            return None
        pieces = self._body
        self._begin()
        if not self.held:
            self._buffer = b""
            self._start = self._scanned = 0
        return pieces

    def part(self, limit: int) -> tuple[list[bytes], bool]:
        """Return the part of the body received since the last call, and whether it is the last.

        Raises: as `body`.
        """
        pieces = self.pieces(limit)
        if pieces is not None:
            return pieces, True
        pieces, self._body = self._body, []
        return pieces, False

    def rest(self) -> bytes:
        """Remove and return the bytes received after the last request."""
        rest, self._buffer, self._start = self._buffer[self._start :], b"", 0
        return rest

    def close(self) -> None:
        """Drop all input, and the parser, which refers back to this object."""
        self._parser = None
        self._body.clear()
        self._buffer = self._tail = b""
        self._start = 0

    # httptools calls these while it is fed.

    def on_url(self, url: bytes) -> None:
        """Take the request target, which may come in pieces."""
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Parse one header field; those of a chunked body's trailer are dropped."""
        if self._keep_alive is not None:
            return
        size = len(name)
        if size == 4 and name.lower() == b"host":
            self._hosts += 1
        elif size == 14 and name.lower() == b"content-length":
            self._length = int(value)  # the parser has checked that it is a number, and the only one
        elif size == 17 and name.lower() == b"transfer-encoding":
            self._codings.append(value.strip(b" \t").lower())
        self._fields.append((name.decode("ascii"), value.decode("utf-8", "surrogateescape").strip(" \t")))

    def on_headers_complete(self) -> None:
        """Note whether the connection can go on after this request."""
        if self._keep_alive is None:
            assert self._parser is not None
            self._keep_alive = self._parser.should_keep_alive()

    def on_body(self, data: bytes) -> None:
        """Take a piece of the body."""
        self._body.append(data)
        self._body_size += len(data)

    def on_message_complete(self) -> None:
        """Record that the request is complete."""
        self._done = True

    def _begin(self) -> None:
        self._fields: Pairs = []
        self._target = b""
        self._hosts = 0
        self._length = 0
        self._codings: list[bytes] = []
        self._keep_alive = None
        self._body = []
        self._body_size = 0
        self._overhead = 0
        self._tail = b""
        self._done = False

    def _skip_line_ends(self) -> int | None:
        """Pass over empty lines before a request, as some clients send one after a body.

        Returns where the request begins, None when nothing else has come yet.
        """
        if self._buffer.startswith(b"\r", self._start):
            stray = _LINE_ENDS.match(self._buffer, self._start)
            if stray is not None:
                self._start = self._scanned = stray.end()
        rest = self.held
        return None if rest == 0 or (rest == 1 and self._buffer.endswith(b"\r")) else self._start

    def _check_size(self, line: int, head: int) -> None:
        if line > self._limits.target_bytes:
            raise Malformed(414, "the request target is too long")
        if head - line > self._limits.head_bytes:
            raise Malformed(431, "the header fields are too long")

    def _check_beginning(self) -> None:
        """Refuse at once what cannot become a head, instead of waiting for an end that never comes."""
        if not _METHOD_START.match(self._buffer, self._start):
            raise Malformed(400, "the input does not begin with a method")
        if _BARE_LF.search(self._buffer, max(self._start, self._scanned - 1)):
            raise Malformed(400, "a line does not end with CR LF")

    def _parse(self, block: bytes, line: bytes) -> Incoming:
        if not line.endswith((b" HTTP/1.1", b" HTTP/1.0")):
            if _VERSION.match(line):
                raise Malformed(505, "the HTTP version is not 1.0 or 1.1")
            raise Malformed(400, "the request line is not METHOD TARGET HTTP/1.1")
        if self._parser is None:
            self._parser = httptools.HttpRequestParser(self)
        parser = self._parser
        upgrade = self._give(block)
        if self._keep_alive is None:  # the parser stopped short of the end of this block
            raise Malformed(400, "the header fields do not end where they should")
        method = parser.get_method()
        if line[:-9] != b"%b %b" % (method, self._target):
            raise Malformed(400, "the request line is not METHOD TARGET HTTP/1.1")
        http_1_0 = line.endswith(b"0")
        self._check_fields(http_1_0=http_1_0)
        if self._codings:
            self._length = None
        request = self._request(method.decode("ascii"))
        if upgrade:
            self._read_on(request)
        expects = not http_1_0 and self._expectation(request)
        keep_alive = self._keep_alive and request.method != "CONNECT"
        return Incoming(request, self._length, keep_alive, http_1_0, expects)

    def _check_fields(self, *, http_1_0: bool) -> None:
        if len(self._fields) > self._limits.header_fields:
            raise Malformed(431, "there are too many header fields")
        if self._hosts != 1 and (self._hosts > 1 or not http_1_0):
            raise Malformed(400, "there must be exactly one Host field")
        if self._codings:
            if http_1_0:
                raise Malformed(400, "HTTP/1.0 has no transfer codings")
            if self._codings != [b"chunked"]:
                raise Malformed(501, "the only transfer coding is chunked")

    def _expectation(self, request: Request) -> bool:
        expected = request.headers.get("expect")
        if expected and expected.lower() != "100-continue":
            raise Malformed(417, "the only expectation is 100-continue")
        return bool(expected)

    def _request(self, method: str) -> Request:
        target, authority = _split_target(method, self._target.decode("utf-8", "surrogateescape"))
        scheme, remote = self._peer
        return Request(method, target, Headers(self._fields), scheme=scheme, remote=remote, authority=authority)

    def _read_on(self, request: Request) -> None:
        """Go on after a head in which the parser saw the end of HTTP: CONNECT, or ``Connection: Upgrade``.

        No upgrade is offered, and a client that merely asks (Java's asks for h2c with every request) sends its body
        all the same. The parser would take that body for the next request, so a fresh one gets its length.
        """
        self._parser = None
        if request.method == "CONNECT":
            self._length = 0
        elif self._length != 0:
            self._parser = httptools.HttpRequestParser(self)
            self._done = False
            framing = "Transfer-Encoding: chunked" if self._length is None else f"Content-Length: {self._length}"
            self._give(f"POST / HTTP/1.1\r\n{framing}\r\n\r\n".encode("ascii"))

    def _give(self, data: bytes) -> bool:
        """Feed the parser; return whether it saw the end of HTTP on this connection."""
        if data:
            assert self._parser is not None
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade:
                return True
            except httptools.HttpParserInvalidMethodError:
                raise Malformed(501, "the method is not known") from None
            except httptools.HttpParserError as error:
                raise Malformed(400, str(error) or "the request cannot be parsed") from None
        return False

    def _feed_chunked(self) -> None:
        """Feed a chunked body up to its end, which can only be where an empty line ends.

        Sizes, extensions and trailers may not take much more room than the body they frame.
        """
        window = self._tail + self._buffer[self._start :]
        fed = len(self._tail)
        before = self._body_size
        while not self._done and fed < len(window):
            end = window.find(_END, max(0, fed - 3))
            upto = end + 4 if end >= 0 else len(window)
            self._give(window[fed:upto])
            fed = upto
        self._overhead += fed - len(self._tail) - (self._body_size - before)
        if self._overhead > self._limits.head_bytes + 16 * self._body_size:
            raise Malformed(400, "the chunks carry more framing than content")
        self._tail = window[max(0, fed - 3) : fed]
        self._start = self._scanned = len(self._buffer) - (len(window) - fed)


def _split_target(method: str, target: str) -> tuple[str, str | None]:
    """Return (target in origin form, authority named in it).

    Raises: Malformed.
    """
    if method == "CONNECT":
        if not _is_authority(target):
            raise Malformed(400, "the target of CONNECT is not host:port")
        return target, target
    if target.startswith("/"):
        if "#" in target:
            raise Malformed(400, "the request target has a fragment")
        return target, None
    if target == "*" and method == "OPTIONS":
        return target, None
    absolute = _ABSOLUTE.match(target)
    if absolute is None or not _is_authority(absolute[1]):
        raise Malformed(400, "the request target is neither a path nor an http URL")
    rest = absolute[2]
    return rest if rest.startswith("/") else f"/{rest}", absolute[1]


def _is_authority(text: str) -> bool:
    """Whether *text* is ``host`` or ``host:port``; user names have no place in a request target."""
    match = _AUTHORITY.fullmatch(text)
    return match is not None and int(match[1] or 0) <= 65535
