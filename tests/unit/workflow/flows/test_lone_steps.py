"""One step of a definition, run alone."""

import json

import pytest

from emulator.services.workflow.errors import WorkflowError
from tests.unit.workflow.conftest import WORLD
from tests.unit.workflow.executions.test_debugger import NEW, OLD, answers, both_languages

CALLBACK = """
Type: StateMachine
Name: f
SpecVersion: v1
StartAt: ask
States:
  - Type: Task
    Name: ask
    Action: MNS:SendMessage
    TaskMode: WaitForCustomCallback
    Timeout: 30
    Parameters: {resourceArn: 'acs:mns:::/queues/q/messages', message.$: $Context.Current.TaskToken}
    GlobalConstructor: {by.$: $Output.by, was.$: $Global.by}
    End: true
"""


async def alone(bench, definition, step, given=None, mocks=None, variables=None, local=None):
    steps = bench.service.lone_steps
    return await steps.run(WORLD, definition, step, given or {"n": 1}, local or {}, mocks or {}, variables or {})


CANCEL = """
version: v1
type: flow
steps:
  - type: pass
    name: cancel
    inputMappings:
      - {target: operation, source: cancel_flight}
      - {target: txn, source: $local.reserve_txn}
      - {target: who, source: $input.who}
      - {target: flow, source: $context.flow.name}
    outputMappings: [{target: did, source: $input.txn}]
"""


async def test_a_step_says_what_it_missed_and_takes_what_earlier_steps_have_left(workflow):
    """A path of inputMappings that finds nothing is left out, which otherwise nobody would notice."""
    async with workflow() as bench:
        empty = await alone(bench, CANCEL, "cancel")
        whole = await alone(bench, CANCEL, "cancel", {"who": "Ann"}, local={"reserve_txn": "T1", "other": 2})

        assert empty["missing"] == ["$local.reserve_txn", "$input.who"]
        assert empty["output"] == {}
        assert whole["missing"] == []
        assert whole["output"] == {"did": "T1", "reserve_txn": "T1", "other": 2}


async def test_a_state_has_no_local(workflow):
    """What a machine's state gets is its input."""
    async with workflow() as bench:
        with pytest.raises(WorkflowError, match=r"no \$local"):
            await alone(bench, CALLBACK, "ask", local={"a": 1})


@both_languages
@pytest.mark.parametrize("name", ["call", "s/f"], ids=["by step", "by function"])
async def test_a_task_is_answered_by_its_mock(workflow, definition, name):
    """The mock answers as the function would; the step's own constructors or mappings apply."""
    async with workflow() as bench:
        reply = await alone(bench, definition, "call", mocks={name: {"return": {"answer": 5}}})

        assert (reply["status"], reply["output"]["answer"], reply["next"]) == ("Succeeded", 5, "rest")
        assert reply["events"][0]["Type"] == "StepEntered"
        assert reply["events"][-1]["Type"] == "StepExited"
        assert bench.functions.calls == []


@both_languages
async def test_retries_are_made_at_once_and_errors_take_their_ways(workflow, definition):
    """Answers are given in turn; a caught error shows where it leads, any other fails."""
    async with workflow() as bench:
        busy = {"error": {"errorType": "Busy", "errorMessage": "later"}}

        tried = await alone(bench, definition, "call", mocks={"call": [busy, {"return": {"answer": 1}}]})
        caught = await alone(bench, definition, "call", mocks={"call": {"error": {"errorType": "Caught"}}})
        failed = await alone(bench, definition, "call", mocks={"call": busy})

        assert tried["status"] == "Succeeded"
        assert (caught["status"], caught["error"], caught["next"]) == ("Caught", "Caught", "sorry")
        assert (failed["status"], failed["error"], failed["output"]) == ("Failed", "Busy", None)


@both_languages
async def test_without_a_mock_what_a_task_names_is_called(workflow, definition):
    """Nested steps run too, waits are over at once, and no execution is made."""
    async with workflow() as bench:
        bench.functions.on("f", answers)
        await bench.flow(definition)

        parallel = await alone(bench, definition, "both", {"n": 3, "answer": 1})
        rest = await alone(bench, definition, "rest")
        which = await alone(bench, definition, "which", {"n": 2})

        assert (parallel["status"], parallel["next"]) == ("Succeeded", "which")
        assert [call[1]["n"] for call in bench.functions.calls] == [3]
        assert (rest["status"], rest["next"]) == ("Succeeded", "both")
        assert which["next"] == "sorry"
        assert (await bench.call("ListExecutions", FlowName="f"))["Executions"] == []


async def test_a_step_that_waits_for_a_report_says_so_or_gets_it_from_a_mock(workflow):
    """Variables go in and come out."""
    async with workflow() as bench:
        waiting = await alone(bench, CALLBACK, "ask")
        reported = await alone(
            bench, CALLBACK, "ask", mocks={"ask": {"return": {"by": "lee"}}}, variables={"by": "kim"}
        )
        failed = await alone(bench, CALLBACK, "ask", mocks={"ask": {"error": {"errorType": "No"}}})

        assert (waiting["status"], waiting["cause"]) == ("Waiting", "waits for a report of ask")
        assert len(bench.messages.sent) == 1
        assert reported["global"] == {"by": "lee", "was": "kim"}
        assert (failed["status"], failed["error"]) == ("Failed", "No")


@pytest.mark.parametrize(
    ("step", "definition", "mocks", "problem"),
    [
        ("nowhere", OLD, {}, "no step 'nowhere'; there are prepare, call"),
        ("call", "nonsense", {}, "Definition: "),
        ("call", NEW, {"call": {"returned": 1}}, "The mock of 'call'"),
    ],
)
async def test_what_cannot_run_is_refused(workflow, step, definition, mocks, problem):
    """A definition, a step or a mock that is none."""
    async with workflow() as bench:
        with pytest.raises(WorkflowError, match=problem):
            await alone(bench, definition, step, mocks=mocks)


async def test_a_fail_and_a_succeed_end_the_scope(workflow):
    """What ends the flow has nothing after it."""
    async with workflow() as bench:
        failed = await alone(bench, NEW, "sorry")
        last = await alone(bench, NEW, "last")

        assert (failed["status"], failed["error"]) == ("Failed", "Sorry")
        assert (last["next"], json.dumps(last["output"])) == (None, '{"n": 1}')
