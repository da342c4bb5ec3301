"""HTTP messages, with nothing of any service: Request, Response, and what their heads may hold.

A request keeps what arrived on the wire (target undecoded, headers in order), because signatures are computed over
it. Bytes above ASCII survive: texts are decoded as UTF-8 with ``surrogateescape`` and encode back to the same bytes.
"""

import re
from binascii import a2b_qp
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote, unquote, urlsplit

from emulator.kernel.frozen import frozen

if TYPE_CHECKING:
    import asyncio

    from emulator.kernel.pieces import SentPieces

Pairs = list[tuple[str, str]]

FORM_BYTES: Final = 1024 * 1024
"""A longer form body is not decoded. The largest legal one is a CreateFlow with a large definition."""

FORM_PAIRS: Final = 1000
"""Pairs that are decoded of a form body; no operation takes as many."""


class Headers:
    """Header fields in the order and spelling they arrived; look-ups are by lower-case name."""

    __slots__ = ("_index", "pairs")

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self.pairs: Pairs = list(pairs)
        index: dict[str, str] = {}
        for name, value in self.pairs:
            index.setdefault(name.lower(), value)
        self._index = index

    def get(self, name: str, default: str = "") -> str:
        """Return the first value of *name* (lower case), or *default*."""
        return self._index.get(name, default)

    def all(self, name: str) -> list[str]:
        """Return every value of *name* (lower case), in order."""
        if len(self._index) == len(self.pairs):  # nothing is repeated
            value = self._index.get(name)
            return [] if value is None else [value]
        return [value for key, value in self.pairs if key.lower() == name]

    def starting_with(self, prefix: str) -> Pairs:
        """Return (lower-case name, value) of every field whose name starts with *prefix*, in order of arrival."""
        if len(self._index) == len(self.pairs):  # nothing is repeated, and the index has the names in lower case
            return [item for item in self._index.items() if item[0].startswith(prefix)]
        return [(key.lower(), value) for key, value in self.pairs if key.lower().startswith(prefix)]

    def __contains__(self, name: str) -> bool:
        return name in self._index

    def has_any(self, names: frozenset[str]) -> bool:
        """Whether there is a field of any of *names* (lower case)."""
        return not names.isdisjoint(self._index)

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)


class BodyBroken(Exception):
    """The rest of a body that is served while it comes will not come; *limit* is how long it may be, if it is longer.

    The text says why.
    """

    def __init__(self, reason: str, limit: int = 0) -> None:
        self.limit = limit
        super().__init__(reason)


_FETCH_METADATA = frozenset({"sec-fetch-site", "sec-fetch-dest"})


