"""Executions from outside: starting, stopping, waiting, restarting, deleting."""

import asyncio
import json
import re
import sqlite3

import pytest

from emulator.services.workflow import limits
from emulator.services.workflow.executions.effects import Effects
from emulator.services.workflow.model import Status
from emulator.services.workflow.ports import FunctionReply, Refusal
from tests.unit.workflow.conftest import WORLD

FN = "acs:fc:::services/s/functions/f"
ONE_PASS = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: p}\n"
WAIT = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, duration: 100}\n  - {type: pass, name: p}\n"
TASK = f"version: v1\ntype: flow\nsteps:\n  - {{type: task, name: t, resourceArn: '{FN}'}}\n"
CALLBACK = f"""
version: v1
type: flow
steps:
  - type: task
    name: t
    resourceArn: '{FN}'
    pattern: waitForCallback
    timeoutSeconds: 50
    inputMappings: [{{target: token, source: $context.task.token}}]
    retry: [{{errors: [FnF.TaskTimeout, E], maxAttempts: 1, intervalSeconds: 10}}]
"""


def decoded(answer) -> dict:
    return json.loads(answer.result().body)


def types(events) -> list[str]:
    return [event["Type"] for event in events]


async def test_start_returns_before_the_first_step_runs(workflow):
    """The reply says Starting; a moment later the execution has ended."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)

        reply = await bench.call("StartExecution", FlowName="f", Input='{ "b": 1, "a": 2 }')
        early = await bench.describe(reply["Name"])
        await bench.settle()
        late = await bench.describe(reply["Name"])

        assert (reply["Status"], reply["Output"], reply["StoppedTime"]) == ("Starting", "", "")
        assert reply["Input"] == '{ "b": 1, "a": 2 }'
        assert reply["FlowDefinition"] == ONE_PASS
        assert early["Status"] == "Starting"
        assert (late["Status"], late["Output"]) == ("Succeeded", "{}")
        assert late["StoppedTime"] == late["StartedTime"] == "2023-11-14T22:13:20.000Z"


async def test_a_start_and_a_change_that_cannot_be_written_leave_nothing_behind(workflow):
    """What memory holds goes with their transaction: the execution never runs, the flow is what it was."""
    async with workflow() as bench:
        bench.functions.on("f", lambda given: {})
        await bench.flow(TASK)
        await bench.settle()
        pages = bench.database.file.sizes().pages

        bench.handle("StartExecution", FlowName="f", ExecutionName="e")
        await bench.call("UpdateFlow", Name="f", Definition=ONE_PASS)
        changed = (await bench.call("DescribeFlow", Name="f"))["Definition"]
        bench.database.read(f"PRAGMA max_page_count = {pages}").fetchone()
        with pytest.raises(sqlite3.OperationalError):
            bench.database.write("UPDATE workflow_flows SET description = ?", ("x" * 1_000_000,))
        bench.database.read("PRAGMA max_page_count = 100000").fetchone()
        await bench.advance(2)

        assert changed == ONE_PASS
        assert (await bench.describe())["Code"] == "ExecutionNotExists"
        assert (await bench.call("DescribeFlow", Name="f"))["Definition"] == TASK
        assert bench.functions.calls == []
        await bench.begin()
        assert ((await bench.describe())["Status"], len(bench.functions.calls)) == ("Succeeded", 1)


async def test_an_execution_whose_flow_is_deleted_before_its_first_step_takes_none(workflow):
    """It is stopped and removed, although it is in memory already."""
    async with workflow() as bench:
        bench.functions.on("f", lambda given: {})
        await bench.flow(TASK)
        bench.handle("StartExecution", FlowName="f", ExecutionName="e")
        bench.handle("DeleteFlow", Name="f")
        await bench.settle()

        assert bench.functions.calls == []
        assert bench.database.read("SELECT count(*) FROM workflow_executions").fetchone() == (0,)
        assert (await bench.call("DescribeFlow", Name="f"))["Code"] == "FlowNotExists"


async def test_start_is_idempotent_while_the_execution_runs(workflow):
    """The running one is returned, whatever the input; an ended one's name is taken."""
    async with workflow() as bench:
        await bench.flow(WAIT)
        await bench.begin({"n": 1})

        again = await bench.begin({"n": 2})
        await bench.advance(100)
        ended = await bench.begin({"n": 1})

        assert again["Input"] == '{"n": 1}'
        assert again["Status"] == "Running"
        assert len(await bench.events()) == 10
        assert (ended["HTTP"], ended["Code"]) == (400, "ExecutionAlreadyExists")
        assert ended["Message"] == "Execution e for flow f already exists."


