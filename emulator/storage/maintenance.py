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

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from emulator.kernel.clock import Clock
from emulator.kernel.metrics import Family, counter, gauge
from emulator.storage.database import Database
from emulator.storage.state_file import FileSizes

_log = logging.getLogger(__name__)

INTERVAL_S: Final = 0.25
"""Seconds between checkpoints; a page changed many times in between is copied once."""

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
        """End the thread after the checkpoint under way; SQLite makes checkpoints again, the last at closing."""
        if self._thread.ident is None:
            return
        self._closing.set()
        self._written.set()
        self._thread.join()
        self._database.checkpoint_elsewhere(None)

    def _note_commit(self) -> None:
        if self._overgrown:
            self._database.file.copy_log()
            self._settled = self._database.commits
            self._overgrown = False
        elif not self._written.is_set():
            self._written.set()

    def _run(self) -> None:
        try:
            connection = sqlite3.connect(self._path, isolation_level=None)
            try:
                connection.execute("PRAGMA wal_autocheckpoint=0")
                self._copy_until_closed(connection)
            finally:
                connection.close()
        except sqlite3.Error as error:
            _log.error("the write-ahead log is not copied in the background: %s", error)

    def _copy_until_closed(self, connection: sqlite3.Connection) -> None:
        in_trouble = False
        while self._written.wait() and not self._closing.wait(self._interval_s):
            self._written.clear()
            if self._closing.is_set():  # `close` was called meanwhile, and its wake-up has just been cleared
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


LOOK_S = 10.0
STEP_PAUSE_S = 0.025
STEP_S = 0.0015
"""The longest time, in seconds, that a step should hold the event loop."""

FEWEST_PAGES = 1024
"""Free pages (4 MB) below which nothing is cut off."""

REWRITTEN_BYTES = 128 * 1024 * 1024
"""A file with more content is not rewritten at a start: that would delay it by more than a second or so."""


Later = Callable[[float, Callable[[], None]], asyncio.TimerHandle]
"""(seconds, callback) -> timer, in real time: the file's size does not depend on the emulator's time."""


class Shrinker:
    """Shrinks the state file while the emulator runs: cuts unused pages off its end."""

    def __init__(self, database: Database, later: Later, clock: Clock) -> None:
        self._database = database
        self._later = later
        self._clock = clock
        self._next: asyncio.TimerHandle | None = None
        self._step = 16
        self._seen_commits = -1

    def start(self) -> None:
        """Start looking for unused pages, if the file can give them back."""
        if self._database.file.gives_pages_back:
            self._next = self._later(LOOK_S, self._look)

    def close(self) -> None:
        """Stop shrinking the file."""
        if self._next is not None:
            self._next.cancel()

    def _look(self) -> None:
        commits = self._database.commits
        if commits != self._seen_commits:
            self._seen_commits = commits
            sizes = self._database.file.sizes()
            if sizes.free_pages >= FEWEST_PAGES and sizes.free_pages * 4 >= sizes.pages:
                self._give_back()
                return
        self._next = self._later(LOOK_S, self._look)

    def _give_back(self) -> None:
        """Cut off a few pages, as many as fit into a step, until little is free."""
        began = self._clock.monotonic()
        try:
            self._database.give_back(self._step)
        except sqlite3.Error as error:
            _log.warning("the state file does not shrink: %s", error)
            self._next = self._later(LOOK_S, self._look)
            return
        spent_s = self._clock.monotonic() - began
        self._step = max(4, self._step // 2) if spent_s > STEP_S else min(256, self._step + 4)
        if _is_spacious(self._database.file.sizes()):
            self._next = self._later(STEP_PAUSE_S, self._give_back)
        else:
            self._next = self._later(LOOK_S, self._look)


def _is_spacious(sizes: FileSizes) -> bool:
    """Whether to go on cutting pages off; some free pages stay for the next writes."""
    return sizes.free_pages > FEWEST_PAGES // 4 and sizes.free_pages * 16 > sizes.pages


def make_shrinkable(database: Database) -> None:
    """Rewrite a file of an earlier form, unless it is large, so that it can give pages back."""
    if database.file.gives_pages_back:
        return
    sizes = database.file.sizes()
    if (sizes.pages - sizes.free_pages) * sizes.page_bytes > REWRITTEN_BYTES:
        _log.info("the state file is too large to be rewritten at a start, so it does not shrink")
        return
    try:
        database.commit()
        database.file.rewrite()
    except sqlite3.Error as error:
        _log.warning("the state file could not be rewritten, so it does not shrink: %s", error)


def keep_small(database: Database, clock: Clock) -> Iterator[Callable[[], None]]:
    """Keep the state file and its log small until the yielded function is called; in memory there is neither."""
    if database.path is None:
        return
    checkpoints = Checkpoints(database, database.path)
    yield checkpoints.close
    checkpoints.start()
    shrinker = Shrinker(database, asyncio.get_running_loop().call_later, clock)
    yield shrinker.close
    shrinker.start()


def storage_figures(database: Database) -> Iterator[Family]:
    """Yield commits and the sizes of the file and of its write-ahead log."""
    sizes = database.file.sizes()
    yield counter("localyun_commits_total", "Transactions committed.", database.commits)
    yield gauge("localyun_state_bytes", "Size of the state, with what is free.", sizes.pages * sizes.page_bytes)
    free = sizes.free_pages * sizes.page_bytes
    yield gauge("localyun_state_free_bytes", "Part of the state that nothing uses.", free)
    yield gauge("localyun_wal_bytes", "Size of the write-ahead log.", sizes.log_bytes)
