"""Schedules as they are read, and when they let an effect go: emulator, functions and clients are doubles here."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager

import pytest

from emulator.gateway.traffic import OpenRequests
from emulator.http.message import Headers, Request
from emulator.kernel.clock import Millis, SystemClock
from emulator.kernel.instrumentation import Busy, Watchers
from emulator.kernel.turnstile import EVERYTHING, KINDS, Turnstile
from emulator.lab import ordering
from emulator.lab.errors import LabError
from emulator.lab.ordering import Ordering, read_schedule
from emulator.wire.request import OperationRequest

LONG_S = 3600.0
SHORT_S = 0.05


class FrontNamed:
    """A front of which only the name counts."""

    def __init__(self, name):
        self.name = name


class Emulator:
    """The emulator as far as order sees it: work, requests, effects that wait for their turn."""

    def __init__(self):
        self.work = []
        self.gone = []
        self.restarts = Counter()
        self.requests = OpenRequests()
        self.changes = Watchers()
        self.turns = Turnstile()
        self.observed = None
        self.ordering = Ordering(
            self.turns, self, self.requests, SystemClock(),
            watches=(self.changes.add, self.requests.watchers.add), committed=lambda: None,
            observe=lambda observe: setattr(self, "observed", observe), restart=self._restart,
        )  # fmt: skip

    def busy(self):
        return list(self.work)

    async def _restart(self):
        self.restarts["restart"] += 1

    def asked(self, front, operation, parked=False):
        """Return a request that has no answer yet; without *front* it is still being read."""
        call = OperationRequest(Request("POST", "/", Headers([])), Millis(0))
        call.operation, call.parked = operation, parked
        self.requests.begin(call, FrontNamed(front) if front else None)
        self.requests.notify()
        return call

    def effect(self, kind, name):
        """Begin an effect that waits for its turn; return its task."""

        async def go():
            verdict = await self.turns.turn(kind, name)
            self.gone.append((name, verdict))

        return asyncio.get_running_loop().create_task(go())


@pytest.fixture
async def emulator():
    made = Emulator()
    yield made
    await made.ordering.close()
    made.turns.close()


async def turned(emulator, turns=50):
    """Let the loop run on, for what must not happen."""
    for _ in range(turns):
        await asyncio.sleep(0)
    return [name for name, _ in emulator.gone]


async def test_one_effect_goes_at_a_time_while_a_client_waits(emulator):
    """The next one goes when what the first has begun is over."""
    await emulator.ordering.set({}, patience_s=LONG_S, overlap=False)
    first, second = emulator.effect("push", "a"), emulator.effect("push", "b")
    assert await turned(emulator) == []

    emulator.asked("admin", "POST settle")
    await first
    emulator.work = [Busy(kind="push", resource="topic")]
    assert await turned(emulator) == ["a"]
    emulator.work = []
    emulator.changes.notify()
    await second

    assert emulator.gone == [("a", ""), ("b", "")]
    assert emulator.ordering.strayed == 0


async def test_no_effect_goes_before_it_is_known_what_a_request_asks_for(emulator):
    """A look at the emulator, or the client's next message, that waits until edited functions have been read."""
    await emulator.ordering.set({}, patience_s=LONG_S, overlap=False)
    task = emulator.effect("push", "a")
    settle = emulator.asked("admin", "POST settle")
    unread = emulator.asked("", "-")
    assert await turned(emulator) == []

    emulator.requests.end(settle)
    emulator.requests.end(unread)
    assert await turned(emulator) == []

    emulator.asked("mns", "ReceiveMessage", parked=True)
    await task
    assert emulator.ordering.strayed == 0


@pytest.mark.parametrize("turns", range(5))
async def test_schedule_that_is_cleared_at_the_moment_of_a_change_ends(emulator, turns):
    """An interrupted exploration clears it while the request that it has given up is being ended."""
    await emulator.ordering.set({}, patience_s=LONG_S, overlap=False)
    effect = emulator.effect("push", "a")
    await turned(emulator)

    emulator.changes.notify()
    for _ in range(turns):
        await asyncio.sleep(0)
    async with asyncio.timeout(20):
        await emulator.ordering.clear()
        await effect

    assert emulator.gone == [("a", "")]


