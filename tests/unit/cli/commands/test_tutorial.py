"""A tutorial for an audience: steps instead of events, in colour, within the terminal, kept and opened on demand."""

import json
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from emulator.cli.commands import tutorial
from emulator.cli.commands.graph import open_picture
from emulator.cli.commands.tutorial import _open
from emulator.cli.endpoint import Endpoint
from emulator.cli.output import CommandFailed
from emulator.cli.tree_view import Style

EVENTS = [
    ("ExecutionStarted", "", {}),
    ("StepEntered", "Book", {}),
    ("StepStarted", "Book", {}),
    ("TaskScheduled", "Book", {"resourceArn": "acs:fc:::services/s/functions/f"}),
    ("TaskFailed", "Book", {"error": "Busy", "cause": "try again " * 20}),
    ("TaskScheduled", "Book", {"resourceArn": "acs:fc:::services/s/functions/f"}),
    ("TaskSucceeded", "Book", {}),
    ("StepSucceeded", "Book", {}),
    ("StepExited", "Book", {"output": {"place": 7}}),
    ("ExecutionSucceeded", "", {}),
]


def a_program(tmp_path, *, code=0):
    """Return a stand-in for a tutorial's program: a line, the events of an execution, a line that is too long."""
    events = [
        {"EventId": number, "ScheduleEventId": number - 1, "Type": kind, "StepName": step,
         "Time": f"2026-01-01T00:00:{number:02}Z", "EventDetail": json.dumps(detail)}
        for number, (kind, step, detail) in enumerate(EVENTS, 1)
    ]  # fmt: skip
    lines = ["flow demo created", *(json.dumps({"event": event}) for event in events), "x" * 200]
    script = tmp_path / "client.py"
    script.write_text(f"import sys\nprint({chr(10).join(lines)!r})\nsys.exit({code})\n")
    return [sys.executable, str(script)]


@pytest.fixture
def client():
    """What a tutorial's program gets of a client."""
    keys = Namespace(access_key_id="i", access_key_secret="s", account_id="1", region="cn-hangzhou")
    return Namespace(endpoint=Endpoint(http="http://127.0.0.1:1", source="here"), keys=keys, account="1")


@pytest.fixture
def complaints(tmp_path):
    """The file for what a program says on its error stream."""
    with (tmp_path / "complaints").open("w+", encoding="utf-8") as file:
        yield file


def test_events_are_shown_as_steps_and_other_lines_as_they_are(tmp_path, client, complaints, capsys):
    """One line per attempt that will be repeated and per step."""
    assert tutorial._show_steps(a_program(tmp_path), client, complaints) == 0

    first, failed, ended, last = capsys.readouterr().out.splitlines()
    assert first == "flow demo created"
    assert failed.split()[2:6] == ["Book", "attempt", "1", "failed:"]
    assert "Book  succeeded at attempt 2" in ended
    assert set(last) == {"x", "."}


@pytest.mark.parametrize("columns", [40, 80])
def test_no_line_is_wider_than_the_terminal(tmp_path, client, complaints, capsys, monkeypatch, columns):
    """A projector shows 80 columns."""
    monkeypatch.setenv("COLUMNS", str(columns))

    tutorial._show_steps(a_program(tmp_path), client, complaints)

    assert max(map(len, capsys.readouterr().out.splitlines())) == columns


def test_long_line_is_folded_and_a_very_long_one_cut():
    """Three lines at the most, the later ones indented."""
    words = list(Style(width=20).fold("as expected: " + " -> ".join(["Step"] * 12)))

    assert words[0] == "as expected: Step"
    assert [line[:2] for line in words[1:]] == ["  ", "  "]
    assert words[-1].endswith("...")
    assert max(map(len, words)) <= 20


def test_program_that_fails_makes_the_tutorial_fail(tmp_path, client, complaints):
    """The exit code says whether it went as promised."""
    assert tutorial._show_steps(a_program(tmp_path, code=1), client, complaints) == 1


def test_program_that_a_signal_ends_says_nothing_itself(tmp_path, client, complaints, capsys):
    """The command names the signal."""
    script = tmp_path / "client.py"
    script.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")

    code = tutorial._show_steps([sys.executable, str(script)], client, complaints)
    tutorial._note_signal(code)
    tutorial._note_signal(0)

    assert capsys.readouterr().err == "localyun: the tutorial's program was ended by SIGKILL\n"


def test_columns_are_dim_and_the_rest_has_the_colour_of_the_outcome():
    """On a terminal; the text is the same without the escapes."""
    line = "   +0.08s      80ms  Book  failed"

    assert Style(colour=True).fit(line, "bad") == "\x1b[2m   +0.08s      80ms  \x1b[0m\x1b[31mBook  failed\x1b[0m"
    assert Style(colour=False).fit(line, "bad") == line


@pytest.mark.parametrize(
    ("terminal", "env", "coloured"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colours_are_for_terminals_only(monkeypatch, terminal, env, coloured):
    """Off in pipes, with NO_COLOR, and where nothing can be coloured. Source: no-color.org."""
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", Namespace(isatty=lambda: terminal))

    assert Style.of_terminal(full=True).colour is coloured


def test_picture_is_opened_by_its_address(monkeypatch):
    """The browser gets a file: URL."""
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)

    open_picture(Path("/tmp/a b.svg"))

    assert opened == ["file:///tmp/a%20b.svg"]


def test_missing_browser_is_reported(monkeypatch, capsys):
    """A server has none; the picture is there all the same."""
    monkeypatch.setattr("webbrowser.open", lambda url: False)

    open_picture(Path("a.svg"))

    assert "there is no browser" in capsys.readouterr().err


class Emulator:
    """An emulator that gives links to its console, or has none."""

    endpoint = Namespace(http="http://127.0.0.1:8868")

    def __init__(self, *, has_console):
        self._has_console = has_console

    def compare(self):
        """Find the emulator of this installation."""

    def admin(self, method, path, body):
        """Answer with a link."""
        if not self._has_console:
            raise CommandFailed("there is no console")
        return {"path": f"/_localyun/console/login?page={body['page']}", "seconds": 60}


@pytest.mark.parametrize(
    ("has_console", "address"),
    [
        (True, "http://127.0.0.1:8868/_localyun/console/login?page=flows/f/executions/e"),
        (False, "file:///tmp/a.svg"),
    ],
    ids=["page", "picture"],
)
def test_run_ends_on_the_page_of_its_execution(monkeypatch, has_console, address):
    """--open shows the page, and the picture where the emulator has no pages."""
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)

    _open(Emulator(has_console=has_console), {"FlowName": "f", "Name": "e"}, Path("/tmp/a.svg"))

    assert opened == [address]
