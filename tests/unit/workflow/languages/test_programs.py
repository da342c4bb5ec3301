"""Programs are kept by the ids of their definitions: none is run for another definition that has its id later.

They are kept by their texts too, as long as these are short together.
"""

import json
import threading

import pytest

from emulator.services.workflow.languages import programs as module
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
async def test_a_definition_that_is_being_read_when_its_id_is_given_to_another(workflow, again, monkeypatch):
    """A long one is read in a thread while everything is forgotten and a flow is made anew."""
    monkeypatch.setattr(module, "READ_CHARS", 0)
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


@pytest.fixture
def reads(monkeypatch):
    """The texts that are read, in their order."""
    texts, usual = [], module.read_program
    monkeypatch.setattr(module, "read_program", lambda text: texts.append(text) or usual(text))
    return texts


@pytest.mark.parametrize("length", [0, SHORT_CHARS], ids=["short", "long"])
async def test_a_text_is_read_once_however_many_definitions_have_it(workflow, reads, length):
    """Those of another flow, and of a state whose tables take the place of these."""
    async with workflow() as bench:
        await bench.flow(flow("same", length))
        await bench.flow(flow("same", length), "other")
        bench.service._programs.clear()
        await bench.begin()
        await bench.begin(flow="other")

        assert [await said(bench), await said(bench, flow="other")] == ["same", "same"]
        assert reads == [flow("same", length)]


@pytest.mark.parametrize("length", [0, SHORT_CHARS], ids=["short", "long"])
async def test_texts_used_longest_ago_are_forgotten(workflow, reads, monkeypatch, length):
    """There is room for two of these three, the first of which is used once more before the third comes."""
    texts = [flow(word, length) for word in ("one", "two", "six")]
    monkeypatch.setattr(module, "READ_CHARS", 2 * len(texts[0]))
    async with workflow() as bench:
        for text in (*texts[:2], texts[0], *texts[2:]):
            await bench.flow(text, f"f{texts.index(text)}{len(reads)}")
        kept = dict(bench.service._programs._read)
        bench.service._programs.clear()
        await bench.begin(flow="f11")

        assert list(kept) == [texts[0], texts[2]]
        assert reads == [*texts, texts[1]]
        assert await said(bench, flow="f11") == "two"
