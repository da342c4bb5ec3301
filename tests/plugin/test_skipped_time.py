"""Hours in milliseconds: the tutorials, timetables to the second, summer time, one history every time.

These run under the plugin itself, on this project's own functions.
"""

import contextlib
import json
import os
import re
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

pytestmark = pytest.mark.sdk

APPS = Path(__file__).parents[2] / "sample-apps"


@pytest.fixture(scope="session")
def localyun_baseline(localyun_baseline):
    """Time stands still in each of these tests until it is moved."""
    localyun_baseline.clock.freeze()
    return localyun_baseline


def definition(localyun, tutorial, **fields):
    text = (APPS / tutorial / "flow.yml").read_text()
    for name, value in {"accountID": localyun.account_id, **fields}.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def seconds(history, kind):
    """Return when events of a type were, in seconds since the first event."""
    times = [datetime.fromisoformat(event["Time"]) for event in history]
    of_kind = [time for time, event in zip(times, history, strict=True) if event["Type"] == kind]
    return [(time - times[0]).total_seconds() for time in of_kind]


def test_callback(localyun):
    """A function's task waits for its token, for hours if need be."""
    run = localyun.flow("callback", definition(localyun, "callback")).start({})
    localyun.settle("30s")
    localyun.clock.advance("5h")
    token = localyun.calls("fnf-demo/echo")[0].event["taskToken"]

    localyun.api.fnf("ReportTaskSucceeded", TaskToken=token, Output='{"status": "success"}')
    localyun.settle()

    assert (run.status, run.output) == ("Succeeded", {"s": "success"})


def test_queue_callback(localyun):
    """The message carries the token to whoever reads the queue."""
    queue = localyun.queue("fnf-demo")
    run = localyun.flow("queue-callback", definition(localyun, "mns-queue-callback")).start({})
    localyun.settle()

    message = queue.receive().json()
    localyun.clock.advance("1h")
    localyun.api.fnf("ReportTaskSucceeded", TaskToken=message["task_token"], Output="{}")
    localyun.settle()

    assert message["key"] == "value"
    assert run.status == "Succeeded"


def test_topic_callback(localyun):
    """The message goes to a subscriber, who reports."""
    inbox = localyun.sink()
    localyun.topic("demo").subscribe(inbox.url)
    run = localyun.flow("topic-callback", definition(localyun, "mns-topic-callback", topic="demo")).start(
        {"messageBody": "hello"}
    )
    localyun.settle()

    message = inbox.only().json()
    localyun.api.fnf("ReportTaskSucceeded", TaskToken=message["taskToken"], Output='{"status": "success"}')
    localyun.settle()

    assert message["messageBody"] == "hello"
    assert run.output == {"status": "success"}


def test_transaction_is_retried_after_1_2_and_4_seconds_and_undone(localyun):
    """The hotel fails at 0, 1, 3 and 7 seconds; then flight and train are cancelled."""
    source = "source: reserve_hotel\n"
    text = definition(localyun, "multi-step-transaction").replace(
        source, f"{source}      - target: reserve_hotel\n        source: $input.hotel\n"
    )
    run = localyun.flow("transaction", text).start(
        {"buy_train_ticket_result": True, "reserve_flight_result": True, "hotel": False}
    )

    localyun.skip_until(execution=run, timeout="60s")

    assert run.status == "Failed"
    assert seconds(run.history, "TaskFailed") == [0, 1, 3, 7]
    asked = [call.event["operation"] for call in localyun.calls("fnf-demo/Operation")]
    assert asked == [
        "buy_train_ticket",
        "reserve_flight",
        *4 * ["reserve_hotel"],
        "cancel_flight",
        "cancel_train_ticket",
    ]


def test_polling_takes_40_seconds_of_the_emulator_s_time(localyun):
    """Four queries, ten seconds apart."""
    answers = [{"return": {"job_id": "7", "job_status": "running", "try_count": number}} for number in (1, 2, 3, 4)]
    status = localyun.mock("fnf-demo/GetJobStatus", answers=answers)
    run = localyun.flow("polling", definition(localyun, "poll-for-task-status")).start({"delay": 600})

    localyun.skip_until(execution=run)

    assert run.status == "Failed"
    assert len(status.calls) == 4
    assert seconds(run.history, "ExecutionFailed") == [40]


def test_schedule_starts_an_execution_every_minute(localyun):
    """An hour has sixty."""
    flow = localyun.flow("timed", definition(localyun, "timed-schedule"))
    localyun.mock("fnf-demo/hello", returns={"said": "hello"})
    localyun.api.fnf(
        "CreateSchedule", FlowName="timed", ScheduleName="each-minute", CronExpression="@every 1m", Enable=True
    )

    localyun.clock.advance("1h")

    assert len(flow.executions) == 60
    assert {run.status for run in flow.executions} == {"Succeeded"}


def test_troubleshooting_retries_and_is_redirected(localyun):
    """Two failures that pass, then one that does not."""
    run = localyun.flow("trouble", definition(localyun, "troubleshooting")).start({"failures": 2})

    localyun.skip_until(execution=run, timeout="60s")

    assert run.status == "Succeeded"
    assert seconds(run.history, "TaskFailed") == [0, 1, 3]


