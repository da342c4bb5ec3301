"""A crash after any event changes nothing, nothing is evaluated twice, and a snapshot is the fold of the history."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.services.workflow import limits
from emulator.services.workflow.engine.language import Result
from emulator.services.workflow.engine.snapshot import dump, load

FC = "acs:fc:::functions/f/LATEST"

EVERYTHING = (Path(__file__).with_name("everything.yml")).read_text(encoding="utf-8")

SCRIPT = {
    "retried": [Result(error="E"), Result(error="E"), Result(output='{"r":1}')],
    "called": [Result()],
    "left task": [Result(error="E"), Result(output='{"l":1}')],
    "last": [Result(error="Custom", cause="c")],
}
REPORTS = {"called": [Result(output='{"c":1}')]}
GIVEN = '{"n":1,"items":[1,{"a":2},3],"nap":2}'


def whole(play, **more):
    return play(EVERYTHING, GIVEN, script=SCRIPT, reports=REPORTS, **more).run()


@pytest.mark.parametrize("with_snapshot", [False, True], ids=["from history", "from snapshot"])
def test_a_crash_after_any_event_ends_in_the_same_history(play, with_snapshot):
    """Recovery goes on exactly where the history ends, with the random values that were drawn."""
    expected = whole(play)
    assert expected.types[-1] == "ExecutionSucceeded"
    assert len(expected.history) > 100

    for event_id in range(1, len(expected.history)):
        crashed = whole(play, crash_at=frozenset({event_id}), crash_with_snapshot=with_snapshot)

        assert crashed.shown == expected.shown, f"after event {event_id}"


def test_crashing_after_every_event_ends_in_the_same_history(play):
    """A process that dies after each single append still gets through."""
    assert whole(play, crash_at=frozenset(range(1, 1000))).shown == whole(play).shown


def test_what_was_evaluated_is_not_evaluated_again(play):
    """After a crash, another secret changes only what has not been recorded."""
    expected = whole(play)
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

    crashed = Reseeded(EVERYTHING, GIVEN, script=SCRIPT, reports=REPORTS, crash_at=frozenset({position})).run()

    assert crashed.details("draw", "StepSucceeded")[0]["output"] == drawn
    assert crashed.types == expected.types
    assert json.loads(crashed.history[-1][0].detail)["output"]["drawn"] == drawn["id"]


def test_a_snapshot_equals_the_fold_at_every_event(play, replay):
    """Written and read back, the state is the one the history tells, $Global and all."""
    compared = []

    def check(facts, state) -> None:
        if state.outcome is None:
            restored = load(facts.program, dump(state))
            for strand in restored.strands.values():
                strand.parked = False  # what is parked is not part of the history
            compared.append(dump(restored) == dump(replay(played)))

    played = play(EVERYTHING, GIVEN, script=SCRIPT, reports=REPORTS, check=check)
    played.run()

    assert len(compared) == len(played.history) - 1
    assert all(compared)


# --- any machine ----------------------------------------------------------------------------------------------------

RESULTS = st.lists(
    st.one_of(
        st.builds(lambda n: Result(output=json.dumps({"n": n})), st.integers(0, 3)),
        st.sampled_from([Result(error="E"), Result(error="Other", cause="c"), Result(output="[]"), Result(output="")]),
    ),
    min_size=1,
    max_size=3,
)

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
    definition, script, reports = case
    given_text = '{"n":1,"items":[1,2]}'
    expected = play(definition, given_text, script=script, reports=reports).run()
    longest = min(len(expected.history), 400)
    crashes = data.draw(st.frozensets(st.integers(1, longest), min_size=1, max_size=8))

    from_history = play(definition, given_text, script=script, reports=reports, crash_at=crashes).run()
    from_snapshot = play(
        definition, given_text, script=script, reports=reports, crash_at=crashes, crash_with_snapshot=True
    ).run()

    assert len(expected.history) <= limits.EVENTS
    assert from_history.shown == expected.shown
    assert from_snapshot.shown == expected.shown
