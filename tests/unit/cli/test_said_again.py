"""What commands say of what is there already, of further mistakes, and of this installation."""

import json
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from emulator.cli import extras
from emulator.cli.commands import flow, messages, tutorial
from emulator.cli.commands.definition import explained
from emulator.cli.findings import TOOL_CHAINS
from emulator.cli.main import parse
from emulator.cli.output import CallRefused, WrongUsage, readable
from emulator.config import load
from emulator.samples import TUTORIALS


class Flows:
    """The workflow service of a flow with a running execution ``same``, which was started with ``{"a": 1}``."""

    def workflow(self, action, **names):
        """Answer DescribeExecution and StartExecution."""
        if action == "DescribeExecution" and names["ExecutionName"] != "same":
            raise CallRefused(400, "ExecutionNotExists", "no")
        return {"Name": names["ExecutionName"], "Status": "Running", "Input": '{"a": 1}'}


@pytest.mark.parametrize(
    ("name", "given", "said", "warned"),
    [
        ("new", '{"a": 1}', "started new\n", ""),
        ("same", '{"a":1}', "same is running already\n", ""),
        ("same", "{}", "same is running already\n", "with another input"),
    ],
    ids=["new", "the same input", "another input"],
)
def test_an_execution_that_runs_is_not_said_to_be_started(monkeypatch, capsys, name, given, said, warned):
    """The service answers with the one that runs; the input given now is not used."""
    monkeypatch.setattr(flow, "connect", lambda settings: Flows())

    code = flow.start(parse(["flow", "start", "f", "--name", name, "--input", given]), None)

    out, error = capsys.readouterr()
    assert (code, out) == (0, said)
    assert warned in error
    assert bool(warned) == bool(error)


def test_a_refused_definition_with_more_mistakes_says_where_they_are_shown():
    """The service names the first one only."""
    refusal = CallRefused(400, "InvalidArgument", "Definition: steps: broken")
    one = "version: v1\ntype: flow\nsteps:\n- {type: pass}\n"
    two = one + "- {type: wait, name: w, duration: x}\n"

    assert explained(refusal, one, "f.yml").said == "Definition: steps: broken"
    assert "(2 mistakes; localyun flow check 'a b.yml' shows them all)" in explained(refusal, two, "a b.yml").said


@pytest.mark.parametrize("words", [["queue", "send", "orders", ""], ["topic", "publish", "news", ""]])
def test_an_empty_body_is_wrong_usage(words):
    """The service's answer names an element of its XML."""
    given = parse(words)

    with pytest.raises(WrongUsage, match="the body of a message must not be empty"):
        {"queue": messages.send, "topic": messages.publish}[words[0]](given, None)


def test_flags_are_written_as_in_json():
    """Beside an attribute that is an object."""
    assert [readable("LoggingEnabled", False), readable("DlqPolicy", {"Enabled": False})] == [
        "false",
        '{"Enabled": false}',
    ]


@pytest.mark.usefixtures("chinese")
def test_states_of_deliveries_are_in_the_users_language(monkeypatch, capsys):
    """In tables; JSON has the service's words."""
    row = {"MessageId": "1", "State": "dead-lettered"}
    monkeypatch.setattr(
        messages, "connect", lambda settings: SimpleNamespace(admin=lambda *path, **query: {"deliveries": [row]})
    )

    messages.deliveries(parse(["topic", "deliveries", "news", "s"]), None)
    messages.deliveries(parse(["topic", "deliveries", "news", "s", "--json"]), None)

    table, _, as_json = capsys.readouterr().out.partition("[")
    assert "已入死信" in table
    assert "dead-lettered" in as_json


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'localyun[sdk]'"),
        ({"url": "file:///d/l-1-py3-none-any.whl"}, "pip install 'localyun[sdk] @ file:///d/l-1-py3-none-any.whl'"),
        ({"url": "file:///a%20b", "dir_info": {"editable": True}}, "pip install --editable '/a b[sdk]'"),
    ],
    ids=["index", "wheel", "checkout"],
)
def test_an_extra_is_installed_from_where_the_program_came(monkeypatch, origin, command):
    """A program that was installed from a wheel may not be on the index."""
    text = None if origin is None else json.dumps(origin)
    monkeypatch.setattr(metadata, "distribution", lambda name: SimpleNamespace(read_text=lambda file: text))

    assert extras.installing("sdk") == command


def test_go_is_needed_by_no_runtime():
    """A Go function is built before; its program runs by itself."""
    assert "go" not in [each.program for each in TOOL_CHAINS]


@pytest.mark.parametrize(("sdk", "other"), [("core", "tea"), ("tea", "core")])
def test_a_tutorial_proposes_the_other_sdk(tmp_path, capsys, sdk, other):
    """And names keys that exist: a file, or those of the shell."""
    client = SimpleNamespace(
        endpoint=SimpleNamespace(http="http://127.0.0.1:1"), keys=SimpleNamespace(access_key_id="KEY")
    )
    settings = load({"state": str(tmp_path)}, {}, tmp_path)
    given = parse(["tutorial", "run", "topic", "--sdk", sdk])

    tutorial._say_what_next(TUTORIALS[0], given, client, settings, keeps=True)
    before = capsys.readouterr().out
    Path(tmp_path, "keys.json").touch()
    tutorial._say_what_next(TUTORIALS[0], given, client, settings, keeps=True)

    assert f"--sdk {other}" in before
    assert "KEY, from this shell's variables" in before
    assert str(tmp_path / "keys.json") in capsys.readouterr().out


def test_an_emulator_that_the_shells_keys_have_chosen_is_named(monkeypatch, tmp_path):
    """With its folder, and the key it accepts."""
    client = SimpleNamespace(endpoint=SimpleNamespace(http="http://a:1"), keys=SimpleNamespace(access_key_id="KEY"))
    monkeypatch.setattr(tutorial, "running", lambda: [SimpleNamespace(http="http://a:1", state="/other/.localyun")])
    settings = load({"state": str(tmp_path)}, {}, tmp_path)

    strange = tutorial._using(client, settings)
    Path(tmp_path, "keys.json").touch()

    assert "/other/.localyun" in strange
    assert "KEY" in strange
    assert tutorial._using(client, settings) == "using the emulator at http://a:1"
