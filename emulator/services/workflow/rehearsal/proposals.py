"""Proposes cases for items that no case covers: tries inputs and answers until no new item is covered.

The constants in conditions tell which values matter; they are put wherever a definition reads a member of that name,
into inputs and answers alike, and errors are those that rules name. Trials that cover new items are kept, and three
trials in four vary a part of one of them: so a long way is found step by step. Items that are not found are returned as
missing: their condition may be impossible, or too hard for this search.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from emulator.kernel.frozen import fields_of, replace
from emulator.services.workflow.engine.decide import EVENTS_LIMIT
from emulator.services.workflow.engine.language import CallService, Program
from emulator.services.workflow.engine.model import Task, all_steps
from emulator.services.workflow.languages.fdl.mappings import Mapping as FlowMapping
from emulator.services.workflow.languages.statemachine.expressions import Expression, Members
from emulator.services.workflow.languages.terms import Array, Comparison, Constant, Minus, Term
from emulator.services.workflow.limits import Bounds
from emulator.services.workflow.rehearsal.answers import Mocks, give, is_reported
from emulator.services.workflow.rehearsal.cases import BEGINNING, actual_of, facts_of
from emulator.services.workflow.rehearsal.coverage import Coverage, Item, Tracer
from emulator.services.workflow.rehearsal.drive import Drive, run
from emulator.services.workflow.rehearsal.replies import REPLIES, possible
from emulator.wire.answers import Script, action_key, read_script

TRIES: Final = 2000
QUIET_TRIES: Final = 700
"""The search ends after this many trials without a new item."""

_BOUNDS: Final = Bounds(events=400)
"""The limit of events of an execution that is tried."""

_WRAPPING: Final = re.compile(r"Body|Items|Branch\d+\Z")
"""Members that the engine puts around the content of an answer."""

Place = tuple[str, ...]


class _Draw:
    """A pseudo-random generator with a fixed seed, so that proposals are the same every time."""

    def __init__(self) -> None:
        self._state = 0x2545F491

    def below(self, limit: int) -> int:
        """Return a number from 0 to *limit* - 1."""
        self._state = (self._state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        return (self._state >> 33) % limit

    def of(self, values: list[Any]) -> Any:
        """Return one of *values*."""
        return values[self.below(len(values))]


def propose(program: Program, covered: Iterable[Counter[Item]]) -> tuple[list[dict[str, Any]], list[Item]]:
    """Return cases, in the form of a file, for items that *covered* leaves out, and the items still left out."""
    coverage = Coverage(program)
    for taken in covered:
        coverage.add(taken)
    search = _Search(program)
    proposed: list[dict[str, Any]] = []
    kept: list[tuple[Trial, Came]] = []
    quiet = 0
    for number in range(TRIES):
        missing = set(coverage.missing())
        if not missing or quiet > QUIET_TRIES:
            break
        trial = search.varied(kept) if kept and number % 4 else search.trial(number)
        came = search.run(trial, coverage)
        new = set() if came is None else missing & came.taken.keys()
        quiet = 0 if new else quiet + 1
        if new:
            trial, came = search.shrunk(trial, coverage, new)
            coverage.add(came.taken)
            kept.append((trial, came))
            first = min(new, key=lambda item: list(coverage.items).index(item))
            proposed.append({"name": f"{len(proposed) + 1}: {first.text}", **_shown(trial, came)})
    return proposed, coverage.missing()


class Trial(NamedTuple):
    """An input, and the answers of every task."""

    input: dict[str, Any]
    answers: dict[str, list[dict[str, Any]]]


class Came(NamedTuple):
    """The result of a trial: the covered items, and the result of `actual_of`."""

    taken: Counter[Item]
    actual: dict[str, Any]


def _shown(trial: Trial, came: Came) -> dict[str, Any]:
    calls = came.actual["calls"]
    expect = {name: came.actual[name] for name in ("status", "error", "path", "output") if name in came.actual}
    case: dict[str, Any] = {"input": trial.input} if trial.input else {}
    if calls:
        case["mocks"] = {name: trial.answers[name][: calls[name]] for name in calls}
    return {**case, "expect": expect}


class _Search:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._draw = _Draw()
        self._tasks = [step for step in all_steps(program.steps) if isinstance(step, Task)]
        self._values: dict[str, list[Any]] = {}
        self._places: dict[Place, None] = {}
        self._read()

    def trial(self, number: int) -> Trial:
        """Return trial *number*; the first one has an empty input."""
        given = self._object() if number else {}
        return Trial(given, {task.name: self._answers(task, number) for task in self._tasks})

    def varied(self, kept: list[tuple[Trial, Came]]) -> Trial:
        """Return a variation of one of the trials in *kept*: another input, or other answers of one or two tasks.

        Trials that came further are varied more often.
        """
        trial, came = max((self._draw.of(kept) for _ in range(2)), key=lambda each: len(each[1].actual["path"]))
        called = [task for task in self._tasks if task.name in came.actual["calls"]]
        if not called or not self._draw.below(4):
            return Trial(self._object(), trial.answers)
        tasks = (self._draw.of(called) for _ in range(1 + self._draw.below(2)))
        return Trial(trial.input, {**trial.answers, **{task.name: self._answers(task, 1) for task in tasks}})

    def run(self, trial: Trial, coverage: Coverage) -> Came | None:
        """Run the flow; return None when it exceeds the limit of events."""
        scripts: dict[str, Script] = {name: read_script(given, "repeat") for name, given in trial.answers.items()}
        tracer = Tracer(coverage)
        facts = replace(facts_of(self._program, "proposed", trial.input), bounds=_BOUNDS)
        drive, mocks = Drive(facts, BEGINNING, tracer), Mocks(scripts)

        def answer(drive: Drive, call: CallService) -> None:
            given = mocks.next(call)
            assert given is not None  # every task has a script
            give(drive, call, given)

        run(drive, answer)
        actual = actual_of(drive)
        return None if actual.get("error") == EVENTS_LIMIT else Came(tracer.taken, actual)

    def shrunk(self, trial: Trial, coverage: Coverage, wanted: set[Item]) -> tuple[Trial, Came]:
        """Return the trial without the members that are not needed to cover *wanted*, and its result."""
        came = self.run(trial, coverage)
        assert came is not None  # it has run before
        for smaller in _smaller(trial):
            tried = self.run(smaller(trial), coverage)
            if tried is not None and wanted <= tried.taken.keys():
                trial, came = smaller(trial), tried
        return trial, came

    def _answers(self, task: Task, number: int) -> list[dict[str, Any]]:
        good = {"return": possible(task, self._object())}
        kind = self._draw.below(8) if number else 0
        named = [rule.errors for rule in task.retry] + [rule.errors for rule in task.catch]
        errors = [error for names in named for error in names]
        if (kind >= 6 and task.timeout_s is not None) or (kind == 7 and is_reported(task)):
            return [{"never": True}] if task.timeout_s is not None else [good]
        if kind >= 5 and errors:
            return [self._error(task, errors)] if kind == 5 else [self._error(task, errors), good]
        if kind == 4:
            return [self._error(task, ["FnF.ALL"])]
        return [good, {"return": possible(task, self._object())}] if kind >= 2 else [good]

    def _error(self, task: Task, errors: list[str]) -> dict[str, Any]:
        name = self._draw.of(errors)
        if name == "FnF.ALL":
            known = None if is_reported(task) else REPLIES.get(action_key(task.resource.action))
            name = f"{known.errors if known else ''}Unexpected"
        return {"error": {"errorType": name, "errorMessage": "as proposed"}}

    def _object(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for place in self._places:
            if self._draw.below(8) == 0:
                continue
            inner = made
            for key in place[:-1]:
                inner = inner.setdefault(key, {}) if isinstance(inner.get(key, {}), dict) else {}
            if not isinstance(inner.get(place[-1]), dict):
                inner[place[-1]] = self._draw.of(self._values[place[-1]])
        return made

    def _read(self) -> None:
        compared: dict[str, list[Any]] = {}
        renamed: list[tuple[str, str]] = []
        arrays: list[str] = []
        for step in all_steps(self._program.steps):
            for part in _parts(step):
                if isinstance(part, Comparison):
                    _compare(part, compared)
                    both = [(one, other) for one in _last(part.left) for other in _last(part.right)]
                    renamed += [*both, *((other, one) for one, other in both)]
                elif isinstance(part, FlowMapping):
                    renamed += [(part.keys[-1], name) for name in _last(part.source)]
                    if isinstance(part.source, int | float):
                        compared.setdefault(part.keys[-1], []).extend(_around(part.source))
                elif isinstance(part, Members):
                    trees = ((key, each.tree) for key, each in part.members if isinstance(each, Expression))
                    renamed += [(key, name) for key, tree in trees for name in _last(tree)]
                place = _place(part)
                if place:
                    self._places[place] = None
            looped = getattr(step, "collection", None) or getattr(getattr(step, "items", None), "tree", None)
            arrays += _last(looped)
        for _ in range(4):  # a value may be handed on under several names
            for target, source in renamed:
                compared[source] = _distinct([*compared.get(source, ()), *compared.get(target, ())])
                arrays += [source] * (target in arrays)
        for name in {place[-1] for place in self._places}:
            self._values[name] = _distinct(compared.get(name, ())) or ["x", 1, True, False]
        for name in arrays:
            self._values[name] = [[], [self._element(0)], [self._element(0), self._element(1)]]

    def _element(self, number: int) -> dict[str, Any]:
        return {"id": number}


def _smaller(trial: Trial) -> Iterator[Callable[[Trial], Trial]]:
    """Yield ways to leave out a member of the input, or of an answer."""

    def without_input(name: str) -> Callable[[Trial], Trial]:
        return lambda each: Trial({key: value for key, value in each.input.items() if key != name}, each.answers)

    def without_member(task: str, number: int, name: str) -> Callable[[Trial], Trial]:
        def smaller(each: Trial) -> Trial:
            answers = list(each.answers[task])
            kept = {key: value for key, value in answers[number]["return"].items() if key != name}
            answers[number] = {"return": kept}
            return Trial(each.input, {**each.answers, task: answers})

        return smaller

    yield from (without_input(name) for name in trial.input)
    for task, answers in trial.answers.items():
        for number, answer in enumerate(answers):
            yield from (without_member(task, number, name) for name in answer.get("return") or ())


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list({repr(value): value for value in values}.values())


def _parts(value: Any) -> Iterator[Any]:
    """Yield *value* and all values inside it, except inner steps."""
    yield value
    inner: Iterable[Any] = ()
    if isinstance(value, tuple | list):
        inner = value
    elif isinstance(value, dict):
        inner = value.values()
    else:
        inner = (getattr(value, each.name) for each in fields_of(value) if each.name not in {"steps", "index"})
    for each in inner:
        if not isinstance(each, str | int | float | None):
            yield from _parts(each)


def _place(part: Any) -> Place:
    """Return the keys of a path, without those that the engine adds; empty for other values."""
    segments = getattr(part, "segments", None)
    if not isinstance(segments, tuple) or getattr(part, "root", "").lower() == "$context":
        return ()
    return tuple(each for each in segments if isinstance(each, str) and not _WRAPPING.match(each))


def _last(part: Any) -> list[str]:
    place = _place(part)
    return [place[-1]] if place else []


def _compare(part: Comparison, compared: dict[str, list[Any]]) -> None:
    for path, other in ((part.left, part.right), (part.right, part.left)):
        for name in _last(path):
            for constant in _constants(other):
                compared.setdefault(name, []).extend(_around(constant))


def _constants(term: Term) -> Iterator[Any]:
    match term:
        case Array():
            for each in term.items:
                yield from _constants(each)
        case Constant():
            yield term.constant
        case Minus(operand=Constant(constant=int() | float() as number)):
            yield -number
        case _:
            pass


def _around(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [True, False]
    if isinstance(value, int | float):
        return [value, value + 1, value - 1]
    return [value, f"not {value}"]
