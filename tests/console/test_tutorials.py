"""The eight tutorials run, all at once; the page of each execution keeps up with its history."""

import os
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By

from emulator.samples import TUTORIALS
from emulator.testing import Emulator
from emulator.testing.api import ApiError
from emulator.wire.dates import parse_iso
from tests import commands
from tests.console.walking import eventually, opened, press, speak, text

pytestmark = pytest.mark.waits

ROOT = Path(__file__).parents[2]
BEHIND_MS = 5_000
INPUTS = {"polling": '{"delay": 5}'}
"""One that asks every ten seconds whether a job is done finds that it is not once, and not three times."""

_SHOWN = "return Number(document.getElementById('scrubber').dataset.last)"
_STATES = """
const found = {};
for (const each of document.querySelectorAll(".graph .step[data-step]")) found[each.dataset.step] = each.dataset.state;
return found;
"""


@pytest.fixture(scope="module")
def localyun():
    """An emulator with the functions of the tutorials."""
    with Emulator(functions=ROOT / "functions") as kit:
        yield kit


@pytest.fixture(scope="module")
def running(localyun):
    """All tutorials, started; they are ended with the module."""
    environment = {**os.environ, **localyun.env, "LOCALYUN_STATE": str(localyun.state)}
    options = ["--keep", "--events", "--state", str(localyun.state)]
    started = [
        commands.popen(
            ["tutorial", "run", each.name, "--input", INPUTS.get(each.short_name, each.default_input), *options],
            cwd=ROOT, env=environment,
        )
        for each in TUTORIALS
    ]  # fmt: skip
    yield started
    for each in started:
        each.terminate()
        each.wait(20)


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda each: each.short_name)
@pytest.mark.usefixtures("running")
def test_page_keeps_up_with_the_history(console, localyun, tutorial):
    """No event that is five seconds old is missing on the page, and at last each step has the colour of its end."""
    speak(console, localyun, "en")
    flow = localyun.flow(tutorial.flow)
    execution = eventually(console, lambda: _executions(flow) and _executions(flow)[-1], 120)
    opened(console, localyun, f"/flows/{tutorial.flow}/executions/{execution.name}")

    def behind(execution, last):
        assert eventually(console, lambda: console.execute_script(_SHOWN) >= last, BEHIND_MS / 1000), execution

    while execution.describe(wait_s=1)["Status"] in {"Running", "Starting"}:
        behind(execution, _last_old(localyun, execution))
    history = execution.history
    behind(execution, history[-1]["EventId"])
    entered = {event["StepName"] for event in history if event["Type"] == "StepEntered"}
    states = console.execute_script(_STATES)
    assert {states[step] for step in entered & set(states)} <= {"succeeded", "failed", "caught or retried", "abandoned"}


@pytest.fixture
def frozen_clock(localyun):
    """Freeze on demand; time goes on afterwards, for the tutorials that still run."""
    yield localyun.clock.freeze
    localyun.clock.unfreeze()


@pytest.mark.usefixtures("running", "photographed")
def test_the_trainers_walk(console, localyun, frozen_clock):
    """Start the transaction, watch it retry, click the failed step, jump the clock, see it undone."""
    flow = localyun.flow("fnf-demo-multi-step-transaction")
    assert eventually(console, lambda: _executions(flow) and _executions(flow)[-1].status == "Failed", 120)
    frozen_clock()
    opened(console, localyun, f"/flows/{flow.name}")

    data = console.find_element(By.CSS_SELECTOR, "form[action$='/start'] textarea[name=input]")
    data.clear()
    data.send_keys(next(each.default_input for each in TUTORIALS if each.flow == flow.name))
    press(console, "form[action$='/start'] button.main")
    for attempt in (1, 2, 3):
        assert eventually(console, lambda: "Next: retry" in text(console))
        press(console, ".step[data-step=ReserveHotel]")
        assert eventually(console, lambda number=attempt: f"\n{number} Failed " in text(console))
        press(console, ".notice button")
    assert eventually(console, lambda: "Failed" in console.find_element(By.TAG_NAME, "h1").text)

    states = console.execute_script(_STATES)
    assert states["CancelFlight"] == states["CancelTrainTicket"] == "succeeded"


def _executions(flow):
    try:
        return flow.executions
    except ApiError:  # the tutorial has not made its flow yet
        return []


def _last_old(localyun, execution):
    """Return the id of the last event that is five seconds old."""
    now = localyun.clock.now().timestamp() * 1000
    times = [(event["EventId"], parse_iso(event["Time"])) for event in execution.history]
    return max((number for number, at in times if now - at >= BEHIND_MS), default=0)
