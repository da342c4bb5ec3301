"""A flow that starts itself many times over: its family comes and goes in pieces, and others are served in between."""

import asyncio
from collections import Counter

import pytest

from emulator.services.workflow.engine import effects
from emulator.services.workflow.engine.effects import EFFECTS_AT_ONCE
from emulator.services.workflow.executions.effects import Effects
from emulator.services.workflow.executions.executions import Executions

CHILDREN = 12


def family():
    branches = "".join(
        f"      - steps:\n        - {{type: task, name: c{child}, pattern: sync, resourceArn: 'acs:fnf:::flow/family',"
        " inputMappings: [{target: depth, source: $input.next}], serviceParams: {Input: $}}\n"
        for child in range(CHILDREN)
    )
    return f"""version: v1
type: flow
steps:
  - type: choice
    name: generation
    inputMappings: [{{target: depth, source: $input.depth}}]
    choices:
      - {{condition: $.depth == 0, goto: first}}
      - {{condition: $.depth == 1, goto: second}}
    default: {{goto: rest}}
  - type: parallel
    name: first
    branches:
{branches.replace("name: c", "name: f").replace("$input.next", "1")}    end: true
  - type: parallel
    name: second
    branches:
{branches.replace("name: c", "name: s").replace("$input.next", "2")}    end: true
  - {{type: wait, name: rest, duration: 3600}}
"""


@pytest.fixture
def per_turn(monkeypatch):
    """How much of each kind is done in each turn of the loop, by turn and kind."""
    done: Counter[tuple[int, str]] = Counter()
    turn = 0

    def counted(owner, name):
        real = getattr(owner, name)

        def call(self, *arguments, **named):
            done[turn, name] += 1
            return real(self, *arguments, **named)

        monkeypatch.setattr(owner, name, call)

    counted(Executions, "start")
    counted(Executions, "stop")
    counted(Effects, "execution_ended")

    def next_turn():
        nonlocal turn
        turn += 1
        done.handle = asyncio.get_running_loop().call_soon(next_turn)

    done.watch = next_turn
    yield done
    done.handle.cancel()


async def run_and_stop(bench, per_turn):
    """Start a family, and stop its root once all are there."""
    await bench.call("CreateFlow", Name="family", Definition=family(), Description="", Type="FDL")
    per_turn.watch()
    await bench.call("StartExecution", FlowName="family", ExecutionName="root", Input='{"depth": 0}')
    await bench.settle()
    await bench.call("StopExecution", FlowName="family", ExecutionName="root")
    await bench.settle()


async def test_a_family_is_started_and_stopped_in_pieces(workflow, per_turn):
    """No turn of the loop starts, stops or ends more than a few, however many there are."""
    async with workflow() as bench:
        await run_and_stop(bench, per_turn)

        everyone = 1 + CHILDREN + CHILDREN**2
        for kind in ("start", "stop", "execution_ended"):
            assert sum(count for (_, name), count in per_turn.items() if name == kind) >= everyone - 1
            assert max(count for (_, name), count in per_turn.items() if name == kind) <= EFFECTS_AT_ONCE
        listed = await bench.call("ListExecutions", FlowName="family")
        assert {each["Status"] for each in listed["Executions"]} == {"Stopped"}


async def test_what_takes_long_ends_the_turn(workflow, per_turn, monkeypatch):
    """The end of an execution that has a hundred children takes milliseconds; sixteen of them would hold the loop."""
    monkeypatch.setattr(effects, "EFFECTS_S", 0)
    async with workflow() as bench:
        await run_and_stop(bench, per_turn)

        stops = [count for (_, name), count in per_turn.items() if name == "stop"]
        assert (sum(stops), max(stops)) == (1 + CHILDREN + CHILDREN**2, 1)


async def stop_family(bench):
    await bench.call("CreateFlow", Name="family", Definition=family(), Description="", Type="FDL")
    await bench.call("StartExecution", FlowName="family", ExecutionName="root", Input='{"depth": 0}')
    await bench.settle()
    await bench.call("StopExecution", FlowName="family", ExecutionName="root")


def left(bench):
    """How many executions are open, and how many rows of calls there are."""
    return bench.database.read(
        "SELECT (SELECT count(*) FROM workflow_executions WHERE stopped_at IS NULL),"
        " (SELECT count(*) FROM workflow_calls)"
    ).fetchone()


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13, 21])
async def test_a_stop_that_was_killed_halfway_goes_on_after_the_restart(workflow, tmp_path, turns):
    """Whatever waited in line to be stopped is known to the file."""
    async with workflow(tmp_path / "s.db") as bench:
        await stop_family(bench)
        for _ in range(turns):
            await asyncio.sleep(0)
        await bench.crash()
        open_then = left(bench)[0]
        await bench.start()
        await bench.settle()

        assert open_then > 0
        assert left(bench) == (0, 0)
        listed = await bench.call("ListExecutions", FlowName="family")
        assert {each["Status"] for each in listed["Executions"]} == {"Stopped"}


async def test_a_stop_whose_transaction_was_lost_is_done_again(workflow, tmp_path, monkeypatch):
    """The commit of what stops a child fails once in a while."""
    async with workflow(tmp_path / "s.db") as bench:
        count, real = 0, Effects.task_abandoned

        def task_abandoned(self, run, call):
            nonlocal count
            count += 1
            real(self, run, call)
            if count in {1, 40, 90}:
                bench.database._lost = True

        monkeypatch.setattr(Effects, "task_abandoned", task_abandoned)
        await stop_family(bench)
        for _ in range(10):
            await bench.advance(1)

        assert count > 90
        assert left(bench) == (0, 0)
