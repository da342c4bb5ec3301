"""Executions that stop at breakpoints, in both languages and over crashes."""

import json

import pytest

from emulator.services.workflow.errors import WorkflowError
from emulator.services.workflow.languages.programs import read_program
from emulator.services.workflow.ports import FunctionReply
from tests.unit.workflow.conftest import WORLD

FN = "acs:fc:::services/s/functions/f"

OLD = f"""
version: v1
type: flow
steps:
  - type: pass
    name: prepare
    outputMappings: [{{target: n, source: $input.n}}]
  - type: task
    name: call
    resourceArn: '{FN}'
    retry: [{{errors: [Busy], maxAttempts: 1, intervalSeconds: 5}}]
    catch: [{{errors: [Caught], goto: sorry}}]
  - type: wait
    name: rest
    duration: 3
  - type: parallel
    name: both
    branches:
      - steps: [{{type: pass, name: left}}]
      - steps: [{{type: task, name: right, resourceArn: '{FN}'}}]
  - type: choice
    name: which
    choices: [{{condition: $.n == 1, goto: last}}]
  - {{type: fail, name: sorry, error: Sorry}}
  - {{type: pass, name: last}}
"""

NEW = f"""
Type: StateMachine
Name: f
SpecVersion: v1
StartAt: prepare
States:
  - {{Type: Pass, Name: prepare, Next: call}}
  - Type: Task
    Name: call
    Action: FC:InvokeFunction
    Parameters: {{resourceArn: '{FN}', body: {{n.$: $Input.n}}}}
    OutputConstructor: {{n.$: $Input.n, answer.$: $Output.Body.answer}}
    Retry: [{{Errors: [Busy], MaxAttempts: 1, IntervalSeconds: 5}}]
    Catch: [{{Errors: [Caught], Next: sorry}}]
    Next: rest
  - {{Type: Wait, Name: rest, Seconds: 3, Next: both}}
  - Type: Parallel
    Name: both
    Branches:
      - {{StartAt: left, States: [{{Type: Pass, Name: left, End: true}}]}}
      - StartAt: right
        States:
          - Type: Task
            Name: right
            Action: FC:InvokeFunction
            Parameters: {{resourceArn: '{FN}', body: {{n.$: $Input.n}}}}
            End: true
    OutputConstructor: {{n.$: $Input.n, answer.$: $Input.answer}}
    Next: which
  - {{Type: Choice, Name: which, Branches: [{{Condition: $Input.n == 1, Next: last}}], Default: sorry}}
  - {{Type: Fail, Name: sorry, Code: Sorry}}
  - {{Type: Pass, Name: last, End: true}}
"""

both_languages = pytest.mark.parametrize("definition", [OLD, NEW], ids=["fdl", "statemachine"])


def answers(given):
    return {"answer": given["n"] * 10}


def failing(name):
    return FunctionReply(body=json.dumps({"errorType": name, "errorMessage": "why"}).encode(), error_type="E")


def debug(bench, *breakpoints, given=None):
    return bench.service.debugger.start(WORLD, "f", "e", json.dumps(given or {"n": 1}), breakpoints)


def act(bench, action, data=None, strand=None):
    return bench.service.debugger.act(WORLD, "f", "e", action, strand, data)


def stops(bench):
    return bench.service.debugger.show(WORLD, "f", "e")["stops"]


async def until_stop(bench):
    """Let time pass until the execution stops, or ends, and return where."""
    for _ in range(20):
        await bench.settle()
        if found := stops(bench):
            return found[0]["when"], found[0]["step"]
        if (await bench.describe())["StoppedTime"]:
            return None
        await bench.advance(1)
    raise AssertionError("it neither stops nor ends")


@both_languages
@pytest.mark.parametrize("crashes", [False, True], ids=["running on", "restarted at every stop"])
async def test_stepping_leaves_no_trace_in_the_history(workflow, tmp_path, definition, crashes):
    """An execution that stops before every step, over a crash each time, records what one that never stops does."""
    async with workflow(tmp_path / "s.db") as bench:
        bench.functions.on("f", answers)
        await bench.flow(definition)
        await bench.begin({"n": 1}, name="plain")
        await bench.advance(10)
        debug(bench)
        seen = []
        while (stop := await until_stop(bench)) is not None:
            seen.append(stop[1])
            if crashes:
                before = stops(bench)
                await bench.restart()
                assert stops(bench) == before
            act(bench, "next", strand=stops(bench)[0]["strand"])

        assert sorted(seen) == sorted(["prepare", "call", "rest", "both", "left", "right", "which", "last"])
        plain, stepped = await bench.events("plain"), await bench.events()
        assert sorted((each["Type"], each["StepName"]) for each in stepped) == sorted(
            (each["Type"], each["StepName"]) for each in plain
        )
        assert (await bench.describe())["Output"] == (await bench.describe("plain"))["Output"]


