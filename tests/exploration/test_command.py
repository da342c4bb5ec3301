"""``localyun explore``: outcomes with the schedules that lead there, and one of them again."""

import json
from pathlib import Path

import pytest
import requests

from tests import commands
from tests.exploration.test_tutorials import UNDOING, made

INPUT = json.dumps({f"{name}_result": "success" for name in UNDOING})
STEP = (
    "version: v1\ntype: flow\nsteps:\n"
    "  - {type: task, name: a, resourceArn: 'acs:fc:::services/fnf-demo/functions/Operation'}\n"
)
SENDS = "{type: task, name: %s, resourceArn: 'acs:mns:::/queues/jobs/messages', serviceParams: {MessageBody: $}}"
SENDS_TWICE = (
    "version: v1\ntype: flow\nsteps:\n  - type: parallel\n    name: both\n    branches:\n"
    f"      - steps: [{SENDS % 'a'}]\n      - steps: [{SENDS % 'b'}]\n"
    "    outputMappings: [{target: all, source: '$local'}]\n"
)


def run(localyun, *words, **env):
    """Run the command on an emulator, in UTF-8 whatever the locale."""
    return commands.run(["explore", *words], cwd=Path.cwd(), env={**localyun.env, "PYTHONUTF8": "1", **env}, timeout=60)


def explored(localyun, flow, *words, code):
    """Return what the command prints as JSON."""
    done = run(localyun, flow, "--patience", "20s", "--json", *words)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if code < 2 else done.stderr


@pytest.fixture
def mocks(tmp_path):
    file = tmp_path / "mocks.json"
    file.write_text(json.dumps([{"function": "fnf-demo/Operation", "answers": [{"return": {"done": True}}]}]))
    return ["--mocks", str(file)]


@pytest.mark.parametrize("file", ["flow", "statemachine"])
def test_outcomes_of_both_languages_are_told_apart(bare, mocks, file):
    """Each once, though ids differ from run to run; the state is put back."""
    flow = made(bare, "multi-step-transaction", file)
    words = ["--input", INPUT, *mocks]

    told = explored(bare, flow.name, *words, "--faults", "lost-after", "--deviations", "1", "--runs", "4", code=1)

    assert [(each["status"], len(each["calls"]), each["schedule"]) for each in told["outcomes"]] == [
        ("Succeeded", 3, "first"), ("Failed", 1, "0:1"), ("Failed", 3, "1:1"), ("Succeeded", 4, "2:1"),
    ]  # fmt: skip
    assert explored(bare, flow.name, *words, code=0)["tried"] == 1
    assert flow.executions == []
    assert bare.api.admin("GET", "mocks")["mocks"] == []


def test_ids_of_messages_tell_no_outcomes_apart(bare):
    """Two branches send: who goes first gets the first ids of a message and of its request, which the output has."""
    bare.queue("jobs")
    flow = bare.flow("sends-twice", SENDS_TWICE)

    told = explored(bare, flow.name, "--order", "call", code=0)

    assert [(each["status"], each["runs"]) for each in told["outcomes"]] == [("Succeeded", 2)]


@pytest.mark.parametrize("ahead", [False, True])
def test_time_goes_on_as_if_nothing_had_been_tried(bare, mocks, ahead):
    """A running clock is where it would be, however long the exploration has taken."""
    flow = made(bare, "multi-step-transaction", "flow")
    bare.clock.unfreeze()
    if ahead:
        bare.clock.advance("1d")
    before = bare.api.admin("GET", "clock")

    explored(bare, flow.name, "--input", INPUT, *mocks, "--faults", "lost-after", "--runs", "3", code=1)

    after = bare.api.admin("GET", "clock")
    assert (after["offset_ms"], after["frozen"]) == (before["offset_ms"], False)


