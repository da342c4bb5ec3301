"""A crash after any event changes nothing, and a snapshot is the fold of the history."""

import json
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.services.workflow import limits
from emulator.services.workflow.engine import events as kinds
from emulator.services.workflow.engine.decide import decide
from emulator.services.workflow.engine.events import fold
from emulator.services.workflow.engine.history import Recorded, whole_iteration
from emulator.services.workflow.engine.json_text import member_texts
from emulator.services.workflow.engine.language import Facts, Park, Result
from emulator.services.workflow.engine.snapshot import dump, load
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.languages.programs import read_program

ARN = "acs:fc:::services/s/functions/f"
HISTORIES = Path(__file__).parents[3] / "recovery" / "histories"

EVERYTHING = f"""
version: v1
type: flow
steps:
  - type: task
    name: retried
    resourceArn: {ARN}
    inputMappings: [{{target: token, source: $context.task.token}}, {{target: n, source: $input.n}}]
    retry: [{{errors: [E], intervalSeconds: 1}}]
  - {{type: pass, name: set, outputMappings: [{{target: count, source: 0}}]}}
  - {{type: wait, name: pause, duration: 10}}
  - type: task
    name: called
    resourceArn: {ARN}
    pattern: waitForCallback
    timeoutSeconds: 5
    retry: [{{errors: [FnF.TaskTimeout], maxAttempts: 1}}]
  - type: choice
    name: decide
    choices:
      - condition: $.n == 1
        steps:
          - type: parallel
            name: both
            branches:
              - steps:
                  - {{type: wait, name: left, duration: 2}}
                  - {{type: task, name: lefttask, resourceArn: {ARN}}}
              - steps:
                  - type: foreach
                    name: each
                    iterationMapping: {{collection: $.items, item: item}}
                    steps:
                      - {{type: wait, name: nap, duration: 1}}
                      - {{type: pass, name: mark, outputMappings: [{{target: o, source: $input.item}}]}}
                    outputMappings: [{{target: os, source: '$local[*].o'}}]
            outputMappings: [{{target: both, source: $local}}]
        goto: last
  - {{type: fail, name: never}}
  - type: task
    name: last
    resourceArn: {ARN}
    errorMappings: [{{target: e, source: $local.error}}]
    catch: [{{errors: [FnF.ALL], goto: bye}}]
  - {{type: fail, name: neither}}
  - {{type: succeed, name: bye}}
"""

SCRIPT = {
    "retried": [Result(error="E"), Result(error="E"), Result(output='{"r":1}')],
    "called": [Result()],
    "lefttask": [Result(output='{"l":1}')],
    "last": [Result(error="Custom", cause="c")],
}
REPORTS = {"called": [Result(output='{"c":1}')]}
GIVEN = '{"n":1,"items":[1,2,3]}'


MACHINE = Path(__file__).parents[1] / "languages" / "statemachine" / "everything.yml"
MACHINE_SCRIPT = {
    **{name: SCRIPT[name] for name in ("retried", "called", "last")},
    "left task": [Result(error="E"), Result(output='{"l":1}')],
}


@pytest.fixture(params=["flow", "machine"])
def everything(request, play):
    """Return what plays a definition in which everything happens, in each language."""
    if request.param == "flow":
        return partial(play, EVERYTHING, GIVEN, script=SCRIPT, reports=REPORTS)
    text = MACHINE.read_text(encoding="utf-8")
    return partial(play, text, '{"n":1,"items":[1,{"a":2},3],"nap":2}', script=MACHINE_SCRIPT, reports=REPORTS)


@pytest.mark.parametrize("with_snapshot", [False, True], ids=["from history", "from snapshot"])
def test_a_crash_after_any_event_ends_in_the_same_history(everything, with_snapshot):
    """Recovery goes on exactly where the history ends, timers, calls and random values as they were."""
    expected = everything().run()
    assert expected.types[-1] == "ExecutionSucceeded"
    assert len(expected.history) > (100 if "StateMachine" in expected.definition else 80)

    for event_id in range(1, len(expected.history)):
        crashed = everything(crash_at=frozenset({event_id}), crash_with_snapshot=with_snapshot).run()

        assert crashed.shown == expected.shown, f"after event {event_id}"


