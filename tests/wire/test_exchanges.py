"""Answers of the real service that are public, replayed: the emulator gives the same but for ids, times and hosts.

Source: each file of exchanges/ names its own. They are not edited to make a test pass.
"""

import json
import re
from pathlib import Path

import pytest

from emulator.cli.client import connect
from emulator.config import load

EXCHANGES = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "exchanges").glob("*.json"))
}
PLACES = {
    "hex24": "[0-9A-F]{24}", "hex32": "[0-9A-F]{32}", "ms": r"\d{13}", "s": r"\d{10}", "handle": r"[^<]+",
    "host": "127.0.0.1:[0-9]+",
}  # fmt: skip
"""What differs from answer to answer."""


@pytest.fixture
def client(new_emulator):
    """The signed client of an emulator with nothing in it."""
    emulator = new_emulator().start()
    return connect(load({"state": str(emulator.state)}, {}, emulator.folder), environ={})


def filled(text, client):
    return text.replace("{account}", client.keys.account_id).replace("{region}", client.keys.region)


def fits(expected, actual):
    """Whether a text is the expected one, but for its places."""
    pieces = re.split(r"\{(" + "|".join(PLACES) + r")\}", expected)
    pattern = "".join(PLACES[piece] if at % 2 else re.escape(piece) for at, piece in enumerate(pieces))
    return re.fullmatch(pattern, actual) is not None


@pytest.mark.parametrize("name", [name for name, each in EXCHANGES.items() if each["service"] == "mns"])
def test_message_service_answers_as_recorded(name, client):
    """Status, headers, and the body to the last blank."""
    for step in EXCHANGES[name]["steps"]:
        method, target, body = step["send"]
        headers = {"Content-Type": "text/xml", "x-mns-version": "2015-06-06"}

        reply = client.messages(method, target, filled(body, client).encode(), headers)

        assert reply.status == step["status"], (step["send"], reply.body)
        for header, value in step["headers"].items():
            assert fits(value, reply.headers.get(header.lower()) or reply.headers.get(header)), (step["send"], header)
        if "body" in step:
            assert fits(filled(step["body"], client), reply.body.decode()), (step["send"], reply.body.decode())


@pytest.mark.parametrize("name", [name for name, each in EXCHANGES.items() if each["service"] == "fnf"])
def test_history_is_as_recorded(name, client):
    """Each event with its id, its cause and its details."""
    kept = EXCHANGES[name]
    client.workflow("CreateFlow", Name="recorded", Description="d", Type="FDL", Definition=kept["definition"])
    client.workflow("StartExecution", FlowName="recorded", ExecutionName="e", Input=kept["input"])
    client.workflow("DescribeExecution", FlowName="recorded", ExecutionName="e", WaitTimeSeconds="10")

    history = client.workflow("GetExecutionHistory", FlowName="recorded", ExecutionName="e", Limit="100")

    for (number, cause, step, kind, detail), event in zip(kept["events"], history["Events"], strict=False):
        assert (event["EventId"], event["ScheduleEventId"], event["StepName"], event["Type"]) == (
            number, cause, step, kind,
        )  # fmt: skip
        assert detail is None or json.loads(event["EventDetail"]) == detail


def test_every_exchange_names_its_source():
    """What is kept can be found again."""
    assert EXCHANGES
    assert all(len(each["source"]) > 40 for each in EXCHANGES.values())
