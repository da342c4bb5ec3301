"""Effects wait for their turn and go one at a time, in the order that is chosen."""

import asyncio

import pytest

from emulator.kernel.clock import VirtualClock
from emulator.kernel.timers import VirtualTimers
from emulator.kernel.turnstile import KINDS, Turnstile, befallen


class Choices:
    """Takes what it is told to, by the number of the choice, else the first option."""

    def __init__(self, taken=None, order=KINDS, faults=()):
        self.made = []
        self._taken = taken or {}
        self._order = order
        self._faults = faults

    def varies(self, kind):
        return kind in self._order

    def verdicts(self, kind):
        return self._faults

    def choose(self, kind, options, steps=()):
        if len(options) < 2:
            return 0
        self.made.append((kind, list(options)))
        return self._taken.get(len(self.made) - 1, 0)


async def begun(turns, *effects):
    """Let effects ask for their turn; return what has gone, in order, and their tasks."""
    gone = []

    async def effect(kind, name):
        verdict = await turns.turn(kind, name)
        gone.append((name, verdict, befallen()))

    tasks = [asyncio.get_running_loop().create_task(effect(*each)) for each in effects]
    await asyncio.sleep(0)
    return gone, tasks


async def test_effects_do_not_wait_without_a_schedule():
    """They go at once, and nothing befalls them."""
    gone, _ = await begun(Turnstile(), ("push", "a"), ("call", "b"))

    assert gone == [("a", "", ""), ("b", "", "")]


async def test_longest_waiting_goes_first():
    """Choice 0 is the oldest; each release lets one go."""
    turns = Turnstile()
    turns.open(Choices())
    gone, tasks = await begun(turns, ("push", "a"), ("push", "b"))
    assert gone == []

    turns.release()
    await tasks[0]

    assert [each[0] for each in gone] == ["a"]
    assert [step.label for step in turns.waiting.values()] == ["push b"]
    turns.close()
    await tasks[1]


async def test_another_goes_first_if_that_is_chosen():
    """Only effects of kinds whose order is chosen overtake."""
    turns, choices = Turnstile(), Choices({0: 1}, order=("push",))
    turns.open(choices)
    gone, tasks = await begun(turns, ("call", "a"), ("async", "b"), ("push", "c"))

    turns.release()
    await tasks[2]

    assert choices.made == [("order", ["call a", "push c"])]
    assert [each[0] for each in gone] == ["c"]
    turns.close()
    await asyncio.gather(*tasks)


async def test_verdict_befalls_an_effect():
    """What makes it, and what it calls in its task, can ask."""
    turns = Turnstile()
    turns.open(Choices({0: 1}, faults=("lost-after",)))
    gone, tasks = await begun(turns, ("push", "a"))

    turns.release()
    await tasks[0]

    assert gone == [("a", "lost-after", "lost-after")]


async def test_steps_know_their_cause_and_what_was_touched():
    """What comes between two turns belongs to the first; a client's request is a step of its own."""
    turns = Turnstile()
    turns.open(Choices())
    _, first = await begun(turns, ("call", "a"))
    turns.release()
    await first[0]
    turns.touch("queue 1")
    _, second = await begun(turns, ("reply", "a"))
    turns.from_outside("SendMessage")
    turns.touch("queue 2")

    assert [(step.number, step.by, sorted(step.touched)) for step in turns.steps] == [
        (0, 0, []), (1, 0, ["queue 1"]), (3, 1, ["queue 2"]),
    ]  # fmt: skip
    assert turns.waiting[2].by == 1
    turns.close()
    await second[0]


async def test_replies_of_overlapping_calls_come_in_their_order():
    """Calls go at once; the reply of the later one waits for that of the earlier, or until that is over."""
    turns = Turnstile()
    turns.open(Choices(), overlap=True)
    gone, _ = await begun(turns, ("call", "a"), ("call", "b"))
    assert [each[0] for each in gone] == ["a", "b"]

    gone, tasks = await begun(turns, ("reply", "b"))
    turns.release()
    assert turns.eligible() == []
    turns.over("a")
    turns.release()
    await tasks[0]

    assert [each[0] for each in gone] == ["b"]


async def test_effect_that_is_called_off_waits_no_longer():
    """Its place is free."""
    turns = Turnstile()
    turns.open(Choices())
    _, tasks = await begun(turns, ("push", "a"))

    tasks[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]

    assert turns.count("push") == 0


async def test_what_rests_counts_as_waiting():
    """While it waits for another effect."""
    turns = Turnstile()

    with turns.resting("call"):
        assert turns.count("call", "reply") == 1
    assert turns.count("call") == 0


def test_timers_of_one_time_run_in_the_order_that_is_chosen():
    """Those of another time stay where they are."""
    clock = VirtualClock(1000)
    timers, ran = VirtualTimers(clock), []
    timers.turns.open(Choices({0: 2, 1: 1}))
    for name, time in (("a", 1500), ("b", 1500), ("c", 1500), ("d", 1400)):
        timers.call_at(time, ("timer", name), lambda name=name: ran.append(name))

    timers.advance(1000)

    assert ran == ["d", "c", "b", "a"]


def test_arranged_is_as_it_was_when_nothing_is_chosen():
    """Without a schedule, and for kinds whose order is not chosen."""
    turns = Turnstile()
    assert turns.arranged("message", [1, 2, 3], str, 2) == [1, 2]

    turns.open(Choices({0: 1}, order=("timer",)))

    assert turns.arranged("message", [1, 2, 3], str) == [1, 2, 3]
    assert turns.arranged("timer", [1, 2, 3], str) == [2, 1, 3]
