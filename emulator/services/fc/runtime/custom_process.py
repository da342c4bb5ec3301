"""One running program that listens: its calls are requests, its health can be asked for."""

import asyncio
from dataclasses import replace

from emulator.http.client import ClientResponse, HttpClient, StreamedResponse
from emulator.http.client_errors import AnswerTooLarge, ClientError, ConnectFailed
from emulator.services.fc.runtime import failures
from emulator.services.fc.runtime.custom_headers import STATUS_FIELD, request_fields, request_line, succeeded
from emulator.services.fc.runtime.health import wait_until_ill
from emulator.services.fc.runtime.instance import FunctionImage, HttpAnswer
from emulator.services.fc.runtime.launcher import Answer, Call, Exit, Listener
from emulator.services.fc.runtime.program_process import Pending, ProgramProcess
from emulator.services.fc.runtime.settings import RuntimeSettings
from emulator.services.fc.runtime.streaming import StreamedBody

_FOREVER_S = 30 * 24 * 3600.0
"""Calls end by the function's own time-out, which ends the process."""

_LINGER_S = 0.1
_SHORT = 1024 * 1024
_IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"})


class CustomProcess(ProgramProcess):
    """An `InstanceProcess` that is called over HTTP on `port`."""

    def __init__(
        self,
        image: FunctionImage,
        listener: Listener,
        settings: RuntimeSettings,
        client: HttpClient,
        *,
        measured: bool = True,
    ) -> None:
        super().__init__(image, listener, measured=measured)
        self._limit = settings.response_limit
        self._client = client
        self.port = 0

    def look_after(self) -> None:
        """End the process when its health check fails too often."""
        if self._image.health_check is not None:
            check = self._image.health_check

            async def watch() -> None:
                await wait_until_ill(check, self.probe)
                self.output(b"the health check failed too often; the instance is ended\n")
                self.kill()

            self._keep(watch())

    async def probe(self) -> bool:
        """Ask the program whether it is well, as its health check says."""
        check = self._image.health_check
        assert check is not None
        try:
            answer = await self._client.request("GET", self._url(check.path), timeout_s=check.timeout_s)
        except (ClientError, ValueError):
            return False
        return 200 <= answer.status < 400

    def _send(self, call: Call, future: Pending) -> None:
        task = self._keep(self._perform(call, future))
        future.add_done_callback(lambda _: task.cancel())

    async def _perform(self, call: Call, future: Pending) -> None:
        began = self._loop.time()
        method, target = request_line(call)
        try:
            response = await self._client.open(
                method,
                self._url(target),
                timeout_s=_FOREVER_S,
                headers=request_fields(self._image, call),
                body=call.event,
            )
            if call.stream and call.http is not None and not _is_short(call.http.method, response):
                answer = self._streamed(response, (self._loop.time() - began) * 1000)
            else:
                whole = await response.whole(self._limit)
                answer = self._read(call, whole, (self._loop.time() - began) * 1000)
        except AnswerTooLarge:
            answer = self._answer(b"", (self._loop.time() - began) * 1000, size=self._limit + 1)
        except (ClientError, ValueError) as error:
            await self._lost(call, future, error)
            return
        self._resolve(future, answer)

    async def _lost(self, call: Call, future: Pending, error: Exception) -> None:
        """Resolve a call that was not answered; methods that may be repeated are, on another instance."""
        await asyncio.wait({self.gone}, timeout=_LINGER_S)
        if not self.gone.done():
            self.output(f"the program did not answer: {error}\n".encode())
        unread = isinstance(error, ConnectFailed) or (call.http is not None and call.http.method in _IDEMPOTENT)
        if not future.done():
            future.set_result(Exit(memory_kb=self._memory_kb, unread=unread))

    def _read(self, call: Call, response: ClientResponse, duration_ms: float) -> Answer:
        status, body = response.status, response.body
        if call.http is not None:
            http = HttpAnswer(status=status, headers=tuple(response.headers.pairs))
            return self._answer(body, duration_ms, http=http)
        if call.kind == "invoke":
            return self._answer(body, duration_ms, ok=succeeded(response.headers.get(STATUS_FIELD)))
        if call.kind in {"pre_freeze", "pre_stop"} and status == 500:
            self._loop.call_soon(self.kill)  # the platform starts such an instance anew
        ok = 200 <= status < 300
        return self._answer(b"" if ok else _failure(status, body), duration_ms, ok=ok)

    def _streamed(self, response: StreamedResponse, duration_ms: float) -> Answer:
        http = HttpAnswer(status=response.status, headers=tuple(response.headers.pairs))
        return replace(self._answer(b"", duration_ms, http=http), stream=StreamedBody(response))

    def _url(self, target: str) -> str:
        return f"http://127.0.0.1:{self.port}{target if target.startswith('/') else '/' + target}"


def _is_short(method: str, response: StreamedResponse) -> bool:
    """Tell whether an answer is known to be short enough for being passed on at once, which costs less."""
    length = response.headers.get("content-length")
    return method == "HEAD" or response.status in {204, 304} or (length.isdigit() and int(length) <= _SHORT)


def _failure(status: int, body: bytes) -> bytes:
    """Return what a caller is told about a failed initializer: what the program says when that is an error object.

    Source: assumed.
    """
    if b'"errorMessage"' in body:
        return body
    text = body.decode("utf-8", "replace").strip()
    return failures.body(f"the initializer answered with status {status}{': ' if text else ''}{text}")
