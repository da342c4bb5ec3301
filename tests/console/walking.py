"""What tests do with a page: open it, wait for what comes, read it, change its language."""

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from emulator.console.language import COOKIE

DEADLINE_S = 60
ROOT = "/_localyun/console"


def opened(console, localyun, page):
    """Open a page and return its main part."""
    console.get(f"{localyun.endpoint}{ROOT}{page.format_map(localyun.scene) if '{' in page else page}")
    return console.find_element(By.TAG_NAME, "main")


_LEAVE = """
const done = arguments[0];
window.dispatchEvent(new Event("pagehide"));
window.fetch = () => new Promise(() => {});
window.addEventListener("htmx:beforeRequest", (begun) => begun.preventDefault(), true);
const wait = () => document.querySelector(".htmx-request") ? setTimeout(wait, 5) : done();
wait();
"""
"""Ends the streams of a page and lets nothing begin again; what it has asked for it still gets, and is waited for.

What htmx asked afterwards would be marked as asked too, so it must not ask.
"""


def opened_alone(console, localyun, page):
    """Open a page and forget what the browser has complained about so far, as of a request broken off by leaving."""
    console.execute_async_script(_LEAVE)
    console.get_log("browser")
    return opened(console, localyun, page)


def eventually(console, condition, seconds=DEADLINE_S):
    """Wait until *condition* holds; the page may be replaced meanwhile."""

    def holds(_):
        try:
            return condition()
        except Exception as error:
            if any(each in str(error) for each in ("stale", "no such element", "does not belong to the document")):
                return False
            raise

    return WebDriverWait(console, seconds, poll_frequency=0.05).until(holds)


_TEXTS = """
return [...document.querySelectorAll(arguments[0])].map(
  (each) => each.checkVisibility() ? each.innerText.replaceAll("\\t", " ").trim() : "");
"""


def texts(console, selector):
    """The words of all elements at one moment: a page that follows the emulator may change between two questions."""
    return console.execute_script(_TEXTS, selector)


def text(console):
    """The words of the page, which may be replaced between two questions."""
    (words,) = eventually(console, lambda: texts(console, "main"))
    return words


def speak(console, localyun, language):
    """Have the pages opened from now on in a language, as its switch does, which `test_navigation` presses."""
    console.execute_cdp_cmd(
        "Network.setCookie",
        {
            "name": COOKIE, "value": language, "url": f"{localyun.endpoint}{ROOT}", "path": ROOT,
            "sameSite": "Strict", "httpOnly": True,
        },
    )  # fmt: skip


def press(console, selector, by=By.CSS_SELECTOR):
    """Press a button, or what else can be pressed; the page may be replaced meanwhile."""

    def pressed():
        found = console.find_element(by, selector)
        console.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
        return found.click() is None

    eventually(console, pressed)
