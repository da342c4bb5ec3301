"""Express flows: started with StartSyncExecution, answered at their end."""

import asyncio
import json
import re

import pytest

from emulator.services.workflow.ports import FunctionReply

PASS = """
version: v1
type: flow
steps:
  - {type: pass, name: p, outputMappings: [{target: a, source: $input.a}]}
"""
WAIT = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, duration: 100}\n"
FUNCTION = (
    "version: v1\ntype: flow\nsteps:\n  - {type: task, name: t, resourceArn: 'acs:fc:::services/s/functions/f'}\n"
)
CALLBACK = FUNCTION.replace("}", ", pattern: waitForCallback}")
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


async def made(bench, definition, name="f", mode="Express"):
    return await bench.call(
        "CreateFlow", Name=name, Definition=definition, Description="", Type="FDL", ExecutionMode=mode
    )


async def parked(bench, **parameters):
    """Start and return the task that waits for the reply."""
    task = asyncio.create_task(bench.call("StartSyncExecution", FlowName="f", **parameters))
    await bench.settle()
    return task


async def test_the_caller_is_no_work_while_it_waits(workflow):
    """Time can be skipped over a wait of the flow, and effects of it need not wait for the caller's answer."""
    async with workflow() as bench:
        await made(bench, WAIT)
        call = bench.context([], [*{"Action": "StartSyncExecution", "Version": "2019-03-15", "FlowName": "f"}.items()])
        answer = asyncio.ensure_future(bench.front.handle(call))
        await bench.settle()

        assert call.parked
        await bench.advance(100)
        assert json.loads((await answer).body)["Status"] == "Succeeded"


async def test_the_reply_comes_with_the_end(workflow):
    """All members of the API, among them the environment; the name is made unique."""
    async with workflow() as bench:
        await made(bench, PASS)
        first = await bench.call("StartSyncExecution", FlowName="f", ExecutionName="e", Input='{"a":1}')
        second = await bench.call("StartSyncExecution", FlowName="f", ExecutionName="e", Input='{"a":2}')
        unnamed = await bench.call("StartSyncExecution", FlowName="f")

        del first["RequestId"]
        assert re.fullmatch(f"e:{UUID}", first.pop("Name"))
        assert first == {
            "FlowName": "f",
            "Output": '{"a":1}',
            "Status": "Succeeded",
            "StartedTime": "2023-11-14T22:13:20.000Z",
            "StoppedTime": "2023-11-14T22:13:20.000Z",
            "ErrorCode": "",
            "ErrorMessage": "",
            "Environment": {"Variables": []},
        }
        assert second["Output"] == '{"a":2}'
        assert re.fullmatch(f"{UUID}:{UUID}", unnamed["Name"])


async def test_a_failed_execution_is_a_reply_like_any_other(workflow):
    """With the error and its cause in members of their own."""
    async with workflow() as bench:
        await made(bench, "version: v1\ntype: flow\nsteps:\n  - {type: fail, name: x, error: Mine, cause: why}\n")

        reply = await bench.call("StartSyncExecution", FlowName="f")

        assert "HTTP" not in reply
        assert (reply["Status"], reply["Output"]) == ("Failed", "")
        assert (reply["ErrorCode"], reply["ErrorMessage"]) == ("Mine", "why")


async def test_a_function_is_waited_for(workflow):
    """No task stands by for the caller: only the call itself and the one of this test."""
    async with workflow() as bench:
        answer = asyncio.get_running_loop().create_future()
        bench.functions.on("f", lambda given: answer)
        await made(bench, FUNCTION)
        waiting = await parked(bench)
        assert not waiting.done()

        answer.set_result(FunctionReply(body=b'{"r":1}'))
        reply = await waiting

        assert (reply["Status"], json.loads(reply["Output"])) == ("Succeeded", {"r": 1})


async def test_five_minutes_are_the_longest(workflow):
    """Whatever the flow's own time-out; a shorter one counts."""
    async with workflow() as bench:
        waits = "".join(f"  - {{type: wait, name: w{number}, duration: 100}}\n" for number in range(4))
        await made(bench, f"version: v1\ntype: flow\nsteps:\n{waits}timeoutSeconds: 900\n")
        await made(bench, WAIT + "timeoutSeconds: 20\n", name="short")
        long = await parked(bench)
        short = asyncio.create_task(bench.call("StartSyncExecution", FlowName="short"))
        await bench.advance(20)
        assert (await short)["Status"] == "TimedOut"
        await bench.advance(279.9)
        assert not long.done()

        await bench.advance(0.2)

        reply = await long
        assert (reply["Status"], reply["ErrorCode"]) == ("TimedOut", "FnF.Timeout")
        assert reply["StoppedTime"] == "2023-11-14T22:18:20.000Z"


@pytest.mark.parametrize(
    ("action", "mode", "message"),
    [
        ("StartExecution", "Express", "Express execution is not supported"),
        ("StartSyncExecution", "Standard", "Standard execution is not supported"),
        ("StartSyncExecution", "", "Standard execution is not supported"),
    ],
)
async def test_each_mode_has_its_operation(workflow, action, mode, message):
    """The other one is refused, and nothing starts."""
    async with workflow() as bench:
        await made(bench, PASS, mode=mode)

        reply = await bench.call(action, FlowName="f")

        assert (reply["HTTP"], reply["Code"], reply["Message"]) == (400, "ActionNotSupported", message)
        assert (await bench.call("ListExecutions", FlowName="f"))["Executions"] == []


