"""The graph at the end of a tutorial: what its client recorded, and the pictures of it."""

import importlib.util
import json
import os
import stat
import tempfile
from argparse import Namespace
from xml.etree import ElementTree

import pytest

from emulator.cli.commands import graph
from emulator.cli.main import main
from emulator.cli.tutorials import locate

DEFINITION = """
version: v1
type: flow
steps:
  - type: pass
    name: Reached
  - type: fail
    name: Ended
  - type: pass
    name: Never
"""


def an_execution(**changes):
    """Return what a client records of an execution that went through Reached and failed in Ended."""
    kinds = [
        ("ExecutionStarted", ""),
        ("StepEntered", "Reached"),
        ("StepStarted", "Reached"),
        ("StepSucceeded", "Reached"),
        ("StepExited", "Reached"),
        ("StepEntered", "Ended"),
        ("StepFailed", "Ended"),
        ("StepExited", "Ended"),
        ("ExecutionFailed", ""),
    ]
    events = [
        {
            "EventId": number,
            "ScheduleEventId": number - 1,
            "Type": kind,
            "StepName": step,
            "Time": f"2026-01-01T00:00:00.{number:03}Z",
            "EventDetail": "{}",
        }
        for number, (kind, step) in enumerate(kinds, 1)
    ]
    described = {"FlowName": "demo", "Name": "first", "Status": "Failed", "FlowDefinition": DEFINITION}
    return described | {"Events": events} | changes


@pytest.fixture
def client():
    """The module that the clients of the sample applications share."""
    spec = importlib.util.spec_from_file_location("workflow_client", locate().apps / "workflow_client.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def a_session(client, monkeypatch, execution, record):
    """Return a session of a client whose service has this one execution, finished."""
    history = {"Events": execution["Events"]}
    described = {name: value for name, value in execution.items() if name != "Events"}

    def call(action, **parameters):
        return history if action == "GetExecutionHistory" else described

    monkeypatch.setitem(client.SDKS, "one", lambda *_: Namespace(call=call))
    given = Namespace(sdk="one", region="cn-hangzhou", endpoint="", record=record, keep=False, events="table")
    return client.Session(given, "1", "id", "secret")


def test_client_records_each_finished_execution_for_the_graph(client, monkeypatch):
    """What follow returns is read again, in the order in which the executions ended; the place goes afterwards."""
    with graph.record_file() as path:
        for name in ("first", "second"):
            a_session(client, monkeypatch, an_execution(Name=name), str(path)).follow("demo", name)
        found = graph.read_record(path)

    assert found == [an_execution(), an_execution(Name="second")]
    assert not path.parent.exists()


def test_client_goes_on_when_its_record_cannot_be_written(client, monkeypatch, capsys):
    """The result is returned, so that the client deletes what it created; the file is named."""
    session = a_session(client, monkeypatch, an_execution(), f"{os.devnull}/record")

    finished = session.follow("demo", "first")

    assert finished["Status"] == "Failed"
    assert f"{os.devnull}/record cannot be written" in capsys.readouterr().err


def test_line_that_was_cut_off_is_left_out(tmp_path):
    """The disk was full for the second execution; the first can be drawn."""
    path = tmp_path / "record"
    line = json.dumps(an_execution())
    path.write_text(f"{line}\n{line[:100]}")

    assert graph.read_record(path) == [an_execution()]


@pytest.mark.parametrize("path", [None, "missing"])
def test_record_that_is_not_there_holds_nothing(path, tmp_path):
    """No execution came to its end, or there was no room for a record."""
    assert graph.read_record(path and tmp_path / path) == []


def test_no_place_for_a_record_is_told_and_offers_none(monkeypatch, tmp_path, capsys):
    """The tutorial runs without a graph."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))

    with graph.record_file() as path:
        assert path is None

    assert "no graph will be drawn: " in capsys.readouterr().err


def test_last_execution_is_drawn_as_svg_into_a_new_folder_of_the_user_alone(tmp_path):
    """The folder may be the state folder, which nobody else enters."""
    path = tmp_path / "state" / "graphs" / "demo.svg"

    assert graph.draw_last([an_execution(), an_execution(Name="second")], path)

    texts = "".join(ElementTree.parse(path).getroot().itertext())
    assert "demo / second" in texts
    assert all(step in texts for step in ("Reached", "Ended", "Never"))
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in path.parents[:2]] == [0o700, 0o700]


def test_picture_with_the_suffix_of_mermaid_is_the_text_of_the_json(tmp_path):
    """The steps are coloured by what happened to them."""
    path = tmp_path / "demo.mmd"

    assert graph.draw_last([an_execution()], path)

    shown = graph.with_mermaid(an_execution())
    assert path.read_text() == shown["Mermaid"]
    assert "class s1 succeeded" in shown["Mermaid"]
    assert "class s2 failed" in shown["Mermaid"]
    assert shown | {"Mermaid": 0} == an_execution(Mermaid=0)


@pytest.mark.parametrize(
    ("executions", "name", "reason"),
    [
        ([], "demo.svg", "no execution has ended"),
        ([an_execution()], "file/demo.svg", "cannot be created: File exists"),
        ([an_execution()], "folder", "cannot be written: Is a directory"),
        ([an_execution(FlowDefinition="[")], "demo.svg", "the definition cannot be drawn"),
    ],
    ids=["nothing", "no folder", "no file", "no flow"],
)
def test_graph_that_cannot_be_drawn_is_told_and_raises_nothing(executions, name, reason, tmp_path, capsys):
    """The tutorial has run; its exit code tells how that went."""
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()

    assert not graph.draw_last(executions, tmp_path / name)

    told = capsys.readouterr().err
    assert told.startswith("localyun: no graph: ")
    assert reason in told


def test_execution_that_cannot_be_drawn_has_no_mermaid_in_the_json():
    """Null, so that the member is always there."""
    assert graph.with_mermaid(an_execution(FlowDefinition="["))["Mermaid"] is None


def test_graph_goes_to_a_file_only(tmp_path, monkeypatch, capsys):
    """Standard output shows the events; nothing is started for the wrong usage."""
    monkeypatch.chdir(tmp_path)

    assert main(["tutorial", "run", "callback", "--graph", "-"]) == 2
    assert "--json prints the graph as Mermaid text" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
