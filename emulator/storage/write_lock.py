"""The write lock of the state file, which another program, such as a database browser, may hold as long as it likes.

SQLite would wait for the lock, and block the loop: nothing would be answered meanwhile. Here the loop goes on; the lock
is tried again every `RETRY_S` seconds, and whatever needs it waits in a queue. An operation that met the lock has
written nothing, so it is called again; work without a request asks for the lock before it begins.
"""

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Callable
from typing import Final

from emulator.kernel.tracing import shared_context

_log = logging.getLogger(__name__)

RETRY_S: Final = 0.01
"""Seconds between two attempts to get the lock that another program holds."""

WOKEN_AT_ONCE: Final = 32
"""How many of the waiters are woken in one turn of the loop."""

PATIENCE_MS: Final = 5_000
"""How long SQLite waits for the lock at start and stop, when there are no clients to serve."""


LOCKED_S: Final = 10.0
"""How long an operation waits, in real time, for the state that another program has locked."""


class StateLocked(sqlite3.OperationalError):
    """Another program holds the lock on the state file; nothing of what was asked for has been written."""


class WriteLock:
    """The lock of the state file, taken for the transactions of *connection*; *name* is the file's name in the log."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection = connection
        self._name = name
        self._waiting: deque[Callable[[], None]] = deque()
        self._context = shared_context()
        self._waits = True
        self.held_elsewhere = False
        """Whether another program held the lock at the last attempt, or `keep_for` keeps it."""
        self.set_patience(waits=True)

    def set_patience(self, *, waits: bool) -> None:
        """Choose whether SQLite waits for the lock (which blocks the loop) or reports it at once."""
        self._waits = waits
        self._connection.execute(f"PRAGMA busy_timeout={PATIENCE_MS if waits else 0}")
        if waits:
            self.held_elsewhere = False

    def refused(self, error: sqlite3.OperationalError) -> None:
        """Record that a transaction could not begin because another program holds the lock.

        Raises: *error*, when it has another cause, or SQLite has already waited for the lock.
        """
        self._check(error)
        self.held_elsewhere = True
        _log.warning("another program holds the lock on %s. Calls that change something wait for it.", self._name)
        asyncio.get_running_loop().call_later(RETRY_S, self._ask, context=self._context)

    def copying(self, status: int, left: int, pages: int) -> None:
        """Progress callback of `sqlite3.Connection.backup`, which would wait for the lock for ever.

        Raises: StateLocked; nothing has been copied then.
        """
        if status & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise StateLocked("another program holds the lock on the state")

    def keep_for(self, writing: "asyncio.Future[None]") -> None:
        """Let every transaction wait until *writing* is done, as if another program held the lock.

        Callbacks added to *writing* later, and whoever awaits it, find the lock free.
        """
        self.held_elsewhere = True
        writing.add_done_callback(self._give_up)

    def _give_up(self, _: object) -> None:
        self.held_elsewhere = False
        self._wake_some()

    def when_free(self, wake: Callable[[], None]) -> None:
        """Call *wake* once, when the lock may be free again; waiters are called in order."""
        self._waiting.append(wake)

    def _check(self, error: sqlite3.OperationalError) -> None:
        if self._waits or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise error

    def _is_refused(self) -> bool:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            self._check(error)
            return True
        return False

    def _ask(self) -> None:
        if not self.held_elsewhere:
            return
        try:
            if self._is_refused():
                asyncio.get_running_loop().call_later(RETRY_S, self._ask, context=self._context)
                return
            self._connection.execute("ROLLBACK")
        except sqlite3.Error:
            _log.debug("the lock on %s cannot be asked for", self._name)  # the next statement raises the reason
        self.held_elsewhere = False
        _log.warning("the lock on %s is free again", self._name)
        self._wake_some()

    def _wake_some(self) -> None:
        for _ in range(min(WOKEN_AT_ONCE, len(self._waiting))):
            try:
                self._waiting.popleft()()
            except Exception:
                _log.exception("what has waited for the lock on %s failed", self._name)
        if self._waiting and not self.held_elsewhere:
            asyncio.get_running_loop().call_soon(self._wake_some, context=self._context)
