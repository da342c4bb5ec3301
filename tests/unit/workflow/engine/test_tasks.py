"""Tasks and their targets: what is refused, missing or odd."""

import asyncio
import json

import pytest

from emulator.services.workflow.engine.tasks import TaskCaller
from emulator.services.workflow.ports import FunctionReply, MessageReply, Refusal


def task(target: str, more: str = "") -> str:
    return f"version: v1\ntype: flow\nsteps:\n  - {{type: task, name: t, {target}{more}}}\n"


QUEUE = "resourceArn: 'acs:mns:::/queues/q/messages'"
TOPIC = "resourceArn: 'acs:mns:::/topics/q/messages'"
FUNCTION = "resourceArn: 'acs:fc:::services/s.1/functions/f'"


async def failure_of(bench, name: str = "e") -> tuple[str, str]:
    """Return type and error of the event that failed the task."""
    events = await bench.events(name)
    event = next(event for event in events if event["Type"] in {"TaskFailed", "TaskSubmitFailed"})
    return event["Type"], json.loads(event["EventDetail"])["error"]


@pytest.mark.parametrize("target", [QUEUE, TOPIC], ids=["queue", "topic"])
@pytest.mark.parametrize(
    ("code", "error"), [("QueueNotExist", "MNS.QueueNotExist"), ("", "MNS.Unknown")], ids=["code", "no code"]
)
async def test_a_refused_message_has_the_services_code(workflow, target, code, error):
    """MNS.{Code}, MNS.Unknown without one."""
    async with workflow() as bench:
        bench.messages.reply = MessageReply(members={}, refusal=Refusal(404, code, "gone"))
        await bench.flow(task(target))
        await bench.begin()

        assert await failure_of(bench) == ("TaskFailed", error)


@pytest.mark.parametrize(
    ("target", "error"),
    [
        (QUEUE, "MNS.Unknown"),
        (TOPIC, "MNS.Unknown"),
        (FUNCTION, "FC.Unknown"),
        ("action: 'facebody:DetectFace'", "facebody.ActionNotSupported"),
    ],
    ids=["queue", "topic", "function", "action"],
)
async def test_a_service_that_is_not_there_fails_the_task(workflow, target, error):
    """With a cause that says so."""
    async with workflow() as bench:
        bench.service._effects._caller = TaskCaller(None, None, bench.service._effects)
        await bench.flow(task(target))
        await bench.begin()

        assert await failure_of(bench) == ("TaskFailed", error)
        assert "not available here" in (await bench.events())[-1]["EventDetail"]


async def test_message_parameters_may_be_text(workflow):
    """A path that yields digits is as good as a number."""
    async with workflow() as bench:
        await bench.flow(task(QUEUE, ", serviceParams: {MessageBody: $.m, DelaySeconds: $.d, Priority: $.p}"))
        await bench.begin({"m": {"b": 1, "a": 2}, "d": "60", "p": 16})

        sent = bench.messages.sent[0]
        assert (sent["body"], sent["delay_s"], sent["priority"]) == ('{"a":2,"b":1}', 60, 16)


async def test_a_sync_function_is_submitted_and_waited_for(workflow):
    """Its result is the task's; a refusal is a failed submission."""
    definition = task(FUNCTION, ", pattern: sync, serviceParams: {InvocationType: Async}")

    async with workflow() as bench:
        await bench.flow(definition)
        bench.functions.on("f", lambda event: {"ok": 1})
        await bench.begin(name="good")
        bench.functions.on("f", lambda event: FunctionReply(body=b'{"errorType":"E"}', error_type="X"))
        await bench.begin(name="thrown")
        bench.functions.on("f", lambda event: FunctionReply(refusal=Refusal(404, "FunctionNotFound", "gone")))
        await bench.begin(name="refused")

        assert (await bench.describe("good"))["Output"] == '{"ok":1}'
        types = {name: [e["Type"] for e in await bench.events(name)][4:6] for name in ("good", "thrown", "refused")}
        assert types["good"] == ["TaskSubmitted", "TaskSucceeded"]
        assert types["thrown"] == ["TaskSubmitted", "TaskFailed"]
        assert types["refused"][0] == "TaskSubmitFailed"


async def test_an_asynchronous_call_ends_with_its_acceptance(workflow):
    """Pattern requestResponse: the reply has the id of the request, the function may take its time."""
    async with workflow() as bench:
        bench.functions.on("f", lambda event: asyncio.get_running_loop().create_future())
        await bench.flow(task(FUNCTION, ", serviceParams: {InvocationType: Async, StatefulAsyncInvocationID: $.id}"))
        await bench.begin({"id": "mine"})
        bench.functions.on("f", lambda event: FunctionReply(refusal=Refusal(404, "FunctionNotFound", "gone")))
        await bench.begin(name="refused")

        assert json.loads((await bench.describe())["Output"]) == {"RequestId": "mine-0"}
        assert await failure_of(bench, "refused") == ("TaskFailed", "FC.FunctionNotFound")


