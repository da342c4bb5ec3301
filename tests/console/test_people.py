"""Everybody can use the pages: judged by axe-core, by keyboard alone, on every screen, in both colour schemes."""

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.console import scene
from tests.console.browser import resize
from tests.console.walking import eventually, opened, speak, text

AXE = Path(__file__).with_name("node_modules") / "axe-core" / "axe.min.js"
_RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then((found) => done(found.violations.map(
  (each) => each.id + ": " + each.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | "))));
"""


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is missing; python3 dev.py browser installs it")
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", scene.PAGES.values(), ids=scene.PAGES)
def test_axe_finds_nothing_to_complain_about(console, localyun, page, theme):
    """Contrast, names, roles and landmarks are right in both colour schemes."""
    resize(console, 1280, 900, theme)
    opened(console, localyun, page)
    console.execute_script(AXE.read_text(encoding="utf-8"))

    assert console.execute_async_script(_RUN) == []


@pytest.mark.parametrize("width", [360, 768, 1280, 3840])
@pytest.mark.parametrize("page", scene.PAGES.values(), ids=scene.PAGES)
def test_no_page_is_wider_than_its_screen(console, localyun, page, width):
    """From a telephone to 4k nothing has to be scrolled sideways but tables, in themselves."""
    resize(console, width, 1000)
    try:
        opened(console, localyun, page)

        assert console.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        resize(console, 1280, 900)


def test_a_message_is_sent_by_keyboard_alone(console, localyun):
    """The skip link, the fields and the button are reached with the tabulator and used with the keys."""
    speak(console, localyun, "en")
    localyun.queue("keys")
    opened(console, localyun, "/queues/keys")

    console.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert console.switch_to.active_element.text == "Skip to the content"
    console.switch_to.active_element.send_keys(Keys.ENTER)
    for _ in range(30):
        console.switch_to.active_element.send_keys(Keys.TAB)
        if console.switch_to.active_element.get_attribute("name") == "body":
            break
    console.switch_to.active_element.send_keys("by keys")
    while console.switch_to.active_element.tag_name != "button":
        console.switch_to.active_element.send_keys(Keys.TAB)
    console.switch_to.active_element.send_keys(Keys.ENTER)

    eventually(console, lambda: "by keys" in text(console))


@pytest.mark.parametrize("page", scene.PAGES.values(), ids=scene.PAGES)
def test_whatever_is_clicked_can_have_the_focus(console, localyun, page):
    """Links and controls can be reached by keyboard; steps of a graph have their links in the table of steps."""
    opened(console, localyun, page)

    unreachable = "main a:not([href]), main [onclick], main [role=button]:not([tabindex])"
    assert console.find_elements(By.CSS_SELECTOR, unreachable) == []
