"""What pages say of failures, of a restart and of mistakes in triggers, and what an address without a page answers."""

import pytest
from selenium.webdriver.common.by import By

from emulator.testing import Emulator
from tests.console.walking import eventually, opened, speak, text

NAP = "version: v1\ntype: flow\nsteps:\n- {type: wait, name: Nap, duration: 600}\n"
LOST = """
version: v1
type: flow
steps:
- type: task
  name: Try
  resourceArn: acs:fc:::services/none/functions/none
  catch:
  - errors: [FC.ResourceNotFound, ServiceNotFound, FC.ServiceNotFound]
    goto: GiveUp
- {type: succeed, name: Good}
- {type: fail, name: GiveUp}
"""


def test_restart_during_an_execution_is_marked(browser, tmp_path):
    """At the top, at the step that was under way, on its bar and between the events."""
    with Emulator(state=tmp_path) as before:
        before.flow("nap", NAP).start(name="interrupted")
    with Emulator(state=tmp_path) as after:
        after.clock.advance("11m")
        after.flow("nap").start(name="later")
        browser.get(after.endpoint + after.api.admin("POST", "console-link")["path"])
        speak(browser, after, "en")
        opened(browser, after, "/flows/nap/executions/interrupted")

        places = [
            each.get_attribute("textContent")
            for each in browser.find_elements(By.CSS_SELECTOR, ".notice, .steps tbody tr")
        ]
        assert "ahead of this machine" in places[0]  # the clock has been moved
        assert [("The emulator was started again." in each) for each in places[1:]] == [True, True, True]
        assert len(browser.find_elements(By.CSS_SELECTOR, ".bar .restart")) == 1
        opened(browser, after, "/flows/nap/executions/later")
        assert "The emulator was started again." not in text(browser)


def test_message_that_a_function_has_received_stays_arrived(browser, tmp_path):
    """Although the calls of an earlier start are not recorded any more."""
    function = tmp_path / "functions" / "fed"
    function.mkdir(parents=True)
    (function / "index.py").write_text("def handler(event, context):\n    return event\n")
    (function / "function.yml").write_text("triggers:\n- {name: fed, type: mns_queue, queue: orders}\n")
    with Emulator(functions=function.parent, state=tmp_path / "state") as before:
        before.queue("orders")
        before.settle()
        sent = before.queue("orders").send("tea")
        before.settle()
    with Emulator(functions=function.parent, state=tmp_path / "state") as after:
        browser.get(after.endpoint + after.api.admin("POST", "console-link")["path"])
        speak(browser, after, "en")
        opened(browser, after, f"/messages/{sent}")

        reasons = [each.get_attribute("data-reason") for each in browser.find_elements(By.CSS_SELECTOR, ".reason")]
        assert reasons == ["arrived"]


def test_failure_is_at_the_top_with_its_step_and_the_latest_error(console, localyun):
    """A step that fails without an error is no answer; the error that led to it is."""
    speak(console, localyun, "en")
    localyun.flow("lost", LOST).start(name="one")
    opened(console, localyun, "/flows/lost/executions/one")

    assert eventually(console, lambda: "Failed" in console.find_element(By.TAG_NAME, "h1").text)
    ended, trouble = eventually(
        console, lambda: [each.text for each in console.find_elements(By.CSS_SELECTOR, ".problem")]
    )

    assert ended == "Ended by step GiveUp, which names no error."
    assert trouble.startswith("Latest error before that, in Try: FC.ServiceNotFound ")


@pytest.mark.parametrize(("language", "heading"), [("en", "Page not found"), ("zh", "页面不存在")])
def test_address_without_a_page_has_one(console, localyun, language, heading):
    """In the console's form and the reader's language, with the way on."""
    speak(console, localyun, language)
    opened(console, localyun, "/nonsense")

    assert console.find_element(By.TAG_NAME, "h1").text == heading
    assert "/nonsense" in text(console)
    assert console.find_elements(By.CSS_SELECTOR, "nav, main form input[type=search]")
    console.get_log("browser")


def test_triggers_that_were_left_out_stand_above_the_others(browser, tmp_path):
    """With file, line and reason, in both languages."""
    folder = tmp_path / "hello"
    folder.mkdir()
    (folder / "index.py").write_text("def handler(event, context):\n    return event\n")
    (folder / "function.yml").write_text("triggers:\n- {triggerName: tick, triggerType: timmer}\n")
    with Emulator(functions=tmp_path) as emulator:
        browser.get(emulator.endpoint + emulator.api.admin("POST", "console-link")["path"])
        for language, heading, reason in (
            ("en", "Problems in the functions folder", "the trigger 'tick' is left out: there is no type 'timmer'"),
            ("zh", "函数目录中的问题", "触发器“tick”：未加载"),
        ):
            speak(browser, emulator, language)
            opened(browser, emulator, "/triggers")

            assert browser.find_element(By.ID, "problems").text == heading
            problems = [each.text for each in browser.find_elements(By.CSS_SELECTOR, ".problem")]
            assert len(problems) == 1
            assert "function.yml" in problems[0]
            assert reason in problems[0]
        speak(browser, emulator, "en")
