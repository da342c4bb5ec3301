"""Explored tests, run by a pytest of their own: spread over workers, replayed, and with Hypothesis."""

import re

import pytest

from tests.once import once
from tests.own_pytest import SUMMARY, failure, outcomes, outcomes_by_file
from tests.plugin.test_plugin import project, run_project

__all__ = ["project"]

PAGES = """
import pytest

def pages(localyun, *bodies):
    page = localyun.sink()
    topic = localyun.topic("orders")
    topic.subscribe(page.url, name="page", content_format="SIMPLIFIED")
    for body in bodies:
        topic.publish(body)
    localyun.settle()
    return [each.body for each in page.requests]
"""


ALONE = {"pages_py": PAGES}
"""Files of a project, by name, that one process runs. Tests below add theirs, and look at what became of them."""

ON_WORKERS = {"pages_py": PAGES}
"""The same of a project that two workers run."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What is printed about `ALONE`."""
    folder = tmp_path_factory.mktemp("p")
    return once(tmp_path_factory, "alone", lambda: run_project(folder, "-n", "0", SUMMARY, exit_code=1, **ALONE))


@pytest.fixture(scope="module")
def on_workers(tmp_path_factory):
    """What is printed about `ON_WORKERS`."""
    folder = tmp_path_factory.mktemp("p")
    return once(
        tmp_path_factory, "on_workers", lambda: run_project(folder, "-n", "2", SUMMARY, exit_code=1, **ON_WORKERS)
    )


def tried(text, test):
    """Return how many schedules each line of the summary says were tried of a test."""
    return [int(number) for number in re.findall(rf"^(\d+) of \d+ schedules of {test}\b", text, re.MULTILINE)]


EVERY_ORDER = {
    "test_every_order_py": """
        from pages import pages
        import pytest

        @pytest.mark.localyun_explore(order=["push"], deviations=None, random=False)
        def test_all(localyun):
            assert set(pages(localyun, "1", "2", "3")) == {"1", "2", "3"}
        """,
}
ALONE |= EVERY_ORDER
ON_WORKERS |= EVERY_ORDER


def test_schedules_of_a_test_are_spread_over_the_workers(alone, on_workers):
    """Each has its share, and together they have every schedule once, but for the first, which all begin with."""
    shares = tried(on_workers, "test_all")

    assert tried(alone, "test_all") == [6]
    assert len(shares) == 2
    assert sum(shares) == 7
    assert all(1 < each < 6 for each in shares)
    assert outcomes_by_file(on_workers)["test_every_order.py"] == {"passed": 2}


LAST = {
    "test_last_py": """
        from pages import pages
        import pytest

        @pytest.mark.localyun_explore(order=["push"])
        def test_last(localyun):
            localyun.queue()
            assert pages(localyun, "1", "2")[-1] == "2"

        @pytest.mark.xfail(strict=True, reason="pushes overtake each other")
        @pytest.mark.localyun_explore(order=["push"])
        def test_expected(localyun):
            assert pages(localyun, "1", "2")[-1] == "2"
        """,
}
ON_WORKERS |= LAST


def test_failure_of_a_share_is_replayed_by_its_schedule(on_workers, project):
    """By the name of the test, without the workers. A test that is expected to fail is not spread: it would pass."""
    name, schedule = re.search(r"pytest (\S+::test_last) --localyun-schedule (\S+)", on_workers).groups()

    again = project("-n", "2", name, "--localyun-schedule", schedule, exit_code=1, pages_py=PAGES, **LAST)

    assert outcomes_by_file(on_workers)["test_last.py"] == {"failed": 1, "passed": 1, "xfail": 1}
    assert name == "test_last.py::test_last"
    assert outcomes(again) == {"failed": 1}, again
    assert "localyun exploration" not in on_workers, "a heading has something below it"


ON_WORKERS |= {
    "test_clock_py": """
        import pytest
        from datetime import UTC, datetime, timedelta

        @pytest.mark.parametrize("number", range(6))
        def test_time(localyun, number):
            assert abs(localyun.clock.now() - datetime.now(UTC)) < timedelta(minutes=5)
            localyun.clock.advance("30d")
        """,
}


