"""Schedules, which choose the order of effects and their faults, and the task that releases effects one by one.

An effect is released when everything else is idle and a client waits for the emulator. A client that is about to send
its next request counts as work, or the order would depend on its speed. Work without any progress for longer than the
patience, in real time, is no longer waited for; how often that happened is reported (``strayed``), because the order
was not fully controlled then.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from emulator.gateway.traffic import OpenRequests
from emulator.kernel.clock import Clock
from emulator.kernel.ids import SeededDraws
from emulator.kernel.instrumentation import Busy
from emulator.kernel.turnstile import EVERYTHING, KINDS, Kind, Turnstile, Verdict, possible, unknown_name
from emulator.lab.errors import invalid
from emulator.wire.dates import iso_millis
from emulator.wire.request import Front, NamingFront, OperationRequest

_log = logging.getLogger(__name__)

PATIENCE_S = 1.0
CLIENTS_PART = 4
"""A client that waits for nothing is waited for a fraction of the patience: one divided by this."""

_QUIET_TURNS = 3
_LOOK_S = 0.02
_SLICES = 8
"""How many waits a patience is divided into.

Each counts as its planned length, even when the process wakes late because it got no processor or the machine was
suspended.
"""

_MOVES = frozenset({"POST settle", "POST skip", "POST set-clock"})
"""Operations of the admin API whose callers wait for the emulator's work."""

_NOTED = frozenset(
    {
        "InvokeFunction", "PublishMessage", "SendMessage", "BatchSendMessage", "ReceiveMessage", "BatchReceiveMessage",
        "PeekMessage", "BatchPeekMessage", "DeleteMessage", "BatchDeleteMessage", "ChangeMessageVisibility",
        "StartExecution",
    }
)  # fmt: skip
"""Operations that record themselves which resources they touch."""

_OWN_FRONTS = frozenset({"admin", "console", "sink", "deployments"})


class Made(NamedTuple):
    """A choice that was made: its kind, the labels of its options, the index taken, the time, the effects' numbers."""

    kind: str
    options: tuple[str, ...]
    taken: int
    at: str
    steps: tuple[int, ...]
    step: int
    """How many steps had been taken before."""


class Schedule:
    """Decides choices by their number: as *choices* says, else the first option, or a random one with seed *draws*."""

    def __init__(
        self,
        now: Callable[[], str],
        *,
        choices: Mapping[int, int] | None = None,
        draws: int | None = None,
        order: Sequence[Kind] = KINDS,
        faults: Sequence[Verdict] = (),
    ) -> None:
        self.made: list[Made] = []
        self.taken_steps: Callable[[], int] = lambda: 0
        self._now = now
        self._choices = dict(choices or {})
        self._draw = SeededDraws(draws) if draws is not None else None
        self._order = frozenset(order)
        self._faults = frozenset(faults)

    def varies(self, kind: Kind) -> bool:
        """Whether to choose the order of effects of a kind."""
        return kind in self._order

    def verdicts(self, kind: Kind) -> Sequence[Verdict]:
        """Return the faults that may be injected into effects of a kind."""
        return tuple(each for each in possible(kind) if each in self._faults)

    def choose(self, kind: str, options: Sequence[str], steps: Sequence[int] = ()) -> int:
        """Return the index of the option taken; a single option is not counted as a choice."""
        if len(options) < 2:
            return 0
        taken = self._choices.get(len(self.made), 0)
        if self._draw is not None and len(self.made) not in self._choices:
            taken = int.from_bytes(self._draw(4)) % len(options)
        taken = min(taken, len(options) - 1)
        self.made.append(Made(kind, tuple(options), taken, self._now(), tuple(steps), self.taken_steps()))
        return taken


