"""Serves an HTTP request by a WSGI application.

Source: Function Compute, HTTP functions of the Python runtime; the published Python runtime for the variables' values.
Names and values are native strings of WSGI (bytes as Latin-1), so that frameworks read non-ASCII paths correctly; the
published runtime hands over the decoded text, which they cannot read.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

Environ = dict[str, Any]

_SHORT = 1024 * 1024
"""A body of a known length up to this is sent at once, which costs less."""


def environ_of(http: dict[str, Any], body: bytes, context: Any, handler_name: str) -> Environ:
    """Return the ``environ`` for a request whose frame header is *http*."""
    environ: Environ = dict(os.environ)
    uri = _native(http["uri"])
    fields: dict[str, list[str]] = {}
    for name, value in http["headers"]:
        fields.setdefault(name.lower(), []).append(_native(value))
    content_type = fields.pop("content-type", None)
    for name, values in fields.items():
        environ["HTTP_" + _native(name).upper().replace("-", "_")] = ",".join(values)
    environ.update(
        {
            "REQUEST_METHOD": http["method"],
            "SCRIPT_NAME": "",
            "PATH_INFO": _native(http["path"]),
            "QUERY_STRING": uri.partition("?")[2],
            "CONTENT_TYPE": content_type[0] if content_type else "application/octet-stream",
            "CONTENT_LENGTH": str(len(body)),
            "REMOTE_ADDR": http["ip"],
            "SERVER_NAME": "FCRUNTIME",
            "SERVER_PORT": "9000",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "SERVER_SOFTWARE": "FCRUNTIME/1.0",
            "HTTP": "on",
            "HTTP_X_FC_FUNCTION_HANDLER": handler_name,
            "wsgi.version": (1, 0),
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
            "wsgi.url_scheme": "http",
            "wsgi.multithread": False,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            "fc.request_uri": uri,
            "fc.context": context,
        }
    )
    return environ


def serve(
    application: Callable[..., Any],
    environ: Environ,
    send: Callable[[dict[str, Any] | None, bytes], None] | None = None,
) -> tuple[dict[str, Any] | None, bytes]:
    """Call *application* and return status and header fields, and the whole body.

    A body that is not known to be short goes to *send* as it is written, its first piece with status and header fields;
    nothing is returned then.

    Raises: TypeError, ValueError when it does not keep to WSGI; what it raises itself.
    """
    body = _Body(send)
    result = application(environ, body.start)
    try:
        if hasattr(result, "__len__"):  # all of it is there already
            body.whole = True
        # bytes that are the whole body are taken too. Source: fc-python-sdk test/hello_world/main.py
        for piece in (result,) if isinstance(result, bytes) else result:
            if not isinstance(piece, bytes):
                raise TypeError("invalid response type")
            body.write(piece)
    finally:
        close = getattr(result, "close", None)
        if close is not None:
            close()
    if not body.answer:
        raise ValueError("start_response was not called")
    return (None, b"") if body.sent else (body.answer, b"".join(body.pieces))


class _Body:
    """The body of an answer: collected while it may be short, sent piece by piece otherwise."""

    def __init__(self, send: Callable[[dict[str, Any] | None, bytes], None] | None) -> None:
        self.answer: dict[str, Any] = {}
        self.pieces: list[bytes] = []
        self.whole = send is None
        self.sent = False
        self._send = send

    def start(self, status: str, headers: Iterable[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], None]:
        """Record status and header fields, as WSGI's ``start_response``; return `write`."""
        if exc_info is not None and self.sent:
            raise exc_info[1]
        self.answer["status"] = int(status.split(None, 1)[0])
        self.answer["headers"] = fields = [[_text(name), _text(value)] for name, value in headers]
        lengths = [value for name, value in fields if name.lower() == "content-length" and value.isdecimal()]
        self.whole = self._send is None or (len(lengths) == 1 and int(lengths[0]) <= _SHORT)
        return self.write

    def write(self, piece: bytes) -> None:
        """Take a piece of the body."""
        if self._send is None or (self.whole and not self.sent) or not self.answer:
            self.pieces.append(piece)
        elif piece:
            self._send(None if self.sent else self.answer, b"".join([*self.pieces, piece]))
            self.pieces.clear()
            self.sent = True


def _native(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")


def _text(value: str) -> str:
    """Undo `_native` for texts of the answer, which the server writes as UTF-8."""
    text = str(value)
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a handler that does not keep to native strings: its text goes out as it is
        return text
