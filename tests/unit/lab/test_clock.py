"""The clock in the user's hand: moves, freezes, waits for quiet."""

import asyncio
import contextlib
import random

import pytest

from emulator.kernel.clock import AdjustableClock, Millis
from emulator.kernel.instrumentation import Busy, Upcoming, Waiting
from emulator.kernel.timers import LoopTimers
from emulator.lab.clock import SkipEnded, TimeControl
from emulator.lab.clock_table import load_clock
from emulator.lab.errors import LabError
from emulator.storage.database import Database
from emulator.storage.migration import Schema, migrate


class Work:
    """A service whose work the test decides."""

    def __init__(self):
        self.running = []
        self.events = []
        self.waits = []

    def busy(self, now):
        return list(self.running)

    def upcoming(self, now, limit):
        return [event for event in self.events if event.at > now]

    def waiting(self):
        return list(self.waits)


class Bench:
    """A clock, its timers and a service."""

    def __init__(self, database):
        self.clock = AdjustableClock()
        self.timers = LoopTimers(self.clock, asyncio.get_running_loop())
        self.ended = None
        self.work = Work()
        self.database = database
        self.control = TimeControl(database, self.clock, self.timers, self._watch, [self.work])

    def _watch(self, notify):
        self.ended = notify
        return lambda: None


@pytest.fixture
def database():
    opened = Database(None)
    from pathlib import Path

    import emulator.lab

    migrate(opened, [Schema("lab", Path(emulator.lab.__file__).parent / "schema")])
    yield opened
    opened.close()


@contextlib.asynccontextmanager
async def a_bench(database):
    bench = Bench(database)
    try:
        yield bench
    finally:
        bench.timers.close()


async def test_a_move_stops_at_every_timer_in_order(database):
    """Each timer sees its own time, also those that timers set on the way."""
    async with a_bench(database) as bench:
        bench.clock.freeze()
        start, seen = bench.clock.now(), []

        def first():
            seen.append(("first", bench.clock.now() - start))
            bench.timers.call_at(
                Millis(start + 2_000), "second", lambda: seen.append(("second", bench.clock.now() - start))
            )

        bench.timers.call_at(Millis(start + 3_000), "third", lambda: seen.append(("third", bench.clock.now() - start)))
        bench.timers.call_at(Millis(start + 1_000), "first", first)
        moved = await bench.control.advance(10_000)

        assert seen == [("first", 1_000), ("second", 2_000), ("third", 3_000)]
        assert (moved.ran, moved.busy, bench.clock.now() - start) == (3, (), 10_000)


async def test_a_frozen_clock_stands_and_goes_on_from_there(database):
    """No timer comes by itself while it stands."""
    async with a_bench(database) as bench:
        await bench.control.set_frozen(frozen=True)
        stood = bench.clock.now()
        fired = asyncio.Event()
        bench.timers.call_at(Millis(stood + 20), "soon", fired.set)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await fired.wait()
        assert bench.clock.now() == stood

        await bench.control.set_frozen(frozen=False)
        async with asyncio.timeout(5):
            await fired.wait()
        assert stood + 20 <= bench.clock.now() < stood + 5_000


async def test_the_clock_only_moves_forward(database):
    """An earlier time is refused and nothing moves."""
    async with a_bench(database) as bench:
        bench.clock.freeze()
        before = bench.clock.now()
        with pytest.raises(LabError, match=r"^InvalidClock"):
            await bench.control.move_to(Millis(before - 1))
        assert bench.clock.now() == before


async def test_the_time_is_kept(database):
    """Another run over the same state goes on in the future; a reset brings it back."""
    async with a_bench(database) as bench:
        await bench.control.advance(86_400_000)

    async with a_bench(database) as bench:
        load_clock(database, bench.clock)
        ahead_ms = bench.clock.now() - bench.clock.system()
        bench.control.reset()
        await database.committed()
        after_reset_ms = bench.clock.now() - bench.clock.system()

    assert abs(ahead_ms - 86_400_000) < 1_000
    assert abs(after_reset_ms) < 1_000
    assert database.read("SELECT count(*) FROM lab_clock").fetchone()[0] == 0


async def test_settling_waits_for_what_works(database):
    """It returns when the work has ended, and with the work when the time is over."""
    async with a_bench(database) as bench:
        bench.work.running.append(Busy(kind="call", resource="s/f", detail="req-1"))
        left = await bench.control.settle(0.05)
        assert [(each.kind, each.resource, each.detail) for each in left] == [("call", "s/f", "req-1")]

        waiting = asyncio.ensure_future(bench.control.settle(30))
        await asyncio.sleep(0)
        bench.work.running.clear()
        bench.ended()
        assert await waiting == []