def test_crashing_after_every_event_ends_in_the_same_history(everything):
    """A process that dies after each single append still gets through."""
    expected = everything().run()

    crashed = everything(crash_at=frozenset(range(1, 1000))).run()

    assert crashed.shown == expected.shown


def test_a_snapshot_equals_the_fold_at_every_event(everything, replay):
    """Written and read back, the state is that of the history, variables included."""
    compared = []

    def check(facts, state) -> None:
        if state.outcome is None:
            restored = load(facts.program, dump(state))
            for strand in restored.strands.values():
                strand.parked = False  # what is parked is not part of the history
            compared.append(dump(restored) == dump(replay(played)))

    played = everything(check=check)
    played.run()

    assert len(compared) == len(played.history) - 1
    assert all(compared)


RESULTS = st.lists(
    st.one_of(
        st.builds(lambda n: Result(output=json.dumps({"n": n, "r": n})), st.integers(0, 3)),
        st.sampled_from([Result(error="E"), Result(error="Other", cause="c"), Result(output="[]"), Result(output="")]),
    ),
    min_size=1,
    max_size=3,
)


@st.composite
def step_lists(draw, names, depth=0):
    kinds = [*SIMPLE, *(NESTING if depth < 2 else ())]
    steps = []
    for _ in range(draw(st.integers(1, 3 if depth else 4))):
        kind = draw(st.sampled_from(kinds))
        step = {"name": f"s{next(names)}", "type": kind.__name__.strip("_"), **kind(draw, names, depth)}
        if draw(st.integers(0, 9)) == 0 and step["type"] not in {"succeed", "fail"}:
            step["end"] = True
        steps.append(step)
    for position, step in enumerate(steps):
        if step["type"] == "choice" and (goto := draw(st.integers(0, 5))) < len(steps):
            step["choices"][0]["goto"] = steps[goto]["name"]
        if step["type"] == "task" and draw(st.booleans()):
            step["catch"] = [{"errors": ["Other", "FnF.InvalidLocal"], "goto": steps[position - 1]["name"]}]
    return steps


def pass_(draw, names, depth):
    return {"outputMappings": [{"target": draw(st.sampled_from("abn")), "source": draw(st.integers(0, 2))}]}


def wait(draw, names, depth):
    return {"duration": draw(st.integers(0, 5))}


def succeed(draw, names, depth):
    return {}


def fail(draw, names, depth):
    return {"error": "E"}


def task(draw, names, depth):
    waits = {"pattern": "waitForCallback", "timeoutSeconds": 2} if draw(st.booleans()) else {}
    retry = [{"errors": ["E", "FnF.TaskTimeout"], "maxAttempts": 2, "intervalSeconds": 1}]
    return {"resourceArn": ARN, **waits, **({"retry": retry} if draw(st.booleans()) else {})}


def choice(draw, names, depth):
    option = {"condition": f"$.n == {draw(st.integers(0, 2))}"}
    if depth < 2 and draw(st.booleans()):
        option["steps"] = draw(step_lists(names, depth + 1))
    return {"choices": [option]}


def parallel(draw, names, depth):
    branches = [{"steps": draw(step_lists(names, depth + 1))} for _ in range(draw(st.integers(1, 3)))]
    return {"branches": branches, "outputMappings": [{"target": "p", "source": "$local[*].r"}]}


def foreach(draw, names, depth):
    return {
        "iterationMapping": {"collection": "$.items", "item": "n"},
        "steps": draw(step_lists(names, depth + 1)),
    }


SIMPLE = (pass_, pass_, wait, task, task, choice, succeed, fail)
NESTING = (parallel, foreach)


@st.composite
def flows(draw):
    names = iter(range(10_000))
    steps = draw(step_lists(names))
    used = [step for step in _all_steps(steps) if step["type"] == "task"]
    script = {step["name"]: draw(RESULTS) for step in used if draw(st.integers(0, 5))}
    reports = {step["name"]: draw(RESULTS) for step in used if draw(st.booleans())}
    return json.dumps({"version": "v1", "type": "flow", "steps": steps}), script, reports