class Request:
    """One request as received.

    ``target`` is the request target in origin form (path and query, undecoded; an absolute-form target has been
    reduced to it, its authority is in ``authority``). ``path`` and ``query`` are its two halves, undecoded; ``query``
    is None when there is no ``?``. ``scheme`` is ``http`` or ``https``.

    `Application.admit` sets ``trusted`` when it knows who sent the request, whose body may then be larger, and keeps in
    ``admitted`` its findings for `Application.serve`. ``fields`` are those of an upload form, once read. ``arriving``
    is the body of a request that is served early, before it has come whole; `body` is empty then.
    """

    __slots__ = (
        "_body",
        "_form_pairs",
        "_pieces",
        "_query_pairs",
        "admitted",
        "arriving",
        "authority",
        "fields",
        "headers",
        "method",
        "path",
        "query",
        "remote",
        "scheme",
        "target",
        "trusted",
    )

    def __init__(
        self,
        method: str,
        target: str,
        headers: Headers,
        body: bytes = b"",
        *,
        scheme: str = "http",
        remote: str = "127.0.0.1",
        authority: str | None = None,
    ) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self._body = body
        self._pieces: list[bytes] = []
        self.scheme = scheme
        self.remote = remote
        self.authority = authority
        path, mark, query = target.partition("?")
        self.path = path
        self.query = query if mark else None
        self.trusted = False
        self.admitted: Any = None
        self.arriving: SentPieces | None = None
        self.fields: Any = None
        self._query_pairs: Pairs | None = None
        self._form_pairs: Pairs | None = None

    @property
    def is_of_browser(self) -> bool:
        """Whether a web browser has sent the request, judging by its head.

        All browsers call themselves Mozilla, and new ones send fetch metadata; libraries that follow the Fetch standard
        outside of a browser send ``Sec-Fetch-Mode`` alone. A request that accepts HTML counts too unless it is signed:
        Java's own client always accepts it.
        """
        headers = self.headers
        if headers.get("user-agent").startswith("Mozilla/") or headers.has_any(_FETCH_METADATA):
            return True
        return "text/html" in headers.get("accept") and "authorization" not in headers

    @property
    def body(self) -> bytes:
        """The body, decoded from its transfer coding; empty until it has arrived whole."""
        if self._pieces:
            self._body, self._pieces = b"".join(self._pieces), []
        return self._body

    @body.setter
    def body(self, content: bytes) -> None:
        self.take_body([content])

    def take_body(self, pieces: list[bytes]) -> None:
        """Set the body; many pieces are joined when it is asked for, because that takes long for a large one."""
        if len(pieces) == 1:
            self._body = pieces[0]
        else:
            self._body, self._pieces = b"", pieces
        self._form_pairs = None  # the head may have been read before the body came

    @property
    def body_size(self) -> int:
        """How many bytes of the body have been received."""
        if self.arriving is not None:
            return self.arriving.size
        return sum(map(len, self._pieces)) or len(self._body)

    @property
    def decoded_path(self) -> str:
        """The path with percent-escapes decoded once."""
        return unquote(self.path, errors="surrogateescape")

    @property
    def query_pairs(self) -> Pairs:
        """Decoded (name, value) pairs of the query; ``+`` is a space, blank values are kept."""
        if self._query_pairs is None:
            self._query_pairs = decode_pairs(self.query or "")
        return self._query_pairs

    @property
    def form_pairs(self) -> Pairs:
        """Decoded pairs of a form body, the first `FORM_PAIRS` of them; empty when the body is no form or too long."""
        if self._form_pairs is None:
            if self.has_form and self.body_size <= FORM_BYTES:
                self._form_pairs = decode_pairs(self.body.decode("utf-8", "surrogateescape"), FORM_PAIRS)
            else:
                self._form_pairs = []
        return self._form_pairs

    @property
    def has_form(self) -> bool:
        """Whether the body is a form, by its declared type."""
        return "x-www-form-urlencoded" in self.headers.get("content-type").lower()

    @property
    def has_long_form(self) -> bool:
        """Whether `form_pairs` leaves out a part of the form."""
        return self.has_form and (self.body_size > FORM_BYTES or self.body.count(b"&") >= FORM_PAIRS)


def decode_pairs(text: str, most: int = -1) -> Pairs:
    """Decode ``a=b&c`` as clients encode it: ``+`` is a space, a bare name has the value ``""``.

    Only the first *most* pairs, unless that is negative.
    """
    pairs: Pairs = []
    parts = text.split("&", most)
    for part in parts if most < 0 else parts[:most]:
        if part:
            name, _, value = part.partition("=")
            pairs.append((_decode(name), _decode(value)))
    return pairs


_BROKEN_ESCAPES: Final = 10_000
_no_escape = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def _decode(text: str) -> str:
    """Decode one name or value, in time proportional to its length: at most 40 milliseconds for a megabyte.

    The standard library takes ten times as long. Quoted-printable escapes with ``=`` what URLs escape with ``%``. Text
    with `_BROKEN_ESCAPES` signs that escape nothing is left as it is.
    """
    if "+" in text:
        text = text.replace("+", " ")
    if "%" not in text:
        return text
    escaped, broken = _no_escape.subn(b"%25", text.encode("utf-8", "surrogateescape"), _BROKEN_ESCAPES)
    if broken == _BROKEN_ESCAPES:
        return text
    return a2b_qp(escaped.replace(b"=", b"=3D").replace(b"%", b"=")).decode("utf-8", "surrogateescape")


