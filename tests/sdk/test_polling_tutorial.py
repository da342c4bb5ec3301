"""The tutorial "Poll for task status", run through the official clients against a started emulator.

What happens event by event is the guide's. The flow's waits are skipped, but for one that is real, across the end of an
emulator.
"""

import contextlib
import json
import time
from collections import Counter
from pathlib import Path

import pytest

from emulator.testing.process import kit_at
from tests.waiting import eventually

pytestmark = pytest.mark.sdk

APPLICATION = Path(__file__).parents[2] / "sample-apps" / "poll-for-task-status"
FLOW = (APPLICATION / "flow.yml").read_text()
MACHINE = (APPLICATION / "statemachine.yml").read_text().replace("fnf-demo-poll-for-task-status", "polling")
POLL = ["Wait10s", "GetJobStatus", "CheckJobComplete"]


def steps_entered(events):
    return [event["StepName"] for event in events if event["Type"] == "StepEntered"]


def history(fnf, flow, execution):
    """Read the whole history in small pages."""
    events, token = [], None
    while True:
        page = fnf.send(
            "GetExecutionHistory",
            FlowName=flow,
            ExecutionName=execution,
            Limit=7,
            **({"NextToken": token} if token else {}),
        )
        events += page["Events"]
        token = page.get("NextToken")
        if not token:
            return events


def wait_for_end(fnf, flow, execution, within_s):
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        reply = fnf.send("DescribeExecution", FlowName=flow, ExecutionName=execution, WaitTimeSeconds=20)
        if reply["Status"] not in {"Starting", "Running"}:
            return reply
    pytest.fail(f"{execution} did not end: {reply}")


def skip(emulator, execution):
    """Skip what the execution waits for."""
    with contextlib.closing(kit_at(emulator.state)) as localyun:
        localyun.skip_until(execution=f"polling/{execution}", timeout="60s")


@pytest.mark.parametrize("definition", [FLOW, MACHINE], ids=["fdl", "statemachine"])
def test_the_polling_tutorial_runs_as_the_guide_says(new_emulator, request, definition):
    """Delay 20 succeeds at the third or fourth poll; too long a delay, and none given (60 s), fail after four polls.

    Each runs in an emulator of its own: the job's age is that of the instance asked, and polls of several executions
    that meet are answered by several instances.
    """
    inputs = {"guide": '{"delay": 20}', "too-long": '{"delay": 1000}', "no-delay": "{}"}
    emulators = {name: new_emulator(Path(request.config.rootpath) / "functions").start() for name in inputs}
    clients = {name: emulator.fnf() for name, emulator in emulators.items()}
    for fnf in clients.values():
        fnf.send(
            "CreateFlow",
            Name="polling",
            Definition=definition,
            Description="polling",
            Type="FDL",
            RoleArn="acs:ram::1:role/r",
        )
    started = {
        name: fnf.send("StartExecution", FlowName="polling", ExecutionName=name, Input=inputs[name])
        for name, fnf in clients.items()
    }
    for name in inputs:
        skip(emulators[name], name)

    ended = {name: wait_for_end(fnf, "polling", name, 90) for name, fnf in clients.items()}
    events = {name: history(fnf, "polling", name) for name, fnf in clients.items()}

    assert all(reply["Status"] in {"Starting", "Running", ""} for reply in started.values())
    assert ended["guide"]["Status"] == "Succeeded"
    output = json.loads(ended["guide"]["Output"])
    assert output["job_status"] == "success"
    assert output["try_count"] in {3, 4}
    assert steps_entered(events["guide"]) == ["StartJob", "Init", *POLL * output["try_count"], "JobSucceeded"]
    for name in ("too-long", "no-delay"):
        assert ended[name]["Status"] == "Failed"
        assert steps_entered(events[name]) == ["StartJob", "Init", *POLL * 4, "JobFailed"]
    for name, list_of_events in events.items():
        assert [event["EventId"] for event in list_of_events] == list(range(1, len(list_of_events) + 1)), name
        assert list_of_events[0]["Type"] == "ExecutionStarted"
        assert json.loads(list_of_events[0]["EventDetail"])["input"] == json.loads(inputs[name])
    waits = [event for event in events["guide"] if event["StepName"] == "Wait10s"]
    assert Counter(event["Type"] for event in waits).keys() == {
        "StepEntered",
        "StepStarted",
        "StepSucceeded",
        "StepExited",
    }


@pytest.mark.recovery
@pytest.mark.waits
def test_a_killed_emulator_goes_on_with_the_execution_where_it_was(new_emulator, request):
    """kill -9 during Wait10s: after the next start the wait ends at its instant and every event is there once."""
    emulator = new_emulator(Path(request.config.rootpath) / "functions").start()
    fnf = emulator.fnf()
    fnf.send("CreateFlow", Name="polling", Definition=FLOW, Description="polling", Type="FDL")
    fnf.send("StartExecution", FlowName="polling", ExecutionName="cut", Input='{"delay": 1}')

    def waits():
        events = history(fnf, "polling", "cut")
        return events if (events[-1]["StepName"], events[-1]["Type"]) == ("Wait10s", "StepStarted") else None

    before = eventually(waits)

    emulator.kill()
    emulator.start()
    fnf = emulator.fnf()
    fnf.send("DescribeExecution", FlowName="polling", ExecutionName="cut", WaitTimeSeconds=8)
    eventually(lambda: [each for each in history(fnf, "polling", "cut") if ended_wait(each)], 30)
    skip(emulator, "cut")
    ended = wait_for_end(fnf, "polling", "cut", 60)
    after = history(fnf, "polling", "cut")

    assert ended["Status"] == "Succeeded"
    assert after[: len(before)] == before
    assert [event["EventId"] for event in after] == list(range(1, len(after) + 1))
    polls = json.loads(ended["Output"])["try_count"]
    assert steps_entered(after) == ["StartJob", "Init", *POLL * polls, "JobSucceeded"]
    entered, succeeded = (moment(after, "Wait10s", kind) for kind in ("StepStarted", "StepSucceeded"))
    assert 10.0 <= succeeded - entered < 11.5


def ended_wait(event):
    """Whether it is the end of a wait."""
    return (event["StepName"], event["Type"]) == ("Wait10s", "StepSucceeded")


def moment(events, step, kind):
    from datetime import datetime

    text = next(event["Time"] for event in events if event["StepName"] == step and event["Type"] == kind)
    return datetime.fromisoformat(text).timestamp()
