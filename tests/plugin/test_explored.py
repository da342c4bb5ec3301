"""Explored tests, run by a pytest of their own: spread over workers, replayed, and with Hypothesis."""

import re

import pytest

from tests.own_pytest import SUMMARY, outcomes, outcomes_by_file
from tests.plugin.test_plugin import project

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


def tried(text):
    """Return how many schedules each line of the summary says were tried."""
    return [int(number) for number in re.findall(r"^(\d+) of \d+ schedules", text, re.MULTILINE)]


def test_schedules_of_a_test_are_spread_over_the_workers(project):
    """Each has its share, and together they have every schedule once, but for the first, which all begin with."""
    test = """
        from pages import pages
        import pytest

        @pytest.mark.localyun_explore(order=["push"], deviations=None, random=False)
        def test_all(localyun):
            assert set(pages(localyun, "1", "2", "3")) == {"1", "2", "3"}
        """

    alone = tried(project("-n", "0", pages_py=PAGES, test_it_py=test))
    shares = tried(project("-n", "2", pages_py=PAGES, test_it_py=test))

    assert alone == [6]
    assert len(shares) == 2
    assert sum(shares) == 7
    assert all(1 < each < 6 for each in shares)


def test_failure_of_a_share_is_replayed_by_its_schedule(project):
    """By the name of the test, without the workers. A test that is expected to fail is not spread: it would pass."""
    test = """
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
        """

    failed = project("-n", "2", exit_code=1, pages_py=PAGES, test_it_py=test)
    name, schedule = re.search(r"pytest (\S+::test_last) --localyun-schedule (\S+)", failed).groups()
    again = project("-n", "2", name, "--localyun-schedule", schedule, exit_code=1)

    assert outcomes(failed) == {"failed": 1, "passed": 1, "xfailed": 1}
    assert name == "test_it.py::test_last"
    assert outcomes(again) == {"failed": 1}, again
    assert "localyun exploration" not in failed, "a heading has something below it"


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("deviation=1", "localyun_explore: there is no argument deviation; did you mean deviations?"),
        ("faults=['lost']", "localyun_explore: faults has no 'lost'; there are lost-before, lost-after, "),
        ("order=['pushes']", "localyun_explore: order has no 'pushes'; there are call, reply, push, "),
    ],
)
def test_mistyped_argument_of_the_marker_is_no_failing_schedule(project, arguments, message):
    """The message names it; there is nothing to replay."""
    test = f"""
        import pytest

        @pytest.mark.localyun_explore({arguments})
        def test_any(localyun):
            pass
        """

    text = project("-n", "0", exit_code=1, test_it_py=test)

    assert message in text
    assert "--localyun-schedule" not in text


def test_choices_of_the_test_alone_have_no_columns_of_effects(project):
    """Nothing stands below a heading without effects."""
    test = """
        import pytest

        @pytest.mark.localyun_explore
        def test_choice(localyun):
            assert not localyun.choice("cancels", [False, True])
        """

    text = project("-n", "0", exit_code=1, test_it_py=test)

    assert "the first schedule, and this one" not in text
    assert "--localyun-schedule 0:1" in text


def test_each_example_of_hypothesis_begins_at_the_baseline_and_is_explored(project):
    """What an example leaves behind, the next one does not see; the smallest with a failing order is reported."""
    text = project(
        "-n", "0", SUMMARY, exit_code=1, pages_py=PAGES,
        test_baseline_py="""
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
        test_explored_py="""
            import pytest
            from hypothesis import HealthCheck, given, settings, strategies as st
            from pages import pages

            @pytest.mark.localyun_explore(order=["push"], deviations=1, random=False)
            @settings(max_examples=10, deadline=None, database=None, derandomize=True,
                      suppress_health_check=[HealthCheck.function_scoped_fixture])
            @given(count=st.integers(1, 3))
            def test_last(localyun, count):
                bodies = [str(number) for number in range(count)]
                assert pages(localyun, *bodies) == bodies
            """,
    )  # fmt: skip

    assert outcomes_by_file(text) == {"test_baseline.py": {"passed": 1}, "test_explored.py": {"failed": 1}}
    assert "count=2" in text
    assert "push orders/page#1 '1' goes before push orders/page#1 '0'" in text
    assert "--localyun-schedule 0:1" in text