async def test_stop_ends_an_execution_at_once(workflow):
    """Waits are dropped; the reply has the state after the stop, and a second stop is refused."""
    async with workflow() as bench:
        await bench.flow(WAIT)
        await bench.begin()
        await bench.advance(3)

        reply = await bench.call("StopExecution", FlowName="f", ExecutionName="e", Error="E", Cause="enough")
        again = await bench.call("StopExecution", FlowName="f", ExecutionName="e")
        await bench.advance(200)

        assert (reply["Status"], reply["Output"], reply["StoppedTime"]) == (
            "Stopped", "", "2023-11-14T22:13:23.000Z",
        )  # fmt: skip
        assert reply["RoleArn"] == ""
        assert (again["HTTP"], again["Code"]) == (400, "ExecutionAlreadyCompleted")
        events = await bench.events()
        assert types(events)[-2:] == ["StepStarted", "ExecutionStopped"]
        assert events[-1]["EventDetail"] == '{"error":"E","cause":"enough"}'
        assert bench.database.read("SELECT count(*) FROM workflow_wakeups").fetchone() == (0,)


async def test_stop_cancels_running_functions(workflow):
    """A call that is being made is called off, and what it would have brought is not recorded."""
    async with workflow() as bench:
        bench.functions.on("f", lambda event: asyncio.get_running_loop().create_future())
        await bench.flow(TASK)
        await bench.begin()

        await bench.call("StopExecution", FlowName="f", ExecutionName="e")
        await bench.settle()

        assert bench.functions.cancelled == ["f"]
        assert types(await bench.events())[-1] == "ExecutionStopped"


async def test_flow_timeout_ends_the_execution(workflow):
    """TimedOut, with FnF.Timeout in the history; the running call is cancelled."""
    async with workflow() as bench:
        bench.functions.on("f", lambda event: asyncio.get_running_loop().create_future())
        await bench.flow(TASK + "timeoutSeconds: 30\n")
        await bench.begin()
        await bench.advance(29)
        running = await bench.describe()

        await bench.advance(1)

        assert running["Status"] == "Running"
        described = await bench.describe()
        assert (described["Status"], described["StoppedTime"]) == ("TimedOut", "2023-11-14T22:13:50.000Z")
        assert json.loads((await bench.events())[-1]["EventDetail"])["error"] == "FnF.Timeout"
        assert bench.functions.cancelled == ["f"]


FAILS_BESIDE_A_WAIT = """
version: v1
type: flow
steps:
- type: parallel
  name: both
  branches:
  - steps:
    - {type: wait, name: first, duration: 10}
    - {type: fail, name: broken, error: Broken}
  - steps:
    - {type: wait, name: second, duration: 10}
    - {type: pass, name: never}
"""


async def test_what_is_due_with_the_end_of_an_execution_adds_nothing(workflow):
    """Two waits end at one instant: the first fails the execution, and the other finds it ended."""
    async with workflow() as bench:
        await bench.flow(FAILS_BESIDE_A_WAIT)
        await bench.begin()

        await bench.advance(10)

        events = await bench.events()
        assert [each["Type"] for each in events].count("ExecutionFailed") == 1
        assert events[-1]["Type"] == "ExecutionFailed"
        assert "never" not in {each["StepName"] for each in events}


async def test_an_execution_lasts_a_year_at_most(workflow):
    """Without timeoutSeconds too."""
    async with workflow() as bench:
        await bench.flow(CALLBACK.replace("    timeoutSeconds: 50\n", ""))
        bench.functions.on("f", lambda event: {})
        await bench.begin()

        await bench.advance(365 * 86_400 - 1)
        before = await bench.describe()
        await bench.advance(1)

        assert before["Status"] == "Running"
        assert (await bench.describe())["Status"] == "TimedOut"


