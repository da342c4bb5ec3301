"""Custom runtimes: a program of the user's that listens on a port and is called over HTTP.

Without containers a port can be used once on a machine, so each instance gets a free port of its own in
``FC_SERVER_PORT`` and ``FC_CUSTOM_LISTEN_PORT``. A program that listens on its configured port all the same works too,
but only one instance on that port at a time; the next one waits, or takes the place of an idle one.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from http import HTTPStatus

from emulator.http.client import ClientResponse, HttpClient, StreamedResponse
from emulator.http.client_connection import AnswerTooLarge, ClientError, ConnectFailed
from emulator.http.message import BodyBroken
from emulator.kernel.digits import read_digits
from emulator.kernel.frozen import replace
from emulator.services.fc.runtime import logs
from emulator.services.fc.runtime.listening import (
    free_port,
    is_of_another,
    is_open,
    wait_until,
    wait_until_ill,
    wait_until_well,
)
from emulator.services.fc.runtime.model import (
    Credentials,
    FunctionImage,
    HealthCheck,
    HttpAnswer,
    InstanceStartFailed,
    Invocation,
    PortBusy,
    RequestBroken,
)
from emulator.services.fc.runtime.process import (
    INVOKE,
    Answer,
    CallKind,
    Exit,
    Forker,
    InstanceProcess,
    Launcher,
    Listener,
    Pending,
    Program,
)
from emulator.services.fc.runtime.program import PORT_VARIABLES, ProgramProcess, at_code, program_of
from emulator.services.fc.runtime.settings import RuntimeSettings
from emulator.services.fc.runtime.streaming import StreamedBody

STATUS_FIELD = "x-fc-status"
"""The answer's field for whether an event was handled; the HTTP status does not count."""

Fields = list[tuple[str, str]]


def request_fields(image: FunctionImage, kind: CallKind, call: Invocation, *, own: bool = True) -> Fields:
    """Return the header fields of a call's request: the caller's *own* for an HTTP request, and the platform's."""
    path = kind.path
    fields: Fields = []
    if call.http is not None:
        path = "/http-invoke"
        fields += call.http.headers if own else ()
        if call.http.websocket:
            fields += [("Connection", "Upgrade"), ("Upgrade", "websocket")]
        if call.http.base_path:
            fields.append(("x-fc-base-path", call.http.base_path.rstrip("/") + "/"))
    elif kind.method == "POST":
        fields += (call.session,) if own and call.session is not None else ()
        fields.append(("Content-Type", "application/octet-stream"))
    fields += [("x-fc-control-path", path), ("x-fc-function-type", kind.number)]
    return [*fields, *_about_call(call, keys=image.keys_in_calls), *_about_function(image)]


def succeeded(status: str) -> bool:
    """Whether an event was handled, by the answer's ``x-fc-status``; an empty one means yes."""
    return not status or (len(status) == 3 and status.startswith("2"))


def _about_call(call: Invocation, *, keys: bool) -> Fields:
    fields = [
        ("x-fc-request-id", call.request_id),
        ("x-fc-qualifier", call.qualifier),
        ("x-fc-retry-count", str(call.retry_count)),
        *call.tracing.items(),
    ]
    if call.credentials is not None and keys:
        names = ("x-fc-access-key-id", "x-fc-access-key-secret", "x-fc-security-token")
        fields += zip(names, call.credentials, strict=True)
    return fields


def _about_function(image: FunctionImage) -> Fields:
    fields = [
        ("x-fc-region", image.region),
        ("x-fc-account-id", image.account),
        ("x-fc-version-id", image.version),
        ("x-fc-function-name", image.function),
        ("x-fc-function-handler", image.handler),
        ("x-fc-function-memory", str(image.memory_mb)),
        ("x-fc-function-timeout", str(image.timeout_s)),
        ("x-fc-service-logproject", image.log_project),
        ("x-fc-service-logstore", image.log_store),
    ]
    if image.service is not None:
        fields.append(("x-fc-service-name", image.service))
    if image.initializer is not None:
        fields.append(("x-fc-function-initializer", image.initializer))
        fields.append(("x-fc-initialization-timeout", str(image.initializer_timeout_s)))
    if image.pre_stop is not None:
        fields.append(("x-fc-instance-lifecycle-pre-stop-handler", image.pre_stop))
    if image.pre_freeze is not None:
        fields.append(("x-fc-instance-lifecycle-pre-freeze-handler", image.pre_freeze))
    return fields


_FOREVER_S = 30 * 24 * 3600.0
"""The HTTP client's time-out, never reached: calls end by the function's own time-out, which ends the process."""

_LINGER_S = 0.1
_SHORT = 1024 * 1024
_IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"})


