"""The console's page of a function that a folder holds offers only what would be done."""

import json

import pytest
import requests

from emulator.testing import Emulator

pytestmark = pytest.mark.sdk

LISTS = ("faults", "mocks", "checkpoints")
CODE = "def handler(event, context):\n    return event\n"
TRIGGERS = "triggers: [{name: nightly, type: timer, config: {cronExpression: '@every 1h'}}]"
TIMER = {"triggerName": "made", "triggerType": "timer", "triggerConfig": '{"cronExpression": "@every 1h"}'}


def test_what_a_file_says_is_not_offered_to_be_deleted(tmp_path):
    """A function of the folder and a trigger of its file stay; a trigger of the API can be edited and deleted."""
    folder = tmp_path / "functions" / "hello"
    folder.mkdir(parents=True)
    (folder / "index.py").write_text(CODE)
    (folder / "function.yml").write_text(
        "triggers: [{name: nightly, type: timer, config: {cronExpression: '@every 1h'}}]"
    )
    with Emulator(functions=folder.parent) as kit, requests.Session() as session:
        kit.api.fc("POST", "/2023-03-30/functions/hello/triggers", json.dumps(TIMER).encode())
        session.get(kit.endpoint + kit.api.admin("POST", "console-link")["path"])

        page = session.get(f"{kit.endpoint}/_localyun/console/functions/hello").text

    assert "edit/function/hello" in page
    assert "delete/function/hello" not in page
    assert "edit/trigger/hello/made" in page
    assert "delete/trigger/hello/made" in page
    assert "trigger/hello/nightly" not in page
    assert "nightly (timer)" in page


def test_pages_without_rows_lead_to_the_form_below(tmp_path):
    """Faults, mocks and checkpoints are made on the page; the command is the other way."""
    with Emulator(state=tmp_path / "state") as kit, requests.Session() as session:
        session.get(kit.endpoint + kit.api.admin("POST", "console-link")["path"])

        pages = {name: session.get(f"{kit.endpoint}/_localyun/console/{name}") for name in LISTS}

    for name, page in pages.items():
        assert page.status_code == 200, name
        assert "below, or in a shell:" in page.text, name
