"""Checkpoints of the write-ahead log in a thread of their own, so that the loop does not wait for the disk.

Left to itself SQLite copies the log into the file within a COMMIT, which holds the loop for milliseconds every
thousand pages. Here a second connection copies it a few times a second, and the commits in between only append. Under
an uninterrupted load there is never a moment at which all of the log has been copied, and SQLite begins it anew only
then; so once it has outgrown a bound, the loop itself copies the few pages that came during the last copying.

What a commit promises does not change: it is in the log, and the log is read again after a crash.

A checkpoint is never begun before a commit has ended since the last one. SQLite before 3.51.3 has a race that damages
the file when a checkpoint begins right after a complete one while a commit begins the log anew; with one connection
that writes and this rule the two cannot meet. TRUNCATE from here would be just such a second checkpoint; the size of
the log is bounded by ``journal_size_limit`` instead. Source: sqlite.org, Write-Ahead Logging, the WAL-reset bug.
"""

import logging
import sqlite3
import threading
from pathlib import Path
from typing import Final

from emulator.storage.database import Database

_log = logging.getLogger(__name__)

INTERVAL_S: Final = 0.25
"""Commits of this long are copied together; a page that was changed many times is copied once."""

LONGEST_LOG: Final = 8000
"""Pages after which the log has to begin anew: 32 MB."""


class Checkpoints:
    """Copies the log of *database*, whose file is *path*, from `start` to `close`."""

    def __init__(self, database: Database, path: Path, interval_s: float = INTERVAL_S) -> None:
        self._database = database
        self._path = path
        self._interval_s = interval_s
        self._written = threading.Event()
        self._closing = threading.Event()
        self._settled = -1
        """How many commits there were at the end of the last checkpoint."""
        self._overgrown = False
        self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
        self.done = 0
        """How many checkpoints there have been."""

    def start(self) -> None:
        """Take the checkpoints over from SQLite; on the loop's thread."""
        self._database.checkpoint_elsewhere(self._note_commit)
        self._thread.start()

    def close(self) -> None:
        """End the thread after what it is doing; SQLite makes the checkpoints again, the last one when it is closed."""
        if self._thread.ident is None:
            return
        self._closing.set()
        self._written.set()
        self._thread.join()
        self._database.checkpoint_elsewhere(None)

    # --- on the loop ---------------------------------------------------------------------------------------------

    def _note_commit(self) -> None:
        if self._overgrown:
            self._database.checkpoint()
            self._settled = self._database.commits
            self._overgrown = False
        elif not self._written.is_set():
            self._written.set()

    # --- in the thread -------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            connection = sqlite3.connect(self._path, isolation_level=None)
            try:
                connection.execute("PRAGMA wal_autocheckpoint=0")
                self._copy_until_closed(connection)
            finally:
                connection.close()
        except sqlite3.Error as error:
            _log.error("no checkpoints are made beside the loop: %s", error)

    def _copy_until_closed(self, connection: sqlite3.Connection) -> None:
        in_trouble = False
        while self._written.wait() and not self._closing.wait(self._interval_s):
            self._written.clear()
            if self._closing.is_set():  # `close` came in between, and its wake-up has just been cleared
                return
            if self._overgrown or self._database.commits <= self._settled:
                continue
            try:
                busy, log_pages, copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            except sqlite3.Error as error:  # a full disk, say: the log keeps what was committed
                _log.log(
                    logging.DEBUG if in_trouble else logging.WARNING, "the write-ahead log is not copied: %s", error
                )
                in_trouble = True
                continue
            in_trouble = False
            self._settled = self._database.commits
            self.done += 1
            if not busy and log_pages > LONGEST_LOG:
                self._overgrown = True
                _log.debug("the write-ahead log has %d pages, of which %d are copied", log_pages, copied)
