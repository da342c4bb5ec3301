"""One commit per tick, answers after it."""

import contextlib
import sqlite3
import stat

import pytest

from emulator.storage.database import CommitFailed, Database, StorageDamaged


@pytest.fixture
def path(tmp_path):
    database = Database(tmp_path / "state.db")
    database.write("CREATE TABLE t (n INTEGER PRIMARY KEY)")
    database.close()
    return tmp_path / "state.db"


def rows_on_disk(path):
    with sqlite3.connect(path) as other:
        return [row[0] for row in other.execute("SELECT n FROM t ORDER BY n")]


async def test_writes_of_one_tick_are_one_commit_and_effects_wait_for_it(path):
    """What waits in after_commit runs once, when another connection can see the rows."""
    database = Database(path)
    seen = []
    database.write("INSERT INTO t VALUES (1)")
    database.after_commit(lambda error: seen.append((error, rows_on_disk(path))))
    database.write("INSERT INTO t VALUES (2)")
    before = (list(seen), rows_on_disk(path))
    await database.committed()
    database.close()

    assert before == ([], [])
    assert seen == [(None, [1, 2])]


def test_without_a_pending_write_nothing_waits(path):
    """A reading operation answers at once."""
    database = Database(path)
    seen = []

    database.after_commit(seen.append)

    assert seen == [None]
    database.close()


async def test_a_failing_statement_leaves_the_others_of_the_tick(path):
    """One refused operation does not take down its neighbours."""
    database = Database(path)
    database.write("INSERT INTO t VALUES (1)")
    with pytest.raises(sqlite3.IntegrityError):
        database.write("INSERT INTO t VALUES (1)")
    database.write("INSERT INTO t VALUES (2)")
    await database.committed()
    database.close()

    assert rows_on_disk(path) == [1, 2]


def test_a_unit_happens_whole_or_not_at_all(path):
    """An exception inside undoes the unit only, and memory, which may be ahead of it, is told to forget."""
    database = Database(path)
    forgotten = []
    database.on_rollback(lambda: forgotten.append(True))
    database.write("INSERT INTO t VALUES (1)")
    with pytest.raises(RuntimeError, match="half way"), database.unit():
        database.write("INSERT INTO t VALUES (2)")
        raise RuntimeError("half way")
    with database.unit():
        database.write("INSERT INTO t VALUES (3)")
    database.close()

    assert rows_on_disk(path) == [1, 3]
    assert forgotten == [True]


async def test_a_failed_commit_tells_every_waiter_and_undoes_the_tick(path):
    """Nothing is acknowledged that is not on disk, and memory is told to forget."""
    database = Database(path)
    forgotten, told = [], []
    database.on_rollback(lambda: forgotten.append(True))
    database.write("CREATE TABLE child (n INTEGER REFERENCES t(n) DEFERRABLE INITIALLY DEFERRED)")
    database.commit()
    database.write("INSERT INTO child VALUES (99)")  # violated only at commit
    database.after_commit(told.append)
    with pytest.raises(CommitFailed):
        await database.committed()
    database.write("INSERT INTO t VALUES (5)")
    await database.committed()
    database.close()

    assert forgotten == [True]
    assert isinstance(told[0], CommitFailed)
    assert rows_on_disk(path) == [5]


def test_a_file_that_is_no_database_is_named_damaged(tmp_path):
    """Start-up can tell the user what is wrong."""
    file = tmp_path / "state.db"
    file.write_bytes(b"this is not a database, and long enough to be sure" * 100)

    with pytest.raises(StorageDamaged):
        Database(file)


