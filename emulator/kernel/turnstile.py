"""The queue of effects that wait for their turn, so that tests choose their order instead of chance.

Every effect (a call, its reply, a push, an attempt of an asynchronous call, a trigger that fires) awaits its turn in
the same way wherever it is made. Choices that need no waiting, such as which of several due timers runs first, are made
by `Turnstile.arranged`. While no schedule is set, a turn costs one look at ``active``.

All that happens from one turn to the next is the *step* of the effect that had its turn: it records the resources
touched and the effects that came of it. Steps that touch no resource in common can be exchanged without visible
difference.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Literal, NoReturn, Protocol, TypeVar, assert_never, get_args

T = TypeVar("T")

Kind = Literal["call", "reply", "push", "async", "trigger", "timer", "execution", "message", "instance"]
KINDS: Final = get_args(Kind)

Verdict = Literal["lost-before", "lost-after", "duplicate", "crash-after", "timeout", "throttle", "restart"]
VERDICTS: Final = get_args(Verdict)

Befallen = Verdict | Literal[""]
"""The fault injected into an effect, "" for none."""

Unanswered = Literal["lost-before", "lost-after", "throttle"]
"""The faults after which the caller gets no answer to its effect."""


def unknown_name(order: Iterable[str], faults: Iterable[str]) -> str:
    """Return a message about the first unknown kind of effects in *order*, or fault in *faults*; "" for none."""
    for name, values, known in (("order", order, KINDS), ("faults", faults, VERDICTS)):
        for each in values:
            if each not in known:
                return f"{name} has no {each!r}; there are {', '.join(known)}"
    return ""


def possible(kind: Kind) -> tuple[Verdict, ...]:
    """Return the faults that the cloud may cause in an effect of *kind*."""
    match kind:
        case "call":
            return ("lost-before", "lost-after", "crash-after", "timeout", "throttle", "restart")
        case "push":
            return ("lost-before", "lost-after", "duplicate", "restart")
        case "async":
            return ("lost-before", "lost-after", "duplicate", "crash-after", "timeout", "throttle", "restart")
        case "trigger" | "message":
            return ("duplicate",)
        case "reply" | "timer" | "execution" | "instance":
            return ()
        case _:
            assert_never(kind)


EVERYTHING: Final = "*"
"""The resource touched by a step that may touch any."""

_verdict: ContextVar[Befallen] = ContextVar("localyun_verdict", default="")


class Step:
    """An effect, the step that caused it, and the resources touched from its turn to the next.

    ``by`` is the number of the step that caused it; 0 is the beginning of the schedule.
    """

    __slots__ = ("by", "detail", "kind", "name", "number", "touched", "turn")

    def __init__(self, number: int, kind: Kind | Literal["begin"], name: str, detail: str, by: int) -> None:
        self.number = number
        self.kind = kind
        self.name = name
        self.detail = detail
        self.by = by
        self.touched: set[str] = set()
        self.turn: asyncio.Future[Befallen] | None = None

    @property
    def label(self) -> str:
        """The effect as people read it: ``push orders/page#1 'paid'``."""
        return f"{self.kind} {self.name}" + (f" {self.detail!r}" if self.detail else "")


class Chooser(Protocol):
    """Chooses the order of effects and their faults."""

    def varies(self, kind: Kind) -> bool:
        """Whether to choose the order of effects of *kind*; else they go in the order they came."""
        ...

    def choose(self, kind: str, options: Sequence[str], steps: Sequence[int] = ()) -> int:
        """Return the index of the chosen one of *options*; *steps* are the numbers of the effects they stand for."""
        ...

    def verdicts(self, kind: Kind) -> Sequence[Verdict]:
        """Return the faults that may be injected into effects of *kind*."""
        ...


