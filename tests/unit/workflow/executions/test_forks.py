"""Executions that begin with the history of another one."""

import json

import pytest

from emulator.services.workflow.errors import WorkflowError
from tests.unit.workflow.conftest import WORLD
from tests.unit.workflow.executions.test_debugger import NEW, answers, both_languages


async def fork(bench, **more):
    name = await bench.service.forks.fork(WORLD, "f", "e", **more)
    await bench.settle()
    return name


def without_times(events):
    return [{**each, "Time": ""} for each in events]


@both_languages
async def test_a_fork_shares_the_history_and_goes_on_with_other_input(workflow, tmp_path, definition):
    """What is shared is not run again; what follows runs on the new input, over a restart too."""
    async with workflow(tmp_path / "s.db") as bench:
        bench.functions.on("f", answers)
        await bench.flow(definition)
        await bench.begin({"n": 1})
        await bench.advance(100)
        whole = await bench.events()
        calls = len(bench.functions.calls)

        name = await bench.service.forks.fork(WORLD, "f", "e", before="rest", data={"n": 1, "answer": "new"})
        await bench.restart()
        await bench.advance(10)

        forked = await bench.events(name)
        entered = next(each["EventId"] for each in whole if each["StepName"] == "rest")
        assert without_times(forked[: entered - 1]) == without_times(whole[: entered - 1])
        assert [each["Type"] for each in forked] == [each["Type"] for each in whole]
        assert json.loads(forked[entered - 1]["EventDetail"])["input"] == {"n": 1, "answer": "new"}
        assert len(bench.functions.calls) == calls + 1  # only the task in the branch
        assert (await bench.describe(name))["Status"] == "Succeeded"


@both_languages
async def test_every_event_can_be_forked_at(workflow, definition):
    """Wherever a fork begins it ends as the original did, waits with what they had left."""
    async with workflow() as bench:
        bench.functions.on("f", answers)
        await bench.flow(definition)
        await bench.begin({"n": 1})
        await bench.advance(100)
        output, number = (await bench.describe())["Output"], len(await bench.events())

        for event in range(2, number + 1):
            name = await fork(bench, event=event)
            await bench.advance(4)
            assert (await bench.describe(name))["Output"] == output, event


async def test_a_fork_of_a_failure_goes_on_with_a_mended_definition(workflow):
    """The flow keeps its own definition; a definition that does not fit the history is refused."""
    mended = NEW.replace("Condition: $Input.n == 1", "Condition: $Input.n == 2")

    async with workflow() as bench:
        bench.functions.on("f", answers)
        await bench.flow(NEW)
        await bench.begin({"n": 2})
        await bench.advance(10)
        assert (await bench.describe())["Status"] == "Failed"

        name = await fork(bench, before="which", definition=mended, name="mended")
        reply = await bench.describe(name)

        assert (name, reply["Status"], reply["FlowDefinition"]) == ("mended", "Succeeded", mended)
        assert (await bench.call("DescribeFlow", Name="f"))["Definition"] == NEW
        other = NEW.replace("Name: rest", "Name: nap").replace("Next: rest", "Next: nap")
        with pytest.raises(WorkflowError, match="enters 'rest', the definition has 'nap'"):
            await fork(bench, before="which", definition=other)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"before": "sorry"}, "has not entered a step 'sorry'"),
        ({}, "name a step or an event"),
        ({"event": 1}, "name a step or an event"),
        ({"event": 900}, "no event 900"),
        ({"event": 3, "data": {}}, "about to be entered"),
        ({"before": "rest", "definition": "steps: ["}, "Definition: "),
        ({"before": "rest", "name": "e"}, "already exists"),
        ({"before": "rest", "name": "a b"}, "ExecutionName"),
    ],
)
async def test_places_that_are_none_are_refused(workflow, more, problem):
    """Each with its reason, and no execution is made."""
    async with workflow() as bench:
        bench.functions.on("f", answers)
        await bench.flow(NEW)
        await bench.begin({"n": 1})
        await bench.advance(10)

        with pytest.raises(WorkflowError, match=problem):
            await fork(bench, **more)

        listed = await bench.call("ListExecutions", FlowName="f")
        assert [each["Name"] for each in listed["Executions"]] == ["e"]