@both_languages
async def test_breakpoints_stop_before_and_after_a_step_and_data_can_be_changed(workflow, definition):
    """What is changed before a step is its input, after it what it hands on; the history has the changed data."""
    async with workflow() as bench:
        bench.functions.on("f", answers)
        await bench.flow(definition)
        debug(bench, {"when": "before", "step": "call"}, {"when": "after", "step": "call"})

        assert await until_stop(bench) == ("before", "call")
        assert stops(bench)[0]["data"]["n"] == 1
        act(bench, "change", {"n": 4})
        assert stops(bench)[0]["data"] == {"n": 4}
        act(bench, "continue")
        assert await until_stop(bench) == ("after", "call")
        assert stops(bench)[0]["data"]["answer"] == 40
        act(bench, "continue", {"n": 1, "answer": "mine"})
        assert await until_stop(bench) is None

        assert [call[1]["n"] for call in bench.functions.calls] == [4, 1]
        assert json.loads((await bench.describe())["Output"])["answer"] == "mine"
        entered = next(each for each in await bench.events() if each["StepName"] == "call")
        assert json.loads(entered["EventDetail"])["input"] == {"n": 4}


@both_languages
async def test_a_failure_stops_once_retries_are_used_up_and_can_be_tried_again(workflow, tmp_path, definition):
    """The step, not its parents, stops; after a restart the attempt is made once more and the flow goes on."""
    async with workflow(tmp_path / "s.db") as bench:
        bench.functions.on("f", lambda given: failing("Busy"))
        await bench.flow(definition)
        debug(bench, {"when": "failure"})

        assert await until_stop(bench) == ("failure", "call")
        assert len(bench.functions.calls) == 2
        await bench.restart()
        stop = stops(bench)[0]
        assert (stop["error"], stop["actions"]) == ("Busy", ["next", "continue", "retry", "skip"])
        bench.functions.on("f", answers)
        act(bench, "retry")
        assert await until_stop(bench) is None

        assert (await bench.describe())["Status"] == "Succeeded"


@both_languages
@pytest.mark.parametrize("error", ["Caught", "Other"])
async def test_a_failed_step_is_skipped_with_an_output(workflow, definition, error):
    """Whether the error would be caught or not, what is given takes the place of the step's output."""
    async with workflow() as bench:
        bench.functions.on("f", lambda given: failing(error))
        await bench.flow(definition)
        debug(bench, {"when": "failure", "step": "call"})

        assert await until_stop(bench) == ("failure", "call")
        bench.functions.on("f", answers)
        act(bench, "skip", {"n": 1, "answer": "skipped"})
        assert await until_stop(bench) is None

        assert json.loads((await bench.describe())["Output"])["answer"] == "skipped"


@both_languages
async def test_a_step_is_skipped_before_it_runs(workflow, definition):
    """It is entered and left, with nothing in between; its function is not called."""
    async with workflow() as bench:
        bench.functions.on("f", answers)
        await bench.flow(definition)
        debug(bench, {"step": "call"})
        await until_stop(bench)

        act(bench, "skip", {"n": 1, "answer": 7})
        assert await until_stop(bench) is None

        shown = [each["Type"] for each in await bench.events() if each["StepName"] == "call"]
        assert shown == ["StepEntered", "StepExited"]
        assert json.loads((await bench.describe())["Output"])["answer"] == 7
        assert len(bench.functions.calls) == 1


@both_languages
async def test_a_failure_goes_its_way_when_it_is_continued(workflow, definition):
    """Caught errors are caught, others end the execution; neither stops a second time."""
    async with workflow() as bench:
        bench.functions.on("f", lambda given: failing("Caught"))
        await bench.flow(definition)
        debug(bench, {"when": "failure"})

        assert await until_stop(bench) == ("failure", "call")
        act(bench, "continue")
        assert await until_stop(bench) == ("failure", "sorry")
        act(bench, "continue")
        assert await until_stop(bench) is None
        assert (await bench.describe())["Status"] == "Failed"


