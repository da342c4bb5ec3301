"""Scheduled numbers of instances: which one holds when, and when it changes next. Pure.

An action sets its target at the times of its expression, ``cron(...)`` or ``at(...)``, between its start and its
end. The target holds until another action sets one, or until the action's end brings the default back.

Source: parameter tables of the provision configuration; the order of overlapping actions is assumed.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from emulator.kernel.clock import DAY, SECOND, Millis
from emulator.kernel.cron import LENIENT, CronError, Schedule, parse_schedule
from emulator.services.fc.errors import InvalidArgument

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOOK_BACK_MS = 8 * 366 * DAY
"""How far back the latest run of a schedule is looked for: the rarest date comes every eight years at least."""
_END_OF_TIME = Millis(2**53)


class Action(NamedTuple):
    """A compiled scheduled action: either *schedule* or the single time *once*."""

    target: int
    start: Millis
    end: Millis
    schedule: Schedule | None
    once: Millis


def compile_action(raw: Mapping[str, Any], field: str) -> Action:
    """Compile a scheduled action or policy of the API.

    Raises: InvalidArgument. Source of its texts: fc-java-sdk FunctionComputeClientTest.
    """
    zone = str(raw.get("timeZone") or "")
    expression = str(raw["scheduleExpression"]).strip()
    _check_zone(zone, f"{field}.timeZone")
    start = _timestamp(raw.get("startTime"), zone, "StartTime")
    end = _timestamp(raw.get("endTime"), zone, "EndTime")
    if start is not None and end is not None and end <= start:
        raise InvalidArgument(f"{field}.endTime must be later than startTime")
    schedule, once = None, Millis(0)
    if expression.startswith("at(") and expression.endswith(")"):
        once = _timestamp(expression[3:-1].strip(), zone, "ScheduleExpression") or Millis(0)
    elif expression.startswith("cron(") and expression.endswith(")"):
        text = expression[5:-1].strip()
        try:
            schedule = parse_schedule(f"CRON_TZ={zone} {text}" if zone and "CRON_TZ" not in text else text, LENIENT)
        except CronError:
            raise InvalidArgument(_NO_SCHEDULE.format(expression[:80])) from None
    else:
        raise InvalidArgument(_NO_SCHEDULE.format(expression[:80]))
    return Action(int(raw.get("target") or 0), start or Millis(0), end or _END_OF_TIME, schedule, once)


_NO_SCHEDULE = (
    "The ScheduleExpression should be atTime or cron expression "
    "(example: ['at(2020-10-10T10:10:10Z)', 'cron(0 */30 * * * *)'], actual: '{}')"
)


def target_at(actions: Iterable[Action], default: int, now: Millis) -> int:
    """Return the number of instances that holds at *now*."""
    latest, target = Millis(-1), default
    for action in actions:
        fired = _latest_run(action, now) if action.start <= now < action.end else None
        if fired is not None and fired >= latest:
            latest, target = fired, action.target
    return target


def next_change(actions: Iterable[Action], now: Millis) -> Millis | None:
    """Return the first time after *now* at which `target_at` may give another number."""
    times = []
    for action in actions:
        run = _next_run(action, now)
        if run is not None and run < action.end:
            times.append(run)
        if action.start <= now < action.end < _END_OF_TIME:
            times.append(action.end)
    return min(times, default=None)


def _next_run(action: Action, now: Millis) -> Millis | None:
    after = Millis(max(now, action.start - 1))
    if action.schedule is None:
        return action.once if action.once > after else None
    return action.schedule.next_after(after)


def _latest_run(action: Action, now: Millis) -> Millis | None:
    """Return the last time up to *now*, not before the action's start, at which it set its target."""
    if action.schedule is None:
        return action.once if action.start <= action.once <= now else None
    before, after = Millis(max(action.start, now - _LOOK_BACK_MS) - 1), now
    if not _runs_between(action.schedule, before, now):
        return None
    while after - before > SECOND:  # no schedule runs twice within a second
        middle = Millis((before + after) // 2)
        if _runs_between(action.schedule, middle, now):
            before = middle
        else:
            after = middle
    return action.schedule.next_after(before)


def _runs_between(schedule: Schedule, after: Millis, until: Millis) -> bool:
    run = schedule.next_after(Millis(max(0, after)))
    return run is not None and run <= until


def _timestamp(text: Any, zone: str, field: str) -> Millis | None:
    """Read ``2020-10-10T10:10:10Z``; a time without an offset is one of *zone*, and refused where that is empty."""
    if text is None or text == "":
        return None
    try:
        moment = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
        if moment.tzinfo is None:
            if not zone:
                raise ValueError("a time of no zone")  # noqa: TRY301 - refused as what cannot be read is
            moment = moment.replace(tzinfo=_zone(zone))
        return Millis((moment - _EPOCH) // timedelta(milliseconds=1))
    except (ValueError, OverflowError, KeyError, OSError):
        raise InvalidArgument(
            f"The {field} is not in UTC time format (example: '2020-10-10T10:10:10Z', actual: '{str(text)[:80]}')"
        ) from None


def _check_zone(name: str, field: str) -> None:
    try:
        if name:
            _zone(name)
    except (ValueError, KeyError, OSError):
        raise InvalidArgument(f"{field} '{name}' is invalid: it must be the name of a time zone") from None


def _zone(name: str) -> Any:
    from zoneinfo import ZoneInfo  # here, because few schedules name a zone

    return ZoneInfo(name)
