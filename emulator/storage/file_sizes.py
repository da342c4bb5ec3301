"""The state file: how large it is, and that nobody else reads it."""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from emulator.kernel.frozen import frozen


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
