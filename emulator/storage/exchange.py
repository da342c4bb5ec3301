"""Replacing the whole content of a database, all or nothing, even across a crash.

The old content is copied to a file beside the database first. The copy is deleted only when the caller has found the
new content usable (`Exchange.settle`); a start that finds a copy restores it, because the exchange was not yet reported
as done. The replacement itself is one transaction of SQLite.
"""

import logging
import os
import sqlite3
from collections.abc import Callable, Collection
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from emulator.storage.database import Database
from emulator.storage.write_lock import StateLocked

_log = logging.getLogger(__name__)

_KEPT = ".before"
_DRAFT = ".before.new"
_BESIDE = ("-journal", "-wal", "-shm")
"""Files that SQLite keeps beside a database."""


def open_complete(tables: Path) -> sqlite3.Connection:
    """Open a database file that nobody writes, read-only and without creating log files beside it.

    Raises: sqlite3.Error.
    """
    address = f"{tables.absolute().as_uri()}?mode=ro&immutable=1"
    return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)


class Exchange:
    """One replacement of the content of *database*: `keep`, `replace`, then `settle` or `undo`.

    Nothing may write between `keep` and the end of `replace`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: Path | sqlite3.Connection | None = None
        self._has_replaced = False

    @property
    def on_disk(self) -> bool:
        """Whether `keep` writes a file, and may run in a thread."""
        return self._database.path is not None

    def keep(self) -> None:
        """Copy the present content; in a thread, only what is committed.

        Raises: sqlite3.Error, OSError.
        """
        path = self._database.path
        if path is None:
            self._kept = sqlite3.connect(":memory:", check_same_thread=False)
            self._database.copy_to(self._kept)
            return
        draft = path.with_name(path.name + _DRAFT)
        _remove_draft(path)
        try:
            os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(draft)) as target:
                target.execute("PRAGMA journal_mode=OFF")  # an incomplete draft is never read
                target.execute(f"PRAGMA synchronous={'FULL' if self._database.durability == 'full' else 'OFF'}")
                source.backup(target)
            kept = path.with_name(path.name + _KEPT)
            draft.replace(kept)
        except BaseException:
            _remove_draft(path)
            raise
        self._kept = kept

    async def replace(self, content: sqlite3.Connection) -> None:
        """Replace everything by *content*, of the same schema; the caller then refreshes what memory holds of it.

        Waits while another program holds the lock on the state file. On return the tick is in its transaction, so what
        follows at once can write.

        Raises: sqlite3.Error, CommitFailed; nothing is replaced then.
        """
        # `Connection.backup` takes the lock by itself, and reports here if it is held
        copy = partial(content.backup, progress=self._database.lock.copying)
        await _change_whole(self._database, copy)
        self._has_replaced = True
        await self._database.writable()

    async def undo(self) -> None:
        """Restore the copy; if that fails too, the copy stays for the next start.

        Raises: sqlite3.Error, CommitFailed.
        """
        if self._has_replaced and isinstance(self._kept, Path):
            with closing(open_complete(self._kept)) as content:
                await self.replace(content)
        elif self._has_replaced and isinstance(self._kept, sqlite3.Connection):
            await self.replace(self._kept)
        self.settle()

    def settle(self) -> None:
        """Delete the copy; the database keeps its rows."""
        kept, self._kept = self._kept, None
        if isinstance(kept, Path):
            kept.unlink(missing_ok=True)
        elif kept is not None:
            kept.close()


async def empty(database: Database, kept: Collection[str]) -> None:
    """Delete all rows but those of the tables *kept*, which refer to no others, all or nothing.

    Waits while another program holds the lock on the state file. The caller then drops what memory holds of the rows.

    Raises: sqlite3.Error, CommitFailed; nothing is deleted then.
    """
    rows = database.read(
        # tables with triggers last: rows that a trigger deletes have gone by then
        "SELECT name FROM sqlite_master AS tables WHERE type = 'table' ORDER BY EXISTS "
        "(SELECT 1 FROM sqlite_master AS triggers WHERE type = 'trigger' AND triggers.tbl_name = tables.name)"
    )
    names = [row[0] for row in rows.fetchall()]
    # Without foreign keys SQLite empties a table quickly, and no row remains that could refer to a deleted one.
    deletions = [f'DELETE FROM "{name}"' for name in names if name not in kept]  # noqa: S608 - names of tables

    def change(connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA foreign_keys=OFF")
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                for deletion in deletions:
                    connection.execute(deletion)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        finally:
            connection.execute("PRAGMA foreign_keys=ON")

    await _change_whole(database, change)


async def _change_whole(database: Database, change: Callable[[sqlite3.Connection], None]) -> None:
    while True:
        await database.writable()
        try:
            return await database.change_whole(change)
        except StateLocked:
            continue


def finish_interrupted(path: Path) -> None:
    """Restore the copy left by an exchange that was interrupted; before the database *path* is opened.

    Doing it twice is harmless. A copy that is not whole was never relied on: the machine went down while it was
    written, before anything was replaced.
    """
    _remove_draft(path)
    kept = path.with_name(path.name + _KEPT)
    if not kept.exists():
        return
    if not _is_whole(kept):
        kept.unlink()
        return
    for suffix in _BESIDE:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    kept.replace(path)
    _log.warning("a restore was interrupted: the state is as it was before")


def _remove_draft(path: Path) -> None:
    """Remove what `Exchange.keep` writes before it is whole, with what SQLite may have put beside it."""
    for suffix in ("", *_BESIDE):
        path.with_name(path.name + _DRAFT + suffix).unlink(missing_ok=True)


def _is_whole(file: Path) -> bool:
    with suppress(sqlite3.Error), closing(open_complete(file)) as tables:
        tables.execute("SELECT version FROM schema_versions").fetchall()
        return bool(tables.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    return False