class CustomProcess(ProgramProcess):
    """An `InstanceProcess` that is called over HTTP on `port`: the one of *ports* that it serves, its own one first."""

    def __init__(
        self,
        listener: Listener,
        settings: RuntimeSettings,
        client: HttpClient,
        ports: Sequence[int],
        serves: Callable[[int], Awaitable[bool]] = is_open,
        *,
        measured: bool = True,
    ) -> None:
        super().__init__(listener, settings, measured=measured)
        self._limit = settings.response_limit
        self._client = client
        self._ports = ports
        self._serves = serves
        self.port = 0

    async def start_listening(self, forker: Forker, program: Program, limit_s: float) -> None:
        """Run *program* and wait until it listens and is well; see `start`.

        Source: Function Compute, custom runtimes: start-up and its failures.
        """
        command = " ".join(self._image.command) or "/code/bootstrap"
        await self.start(forker, program, command, limit_s)

    async def _ready(self) -> None:
        self.port = await wait_until(self._ports, self._serves_itself)
        check = self._image.health_check
        if check is not None:
            await wait_until_well(check, partial(self._probe, check))
            self._keep(self._end_when_ill(check))

    async def _serves_itself(self, port: int) -> bool:
        """Whether the program serves *port*, and not an instance that was told to take the same one."""
        if not await self._serves(port):
            return False
        if port == self._ports[0] or (control := self._running) is None:
            return True
        return not await asyncio.to_thread(is_of_another, port, control.pid, self.listener.instance_id)

    def _never_ready(self, limit_s: float) -> str:
        message = f"Function instance health check failed on port {self._image.port} in {limit_s:g} seconds."
        if self._image.container is None:
            message += f" It did not listen on {self._ports[0]}, the value of FC_SERVER_PORT, either."
        return message

    async def _end_when_ill(self, check: HealthCheck) -> None:
        await wait_until_ill(check, partial(self._probe, check))
        self.output(b"the health check failed too often; the instance is ended\n")
        self.kill()

    async def _probe(self, check: HealthCheck) -> bool:
        """Send the health check's request once; return whether the answer means healthy."""
        try:
            answer = await self._client.request("GET", self._url(check.path), timeout_s=check.timeout_s)
        except (ClientError, ValueError):
            return False
        return 200 <= answer.status < 400

    def _send(self, kind: CallKind, call: Invocation, future: Pending) -> None:
        task = self._keep(self._perform(kind, call, future))
        task.add_done_callback(partial(_fail_with, future))
        future.add_done_callback(lambda _: task.cancel())

    async def _perform(self, kind: CallKind, call: Invocation, future: Pending) -> None:
        began = self._loop.time()
        method, target = (kind.method, kind.path) if call.http is None else (call.http.method, call.http.request_uri)
        try:
            response = await self._client.open(
                method,
                self._url(target),
                timeout_s=_FOREVER_S,
                headers=request_fields(self._image, kind, call),
                body=call.event if call.body is None else call.body,
                switching=call.http is not None and call.http.websocket,
            )
            if call.stream and call.http is not None and not _is_short(call.http.method, response):
                http = HttpAnswer(status=response.status, headers=tuple(response.headers.pairs))
                answer = self._answer(b"", (self._loop.time() - began) * 1000, http=http)
                upstream = response if response.status == HTTPStatus.SWITCHING_PROTOCOLS else None
                answer = replace(answer, stream=StreamedBody(response, upstream))
            else:
                whole = await response.whole(self._limit)
                answer = self._read(kind, call, whole, (self._loop.time() - began) * 1000)
        except BodyBroken as error:
            if not future.done():
                future.set_exception(RequestBroken(str(error), error.limit))
            return
        except AnswerTooLarge:
            answer = self._answer(b"", (self._loop.time() - began) * 1000, size=self._limit + 1)
        except (ClientError, ValueError) as error:
            await self._unanswered(call, future, error)
            return
        self._resolve(future, answer)

    async def _unanswered(self, call: Invocation, future: Pending, error: Exception) -> None:
        """Resolve a call that was not answered; methods that may be repeated are, once, on another instance."""
        await asyncio.wait({self.gone}, timeout=_LINGER_S)
        if not self.gone.done() and self._is_ending():
            await asyncio.wait({self.gone})  # a busy machine tells it late; the call's own deadline is its bound
        if not self.gone.done():
            self.output(f"the program did not answer: {error}\n".encode())
            self._measure()
        repeatable = (
            call.http is not None
            and call.http.method in _IDEMPOTENT
            and not call.repeated
            and (call.body is None or not call.body.begun)
        )
        unread = isinstance(error, ConnectFailed) or repeatable
        if not future.done():
            future.set_result(Exit(memory_kb=self._memory_kb, unread=unread))

    def _read(self, kind: CallKind, call: Invocation, response: ClientResponse, duration_ms: float) -> Answer:
        status, body = response.status, response.body
        if call.http is not None:
            http = HttpAnswer(status=status, headers=tuple(response.headers.pairs))
            return self._answer(body, duration_ms, http=http)
        if kind is INVOKE:
            return self._answer(body, duration_ms, ok=succeeded(response.headers.get(STATUS_FIELD)))
        if kind.freezes and status == 500:
            self._loop.call_soon(self.kill)  # the platform starts such an instance anew
        ok = 200 <= status < 300
        return self._answer(b"" if ok else _failure(status, body), duration_ms, ok=ok)

    def _url(self, target: str) -> str:
        return f"http://127.0.0.1:{self.port}{target if target.startswith('/') else '/' + target}"


