"""How an execution's history is shown."""

import json

import pytest

from emulator.cli import tree_view as history


def an_event(number=1, detail="{}", step="", kind="ExecutionStarted", time="2026-01-01T00:00:00.000Z"):
    return {"EventId": number, "StepName": step, "Type": kind, "Time": time, "EventDetail": detail}


def test_line_counts_time_from_the_first_event():
    """Offsets are easier to compare than dates."""
    first = an_event()
    later = an_event(12, '{"goto":"Wait10s"}', "CheckJobComplete", "StepExited", "2026-01-01T00:00:10.250Z")

    assert history.event_line(later, first).split() == [
        "12",
        "10.25s",
        "CheckJobComplete",
        "StepExited",
        "goto=Wait10s",
    ]


@pytest.mark.parametrize(
    ("detail", "shown"),
    [
        ({}, ""),
        ({"input": {"delay": 20}}, 'input={"delay":20}'),
        ({"input": {}, "output": {"a": 1}}, 'output={"a":1}'),
        ({"input": {}, "local": {}, "error": "FC.Unknown", "cause": "it broke"}, "error=FC.Unknown cause=it broke"),
        ({"output": {}, "goto": "End"}, "goto=End"),
        ({"duration": 10}, "duration=10"),
        ({"cause": "two\nlines"}, "cause=two lines"),
        ({"output": "x" * 200}, "output=" + "x" * 90 + "..."),
    ],
)
def test_detail_shows_what_tells_most(detail, shown):
    """Errors before jumps before output before input, on one line."""
    assert history.detail(an_event(detail=json.dumps(detail))) == shown


def test_detail_that_is_not_json_is_left_out():
    """A service may put any text there."""
    assert history.detail(an_event(detail="{")) == ""
