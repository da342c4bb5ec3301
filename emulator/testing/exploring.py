"""Explored tests: a test is run repeatedly, each time from the same state with another schedule."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import wraps
from inspect import signature
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from emulator.kernel.clock import SystemClock
from emulator.kernel.spelling import suggestion
from emulator.kernel.turnstile import unknown_name
from emulator.lab.exploration import (
    Search,
    deviations_of,
    in_words,
    not_an_option,
    not_taken,
    read_schedule_text,
    schedule_text,
    side_by_side,
    steps_of,
    taken_in,
)
from emulator.testing.api import ApiError, TestingError, hidden
from emulator.testing.kit import Localyun
from emulator.testing.process import kit_of_project
from emulator.testing.resources import duration
from emulator.wire.durations import parse_duration

__tracebackhide__ = hidden

_BASELINE = "pytest-explored"
_FAILURES = (Exception, pytest.fail.Exception)
"""The exceptions by which a test fails; pytest's own failure is not an Exception."""

_EXECUTIONS = 5
_EVENTS = 1000
"""How many executions of a run, and how many events of each, are compared to find the one to show."""

_SHOWN = 10_000
"""Characters of a failure message that are kept."""


class Exploration:
    """How a test is explored. *budget* bounds the real time, *runs* the number of schedules.

    *order* are the kinds of effects whose order is chosen (None: all), *faults* what may happen to effects. *reset* is
    called before each run, for state outside the emulator. With *random* off no random schedules follow those within
    the bound; with *reduce* off orders of the same outcome are tried as well. *share* is the number of this worker,
    from 0, and how many workers share the schedules.
    """

    def __init__(
        self,
        *,
        deviations: int | None = 2,
        order: Sequence[str] | None = None,
        faults: Sequence[str] = (),
        runs: int = 500,
        budget: Any = "60s",
        reset: Callable[[], object] | None = None,
        random: bool = True,
        reduce: bool = True,
        patience: str = "1s",
        share: tuple[int, int] = (0, 1),
    ) -> None:
        number, of = self.share = share
        self.search = Search(
            deviations=deviations, most=runs // of + (number < runs % of), random=random, reduce=reduce, share=share
        )
        self.budget_s = parse_duration(duration(budget)) / 1000
        self.reset = reset or (lambda: None)
        self.fixed: dict[str, Any] = {"order": order, "faults": list(faults), "patience": patience}


def explored(
    kit: Localyun, test: Callable[..., Any], address: str, settings: Mapping[str, Any], only: str | None
) -> Callable[..., Any]:
    """Return a test that runs *test* with each schedule, or with *only* one.

    *address* is the test's node id for pytest: its file and its name.

    Raises: TestingError for settings that the marker does not have, and for an invalid schedule.
    """
    try:
        check(settings)
        given = read_schedule_text(only) if only else None
    except (TypeError, ValueError) as error:
        raise TestingError(f"localyun_explore: {error}") from error

    @wraps(test)
    def run_all(**arguments: Any) -> None:
        exploration = Exploration(**settings)  # a property explores anew for each example
        _freeze(kit)
        if given is not None:
            try:
                _run(kit, test, exploration, arguments, {"choices": {str(number): taken for number, taken in given}})
            finally:
                view = kit.api.admin("GET", "schedule")
                if mistake := not_an_option(given, view):
                    raise TestingError(f"--localyun-schedule: {mistake}")
                if missed := not_taken(given, view):
                    name, choices = address.rpartition("::")[2], len(view["choices"])
                    kit.explored = f"{missed} was not used; choices in this run of {name}: {choices}"
            return
        _explore(kit, test, exploration, arguments, address)

    return run_all


def check(settings: Mapping[str, Any]) -> None:
    """Raises: TypeError, ValueError for settings that an exploration cannot have."""
    names = list(signature(Exploration).parameters)
    for name in settings:
        if name not in names:
            raise TypeError(f"there is no argument {name}{suggestion(name, names)}")
    for name in ("order", "faults"):
        if isinstance(given := settings.get(name) or (), str):
            raise ValueError(f"{name} must be a list such as [{given!r}], not {given!r}")  # noqa: TRY004 - as all below
    runs, deviations = settings.get("runs", 1), settings.get("deviations")
    if not isinstance(runs, int) or runs < 1:
        raise ValueError(f"runs must be a number from 1, not {runs!r}")
    if deviations is not None and (not isinstance(deviations, int) or deviations < 0):
        raise ValueError(f"deviations must be a number from 0, or None, not {deviations!r}")
    for name in ("budget", "patience"):
        given = settings.get(name, "1s")
        try:
            parse_duration(duration(given))
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{name} must be a duration such as 90s or 1m30s, not {given!r}") from error
    Exploration(**settings)
    if problem := unknown_name(settings.get("order") or (), settings.get("faults") or ()):
        raise ValueError(problem)


def _freeze(kit: Localyun) -> None:
    """Freeze the clock at the same time for every run, so that a test sees the same times."""
    kit.clock.freeze()
    kit.settle()
    kit.checkpoint(_BASELINE)


def _run(
    kit: Localyun,
    test: Callable[..., Any],
    exploration: Exploration,
    arguments: Mapping[str, Any],
    schedule: Mapping[str, Any],
) -> None:
    exploration.reset()
    kit.begin_again({**exploration.fixed, **schedule}, _BASELINE)
    test(**arguments)


