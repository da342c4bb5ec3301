"""What is shown to others: an execution alone on the screen, a trace as a waterfall, two executions side by side."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.console.browser import resize
from tests.console.walking import eventually, opened, press, speak, text

LARGE = "version: v1\ntype: flow\nsteps:\n" + "".join(f"- {{type: pass, name: step{each}}}\n" for each in range(30))
CALLING = (
    "version: v1\ntype: flow\nsteps:\n- type: task\n  name: send\n  resourceArn: acs:mns:::/topics/told/messages\n"
    "  pattern: requestResponse\n  serviceParams:\n    MessageBody: $\n"
)
FORKED = (
    "version: v1\ntype: flow\nsteps:\n- {type: pass, name: begin}\n- type: choice\n  name: fork\n  choices:\n"
    "  - condition: $.left == true\n    steps: [{type: pass, name: left}]\n"
    "  default: {goto: right}\n- {type: pass, name: right}\n"
)
IN_VIEW = """
const box = document.getElementById(arguments[0]).getBoundingClientRect();
return box.top >= 0 && box.bottom <= innerHeight;
"""
SHOWN = "return [...document.querySelectorAll(arguments[0])].filter((each) => each.checkVisibility()).length"


@pytest.fixture(autouse=True)
def _english(console, localyun):
    resize(console, 1440, 900)
    speak(console, localyun, "en")


def test_presenting_shows_graph_panel_and_slider_alone(console, localyun):
    """In large type, all of it on one screen; Escape leads back."""
    localyun.flow("talk", LARGE).start(name="shown").wait()

    opened(console, localyun, "/flows/talk/executions/shown?present")

    assert all(console.execute_script(SHOWN, each) for each in (".graph svg", "#panel", "#scrubber", ".presented time"))
    assert not any(console.execute_script(SHOWN, each) for each in ("header", "footer", ".steps", ".trail"))
    assert all(console.execute_script(IN_VIEW, each) for each in ("panel", "scrubber"))
    console.find_element(By.TAG_NAME, "main").send_keys(Keys.ESCAPE)
    assert eventually(console, lambda: console.execute_script(SHOWN, "header"))
    press(console, "[data-present]")
    assert "present" in console.current_url


def test_keys_lead_from_step_to_step(console, localyun):
    """N and B, or what a remote control sends: the graph is as when the step was entered, the panel is the step's.

    A finished execution is shown at its end: the first key leads to its first step.
    """
    localyun.flow("talk", LARGE).start(name="stepped").wait()
    opened(console, localyun, "/flows/talk/executions/stepped?present")
    page = console.find_element(By.TAG_NAME, "main")

    for key, name in (("n", "step0"), (Keys.PAGE_DOWN, "step1"), ("n", "step2"), ("b", "step1")):
        page.send_keys(key)
        assert eventually(console, lambda name=name: console.find_element(By.ID, "chosen").text.startswith(name))
        state = console.execute_script("return document.querySelector('.step.chosen').dataset.state")
        assert state == "running"


def test_map_of_a_large_graph_has_each_step_in_its_colour(console, localyun):
    """A press on it leads there; a small graph has none."""
    localyun.flow("talk", LARGE).start(name="mapped").wait()
    opened(console, localyun, "/flows/talk/executions/mapped")

    marks = console.find_elements(By.CSS_SELECTOR, ".minimap rect[data-state=succeeded]")
    assert len(marks) == 30
    console.find_element(By.CSS_SELECTOR, ".minimap").click()
    moved = "return document.querySelector('.drawing svg').style.transform"
    assert "scale(2)" in console.execute_script(moved)
    opened(console, localyun, "/flows/approve/executions/second")
    assert not console.execute_script(SHOWN, ".minimap")


RUN_THROUGH = """
const done = arguments[0];
const clock = document.querySelector("time.clock");
const seen = new Set();
const look = () => {
  if (clock.classList.contains("jumping")) seen.add(clock.textContent);
  else if (seen.size) return done([...seen]);
  requestAnimationFrame(look);
};
look();
"""


def test_jump_of_the_clock_can_be_followed(console, localyun):
    """The clock runs through the time between, forward only."""
    opened(console, localyun, "/clock")
    console.set_script_timeout(60)
    console.execute_script(
        "setTimeout(() => document.querySelector(\"input[name='advance']\").form.requestSubmit(), 200)"
    )

    seen = console.execute_async_script(RUN_THROUGH)

    assert len(seen) > 5
    assert seen == sorted(seen)


SLEEP = """
const done = arguments[0];
const clock = document.querySelector("time.clock");
let jumping = false;
const look = () => {
  jumping ||= clock.classList.contains("jumping");
  if (Date.parse(clock.dateTime) - Date.now() > -60_000) done(jumping);
};
new MutationObserver(look).observe(clock, { childList: true });
const now = Date.now;
Date.now = () => now() + 3_600_000;
"""


def test_clock_of_a_machine_that_has_slept_is_right_at_once(console, localyun):
    """The emulator's clock has not been moved: there is nothing to follow."""
    opened(console, localyun, "/clock")
    console.set_script_timeout(60)

    assert console.execute_async_script(SLEEP) is False


def test_trace_is_a_waterfall_with_its_faults_and_choices(console, localyun):
    """From the request over step, message and push to the last effect; faults and choices stand out."""
    topic = localyun.topic("told")
    topic.subscribe(localyun.sink().url, name="inbox")
    localyun.faults.add(service="mns", operation="push", resource="told/*", error="InternalError", times=1)
    localyun.api.admin("POST", "schedule", {"choices": {"0": 1}, "faults": ["duplicate"], "order": ["push"]})
    localyun.flow("telling", CALLING).start({"tea": 1}, name="once").wait()
    localyun.settle(timeout=60)
    opened(console, localyun, "/requests/telling/once")

    rows = console.find_elements(By.CSS_SELECTOR, ".waterfall tbody tr")
    kinds = [each.get_attribute("data-kind") for each in rows]
    widths = console.execute_script(
        "return [...document.querySelectorAll('.waterfall .bar rect')].map((each) => each.width.baseVal.value)"
    )
    localyun.api.admin("DELETE", "schedule")

    assert {"execution", "step", "message", "push"} <= set(kinds)
    assert "fault" in kinds
    assert "choice" in kinds
    assert len(widths) == len(rows)
    assert all(width > 0 for width in widths)


def test_first_difference_of_two_executions_is_in_view(console, localyun):
    """Also of long histories; the step at which they part is marked in both graphs."""
    flow = localyun.flow("parting", FORKED)
    for name, left in (("one", True), ("two", False)):
        flow.start({"left": left}, name=name).wait()

    opened(console, localyun, "/flows/parting/executions/one/compare?with=two")

    assert "The first difference is event" in text(console)
    assert console.execute_script(IN_VIEW, "first")
    assert len(console.find_elements(By.CSS_SELECTOR, ".pair .graph svg")) == 2
    assert console.find_elements(By.CSS_SELECTOR, ".pair .step.chosen")