async def test_task_timeout_cancels_the_call_and_retries(workflow):
    """The late reply of the first attempt cannot complete the second."""
    async with workflow() as bench:
        pending = []

        def hang(event):
            pending.append(asyncio.get_running_loop().create_future())
            return pending[-1]

        bench.functions.on("f", hang)
        await bench.flow(CALLBACK)
        await bench.begin()

        await bench.advance(60)
        second_token = bench.functions.calls[1][1]["token"]
        stale = await bench.call("ReportTaskSucceeded", TaskToken=bench.functions.calls[0][1]["token"], Output="{}")
        early = await bench.call("ReportTaskSucceeded", TaskToken=second_token, Output='{"ok":1}')
        await bench.settle()

        assert bench.functions.cancelled[:1] == ["f"]
        assert stale["Code"] == "TaskAlreadyCompleted"
        assert "EventId" in early
        assert (await bench.describe())["Output"] == '{"ok":1}'
        assert types(await bench.events())[1:] == [
            "StepEntered", "TaskScheduled", "TaskStarted", "TaskTimedOut", "TaskScheduled", "TaskStarted",
            "TaskSubmitted", "TaskSucceeded", "StepExited", "ExecutionSucceeded",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (FunctionReply(refusal=Refusal(429, "ResourceExhausted", "m")), "FC.ResourceExhausted"),
        (FunctionReply(refusal=Refusal(503, "ServiceUnavailable", "m")), "FC.ResourceThrottled"),
        (FunctionReply(refusal=Refusal(500, "InternalServerError", "m")), "FC.InternalServerError"),
        (FunctionReply(refusal=Refusal(404, "FunctionNotFound", "m")), "FC.FunctionNotFound"),
        (FunctionReply(refusal=Refusal(400, "InvalidArgument", "m")), "FC.InvalidArgument"),
        (FunctionReply(body=b'{"errorType":"KeyError"}', error_type="HandledInvocationError"), "KeyError"),
        (FunctionReply(body=b'{"errorMessage":"exited"}', error_type="UnhandledInvocationError"), "FC.Unknown"),
        (FunctionReply(body=b"broken", error_type="UnhandledInvocationError"), "FC.Unknown"),
        (FunctionReply(body=b"[1]"), "FnF.InvalidLocal"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_function_failures_have_the_documented_names(workflow, reply, error):
    """A refusal is FC.{code}, a thrown error its own type, everything else FC.Unknown."""
    async with workflow() as bench:
        bench.functions.on("f", lambda event: reply)
        await bench.flow(TASK)

        await bench.begin()

        events = await bench.events()
        assert types(events)[4] == "TaskFailed"
        assert json.loads(events[4]["EventDetail"])["error"] == error
        if reply.error_type:
            assert json.loads(events[4]["EventDetail"])["cause"] == reply.body.decode()


@pytest.mark.parametrize(
    ("body", "kind"), [(b"[1]", "an array"), (b"null", "null"), (b"true", "true or false"), (b"1", "a number")]
)
async def test_result_that_is_no_object_is_called_what_it_is(workflow, body, kind):
    """In the cause of the failure."""
    async with workflow() as bench:
        bench.functions.on("f", lambda event: FunctionReply(body=body))
        await bench.flow(TASK)

        await bench.begin()

        cause = json.loads((await bench.events())[4]["EventDetail"])["cause"]
        assert cause == f"The result of the task must be a JSON object: it is {kind}"


async def test_a_bug_in_a_port_fails_the_task_only(workflow, caplog):
    """The log gets the traceback, the flow an error it can catch."""
    async with workflow() as bench:
        await bench.flow(TASK)  # no script: the double raises KeyError
        await bench.begin()

        assert (await bench.describe())["Status"] == "Failed"
        assert json.loads((await bench.events())[-1]["EventDetail"])["error"] == "FnF.RuntimeError"
    assert "KeyError" in caplog.text


async def test_a_long_poll_is_answered_when_the_execution_ends(workflow):
    """Held without a task of its own, and answered with the final state."""
    async with workflow() as bench:
        await bench.flow(WAIT)
        await bench.begin()
        tasks = len(asyncio.all_tasks())

        parked = bench.handle("DescribeExecution", FlowName="f", ExecutionName="e", WaitTimeSeconds=60)
        await bench.advance(59)
        held = not parked.done() and len(asyncio.all_tasks()) == tasks
        await bench.advance(1)
        at_time_out = decoded(parked)
        parked = bench.handle("DescribeExecution", FlowName="f", ExecutionName="e", WaitTimeSeconds=60)
        await bench.advance(40)

        assert held
        assert at_time_out["Status"] == "Running"
        assert decoded(parked)["Status"] == "Succeeded"
        assert len(bench.service._waiters) == 0


async def test_a_long_poll_that_is_given_up_leaves_nothing_behind(workflow):
    """Neither a waiter nor a timer."""
    async with workflow() as bench:
        await bench.flow(WAIT)
        await bench.begin()
        timers = len(bench.timers)
        answer = bench.handle("DescribeExecution", FlowName="f", ExecutionName="e", WaitTimeSeconds=60)
        await bench.settle()
        assert len(bench.service._waiters) == 1

        answer.cancel()
        await bench.settle()

        assert len(bench.service._waiters) == 0
        assert len(bench.timers) == timers


async def test_calls_without_a_result_are_made_again_after_a_restart(workflow, tmp_path):
    """At least once, with the same idempotency key."""
    async with workflow(tmp_path / "state.db") as bench:
        bench.functions.on("f", lambda event: asyncio.get_running_loop().create_future())
        await bench.flow(TASK)
        await bench.begin({"n": 1})
        await bench.crash()
        bench.functions.on("f", lambda event: {"ok": 1})

        await bench.start()

        assert len(bench.functions.calls) == 2
        assert bench.functions.calls[0] == bench.functions.calls[1]
        assert (await bench.describe())["Output"] == '{"ok":1}'


async def test_starting_twice_does_nothing_twice(workflow, tmp_path):
    """Recovery only makes work claimable again."""
    async with workflow(tmp_path / "state.db") as bench:
        bench.functions.on("f", lambda event: asyncio.get_running_loop().create_future())
        await bench.flow(TASK)
        await bench.begin()
        await bench.restart()
        bench.service._engine.recover()
        await bench.settle()

        assert len(bench.functions.calls) == 2  # once before the restart, once after


async def test_callbacks_and_time_outs_survive_a_restart(workflow, tmp_path):
    """Tokens stay valid; the time-out keeps its instant and is over even when it passed while nothing ran."""
    async with workflow(tmp_path / "state.db") as bench:
        bench.functions.on("f", lambda event: {})
        await bench.flow(CALLBACK)
        await bench.begin(name="reported")
        await bench.begin(name="late")
        await bench.crash()
        bench.clock.move_to(bench.clock.now() + 20_000)
        await bench.start()

        reply = await bench.call("ReportTaskSucceeded", TaskToken=bench.functions.calls[0][1]["token"], Output="{}")
        await bench.crash()
        bench.clock.move_to(bench.clock.now() + 100_000)
        await bench.start()

        assert reply["EventId"] == 6
        assert (await bench.describe("reported"))["Status"] == "Succeeded"
        assert "TaskTimedOut" in types(await bench.events("late"))


async def test_an_execution_accepted_just_before_a_crash_runs_after_it(workflow, tmp_path):
    """Acknowledged means kept, even if no event was recorded yet."""
    async with workflow(tmp_path / "state.db") as bench:
        await bench.flow(ONE_PASS)
        await bench.call("StartExecution", FlowName="f", ExecutionName="e")
        bench.service._engine._closed = True  # the process dies before the next tick
        await bench.restart()

        assert (await bench.describe())["Status"] == "Succeeded"
        assert len(await bench.events()) == 6


async def test_a_lost_transaction_is_done_again(workflow):
    """When a commit fails, memory is put aside and the work claimed anew."""
    async with workflow() as bench:
        bench.functions.on("f", lambda event: {"ok": 1})
        await bench.flow(TASK)
        await bench.database.committed()
        reply = await bench.call("StartExecution", FlowName="f", ExecutionName="e")
        await bench.database.committed()
        real, failed = bench.database._connection, []

        class Failing:
            def __getattr__(self, name):
                return getattr(real, name)

            def execute(self, sql, *parameters):
                if sql == "COMMIT" and not failed:
                    failed.append(True)
                    raise sqlite3.OperationalError("disk I/O error")
                return real.execute(sql, *parameters)

        bench.database._connection = Failing()
        await bench.settle()
        bench.database._connection = real
        await bench.advance(2)

        assert failed
        assert reply["Status"] == "Starting"
        assert (await bench.describe())["Status"] == "Succeeded"
        assert len(await bench.events()) == 7


async def test_a_long_history_wakes_at_constant_cost(workflow, tmp_path):
    """A snapshot bounds what is read again: a handful of events, however long the loop has run."""

    loop = f"""
version: v1
type: flow
steps:
  - {{type: wait, name: w, duration: 1}}
  - {{type: task, name: t, resourceArn: '{FN}'}}
  - {{type: choice, name: c, choices: [{{condition: $.on, goto: w}}]}}
"""
    async with workflow(tmp_path / "state.db") as bench:
        bench.functions.on("f", lambda event: {"on": True})
        await bench.flow(loop)
        await bench.begin()
        await bench.advance(100)
        await bench.restart()

        row = bench.database.read("SELECT last_event, snapshot FROM workflow_executions").fetchone()
        await bench.advance(1)

        assert row[0] > 1000
        assert row[0] - json.loads(row[1])[1] < 8
        assert len(row[1]) < 500
        assert len(await bench.events()) == 999
        assert len(bench.functions.calls) == 101


def assert_nothing_is_left(bench) -> None:
    """There is no flow and no execution any more, for callers and in the tables."""
    assert bench.service.ended == {Status.STOPPED: 1}
    assert bench.service.open_executions == 0
    for table in ("flows", "executions", "turns", "definitions", "wakeups", "calls"):
        assert bench.database.read(f"SELECT count(*) FROM workflow_{table}").fetchone() == (0,), table


@pytest.mark.parametrize("definition", [WAIT, CALLBACK], ids=["in a wait", "waiting for a report"])
async def test_a_deleted_flows_executions_end_as_stopped_at_once(workflow, definition):
    """Nobody sees how long a wait or a report is waited for: they take no room and no timer from then on."""
    async with workflow() as bench:
        bench.functions.on("f", lambda event: {})
        await bench.flow(definition)
        await bench.begin()

        await bench.call("DeleteFlow", Name="f")
        await bench.settle()

        assert (await bench.describe())["Code"] == "FlowNotExists"
        assert_nothing_is_left(bench)


SIDE_BY_SIDE = f"""
version: v1
type: flow
steps:
  - type: parallel
    name: both
    branches:
      - steps:
          - {{type: task, name: a, resourceArn: '{FN}', retry: [{{errors: [E], intervalSeconds: 5}}]}}
          - {{type: task, name: b, resourceArn: 'acs:fc:::services/s/functions/g'}}
      - steps:
          - {{type: wait, name: w, duration: 10}}
          - {{type: task, name: c, resourceArn: 'acs:fc:::services/s/functions/g'}}
"""


@pytest.mark.parametrize("body", [b"{}", b'{"errorType": "E"}'], ids=["a result", "an error to retry"])
async def test_a_call_under_way_returns_before_its_deleted_flows_execution_ends(workflow, body):
    """DeleteFlow answers at once; the function is not called off, and neither step nor attempt comes after it."""
    async with workflow() as bench:
        call = asyncio.get_running_loop().create_future()
        bench.functions.on("f", lambda event: call)
        await bench.flow(SIDE_BY_SIDE)
        await bench.begin()

        await bench.call("DeleteFlow", Name="f")
        await bench.advance(20)
        meanwhile = (bench.service.open_executions, list(bench.functions.cancelled))
        call.set_result(FunctionReply(body=body, error_type="UnhandledInvocationError" if b"E" in body else None))
        await bench.advance(20)

        assert meanwhile == (1, [])
        assert [name for name, _, _ in bench.functions.calls] == ["f"]
        assert_nothing_is_left(bench)


async def test_a_call_of_a_deleted_flow_is_made_again_after_a_restart(workflow, tmp_path):
    """As any call is whose result is not known; then the execution ends."""
    async with workflow(tmp_path / "w.db") as bench:
        bench.functions.on("f", lambda event: asyncio.get_running_loop().create_future())
        await bench.flow(SIDE_BY_SIDE)
        await bench.begin()
        await bench.call("DeleteFlow", Name="f")
        await bench.settle()

        bench.functions.on("f", lambda event: {})
        await bench.restart()
        await bench.advance(20)

        assert [name for name, _, _ in bench.functions.calls] == ["f", "f"]
        assert_nothing_is_left(bench)


WAITS_FOR_CHILD = """
version: v1
type: flow
steps:
  - type: task
    name: t
    resourceArn: 'acs:fnf:::flow/child'
    pattern: sync
    catch: [{errors: [FnF.ExecutionStopped, Reset], goto: z}]
    errorMappings: [{target: error, source: $local.error}, {target: cause, source: $local.cause}]
  - {type: pass, name: z}
"""


async def test_a_task_hears_that_the_flow_of_its_execution_was_deleted(workflow):
    """The execution has stopped, which is told before its last row goes."""
    async with workflow() as bench:
        await bench.flow(WAIT, "child")
        await bench.flow(WAITS_FOR_CHILD)
        await bench.begin()

        await bench.call("DeleteFlow", Name="child")
        await bench.settle()

        ended = await bench.describe()
        assert json.loads(ended["Output"]) == {"cause": "The flow has been deleted.", "error": "FnF.ExecutionStopped"}
        assert bench.database.read("SELECT count(*) FROM workflow_flows").fetchone() == (1,)
        assert bench.database.read("SELECT count(*) FROM workflow_executions").fetchone() == (1,)


async def test_a_task_hears_of_a_deleted_flow_after_a_crash(workflow, tmp_path, monkeypatch):
    """An end that is stored and was not told is told after the restart, and the rows go then."""
    async with workflow(tmp_path / "w.db") as bench:
        await bench.flow(WAIT, "child")
        await bench.flow(WAITS_FOR_CHILD)
        await bench.begin()
        with monkeypatch.context() as patch:
            patch.setattr(Effects, "execution_ended", lambda self, ended: None)
            await bench.call("DeleteFlow", Name="child")
            await bench.settle()

        before = (await bench.describe())["Status"]
        await bench.restart()

        assert before == "Running"
        assert json.loads((await bench.describe())["Output"])["error"] == "FnF.ExecutionStopped"
        assert bench.database.read("SELECT count(*) FROM workflow_executions").fetchone() == (1,)


async def test_a_task_hears_that_the_flow_of_its_execution_was_reset(workflow):
    """A reset stops executions, then removes them."""
    async with workflow() as bench:
        await bench.flow(WAIT, "child")
        await bench.flow(WAITS_FOR_CHILD)
        await bench.begin()

        deleted = await bench.service.reset_flow(WORLD, "child")
        await bench.settle()

        assert deleted == 1
        assert json.loads((await bench.describe())["Output"])["error"] == "Reset"
        assert (await bench.call("ListExecutions", FlowName="child"))["Executions"] == []


async def _delete(bench):
    await bench.call("DeleteFlow", Name="f")
    await bench.settle()


async def _reset_flow(bench):
    await bench.service.reset_flow(WORLD, "f")


async def _reset(bench):
    bench.service.reset()


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("remove", [_delete, _reset_flow, _reset])
async def test_a_new_execution_is_not_taken_for_a_removed_one_on_a_stopped_clock(workflow, tmp_path, remove, restarted):
    """Same name and same millisecond: the asynchronous call is made, and its own result comes."""
    queued = f"""
version: v1
type: flow
steps:
  - {{type: task, name: t, resourceArn: '{FN}', pattern: sync, serviceParams: {{InvocationType: Async}}}}
"""
    async with workflow(tmp_path / "state.db") as bench:
        bench.functions.on("f", dict)
        for number in (1, 2):
            if remove is not _reset_flow or number == 1:
                await bench.flow(queued)
            await bench.begin({"n": number})
            output = (await bench.describe())["Output"]
            await remove(bench)
            if restarted:
                await bench.restart()

        assert output == '{"n":2}'
        assert [given for _, given, _ in bench.functions.calls] == [{"n": 1}, {"n": 2}]


async def test_the_flows_own_input_mappings_see_the_context(workflow, tmp_path):
    """The names and the time of the start; the same ones after a restart."""
    definition = """
version: v1
type: flow
inputMappings:
  - {target: flow, source: $context.flow.name}
  - {target: execution, source: $context.execution.id}
  - {target: at, source: $context.currentTime}
  - {target: step, source: $context.step.name}
steps:
  - {type: wait, name: w, duration: 100}
  - {type: pass, name: p, outputMappings: [{target: seen, source: $input}]}
"""
    async with workflow(tmp_path / "w.db") as bench:
        await bench.flow(definition)
        started = await bench.begin()

        await bench.restart()
        await bench.advance(100)

        seen = json.loads((await bench.describe())["Output"])["seen"]
        assert seen == {"flow": "f", "execution": "f:e", "at": started["StartedTime"]}


async def test_executions_that_an_earlier_version_left_of_a_deleted_flow_end_with_the_start(workflow):
    """They were parked for ever: nobody could name them, and they counted against the limit."""
    async with workflow() as bench:
        await bench.flow(WAIT)
        await bench.begin()
        bench.database.write("UPDATE workflow_flows SET deleted = 1")
        bench.database.write("UPDATE workflow_executions SET halted = 1, ready = 0")

        await bench.service.suspend()
        await bench.service.resume()
        await bench.settle()

        assert bench.service.open_executions == 0
        assert bench.database.read("SELECT count(*) FROM workflow_executions").fetchone() == (0,)


async def test_a_new_flow_of_a_deleted_name_is_independent(workflow):
    """Executions, history and tokens of the old one are not those of the new one."""
    async with workflow() as bench:
        bench.functions.on("f", lambda event: {})
        await bench.flow(CALLBACK)
        await bench.begin()
        token = bench.functions.calls[0][1]["token"]
        await bench.call("DeleteFlow", Name="f")
        bench.clock.move_to(bench.clock.now() + 5)
        await bench.flow(CALLBACK)

        missing = await bench.describe()
        unknown = await bench.call("ReportTaskSucceeded", TaskToken=token, Output="{}")
        await bench.begin()
        foreign = await bench.call("ReportTaskSucceeded", TaskToken=token, Output="{}")

        assert missing["Code"] == "ExecutionNotExists"
        assert unknown["Code"] == "ExecutionNotExists"
        assert foreign["Code"] == "InvalidArgument"


async def test_a_large_deleted_flow_is_cleared_in_portions(workflow):
    """The loop is not held by thousands of rows."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        for number in range(300):
            await bench.begin(name=f"e{number}")

        await bench.call("DeleteFlow", Name="f")
        after_one_tick = sum(len(bench.kept(number)) for number in range(1, 301))
        await bench.settle()

        assert after_one_tick == 1800
        assert bench.database.read("SELECT count(*) FROM workflow_turns").fetchone() == (0,)


async def test_update_touches_later_executions_only(workflow):
    """An execution keeps the definition it was started with."""
    async with workflow() as bench:
        await bench.flow(WAIT)
        await bench.begin(name="old")

        await bench.call("UpdateFlow", Name="f", Definition=ONE_PASS)
        await bench.begin(name="new")
        old = await bench.describe("old")
        await bench.advance(100)

        assert old["FlowDefinition"] == WAIT
        assert (await bench.describe("new"))["FlowDefinition"] == ONE_PASS
        assert (await bench.describe("old"))["Status"] == "Succeeded"
        assert bench.database.read("SELECT count(*) FROM workflow_definitions").fetchone() == (2,)


PARENT = """
version: v1
type: flow
steps:
  - type: task
    name: child
    resourceArn: acs:fnf:::flow/child
    pattern: {pattern}
    errorMappings: [{{target: e, source: $local.error}}, {{target: c, source: $local.cause}}]
    catch: [{{errors: [FnF.ALL], goto: end}}]
  - {{type: pass, name: end}}
"""


async def test_a_sync_child_hands_its_output_to_the_parent(workflow):
    """TaskSubmitted when it has started, TaskSucceeded when it has ended."""
    async with workflow() as bench:
        await bench.flow(
            "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, duration: 5}\n"
            "outputMappings: [{target: got, source: $input.n}]\n",
            "child",
        )
        await bench.flow(PARENT.format(pattern="sync"))
        await bench.begin({"n": 7})
        running = await bench.describe()

        await bench.advance(5)

        assert running["Status"] == "Running"
        assert (await bench.describe())["Output"] == '{"got":7}'
        assert types(await bench.events())[2:7] == [
            "TaskScheduled", "TaskStarted", "TaskSubmitted", "TaskSucceeded", "StepExited",
        ]  # fmt: skip


@pytest.mark.parametrize(
    "target",
    ["resourceArn: acs:fnf:::flow/child", "action: fnf:StartExecution\n    serviceParams: {FlowName: child}"],
    ids=["by its name", "by the action"],
)
async def test_a_task_that_starts_an_execution_gets_the_reply_of_the_operation(workflow, target):
    """With the id of the request, as every reply has one; without the definition, which may exceed the limit."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS, "child")
        await bench.flow(f"version: v1\ntype: flow\nsteps:\n  - type: task\n    name: t\n    {target}\n")
        await bench.begin({"n": 7})

        reply = json.loads((await bench.describe())["Output"])
        child = (await bench.call("ListExecutions", FlowName="child"))["Executions"][0]
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", reply.pop("RequestId"))
        assert reply == {
            "FlowName": "child", "Name": child["Name"], "Input": '{"n":7}', "Output": "", "Status": "Starting",
            "StartedTime": child["StartedTime"], "StoppedTime": "",
        }  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "action", "error"),
    [
        ("  - {type: fail, name: x, error: Bad, cause: why}\n", None, {"e": "Bad", "c": "why"}),
        ("  - {type: wait, name: w, duration: 50}\n", {"Error": "Any", "Cause": "c"}, {"e": "Any", "c": "c"}),
        ("  - {type: wait, name: w, duration: 50}\n", {}, {"e": "FnF.ExecutionStopped", "c": ""}),
        ("  - {type: wait, name: w, duration: 50}\ntimeoutSeconds: 3\n", None, {"e": "FnF.Timeout"}),
    ],
    ids=["failed", "stopped with error", "stopped", "timed out"],
)
async def test_a_sync_childs_end_is_the_parents_error(workflow, steps, action, error):
    """A fail step cannot be caught inside its flow, but by the flow that runs it."""
    async with workflow() as bench:
        await bench.flow(f"version: v1\ntype: flow\nsteps:\n{steps}", "child")
        await bench.flow(PARENT.format(pattern="sync"))
        await bench.begin()
        child = (await bench.call("ListExecutions", FlowName="child"))["Executions"][0]["Name"]

        if action is not None:
            await bench.call("StopExecution", FlowName="child", ExecutionName=child, **action)
        await bench.advance(5)

        described = await bench.describe()
        assert described["Status"] == "Succeeded"
        assert error.items() <= json.loads(described["Output"]).items()


