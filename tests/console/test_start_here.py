"""Start here: tutorials by a click, programs that run as they stand."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By

from emulator.console.pages.start import SNIPPETS, snippet
from emulator.samples import TUTORIALS
from emulator.testing import Emulator
from tests import commands
from tests.console.walking import eventually, opened, press, text

pytestmark = pytest.mark.starts_programs

RUN_S = 180
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def empty():
    """An emulator with the functions of the tutorials; nothing was made or called yet."""
    with Emulator(functions=ROOT / "functions") as kit:
        yield kit


@pytest.fixture(scope="module")
def served():
    """Another one, for programs."""
    with Emulator() as kit:
        yield kit


def test_an_empty_console_offers_every_tutorial(empty, browser):
    """On its first page, one button each; one is started, followed and kept."""
    browser.get(empty.endpoint + empty.api.admin("POST", "console-link")["path"])
    names = [each.text for each in browser.find_elements(By.CSS_SELECTOR, "section[aria-labelledby=tutorials] td a")]
    assert names == [each.name for each in TUTORIALS]

    press(browser, "form[action$='/start/callback'] button")

    assert eventually(browser, lambda: browser.current_url.endswith("/start/callback"))
    assert eventually(browser, lambda: browser.find_element(By.TAG_NAME, "h1").text == "callback Succeeded", RUN_S)
    assert "running callback" in text(browser)
    assert " mytask  waits for its callback" in text(browser)
    assert "console/login" not in text(browser)
    assert "localyun docs --page tutorials/callback" in text(browser)

    press(browser, "form[action$='/start/callback'] button")
    assert eventually(browser, lambda: len(browser.find_elements(By.CSS_SELECTOR, "#content li")) == 2, RUN_S)
    assert eventually(browser, lambda: browser.find_element(By.TAG_NAME, "h1").text == "callback Succeeded", RUN_S)

    press(browser, "#content li .id a")
    assert eventually(browser, lambda: "/flows/fnf-demo-callback/executions/" in browser.current_url)
    assert eventually(browser, lambda: "Succeeded" in browser.find_element(By.TAG_NAME, "h1").text)

    opened(browser, empty, "/")
    assert not browser.find_elements(By.ID, "tutorials")


def test_the_page_of_the_tutorials_says_its_name_once(empty, browser):
    """What the empty overview calls *Start here: the tutorials* has a shorter heading below that of the page."""
    browser.get(empty.endpoint + empty.api.admin("POST", "console-link")["path"])
    opened(browser, empty, "/start")

    headings = [each.text for each in browser.find_elements(By.CSS_SELECTOR, "h1, h2")]

    assert headings == ["Start here", "Tutorials", "Programs to copy"]


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_program_runs_as_it_is_copied(served, name):
    """Under ``localyun exec``, which leads the official SDKs here; once more on what it has created."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}

    for _ in range(2):
        words = ["exec", "--", sys.executable, "-"]
        program = commands.popen(words, cwd=Path.cwd(), env=os.environ | served.env, **pipes)
        printed, complaints = program.communicate(snippet(name), timeout=RUN_S)

        assert program.returncode == 0, complaints
        assert printed.strip()
