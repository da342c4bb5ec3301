"""What the pages of the tutorials say about other orders, lost answers and repetitions: each claim explored."""

import re
from pathlib import Path

import pytest

from emulator.lab.exploration import Search
from emulator.testing.api import ApiError
from tests.exploration.conftest import PATIENCE

APPS = Path(__file__).parents[2] / "sample-apps"
LANGUAGES = ("flow", "statemachine")
RETRIES = {
    "flow": "    retry: [{errors: [FnF.ALL], intervalSeconds: 1, maxAttempts: 3}]\n",
    "statemachine": "    Retry: [{Errors: [FnF.ALL], IntervalSeconds: 1, MaxAttempts: 3}]\n",
}
TASK = re.compile(r"  - [tT]ype: [tT]ask\n    [nN]ame: .*\n")
UNDOING = {
    "buy_train_ticket": "cancel_train_ticket",
    "reserve_flight": "cancel_flight",
    "reserve_hotel": "cancel_hotel",
}


def made(localyun, tutorial, file, *, retried=False, **fields):
    """Return the flow of a tutorial; *retried*: each task is tried again after any error."""
    text = (APPS / tutorial / f"{file}.yml").read_text(encoding="utf-8")
    for name, value in {"accountID": localyun.account_id, **fields}.items():
        text = text.replace(f"{{{name}}}", value)
    if retried:
        text = TASK.sub(lambda task: task[0] + RETRIES[file], text)
    return localyun.flow(f"fnf-demo-{tutorial}", text)


def ended(localyun):
    localyun.skip_until(quiet=True, limit="2d", timeout="60s")


def reported(localyun, run, tokens):
    """Report every token as soon as it is seen, until the flow has ended; return what became of each report."""
    became = []
    for _ in range(8):
        localyun.settle("60s")
        for token in tokens()[len(became) :]:
            try:
                localyun.api.fnf("ReportTaskSucceeded", TaskToken=token, Output='{"status": "ok"}')
                became.append("taken")
            except ApiError as error:
                became.append(error.code)
        localyun.settle("60s")
        if run.status != "Running":
            break
        localyun.clock.advance("1m")
    return became


def callback(localyun, file, **how):
    echo = localyun.mock("fnf-demo/echo", returns={})
    flow = made(localyun, "callback", file, **how)

    def run():
        execution = flow.start({})
        reports = reported(localyun, execution, lambda: [call.event["taskToken"] for call in echo.calls])
        return execution.status, reports

    return run


def queue_callback(localyun, file, **how):
    queue = localyun.queue("fnf-demo")
    flow = made(localyun, "mns-queue-callback", file, **how)

    def run():
        execution, tokens = flow.start({}), []

        def received():
            while len(tokens) < 8 and (message := queue.receive()) is not None:
                tokens.append(message.json()["task_token"])
                queue.delete(message)
            return tokens

        reports = reported(localyun, execution, received)
        return execution.status, reports

    return run


def topic_callback(localyun, file, **how):
    inbox = localyun.sink()
    localyun.topic("demo").subscribe(inbox.url, name="demo", content_format="SIMPLIFIED")
    flow = made(localyun, "mns-topic-callback", file, topic="demo", **how)

    def run():
        execution = flow.start({"messageBody": "hello"})
        reports = reported(localyun, execution, lambda: [each.json()["taskToken"] for each in inbox.requests])
        return execution.status, reports

    return run


def polling(localyun, file, **how):
    job = localyun.mock("fnf-demo/StartJob", returns={"job_id": "7"})
    localyun.mock("fnf-demo/GetJobStatus", returns={"job_id": "7", "job_status": "success", "try_count": 1})
    flow = made(localyun, "poll-for-task-status", file, **how)

    def run():
        execution = flow.start({"delay": 1})
        ended(localyun)
        return execution.status, ["started"] * len(job.calls)

    return run


def schedule(localyun, file, **how):
    hello = localyun.mock("fnf-demo/hello", returns={})
    flow = made(localyun, "timed-schedule", file, **how)

    def run():
        localyun.api.fnf(
            "CreateSchedule", FlowName=flow.name, ScheduleName="s", CronExpression="@every 1m", Enable=True,
            Payload="{}",
        )  # fmt: skip
        localyun.clock.advance("90s")
        localyun.settle("60s")
        (execution,) = flow.executions
        return execution.status, ["called"] * len(hello.calls)

    return run


def alias(localyun, file, **how):
    provision = localyun.mock("fnf-demo.online/provision", returns={"success": True})
    flow = made(localyun, "versions-and-aliases", file, **how)

    def run():
        execution = flow.start({})
        ended(localyun)
        return execution.status, ["called"] * len(provision.calls)

    return run


SINGLE = {
    "callback": callback,
    "mns-queue-callback": queue_callback,
    "mns-topic-callback": topic_callback,
    "poll-for-task-status": polling,
    "timed-schedule": schedule,
    "versions-and-aliases": alias,
}


def explored(localyun, run, *, deviations=1, order=(), faults=()):
    """Return the outcomes that *run* has in all schedules within a bound, the first schedule's first.

    Each begins with what is there now.
    """
    base, outcomes = localyun.checkpoint("base"), []
    search = Search(deviations=deviations, most=1000, random=False)
    for each in search:
        base.restore()
        fixed = {"patience": PATIENCE, "order": list(order), "faults": list(faults)}
        localyun.api.admin("POST", "schedule", {**fixed, **each})
        outcomes.append(run())
        view = localyun.api.admin("GET", "schedule")
        assert view["strayed"] == 0
        search.learn(view)
    assert len(outcomes) > 1
    return outcomes