async def test_stopping_a_parent_stops_its_sync_child(workflow):
    """A requestResponse child lives on."""
    async with workflow() as bench:
        await bench.flow(WAIT, "child")
        await bench.flow(PARENT.format(pattern="sync"))
        await bench.flow(PARENT.format(pattern="requestResponse"), "g")
        await bench.begin()
        await bench.begin(flow="g")

        await bench.call("StopExecution", FlowName="f", ExecutionName="e")
        await bench.settle()

        children = (await bench.call("ListExecutions", FlowName="child"))["Executions"]
        assert sorted(child["Status"] for child in children) == ["Running", "Stopped"]
        assert json.loads((await bench.describe(flow="g"))["Output"])["Status"] == "Starting"


async def test_a_missing_child_is_an_error_of_the_task(workflow):
    """FnF.FlowNotExists."""
    async with workflow() as bench:
        await bench.flow(PARENT.format(pattern="sync"))
        await bench.begin()

        assert json.loads((await bench.describe())["Output"])["e"] == "FnF.FlowNotExists"
        assert "TaskSubmitFailed" in types(await bench.events())


async def test_an_execution_reports_its_end_to_the_token_it_was_given(workflow, tmp_path):
    """CallbackFnFTaskToken, also when the emulator was down in between."""
    async with workflow(tmp_path / "state.db") as bench:
        bench.functions.on("f", lambda event: {})
        await bench.flow(CALLBACK.replace("    timeoutSeconds: 50\n", ""))
        await bench.flow(WAIT.replace("name: p}", "name: p, outputMappings: [{target: x, source: 1}]}"), "other")
        await bench.begin()
        token = bench.functions.calls[0][1]["token"]
        await bench.call("StartExecution", FlowName="other", ExecutionName="o", CallbackFnFTaskToken=token)
        await bench.settle()

        await bench.restart()
        await bench.advance(100)

        assert (await bench.describe())["Output"] == '{"x":1}'
        assert bench.database.read("SELECT count(*) FROM workflow_callbacks").fetchone() == (0,)


