"""SQLite with one connection owned by the event loop and one transaction per loop tick.

The first write of a tick opens a transaction and asks the loop for a commit at the start of the next tick, when every
socket that was ready has been served. Answers and effects that depend on it wait in `after_commit`: acknowledged
means committed.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from emulator.kernel.instrumentation import Watchers
from emulator.kernel.tracing import shared_context
from emulator.storage.eras import Eras, Overtaken, Work
from emulator.storage.opening import Durability as Durability
from emulator.storage.opening import StorageDamaged as StorageDamaged
from emulator.storage.opening import open_connection
from emulator.storage.row_watch import watch_rows
from emulator.storage.state_file import StateFile
from emulator.storage.write_lock import LOCKED_S, StateLocked, WriteLock

_log = logging.getLogger(__name__)

T = TypeVar("T")

Row = sqlite3.Row | tuple[Any, ...]

_OWN_FAULT = (
    sqlite3.IntegrityError, sqlite3.DataError, sqlite3.ProgrammingError, sqlite3.InterfaceError,
    sqlite3.NotSupportedError,
)  # fmt: skip
"""What is wrong with a statement; other errors are about the file."""


class CommitFailed(Exception):
    """The transaction of this tick could not be committed (disk full, ...); nothing of it happened."""


class Database:
    """The one connection to ``state.db``.

    *path* is a file, or None for a database in memory (``--ephemeral``). Only the thread that runs the event loop
    uses it.

    Raises: StorageDamaged when the file is not a usable database; OSError or sqlite3.OperationalError when it cannot
    be opened or written.
    """

    def __init__(self, path: Path | None, durability: Durability = "normal") -> None:
        self._connection = open_connection(path, durability)
        self.path = path
        """The file, None for a database in memory."""
        self.file = StateFile(self._connection, path)
        self.durability = durability
        self._in_transaction = False
        self._lost = False
        self._refusing = False
        self._on_commit: Callable[[], None] | None = None
        self.watchers = Watchers()
        """Called after every transaction."""
        self._context = shared_context()
        self.commits = 0
        """How many transactions have been committed."""
        self._waiting: list[Callable[[CommitFailed | None], None]] = []
        self._on_rollback: list[Callable[[], None]] = []
        self._has_written = self._has_work = self._is_forgetting = False
        self.eras = Eras(self._forget_interrupted)
        """Which work may still write."""
        self.lock = WriteLock(self._connection, self._name)
        """The lock on the file; until its patience is taken from it, SQLite waits for it."""

    def read(self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> sqlite3.Cursor:
        """Run a SELECT; what this tick has written is visible."""
        return self._connection.execute(sql, parameters)

    def write(self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> sqlite3.Cursor:
        """Run one changing statement in the transaction of this tick.

        A statement that breaks a constraint is undone alone; earlier statements of the tick stay. When the file cannot
        be written (disk full, I/O error) everything of this tick is undone, because the operation may have written
        before, and `after_commit` says so.
        """
        self._enter()
        self._has_written = True
        try:
            return self._connection.execute(sql, parameters)
        except sqlite3.Error as error:
            self._note_loss(error)
            raise

    def write_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one changing statement for every row, in the transaction of this tick."""
        self._enter()
        self._has_written = True
        try:
            self._connection.executemany(sql, rows)
        except sqlite3.Error as error:
            self._note_loss(error)
            raise

    def write_script(self, sql: str) -> None:
        """Run many statements, all or none, in a transaction of their own; unlike others they are not kept prepared.

        Raises: sqlite3.Error.
        """
        self.commit()
        try:
            self._connection.executescript(f"BEGIN IMMEDIATE;\n{sql}\n;COMMIT;")
        except sqlite3.Error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def unit(self) -> Iterator[None]:
        """Make what happens inside all happen or none: an exception undoes it and goes on to the caller.

        Needed only where a failure can come between two writes; most operations check first and then write.
        """
        self._enter()
        self._connection.execute("SAVEPOINT unit")
        try:
            yield
        except BaseException:
            if not self._lost:  # else the savepoint went with the transaction
                self._connection.execute("ROLLBACK TO unit")
                self._connection.execute("RELEASE unit")
                self.forget()  # what memory holds of the tables is ahead of them
            raise
        if not self._lost:
            self._connection.execute("RELEASE unit")

    def watch_rows(self, names: Mapping[str, str], tell: Callable[[str], None]) -> Callable[[], None]:
        """Call *tell* with the name of each row that is written, until the function that is returned is called.

        *names* are those of `emulator.storage.row_watch.watch_rows`. What a rollback undoes has been told as well.
        """
        self.commit()  # a rollback would undo the watch
        stop = watch_rows(self._connection, names, tell)

        def end() -> None:
            self.commit()
            stop()

        return end

    @property
    def dirty(self) -> bool:
        """Whether this tick has written something, or something waits for its end."""
        return self._has_written or bool(self._waiting)

    def is_writable(self, then: Callable[[], None] | None = None) -> bool:
        """Begin the transaction of this tick and return True; or, while it is locked, call *then* once that is over.

        Without *then* the caller waits for the lock in another way.

        For work that comes without a request, such as timers that are due: it begins when nothing can interrupt it.
        """
        if then is not None:
            self._has_work = True
        if self._in_transaction or self.path is None:
            return True
        try:
            if self._begin():
                return True
        except sqlite3.Error:
            return True  # what is about to write finds out
        self.lock.when_free(then or _no_call)
        return False

    async def writable(self) -> None:
        """Wait until the tick is in its transaction: what follows at once can write.

        Cancelling it leaves the line.
        """
        loop = asyncio.get_running_loop()
        while True:
            free = loop.create_future()
            if self.is_writable(partial(_resolve, free)):
                return
            await free

    def after_commit(self, done: Callable[[CommitFailed | None], None]) -> None:
        """Call *done* once what has been written so far is on disk; at once when nothing is pending.

        *done* gets None, or the reason when the commit failed and nothing of this tick happened.
        """
        if self._in_transaction:
            self._waiting.append(done)
        else:
            done(None)

    async def committed(self) -> None:
        """Wait until what has been written so far is on disk.

        Raises: CommitFailed.
        """
        if not self._in_transaction:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(partial(_resolve, future))
        await future

    def on_rollback(self, forget: Callable[[], None]) -> None:
        """Register *forget*, called when a tick's transaction is lost or all is replaced: drop what memory holds."""
        self._on_rollback.append(forget)

    def commit(self) -> None:
        """Commit now and release everything that waited; safe to call when nothing is pending."""
        if not self._in_transaction:
            return
        error: CommitFailed | None = None
        has_written, has_work = self._has_written, self._has_work or self.dirty
        try:
            if self._lost:
                error = CommitFailed("a statement could not be written")
                self._connection.execute("ROLLBACK")
            else:
                self._connection.execute("COMMIT")
                self.commits += has_written
                if self._refusing:
                    self._refusing = False
                    _log.warning("%s can be written again", self._name)
        except sqlite3.Error as cause:
            self._log_refusal(cause)
            error = CommitFailed(str(cause))
            with suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
        self._in_transaction = self._lost = self._has_written = self._has_work = False
        waiting, self._waiting = self._waiting, []
        if error is not None:
            self.forget()
        eras = self.eras
        running, eras.running = eras.running, None  # they are others' as well
        for done in waiting:
            try:
                done(error)
            except Exception:
                _log.exception("an effect after the commit failed")
        eras.running = running
        if has_written and self._on_commit is not None:
            self._on_commit()
        if has_work and self.watchers:  # not for a step that only might have written: who looks would wake itself
            self.watchers.notify()

    def copy_to(self, target: sqlite3.Connection) -> None:
        """Copy everything into *target*, what this tick has written included.

        Raises: sqlite3.Error; CommitFailed.
        """
        self._commit_all()
        self._connection.backup(target)

    async def change_whole(self, change: Callable[[sqlite3.Connection], None]) -> None:
        """Let *change*, which begins and ends its own transaction, change everything; memory has to follow.

        A file is written beside the loop; whatever else writes waits for it as for another program's lock.

        Raises: StateLocked, CommitFailed, what *change* raises; nothing has been changed then.
        """
        self._enter()
        self._commit_all()
        if self.path is None:
            change(self._connection)
        else:
            changing = asyncio.get_running_loop().run_in_executor(None, change, self._connection)
            self.lock.keep_for(changing)
            await changing
        self.commits += 1
        self.forget()
        if self._on_commit is not None:
            self._on_commit()

    def forget(self) -> None:
        """Drop what memory holds of the tables."""
        for forget in self._on_rollback:
            forget()

    def _commit_all(self) -> None:
        failed = self._lost
        self.commit()
        if failed or self._connection.in_transaction:
            raise CommitFailed("the state cannot be written")

    def checkpoint_elsewhere(self, on_commit: Callable[[], None] | None) -> None:
        """Leave copying the log to a callback that runs after each commit; with None, to SQLite again."""
        self._on_commit = on_commit
        self._connection.execute(f"PRAGMA wal_autocheckpoint={0 if on_commit else 1000}")

    def give_back(self, pages: int) -> None:
        """Cut up to *pages* unused pages off the file, in the transaction of this tick."""
        for _ in range(pages):  # one by one: the module sqlite3 takes only the first step of a larger number
            self.write("PRAGMA incremental_vacuum(1)")

    def close(self) -> None:
        """Commit what is pending and close the file; doing it twice is harmless."""
        self.commit()
        with suppress(sqlite3.ProgrammingError):  # of a connection that is closed
            self.lock.set_patience(waits=True)
        self._connection.close()

    def _enter(self) -> None:
        """Be in the transaction of this tick.

        Raises: StateLocked, sqlite3.OperationalError; Overtaken.
        """
        if (work := self.eras.running) is not None and work.era != self.eras.current:
            self.eras.check()
        if self._in_transaction:
            if self._lost and not self._connection.in_transaction:  # outside one, a statement would be committed alone
                raise sqlite3.OperationalError("this moment's changes are lost")
            return
        if not self._begin():
            self._forget_interrupted()
            raise StateLocked("another program holds the lock on the state")

    def _begin(self) -> bool:
        """Begin a transaction, committed at the start of the next tick; False when another program holds the lock.

        Raises: sqlite3.OperationalError, also for a lock that has been waited for.
        """
        if self.lock.held_elsewhere:
            return False
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            self.lock.refused(error)
            return False
        self._in_transaction = True
        with suppress(RuntimeError):  # no loop: the caller commits by hand (start-up, tests)
            asyncio.get_running_loop().call_soon(self.commit, context=self._context)
        return True

    def _forget_interrupted(self) -> None:
        """Drop what memory holds: work that cannot write may have changed it before it tried to."""
        if not self._is_forgetting:
            self._is_forgetting = True
            try:
                self.forget()
            finally:
                self._is_forgetting = False

    def _note_loss(self, error: sqlite3.Error) -> None:
        """Undo everything of this tick unless *error* is about the statement alone.

        What comes later in the tick goes into a transaction that is undone too.
        """
        if self._lost or (isinstance(error, _OWN_FAULT) and self._connection.in_transaction):
            return
        self._log_refusal(error)
        self._lost = True
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._connection.execute("BEGIN IMMEDIATE")

    def _log_refusal(self, error: sqlite3.Error) -> None:
        """Log, once until it is over, that nothing can be written."""
        if not self._refusing:
            self._refusing = True
            _log.error("%s cannot be written: %s. Calls that change something fail until it can.", self._name, error)

    @property
    def _name(self) -> str:
        return "the database in memory" if self.path is None else str(self.path)


