"""Schedules: cron expressions and ``@every`` -> the next time after a given one.

A cron expression has six fields, ``Seconds Minutes Hours Day-of-month Month Day-of-week``, in UTC or, behind
``CRON_TZ=Asia/Shanghai``, in that zone. It fires at every time whose wall clock matches: a run inside the hour that
summer time skips does not happen, one inside the hour that comes twice happens twice. When both day fields are
restricted, a day that matches either of them will do.

Two sets of rules: `STRICT` holds to what the workflow service documents, `LENIENT` takes what cron programs commonly
take and serves the timers of functions. Pure: the caller brings the time and keeps the answer.

Source: time-based schedules, Serverless Workflow guide; time triggers, Function Compute guide. Weekdays are counted
1 = MON to 7 = SUN as the guides' tables pair them; 0 = SUN and the either-day rule are assumed.
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any, Final, NamedTuple

from emulator.kernel.clock import DAY, HOUR, MINUTE, SECOND, Millis
from emulator.kernel.frozen import frozen

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST: Final = Millis((datetime(9900, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1))
_HORIZON_MS: Final = 40 * 366 * DAY
"""How far ahead a run is looked for; the rarest date, 29 February, is at most eight years away."""
_STRIDE: Final = timedelta(days=5)
"""Shorter than the time between two changes of any zone's offset, so that looking that far apart misses none."""

_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_LONGEST_MONTHS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_PART = r"(?P<first>\*|[0-9]{1,2}|[A-Z]{3})(?:-(?P<last>[0-9]{1,2}|[A-Z]{3}))?(?:/(?P<step>[0-9]{1,2}))?"
_ZONE = r"(?s)CRON_TZ=(\S*)\s+(\S.*)"
_MINUTES = r"@every\s+([0-9]{1,9})m"
_DURATION = r"@every\s+((?:[0-9]{1,9}(?:\.[0-9]{1,9})?(?:ms|h|m|s))+)"
_UNITS: Final = {"h": HOUR, "m": MINUTE, "s": SECOND, "ms": 1}


class CronError(ValueError):
    """A schedule expression that is not understood, fires too often or never fires; the text is for the client."""


class Rules(NamedTuple):
    """A dialect of schedule expressions.

    ``seconds`` and ``weekdays`` are the special characters that these two fields may contain; with ``only_minutes`` an
    interval of ``@every`` is a whole number of minutes.
    """

    seconds: str
    weekdays: str
    only_minutes: bool


STRICT: Final = Rules(seconds="", weekdays=",-*?", only_minutes=True)
"""One number of seconds, no steps of weekdays, ``@every`` in minutes: nothing fires more than once a minute."""

LENIENT: Final = Rules(seconds=",-*/", weekdays=",-*?/", only_minutes=False)
"""Lists and steps everywhere and any duration from one second, such as ``@every 1h30m``."""


class Field(NamedTuple):
    """The numbers a field of a cron expression matches, and whether it was left open by ``*`` or ``?``."""

    values: tuple[int, ...]
    is_open: bool