@pytest.mark.parametrize(
    ("front", "operation", "waits"),
    [
        ("admin", "POST settle", True), ("admin", "POST skip", True), ("admin", "POST set-clock", True),
        ("admin", "GET schedule", False), ("mns", "ReceiveMessage", True), ("sink", "receive", False),
        ("console", "GET page", False),
    ],
)  # fmt: skip
async def test_effects_go_while_a_client_waits_for_them(emulator, front, operation, waits):
    """In what moves time or waits for quiet, and in requests to services; looking at the emulator is no waiting."""
    await emulator.ordering.set({}, patience_s=LONG_S, overlap=False)
    task = emulator.effect("push", "a")
    emulator.asked(front, operation, parked=True)

    if waits:
        await task

    assert await turned(emulator) == (["a"] if waits else [])
    task.cancel()


async def test_client_that_waits_for_nothing_loses_its_patience(emulator):
    """Each effect that went without it is counted."""
    await emulator.ordering.set({}, patience_s=SHORT_S, overlap=False)

    await asyncio.gather(emulator.effect("push", "a"), emulator.effect("push", "b"))

    assert emulator.ordering.strayed == 2


async def test_function_without_a_word_holds_nobody_up_beyond_the_patience(emulator):
    """Within it all wait."""
    emulator.work = [Busy(kind="call", resource="f", waits="function")]
    emulator.asked("admin", "POST settle")
    await emulator.ordering.set({}, patience_s=LONG_S, overlap=False)
    task = emulator.effect("push", "a")
    assert await turned(emulator) == []

    await emulator.ordering.set({}, patience_s=SHORT_S, overlap=False)
    await task

    assert emulator.ordering.strayed == 1


async def test_process_that_was_stopped_has_not_spent_its_patience(emulator, monkeypatch):
    """A wait that ends late, as after a suspended machine, counts as long as it was meant to be."""
    monkeypatch.setattr(ordering, "_SLICES", 4)
    waits, clock = [], Sleeping()

    @asynccontextmanager
    async def stopped(timeout_s):
        if timeout_s is not None:
            waits.append(timeout_s)
            clock.now_s += LONG_S  # the machine sleeps
            raise TimeoutError
        yield

    monkeypatch.setattr(ordering.asyncio, "timeout", stopped)
    monkeypatch.setattr(emulator.ordering, "_clock", clock)
    await emulator.ordering.set({}, patience_s=80.0, overlap=False)

    await emulator.effect("push", "a")

    assert waits == [5.0] * 4
    assert emulator.ordering.strayed == 1


class Sleeping(SystemClock):
    """Whose monotonic time is what the test says."""

    now_s = 0.0

    def monotonic(self):
        return self.now_s


async def test_function_in_a_long_poll_counts_as_quiet(emulator):
    """It waits for the emulator, which would wait for it."""
    emulator.work = [Busy(kind="call", resource="f", waits="function")]
    await emulator.ordering.set({}, patience_s=LONG_S, overlap=False)
    task = emulator.effect("push", "a")
    emulator.asked("admin", "POST settle")
    assert await turned(emulator) == []

    emulator.asked("mns", "ReceiveMessage", parked=True)
    await task

    assert emulator.gone == [("a", "")]


async def test_functions_run_side_by_side_with_overlap(emulator):
    """What else is at work still holds effects up."""
    await emulator.ordering.set({}, patience_s=LONG_S, overlap=True)
    emulator.work = [Busy(kind="call", resource="f", waits="function"), Busy(kind="execution", resource="flow")]
    emulator.asked("admin", "POST settle")
    task = emulator.effect("push", "a")
    assert await turned(emulator) == []

    emulator.work = emulator.work[:1]
    emulator.changes.notify()
    await task

    assert emulator.gone == [("a", "")]


async def test_choices_are_taken_and_shown(emulator):
    """With what could have been taken instead, and what was touched."""
    document = {"choices": {"0": 1, "1": 1}, "order": ["push"], "faults": ["lost-after"]}
    await emulator.ordering.set(document, patience_s=LONG_S, overlap=False)
    tasks = [emulator.effect("push", "a"), emulator.effect("push", "b")]
    await turned(emulator)
    emulator.asked("admin", "POST settle")
    await asyncio.gather(*tasks)

    shown = emulator.ordering.shown()

    assert emulator.gone == [("b", "lost-after"), ("a", "")]
    assert [(each["kind"], each["options"], each["taken"]) for each in shown["choices"]] == [
        ("order", ["push a", "push b"], 1),
        ("fault", ["nothing: push b", "lost-after: push b"], 1),
        ("fault", ["nothing: push a", "lost-after: push a"], 0),
    ]
    assert [each["what"] for each in shown["steps"]] == ["begin ", "push b", "push a"]
    assert (shown["active"], shown["waiting"], shown["strayed"]) == (True, [], 0)


