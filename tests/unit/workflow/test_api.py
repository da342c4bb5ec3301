"""The operations on the wire: parameters, replies, errors, paging."""

import asyncio
import json
import re

import pytest

from tests.waiting import until

ONE_PASS = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: p}\n"
WAIT = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, duration: 100}\n"
FLOW = {"Name": "f", "Definition": ONE_PASS, "Description": "", "Type": "FDL"}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")


async def test_a_created_flow_is_described_as_it_was_given(workflow):
    """Verbatim texts, empty members present, the vendor's time format."""
    async with workflow() as bench:
        created = await bench.call(
            "CreateFlow",
            **{**FLOW, "Description": "d", "RoleArn": "acs:ram::1:role/r"},
            Environment='{"Variables":[{"Name":"a","Value":"b"}]}',
        )
        described = await bench.call("DescribeFlow", Name="f")

        assert UUID.match(created.pop("RequestId"))
        assert UUID.match(described.pop("RequestId"))
        assert created == described
        assert UUID.match(created.pop("Id"))
        assert created == {
            "Name": "f",
            "Description": "d",
            "Definition": ONE_PASS,
            "Type": "FDL",
            "RoleArn": "acs:ram::1:role/r",
            "ExecutionMode": "",
            "Environment": {"Variables": [{"Name": "a", "Value": "b", "Description": ""}]},
            "ResourceGroupId": "",
            "CreatedTime": "2023-11-14T22:13:20.000Z",
            "LastModifiedTime": "2023-11-14T22:13:20.000Z",
        }


async def test_an_update_changes_what_it_names(workflow):
    """Absent parameters keep their values; the reply has the storage location and no execution mode."""
    async with workflow() as bench:
        await bench.call("CreateFlow", **{**FLOW, "Description": "old", "RoleArn": "r", "ResourceGroupId": "rg"})
        await bench.advance(2)

        updated = await bench.call("UpdateFlow", Name="f", Description="", Definition=WAIT)

        assert (updated["Description"], updated["RoleArn"], updated["Definition"]) == ("", "r", WAIT)
        assert updated["LastModifiedTime"] == "2023-11-14T22:13:22.000Z"
        assert updated["CreatedTime"] == "2023-11-14T22:13:20.000Z"
        assert (updated["ExternalStorageLocation"], updated["ResourceGroupId"]) == ("", "rg")
        assert "ExecutionMode" not in updated