async def test_an_action_starts_an_execution(workflow):
    """fnf:StartExecution, whose errors carry the prefix in lower case."""
    definition = """
version: v1
type: flow
steps:
  - type: task
    name: a
    action: fnf:StartExecution
    serviceParams: {FlowName: $.flow, ExecutionName: fixed, Input: $}
    errorMappings: [{target: e, source: $local.error}]
    catch: [{errors: [FnF.ExecutionAlreadyExists], goto: end}]
  - {type: pass, name: end}
"""
    async with workflow() as bench:
        await bench.flow(ONE_PASS, "child")
        await bench.flow(definition)
        await bench.begin({"flow": "child"}, "one")
        await bench.begin({"flow": "child"}, "two")

        child = await bench.describe("fixed", "child")
        assert child["Input"] == '{"flow":"child"}'
        assert json.loads((await bench.describe("one"))["Output"])["Name"] == "fixed"
        assert (await bench.describe("two"))["Output"] == '{"e":"fnf.ExecutionAlreadyExists"}'


async def test_too_many_open_executions_are_refused(workflow, monkeypatch):
    """An ended one makes room."""
    monkeypatch.setattr(limits, "OPEN_EXECUTIONS", 2)

    async with workflow() as bench:
        await bench.flow(WAIT)
        await bench.begin(name="a")
        await bench.begin(name="b")

        refused = await bench.begin(name="c")
        await bench.call("StopExecution", FlowName="f", ExecutionName="a")
        taken = await bench.begin(name="c")

        assert (refused["HTTP"], refused["Code"]) == (429, "ResourceThrottled")
        assert taken["Name"] == "c"


