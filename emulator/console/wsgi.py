"""One request through the WSGI application, in the console's thread."""

from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

from werkzeug.test import run_wsgi_app

from emulator.http.message import Request, Response

SESSION = "localyun.session"
"""Key of the WSGI environment: the session the request belongs to."""


def run(
    application: Callable[..., Any],
    request: Request,
    session: str,
    prefix: str,
    extra: Iterable[tuple[str, str]],
) -> Response:
    """Return the application's answer to *request*, with *extra* headers; static files may be kept by the browser."""
    environ = _environment(request, session, prefix)
    content, status, headers = run_wsgi_app(application, environ, buffered=True)
    pairs = [(name, value) for name, value in headers.items() if name.lower() not in {"content-length", "connection"}]
    names = {name.lower() for name, _ in pairs}
    pairs += [(name, value) for name, value in extra if name.lower() not in names]
    return Response(int(status.partition(" ")[0]), b"".join(content), pairs)


def _environment(request: Request, session: str, prefix: str) -> dict[str, Any]:
    host, _, port = (request.headers.get("host") or "localhost").rpartition(":")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": prefix,
        "PATH_INFO": request.decoded_path.removeprefix(prefix).encode("utf-8", "surrogateescape").decode("latin-1"),
        "QUERY_STRING": request.query or "",
        "SERVER_NAME": host or "localhost",
        "SERVER_PORT": port if port.isdigit() else "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "CONTENT_TYPE": request.headers.get("content-type"),
        "CONTENT_LENGTH": str(len(request.body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": request.scheme,
        "wsgi.input": BytesIO(request.body),
        "wsgi.errors": BytesIO(),
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        SESSION: session,
    }
    for name, value in request.headers.pairs:
        key = name.upper().replace("-", "_")
        if key not in {"CONTENT_TYPE", "CONTENT_LENGTH"}:
            environ.setdefault(f"HTTP_{key}", value)
    return environ
