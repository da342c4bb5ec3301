"""The clock: the only place that asks the system what time it is.

Every rule of the emulator takes ``now`` as an argument; the start of a request is read once and passed on.
"""

import time
from typing import NewType, Protocol

Millis = NewType("Millis", int)
"""An instant: UTC milliseconds since the epoch."""

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


class Clock(Protocol):
    """Tells the time of day and measures spans."""

    def now(self) -> Millis:
        """Return the current instant."""
        ...

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back, for measuring spans."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> Millis:
        """Return the current instant."""
        return Millis(time.time_ns() // 1_000_000)

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""
        return time.monotonic()


class VirtualClock:
    """A clock that stands still until it is moved; `emulator.kernel.timers.VirtualTimers` moves it."""

    def __init__(self, now: int = 1_700_000_000_000) -> None:
        self._now = now
        self._elapsed_ms = 0

    def now(self) -> Millis:
        """Return the instant the clock stands at."""
        return Millis(self._now)

    def monotonic(self) -> float:
        """Return the seconds the clock has been moved since it was made."""
        return self._elapsed_ms / 1000

    def move_to(self, instant: int) -> None:
        """Move the clock forward to *instant*; an earlier instant leaves it where it is."""
        if instant > self._now:
            self._elapsed_ms += instant - self._now
            self._now = instant