def _fail_with(future: Pending, task: asyncio.Task[None]) -> None:
    """Fail a call when *task* failed, rather than leave it to its deadline."""
    if not task.cancelled() and (error := task.exception()) is not None and not future.done():
        future.set_exception(error)


def _is_short(method: str, response: StreamedResponse) -> bool:
    """Whether an answer is known to be short enough for being passed on at once, which costs less."""
    length = read_digits(response.headers.get("content-length"))
    return method == "HEAD" or response.status in {204, 304} or (length is not None and length <= _SHORT)


def _failure(status: int, body: bytes) -> bytes:
    """Return the body for a failed initializer: the program's own when that is an error object.

    Source: assumed.
    """
    if b'"errorMessage"' in body:
        return body
    text = body.decode("utf-8", "replace").strip()
    return logs.error_body(f"the initializer answered with status {status}{': ' if text else ''}{text}")


_TAKEN = re.compile(r"in use|EADDRINUSE", re.IGNORECASE)

IDLE_S = 4.0
"""How long a connection is kept for the next call: less than the five seconds after which Node.js servers close one."""


class CustomLauncher(Launcher):
    """A `Launcher` for programs that listen."""

    def __init__(self, settings: RuntimeSettings, forker: Forker) -> None:
        self._settings = settings
        self._forker = forker
        self._client = HttpClient(idle_s=IDLE_S, idle_per_host=200, idle_total=1000)
        self._given: set[int] = set()
        self._holders: dict[int, str] = {}
        self._insisting: set[str] = set()
        self._following: set[str] = set()
        self._learning: dict[int, asyncio.Lock] = {}

    async def launch(self, listener: Listener, credentials: Credentials | None = None) -> InstanceProcess:
        """Start the function's program and wait until it listens; see `Launcher`.

        Raises: PortBusy, ProgramMissing; RuntimeUnavailable; InstanceStartFailed.
        """
        image = listener.image
        if image.key in self._following:
            return await self._start(listener, credentials, ())
        # Which port it takes shows when it listens, so of those that may take the same one only one starts at a time.
        async with self._learning.setdefault(image.port, asyncio.Lock()):
            holder = self._holders.get(image.port)
            if holder is not None and image.key in self._insisting:
                raise PortBusy(image.port, holder)
            spare = () if holder is not None or await is_open(image.port) else (image.port,)
            try:
                process = await self._start(listener, credentials, spare)
            except InstanceStartFailed as error:
                if holder is not None and _TAKEN.search(str(error)):
                    self._insisting.add(image.key)
                    raise PortBusy(image.port, holder) from error
                raise
            self._learn(process)
            return process

    async def close(self) -> None:
        """Close the connections; the processes are ended by the forker that started them."""
        await self._client.close()

    async def _start(self, listener: Listener, credentials: Credentials | None, also: Iterable[int]) -> CustomProcess:
        image = listener.image
        own = free_port({*self._given, *self._holders, image.port})
        variables = dict.fromkeys(PORT_VARIABLES, str(own))
        isolated = await self._forker.isolated(image.runtime)
        command = at_code(image.command or ("/code/bootstrap",), image.code_dir, isolated=isolated)
        program = program_of(listener, self._settings, command, variables, credentials, isolated=isolated)
        process = CustomProcess(listener, self._settings, self._client, [own, *also])
        self._given.add(own)
        process.at_end(lambda: self._given.discard(own))
        await process.start_listening(self._forker, program, self._settings.listen_timeout_s)
        return process

    def _learn(self, process: CustomProcess) -> None:
        image = process.listener.image
        if process.port != image.port:
            self._following.add(image.key)
            return
        self._insisting.add(image.key)
        self._holders[image.port] = process.listener.instance_id
        process.at_end(lambda: self._holders.pop(image.port, None))
