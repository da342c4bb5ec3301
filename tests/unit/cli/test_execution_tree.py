"""Histories as trees of visits, as text, and as lines that appear while an execution runs."""

import json
import re
from itertools import groupby
from pathlib import Path

import pytest

from emulator.cli.tree_view import Follower, Style, offset, render
from emulator.drawing.execution_tree import Execution, duration
from emulator.drawing.states import StepState, states
from emulator.wire.dates import iso_millis

ROOT = Path(__file__).parents[3]
GOLDEN = Path(__file__).parent / "golden"
RECORDED = ("everything", "polling", "transaction")


def recorded(name):
    """A kept history, as the service answers with it."""
    content = json.loads((ROOT / "tests" / "recovery" / "histories" / f"{name}.json").read_text(encoding="utf-8"))
    return [
        {
            "EventId": number,
            "Type": kind,
            "ScheduleEventId": cause,
            "StepName": step,
            "EventDetail": detail,
            "Time": iso_millis(at),
        }
        for number, kind, _, cause, step, detail, _, at in content["events"]
    ]


def an_execution(events):
    execution = Execution()
    for event in events:
        execution.add(event)
    return execution


def followed(events, width=100):
    """The lines of a history that arrives in batches, one per instant."""
    follower = Follower(Style(width=width))
    return [
        line for _, batch in groupby(events, key=lambda event: event["Time"]) for line in follower.lines(list(batch))
    ]


