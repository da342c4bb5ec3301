"""The HTTP interface that the vendor's own runtime libraries poll for work, as Go programs do that call ``fc.Start``.

``GET .../invocation/next`` waits for a call and gets its event as body and everything else as header fields; the answer
is posted to ``.../invocation/{request id}/response`` or ``.../error``. All instances share one loopback port; each
gets an address with a secret of its own in it.

An agent of ours may send the answer to an HTTP request as it is written, when the call has the field
``x-localyun-stream``: pieces are posted to ``.../part``, the first with status and header fields, the last to
``.../response``. A part is answered when its reader keeps pace.

Source: fc-runtime-go-sdk fc/runtime_api_client.go, fc/invoke_loop.go.
"""

import asyncio
import json
from base64 import b64decode, b64encode
from collections import deque
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from emulator.http.client_connection import ConnectionLost
from emulator.http.connections import Connections, HttpLimits
from emulator.http.message import Request, Respond, Response
from emulator.http.protocol import HttpProtocol
from emulator.kernel.clock import SystemClock
from emulator.kernel.frozen import replace
from emulator.kernel.ids import Ids
from emulator.kernel.pieces import SentPieces
from emulator.services.fc.runtime.custom import Fields, request_fields
from emulator.services.fc.runtime.model import Credentials, FunctionImage, HttpAnswer, HttpCall, Invocation
from emulator.services.fc.runtime.polling_agents import polling_program
from emulator.services.fc.runtime.process import INVOKE, CallKind, Forker, InstanceProcess, Launcher, Listener, Pending
from emulator.services.fc.runtime.program import ProgramProcess, program_of
from emulator.services.fc.runtime.settings import RuntimeSettings
from emulator.services.fc.runtime.streaming import FailedMidway, Gate, StreamedBody

_PREFIX = "2020-11-11/runtime/invocation/"
_SECRET_DIGITS = 32
_SLACK = 1024 * 1024


class CallQueue:
    """The calls that wait for a poll of their instance, and its polls that wait for a call."""

    def __init__(self) -> None:
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
        """Withdraw *call* unless a poll has received it."""
        if call in self._calls:
            self._calls.remove(call)

    def poll(self, respond: Respond) -> "asyncio.Future[Any] | None":
        """Answer a poll, now or when there is a call."""
        if self._calls:
            respond(self._calls.popleft())
            return None
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._polls.append((respond, waiting))
        return waiting


