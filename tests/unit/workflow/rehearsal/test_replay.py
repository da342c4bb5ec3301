"""Recorded histories played to the definition they were made with, and to others."""

import json

import pytest

from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.languages.references import standalone
from emulator.services.workflow.rehearsal.answers import Mocks, give, read_mock
from emulator.services.workflow.rehearsal.cases import BEGINNING, facts_of, shown_history
from emulator.services.workflow.rehearsal.drive import Drive, run
from emulator.services.workflow.rehearsal.replay import NoHistory, account_in, read_history, replay, report
from tests.random_flows import random_definition, random_mutation


def recorded(definition, draw):
    """Return the history of an execution whose tasks answer at random."""
    program = read_program(json.dumps(definition))
    drive = Drive(facts_of(program, "recorded", {"a": draw.randint(0, 9), "b": 1, "c": 2}), BEGINNING)

    def answer(drive, call):
        mock = draw.choice([{"return": {"a": draw.randint(0, 9)}}, {"return": {}}, {"error": {"errorType": "Busy"}}])
        give(drive, call, Mocks({call.step.name: read_mock({**mock, "delay": f"{draw.randint(0, 9)}s"})}).next(call))

    run(drive, answer)
    assert drive.is_over
    return program, shown_history(drive)


@pytest.mark.parametrize("seed", range(200))
def test_a_recorded_execution_goes_the_same_way_again_and_differs_first_where_its_definition_was_changed(seed):
    """Random flows of both languages: steps in each other, retries, waits, failures, ids that are new each time.

    The change is another name of a step that was entered; the first difference is where that step is named first.
    """
    definition, draw = random_definition(seed)
    program, history = recorded(definition, draw)
    text, changed = random_mutation(definition, history, draw)

    same = replay(program, read_history({"Events": history}))
    other = replay(read_program(text), read_history(history))

    assert same.difference is None
    assert same.events == len(history)
    assert other.difference is not None
    assert other.difference.event == changed
    assert "another" in other.difference.found


FLOW = """
version: v1
type: flow
steps:
  - {type: pass, name: a, outputMappings: [{target: n, source: 1}]}
  - {type: pass, name: b}
"""


def test_other_data_is_a_difference_and_the_report_has_none_of_it():
    """The value from both sides for the reader, only types for the report."""
    program = read_program(FLOW)
    drive = Drive(facts_of(program, "e", {}), BEGINNING)
    run(drive, lambda drive, call: None)
    history = read_history([{"body": {"events": shown_history(drive)}}])

    replayed = replay(read_program(FLOW.replace("source: 1", "source: 2")), history)

    assert replayed.difference.event == 4
    assert (replayed.difference.expected[-8:], replayed.difference.found[-8:]) == ('{"n": 1}', '{"n": 2}')
    assert report(replayed)["difference"] == {"event": 4, "expected": "StepSucceeded", "found": "StepSucceeded"}


DEPLOYED = """
version: v1
type: flow
steps:
  - {type: task, name: t, resourceArn: "acs:fc:cn-hangzhou:1234567890:services/shop/functions/pay"}
  - {type: pass, name: p, outputMappings: [{target: to, source: files}]}
"""


@pytest.mark.parametrize(
    "written",
    [
        DEPLOYED.replace("1234567890", "{accountID}"),
        DEPLOYED.replace('"acs:fc:cn-hangzhou:1234567890:services/shop/functions/pay"', "!Ref shop/pay"),
        DEPLOYED.replace("source: files", "source: !Ref Bucket"),
    ],
    ids=["account", "resource", "value"],
)
def test_what_only_the_template_knows_is_no_difference(written):
    """A history of what was deployed, played to the file that it was deployed from."""
    program = read_program(DEPLOYED)
    drive = Drive(facts_of(program, "e", {}), BEGINNING)
    run(drive, lambda drive, call: give(drive, call, read_mock({"return": {}}).answer(0, "")))
    history = read_history(shown_history(drive))

    definition = standalone(written, account=account_in(history))

    assert replay(definition.program(), history, definition.resources).difference is None


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({}, "no events"),
        ({"Events": [{"EventId": 2, "Type": "StepEntered"}]}, "is a page missing"),
        ([{"EventId": 1, "Type": "ExecutionStarted"}, {"EventId": 3, "Type": "StepEntered"}], "event 2 is missing"),
        ([{"EventId": 1}], "event 1 has no Type"),
        ([{"EventId": 1, "Type": "Nonsense"}], "no events of type 'Nonsense'"),
    ],
)
def test_what_is_no_history_is_refused(document, told):
    """With the reason."""
    with pytest.raises(NoHistory, match=told):
        read_history(document)


NAMED = """
version: v1
type: flow
steps:
  - type: pass
    name: a
    outputMappings:
      - {target: name, source: $context.execution.name}
      - {target: id, source: $context.execution.id}
      - {target: flow, source: $context.flow.name}
      - {target: step, source: $context.step.name}
"""


@pytest.mark.parametrize(("member", "is_told"), [("name", False), ("id", False), ("flow", False), ("step", True)])
def test_names_that_no_history_tells_are_no_difference(member, is_told):
    """A history has neither its flow's name nor its own; the name of a step is in the definition."""
    program = read_program(NAMED)
    drive = Drive(facts_of(program, "nightly", {}), BEGINNING)
    run(drive, give)
    history = json.loads(json.dumps(shown_history(drive)).replace("nightly", "weekly"))
    for event in history:
        detail = json.loads(event["EventDetail"])
        for part in (detail.get("output"), detail.get("local")):
            if isinstance(part, dict) and member in part:
                part[member] = "other:" + part[member] if member == "id" else "other"
        event["EventDetail"] = json.dumps(detail)

    difference = replay(program, read_history(history)).difference

    assert (difference is not None) == is_told