@pytest.mark.parametrize("name", RECORDED)
def test_tree_of_a_recorded_history(name):
    """Steps nested as they ran, with values, attempts, errors and jumps; compared with a kept text."""
    lines = list(render(an_execution(recorded(name)), name, Style(width=100)))

    assert "\n".join([*lines, ""]) == (GOLDEN / f"{name}.tree.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RECORDED)
def test_lines_of_a_followed_history(name):
    """One line per step end and per wait that begins; compared with a kept text."""
    assert "\n".join([*followed(recorded(name)), ""]) == (GOLDEN / f"{name}.follow.txt").read_text(encoding="utf-8")


def columns(line):
    """Return where the offset and the duration of a line end, and its step."""
    found = re.match(r"( *\+[\d.]+s)( *[\d.]*m?s?)  (\w+)", line)
    return found.end(1), found.end(2), found[3]


def test_lines_on_the_page_of_commands_are_those_that_are_printed():
    """Their columns and steps; times and data are others."""
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    shown = re.findall(r"^    ( +\+\d.*)$", page, re.MULTILINE)
    printed = {columns(line) for line in followed(recorded("polling"))}

    assert len(shown) > 5
    assert {columns(line) for line in shown} <= printed


@pytest.mark.parametrize(
    "scheduled",
    [{"pattern": "waitForCallback"}, {"taskMode": "WaitForCustomCallback"}],
    ids=["a flow", "a state machine"],
)
def test_submitted_task_waits_for_its_callback_in_both_languages(scheduled):
    """Each has its own word for it."""
    told = (("ExecutionStarted", "", {}), ("StepEntered", "ask", {}), ("TaskScheduled", "ask", scheduled),
            ("TaskStarted", "ask", {}), ("TaskSubmitted", "ask", {}))  # fmt: skip
    events = [
        {"EventId": number, "ScheduleEventId": number - 1, "Type": kind, "StepName": step,
         "Time": "2026-01-01T00:00:00Z", "EventDetail": json.dumps(detail)}
        for number, (kind, step, detail) in enumerate(told, 1)
    ]  # fmt: skip

    assert followed(events)[-1].endswith("ask  waits for its callback")


def test_following_in_one_batch_tells_each_step_end_once():
    """Whoever comes late sees the steps, not the waits that are over."""
    events = recorded("everything")
    follower = Follower(Style())

    lines = list(follower.lines(events))

    ends = sum(1 for event in events if event["Type"] == "StepExited")
    assert len([line for line in lines if "begins" not in line and "attempt" not in line.split("succeeded")[0]]) == ends
    assert not [line for line in lines if "waits" in line]


def test_every_prefix_of_a_history_can_be_shown():
    """An execution that runs has steps without an end; nothing is missing or shown twice."""
    events = recorded("everything")

    for length in range(1, len(events)):
        execution = an_execution(events[:length])
        open_steps = [visit.step for visit in execution.visits() if visit.outcome == "running"]
        entered = [event for event in events[:length] if event["Type"] == "StepEntered"]
        text = "\n".join(render(execution, "f", Style()))
        assert len(list(execution.visits())) == len(entered)
        assert execution.status == "Running"
        assert all(step in text for step in open_steps)


def test_what_was_open_when_an_execution_ends_is_abandoned():
    """A stopped execution leaves steps that never ended."""
    events = recorded("everything")
    waiting = next(number for number, event in enumerate(events) if event["StepName"] == "nap") + 3
    last = events[waiting]
    stop = {"EventId": 999, "Type": "ExecutionStopped", "ScheduleEventId": 1, "StepName": "", "Time": last["Time"]}
    detail = {"EventDetail": '{"error":"Enough","cause":"too long"}'}

    execution = an_execution([*events[: waiting + 1], stop | detail])

    outcomes = {visit.step: visit.outcome for visit in execution.visits()}
    assert outcomes["decide"] == outcomes["each"] == outcomes["nap"] == "abandoned"
    assert outcomes["set"] == "succeeded"
    assert (execution.status, execution.error, execution.cause) == ("Stopped", "Enough", "too long")


def test_states_tell_how_each_step_went():
    """For the picture: entries, retries, time, and the loudest outcome."""
    execution = an_execution(recorded("everything"))

    found = states(execution, ["retried", "nap", "last", "never"])

    assert found["retried"] == StepState(state="caught or retried", entered=1, took_ms=3030, retries=2)
    assert (found["nap"].note(), found["last"].note()) == ("3x, 3.00s", "caught, 10ms")
    assert found["never"] == StepState()
    assert found["never"].note() == "not entered"


def test_events_of_unknown_kinds_and_details_do_no_harm():
    """A newer service may record more than this program knows."""
    events = recorded("polling")
    strange = events[1] | {"EventId": 99, "Type": "StepPondered", "EventDetail": "{"}

    execution = an_execution([*events[:2], strange, *events[2:]])

    assert list(render(execution, "p", Style())) == list(render(an_execution(events), "p", Style()))


def test_how_an_execution_ended_is_never_cut():
    """It goes below a name that leaves no room."""
    execution = an_execution(recorded("everything"))
    name = "n" * 70

    lines = list(render(execution, name, Style(width=80)))

    assert lines[0] == name
    assert lines[1].startswith(f"  {execution.status} after ".lower())


def test_long_lines_are_cut_to_the_width_in_cells():
    """Chinese characters take two cells each."""
    events = recorded("polling")
    events[0] |= {"EventDetail": json.dumps({"input": {"note": "订单" * 80}})}

    cut, full = (list(render(an_execution(events), "p", Style(width=width)))[1] for width in (40, None))

    assert len(cut.encode("gbk")) in {39, 40}
    assert cut.endswith("...")
    assert "订单" * 80 in full


@pytest.mark.parametrize(
    ("millis", "shown"),
    [
        (0, "0ms"), (999, "999ms"), (1500, "1.50s"), (59_999, "59.99s"), (65_000, "1m05s"), (7_380_000, "2h03m"),
        (273_600_000, "3d04h"),
    ],
)  # fmt: skip
def test_spans_are_as_precise_as_people_need(millis, shown):
    """From milliseconds to days."""
    assert duration(millis) == shown


def test_offsets_keep_a_form_in_the_first_minute():
    """So that the column is easy to compare."""
    assert [offset(each) for each in (0, 59_990, 65_000)] == ["+0.00s", "+59.99s", "+1m05s"]
