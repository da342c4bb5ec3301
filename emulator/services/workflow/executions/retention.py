"""How long executions are kept: those that ended long ago go, with their histories, in small portions.

The cloud's own figure is not documented for this API; the emulator's is a setting. A name is free again once its
execution has gone.
"""

from emulator.kernel.clock import DAY, HOUR, SECOND, Clock, Millis
from emulator.kernel.timers import Timers
from emulator.services.workflow.store import FlowStore

FIRST_LOOK_MS = 10 * SECOND
LOOK_MS = HOUR
PORTION_ROWS = 500
"""Rows removed at a time: a few milliseconds."""

PAUSE_MS = 20

_TIMER = ("workflow", "retention")


class Retention:
    """Removes executions that ended more than *kept_ms* ago; None keeps them for ever."""

    def __init__(self, store: FlowStore, timers: Timers, clock: Clock, kept_ms: int | None) -> None:
        self._store = store
        self._timers = timers
        self._clock = clock
        self._kept_ms = kept_ms

    def start(self) -> None:
        """Begin to look, once the start is over."""
        if self._kept_ms is not None:
            self._look_in(FIRST_LOOK_MS)

    def close(self) -> None:
        """Look no more."""
        self._timers.cancel(_TIMER)

    def _look(self) -> None:
        assert self._kept_ms is not None
        before = Millis(self._clock.now() - self._kept_ms)
        more = self._store.clear_ended(before, PORTION_ROWS)
        self._look_in(PAUSE_MS if more else LOOK_MS)

    def _look_in(self, span_ms: int) -> None:
        self._timers.call_at(Millis(self._clock.now() + span_ms), _TIMER, self._look)


def kept_ms(days: int) -> int | None:
    """Return the time that *days* stands for; 0 is for ever."""
    return days * DAY if days else None
