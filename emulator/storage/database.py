"""SQLite with one connection owned by the event loop and one transaction per loop tick; numbered schema files.

The first write of a tick opens a transaction and asks the loop for a commit at the start of the next tick, when every
socket that was ready has been served. Answers and effects that depend on it wait in `after_commit`: acknowledged
means committed.

Each service keeps ``schema/0001_initial.sql``, ``0002_....sql`` and so on; the table ``schema_versions`` records how
far each has come. Files are never edited once released; a change is a new number, and a number is given once.
"""

import asyncio
import logging
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from emulator.kernel.frozen import frozen
from emulator.kernel.instrumentation import Watchers
from emulator.kernel.tracing import shared_context

_log = logging.getLogger(__name__)

CHECKED_BYTES = 32 * 1024 * 1024
"""A file up to this size is read through when it is opened; a larger one would hold up the start for seconds."""

Durability = Literal["normal", "full"]
Row = sqlite3.Row | tuple[Any, ...]


_INCREMENTAL = 2

_OWN_FAULT = (
    sqlite3.IntegrityError, sqlite3.DataError, sqlite3.ProgrammingError, sqlite3.InterfaceError,
    sqlite3.NotSupportedError,
)  # fmt: skip
"""What is wrong with a statement; other errors are about the file."""


@frozen
class FileSizes:
    """``pages`` is all of the file, ``free_pages`` what nothing uses; ``log_bytes`` is the write-ahead log's file."""

    pages: int
    free_pages: int
    page_bytes: int
    log_bytes: int


class StorageDamaged(Exception):
    """The state file is not a database, or SQLite found it malformed."""


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
        if path is not None:
            _make_private(path)
        self._connection = sqlite3.connect(
            ":memory:" if path is None else path, isolation_level=None, cached_statements=512, check_same_thread=False
        )
        self.path = path
        """The file, None for a database in memory."""
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
        try:
            if path is not None and path.stat().st_size <= CHECKED_BYTES:
                self._check()  # before anything is written: a damaged file is left as it is
            self._connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # only a new file follows; see `shrinking`
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute(f"PRAGMA synchronous={'FULL' if durability == 'full' else 'NORMAL'}")
            self._connection.execute("PRAGMA foreign_keys=ON")
            self._connection.execute("PRAGMA temp_store=MEMORY")
            self._connection.execute("PRAGMA cache_size=-4096")
            self._connection.execute("PRAGMA journal_size_limit=16777216")
            self._connection.execute("SELECT count(*) FROM sqlite_master")
        except sqlite3.DatabaseError as error:
            self._connection.close()
            if isinstance(error, sqlite3.OperationalError):
                raise
            raise StorageDamaged(str(error)) from error

    def _check(self) -> None:
        """Read the file through.

        Raises: StorageDamaged, sqlite3.DatabaseError.
        """
        verdict = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            self._connection.close()
            raise StorageDamaged(" ".join(str(verdict).split()))

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
        try:
            return self._connection.execute(sql, parameters)
        except sqlite3.Error as error:
            self._note_loss(error)
            raise

    def write_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one changing statement for every row, in the transaction of this tick."""
        self._enter()
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
        """Make the statements inside all happen or none: an exception undoes them and goes on to the caller.

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
            raise
        if not self._lost:
            self._connection.execute("RELEASE unit")

    @property
    def dirty(self) -> bool:
        """Whether this tick has written something that is not committed yet."""
        return self._in_transaction

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

        def done(error: CommitFailed | None) -> None:
            if not future.done():
                if error is None:
                    future.set_result(None)
                else:
                    future.set_exception(error)

        self._waiting.append(done)
        await future

    def on_rollback(self, forget: Callable[[], None]) -> None:
        """Register *forget*, called when a tick's transaction is lost or all is replaced: drop what memory holds."""
        self._on_rollback.append(forget)

    def commit(self) -> None:
        """Commit now and release everything that waited; safe to call when nothing is pending."""
        if not self._in_transaction:
            return
        error: CommitFailed | None = None
        try:
            if self._lost:
                error = CommitFailed("a statement could not be written")
                self._connection.execute("ROLLBACK")
            else:
                self._connection.execute("COMMIT")
                self.commits += 1
                if self._refusing:
                    self._refusing = False
                    _log.warning("%s can be written again", self._name)
        except sqlite3.Error as cause:
            self._log_refusal(cause)
            error = CommitFailed(str(cause))
            with suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
        self._in_transaction = self._lost = False
        waiting, self._waiting = self._waiting, []
        if error is not None:
            self.forget()
        for done in waiting:
            try:
                done(error)
            except Exception:
                _log.exception("an effect after the commit failed")
        if self._on_commit is not None:
            self._on_commit()
        for notify in self.watchers:
            notify()

    def copy_to(self, target: sqlite3.Connection) -> None:
        """Copy everything into *target*, what this tick has written included.

        Raises: sqlite3.Error; CommitFailed.
        """
        self._commit_all()
        self._connection.backup(target)

    def replace_with(self, source: sqlite3.Connection) -> None:
        """Put the content of *source*, of the same schema, in the place of everything; memory has to follow.

        Raises: sqlite3.Error; CommitFailed.
        """
        self._commit_all()
        source.backup(self._connection)
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
        """Leave checkpoints to a callback that runs after each commit; with None, to SQLite again."""
        self._on_commit = on_commit
        self._connection.execute(f"PRAGMA wal_autocheckpoint={0 if on_commit else 1000}")

    def checkpoint(self) -> None:
        """Copy the write-ahead log into the file now; between transactions, and as far as that is possible."""
        try:
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error as error:
            _log.warning("the write-ahead log is not copied: %s", error)

    def sizes(self) -> FileSizes:
        """Return how large the file and its log are."""
        pages, free, size = (self._pragma(name) for name in ("page_count", "freelist_count", "page_size"))
        log = 0
        if self.path is not None:
            with suppress(OSError):
                log = self.path.with_name(self.path.name + "-wal").stat().st_size
        return FileSizes(pages=pages, free_pages=free, page_bytes=size, log_bytes=log)

    @property
    def gives_pages_back(self) -> bool:
        """Whether pages that nothing uses can be cut off the file one by one."""
        return self._pragma("auto_vacuum") == _INCREMENTAL

    def give_back(self, pages: int) -> None:
        """Cut up to *pages* pages that nothing uses off the file, in the transaction of this tick."""
        for _ in range(pages):  # one by one: the module sqlite3 takes only the first step of a larger number
            self.write("PRAGMA incremental_vacuum(1)")

    def rewrite(self) -> None:
        """Write the file anew without what nothing uses, in the form that gives pages back; takes its time.

        Raises: sqlite3.Error when there is no room for it; the file is as before then.
        """
        self.commit()
        self._connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        self._connection.execute("VACUUM")

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    def close(self) -> None:
        """Commit what is pending and close the file."""
        self.commit()
        self._connection.close()

    def _enter(self) -> None:
        """Be in the transaction of this tick.

        Raises: sqlite3.OperationalError.
        """
        if self._in_transaction:
            if self._lost and not self._connection.in_transaction:  # outside one, a statement would be committed alone
                raise sqlite3.OperationalError("this moment's changes are lost")
            return
        self._connection.execute("BEGIN IMMEDIATE")
        self._in_transaction = True
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # no loop: the caller commits by hand (start-up, tests)
        loop.call_soon(self.commit, context=self._context)

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


