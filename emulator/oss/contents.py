"""The bytes of objects: one file for each piece of content, written once, read in parts, removed when unused.

A few named threads do the hashing and the work on files. A file is written under a draft name and renamed, so a file
under its own name is whole. A reader holds its pieces; a file to be removed while it is held is removed afterwards. A
file that a row names is never removed: the row may have been restored since the removal was requested.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from hashlib import md5
from pathlib import Path
from typing import TypeVar

from emulator.kernel.crc64 import crc64
from emulator.kernel.ids import Ids
from emulator.oss.limits import READ_BYTES
from emulator.oss.model import Content, Piece, Span, slices

T = TypeVar("T")

_THREADS = 2
_DRAFT = ".new-"


def remove_drafts(folder: Path) -> None:
    """Remove the drafts of interrupted writes from the folder of content; to be called before any write."""
    for draft in folder.glob(f"[0-9a-f][0-9a-f]/{_DRAFT}*"):
        draft.unlink(missing_ok=True)


class Contents:
    """The folder of content; *folder* is made for the first object.

    *needed* returns whether a row names a piece of content. While *going* is clear, rows and files are being replaced
    and no file is removed. With *sync* a file is flushed to disk before it counts as written.
    """

    def __init__(
        self, folder: Path, ids: Ids, needed: Callable[[str], bool], going: asyncio.Event, *, sync: bool
    ) -> None:
        self._folder = folder
        self._ids = ids
        self._needed = needed
        self._going = going
        self._sync = sync
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="oss-content")
        self._held: Counter[str] = Counter()
        self._doomed: set[str] = set()
        self._postponed: list[str] = []
        self._removals: set[Future[None]] = set()

    async def add(self, data: bytes) -> Content:
        """Store *data* until `remove`, or until a start finds that no row refers to it.

        Raises: OSError.
        """
        name = self._ids.hex(32)

        def job() -> Content:
            self._write(name, data)
            digest = md5(data, usedforsecurity=False).digest()
            return Content(piece=Piece(content=name, size=len(data)), md5=digest, crc=crc64(data))

        return await self.in_thread(job)

    async def read(self, pieces: Sequence[Piece], span: Span | None = None) -> bytes:
        """Return the bytes of *span* over *pieces*, all of them when it is None.

        Raises: OSError.
        """
        span = span or Span(0, sum(piece.size for piece in pieces))
        wanted = slices(pieces, span)
        with self.hold(pieces):
            return await self.in_thread(lambda: b"".join(self._read(piece, part) for piece, part in wanted))

    def stream(self, pieces: Sequence[Piece], span: Span) -> "Stream":
        """Return the bytes of *span* as an iterator that reads on demand."""
        return Stream(self, pieces, span)

    @contextmanager
    def hold(self, pieces: Iterable[Piece]) -> Iterator[None]:
        """Keep the files of *pieces* from being removed while the context lasts."""
        names = [piece.content for piece in pieces]
        self._held.update(names)
        try:
            yield
        finally:
            self._held.subtract(names)
            self._held += Counter()  # removes the names that are not held any more
            self.remove([name for name in names if name in self._doomed])

    def remove(self, names: Iterable[str]) -> None:
        """Remove content that no row names, at once or when its last reader is done."""
        if not self._going.is_set():
            self._postponed += names
            return
        unneeded = [name for name in names if not self._needed(name)]
        self._doomed.update(name for name in unneeded if name in self._held)
        free = [name for name in unneeded if name not in self._held]
        self._doomed.difference_update(free)
        if free:
            removal = self._threads.submit(self._unlink, free)
            self._removals.add(removal)
            removal.add_done_callback(self._removals.discard)

    async def removed(self) -> None:
        """Wait until every requested removal is done, except of files that are held."""
        if self._removals:
            await asyncio.to_thread(wait, list(self._removals))

    def resume(self) -> None:
        """Carry out the removals postponed since *going* was cleared, unless a row names the file now."""
        postponed, self._postponed = self._postponed, []
        self.remove(postponed)

    async def keep_only(self, needed: Collection[str]) -> None:
        """Remove every file whose name is not in *needed*: leftovers of interrupted writes and removals."""
        await self.in_thread(lambda: self._unlink(name for name in self._names() if name not in needed))

    async def in_thread(self, job: Callable[[], T]) -> T:
        """Run *job* in a thread of this store."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, job)

    async def close(self) -> None:
        """End the threads after their present jobs."""
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)

    def _write(self, name: str, data: bytes) -> None:
        final = self._path(name)
        final.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = final.with_name(f"{_DRAFT}{name}")
        try:
            with draft.open("xb") as file:
                file.write(data)
                if self._sync:
                    file.flush()
                    os.fsync(file.fileno())
            draft.rename(final)
        except OSError:
            draft.unlink(missing_ok=True)
            raise

    def _read(self, piece: Piece, part: Span) -> bytes:
        with self._path(piece.content).open("rb") as file:
            file.seek(part.start)
            data = file.read(len(part))
        if len(data) != len(part):
            raise OSError(f"content {piece.content} is shorter than it was written")
        return data

    def _unlink(self, names: Iterable[str]) -> None:
        for name in names:
            self._path(name.removeprefix(_DRAFT)).with_name(name).unlink(missing_ok=True)

    def _names(self) -> list[str]:
        return [file.name for file in self._folder.glob("[0-9a-f][0-9a-f]/*")]

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name


class Stream:
    """An answer's body, read in parts; the pieces are held until the stream ends or is closed."""

    def __init__(self, contents: Contents, pieces: Sequence[Piece], span: Span) -> None:
        self._contents = contents
        self._left = self._stretches(slices(pieces, span))
        self._holding = contents.hold(pieces)
        self._holding.__enter__()
        self._open = True

    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> bytes:
        """Return the next bytes.

        Raises: OSError.
        """
        for piece, part in self._left:
            return await self._contents.read([piece], part)
        self.close()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stop reading and release the pieces."""
        self.close()

    def close(self) -> None:
        """Release the pieces."""
        if self._open:
            self._open = False
            self._holding.__exit__(None, None, None)

    def __del__(self) -> None:
        self.close()  # an answer to HEAD, or to a client that has gone, is never iterated

    @staticmethod
    def _stretches(parts: list[tuple[Piece, Span]]) -> Iterator[tuple[Piece, Span]]:
        for piece, part in parts:
            for start in range(part.start, part.end, READ_BYTES):
                yield piece, Span(start, min(start + READ_BYTES, part.end))
