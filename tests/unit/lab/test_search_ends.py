"""When the search for schedules ends, and how many it says were tried: over tests that only choose."""

import random

import pytest

from emulator.lab.exploration import UNLUCKY, Search, not_an_option, not_taken


def choosing(options, schedule):
    """Return what GET schedule shows of a run with one choice for each of *options*, the number of its options."""
    draw = random.Random(schedule["seed"]).randrange if "seed" in schedule else None
    return {
        "choices": [
            {
                "n": number, "kind": "test", "options": ["x"] * many, "steps": [],
                "taken": draw(many) if draw else schedule["choices"].get(str(number), 0),
            }
            for number, many in enumerate(options)
        ],
        "steps": [],
    }  # fmt: skip


def searched(*options, **how):
    """Return a search over all such runs, and how many there were."""
    search, runs = Search(**how), 0
    for runs, schedule in enumerate(search, start=1):  # noqa: B007 - the last number is the result
        search.learn(choosing(options, schedule))
    return search, runs


def test_schedules_are_counted_once():
    """Random ones are drawn anew, so that they repeat others; when all are known the search is complete."""
    search, runs = searched(3, 3, 3, deviations=1)

    assert search.tried == search.known == 27
    assert 27 < runs < 500
    assert search.is_complete


def test_search_ends_when_random_schedules_find_nothing_new():
    """Of very many, of which the drawn ones are always the same; whether there are others is not known."""
    search, runs = Search(deviations=0), 0
    for schedule in search:
        runs += 1
        search.learn(choosing([9] * 9, schedule | {"seed": 1} if "seed" in schedule else schedule))

    assert search.tried == search.known == 2
    assert runs == 2 + UNLUCKY
    assert not search.is_complete


def test_runs_bound_random_schedules():
    """Each run is one, whether or not its schedule is new."""
    search, runs = searched(*[2] * 12, deviations=1, most=100)

    assert runs == 100
    assert 13 < search.tried <= 100
    assert not search.is_complete


def test_schedule_under_way_is_counted():
    """A run that fails is not learnt from, but its schedule was tried."""
    search = Search()
    for schedule in search:
        if search.tried == 3:
            break
        search.learn(choosing([3, 3], schedule))

    assert search.known >= 3


def test_schedule_from_which_a_run_strays_has_been_tried():
    """Its run took another one's choices, as on a machine that is too busy; that is reported for itself."""
    search = Search(deviations=None, reduce=False)
    for schedule in search:
        search.learn(choosing([2, 2], schedule if len(schedule["choices"]) < 2 else {"choices": {}}))

    assert search.tried == 4


@pytest.mark.parametrize(
    ("given", "mistake", "missed"),
    [
        (((0, 2), (1, 1)), "", ""),
        (((0, 3),), "choice 0 has no option 3, only those from 0 to 2", "0:3"),
        (((5, 1),), "", "5:1"),
    ],
)
def test_option_that_a_choice_does_not_have_is_told_from_a_choice_that_was_not_met(given, mistake, missed):
    """The first is a mistake: another option, the last one, was taken. The second may be the program's doing."""
    view = choosing([3, 2], {"choices": {str(number): min(taken, 2) for number, taken in given}})

    assert not_an_option(given, view) == mistake
    assert not_taken(given, view) == missed