@pytest.mark.parametrize(
    ("action", "parameters", "status", "code", "message"),
    [
        ("CreateFlow", {**FLOW, "Name": None}, 400, "MissingRequiredParams",
         "The HTTP query 'Name' must be specified."),
        ("CreateFlow", {**FLOW, "Definition": None}, 400, "MissingRequiredParams", None),
        ("CreateFlow", {**FLOW, "Description": None}, 400, "MissingRequiredParams", None),
        ("CreateFlow", {**FLOW, "Type": None}, 400, "MissingRequiredParams", None),
        ("CreateFlow", {**FLOW, "Name": "1f"}, 400, "InvalidArgument", None),
        ("CreateFlow", {**FLOW, "Name": ""}, 400, "InvalidArgument", None),
        ("CreateFlow", {**FLOW, "Name": "f" * 129}, 400, "InvalidArgument", None),
        ("CreateFlow", {**FLOW, "Name": "f\n"}, 400, "InvalidArgument", None),
        ("CreateFlow", {**FLOW, "Type": "XML"}, 400, "InvalidArgument",
         "Parameter error. Type must be FDL or DEFAULT."),
        ("CreateFlow", {**FLOW, "ExecutionMode": "Fast"}, 400, "InvalidArgument", None),
        ("CreateFlow", {**FLOW, "Environment": "[]"}, 400, "InvalidArgument", None),
        ("CreateFlow", {**FLOW, "Environment": '{"Variables":[1]}'}, 400, "InvalidArgument", None),
        ("CreateFlow", {**FLOW, "Name": "there"}, 409, "FlowAlreadyExists", "Flow there already exists."),
        ("DescribeFlow", {"Name": "x"}, 404, "FlowNotExists", "Flow x does not exist."),
        ("DescribeFlow", {"Name": "there", "FlowVersion": "3"}, 404, "FlowVersionNotExists", None),
        ("UpdateFlow", {"Name": "x"}, 404, "FlowNotExists", None),
        ("UpdateFlow", {"Name": "there", "Definition": "nonsense"}, 400, "InvalidArgument", None),
        ("UpdateFlow", {"Name": "x", "Definition": "nonsense"}, 400, "InvalidArgument", None),
        ("UpdateFlow", {"Name": "x", "Type": "x"}, 400, "InvalidArgument", None),
        ("UpdateFlow", {"Name": "there", "Type": "x"}, 400, "InvalidArgument", None),
        ("DeleteFlow", {"Name": "x"}, 404, "FlowNotExists", None),
        ("ListFlows", {"Limit": 0}, 400, "InvalidArgument", None),
        ("ListFlows", {"Limit": 1000}, 400, "InvalidArgument", None),
        ("ListFlows", {"Limit": "many"}, 400, "InvalidArgument", None),
        ("StartExecution", {}, 400, "MissingRequiredParams", None),
        ("StartExecution", {"FlowName": "x"}, 404, "FlowNotExists", None),
        ("StartExecution", {"FlowName": "there", "ExecutionName": "a b"}, 400, "InvalidArgument", None),
        ("StartExecution", {"FlowName": "there", "Input": "[1]"}, 400, "InvalidArgument", None),
        ("StartExecution", {"FlowName": "there", "Input": "{"}, 400, "InvalidArgument", None),
        ("StartExecution", {"FlowName": "there", "Input": '{"a":NaN}'}, 400, "InvalidArgument", None),
        ("StartExecution", {"FlowName": "there", "Input": '{"a":"\\ud800"}'}, 400, "InvalidArgument", None),
        ("StartExecution", {"FlowName": "there", "Input": '{"a":' + "[" * 500 + "]" * 500 + "}"}, 400,
         "InvalidArgument", None),
        ("StartExecution", {"FlowName": "there", "Input": '{"a":1e999}'}, 400, "InvalidArgument", None),
        ("StartExecution", {"FlowName": "express"}, 400, "ActionNotSupported", "Express execution is not supported"),
        ("StartSyncExecution", {"FlowName": "there"}, 400, "ActionNotSupported", "Standard execution is not supported"),
        ("StartSyncExecution", {"FlowName": "x"}, 404, "FlowNotExists", None),
        ("StopExecution", {"FlowName": "there"}, 400, "MissingRequiredParams", None),
        ("StopExecution", {"FlowName": "there", "ExecutionName": "x"}, 404, "ExecutionNotExists",
         "Execution x for flow there does not exist."),
        ("StopExecution", {"FlowName": "there", "ExecutionName": "x", "Error": "e" * 129}, 400,
         "InvalidArgument", None),
        ("StopExecution", {"FlowName": "there", "ExecutionName": "x", "Cause": "e" * 4097}, 400,
         "InvalidArgument", None),
        ("DescribeExecution", {"FlowName": "x", "ExecutionName": "x"}, 404, "FlowNotExists", None),
        ("DescribeExecution", {"FlowName": "there", "ExecutionName": "x"}, 404, "ExecutionNotExists", None),
        ("DescribeExecution", {"FlowName": "there", "ExecutionName": "x", "WaitTimeSeconds": 61}, 400,
         "InvalidArgument", None),
        ("DescribeExecution", {"FlowName": "there", "ExecutionName": "x", "WaitTimeSeconds": -1}, 400,
         "InvalidArgument", None),
        ("ListExecutions", {"FlowName": "there", "Limit": 100}, 400, "InvalidArgument", None),
        ("ListExecutions", {"FlowName": "there", "Status": "Done"}, 400, "InvalidArgument", None),
        ("ListExecutions", {"FlowName": "there", "StartedTimeBegin": "yesterday"}, 400, "InvalidArgument", None),
        ("ListExecutions", {"FlowName": "there", "NextToken": "nobody"}, 400, "InvalidArgument", None),
        ("GetExecutionHistory", {"FlowName": "there", "ExecutionName": "x"}, 404, "ExecutionNotExists", None),
        ("GetExecutionHistory", {"FlowName": "there", "ExecutionName": "x", "Limit": 1001}, 400,
         "InvalidArgument", None),
        ("GetExecutionHistory", {"FlowName": "there", "ExecutionName": "x", "NextToken": "a"}, 400,
         "InvalidArgument", None),
        ("ReportTaskSucceeded", {"Output": "{}"}, 400, "MissingRequiredParams", None),
        ("ReportTaskSucceeded", {"TaskToken": "x"}, 400, "MissingRequiredParams", None),
        ("ReportTaskSucceeded", {"TaskToken": "x", "Output": "{}"}, 400, "InvalidArgument", None),
        ("ReportTaskSucceeded", {"TaskToken": "x", "Output": "3"}, 400, "InvalidArgument", None),
        ("ReportTaskFailed", {"TaskToken": "x"}, 400, "MissingRequiredParams", None),
        ("ReportTaskFailed", {"TaskToken": "x", "Error": ""}, 400, "InvalidArgument", None),
        ("ReportTaskFailed", {"TaskToken": "x", "Error": "e" * 129}, 400, "InvalidArgument", None),
        ("TagResources", {}, 400, "ActionNotSupported",
         "The requested API operation 'TagResources' is incorrect. Please check."),
        ("NoSuchThing", {}, 400, "ActionNotSupported", None),
    ],
)  # fmt: skip
async def test_a_bad_request_has_its_documented_error(workflow, action, parameters, status, code, message):
    """Code, status and text of the reference; nothing changes."""
    async with workflow() as bench:
        await bench.call("CreateFlow", **{**FLOW, "Name": "there"})
        await bench.call("CreateFlow", **{**FLOW, "Name": "express", "ExecutionMode": "Express"})
        await bench.database.committed()
        before = bench.database.read("SELECT total_changes()").fetchone()

        given = {name: value for name, value in parameters.items() if value is not None}
        reply = await bench.call(action, **given)

        assert (reply["HTTP"], reply["Code"]) == (status, code), reply
        assert message is None or reply["Message"] == message
        assert reply["HostId"] == "cn-hangzhou.fnf.aliyuncs.com"
        assert UUID.match(reply["RequestId"])
        assert bench.database.read("SELECT total_changes()").fetchone() == before


