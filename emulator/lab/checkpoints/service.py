"""Saving and restoring the whole state while the emulator runs.

To save is to copy the tables of one moment and to keep the files they name. To restore is to replace tables and clock
while everything stands still (`Standstill`): a restart without a restart. What runs is ended and the clock is held; the
tables or the clock are changed; every service goes on from there as after a start. Processes that make function
instances stay.
"""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from emulator import __version__
from emulator.kernel.clock import AdjustableClock
from emulator.kernel.identity import Tenant
from emulator.kernel.timers import LoopTimers
from emulator.lab.checkpoints.store import About, CheckpointStore, ContentGone, check_name
from emulator.lab.clock import TimeControl
from emulator.lab.errors import LabError
from emulator.storage.database import Database

_log = logging.getLogger(__name__)

_COPIED_AT_ONCE = 64 * 1024 * 1024
"""Tables up to this size are copied on the loop, which takes milliseconds; larger ones beside it, from the file."""

_ATTEMPTS = 5


class Suspendable(Protocol):
    """The services, whose state is changed."""

    def files(self) -> list[str]:
        """Return the files the tables name: paths below the work folder."""
        ...

    async def suspend(self) -> None:
        """End what runs: all tables are about to be replaced."""
        ...

    async def resume(self) -> None:
        """Go on with what the tables hold now; every timer has been dropped."""
        ...


class Standstill:
    """Lets the *services* stand still while tables or clock are changed."""

    def __init__(self, services: Suspendable, time: TimeControl, timers: LoopTimers) -> None:
        self._services = services
        self._time = time
        self._timers = timers

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[set[str]]:
        """Stand still for the context, which is given a set: the files that no table names any more, at its end."""
        gone: set[str] = set()
        async with self._time.held():
            await self._services.suspend()
            before = set(self._services.files())
            try:
                yield gone
            finally:
                self._timers.clear()  # they are set anew, by what time it is then
                await self._services.resume()
                gone |= before.difference(self._services.files())


