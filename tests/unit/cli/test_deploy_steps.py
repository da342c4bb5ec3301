"""Carrying a plan out: what a signal in the middle leaves, says, and ends the command with."""

import signal
from pathlib import Path

import pytest

from emulator.cli import deploy_steps
from emulator.cli.output import CommandFailed
from emulator.deploy.model import Blueprint, Record, Resource, StepFailed
from emulator.deploy.places import Findings
from emulator.deploy.planner import Action, Step, described, plan
from emulator.deploy.provider import ActualState
from emulator.kernel.phrases import said


class Shelf:
    """A kind of resource in a set; a name in *signals* brings that signal when it is made, or gone again."""

    renews = goes_first = False

    def __init__(self, made=None, gone=None):
        self.content = set()
        self.made, self.gone = made or {}, gone or {}

    def find(self, api, identity, attributes):
        return ActualState({}) if identity[0] in self.content else None

    def create(self, api, resource):
        self.content.add(resource.identity[0])
        if number := self.made.get(resource.identity[0]):
            signal.raise_signal(number)
        return ActualState({})

    def delete(self, api, identity, attributes):
        if number := self.gone.get(identity[0]):
            signal.raise_signal(number)
        self.content.discard(identity[0])

    def attributes(self, actual):
        return {}


class Kept:
    """The records that the emulator keeps."""

    def __init__(self):
        self.records = {}

    def keep(self, record):
        self.records[record.name] = record

    def keep_or_forget(self, record):
        assert not record.entries
        self.records.pop(record.name, None)


def interrupted(monkeypatch, shelf):
    """Deploy a, b and c; return how the command ends and the records that are left."""
    monkeypatch.setattr(deploy_steps, "PROVIDERS", {"thing": shelf})
    things = [
        Resource(logical=each, type="Thing", kind="thing", identity=(each,), properties={}, line=line)
        for line, each in enumerate("abc", 1)
    ]
    record, kept = Record(name="shop"), Kept()
    steps = plan(None, {"thing": shelf}, Blueprint(resources=tuple(things), outputs={}), record)
    with pytest.raises(CommandFailed) as caught:
        deploy_steps.carry_out(kept, steps, record, Path("template.yml"), Findings())
    return caught.value, kept.records


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no SIGHUP")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signal_in_the_middle_is_undone_said_and_the_exit_code(name, monkeypatch):
    """Whether it comes from Ctrl-C, a CI job that is cancelled or a terminal that goes."""
    number = getattr(signal, name)
    shelf, before = Shelf(made={"b": number}), signal.getsignal(number)

    ended, records = interrupted(monkeypatch, shelf)

    assert str(ended) == "line 2: create Thing b: interrupted\nthe earlier state is restored"
    assert ended.exit_code == 128 + number
    assert (shelf.content, records) == (set(), {})
    assert signal.getsignal(number) is before


def test_second_signal_leaves_the_rest_which_is_said_and_kept_on_record(monkeypatch):
    """The record names everything that was under way, for the next command."""
    shelf = Shelf(made={"c": signal.SIGTERM}, gone={"b": signal.SIGINT})

    ended, records = interrupted(monkeypatch, shelf)

    assert str(ended).splitlines() == [
        "line 3: create Thing c: interrupted",
        "these changes were not undone:",
        "  line 2: create Thing b",
        "  line 1: create Thing a",
        "the same command goes on from there",
    ]
    assert ended.exit_code == 128 + signal.SIGTERM
    assert shelf.content == {"a", "b"}
    assert [each.logical for each in records["shop"].entries] == ["a", "b", "c"]


def test_signal_that_the_shell_has_ignored_stays_ignored(monkeypatch):
    """As under nohup."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        shelf = Shelf(made={"b": signal.SIGINT, "c": signal.SIGTERM})

        ended, _ = interrupted(monkeypatch, shelf)
    finally:
        signal.signal(signal.SIGINT, before)

    assert ended.exit_code == 128 + signal.SIGTERM


def test_step_that_failed_is_told_in_another_language():
    """What was to be done is translated; what the service has said stays as it is."""
    thing = Resource(logical="a", type="Thing", kind="thing", identity=("a",), properties={}, line=4)
    error = StepFailed(described(Step(action=Action.CREATE, resource=thing, entry=None)), "no")
    words = {
        "line {line}: {what}": "Zeile {line}: {what}",
        "create": "lege an",
        "{what}: {reason}": "{what} - {reason}",
    }

    assert said(str(error), lambda text: words.get(text, text)) == "Zeile 4: lege an Thing a - no"
