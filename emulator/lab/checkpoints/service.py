"""Saving and restoring the whole state while the emulator runs.

Saving copies the tables of one moment and links the files they name. Restoring replaces tables and clock while
everything stands still (`emulator.lab.checkpoints.standstill`), all or nothing: a checkpoint that this process has not
saved itself is examined first, and the old state comes back when the services cannot resume with the new tables.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from emulator import __version__
from emulator.kernel.clock import AdjustableClock
from emulator.kernel.identity import Tenant
from emulator.kernel.tracing import begin
from emulator.lab.checkpoints.description import About, check_name
from emulator.lab.checkpoints.examination import Examination
from emulator.lab.checkpoints.standstill import Standstill, Suspendable
from emulator.lab.checkpoints.store import CheckpointStore, ContentGone, Fingerprint
from emulator.lab.clock import TimeControl
from emulator.lab.errors import LabError
from emulator.storage.database import Database
from emulator.storage.exchange import Exchange

T = TypeVar("T")

_log = logging.getLogger(__name__)

_COPIED_AT_ONCE = 64 * 1024 * 1024
"""Bytes of tables up to which they are copied on the loop, in milliseconds; larger ones are copied in a thread."""

_ATTEMPTS = 5


class Checkpoints:
    """The checkpoints of one emulator.

    *kept* returns a copy of the state in memory that belongs to a checkpoint, and *put_back* restores it; None empties
    it, for checkpoints of other runs. *resumed* is called last in a restore.

    An operation runs to its end even if its caller is cancelled, so that a checkpoint is whole or does not exist.
    """

    def __init__(
        self,
        store: CheckpointStore,
        examination: Examination,
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
        self._examination = examination
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
        self._sound: dict[str, Fingerprint | None] = {}
        """The checkpoints that this process has saved or examined, each with the fingerprint of its tables then."""
        self._lock = asyncio.Lock()
        self._under_way: set[asyncio.Task[Any]] = set()

    async def close(self) -> None:
        """Wait for the operations under way."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def clean(self) -> None:
        """Finish or remove what an earlier run has left half done.

        Leftovers are renamed before the first wait, so that they are in nobody's way.
        """
        if (leftovers := self._store.set_leftovers_aside()) is not None:
            await asyncio.to_thread(self._store.discard, leftovers)

    async def alone(self, work: Coroutine[Any, Any, T], what: str) -> T:
        """Run *work* to its end while no other changes the whole state; a cancelled caller does not cancel it."""

        async def locked() -> T:
            begin("")  # what runs on after a restore has no request as its cause
            async with self._lock:
                return await work

        task = asyncio.get_running_loop().create_task(locked(), name=f"checkpoints:{what}")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_tell_failure)  # the caller, who would get the error, is gone
            raise

    async def save(self, name: str) -> About:
        """Save the present state, replacing an earlier checkpoint of that name.

        Raises: LabError (InvalidParameter); OSError, sqlite3.Error when it cannot be written.
        """
        check_name(name)
        return await self.alone(self._save_as(name), f"save {name}")

    async def _save_as(self, name: str) -> About:
        draft = await asyncio.to_thread(self._store.draft)
        try:
            about, in_memory = await self._save(draft, name)
            await asyncio.to_thread(self._store.accept, draft, name)
        except BaseException:
            await asyncio.to_thread(self._store.discard, draft)
            raise
        self._in_memory[name] = in_memory
        self._sound[name] = self._store.fingerprint(name)
        return about

    async def _save(self, draft: Path, name: str) -> tuple[About, object]:
        """Write a draft; return also the copy of the state in memory at that moment.

        When a file is removed meanwhile, the save is repeated with the state that follows.
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
        sizes = self._database.file.sizes()
        if path is not None and sizes.pages * sizes.page_bytes > _COPIED_AT_ONCE:
            source = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()  # a first read fixes the snapshot
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
        """Replace the present state by that of a checkpoint.

        Raises: LabError (InvalidParameter, NotFound, InvalidCheckpoint).
        """
        check_name(name)
        about = await self.alone(self._restore(name), f"restore {name}")
        self._database.eras.keep_up()  # who has asked for it goes on in what it has brought
        return about

    async def _restore(self, name: str) -> About:
        about, tables = await asyncio.to_thread(self._open, name)
        exchange = Exchange(self._database)
        given: list[str] = []

        async def replace() -> None:
            # Not earlier: no other restore then removes a file just found to be there.
            await asyncio.to_thread(self._store.put_back, name, given)
            await exchange.replace(tables)
            self._time.take_up()

        try:
            with closing(tables), _tables_read():
                gone = await self._standstill.exchange(exchange, replace, lambda: self._undo(exchange))
        except BaseException:
            await self.release(given)
            raise
        self._put_back(self._in_memory.get(name))
        self._resumed()
        await self.release(gone)
        return about

    async def _undo(self, exchange: Exchange) -> None:
        await exchange.undo()
        self._time.take_up()

    async def release(self, files: Collection[str]) -> None:
        """Delete those of *files* that no table names any more; copies in checkpoints stay."""
        if files:
            await self._services.release(files)

    def _open(self, name: str) -> tuple[About, sqlite3.Connection]:
        """Return a checkpoint and its tables."""
        about = self._store.about(name)
        if self._sound.get(name, ()) != self._store.fingerprint(name):
            about = self._make_sound(about)
        with _tables_read():
            return about, self._store.tables(name)

    def _make_sound(self, about: About) -> About:
        draft = self._store.draft()
        try:
            folder = self._store.path(about.name)
            self._examination.make_sound(folder, draft, self._clock.system(), about.version)
            about = self._store.describe(folder, about)
        finally:
            self._store.discard(draft)
        self._sound[about.name] = self._store.fingerprint(about.name)
        return about

    def all(self) -> list[About]:
        """Return every checkpoint, by name."""
        return self._store.all()

    async def remove(self, name: str) -> None:
        """Delete a checkpoint.

        Raises: LabError (InvalidParameter, NotFound).
        """
        check_name(name)
        async with self._lock:
            await asyncio.to_thread(self._store.remove, name)
            self._in_memory.pop(name, None)
            self._sound.pop(name, None)

    async def pack(self, name: str, offset: int) -> bytes:
        """Return a piece of a checkpoint's archive from *offset* on, empty at its end; offset 0 makes a new archive.

        Raises: LabError (InvalidParameter, NotFound).
        """
        check_name(name)
        async with self._lock:
            return await asyncio.to_thread(self._read_piece, name, offset)

    def _read_piece(self, name: str, offset: int) -> bytes:
        from emulator.lab.checkpoints import archive  # seldom needed

        self._store.drop_abandoned(self._clock.system() / 1000)
        return archive.read_piece(self._store.path(name), self._store.archive(name), offset)

    async def unpack(self, name: str, offset: int, piece: bytes, *, last: bool) -> About | None:
        """Add a piece of an uploaded archive; the *last* one creates the checkpoint *name*.

        An archive of another account becomes one of this installation's.

        Raises: LabError (InvalidParameter, InvalidCheckpoint).
        """
        check_name(name)
        return await self.alone(self._unpack(name, offset, piece, last=last), f"import {name}")

    async def _unpack(self, name: str, offset: int, piece: bytes, *, last: bool) -> About | None:
        about = await asyncio.to_thread(self._take_in, name, offset, piece, last=last)
        if about is not None:
            self._in_memory.pop(name, None)
        return about

    def _take_in(self, name: str, offset: int, piece: bytes, *, last: bool) -> About | None:
        from emulator.lab.checkpoints import archive  # seldom needed

        self._store.drop_abandoned(self._clock.system() / 1000)
        upload = self._store.upload(name)
        archive.add_piece(upload, offset, piece)
        if not last:
            return None
        draft, work = self._store.draft(), self._store.draft()
        try:
            about = archive.extract(upload, draft, name, self._tenant.account, self._examination)
            self._examination.make_sound(draft, work, self._clock.system(), about.version)
            about = self._store.describe(draft, about)
            self._store.accept(draft, name)
        finally:
            upload.unlink(missing_ok=True)
            self._store.discard(draft)
            self._store.discard(work)
        self._sound[name] = self._store.fingerprint(name)
        return about


def _tell_failure(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.warning("%s failed, and its caller had gone: %s", task.get_name(), error)


@contextmanager
def _tables_read() -> Iterator[None]:
    """Raises: LabError (InvalidCheckpoint) for tables that SQLite finds damaged."""
    try:
        yield
    except sqlite3.OperationalError:  # such as for a full disk
        raise
    except sqlite3.DatabaseError as error:
        raise LabError("InvalidCheckpoint", reason=f"its tables cannot be read ({error})") from error
