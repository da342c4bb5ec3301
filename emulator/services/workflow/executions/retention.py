"""Rows that go, in small portions: executions that ended long ago, and what belongs to deleted flows.

How long the cloud keeps executions is not documented for this API; here it is a setting. A name is free again once its
execution has gone.
"""

import asyncio

from emulator.kernel.clock import DAY, HOUR, SECOND, Clock, Millis
from emulator.kernel.timers import Timers, look_again_at
from emulator.services.workflow.executions.store import ExecutionStore

FIRST_LOOK_MS = 10 * SECOND
LOOK_MS = HOUR
PORTION_ROWS = 500
"""Rows removed at a time: a few milliseconds."""

PAUSE_MS = 20

_TIMER = ("workflow", "retention")


class Retention:
    """Removes executions that ended more than *kept_days* ago (0 keeps them for ever), and deleted flows."""

    def __init__(self, store: ExecutionStore, timers: Timers, clock: Clock, kept_days: int) -> None:
        self._store = store
        self._timers = timers
        self._clock = clock
        self._kept_ms = kept_days * DAY
        self._sweeping = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing of deleted flows is left that can go now."""
        return not self._sweeping

    def start(self) -> None:
        """Look for old executions, once the start is over."""
        if self._kept_ms:
            self._look_at(Millis(self._clock.now() + FIRST_LOOK_MS))

    def close(self) -> None:
        """Stop looking."""
        self._timers.cancel(_TIMER)

    def sweep(self) -> None:
        """Remove the rows of deleted flows, some in each of the next ticks."""
        if not self._sweeping:
            self._sweeping = True
            asyncio.get_running_loop().call_soon(self._sweep_some)

    def _sweep_some(self) -> None:
        self._sweeping = False
        if self._store.clear_deleted(PORTION_ROWS):
            self.sweep()

    def _look(self) -> None:
        now = self._clock.now()
        if self._store.clear_ended(Millis(now - self._kept_ms), PORTION_ROWS):
            self._look_at(Millis(now + PAUSE_MS))
        else:
            self._look_at(look_again_at(self._store.first_end(), self._kept_ms, now, LOOK_MS))

    def _look_at(self, time: Millis) -> None:
        self._timers.call_at(time, _TIMER, self._look)
