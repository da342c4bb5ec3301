"""Dates on the wire."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.kernel.clock import Millis
from emulator.wire.dates import http_date, iso_china, iso_millis, iso_seconds, parse_http_date, parse_iso

INSTANTS = st.integers(min_value=0, max_value=4_102_444_800_000).map(Millis)


def test_known_instants():
    """The forms are the ones the services write."""
    instant = Millis(1_600_818_220_073)

    assert http_date(instant) == "Tue, 22 Sep 2020 23:43:40 GMT"
    assert iso_seconds(instant) == "2020-09-22T23:43:40Z"
    assert iso_millis(instant) == "2020-09-22T23:43:40.073Z"
    assert iso_china(instant) == "2020-09-23T07:43:40+08:00"


@given(INSTANTS)
def test_what_is_written_reads_back(instant):
    """Each form keeps what it can express."""
    assert parse_iso(iso_millis(instant)) == instant
    assert parse_iso(iso_seconds(instant)) == instant // 1000 * 1000
    assert parse_http_date(http_date(instant)) == instant // 1000 * 1000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thu, 01 Jan 1970 00:00:10 GMT", 10_000),
        ("Thu, 01 Jan 1970 01:00:10 +0100", 10_000),
        ("01 jan 1970 00:00:10 UTC", 10_000),
    ],
)
def test_http_dates_of_lenient_clients(text, expected):
    """The weekday is optional and offsets count."""
    assert parse_http_date(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "Thu, 01 Foo 1970 00:00:10 GMT",
        "Thu, 41 Jan 1970 00:00:10 GMT",
        "1 Jan 70 0:0:0 GMT",
        "1" * 30 + " Jan 1970 0:0:0 GMT",
    ],
)
def test_nonsense_is_a_value_error(text):
    """Callers turn it into their service's code."""
    with pytest.raises(ValueError):
        parse_http_date(text)


@pytest.mark.parametrize("parse", [parse_http_date, parse_iso])
@pytest.mark.parametrize(
    "text",
    [
        "Mon, 01 Jan 0001 00:00:00 +0001", "Fri, 31 Dec 9999 23:59:59 -0001",
        "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01",
    ],
)  # fmt: skip
def test_what_is_outside_the_calendar_in_utc_is_a_value_error(parse, text):
    """An offset may carry a date over the edge of the years that can be written."""
    with pytest.raises(ValueError):
        parse(text)


@pytest.mark.parametrize("text", ["", "2020-01-01T00:00:00", "2020-13-01T00:00:00Z", "now"])
def test_iso_needs_a_zone_and_a_real_date(text):
    """A time without a zone is ambiguous and refused."""
    with pytest.raises(ValueError):
        parse_iso(text)


@pytest.mark.parametrize("text", ["1970-01-01T08:00:10+08:00", "1970-01-01T00:00:10.000000Z", "1970-01-01 00:00:10z"])
def test_iso_variants(text):
    """Offsets, fractions and a space between are accepted."""
    assert parse_iso(text) == 10_000
