"""The timers of all services: waits, timeouts, redelivery, retries, schedules, expiry.

A timer is an absolute time, a key and a function. The key names the purpose (``("wait", execution, step)``), so
setting the same key again moves the timer. All timers live in one heap with a single wake-up of the event loop
behind it: ten thousand parked timers cost memory only.
"""

import asyncio
import logging
from collections.abc import Callable, Hashable
from heapq import heapify, heappop, heappush

from emulator.kernel.clock import Clock, Millis, VirtualClock
from emulator.kernel.tracing import shared_context
from emulator.kernel.turnstile import Turnstile

_log = logging.getLogger(__name__)

LONGEST_SLEEP_S = 2.0
"""The wall clock may be stepped while the loop sleeps on the monotonic one, so no sleep is longer than this."""

STEP_MS = 1000
"""A clock set back by less than this is ignored."""

AT_ONCE = 100
"""The most timers run in one turn of the loop, so that requests are served between timers of the same time."""

LEAP_MS = 60_000
"""A clock set forward by less than this is not logged: nothing is late by more."""


def look_again_at(oldest: Millis | None, kept_ms: int, now: Millis, every_ms: int) -> Millis:
    """Return when to look again for rows to remove: a multiple of *every_ms* from *now*, not before one can be due.

    A row is removed *kept_ms* after its end; *oldest* is the earliest end of a row, None without rows. A row that ends
    from now on is due *kept_ms* from now at the earliest, so a look before that would find nothing, and a clock moved
    by years need not stop for it.
    """
    span_ms = kept_ms if oldest is None else max(0, min(oldest, now) + kept_ms - now)
    return Millis(now + max(1, -(-span_ms // every_ms)) * every_ms)


class Timers:
    """The heap of pending timers. Subclasses decide when `run_due` is called."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.turns = Turnstile()
        """The turnstile of effects; timers of the same time take their turns there too."""
        self._heap: list[tuple[Millis, int, Hashable]] = []
        self._live: dict[Hashable, tuple[int, Millis, Callable[[], None]]] = {}
        self._sequence = 0
        self._step_listeners: list[Callable[[Millis], None]] = []

    def on_step_back(self, notice: Callable[[Millis], None]) -> None:
        """Call *notice* with the old clock's time whenever the clock is set back by more than a second.

        Timers keep their absolute times, which may then be far off. An owner that counts them from the present has to
        set them again; one that compares stored times with the present has to keep due what was due by the old clock.
        """
        self._step_listeners.append(notice)

    def call_at(self, time: Millis, key: Hashable, fn: Callable[[], None]) -> None:
        """Call *fn* once at *time*, or as soon as possible when that has passed.

        A timer already set under *key* is replaced. Timers of the same time run in the order they were set.
        """
        self._sequence += 1
        self._live[key] = (self._sequence, time, fn)
        heappush(self._heap, (time, self._sequence, key))
        if self._heap[0][1] == self._sequence:
            self._rearm()

    def cancel(self, key: Hashable) -> None:
        """Drop the timer under *key*; does nothing when there is none."""
        self._live.pop(key, None)
        if len(self._heap) > 64 and len(self._heap) > 2 * len(self._live):
            self._heap = [entry for entry in self._heap if self._is_live(entry)]
            heapify(self._heap)

    def clear(self) -> None:
        """Drop every timer: the state they were set for is about to be replaced."""
        self._live.clear()
        self._heap.clear()
        self._rearm()

    def next_at(self) -> Millis | None:
        """Return the time of the earliest pending timer, or None."""
        while self._heap and not self._is_live(self._heap[0]):
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due_at(self, key: Hashable) -> Millis | None:
        """Return when the timer under *key* is due, None when there is none."""
        live = self._live.get(key)
        return None if live is None else live[1]

    def run_due(self, most: int | None = None) -> int:
        """Run timers whose time has come and return how many ran; one that raises does not stop the others.

        With *most*, run at most that many, and none set meanwhile: work done in portions, each setting the timer of the
        next, then leaves turns of the loop to others.
        """
        now = self._clock.now()
        ran, last = 0, self._sequence
        while (time := self.next_at()) is not None and time <= now:
            if most is not None and (ran == most or self._heap[0][1] > last):
                break
            key = heappop(self._heap)[2] if not self.turns.active else self._next_of(time)
            fn = self._live.pop(key)[2]
            ran += 1
            try:
                fn()
            except Exception:
                _log.exception("timer %r failed", key)
        return ran

    def _next_of(self, time: Millis) -> Hashable:
        """Take the next timer of *time*, the earliest, out of the heap; a schedule may choose which. Return its key."""
        if not self.turns.varies("timer"):
            return heappop(self._heap)[2]
        due = []
        while self.next_at() == time:
            due.append(heappop(self._heap))
        first = self.turns.arranged("timer", due, lambda entry: _shown(entry[2]), 1)[0]
        for entry in due:
            if entry is not first:
                heappush(self._heap, entry)
        return first[2]

    def __len__(self) -> int:
        return len(self._live)

    def _is_live(self, entry: tuple[Millis, int, Hashable]) -> bool:
        live = self._live.get(entry[2])
        return live is not None and live[0] == entry[1]

    def _rearm(self) -> None:
        """Called when the earliest time has changed."""


def _shown(key: Hashable) -> str:
    return " ".join(str(part) for part in key) if isinstance(key, tuple) else str(key)


class LoopTimers(Timers):
    """Timers driven by the running asyncio loop."""

    def __init__(self, clock: Clock, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(clock)
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None
        self._context = shared_context()
        self._may_run: Callable[[Callable[[], None]], bool] | None = None
        self._ahead_ms = self._ahead_of_monotonic_ms()

    def close(self) -> None:
        """Stop waking the loop; pending timers are dropped."""
        self.clear()

    def run_only_when(self, may_run: Callable[[Callable[[], None]], bool] | None) -> None:
        """Call *may_run* before due timers run; None removes it.

        It returns True to let them run now, or False, and then calls its argument once they may.
        """
        self._may_run = may_run

    def _rearm(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        due = self.next_at()
        delay_s = None if due is None else self._clock.seconds_until(due)
        if delay_s is not None:
            self._handle = self._loop.call_later(min(delay_s, LONGEST_SLEEP_S), self._wake, context=self._context)

    def clock_moved(self) -> None:
        """Wait again for the earliest timer, after the emulator's time was moved, frozen or unfrozen."""
        self._rearm()

    def _wake(self) -> None:
        self._handle = None
        ahead_ms = self._ahead_of_monotonic_ms()
        step_ms = round(ahead_ms - self._ahead_ms)
        self._ahead_ms = ahead_ms
        if step_ms < -STEP_MS:
            self._stepped_back(-step_ms)
        elif step_ms > LEAP_MS:
            _log.warning("the clock has been set forward by %d s, or the machine has slept", round(step_ms / 1000))
        due = self.next_at()
        if due is not None and due <= self._clock.now():
            if self._may_run is not None and not self._may_run(self._rearm):
                return
            self.run_due(AT_ONCE)
        self._rearm()

    def _stepped_back(self, span_ms: int) -> None:
        _log.warning(
            "the clock has been set back by %d s: what is due stays due, what waits for a time still waits for it",
            round(span_ms / 1000),
        )
        before = Millis(self._clock.now() + span_ms)
        for notice in self._step_listeners:
            try:
                notice(before)
            except Exception:
                _log.exception("a handler of a step of the clock failed")

    def _ahead_of_monotonic_ms(self) -> float:
        return self._clock.system() - self._clock.monotonic() * 1000


class VirtualTimers(Timers):
    """Timers driven by moving a virtual clock."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock)
        self._virtual = clock

    def advance(self, span_ms: int) -> int:
        """Move the clock forward by *span_ms*, stopping at each timer on the way; return how many timers ran."""
        end = self._virtual.now() + span_ms
        ran = self.run_due()
        while (time := self.next_at()) is not None and time <= end:
            self._virtual.move_to(time)
            ran += self.run_due()
        self._virtual.move_to(end)
        return ran
