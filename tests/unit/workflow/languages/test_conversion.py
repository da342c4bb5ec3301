"""Converted flows do what the flows did, but for what a remark says."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.services.workflow.languages.conversion import NotConvertible, convert
from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.ports import FunctionReply
from tests.unit.workflow.conftest import opened

ROOT = Path(__file__).parents[4]
FN = "acs:fc:::services/s/functions/"
FLOWS = sorted(
    [*ROOT.glob("sample-apps/*/flow.yml"), *ROOT.glob("tests/**/flow*.yml"), *ROOT.glob("examples/**/flow*.yml")]
)


KEYS = ("a", "b", "c")
"""Members that the input has, that every function returns, and that mappings set: nothing looked for is missing."""

sources = st.one_of(
    st.integers(0, 3), st.booleans(), st.sampled_from(["x", ""]), st.sampled_from([f"$input.{key}" for key in KEYS])
)


@st.composite
def mappings(draw, local):
    chosen = st.one_of(sources, st.sampled_from([f"$local.{key}" for key in KEYS])) if local else sources
    return [{"target": key, "source": draw(chosen)} for key in KEYS]


conditions = st.one_of(
    st.builds("$.{} {} {}".format, st.sampled_from(KEYS), st.sampled_from(["==", "!=", "<", ">="]), st.integers(0, 3)),
    st.builds("$.{} == $.{}".format, st.sampled_from(KEYS), st.sampled_from(KEYS)),
    st.builds("!($.{} == 1) && $.{} != 2".format, st.sampled_from(KEYS), st.sampled_from(KEYS)),
    st.builds("$.{} in [0, 1, true]".format, st.sampled_from(KEYS)),
)


@st.composite
def lists(draw, depth, number):
    """Serial steps; *number* counts them, so that every name is new."""
    steps = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = ["pass", "task", "caught", "wait", *(["choice", "parallel", "foreach"] if depth else [])]
        kind = draw(st.sampled_from(kinds))
        number[0] += 1
        step = {"name": f"{kind}{number[0]}", "type": "task" if kind == "caught" else kind}
        if kind == "pass":
            step["outputMappings"] = draw(mappings(local=False))
        elif kind in {"task", "caught"}:
            step |= {"resourceArn": FN + kind, "outputMappings": draw(mappings(local=True))}
            if draw(st.booleans()):
                step["inputMappings"] = draw(mappings(local=False))
            if kind == "caught":
                step["retry"] = [{"errors": ["Late"], "maxAttempts": 1, "intervalSeconds": 2}]
                step["errorMappings"] = [{"target": "a", "source": "$local.error"}]
                number[0] += 1
                step["catch"] = [{"errors": ["FnF.ALL"], "goto": f"after{number[0]}"}]
                steps += [step, {"type": "pass", "name": f"after{number[0]}"}]
                continue
        elif kind == "wait":
            step["duration"] = draw(st.sampled_from([0, 1, 700]))
        elif kind == "choice":
            step["choices"] = [
                {"condition": draw(conditions), "steps": draw(lists(depth - 1, number))}
                for _ in range(draw(st.integers(1, 2)))
            ]
            if draw(st.booleans()):
                step["default"] = {"steps": draw(lists(depth - 1, number))}
            if draw(st.booleans()):
                step["outputMappings"] = draw(mappings(local=False))
        elif kind == "parallel":
            step["branches"] = [{"steps": draw(lists(depth - 1, number))} for _ in range(2)]
            # A name of its own: a value that is not there is left out in the old language and null in the new one,
            # where it would hide what the input, or an earlier step, has under that name.
            own = f"of {step['name']}"
            step["outputMappings"] = [{"target": "c", "source": "$local"}, {"target": own, "source": "$local[1].a"}]
        else:
            step["iterationMapping"] = {"collection": "$.items", "item": "a"}
            step["steps"] = draw(lists(depth - 1, number))
            step["outputMappings"] = [{"target": "b", "source": "$local"}]
        steps.append(step)
    return steps


@st.composite
def flows(draw):
    flow = {"version": "v1", "type": "flow", "steps": draw(lists(2, [0]))}
    if draw(st.booleans()):
        flow["outputMappings"] = [{"target": "out.a", "source": "$local.a"}, {"target": "out.in", "source": "$input.b"}]
    return flow


def failing(name):
    return FunctionReply(body=json.dumps({"errorType": name}).encode(), error_type="E")


def with_nothing_left_out(value):
    """Return a value without members that are null: the old language leaves out what is not there."""
    if isinstance(value, dict):
        return {key: with_nothing_left_out(item) for key, item in value.items() if item is not None}
    return [with_nothing_left_out(item) for item in value] if isinstance(value, list) else value


async def outcome(text, name, given):
    """Return how a flow ends, and what its functions were called with."""
    async with opened() as bench:
        late = []

        def caught(event):
            late.append(event)
            return failing("Late" if len(late) == 1 else "Gone")

        bench.functions.on("task", lambda event: {"a": event["a"], "b": 2, "c": "done"})
        bench.functions.on("caught", caught)
        await bench.flow(text, name)
        await bench.begin(given, flow=name)
        await bench.advance(200_000)
        ended = await bench.describe(flow=name)
        output = json.loads(ended["Output"]) if ended["Output"] else None
        return (
            ended["Status"],
            with_nothing_left_out(output),
            with_nothing_left_out([c[1] for c in bench.functions.calls]),
        )


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    flows(),
    st.fixed_dictionaries(
        {key: st.integers(0, 2) for key in KEYS} | {"items": st.lists(st.integers(0, 2), max_size=2)}
    ),
)
async def test_a_converted_flow_gives_the_same_output_for_the_same_tasks(flow, data):
    """Same end, same output, same calls, whatever steps there are."""
    text = yaml.safe_dump(flow)
    converted = convert(read_program(text), "f")
    assert "#" not in converted

    old = await outcome(text, "f", data)
    new = await outcome(converted, "f", data)

    assert new == old, converted


@pytest.mark.parametrize("path", FLOWS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_flow_of_the_repository_converts(path):
    """What comes out is a definition that is taken, and remarks stand in comments."""
    converted = convert(read_program(path.read_text("utf-8").replace("{accountID}", "1")), "converted")

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
    lines = convert(read_program(REMARKED), "f").splitlines()

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
    machine = yaml.safe_load(convert(read_program(MESSAGES), "f"))
    states = {state["Name"]: state for state in machine["States"]}

    assert states["send"]["Action"] == "MNS:SendMessage"
    assert states["send"]["TaskMode"] == "WaitForCustomCallback"
    assert states["send"]["Parameters"] == {
        "resourceArn": "acs:mns:::/queues/q/messages", "message.$": "$Input.Step", "delaySeconds": 3, "priority": 2
    }  # fmt: skip
    assert states["send"]["InputConstructor"]["Step"]["token.$"] == "$Context.Current.TaskToken"
    assert states["start"]["Action"] == "FNF:StartExecution"
    assert states["start"]["Parameters"] == {
        "resourceArn.$": 'format("acs:fnf:::flow/{}", $Input.Step.n)', "input": {"a": 1}, "executionName": "x"
    }  # fmt: skip
