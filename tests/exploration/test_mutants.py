"""Small applications with one planted bug each: all are found, by a shortest schedule.

Each bug needs one or two deviations. The repaired form of each passes every schedule within the bound.
"""

import pytest

from emulator.lab.exploration import Search, taken_in
from tests.exploration.conftest import PATIENCE

RETRY = "retry: [{errors: [FC.Unknown, FC.ResourceThrottled, FnF.ALL], intervalSeconds: 1, maxAttempts: 3}]"


def task(name, more=""):
    return (
        f"{{type: task, name: {name}, resourceArn: 'acs:fc:::services/x/functions/{name}',"
        f" inputMappings: [{{target: who, source: $input.who}}]{', ' + more if more else ''}}}"
    )


def flow(*steps):
    return "version: v1\ntype: flow\nsteps:\n" + "".join(f"  - {step}\n" for step in steps)


BRANCHES = (
    "version: v1\ntype: flow\nsteps:\n  - type: parallel\n    name: all\n    branches:\n"
    f"      - steps:\n          - {task('a')}\n      - steps:\n          - {task('b')}\n"
)


def pushed(localyun, *bodies):
    """Return what a subscriber gets."""
    page = localyun.sink()
    topic = localyun.topic("t")
    topic.subscribe(page.url, name="page", content_format="SIMPLIFIED")
    for body in bodies:
        topic.publish(body)
    localyun.skip_until(quiet=True, limit="2d", timeout="60s")
    return [each.body for each in page.requests]


def called(localyun, definition, *inputs, functions="ab"):
    """Return the calls of mocked functions in their order, as the steps of the run have them, and the executions."""
    for name in functions:
        localyun.mock(f"x/{name}", returns={})
    made = localyun.flow("f", definition)
    runs = [made.start({"who": who}) for who in inputs]
    localyun.skip_until(quiet=True, limit="2d", timeout="60s")
    steps = localyun.api.admin("GET", "schedule")["steps"]
    calls = [each["what"].split()[1].split("/") for each in steps if each["what"].startswith("call ")]
    number = {run.name: place for place, run in enumerate(runs)}
    return [(number[name], step.partition("#")[0]) for _, name, step in calls], runs


def received(localyun, *bodies):
    """Return what a consumer receives that takes what it gets, one after the other."""
    queue = localyun.queue("q")
    for body in bodies:
        queue.send(body)
    got = []
    while len(got) < 5 and (message := queue.receive()) is not None:
        got.append(message.body)
        queue.delete(message)
    return got


def calls_of(localyun, definition):
    """Return how often the function of a flow with retries was called, and how the flow has ended."""
    _, (run,) = called(localyun, definition, "ann", functions="a")
    return len(localyun.calls("x/a")), run.status


def seats(calls):
    """Return how many flows have seen a free seat: a look counts when nobody has booked before it."""
    return sum(step == "a" and (1 - who, "b") not in calls[:at] for at, (who, step) in enumerate(calls))


def finished(localyun):
    """Return the branches in the order in which they have ended."""
    _, (run,) = called(localyun, BRANCHES, "ann")
    return [each["StepName"] for each in run.history if each["Type"] == "TaskSucceeded"]


def shipped_though_cancelled(localyun, looks):
    """Return what becomes of an order that its customer may cancel, and whose shop may look at that."""
    cancelled = localyun.choice("the customer cancels", [False, True])
    ships = localyun.choice("the shop ships", [False, True])
    return cancelled and ships and not looks


PLAIN, RETRIED = flow(task("a")), flow(task("a", RETRY))

