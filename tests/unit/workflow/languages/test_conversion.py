"""Converted flows do what the flows did, but for what a remark says."""

import functools
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from emulator.services.workflow.languages.conversion import NotConvertible, convert
from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.rehearsal.answers import give
from emulator.services.workflow.rehearsal.cases import BEGINNING, actual_of, facts_of
from emulator.services.workflow.rehearsal.drive import Drive, run
from emulator.wire.answers import read_answer

ROOT = Path(__file__).parents[4]
FN = "acs:fc:::services/s/functions/"
FLOWS = sorted(
    [*ROOT.glob("sample-apps/*/flow.yml"), *ROOT.glob("tests/**/flow*.yml"), *ROOT.glob("examples/**/flow*.yml")]
)


KEYS = ("a", "b", "c")
"""Members that mappings set and read; the input, and what functions return, may lack any of them."""

read = st.one_of(st.sampled_from(KEYS), st.sampled_from(["a.b", "n.a", "b[0]"]))
constants = st.one_of(st.integers(0, 3), st.booleans(), st.sampled_from(["x", "", None]))
sources = st.one_of(constants, st.builds("$input.{}".format, read), st.builds("$.{}".format, read))
results = st.one_of(sources, st.builds("$local.{}".format, read))
values = st.one_of(st.integers(0, 2), st.none(), st.just({"b": 1}), st.just([5]))
data = st.dictionaries(st.sampled_from([*KEYS, "n"]), values)


TARGETS = st.lists(st.sampled_from([*KEYS, "n.a", "n.b"]), max_size=4)


@functools.cache  # as below: to make a strategy anew for each draw takes longer than to draw
@st.composite
def mappings(draw, chosen):
    targets = draw(TARGETS)
    return [{"target": target, "source": draw(chosen)} for target in targets]


conditions = st.one_of(
    st.builds("$.{} {} {}".format, read, st.sampled_from(["==", "!=", "<", ">="]), st.integers(0, 3)),
    st.builds("$.{} == $.{}".format, read, read),
    st.builds("!($.{} == null) && $.{} != 2".format, read, read),
    st.builds("$.{} in [0, 1, true]".format, read),
)


def task(draw, kind, name):
    step = {"resourceArn": f"{FN}{kind}"}
    if draw(st.booleans()):
        step["outputMappings"] = draw(mappings(results))
    if draw(st.booleans()):
        step["inputMappings"] = draw(mappings(results))
    if kind == "caught":
        step["retry"] = [{"errors": ["Late"], "maxAttempts": 1, "intervalSeconds": 2}]
        step["errorMappings"] = [{"target": "a", "source": "$local.error"}, {"target": "b", "source": "$input.b"}]
        step["catch"] = [{"errors": ["FnF.ALL"], "goto": f"after_{name}"}]
    return step


def choice(draw, depth, number):
    step = {
        "choices": [
            {"condition": draw(conditions), "steps": draw(lists(depth - 1, number))}
            for _ in range(draw(st.integers(1, 2)))
        ]
    }
    if draw(st.booleans()):
        step["default"] = {"steps": draw(lists(depth - 1, number))}
    if draw(st.booleans()):
        step["outputMappings"] = draw(mappings(sources))
    return step


READ_BRANCHES = st.sampled_from(["$local", "$local[1].a", "$local[*].b", "$local[*]", "$local[5].a", "$input.a"])
ITEMS = st.lists(st.integers(0, 2), max_size=2)
READ_ELEMENTS = st.sampled_from(["$local", "$local[0].a", 1])


def parallel(draw, depth, number):
    branches = [{"steps": draw(lists(depth - 1, number))} for _ in range(2)]
    read = draw(READ_BRANCHES)
    return {"branches": branches, "outputMappings": [{"target": "c", "source": read}]}


def foreach(draw, depth, number):
    """Return a foreach whose elements end with a pass, so that what they leave is known."""
    number[0] += 1
    last = {"type": "pass", "name": f"last{number[0]}", "outputMappings": draw(mappings(results))}
    return {
        "iterationMapping": {"collection": "$.items", "item": "a"},
        "inputMappings": [{"target": "items", "source": draw(ITEMS)}],
        "steps": [last],
        "outputMappings": [{"target": "b", "source": draw(READ_ELEMENTS)}],
    }


INNER = {"choice": choice, "parallel": parallel, "foreach": foreach}