def test_what_was_found_has_a_page(bare, mocks):
    """With the history of each outcome's execution, which is gone itself."""
    flow = made(bare, "multi-step-transaction", "flow")
    words = ["--input", INPUT, *mocks, "--faults", "lost-after", "--deviations", "1", "--runs", "2"]

    told = explored(bare, flow.name, *words, code=1)

    kept = bare.api.admin("GET", told["page"])
    assert kept["definition"] == bare.api.fnf("DescribeFlow", Name=flow.name)["Definition"]
    assert [(each["schedule"], each["runs"]) for each in kept["outcomes"]] == [("first", 1), ("0:1", 1)]
    assert [each["events"][-1]["Type"] for each in kept["outcomes"]] == ["ExecutionSucceeded", "ExecutionFailed"]
    assert [step.split("/")[-1] for step in kept["outcomes"][1]["steps"] if step.startswith("call ")] == [
        "BuyTrainTicket#1: lost-after"
    ]


def test_address_of_the_page_is_the_last_line(bare, mocks):
    """It opens the console at the outcomes."""
    flow = made(bare, "multi-step-transaction", "flow")
    done = run(bare, flow.name, "--input", INPUT, *mocks, LC_ALL="C")

    lines = done.stdout.splitlines()
    address = lines[-1].strip()
    landed = requests.Session().get(address, timeout=20)

    (latest, *_) = bare.api.admin("GET", "explorations")["explorations"]
    assert landed.url.endswith(f"/explorations/{latest['id']}")
    assert "Outcomes: 1" in landed.text
    assert lines[-3] == "1 outcome; schedules tried: 1 of 1"
    assert lines[1].startswith("Succeeded  1     first              {")
    assert max(map(len, lines[:-1])) <= 80


def test_rows_are_in_the_language_of_the_user(bare, mocks):
    """The first schedule keeps the name that can be typed."""
    flow = made(bare, "multi-step-transaction", "flow")
    done = run(bare, flow.name, "--input", INPUT, *mocks, "--no-link", LC_ALL="zh_CN.UTF-8")

    assert "第一个（first）" in done.stdout
    assert "fnf-demo/Operation 成功" in done.stdout


def test_schedule_is_run_again_and_its_execution_kept(bare, mocks):
    """Its effects in their order; the mocks are gone."""
    flow = made(bare, "multi-step-transaction", "flow")

    told = explored(bare, flow.name, "--input", INPUT, "--faults", "lost-after", "--schedule", "1:1", *mocks, code=0)

    assert told["status"] == "Failed"
    assert [step.split("/")[-1] for step in told["steps"] if step.startswith("call ")] == [
        "BuyTrainTicket#1", "ReserveFlight#1: lost-after", "CancelTrainTicket#1",
    ]  # fmt: skip
    assert [run.status for run in flow.executions] == ["Failed"]
    assert bare.api.admin("GET", "mocks")["mocks"] == []
    assert bare.api.admin("GET", "schedule")["active"] is False


def test_express_flow_is_explored(bare, mocks):
    """It is kept nowhere: what its call answers is the outcome."""
    bare.api.fnf("CreateFlow", Name="quick", Type="FDL", ExecutionMode="Express", Definition=STEP, Description="")

    told = explored(bare, "quick", "--faults", "lost-after", "--deviations", "1", *mocks, code=1)

    assert {each["status"] for each in told["outcomes"]} == {"Succeeded", "Failed"}


def test_choice_that_a_run_does_not_have_is_reported(bare, mocks):
    """A schedule with it, mistyped or of an earlier definition, is not what ran."""
    flow = made(bare, "multi-step-transaction", "flow")

    words = [flow.name, "--input", INPUT, "--patience", "20s", "--faults", "lost-after", *mocks]
    stale = run(bare, *words, "--schedule", "1:1,900:1")
    exact = run(bare, *words, "--schedule", "1:1,2:0")

    assert "900:1 was not used; choices in this run: " in stale.stderr
    assert "was not used" not in exact.stderr


def test_what_is_no_schedule_is_refused(bare):
    """With how one is written."""
    made(bare, "callback", "flow")

    assert "3:1,7:2" in explored(bare, "fnf-demo-callback", "--schedule", "x", code=2)
