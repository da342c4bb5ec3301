"""Schedules fire at the next instant their expression allows, and never at another."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.kernel.clock import DAY, HOUR, MINUTE, SECOND, Millis
from emulator.kernel.cron import LENIENT, STRICT, Cron, CronError, Every, parse_schedule


def at(text):
    """Read an ISO instant."""
    return Millis(int(datetime.fromisoformat(text).timestamp() * 1000))


def iso(instant):
    """Write an instant as UTC without the zone."""
    return None if instant is None else datetime.fromtimestamp(instant / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def runs(expression, start, count, rules=STRICT):
    """List the first instants after *start*."""
    schedule, found, instant = parse_schedule(expression, rules), [], at(start)
    for _ in range(count):
        instant = schedule.next_after(instant)
        found.append(iso(instant))
    return found


@pytest.mark.parametrize(
    ("expression", "start", "expected"),
    [
        ("0 0 4 * * *", "2024-01-01T00:00:00Z", ["2024-01-01T04:00:00", "2024-01-02T04:00:00"]),
        ("0 26,29,33 * * * *", "2024-01-01T00:27:00Z", ["2024-01-01T00:29:00", "2024-01-01T00:33:00"]),
        ("0 30 4 ? * MON-FRI", "2024-01-05T05:00:00Z", ["2024-01-08T04:30:00", "2024-01-09T04:30:00"]),
        ("0 0/5 4-6 ? * MON-FRI", "2024-01-05T06:54:59Z", ["2024-01-05T06:55:00", "2024-01-08T04:00:00"]),
        ("0 0 4 ? JAN,FEB,MAR,APR *", "2024-04-30T05:00:00Z", ["2025-01-01T04:00:00", "2025-01-02T04:00:00"]),
        ("30 9 * * * *", "2024-01-01T00:09:30Z", ["2024-01-01T01:09:30", "2024-01-01T02:09:30"]),
        ("0 0 10 1 * ?", "2024-01-01T10:00:00Z", ["2024-02-01T10:00:00", "2024-03-01T10:00:00"]),
        ("0 3/5 * * * *", "2024-01-01T00:00:00Z", ["2024-01-01T00:03:00", "2024-01-01T00:08:00"]),
        ("0 3/25 * * * *", "2024-01-01T00:28:00Z", ["2024-01-01T00:53:00", "2024-01-01T01:03:00"]),
        ("0 10-20/5 * * * *", "2024-01-01T00:16:00Z", ["2024-01-01T00:20:00", "2024-01-01T01:10:00"]),
        ("0 0 0 ? * 1", "2024-01-03T00:00:00Z", ["2024-01-08T00:00:00", "2024-01-15T00:00:00"]),
        ("0 0 0 ? * 7", "2024-01-03T00:00:00Z", ["2024-01-07T00:00:00", "2024-01-14T00:00:00"]),
        ("0 0 0 ? * 0", "2024-01-03T00:00:00Z", ["2024-01-07T00:00:00", "2024-01-14T00:00:00"]),
        ("0 0 0 ? * sun-tue", "2024-01-03T00:00:00Z", ["2024-01-07T00:00:00", "2024-01-08T00:00:00"]),
        ("0 0 0 ? * SAT-SUN", "2024-01-03T00:00:00Z", ["2024-01-06T00:00:00", "2024-01-07T00:00:00"]),
        ("0 0 0 ? * SUN-SUN", "2024-01-03T00:00:00Z", ["2024-01-07T00:00:00", "2024-01-14T00:00:00"]),
        ("0 0 0 10 * FRI", "2024-01-06T00:00:00Z", ["2024-01-10T00:00:00", "2024-01-12T00:00:00"]),
        ("0 0 0 29 2 ?", "2096-03-01T00:00:00Z", ["2104-02-29T00:00:00", "2108-02-29T00:00:00"]),
        ("0 0 0 31 2,3 ?", "2024-01-01T00:00:00Z", ["2024-03-31T00:00:00", "2025-03-31T00:00:00"]),
        ("0 0 0 31 4,6 6", "2024-01-01T00:00:00Z", ["2024-04-06T00:00:00", "2024-04-13T00:00:00"]),
        ("0 0 0 30,31 2 MON", "2024-01-01T00:00:00Z", ["2024-02-05T00:00:00", "2024-02-12T00:00:00"]),
        ("CRON_TZ=Asia/Shanghai 0 0 4 1 * *", "2024-01-01T00:00:00Z", ["2024-01-31T20:00:00", "2024-02-29T20:00:00"]),
    ],
)
def test_documented_expressions_fire_when_the_guide_says(expression, start, expected):
    """Each form of the guides gives the instants a reader expects."""
    assert runs(expression, start, len(expected)) == expected


@pytest.mark.parametrize(
    ("expression", "start", "expected"),
    [
        # 2024-03-10 02:00-03:00 does not exist in New York, 2024-11-03 01:00-02:00 comes twice.
        ("0 30 2 * * *", "2024-03-09T07:30:00Z", ["2024-03-11T06:30:00"]),
        ("0 30 1 * * *", "2024-11-02T05:30:00Z", ["2024-11-03T05:30:00", "2024-11-03T06:30:00", "2024-11-04T06:30:00"]),
        ("0 0 * * * *", "2024-03-10T06:00:00Z", ["2024-03-10T07:00:00", "2024-03-10T08:00:00"]),
        ("0 0 12 * * *", "2024-03-09T17:00:00Z", ["2024-03-10T16:00:00", "2024-03-11T16:00:00"]),
    ],
)
def test_summer_time_skips_the_missing_hour_and_repeats_the_double_one(expression, start, expected):
    """A run whose wall-clock time does not exist is left out; one whose time comes twice happens twice."""
    assert runs(f"CRON_TZ=America/New_York {expression}", start, len(expected)) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "* * * * *",
        "0 * * * * * *",
        "* * * * * *",
        "0/10 * * * * *",
        "0,30 * * * * *",
        "60 * * * * *",
        "0 60 * * * *",
        "0 * 24 * * *",
        "0 * * 0 * *",
        "0 * * 32 * *",
        "0 * * * 13 *",
        "0 * * * 0 *",
        "0 * * * * 8",
        "0 * * * * MON/2",
        "0 ? * * * *",
        "0 * ? * * *",
        "0 * * * ? *",
        "0 5-1 * * * *",
        "0 */0 * * * *",
        "0 *-5 * * * *",
        "0 1, * * * *",
        "0 -1 * * * *",
        "0 1.5 * * * *",
        "0 * * * FOO *",
        "0 * * JAN * *",
        "0 0 0 30 2 ?",
        "0 0 0 31 2,4,6,9,11 ?",
        "0 * * L * *",
        "0 * * * * MON#2",
        "0 \u0661 * * * *",
        "CRON_TZ=Mars/Olympus 0 0 4 * * *",
        "CRON_TZ= 0 0 4 * * *",
        "CRON_TZ=../etc/passwd 0 0 4 * * *",
        "CRON_TZ=Asia/Shanghai",
        "CRON_TZ=Asia/Shanghai @every 5m",
        "@every",
        "@every 0m",
        "@every 30s",
        "@every 1h",
        "@every 1.5m",
        "@every -5m",
        "@every 1h30m",
        "@every 5",
        "@daily",
    ],
)
def test_what_the_guide_does_not_allow_is_refused(expression):
    """Every expression outside the documented language gives a CronError with a text."""
    with pytest.raises(CronError, match=r"\w"):
        parse_schedule(expression)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("@every 1h30m", ["01:30:00", "03:00:00"]),
        ("@every 30s", ["00:00:30", "00:01:00"]),
        ("@every 1.5h", ["01:30:00", "03:00:00"]),
        ("@every 1500ms", ["00:00:01", "00:00:02"]),
        ("0/20 * * * * *", ["00:00:20", "00:00:40"]),
        ("* * * * * *", ["00:00:01", "00:00:02"]),
        ("0 0 0 ? * 1/3", ["00:00:00", "00:00:00"]),
    ],
)
def test_timers_of_functions_take_more_forms(expression, expected):
    """The lenient rules know seconds and any duration."""
    found = runs(expression, "2024-01-01T00:00:00Z", 2, LENIENT)

    assert [instant[11:] for instant in found] == expected


def test_the_lenient_rules_refuse_less_than_a_second():
    """An interval that rounds down to nothing is refused."""
    with pytest.raises(CronError):
        parse_schedule("@every 999ms", LENIENT)


@pytest.mark.parametrize(
    ("instant", "since", "expected"),
    [
        (0, None, 90 * MINUTE),
        (1, 1, 90 * MINUTE + 1),
        (90 * MINUTE, 0, 180 * MINUTE),
        (90 * MINUTE - 1, 0, 90 * MINUTE),
        (200 * MINUTE, 20 * MINUTE + 7, 200 * MINUTE + 7),
        (0, DAY, DAY + 90 * MINUTE),
    ],
)
def test_an_interval_keeps_its_phase(instant, since, expected):
    """Runs lie whole intervals after the instant the schedule was made, however late it is asked."""
    assert parse_schedule("@every 90m").next_after(Millis(instant), since) == expected


def test_a_run_beyond_the_horizon_is_none():
    """Instants no calendar reaches have no next run, and no error either."""
    schedule = parse_schedule("0 0 4 * * *")

    assert schedule.next_after(Millis(10**15)) is None
    assert schedule.next_after(Millis(-1)) is None


def test_the_library_is_imported_on_first_use_only():
    """Importing the module leaves the arithmetic library and the zones alone."""
    program = "import sys, emulator.kernel.cron; print({'apscheduler', 'zoneinfo'} & set(sys.modules))"

    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert shown.stdout.strip() == "set()"


def parts(low, high):
    """Texts for one field, and the set of values each means."""
    number = st.integers(low, high)
    single = number.map(lambda n: (str(n), {n}))
    spans = st.tuples(number, number).map(sorted).map(lambda p: (f"{p[0]}-{p[1]}", set(range(p[0], p[1] + 1))))
    steps = st.tuples(number, st.integers(1, 30)).map(lambda p: (f"{p[0]}/{p[1]}", set(range(p[0], high + 1, p[1]))))
    every = st.integers(1, 30).map(lambda n: (f"*/{n}", set(range(low, high + 1, n))))
    return st.lists(st.one_of(single, spans, steps, every), min_size=1, max_size=3).map(
        lambda found: (",".join(text for text, _ in found), set().union(*(values for _, values in found)))
    )


def optional(low, high):
    """A field that may be open."""
    return st.one_of(st.just(("*", None)), parts(low, high))


ZONES = ["UTC", "Asia/Shanghai", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/St_Johns"]


@given(
    second=st.integers(0, 59),
    minute=optional(0, 59),
    hour=optional(0, 23),
    day=optional(1, 31),
    month=optional(1, 12),
    weekday=st.one_of(st.just(("?", None)), parts(1, 7).filter(lambda p: "/" not in p[0])),
    zone=st.sampled_from(ZONES),
    start=st.one_of(
        st.integers(at("2023-01-01T00:00:00Z"), at("2025-12-31T00:00:00Z")),
        st.sampled_from(["2024-03-10T05:00Z", "2024-11-03T04:00Z", "2024-04-06T14:00Z", "2024-10-05T15:00Z"]).map(at),
    ),
)
def test_the_next_run_is_later_and_the_first_match(second, minute, hour, day, month, weekday, zone, start):
    """Against every minute of the next two days: the answer is the first instant whose wall clock matches."""
    expression = f"CRON_TZ={zone} {second} {minute[0]} {hour[0]} {day[0]} {month[0]} {weekday[0]}"
    try:
        found = parse_schedule(expression).next_after(Millis(start))
    except CronError:
        assert weekday[1] is None
        assert min(day[1]) > 29
        return

    assert found is not None
    assert found > start
    window = brute_force(Millis(start), second, (minute, hour, day, month, weekday), ZoneInfo(zone))
    assert window == (found if found <= start + 2 * DAY else None)


def brute_force(start, second, fields, zone):
    """Look at every minute of two days."""
    minute, hour, day, month, weekday = (values for _, values in fields)
    moment = datetime.fromtimestamp(start // 1000, UTC).replace(second=second)
    while (instant := int(moment.timestamp()) * SECOND) <= start + 2 * DAY:
        wall = moment.astimezone(zone)
        both = day is not None and weekday is not None
        days = [values is None or value in values for value, values in ((wall.day, day), (wall.isoweekday(), weekday))]
        if (
            instant > start
            and (any(days) if both else all(days))
            and (minute is None or wall.minute in minute)
            and (hour is None or wall.hour in hour)
            and (month is None or wall.month in month)
        ):
            return instant
        moment += timedelta(minutes=1)
    return None


@given(st.text(alphabet="0123456789*/-,?@evrymsh LMONJAFEBCRTZ=.#\u0663", max_size=40))
def test_any_text_is_a_schedule_or_a_cron_error(text):
    """Nothing but CronError leaves the parser, and what it accepts has a next run."""
    for rules in (STRICT, LENIENT):
        try:
            schedule = parse_schedule(text, rules)
        except CronError:
            continue
        assert isinstance(schedule, Cron | Every)
        assert schedule.next_after(Millis(24 * HOUR)) > 24 * HOUR