def read_schedule(document: Mapping[str, Any], now: Callable[[], str]) -> Schedule:
    """Read a schedule as the admin API has it.

    Raises: LabError (InvalidParameter).
    """
    given = document.get("choices") or {}
    try:
        choices = {int(name): value for name, value in given.items()}
    except ValueError:
        raise invalid("choices maps numbers of choices to the places of what is taken") from None
    if not all(type(value) is int and value >= 0 for value in choices.values()):
        raise invalid("choices maps numbers of choices to the places of what is taken")
    strategy = document.get("strategy") or "first"
    if strategy not in {"first", "random"}:
        raise invalid("strategy must be first or random")
    order = document.get("order")
    order = KINDS if order is None else order
    faults = document.get("faults") or ()
    if problem := unknown_name(order, faults):
        raise invalid(problem)
    draws = document.get("seed") or 0 if strategy == "random" else None
    return Schedule(now, choices=choices, draws=draws, order=order, faults=faults)


class Work(Protocol):
    """The emulator's work under way."""

    def busy(self) -> list[Busy]:
        """Return all unfinished work."""
        ...


class Ordering:
    """Sets schedules and releases effects. *observe* registers a function to call with every request."""

    def __init__(
        self,
        turns: Turnstile,
        time: Work,
        requests: OpenRequests,
        clock: Clock,
        *,
        watches: Sequence[Callable[[Callable[[], None]], Callable[[], None]]],
        committed: Callable[[], Awaitable[None] | None],
        observe: Callable[[Callable[[Front, OperationRequest], None] | None], None],
        restart: Callable[[], Awaitable[None]],
    ) -> None:
        self._turns = turns
        self._time = time
        self._requests = requests
        self._clock = clock
        self._watches = watches
        self._committed = committed
        self._observe = observe
        self._restart = restart
        self._schedule: Schedule | None = None
        self._task: asyncio.Task[None] | None = None
        self._restarting: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._inside: set[int] = set()
        self._seen: set[int] = set()
        self._patience_s = PATIENCE_S
        self._overlap = False
        self._silent_s = 0.0
        self.strayed = 0
        """How often an effect was released while work was unfinished, or while no client waited."""
        turns.changed = self._changed.set
        turns.restart = self._begin_restart

    async def set(self, document: Mapping[str, Any], *, patience_s: float, overlap: bool) -> None:
        """Make effects wait for their turn from now on, in the order of the schedule in *document*.

        Raises: LabError (InvalidParameter).
        """
        schedule = read_schedule(document, lambda: iso_millis(self._clock.now()))
        await self._end_task()
        schedule.taken_steps = lambda: len(self._turns.steps)
        self._schedule = schedule
        self._patience_s, self._overlap = patience_s, overlap
        self.strayed = 0
        self._silent_s = 0.0
        self._turns.open(schedule, overlap=overlap)
        self._observe(self._note)
        self._task = asyncio.get_running_loop().create_task(self._run(), name="lab:ordering")

    async def clear(self) -> None:
        """Stop choosing the order of effects; waiting effects continue."""
        await self._end_task()
        self._schedule = None
        self._turns.close()
        self._observe(None)

    async def close(self) -> None:
        """Stop releasing effects."""
        await self._end_task()

    async def _end_task(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    def choose(self, label: str, options: Sequence[Any]) -> int:
        """Return the index of the option taken at a choice of the test itself; 0 while no schedule is set."""
        if self._schedule is None:
            return 0
        return self._schedule.choose("test", [f"{label}: {each!r}" for each in options])

    def shown(self) -> dict[str, Any]:
        """Return the choices made, the steps taken and the waiting effects, as GET schedule answers."""
        made = self._schedule.made if self._schedule is not None else []
        steps = self._turns.steps if self._schedule is not None else []
        touched = {step.number: sorted(step.touched) for step in steps}
        return {
            "active": self._turns.active,
            "choices": [
                {
                    "n": number, "kind": each.kind, "options": list(each.options), "taken": each.taken, "at": each.at,
                    "resources": touched.get(each.steps[each.taken], []) if each.steps else [],
                    "steps": list(each.steps), "step": each.step,
                }
                for number, each in enumerate(made)
            ],
            "steps": [
                {"step": step.number, "what": step.label, "by": step.by, "touched": touched[step.number]}
                for step in steps
            ],
            "waiting": [step.label for step in self._turns.waiting.values()],
            "strayed": self.strayed,
        }  # fmt: skip

    def _note(self, front: Front, call: OperationRequest) -> None:
        """Record what a request touches, unless its operation does so itself."""
        if front.name not in _OWN_FRONTS and not any(each.kind in {"call", "push"} for each in self._time.busy()):
            self._turns.from_outside(call.operation)
        if front.name in _OWN_FRONTS:
            if front.name == "sink":
                self._turns.touch(f"sink {call.http.path}")
        elif not isinstance(front, NamingFront) or front.subject(call).operation not in _NOTED:
            self._turns.touch(EVERYTHING)

    async def _run(self) -> None:
        quiet = 0
        while True:
            self._changed.clear()
            if not self._turns.waiting:
                quiet = 0
                await self._change(None)
                continue
            if (commit := self._committed()) is not None:
                await commit
            if self._restarting is None and self._is_quiet() and self._turns.eligible():
                quiet += 1
                if quiet <= _QUIET_TURNS:
                    await asyncio.sleep(0)
                elif self._client_waits():
                    self._silent_s = 0.0
                    quiet = 0
                    self._release()
                else:
                    quiet = 0
                    await self._bear_silence()
                continue
            quiet = 0
            if not await self._bear_work() and self._restarting is None:
                self.strayed += 1
                _log.info("something has run for longer than the patience; other effects proceed")
                self._release()

    def _release(self) -> None:
        self._turns.release()
        if not self._turns.waiting:
            self._requests.notify()

    async def _bear_work(self) -> bool:
        """Wait for progress; False when the patience is used up before."""
        for _ in range(_SLICES):
            if await self._change(self._patience_s / _SLICES):
                return True
        return False

    async def _bear_silence(self) -> None:
        """Wait for the client's next request; release one effect when its share of the patience is used up."""
        limit_s = self._patience_s / CLIENTS_PART
        slice_s = max(min(limit_s - self._silent_s, limit_s / _SLICES), _LOOK_S)
        began = self._clock.monotonic()
        changed = await self._change(slice_s)
        self._silent_s += min(self._clock.monotonic() - began, slice_s)
        if changed or self._silent_s < limit_s:
            return
        self._silent_s = limit_s
        self.strayed += 1
        if self._turns.waiting:
            self._release()

    async def _change(self, timeout_s: float | None) -> bool:
        """Wait for any change; False when none comes in time."""
        stops = [watch(self._changed.set) for watch in self._watches]
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return False
        finally:
            for stop in stops:
                stop()
        return True

    def _is_quiet(self) -> bool:
        """Whether all unfinished work waits for its turn, or for work that does.

        A request without a front is not yet routed, for example while edited functions are loaded: it is waited for.
        """
        if any(front == "" for _, front in self._requests.open()):
            return False
        work = [each for each in self._time.busy() if each.waits != "turn"]
        if not work:
            return True
        running = sum(each.kind == "call" and each.waits == "function" for each in work)
        if self._overlap:
            return all(each.waits == "function" for each in work)
        return 0 < running <= self._polling(running) and all(each.waits == "function" for each in work)

    def _polling(self, running: int) -> int:
        """Return how many long polls were begun by functions, that is, while a function ran."""
        parked = {id(call) for call, _ in self._requests.open() if call.parked}
        self._inside &= parked
        for poll in parked - self._seen:
            if len(self._inside) < running:
                self._inside.add(poll)
        self._seen = parked
        return len(self._inside)

    def _client_waits(self) -> bool:
        """Whether a client waits for the emulator's work."""
        for call, front in self._requests.open():
            if front == "admin":
                if call.operation in _MOVES:
                    return True
            elif id(call) not in self._inside and front not in _OWN_FRONTS:
                self._seen.add(id(call))
                return True
        return False

    def _begin_restart(self) -> None:
        async def restart() -> None:
            try:
                await self._restart()
            finally:
                self._restarting = None
                self._changed.set()

        self._restarting = asyncio.get_running_loop().create_task(restart(), name="lab:restart")
