"""What tasks call, and flows of this language through the operations of the service."""

import asyncio
import json

import pytest

from emulator.services.workflow.ports import FunctionReply, HttpReply, MessageReply, ObjectReply, Refusal

FC3 = "acs:fc:::functions/f/LATEST"
QUEUE = "acs:mns:::/queues/q/messages"
TOPIC = "acs:mns:::/topics/t/messages"


def machine(*states, name="f", **fields):
    listed = [{**state} for state in states]
    return json.dumps(
        {
            "Type": "StateMachine",
            "Name": name,
            "SpecVersion": "v1",
            "StartAt": listed[0]["Name"],
            "States": listed,
            **fields,
        }
    )


def a_task(action, parameters, mode="RequestComplete", **fields):
    return {
        "Type": "Task",
        "Name": "t",
        "Action": action,
        "TaskMode": mode,
        "Parameters": parameters,
        "End": True,
        **fields,
    }


A_PASS = {"Type": "Pass", "Name": "p", "End": True}


async def outcome(bench, definition, given=None):
    """Create the flow, run it, and return what DescribeExecution says, with the output read."""
    await bench.flow(definition)
    await bench.begin(given)
    return await ended(bench)


async def ended(bench):
    described = await bench.describe()
    if described["Status"] == "Succeeded":
        return json.loads(described["Output"])
    events = await bench.events()
    return described["Status"], json.loads(events[-1]["EventDetail"])


@pytest.mark.parametrize(
    ("parameters", "event", "reply", "body"),
    [
        ({"resourceArn": FC3, "body": {"x.$": "$Input.x"}}, {"x": 1}, FunctionReply(body=b'{"r":1}'), {"r": 1}),
        ({"resourceArn": "acs:fc:::services/s.LATEST/functions/f"}, {}, FunctionReply(body=b"no JSON"), "no JSON"),
        ({"resourceArn.$": "$Input.arn", "body": '{"t": 1}'}, {"t": 1}, FunctionReply(body=b"[1]"), [1]),
        ({"resourceArn": FC3, "invocationType": "Sync", "body": None}, None, FunctionReply(body=b""), ""),
    ],
    ids=["FC 3", "FC 2, text", "expression", "nothing"],
)  # fmt: skip
async def test_the_reply_of_a_function_is_wrapped(workflow, parameters, event, reply, body):
    """$Output has Code, Header and Body, which is parsed when it is JSON."""
    async with workflow() as bench:
        bench.functions.on("f", lambda given: reply)

        found = await outcome(
            bench, machine(a_task("FC:InvokeFunction", parameters)), {"x": 1, "arn": "acs:fc:::functions/f"}
        )

        assert found == {"Code": 200, "Header": {}, "Body": body}
        assert bench.functions.calls[0][:2] == ("f", event)


async def test_an_asynchronous_call_is_answered_with_its_acceptance(workflow):
    """RequestComplete does not wait for the end."""
    async with workflow() as bench:
        bench.functions.on("f", lambda given: {"r": 1})
        task = a_task("FC:InvokeFunction", {"resourceArn": FC3, "invocationType": "Async"})

        found = await outcome(bench, machine(task))

        assert found == {"Code": 202, "Header": {"X-Fc-Request-Id": "request-0"}, "Body": ""}


async def test_a_system_callback_waits_for_the_function_and_gives_its_result(workflow):
    """The result comes as it is, and the call is asynchronous."""
    async with workflow() as bench:
        waiting = asyncio.get_running_loop().create_future()
        bench.functions.on("f", lambda given: waiting)
        task = a_task("FC:InvokeFunction", {"resourceArn": FC3}, "WaitForSystemCallback")
        await bench.flow(machine(task))
        await bench.begin()
        before = await bench.describe()

        waiting.set_result({"r": 1})
        await bench.settle()

        assert before["Status"] == "Running"
        assert await ended(bench) == {"r": 1}


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (FunctionReply(body=b'{"errorType":"Mine","errorMessage":"m"}', error_type="UnhandledInvocationError"), "Mine"),
        (FunctionReply(refusal=Refusal(404, "FunctionNotFound", "no f")), "FC.FunctionNotFound"),
        (FunctionReply(refusal=Refusal(429, "X", "busy")), "FC.ResourceExhausted"),
    ],
    ids=["thrown", "missing", "busy"],
)
async def test_errors_of_functions_have_the_names_of_the_old_language(workflow, reply, error):
    """They can be caught by these."""
    async with workflow() as bench:
        bench.functions.on("f", lambda given: reply)

        status, detail = await outcome(bench, machine(a_task("FC:InvokeFunction", {"resourceArn": FC3})))

        assert (status, detail["error"]) == ("Failed", error)