class RuntimeApi:
    """Serves the runtime API to every instance of an emulator; it listens from the first `address` on."""

    def __init__(self, ids: Ids, response_limit: int) -> None:
        self._ids = ids
        self._limit = response_limit + _SLACK
        self._processes: dict[str, PollingProcess] = {}
        self._server: asyncio.Server | None = None
        self._connections = Connections(self, clock=SystemClock(), limits=HttpLimits(idle_s=3600))

    async def address(self) -> str:
        """Return an address for a new instance, ``HOST:PORT/SECRET``."""
        if self._server is None:
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(lambda: HttpProtocol(self._connections), "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return f"127.0.0.1:{port}/{self._ids.secret(_SECRET_DIGITS // 2).hex()}"

    def expect(self, address: str, process: "PollingProcess") -> None:
        """Serve the instance with that address from now on."""
        self._processes[address.rpartition("/")[2]] = process

    def forget(self, address: str) -> None:
        """Stop serving the instance with that address."""
        self._processes.pop(address.rpartition("/")[2], None)

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            await self._connections.stop(0)

    def admit(self, request: Request) -> Response | int:
        """Accept bodies of known instances only."""
        return self._limit if self._find(request)[0] is not None else _said(404)

    def early(self, request: Request) -> int:
        """Wait for the whole body of every request."""
        return 0

    def too_large(self, request: Request, limit: int) -> Response:
        """Refuse a body of more than *limit* bytes, and fail the call whose answer it is."""
        process, page = self._find(request)
        if process is not None:
            process.outgrown(page.rpartition("/")[0], limit)
        return Response(413)

    def malformed(self, status: int, reason: str) -> Response:
        """Return the answer to a malformed request."""
        return Response(status, reason.encode())

    def serve(self, request: Request, respond: Respond) -> "asyncio.Future[Any] | None":
        """Serve a poll or take an answer."""
        process, page = self._find(request)
        if process is None:
            respond(_said(404))
            return None
        if (request.method, page) == ("GET", "next"):
            return process.poll(respond)
        request_id, _, kind = page.rpartition("/")
        if (request.method, kind) == ("POST", "part"):
            return process.part(request_id, request, respond)
        known = request.method == "POST" and kind in {"response", "error"}
        respond(_said(200 if known and process.answered(request_id, request, ok=kind == "response") else 404))
        return None

    def _find(self, request: Request) -> "tuple[PollingProcess | None, str]":
        secret, _, rest = request.path.lstrip("/").partition("/")
        if not rest.startswith(_PREFIX):
            return None, ""
        return self._processes.get(secret), rest.removeprefix(_PREFIX)


def _said(status: int) -> Response:
    return Response(status, b"{}", [("Content-Type", "application/json")])


ADDRESS_VARIABLE = "FC_RUNTIME_API"
_HTTP_FIELD = "x-fc-http-params"
_STREAM_FIELD = "x-localyun-stream"


class PollingLauncher(Launcher):
    """A `Launcher` for programs that poll."""

    def __init__(self, settings: RuntimeSettings, ids: Ids, forker: Forker) -> None:
        self._settings = settings
        self._forker = forker
        self._api = RuntimeApi(ids, settings.response_limit)

    async def launch(self, listener: Listener, credentials: Credentials | None = None) -> InstanceProcess:
        """Start the program and wait until it polls; see `Launcher`.

        Raises: ProgramMissing; RuntimeUnavailable; InstanceStartFailed.
        """
        polling = await polling_program(listener.image, self._settings.interpreters)
        process = PollingProcess(listener, self._settings)
        isolated = await self._forker.isolated(listener.image.runtime)
        address = await self._api.address()
        variables = {**polling.variables, ADDRESS_VARIABLE: address}
        program = program_of(listener, self._settings, polling.command, variables, credentials, isolated=isolated)
        self._api.expect(address, process)
        process.at_end(lambda: self._api.forget(address))
        process.at_end(process.cut_short)
        command = " ".join(polling.command)
        await process.start(self._forker, program, command, self._settings.start_timeout_s)
        return process

    async def close(self) -> None:
        """Stop serving; the processes are ended by the forker that started them."""
        await self._api.close()


class _Open(NamedTuple):
    """A call that is not answered yet."""

    future: Pending
    began: float
    streams: bool


class PollingProcess(ProgramProcess):
    """An `InstanceProcess` that gets its calls by polling; it is ready when it polls for the first time."""

    def __init__(self, listener: Listener, settings: RuntimeSettings) -> None:
        super().__init__(listener, settings)
        self._limit = settings.response_limit
        self.queue = CallQueue()
        self._polled = asyncio.Event()
        self._open: dict[str, _Open] = {}
        self._streams: dict[str, tuple[SentPieces, Gate]] = {}

    def poll(self, respond: Respond) -> "asyncio.Future[Any] | None":
        """Answer a poll, now or when there is a call."""
        self._polled.set()
        return self.queue.poll(respond)

    async def _ready(self) -> None:
        await self._polled.wait()

    def _never_ready(self, limit_s: float) -> str:
        return f"the program did not ask for a call at {ADDRESS_VARIABLE} in {limit_s:g} seconds."

    def answered(self, request_id: str, request: Request, *, ok: bool) -> bool:
        """Take the answer to a call, or the end of one; return whether there is such a call."""
        if request_id in self._streams:
            if ok and request.body:
                self._streams[request_id][0].put(request.body)
            self._end_stream(request_id, ok=ok)
            return True
        waiting = self._open.pop(request_id, None)
        if waiting is None:
            return False
        future, began, _ = waiting
        http = _http_answer(request.headers.get(_HTTP_FIELD)) if ok else None
        body, size = request.body, len(request.body)
        answer = self._answer(
            body if size <= self._limit else b"", (self._loop.time() - began) * 1000, ok=ok, size=size, http=http
        )
        self._resolve(future, answer)
        return True

    def part(self, request_id: str, request: Request, respond: Respond) -> "asyncio.Future[Any] | None":
        """Take a piece of an answer; the first one comes with status and fields, and answers the call."""
        opened, http = self._open.get(request_id), _http_answer(request.headers.get(_HTTP_FIELD))
        if opened is not None and opened.streams and http is not None:
            del self._open[request_id]
            gate = Gate()
            pieces = SentPieces(gate)
            self._streams[request_id] = pieces, gate
            answer = self._answer(b"", (self._loop.time() - opened.began) * 1000, http=http)
            self._resolve(opened.future, replace(answer, over_memory=False, stream=StreamedBody(pieces)))
        if request_id not in self._streams:
            respond(_said(404))
            return None
        pieces, gate = self._streams[request_id]
        pieces.put(request.body)
        return gate.pass_on(lambda: respond(_said(200)))

    def cut_short(self) -> None:
        """End the answers under way of a process that has ended."""
        for pieces, _ in self._streams.values():
            pieces.end(ConnectionLost("the process has ended"))
        self._streams.clear()

    def _end_stream(self, request_id: str, *, ok: bool) -> None:
        over = self._answer(b"", 0.0).over_memory
        error = ConnectionLost("it took too much memory") if over else None if ok else FailedMidway()

        def end() -> None:
            pieces, _ = self._streams.pop(request_id, (None, None))
            if pieces is not None:
                pieces.end(error)

        assert self._log is not None
        self._log.settle("", end)

    def outgrown(self, request_id: str, limit: int) -> None:
        """Record that the answer to a call is larger than *limit* bytes."""
        waiting = self._open.pop(request_id, None)
        if waiting is not None:
            duration_ms = (self._loop.time() - waiting.began) * 1000
            self._resolve(waiting.future, self._answer(b"", duration_ms, size=limit + 1))
        elif request_id in self._streams:
            self._end_stream(request_id, ok=False)

    def _send(self, kind: CallKind, call: Invocation, future: Pending) -> None:
        request_id = call.request_id
        opened = _Open(future, self._loop.time(), call.stream and call.http is not None)
        self._open[request_id] = opened
        response = Response(200, call.event, _fields(self._image, kind, call))
        self.queue.put(response)

        def settle(_: Pending) -> None:
            self.queue.withdraw(response)
            if self._open.get(request_id) is opened:
                del self._open[request_id]

        future.add_done_callback(settle)


def _fields(image: FunctionImage, kind: CallKind, call: Invocation) -> Fields:
    timeout_s = image.timeout_s if kind is INVOKE else image.initializer_timeout_s
    deadline = SystemClock().now() + timeout_s * 1000
    fields = [pair for pair in request_fields(image, kind, call, own=False) if pair[0].lower() != "content-type"]
    fields += [("Content-Type", "application/octet-stream"), ("x-fc-function-deadline", str(deadline))]
    if call.http is not None:
        fields.append((_HTTP_FIELD, _http_params(call.http)))
        if call.stream:
            fields.append((_STREAM_FIELD, "1"))
    return fields


def _http_params(http: HttpCall) -> str:
    """Return an HTTP request as the libraries read it: base64 of JSON, names and values as lists.

    ``basePath`` is for agents of ours; libraries pass over it.
    """
    headers: dict[str, list[str]] = {}
    for name, value in http.headers:
        headers.setdefault(name.title(), []).append(value)
    query = http.request_uri.partition("?")[2]
    described = {
        "method": http.method,
        "path": http.path,
        "requestURI": http.request_uri,
        "basePath": http.base_path,
        "clientIP": http.client_ip,
        "host": http.host,
        "headersMap": headers,
        "queriesMap": parse_qs(query, keep_blank_values=True),
    }
    return b64encode(json.dumps(described).encode("ascii")).decode("ascii")


def _http_answer(field: str) -> HttpAnswer | None:
    """Return the status and fields a program has answered with, None when it says nothing that makes sense."""
    try:
        described = json.loads(b64decode(field)) if field else None
        if described is None:
            return None
        pairs = [(name, value) for name, values in (described.get("headersMap") or {}).items() for value in values]
        return HttpAnswer(status=int(described["status"]) or 200, headers=tuple(pairs))
    except (ValueError, KeyError, TypeError, AttributeError):  # what a program says is not ours to trust
        return None
