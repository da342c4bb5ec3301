"""Distributed maps: each element an execution of its own, over crashes too."""

import asyncio
import json

import pytest

from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.ports import FunctionReply


def machine(more="", body="", mode="Standard", tail="End: true"):
    return f"""
Type: StateMachine
Name: f
SpecVersion: v1
StartAt: each
States:
  - Type: Map
    Name: each
    ItemsPath: $Input.parts
    {more}
    {tail}
    Processor:
      ProcessorConfig: {{ExecutionMode: {mode}}}
      StartAt: work
      States:
        - Type: Task
          Name: work
          Action: FC:InvokeFunction
          Parameters: {{resourceArn: 'acs:fc:::functions/f/LATEST', body.$: $Input}}
          GlobalConstructor: {{seen.$: $Input}}
          OutputConstructor: {{n.$: $Output.Body.n, global.$: $Global.before}}
          Next: rest
        - {{Type: Wait, Name: rest, Seconds: 5, End: true}}
  - {{Type: Pass, Name: sorry, End: true}}
"""


def types(events):
    return [event["Type"] for event in events]


async def run_of(bench, name="e"):
    started = next(event for event in await bench.events(name) if event["Type"] == "MapRunStarted")
    return json.loads(started["EventDetail"])["output"]["MapRunName"]


async def counts(bench, name):
    return (await bench.call("DescribeMapRun", FlowName="f", ExecutionName="e", MapRunName=name))["ItemCounts"]


@pytest.mark.parametrize("crashes", [False, True], ids=["running on", "restarted each second"])
async def test_every_element_is_an_execution_and_results_keep_their_order(workflow, tmp_path, crashes):
    """So many at a time; the parent's history holds the run alone; children do not see its variables."""
    async with workflow(tmp_path / "s.db") as bench:
        bench.functions.on("f", lambda given: {"n": given["n"] * 10})
        await bench.flow(machine("MaxConcurrency: 2"))
        await bench.begin({"parts": [{"n": 1}, {"n": 2}, {"n": 3}]})
        name = await run_of(bench)

        assert await counts(bench, name) == {
            "Pending": 1, "Running": 2, "Succeed": 0, "Failed": 0, "Aborted": 0, "Total": 3
        }  # fmt: skip
        for _ in range(14):
            if crashes:
                await bench.restart()
            await bench.advance(1)

        ended = await bench.describe()
        assert ended["Status"] == "Succeeded"
        assert json.loads(ended["Output"]) == {"Items": [{"global": None, "n": n} for n in (10, 20, 30)]}
        shown = types(await bench.events())
        assert shown == [
            "ExecutionStarted", "StepEntered", "TaskScheduled", "TaskStarted", "MapRunStarted", "TaskSucceeded",
            "StepExited", "ExecutionSucceeded",
        ]  # fmt: skip
        assert len(bench.functions.calls) == 3
        listed = await bench.call("ListExecutions", FlowName="f", MapRunName=name)
        assert [each["Name"] for each in listed["Executions"]] == [f"{name}-{index}" for index in (2, 1, 0)]
        assert [each["Name"] for each in (await bench.call("ListExecutions", FlowName="f"))["Executions"]] == ["e"]
        described = await bench.call("DescribeMapRun", FlowName="f", ExecutionName="e", MapRunName=name)
        assert (described["Status"], described["Concurrency"]) == ("Succeeded", 2)
        assert (described["StartedTime"], described["StoppedTime"][-6:]) == ("2023-11-15T06:13:20+08:00", "+08:00")


@pytest.mark.parametrize("tolerance", ["ToleratedFailureCount: 1", "ToleratedFailedPercentage: 34"])
async def test_tolerated_failures_are_left_out(workflow, tolerance):
    """Within the count or the percentage the run succeeds."""
    async with workflow() as bench:
        bench.functions.on("f", lambda given: failing() if given["n"] == 2 else given)
        await bench.flow(machine(tolerance))
        await bench.begin({"parts": [{"n": 1}, {"n": 2}, {"n": 3}]})
        await bench.advance(10)

        assert [each["n"] for each in json.loads((await bench.describe())["Output"])["Items"]] == [1, 3]
        assert (await counts(bench, await run_of(bench)))["Failed"] == 1


