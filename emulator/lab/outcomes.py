"""The latest explorations of schedules with their outcomes, as their clients report them, for the console.

They are in memory and bounded. They report past runs, so neither a restore nor a reset deletes them.
"""

from collections.abc import Mapping
from typing import Any

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.frozen import frozen
from emulator.lab.errors import LabError, invalid

MOST_EXPLORATIONS = 10
MOST_BYTES = 64 * 1024 * 1024
"""The most bytes of all explorations together, as reported; the oldest are dropped."""


@frozen
class Outcome:
    """One of the distinct outcomes, in how many runs it came out, and the shortest schedule that produces it.

    ``deviations`` are those of the schedule, in the form of `emulator.lab.exploration.deviations_of`, ``steps`` the
    effects in order; ``events`` is the history as GetExecutionHistory answers it, empty where there is none.
    """

    status: str
    output: str
    calls: tuple[str, ...]
    messages: tuple[str, ...]
    runs: int
    schedule: str
    deviations: tuple[Mapping[str, str], ...]
    steps: tuple[str, ...]
    events: tuple[Mapping[str, Any], ...]


@frozen
class Explored:
    """An exploration of a flow or a test, the outcome of the first schedule first; ``made_at`` is the emulator's time.

    ``flow`` is the name of the flow, "" where a ``test`` was explored; the status of a test's outcome says whether it
    has passed, its output why not, and its events are of an execution that it has started. ``tried`` of ``known``
    schedules were run; the exploration is complete when none was left to try.
    """

    id: str
    made_at: Millis
    flow: str
    test: str
    definition: str
    input: str
    tried: int
    known: int
    is_complete: bool
    outcomes: tuple[Outcome, ...]
    size: int

    def summary(self) -> dict[str, Any]:
        """Return the members shown in a list."""
        return {
            "id": self.id,
            "at": self.made_at,
            "flow": self.flow,
            "test": self.test,
            "input": self.input,
            "tried": self.tried,
            "known": self.known,
            "complete": self.is_complete,
            "outcomes": len(self.outcomes),
        }

    def shown(self) -> dict[str, Any]:
        """Return all members."""
        outcomes = [{name: getattr(each, name) for name in Outcome.__annotations__} for each in self.outcomes]
        return {**self.summary(), "definition": self.definition, "outcomes": outcomes}


class Explorations:
    """The latest explorations."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[str, Explored] = {}
        self._count = 0

    def keep(self, told: Mapping[str, Any], size: int) -> Explored:
        """Keep an exploration, given as the admin API takes it; *size* is its length in bytes.

        Raises: LabError (InvalidParameter).
        """
        outcomes = tuple(read_outcome(each) for each in told["outcomes"])
        if not outcomes:
            raise invalid("outcomes is empty: every exploration has one")
        if bool(told["flow"]) == bool(told["test"]):
            raise invalid("an exploration is either of a flow or of a test")
        self._count += 1
        explored = Explored(
            id=str(self._count),
            made_at=self._clock.now(),
            flow=told["flow"],
            test=told["test"],
            definition=told["definition"],
            input=told["input"],
            tried=told["tried"],
            known=told["known"],
            is_complete=told["complete"],
            outcomes=outcomes,
            size=size,
        )
        self._kept[explored.id] = explored
        while len(self._kept) > MOST_EXPLORATIONS or sum(each.size for each in self._kept.values()) > MOST_BYTES:
            del self._kept[next(iter(self._kept))]
        return explored

    def latest(self) -> list[Explored]:
        """Return the explorations that are kept, newest first."""
        return list(reversed(self._kept.values()))

    def get(self, id: str) -> Explored:
        """Return an exploration.

        Raises: LabError (NotFound).
        """
        if id not in self._kept:
            raise LabError("NotFound", what="exploration", name=id)
        return self._kept[id]


def read_outcome(told: Any) -> Outcome:
    """Read an outcome as the admin API takes it.

    Raises: LabError (InvalidParameter).
    """
    if not isinstance(told, dict) or type(told.get("runs")) is not int:
        raise invalid("an outcome is an object, and runs is a number")
    return Outcome(
        status=_text(told, "status"),
        output=_text(told, "output"),
        calls=_list(told, "calls", str),
        messages=_list(told, "messages", str),
        runs=told["runs"],
        schedule=_text(told, "schedule"),
        deviations=tuple(_read_deviation(each) for each in _list(told, "deviations", dict)),
        steps=_list(told, "steps", str),
        events=_list(told, "events", dict),
    )


def _read_deviation(told: Mapping[str, Any]) -> Mapping[str, str]:
    names = ("kind", "option", "first")
    if not all(isinstance(told.get(name), str) for name in names):
        raise invalid("a deviation of an outcome has kind, option and first, which are texts")
    return {name: told[name] for name in names}


def _text(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    if not isinstance(value, str):
        raise invalid(f"{name} of an outcome is a text")
    return value


def _list(told: Mapping[str, Any], name: str, kind: type) -> tuple[Any, ...]:
    values = told.get(name, [])
    if not isinstance(values, list) or not all(isinstance(each, kind) for each in values):
        raise invalid(f"{name} of an outcome is a list of {'texts' if kind is str else 'objects'}")
    return tuple(values)