def test_workers_have_a_clock_of_their_own(on_workers):
    """Under xdist no worker's time is moved by another's."""
    assert outcomes_by_file(on_workers)["test_clock.py"] == {"passed": 6}


@pytest.mark.parametrize(("schedule", "missed"), [("0:0", ""), ("0:0,7:9", "7:9"), ("9:1", "9:1")])
def test_choice_that_a_replayed_test_does_not_have_is_reported(project, schedule, missed):
    """The test has passed, but not with the schedule that was to be replayed."""
    test = """
        from pages import pages
        import pytest

        @pytest.mark.localyun_explore(order=["push"])
        def test_last(localyun):
            assert pages(localyun, "1", "2")[-1] == "2"
        """

    text = project("-n", "0", "--localyun-schedule", schedule, exit_code=0, pages_py=PAGES, test_it_py=test)

    told = f"{missed} was not used; choices in this run of test_last: 1"
    assert (told in text) if missed else ("was not used" not in text)


MISTYPED = {
    "test_argument": ("deviation=1", "localyun_explore: there is no argument deviation; did you mean deviations?"),
    "test_fault": ("faults=['lost']", "localyun_explore: faults has no 'lost'; there are lost-before, lost-after, "),
    "test_order": ("order=['pushes']", "localyun_explore: order has no 'pushes'; there are call, reply, push, "),
}
"""Tests by name, each with what its marker says and with the message."""

ALONE |= {
    "test_mistyped_py": "import pytest\n"
    + "".join(
        f"\n\n@pytest.mark.localyun_explore({arguments})\ndef {name}(localyun):\n    pass\n"
        for name, (arguments, _) in MISTYPED.items()
    )
}


@pytest.mark.parametrize("name", MISTYPED)
def test_mistyped_argument_of_the_marker_is_no_failing_schedule(alone, name):
    """The message names it; there is nothing to replay."""
    _, message = MISTYPED[name]

    told = failure(alone, name)

    assert message in told
    assert "--localyun-schedule" not in told


ALONE |= {
    "test_choice_py": """
        import pytest

        @pytest.mark.localyun_explore
        def test_choice(localyun):
            assert not localyun.choice("cancels", [False, True])
        """,
}


def test_choices_of_the_test_alone_have_no_columns_of_effects(alone):
    """Nothing stands below a heading without effects."""
    told = failure(alone, "test_choice")

    assert "the first schedule, and this one" not in told
    assert "--localyun-schedule 0:1" in told


ALONE |= {
    "test_baseline_py": """
        from hypothesis import HealthCheck, given, settings, strategies as st

        bodies = st.lists(st.text("ab", min_size=1), min_size=1, max_size=3)

        @settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
        @given(bodies=bodies)
        def test_queue(localyun, bodies):
            queue = localyun.queue("jobs")
            for body in bodies:
                queue.send(body)
            assert sorted(each.body for each in queue.peek(16)) == sorted(bodies)
        """,
    "test_explored_py": """
        import pytest
        from hypothesis import HealthCheck, given, settings, strategies as st
        from pages import pages

        @pytest.mark.localyun_explore(order=["push"], deviations=1, random=False)
        @settings(max_examples=10, deadline=None, database=None, derandomize=True,
                  suppress_health_check=[HealthCheck.function_scoped_fixture])
        @given(count=st.integers(1, 3))
        def test_counted(localyun, count):
            bodies = [str(number) for number in range(count)]
            assert pages(localyun, *bodies) == bodies
        """,
}


def test_each_example_of_hypothesis_begins_at_the_baseline_and_is_explored(alone):
    """What an example leaves behind, the next one does not see; the smallest with a failing order is reported."""
    found = outcomes_by_file(alone)
    told = failure(alone, "test_counted")

    assert (found["test_baseline.py"], found["test_explored.py"]) == ({"passed": 1}, {"failed": 1})
    assert "count=2" in told
    assert "push orders/page#1 '1' goes before push orders/page#1 '0'" in told
    assert "--localyun-schedule 0:1" in told