class Checkpoints:
    """The checkpoints of one emulator.

    What goes with one but does not outlive the emulator is copied by *kept* and *put_back*, which puts nothing in its
    place for None. *resumed* is called last in a restore.
    """

    def __init__(
        self,
        store: CheckpointStore,
        database: Database,
        clock: AdjustableClock,
        time: TimeControl,
        services: Suspendable,
        standstill: Standstill,
        tenant: Tenant,
        kept: Callable[[], object],
        put_back: Callable[[Any], None],
        resumed: Callable[[], None],
    ) -> None:
        self._store = store
        self._database = database
        self._clock = clock
        self._time = time
        self._services = services
        self._standstill = standstill
        self._tenant = tenant
        self._kept = kept
        self._put_back = put_back
        self._in_memory: dict[str, object] = {}
        self._resumed = resumed
        self._lock = asyncio.Lock()

    async def save(self, name: str) -> About:
        """Keep the state as it is now, in place of what the name stood for.

        Raises: LabError (InvalidParameter); OSError, sqlite3.Error when it cannot be written.
        """
        check_name(name)
        async with self._lock:
            draft = await asyncio.to_thread(self._store.draft)
            try:
                about, in_memory = await self._save(draft, name)
                await asyncio.to_thread(self._store.accept, draft, name)
                self._in_memory[name] = in_memory
            except BaseException:
                await asyncio.to_thread(self._store.discard, draft)
                raise
        return about

    async def _save(self, draft: Path, name: str) -> tuple[About, object]:
        """Write a draft; return also what is in memory at that moment.

        A file that is removed meanwhile belongs to a later state: that one is taken then.
        """
        for attempt in range(_ATTEMPTS):
            about = About(
                name=name,
                created_at=self._clock.system(),
                now=self._clock.now(),
                version=__version__,
                account=self._tenant.account,
                region=self._tenant.region,
                size=0,
                schema={},
            )
            write_tables = self._copy()
            in_memory = self._kept()
            files = self._services.files()
            try:
                about = await asyncio.to_thread(self._write, draft, about, write_tables, files)
            except ContentGone:
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                return about, in_memory
        raise AssertionError  # the loop returns or raises

    def _write(
        self, draft: Path, about: About, write_tables: Callable[[sqlite3.Connection], object], files: list[str]
    ) -> About:
        about = self._store.fill(draft, about, write_tables)
        self._store.link(draft, files)
        return about

    def _copy(self) -> Callable[[sqlite3.Connection], object]:
        """Return the function that writes the tables as they are now."""
        self._database.commit()
        path = self._database.path
        sizes = self._database.sizes()
        if path is not None and sizes.pages * sizes.page_bytes > _COPIED_AT_ONCE:
            source = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()  # holds this moment's state
        else:
            source = sqlite3.connect(":memory:", check_same_thread=False)
            self._database.copy_to(source)

        def write(target: sqlite3.Connection) -> None:
            try:
                source.backup(target)
            finally:
                source.close()

        return write

    async def restore(self, name: str) -> About:
        """Put the state of a checkpoint in the place of the present one.

        Raises: LabError (InvalidParameter, NotFound, InvalidCheckpoint).
        """
        check_name(name)
        async with self._lock:
            about, tables = await asyncio.to_thread(self._open, name)
            with closing(tables):
                async with self._standstill() as gone:
                    with _tables_read():
                        self._database.replace_with(tables)
                    self._time.take_up()
            self._put_back(self._in_memory.get(name))
            self._resumed()
            await self.release(gone)
        return about

    async def release(self, files: Collection[str]) -> None:
        """Let *files* go, which no table names any more; checkpoints keep theirs."""
        if files:
            await asyncio.to_thread(self._store.release, files)

    def _open(self, name: str) -> tuple[About, sqlite3.Connection]:
        about = self._store.about(name)
        with _tables_read():
            self._store.put_back(name)
            return about, self._store.tables(about)

    def all(self) -> list[About]:
        """Return every checkpoint, by name."""
        return self._store.all()

    async def remove(self, name: str) -> None:
        """Forget a checkpoint.

        Raises: LabError (InvalidParameter, NotFound).
        """
        check_name(name)
        async with self._lock:
            await asyncio.to_thread(self._store.remove, name)
            self._in_memory.pop(name, None)

    async def pack(self, name: str, offset: int) -> bytes:
        """Return a piece of a checkpoint's archive from *offset* on, empty at its end; offset 0 makes it anew.

        Raises: LabError (InvalidParameter, NotFound).
        """
        check_name(name)
        async with self._lock:
            return await asyncio.to_thread(self._read_piece, name, offset)

    def _read_piece(self, name: str, offset: int) -> bytes:
        from emulator.lab.checkpoints import archive  # tarfile is slow to import and seldom needed

        return archive.read_piece(self._store.path(name), offset)

    async def unpack(self, name: str, offset: int, piece: bytes, *, last: bool) -> About | None:
        """Take a piece of an archive; after the *last* one there is a checkpoint *name*.

        An archive of another account becomes one of this installation's.

        Raises: LabError (InvalidParameter, InvalidCheckpoint).
        """
        check_name(name)
        async with self._lock:
            about = await asyncio.to_thread(self._take_in, name, offset, piece, last=last)
            if about is not None:
                self._in_memory.pop(name, None)
            return about

    def _take_in(self, name: str, offset: int, piece: bytes, *, last: bool) -> About | None:
        from emulator.lab.checkpoints import archive  # as in `_read_piece`

        upload = self._store.upload(name)
        archive.add_piece(upload, offset, piece)
        if not last:
            return None
        draft = self._store.draft()
        try:
            about = archive.extract(upload, draft, name, self._tenant.account)
            self._store.accept(draft, name)
        finally:
            upload.unlink(missing_ok=True)
            self._store.discard(draft)
        return about


@contextmanager
def _tables_read() -> Iterator[None]:
    """Raises: LabError (InvalidCheckpoint) for tables that SQLite cannot read."""
    try:
        yield
    except sqlite3.Error as error:
        raise LabError("InvalidCheckpoint", reason=f"its tables cannot be read ({error})") from error
