"""Scheduled numbers of instances."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.kernel.clock import Millis
from emulator.services.fc.capacity.model import compile_action, next_change, target_at
from emulator.services.fc.errors import InvalidArgument


def at(text: str) -> Millis:
    return Millis(int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000))


def an_action(expression, target=5, start="2024-01-01T00:00:00Z", end="2024-12-31T00:00:00Z", **more):
    raw = {"scheduleExpression": expression, "target": target, "startTime": start, "endTime": end, **more}
    return compile_action(raw, "scheduledActions[0]")


EVENING = an_action("cron(0 0 20 * * *)", 5)
MORNING = an_action("cron(0 0 8 * * *)", 1)
ONCE = an_action("at(2024-06-01T12:00:00Z)", 9)


@pytest.mark.parametrize(
    ("actions", "now", "target", "change"),
    [
        ([EVENING], "2023-12-31T23:00", 0, "2024-01-01T20:00"),
        ([EVENING], "2024-01-01T19:59", 0, "2024-01-01T20:00"),
        ([EVENING], "2024-01-01T20:00", 5, "2024-01-02T20:00"),
        ([EVENING, MORNING], "2024-03-03T19:00", 1, "2024-03-03T20:00"),
        ([EVENING, MORNING], "2024-03-03T21:00", 5, "2024-03-04T08:00"),
        ([EVENING, MORNING], "2024-12-30T23:00", 5, "2024-12-31T00:00"),
        ([EVENING, MORNING], "2024-12-31T00:00", 0, None),
        ([ONCE], "2024-06-01T11:59", 0, "2024-06-01T12:00"),
        ([ONCE], "2024-06-01T12:00", 9, "2024-12-31T00:00"),
        ([ONCE, MORNING], "2024-06-02T09:00", 1, "2024-06-03T08:00"),
        ([], "2024-06-02T09:00", 0, None),
    ],
)
def test_target_and_next_change(actions, now, target, change):
    """The latest run holds within its action's time; the end of that brings the default back."""
    found = next_change(actions, at(now))

    assert target_at(actions, 0, at(now)) == target
    if change is not None:
        assert found is not None
        assert found <= at(change)
        assert found == at(change) or target_at(actions, 0, found) == target
    else:
        assert found is None


def test_zone_moves_times_and_expressions():
    """With a time zone, times without an offset are its wall clock."""
    action = an_action(
        "cron(0 0 20 * * *)", start="2024-01-01T00:00:00", end="2025-01-01T00:00:00", timeZone="Asia/Shanghai"
    )

    assert target_at([action], 0, at("2024-01-02T11:59")) == 5
    assert target_at([action], 0, at("2024-01-01T11:59")) == 0
    assert next_change([action], at("2024-01-01T11:00")) == at("2024-01-01T12:00")
    assert action.start == at("2023-12-31T16:00")


def test_schedule_that_runs_every_second_is_quick_to_look_back_on():
    """The latest run is found by halving, not by counting."""
    action = an_action("cron(* * 3 1 1 *)", start="2024-01-01T00:00:00Z", end="2030-01-01T00:00:00Z")

    assert target_at([action], 0, at("2024-11-01T00:00")) == 5


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"scheduleExpression": "0 0 20 * * *"}, "cron"),
        ({"scheduleExpression": "cron(0 0 20 * *)"}, "cron expression"),
        ({"scheduleExpression": "at(tomorrow)"}, "2020-10-10T10:10:10Z"),
        ({"scheduleExpression": "cron(0 0 20 * * *)", "startTime": "now"}, "StartTime is not in UTC time format"),
        ({"scheduleExpression": "cron(0 0 20 * * *)", "timeZone": "Nowhere/Here"}, "Nowhere"),
        (
            {
                "scheduleExpression": "cron(0 0 20 * * *)",
                "startTime": "2024-01-02T00:00:00Z",
                "endTime": "2024-01-01T00:00:00Z",
            },
            "later",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_actions_are_refused(raw, words):
    """The message says what is wrong."""
    with pytest.raises(InvalidArgument, match=words):
        compile_action({"target": 1, **raw}, "scheduledActions[0]")


@given(st.integers(min_value=0, max_value=365 * 24 * 60 - 1))
def test_target_changes_only_where_it_is_said_to(minute):
    """Between an instant and its next change the target is the same."""
    now = Millis(at("2024-01-01T00:00") + minute * 60_000)
    change = next_change([EVENING, MORNING, ONCE], now)

    target = target_at([EVENING, MORNING, ONCE], 0, now)

    if change is not None:
        assert target_at([EVENING, MORNING, ONCE], 0, Millis(change - 1)) == target
        assert change > now
