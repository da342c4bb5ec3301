"""Schedules on the command line, against a running emulator."""

import json
from argparse import Namespace

import pytest

from emulator.cli.client import connect
from emulator.config import load

FLOW = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: p}\n"


@pytest.fixture
def schedule(program):
    """A flow and its disabled schedule, made as an SDK makes them."""
    program.start()
    client = connect(load({"state": str(program.folder / ".localyun")}, {}, program.folder), {})
    client.workflow("CreateFlow", Name="f", Definition=FLOW, Description="", Type="FDL")
    return Namespace(
        **client.workflow(
            "CreateSchedule",
            FlowName="f",
            ScheduleName="nightly",
            CronExpression="0 0 4 * * *",
            Payload='{"who": "me"}',
            Enable="false",
        )
    )


def test_schedules_are_listed(program, schedule):
    """With what a person wants to know, and in full as JSON."""
    table = program.run("flow", "schedules", "f").stdout.splitlines()
    listed = json.loads(program.run("flow", "schedules", "f", "--json").stdout)

    assert table[0].split() == ["schedule", "expression", "enabled", "payload"]
    assert table[1].split() == ["nightly", "0", "0", "4", "*", "*", "*", "no", '{"who":', '"me"}']
    assert [each["ScheduleId"] for each in listed] == [schedule.ScheduleId]


def test_a_schedule_is_run_at_once(program, schedule):
    """Even a disabled one; the execution has its payload."""
    fired = program.run("flow", "fire", "f", "nightly")
    listed = json.loads(program.run("flow", "list", "f", "--json").stdout)
    missing = program.run("flow", "fire", "f", "weekly")

    assert [fired.stdout] == [f"started {each['Name']}\n" for each in listed]
    assert listed[0]["Input"] == '{"who": "me"}'
    assert missing.returncode == 1
    assert "ScheduleNotExists" in missing.stderr


def test_an_express_flow_is_started_and_waited_for(program, schedule):
    """Its output is printed, and a failure is one of the command."""
    client = connect(load({"state": str(program.folder / ".localyun")}, {}, program.folder), {})
    for name, step in (("good", "{type: pass, name: p, outputMappings: [{target: a, source: 1}]}"),
                       ("bad", "{type: fail, name: x, error: Mine, cause: why}")):  # fmt: skip
        definition = f"version: v1\ntype: flow\nsteps:\n  - {step}\n"
        client.workflow(
            "CreateFlow", Name=name, Definition=definition, Description="", Type="FDL", ExecutionMode="Express"
        )

    good = program.run("flow", "start", "good", "--name", "e")
    bad = program.run("flow", "start", "bad")
    followed = program.run("flow", "start", "good", "--follow")

    assert good.stdout.splitlines()[0].startswith("execution e:")
    assert good.stdout.splitlines()[1] == 'Succeeded: {"a":1}'
    assert (bad.returncode, bad.stdout.splitlines()[1]) == (1, "Failed: Mine why")
    assert (followed.returncode, followed.stdout.splitlines()[-1]) == (0, 'Succeeded: {"a":1}')
