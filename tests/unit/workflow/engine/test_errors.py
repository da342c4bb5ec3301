"""Retry, catch, time-outs, callbacks, limits: what becomes of trouble."""

import json

import pytest

from emulator.services.workflow import limits
from emulator.services.workflow.engine.decide import catch_for, matches, retry_at
from emulator.services.workflow.engine.language import DeadlinePassed, Replied, Reported, Result, StopAsked, TimerFired
from emulator.services.workflow.engine.model import CatchPolicy, RetryPolicy

ARN = "acs:fc:::services/s/functions/f"


def task(extra: str = "", rest: str = "") -> str:
    return f"version: v1\ntype: flow\nsteps:\n  - {{type: task, name: t, resourceArn: '{ARN}'{extra}}}\n{rest}"


def scheduled_at(played) -> list[int]:
    return [(at - played.state.started_at) // 1000 for event, at in played.history if event.type == "TaskScheduled"]


@pytest.mark.parametrize(
    ("policy", "waits"),
    [
        (RetryPolicy(errors=("E",)), [1, 2, 4, None]),
        (RetryPolicy(errors=("E",), interval_s=10, multiplier=2), [10, 20, 40, None]),
        (RetryPolicy(errors=("E",), interval_s=10, max_interval_s=15), [10, 15, 15, None]),
        (RetryPolicy(errors=("E",), interval_s=2, multiplier=1.5, max_attempts=2), [2, 3, None]),
        (RetryPolicy(errors=("E",), max_attempts=0), [None]),
        (RetryPolicy(errors=("E",), interval_s=0), [0, 0, 0, None]),
    ],
    ids=["defaults", "tutorial", "capped", "decimal", "none", "at once"],
)
def test_waits_between_attempts_grow_to_their_maximum(policy, waits):
    """Wait k is interval x multiplier^(k-1), at most the maximum, for maxAttempts retries."""
    instants = [retry_at([policy], "E", retries, 1000) for retries in range(len(waits))]

    assert instants == [None if wait is None else 1000 + wait * 1000 for wait in waits]


def test_a_huge_exponent_is_just_the_maximum():
    """Growing beyond what a float holds is no error."""
    policy = RetryPolicy(errors=("E",), max_attempts=5000, multiplier=1e300)

    assert retry_at([policy], "E", 3000, 0) == 86_400_000


def test_only_the_first_matching_policy_is_used():
    """A policy whose attempts are used up is not followed by the next one."""
    policies = [RetryPolicy(errors=("E",), max_attempts=1), RetryPolicy(errors=("FnF.ALL",), max_attempts=9)]

    assert retry_at(policies, "E", 1, 0) is None
    assert retry_at(policies, "Other", 1, 0) is not None


@pytest.mark.parametrize(
    ("listed", "error", "expected"),
    [
        (("E",), "E", True),
        (("E",), "e", False),
        (("E",), "EE", False),
        (("FnF.ALL",), "anything", True),
        (("A", "FnF.ALL"), "", True),
        (("fnf.ExecutionAlreadyExists",), "FnF.ExecutionAlreadyExists", True),
        (("FnF.ExecutionAlreadyExists",), "fnf.ExecutionAlreadyExists", True),
        (("fnf.other",), "FnF.ExecutionAlreadyExists", False),
    ],
)
def test_names_match_exactly_but_for_the_prefix_of_flows(listed, error, expected):
    """Exact and case-sensitive; FnF.ALL matches everything."""
    assert matches(listed, error) is expected


def test_the_first_catch_that_matches_is_taken():
    """In the order of the definition."""
    policies = (CatchPolicy(errors=("A",), goto="a"), CatchPolicy(errors=("FnF.ALL",), goto="b"))

    assert catch_for(policies, "A") is policies[0]
    assert catch_for(policies, "B") is policies[1]


def test_attempts_are_spaced_by_the_policy(play):
    """Four attempts for maxAttempts 3, then the error is the step's."""
    played = play(
        task(", retry: [{errors: [E], intervalSeconds: 1, multiplier: 2}]"),
        script={"t": [Result(error="E", cause="c")]},
        call_ms=0,
    ).run()

    assert scheduled_at(played) == [0, 1, 3, 7]
    assert [detail["retryCount"] for detail in played.details("t", "TaskScheduled")] == [0, 1, 2, 3]
    assert played.details("t", "StepExited")[0]["retryCount"] == 3
    assert played.shown[-1][3:5] == ("ExecutionFailed", '{"error":"E","cause":"c"}')


def test_a_caught_error_jumps_with_what_error_mappings_made(play):
    """Without errorMappings the next step cannot see the error; end: true does not keep the jump from happening."""
    rest = "  - {type: fail, name: skipped}\n  - {type: pass, name: final}\n"
    mappings = "[{target: m, source: $local.cause}, {target: c, source: $local.error}]"
    mapped = play(
        task(f", end: true, errorMappings: {mappings}, catch: [{{errors: [FnF.ALL], goto: final}}]", rest),
        script={"t": [Result(error="E", cause="why")]},
    ).run()
    silent = play(
        task(", catch: [{errors: [E], goto: final}]", rest), script={"t": [Result(error="E", cause="why")]}
    ).run()

    assert mapped.details("final", "StepEntered")[0]["input"] == {"c": "E", "m": "why"}
    assert mapped.details("t", "StepExited") == [
        {
            "input": {},
            "local": {"c": "E", "m": "why"},
            "resourceArn": ARN,
            "cause": "why",
            "error": "E",
            "retryCount": 0,
            "goto": "final",
        }
    ]
    assert silent.details("final", "StepEntered")[0]["input"] == {}
    assert not silent.steps("skipped")


def test_members_of_the_error_detail_stand_in_the_vendors_order(play):
    """input, local, resourceArn, cause, error, retryCount, goto."""
    played = play(
        task(", catch: [{errors: [E], goto: z}]", "  - {type: pass, name: z}\n"),
        script={"t": [Result(error="E", cause="why")]},
    ).run()

    (detail,) = played.details("t", "StepExited")
    assert list(detail) == ["input", "local", "resourceArn", "cause", "error", "retryCount", "goto"]


@pytest.mark.parametrize("body", ["[1]", '"text"', "3", "nonsense", '{"a":NaN}', '{"a":1e999}', "{" * 3])
def test_a_result_that_is_no_object_is_an_error_of_the_step(play, body):
    """FnF.InvalidLocal can be retried and caught."""
    played = play(
        task(", catch: [{errors: [FnF.InvalidLocal], goto: z}]", "  - {type: pass, name: z}\n"),
        script={"t": [Result(output=body)]},
    ).run()

    assert played.steps("z")


def test_an_empty_result_is_an_empty_object(play):
    """A function that answers nothing has the local {}."""
    assert play(task(), script={"t": [Result(output="")]}).run().shown[-1][4] == '{"output":{}}'


def test_a_task_times_out_per_attempt(play):
    """FnF.TaskTimeout goes through retry and catch like any other error."""
    played = play(
        task(
            ", timeoutSeconds: 5, retry: [{errors: [FnF.TaskTimeout], maxAttempts: 1}],"
            " catch: [{errors: [FnF.TaskTimeout], goto: z}]",
            "  - {type: pass, name: z}\n",
        )
    ).run()

    assert scheduled_at(played) == [0, 6]
    assert played.types.count("TaskTimedOut") == 2
    assert played.steps("z")


def test_a_report_completes_the_attempt_it_was_made_for(play):
    """waitForCallback: the result is what was reported, not the reply of the call."""
    played = play(
        task(", pattern: waitForCallback"),
        script={"t": [Result(output='{"submitted":1}')]},
        reports={"t": [Result(output='{"reported":2}')]},
    ).run()

    assert played.details("t", "TaskSubmitted") == [{"output": {"submitted": 1}}]
    assert played.shown[-1][4] == '{"output":{"reported":2}}'


def test_a_report_may_come_before_the_submission_returns(play):
    """The attempt is complete; TaskSubmitted is recorded all the same, and the later reply changes nothing."""
    played = play(task(", pattern: waitForCallback"), reports={"t": [Result(output='{"early":1}')]})

    played.run()
    late = played.arrive(Replied(2, 0, Result(output='{"late":1}')))

    assert played.steps("t")[2:5] == ["TaskStarted", "TaskSubmitted", "TaskSucceeded"]
    assert played.shown[-1][4] == '{"output":{"early":1}}'
    assert late == ()


def test_a_reported_failure_can_be_retried(play):
    """The report of an old attempt cannot complete the new one."""
    played = play(
        task(", pattern: waitForCallback, retry: [{errors: [E], maxAttempts: 1}]"),
        script={"t": [Result()]},
        reports={"t": [Result(error="E")]},
        until=1_700_000_000_000 + 10_000,
    ).run()

    stale = played.arrive(Reported(2, 0, Result()))
    fresh = played.arrive(Reported(2, 1, Result()))

    assert stale == ()
    assert [event.type for event in fresh] == ["TaskSucceeded"]


@pytest.mark.parametrize(
    "arrival",
    [
        TimerFired(2, "wait", 0),
        TimerFired(2, "retry", 0),
        TimerFired(2, "timeout", 0),
        TimerFired(99, "wait", 0),
        Replied(2, 7, Result()),
        Reported(2, 0, Result()),
        Replied(99, 0, Result()),
    ],
)
def test_what_arrives_too_late_or_for_nobody_changes_nothing(play, arrival):
    """An arrival for another attempt, entry or kind of step yields no event."""
    played = play(task(), until=0).run()

    assert played.arrive(arrival) == ()


def test_a_stop_ends_everything_at_once(play):
    """Open steps get no more events."""
    played = play(task(), until=0).run()

    played.arrive(StopAsked("E", "enough"))
    played.run()

    assert played.types[-2:] == ["TaskStarted", "ExecutionStopped"]
    assert played.shown[-1][4] == '{"error":"E","cause":"enough"}'
    assert played.arrive(StopAsked("", "")) == ()


def test_the_deadline_ends_the_execution(play):
    """ExecutionTimedOut carries FnF.Timeout."""
    played = play(task(), until=0).run()

    played.arrive(DeadlinePassed("too long"))

    assert played.shown[-1][3:5] == ("ExecutionTimedOut", '{"error":"FnF.Timeout","cause":"too long"}')


@pytest.mark.parametrize(
    ("step", "given"),
    [
        ("duration: $.d", {"d": "5"}),
        ("duration: $.d", {"d": -1}),
        ("duration: $.d", {"d": True}),
        ("duration: $.d", {"d": 1.5}),
        ("duration: $.d", {"d": 172_801}),
        ("duration: $.d", {}),
        ("timestamp: $.d", {"d": "tomorrow"}),
        ("timestamp: $.d", {"d": 5}),
        ("timestamp: $.d", {"d": "2030-01-01T00:00:00Z"}),
    ],
)
def test_a_wait_for_nonsense_fails_its_step(play, step, given):
    """FnF.RuntimeError, which nothing but a task could catch."""
    definition = f"version: v1\ntype: flow\nsteps:\n  - {{type: wait, name: w, {step}}}\n"

    played = play(definition, json.dumps(given)).run()

    assert played.details("w", "StepFailed")[0]["error"] == "FnF.RuntimeError"
    assert played.types[-1] == "ExecutionFailed"


@pytest.mark.parametrize(
    ("timestamp", "waited_ms"),
    [
        ("2023-11-14T22:13:25Z", 5_000),
        ("2023-11-15T06:13:21.5+08:00", 1_500),
        ("2020-01-01T00:00:00Z", 0),
    ],
    ids=["utc", "offset and fraction", "past"],
)
def test_a_wait_ends_at_its_timestamp(play, timestamp, waited_ms):
    """Absolute, with any offset; what lies in the past is over at once."""
    definition = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, timestamp: $.t}\n"

    played = play(definition, json.dumps({"t": timestamp})).run()

    assert played.now - played.state.started_at == waited_ms
    assert played.details("w", "StepStarted") == [{"input": {"t": timestamp}, "timestamp": timestamp}]


