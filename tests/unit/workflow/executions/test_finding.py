"""Finding executions in all flows: by the beginnings of names, by errors, and those that wait for a report."""

import pytest

from benchmarks.big_state import copy_rows
from tests.sqlite_steps import counted_steps
from tests.unit.workflow.conftest import WORLD

FAILING = "version: v1\ntype: flow\nsteps:\n  - {type: fail, name: f, error: E, cause: no tea}\n"
CALLBACK = """
version: v1
type: flow
steps:
  - {type: task, name: t, resourceArn: 'acs:fc:::services/s/functions/f', pattern: waitForCallback}
"""
SLEEPING = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, duration: 60}\n"
PASSING = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: p}\n"


@pytest.fixture
async def bench(workflow):
    """Three flows, of which the last one fails."""
    async with workflow() as opened:
        for name, definition in (("a", PASSING), ("b", PASSING), ("c", FAILING)):
            await opened.flow(definition, name=name)
        yield opened


async def test_names_are_found_by_their_beginning_in_every_flow(bench):
    """Sorted by flow and name, up to a number; what is deleted is not there."""
    for flow in "abc":
        for name in ("tea1", "tea_2", "te-a", "Tea"):
            await bench.begin(name=name, flow=flow)
    await bench.settle()
    await bench.call("DeleteFlow", Name="b")
    found = bench.service.executions.beginning

    assert [(each.flow, each.name) for each in found(WORLD, "tea", 10)] == [
        ("a", "tea1"), ("a", "tea_2"), ("c", "tea1"), ("c", "tea_2"),
    ]  # fmt: skip
    assert [each.name for each in found(WORLD, "tea", 1)] == ["tea1"]
    assert found(WORLD, "茶", 10) == []


async def test_errors_are_listed_newest_first_without_what_went_well(bench):
    """Page by page, with error and cause, by an index of their own."""
    for number in range(5):
        await bench.begin(name=f"e{number}", flow="c")
        await bench.begin(name=f"e{number}", flow="a")
    await bench.settle()
    listed = bench.service.executions.with_errors

    first = listed(WORLD, 3, "")
    rest = listed(WORLD, 3, first.next_marker)

    assert [each.name for each in (*first.items, *rest.items)] == ["e4", "e3", "e2", "e1", "e0"]
    assert {(each.flow, each.error, each.cause) for each in first.items} == {("c", "E", "no tea")}
    assert rest.next_marker is None
    plan = bench.database.read(
        "EXPLAIN QUERY PLAN SELECT e.id FROM workflow_executions e"
        " WHERE e.world = 1 AND e.error <> '' AND e.id < 9 ORDER BY e.id DESC LIMIT 2"
    ).fetchall()
    assert "workflow_executions_with_errors" in str(plan[0])


WIDE = """
version: v1
type: flow
steps:
  - type: parallel
    name: both
    branches:
      - {steps: [{type: task, name: t, resourceArn: 'acs:fc:::services/s/functions/f', pattern: waitForCallback}]}
      - {steps: [{type: wait, name: w, duration: 60}]}
"""


async def test_execution_waits_for_a_report_until_it_has_come(workflow, tmp_path):
    """Also after a restart, and when another branch goes on waiting for something else."""
    async with workflow(tmp_path / "state.db") as bench:
        bench.functions.on("f", lambda event: {})
        await bench.flow(WIDE)
        await bench.begin(name="e")
        await bench.settle()
        assert bench.service.waiting_for_reports(1) == [("f", "e", "t")]
        await bench.restart()
        assert bench.service.waiting_for_reports(1) == [("f", "e", "t")]
        ((_, token),) = bench.service.tokens(WORLD, "f", "e")

        await bench.call("ReportTaskSucceeded", TaskToken=token, Output="{}")
        await bench.settle()

        assert bench.service.waiting_for_reports(1) == []
        assert [row[0] for row in bench.database.read("SELECT ready FROM workflow_executions").fetchall()] == [0]


@pytest.mark.parametrize("others", ["ended", "sleeping"])
async def test_other_executions_are_passed_over_to_find_what_waits_for_a_report(workflow, others):
    """A settle asks each time, and those that wait for a time are not among the first that it looks at."""
    async with workflow() as bench:
        bench.functions.on("f", lambda event: {})
        await bench.flow(PASSING)
        await bench.flow(CALLBACK, name="waits")
        await bench.flow(SLEEPING, name="sleeps")
        await bench.begin(name="ended")
        await bench.begin(name="sleeping", flow="sleeps")
        await bench.begin(name="e", flow="waits")
        await bench.settle()
        spent = []
        for number in (30, 300):
            copied = {"id": f"id + {number} * 10 + n", "name": f"name || '{number}.' || n"}
            copy_rows(bench.database._connection, "workflow_executions", number, copied, f"name = '{others}'")
            with counted_steps(bench.database) as steps:
                waiting = bench.service.waiting_for_reports(5)
            spent += steps

    assert waiting == [("waits", "e", "t")]
    assert spent[1] <= spent[0] * 1.1, spent