@both_languages
async def test_a_running_execution_is_watched_detached_and_stopped(workflow, definition):
    """Breakpoints come and go while an execution waits; one that is stopped there ends like any other."""
    async with workflow() as bench:
        bench.functions.on("f", answers)
        await bench.flow(definition)
        for name in ("e", "other"):
            await bench.begin({"n": 1}, name=name)
            shown = bench.service.debugger.watch(WORLD, "f", name, [{"step": "both"}])
            assert shown["breakpoints"] == [{"when": "before", "step": "both"}]
        await bench.advance(5)
        assert [each["step"] for each in stops(bench)] == ["both"]

        act(bench, "detach")
        await bench.settle()
        await bench.call("StopExecution", FlowName="f", ExecutionName="other")

        assert (await bench.describe())["Status"] == "Succeeded"
        assert (await bench.describe("other"))["Status"] == "Stopped"
        with pytest.raises(WorkflowError, match="completed"):
            act(bench, "continue")


@pytest.mark.parametrize(
    ("breakpoints", "problem"),
    [
        ([{"step": "nowhere"}], "no step 'nowhere'; there are both, call"),
        ([{"when": "later"}], "one of before, after, failure"),
        ([{"at": "call"}], "a breakpoint is an object"),
        (["call"], "a breakpoint is an object"),
    ],
)
async def test_breakpoints_that_are_none_are_refused(workflow, breakpoints, problem):
    """The text says what there is; nothing is started that would run past what cannot be found."""
    async with workflow() as bench:
        await bench.flow(OLD)
        with pytest.raises(WorkflowError, match=problem):
            debug(bench, *breakpoints)

        assert (await bench.call("ListExecutions", FlowName="f"))["Executions"] == []


@pytest.mark.parametrize(
    ("action", "more", "problem"),
    [
        ("jump", {}, "there are next, continue"),
        ("retry", {}, "there are next, continue, change, not retry"),
        ("skip", {}, "not skip"),
        ("change", {}, "data is missing"),
        ("next", {"strand": 77}, "nothing has stopped in strand 77"),
        ("next", {"data": [1]}, "data must be an object"),
        ("next", {"data": {"x": "x" * 70_000}}, "at most 65536 bytes"),
    ],
)
async def test_what_cannot_be_done_at_a_stop_is_refused_and_changes_nothing(workflow, action, more, problem):
    """A choice, for one, cannot be skipped: where would it lead?"""
    async with workflow() as bench:
        bench.functions.on("f", answers)
        await bench.flow(NEW)
        debug(bench, {"step": "which"})
        await until_stop(bench)
        before = bench.service.debugger.show(WORLD, "f", "e")

        with pytest.raises(WorkflowError, match=problem):
            act(bench, action, **more)

        assert bench.service.debugger.show(WORLD, "f", "e") == before


async def test_nothing_is_done_where_nothing_has_stopped(workflow):
    """An execution that only waits has no stop to go on from."""
    async with workflow() as bench:
        bench.functions.on("f", answers)
        await bench.flow(OLD)
        await bench.begin({"n": 1})
        with pytest.raises(WorkflowError, match="has not stopped anywhere"):
            act(bench, "next")


FICKLE = f"""
Type: StateMachine
Name: f
SpecVersion: v1
StartAt: call
States:
  - Type: Task
    Name: call
    Action: FC:InvokeFunction
    Parameters:
      resourceArn: '{FN}'
      body: {{n.$: 'intAdd(1, get(toArray(1), $Context.Current.RetryCount))'}}
    End: true
"""


async def test_an_attempt_whose_parameters_cannot_be_made_is_refused(workflow):
    """The stop stays; the failure can still be continued or skipped."""
    async with workflow() as bench:
        bench.functions.on("f", lambda given: failing("Bad"))
        await bench.flow(FICKLE)
        debug(bench, {"when": "failure"})
        assert await until_stop(bench) == ("failure", "call")

        with pytest.raises(WorkflowError, match="cannot be tried again or left out"):
            act(bench, "retry")

        assert await until_stop(bench) == ("failure", "call")


async def test_a_retry_takes_other_parameters(workflow):
    """What is sent is what is given; the history has it."""
    async with workflow() as bench:
        bench.functions.on("f", lambda given: failing("Other") if given["n"] == 1 else answers(given))
        await bench.flow(NEW)
        debug(bench, {"when": "failure", "step": "call"})
        await until_stop(bench)

        act(bench, "retry", {"resourceArn": FN, "body": {"n": 3}})
        await bench.settle()

        assert [call[1] for call in bench.functions.calls] == [{"n": 1}, {"n": 3}]
        with pytest.raises(WorkflowError, match="has not stopped"):
            act(bench, "next")


def test_only_a_distributed_map_has_a_program_of_its_own():
    """Neither language makes one of another state."""
    for definition in (OLD, NEW):
        with pytest.raises(LookupError, match="not a distributed map"):
            read_program(definition).processor(0)
