"""Signing of outgoing notifications: the string to sign, and the child process that signs.

Receivers verify a push with the RSA key of a certificate whose address the push itself names. The library for RSA must
not be imported here (start-up time, memory), the standard library cannot sign, and doing it with `pow` holds the
interpreter lock for 5 ms a signature. So a child process, started with the first need, keeps the key and signs at a
quarter of a millisecond each; it ends when its standard input does.
"""

import asyncio
import logging
from base64 import b64encode
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from emulator.http.certificate_files import times
from emulator.kernel.clock import Clock
from emulator.kernel.tasks import TaskGroup, kill, start_module

_log = logging.getLogger(__name__)

_START_S: Final = 30
_SIGN_S: Final = 10
_END_S: Final = 2
FRAME_HEAD: Final = 4
"""Bytes before each frame: its length, high byte first."""


class SigningFailed(Exception):
    """No signature was made: the child process could not start, or ended."""


def string_to_sign(headers: Iterable[tuple[str, str]], target: str) -> str:
    """Return what the signature of a push covers: method, digest, type, date, all ``x-mns-*`` headers and the target.

    Source: HttpEndpoint page, "verify the signature".
    """
    fields = {name.lower(): value for name, value in headers}
    lines = ["POST", fields.get("content-md5", ""), fields.get("content-type", ""), fields.get("date", "")]
    lines += [f"{name}:{fields[name]}" for name in sorted(fields) if name.startswith("x-mns-")]
    return "\n".join((*lines, target))


class PushSigner:
    """Signs with the key of this installation, which is made at first use and kept in *folder*."""

    def __init__(self, folder: Path, *, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._tasks = TaskGroup("push-signer")
        self._starting: asyncio.Task[_Child] | None = None
        self._closed = False

    def warm(self) -> None:
        """Start the child in the background, so that the first push need not wait for it."""
        if not self._closed:
            self._child()

    async def authorization(self, text: str) -> str:
        """Return the ``Authorization`` header for a string to sign: Base64 of its RSA-SHA1 (PKCS #1 v1.5) signature.

        Raises: SigningFailed.
        """
        child = await self._ready()
        try:
            async with asyncio.timeout(_SIGN_S):
                return b64encode(await child.sign(text.encode("utf-8", "surrogateescape"))).decode("ascii")
        except TimeoutError:
            child.kill()
            raise SigningFailed(f"nothing was signed within {_SIGN_S} s") from None

    async def certificate(self) -> bytes:
        """Return the certificate receivers verify with, as one bare PEM block.

        Raises: SigningFailed.
        """
        return (await self._ready()).certificate

    async def close(self) -> None:
        """End the child."""
        self._closed = True
        starting, self._starting = self._starting, None
        if starting is not None and starting.done() and not starting.cancelled() and starting.exception() is None:
            await starting.result().close()
        await self._tasks.close()

    async def _ready(self) -> "_Child":
        if self._closed:
            raise SigningFailed("the emulator stops")
        return await asyncio.shield(self._child())

    def _child(self) -> "asyncio.Task[_Child]":
        task = self._starting
        failed = task is not None and task.done() and (task.cancelled() or task.exception() or not task.result().alive)
        if task is None or failed:
            task = self._starting = self._tasks.spawn(self._start(), "start")
        return task

    async def _start(self) -> "_Child":
        arguments = (str(self._folder), *map(str, times(self._clock)))
        pipe = asyncio.subprocess.PIPE
        try:
            process = await start_module("emulator.auth.push_child", *arguments, stdin=pipe, stdout=pipe)
        except OSError as error:
            raise SigningFailed(f"the process that signs pushes cannot be started: {error}") from error
        child = _Child(process)
        try:
            async with asyncio.timeout(_START_S):
                await child.greet()
        except BaseException as error:
            complaint = await child.end()
            if isinstance(error, TimeoutError | asyncio.IncompleteReadError):
                raise SigningFailed(complaint or f"the process that signs pushes was not ready: {error}") from error
            raise
        self._tasks.spawn(child.serve(), "answers")
        return child


class _Child:
    """The running child. Signatures come back in the order they were asked for."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._waiting: deque[asyncio.Future[bytes]] = deque()
        self.certificate = b""
        self.alive = False

    async def greet(self) -> None:
        """Read the certificate, the child's first frame."""
        self.certificate = await self._frame()
        self.alive = True

    async def sign(self, data: bytes) -> bytes:
        if not self.alive:
            raise SigningFailed("the process that signs pushes has ended")
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self._stdin.write(len(data).to_bytes(FRAME_HEAD, "big") + data)
        return await future

    async def serve(self) -> None:
        """Hand out signatures until the child ends."""
        try:
            while True:
                signature = await self._frame()
                future = self._waiting.popleft()
                if not future.done():
                    future.set_result(signature)
        except (asyncio.IncompleteReadError, OSError):
            pass  # the child has ended; those that wait get the error below
        finally:
            self.alive = False
            while self._waiting:
                future = self._waiting.popleft()
                if not future.done():
                    future.set_exception(SigningFailed("the process that signs pushes has ended"))
            complaint = await self.end()
            if complaint:
                _log.error("the process that signs pushes has ended: %s", complaint)

    def kill(self) -> None:
        """End the child at once; `serve` notices."""
        kill(self._process)

    async def close(self) -> None:
        """Let the child end by itself, as it does without input."""
        self._stdin.close()
        try:
            async with asyncio.timeout(_END_S):
                await self._process.wait()
        except TimeoutError:
            self.kill()

    async def end(self) -> str:
        """End the child and return the last line of what it complained about."""
        self.kill()
        self._stdin.close()
        assert self._process.stderr is not None
        complaint = await self._process.stderr.read()
        await self._process.wait()
        return complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]

    async def _frame(self) -> bytes:
        length = int.from_bytes(await self._stdout.readexactly(FRAME_HEAD), "big")
        return await self._stdout.readexactly(length)