@functools.cache
def kinds(depth):
    return st.sampled_from(["pass", "task", "caught", "judge", "wait", *(INNER if depth else ())])


WAITS = st.sampled_from([0, 1, 700])


@st.composite
def lists(draw, depth, number):
    """Serial steps; *number* counts them, so that every name is new."""
    steps = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(kinds(depth))
        number[0] += 1
        name = f"{kind}{number[0]}"
        step = {"name": name, "type": {"caught": "task", "judge": "choice"}.get(kind, kind)}
        if kind == "pass":
            step["outputMappings"] = draw(mappings(results))
        elif kind in {"task", "caught"}:
            step |= task(draw, kind, name)
        elif kind == "judge":
            step["choices"] = [{"condition": draw(conditions), "goto": f"after_{name}"}]
            step["inputMappings"] = draw(mappings(results))
            steps += [step, {"name": f"task_{name}", "type": "task", "resourceArn": f"{FN}task"}]
            steps.append({"type": "pass", "name": f"after_{name}"})
            continue
        elif kind == "wait":
            step["duration"] = draw(WAITS)
        else:
            step |= INNER[kind](draw, depth, number)
        steps.append(step)
        if kind == "caught":
            steps.append({"type": "pass", "name": f"after_{name}"})
    return steps


@st.composite
def flows(draw):
    flow = {"version": "v1", "type": "flow", "steps": draw(lists(2, [0]))}
    if draw(st.booleans()):
        flow["outputMappings"] = draw(mappings(results))
    if draw(st.booleans()):
        flow["inputMappings"] = draw(mappings(sources))
    return flow


def outcome(text, given, answers):
    """Return how a flow ends, and what its functions are called with, one after the other."""
    drive = Drive(facts_of(read_program(text), "e", given), BEGINNING)
    sent, failed = [], set()

    def answer(drive, call):
        sent.append((call.step.name, json.loads(call.step.event(call.input, call.input_text))))
        number = len(sent)
        error = "Gone" if call.step.name in failed else "Late"
        document = {"return": answers[number % len(answers)]}
        if call.step.name.startswith("caught") and number % 2:
            failed.add(call.step.name)
            document = {"error": {"errorType": error}}
        give(drive, call, read_answer({**document, "delay": f"{number}ms"}))

    run(drive, answer)
    came = actual_of(drive)
    return came["status"], came.get("error"), came.get("output"), sent


WRAPPED = "# the output was the whole local, with results of tasks; here it is the member Local"


def comparable(came, remarks):
    """Return an outcome without what *remarks* say is otherwise in the output of the whole flow."""
    status, error, output, sent = came
    if status == "Succeeded" and WRAPPED in remarks:
        output = output.get("Local", output)
    if status == "Succeeded" and any("is null in the output" in each for each in remarks):
        output = without_nulls(output)
    return status, error, output, sent


def without_nulls(value):
    """Return a map without members that are null, and without those that have nothing else inside."""
    if not isinstance(value, dict):
        return value
    kept = {name: without_nulls(each) for name, each in value.items()}
    return {name: each for name, each in kept.items() if each is not None and (each != {} or value[name] == {})}


MISSING = [{"target": target, "source": "$input.a"} for target in ("a", "b", "c", "n.a")]
"""One more than alternatives are made for."""


@example(
    {"version": "v1", "type": "flow", "steps": [{"name": "one", "type": "pass"}], "outputMappings": MISSING}, {}, [{}]
)
@settings(suppress_health_check=list(HealthCheck))
@given(flows(), data, st.lists(data, min_size=1, max_size=3))
def test_a_converted_flow_gives_the_same_output_for_the_same_tasks(flow, given, answers):
    """Same end, same output, same calls, whatever is missing in the data, unless a remark says what is otherwise."""
    text = json.dumps(flow)
    converted = convert(read_program(text), "f").text
    remarks = {line.strip() for line in converted.splitlines() if line.lstrip().startswith("#")}
    assume(not any("many for an expression" in each for each in remarks))

    old = outcome(text, given, answers)
    new = outcome(converted, given, answers)

    assert comparable(new, remarks) == comparable(old, remarks - {WRAPPED}), converted


