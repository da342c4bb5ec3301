"""The state file: how large it is, how it is kept small, and that nobody else reads it."""

import logging
import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from emulator.kernel.frozen import frozen

_log = logging.getLogger(__name__)

_INCREMENTAL = 2
"""What ``auto_vacuum`` is for a file that gives pages back."""


@frozen
class FileSizes:
    """``pages`` is all of the file, ``free_pages`` what nothing uses; ``log_bytes`` is the write-ahead log's file."""

    pages: int
    free_pages: int
    page_bytes: int
    log_bytes: int


def sizes_of(connection: sqlite3.Connection, path: Path | None) -> FileSizes:
    """Return how large a file and its log are."""
    pages, free, size = (pragma(connection, name) for name in ("page_count", "freelist_count", "page_size"))
    log = 0
    if path is not None:
        with suppress(OSError):
            log = path.with_name(path.name + "-wal").stat().st_size
    return FileSizes(pages=pages, free_pages=free, page_bytes=size, log_bytes=log)


def pragma(connection: sqlite3.Connection, name: str) -> int:
    """Return a number that SQLite tells of a file."""
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def make_private(path: Path) -> None:
    """Make the file for its owner only, before SQLite would make it for everyone; its log and index follow its mode."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    for each in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        with suppress(FileNotFoundError):
            each.chmod(0o600)


def gives_pages_back(connection: sqlite3.Connection) -> bool:
    """Whether unused pages can be cut off the file one by one."""
    return pragma(connection, "auto_vacuum") == _INCREMENTAL


def rewrite(connection: sqlite3.Connection) -> None:
    """Rewrite the file without unused pages, in the form that can give pages back; outside a transaction.

    Raises: sqlite3.Error when there is no room for it; the file is as before then.
    """
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    connection.execute("VACUUM")


def copy_log(connection: sqlite3.Connection) -> None:
    """Copy the write-ahead log into the file, as far as no reader needs the old pages; outside a transaction."""
    try:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    except sqlite3.Error as error:
        _log.warning("the write-ahead log is not copied: %s", error)
