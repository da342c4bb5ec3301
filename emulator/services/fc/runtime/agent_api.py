"""The HTTP interface that the vendor's own runtime libraries poll for work, as Go programs do that call ``fc.Start``.

``GET .../invocation/next`` waits for a call and gets its event as body and everything else as header fields; the answer
is posted to ``.../invocation/{request id}/response`` or ``.../error``. All instances share one loopback port; each is
told an address with a secret of its own in it.

Source: fc-runtime-go-sdk fc/runtime_api_client.go, fc/invoke_loop.go.
"""

import asyncio
from collections import deque
from typing import Any, Protocol

from emulator.http.connections import Connections, HttpLimits
from emulator.http.message import Request, Respond, Response
from emulator.http.protocol import HttpProtocol
from emulator.kernel.clock import SystemClock
from emulator.kernel.ids import Ids

_PREFIX = "2020-11-11/runtime/invocation/"
_SECRET_DIGITS = 32
_SLACK = 1024 * 1024


class Poller(Protocol):
    """An instance that polls."""

    @property
    def polled(self) -> "asyncio.Future[None]":
        """Resolved by the first poll."""
        ...

    def answered(self, request_id: str, request: Request, *, ok: bool) -> bool:
        """Take the answer to a call; return whether there is such a call."""
        ...

    def outgrown(self, request_id: str, limit: int) -> None:
        """Take note that the answer to a call is larger than *limit* bytes."""
        ...


class Line:
    """The calls that wait for an instance, and its polls that wait for a call."""

    def __init__(self, poller: Poller) -> None:
        self.poller = poller
        self._calls: deque[Response] = deque()
        self._polls: deque[tuple[Respond, asyncio.Future[None]]] = deque()

    def put(self, call: Response) -> None:
        """Hand *call* to a poll, now or when there is one."""
        while self._polls:
            respond, waiting = self._polls.popleft()
            if not waiting.done():
                waiting.set_result(None)
                respond(call)
                return
        self._calls.append(call)

    def withdraw(self, call: Response) -> None:
        """Take *call* back if nobody has got it."""
        if call in self._calls:
            self._calls.remove(call)

    def poll(self, respond: Respond) -> "asyncio.Future[Any] | None":
        """Answer a poll, now or when there is a call."""
        if not self.poller.polled.done():
            self.poller.polled.set_result(None)
        if self._calls:
            respond(self._calls.popleft())
            return None
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._polls.append((respond, waiting))
        return waiting


class AgentApi:
    """Serves that interface to every instance of an emulator; it listens from the first `open` on."""

    def __init__(self, ids: Ids, response_limit: int) -> None:
        self._ids = ids
        self._limit = response_limit + _SLACK
        self._lines: dict[str, Line] = {}
        self._server: asyncio.Server | None = None
        self._connections = Connections(self, clock=SystemClock(), limits=HttpLimits(idle_s=3600))

    async def open(self, poller: Poller) -> tuple[str, Line]:
        """Return the address for a new instance, ``HOST:PORT/SECRET``, and its line."""
        if self._server is None:
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(lambda: HttpProtocol(self._connections), "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        secret = self._ids.secret(_SECRET_DIGITS // 2).hex()
        line = self._lines[secret] = Line(poller)
        return f"127.0.0.1:{port}/{secret}", line

    def forget(self, address: str) -> None:
        """Serve the instance with that address no longer."""
        self._lines.pop(address.rpartition("/")[2], None)

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            await self._connections.stop(0)

    def admit(self, request: Request) -> Response | int:
        """Take bodies of known instances only."""
        return self._limit if self._find(request)[0] is not None else _not_found()

    def too_large(self, request: Request, limit: int) -> Response:
        """Refuse a body, and tell the instance that the call it answers has too large a result."""
        line, page = self._find(request)
        if line is not None:
            line.poller.outgrown(page.rpartition("/")[0], limit)
        return Response(413)

    def malformed(self, status: int, reason: str) -> Response:
        """Refuse what is no request."""
        return Response(status, reason.encode())

    def serve(self, request: Request, respond: Respond) -> "asyncio.Future[Any] | None":
        """Serve a poll or take an answer."""
        line, page = self._find(request)
        if line is None:
            respond(_not_found())
            return None
        if (request.method, page) == ("GET", "next"):
            return line.poll(respond)
        request_id, _, kind = page.rpartition("/")
        known = request.method == "POST" and kind in {"response", "error"}
        if known and line.poller.answered(request_id, request, ok=kind == "response"):
            respond(Response(200, b"{}", [("Content-Type", "application/json")]))
        else:
            respond(_not_found())
        return None

    def _find(self, request: Request) -> tuple[Line | None, str]:
        secret, _, rest = request.path.lstrip("/").partition("/")
        if not rest.startswith(_PREFIX):
            return None, ""
        return self._lines.get(secret), rest.removeprefix(_PREFIX)


def _not_found() -> Response:
    return Response(404, b"{}", [("Content-Type", "application/json")])