def failing():
    return FunctionReply(body=json.dumps({"errorType": "Bad", "errorMessage": "why"}).encode(), error_type="E")


async def test_the_first_failure_fails_the_map_and_stops_the_others(workflow):
    """Its error is the map's, which Catch may catch."""
    async with workflow() as bench:
        bench.functions.on("f", lambda given: failing() if given["n"] == 2 else given)
        catch = "Catch: [{Errors: [Bad], OutputConstructor: {why.$: $Context.Current.Error.Code}, Next: sorry}]"
        await bench.flow(machine(catch))
        await bench.begin({"parts": [{"n": 1}, {"n": 2}, {"n": 3}]})
        await bench.advance(1)

        assert json.loads((await bench.describe())["Output"]) == {"why": "Bad"}
        name = await run_of(bench)
        assert await counts(bench, name) == {
            "Pending": 0, "Running": 0, "Succeed": 0, "Failed": 1, "Aborted": 2, "Total": 3
        }  # fmt: skip


async def test_a_stopped_execution_stops_its_run(workflow):
    """No element goes on, and one that was not started does not wait any more."""
    async with workflow() as bench:
        bench.functions.on("f", lambda given: given)
        await bench.flow(machine("MaxConcurrency: 2"))
        await bench.begin({"parts": [{"n": 1}, {"n": 2}, {"n": 3}]})
        name = await run_of(bench)
        await bench.call("StopExecution", FlowName="f", ExecutionName="e")
        await bench.settle()

        assert await counts(bench, name) == {
            "Pending": 0, "Running": 0, "Succeed": 0, "Failed": 0, "Aborted": 3, "Total": 3
        }  # fmt: skip
        described = await bench.call("DescribeMapRun", FlowName="f", ExecutionName="e", MapRunName=name)
        assert described["Status"] == "Aborted"


async def test_elements_are_constructed_and_none_give_none(workflow):
    """$Item is the element; what is no object becomes the member Item; an empty array ends at once."""
    async with workflow() as bench:
        bench.functions.on("f", lambda given: {"n": given})
        await bench.flow(machine("ItemConstructor: {part.$: $Item, all.$: length($Input.parts)}", mode="Express"))
        await bench.begin({"parts": [7]})
        await bench.begin({"parts": []}, name="empty")
        await bench.begin({"parts": 7}, name="wrong")
        await bench.advance(6)

        assert bench.functions.calls[0][1] == {"part": 7, "all": 1}
        assert json.loads((await bench.describe("empty"))["Output"]) == {"Items": []}
        described = await bench.call(
            "DescribeMapRun", FlowName="f", ExecutionName="empty", MapRunName=await run_of(bench, "empty")
        )
        assert (described["Status"], described["ItemCounts"]["Total"]) == ("Succeeded", 0)
        assert (await bench.describe("wrong"))["Status"] == "Failed"


async def test_a_run_gets_other_bounds(workflow):
    """UpdateMapRun changes what it names, and the run goes on within it."""
    async with workflow() as bench:
        bench.functions.on("f", lambda given: {"n": 1})
        await bench.flow(machine("MaxConcurrency: 1"))
        await bench.begin({"parts": [1, 2, 3]})
        name = await run_of(bench)
        names = {"FlowName": "f", "ExecutionName": "e", "MapRunName": name}

        changed = await bench.call("UpdateMapRun", **names, Concurrency=2)
        await bench.settle()
        other = await bench.call("UpdateMapRun", **names, ToleratedFailedCount=1, ToleratedFailedPercentage="2.5")
        missing = await bench.call("DescribeMapRun", **{**names, "MapRunName": "none"})

        assert (changed["Concurrency"], (await counts(bench, name))["Running"]) == (2, 2)
        assert (other["ToleratedFailedCount"], other["ToleratedFailedPercentage"]) == (1, 2.5)
        assert missing["Code"] == "MapRunNotExists"
        unknown = await bench.call("ListExecutions", FlowName="f", MapRunName="none")
        assert unknown["Executions"] == []