def _explore(
    kit: Localyun, test: Callable[..., Any], exploration: Exploration, arguments: Mapping[str, Any], address: str
) -> None:
    found = _Found(kit, exploration.search, address, exploration.share)
    clock = SystemClock()
    end = clock.monotonic() + exploration.budget_s
    for schedule in exploration.search:
        try:
            _run(kit, test, exploration, arguments, schedule)
        except _FAILURES as error:
            if not type(error).__module__.startswith("hypothesis"):  # Hypothesis raises it to reject the example
                error.add_note(found.failure(error))
            raise
        found.passed()
        if clock.monotonic() >= end:
            break
    found.told()


class _Found:
    """The outcomes of an exploration's runs, and their report."""

    def __init__(self, kit: Localyun, search: Search, address: str, share: tuple[int, int]) -> None:
        self._kit = kit
        self._search = search
        self._address = address
        number, of = share
        self._part = f"share {number + 1} of {of}" if of > 1 else ""
        self._first: dict[str, Any] = {}
        self._before: list[tuple[str, Any]] = []
        self._strayed = 0

    def passed(self) -> None:
        """Record a run that has passed, and the alternatives to its choices."""
        view = self._kit.api.admin("GET", "schedule")
        if not self._first:
            self._before = self._histories()
            self._first = self._outcome("Succeeded", "", view)
        self._first["runs"] = self._search.tried
        self._strayed += view["strayed"]
        self._search.learn(view)

    def told(self) -> None:
        """Set the kit's report: all runs have passed."""
        search, name = self._search, self._address.rpartition("::")[2]
        part = f", {self._part}" if self._part else ""
        self._kit.explored = f"{search.tried} of {search.known} schedules of {name}{part} were tried; all passed"
        if search.is_complete and not part:
            self._kit.explored += "; there are no others"
        if self._strayed:
            self._kit.explored += f"; {_strayed(self._strayed)}"
        self._keep([self._first], self._before)

    def failure(self, error: BaseException) -> str:
        """Set the kit's report: a run has failed; return the text for the test's report."""
        search = self._search
        view = self._kit.api.admin("GET", "schedule")
        failed = self._outcome("Failed", f"{type(error).__name__}: {error}"[:_SHOWN], view)
        self._keep([self._first, failed] if self._first else [failed], self._histories())
        schedule = failed["schedule"]
        lines = [f"schedule {search.tried} of {search.known}: {schedule}"]
        lines += [f"  {in_words(each)}" for each in failed["deviations"]]
        if view["strayed"]:
            lines.append(f"  ({_strayed(view['strayed'])})")
        if self._first and (self._first["steps"] or failed["steps"]):
            lines += ["the first schedule, and this one:", *side_by_side(self._first["steps"], failed["steps"])]
        return "\n".join([*lines, f"to replay it: pytest {quote(self._address)} --localyun-schedule {schedule}"])

    def _outcome(self, status: str, output: str, view: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "status": status,
            "output": output,
            "runs": 1,
            "schedule": schedule_text(taken_in(view)),
            "deviations": deviations_of(view),
            "steps": steps_of(view),
        }

    def _histories(self) -> list[tuple[str, Any]]:
        """Return (flow, events) of the executions that the run has started, of those that have a history."""
        found = []
        for flow, execution in self._kit.begun()[:_EXECUTIONS]:
            with suppress(ApiError):
                names = {"FlowName": flow, "ExecutionName": execution}
                found.append((flow, self._kit.api.fnf("GetExecutionHistory", **names, Limit=_EVENTS)["Events"]))
        return found

    def _keep(self, outcomes: list[dict[str, Any]], now: list[tuple[str, Any]]) -> None:
        """Give the kit the outcomes, with the execution whose histories differ between runs, else the first one."""
        pairs = list(zip(self._before or now, now, strict=False))
        shown = next((pair for pair in pairs if pair[0] != pair[1]), pairs[0] if pairs else None)
        definition = ""
        if shown is not None:
            for outcome, (flow, events) in zip(outcomes, shown if len(outcomes) > 1 else shown[1:], strict=True):
                outcome["events"] = events
                with suppress(ApiError):
                    definition = self._kit.api.fnf("DescribeFlow", Name=flow)["Definition"]
        self._kit.exploration = {
            "test": f"{self._address} ({self._part})" if self._part else self._address,
            "tried": self._search.tried,
            "known": self._search.known,
            "complete": self._search.is_complete,
            "definition": definition,
            "outcomes": outcomes,
        }


def _strayed(times: int) -> str:
    return f"order was not the schedule's own {times} times: see localyun_patience"


def keep(kit: Localyun, exploration: Mapping[str, Any], folder: Path) -> str:
    """Publish an exploration to the consoles of the test's emulator and of the emulator started for *folder*.

    Returns a line with its address in the latter's console, "" when none runs.
    """
    with suppress(ApiError):  # too large to store
        kit.api.admin("POST", "explorations", exploration)
    other = kit_of_project(folder)
    if other is None:
        return ""
    with closing(other), suppress(ApiError, OSError):
        id = other.api.admin("POST", "explorations", exploration)["id"]
        return f"localyun console explorations/{id} shows it"
    return ""