def _all_steps(steps):
    for step in steps:
        yield step
        for inner in [
            step.get("steps"),
            *(option.get("steps") for option in step.get("choices", [])),
            *(branch["steps"] for branch in step.get("branches", [])),
        ]:
            if inner:
                yield from _all_steps(inner)


def with_crashes(play, case, data):
    """Return a run of a definition with its replies and reports, and two of it with crashes that *data* draws."""
    definition, script, reports = case
    given_text = '{"n":1,"items":[1,2]}'
    expected = play(definition, given_text, script=script, reports=reports).run()
    longest = min(len(expected.history), 400)
    crashes = data.draw(st.frozensets(st.integers(1, longest), min_size=1, max_size=8))

    from_history = play(definition, given_text, script=script, reports=reports, crash_at=crashes).run()
    from_snapshot = play(
        definition, given_text, script=script, reports=reports, crash_at=crashes, crash_with_snapshot=True
    ).run()

    return expected, from_history, from_snapshot


@settings(max_examples=60)
@given(case=flows(), data=st.data())
def test_any_flow_survives_any_crash(play, case, data):
    """Decisions are total, end within the limits, and depend on the history alone."""
    expected, from_history, from_snapshot = with_crashes(play, case, data)

    assert len(expected.history) <= limits.EVENTS
    assert from_history.shown == expected.shown
    assert from_snapshot.shown == expected.shown


ARRIVING = {
    "StepStarted", "StepSucceeded", "TaskScheduled", "TaskSubmitted", "TaskSucceeded", "TaskFailed", "TaskSubmitFailed",
    "TaskTimedOut", "ExecutionStopped", "ExecutionTimedOut",
}  # fmt: skip
"""What can come from outside while every strand is parked."""


@pytest.mark.parametrize("path", sorted(HISTORIES.glob("*.json")), ids=lambda path: path.stem)
def test_recorded_histories_are_still_understood(path):
    """Every prefix of a history of an earlier program folds; what follows is what was recorded, or waits for it."""
    recorded = json.loads(path.read_text(encoding="utf-8"))
    flow = read_program(recorded["definition"])
    facts = Facts(
        program=flow,
        flow_name="f",
        execution_name="e",
        input=json.loads(recorded["input"]),
        token=lambda entry, attempt: f"token-{entry}-{attempt}",
    )
    kept = [Recorded(*row) for row in recorded["events"]]
    events = [(kinds.read(row, flow.notation), row.at) for row in kept]

    for count in range(len(events)):
        following = going_on(facts, fold(flow, events[:count], ExecutionState()))
        expected = kept[count]

        if following is None:
            assert expected.type in ARRIVING, f"after event {count}"
        else:
            assert shown(following, flow, kept) == shown(expected, flow, kept), f"after event {count}"


def shown(event, flow, earlier):
    """Return the fields of *event*: iterations in full, and no marks that stand in the detail, which are optional.

    Branches are named by their index: earlier programs gave them the step's name, and one in the detail.
    """
    detail = event.detail if isinstance(event, Recorded) else event.detail(flow.notation)
    mark = event.mark
    if event.type == "IterationEntered" and mark is not None:
        detail = whole_iteration(detail, member_texts(json.loads(earlier[mark - 1].detail)["input"]))
    if event.type in {"IterationEntered", "TaskScheduled"} or "seconds" in json.loads(detail):
        mark = None
    step = event.step
    if event.type in {"BranchEntered", "BranchExited"}:
        members = {name: value for name, value in json.loads(detail).items() if name != "name"}
        step, detail = f"branch {members['index']}", json.dumps(members, separators=(",", ":"), ensure_ascii=False)
    return event.id, event.type, event.strand, event.scheduled, step, detail, mark


def going_on(facts, state):
    """Return the next event that follows by itself, None when every strand waits."""
    while (decided := decide(facts, state)) is not None:
        if not isinstance(decided, Park):
            return decided[0]
        state.park(state.next_ready())
    return None