@pytest.mark.parametrize(
    ("more", "mode", "problem"),
    [
        ("MaxConcurrency: 101", "Standard", "from 1 to 100"),
        ("ResultWriter: {}", "Standard", "writing results to object storage"),
        ("ItemBatcher: {}", "Standard", "putting elements together"),
        ("ToleratedFailureCount: 1", "Inline", "only a distributed map"),
        ("{ToleratedFailureCount: 1, ToleratedFailedCount: 1}", "Standard", None),
        ("", "Distributed", "Inline, Express or Standard"),
    ],
)
def test_what_a_distributed_map_does_not_have_is_refused(more, mode, problem):
    """By name, with one sentence."""
    if problem is None:
        more, problem = "ToleratedFailureCount: 1\n    ToleratedFailedCount: 1", "in both spellings"
    with pytest.raises(DefinitionError, match=problem):
        read_program(machine(more, mode=mode))


@pytest.mark.parametrize("parts", [[1, 2], [2, 1], [3, 2, 1], [2, 3]], ids=str)
async def test_the_error_is_that_of_the_first_element_that_has_failed(workflow, parts):
    """Whichever execution is the last to be looked at: ends of one moment come in any order."""
    async with workflow() as bench:
        await bench.flow(machine_of_one_moment())
        await bench.begin({"parts": parts})
        await bench.advance(1)

        failed = next(part for part in parts if part != 1)
        assert (await bench.events())[-1]["Type"] == "ExecutionFailed"
        detail = json.loads((await bench.events())[-1]["EventDetail"])
        assert detail["error"] == f"DX{failed}"


def machine_of_one_moment():
    return """
Type: StateMachine
Name: f
SpecVersion: v1
StartAt: each
States:
  - Type: Map
    Name: each
    ItemsPath: $Input.parts
    End: true
    Processor:
      ProcessorConfig: {ExecutionMode: Express}
      StartAt: which
      States:
        - Type: Choice
          Name: which
          Branches:
            - {Condition: $Input.Item == 1, Next: fine}
            - {Condition: $Input.Item == 2, Next: bad2}
          Default: bad3
        - {Type: Fail, Name: bad2, Code: DX2, Detail: two, End: true}
        - {Type: Fail, Name: bad3, Code: DX3, Detail: three, End: true}
        - {Type: Pass, Name: fine, OutputConstructor: {}, End: true}
"""


async def test_the_limit_of_data_is_about_what_the_user_gave(workflow):
    """6,000 elements of one digit are 12 KB, whatever their executions get; what a run has counted is not counted anew.

    The executions of a run are counted when it begins and when somebody asks, not at the end of each.
    """
    async with workflow() as bench:
        await bench.flow(machine_of_one_moment())
        asked = []
        bench.database._connection.set_trace_callback(asked.append)
        await bench.begin({"parts": [1] * 6000})
        await bench.settle()
        bench.database._connection.set_trace_callback(None)

        described = await bench.describe()
        assert described["Status"] == "Succeeded"
        assert len(json.loads(described["Output"])["Items"]) == 6000
        assert sum("count(*) FROM workflow_executions WHERE map_run" in sql for sql in asked) == 1
        assert sum("FROM workflow_map_runs" in sql for sql in asked) < 100


@pytest.mark.parametrize("lost", [1, 2, 3], ids=["the first end", "the second end", "the last end"])
async def test_a_run_ends_although_the_report_of_an_element_was_lost(workflow, tmp_path, monkeypatch, lost):
    """The commit of what follows from an element's end fails: it is done again, nobody else would."""
    async with workflow(tmp_path / "s.db") as bench:
        bench.functions.on("f", lambda given: {"n": given["n"]})
        await bench.flow(machine("MaxConcurrency: 2"))
        await bench.begin({"parts": [{"n": 1}, {"n": 2}, {"n": 3}]})
        heard, real = [], bench.service.maps.child_ended

        def child_ended(ended):
            heard.append(ended)
            done = real(ended)
            if len(heard) == lost:
                bench.database._lost = True
            return done

        monkeypatch.setattr(bench.service.maps, "child_ended", child_ended)
        for _ in range(20):
            await bench.advance(1)

        ended = await bench.describe()
        assert ended["Status"] == "Succeeded"
        assert [each["n"] for each in json.loads(ended["Output"])["Items"]] == [1, 2, 3]
        assert len(heard) > 3
        assert bench.database.read("SELECT count(*) FROM workflow_callbacks").fetchone() == (0,)