@pytest.mark.parametrize("file", LANGUAGES)
@pytest.mark.parametrize("tutorial", SINGLE)
def test_lost_answer_fails_the_flow_though_the_work_is_done(bare, tutorial, file):
    """As the tutorial has it, nothing is tried again."""
    first, *others = explored(bare, SINGLE[tutorial](bare, file), faults=["lost-after"])

    assert first[0] == "Succeeded"
    assert any(status == "Failed" and work for status, work in others)


@pytest.mark.parametrize("file", LANGUAGES)
@pytest.mark.parametrize("tutorial", SINGLE)
def test_flow_with_a_retry_survives_two_lost_answers(bare, tutorial, file):
    """It succeeds in every schedule, and in some the work is done more than once."""
    outcomes = explored(bare, SINGLE[tutorial](bare, file, retried=True), deviations=2, faults=["lost-after"])

    assert {status for status, _ in outcomes} == {"Succeeded"}
    assert any(len(work) > 1 for _, work in outcomes)


@pytest.mark.parametrize("file", LANGUAGES)
@pytest.mark.parametrize(
    ("tutorial", "order", "faults"),
    [
        ("mns-queue-callback", ["message"], ["duplicate"]),
        ("mns-topic-callback", ["push", "call", "reply"], ["duplicate"]),
        ("mns-topic-callback", ["push", "call", "reply"], ["restart"]),
    ],
)
def test_only_one_report_of_a_task_is_taken(bare, tutorial, order, faults, file):
    """However often its message comes, and in whichever order: the others are refused."""
    outcomes = explored(bare, SINGLE[tutorial](bare, file), deviations=2, order=order, faults=faults)

    assert {status for status, _ in outcomes} == {"Succeeded"}
    assert {reports.count("taken") for _, reports in outcomes} == {1}
    assert any("TaskAlreadyCompleted" in reports for _, reports in outcomes)


@pytest.mark.parametrize("file", LANGUAGES)
def test_errors_end_in_the_last_step_whatever_befalls_the_calls(bare, file):
    """A lost answer is not retried, for it has another name; it is caught like the rest."""
    bare.mock("fnf-demo/Unstable", returns={"attempts": 1})
    flow = made(bare, "troubleshooting", file)

    def run():
        execution = flow.start({"failures": 2})
        ended(bare)
        return execution.status, (execution.output or {}).get("errCode")

    outcomes = explored(bare, run, deviations=2, faults=["lost-before", "lost-after", "crash-after", "timeout"])

    assert {status for status, _ in outcomes} == {"Succeeded"}
    assert "FC.Unknown" in {error for _, error in outcomes}


def journey(localyun, file, *, hotel_is_full=False):
    """Return what tells how the transaction ends, and which bookings nobody has cancelled after they were made."""
    operation = localyun.mock("fnf-demo/Operation", returns={"reserve_flight_txnID": "1"})
    flow = made(localyun, "multi-step-transaction", file)
    if hotel_is_full:
        full = {"errorType": "FC.Unknown", "errorMessage": "no room is free"}
        localyun.mock(step=f"{flow.name}/ReserveHotel", raises=full)

    def run():
        execution = flow.start({f"{name}_result": "success" for name in UNDOING})
        ended(localyun)
        last = {call.event["operation"]: at for at, call in enumerate(operation.calls)}
        behind = [name for name in UNDOING if name in last and last.get(UNDOING[name], -1) < last[name]]
        return execution.status, behind

    return run


LOST = ["lost-before", "lost-after", "crash-after", "timeout", "throttle", "restart"]


@pytest.mark.parametrize("file", LANGUAGES)
def test_transaction_leaves_bookings_behind(bare, file):
    """Its answer lost, a step counts as not done; refused for too many calls, nothing is undone."""
    lost = explored(bare, journey(bare, file), faults=["lost-after"])
    throttled = explored(bare, journey(bare, file), faults=["throttle"])

    assert lost[0] == throttled[0] == ("Succeeded", list(UNDOING))
    assert ("Failed", ["buy_train_ticket"]) in lost
    assert ("Failed", ["reserve_flight"]) in lost
    assert ("Failed", ["buy_train_ticket", "reserve_flight"]) in throttled


BOUNDS = [(2, ["lost-after", "throttle"]), (1, LOST)]
"""Pairs of what befalls calls most often, and everything alone; a restart takes too long to be tried in pairs here."""


@pytest.mark.parametrize(("deviations", "faults"), BOUNDS, ids=["pairs", "all"])
def test_repaired_transaction_books_all(bare, deviations, faults):
    """Deviations do not keep it from its end."""
    outcomes = explored(bare, journey(bare, "safe"), deviations=deviations, faults=faults)

    assert all(outcome == ("Succeeded", list(UNDOING)) for outcome in outcomes)


@pytest.mark.waits
@pytest.mark.parametrize(("deviations", "faults"), BOUNDS, ids=["pairs", "all"])
def test_repaired_transaction_leaves_nothing_behind(bare, deviations, faults):
    """When the hotel is full all is undone, whatever befalls the calls."""
    run = journey(bare, "safe", hotel_is_full=True)

    outcomes = explored(bare, run, deviations=deviations, faults=faults)

    assert all(outcome == ("Failed", []) for outcome in outcomes)
