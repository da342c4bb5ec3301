"""Control of the emulator's clock: moving it timer by timer, freezing it, waiting until idle, skipping to a condition.

A move stops at every timer on the way, in order, and waits until the emulator is idle before it goes on, so effects of
effects happen at their own times and the same input gives the same history in every run. Waiting sleeps until some work
has ended; without a waiter it costs nothing.

A skip repeats these steps until its condition holds: settle, check, jump to the next event. Events that recur for ever
and housekeeping are not jumped to when the skip waits until nothing is left to happen.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from heapq import nsmallest
from typing import Any

from emulator.kernel.clock import FURTHEST, SECOND, AdjustableClock, Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.instrumentation import Busy, Observed, Upcoming, Waiting, Watchers
from emulator.kernel.timers import AT_ONCE, LoopTimers
from emulator.lab.clock_table import keep_clock, load_clock
from emulator.lab.errors import LabError
from emulator.storage.database import Database
from emulator.wire.dates import iso_millis

_log = logging.getLogger(__name__)


def shown_work(busy: Busy) -> dict[str, Any]:
    """Return unfinished work: ``kind``, ``resource``, ``since``, ``for``."""
    since = iso_millis(busy.since) if busy.since else None
    return {"kind": busy.kind, "resource": busy.resource, "since": since, "for": busy.detail}


def shown_event(event: Upcoming, now: Millis) -> dict[str, Any]:
    """Return a coming event: ``at``, ``in_ms``, ``what``, ``resource`` and the resource's ``kind``."""
    return {
        "at": iso_millis(event.at),
        "in_ms": event.at - now,
        "what": event.what,
        "resource": event.resource,
        "kind": event.kind,
    }


def shown_waiting(waiting: Waiting) -> dict[str, Any]:
    """Return what waits for the outside, in the form of unfinished work."""
    return {"kind": "waiting", "resource": waiting.resource, "since": None, "for": waiting.detail}


SETTLE_S = 5.0
"""Seconds that `TimeControl.settle` waits by default."""

STEP_SETTLE_S = 60.0
"""Seconds that a move waits at one timer for the work it set off; a function runs in real time, at most ten minutes."""

NEXT_LISTED = 50

_QUIET_TURNS = 3
"""Consecutive turns of the loop without work that count as idle: work that has just ended may set off more."""


Look = Callable[[], bool]
Watch = Callable[[Callable[[], None]], Callable[[], None]]
"""Registers a callback for the end of any work and returns the function that removes it."""


@frozen
class Moved:
    """The result of moving the clock: how many timers ran, and the unfinished work (empty: settled).

    Of a skip also ``begin``, its start, and the events it has ``jumped`` over or to, the first `JUMPS_TOLD`.
    """

    ran: int
    busy: tuple[Busy, ...] = ()
    begin: Millis = Millis(0)
    jumped: tuple[Upcoming, ...] = ()


JUMPS_TOLD = 1_000

_LOOK_AHEAD = 200
"""How many coming events are searched for one to jump to."""


def _time_is_over(timeout_s: float) -> str:
    return f"{timeout_s:g} s of real time are over; a longer timeout (timeout=, --timeout) waits for more"


class SkipEnded(Exception):
    """A skip ended before its condition held. ``reason`` is a sentence, ``active`` the unfinished or waiting work."""

    def __init__(self, reason: str, active: list[dict[str, Any]]) -> None:
        self.reason = reason
        self.active = active
        super().__init__(reason)