async def test_a_message_is_sent_as_it_is(workflow):
    """Maps as JSON, text raw; the reply has the message's id."""
    async with workflow() as bench:
        to_queue = a_task(
            "MNS:SendMessage",
            {
                "resourceArn": QUEUE,
                "message": {"a.$": "$Input.x"},
                "priority": 3,
                "delaySeconds": "5",
                "messageTag": "x",
            },
        )  # fmt: skip
        to_topic = a_task(
            "MNS:SendMessage",
            {"resourceArn": TOPIC, "message": "hi", "messageTag": "blue",
             "messageAttributes": {"MailAttributes": {"Subject": "s"}}},
        )  # fmt: skip
        states = [{**to_queue, "Name": "a", "Next": "b", "End": False}, {**to_topic, "Name": "b"}]

        found = await outcome(bench, machine(*states), {"x": 1})

        assert found == {"MessageId": "M", "MessageBodyMD5": "D", "RequestId": "R"}
        queue, topic = bench.messages.sent
        assert (queue["queue"], queue["body"], queue["delay_s"], queue["priority"]) == ("q", '{"a":1}', 5, 3)
        assert (topic["topic"], topic["body"], topic["tag"]) == ("t", "hi", "blue")
        assert json.loads(topic["attributes"]) == {"MailAttributes": {"Subject": "s"}}


async def test_a_custom_callback_ends_with_the_report(workflow, tmp_path):
    """The token is where the author put it, survives a crash, and $Global with it."""
    async with workflow(tmp_path / "state.db") as bench:
        ask = a_task(
            "MNS:SendMessage",
            {"resourceArn": QUEUE, "message": {"token.$": "$Context.Current.TaskToken"}},
            "WaitForCustomCallback",
            OutputConstructor={"ok.$": "$Output.ok", "by.$": "$Global.by", "role.$": "$Context.Execution.RoleArn"},
        )
        first = {"Type": "Pass", "Name": "first", "GlobalConstructor": {"by": "lee"}, "Next": "t"}
        await bench.flow(machine(first, ask))
        await bench.begin()
        token = json.loads(bench.messages.sent[0]["body"])["token"]
        await bench.restart()

        await bench.call("ReportTaskSucceeded", TaskToken=token, Output='{"ok":true}')
        await bench.settle()

        assert await ended(bench) == {"ok": True, "by": "lee", "role": ""}


async def test_a_message_service_that_refuses_fails_the_task(workflow):
    """Its code is the error's."""
    async with workflow() as bench:
        bench.messages.reply = MessageReply(members={}, refusal=Refusal(404, "QueueNotExist", "no q"))

        status, detail = await outcome(
            bench, machine(a_task("MNS:SendMessage", {"resourceArn": QUEUE, "message": "x"}))
        )

        assert (status, detail["error"]) == ("Failed", "MNS.QueueNotExist")


async def test_a_message_that_turns_out_to_be_null_is_missing(workflow):
    """It fails the task, which sends nothing instead of it."""
    async with workflow() as bench:
        task = a_task("MNS:SendMessage", {"resourceArn": QUEUE, "message.$": "$Input.nothing"})

        status, detail = await outcome(bench, machine(task), {})

        assert (status, detail) == (
            "Failed",
            {"error": "FnF.RuntimeError", "cause": "the parameter message is missing"},
        )
        assert bench.messages.sent == []


CHILD = machine({**A_PASS, "OutputConstructor": {"double.$": "intAdd($Input.n, $Input.n)"}}, name="child")


@pytest.mark.parametrize("mode", ["RequestComplete", "WaitForSystemCallback"])
async def test_a_child_flow_is_started_or_waited_for(workflow, mode):
    """Its names come back at once, or its output when it has ended."""
    async with workflow() as bench:
        await bench.flow(CHILD, name="child")
        parameters = {"resourceArn": "acs:fnf:::flow/child", "executionName": "c1", "input": {"n.$": "$Input.n"}}

        found = await outcome(bench, machine(a_task("FNF:StartExecution", parameters, mode)), {"n": 4})

        if mode == "RequestComplete":
            assert (found["FlowName"], found["ExecutionName"]) == ("child", "c1")
            assert found.keys() == {"FlowName", "ExecutionName", "RequestID"}
        else:
            assert found == {"double": 8}
        child = await bench.describe("c1", "child")
        assert json.loads(child["Output"]) == {"double": 8}


async def test_a_child_without_input_gets_an_empty_one_and_its_failure_is_the_tasks(workflow):
    """The task's own parameters are not its input."""
    async with workflow() as bench:
        await bench.flow(CHILD, name="child")
        parameters = {"resourceArn": "acs:fnf:::flow/child", "executionName": "c1"}

        status, detail = await outcome(
            bench, machine(a_task("FNF:StartExecution", parameters, "WaitForSystemCallback"))
        )

        assert (status, detail["error"]) == ("Failed", "FnF.RuntimeError")
        assert (await bench.describe("c1", "child"))["Input"] == "{}"