def _always() -> bool:
    return True


class Steps(Work, Generic[T]):
    """*work*, to be awaited once: its steps after a wait begin in the transaction of their tick, while *writes* holds.

    A coroutine that has gone part of its way cannot be begun anew when it meets another program's lock, nor can it wait
    in the middle of a statement; so the lock is taken before. It is waited for *patience_s* seconds, without end for
    None. Work that needs it longer goes on without it, and fails with StateLocked if it writes: what it has done need
    not fail for an answer.

    Work is of the era in which it was made, or of that of the work it is part of; *era* is an earlier one it is of. It
    ends with Overtaken once it has tried to write in a later one, whatever it makes of that itself; what writes nothing
    comes to its own end.
    """

    __slots__ = ("_database", "_patience_s", "_work", "_writes", "have_waited")

    def __init__(
        self,
        database: Database,
        work: Awaitable[T],
        writes: Callable[[], bool] = _always,
        patience_s: float | None = LOCKED_S,
        era: int | None = None,
    ) -> None:
        self._database = database
        self._work = work
        self._writes = writes
        self._patience_s = patience_s
        self.have_waited = False
        """Whether the work has gone beyond its first step."""
        self.era = database.eras.current if era is None else era
        self.outer = None
        self.outlasts = self.is_overtaken = False

    def __await__(self) -> Generator[Any, Any, T]:
        database, eras = self._database, self._database.eras
        if (outer := eras.running) is not None:
            self.era, self.outlasts = outer.era, outer.outlasts
        steps = self._work.__await__()
        resume: Callable[[], Any] = steps.__next__
        while True:
            self.outer = eras.running
            eras.running = self
            try:
                awaited = resume()
            except BaseException as end:
                if self.is_overtaken and isinstance(end, Exception) and not isinstance(end, Overtaken):
                    raise Overtaken from end
                if isinstance(end, StopIteration):
                    return cast("T", end.value)
                raise
            finally:
                eras.running = self.outer
            self.have_waited = True
            try:
                yield awaited
                if self._writes() and not database.is_writable():
                    yield from self._lock().__await__()
            except BaseException as error:  # a cancellation, say; whatever it is, the work has to know
                resume = partial(steps.throw, error)
            else:
                resume = steps.__next__

    async def _lock(self) -> None:
        if self._patience_s == 0:
            return
        try:
            async with asyncio.timeout(self._patience_s):
                await self._database.writable()
        except TimeoutError:
            self._patience_s = 0


def _no_call() -> None:
    """Do nothing."""


def _resolve(future: "asyncio.Future[None]", failure: CommitFailed | None = None) -> None:
    if future.done():
        return
    if failure is None:
        future.set_result(None)
    else:
        future.set_exception(failure)
