"""An execution's page as one screen: nothing jumps, calls and logs of a step, the slider that asks nobody."""

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.console.browser import resize
from tests.console.walking import ROOT, eventually, opened, press, speak, text, texts

CALLS = (
    "version: v1\ntype: flow\nsteps:\n- type: task\n  name: greet\n"
    "  resourceArn: acs:fc:::functions/hello\n- {type: pass, name: after}\n"
)
LONG = "version: v1\ntype: flow\nsteps:\n" + "".join(f"- {{type: pass, name: step{each}}}\n" for each in range(40))
FAILS = "- {type: fail, name: end, error: Broken, cause: no tea is left in the house}\n"
ROUNDS = (
    "version: v1\ntype: flow\nsteps:\n- type: foreach\n  name: rounds\n"
    "  iterationMapping: {collection: $.items, item: one}\n  steps:\n  - {type: pass, name: inner}\n"
)
SCROLLED = "return [scrollX, scrollY]"
STATE = "return document.querySelector('.step[data-step={}]').dataset.state"


@pytest.fixture(autouse=True)
def _english(console, localyun):
    resize(console, 1440, 900)
    speak(console, localyun, "en")


def chosen(console):
    """The heading of the panel."""
    return console.find_element(By.ID, "chosen").text


def test_step_of_an_execution_started_here_shows_its_call_and_log(console, localyun):
    """By the button of the page; and what it has caused is a tree."""
    localyun.flow("greeting", CALLS)
    opened(console, localyun, "/flows/greeting")
    press(console, "form[action$='/start'] button.main")
    assert eventually(console, lambda: "Succeeded" in console.find_element(By.TAG_NAME, "h1").text)

    press(console, ".step[data-step=greet]")
    press(console, "details[data-keep^=call-] summary")
    assert eventually(console, lambda: "<b>seen</b>" in console.find_element(By.ID, "panel").text)

    press(console, "a[href*='/requests/greeting/']")
    tree = eventually(console, lambda: texts(console, ".waterfall tbody tr"))
    assert [each.split()[0] for each in tree][:3] == ["execution", "step", "call"]
    assert "hello" in tree[2]


@pytest.mark.parametrize("width", [1440, 2560])
def test_nothing_jumps_when_a_step_is_chosen_or_the_page_refreshes(console, localyun, width):
    """The panel is in view beside the graph; focus and scrolling stay."""
    resize(console, width, 900)
    localyun.flow("tall", LONG).start(name=f"at{width}").wait()
    opened(console, localyun, f"/flows/tall/executions/at{width}")
    console.execute_script("scrollTo(0, 120)")
    before = console.execute_script(SCROLLED)

    step = console.find_element(By.CSS_SELECTOR, ".step[data-step=step20]")
    console.execute_script("arguments[0].focus({preventScroll: true})", step)
    step.send_keys(Keys.ENTER)
    assert eventually(console, lambda: chosen(console).startswith("step20"))
    localyun.queue("refreshes-every-page")
    assert eventually(console, lambda: console.find_elements(By.CSS_SELECTOR, ".step.chosen[data-step=step20]"))

    assert console.execute_script(SCROLLED) == before
    assert console.execute_script("return document.activeElement.dataset.step") == "step20"
    panel, graph = (console.find_element(By.CSS_SELECTOR, each).rect for each in (".panel", ".graph"))
    assert panel["x"] >= graph["x"] + graph["width"]
    heading = console.execute_script("return document.getElementById('chosen').getBoundingClientRect().top")
    assert 0 <= heading < 900


def test_whole_graph_is_in_view_and_can_be_scaled(console, localyun):
    """At 1,440 by 900 without scrolling, beside why it failed; two buttons scale it and one fits it again."""
    localyun.flow("tall", LONG + FAILS).start(name="fits").wait()
    opened(console, localyun, "/flows/tall/executions/fits")
    assert len(console.find_elements(By.CSS_SELECTOR, ".problem")) == 2
    box = "return document.querySelector('.graph svg').getBoundingClientRect().toJSON()"
    fitted = console.execute_script(box)

    assert fitted["bottom"] <= 900
    press(console, "[data-zoom='1.4']")
    assert console.execute_script(box)["width"] == pytest.approx(fitted["width"] * 1.4, rel=0.01)
    press(console, "[data-zoom='0.01']")
    assert console.execute_script(box)["width"] == pytest.approx(fitted["width"], rel=0.01)


def test_slider_is_in_view_while_the_clock_is_frozen(console, localyun):
    """The line that says so takes its room from the graph."""
    localyun.flow("tall", LONG).start(name="frozen").wait()
    localyun.clock.freeze()
    try:
        opened(console, localyun, "/flows/tall/executions/frozen")

        assert console.find_elements(By.ID, "moved")
        end = "return document.getElementById('scrubber').getBoundingClientRect().bottom"
        assert console.execute_script(end) <= 900
    finally:
        localyun.clock.unfreeze()


