"""An explored test: the same test again and again, each time from the same state with another schedule."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from emulator.kernel.clock import SystemClock
from emulator.lab.exploration import (
    Search,
    deviations_in_words,
    read_schedule_text,
    schedule_text,
    side_by_side,
    steps_of,
    taken_in,
)
from emulator.testing.api import TestingError, hidden
from emulator.testing.kit import Localyun
from emulator.testing.resources import duration
from emulator.wire.dates import parse_duration

__tracebackhide__ = hidden

_BASELINE = "pytest-explored"


class Exploration:
    """How a test is explored. *budget* bounds the real time, *runs* the number of schedules.

    *order* are the kinds of effects whose order is chosen (None: all), *faults* what may happen to effects. *reset* is
    called before each run, for state outside the emulator. With *random* off no random schedules follow those within
    the bound; with *reduce* off orders that nobody can tell apart are tried as well. *share* is the number from 0 of
    those who share the schedules, and how many they are.
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
    kit: Localyun, test: Callable[..., Any], name: str, settings: Mapping[str, Any], only: str | None
) -> Callable[..., Any]:
    """Return a test that runs *test* with each schedule, or with the one that *only* says.

    Raises: TestingError for settings that the marker does not have, and for what is no schedule.
    """
    try:
        Exploration(**settings)
        given = read_schedule_text(only) if only else None
    except (TypeError, ValueError) as error:
        raise TestingError(f"localyun_explore: {error}") from error

    @wraps(test)
    def run_all(**arguments: Any) -> None:
        exploration = Exploration(**settings)  # of a property each example is explored anew
        _freeze(kit)
        if given is not None:
            _run(kit, test, exploration, arguments, {"choices": {str(number): taken for number, taken in given}})
            return
        _explore(kit, test, exploration, arguments, name)

    return run_all


def _freeze(kit: Localyun) -> None:
    """Let every run begin at one moment of a clock that stands still: what a test sees of time is the same then."""
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
    kit: Localyun, test: Callable[..., Any], exploration: Exploration, arguments: Mapping[str, Any], name: str
) -> None:
    search = exploration.search
    clock = SystemClock()
    end = clock.monotonic() + exploration.budget_s
    first: list[str] = []
    for schedule in search:
        try:
            _run(kit, test, exploration, arguments, schedule)
        except Exception as error:
            view = kit.api.admin("GET", "schedule")
            error.add_note(_story(search, view, first, name))
            raise
        view = kit.api.admin("GET", "schedule")
        first = first or steps_of(view)
        search.learn(view)
        if clock.monotonic() >= end:
            break
    number, of = exploration.share
    part = f", share {number + 1} of {of}" if of > 1 else ""
    kit.explored = f"{search.tried} of {search.known} schedules of {name}{part} were tried; all passed" + (
        "; there are no others" if search.is_complete and not part else ""
    )


def _story(search: Search, view: Mapping[str, Any], first: Sequence[str], name: str) -> str:
    """Return what a failing run's report says."""
    schedule = schedule_text(taken_in(view))
    lines = [f"schedule {search.tried} of {search.known}: {schedule}"]
    lines += [f"  {each}" for each in deviations_in_words(view)]
    if view["strayed"]:
        lines.append(f"  (order was not the schedule's own {view['strayed']} times: see localyun_patience)")
    if first:
        lines += ["the first schedule, and this one:", *side_by_side(first, steps_of(view))]
    return "\n".join([*lines, f"to replay it: pytest -k {name!r} --localyun-schedule {schedule}"])
