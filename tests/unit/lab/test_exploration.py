"""Which schedules are worth a run: the search alone, over a model of what runs."""

from random import Random

import pytest

from emulator.lab.exploration import (
    Search,
    deviations_in_words,
    read_schedule_text,
    schedule_text,
    side_by_side,
    steps_of,
    taken_in,
)
from tests.exploration.small import Small


def simulated(application, choices):
    """Return what GET schedule would show of a run of the application's model, and its outcome."""
    waiting, steps, made = {}, [{"step": 0, "what": "begin ", "by": 0, "touched": ["*"]}], []
    sinks, functions, ended = [()] * application.sinks, [(), ()], ()
    effects = [("call", each) for each in range(len(application.branches))]
    effects += [("push", body, sink) for body in application.bodies for sink in range(application.sinks)]
    for number, effect in enumerate(effects, start=1):
        waiting[number] = (effect, 0)
    last = len(effects)
    while waiting:
        options, taken = list(waiting), 0
        if len(options) > 1:
            taken = min(choices.get(str(len(made)), 0), len(options) - 1)
            made.append(
                {
                    "n": len(made), "kind": "order", "options": [f"{waiting[each][0]}" for each in options],
                    "taken": taken, "steps": options, "step": len(steps),
                }
            )  # fmt: skip
        effect, by = waiting.pop(options[taken])
        touched = "execution"
        if effect[0] == "push":
            sinks[effect[2]] += (effect[1],)
            touched = f"sink {effect[2]}"
        elif effect[0] == "call":
            place = "fg".index(application.branches[effect[1]])
            functions[place] += (effect[1],)
            touched = f"function {place}"
            last += 1
            waiting[last] = (("reply", effect[1]), options[taken])
        else:
            ended += (effect[1],)
        steps.append({"step": options[taken], "what": f"{effect}", "by": by, "touched": [touched]})
    return {"choices": made, "steps": steps}, (tuple(sinks), tuple(functions), ended)


def explored(application, **how):
    """Return the search and the outcomes it has found, each with the schedules that lead there."""
    search, found = Search(**how), {}
    for schedule in search:
        view, outcome = simulated(application, schedule["choices"])
        found.setdefault(outcome, []).append(taken_in(view))
        search.learn(view)
    return search, found


@pytest.mark.parametrize("seed", range(50))
def test_search_without_a_bound_finds_every_outcome_once(seed):
    """Exactly those of the model, and no two runs with the same one."""
    application = Small(seed)

    search, found = explored(application, deviations=None, most=5000)

    assert set(found) == application.outcomes()
    assert search.is_complete
    assert search.tried == len(found) == search.known


@pytest.mark.parametrize("seed", [6, 7, 8])
def test_reduction_leaves_out_no_outcome(seed):
    """Without it there are the same, in more runs."""
    application = Small(seed)

    search, found = explored(application, deviations=None, most=20_000, reduce=False)

    assert set(found) == application.outcomes()
    assert search.tried > len(found)


def test_schedules_come_by_their_deviations():
    """The first without any, then all single ones, then pairs: the first failure found is the shortest."""
    search, lengths = Search(deviations=2, most=200), []
    for schedule in search:
        if "strategy" in schedule:
            break
        lengths.append(len(schedule["choices"]))
        search.learn(simulated(Small(7), schedule["choices"])[0])

    assert lengths == sorted(lengths)
    assert set(lengths) == {0, 1, 2}


def test_random_schedules_follow_until_the_runs_are_spent():
    """A bound leaves schedules out, so each run after those within it draws its own."""
    search, seeds, runs = Search(deviations=1, most=60), [], 0
    for runs, schedule in enumerate(search, start=1):  # noqa: B007 - the last number is asserted
        choices = schedule["choices"]
        if "strategy" in schedule:
            seeds.append(schedule["seed"])
            draw = Random(schedule["seed"])
            choices = {str(number): draw.randrange(3) for number in range(20)}
        search.learn(simulated(Small(7), choices)[0])

    assert runs == 60
    assert runs - len(seeds) < search.tried < runs, "some are drawn again"
    assert seeds == sorted(set(seeds))
    assert seeds


def test_shares_divide_the_work():
    """Each share has the first schedule; the others belong to one share each, and together they find everything."""
    application = Small(6)

    shares = [explored(application, deviations=None, most=5000, share=(number, 3))[1] for number in range(3)]

    assert set().union(*shares) == application.outcomes()


@pytest.mark.parametrize(
    ("text", "deviations"), [("3:1,7:2", ((3, 1), (7, 2))), ("first", ()), ("7:2 3:1", ((3, 1), (7, 2)))]
)
def test_schedule_is_read_as_it_is_written(text, deviations):
    """In any order, with commas or blanks."""
    assert read_schedule_text(text) == deviations
    assert read_schedule_text(schedule_text(deviations)) == deviations


@pytest.mark.parametrize("text", ["3", "a:b", "1:2:3", "-1:2"])
def test_what_is_no_schedule_is_refused(text):
    """With how one is written."""
    with pytest.raises(ValueError, match="3:1,7:2"):
        read_schedule_text(text)


def test_deviations_are_told_in_words():
    """An order, a verdict and a choice of the test's own."""
    view = {
        "choices": [
            {"kind": "order", "options": ["push a", "push b"], "taken": 1},
            {"kind": "order", "options": ["push a", "push b"], "taken": 0},
            {"kind": "fault", "options": ["nothing: push a", "lost-after: push a"], "taken": 1},
            {"kind": "test", "options": ["cancel: False", "cancel: True"], "taken": 1},
        ]
    }

    assert deviations_in_words(view) == ["push b goes before push a", "push a: lost-after", "cancel: True is chosen"]


def test_two_runs_stand_side_by_side():
    """The first difference is marked, an injected fault is one, and what a client did is left out."""
    steps = [{"what": "begin StartExecution"}, {"what": "push a"}, {"what": "push b"}]
    faults = [
        {"kind": "fault", "options": ["nothing: push a", "lost-after: push a"], "taken": 0},
        {"kind": "fault", "options": ["nothing: push b", "lost-after: push b"], "taken": 1},
    ]

    assert steps_of({"steps": steps, "choices": []}) == ["push a", "push b"]
    assert steps_of({"steps": steps, "choices": faults}) == ["push a", "push b: lost-after"]
    assert side_by_side(["x", "push a"], ["x", "push b", "c"]) == ["  x       x", "> push a  push b", "          c"]
