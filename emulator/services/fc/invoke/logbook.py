"""The logs of functions: bounded files, rotated, written in the background, read back and followed.

::

    logs/functions/<service>/<function>.log      logs/functions/<function>.log for a function without a service
    logs/functions/@<account>.<region>/...       the same of other accounts and regions
    ....log.1                                    what came before the last rotation

Everything that touches a file is a job of one thread, in the order it was asked for. A reader that wants the last
lines and then the new ones registers on the loop and asks for the last lines in the same step, so it sees every line
once.
"""

import asyncio
import logging
import queue
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from io import FileIO
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from emulator.kernel.identity import Tenant
from emulator.services.fc.model import display_name
from emulator.services.fc.runtime.model import FunctionImage

_BLOCK = 64 * 1024
_OPEN_FILES = 16


class LogFiles:
    """Appends to files, rotates them and reads their ends; a few stay open. Used by one thread."""

    def __init__(self, file_bytes: int) -> None:
        self._file_bytes = file_bytes
        self._open: dict[Path, FileIO] = {}

    def append(self, path: Path, text: bytes) -> None:
        """Append *text*, moving a file that would grow over its bound to ``.1`` first.

        Raises: OSError.
        """
        file = self._open.pop(path, None)
        if file is None:
            while len(self._open) >= _OPEN_FILES:
                self._open.pop(next(iter(self._open))).close()
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("ab", buffering=0)
        self._open[path] = file  # last used last
        if (size := file.tell()) and size + len(text) > self._file_bytes:
            file.close()
            path.replace(path.with_name(path.name + ".1"))
            file = self._open[path] = path.open("ab", buffering=0)
        file.write(text)

    def tail(self, path: Path, lines: int) -> bytes:
        """Return the last *lines* lines, reaching back over the last rotation.

        Raises: OSError.
        """
        text = _last_lines(path, lines)
        missing = lines - text.count(b"\n")
        if missing > 0:
            text = _last_lines(path.with_name(path.name + ".1"), missing) + text
        return text

    def close(self) -> None:
        """Close the open files; the next `append` opens its file again."""
        for file in self._open.values():
            file.close()
        self._open.clear()


def _last_lines(path: Path, lines: int) -> bytes:
    """Return the last *lines* lines of a file, reading no more of it than needed."""
    if lines <= 0:
        return b""
    try:
        with path.open("rb") as file:
            at = file.seek(0, 2)
            blocks: deque[bytes] = deque()
            newlines = 0
            while at and newlines <= lines:
                step = min(_BLOCK, at)
                at -= step
                file.seek(at)
                block = file.read(step)
                newlines += block.count(b"\n")
                blocks.appendleft(block)
    except FileNotFoundError:
        return b""
    text = b"".join(blocks)
    at = len(text) - text.endswith(b"\n")
    for _ in range(lines):  # a line ends with a line feed and nothing else: progress bars write carriage returns
        at = text.rfind(b"\n", 0, at)
        if at < 0:
            return text
    return text[at + 1 :]


_log = logging.getLogger(__name__)

FILE_BYTES = 4 * 1024 * 1024
"""A log file is rotated once it is larger."""

PENDING_BYTES = 16 * 1024 * 1024
"""A flood that the disk cannot follow is cut off beyond this, and the file says so."""

FOLLOWER_CHUNKS = 10_000
"""A follower that does not read is cut off beyond this."""

FLUSH_S = 0.1
"""How long lines may wait, in seconds, to be written to the file together with later ones."""


class _Log(NamedTuple):
    """Whose log: ``place`` is the folder of the tenant, empty for the installation's own."""

    place: str
    service: str
    function: str