async def test_choice_of_a_test_is_one_of_the_schedule(emulator):
    """The first option without a schedule; else what the schedule says, and no more than there is."""
    assert emulator.ordering.choose("cancels", [False, True]) == 0

    await emulator.ordering.set({"choices": {"0": 1, "1": 9}}, patience_s=LONG_S, overlap=False)

    assert emulator.ordering.choose("cancels", [False, True]) == 1
    assert emulator.ordering.choose("size", ["s", "m", "l"]) == 2
    assert emulator.ordering.shown()["choices"][0]["options"] == ["cancels: False", "cancels: True"]


async def test_requests_of_clients_are_steps_of_their_own(emulator):
    """Of an operation that does not say what it touches, everything is assumed; a sink says which it is."""
    await emulator.ordering.set({}, patience_s=LONG_S, overlap=False)
    emulator.asked("admin", "POST settle")
    await emulator.effect("push", "a")
    call = OperationRequest(Request("POST", "/_sink/1", Headers([])), Millis(0))
    call.operation = "DeleteQueue"

    emulator.observed(FrontNamed("sink"), call)
    emulator.observed(FrontNamed("mns"), call)

    steps = emulator.ordering.shown()["steps"]
    assert [(each["what"], each["touched"]) for each in steps] == [
        ("begin ", []), ("push a", ["sink /_sink/1"]), ("begin DeleteQueue", [EVERYTHING]),
    ]  # fmt: skip


async def test_order_is_free_when_the_schedule_is_taken_away(emulator):
    """What waits goes, and what comes does not wait."""
    await emulator.ordering.set({}, patience_s=LONG_S, overlap=False)
    waiting = emulator.effect("push", "a")
    await turned(emulator)

    await emulator.ordering.clear()
    await waiting
    await emulator.effect("push", "b")

    assert emulator.gone == [("a", ""), ("b", "")]
    assert emulator.observed is None
    assert emulator.ordering.shown()["choices"] == []


async def test_nothing_goes_while_the_emulator_restarts(emulator):
    """It begins with the effect that a restart befalls."""
    await emulator.ordering.set({}, patience_s=LONG_S, overlap=False)
    task = emulator.effect("push", "a")
    await turned(emulator)

    emulator.turns.restart()
    emulator.asked("admin", "POST settle")
    await task

    assert emulator.restarts["restart"] == 1


def test_random_schedule_follows_from_its_seed():
    """The same number, the same places; what is chosen by number stays."""

    def taken(seed):
        document = {"strategy": "random", "seed": seed, "choices": {"3": 2}}
        schedule = read_schedule(document, lambda: "")
        return [schedule.choose("order", ["a", "b", "c"]) for _ in range(20)]

    assert taken(7) == taken(7)
    assert taken(7) != taken(8)
    assert taken(7)[3] == taken(8)[3] == 2
    assert set(taken(7)) == {0, 1, 2}


def test_schedule_varies_what_it_is_told_to():
    """All kinds of order and no verdict, unless said otherwise; a verdict only where the cloud leaves it open."""
    plain = read_schedule({}, lambda: "")
    chosen = read_schedule({"order": ["push"], "faults": ["duplicate", "throttle"]}, lambda: "")

    assert all(plain.varies(kind) for kind in KINDS)
    assert [kind for kind in KINDS if chosen.varies(kind)] == ["push"]
    assert plain.verdicts("push") == ()
    assert (chosen.verdicts("push"), chosen.verdicts("call")) == (("duplicate",), ("throttle",))
    assert plain.choose("order", ["alone"]) == 0
    assert plain.made == []


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"choices": {"x": 1}}, "choices maps"), ({"choices": {"1": -1}}, "choices maps"),
        ({"choices": {"1": True}}, "choices maps"), ({"strategy": "last"}, "first or random"),
        ({"order": ["pushes"]}, "order has no 'pushes'"), ({"faults": ["fire"]}, "faults has no 'fire'"),
    ],
)  # fmt: skip
def test_what_is_no_schedule_is_refused(document, message):
    """With what would be one."""
    with pytest.raises(LabError, match=message):
        read_schedule(document, lambda: "")
