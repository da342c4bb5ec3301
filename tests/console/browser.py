"""Chromium, as the tests of the console drive it."""

import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

SHELL = Path("/usr/lib/chromium/chromium-headless-shell")
"""Chromium without windows, tabs and menus, as Debian has it; its wrapper on the path outlives the driver."""

PROGRAM = str(SHELL) if SHELL.exists() else shutil.which("chromium")
"""The browser. The same code loads, lays out, paints and runs pages in both; the one without windows takes a third of
the processor time, for the other draws its window even when nobody sees it."""

MISSING = [
    name for name, path in (("chromium", PROGRAM), ("chromedriver", shutil.which("chromedriver"))) if path is None
]
"""What has to be installed first; ``python3 dev.py browser`` does it."""

_SWITCHES = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--hide-scrollbars", "--disable-background-networking", "--no-proxy-server"),
    "--renderer-process-limit=1",
    "--disable-features=BackForwardCache,SpareRendererForSitePerProcess,RenderDocument",
    "--js-flags=--no-opt,--no-maglev",
)
"""The last three lines save processor time. A page is shown by the process that has shown the one before it, as far as
their sites allow, and in the same view: a process of its own for every page, one in reserve, those of pages that one
could go back to, and a view that is made and thrown away with every page take as much again. Scripts are not optimized:
a page is left before that has paid.
"""

STILL = "--disable-threaded-compositing"
"""Has a browser lay out and paint when it is asked for sizes or a picture, and not whenever something has changed.

It tells pages nothing of frames: neither what waits for the next one nor resizing.
"""


@contextmanager
def chromium(language="en", switches=()):
    """Offer a driver whose browser prefers *language*, with further *switches*; the browser ends with the context."""
    options = Options()
    options.binary_location = PROGRAM
    for switch in (*_SWITCHES, *switches, f"--lang={language}", f"--accept-lang={language}"):
        options.add_argument(switch)
    options.add_experimental_option("prefs", {"intl.accept_languages": language})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.set_page_load_timeout(30)
        yield driver
    finally:
        driver.quit()


def renew(driver: Any) -> None:
    """Make a browser what it was when it started: one empty tab, in which nothing is emulated, and no cookies."""
    former = driver.window_handles
    driver.switch_to.new_window("tab")
    fresh = driver.current_window_handle
    for handle in former:
        driver.switch_to.window(handle)
        driver.close()
    driver.switch_to.window(fresh)
    driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    driver.execute_cdp_cmd("Network.clearBrowserCache", {})


_TURNED = """
const [hidden, done] = arguments;
if (document.hidden === hidden) done();
else document.addEventListener("visibilitychange", () => done(), { once: true });
"""


def hide(driver: Any) -> None:
    """Hide the page, as another tab does that is in front of it; it knows when this returns."""
    driver.minimize_window()
    driver.execute_async_script(_TURNED, True)


def show(driver: Any) -> None:
    """Have the page seen again; it knows when this returns."""
    window = driver.execute_cdp_cmd("Browser.getWindowForTarget", {})["windowId"]
    driver.execute_cdp_cmd("Browser.setWindowBounds", {"windowId": window, "bounds": {"windowState": "normal"}})
    driver.execute_async_script(_TURNED, False)


def size(driver: Any, width: int, height: int) -> None:
    """Give the page a size in pixels."""
    wanted = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", wanted)


def resize(driver: Any, width: int, height: int, theme: str = "") -> None:
    """Give the page a size in pixels, and the theme ``light`` or ``dark``."""
    size(driver, width, height)
    features = [{"name": "prefers-color-scheme", "value": theme}] if theme else []
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
