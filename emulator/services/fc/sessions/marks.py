"""How a call names its session, and how an answer does: header, cookie, the endpoint of an event stream.

Source: Function Compute 3.0, HeaderField affinity, Cookie affinity, MCP SSE affinity, MCP Streamable HTTP affinity;
the Model Context Protocol's transports. Which forms of an endpoint's address are read is assumed.
"""

import re
from collections.abc import Callable

from emulator.http.message import Request, decode_pairs
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.runtime.model import HttpCall

COOKIE_NAME = "x-fc-cookie-session-id"
MCP_HEADER = "mcp-session-id"

SESSION_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
_IN_ADDRESS = ("sessionId", "session_id")
_LONGEST_HEAD = 64 * 1024


def checked_id(session_id: str, field: str = "sessionId") -> str:
    """Check a session id that its caller has chosen.

    Raises: InvalidArgument. Source: alibabacloud_fc20230330, CreateSessionInput.
    """
    if not SESSION_ID.fullmatch(session_id):
        raise InvalidArgument(
            f"{field} '{session_id[:80]}' is invalid: it must have 1 to 64 letters, digits, '_' and '-' "
            "and must not start with '-'"
        )
    return session_id


def cookie_of(request: Request) -> str:
    """Return the session id in the request's cookie, empty when there is none that can be one."""
    for field in request.headers.all("cookie"):
        for pair in field.split(";"):
            name, _, value = pair.strip().partition("=")
            if name == COOKIE_NAME and SESSION_ID.fullmatch(value):
                return value
    return ""


def set_cookie(session_id: str, ttl_s: int) -> tuple[str, str]:
    """Return the header field that gives a client its session."""
    return ("Set-Cookie", f"{COOKIE_NAME}={session_id}; Max-Age={ttl_s}")


def in_address(http: HttpCall) -> str:
    """Return the session id in the query of a request to an SSE server, empty when there is none."""
    query = http.request_uri.partition("?")[2]
    return next((value for name, value in decode_pairs(query) if name in _IN_ADDRESS), "")


def opens_stream(http: HttpCall, path: str) -> bool:
    """Whether a request opens the event stream of an SSE server."""
    return http.method == "GET" and http.path.rstrip("/") == path.rstrip("/") and "?" not in http.request_uri


def initializes(http: HttpCall, body: bytes) -> bool:
    """Whether a request to a Streamable HTTP server asks for a session."""
    return http.method == "POST" and b'"initialize"' in body


class EndpointReader:
    """Looks for the session id in the ``endpoint`` event of a stream that passes, and calls *found* with it once."""

    def __init__(self, found: Callable[[str], None]) -> None:
        self._found: Callable[[str], None] | None = found
        self._head = b""

    def __call__(self, piece: bytes) -> None:
        """Look at a piece."""
        if self._found is None:
            return
        self._head += piece
        while (end := _EVENT_END.search(self._head)) is not None:
            event, self._head = self._head[: end.start()], self._head[end.end() :]
            session_id = _endpoint_session(event)
            if session_id:
                found, self._found, self._head = self._found, None, b""
                found(session_id)
                return
        if len(self._head) > _LONGEST_HEAD:
            self._found, self._head = None, b""


_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")


def _endpoint_session(event: bytes) -> str:
    lines = event.decode("utf-8", "replace").splitlines()
    fields = {name: value.removeprefix(" ") for name, _, value in (line.partition(":") for line in lines)}
    if fields.get("event") != "endpoint":
        return ""
    query = fields.get("data", "").partition("?")[2]
    return next((value for name, value in decode_pairs(query) if name in _IN_ADDRESS), "")
