"""Counters: on top of earlier processes, through restored and lost tables, back to 0."""

import pytest

from emulator.kernel.metering import Amount, Tally, added, message_units
from emulator.storage.database import Database
from emulator.storage.migration import migrate
from emulator.usage.meter import SCHEMA, Meter

KEY = ("fnf.transitions", "order", "task")


@pytest.fixture
def database():
    """An empty table."""
    opened = Database(None)
    migrate(opened, [SCHEMA])
    yield opened
    opened.close()


def kept(database):
    database.commit()
    return {
        (item, resource, kind): amount
        for item, resource, kind, amount in database.read("SELECT * FROM usage_amounts").fetchall()
    }


async def run(database, tally, act):
    """Let a process count with a meter that is started and closed."""
    meter = Meter(database, tally.amounts)
    await meter.start()
    act(meter, tally)
    meter.close()
    database.commit()


async def test_a_later_process_counts_on():
    """What a process has counted is there after its end."""
    database = Database(None)
    migrate(database, [SCHEMA])
    seen = []

    await run(database, Tally(), lambda meter, tally: tally.add(*KEY, 3))
    await run(database, Tally(), lambda meter, tally: (tally.add(*KEY, 2), seen.append(meter.totals())))

    assert seen == [{KEY: 5}]
    assert kept(database) == {KEY: 5}
    database.close()


async def test_a_reset_begins_at_nothing_and_counts_what_comes_later(database):
    """Numbers of the services go on; the totals do not show it."""

    def act(meter, tally):
        tally.add(*KEY, 7)
        meter.reset()
        assert meter.totals() == {}
        tally.add(*KEY)
        assert meter.totals() == {KEY: 1}

    await run(database, Tally(), act)

    assert kept(database) == {KEY: 1}


async def test_what_was_used_is_not_taken_back_with_the_tables(database):
    """A restored checkpoint has older rows: the totals are written over them."""

    def act(meter, tally):
        tally.add(*KEY, 4)
        meter._write()
        database.write("DELETE FROM usage_amounts")
        database.write("INSERT INTO usage_amounts VALUES ('fc.calls', 'gone', '', 9)")
        database.forget()
        assert meter.totals() == {KEY: 4}

    await run(database, Tally(), act)

    assert kept(database) == {KEY: 4}


async def test_a_mark_parts_what_came_before_from_what_came_after(database):
    """Items without change are left out."""

    def act(meter, tally):
        tally.add(*KEY, 4)
        tally.add("fc.calls", "s/f")
        meter.mark()
        tally.add(*KEY, 2)
        assert meter.since_mark() == {KEY: 2}
        assert meter.totals() == {KEY: 6, ("fc.calls", "s/f", ""): 1}

    await run(database, Tally(), act)


@pytest.mark.parametrize(("size", "units"), [(0, 1), (1, 1), (65536, 1), (65537, 2), (256 * 1024, 4)])
def test_a_message_request_is_metered_in_units_of_64_kb(size, units):
    """The documented example: 256 KB are four requests."""
    assert message_units(size) == units


def test_amounts_of_the_same_thing_are_added_up():
    """Two services may name one resource."""
    one = Amount("fc.calls", "s/f", "cpu", 1)

    assert added([one, one._replace(value=2)]) == {("fc.calls", "s/f", "cpu"): 3}