class Turnstile:
    """The effects that wait for their turn, oldest first, and the step that is under way."""

    def __init__(self) -> None:
        self.active = False
        """Whether a schedule is set; a plain attribute, because every effect looks at it."""
        self.waiting: dict[int, Step] = {}
        self.steps: list[Step] = []
        self.changed: Callable[[], None] = lambda: None
        self.restart: Callable[[], None] = lambda: None
        self._chooser: Chooser | None = None
        self._overlap = False
        self._begun: list[str] = []
        self._resting: dict[Kind, int] = {}

    def open(self, chooser: Chooser, *, overlap: bool = False) -> None:
        """Make effects wait for their turn from now on; *chooser* picks the next.

        With *overlap* calls go at once, and their replies in the order in which the calls have begun.
        """
        self._overlap = overlap
        self._begun = []
        self.steps = [Step(0, "begin", "", "", 0)]
        self._chooser = chooser
        self._current = self.steps[0]
        self._numbers = 0
        for step in self.waiting.values():  # they were waiting when this schedule began
            self._numbers += 1
            step.number, step.by = self._numbers, 0
        self.waiting = {step.number: step for step in self.waiting.values()}
        self.active = True

    def close(self) -> None:
        """Release every effect that waits; later ones do not wait."""
        self.active = False
        self._chooser = None
        for step in self.waiting.values():
            if step.turn is not None and not step.turn.done():
                step.turn.set_result("")

    async def turn(self, kind: Kind, name: str, detail: str = "") -> Befallen:
        """Wait for the turn of an effect; return the fault to inject into it, "" for none."""
        if not self.active:
            return ""
        if self._overlap and kind == "call":
            self._begun.append(name)
            return ""
        self._numbers += 1
        step = Step(self._numbers, kind, name, " ".join(detail[:60].split()), self._current.number)
        step.turn = asyncio.get_running_loop().create_future()
        self.waiting[step.number] = step
        self.changed()
        try:
            verdict = await step.turn
        finally:
            if self.waiting.get(step.number) is step:
                del self.waiting[step.number]
        _verdict.set(verdict)
        return verdict

    async def made(
        self,
        kind: Kind,
        name: str,
        effect: Callable[[], Awaitable[T]],
        unanswered: Callable[[Unanswered], T],
        *,
        detail: str = "",
        touches: str = "",
    ) -> T:
        """Make an effect in its turn and return its answer, or what *unanswered* returns if a fault loses the answer.

        Depending on the fault, *effect* is called not at all, once or twice. A fault inside the effect, such as a
        crashing instance, is injected by the code that asks `befallen` there. *touches* is the resource that the effect
        reads or changes.
        """
        verdict = await self.turn(kind, name, detail)
        if touches and self.active:
            self.touch(touches)
        match verdict:
            case "" | "crash-after" | "timeout":
                return await effect()
            case "lost-before" | "throttle":
                return unanswered(verdict)
            case "lost-after":
                await effect()
                return unanswered(verdict)
            case "duplicate":
                await effect()
                return await effect()
            case "restart":
                await effect()
                return await self.restarted()
            case _:
                assert_never(verdict)

    def release(self) -> None:
        """Release one of the effects that wait, if there is one that may go."""
        if self._chooser is None or not (eligible := self.eligible()):
            return
        oldest, *others = eligible
        ready = [oldest, *(step for step in others if self._chooser.varies(_kind(step)))]
        at = self._chooser.choose("order", [step.label for step in ready], [step.number for step in ready])
        step = ready[at]
        del self.waiting[step.number]
        if step.kind == "reply":
            self.over(step.name)
        verdict = self._befalls(_kind(step), step.label)
        self._current = step
        self.steps.append(step)
        if step.turn is not None and not step.turn.done():
            step.turn.set_result(verdict)

    def eligible(self) -> list[Step]:
        """Return the effects that may go next, oldest first."""
        if not self._overlap:
            return list(self.waiting.values())
        first = self._begun[:1]
        return [step for step in self.waiting.values() if step.kind != "reply" or not first or step.name in first]

    def over(self, name: str) -> None:
        """Record that the call *name* has its reply or was cancelled; with overlap, later replies wait for that."""
        if name in self._begun:
            self._begun.remove(name)

    def befalls(self, kind: Kind, name: str) -> Befallen:
        """Return the fault to inject into an effect that cannot wait, "" for none."""
        return self._befalls(kind, f"{kind} {name}") if self.active else ""

    def _befalls(self, kind: Kind, label: str) -> Befallen:
        verdicts = self._chooser.verdicts(kind) if self._chooser is not None else ()
        if not verdicts:
            return ""
        options: tuple[Befallen, ...] = ("", *verdicts)
        assert self._chooser is not None
        return options[self._chooser.choose("fault", [f"{each or 'nothing'}: {label}" for each in options])]

    def arranged(
        self, kind: Kind, items: Sequence[T], name: Callable[[T], str], most: int | None = None
    ) -> Sequence[T]:
        """Return up to *most* of *items*, which could come in any order, in the chosen order."""
        if self._chooser is None or len(items) < 2 or not self._chooser.varies(kind):
            return items if most is None else items[:most]
        left = list(items)
        taken: list[T] = []
        while left and (most is None or len(taken) < most):
            labels = [f"{kind} {name(each)}" for each in left]
            taken.append(left.pop(self._chooser.choose("order", labels) if len(left) > 1 else 0))
        return taken

    def varies(self, kind: Kind) -> bool:
        """Whether the order of effects of a kind is chosen."""
        return self._chooser is not None and self._chooser.varies(kind)

    def from_outside(self, name: str) -> None:
        """Record that a client's request starts a new step, whose place in the order is not chosen."""
        if self._current.kind != "begin":
            self._numbers += 1
            self._current = Step(self._numbers, "begin", name, "", self._current.number)
            self.steps.append(self._current)

    def touch(self, resource: str) -> None:
        """Record that the step under way reads or changes a resource; asked only while ``active``."""
        self._current.touched.add(resource)

    def count(self, *kinds: Kind) -> int:
        """Return how many effects of *kinds* wait for their turn, or for another effect's (`resting`)."""
        waiting = sum(step.kind in kinds for step in self.waiting.values())
        return waiting + sum(self._resting.get(kind, 0) for kind in kinds)

    @contextmanager
    def resting(self, kind: Kind) -> Iterator[None]:
        """Count an effect of *kind* as waiting while the context lasts, because it only waits for another effect."""
        self._resting[kind] = self._resting.get(kind, 0) + 1
        self.changed()
        try:
            yield
        finally:
            self._resting[kind] -= 1

    async def restarted(self) -> NoReturn:
        """Kill the emulator as by kill -9 and have it restarted; never returns, as the caller is cancelled."""
        self.restart()
        await asyncio.get_running_loop().create_future()
        raise RuntimeError("the emulator has not been stopped")


def befallen() -> Befallen:
    """Return the fault to inject into the effect of the current task, "" for none."""
    return _verdict.get()


def _kind(step: Step) -> Kind:
    assert step.kind != "begin"
    return step.kind