class Response:
    """One answer. Header names are written as spelled here; ``Content-Length`` and ``Date`` are added on the wire.

    ``body`` is the whole content, or an async iterator whose pieces are sent chunked as they come.
    """

    __slots__ = ("body", "headers", "status")

    def __init__(
        self,
        status: int,
        body: bytes | AsyncIterator[bytes] = b"",
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:
        self.status = status
        self.body = body
        self.headers: Pairs = list(headers)

    def header(self, name: str) -> str:
        """Return the first value of *name* in any spelling, "" when there is none."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), "")


class Following(Response):
    """An answer that lasts until its client leaves; a stopping server closes it instead of waiting."""

    __slots__ = ()


class HangUp(Response):
    """Close the connection without an answer; ``unsent`` is the answer that the client does not get."""

    __slots__ = ("unsent",)

    def __init__(self, unsent: Response | None = None) -> None:
        super().__init__(0)
        self.unsent = unsent


Respond = Callable[[Response], None]


class Application(Protocol):
    """The application behind the server; every method is called on the loop's thread."""

    def admit(self, request: Request) -> Response | int:
        """Judge a request by its head, before its body is read: return a refusal, or the largest body in bytes."""
        ...

    def early(self, request: Request) -> "int | asyncio.Future[Any]":
        """Return the most bytes of body with which a request is served early, before its body has come whole.

        Asked once, when the head has come but not all of the body. 0: the request is served when its body is whole, as
        usual. A future: the answer is not known yet, and is asked for again when the future is done.
        """
        ...

    def too_large(self, request: Request, limit: int) -> Response:
        """Return the answer for a body that outgrew *limit* bytes."""
        ...

    def malformed(self, status: int, reason: str) -> Response:
        """Return the answer for input that is no HTTP request (400, 408, 414, 417, 431, 501, 505).

        Status 500 comes after a failure of the application itself, with a reason that does not describe it.
        """
        ...

    def serve(self, request: Request, respond: Respond) -> "asyncio.Future[Any] | None":
        """Serve a request, whole or `early`: call *respond* exactly once, now or later.

        The future that is returned is cancelled when the client leaves first; None: the answer has been given, or the
        work cannot be cancelled.
        """
        ...


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


_METHOD = re.compile(r"[A-Z0-9!#$%&'*+.^_`|~-]+")
_DEFAULT_PORTS = {"http": 80, "https": 443}


@frozen
class Origin:
    """The server that a request is for. ``host`` is in lower case and, for an IPv6 address, without brackets."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """The value of the Host field."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def split_url(url: str) -> tuple[Origin, str]:
    """Return (origin, request target) of an absolute http or https URL; what cannot stand in a target is escaped.

    Raises: Unsendable.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode("ascii") if not url.isascii() else parts.hostname or ""
    except ValueError as error:
        raise Unsendable(f"{url!r} is not a URL: {error}") from None
    if parts.scheme not in _DEFAULT_PORTS or not host or "@" in parts.netloc:
        raise Unsendable(f"{url!r} is not an http or https URL without a user name")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    escaped = quote(target, safe="%/:=&?~+!$,;'@()*[]|\\^`{}<>\"")
    origin = Origin(scheme=parts.scheme, host=host, port=port if port is not None else _DEFAULT_PORTS[parts.scheme])
    return origin, escaped


def request_head(
    method: str, target: str, origin: Origin, headers: Iterable[tuple[str, str]], length: int | None
) -> tuple[bytes, bool]:
    """Return (head, whether the body has to be chunked). *length* is the body's, None when it is not known.

    Only Host and the framing are added; a Host given by the caller is kept, as is a Content-Length for a body of
    unknown length. Connections are the client's own business: of a Connection field only ``keep-alive`` is passed on,
    and ``upgrade``, which goes with an Upgrade field.

    Raises: Unsendable.
    """
    if not _METHOD.fullmatch(method):
        raise Unsendable(f"{method!r} is not a method")
    lines = [f"{method} {target} HTTP/1.1"]
    host = origin.authority
    promised = ""
    for name, value in headers:
        key = field_name(name)
        if key == "host":
            host = value
        elif key == "content-length":
            promised = value
        elif key != "transfer-encoding" and (key != "connection" or value.lower() in {"keep-alive", "upgrade"}):
            lines.append(f"{name}: {value}")
    lines.insert(1, f"Host: {host}")
    chunked = length is None and not promised
    if chunked:
        lines.append("Transfer-Encoding: chunked")
    elif length is None:
        lines.append(f"Content-Length: {promised}")
    elif length or method in {"POST", "PUT", "PATCH"}:
        lines.append(f"Content-Length: {length}")
    return join_head(lines), chunked