def test_a_failing_branch_abandons_the_others(play):
    """No further events of theirs; the parallel fails with the branch's error."""
    definition = f"""
version: v1
type: flow
steps:
  - type: parallel
    name: p
    branches:
      - steps: [{{type: task, name: t, resourceArn: '{ARN}'}}]
      - steps:
          - type: parallel
            name: inner
            branches: [{{steps: [{{type: wait, name: w, duration: 50}}]}}]
"""

    played = play(definition, script={"t": [Result(error="E")]}).run()

    assert played.types[-6:] == [
        "TaskFailed", "StepFailed", "StepExited", "StepFailed", "StepExited", "ExecutionFailed",
    ]  # fmt: skip
    assert [event[2] for event in played.shown[-3:]] == ["p", "p", ""]
    assert played.now - played.state.started_at == 10


def test_a_history_ends_with_event_5000(play):
    """An endless loop fails the execution; the last event fits the limit."""
    definition = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: a}\n" + (
        "  - {type: choice, name: b, choices: [{condition: 1 == 1, goto: a}]}\n"
    )

    played = play(definition).run()

    assert len(played.history) == limits.EVENTS
    assert json.loads(played.shown[-1][4])["error"] == "FnF.EventsLimitExceeded"


@pytest.mark.parametrize("where", ["input", "result", "growing"])
def test_too_much_data_ends_the_execution_whatever_is_caught(play, where):
    """FnF.DataLimitExceeded cannot be caught."""
    big = "x" * 17_000
    definition = task(
        ", retry: [{errors: [FnF.ALL]}], catch: [{errors: [FnF.ALL], goto: t}]",
        f"  - {{type: pass, name: u, outputMappings: [{{target: b, source: {big}}}, {{target: c, source: {big}}}]}}\n",
    )
    given = json.dumps({"a": big * 2} if where == "input" else {})
    result = Result(output=json.dumps({"a": big}) if where == "result" else "{}")

    played = play(definition, given, script={"t": [result]}).run()

    assert played.types[-1] == "ExecutionFailed"
    assert json.loads(played.shown[-1][4])["error"] == "FnF.DataLimitExceeded"


def test_the_limit_counts_bytes_not_characters(play):
    """Three bytes for each of these characters."""
    definition = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: p}\n"

    fits = play(definition, json.dumps({"a": "中" * 10_000}, ensure_ascii=False)).run()
    does_not = play(definition, json.dumps({"a": "中" * 11_000}, ensure_ascii=False)).run()

    assert fits.types[-1] == "ExecutionSucceeded"
    assert does_not.types[-1] == "ExecutionFailed"