async def test_a_queued_function_is_waited_for_across_a_restart(workflow, tmp_path):
    """It is submitted once: the call made again finds the run that is under way."""
    async with workflow(tmp_path / "state.db") as bench:
        answer = asyncio.get_running_loop().create_future()
        bench.functions.on("f", lambda event: answer)
        await bench.flow(task(FUNCTION, ", pattern: sync, serviceParams: {InvocationType: Async}"))
        await bench.begin()
        assert (await bench.events())[-1]["Type"] == "TaskSubmitted"

        await bench.restart()
        assert (await bench.events())[-1]["Type"] == "TaskSubmitted"
        answer.set_result({"ok": 1})
        await bench.settle()

        types = [event["Type"] for event in await bench.events()]
        assert types[4:] == ["TaskSubmitted", "TaskSucceeded", "StepExited", "ExecutionSucceeded"]
        assert (await bench.describe())["Output"] == '{"ok":1}'
        assert len(bench.functions.calls) == 1
        assert bench.functions.abandoned == []


async def test_a_queued_function_that_fails_is_retried_as_a_new_call(workflow):
    """Each attempt has its own; the error is the function's."""
    async with workflow() as bench:
        replies = [FunctionReply(body=b'{"errorType":"E"}', error_type="X"), {"ok": 1}]
        bench.functions.on("f", lambda event: replies.pop(0))
        options = ", pattern: sync, serviceParams: {InvocationType: Async}, retry: [{errors: [E]}]"
        await bench.flow(task(FUNCTION, options))
        await bench.begin()
        await bench.advance(1)

        attempts = [event["Type"] for event in await bench.events() if event["Type"].startswith("Task")]
        one = ["TaskScheduled", "TaskStarted", "TaskSubmitted"]
        assert attempts == [*one, "TaskFailed", *one, "TaskSucceeded"]


@pytest.mark.parametrize("pattern", ["sync", "waitForCallback"])
async def test_stopping_an_execution_stops_the_function_it_waits_for(workflow, pattern):
    """A queued one too, wherever it runs, and whoever is to say that it has ended."""
    async with workflow() as bench:
        bench.functions.on("f", lambda event: asyncio.get_running_loop().create_future())
        await bench.flow(task(FUNCTION, f", pattern: {pattern}, serviceParams: {{InvocationType: Async}}"))
        await bench.begin()
        await bench.call("StopExecution", FlowName="f", ExecutionName="e")
        await bench.settle()

        assert bench.functions.abandoned == ["request-0"]
        assert (await bench.describe())["Status"] == "Stopped"


async def test_an_unknown_invocation_type_fails_the_task(workflow):
    """Known only when the step runs, if it comes by a path."""
    async with workflow() as bench:
        await bench.flow(task(FUNCTION, ", serviceParams: {InvocationType: $.t}"))
        await bench.begin({"t": "Soon"})

        assert await failure_of(bench) == ("TaskFailed", "FnF.RuntimeError")
        assert bench.functions.calls == []


async def test_a_report_between_two_attempts_is_too_late(workflow):
    """The token of the failed attempt is used up, the next one's does not exist yet."""
    definition = task(
        FUNCTION,
        ", pattern: waitForCallback, retry: [{errors: [E], intervalSeconds: 10}],"
        " inputMappings: [{target: token, source: $context.task.token}]",
    )

    async with workflow() as bench:
        bench.functions.on("f", lambda event: {})
        await bench.flow(definition)
        await bench.begin()
        token = bench.functions.calls[0][1]["token"]
        await bench.call("ReportTaskFailed", TaskToken=token, Error="E")
        await bench.settle()

        reply = await bench.call("ReportTaskSucceeded", TaskToken=token, Output="{}")

        assert reply["Code"] == "TaskAlreadyCompleted"


async def test_a_report_over_the_data_limit_ends_the_execution(workflow):
    """The report is taken; the execution fails with FnF.DataLimitExceeded."""
    definition = task(
        QUEUE, ", pattern: waitForCallback, inputMappings: [{target: token, source: $context.task.token}]"
    )

    async with workflow() as bench:
        await bench.flow(definition)
        await bench.begin()
        token = json.loads(bench.messages.sent[0]["body"])["token"]

        reply = await bench.call("ReportTaskSucceeded", TaskToken=token, Output=json.dumps({"a": "x" * 33_000}))

        events = await bench.events()
        assert reply["EventId"] == events[-1]["EventId"]
        assert json.loads(events[-1]["EventDetail"])["error"] == "FnF.DataLimitExceeded"


async def test_a_wait_for_a_fixed_timestamp(workflow):
    """The text of the definition is shown as it was written."""
    async with workflow() as bench:
        await bench.flow(
            "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, timestamp: 2023-11-15T06:13:30+08:00}\n"
        )
        await bench.begin()
        before = await bench.describe()
        await bench.advance(10)

        assert before["Status"] == "Running"
        assert (await bench.describe())["Status"] == "Succeeded"
        started = (await bench.events())[2]
        assert json.loads(started["EventDetail"])["timestamp"] == "2023-11-15T06:13:30+08:00"


async def test_text_that_is_no_unicode_is_refused(workflow):
    """Bytes that are no UTF-8 cannot be stored."""
    async with workflow() as bench:
        await bench.flow("version: v1\ntype: flow\nsteps:\n  - {type: pass, name: p}\n")

        reply = await bench.call("StartExecution", FlowName="f", Input='{"a":"\udc80"}')

        assert (reply["HTTP"], reply["Code"]) == (400, "InvalidArgument")
