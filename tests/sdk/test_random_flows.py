"""Random flows of both languages in an emulator: run with mocks, their histories replayed, to changed definitions too.

Every sixth of the 120 is a test of its own, so that they can be spread.
"""

import json

import pytest

from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.rehearsal.replay import read_history, replay
from emulator.testing import Emulator
from tests.random_flows import random_definition, random_mutation

pytestmark = [pytest.mark.sdk, pytest.mark.timeout(600)]

FLOWS = 120
AT_ONCE = 20


@pytest.fixture(scope="module")
def emulator():
    """An emulator without functions: their place is taken by mocks."""
    with Emulator() as localyun:
        yield localyun


def names_of_tasks(document):
    """Return the names of all tasks of a definition, in both languages."""
    if isinstance(document, list):
        return [name for each in document for name in names_of_tasks(each)]
    if not isinstance(document, dict):
        return []
    own = [document.get("name") or document["Name"]] if document.get("type", document.get("Type")) in KINDS else []
    return own + [name for value in document.values() for name in names_of_tasks(value)]


KINDS = ("task", "Task")


def executed(emulator, name, text, step_input, answers):
    """Run a flow to its end with the answers of each task, and return the execution."""
    flow = emulator.flow(name, text)
    for step, each in answers.items():
        emulator.mock(step=f"{name}/{step}", answers=each)
    run = flow.start(step_input)
    emulator.skip_until(execution=run, limit="60d", timeout="60s")
    if answers:
        emulator.api.admin("DELETE", "mocks")
    return run


def random_answers(draw):
    """Return what a task is answered with: values that are there or absent, or an error, after a while."""
    kinds = [{"return": {"a": draw.randint(0, 9)}}, {"return": {}}, {"error": "Busy"}, {"error": "Other: no"}]
    return [{**draw.choice(kinds), "delay": f"{draw.randint(0, 9)}s"} for _ in range(draw.randint(1, 4))]


@pytest.mark.parametrize("first", range(0, FLOWS, AT_ONCE))
def test_what_an_emulator_records_is_replayed_and_differs_where_it_was_changed(emulator, first):
    """The same definition goes the same way; a changed one differs first where it was changed."""
    for number in range(first, first + AT_ONCE):
        definition, draw = random_definition(number)
        text = json.dumps(definition)
        answers = {name: random_answers(draw) for name in names_of_tasks(definition)}

        run = executed(
            emulator, definition.get("Name", "old"), text, {"a": draw.randint(0, 9), "b": 1, "c": 2}, answers
        )
        recorded = run.history
        history = read_history(recorded)
        changed, at = random_mutation(definition, recorded, draw)

        same = replay(read_program(text), history)
        other = replay(read_program(changed), history)
        assert (same.difference, same.events) == (None, len(history)), number
        assert other.difference is not None, number
        assert other.difference.event == at, number
