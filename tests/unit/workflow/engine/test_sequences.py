"""Which events each kind of step records: the engine against the table of sequences."""

import pytest

from emulator.services.workflow.engine import events
from emulator.services.workflow.engine.language import Result

_PLAIN = (events.StepEntered.type, events.StepStarted.type, events.StepSucceeded.type, events.StepExited.type)
_ATTEMPT = (events.TaskScheduled.type, events.TaskStarted.type)

SEQUENCES = {
    "pass": _PLAIN,
    "succeed": _PLAIN,
    "wait": _PLAIN,
    "choice": _PLAIN,
    "parallel": (
        events.StepEntered.type,
        events.StepStarted.type,
        events.BranchEntered.type,
        events.BranchExited.type,
        events.StepSucceeded.type,
        events.StepExited.type,
    ),
    "foreach": (
        events.StepEntered.type,
        events.StepStarted.type,
        events.IterationEntered.type,
        events.IterationExited.type,
        events.StepSucceeded.type,
        events.StepExited.type,
    ),
    "fail": (events.StepEntered.type, events.StepFailed.type, events.StepExited.type),
    "task requestResponse": (events.StepEntered.type, *_ATTEMPT, events.TaskSucceeded.type, events.StepExited.type),
    "task sync": (
        events.StepEntered.type,
        *_ATTEMPT,
        events.TaskSubmitted.type,
        events.TaskSucceeded.type,
        events.StepExited.type,
    ),
    "task waitForCallback": (
        events.StepEntered.type,
        *_ATTEMPT,
        events.TaskSubmitted.type,
        events.TaskSucceeded.type,
        events.StepExited.type,
    ),
    "task retried": (
        events.StepEntered.type,
        *_ATTEMPT,
        events.TaskFailed.type,
        *_ATTEMPT,
        events.TaskSucceeded.type,
        events.StepExited.type,
    ),
    "task caught": (events.StepEntered.type, *_ATTEMPT, events.TaskFailed.type, events.StepExited.type),
    "task not caught": (
        events.StepEntered.type,
        *_ATTEMPT,
        events.TaskFailed.type,
        events.StepFailed.type,
        events.StepExited.type,
    ),
    "task refused": (
        events.StepEntered.type,
        *_ATTEMPT,
        events.TaskSubmitFailed.type,
        events.StepFailed.type,
        events.StepExited.type,
    ),
    "task timed out": (
        events.StepEntered.type,
        *_ATTEMPT,
        events.TaskTimedOut.type,
        events.StepFailed.type,
        events.StepExited.type,
    ),
}
"""What one entry of a step records; ``fail`` and an uncaught task take their parents along.

Source: pass is recorded by the vendor; the others are assumed.
"""

ARN = "acs:fc:::services/s/functions/f"
TASK = f"{{type: task, name: x, resourceArn: '{ARN}'"
GOOD = [Result(output='{"a":1}')]
BAD = [Result(error="Oops", cause="why")]

CASES = [
    ("pass", "{type: pass, name: x}", {}, {}),
    ("succeed", "{type: succeed, name: x}", {}, {}),
    ("wait", "{type: wait, name: x, duration: 5}", {}, {}),
    ("wait", "{type: wait, name: x, duration: 0}", {}, {}),
    ("choice", "{type: choice, name: x, choices: [{condition: '$.n == 1'}]}", {}, {}),
    ("parallel", "{type: parallel, name: x, branches: [{steps: [{type: pass, name: y}]}]}", {}, {}),
    (
        "foreach",
        "{type: foreach, name: x, iterationMapping: {collection: $.one, item: i}, steps: [{type: pass, name: y}]}",
        {},
        {},
    ),
    ("fail", "{type: fail, name: x, error: E, cause: C}", {}, {}),
    ("task requestResponse", TASK + "}", {"x": GOOD}, {}),
    ("task sync", TASK + ", pattern: sync, serviceParams: {InvocationType: Async}}", {"x": GOOD}, {}),
    ("task waitForCallback", TASK + ", pattern: waitForCallback}", {"x": GOOD}, {"x": GOOD}),
    ("task retried", TASK + ", retry: [{errors: [Oops]}]}", {"x": [*BAD, *GOOD]}, {}),
    ("task caught", TASK + ", catch: [{errors: [FnF.ALL], goto: end}]}", {"x": BAD}, {}),
    ("task not caught", TASK + "}", {"x": BAD}, {}),
    ("task refused", TASK + ", pattern: waitForCallback}", {"x": BAD}, {}),
    ("task timed out", TASK + ", timeoutSeconds: 3}", {}, {}),
]


