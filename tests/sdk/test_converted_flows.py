"""Random flows of the old language against their state machines, in an emulator, with mocks for all tasks."""

import json
import random

import pytest

from emulator.services.workflow.languages.conversion import convert
from emulator.services.workflow.languages.programs import read_program
from emulator.testing import Emulator
from tests.converted import difference
from tests.random_flows import random_steps

pytestmark = pytest.mark.sdk

FLOWS = 20
MEMBERS = "abcd"


@pytest.fixture(scope="module")
def emulator():
    """An emulator without functions: their place is taken by mocks."""
    with Emulator() as localyun:
        yield localyun


def tasks_of(steps):
    """Return the tasks among steps of the old language, inner ones included."""
    if isinstance(steps, list):
        return [task for each in steps for task in tasks_of(each)]
    if not isinstance(steps, dict):
        return []
    own = [steps] if steps.get("type") == "task" else []
    return own + [task for value in steps.values() for task in tasks_of(value)]


def drawn_flow(seed):
    """Return a flow whose tasks and output take members that may be absent, its answers and its input."""
    draw = random.Random(seed)
    steps = random_steps(draw, 2, iter(range(1000)))
    last = {"type": "task", "name": "last", "resourceArn": "acs:fc:::services/s/functions/last"}
    steps.append(last)
    answers = {}
    for task in tasks_of(steps):
        if draw.random() < 0.7 or task is last:
            sources = [draw.choice(["$input", "$local"]) for _ in MEMBERS]
            mappings = [{"target": key, "source": f"{root}.{key}"} for key, root in zip(MEMBERS, sources, strict=True)]
            task[draw.choice(["inputMappings", "outputMappings"]) if task is not last else "outputMappings"] = mappings
        kinds = [{"return": {"a": draw.randint(0, 9)}}, {"return": {}}, {"return": {"d": None}}, {"error": "Busy"}]
        answers[task["name"]] = [draw.choice(kinds) for _ in range(draw.randint(1, 4))]
    members = draw.sample(MEMBERS, draw.randint(0, len(MEMBERS)))
    return {"version": "v1", "type": "flow", "steps": steps}, answers, {name: draw.randint(0, 9) for name in members}


def came(emulator, name, text, given, answers):
    """Run a flow to its end; return what it came to, as `difference` takes it."""
    flow = emulator.flow(name, text)
    mocks = [emulator.mock(step=f"{name}/{step}", answers=each) for step, each in answers.items()]
    execution = flow.start(given)
    emulator.skip_until(execution=execution, limit="60d", timeout="60s")
    for mock in mocks:
        mock.remove()
    history = execution.history
    last = json.loads(history[-1]["EventDetail"])
    calls = sorted(event["StepName"] for event in history if event["Type"] == "TaskScheduled")
    return {"status": history[-1]["Type"], "error": last.get("error"), "calls": calls, "output": last.get("output")}


@pytest.mark.parametrize("seed", range(FLOWS))
def test_a_converted_flow_comes_to_what_its_original_does(emulator, seed):
    """The same end, the same calls and the same output, but for what remarks in it say."""
    definition, answers, given = drawn_flow(seed)
    text = json.dumps(definition)
    converted = convert(read_program(text), f"new-{seed}")

    before = came(emulator, f"old-{seed}", text, given, answers)
    after = came(emulator, f"new-{seed}", converted.text, given, answers)

    assert difference(before, after, converted.text) == ""
