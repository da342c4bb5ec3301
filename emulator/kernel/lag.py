"""How late the event loop is: a tick that should have come at an instant came later by the lag."""

import asyncio
from typing import Final

from emulator.kernel.clock import Clock
from emulator.kernel.metrics import Family, Histogram

INTERVAL_S: Final = 0.25
"""A sample of this often finds what holds the loop up regularly, and costs an idle machine nothing to speak of."""


class LoopLag:
    """Samples the lag from `start` to `close`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lags = Histogram()
        self._handle: asyncio.TimerHandle | None = None
        self._due = 0.0

    def start(self) -> None:
        """Begin to sample; on the loop to be watched."""
        self._loop = asyncio.get_running_loop()
        self._arm()

    def close(self) -> None:
        """Sample no more."""
        if self._handle is not None:
            self._handle.cancel()

    def figures(self) -> Family:
        """Return the histogram of what was found so far."""
        text = "How late the event loop came back to a tick, sampled four times a second."
        return Family("localyun_loop_lag_seconds", "histogram", text, self._lags.samples({}))

    def _arm(self) -> None:
        self._due = self._clock.monotonic() + INTERVAL_S
        self._handle = self._loop.call_later(INTERVAL_S, self._tick)

    def _tick(self) -> None:
        self._lags.observe(max(0.0, self._clock.monotonic() - self._due))
        self._arm()
