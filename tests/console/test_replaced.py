"""Executions that take the name of another: after a checkpoint was restored, a reset, or a deletion of their flow."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from emulator.testing import Emulator
from tests.console.walking import eventually, opened, texts

FLOW = "version: v1\ntype: flow\nsteps:\n"
PAGE = "/flows/renewed/executions/first"
ASKED = "return performance.getEntriesByType('resource').filter((each) => each.name.endsWith('/frames')).length"


@pytest.fixture(scope="module")
def localyun():
    """An emulator with nothing in it, which is reset here."""
    with Emulator() as kit:
        yield kit


@pytest.fixture
def nothing(localyun):
    """A checkpoint without any flow, from which a test starts and which it may restore."""
    checkpoint = localyun.checkpoint("nothing")
    yield checkpoint
    checkpoint.restore()
    checkpoint.delete()


@pytest.mark.parametrize("how", ["restored", "reset", "deleted"])
def test_execution_that_takes_a_name_is_the_one_that_is_shown(console, localyun, nothing, how):
    """As it follows on the open page, with its slider, and when the page is loaded."""
    ran(localyun, "one", "two")
    opened(console, localyun, PAGE)
    assert timeline(console) == ["one", "two"]
    scrub(console, "one")
    assert console.execute_script(ASKED) == 1

    if how == "restored":
        nothing.restore()
    elif how == "reset":
        localyun.reset()
    else:
        localyun.api.fnf("DeleteFlow", Name="renewed")
    ran(localyun, "other", "last")

    assert eventually(console, lambda: timeline(console) == ["other", "last"])
    scrub(console, "other")
    assert console.execute_script(ASKED) == 2
    opened(console, localyun, PAGE)
    assert timeline(console) == ["other", "last"]


@pytest.mark.usefixtures("nothing")
def test_execution_that_goes_on_otherwise_after_a_restore_is_shown_as_it_went(console, localyun):
    """It is the same execution and has begun in the same way; what came of it then was another end."""
    steps = "- {type: wait, name: pause, duration: 3600}\n- {type: pass, name: after}\n"
    execution = localyun.flow("renewed", FLOW + steps).start(name="first")
    eventually(console, lambda: localyun.clock.upcoming)
    before = localyun.checkpoint("halfway")
    localyun.api.fnf("StopExecution", FlowName="renewed", ExecutionName="first")
    opened(console, localyun, PAGE)
    assert timeline(console) == ["pause"]

    before.restore()
    localyun.clock.advance("2h")
    execution.wait()

    opened(console, localyun, PAGE)
    assert timeline(console) == ["pause", "after"]
    assert texts(console, "tr[data-visit] td:nth-child(2)") == ["Succeeded", "Succeeded"]


def ran(localyun, *steps):
    """A flow with these steps, and an execution of it that has ended."""
    passes = "".join(f"- {{type: pass, name: {each}}}\n" for each in steps)
    localyun.flow("renewed", FLOW + passes).start(name="first").wait()


def timeline(console):
    """The steps that have a row."""
    return texts(console, "tr[data-visit] a[data-visit-of]")


def scrub(console, step):
    """Move the slider to the event by which the first step, called *step*, was entered, and to the end again."""
    main = console.find_element(By.TAG_NAME, "main")
    for key, at in ((Keys.HOME, "?at=1"), (".", "?at=2")):
        main.send_keys(key)
        eventually(console, lambda at=at: console.current_url.endswith(at))
    running = f".step[data-step={step}][data-state=running]"
    eventually(console, lambda: console.find_elements(By.CSS_SELECTOR, running))
    main.send_keys(Keys.END)
    eventually(console, lambda: "?" not in console.current_url)
