"""What rows that are written are called, while somebody looks."""

import sqlite3
from contextlib import closing

import pytest

from emulator.storage.database import Database

NAMES = {
    "boxes": "'box/' || {row}.name",
    "things": "'box/' || (SELECT name FROM boxes WHERE id = {row}.box)",
}


@pytest.fixture
def database(tmp_path):
    with closing(Database(tmp_path / "state.db")) as opened:
        opened.write("CREATE TABLE boxes (id INTEGER PRIMARY KEY, name TEXT)")
        opened.write("CREATE TABLE things (box INTEGER, text TEXT)")
        opened.write("CREATE TABLE others (text TEXT)")
        opened.write("INSERT INTO boxes VALUES (1, 'red'), (2, 'blue')")
        opened.commit()
        yield opened


def test_rows_that_are_written_are_named_by_what_they_belong_to(database):
    """Added, changed and deleted ones; tables that are not watched are not named."""
    told = []
    database.watch_rows(NAMES, told.append)

    database.write("INSERT INTO things VALUES (1, 'cup')")
    database.write("INSERT INTO others VALUES ('?')")
    database.write("UPDATE things SET text = 'pot', box = 2")
    database.write("DELETE FROM boxes WHERE name = 'red'")

    assert told == ["box/red", "box/blue", "box/red"]


def test_row_of_what_is_gone_is_not_named(database):
    """It has no name any more."""
    told = []
    database.watch_rows(NAMES, told.append)

    database.write("INSERT INTO things VALUES (7, 'cup')")

    assert told == []


def test_nothing_of_a_watch_is_left_when_it_ends(database):
    """Also when it began and ended in the middle of a transaction: what was written stays."""
    told = []
    database.write("INSERT INTO things VALUES (1, 'one')")
    stop = database.watch_rows(NAMES, told.append)
    database.write("INSERT INTO things VALUES (1, 'two')")
    stop()
    database.write("INSERT INTO things VALUES (1, 'three')")
    database.commit()

    assert told == ["box/red"]
    with closing(sqlite3.connect(database.path)) as other:
        assert other.execute("SELECT count(*) FROM things").fetchone() == (3,)
        assert other.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'").fetchone() == (0,)
    database.watch_rows(NAMES, told.append)  # once more