async def test_stopping_the_parent_stops_a_child_that_is_waited_for(workflow):
    """As in the old language."""
    async with workflow() as bench:
        await bench.flow(
            machine({"Type": "Wait", "Name": "w", "Seconds": 300, "End": True}, name="child"), name="child"
        )
        parameters = {"resourceArn.$": "$Input.arn", "executionName": "c1"}
        await bench.flow(machine(a_task("FNF:StartExecution", parameters, "WaitForSystemCallback")))
        await bench.begin({"arn": "acs:fnf:::flow/child"})

        await bench.call("StopExecution", FlowName="f", ExecutionName="e")
        await bench.settle()

        assert (await bench.describe("c1", "child"))["Status"] == "Stopped"


async def test_an_address_is_called_over_http(workflow):
    """Code, Header and Body come back whatever the status is."""
    async with workflow() as bench:
        bench.http.reply = HttpReply(status=503, headers={"Content-Type": "application/json"}, body=b'{"busy":true}')
        parameters = {"url.$": "$Input.url", "method": "Post", "headers": {"n": 1}, "body": {"a": 1}}

        found = await outcome(bench, machine(a_task("HTTP:Request", parameters)), {"url": "http://127.0.0.1/x"})

        assert found == {"Code": 503, "Header": {"Content-Type": "application/json"}, "Body": {"busy": True}}
        headers = {"n": "1", "Content-Type": "application/json"}
        assert bench.http.calls == [("POST", "http://127.0.0.1/x", headers, b'{"a":1}')]


async def test_a_callback_over_http_has_the_token_in_a_header(workflow):
    """The called side reports with it."""
    async with workflow() as bench:
        parameters = {"url": "http://127.0.0.1/x", "method": "GET"}
        await bench.flow(machine(a_task("HTTP:Request", parameters, "WaitForCustomCallback")))
        await bench.begin()
        token = bench.http.calls[0][2]["X-FnF-Http-Callback-Task-Token"]

        await bench.call("ReportTaskFailed", TaskToken=token, Error="No", Cause="way")
        await bench.settle()

        assert await ended(bench) == ("Failed", {"error": "No", "cause": "way"})


async def test_an_object_is_read(workflow):
    """Its attributes and content are the output."""
    async with workflow() as bench:
        found = await outcome(
            bench,
            machine(a_task("OSS:GetObject", {"bucket": "b", "key.$": "$Input.k", "range": "bytes=0-3"})),
            {"k": "k"},
        )

        assert found == {"bucket": "b", "key": "k", "body": "text"}
        assert bench.objects.calls == [("b", "k", {"range": "bytes=0-3"})]


FAILING = [
    ("HTTP:Request", {"url": "http://x/", "method": "GET"}, "HTTP.Unknown"),
    ("HTTP:Request", {"url.$": "$Input.n", "method": "GET"}, "FnF.RuntimeError"),
    ("OSS:GetObject", {"bucket": "b", "key": "k"}, "OSS.NoSuchKey"),
    ("ECS:DescribeInstances", {"a": 1}, "ECS.ActionNotSupported"),
    ("EventBridge:PutEvents", {"source": "s"}, "EventBridge.ActionNotSupported"),
    ("FC:InvokeFunction", {"resourceArn.$": "$Input.n"}, "FnF.RuntimeError"),
    ("FC:InvokeFunction", {"resourceArn.$": "$Input.nothing"}, "FnF.RuntimeError"),
    ("FNF:StartExecution", {"resourceArn": "acs:fnf:::flow/nope"}, "FnF.FlowNotExists"),
]


@pytest.mark.parametrize(("action", "parameters", "error"), FAILING)
async def test_what_cannot_be_called_fails_the_task_by_name(workflow, action, parameters, error):
    """Other products, bad parameters known only when they are sent, and what is refused over there."""
    async with workflow() as bench:
        bench.http.reply = HttpReply(headers={}, failure="not allowed")
        bench.objects.reply = ObjectReply(members={}, refusal=Refusal(404, "NoSuchKey", "no k"))

        status, detail = await outcome(bench, machine(a_task(action, parameters)), {"n": 1})

        assert (status, detail["error"]) == ("Failed", error)


