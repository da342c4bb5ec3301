"""One running program that listens, as the server sees it: calls over HTTP, output, health, the end."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from typing import Any

from emulator.http.client import ClientError, ClientResponse, HttpClient
from emulator.http.client_errors import AnswerTooLarge, ConnectFailed
from emulator.services.fc.runtime import failures
from emulator.services.fc.runtime.custom_headers import STATUS_FIELD, request_fields, request_line, succeeded
from emulator.services.fc.runtime.framing import Channel, Header
from emulator.services.fc.runtime.health import wait_until_ill
from emulator.services.fc.runtime.instance import FunctionImage, HttpAnswer
from emulator.services.fc.runtime.launcher import Answer, Call, Exit, Listener
from emulator.services.fc.runtime.program import ProgramControl
from emulator.services.fc.runtime.python import LogSource
from emulator.services.fc.runtime.settings import RuntimeSettings
from emulator.services.fc.runtime.usage import tree_peak_kb, uses_more_than

_FOREVER_S = 30 * 24 * 3600.0
"""Calls end by the function's own time-out, which ends the process."""

_LINGER_S = 0.1
_FRAME_LIMIT = 64 * 1024
_SAID = 4096
_IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"})

_OWN_MARKER = re.compile(
    rb"^FC (?:Invoke|Initialize|PreFreeze|PreStop) (?:Start|End) RequestId: [^\n]*\n", re.MULTILINE
)
"""What the platform's guide asks a program to print, and the emulator writes by itself."""

Pending = asyncio.Future[Answer | Exit]


