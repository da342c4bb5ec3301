"""Programs are kept by the ids of their definitions: none is run for another definition that has its id later."""

import json
import threading

import pytest

from emulator.services.workflow.languages.programs import SHORT_CHARS
from tests.unit.workflow.conftest import WORLD
from tests.waiting import until


def flow(word, length=0):
    """Return a flow whose output tells *word*, of at least *length* characters."""
    step = f"{{type: pass, name: a, outputMappings: [{{target: said, source: {word}}}]}}"
    return f"version: v1\ntype: flow\nsteps:\n  - {step}\n#{'-' * length}\n"


async def said(bench, name="e", flow="f"):
    described = await bench.describe(name, flow)
    assert described["Status"] == "Succeeded", described
    return json.loads(described["Output"])["said"]


@pytest.mark.parametrize("again", ["before it has been read", "after it has been read"])
async def test_a_definition_that_is_being_read_when_its_id_is_given_to_another(workflow, again):
    """A long one is read in a thread while everything is forgotten and a flow is made anew."""
    async with workflow() as bench:
        programs, go = bench.service._programs, threading.Event()
        await bench.flow(flow("old", SHORT_CHARS))
        programs.clear()
        programs._thread.submit(go.wait, 20)
        await bench.call("StartExecution", FlowName="f", ExecutionName="e", Input="{}")
        await until(lambda: len(bench.service._engine._calls.tasks))
        [reading] = bench.service._engine._calls.tasks._tasks

        bench.service.reset()
        if again == "after it has been read":
            go.set()
            await reading
        await bench.flow(flow("new"))
        go.set()
        await reading
        await bench.begin()

        assert await said(bench) == "new"


async def test_a_definition_whose_id_another_has_had(workflow):
    """The latest flow is deleted; a fork with a definition of its own gets the id."""
    async with workflow() as bench:
        await bench.flow(flow("first"))
        await bench.begin()
        await bench.flow(flow("second"), "other")
        await bench.begin(flow="other")
        await bench.call("DeleteFlow", Name="other")
        await bench.settle()

        name = await bench.service.forks.fork(WORLD, "f", "e", event=2, definition=flow("third"))
        await bench.settle()

        assert await said(bench, name) == "third"