@pytest.mark.parametrize(("action", "error"), [("HTTP:Request", "HTTP.Unknown"), ("OSS:GetObject", "OSS.Unknown")])
async def test_a_service_that_is_not_there_fails_the_task(workflow, action, error):
    """Where a port is not filled."""
    async with workflow() as bench:
        await bench.service.close()
        bench.http = bench.objects = None
        bench._make()
        await bench.start()
        parameters = {"url": "http://x/", "method": "GET", "bucket": "b", "key": "k"}

        status, detail = await outcome(bench, machine(a_task(action, parameters)))

        assert (status, detail["error"]) == ("Failed", error)


async def test_a_flow_of_this_language_needs_no_description(workflow):
    """One of the old language does; both have Type FDL, and the text is kept verbatim."""
    async with workflow() as bench:
        created = await bench.call("CreateFlow", Name="f", Definition=machine(A_PASS), Type="FDL")
        described = await bench.call("DescribeFlow", Name="f")
        old = "version: v1\ntype: flow\nsteps: [{type: pass, name: p}]"
        refused = await bench.call("CreateFlow", Name="g", Definition=old, Type="FDL")

        assert created["Description"] == ""
        assert described["Definition"] == machine(A_PASS)
        assert (refused["HTTP"], refused["Code"]) == (400, "MissingRequiredParams")


async def test_a_definition_must_have_the_name_of_its_flow(workflow):
    """At CreateFlow and UpdateFlow; the flow stays as it was."""
    async with workflow() as bench:
        refused = await bench.call("CreateFlow", Name="g", Definition=machine(A_PASS), Type="FDL")
        await bench.flow(machine(A_PASS))
        changed = await bench.call("UpdateFlow", Name="f", Definition=machine(A_PASS, name="g"))
        moved = await bench.call("UpdateFlow", Name="f", Definition=machine({**A_PASS, "Name": "q"}))

        assert (refused["Code"], refused["HTTP"]) == ("InvalidArgument", 400)
        assert "'f' is not the name of the flow, 'g'" in refused["Message"]
        assert changed["Code"] == "InvalidArgument"
        assert moved["Definition"] == machine({**A_PASS, "Name": "q"})


async def test_a_broken_definition_is_refused_with_its_place(workflow):
    """The message has the field, the reason, line and column."""
    async with workflow() as bench:
        refused = await bench.call("CreateFlow", Name="f", Definition=machine({**A_PASS, "Next": "x"}), Type="FDL")

        assert refused["Code"] == "InvalidArgument"
        assert "States[0].Next: a state has Next or 'End: true', not both (line 1, column" in refused["Message"]


@pytest.mark.parametrize(
    "state",
    [
        a_task("FC:InvokeFunction", {"resourceArn": FC3}, "WaitForSystemCallback"),
        a_task("HTTP:Request", {"url": "http://x", "method": "GET"}, "WaitForCustomCallback"),
        {"Type": "Wait", "Name": "w", "Seconds": 21, "End": True},
    ],
    ids=["system", "custom", "wait"],
)
async def test_express_flows_wait_for_nothing_long(workflow, state):
    """Callback modes and waits over 20 seconds are refused when the flow is made."""
    async with workflow() as bench:
        more = {"Name": "f", "Definition": machine(state), "Type": "FDL"}

        refused = await bench.call("CreateFlow", ExecutionMode="Express", **more)
        accepted = await bench.call("CreateFlow", ExecutionMode="Standard", **more)

        assert refused["Code"] == "InvalidArgument"
        assert "express flows" in refused["Message"]
        assert "Code" not in accepted


async def test_an_express_flow_answers_with_output_or_error(workflow):
    """StartSyncExecution has the code and detail of a failure."""
    async with workflow() as bench:
        fail = {"Type": "Fail", "Name": "no", "Code": "Bad", "Detail": "d"}
        wait = {"Type": "Wait", "Name": "w", "Seconds.$": "$Input.s", "End": True}
        choice = {
            "Type": "Choice", "Name": "c", "Default": "p",
            "Branches": [{"Condition": "$Input.n == 1", "Next": "no"}, {"Condition": "$Input.n == 2", "Next": "w"}],
        }  # fmt: skip
        await bench.call(
            "CreateFlow",
            Name="f",
            Definition=machine(choice, fail, A_PASS, wait),
            Type="FDL",
            ExecutionMode="Express",
        )

        good = await bench.call("StartSyncExecution", FlowName="f", Input='{"n":0}')
        bad = await bench.call("StartSyncExecution", FlowName="f", Input='{"n":1}')
        long = await bench.call("StartSyncExecution", FlowName="f", Input='{"n":2,"s":21}')

        assert (good["Status"], good["Output"]) == ("Succeeded", '{"n":0}')
        assert (bad["Status"], bad["ErrorCode"], bad["ErrorMessage"]) == ("Failed", "Bad", "d")
        assert (long["Status"], long["ErrorCode"]) == ("Failed", "FnF.RuntimeError")
