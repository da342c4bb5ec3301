"""The state file: its size, keeping it small, and its mode."""

import logging
import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from emulator.kernel.frozen import frozen

_log = logging.getLogger(__name__)

_INCREMENTAL = 2
"""The value of ``auto_vacuum`` in a file that gives unused pages back."""


@frozen
class FileSizes:
    """``pages`` is all of the file, ``free_pages`` what nothing uses; ``log_bytes`` is the write-ahead log's file."""

    pages: int
    free_pages: int
    page_bytes: int
    log_bytes: int


class StateFile:
    """The file of the database *connection* at *path*, None for one in memory.

    What changes the file is called between transactions.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path | None) -> None:
        self._connection = connection
        self._path = path

    def sizes(self) -> FileSizes:
        """Return how large the file and its log are."""
        pages, free, size = (self._pragma(name) for name in ("page_count", "freelist_count", "page_size"))
        log = 0
        if self._path is not None:
            with suppress(OSError):
                log = self._path.with_name(self._path.name + "-wal").stat().st_size
        return FileSizes(pages=pages, free_pages=free, page_bytes=size, log_bytes=log)

    @property
    def gives_pages_back(self) -> bool:
        """Whether unused pages can be cut off the file one by one."""
        return self._pragma("auto_vacuum") == _INCREMENTAL

    def rewrite(self) -> None:
        """Rewrite the file without unused pages, in the form that can give pages back; may take seconds.

        Raises: sqlite3.Error when there is no room for it; the file is as before then.
        """
        self._connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        self._connection.execute("VACUUM")

    def copy_log(self) -> None:
        """Copy the write-ahead log into the file, as far as no reader needs the old pages."""
        try:
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error as error:
            _log.warning("the write-ahead log is not copied: %s", error)

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])


def make_private(path: Path) -> None:
    """Make the file for its owner only, before SQLite would make it for everyone; its log and index follow its mode."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    for each in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        with suppress(FileNotFoundError):
            each.chmod(0o600)
