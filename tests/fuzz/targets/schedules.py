"""Schedule expressions and dates."""

import contextlib

from emulator.kernel.clock import Millis
from emulator.kernel.cron import LENIENT, STRICT, CronError, parse_schedule
from emulator.wire.dates import http_date, iso_millis, parse_http_date, parse_iso

_NOW = Millis(1_795_000_000_000)


def schedule(data: bytes) -> None:
    """An expression is refused, or fires later than now; what the strict rules take, the lenient ones take alike."""
    text = data.decode("utf-8", "surrogateescape")
    found = []
    for rules in (STRICT, LENIENT):
        with contextlib.suppress(CronError):
            found.append(parse_schedule(text, rules))
    for each in found:
        first = each.next_after(_NOW, _NOW)
        if first is not None:
            assert first > _NOW
            second = each.next_after(first, _NOW)
            assert second is None or second > first
    if len(found) == 2:
        assert found[0] == found[1]


def dates(data: bytes) -> None:
    """A date is read or refused with ValueError; one that was read is written, and reads back."""
    text = data.decode("utf-8", "surrogateescape")
    for read, write, unit in ((parse_http_date, http_date, 1000), (parse_iso, iso_millis, 1)):
        try:
            instant = read(text)
        except ValueError:
            continue
        if 0 <= instant < 253_402_300_800_000:  # the years that can be written
            assert read(write(Millis(instant))) == instant // unit * unit