async def test_a_full_disk_loses_the_whole_tick_and_says_so(path):
    """SQLite undoes the transaction; what is written after that must not be committed on its own."""
    database = Database(path)
    database.write("CREATE TABLE large (content BLOB)")
    await database.committed()
    pages = database.read("PRAGMA page_count").fetchone()[0]
    database.read(f"PRAGMA max_page_count = {pages + 2}").fetchone()
    seen, forgotten = [], []
    database.on_rollback(lambda: forgotten.append(True))
    database.write("INSERT INTO t VALUES (1)")
    with pytest.raises(sqlite3.OperationalError), database.unit():
        database.write("INSERT INTO large VALUES (zeroblob(100000))")
    database.write("INSERT INTO t VALUES (2)")
    database.after_commit(seen.append)
    with pytest.raises(CommitFailed):
        await database.committed()
    after_loss = rows_on_disk(path)
    database.write("INSERT INTO t VALUES (3)")
    await database.committed()
    database.close()

    assert isinstance(seen[0], CommitFailed)
    assert forgotten == [True]
    assert after_loss == []
    assert rows_on_disk(path) == [3]


def test_a_full_disk_inside_a_batch_of_rows(path):
    """The same for many rows in one call, also when the caller goes on as if nothing had happened."""
    database = Database(path)
    database.write("CREATE TABLE large (content BLOB)")
    database.commit()
    pages = database.read("PRAGMA page_count").fetchone()[0]
    database.read(f"PRAGMA max_page_count = {pages + 2}").fetchone()
    seen = []

    with database.unit(), contextlib.suppress(sqlite3.OperationalError):
        database.write_many("INSERT INTO large VALUES (?)", [(b"x" * 100_000,)])
    database.after_commit(seen.append)
    database.commit()

    assert isinstance(seen[0], CommitFailed)
    assert database.read("SELECT count(*) FROM large").fetchone()[0] == 0
    database.close()


def test_a_damaged_page_is_found_when_the_file_is_opened(path):
    """Before anything is served from it."""
    database = Database(path)
    database.write_many("INSERT INTO t VALUES (?)", [(number,) for number in range(5000)])
    database.close()
    with path.open("r+b") as file:
        file.seek(4096 * 2 + 8)
        file.write(b"\xa5" * 2000)

    with pytest.raises(StorageDamaged):
        Database(path)


def test_trouble_with_the_file_is_told_once_and_so_is_its_end(path, caplog):
    """A full disk fails every call; the log tells when that began and when it was over."""
    database = Database(path)
    database.write("CREATE TABLE large (content BLOB)")
    database.commit()
    pages = database.read("PRAGMA page_count").fetchone()[0]
    database.read(f"PRAGMA max_page_count = {pages + 2}").fetchone()
    for _ in range(3):
        with pytest.raises(sqlite3.OperationalError):
            database.write("INSERT INTO large VALUES (zeroblob(100000))")
        database.commit()
    database.read("PRAGMA max_page_count = 100000").fetchone()
    database.write("INSERT INTO large VALUES (zeroblob(100000))")
    database.close()

    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
    assert f"{path} cannot be written: database or disk is full" in caplog.text
    assert f"{path} can be written again" in caplog.text


def test_a_failing_write_undoes_what_its_operation_wrote_before(path):
    """Half an operation is none, even where nobody asked for a unit."""
    database = Database(path)
    database.write("CREATE TABLE large (content BLOB)")
    database.commit()
    pages = database.read("PRAGMA page_count").fetchone()[0]
    database.read(f"PRAGMA max_page_count = {pages + 2}").fetchone()
    told = []
    database.write("INSERT INTO t VALUES (1)")
    with pytest.raises(sqlite3.OperationalError):
        database.write("INSERT INTO large VALUES (zeroblob(100000))")
    database.after_commit(told.append)
    database.close()

    assert isinstance(told[0], CommitFailed)
    assert rows_on_disk(path) == []


def test_the_files_are_for_their_owner_only(tmp_path):
    """From the first byte, with their log and index; files of earlier releases are shut when they are opened."""
    old = tmp_path / "old.db"
    old.touch()
    old.chmod(0o644)
    for path in (tmp_path / "state.db", old):
        database = Database(path)
        database.write("CREATE TABLE t (n)")
        database.commit()

        modes = {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.glob(f"{path.name}*")}

        database.close()
        assert len(modes) == 1
        assert modes == {0o600}