def test_step_not_yet_entered_shows_its_definition(console, localyun):
    """What comes is worth a look as well."""
    opened(console, localyun, "/flows/approve/executions/first")

    press(console, ".step[data-step=done]")

    assert eventually(console, lambda: "Not entered yet" in text(console))
    assert '"pass"' in console.find_element(By.ID, "panel").text


ASKED = "return performance.getEntriesByType('resource').map((each) => each.name)"
PAINTS = """
const done = arguments[0];
const step = document.querySelector('.step[data-step=rounds]');
let changes = 0, frames = 0;
const shown = document.getElementById('at-event');
const seen = new MutationObserver(() => (changes += 1));
seen.observe(shown, { childList: true, characterData: true, subtree: true });
document.getElementById('speed').value = '1000';
document.querySelector('[data-replay]').click();
const count = () => {
  frames += 1;
  const { last } = document.getElementById('scrubber').dataset;
  if (Number(shown.textContent) < Number(last)) return requestAnimationFrame(count);
  seen.disconnect();
  done([changes, frames, Number(last)]);
};
requestAnimationFrame(count);
"""


def test_replay_and_slider_ask_nobody(console, localyun):
    """A history of more than a thousand events: every frame draws; what is asked for is the page where it has ended."""
    localyun.flow("rounds", ROUNDS).start({"items": list(range(250))}, name="many").wait()
    opened(console, localyun, "/flows/rounds/executions/many")
    console.set_script_timeout(60)
    address = console.current_url
    console.find_element(By.TAG_NAME, "main").send_keys(Keys.HOME)
    before = eventually(console, lambda: settled(console, f"{address}/frames", f"{address}?at=1"))

    changes, frames, last = console.execute_async_script(PAINTS)

    assert last > 1_000
    assert changes > 20
    assert changes >= frames / 2
    assert eventually(console, lambda: console.execute_script(STATE.format("rounds")) == "succeeded")
    localyun.queue("is-on-another-page").send("tea")
    eventually(console, lambda: settled(console, *before, address))
    assert console.execute_script(ASKED) == [*before, address]


def settled(console, *addresses):
    """All that the page has asked for, once each of *addresses* has been answered."""
    asked = console.execute_script(ASKED)
    return asked if set(addresses) <= set(asked) else None


PICTURE = """
const picture = (page) => [...page.querySelectorAll('.graph .step')].map(
  (each) => [each.dataset.step, each.dataset.state, [...each.querySelectorAll('text')].pop().textContent]);
"""
SERVED = f"""{PICTURE}
const [address, last, done] = arguments;
const served = async (at) => {{
  const answer = await fetch(`${{address}}?at=${{at}}`);
  return picture(new DOMParser().parseFromString(await answer.text(), 'text/html'));
}};
Promise.all([...Array(last).keys()].slice(2).map(served)).then(done);
"""
"""What pages have before their scripts have changed anything."""


def test_picture_of_the_browser_is_that_of_the_server(console, localyun):
    """At every event the states folded here are those of the page as it is sent there; one is loaded as well."""
    few = localyun.flow("rounds", ROUNDS).start({"items": [1, 2]}).wait()
    opened(console, localyun, f"/flows/rounds/executions/{few.name}")
    last = int(console.find_element(By.ID, "scrubber").get_attribute("data-last"))
    shown = f"{PICTURE} return picture(document)"
    console.find_element(By.TAG_NAME, "main").send_keys(Keys.HOME)
    assert eventually(console, lambda: "at=1" in console.current_url)
    folded = {}
    for at in range(2, last):
        console.execute_script(
            "const s = document.getElementById('scrub'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('input', {bubbles: true}))",
            at,
        )
        eventually(console, lambda at=at: console.find_element(By.ID, "at-event").text == str(at))
        folded[at] = console.execute_script(shown)
    page = f"{ROOT}/flows/rounds/executions/{few.name}"
    served = console.execute_async_script(SERVED, page, last)

    assert dict(enumerate(served, start=2)) == folded
    middle = last // 2
    opened(console, localyun, f"/flows/rounds/executions/{few.name}?at={middle}")
    assert console.execute_script(shown) == folded[middle]


def test_pointer_moves_the_slider(console, localyun):
    """The event shown follows a drag at once."""
    localyun.flow("rounds", ROUNDS).start({"items": list(range(20))}, name="dragged").wait()
    opened(console, localyun, "/flows/rounds/executions/dragged")
    slider = console.find_element(By.ID, "scrub")

    ActionChains(console).drag_and_drop_by_offset(slider, -200, 0).perform()

    shown = int(console.find_element(By.ID, "at-event").text)
    assert shown < int(console.find_element(By.ID, "scrubber").get_attribute("data-last"))
    assert eventually(console, lambda: f"at={shown}" in console.current_url)
