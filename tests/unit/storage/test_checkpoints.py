"""Checkpoints beside the loop: everything gets into the file, the log stays bounded, SQLite takes over at the end."""

import asyncio
import sqlite3
import threading

import pytest

from emulator.storage import maintenance as checkpoints
from emulator.storage.database import Database
from emulator.storage.maintenance import Checkpoints
from tests.waiting import until


@pytest.fixture
def path(tmp_path):
    database = Database(tmp_path / "state.db")
    database.write("CREATE TABLE t (n INTEGER PRIMARY KEY, body TEXT)")
    database.close()
    return tmp_path / "state.db"


def rows_without_the_log(path, tmp_path):
    """Count the rows that the file itself holds, as if the log had been lost."""
    copy = tmp_path / "copy.db"
    copy.write_bytes(path.read_bytes())
    with sqlite3.connect(copy) as other:
        other.execute("PRAGMA journal_mode=DELETE")
        return other.execute("SELECT count(*) FROM t").fetchone()[0]


async def test_committed_rows_get_into_the_file_while_it_is_open(path, tmp_path):
    """The thread copies what was committed, without anything else being called."""
    database = Database(path)
    beside = Checkpoints(database, path, interval_s=0.01)
    beside.start()
    database.write("INSERT INTO t VALUES (1, 'x')")
    await database.committed()
    await until(lambda: beside.done > 0)
    found = rows_without_the_log(path, tmp_path)
    beside.close()
    database.close()

    assert found == 1


async def test_no_checkpoint_begins_without_a_commit_since_the_last_one(path, monkeypatch):
    """An idle emulator copies nothing, and never right after a complete copy."""
    database = Database(path)
    beside = Checkpoints(database, path, interval_s=0.001)
    beside.start()
    database.write("INSERT INTO t VALUES (1, 'x')")
    await database.committed()
    await until(lambda: beside.done > 0)
    for _ in range(20):  # the thread is woken, and finds that no transaction has been committed
        beside._written.set()
        await until(lambda: not beside._written.is_set())
    done = beside.done
    beside.close()
    database.close()

    assert database.commits == 1
    assert done == 1


async def test_the_log_begins_anew_under_an_uninterrupted_load(path, monkeypatch):
    """Where the thread never catches up, the loop copies the rest, so the log keeps a bound."""
    monkeypatch.setattr(checkpoints, "LONGEST_LOG", 50)
    limit, number, taken_over = 100_000, 0, []
    log = path.with_name("state.db-wal")

    database = Database(path)
    database._connection.execute(f"PRAGMA journal_size_limit={limit}")
    copy_log = database.file.copy_log

    def copied():
        copy_log()
        taken_over.append(number)  # a log of more than 50 pages, 200 kB

    monkeypatch.setattr(database.file, "copy_log", copied)
    beside = Checkpoints(database, path, interval_s=0.001)
    beside.start()
    async with asyncio.timeout(60):  # how long the thread waits for the disk is not ours to say
        while len(taken_over) < 3:
            number += 1
            database.write("INSERT OR REPLACE INTO t VALUES (?, ?)", (number % 100, "x" * 3000))
            await database.committed()
            await asyncio.sleep(0)
    database.write("INSERT OR REPLACE INTO t VALUES (?, ?)", (0, "x"))
    await database.committed()
    begun_anew = log.stat().st_size
    beside.close()
    database.close()

    assert beside.done > 0
    assert begun_anew <= limit, taken_over


async def test_two_databases_in_one_process_do_not_meet(tmp_path):
    """Each emulator has a thread and a log of its own, and ending one leaves the other."""
    pairs = []
    for name in ("a.db", "b.db"):
        database = Database(tmp_path / name)
        database.write("CREATE TABLE t (n INTEGER)")
        beside = Checkpoints(database, tmp_path / name, interval_s=0.005)
        beside.start()
        pairs.append((database, beside))
    await pairs[0][0].committed()
    pairs[0][1].close()
    pairs[0][0].close()
    database, beside = pairs[1]
    before = beside.done
    database.write("INSERT INTO t VALUES (1)")
    await database.committed()
    await until(lambda: beside.done > before)
    beside.close()
    database.close()

    assert not (tmp_path / "b.db-wal").exists()


def test_closing_before_the_first_commit_ends_the_thread(path):
    """A start that fails later on does not hang."""
    database = Database(path)
    beside = Checkpoints(database, path)
    beside.start()

    beside.close()

    database.close()
    assert not beside._thread.is_alive()


def test_closing_what_was_never_started_is_harmless(path):
    """An emulator whose start failed closes what it has made."""
    database = Database(path)
    beside = Checkpoints(database, path)

    beside.close()

    assert not beside._thread.is_alive()
    assert database.read("SELECT 1").fetchone()[0] == 1
    database.close()


def test_an_end_that_comes_while_the_thread_wakes_is_not_missed(path):
    """The thread forgets its wake-up at that very moment, and must not wait for another one."""
    database = Database(path)
    beside = Checkpoints(database, path, interval_s=0.001)

    class EndedMeanwhile(threading.Event):
        def clear(self):
            beside._closing.set()
            self.set()
            super().clear()

    beside._written = EndedMeanwhile()
    beside.start()
    beside._written.set()

    beside._thread.join(20)

    assert not beside._thread.is_alive()
    beside.close()
    database.close()
