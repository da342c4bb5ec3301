"""Work that began before everything stood still: it writes nothing afterwards."""

import asyncio
import sqlite3
from contextlib import closing, suppress

import pytest

from emulator.storage.database import Database, Steps
from emulator.storage.eras import Overtaken
from emulator.storage.steps import Performer, performed, stream
from tests.waiting import until


@pytest.fixture
def database(tmp_path):
    with closing(Database(tmp_path / "state.db")) as opened:
        opened.write("CREATE TABLE notes (text TEXT)")
        opened.commit()
        yield opened


def note(database, text):
    database.write("INSERT INTO notes VALUES (?)", (text,))


def notes(database):
    return [row[0] for row in database.read("SELECT text FROM notes").fetchall()]


async def begun(work):
    """Let *work* come to its first wait, and return the task."""
    task = asyncio.ensure_future(work)
    await asyncio.sleep(0)
    return task


async def waiting(gate, then):
    """Wait until *gate* is open, then return what *then* returns."""
    await gate.wait()
    return then()


async def test_a_write_is_refused(database):
    """What memory holds of the tables is dropped: the work may have changed it before."""
    gate, forgotten = asyncio.Event(), []
    database.on_rollback(lambda: forgotten.append(True))
    task = await begun(performed(database, lambda: waiting(gate, lambda: note(database, "late"))))
    database.eras.begin()
    gate.set()

    with pytest.raises(Overtaken):
        await task
    assert (notes(database), forgotten) == ([], [True])


@pytest.mark.parametrize("form", ["write", "write_many", "unit", "change_whole"])
async def test_every_way_of_writing_is_refused(database, form):
    """Also the one beside the loop."""
    sql, gate = "INSERT INTO notes VALUES (?)", asyncio.Event()

    async def work():
        await gate.wait()
        match form:
            case "write":
                database.write(sql, ("late",))
            case "write_many":
                database.write_many(sql, [("late",)])
            case "unit":
                with database.unit():
                    pass
            case _:
                await database.change_whole(lambda connection: None)

    task = await begun(performed(database, work))
    database.eras.begin()
    gate.set()

    with pytest.raises(Overtaken):
        await task
    assert notes(database) == []


async def test_what_writes_nothing_comes_to_its_own_end(database):
    """It may even read."""
    gate = asyncio.Event()
    task = await begun(performed(database, lambda: waiting(gate, lambda: notes(database))))
    database.eras.begin()
    gate.set()

    assert await task == []


@pytest.mark.parametrize("outcome", ["an answer", "an error of its own"])
async def test_work_that_makes_something_else_of_it_ends_so_too(database, outcome):
    """It has not done what it says."""
    gate = asyncio.Event()

    async def work():
        await gate.wait()
        try:
            note(database, "late")
        except Exception as error:
            if outcome != "an answer":
                raise ValueError from error
        return "done"

    task = await begun(performed(database, work))
    database.eras.begin()
    gate.set()

    with pytest.raises(Overtaken):
        await task


async def test_cleaning_up_writes_nothing_either(database):
    """Neither what handles an error nor what comes finally."""
    gate, refused = asyncio.Event(), []

    async def work():
        try:
            await waiting(gate, [].pop)
        except IndexError:
            try:
                note(database, "handled")
            except Overtaken:
                refused.append("handled")
        finally:
            try:
                note(database, "finally")
            except Overtaken:
                refused.append("finally")

    task = await begun(performed(database, work))
    database.eras.begin()
    gate.set()

    with pytest.raises(Overtaken):
        await task
    assert (notes(database), refused) == ([], ["handled", "finally"])


async def test_a_cancellation_stays_one(database):
    """Who has gone away gets no answer."""

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            with suppress(Overtaken):
                note(database, "late")

    task = await begun(performed(database, work))
    database.eras.begin()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert notes(database) == []


async def test_what_waits_for_a_lock_meanwhile_is_refused_as_well(database):
    """It gets the lock when that is free, and then may not use it."""
    database.lock.set_patience(waits=False)
    gate = asyncio.Event()
    task = await begun(performed(database, lambda: waiting(gate, lambda: note(database, "late"))))
    with closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        gate.set()
        await until(lambda: database.lock.held_elsewhere)
        database.eras.begin()
        other.execute("ROLLBACK")

    with pytest.raises(Overtaken):
        await task
    assert notes(database) == []