async def test_a_broken_definition_names_line_and_field(workflow):
    """So that the author finds the place."""
    broken = "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: a\n  - type: dance\n    name: b\n"

    async with workflow() as bench:
        reply = await bench.call("CreateFlow", **{**FLOW, "Definition": broken})

        assert reply["Code"] == "InvalidArgument"
        assert "steps[1].type" in reply["Message"]
        assert "line 6" in reply["Message"]


async def test_a_long_definition_is_parsed_beside_the_loop(workflow, tmp_path):
    """It works like a short one, also when it has to be parsed again after a restart."""
    steps = "".join(f"  - {{type: pass, name: step-number-{number}}}\n" for number in range(300))
    definition = f"version: v1\ntype: flow\nsteps:\n  - {{type: wait, name: w, duration: 10}}\n{steps}"

    async with workflow(tmp_path / "state.db") as bench:
        await bench.flow(definition)
        await bench.begin()
        await bench.crash()
        await bench.start()

        bench.clock.move_to(bench.clock.now() + 20_000)

        async def has_succeeded():
            await bench.advance(0.02)
            return (await bench.describe())["Status"] == "Succeeded"

        await until(has_succeeded)

        assert len((await bench.call("GetExecutionHistory", FlowName="f", ExecutionName="e"))["Events"]) == 60


async def test_another_version_of_the_api_is_refused(workflow):
    """APIVersionNotSupported."""
    async with workflow() as bench:
        reply = await bench.send([("Action", "ListFlows"), ("Version", "2020-01-01")], [])

        assert (reply["HTTP"], reply["Code"]) == (400, "APIVersionNotSupported")


async def test_parameters_are_taken_from_query_and_form_alike(workflow):
    """Some clients put everything into the query, some the token only."""
    async with workflow() as bench:
        await bench.send([("Action", "CreateFlow"), ("Name", "f"), ("Type", "FDL")],
                         [("Definition", ONE_PASS), ("Description", "")])  # fmt: skip

        reply = await bench.send([("Action", "DeleteFlow"), ("Name", "f"), ("Version", "2019-03-15")], [])

        assert list(reply) == ["RequestId"]


async def test_a_request_may_name_its_own_id(workflow):
    """In answers and in errors."""
    async with workflow() as bench:
        good = await bench.call("ListFlows", RequestId="mine")
        bad = await bench.call("DescribeFlow", RequestId="mine", Name="x")

        assert good["RequestId"] == bad["RequestId"] == "mine"


async def test_a_request_over_the_limit_is_entity_too_large(workflow):
    """400, not 413."""
    async with workflow() as bench:
        error = bench.front.too_large(bench.front.max_body)

        assert bench.front.max_body == 1024 * 1024
        assert (error.http_status, error.code) == (400, "EntityTooLarge")
        assert error.message == "The payload size exceeds maximum allowed size (1048576 bytes)."


