"""The timer heap."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.kernel.clock import Millis, SystemClock, VirtualClock
from emulator.kernel.timers import AT_ONCE, LoopTimers, VirtualTimers, look_again_at


@pytest.fixture
def timers():
    return VirtualTimers(VirtualClock(1_000))


def test_timers_run_in_order_of_their_instants_then_of_setting(timers):
    """Advancing runs everything due, earliest first; equal instants in the order they were set."""
    ran = []
    for name, instant in (("late", 1_300), ("first", 1_100), ("second", 1_100)):
        timers.call_at(Millis(instant), name, lambda name=name: ran.append(name))

    count = timers.advance(250)

    assert ran == ["first", "second"]
    assert count == 2
    assert timers.next_at() == 1_300


def test_setting_a_key_again_moves_the_timer(timers):
    """A key has one timer; the newest instant and function hold."""
    ran = []
    timers.call_at(Millis(1_100), "key", lambda: ran.append("old"))
    timers.call_at(Millis(1_200), "key", lambda: ran.append("new"))

    timers.advance(150)
    before = list(ran)
    timers.advance(100)

    assert before == []
    assert ran == ["new"]


def test_a_cancelled_timer_never_runs_and_leaves_no_trace(timers):
    """Cancelling frees the heap even when thousands are cancelled."""
    for number in range(5_000):
        timers.call_at(Millis(9_000 + number), number, lambda: None)
    for number in range(5_000):
        timers.cancel(number)

    assert timers.advance(100_000) == 0
    assert len(timers) == 0
    assert timers.next_at() is None


def test_a_timer_that_fails_does_not_stop_the_next(timers, caplog):
    """The failure is logged; the rest runs."""
    ran = []
    timers.call_at(Millis(1_001), "bad", lambda: 1 / 0)
    timers.call_at(Millis(1_002), "good", lambda: ran.append("good"))

    timers.advance(10)

    assert ran == ["good"]
    assert "timer 'bad' failed" in caplog.text


def test_a_timer_may_set_the_next_one_while_time_advances(timers):
    """Chained timers each see the clock at their own instant."""
    seen = []
    clock = timers._virtual

    def again():
        seen.append(clock.now())
        if len(seen) < 3:
            timers.call_at(Millis(clock.now() + 10), "again", again)

    timers.call_at(Millis(1_010), "again", again)
    timers.advance(100)

    assert seen == [1_010, 1_020, 1_030]
    assert clock.now() == 1_100


async def test_loop_timers_wake_the_loop():
    """With a running loop the earliest timer fires by itself, past instants at once."""
    clock = SystemClock()
    timers = LoopTimers(clock, asyncio.get_running_loop())
    fired = asyncio.Queue()
    now = clock.now()
    timers.call_at(Millis(now + 20), "soon", lambda: fired.put_nowait("soon"))
    timers.call_at(Millis(now - 5), "past", lambda: fired.put_nowait("past"))
    order = [await asyncio.wait_for(fired.get(), 5), await asyncio.wait_for(fired.get(), 5)]
    timers.close()
    assert order == ["past", "soon"]


async def test_timers_of_one_time_run_some_in_each_turn_of_the_loop():
    """Whatever else the loop has to do comes between them; none is left out."""
    clock = VirtualClock()
    timers = LoopTimers(clock, asyncio.get_running_loop())
    ran = []
    for number in range(3 * AT_ONCE + 7):
        timers.call_at(clock.now(), number, lambda number=number: ran.append(number))

    portions = []
    while sum(portions) < 3 * AT_ONCE + 7:
        before = len(ran)
        await asyncio.sleep(0)
        portions.append(len(ran) - before)
    timers.close()

    assert max(portions) == AT_ONCE
    assert ran == list(range(3 * AT_ONCE + 7))


async def test_work_that_sets_its_next_timer_for_now_leaves_turns_to_others():
    """Each portion has a turn of its own."""
    clock = VirtualClock()
    timers = LoopTimers(clock, asyncio.get_running_loop())
    portions = []

    def work():
        portions.append(turn)
        if len(portions) < 5:
            timers.call_at(clock.now(), "work", work)

    timers.call_at(clock.now(), "work", work)
    for turn in range(20):  # noqa: B007 - `work` reads it
        await asyncio.sleep(0)
    timers.close()

    assert len(set(portions)) == len(portions) == 5


@given(
    ends=st.lists(st.integers(0, 5_000), max_size=6),
    kept=st.integers(1, 1_000),
    every=st.integers(1, 300),
)
def test_rows_go_at_the_same_time_however_seldom_they_are_looked_for(ends, kept, every):
    """Looking only when something can go removes each row at the tick at which looking at every tick would."""

    def removed(next_look):
        times, now, left = {}, 0, sorted(enumerate(ends), key=lambda row: row[1])
        while left:
            for row, end in [each for each in left if each[1] < now - kept]:
                times[row] = now
                left.remove((row, end))
            now = next_look(min((end for _, end in left if end <= now), default=None), now)
        return times

    seldom = removed(lambda oldest, now: look_again_at(oldest, kept, now, every))

    assert seldom == removed(lambda oldest, now: now + every)


def test_the_time_of_a_timer_is_known_without_a_look_at_the_others(timers):
    """Of one that was set again the latest; of one that has run, was cancelled or never set none."""

    class Unread(list):
        def __iter__(self):
            raise AssertionError("the timers were walked through")

    now = timers._virtual.now()
    timers._heap = Unread()
    for number in range(20):
        timers.call_at(now + number, number, lambda: None)
    timers.call_at(now + 500, 3, lambda: None)
    timers.cancel(4)
    timers.run_due()

    assert [timers.due_at(key) for key in (0, 3, 4, 5, "none")] == [None, now + 500, None, now + 5, None]