@frozen
class Every:
    """Fires at a fixed distance, counted from the time the schedule was made, changed or enabled."""

    interval_ms: int

    def next_after(self, time: Millis, since: Millis | None = None) -> Millis | None:
        """Return the first time later than *time* that is whole intervals after *since* (or after *time*)."""
        start = time if since is None else since
        return Millis(start + max(1, (time - start) // self.interval_ms + 1) * self.interval_ms)


@frozen
class Cron:
    """Fires whenever the wall clock of ``zone`` shows one of its seconds, minutes, hours, months and days."""

    second: Field
    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field
    zone: str = "UTC"

    def next_after(self, time: Millis, since: Millis | None = None) -> Millis | None:
        """Return the first time later than *time* at which it fires; None when that is beyond 40 years.

        *since* has no meaning here: it is taken so that both kinds of schedule are called alike.
        """
        if not 0 <= time < _LATEST:
            return None
        moment = _EPOCH + timedelta(seconds=time // SECOND + 1)
        run = self._next_from(moment, moment + timedelta(milliseconds=_HORIZON_MS))
        return None if run is None else Millis((run - _EPOCH) // timedelta(milliseconds=1))

    def _next_from(self, moment: datetime, horizon: datetime) -> datetime | None:
        """Look for a match under the zone's present offset; when the offset changes before it, start there again."""
        zone = _zone(self.zone)
        while moment < horizon:
            offset = _offset(zone, moment)
            run = self._next_wall(moment + offset) - offset
            change = _offset_change(zone, moment, min(run, horizon))
            if change is None:
                return run if run < horizon else None
            moment = change
        return None

    def _next_wall(self, wall: datetime) -> datetime:
        """Return the first match from *wall* on, reading the clock as if it were UTC: no hour is missing or double."""
        matches: list[datetime] = [trigger.get_next_fire_time(None, wall) for trigger in _triggers(self)]
        return min(matches)


Schedule = Every | Cron


def parse_schedule(text: str, rules: Rules = STRICT) -> Schedule:
    """Compile a schedule expression.

    Raises: CronError.
    """
    expression = text.strip()
    if expression.startswith("@every"):
        return _every(expression, rules)
    zone = "UTC"
    if prefix := re.fullmatch(_ZONE, expression):
        zone, expression = prefix[1], prefix[2]
        _zone(zone)
    parts = expression.upper().split()
    if len(parts) != 6:
        raise CronError(f"a cron expression has six fields, seconds first; here are {len(parts)}")
    cron = Cron(
        second=_field(parts[0], "seconds", 0, 59, rules.seconds),
        minute=_field(parts[1], "minutes", 0, 59, ",-*/"),
        hour=_field(parts[2], "hours", 0, 23, ",-*/"),
        day=_field(parts[3], "day of month", 1, 31, ",-*?/"),
        month=_field(parts[4], "month", 1, 12, ",-*/", _MONTHS),
        weekday=_weekdays(parts[5], rules),
        zone=zone,
    )
    if cron.weekday.is_open and not _has_its_day(cron):
        raise CronError("no month of this cron expression has such a day")
    return cron


def _every(expression: str, rules: Rules) -> Every:
    if rules.only_minutes:
        match = re.fullmatch(_MINUTES, expression)
        interval_ms = int(match[1]) * MINUTE if match else 0
        if interval_ms < MINUTE:
            raise CronError("an interval is written @every {n}m, n being 1 or more minutes")
    else:
        match = re.fullmatch(_DURATION, expression)
        parts = re.findall(r"([0-9.]+)(ms|h|m|s)", match[1]) if match else ()
        interval_ms = int(sum(float(number) * _UNITS[unit] for number, unit in parts)) // SECOND * SECOND
        if interval_ms < SECOND:
            raise CronError("an interval is written like @every 5m or @every 1h30m and is at least one second")
    return Every(interval_ms=interval_ms)


def _weekdays(text: str, rules: Rules) -> Field:
    """Return weekdays as 1..7; SUN opens a range as 0 and closes it as 7."""
    field = _field(re.sub(r"\bSUN-(?!SUN)", "0-", text), "day of week", 0, 7, rules.weekdays, _WEEKDAYS)
    return Field(tuple(sorted({value or 7 for value in field.values})), field.is_open)


def _field(text: str, name: str, low: int, high: int, specials: str, names: tuple[str, ...] = ()) -> Field:
    for sign in ",-*?/":
        if sign in text and sign not in specials:
            raise CronError(f"{name}: {sign!r} is not allowed here")
    if text == "?":
        text = "*"
    values: set[int] = set()
    for part in text.split(","):
        values.update(_range(part, name, low, high, names))
    return Field(tuple(sorted(values)), text == "*")


def _range(part: str, name: str, low: int, high: int, names: tuple[str, ...]) -> range:
    match = re.fullmatch(_PART, part)
    if match is None or (match["first"] == "*" and match["last"]):
        raise CronError(f"{name}: {part[:50]!r} is not understood")
    if match["first"] == "*":
        first, last = low, high
    else:
        first = _number(match["first"], low, names)
        last = _number(match["last"], low, names) if match["last"] else high if match["step"] else first
    step = int(match["step"] or 1)
    if not low <= first <= last <= high or step < 1:
        raise CronError(f"{name}: {part!r} is not in the range {low} to {high}")
    return range(first, last + 1, step)


def _number(text: str, low: int, names: tuple[str, ...]) -> int:
    """Return a number or the place of a name; the last one of equal names counts. Unknown names give -1."""
    if text.isdecimal():
        return int(text)
    places = [place for place, known in enumerate(names, low) if known == text]
    return places[-1] if places else -1


def _has_its_day(cron: Cron) -> bool:
    """Whether a month of the expression has a day of the expression; 31 April never comes."""
    return cron.day.values[0] <= max(_LONGEST_MONTHS[month - 1] for month in cron.month.values)


@lru_cache(maxsize=512)
def _triggers(cron: Cron) -> tuple[Any, ...]:
    """Return the library's triggers, one for each restricted day field: any of them fires the schedule.

    Days that no month has get none: the library would look for them until the year 9999, for minutes.
    """
    from apscheduler.triggers.cron import CronTrigger  # takes 50 ms to import, and few need it

    days, weekdays = _numbers(cron.day), _numbers(cron.weekday, shift=-1)
    pairs = [(days, weekdays)]
    if not cron.day.is_open and not cron.weekday.is_open:
        pairs = [(days, "*"), ("*", weekdays)] if _has_its_day(cron) else [("*", weekdays)]
    return tuple(
        CronTrigger(
            month=_numbers(cron.month),
            day=day,
            day_of_week=weekday,
            hour=_numbers(cron.hour),
            minute=_numbers(cron.minute),
            second=_numbers(cron.second),
            timezone=UTC,
        )
        for day, weekday in pairs
    )


def _numbers(field: Field, shift: int = 0) -> str:
    return "*" if field.is_open else ",".join(str(value + shift) for value in field.values)


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # few schedules name a zone

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise CronError(f"the time zone {name[:100]!r} is not known") from error


def _offset(zone: tzinfo, moment: datetime) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta()


def _offset_change(zone: tzinfo, start: datetime, end: datetime) -> datetime | None:
    """Return the first second in (*start*, *end*] whose offset is not that of *start*."""
    if zone is UTC:
        return None
    offset = _offset(zone, start)
    before = start
    while before < end:
        after = min(before + _STRIDE, end)
        if _offset(zone, after) != offset:
            while (seconds := (after - before) // timedelta(seconds=1)) > 1:
                middle = before + timedelta(seconds=seconds // 2)
                before, after = (middle, after) if _offset(zone, middle) == offset else (before, middle)
            return after
        before = after
    return None