@pytest.mark.parametrize("path", FLOWS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_flow_of_the_repository_converts(path):
    """What comes out is a definition that is taken, and remarks stand in comments."""
    converted = convert(read_program(path.read_text("utf-8").replace("{accountID}", "1")), "converted").text

    program = read_program(converted)

    assert program.name == "converted"


def test_flows_are_found():
    """The tutorials at least."""
    assert len(FLOWS) >= 8


REMARKED = f"""
version: v1
type: flow
timeoutSeconds: 60
steps:
  - type: task
    name: all
    resourceArn: {FN}task
    serviceParams: {{InvocationType: Async, StatefulAsyncInvocationID: i}}
    retry: [{{errors: [E], intervalSeconds: 1.5}}]
  - {{type: wait, name: long, duration: 100000}}
  - {{type: wait, name: dynamic, duration: $.n}}
  - type: foreach
    name: each
    iterationMapping: {{collection: $.items, item: item, index: i}}
    steps: [{{type: pass, name: one, outputMappings: [{{target: o, source: $input.item}}]}}]
    outputMappings: [{{target: os, source: '$local[*].o'}}, {{target: when, source: $context.currentTime}}]
  - type: task
    name: child
    resourceArn: acs:fnf:::flow/other
    outputMappings: [{{target: n, source: $local.Name}}]
"""


def test_what_differs_is_said_in_a_comment_above_the_state():
    """One remark for each difference, and none elsewhere."""
    lines = convert(read_program(REMARKED), "f").text.splitlines()

    def above(name):
        at = next(number for number, line in enumerate(lines) if line.strip() == f"- Name: {name}")
        remarks = []
        while lines[at - 1].lstrip().startswith("#"):
            at -= 1
            remarks.insert(0, lines[at].strip())
        return " ".join(remarks)

    assert "timeoutSeconds: 60" in lines[0]
    assert "member Local" in lines[1]
    assert "{Code: 202, ...}" in above("all")
    assert "StatefulAsyncInvocationID" in above("all")
    assert "only whole seconds" in above("all")
    assert "30000 here" in above("long")
    assert "more than 300 seconds" in above("dynamic")
    assert "index 'i'" in above("each")
    assert "$local[*].o is null here" in above("each")
    assert "$context.currentTime is null here" in above("each")
    assert "{FlowName, ExecutionName, RequestID}" in above("child")
    assert read_program("\n".join(lines)).name == "f"


def test_a_flow_without_counterpart_is_refused():
    """No state waits for a time of day."""
    text = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, timestamp: '2030-01-01T00:00:00Z'}\n"
    with pytest.raises(NotConvertible, match="'w' waits for a time of day"):
        convert(read_program(text), "f")


MESSAGES = """
version: v1
type: flow
steps:
  - type: task
    name: send
    resourceArn: acs:mns:::/queues/q/messages
    pattern: waitForCallback
    inputMappings: [{target: token, source: $context.task.token}, {target: to.name, source: $input.n}]
    serviceParams: {MessageBody: $, DelaySeconds: 3, Priority: 2}
    outputMappings: [{target: by, source: $local.by}]
  - type: task
    name: start
    action: fnf:StartExecution
    serviceParams: {FlowName: $.n, ExecutionName: x, Input: {a: 1}}
    outputMappings: []
"""


def test_messages_and_child_flows_keep_their_parameters():
    """By the names that the new language has for them; a token is made anew for each attempt."""
    machine = yaml.safe_load(convert(read_program(MESSAGES), "f").text)
    states = {state["Name"]: state for state in machine["States"]}

    assert states["send"]["Action"] == "MNS:SendMessage"
    assert states["send"]["TaskMode"] == "WaitForCustomCallback"
    assert states["send"]["Parameters"] == {
        "resourceArn": "acs:mns:::/queues/q/messages", "message.$": "$Input.Step", "delaySeconds": 3, "priority": 2
    }  # fmt: skip
    made = states["send"]["InputConstructor"]["Step.$"]
    assert made.startswith('jsonMerge({"token": $Context.Current.TaskToken}, get({"true": {"to": {"name": $Input.')
    assert states["start"]["Action"] == "FNF:StartExecution"
    assert states["start"]["Parameters"] == {
        "resourceArn.$": 'get({"true": format("acs:fnf:::flow/{}", $Input.Step.n), "false": null}, '
        'format("{}", arrayContains(mapKeys($Input.Step), "n")))', "input": {"a": 1}, "executionName": "x"
    }  # fmt: skip
