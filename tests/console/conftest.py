"""An emulator with something of everything, and a browser."""

from contextlib import contextmanager
from time import perf_counter

import pytest

from emulator.testing import Emulator
from tests.console import scene
from tests.console.browser import MISSING, chromium, renew


@pytest.fixture(scope="module")
def localyun(tmp_path_factory):
    """An emulator with the scene of the pages; its ``scene`` fills in their addresses."""
    folder = tmp_path_factory.mktemp("functions")
    scene.write_functions(folder)
    with Emulator(functions=folder) as kit:
        kit.scene = scene.build(kit)
        yield kit


@contextmanager
def installed(switches=()):
    """Offer the driver of a browser; tests with it are left out where it is not installed."""
    if MISSING:
        pytest.skip(f"{' and '.join(MISSING)} missing; python3 dev.py browser installs what the console's tests need")
    with chromium(switches=switches) as driver:
        yield driver


@pytest.fixture(scope="session")
def one_browser():
    """The browser of all modules; what is judged has another."""
    with installed() as driver:
        yield driver


@pytest.fixture(scope="module")
def browser(one_browser):
    """The browser, as if it had just been started, and so left to the next module."""
    yield one_browser
    renew(one_browser)


def let_in(browser, localyun):
    """Lead a browser into the console."""
    browser.get(localyun.endpoint + localyun.api.admin("POST", "console-link")["path"])
    return browser


@pytest.fixture(scope="module")
def console(localyun, browser):
    """The browser, let in."""
    return let_in(browser, localyun)


@pytest.fixture
def photographed(console, tmp_path, record_property):
    """Time a walk, and keep a picture of where it has led in the folder of its test; the report names both."""
    began = perf_counter()
    yield
    spent_s, picture = perf_counter() - began, tmp_path / "end.png"
    assert console.save_screenshot(str(picture))
    record_property("seconds", round(spent_s, 1))
    record_property("picture", str(picture))
