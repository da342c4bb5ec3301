"""Ending instances that have been idle for long enough.

Time spent idle follows the emulator's clock. Instances that are kept ready, have a session, or run a command beside
their calls are passed over. Source: terraform-provider-alicloud, ``idle_timeout``: an instance without requests for
that long is destroyed, and -1 means the platform's own time, which is not documented.
"""

import asyncio
from collections.abc import Callable, Iterable

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.timers import LoopTimers
from emulator.services.fc.runtime.instance import Instance


class Reaper:
    """Calls *retire* for those of *instances* that have been idle for as long as their functions say, else *idle_ms*.

    One timer serves them all.
    """

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
        self._look_at = Millis(0)

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

    def arm(self, instance: Instance) -> None:
        """Look when an instance that is idle now will have been so for long enough, unless it looks earlier.

        It looks after *idle_ms* at the latest, so that one which is idle meanwhile for as long as usual need not ask.
        """
        due = min(self._due(instance), Millis(self._clock.now() + self._idle_ms))
        if not self.armed or due < self._look_at:
            self.armed, self._look_at = True, due
            self._timers.call_at(due, "reap", self._look)

    def _due(self, instance: Instance) -> Millis:
        return Millis(instance.idle_since + (instance.image.idle_s * SECOND or self._idle_ms))

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
            if self._due(instance) <= now:
                self._retire(instance)
            else:
                self.arm(instance)