def _make_private(path: Path) -> None:
    """Make the file for its owner only, before SQLite would make it for everyone; its log and index follow its mode."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    for each in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        with suppress(FileNotFoundError):
            each.chmod(0o600)


class StateTooNew(Exception):
    """The state file was written by a newer program."""


@frozen(kw_only=False)
class Schema:
    """A service's numbered SQL files."""

    service: str
    folder: Path

    def steps(self) -> dict[int, Path]:
        """Return the files by their numbers, in order.

        Raises: ValueError for a file without a number, or a number given twice: a state could stop between the two and
            miss the second.
        """
        found = sorted(file for file in self.folder.iterdir() if file.suffix == ".sql")
        files = {int(file.name[:4]): file for file in found}
        if len(files) < len(found):
            raise ValueError(f"{self.folder} has a number twice")
        return files


def migrate(database: Database, schemas: list[Schema]) -> None:
    """Apply what is missing, all or nothing; a column that is there already is not added again.

    Raises: StateTooNew when the file knows a step or a service schema that this program does not.
    """
    database.write(
        "CREATE TABLE IF NOT EXISTS schema_versions (service TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID"
    )
    reached = dict(database.read("SELECT service, version FROM schema_versions").fetchall())
    script: list[str] = []
    for schema in schemas:
        steps = schema.steps()
        newest = max(steps, default=0)
        at = reached.get(schema.service, 0)
        if at > newest:
            message = f"{schema.service} schema {at} is newer than this program knows ({newest})"
            raise StateTooNew(message)
        for number, file in steps.items():
            if number > at:
                statements = _statements(file.read_text(encoding="utf-8"))
                script += [each for each in statements if not _adds_what_is_there(database, each)]
                script.append(f"INSERT OR REPLACE INTO schema_versions VALUES ('{schema.service}', {number})")  # noqa: S608 - own names
    database.write_script("\n;".join(script))


_ADD_COLUMN = re.compile(r"(?:\s|--.*\n)*ALTER TABLE (\w+) ADD COLUMN (\w+)")


def _adds_what_is_there(database: Database, statement: str) -> bool:
    """Whether a statement adds a column that the table has; SQLite knows no ``IF NOT EXISTS`` for columns."""
    addition = _ADD_COLUMN.match(statement)
    if addition is None:
        return False
    table, column = addition.groups()
    return database.read("SELECT 1 FROM pragma_table_info(?) WHERE name = ?", (table, column)).fetchone() is not None


def _statements(sql: str) -> list[str]:
    """Split a script."""
    statements, current = [], ""
    for line in sql.splitlines(keepends=True):
        current += line
        if line.rstrip().endswith(";") and sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    if current.strip():
        statements.append(current)
    return statements
