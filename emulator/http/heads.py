"""What the head of a message may hold: methods, names and values of fields, URLs; for both ends of a connection."""

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote, urlsplit

from emulator.kernel.frozen import frozen

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
    """Whom a request is for. ``host`` is in lower case and, for an IPv6 address, without brackets."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """What the Host field says."""
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
    unknown length. Connections are the client's own business: of a Connection field only ``keep-alive`` is passed on.

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
        elif key != "transfer-encoding" and (key != "connection" or value.lower() == "keep-alive"):
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
