"""A page that stays open while the emulator is started again says so, goes on by itself, and keeps what was typed."""

import pytest
import requests
from selenium.webdriver.common.by import By

from emulator.testing import Emulator
from tests.console.walking import ROOT, eventually, opened, press, speak, text

pytestmark = pytest.mark.waits


def lost(console):
    """What the page says of its connection, empty while there is one."""
    found = console.find_element(By.ID, "connection")
    return found.text if found.is_displayed() else ""


def typed(console):
    """What stands in the form."""
    return console.find_element(By.NAME, "body").get_attribute("value")


def test_page_goes_on_after_a_restart(browser, tmp_path):
    """With the cookie that it has; the next post is taken."""
    with Emulator(state=tmp_path) as before:
        port = int(before.endpoint.rpartition(":")[2])
        before.queue("kept")
        browser.get(before.endpoint + before.api.admin("POST", "console-link")["path"])
        speak(browser, before, "en")
        opened(browser, before, "/queues/kept")
        browser.find_element(By.NAME, "body").send_keys("half a sentence")
    assert eventually(browser, lambda: "does not respond" in lost(browser))
    press(browser, "form[action$='/send'] button")
    assert eventually(browser, lambda: "Not sent" in text(browser))
    assert typed(browser) == "half a sentence"

    with Emulator(state=tmp_path, options=["--port", str(port)]) as after:
        assert eventually(browser, lambda: not lost(browser))
        assert typed(browser) == "half a sentence"
        press(browser, "form[action$='/send'] button")
        assert eventually(browser, lambda: [each.body for each in after.queue("kept").peek()] == ["half a sentence"])
        after.queue("kept").send("from a program")
        assert eventually(browser, lambda: "from a program" in text(browser))


def test_stream_of_changes_ends_with_the_emulator():
    """It comes to its end, and is not broken off when the emulator has waited long enough."""
    with Emulator() as localyun, requests.Session() as session:
        session.get(localyun.endpoint + localyun.api.admin("POST", "console-link")["path"])
        stream = session.get(f"{localyun.endpoint}{ROOT}/changes", stream=True).iter_content(None)
        begin = next(stream)
        localyun.api.admin("POST", "stop")
        list(stream)  # raises an error where the connection breaks

    assert begin.startswith(b"retry: ")


def test_page_of_another_installation_asks_for_a_new_link(browser):
    """A link opened in another tab is enough."""
    with Emulator() as before:
        port = int(before.endpoint.rpartition(":")[2])
        before.queue("kept")
        browser.get(before.endpoint + before.api.admin("POST", "console-link")["path"])
        speak(browser, before, "en")
        opened(browser, before, "/queues/kept")
        browser.find_element(By.NAME, "body").send_keys("half a sentence")
    with Emulator(options=["--port", str(port)]) as after:
        queue = after.queue("kept")
        assert eventually(browser, lambda: "other keys" in lost(browser))
        first = browser.current_window_handle
        browser.switch_to.new_window("tab")
        browser.get(after.endpoint + after.api.admin("POST", "console-link")["path"])
        browser.close()
        browser.switch_to.window(first)
        assert eventually(browser, lambda: not lost(browser))
        assert typed(browser) == "half a sentence"
        press(browser, "form[action$='/send'] button")
        assert eventually(browser, lambda: [each.body for each in queue.peek()] == ["half a sentence"])