class CustomProcess:
    """An `InstanceProcess` that is called over HTTP on `port`. ``gone`` is resolved when the process has ended."""

    def __init__(self, image: FunctionImage, listener: Listener, settings: RuntimeSettings, client: HttpClient) -> None:
        self._loop = asyncio.get_running_loop()
        self._image = image
        self._listener = listener
        self._limit = settings.response_limit
        self._client = client
        self._control: ProgramControl | None = None
        self._log: LogSource | None = None
        self._calls: dict[Pending, asyncio.Task[None]] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._at_end: list[Callable[[], object]] = []
        self._watchers = 0
        self._memory_kb = 0
        self._fatal = ""
        self._tail = b""
        self._over = False
        self.port = 0
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self.channel = Channel(self._on_frame, lambda error: None, _FRAME_LIMIT)

    def attach(self, control: ProgramControl, log: LogSource) -> None:
        """Take what reaches the process."""
        self._control = control
        self._log = log

    def at_end(self, action: Callable[[], object]) -> None:
        """Have *action* called when the process has ended, or was never started."""
        self._at_end.append(action)

    def look_after(self) -> None:
        """End the process when its health check fails too often."""
        if self._image.health_check is not None:
            check = self._image.health_check

            async def watch() -> None:
                await wait_until_ill(check, self.probe)
                self.output(b"the health check failed too often; the instance is ended\n")
                self.kill()

            self._keep(watch())

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        self._background.add(task := self._loop.create_task(work))
        task.add_done_callback(self._background.discard)

    async def probe(self) -> bool:
        """Ask the program whether it is well, as its health check says."""
        check = self._image.health_check
        assert check is not None
        try:
            answer = await self._client.request("GET", self._url(check.path), timeout_s=check.timeout_s)
        except (ClientError, ValueError):
            return False
        return 200 <= answer.status < 400

    def said(self) -> str:
        """Return the end of what the program has written so far."""
        return self._tail.decode("utf-8", "replace").strip()

    def failure(self) -> str:
        """Tell why the process ended before it was ready."""
        if self._fatal:
            return f"Failed to start function instance. Error: {self._fatal}"
        command = " ".join(self._image.command) or "/code/bootstrap"
        return f"Function instance exited unexpectedly with start command '{command}'.\nLogs:\n{self.said()}"

    def begin(self, call: Call) -> Pending:
        """Hand over a call; see `InstanceProcess`."""
        future: Pending = self._loop.create_future()
        if self.gone.done():
            future.set_result(Exit(memory_kb=self._memory_kb, unread=True))
            return future
        self._calls[future] = self._loop.create_task(self._perform(call, future))
        future.add_done_callback(self._on_done)
        return future

    def watch(self) -> None:
        """Have the process looked at; see `InstanceProcess`."""
        self._watchers += 1
        if self._watchers == 1 and self._control is not None:
            self._control.watch(True)

    def unwatch(self) -> None:
        """Take back one `watch`; see `InstanceProcess`."""
        self._watchers -= 1
        if self._watchers == 0 and self._control is not None:
            self._control.watch(False)

    def terminate(self) -> None:
        """Send SIGTERM; see `InstanceProcess`."""
        if self._control is not None and not self.gone.done():
            self._control.terminate()

    def kill(self) -> None:
        """Send SIGKILL to the session; see `InstanceProcess`."""
        if self._control is not None and not self.gone.done():
            self._control.kill()

    def abandon(self) -> None:
        """Let go of a process whose start failed; its listener is not told any more."""
        self._over = True
        self.kill()
        if self._control is None or self.gone.done():
            self._release()

    def output(self, data: bytes) -> None:
        """Take in what the program wrote."""
        data = _OWN_MARKER.sub(b"", data)
        self._tail = (self._tail + data)[-_SAID:]
        self._listener.output(data, None)

    def exited(self, memory_kb: int) -> None:
        """Take note that the process has ended; answers on their way are still delivered."""
        if self.gone.done():
            return
        self._memory_kb = max(self._memory_kb, memory_kb)
        if self._log is not None:
            self._log.close()
        self.gone.set_result(None)
        self._keep(self._finish())

    async def _finish(self) -> None:
        if self._calls:
            await asyncio.wait(list(self._calls.values()), timeout=_LINGER_S)
        for future in list(self._calls):
            if not future.done():
                future.set_result(Exit(memory_kb=self._memory_kb))
        self._release()
        if not self._over:
            self._over = True
            self._listener.ended(self._memory_kb)

    def _release(self) -> None:
        self.channel.close()
        for action in self._at_end:
            action()
        self._at_end.clear()
        for task in self._background:
            if task is not asyncio.current_task():
                task.cancel()

    async def _perform(self, call: Call, future: Pending) -> None:
        began = self._loop.time()
        method, target = request_line(call)
        try:
            response = await self._client.request(
                method,
                self._url(target),
                timeout_s=_FOREVER_S,
                headers=request_fields(self._image, call),
                body=call.event,
                max_response=self._limit,
            )
            answer = self._answer(call, response, (self._loop.time() - began) * 1000)
        except AnswerTooLarge:
            answer = self._answered(b"", (self._loop.time() - began) * 1000, size=self._limit + 1)
        except (ClientError, ValueError) as error:
            await self._lost(call, future, error)
            return
        assert self._log is not None
        self._log.settle("", lambda: None if future.done() else future.set_result(answer))

    async def _lost(self, call: Call, future: Pending, error: Exception) -> None:
        """Resolve a call that was not answered; methods that may be repeated are, on another instance."""
        await asyncio.wait({self.gone}, timeout=_LINGER_S)
        if not self.gone.done():
            self.output(f"the program did not answer: {error}\n".encode())
        unread = isinstance(error, ConnectFailed) or (call.http is not None and call.http.method in _IDEMPOTENT)
        if not future.done():
            future.set_result(Exit(memory_kb=self._memory_kb, unread=unread))

    def _answer(self, call: Call, response: ClientResponse, duration_ms: float) -> Answer:
        status, body = response.status, response.body
        if call.http is not None:
            http = HttpAnswer(status=status, headers=tuple(response.headers.pairs))
            return self._answered(body, duration_ms, http=http)
        if call.kind == "invoke":
            return self._answered(body, duration_ms, ok=succeeded(response.headers.get(STATUS_FIELD)))
        if call.kind in {"pre_freeze", "pre_stop"} and status == 500:
            self._loop.call_soon(self.kill)  # the platform starts such an instance anew
        ok = 200 <= status < 300
        return self._answered(b"" if ok else _failure(status, body), duration_ms, ok=ok)

    def _answered(
        self, body: bytes, duration_ms: float, *, ok: bool = True, size: int = 0, http: HttpAnswer | None = None
    ) -> Answer:
        over = False
        if self._control is not None and not self.gone.done():
            peak_kb = tree_peak_kb(self._control.pid)
            self._memory_kb = max(self._memory_kb, peak_kb)
            over = peak_kb > self._image.memory_mb * 1024 and uses_more_than(self._control.pid, self._image.memory_mb)
        return Answer(
            succeeded=ok,
            body=body,
            duration_ms=duration_ms,
            memory_kb=self._memory_kb,
            over_memory=over,
            size=size or len(body),
            http=http,
        )

    def _url(self, target: str) -> str:
        return f"http://127.0.0.1:{self.port}{target if target.startswith('/') else '/' + target}"

    def _on_done(self, future: Pending) -> None:
        self._calls.pop(future).cancel()

    def _on_frame(self, header: Header, payload: bytes) -> None:
        del payload
        self._fatal = str(header.get("fatal", ""))


def _failure(status: int, body: bytes) -> bytes:
    """Return what a caller is told about a failed initializer: what the program says when that is an error object.

    Source: assumed.
    """
    if b'"errorMessage"' in body:
        return body
    text = body.decode("utf-8", "replace").strip()
    return failures.body(f"the initializer answered with status {status}{': ' if text else ''}{text}")
