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
axe.run(document, {resultTypes: ["violations"], ...arguments[0]}).then((found) => done(found.violations.map(
  (each) => each.id + ": " + each.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | "))));
"""

_WIDER = """
return [...document.querySelectorAll("main table")].filter((each) => each.scrollWidth > each.clientWidth + 1)
  .map((each) => [each.className, each.scrollWidth, each.clientWidth]);
"""
NARROW = 768
_UNFOLD = """
const folded = document.querySelectorAll("main details[data-keep]:not([data-keep=history], [data-keep^=event-])");
for (const each of folded) each.open = true;
"""
"""All but the events of a history: a hundred more of the same take axe half a minute."""
_OF_SCHEMES = ["color-contrast", "link-in-text-block"]
JUDGED = scene.PAGES | {"step": scene.PAGES["step"].replace("first", "second")}
"""A step is judged in an execution of three iterations; the fifty of the other are on the execution's own page."""


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is missing; python3 dev.py browser installs it")
@pytest.mark.parametrize("page", JUDGED.values(), ids=JUDGED)
def test_axe_finds_nothing_to_complain_about(console, localyun, page):
    """Contrast, names, roles and landmarks are right in both languages and both colour schemes, of what folds as well.

    Each language is judged whole in one scheme, and in the other by what a scheme can change.
    """
    complaints = {}
    for language, first, second in (("en", "light", "dark"), ("zh", "dark", "light")):
        speak(console, localyun, language)
        resize(console, 1280, 900, first)
        opened(console, localyun, page)
        console.execute_script(_UNFOLD)
        console.execute_script(AXE.read_text(encoding="utf-8"))
        complaints[language, first] = console.execute_async_script(_RUN, {})
        resize(console, 1280, 900, second)
        complaints[language, second] = console.execute_async_script(_RUN, {"runOnly": _OF_SCHEMES})

    assert complaints == {each: [] for each in complaints}


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is missing; python3 dev.py browser installs it")
def test_axe_finds_nothing_in_the_events_of_a_history(console, localyun):
    """Those that a page leaves out above, unfolded: a few of every kind, in both colour schemes."""
    steps = (
        "- {type: pass, name: first}\n- {type: wait, name: pause, duration: 1}\n- {type: fail, name: end, error: No}\n"
    )
    localyun.flow("judged", f"version: v1\ntype: flow\nsteps:\n{steps}").start({"a": [1]}, name="whole").wait()
    complaints = {}
    for scheme in ("light", "dark"):
        resize(console, 1280, 900, scheme)
        opened(console, localyun, "/flows/judged/executions/whole")
        console.execute_script("for (const each of document.querySelectorAll('main details')) each.open = true")
        console.execute_script(AXE.read_text(encoding="utf-8"))
        complaints[scheme] = console.execute_async_script(_RUN, {})

    assert complaints == {"light": [], "dark": []}


@pytest.mark.parametrize("page", scene.PAGES.values(), ids=scene.PAGES)
def test_page_fits_every_screen_and_is_reached_by_keyboard(console, localyun, page):
    """From a telephone to 4k, and back, nothing has to be scrolled sideways; on a telephone no table in itself either.

    Whatever is clicked can have the focus: links and controls do; steps of a graph have their links in the table of
    steps.
    """
    unreachable = "main a:not([href]), main [onclick], main [role=button]:not([tabindex])"
    widths = (360, 390, 768, 1280, 3840, 360)
    resize(console, widths[0], 1000)
    try:
        opened(console, localyun, page)
        found = []
        for width in widths:
            resize(console, width, 1000)
            found.append(console.execute_script("return document.documentElement.scrollWidth"))
            wider = console.execute_script(_WIDER)
            assert width > NARROW or wider == [], (width, wider)

        assert all(each <= width for each, width in zip(found, widths, strict=True)), found
        assert console.find_elements(By.CSS_SELECTOR, unreachable) == []
    finally:
        resize(console, 1280, 900)


def test_cells_say_what_they_are_on_a_telephone(console, localyun):
    """A row of a list is a card: each cell stands behind the heading of its column, and empty ones are left out."""
    speak(console, localyun, "en")
    resize(console, 390, 900)
    try:
        opened(console, localyun, "/requests")
        cells = console.execute_script(
            "return [...document.querySelector('main tbody tr').cells].filter((each) => each.offsetHeight)"
            ".map((each) => [each.dataset.name, getComputedStyle(each, '::before').content, each.innerText.trim()])"
        )

        assert {"Operation", "Status", "Request"} <= {name for name, _, _ in cells}
        assert all(shown == f'"{name}"' and words for name, shown, words in cells)
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
