"""Forms: what is refused stays typed, what cannot be undone asks first, a post is never repeated by loading again."""

import re

import pytest
from selenium.webdriver.common.by import By

from emulator.testing import Emulator
from tests.console.walking import eventually, opened, press, speak, text

CALLING = (
    "version: v1\ntype: flow\nsteps:\n- {type: task, name: ask, resourceArn: 'acs:fc:::functions/big',"
    " catch: [{errors: [FC.Unknown], goto: after}]}\n- {type: pass, name: after}\n"
)
BIG = "def handler(event, context):\n    return len(bytearray(400 * 1024 * 1024))\n"


@pytest.fixture(autouse=True)
def _english(console, localyun):
    speak(console, localyun, "en")


def refusal(console):
    """What the page says of a form that was not taken."""
    return eventually(console, lambda: console.find_element(By.CSS_SELECTOR, "[data-refused]").text)


def answer(console, value):
    """Answer the question of the page."""
    press(console, f"#ask[open] button[value={value}]")


def test_delay_that_is_no_number_is_refused_and_the_text_stays(console, localyun):
    """Nothing is sent without what was asked for."""
    queue = localyun.queue("typed")
    opened(console, localyun, "/queues/typed")
    console.find_element(By.NAME, "body").send_keys("a long text")
    console.find_element(By.NAME, "delay").send_keys("abc")

    press(console, "form[action$='/send'] button")

    assert "delay must be a whole number from 0 to 604800, not abc" in refusal(console)
    assert console.find_element(By.NAME, "body").get_attribute("value") == "a long text"
    assert queue.peek() == []
    delay = console.find_element(By.NAME, "delay")
    delay.clear()
    press(console, "form[action$='/send'] button")
    assert eventually(console, lambda: "a long text" in text(console))


def test_refusal_of_a_form_speaks_the_language_of_the_page(console, localyun):
    """As the rest of the page does."""
    speak(console, localyun, "zh")
    localyun.queue("typed-in-chinese")
    opened(console, localyun, "/queues/typed-in-chinese")
    console.find_element(By.NAME, "body").send_keys("a text")
    console.find_element(By.NAME, "priority").send_keys("17")

    press(console, "form[action$='/send'] button")

    assert "priority 必须是 1 到 16 之间的整数，不能是 17" in refusal(console)


def test_answer_of_a_mock_that_is_meant_to_be_json_is_refused(console, localyun):
    """A bracket that is never closed is a slip, not a text."""
    opened(console, localyun, "/mocks")
    console.find_element(By.NAME, "function").send_keys("slip")
    console.find_element(By.NAME, "answer").clear()
    console.find_element(By.NAME, "answer").send_keys("{bad json")

    press(console, "main form[action$='/mocks'] button")

    assert "answer is not JSON" in refusal(console)
    assert console.find_element(By.NAME, "answer").get_attribute("value") == "{bad json"
    assert "slip" not in [each["function"] for each in localyun.api.admin("GET", "mocks")["mocks"]]


def test_deleting_all_messages_asks_first(console, localyun):
    """No is the answer that the key Enter gives."""
    queue = localyun.queue("precious")
    queue.send("one")
    opened(console, localyun, "/queues/precious")

    press(console, "form[action$='/purge'] button")
    answer(console, "no")
    assert eventually(console, lambda: not console.find_elements(By.CSS_SELECTOR, "#ask[open]"))
    assert [each.body for each in queue.peek()] == ["one"]

    press(console, "form[action$='/purge'] button")
    answer(console, "yes")
    assert eventually(console, lambda: "No message is visible" in text(console))


def test_jump_to_an_event_a_year_away_asks_first(console, localyun):
    """The clock does not go back."""
    localyun.flow("yearly", "version: v1\ntype: flow\nsteps:\n- {type: pass, name: one}\n")
    schedule = {"FlowName": "yearly", "ScheduleName": "new-year", "CronExpression": "0 0 0 29 2 *", "Enable": "true"}
    localyun.api.fnf("CreateSchedule", **schedule)
    before = localyun.api.admin("GET", "clock")["now_ms"]
    opened(console, localyun, "/clock")

    press(console, "tr:has(a[href$='/flows/yearly']) button")
    assert eventually(
        console, lambda: re.search(r"moves the clock \d+d", console.find_element(By.CSS_SELECTOR, "#ask[open]").text)
    )
    answer(console, "no")

    assert localyun.api.admin("GET", "clock")["now_ms"] - before < 3_600_000


COUNT_FRAMES = """
window.framesAsked = 0;
const ask = requestAnimationFrame;
window.requestAnimationFrame = (draw) => ++framesAsked && ask(draw);
"""


def test_clock_goes_on_before_ones_eyes(console, localyun):
    """Every second, without a request; in between the page does nothing, for it asks to be drawn when it changes."""
    opened(console, localyun, "/clock")
    console.execute_script(COUNT_FRAMES)
    shown = console.find_element(By.CSS_SELECTOR, "time[data-ahead]").text

    assert eventually(
        console, lambda: console.find_element(By.CSS_SELECTOR, "time[data-ahead]").text not in {"", shown}
    )
    assert console.execute_script("return framesAsked") == 0


def test_receive_and_call_are_not_repeated_by_loading_again(console, localyun):
    """Their answer has an address of its own, and the page stays live."""
    queue = localyun.queue("once")
    queue.send("first")
    queue.send("second")
    opened(console, localyun, "/queues/once")
    press(console, "form[action$='/receive'] button")
    assert eventually(console, lambda: "Hidden until" in text(console))
    console.refresh()
    assert eventually(console, lambda: "Hidden until" in text(console))
    states = [each["State"] for each in localyun.api.admin("GET", "messages", queue="once")["messages"]]
    assert sorted(states) == ["active", "inactive"]
    queue.send("third")
    assert eventually(console, lambda: "third" in text(console))

    opened(console, localyun, "/functions/hello")
    calls = len(localyun.calls("hello"))
    press(console, "form[action$='/call'] button")
    assert eventually(console, lambda: "Result" in text(console))
    console.refresh()
    assert eventually(console, lambda: "Result" in text(console))
    assert len(localyun.calls("hello")) == calls + 1


def test_function_out_of_memory_and_a_mocked_one_say_so(browser, tmp_path):
    """And the list of requests does not call the failed call a success."""
    (tmp_path / "big").mkdir()
    (tmp_path / "big" / "index.py").write_text(BIG)
    (tmp_path / "big" / "function.yml").write_text("memorySize: 128\n")
    with Emulator(functions=tmp_path) as emulator:
        browser.get(emulator.endpoint + emulator.api.admin("POST", "console-link")["path"])
        speak(browser, emulator, "en")
        emulator.invoke("big")
        opened(browser, emulator, "/functions/big")
        assert "Out of memory: the call used" in text(browser)
        assert "MB of 128 MB" in text(browser)

        opened(browser, emulator, "/requests?q=InvokeFunction")
        assert "the function failed" in text(browser)
        assert browser.find_elements(By.CSS_SELECTOR, "main td .status.failed")

        emulator.flow("calling", CALLING).start(name="first").wait()
        opened(browser, emulator, "/flows/calling/executions/first")
        press(browser, ".step[data-step=ask]")
        assert eventually(browser, lambda: "Out of memory: the call used" in browser.find_element(By.ID, "panel").text)

        emulator.mock("big", returns=1)
        opened(browser, emulator, "/functions/big")
        assert "in place of the function" in text(browser)
