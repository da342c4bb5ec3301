"""Everybody can use the pages: judged by axe-core, by keyboard alone, on every screen, in both colour schemes."""

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.console import scene
from tests.console.browser import STILL, resize, size
from tests.console.conftest import installed, let_in
from tests.console.walking import eventually, opened, opened_alone, speak, text

AXE = Path(__file__).with_name("node_modules") / "axe-core" / "axe.min.js"
AXELESS = "axe-core is missing; python3 dev.py browser installs it"
_RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"], preload: false}).then((found) => done(found.violations.map(
  (each) => each.id + ": " + each.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | "))));
"""
"""Nothing is loaded again for axe: that is for rules about sound and film, and for one that is not among its usual."""

_SEEN = """
const words = (name) => document.querySelector(name).innerText;
const unreachable = document.querySelectorAll("main a:not([href]), main [onclick], main [role=button]:not([tabindex])");
return {
  headings: document.querySelectorAll("h1").length, title: document.title, nav: words("nav"), main: words("main"),
  unreachable: [...unreachable].map((each) => each.outerHTML),
};
"""
_CATALOGUE = "Content-Type: text/plain"
"""The header of a catalogue is what it has for no text."""

_SIZES = """
window.dispatchEvent(new Event("resize"));
return [
  document.documentElement.scrollWidth,
  [...document.querySelectorAll("main table")].filter((each) => each.scrollWidth > each.clientWidth + 1)
    .map((each) => [each.className, each.scrollWidth, each.clientWidth]),
];
"""
WIDTHS = (360, 390, 768, 3840, 360, 1280)
NARROW = 768
_UNFOLD = """
const folded = document.querySelectorAll("main details[data-keep]:not([data-keep=history], [data-keep^=event-])");
for (const each of folded) each.open = true;
const looks = (each) => /^(class|role|type|data-(?:state|kind|taken)|aria-(?!label).*)$/.test(each.name);
const shape = (each) => [
  each.localName,
  ...[...each.attributes].map((one) => looks(one) ? `${one.name}=${one.value}` : one.name),
  ...[...each.childNodes].map((one) => one.nodeType === 1 ? shape(one) : one.data?.trim() ? "text" : ""),
].join(" ");
const kept = new Map();
for (const each of [...document.querySelectorAll("main :is(tr, li)")].reverse()) {
  const one = shape(each);
  if (kept.get(one) === 2) each.remove();
  else kept.set(one, (kept.get(one) ?? 0) + 1);
}
"""
"""All but the events of a history. Of rows and items that differ in nothing but their words, two stay: what axe says of
more of them is the same."""
JUDGED = scene.PAGES | {"step": scene.PAGES["step"].replace("first", "second")}
"""A step is judged in an execution of three iterations; the fifty of the other are on the execution's own page."""


@pytest.fixture(scope="module")
def judge(localyun):
    """A browser, let in, that draws nothing: pages have axe-core there, are measured, and nobody looks at them."""
    with installed(switches=(STILL,)) as driver:
        if AXE.exists():
            axe = {"source": AXE.read_text(encoding="utf-8")}
            driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", axe)
        yield let_in(driver, localyun)


def judged(judge):
    """What axe-core complains about on the page that is shown, each with three elements at most."""
    return judge.execute_async_script(_RUN)


@pytest.mark.parametrize("page", JUDGED.values(), ids=JUDGED)
def test_page_is_for_everybody(judge, localyun, page):
    """In both languages, each in one of the colour schemes: what is seen, on every screen, and what axe-core says.

    It has one heading, a title and the chosen language, and makes the browser log nothing. From a telephone to 4k, and
    back, nothing has to be scrolled sideways; on a telephone no table in itself either. Whatever is clicked can have
    the focus: links and controls do; steps of a graph have their links in the table of steps. Contrast, names, roles
    and landmarks are right, of what folds as well.
    """
    for language, scheme in (("en", "light"), ("zh", "dark")):
        speak(judge, localyun, language)
        resize(judge, WIDTHS[0], 900, scheme)
        opened_alone(judge, localyun, page)
        for width in WIDTHS:
            size(judge, width, 900)
            shown, wider = judge.execute_script(_SIZES)
            assert shown <= width
            assert width > NARROW or wider == [], (width, wider)
        seen = judge.execute_script(_SEEN)
        assert seen["headings"] == 1
        assert seen["title"]
        assert ("消息" in seen["nav"]) == (language == "zh")
        assert _CATALOGUE not in seen["main"]
        assert seen["unreachable"] == []
        assert judge.get_log("browser") == []
        if AXE.exists():
            judge.execute_script(_UNFOLD)
            assert judged(judge) == [], (language, scheme)
    if not AXE.exists():
        pytest.skip(f"{AXELESS} and has not judged the page")


@pytest.mark.skipif(not AXE.exists(), reason=AXELESS)
def test_axe_finds_nothing_in_the_events_of_a_history(judge, localyun):
    """Those that a page leaves out above, unfolded: a few of every kind, in both colour schemes."""
    steps = (
        "- {type: pass, name: first}\n- {type: wait, name: pause, duration: 1}\n- {type: fail, name: end, error: No}\n"
    )
    localyun.flow("judged", f"version: v1\ntype: flow\nsteps:\n{steps}").start({"a": [1]}, name="whole").wait()
    complaints = {}
    for scheme in ("light", "dark"):
        resize(judge, 1280, 900, scheme)
        opened(judge, localyun, "/flows/judged/executions/whole")
        judge.execute_script("for (const each of document.querySelectorAll('main details')) each.open = true")
        complaints[scheme] = judged(judge)

    assert complaints == {"light": [], "dark": []}


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
