"""What the growth benchmark covers: nothing that the program has is forgotten."""

import argparse
import math
import sqlite3
from contextlib import closing

import pytest

from benchmarks.growth.cases import COMMANDS, NO_COMMANDS, PAGES
from benchmarks.growth.run import MET, MISSED, UNCLEAR, Grown, table
from benchmarks.growth.state import COPIED, LEFT, multiply, tables
from emulator.cli.main import build
from tests.operations.calling import running


def test_every_command_is_measured_or_named_with_the_reason():
    """A new command cannot be forgotten."""
    assert set(_commands(build())) == {*COMMANDS, *NO_COMMANDS}
    assert not set(COMMANDS) & set(NO_COMMANDS)


def _commands(parser, words=()):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from _commands(inner, (*words, name))
            return
    yield " ".join(words)


async def test_every_table_is_multiplied_or_named_with_the_reason(tmp_path):
    """A state of ten thousand has ten thousand of whatever there is."""
    async with running(tmp_path) as site:
        await site.emulator.stop()

        found = tables(tmp_path / "state")

    assert found == {*COPIED, *LEFT}
    assert not set(COPIED) & set(LEFT)


def test_every_page_stands_once():
    """Each address is another case."""
    assert len(PAGES) == len(set(PAGES))


def test_rows_are_multiplied(tmp_path):
    """Copies go on counting and have names of their own; a table without rows stays empty."""
    with closing(sqlite3.connect(tmp_path / "state.db")) as database:
        for name, copies in COPIED.items():
            columns = ", ".join(
                dict.fromkeys(
                    [
                        *copies.changed,
                        "name",
                        "id",
                        "version",
                        "status",
                        "flow",
                        "deleted",
                        "number",
                        "versions_made",
                        "last_version",
                    ]
                )
            )
            database.execute(f"CREATE TABLE {name} ({columns}, PRIMARY KEY ({next(iter(copies.changed))}))")
        database.execute("INSERT INTO mns_queues (id, name) VALUES (4, 'q'), (9, 'p')")
        database.commit()

    multiply(tmp_path, 20)

    with closing(sqlite3.connect(tmp_path / "state.db")) as database:
        rows = database.execute("SELECT id, name FROM mns_queues ORDER BY id").fetchall()
        assert [number for number, _ in rows] == [4, *range(9, 30)]
        assert [name for _, name in rows[:4]] == ["q", "p", "q1", "q2"]
        assert database.execute("SELECT count(*) FROM mns_topics").fetchone() == (0,)


@pytest.mark.parametrize(
    ("touches_all", "samples", "exponent", "verdict"),
    [
        (False, {100: [1.0], 1000: [1.0], 10000: [1.0]}, 0.0, MET),
        (False, {100: [1.0], 1000: [1.0], 10000: [2.0]}, math.log10(2) / 2, MISSED),
        (False, {100: [1.4, 1.0], 1000: [1.0], 10000: [2.0, 2.0]}, math.log10(2) / 2, UNCLEAR),
        (False, {100: [1.1, 1.0, 3.0], 1000: [1.0], 10000: [2.0, 2.0]}, math.log10(2) / 2, MISSED),
        (True, {100: [5.0], 1000: [5.0], 10000: [50.0]}, 1.0, MET),
        (True, {100: [1.0], 1000: [1.0], 10000: [100.0]}, 2.0, MISSED),
    ],
    ids=["even", "one that grows", "as much as samples differ", "more than the best two differ", "all", "quadratic"],
)
def test_exponent(touches_all, samples, exponent, verdict):
    """Over all sizes for what touches one, over the last step for what touches all."""
    row = Grown("work", touches_all, samples, 0.0, "200")

    assert row.exponent == pytest.approx(exponent)
    assert row.verdict == verdict
    assert f"| {verdict} |" in table([row])


def test_a_long_turn_misses_the_goal():
    """However small the exponent is."""
    assert Grown("work", False, {100: [1.0], 1000: [1.0]}, 51.0, "200").verdict == MISSED