MUTANTS = {
    # name: (what may vary, deviations, the bug's condition, the repaired form's)
    "last push wins": (
        {"order": ["push"]},
        1,
        lambda ly: pushed(ly, "1", "2")[-1] == "2",
        lambda ly: max(pushed(ly, "1", "2")) == "2",
    ),
    "first push wins": (
        {"order": ["push"]},
        1,
        lambda ly: pushed(ly, "1", "2", "3")[0] == "1",
        lambda ly: min(pushed(ly, "1", "2", "3")) == "1",
    ),
    "push is counted": (
        {"order": [], "faults": ["duplicate"]},
        1,
        lambda ly: len(pushed(ly, "1")) == 1,
        lambda ly: len(set(pushed(ly, "1"))) == 1,
    ),
    "push with a lost answer is counted": (
        {"order": [], "faults": ["lost-after"]},
        1,
        lambda ly: len(pushed(ly, "1")) == 1,
        lambda ly: set(pushed(ly, "1")) == {"1"},
    ),
    "lost push changes the order": (
        {"order": [], "faults": ["lost-before"]},
        1,
        lambda ly: pushed(ly, "1", "2") == ["1", "2"],
        lambda ly: sorted(pushed(ly, "1", "2")) == ["1", "2"],
    ),
    "restart repeats a push": (
        {"order": [], "faults": ["restart"]},
        1,
        lambda ly: len(pushed(ly, "1")) == 1,
        lambda ly: set(pushed(ly, "1")) == {"1"},
    ),
    "two lost answers are one too many": (
        {"order": [], "faults": ["lost-after"]},
        2,
        lambda ly: len(pushed(ly, "1")) < 3,
        lambda ly: "1" in pushed(ly, "1"),
    ),
    "lost answer repeats a call": (
        {"order": [], "faults": ["lost-after"]},
        1,
        lambda ly: calls_of(ly, RETRIED)[0] == 1,
        lambda ly: calls_of(ly, RETRIED)[1] == "Succeeded",
    ),
    "no retry of a lost call": (
        {"order": [], "faults": ["lost-before"]},
        1,
        lambda ly: calls_of(ly, PLAIN)[1] == "Succeeded",
        lambda ly: calls_of(ly, RETRIED)[1] == "Succeeded",
    ),
    "no retry of a throttled call": (
        {"order": [], "faults": ["throttle"]},
        1,
        lambda ly: calls_of(ly, PLAIN)[1] == "Succeeded",
        lambda ly: calls_of(ly, RETRIED)[1] == "Succeeded",
    ),
    "crash after the work": (
        {"order": [], "faults": ["crash-after"]},
        1,
        lambda ly: calls_of(ly, RETRIED)[0] == 1,
        lambda ly: calls_of(ly, RETRIED)[1] == "Succeeded",
    ),
    "timeout after the work": (
        {"order": [], "faults": ["timeout"]},
        1,
        lambda ly: calls_of(ly, RETRIED)[0] == 1,
        lambda ly: calls_of(ly, RETRIED)[1] == "Succeeded",
    ),
    "restart repeats a call": (
        {"order": [], "faults": ["restart"]},
        1,
        lambda ly: len(called(ly, PLAIN, "ann", functions="a")[0]) == 1,
        lambda ly: calls_of(ly, PLAIN)[1] == "Succeeded",
    ),
    "three calls are one too many": (
        {"order": [], "faults": ["lost-after"]},
        2,
        lambda ly: calls_of(ly, RETRIED)[0] < 3,
        lambda ly: calls_of(ly, RETRIED)[1] == "Succeeded",
    ),
    "branches in a fixed order": (
        {"order": ["call", "reply"]},
        1,
        lambda ly: finished(ly) == ["a", "b"],
        lambda ly: sorted(finished(ly)) == ["a", "b"],
    ),
    "the last seat": (
        {"order": ["call", "reply"]},
        2,
        lambda ly: seats(called(ly, flow(task("a"), task("b")), "ann", "bo")[0]) == 1,
        lambda ly: len(called(ly, flow(task("b")), "ann", "bo", functions="b")[0]) == 2,
    ),
    "messages in their order": (
        {"order": ["message"]},
        1,
        lambda ly: received(ly, "1", "2") == ["1", "2"],
        lambda ly: sorted(received(ly, "1", "2")) == ["1", "2"],
    ),
    "the third message last": (
        {"order": ["message"]},
        1,
        lambda ly: received(ly, "1", "2", "3")[0] != "3",
        lambda ly: set(received(ly, "1", "2", "3")) == {"1", "2", "3"},
    ),
    "message is counted": (
        {"order": [], "faults": ["duplicate"]},
        1,
        lambda ly: len(received(ly, "1")) == 1,
        lambda ly: len(set(received(ly, "1"))) == 1,
    ),
    "cancelled and shipped": (
        {"order": []},
        2,
        lambda ly: not shipped_though_cancelled(ly, looks=False),
        lambda ly: not shipped_though_cancelled(ly, looks=True),
    ),
}


def explored(localyun, holds, vary, deviations):
    """Return the schedule of the first run in which the condition does not hold, None without one; and the runs."""
    base = localyun.checkpoint("base")
    search = Search(deviations=deviations, most=300, random=False)
    for schedule in search:
        base.restore()
        localyun.api.admin("POST", "schedule", {"patience": PATIENCE, **vary, **schedule})
        held = holds(localyun)
        view = localyun.api.admin("GET", "schedule")
        if not held:
            return taken_in(view), search.tried
        search.learn(view)
    return None, search.tried


@pytest.mark.parametrize("name", MUTANTS)
def test_bug_is_found_by_a_shortest_schedule(bare, name):
    """No schedule with fewer deviations has it, because those have all been tried before."""
    vary, deviations, holds, _ = MUTANTS[name]

    schedule, _ = explored(bare, holds, vary, 2)

    assert schedule is not None
    assert len(schedule) <= deviations


@pytest.mark.parametrize("name", MUTANTS)
def test_repaired_form_passes(bare, name):
    """Every schedule within the bound."""
    vary, deviations, _, holds = MUTANTS[name]

    schedule, _ = explored(bare, holds, vary, deviations)

    assert schedule is None
