"""The clock: the only place that asks the system what time it is.

Every rule of the emulator takes ``now`` as an argument; the start of a request is read once and passed on. The
emulator's time is the system's plus an offset, or frozen, and only moves forward. What belongs to the outside world
(the date window of signatures) goes by `Clock.system`, spans by `Clock.monotonic`.
"""

import time
from typing import NewType, Protocol

Millis = NewType("Millis", int)
"""A timestamp: UTC milliseconds since the epoch."""

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

FURTHEST = Millis(253_402_300_799_999)
"""The last millisecond of the year 9999, after which dates cannot be written."""


class Clock(Protocol):
    """Gives the time of day and measures spans."""

    def now(self) -> Millis:
        """Return the emulator's time."""
        ...

    def system(self) -> Millis:
        """Return the real time, whatever offset or freeze the emulator's time has."""
        ...

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back, for measuring spans."""
        ...

    def seconds_until(self, due: Millis) -> float | None:
        """Return the real seconds until the emulator's time is *due*, 0 when it has passed, None while frozen."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> Millis:
        """Return the system's time."""
        return Millis(time.time_ns() // 1_000_000)

    system = now

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""
        return time.monotonic()

    def seconds_until(self, due: Millis) -> float | None:
        """Return the seconds until *due*, 0 when it has passed."""
        return max(0.0, (due - self.now()) / 1000)


class AdjustableClock(SystemClock):
    """The machine's clock plus an offset, or frozen; it is moved by `emulator.lab.clock`."""

    def __init__(self) -> None:
        self.offset_ms = 0
        self.frozen_at: Millis | None = None
        """The time the clock stands at while it is frozen."""

    def now(self) -> Millis:
        """Return the system's time plus the offset, or the time the clock is frozen at."""
        if self.frozen_at is not None:
            return self.frozen_at
        return Millis(time.time_ns() // 1_000_000 + self.offset_ms)

    @property
    def is_adjusted(self) -> bool:
        """Whether the emulator's time differs from the system's."""
        return self.offset_ms != 0 or self.frozen_at is not None

    def freeze(self, at: Millis | None = None) -> None:
        """Stand still at *at*, now when it is not given; an earlier time than now leaves the clock where it is."""
        self.frozen_at = Millis(max(self.now(), at or 0))
        self.offset_ms = self.frozen_at - self.system()

    def unfreeze(self) -> None:
        """Run again, from the frozen time on."""
        if self.frozen_at is not None:
            self.offset_ms = self.frozen_at - self.system()
            self.frozen_at = None

    def restore(self, offset_ms: int, frozen_at: Millis | None) -> None:
        """Set the offset and freeze stored by an earlier run or a checkpoint; the time may go backwards."""
        self.offset_ms = offset_ms
        self.frozen_at = frozen_at

    def seconds_until(self, due: Millis) -> float | None:
        """Return the real seconds until the emulator's time is *due*, 0 when it has passed, None while frozen."""
        left_ms = due - self.now()
        if left_ms <= 0:
            return 0.0
        return None if self.frozen_at is not None else left_ms / 1000


class VirtualClock:
    """A clock that stands still until it is moved; `emulator.kernel.timers.VirtualTimers` moves it."""

    def __init__(self, now: int = 1_700_000_000_000) -> None:
        self._now = now
        self._elapsed_ms = 0

    def now(self) -> Millis:
        """Return the time the clock stands at."""
        return Millis(self._now)

    system = now

    def seconds_until(self, due: Millis) -> float | None:
        """Return 0 when *due* has passed; the clock reaches no other time by itself."""
        return 0.0 if due <= self._now else None

    def monotonic(self) -> float:
        """Return the seconds the clock has been moved since it was made."""
        return self._elapsed_ms / 1000

    def move_to(self, timestamp: int) -> None:
        """Move the clock forward to *timestamp*; an earlier one leaves it where it is."""
        if timestamp > self._now:
            self._elapsed_ms += timestamp - self._now
            self._now = timestamp
