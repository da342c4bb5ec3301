"""Runtimes whose programs poll for their calls: Go's built-in one, where a handler is the name of an executable.

Source: Function Compute, Go runtime; fc-runtime-go-sdk.
"""

import asyncio
import json
from base64 import b64decode, b64encode
from contextlib import AsyncExitStack

from emulator.http.message import Request, Response
from emulator.kernel.clock import SystemClock
from emulator.kernel.ids import Ids
from emulator.services.fc.runtime.agent_api import AgentApi, Line
from emulator.services.fc.runtime.command import program_of
from emulator.services.fc.runtime.custom_headers import Fields, request_fields
from emulator.services.fc.runtime.instance import (
    Credentials,
    FunctionImage,
    HttpAnswer,
    HttpCall,
    InstanceStartFailed,
)
from emulator.services.fc.runtime.launcher import Call, InstanceProcess, Listener
from emulator.services.fc.runtime.program import Forker, Program
from emulator.services.fc.runtime.program_process import Pending, ProgramProcess
from emulator.services.fc.runtime.settings import RuntimeSettings

RUNTIMES = frozenset({"go1"})
ADDRESS_VARIABLE = "FC_RUNTIME_API"
_HTTP_FIELD = "x-fc-http-params"


class PollingLauncher:
    """A `Launcher` for programs that poll."""

    def __init__(self, settings: RuntimeSettings, ids: Ids, forker: Forker) -> None:
        self._settings = settings
        self._forker = forker
        self._api = AgentApi(ids, settings.response_limit)

    def warm_up(self) -> None:
        """Do nothing: there is nothing to prepare."""

    async def launch(
        self, image: FunctionImage, instance_id: str, listener: Listener, credentials: Credentials | None = None
    ) -> InstanceProcess:
        """Start the program and wait until it polls; see `Launcher`.

        Raises: ProgramMissing; RuntimeUnavailable; InstanceStartFailed.
        """
        process = PollingProcess(image, listener, self._settings.response_limit)
        async with AsyncExitStack() as undo:
            undo.callback(process.abandon)
            address, process.line = await self._api.open(process)
            process.at_end(lambda: self._api.forget(address))
            program = _program(image, instance_id, self._settings, address, credentials)
            control, source = await self._forker.execute(program, image, instance_id, process, keep_channel=False)
            process.attach(control, source)
            limit_s = self._settings.start_timeout_s
            await asyncio.wait({process.polled, process.gone}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            if process.gone.done():
                raise InstanceStartFailed(process.failure(f"/code/{image.handler}"))
            if not process.polled.done():
                raise InstanceStartFailed(
                    f"the program did not ask for a call at {ADDRESS_VARIABLE} in {limit_s:g} seconds.\nLogs:\n"
                    + process.said()
                )
            undo.pop_all()
        return process

    async def close(self) -> None:
        """Stop serving; the processes are ended by whoever has started them."""
        await self._api.close()


class PollingProcess(ProgramProcess):
    """An `InstanceProcess` that gets its calls by polling. ``polled`` is resolved by its first poll."""

    line: Line

    def __init__(self, image: FunctionImage, listener: Listener, response_limit: int) -> None:
        super().__init__(image, listener)
        self._limit = response_limit
        self.polled: asyncio.Future[None] = self._loop.create_future()
        self._open: dict[str, tuple[Pending, float]] = {}

    def answered(self, request_id: str, request: Request, *, ok: bool) -> bool:
        """Take the answer to a call; return whether there is such a call."""
        found = self._open.pop(request_id, None)
        if found is None:
            return False
        future, began = found
        http = _http_answer(request.headers.get(_HTTP_FIELD)) if ok else None
        body, size = request.body, len(request.body)
        answer = self._answer(
            body if size <= self._limit else b"", (self._loop.time() - began) * 1000, ok=ok, size=size, http=http
        )
        self._resolve(future, answer)
        return True

    def outgrown(self, request_id: str, limit: int) -> None:
        """Take note that the answer to a call is larger than *limit* bytes."""
        found = self._open.pop(request_id, None)
        if found is not None:
            future, began = found
            self._resolve(future, self._answer(b"", (self._loop.time() - began) * 1000, size=limit + 1))

    def _send(self, call: Call, future: Pending) -> None:
        began = self._loop.time()
        request_id = call.request_id
        self._open[request_id] = (future, began)
        response = Response(200, call.event, _fields(self._image, call))
        self.line.put(response)

        def settle(_: Pending) -> None:
            self.line.withdraw(response)
            if self._open.get(request_id) == (future, began):
                del self._open[request_id]

        future.add_done_callback(settle)


def _program(
    image: FunctionImage, instance_id: str, settings: RuntimeSettings, address: str, credentials: Credentials | None
) -> Program:
    """Return the executable that the handler names."""
    command = (f"/code/{image.handler}",)
    return program_of(image, instance_id, settings, command, {ADDRESS_VARIABLE: address}, credentials)


def _fields(image: FunctionImage, call: Call) -> Fields:
    timeout_s = image.timeout_s if call.kind == "invoke" else image.initializer_timeout_s
    deadline = SystemClock().now() + timeout_s * 1000
    fields = [(name, value) for name, value in request_fields(image, call, own=False) if name.lower() != "content-type"]
    fields += [("Content-Type", "application/octet-stream"), ("x-fc-function-deadline", str(deadline))]
    if call.http is not None:
        fields.append((_HTTP_FIELD, _http_params(call.http)))
    return fields


def _http_params(http: HttpCall) -> str:
    """Return an HTTP request as the libraries read it: base64 of JSON, names and values as lists."""
    headers: dict[str, list[str]] = {}
    for name, value in http.headers:
        headers.setdefault(name.title(), []).append(value)
    described = {
        "method": http.method,
        "path": http.path,
        "requestURI": http.request_uri,
        "clientIP": http.client_ip,
        "host": http.host,
        "headersMap": headers,
        "queriesMap": {},
    }
    return b64encode(json.dumps(described).encode("ascii")).decode("ascii")


def _http_answer(field: str) -> HttpAnswer | None:
    """Return the status and fields a program has answered with, None when it says nothing that makes sense."""
    try:
        found = json.loads(b64decode(field)) if field else None
        if found is None:
            return None
        pairs = [(name, value) for name, values in (found.get("headersMap") or {}).items() for value in values]
        return HttpAnswer(status=int(found["status"]) or 200, headers=tuple(pairs))
    except (ValueError, KeyError, TypeError, AttributeError):  # what a program says is not ours to trust
        return None