async def test_tasks_that_wait_are_refused_with_the_definition(workflow):
    """At every depth, when the flow is made and when it is changed."""
    async with workflow() as bench:
        nested = CALLBACK.replace("steps:\n", "steps:\n  - type: parallel\n    name: b\n    branches: [{steps: [", 1)
        nested = nested.replace("  - {type: task", "{type: task").rstrip() + "]}]\n"
        for definition in (CALLBACK, nested):
            refused = await made(bench, definition)
            assert (refused["HTTP"], refused["Code"]) == (400, "InvalidArgument")
            assert "waitForCallback of step 't'" in refused["Message"]
        await made(bench, FUNCTION)
        updated = await bench.call("UpdateFlow", Name="f", Definition=CALLBACK)
        assert updated["Code"] == "InvalidArgument"
        assert "Code" not in await made(bench, CALLBACK, name="standard", mode="Standard")


async def test_a_qualifier_chooses_the_version(workflow):
    """As for standard flows."""
    async with workflow() as bench:
        await made(bench, PASS)
        await bench.call("PublishFlowVersion", FlowName="f")
        await bench.call("UpdateFlow", Name="f", Definition=PASS.replace("target: a", "target: b"))

        old = await bench.call("StartSyncExecution", FlowName="f", Input='{"a":1}', Qualifier="1")
        new = await bench.call("StartSyncExecution", FlowName="f", Input='{"a":1}')

        assert (old["Output"], new["Output"]) == ('{"a":1}', '{"b":1}')


async def test_bad_requests_are_refused(workflow):
    """Names and inputs by the rules of StartExecution."""
    async with workflow() as bench:
        await made(bench, PASS)

        replies = [
            await bench.call("StartSyncExecution", **parameters)
            for parameters in (
                {},
                {"FlowName": "x"},
                {"FlowName": "f", "ExecutionName": "a:b"},
                {"FlowName": "f", "Input": "[]"},
                {"FlowName": "f", "Qualifier": "7"},
            )
        ]

        assert [reply["Code"] for reply in replies] == [
            "MissingRequiredParams",
            "FlowNotExists",
            "InvalidArgument",
            "InvalidArgument",
            "FlowVersionNotExists",
        ]


async def test_a_schedule_runs_an_express_flow(workflow):
    """Nobody waits for it, and it is listed."""
    async with workflow() as bench:
        await made(bench, PASS)
        await bench.call(
            "CreateSchedule", FlowName="f", ScheduleName="s", CronExpression="@every 1m", Payload='{"a":5}'
        )

        await bench.advance(60)

        listed = (await bench.call("ListExecutions", FlowName="f"))["Executions"]
        assert [(each["Output"], each["Status"]) for each in listed] == [('{"a":5}', "Succeeded")]


async def test_a_stopping_emulator_tells_the_present_state(workflow, tmp_path):
    """The execution itself goes on at the next start."""
    async with workflow(tmp_path / "state.db") as bench:
        await made(bench, WAIT)
        waiting = await parked(bench, ExecutionName="e")
        bench.service.end_polls()
        reply = await waiting
        await bench.restart()
        await bench.advance(100)

        assert reply["Status"] == "Running"
        assert (await bench.describe(reply["Name"]))["Status"] == "Succeeded"


async def test_there_are_no_map_runs(workflow):
    """Missing and bad parameters come first, then what the names lead to."""
    async with workflow() as bench:
        await bench.flow(PASS)
        await bench.begin()
        names = {"FlowName": "f", "ExecutionName": "e", "MapRunName": "0" * 32}

        codes = [
            (await bench.call(action, **{**names, **more}))["Code"]
            for action, more in (
                ("DescribeMapRun", {}),
                ("DescribeMapRun", {"ExecutionName": "x"}),
                ("DescribeMapRun", {"FlowName": "x"}),
                ("UpdateMapRun", {"Concurrency": 3, "ToleratedFailedPercentage": "0.5"}),
                ("UpdateMapRun", {"Concurrency": 0}),
                ("UpdateMapRun", {"ToleratedFailedPercentage": "101"}),
                ("UpdateMapRun", {"ToleratedFailedPercentage": "nan"}),
            )
        ]
        missing = await bench.call("DescribeMapRun", FlowName="f", ExecutionName="e")
        listed = await bench.call("ListExecutions", FlowName="f", MapRunName="0" * 32)

        assert codes == [
            "MapRunNotExists",
            "ExecutionNotExists",
            "FlowNotExists",
            "MapRunNotExists",
            "InvalidArgument",
            "InvalidArgument",
            "InvalidArgument",
        ]
        assert missing["Code"] == "MissingRequiredParams"
        assert listed["Executions"] == []


@pytest.mark.parametrize(("seconds", "code"), [(300, None), (301, "InvalidArgument"), (400, "InvalidArgument")])
async def test_a_wait_longer_than_an_express_execution_is_refused(workflow, seconds, code):
    """It could only ever time out, inside other steps too; a standard flow may wait so long."""
    wait = f"{{type: wait, name: w, duration: {seconds}}}"
    nested = f"version: v1\ntype: flow\nsteps:\n  - {{type: parallel, name: p, branches: [{{steps: [{wait}]}}]}}\n"
    async with workflow() as bench:
        express = await made(bench, nested, "express")
        standard = await made(bench, nested, "standard", mode="Standard")

        assert (express.get("Code"), standard.get("Code")) == (code, None)
        if code:
            assert express["Message"].endswith("step 'w' waits longer than the 300 seconds of express flows.")
