"""Recorded histories played to the definition they were made with, and to others."""

import json
import random

import pytest

from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.languages.references import standalone
from emulator.services.workflow.rehearsal.answers import Mocks, give, read_mock
from emulator.services.workflow.rehearsal.cases import BEGINNING, facts_of, shown_history
from emulator.services.workflow.rehearsal.drive import Drive, run
from emulator.services.workflow.rehearsal.replay import NoHistory, account_in, read_history, replay, report


def random_steps(draw, depth, numbers):
    """Return steps of the old language, none of which jumps backwards."""
    steps = []
    for _ in range(draw.randint(1, 4)):
        name = f"s{next(numbers)}"
        kind = draw.choice(["pass", "pass", "task", "wait", "choice", *(["parallel", "foreach"] if depth else [])])
        step = {"type": kind, "name": name}
        if kind == "pass":
            step["outputMappings"] = [{"target": draw.choice("abc"), "source": draw.randint(0, 9)}]
        elif kind == "task":
            step["resourceArn"] = f"acs:fc:::services/s/functions/{name}"
            step["retry"] = [{"errors": ["Busy"], "intervalSeconds": 2, "maxAttempts": 2}]
        elif kind == "wait":
            step["duration"] = draw.randint(0, 100)
        elif kind == "choice":
            inner = random_steps(draw, 0, numbers)
            step["choices"] = [{"condition": f"$.{draw.choice('abc')} > {draw.randint(0, 9)}", "steps": inner}]
        elif kind == "parallel":
            step["branches"] = [{"steps": random_steps(draw, depth - 1, numbers)} for _ in range(draw.randint(1, 3))]
        else:
            step["iterationMapping"] = {"collection": "$.items", "item": "item"}
            step["inputMappings"] = [{"target": "items", "source": draw.sample(range(9), draw.randint(0, 3))}]
            step["steps"] = random_steps(draw, depth - 1, numbers)
        steps.append(step)
    return steps


def random_scope(draw, depth, numbers):
    """Return states in a row, some with scopes of their own."""
    simple = ["Pass", "Wait", "Task", "Choice"]
    kinds = [draw.choice([*simple, *(["Parallel", "Map"] if depth else [])]) for _ in range(draw.randint(1, 5))]
    names = [f"s{next(numbers)}" for _ in range(len(kinds) + 1)]
    states = []
    for number, kind in enumerate(kinds):
        following = names[number + 1]
        state = {"Type": kind, "Name": names[number]}
        if kind == "Wait":
            state |= {"Seconds": draw.randint(1, 100), "Next": following}
        elif kind == "Choice":
            state |= {
                "Branches": [{"Condition": f"$Input.a > {draw.randint(0, 9)}", "Next": names[-1]}],
                "Default": following,
            }
        elif kind == "Task":
            arn = f"acs:fc:::functions/of-{names[number]}"
            state |= {"Action": "FC:InvokeFunction", "Parameters": {"resourceArn": arn}, "Next": following}
            state["Retry"] = [{"Errors": ["Busy"], "MaxAttempts": 2, "IntervalSeconds": 1}]
            state["OutputConstructor"] = {"a.$": "$Output.Body.a"}
        elif kind == "Parallel":
            branches = [random_scope(draw, depth - 1, numbers) for _ in range(draw.randint(1, 3))]
            state |= {"Branches": branches, "OutputConstructor": {"a.$": "$Output.Branch0.a"}, "Next": following}
        elif kind == "Map":
            items = [{"a": draw.randint(0, 9)} for _ in range(draw.randint(0, 3))]
            state |= {"InputConstructor": {"items": items, "a": 1}, "ItemsPath": "$Input.items", "Next": following}
            state |= {"Processor": random_scope(draw, depth - 1, numbers), "OutputConstructor": {"a.$": "$Input.a"}}
        else:
            state |= {"OutputConstructor": {"a": draw.randint(0, 9), "id.$": "uuid()"}, "Next": following}
        states.append(state)
    states.append({"Type": "Succeed", "Name": names[-1]})
    return {"StartAt": names[0], "States": states}


def random_machine(draw):
    """Return a state machine."""
    scope = random_scope(draw, 2, iter(range(1000)))
    return {"Type": "StateMachine", "Name": "m", "SpecVersion": "v1", **scope}


def random_definition(seed):
    draw = random.Random(seed)
    if seed % 2:
        return random_machine(draw), draw
    return {"version": "v1", "type": "flow", "steps": random_steps(draw, 2, iter(range(1000)))}, draw


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
def test_a_recorded_execution_goes_the_same_way_again(seed):
    """Random flows of both languages: steps in each other, retries, waits, failures, ids that are new each time."""
    program, history = recorded(*random_definition(seed))

    replayed = replay(program, read_history({"Events": history}))

    assert replayed.difference is None
    assert replayed.events == len(history)


@pytest.mark.parametrize("seed", range(200))
def test_a_changed_definition_differs_first_where_it_was_changed(seed):
    """Another name of a step that was entered: the first difference is where that step is named first."""
    definition, draw = random_definition(seed)
    _, history = recorded(definition, draw)
    entered = [event for event in history if event["Type"] == "StepEntered"]
    changed = draw.choice(entered)["StepName"]
    text = json.dumps(definition).replace(f'"{changed}"', '"another"')

    replayed = replay(read_program(text), read_history(history))

    named = [each for each in history if changed in {each["StepName"], json.loads(each["EventDetail"]).get("goto")}]
    assert replayed.difference is not None
    assert replayed.difference.event == named[0]["EventId"]
    assert "another" in replayed.difference.found


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