async def test_flows_are_listed_by_name_in_pages(workflow):
    """NextToken is the next flow's name and absent at the end."""
    async with workflow() as bench:
        for name in ("b", "C", "a", "d"):
            await bench.flow(ONE_PASS, name)

        first = await bench.call("ListFlows", Limit=3)
        second = await bench.call("ListFlows", Limit=3, NextToken=first["NextToken"])

        assert [flow["Name"] for flow in first["Flows"]] == ["C", "a", "b"]
        assert first["NextToken"] == "d"
        assert [flow["Name"] for flow in second["Flows"]] == ["d"]
        assert "NextToken" not in second


async def test_executions_are_listed_newest_first_and_filtered(workflow):
    """By status, start time (begin inclusive, end exclusive) and prefix of the name."""
    async with workflow() as bench:
        await bench.flow(WAIT)
        for name in ("a1", "a2", "b1", "b2"):
            await bench.begin({"n": name}, name)
            await bench.advance(1)
        await bench.call("StopExecution", FlowName="f", ExecutionName="a2")

        async def names(**criteria):
            reply = await bench.call("ListExecutions", FlowName="f", **criteria)
            return [item["Name"] for item in reply["Executions"]], reply.get("NextToken")

        assert await names() == (["b2", "b1", "a2", "a1"], None)
        assert await names(Limit=2) == (["b2", "b1"], "a2")
        assert await names(Limit=2, NextToken="a2") == (["a2", "a1"], None)
        assert await names(Status="Stopped") == (["a2"], None)
        assert await names(Status="Succeeded") == ([], None)
        assert await names(ExecutionNamePrefix="b") == (["b2", "b1"], None)
        assert await names(StartedTimeBegin="2023-11-14T22:13:21Z", StartedTimeEnd="2023-11-14T22:13:23Z") == (
            ["b1", "a2"],
            None,
        )
        listed = (await bench.call("ListExecutions", FlowName="f"))["Executions"][0]
        bare = (await bench.call("ListExecutions", FlowName="f", MetadataOnly="True"))["Executions"][0]
        assert listed["Input"] == '{"n": "b2"}'
        assert listed["Environment"] == {"Variables": []}
        assert {"Input", "Output", "FlowDefinition"}.isdisjoint(bare)


async def test_history_pages_by_event_id(workflow):
    """The token is the id to go on with."""
    async with workflow() as bench:
        await bench.flow(ONE_PASS)
        await bench.begin()

        first = await bench.call("GetExecutionHistory", FlowName="f", ExecutionName="e", Limit=2)
        rest = await bench.call("GetExecutionHistory", FlowName="f", ExecutionName="e", NextToken=first["NextToken"])

        assert first["NextToken"] == "3"
        assert [event["EventId"] for event in first["Events"]] == [1, 2]
        assert [event["EventId"] for event in rest["Events"]] == [3, 4, 5, 6]
        assert "NextToken" not in rest
        assert first["Events"][0] == {
            "EventId": 1,
            "ScheduleEventId": 0,
            "StepName": "",
            "Type": "ExecutionStarted",
            "Time": "2023-11-14T22:13:20.000Z",
            "EventDetail": '{"input":{}}',
        }


async def test_regions(workflow):
    """The region of the request is the one there is."""
    async with workflow() as bench:
        reply = await bench.call("DescribeRegions", AcceptLanguage="en-US")

        assert reply["Regions"]["Region"][0]["RegionId"] == "cn-hangzhou"


CALLBACK = """
version: v1
type: flow
steps:
  - type: task
    name: t
    resourceArn: acs:mns:::/queues/q/messages
    pattern: waitForCallback
    inputMappings: [{target: token, source: $context.task.token}]
    serviceParams: {MessageBody: $.token, DelaySeconds: 3}
"""


async def test_a_reported_failure_is_the_tasks_error(workflow):
    """Verbatim, with its cause; the reply names the event."""
    async with workflow() as bench:
        await bench.flow(CALLBACK)
        await bench.begin()
        sent = bench.messages.sent[0]

        reply = await bench.send(
            [("TaskToken", sent["body"])],
            [("Action", "ReportTaskFailed"), ("Error", "Mine"), ("Cause", "because")],
        )
        await bench.settle()

        assert sent["delay_s"] == 3
        assert reply["EventId"] == 6
        events = await bench.events()
        assert events[5]["EventDetail"] == '{"error":"Mine","cause":"because"}'
        assert (await bench.describe())["Status"] == "Failed"


