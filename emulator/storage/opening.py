"""Opening the state file: private, read through while it is small, with the settings the emulator counts on."""

import sqlite3
from pathlib import Path
from typing import Final, Literal

from emulator.storage.state_file import make_private

CHECKED_BYTES: Final = 32 * 1024 * 1024
"""A file up to this size is read through when it is opened; a larger one would hold up the start for seconds."""

Durability = Literal["normal", "full"]


class StorageDamaged(Exception):
    """The state file is not a database, or SQLite found it malformed."""


def open_connection(path: Path | None, durability: Durability) -> sqlite3.Connection:
    """Return a connection to the file *path*, or to a database in memory.

    Raises: StorageDamaged when the file is not a usable database; OSError or sqlite3.OperationalError when it cannot
    be opened or written.
    """
    if path is not None:
        make_private(path)
    connection = sqlite3.connect(
        ":memory:" if path is None else path, isolation_level=None, cached_statements=512, check_same_thread=False
    )
    try:
        if path is not None and path.stat().st_size <= CHECKED_BYTES:
            _check(connection)  # before the first write: a damaged file is not changed
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # only affects a new file; see `Shrinker`
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={'FULL' if durability == 'full' else 'NORMAL'}")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA temp_store=MEMORY")
        connection.execute("PRAGMA cache_size=-4096")
        connection.execute("PRAGMA journal_size_limit=16777216")
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.DatabaseError as error:
        connection.close()
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise StorageDamaged(str(error)) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection) -> None:
    """Read the file through.

    Raises: StorageDamaged, sqlite3.DatabaseError.
    """
    verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise StorageDamaged(" ".join(str(verdict).split()))