@pytest.mark.parametrize(("name", "step", "script", "reports"), CASES, ids=[f"{c[0]} {i}" for i, c in enumerate(CASES)])
def test_a_step_records_the_events_of_its_row(play, name, step, script, reports):
    """Every row of the table is what the engine records for such a step."""
    definition = f"version: v1\ntype: flow\nsteps:\n  - {step}\n  - {{type: pass, name: end}}\n"

    played = play(definition, '{"n":1,"one":[7]}', script=script, reports=reports).run()

    assert tuple(played.steps("x")) == SEQUENCES[name]


def test_a_flow_of_one_pass_has_six_events(play):
    """The whole history of the smallest flow, ids and causes included, as the vendor recorded it."""
    definition = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: pass1}\n  - {type: pass, name: pass2}\n"

    played = play(definition).run()

    assert [(event[0], event[1], event[2], event[3], event[4]) for event in played.shown][:6] == [
        (1, 0, "", "ExecutionStarted", '{"input":{}}'),
        (2, 1, "pass1", "StepEntered", '{"input":{},"local":{}}'),
        (3, 2, "pass1", "StepStarted", '{"input":{}}'),
        (4, 3, "pass1", "StepSucceeded", '{"output":{}}'),
        (5, 4, "pass1", "StepExited", '{"local":{}}'),
        (6, 5, "pass2", "StepEntered", '{"input":{},"local":{}}'),
    ]
    assert played.shown[-1][3:5] == ("ExecutionSucceeded", '{"output":{}}')
    assert len(played.history) == 10


def test_a_failing_step_takes_its_parents_along(play):
    """A fail inside an option fails the choice, then the execution."""
    definition = """
version: v1
type: flow
steps:
  - type: choice
    name: c
    choices:
      - condition: $.go == 1
        steps:
          - {type: fail, name: f, error: E, cause: C}
"""

    played = play(definition, '{"go":1}').run()

    assert [(event[2], event[3], event[4]) for event in played.shown[3:]] == [
        ("f", "StepEntered", '{"input":{"go":1},"local":{}}'),
        ("f", "StepFailed", '{"error":"E","cause":"C"}'),
        ("f", "StepExited", '{"local":{},"cause":"C","error":"E"}'),
        ("c", "StepFailed", '{"error":"E","cause":"C"}'),
        ("c", "StepExited", '{"local":{},"cause":"C","error":"E"}'),
        ("", "ExecutionFailed", '{"error":"E","cause":"C"}'),
    ]


def test_a_fail_without_error_fails_with_nothing(play):
    """Missing error and cause are left out of the details."""
    played = play("version: v1\ntype: flow\nsteps:\n  - {type: fail, name: f}\n").run()

    assert played.shown[-1][3:5] == ("ExecutionFailed", "{}")


def test_branches_interleave_and_name_their_own_cause(play):
    """Within a branch the cause is the branch's previous event; the join is caused by the branch that ended last."""
    definition = """
version: v1
type: flow
steps:
  - type: parallel
    name: p
    branches:
      - steps: [{type: wait, name: a, duration: 5}]
      - steps: [{type: wait, name: b, duration: 1}]
"""

    played = play(definition).run()

    assert [event[:4] for event in played.shown[2:]] == [
        (3, 2, "p", "StepStarted"),
        (4, 3, "p", "BranchEntered"),
        (5, 3, "p", "BranchEntered"),
        (6, 4, "a", "StepEntered"),
        (7, 6, "a", "StepStarted"),
        (8, 5, "b", "StepEntered"),
        (9, 8, "b", "StepStarted"),
        (10, 9, "b", "StepSucceeded"),
        (11, 10, "b", "StepExited"),
        (12, 11, "p", "BranchExited"),
        (13, 7, "a", "StepSucceeded"),
        (14, 13, "a", "StepExited"),
        (15, 14, "p", "BranchExited"),
        (16, 15, "p", "StepSucceeded"),
        (17, 16, "p", "StepExited"),
        (18, 17, "", "ExecutionSucceeded"),
    ]
    assert played.now == played.state.started_at + 5000
