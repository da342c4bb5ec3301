"""The tables of Function Compute in states of earlier versions."""

import pytest

from emulator.services.fc.asynchronous.store import AsyncStore
from emulator.services.fc.service import SCHEMA
from emulator.storage.database import Database
from emulator.storage.migration import Schema, migrate

_TRACE = "ALTER TABLE fc_async_calls ADD COLUMN trace TEXT NOT NULL DEFAULT ''"


def columns(database, table):
    return {name for (name,) in database.read("SELECT name FROM pragma_table_info(?)", (table,))}


@pytest.fixture
def earlier(tmp_path):
    """Make a database that has come to a number, with the column that was a second 0005 or without it."""

    def make(number, *, with_trace):
        database = Database(None)
        for file in SCHEMA.folder.glob("*.sql"):
            if int(file.name[:4]) <= number:
                (tmp_path / file.name).write_bytes(file.read_bytes())
        migrate(database, [Schema("fc", tmp_path)])
        if with_trace:
            database.write(_TRACE)
        database.commit()
        return database

    return make


@pytest.mark.parametrize("number", range(8))
def test_every_earlier_state_gets_every_table_and_column(earlier, number):
    """The columns of a state do not depend on the number it comes from."""
    new = Database(None)
    migrate(new, [SCHEMA])

    database = earlier(number, with_trace=False)
    migrate(database, [SCHEMA])

    tables = [name for (name,) in new.read("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert {table: columns(database, table) for table in tables} == {table: columns(new, table) for table in tables}
    assert AsyncStore(database).interrupted() == []


@pytest.mark.parametrize("number", [5, 6, 7])
def test_a_state_with_the_traces_of_calls_keeps_them(earlier, number):
    """What an earlier version has written into the column stays."""
    database = earlier(number, with_trace=True)
    database.write(
        "INSERT INTO fc_async_calls (account, region, service, function, qualifier, request_id, task_id, call_key, "
        "event, tracing, accepted_at, status, due_at, trace) "
        "VALUES ('1', 'r', '', 'f', 'LATEST', 'id', '', '', x'', '{}', 1, 'Running', NULL, 'caller')"
    )

    migrate(database, [SCHEMA])

    assert [call.trace for call in AsyncStore(database).interrupted()] == ["caller"]
