"""Nothing is evaluated twice, and any machine survives any crash."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.services.workflow import limits
from tests.unit.workflow.engine.test_replay import MACHINE, MACHINE_SCRIPT, REPORTS, RESULTS, with_crashes

FC = "acs:fc:::functions/f/LATEST"

EVERYTHING = MACHINE.read_text(encoding="utf-8")
GIVEN = '{"n":1,"items":[1,{"a":2},3],"nap":2}'


def test_what_was_evaluated_is_not_evaluated_again(play):
    """After a crash, another secret changes only what has not been recorded."""
    more = {"script": MACHINE_SCRIPT, "reports": REPORTS}
    expected = play(EVERYTHING, GIVEN, **more).run()
    drawn = expected.details("draw", "StepSucceeded")[0]["output"]
    position = next(event.id for event, _ in expected.history if event.step == "draw" and event.type == "StepExited")

    class Reseeded(play):
        def _crash(self):
            super()._crash()
            self.facts = self.facts.__class__(
                **{
                    name: getattr(self.facts, name)
                    for name in ("program", "flow_name", "execution_name", "input", "token")
                },
                chance=lambda number: b"other" * 8,
            )

    crashed = Reseeded(EVERYTHING, GIVEN, **more, crash_at=frozenset({position})).run()

    assert crashed.details("draw", "StepSucceeded")[0]["output"] == drawn
    assert crashed.types == expected.types
    assert crashed.last_detail["output"]["drawn"] == drawn["id"]


VALUES = st.sampled_from(["uuid()", "randomInt(0, 9)", "$Input", "$Input.n", "$Context.Execution", "length($Input.n)"])
CONSTRUCTORS = st.dictionaries(st.sampled_from(["a.$", "b.$", "n.$"]), VALUES, max_size=2)


@st.composite
def scopes(draw, names, depth=0):
    kinds = ["Pass", "Pass", "Wait", "Task", "Task", "Choice", "Succeed", "Fail", *(["Parallel", "Map"] * (depth < 2))]
    states = []
    for _ in range(draw(st.integers(1, 3 if depth else 4))):
        kind = draw(st.sampled_from(kinds))
        states.append({"Type": kind, "Name": f"s{next(names)}", **draw(fields_of(kind, names, depth))})
    for position, state in enumerate(states):
        join(draw, states, position, state)
    states.append({"Type": "Succeed", "Name": f"s{next(names)}"})
    last = states[-1]["Name"]
    for state in states:
        if state["Type"] == "Choice":
            state["Default"] = last
        elif state["Type"] not in {"Succeed", "Fail"} and "Next" not in state:
            state["End"] = True
    return {"StartAt": states[0]["Name"], "States": states}


def join(draw, states, position, state):
    following = states[position + 1]["Name"] if position + 1 < len(states) else None
    if state["Type"] == "Choice":
        target = draw(st.sampled_from(states))["Name"]
        state["Branches"] = [{"Condition": f"$Input.n == {draw(st.integers(0, 2))}", "Next": target}]
    elif following and state["Type"] not in {"Succeed", "Fail"}:
        state["Next"] = following
    if state["Type"] in {"Task", "Parallel", "Map"} and draw(st.booleans()):
        target = draw(st.sampled_from(states))["Name"]
        state["Catch"] = [{"Errors": ["Other", "FnF.RuntimeError"], "OutputConstructor": {"n": 1}, "Next": target}]


@st.composite
def fields_of(draw, kind, names, depth):
    fields = {}
    if kind != "Fail" and draw(st.booleans()):
        fields["InputConstructor"] = draw(CONSTRUCTORS)
    if kind not in {"Choice", "Fail"}:
        if draw(st.booleans()):
            fields["OutputConstructor"] = draw(CONSTRUCTORS)
        if draw(st.booleans()):
            fields["GlobalConstructor"] = {"g.$": draw(VALUES)}
    if kind in {"Task", "Parallel", "Map"} and draw(st.booleans()):
        interval = draw(st.integers(0, 2))
        fields["Retry"] = [{"Errors": ["E", "FnF.TaskTimeout"], "MaxAttempts": 2, "IntervalSeconds": interval}]
    match kind:
        case "Wait":
            fields.update({"Seconds": 3} if draw(st.booleans()) else {"Seconds.$": "randomInt(1, 5)"})
        case "Task":
            mode = {"TaskMode": "WaitForCustomCallback", "Timeout": 2} if draw(st.booleans()) else {}
            body = {"body": {"t.$": "$Context.Current.TaskToken", "u.$": draw(VALUES)}}
            fields.update(Action="FC:InvokeFunction", Parameters={"resourceArn": FC, **body}, **mode)
        case "Parallel":
            fields["Branches"] = [draw(scopes(names, depth + 1)) for _ in range(draw(st.integers(1, 3)))]
        case "Map":
            path = draw(st.sampled_from(["$Input.items", "toArray(1, uuid())", "$Context.Execution.Input.items"]))
            fields.update(ItemsPath=path, MaxConcurrency=2, Processor=draw(scopes(names, depth + 1)))
            if draw(st.booleans()):
                fields["ItemConstructor"] = {"n.$": "$Item", "u.$": "uuid()"}
    return fields


def tasks_in(value):
    if isinstance(value, dict):
        if value.get("Type") == "Task":
            yield value["Name"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from tasks_in(item)


@st.composite
def machines(draw):
    document = {"Type": "StateMachine", "Name": "m", "SpecVersion": "v1", **draw(scopes(iter(range(10_000))))}
    used = list(tasks_in(document))
    script = {name: draw(RESULTS) for name in used if draw(st.integers(0, 5))}
    reports = {name: draw(RESULTS) for name in used if draw(st.booleans())}
    return json.dumps(document), script, reports


@settings(max_examples=60)
@given(case=machines(), data=st.data())
def test_any_machine_survives_any_crash(play, case, data):
    """Decisions are total, end within the limits, and depend on the history alone."""
    expected, from_history, from_snapshot = with_crashes(play, case, data)

    assert len(expected.history) <= limits.EVENTS
    assert from_history.shown == expected.shown
    assert from_snapshot.shown == expected.shown
