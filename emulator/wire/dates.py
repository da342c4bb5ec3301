"""Dates on the wire: RFC 1123 in headers, ISO 8601 in bodies; milliseconds inside."""

from datetime import UTC, datetime, timedelta

from emulator.kernel.clock import HOUR, Millis

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CHINA_MS = 8 * HOUR


def _moment(timestamp: Millis) -> datetime:
    return _EPOCH + timedelta(milliseconds=timestamp)


def _millis(moment: datetime, offset: timedelta) -> Millis:
    """Return the timestamp that is *offset* before the wall clock shows *moment*.

    Raises: ValueError when that is outside the years 1 to 9999, so that every date which is read can be written.
    """
    try:
        return Millis((moment.replace(tzinfo=UTC) - offset - _EPOCH) // timedelta(milliseconds=1))
    except OverflowError as error:
        raise ValueError(moment.isoformat()) from error


def http_date(timestamp: Millis) -> str:
    """Return ``Fri, 20 Nov 2026 00:00:00 GMT``."""
    moment = _moment(timestamp)
    return (
        f"{_DAYS[moment.weekday()]}, {moment.day:02d} {_MONTHS[moment.month - 1]} {moment.year} "
        f"{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d} GMT"
    )


def parse_http_date(text: str) -> Millis:
    """Read an RFC 1123 date; the zone must be GMT, UTC or a numeric offset.

    Raises: ValueError.
    """
    parts = text.replace(",", " ").split()
    if len(parts) == 6:
        parts = parts[1:]
    if len(parts) != 5:
        raise ValueError(text)
    day, month, year, clock, zone = parts
    numbers = (day, *clock.split(":"))
    if month.title() not in _MONTHS or len(year) != 4 or any(len(number) > 2 for number in numbers):
        raise ValueError(text)
    hour, minute, second = (int(part) for part in numbers[1:])
    if zone.upper() in {"GMT", "UTC", "UT", "Z"}:
        offset = timedelta()
    elif len(zone) == 5 and zone[0] in "+-" and zone[1:].isdigit():
        offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:])) * (1 if zone[0] == "+" else -1)
    else:
        raise ValueError(text)
    moment = datetime(int(year), _MONTHS.index(month.title()) + 1, int(day), hour, minute, second, tzinfo=UTC)
    return _millis(moment, offset)


def iso_seconds(timestamp: Millis) -> str:
    """Return ``2024-05-01T08:00:00Z``."""
    return f"{_moment(timestamp).isoformat(timespec='seconds')[:19]}Z"


def iso_millis(timestamp: Millis) -> str:
    """Return ``2020-09-22T23:43:40.073Z``."""
    return f"{_moment(timestamp).isoformat(timespec='milliseconds')[:23]}Z"


def iso_china(timestamp: Millis) -> str:
    """Return ``2025-10-24T14:11:26+08:00``: whole seconds on the clocks of China."""
    return f"{_moment(Millis(timestamp + _CHINA_MS)).isoformat(timespec='seconds')[:19]}+08:00"


def parse_iso(text: str) -> Millis:
    """Read an RFC 3339 date and time with ``Z`` or an offset, any number of fraction digits, ``T`` or a space between.

    Raises: ValueError.
    """
    moment = datetime.fromisoformat(text.strip().upper())
    offset = moment.utcoffset()
    if offset is None:
        raise ValueError(text)
    return _millis(moment, offset)
