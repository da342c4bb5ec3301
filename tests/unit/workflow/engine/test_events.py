"""The text in which the events of a turn are kept, and the form earlier programs gave them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.workflow.engine.history import Recorded, line_of, packed, unpacked
from emulator.services.workflow.engine.json_text import canonical
from emulator.services.workflow.engine.store import recorded
from emulator.services.workflow.tenants import SCHEMA, Tenants
from emulator.storage.database import Database
from emulator.storage.migration import Schema, migrate

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
DATA = st.dictionaries(NAMES, NAMES | st.integers() | st.none(), max_size=3)


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), NAMES, DATA, st.none() | st.integers(0, 99)), min_size=1)
)
def test_what_is_packed_is_unpacked(given):
    """Whatever names and data hold: tabs, line ends, other control characters, quotes."""
    events = [
        Recorded(number, "StepEntered", strand, cause, step, canonical(data), mark, Millis(5))
        for number, (strand, cause, step, data, mark) in enumerate(given, 7)
    ]

    kept = list(unpacked(7, 5, packed(line_of(event, event.detail) for event in events), 0))

    assert kept == events


@pytest.fixture
def database():
    made = Database(None)
    yield made
    made.close()


def add_turns(database: Database, *sizes: int) -> None:
    """Store turns of so many events each, of execution 1."""
    first = 1
    for at, size in enumerate(sizes):
        lines = [line_of(Recorded(0, "StepExited", 0, 0, "s", "{}", None, Millis(0)), "{}")] * size
        database.write("INSERT INTO workflow_turns VALUES (1, ?, 1, ?, ?)", (first, at, packed(lines)))
        first += size


@pytest.mark.parametrize("start", [0, 1, 2, 3, 4, 6, 7])
def test_events_are_read_from_any_place(database, start):
    """Also from the middle of a turn, and from behind the last one."""
    migrate(database, [SCHEMA])
    add_turns(database, 3, 1, 2)
    database.write(
        "INSERT INTO workflow_turns VALUES (2, 1, 1, 0, ?)",
        (line_of(Recorded(1, "x", 0, 0, "", "{}", None, Millis(0)), "{}"),),
    )

    events = list(recorded(database, 1, start))

    assert [(event.id, event.at) for event in events] == [
        pair for pair in ((1, 0), (2, 0), (3, 0), (4, 1), (5, 2), (6, 2)) if pair[0] >= start
    ]


def test_events_of_earlier_programs_are_kept_with_all_they_had(database, tmp_path):
    """A row each, with names and marks as they were."""
    for file in SCHEMA.folder.glob("000[1-8]_*.sql"):
        (tmp_path / file.name).write_text(file.read_text())
    migrate(database, [Schema(SCHEMA.service, tmp_path)])
    Tenants(database).id_of(Tenant(AccountId("1"), Region("cn-hangzhou")))
    rows = [
        Recorded(1, "ExecutionStarted", 0, 0, "", '{"input":{}}', None, Millis(5)),
        Recorded(2, "StepEntered", 0, 1, 'a\tb\n"c"\\\x01é', '{"input":{"x":"\\t"}}', 0, Millis(6)),
        Recorded(3, "IterationEntered", 2, 1, "each", '{"index":0}', 2, Millis(7)),
    ]
    database.write_many(
        "INSERT INTO workflow_events (execution, world, id, type, strand, cause, step, detail, mark, at)"
        " VALUES (4, 1, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    database.commit()

    migrate(database, [SCHEMA])

    assert list(recorded(database, 4)) == rows
