"""A lock that another program holds on the state file stops those alone that need it."""

import asyncio
import sqlite3
from contextlib import closing

import pytest

from emulator.storage.database import Database
from emulator.storage.write_lock import WOKEN_AT_ONCE, StateLocked


@pytest.fixture
def database(tmp_path):
    with closing(Database(tmp_path / "state.db")) as opened:
        opened.write("CREATE TABLE notes (text TEXT)")
        opened.commit()
        opened.lock.set_patience(waits=False)
        yield opened


@pytest.fixture
def other(database):
    """Another program with the lock."""
    with closing(sqlite3.connect(database.path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


def notes(database):
    return [row[0] for row in database.read("SELECT text FROM notes").fetchall()]


async def test_a_write_is_refused_at_once_and_a_read_is_not(database, other):
    """SQLite does not wait, and memory is made to follow the tables."""
    forgotten = []
    database.on_rollback(lambda: forgotten.append(1))

    with pytest.raises(StateLocked):
        database.write("INSERT INTO notes VALUES ('lost')")

    assert notes(database) == []
    assert forgotten == [1]
    assert database.read("PRAGMA busy_timeout").fetchone()[0] == 0


async def test_who_waits_goes_on_in_order_with_the_lock(database, other):
    """Everyone that waits writes what it has, the first ones first; it is on disk when that is said."""

    async def note(text):
        await database.writable()
        database.write("INSERT INTO notes VALUES (?)", (text,))
        await database.committed()
        return text

    waiting = [asyncio.ensure_future(note(str(number))) for number in range(5)]
    for _ in range(20):
        await asyncio.sleep(0)
    before = [each.done() for each in waiting]
    other.execute("ROLLBACK")
    async with asyncio.timeout(20):
        await asyncio.gather(*waiting)

    assert before == [False] * 5
    with closing(sqlite3.connect(database.path)) as reader:
        assert [row[0] for row in reader.execute("SELECT text FROM notes ORDER BY rowid")] == list("01234")


async def test_so_many_go_on_in_one_turn_of_the_loop(database, other):
    """A thousand that have waited do not become a standstill of their own."""
    woken, turns = [], []
    count = WOKEN_AT_ONCE * 3
    for number in range(count):
        assert not database.is_writable(lambda number=number: woken.append(number))

    other.execute("ROLLBACK")
    async with asyncio.timeout(20):
        while len(woken) < count:
            turns.append(len(woken))
            await asyncio.sleep(0)

    assert woken == list(range(count))
    assert max(later - earlier for earlier, later in zip(turns, [*turns[1:], count], strict=True)) <= WOKEN_AT_ONCE


async def test_asking_for_the_lock_is_no_commit(database):
    """Nothing has changed: nobody is told so, and the file stays as it is."""
    before = database.commits

    assert database.is_writable(lambda: None)
    database.commit()

    assert database.commits == before


def test_without_a_loop_sqlite_waits(tmp_path):
    """A start and an end have nobody else to serve."""
    with closing(Database(tmp_path / "state.db")) as opened:
        assert opened.read("PRAGMA busy_timeout").fetchone()[0] > 0