async def test_work_that_was_made_before_is_of_that_time(database):
    """Its operation has begun, though no step was driven yet."""

    async def work():
        note(database, "late")

    steps = Steps(database, work())
    database.eras.begin()

    with pytest.raises(Overtaken):
        await steps


async def test_who_lets_everything_stand_still_goes_on(database):
    """With all that it is part of, and what it does in parts of its own afterwards."""

    async def inner():
        await asyncio.sleep(0)
        database.eras.begin()
        note(database, "inner")

    async def outer():
        await asyncio.sleep(0)
        await Steps(database, inner())
        note(database, "outer")
        await Steps(database, waiting(gate, lambda: note(database, "later")))

    gate = asyncio.Event()
    gate.set()
    await performed(database, outer)

    assert notes(database) == ["inner", "outer", "later"]


async def test_a_part_is_of_the_time_of_the_whole(database):
    """Also one that is made afterwards."""
    gate = asyncio.Event()

    async def part():
        note(database, "late")

    async def whole():
        await gate.wait()
        await performed(database, part)

    task = await begun(performed(database, whole))
    database.eras.begin()
    gate.set()

    with pytest.raises(Overtaken):
        await task
    assert notes(database) == []


async def test_who_has_waited_to_decide_can_keep_up(database):
    """A reset that has waited for a restore relies on nothing of before."""
    gate = asyncio.Event()

    async def work():
        await gate.wait()
        database.eras.keep_up()
        note(database, "new")

    task = await begun(performed(database, work))
    database.eras.begin()
    gate.set()
    await task

    assert notes(database) == ["new"]


@pytest.mark.parametrize(("replaces", "left"), [(False, ["moved"]), (True, [])])
async def test_what_outlasts_restarts(database, replaces, left):
    """A move of the clock goes on when services were restarted in a chosen order, not when tables were replaced."""
    gate = asyncio.Event()

    async def work():
        database.eras.outlast_restarts()
        await gate.wait()
        note(database, "moved")

    task = await begun(performed(database, work))
    database.eras.begin(replaces=False)
    database.eras.begin(replaces=replaces)
    gate.set()
    await asyncio.wait([task])

    assert (notes(database), isinstance(task.exception(), Overtaken)) == (left, replaces)


async def test_others_write_in_its_steps(database):
    """Timers that it lets run, what waited for its commit: they go by the tables as they are now."""
    gate = asyncio.Event()

    async def work():
        await gate.wait()
        with database.eras.for_others():
            note(database, "a timer")
        database.after_commit(lambda failure: note(database, "an effect"))
        database.commit()

    task = await begun(performed(database, work))
    database.eras.begin()
    gate.set()
    await task

    assert notes(database) == ["a timer", "an effect"]


async def test_a_body_that_is_made_piece_by_piece_is_of_the_time_of_its_request(database):
    """It breaks off; one that lets everything stand still itself goes on."""

    async def pieces(begins):
        for number in range(3):
            if number == 1 and begins:
                database.eras.begin()
            note(database, str(number))
            yield number

    got = []
    around = stream(database, pieces(begins=False), database.eras.current)
    with pytest.raises(Overtaken):
        async for piece in around:
            got.append(piece)
            database.eras.begin()

    assert (got, notes(database)) == ([0], ["0"])
    assert [piece async for piece in stream(database, pieces(begins=True), database.eras.current)] == [0, 1, 2]


async def test_a_page_in_another_thread_is_of_the_time_of_its_request(database):
    """It makes several calls, none while everything stands still; one of them may be a reset."""
    door = asyncio.Event()
    page, resetting = Performer(database, door.wait), Performer(database, door.wait)
    task = await begun(page(lambda: note(database, "while the door is closed")))
    assert notes(database) == []
    door.set()
    await task
    await resetting(database.eras.begin)

    with pytest.raises(Overtaken):
        await page(lambda: note(database, "late"))
    await resetting(lambda: note(database, "afterwards"))
    assert notes(database) == ["while the door is closed", "afterwards"]