class TimeControl:
    """Control of the emulator's time.

    *observed* are the services and the gateway. *watch* registers a callback for the end of a request. *moved* is
    called after every change of the clock, to pass the time on to function instances.
    """

    def __init__(
        self,
        database: Database,
        clock: AdjustableClock,
        timers: LoopTimers,
        watch: Watch,
        observed: Sequence[Observed],
        moved: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._timers = timers
        self.gone_on = Watchers()
        """Called when the services have resumed after a standstill."""
        self._watched = (database.watchers.add, watch, self.gone_on.add)
        self._observed = observed
        self._standing_still = False
        self._moved = moved
        self._broken_off: tuple[Millis, Millis] | None = None
        self._lock = asyncio.Lock()

    def view(self) -> dict[str, Any]:
        """Return the time and the coming events, as GET clock answers.

        ``broken_off`` is in the answer when the request of the last move was cancelled: the time it was to reach, and
        the time it has reached.
        """
        told = self.told()
        shown = {**told, "next": [shown_event(each, told["now_ms"]) for each in self.upcoming(NEXT_LISTED)]}
        if self._broken_off is not None:
            end, reached = map(iso_millis, self._broken_off)
            shown["broken_off"] = {"to": end, "reached": reached}
        return shown

    def told(self) -> dict[str, Any]:
        """Return the time, its offset from the machine's, and whether it is frozen."""
        now = self._clock.now()
        return {
            "now": iso_millis(now),
            "now_ms": now,
            "offset_ms": self._clock.offset_ms if self._clock.frozen_at is None else now - self._clock.system(),
            "frozen": self._clock.frozen_at is not None,
        }

    def upcoming(self, limit: int) -> list[Upcoming]:
        """Return the next *limit* events of all services, earliest first."""
        now = self._clock.now()
        events = (event for source in self._observed for event in source.upcoming(now, limit))
        return nsmallest(limit, events, key=lambda event: event.at)

    def busy(self) -> list[Busy]:
        """Return all unfinished work, due timers and effects waiting for their turn included."""
        now = self._clock.now()
        work = [each for source in self._observed for each in source.busy(now)]
        if self._timers_are_due():
            work.append(Busy(kind="timer", resource="", since=self._timers.next_at() or now, detail="due now"))
        if self._standing_still:
            work.append(Busy(kind="restart", resource="", detail="services that go on from the state file"))
        work += (
            Busy(kind=step.kind, resource=step.name, detail="its turn", waits="turn")
            for step in self._timers.turns.waiting.values()
        )
        return work

    def waiting(self) -> list[Waiting]:
        """Return the work that only the outside can finish."""
        return [each for source in self._observed for each in source.waiting()]

    async def settle(self, timeout_s: float = SETTLE_S) -> list[Busy]:
        """Wait until the emulator is idle; return the work unfinished after *timeout_s* seconds of real time."""
        deadline = self._clock.monotonic() + timeout_s
        quiet_turns = 0
        while True:
            if self._database.dirty:
                await self._database.committed()
            if self._is_quiet():
                quiet_turns += 1
                if quiet_turns > _QUIET_TURNS:
                    return []
                await asyncio.sleep(0)
                continue
            quiet_turns = 0
            left_s = deadline - self._clock.monotonic()
            if left_s <= 0:
                return self.busy()
            if self._timers_are_due() and not self._standing_still:
                await self._database.writable()
                with self._database.eras.for_others():
                    self._timers.run_due(AT_ONCE)
                await asyncio.sleep(0)
            else:
                await self._wait_for_change(left_s)

    def _is_quiet(self) -> bool:
        """Whether `busy` would return nothing; a move asks several times at every stop."""
        if self._standing_still:
            return False
        now = self._clock.now()
        for source in self._observed:
            for _ in source.busy(now):
                return False
        return not self._timers.turns.waiting and not self._timers_are_due()

    def _timers_are_due(self) -> bool:
        due = self._timers.next_at()
        return due is not None and due <= self._clock.now()

    async def _wait_for_change(self, timeout_s: float) -> None:
        loop = asyncio.get_running_loop()
        changed: asyncio.Future[None] = loop.create_future()

        def notice() -> None:
            if not changed.done():
                changed.set_result(None)

        stops = [watch(notice) for watch in self._watched]
        over = loop.call_later(timeout_s, notice)
        try:
            await changed
        finally:
            over.cancel()
            for stop in stops:
                stop()

    async def advance(self, span_ms: int) -> Moved:
        """Move the clock *span_ms* ahead.

        Raises: LabError (InvalidClock) past the year 9999.
        """
        async with self._alone():
            return await self._move_to(Millis(self._clock.now() + span_ms))

    async def move_to(self, end: Millis) -> Moved:
        """Move the clock ahead to *end*.

        Raises: LabError (InvalidClock) when that is past.
        """
        async with self._alone():
            if end < self._clock.now():
                raise LabError(
                    "InvalidClock", f"the clock only moves forward, and it is {iso_millis(self._clock.now())}"
                )
            return await self._move_to(end)

    async def next(self, count: int = 1) -> Moved:
        """Move the clock to the next event, *count* times; it stays where it is when no event is coming."""
        ran = 0
        busy: tuple[Busy, ...] = ()
        async with self._alone():
            await self.settle(STEP_SETTLE_S)
            for _ in range(count):
                events = self.upcoming(1)
                if not events:
                    break
                moved = await self._move_to(events[0].at)
                ran, busy = ran + moved.ran, moved.busy
        return Moved(ran=ran, busy=busy)

    async def skip(
        self, holds: Look | None, *, limit_ms: int, timeout_s: float, otherwise: Look = lambda: False
    ) -> Moved:
        """Move the clock until *holds* returns true, or, if it is None, until nothing is left to happen.

        *limit_ms* bounds the emulator's time that may pass, *timeout_s* the real time. When no event is left before the
        limit, *otherwise* is asked whether the condition holds all the same.

        Raises: SkipEnded.
        """
        begin = self._clock.now()
        end = Millis(begin + limit_ms)
        deadline = self._clock.monotonic() + timeout_s
        ran = 0
        jumped: list[Upcoming] = []
        self._database.eras.outlast_restarts()
        while True:
            left_s = deadline - self._clock.monotonic()
            busy = await self.settle(max(0.0, left_s))
            if holds is not None and holds():
                return Moved(ran=ran, busy=tuple(busy), begin=begin, jumped=tuple(jumped))
            if left_s <= 0 or busy:
                raise SkipEnded(_time_is_over(timeout_s), [shown_work(each) for each in busy])
            async with self._lock_before(deadline, timeout_s):
                if not self._is_quiet() or (holds is not None and holds()):
                    continue  # another move of the clock came first
                event, passed = self._next_reason(holds, otherwise, end, limit_ms)
                if event is None:
                    return Moved(ran=ran, begin=begin, jumped=tuple(jumped))
                jumped += passed[: JUMPS_TOLD - len(jumped)]
                moved = await self._move_to(max(event.at, self._clock.now()))
            ran += moved.ran

    def _next_reason(
        self, holds: Look | None, otherwise: Look, end: Millis, limit_ms: int
    ) -> tuple[Upcoming | None, list[Upcoming]]:
        """Return the event that a skip jumps to, and those on the way, itself included; None to end the skip.

        Raises: SkipEnded when there is none before *end* though the condition does not hold.
        """
        coming = self.upcoming(_LOOK_AHEAD)
        event = next((each for each in coming if holds is not None or not each.recurring), None)
        if (event is None and holds is None) or ((event is None or event.at > end) and otherwise()):
            return None, []
        if event is None:
            raise SkipEnded("nothing is left to happen by itself, and the condition does not hold", self._stuck())
        if event.at > end:
            later = f"{event.what}: {event.resource}" if event.resource else event.what
            reason = (
                f"the limit of {limit_ms / SECOND:g} s is reached; the next event ({later}) comes after it; "
                "a longer limit (limit=, --limit), such as 3h, goes past it"
            )
            raise SkipEnded(reason, self._stuck())
        return event, [each for each in coming if each.at <= event.at]

    @asynccontextmanager
    async def _lock_before(self, deadline: float, timeout_s: float) -> AsyncIterator[None]:
        """Keep others from moving the clock. Raises: SkipEnded when another move takes longer than the skip may."""
        try:
            async with asyncio.timeout(max(0.0, deadline - self._clock.monotonic())):
                await self._lock.acquire()
        except TimeoutError:
            raise SkipEnded(_time_is_over(timeout_s), [shown_work(each) for each in self.busy()]) from None
        try:
            yield
        finally:
            self._lock.release()

    def _stuck(self) -> list[dict[str, Any]]:
        waiting = [shown_waiting(each) for each in self.waiting()]
        forever = [
            {"kind": "recurring", "resource": event.resource, "since": None, "for": f"{event.what}, again and again"}
            for event in self.upcoming(_LOOK_AHEAD)
            if event.recurring
        ]
        return waiting + forever

    async def set_frozen(self, *, frozen: bool) -> Moved:
        """Freeze the time, or let it run again from the frozen time on."""
        async with self._alone():
            if frozen:
                self._clock.freeze()
            else:
                self._clock.unfreeze()
            self._after_change()
            await self._database.committed()
        return Moved(ran=0)

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Keep others from moving the clock while the running work does, also over restarts in a chosen order."""
        self._database.eras.outlast_restarts()
        async with self._lock:
            self._database.eras.keep_up()  # nothing has been decided before
            yield

    async def _move_to(self, end: Millis) -> Moved:
        if end > FURTHEST:
            raise LabError("InvalidClock", "the clock goes up to the end of the year 9999")
        self._database.eras.check()
        was_frozen = self._clock.frozen_at is not None
        self._broken_off = None
        self._clock.freeze()
        self._moved()
        ran = 0
        busy: Iterable[Busy] = ()
        try:
            busy = await self.settle(STEP_SETTLE_S)
            while (due := self._timers.next_at()) is not None and due <= end:
                if due > self._clock.now():
                    self._clock.freeze(due)
                    self._moved()
                await self._database.writable()
                with self._database.eras.for_others():
                    ran += self._timers.run_due(AT_ONCE)
                if self._timers_are_due():
                    await asyncio.sleep(0)
                else:
                    busy = await self.settle(STEP_SETTLE_S)
            self._clock.freeze(end)
        except asyncio.CancelledError:
            self._broken_off = (end, self._clock.now())
            _log.warning(
                "the move of the clock to %s has ended at %s: whoever asked for it has gone",
                *map(iso_millis, self._broken_off),
            )
            raise
        finally:
            if not was_frozen:
                self._clock.unfreeze()
            self._after_change()
        await self._database.committed()
        return Moved(ran=ran, busy=tuple(busy))

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Keep the clock from being moved while the context lasts."""
        async with self._lock:
            yield

    @contextmanager
    def standstill(self) -> Iterator[None]:
        """Report work under way while the context lasts: services that were ended and not yet resumed report none."""
        self._standing_still = True
        try:
            yield
        finally:
            self._standing_still = False
            self.gone_on.notify()

    def take_up(self) -> None:
        """Reload the clock from its table, whose content was replaced; the time may go backwards."""
        self._broken_off = None
        self._clock.restore(0, None)
        load_clock(self._database, self._clock)
        self._timers.clock_moved()
        self._moved()

    def reset(self) -> None:
        """Return to the system's time."""
        self._broken_off = None
        self._clock.restore(0, None)
        self._after_change()

    def _after_change(self) -> None:
        keep_clock(self._database, self._clock)
        self._timers.clock_moved()
        self._moved()
