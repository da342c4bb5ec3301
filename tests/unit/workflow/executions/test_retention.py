"""Executions go with their histories when they have been kept long enough."""

import asyncio

import pytest

from emulator.kernel.clock import DAY
from emulator.services.workflow.executions.retention import FIRST_LOOK_MS, Retention
from tests.unit.workflow.conftest import WORLD

ONE_PASS = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: p}\n"
WAIT = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, duration: 100000}\n"


def rows(bench, table):
    return bench.database.read(f"SELECT count(*) FROM {table}").fetchone()[0]


async def look(bench, days):
    """Keep executions for *days* from now on, and let the first look happen."""
    retention = Retention(bench.service._store, bench.timers, bench.clock, days, bench.database.is_writable)
    retention.start()
    await bench.advance(FIRST_LOOK_MS / 1000 + 5)
    retention.close()


async def test_executions_go_some_days_after_their_end_and_others_stay(workflow):
    """Open ones and younger ones are as before; the name of one that has gone is free again."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        await bench.flow(WAIT, name="w")
        await bench.begin(name="old")
        await bench.begin(name="open", flow="w")
        await bench.advance(DAY / 1000)
        await bench.begin(name="young")
        await bench.settle()

        await look(bench, days=1)

        listed = await bench.call("ListExecutions", FlowName="f")
        assert [each["Name"] for each in listed["Executions"]] == ["young"]
        assert (await bench.call("ListExecutions", FlowName="w"))["Executions"][0]["Status"] == "Running"
        ids = bench.database.read("SELECT DISTINCT execution FROM workflow_turns").fetchall()
        assert len(ids) == 2
        assert (await bench.begin(name="old"))["Status"] == "Starting"


async def test_many_go_in_portions_between_which_others_are_served(workflow):
    """No single moment removes them all, and in the end none is left."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        for number in range(300):
            await bench.begin(name=f"e{number}")
        await bench.settle()
        await bench.advance(2 * DAY / 1000)
        left = []
        store = bench.service._store

        class Counting:
            def clear_ended(self, before, portion):
                more = store.clear_ended(before, portion)
                left.append(rows(bench, "workflow_executions"))
                return more

            first_end = store.first_end

        retention = Retention(Counting(), bench.timers, bench.clock, 1, bench.database.is_writable)
        retention.start()
        await bench.advance(FIRST_LOOK_MS / 1000 + 5)
        retention.close()

        assert len(left) > 3
        assert left == sorted(left, reverse=True)
        assert left[0] > 0
        assert left[-1] == 0
        assert rows(bench, "workflow_turns") == 0


async def test_deleted_flows_go_once_the_state_can_be_written(workflow):
    """Another program has the lock: their removal goes on when that is free, and rests while all is suspended."""
    async with workflow() as bench:
        waiting, free = [], True

        def is_writable(then):
            if not free:
                waiting.append(then)
            return free

        retention = Retention(bench.service._store, bench.timers, bench.clock, 0, is_writable)
        await bench.flow(ONE_PASS)
        bench.database.write("UPDATE workflow_flows SET deleted = 1")
        free = False
        retention.sweep()
        await asyncio.sleep(0)
        kept = rows(bench, "workflow_flows"), len(waiting), retention.is_idle
        free = True
        retention.close()
        waiting.pop()()
        suspended = rows(bench, "workflow_flows")
        retention.start()
        retention.sweep()
        await asyncio.sleep(0)

        assert (kept, suspended, rows(bench, "workflow_flows")) == ((1, 1, False), 1, 0)


@pytest.mark.parametrize("days", [0, 1000], ids=["for ever", "not yet"])
async def test_nothing_goes_before_its_time(workflow, days):
    """0 keeps executions for ever."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        await bench.begin(name="e")
        await bench.advance(400 * DAY / 1000)

        await look(bench, days=days)

        assert (await bench.describe("e"))["Status"] == "Succeeded"


async def test_an_end_that_is_still_to_be_told_keeps_its_execution(workflow):
    """A crash between the end and the telling must not lose the callback."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        await bench.begin(name="e")
        await bench.settle()
        bench.database.write("INSERT INTO workflow_callbacks SELECT id, world FROM workflow_executions")
        await bench.advance(2 * DAY / 1000)

        await look(bench, days=1)

        assert rows(bench, "workflow_executions") == 1


async def _reset(bench):
    bench.service.reset()
    await bench.flow(WAIT)
    await bench.begin()


async def _reset_flow(bench):
    await bench.service.reset_flow(WORLD, "f")
    await bench.begin()


async def _replace(bench):
    bench.database.forget()


@pytest.mark.parametrize("change", [_reset, _reset_flow, _replace])
async def test_history_that_may_be_another_is_known_by_another_id(workflow, change):
    """Names and times are the same; while a history only grows, its id stays."""
    async with workflow() as bench:

        def found():
            return bench.service.executions.with_history(WORLD, "f", "e")

        await bench.flow(WAIT)
        await bench.begin()
        record, history = found()
        await bench.call("StopExecution", FlowName="f", ExecutionName="e")
        assert found()[1] == history

        await change(bench)

        later, other = found()
        assert later.started_at == record.started_at
        assert other != history
