"""A file that gives its space back: pages that deleted rows have left are cut off in small steps between requests.

Free pages are used again by what is written next, and a queue that fills and empties would not gain by giving them
back; so the file shrinks only while a good part of it is free. A file of before this was the rule is written anew at
a start, as long as that is quick.
"""

import logging
import sqlite3
from collections.abc import Callable

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.timers import Timers
from emulator.storage.database import Database, FileSizes

_log = logging.getLogger(__name__)

LOOK_MS = 10 * SECOND
STEP_MS = 25
STEP_S = 0.0015
"""What one step may take of the loop."""

FEWEST_PAGES = 1024
"""Less is not worth the work: 4 MB."""

REWRITTEN_BYTES = 128 * 1024 * 1024
"""A file with more content than this is not written anew: it would hold up the start for more than a second or so."""

_TIMER = ("storage", "shrink")


class Shrinker:
    """Gives free pages back while the emulator runs."""

    def __init__(self, database: Database, timers: Timers, clock: Clock, look_ms: int = LOOK_MS) -> None:
        self._database = database
        self._timers = timers
        self._clock = clock
        self._look_ms = look_ms
        self._step = 16
        self._seen_commits = -1

    def start(self) -> None:
        """Begin to look after the file."""
        if self._database.gives_pages_back:
            self._after(self._look_ms, self._look)

    def close(self) -> None:
        """Leave the file as it is."""
        self._timers.cancel(_TIMER)

    def _look(self) -> None:
        commits = self._database.commits
        if commits != self._seen_commits:
            self._seen_commits = commits
            sizes = self._database.sizes()
            if sizes.free_pages >= FEWEST_PAGES and sizes.free_pages * 4 >= sizes.pages:
                self._give_back()
                return
        self._after(self._look_ms, self._look)

    def _give_back(self) -> None:
        """Cut off a few pages, as many as fit into a step, until little is free."""
        began = self._clock.monotonic()
        try:
            self._database.give_back(self._step)
        except sqlite3.Error as error:
            _log.warning("the state file does not shrink: %s", error)
            self._after(self._look_ms, self._look)
            return
        spent_s = self._clock.monotonic() - began
        self._step = max(4, self._step // 2) if spent_s > STEP_S else min(256, self._step + 4)
        if _is_spacious(self._database.sizes()):
            self._after(STEP_MS, self._give_back)
        else:
            self._after(self._look_ms, self._look)

    def _after(self, span_ms: int, then: Callable[[], None]) -> None:
        self._timers.call_at(Millis(self._clock.now() + span_ms), _TIMER, then)


def _is_spacious(sizes: FileSizes) -> bool:
    """Tell whether giving pages back goes on: some stay for what is written next."""
    return sizes.free_pages > FEWEST_PAGES // 4 and sizes.free_pages * 16 > sizes.pages


def make_shrinkable(database: Database) -> None:
    """Write a file of an earlier form anew so that it can give pages back; leave a large one as it is."""
    if database.gives_pages_back:
        return
    sizes = database.sizes()
    if (sizes.pages - sizes.free_pages) * sizes.page_bytes > REWRITTEN_BYTES:
        _log.info("the state file is too large to be written anew at a start, so it does not shrink")
        return
    try:
        database.rewrite()
    except sqlite3.Error as error:
        _log.warning("the state file is not written anew, so it does not shrink: %s", error)
