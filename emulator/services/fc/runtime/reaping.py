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
        """Whether the timer is set; a plain attribute, because the end of every call reads it."""
        self._look_at = Millis(0)

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start reaping, by a timer of *loop*."""
        self._timers = LoopTimers(self._clock, loop)

    def close(self) -> None:
        """Stop reaping."""
        self._timers.close()

    def clock_moved(self) -> None:
        """Set the timer anew after the emulator's clock was moved or frozen."""
        if self.armed:
            self._timers.clock_moved()

    def arm(self, instance: Instance) -> None:
        """Set the timer for the end of an idle instance's idle time, unless the timer is set for an earlier time.

        It is set for *idle_ms* from now at the latest, so that instances with the usual idle time need not set it.
        """
        due = min(self._due(instance), Millis(self._clock.now() + self._idle_ms))
        if not self.armed or due < self._look_at:
            self.armed, self._look_at = True, due
            self._timers.call_at(due, "reap", self._look)

    def _due(self, instance: Instance) -> Millis:
        return Millis(instance.idle_since + (instance.image.idle_s * SECOND or self._idle_ms))

    def _look(self) -> None:
        """Retire instances that have been idle for long enough, and set the timer for the next one."""
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
