"""Work with waits in between, and another program with the lock on the state file."""

import asyncio
import sqlite3
from contextlib import closing

import pytest

from emulator.storage import steps
from emulator.storage.database import Database, Steps
from emulator.storage.steps import performed, stream
from emulator.storage.write_lock import StateLocked


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


def note(database, text):
    database.write("INSERT INTO notes VALUES (?)", (text,))


def notes(database):
    return [row[0] for row in database.read("SELECT text FROM notes").fetchall()]


async def turns(count=20):
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_step_after_a_wait_waits_for_the_lock(database, other):
    """What has begun goes on where it was, once the other program has given the lock up."""
    begun = []

    async def work():
        begun.append(1)
        await asyncio.sleep(0)
        note(database, "after")
        return "done"

    task = asyncio.ensure_future(performed(database, work))
    await turns()
    waited = not task.done()
    other.execute("ROLLBACK")
    async with asyncio.timeout(20):
        result = await task

    assert (waited, begun, result, notes(database)) == (True, [1], "done", ["after"])


@pytest.mark.parametrize("form", ["at once", "before its first wait"])
async def test_what_meets_the_lock_before_it_has_waited_is_begun_again(database, other, form):
    """It has written nothing."""
    begun = []

    def write():
        begun.append(1)
        note(database, "once")
        return "done"

    async def work():
        return write()

    task = asyncio.ensure_future(performed(database, write if form == "at once" else work))
    await turns()
    other.execute("ROLLBACK")
    async with asyncio.timeout(20):
        result = await task

    assert (result, begun, notes(database)) == ("done", [1, 1], ["once"])


async def test_patience_ends(database, other, monkeypatch):
    """What would write fails then, what would not goes on: it has done what it was asked for."""
    monkeypatch.setattr(steps, "LOCKED_S", 0.01)

    async def writing():
        await asyncio.sleep(0)
        note(database, "never")

    async def reading():
        await asyncio.sleep(0)
        return notes(database)

    with pytest.raises(StateLocked):
        await Steps(database, writing(), patience_s=0.01)
    assert await Steps(database, reading(), patience_s=0.01) == []
    with pytest.raises(StateLocked):
        await performed(database, lambda: note(database, "never"))


async def test_what_writes_nothing_later_does_not_wait(database, other):
    """Nor does it begin a transaction."""

    async def reading():
        await asyncio.sleep(0)
        return database._in_transaction

    assert await Steps(database, reading(), lambda: False) is False


async def test_errors_and_cancellations_reach_the_work(database):
    """It cleans up as it would have without."""
    heard = []

    async def work(future):
        try:
            await future
        except (ValueError, asyncio.CancelledError) as error:
            heard.append(type(error))
            raise

    failing = asyncio.get_running_loop().create_future()
    failing.set_exception(ValueError())
    with pytest.raises(ValueError):
        await Steps(database, work(failing))
    task = asyncio.ensure_future(performed(database, lambda: work(asyncio.get_running_loop().create_future())))
    await turns(3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert heard == [ValueError, asyncio.CancelledError]


async def test_a_future_is_work_too(database):
    """A long poll is one."""
    future = asyncio.get_running_loop().create_future()
    future.get_loop().call_soon(future.set_result, "answer")

    assert await performed(database, lambda: future) == "answer"


async def test_a_stream_writes_between_its_pieces(database, other):
    """Each piece waits for the lock, and the stream is closed with the one around it."""
    closed = []

    async def pieces():
        try:
            for number in range(3):
                note(database, str(number))
                yield number
                await asyncio.sleep(0)
        finally:
            closed.append(1)

    async def read():
        found = []
        around = stream(database, pieces(), database.eras.current)
        async for each in around:
            found.append(each)
            if each == 1:
                break
        await around.aclose()
        return found

    task = asyncio.ensure_future(read())
    await turns()
    waited = not task.done()
    other.execute("ROLLBACK")
    async with asyncio.timeout(20):
        found = await task

    assert (waited, found, notes(database), closed) == (True, [0, 1], ["0", "1"], [1])
    assert [piece async for piece in stream(database, pieces(), database.eras.current)] == [0, 1, 2]


async def test_a_tick_without_a_change_tells_nobody(database):
    """Who looks at every change would look again because of its own look."""
    told = []
    database.watchers.add(lambda: told.append(1))

    async def looking():
        await asyncio.sleep(0)
        return database.dirty

    dirty = await Steps(database, looking())
    await turns(3)

    assert (dirty, told) == (False, [])


async def test_who_waits_for_quiet_hears_of_an_answer_that_has_left(database):
    """A tick in which something waited for its end was not quiet: whoever has seen that looks again."""
    told, left = [], []
    database.watchers.add(lambda: told.append(database.dirty))

    async def looking():
        await asyncio.sleep(0)
        database.after_commit(left.append)
        return database.dirty

    dirty = await Steps(database, looking())
    await turns(3)

    assert (dirty, left, told) == (True, [None], [False])