@pytest.mark.parametrize("turns", [0, 1, 2, 4])
async def test_the_elements_of_a_run_whose_end_was_killed_halfway_are_stopped_after_the_restart(
    workflow, tmp_path, turns
):
    """The map has been given up with its execution, and the file knows."""
    async with workflow(tmp_path / "s.db") as bench:
        bench.functions.on("f", lambda given: {"n": given["n"]})
        await bench.flow(machine("MaxConcurrency: 2"))
        await bench.begin({"parts": [{"n": 1}, {"n": 2}, {"n": 3}]})
        name = await run_of(bench)
        await bench.call("StopExecution", FlowName="f", ExecutionName="e")
        for _ in range(turns):
            await asyncio.sleep(0)
        await bench.restart()

        assert (await counts(bench, name))["Aborted"] == 3
        assert bench.database.read("SELECT count(*) FROM workflow_calls").fetchone() == (0,)


def machine_of_runs(count):
    each = {
        "Type": "Map",
        "Name": "each",
        "ItemsPath": "$Input.parts",
        "End": True,
        "Processor": {
            "ProcessorConfig": {"ExecutionMode": "Standard"},
            "StartAt": "rest",
            "States": [{"Type": "Wait", "Name": "rest", "Seconds": 5, "End": True}],
        },
    }
    side_by_side = {
        "Type": "Parallel",
        "Name": "all",
        "Branches": [{"StartAt": "each", "States": [each]} for _ in range(count)],
        "End": True,
    }
    return json.dumps(
        {"Type": "StateMachine", "Name": "f", "SpecVersion": "v1", "StartAt": "all", "States": [side_by_side]}
    )


async def standing(bench):
    """Return the runs of the execution, each with its status and how many of its elements are under way."""
    started = [json.loads(event["EventDetail"])["output"] for event in await bench.events()
               if event["Type"] == "MapRunStarted"]  # fmt: skip
    runs = [await bench.call("DescribeMapRun", FlowName="f", ExecutionName="e", **run) for run in started]
    return [(run["Status"], run["ItemCounts"]["Running"]) for run in runs]


@pytest.mark.parametrize("crashes", [False, True], ids=["running on", "restarted"])
async def test_an_execution_has_ten_open_runs_and_further_ones_wait(workflow, tmp_path, crashes):
    """They are pending until one of the ten has ended."""
    async with workflow(tmp_path / "s.db") as bench:
        await bench.flow(machine_of_runs(12))
        await bench.begin({"parts": [1, 2]})
        if crashes:
            await bench.restart()
        before = await standing(bench)

        await bench.advance(6)
        between = await standing(bench)
        await bench.advance(6)

        assert before == [("Running", 2)] * 10 + [("Pending", 0)] * 2
        assert between == [("Succeeded", 0)] * 10 + [("Running", 2)] * 2
        assert (await bench.describe())["Status"] == "Succeeded"


async def test_runs_that_wait_are_given_up_with_their_execution(workflow):
    """None of their elements is ever started."""
    async with workflow() as bench:
        await bench.flow(machine_of_runs(12))
        await bench.begin({"parts": [1]})
        await bench.call("StopExecution", FlowName="f", ExecutionName="e")
        await bench.settle()

        assert await standing(bench) == [("Aborted", 0)] * 12
        made = bench.database.read("SELECT count(*) FROM workflow_executions WHERE map_run IS NOT NULL").fetchone()
        assert made == (10,)


async def test_a_deleted_flow_takes_its_map_runs_along(workflow):
    """A call that is being made returns; no further element is started, and no row stays."""
    async with workflow() as bench:
        call = asyncio.get_running_loop().create_future()
        bench.functions.on("f", lambda given: call if given["n"] == 2 else given)
        await bench.flow(machine("MaxConcurrency: 2"))
        await bench.begin({"parts": [{"n": 1}, {"n": 2}, {"n": 3}]})

        await bench.call("DeleteFlow", Name="f")
        await bench.settle()
        meanwhile = bench.service.open_executions
        call.set_result({"n": 2})
        await bench.settle()

        assert meanwhile == 1
        assert [given["n"] for _, given, _ in bench.functions.calls] == [1, 2]
        assert bench.service.open_executions == 0
        for table in ("flows", "executions", "turns", "callbacks", "map_runs"):
            assert bench.database.read(f"SELECT count(*) FROM workflow_{table}").fetchone() == (0,), table
