"""An exploration has a page with its outcomes, and two of them stand side by side."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from tests.console.walking import eventually, opened, opened_alone, press, speak, text, texts


@pytest.fixture(autouse=True)
def _english(console, localyun):
    speak(console, localyun, "en")


def in_view(console):
    """Return the text of the row of the first difference when it is in the part of the table that can be seen."""
    row = console.find_element(By.ID, "first")
    box = console.find_element(By.CSS_SELECTOR, ".differences")
    top, bottom = box.rect["y"], box.rect["y"] + box.rect["height"]
    return row.text if top <= row.rect["y"] < bottom else ""


def test_outcomes_are_listed_with_their_shortest_schedules(console, localyun):
    """Status, output, calls, each once, and the schedule in words; the list leads there."""
    opened(console, localyun, "/explorations")
    press(console, "main tbody a")
    eventually(console, lambda: "Outcomes: 3" in text(console))

    cards = texts(console, "main section.card")
    assert [("Failed" in each, "2 x shop/ask succeeded" in each) for each in cards] == [
        (False, True), (True, True), (False, True),
    ]  # fmt: skip
    assert "without faults" in cards[0]
    assert "call approve/x/ask#1: lost-after" in cards[1]
    assert "push page#1 'b' goes before push page#1 'a'" in cards[2]
    assert "6 of 9 schedules were tried" in text(console)
    assert "there are no others" not in text(console)


def test_two_outcomes_stand_side_by_side_from_the_first_difference(console, localyun):
    """What one input has more is marked in the first event, which can be seen, and each has its graph."""
    opened_alone(console, localyun, "/explorations/1")
    press(console, "a[href$='other=1']")

    assert eventually(console, lambda: "ExecutionStarted" in in_view(console))
    assert "The first difference is event 1." in text(console)
    assert [each.text[-2:] for each in console.find_elements(By.CSS_SELECTOR, "#first mark")] == ["49"]
    assert len(console.find_elements(By.CSS_SELECTOR, ".pair .graph svg")) == 2
    assert console.get_log("browser") == []


def test_without_a_history_the_effects_are_compared(console, localyun):
    """The first that only one side has is in view."""
    opened(console, localyun, "/explorations/1/compare?one=0&other=1")
    Select(console.find_element(By.NAME, "other")).select_by_index(2)
    press(console, "main form button.main")

    assert eventually(console, lambda: "push page#1 'b'" in in_view(console))
    assert "The first difference is event 2." in text(console)


@pytest.mark.parametrize("page", ["/explorations/77", "/explorations/1/compare?one=0&other=3"])
def test_what_is_not_there_is_said(console, localyun, page):
    """An exploration that is forgotten, an outcome that was not found."""
    opened_alone(console, localyun, page)

    assert console.find_elements(By.CSS_SELECTOR, "main section.card") == []
    assert any("404" in entry["message"] for entry in console.get_log("browser"))
