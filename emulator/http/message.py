"""Request and Response: what goes in and out of the server, with nothing of any service.

A request keeps what arrived on the wire (target undecoded, headers in order), because signatures are computed over
it. Bytes above ASCII survive: texts are decoded as UTF-8 with ``surrogateescape`` and encode back to the same bytes.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Protocol
from urllib.parse import unquote

Pairs = list[tuple[str, str]]


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

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)


class Request:
    """One request as received.

    ``target`` is the request target in origin form (path and query, undecoded; an absolute-form target has been
    reduced to it, its authority is in ``authority``). ``path`` and ``query`` are its two halves, undecoded; ``query``
    is None when there is no ``?``. ``scheme`` is ``http`` or ``https``.
    """

    __slots__ = (
        "_body",
        "_form_pairs",
        "_query_pairs",
        "authority",
        "headers",
        "method",
        "path",
        "query",
        "remote",
        "scheme",
        "target",
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
        self.scheme = scheme
        self.remote = remote
        self.authority = authority
        path, mark, query = target.partition("?")
        self.path = path
        self.query = query if mark else None
        self._query_pairs: Pairs | None = None
        self._form_pairs: Pairs | None = None

    @property
    def body(self) -> bytes:
        """The body, decoded from its transfer coding; empty until it has arrived whole."""
        return self._body

    @body.setter
    def body(self, content: bytes) -> None:
        self._body = content
        self._form_pairs = None  # the head may have been judged before the body came

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
        """Decoded pairs of a form body; empty when the body is no form."""
        if self._form_pairs is None:
            is_form = "x-www-form-urlencoded" in self.headers.get("content-type").lower()
            self._form_pairs = decode_pairs(self.body.decode("utf-8", "surrogateescape")) if is_form else []
        return self._form_pairs


def decode_pairs(text: str) -> Pairs:
    """Decode ``a=b&c`` as clients encode it: ``+`` is a space, a bare name has the value ``""``."""
    pairs: Pairs = []
    for part in text.split("&"):
        if part:
            name, _, value = part.partition("=")
            pairs.append((_decode(name), _decode(value)))
    return pairs


def _decode(text: str) -> str:
    if "+" in text:
        text = text.replace("+", " ")
    return unquote(text, errors="surrogateescape") if "%" in text else text


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

    def header(self, name: str, default: str = "") -> str:
        """Return the first value of *name* in any spelling, or *default*."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), default)


Respond = Callable[[Response], None]


class Application(Protocol):
    """What the server asks for each request, always on the loop's thread."""

    def admit(self, request: Request) -> Response | int:
        """Judge a request by its head, before its body is read: return a refusal, or the largest body in bytes."""
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
        """Serve a whole request: call *respond* exactly once, now or later.

        What is returned is cancelled when the client goes away first; None means the answer has been given or cannot
        be called off.
        """
        ...