class LogBook:
    """The function logs below *folder*. The thread starts with the first line written or read.

    Those of *home*, the installation's own account and region, stand in the folder itself. *also* gets the same text,
    after the function's name and the request's id.
    """

    def __init__(
        self,
        folder: Path,
        home: Tenant,
        file_bytes: int = FILE_BYTES,
        pending_bytes: int = PENDING_BYTES,
        also: Callable[[str, str, bytes], None] | None = None,
    ) -> None:
        self._folder = folder
        self._home = home
        self._also = also
        self._pending_bytes = pending_bytes
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._buffers: dict[_Log, bytearray] = {}
        self._flush_soon: asyncio.TimerHandle | None = None
        self._taken = 0  # bytes; counted by the loop only
        self._written = 0  # bytes; counted by the thread only
        self._lost = 0
        self._followers: set[_Follower] = set()
        self._files = LogFiles(file_bytes)
        self._closed = False

    def path(self, log: _Log) -> Path:
        """Return the file of a log; the names have been checked by the service."""
        return self._folder / log.place / log.service / f"{log.function}.log"

    def _place(self, account: str, region: str) -> str:
        """Return the name of the folder of a tenant's logs, which no service can have; empty for *home*."""
        return "" if (account, region) == self._home else f"@{quote(f'{account}.{region}', safe='')}"

    def on_log(self, image: FunctionImage, request_id: str, text: bytes) -> None:
        """Receive what an instance wrote; the listener of the instance pool."""
        log = _Log(self._place(image.account, image.region), image.service or "", image.function)
        self._write(log, text)  # the lines carry the request's id themselves
        if self._also is not None:
            self._also(image.label, request_id, text)

    def write(self, tenant: Tenant, service: str, function: str, text: bytes) -> None:
        """Append *text* (whole lines, or parts of them) to a function's log; on the loop, never waits.

        Followers get it at once. The file gets it within a tenth of a second, together with what else comes until
        then: waking the thread for every line would cost the calls more than the lines.
        """
        self._write(_Log(self._place(*tenant), service, function), text)

    def _write(self, log: _Log, text: bytes) -> None:
        if not text or self._closed:
            return
        for follower in self._followers:
            follower.offer(log, text)
        if self._taken - self._written + len(text) > self._pending_bytes:
            self._lost += len(text)
            return
        if self._lost:
            note = f"[localyun] {self._lost} bytes of log were dropped: they came faster than the disk takes them\n"
            text = note.encode() + text
            self._lost = 0
        self._taken += len(text)
        self._buffers.setdefault(log, bytearray()).extend(text)
        if self._flush_soon is None:
            self._flush_soon = asyncio.get_running_loop().call_later(FLUSH_S, self._flush)

    def read(self, tenant: Tenant, service: str, function: str, lines: int, *, follow: bool) -> AsyncIterator[bytes]:
        """Yield the last *lines* lines and, with *follow*, what is written from now on until the reader stops."""
        return self._read(_Log(self._place(*tenant), service, function), lines, follow=follow)

    def read_all(self, tenant: Tenant, lines: int, *, follow: bool) -> AsyncIterator[bytes]:
        """Do as `read` for all functions, one after the other; each line is led by ``service/function: ``."""
        return self._read(_Log(self._place(*tenant), "", ""), lines, follow=follow)

    async def _read(self, wanted: _Log, lines: int, *, follow: bool) -> AsyncIterator[bytes]:
        follower = _Follower(wanted)
        if follow:
            self._followers.add(follower)
        try:
            for log, tail in await self._ask_tails(wanted, lines):
                if tail:
                    yield tail if wanted.function else _led(log, tail)
            if follow:
                async for text in follower.texts():
                    yield text
        finally:
            self._followers.discard(follower)

    def names(self, tenant: Tenant) -> list[tuple[str, str]]:
        """Return (service, function) of every log of *tenant*; service is empty for functions without one."""
        return [(log.service, log.function) for log in self._logs(self._place(*tenant))]

    def _logs(self, place: str) -> list[_Log]:
        folder = self._folder / place
        logs = [_Log(place, "", file.stem) for file in folder.glob("*.log")]
        logs += [_Log(place, file.parent.name, file.stem) for file in folder.glob("[!@]*/*.log")]
        return sorted(logs)

    async def clear(self) -> None:
        """Remove every log file."""
        await self._ask(self._remove_all)

    async def close(self) -> None:
        """Write what is pending, end the followers and the thread."""
        self._flush()
        self._closed = True
        for follower in list(self._followers):
            follower.end()
        thread, self._thread = self._thread, None
        self._jobs.put(None)
        if thread is not None:
            await asyncio.get_running_loop().run_in_executor(None, thread.join)
        else:
            self._run()  # only what was left while no thread could be started

    def _flush(self) -> None:
        if self._flush_soon is not None:
            self._flush_soon.cancel()
            self._flush_soon = None
        buffers, self._buffers = self._buffers, {}
        if not buffers:
            return
        pieces = [(self.path(log), bytes(text)) for log, text in buffers.items()]

        def job() -> None:
            for path, text in pieces:
                try:
                    self._files.append(path, text)
                finally:
                    self._written += len(text)

        self._put(job)

    def _put(self, job: Callable[[], None]) -> None:
        self._jobs.put(job)
        if self._thread is not None:
            return
        thread = threading.Thread(target=self._run, name="fc-logs", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the next line tries again; the job waits till then
            _log.warning("functions' logs are not written for now: %s", error)
        else:
            self._thread = thread

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except OSError as error:
                _log.warning("a function's log could not be written or read: %s", error)
        self._files.close()

    async def _ask_tails(self, wanted: _Log, lines: int) -> list[tuple[_Log, bytes]]:
        tails: list[tuple[_Log, bytes]] = []

        def read() -> None:
            logs = [wanted] if wanted.function else self._logs(wanted.place)
            tails.extend((log, self._files.tail(self.path(log), lines)) for log in logs)

        await self._ask(read)
        return tails

    async def _ask(self, job: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def finish() -> None:
            if not done.done():
                done.set_result(None)

        def run() -> None:
            try:
                job()
            finally:
                loop.call_soon_threadsafe(finish)

        if not self._closed:
            self._flush()
            self._put(run)
            await done

    def _remove_all(self) -> None:
        self._files.close()
        for file in self._folder.glob("**/*.log*"):
            file.unlink(missing_ok=True)


def _led(log: _Log, text: bytes) -> bytes:
    lead = display_name(log.service, log.function).encode() + b": "
    return b"".join(lead + line + b"\n" for line in text.removesuffix(b"\n").split(b"\n")) if text else b""


class _Follower:
    """A reader that follows new lines of a function, or of all of a place with their names; lives on the loop."""

    def __init__(self, wanted: _Log) -> None:
        self._wanted = wanted
        self._texts: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._ended = False

    def offer(self, log: _Log, text: bytes) -> None:
        """Hand over *text* when it is from a function this reader wants."""
        wanted = self._wanted
        if self._ended or (wanted != log if wanted.function else wanted.place != log.place):
            return
        if self._texts.qsize() >= FOLLOWER_CHUNKS:
            self._texts.put_nowait(b"[localyun] this reader fell too far behind and is cut off here\n")
            self.end()
            return
        if not wanted.function:
            text = _led(log, text)
        self._texts.put_nowait(text)

    def end(self) -> None:
        """Let the reader finish."""
        self._ended = True
        self._texts.put_nowait(None)

    async def texts(self) -> AsyncIterator[bytes]:
        """Yield what was offered, in order, until the end."""
        while (text := await self._texts.get()) is not None:
            yield text
