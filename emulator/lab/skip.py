"""Skipping: settle, look, jump to the next event, again, until a condition holds.

A jump goes to the next event any service expects, timers on the way included. Things that come again for ever and
housekeeping are no reason to jump while quiet is waited for. When the condition cannot come true the answer says what
waits for whom.
"""

from collections.abc import Callable
from typing import Any

from emulator.kernel.clock import Clock
from emulator.kernel.observing import Upcoming
from emulator.lab.clock import Moved, TimeControl
from emulator.lab.shown import shown_waiting, shown_work

_LOOK_AHEAD = 200
"""Events looked at to find one that is a reason to jump."""


class SkipEnded(Exception):
    """The condition did not come true. ``reason`` says why in a sentence, ``active`` what works or waits."""

    def __init__(self, reason: str, active: list[dict[str, Any]]) -> None:
        self.reason = reason
        self.active = active
        super().__init__(reason)


class Skipper:
    """Skips time with *control*, asking it what comes and what waits."""

    def __init__(self, control: TimeControl, clock: Clock) -> None:
        self._control = control
        self._clock = clock

    async def skip(self, holds: Callable[[], bool] | None, *, limit_ms: int, timeout_s: float) -> Moved:
        """Move the clock until *holds* returns true, or with None until nothing is left to happen.

        *limit_ms* bounds the emulator's time that may pass, *timeout_s* the real time.

        Raises: SkipEnded.
        """
        end = self._clock.now() + limit_ms
        deadline = self._clock.monotonic() + timeout_s
        ran = 0
        while True:
            left_s = deadline - self._clock.monotonic()
            busy = await self._control.settle(max(0.0, left_s))
            if holds is not None and holds():
                return Moved(ran=ran, busy=tuple(busy))
            if left_s <= 0 or busy:
                raise SkipEnded(f"{timeout_s:g} s of real time are over", [shown_work(each) for each in busy])
            event = self._reason_to_jump(quiet=holds is None)
            if event is None:
                if holds is None:
                    return Moved(ran=ran)
                raise SkipEnded("nothing is left to happen by itself, and the condition does not hold", self._stuck())
            if event.at > end:
                later = f"{event.what} of {event.resource}" if event.resource else event.what
                raise SkipEnded(f"the limit is reached; the next event ({later}) comes after it", self._stuck())
            moved = await self._control.move_to(event.at)
            ran += moved.ran

    def _reason_to_jump(self, *, quiet: bool) -> Upcoming | None:
        events = self._control.upcoming(_LOOK_AHEAD)
        return next((event for event in events if not (quiet and event.recurring)), None)

    def _stuck(self) -> list[dict[str, Any]]:
        waiting = [shown_waiting(each) for each in self._control.waiting()]
        forever = [
            {"kind": "recurring", "resource": event.resource, "since": None, "for": f"{event.what}, again and again"}
            for event in self._control.upcoming(_LOOK_AHEAD)
            if event.recurring
        ]
        return waiting + forever
