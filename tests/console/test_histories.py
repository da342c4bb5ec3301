"""A history from elsewhere opens like one's own."""

import json

import pytest
from selenium.webdriver.common.by import By

from tests.console.walking import eventually, opened, press, speak, text

DEFINITION = """
version: v1
type: flow
steps:
  - {type: pass, name: Greet, outputMappings: [{target: said, source: hello}]}
  - type: parallel
    name: Both
    branches:
      - steps: [{type: wait, name: Nap, duration: 1}]
      - steps: [{type: fail, name: Broken, error: Mine}]
"""


@pytest.fixture(autouse=True)
def _english(console, localyun):
    speak(console, localyun, "en")


@pytest.fixture(scope="module")
def history(localyun):
    """The history of an execution, as an SDK answers it."""
    localyun.flow("elsewhere", DEFINITION).start({"n": 1}).wait()
    (execution,) = localyun.api.fnf("ListExecutions", FlowName="elsewhere")["Executions"]
    names = {"FlowName": "elsewhere", "ExecutionName": execution["Name"]}
    return json.dumps(localyun.api.fnf("GetExecutionHistory", **names))


def typed(console, name, value):
    """Put a long text into a field at once."""
    field = console.find_element(By.NAME, name)
    console.execute_script("arguments[0].value = arguments[1]", field, value)


def test_a_history_is_shown_with_its_graph_steps_and_slider(console, localyun, history, tmp_path):
    """From a file; chosen steps, earlier events and all; what acts on an execution is not there."""
    (tmp_path / "history.json").write_text(history)
    opened(console, localyun, "/histories")
    console.find_element(By.CSS_SELECTOR, "[data-into=events]").send_keys(str(tmp_path / "history.json"))
    eventually(console, lambda: console.find_element(By.NAME, "history").get_attribute("value") == history)
    typed(console, "definition", DEFINITION)

    press(console, "#history button.main")
    eventually(console, lambda: "Broken" in text(console) and console.find_element(By.CSS_SELECTOR, ".graph svg"))
    press(console, "a[data-visit-of='Greet']")

    assert eventually(console, lambda: console.find_element(By.CSS_SELECTOR, "#chosen").text.startswith("Greet"))
    assert "hello" in console.find_element(By.CSS_SELECTOR, "#panel").text
    assert "Mine" in text(console)
    assert console.find_element(By.ID, "scrub").get_attribute("max") == str(len(json.loads(history)["Events"]))
    assert not console.find_elements(By.CSS_SELECTOR, "main form[method=post]")


def test_what_is_no_history_is_refused_and_stays_typed(console, localyun):
    """With the reason."""
    opened(console, localyun, "/histories")
    typed(console, "history", '{"Events": []}')

    press(console, "#history button.main")

    assert eventually(console, lambda: "there are no events in it" in text(console))
    assert console.find_element(By.NAME, "history").get_attribute("value") == '{"Events": []}'


def test_history_without_a_definition_says_why_there_is_no_graph(console, localyun):
    """Nothing is wrong with a definition that nobody gave; steps and events are there."""
    opened(console, localyun, "/histories")
    event = {"EventId": 1, "Type": "ExecutionStarted", "Time": "2026-01-01T00:00:00Z", "EventDetail": "{}"}
    typed(console, "history", json.dumps({"Events": [event]}))

    press(console, "#history button.main")

    assert eventually(console, lambda: "and none was given" in text(console))
    assert "cannot be drawn" not in text(console)