async def test_a_token_whose_plus_signs_became_blanks_is_still_read(workflow):
    """A client that forgets to escape the token in the query."""
    async with workflow() as bench:
        await bench.flow(CALLBACK)
        await bench.begin()
        token = bench.messages.sent[0]["body"]

        reply = await bench.call("ReportTaskSucceeded", TaskToken=token.replace("+", " "), Output="{}")

        assert "EventId" in reply


@pytest.mark.parametrize("change", ["execution", "entry", "code", "version", "flow"])
async def test_a_token_that_was_tampered_with_is_refused(workflow, change):
    """A forged token is InvalidArgument; one whose objects are gone names them."""
    import base64

    async with workflow() as bench:
        await bench.flow(CALLBACK)
        await bench.begin()
        parts = base64.b64decode(bench.messages.sent[0]["body"]).decode().split("#")
        version, flow, execution, entry, code = parts
        forged = {
            "version": ["v2", flow, execution, entry, code],
            "flow": [version, "nobody", execution, entry, code],
            "execution": [version, flow, "nobody", entry, code],
            "entry": [version, flow, execution, "3", code],
            "code": [version, flow, execution, entry, base64.b64encode(bytes(20)).decode()],
        }[change]
        token = base64.b64encode("#".join(forged).encode()).decode()

        reply = await bench.call("ReportTaskSucceeded", TaskToken=token, Output="{}")

        expected = {"flow": "FlowNotExists", "execution": "ExecutionNotExists"}.get(change, "InvalidArgument")
        assert reply["Code"] == expected
        assert (version, flow, execution, entry) == ("v1", "f", "e", "2")
        assert len(base64.b64decode(code)) == 20


async def test_reports_after_the_end_say_so(workflow):
    """After a stop, too."""
    async with workflow() as bench:
        await bench.flow(CALLBACK)
        await bench.begin()
        await bench.call("StopExecution", FlowName="f", ExecutionName="e")

        reply = await bench.call("ReportTaskSucceeded", TaskToken=bench.messages.sent[0]["body"], Output="{}")

        assert (reply["HTTP"], reply["Code"]) == (400, "TaskAlreadyCompleted")


async def test_a_task_that_waits_for_no_report_takes_none(workflow):
    """The token of a requestResponse task is good for nothing."""
    definition = (
        CALLBACK.replace("    pattern: waitForCallback\n", "")
        .replace("acs:mns:::/queues/q/messages", "acs:fc:::functions/f")
        .replace("    serviceParams: {MessageBody: $.token, DelaySeconds: 3}\n", "")
    )

    async with workflow() as bench:
        bench.functions.on("f", lambda event: asyncio.get_running_loop().create_future())
        await bench.flow(definition)
        await bench.begin()

        reply = await bench.call("ReportTaskSucceeded", TaskToken=bench.functions.calls[0][1]["token"], Output="{}")

        assert reply["Code"] == "InvalidArgument"
        assert (await bench.describe())["Status"] == "Running"


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ("{MessageBody: $.missing}", "FnF.RuntimeError"),
        ("{MessageBody: $, Priority: $.big}", "FnF.RuntimeError"),
        ("{MessageBody: $, DelaySeconds: $.text}", "FnF.RuntimeError"),
    ],
)
async def test_parameters_that_cannot_be_used_fail_the_task(workflow, parameters, error):
    """Nothing is sent."""
    definition = f"""
version: v1
type: flow
steps:
  - {{type: task, name: t, resourceArn: 'acs:mns:::/queues/q/messages', serviceParams: {parameters}}}
"""
    async with workflow() as bench:
        await bench.flow(definition)
        await bench.begin({"big": 17, "text": "soon"})

        assert json.loads((await bench.events())[4]["EventDetail"])["error"] == error
        assert bench.messages.sent == []


async def test_messages_carry_text_as_it_is_and_the_rest_as_json(workflow):
    """A topic's tag and attributes; the reply of the service is the task's local."""
    definition = """
version: v1
type: flow
steps:
  - type: task
    name: t
    resourceArn: acs:mns:::/topics/q/messages
    serviceParams: {MessageBody: $.text, MessageTag: $.tag, MessageAttributes: $.attributes}
"""
    async with workflow() as bench:
        await bench.flow(definition)
        await bench.begin({"text": "plain", "tag": "t", "attributes": {"b": 1, "a": 2}})

        sent = bench.messages.sent[0]
        assert (sent["topic"], sent["body"], sent["tag"]) == ("q", "plain", "t")
        assert sent["attributes"] == '{"a":2,"b":1}'
        assert json.loads((await bench.describe())["Output"]) == bench.messages.reply.members
