"""The state file gives its space back while it is in use."""

import sqlite3

import pytest

from emulator.kernel.clock import VirtualClock
from emulator.kernel.timers import VirtualTimers
from emulator.storage.database import Database
from emulator.storage.maintenance import LOOK_S, STEP_PAUSE_S, Shrinker, make_shrinkable

PAGES = 6000


def fill(database):
    database.write("CREATE TABLE t (n INTEGER PRIMARY KEY, body TEXT)")
    database.write_many("INSERT INTO t VALUES (?, ?)", [(n, "x" * 3500) for n in range(PAGES)])
    database.commit()


@pytest.fixture
def timers():
    return VirtualTimers(VirtualClock())


@pytest.fixture
def later(timers):
    """Calls that are made when the timers are moved."""
    return lambda span_s, then: timers.call_at(timers._clock.now() + round(span_s * 1000), "later", then)


def test_the_file_shrinks_after_rows_are_deleted_while_others_are_written(tmp_path, timers, later):
    """Steps take pages off the end until little is free; what is left stays readable."""
    path = tmp_path / "state.db"
    database = Database(path)
    fill(database)
    shrinker = Shrinker(database, later, timers._clock)
    shrinker.start()
    before = database.file.sizes().pages
    database.write("DELETE FROM t WHERE n % 20 > 0")
    database.commit()

    timers.advance(LOOK_S * 1000)
    database.commit()
    for number in range(1000):
        database.write("INSERT INTO t VALUES (?, 'new')", (PAGES + number,))
        timers.advance(STEP_PAUSE_S * 1000)
        database.commit()

    sizes = database.file.sizes()
    assert sizes.pages < before / 5
    assert database.read("SELECT count(*) FROM t WHERE length(body) = 3500").fetchone()[0] == PAGES / 20
    assert database.read("PRAGMA integrity_check").fetchone()[0] == "ok"
    shrinker.close()
    database.close()
    assert path.stat().st_size < before * sizes.page_bytes / 5


def test_a_file_with_little_free_space_keeps_it(tmp_path, timers, later):
    """What is free is used again by the next rows."""
    database = Database(tmp_path / "state.db")
    fill(database)
    shrinker = Shrinker(database, later, timers._clock)
    shrinker.start()
    database.write("DELETE FROM t WHERE n % 20 = 0")
    database.commit()
    before = database.file.sizes()

    timers.advance(10 * LOOK_S * 1000)
    database.commit()

    assert before.free_pages > 0
    assert database.file.sizes() == before
    shrinker.close()
    database.close()


def test_a_file_of_the_earlier_form_is_rewritten_and_then_shrinks(tmp_path):
    """The rows stay; the file has the form that gives pages back from then on."""
    path = tmp_path / "state.db"
    with sqlite3.connect(path) as old:
        old.execute("PRAGMA journal_mode=WAL")
        old.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
        old.execute("INSERT INTO t VALUES (7)")
    old.close()
    database = Database(path)
    before = database.file.gives_pages_back

    make_shrinkable(database)

    assert (before, database.file.gives_pages_back) == (False, True)
    assert database.read("SELECT n FROM t").fetchall() == [(7,)]
    assert database.read("PRAGMA journal_mode").fetchone()[0] == "wal"
    database.close()


def test_a_rewrite_does_not_happen_twice(tmp_path):
    """A file that gives pages back is left alone at a start."""
    database = Database(tmp_path / "state.db")
    database.write("CREATE TABLE t (n INTEGER PRIMARY KEY)")
    database.commit()
    changes = database.read("PRAGMA schema_version").fetchone()[0]

    make_shrinkable(database)

    assert database.read("PRAGMA schema_version").fetchone()[0] == changes
    database.close()


async def test_giving_back_is_part_of_the_transaction_of_its_moment(tmp_path):
    """It is committed with the other writes of the tick, not by itself."""
    database = Database(tmp_path / "state.db")
    fill(database)
    database.write("DELETE FROM t")
    await database.committed()
    commits = database.commits
    database.write("INSERT INTO t VALUES (1, 'x')")
    database.give_back(50)
    open_before = database.dirty
    await database.committed()
    done = database.commits - commits
    database.close()
    assert (open_before, done) == (True, 1)