async def test_services_at_a_standstill_are_not_quiet(database):
    """Neither a wait nor a skip ends, and no timer that is due runs, before they have gone on."""
    async with a_bench(database) as bench:
        bench.clock.freeze()
        start, ran = bench.clock.now(), []
        bench.timers.call_at(Millis(start + 60_000), "retry", lambda: ran.append("retry"))
        with bench.control.standstill():
            (left,) = await bench.control.settle(0.05)
            assert left.kind == "restart"
            with pytest.raises(SkipEnded) as ended:
                await bench.control.skip(None, limit_ms=120_000, timeout_s=0.05)
            assert [each["kind"] for each in ended.value.active] == ["restart"]
            bench.clock.freeze(Millis(start + 60_000))
            assert await bench.control.settle(0.05)
            assert ran == []
            waiting = asyncio.ensure_future(bench.control.settle(30))
            await asyncio.sleep(0)
        assert await waiting == []
        assert ran == ["retry"]


async def test_a_skip_jumps_to_what_comes_and_stops_when_the_condition_holds(database):
    """Recurring events are jumped to while the condition is not quiet."""
    async with a_bench(database) as bench:
        bench.clock.freeze()
        start = bench.clock.now()
        bench.work.events = [
            Upcoming(at=Millis(start + each * 60_000), what="schedule", resource="flow", recurring=True)
            for each in range(1, 10)
        ]
        moved = await bench.control.skip(lambda: bench.clock.now() >= start + 180_000, limit_ms=3_600_000, timeout_s=5)
        assert bench.clock.now() - start == 180_000
        assert moved.busy == ()
        assert moved.begin == start
        assert [each.at - start for each in moved.jumped] == [60_000, 120_000, 180_000]
        await bench.control.skip(None, limit_ms=3_600_000, timeout_s=5)
        assert bench.clock.now() - start == 180_000


async def test_a_skip_that_cannot_end_says_what_waits(database):
    """Nothing comes by itself: the answer names the token; past the limit it names the next event."""
    async with a_bench(database) as bench:
        bench.clock.freeze()
        bench.work.waits = [Waiting(resource="flow/run", detail="the token of step Approve")]
        with pytest.raises(SkipEnded, match="nothing is left") as ended:
            await bench.control.skip(lambda: False, limit_ms=1_000, timeout_s=5)
        assert [each["for"] for each in ended.value.active] == ["the token of step Approve"]
        bench.work.events = [Upcoming(at=Millis(bench.clock.now() + 5_000), what="retry", resource="flow/run")]
        with pytest.raises(SkipEnded, match="retry: flow/run"):
            await bench.control.skip(lambda: False, limit_ms=1_000, timeout_s=5)


async def test_what_was_before_a_skip_will_do_where_nothing_more_comes(database):
    """A skip goes on while something is to come before its limit."""
    async with a_bench(database) as bench:
        bench.clock.freeze()
        start = bench.clock.now()
        bench.work.events = [Upcoming(at=Millis(start + each), what="retry", resource="flow/run") for each in (5, 50)]

        moved = await bench.control.skip(lambda: False, limit_ms=10, timeout_s=5, otherwise=lambda: True)

        assert [each.at - start for each in moved.jumped] == [5]
        await bench.control.skip(lambda: False, limit_ms=1_000, timeout_s=5, otherwise=lambda: True)
        assert bench.clock.now() - start == 50
        with pytest.raises(SkipEnded, match="nothing is left"):
            await bench.control.skip(lambda: False, limit_ms=1_000, timeout_s=5, otherwise=lambda: False)


async def test_a_move_ends_with_its_request_and_says_so(database):
    """A caller that goes away leaves the clock where it has come, and the next move starts with a clean slate."""
    async with a_bench(database) as bench:
        bench.clock.freeze()
        start = bench.clock.now()
        bench.work.running.append(Busy(kind="call", resource="f", since=start, detail=""))
        move = asyncio.get_running_loop().create_task(bench.control.move_to(Millis(start + 86_400_000)))
        for _ in range(5):
            await asyncio.sleep(0)
        move.cancel()
        with pytest.raises(asyncio.CancelledError):
            await move
        ended = bench.control.view()
        bench.work.running.clear()
        await bench.control.advance(1)

        assert ended["now_ms"] == start
        assert ended["broken_off"]["reached"] == ended["now"] < ended["broken_off"]["to"]
        assert "broken_off" not in bench.control.view()


async def test_skips_at_once_share_the_events(database):
    """Each jumps to what is next when its turn has come, never back to what another has passed."""
    async with a_bench(database) as bench:
        start, fired = bench.clock.now(), []
        times = [start + 100_000 * number for number in range(1, 9)]
        bench.work.events = [Upcoming(at=Millis(time), what="retry", resource="r") for time in times]
        for time in times:
            bench.timers.call_at(Millis(time), ("retry", time), lambda time=time: fired.append(time))

        def reached(time):
            return lambda: bench.clock.now() >= time

        order = random.Random(7).sample(times, len(times)) * 2
        skips = [bench.control.skip(reached(time), limit_ms=3_600_000, timeout_s=20) for time in order]
        moved = await asyncio.gather(*skips)

        assert fired == times
        assert times[-1] <= bench.clock.now() < times[-1] + 60_000
        assert sum(each.ran for each in moved) == len(times)
