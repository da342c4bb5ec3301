"""Removal of executions that ended long ago, and of what belongs to deleted flows, in small portions.

How long the cloud keeps executions is not documented for this API; here it is a setting. A name is free again once its
execution has gone.
"""

import asyncio
from collections.abc import Callable

from emulator.kernel.clock import DAY, HOUR, SECOND, Clock, Millis
from emulator.kernel.timers import Timers, look_again_at
from emulator.services.workflow.executions.store import ExecutionStore

FIRST_LOOK_MS = 10 * SECOND
LOOK_MS = HOUR
PORTION_ROWS = 500
"""How many rows are removed at a time, which takes a few milliseconds."""

PAUSE_MS = 20

_TIMER = ("workflow", "retention")


class Retention:
    """Removes executions that ended more than *kept_days* ago (0 keeps them for ever), and deleted flows.

    *is_writable* returns whether the tick can write, or calls what it is given once it can.
    """

    def __init__(
        self,
        store: ExecutionStore,
        timers: Timers,
        clock: Clock,
        kept_days: int,
        is_writable: Callable[[Callable[[], None]], bool],
    ) -> None:
        self._store = store
        self._timers = timers
        self._clock = clock
        self._kept_ms = kept_days * DAY
        self._is_writable = is_writable
        self._sweeping = False
        self._closed = False

    @property
    def is_idle(self) -> bool:
        """Whether no row of a deleted flow can be removed now."""
        return not self._sweeping

    def start(self) -> None:
        """Start removing executions older than *kept_days*, some time after the start of the emulator."""
        self._closed = False
        if self._kept_ms:
            self._look_at(Millis(self._clock.now() + FIRST_LOOK_MS))

    def close(self) -> None:
        """Stop removing executions until `start`."""
        self._closed = True
        self._timers.cancel(_TIMER)

    def sweep(self) -> None:
        """Remove the rows of deleted flows, a portion in each of the next turns of the loop."""
        if not self._sweeping:
            self._sweeping = True
            asyncio.get_running_loop().call_soon(self._sweep_some)

    def _sweep_some(self) -> None:
        if not self._closed and not self._is_writable(self._sweep_some):
            return
        self._sweeping = False
        if not self._closed and self._store.clear_deleted(PORTION_ROWS):
            self.sweep()

    def _look(self) -> None:
        now = self._clock.now()
        if self._store.clear_ended(Millis(now - self._kept_ms), PORTION_ROWS):
            self._look_at(Millis(now + PAUSE_MS))
        else:
            self._look_at(look_again_at(self._store.first_end(), self._kept_ms, now, LOOK_MS))

    def _look_at(self, time: Millis) -> None:
        self._timers.call_at(time, _TIMER, self._look)
