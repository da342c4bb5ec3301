"""Ending instances that have been idle for long enough.

Time spent idle follows the emulator's clock. Instances that are kept ready, have a session, or run a command beside
their calls are passed over. Source: assumed; the time until an idle instance ends is not documented.
"""

import asyncio
from collections.abc import Callable, Iterable

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.timers import LoopTimers
from emulator.services.fc.runtime.instance import Instance


class Reaper:
    """Calls *retire* for those of *instances* that have been idle for *idle_ms*; one timer serves them all."""

    def __init__(
        self,
        clock: Clock,
        idle_ms: int,
        instances: Callable[[], Iterable[Instance]],
        retire: Callable[[Instance], None],
    ) -> None:
        self._clock = clock
        self._idle_ms = idle_ms
        self._instances = instances
        self._retire = retire
        self.armed = False
        """Whether it will look; a plain attribute, because every call that ends asks."""

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin; the timer is one of *loop*."""
        self._timers = LoopTimers(self._clock, loop)

    def close(self) -> None:
        """End nothing any more."""
        self._timers.close()

    def clock_moved(self) -> None:
        """Look by the time that the emulator's clock has been moved to, or frozen at."""
        if self.armed:
            self._timers.clock_moved()

    def arm(self, idle_since: int) -> None:
        """Look when an instance that is idle since then will have been so for long enough."""
        self.armed = True
        self._timers.call_at(Millis(idle_since + self._idle_ms), "reap", self._look)

    def _look(self) -> None:
        """Retire what has been idle for long enough, and come back when the next one will have been."""
        self.armed = False
        now = self._clock.now()
        idle = [
            instance
            for instance in self._instances()
            if instance.calls == 0 and not (instance.provisioned or instance.on_exit or instance.seats)
        ]
        for instance in idle:
            if now - instance.idle_since >= self._idle_ms:
                self._retire(instance)
        waiting = [instance.idle_since for instance in idle if now - instance.idle_since < self._idle_ms]
        if waiting:
            self.arm(min(waiting))