def test_version_behind_an_alias_is_called(localyun):
    """The flow asks for the alias, whatever it leads to."""
    called = localyun.mock("fnf-demo/provision.online", returns={"version": "1"})
    run = localyun.flow("versions", definition(localyun, "versions-and-aliases")).start({})

    localyun.skip_until(execution=run)

    assert run.status == "Succeeded"
    assert len(called.calls) == 1


def gaps(inbox):
    times = [datetime.fromisoformat(request.at) for request in inbox]
    return [(after - before).total_seconds() for before, after in pairwise(times)]


def test_exponential_pushes_follow_their_timetable_for_a_day(localyun):
    """176 retries: 1, 2, 4 ... 256 seconds, then every 512, the whole within a day."""
    inbox = localyun.sink(answers=[{"status": 500}])
    localyun.topic("news").subscribe(inbox.url, strategy="EXPONENTIAL_DECAY_RETRY")
    localyun.topic("news").publish("extra")

    localyun.clock.advance("25h")

    spans = gaps(inbox)
    assert len(spans) == 176
    assert spans[:10] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    assert set(spans[10:]) == {512}
    assert sum(spans) <= 24 * 3600


def test_backoff_pushes_are_made_three_times_more(localyun):
    """Ten to twenty seconds apart."""
    inbox = localyun.sink(answers=[{"status": 500}])
    localyun.topic("news").subscribe(inbox.url, strategy="BACKOFF_RETRY")
    localyun.topic("news").publish("extra")

    localyun.clock.advance("25h")

    assert len(gaps(inbox)) == 3
    assert all(10 <= span <= 20 for span in gaps(inbox))


@pytest.mark.parametrize(
    ("zone", "before", "runs"),
    [
        ("Europe/Berlin", "2027-03-27T00:00:00Z", ["27 08:30", "28 07:30", "29 07:30"]),
        ("America/New_York", "2027-03-13T00:00:00Z", ["13 14:30", "14 13:30", "15 13:30"]),
    ],
)
def test_schedule_keeps_the_time_of_day_over_the_change_of_summer_time(localyun, zone, before, runs):
    """Half past nine stays half past nine where the schedule lives."""
    localyun.clock.to(before)
    flow = localyun.flow("report", "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: p}\n")
    cron = f"CRON_TZ={zone} 0 30 9 * * *"
    localyun.api.fnf("CreateSchedule", FlowName="report", ScheduleName="daily", CronExpression=cron, Enable=True)

    localyun.clock.advance("3d")

    started = [datetime.fromisoformat(run.describe()["StartedTime"]) for run in reversed(flow.executions)]
    assert [f"{time:%d %H:%M}" for time in started] == runs


FLOW = """
version: v1
type: flow
steps:
  - type: parallel
    name: both
    branches:
      - steps:
          - {type: wait, name: short, duration: 60}
          - type: task
            name: charge
            resourceArn: acs:fc:::services/shop/functions/charge
            retry: [{errors: [Busy], intervalSeconds: 1, multiplier: 2, maxAttempts: 3}]
            catch: [{errors: [Busy], goto: told}]
          - {type: pass, name: told}
      - steps:
          - {type: wait, name: long, duration: 3600}
          - type: task
            name: tell
            resourceArn: acs:mns:::/topics/news/messages
            serviceParams: {MessageBody: "done"}
"""


@pytest.fixture(scope="session")
def first_history(tmp_path_factory):
    """Where the first of all workers keeps its history."""
    folder = tmp_path_factory.getbasetemp()
    return (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "first-history.json"


@pytest.mark.parametrize("number", range(50))
def test_one_identical_history(localyun, first_history, tmp_path, number):
    """Fifty times the same program, on whatever workers: the same events at the same times, pushes included."""
    inbox = localyun.sink(answers=[{"status": 500}, {"status": 204}])
    localyun.topic("news").subscribe(inbox.url, strategy="EXPONENTIAL_DECAY_RETRY")
    localyun.mock("shop/charge", raises={"errorType": "Busy", "errorMessage": "later"})
    began = localyun.clock.now()
    run = localyun.flow("program", FLOW).start({}, name="one")

    localyun.clock.advance("2h")

    history = []
    for event in run.history:
        at = (datetime.fromisoformat(event["Time"]) - began) / timedelta(seconds=1)
        detail = re.sub(r"[0-9A-F]{24,32}|[0-9a-f]{8}-[0-9a-f-]{27}", "ID", event.get("EventDetail") or "")
        history.append({**event, "Time": at, "EventDetail": detail})
    pushes = [(datetime.fromisoformat(each.at) - began) / timedelta(seconds=1) for each in inbox]
    mine = tmp_path / "history.json"
    mine.write_text(json.dumps([history, pushes], indent=1))
    with contextlib.suppress(FileExistsError):
        os.link(mine, first_history)

    assert run.status == "Succeeded"
    assert pushes == [3600, 3601]
    assert mine.read_text() == first_history.read_text()