async def test_an_execution_the_engine_cannot_handle_fails_and_hurts_no_other(workflow, caplog):
    """What is stored may be damaged: the execution ends, others go on."""
    async with workflow() as bench:
        await bench.flow(WAIT)
        await bench.begin(name="broken")
        await bench.begin(name="sound")
        bench.service._engine._hot.clear()
        bench.rewrite(lambda event: event._replace(detail="{") if event.type == "StepEntered" else event)

        await bench.advance(101)

        assert (await bench.describe("broken"))["Status"] == "Failed"
        assert (await bench.describe("sound"))["Status"] == "Succeeded"
        assert types(await bench.events("broken"))[-1] == "ExecutionFailed"
    assert "cannot go on" in caplog.text


async def test_a_reset_forgets_everything(workflow):
    """Flows, executions, timers and calls."""
    async with workflow() as bench:
        bench.functions.on("f", lambda event: asyncio.get_running_loop().create_future())
        await bench.flow(TASK)
        await bench.flow(WAIT, "g")
        await bench.begin()
        await bench.begin(flow="g")

        bench.service.reset()
        await bench.advance(200)

        assert (await bench.call("ListFlows"))["Flows"] == []
        assert bench.functions.cancelled == ["f"]
        await bench.flow(WAIT, "g")
        await bench.begin(flow="g")
        await bench.advance(100)
        assert (await bench.describe(flow="g"))["Status"] == "Succeeded"


async def test_ten_thousand_iterations_outgrow_the_history(workflow):
    """The execution fails with its 5,000th event, whatever data it would still have had."""
    async with workflow() as bench:
        await bench.flow(
            "version: v1\ntype: flow\nsteps:\n  - type: foreach\n    name: each\n"
            "    iterationMapping: {collection: $.items, item: item, index: i}\n"
            "    steps: [{type: pass, name: p, inputMappings: [{target: x, source: $input.item}]}]\n"
        )
        await bench.begin({"items": [number % 10 for number in range(10_000)]})

        assert (await bench.describe())["Status"] == "Failed"
        last = bench.kept()[-1]
        assert (last.id, last.type) == (5_000, "ExecutionFailed")
        assert json.loads(last.detail)["error"] == "FnF.EventsLimitExceeded"
