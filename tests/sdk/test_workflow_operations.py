"""Every workflow operation of both official SDKs against a started emulator."""

import importlib
import json
import pkgutil

import pytest

pytest.importorskip("aliyunsdkfnf")
pytest.importorskip("alibabacloud_fnf20190315")

pytestmark = pytest.mark.sdk

PASS = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: p, outputMappings: [{target: a, source: 1}]}\n"
WAIT = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, duration: 600}\n"
CALLBACK = """
version: v1
type: flow
steps:
  - type: task
    name: t
    resourceArn: acs:mns:::/queues/{queue}/messages
    pattern: waitForCallback
    inputMappings: [{{target: token, source: $context.task.token}}]
"""


def token_from(emulator, queue):
    """Receive the one message of a queue and return the task token in it."""
    account = pytest.importorskip("mns.account")
    import logging

    made = account.Account(
        emulator.url, emulator.keys["accessKeyId"], emulator.keys["accessKeySecret"], logger=logging.getLogger("test")
    )
    found = made.get_queue(queue)
    found.set_encoding(False)
    message = found.receive_message(10)
    made.get_client().close_connection()
    return json.loads(message.message_body)["token"]


def make_queue(emulator, name):
    import logging

    account = importlib.import_module("mns.account")
    queues = importlib.import_module("mns.queue")
    made = account.Account(
        emulator.url, emulator.keys["accessKeyId"], emulator.keys["accessKeySecret"], logger=logging.getLogger("test")
    )
    made.get_queue(name).create(queues.QueueMeta())
    made.get_client().close_connection()


class Core:
    """The classic SDK; remembers what has been called."""

    def __init__(self, emulator) -> None:
        self._fnf = emulator.fnf()
        self.called = set()

    def call(self, operation, **parameters):
        self.called.add(operation)
        request = self._fnf.request(operation, **parameters)
        if operation == "StartSyncExecution":
            request.set_protocol_type("http")  # its own choice is https
        return json.loads(self._fnf.client.do_action_with_exception(request))

    def refused(self, operation, **parameters):
        from aliyunsdkcore.acs_exception.exceptions import ServerException

        with pytest.raises(ServerException) as caught:
            self.call(operation, **parameters)
        return caught.value.error_code

    @staticmethod
    def operations():
        package = importlib.import_module("aliyunsdkfnf.request.v20190315")
        return {module.name.removesuffix("Request") for module in pkgutil.iter_modules(package.__path__)}


class Tea:
    """The newer SDK; parameters and replies under the wire's names, so that the replies are seen as it reads them."""

    def __init__(self, emulator) -> None:
        self._client = emulator.fnf_tea()
        self._models = importlib.import_module("alibabacloud_fnf20190315.models")
        self.called = set()

    def call(self, operation, **parameters):
        self.called.add(operation)
        method = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation)[1:]
        if operation == "DescribeRegions":
            request = getattr(self._models, f"{operation}Request")()
        else:
            request = getattr(self._models, f"{operation}Request")().from_map(parameters)
        return getattr(self._client, method)(request).body.to_map()

    def refused(self, operation, **parameters):
        from alibabacloud_tea_openapi.exceptions import AlibabaCloudException

        with pytest.raises(AlibabaCloudException) as caught:
            self.call(operation, **parameters)
        return caught.value.code

    @staticmethod
    def operations():
        models = importlib.import_module("alibabacloud_fnf20190315.models")
        names = {name.removesuffix("Request") for name in dir(models) if name.endswith("Request")}
        return {name for name in names if not name.endswith("Shrink")}


def flows_and_executions(sdk, emulator, prefix):
    flow = f"{prefix}-flow"
    created = sdk.call(
        "CreateFlow", Name=flow, Definition=PASS, Description="d", Type="FDL", RoleArn="acs:ram::1:role/r"
    )
    assert created["Id"] == sdk.call("DescribeFlow", Name=flow)["Id"]
    assert sdk.call("UpdateFlow", Name=flow, Definition=WAIT, Description="e")["Definition"] == WAIT
    assert flow in [each["Name"] for each in sdk.call("ListFlows", Limit=999)["Flows"]]

    started = sdk.call("StartExecution", FlowName=flow, ExecutionName="e1", Input='{"a": 1}')
    assert started["Status"] in {"", "Starting", "Running"}
    described = sdk.call("DescribeExecution", FlowName=flow, ExecutionName="e1", WaitTimeSeconds=1)
    assert (described["Status"], described["Input"]) == ("Running", '{"a": 1}')
    stopped = sdk.call("StopExecution", FlowName=flow, ExecutionName="e1", Error="Mine", Cause="why")
    assert stopped["Name"] == "e1"
    listed = sdk.call("ListExecutions", FlowName=flow, Status="Stopped", Limit=10)
    assert [each["Name"] for each in listed["Executions"]] == ["e1"]
    history = sdk.call("GetExecutionHistory", FlowName=flow, ExecutionName="e1", Limit=100)
    assert [event["Type"] for event in history["Events"]][::3] == ["ExecutionStarted", "ExecutionStopped"]


def reports(sdk, emulator, prefix):
    flow = queue = f"{prefix}-callback"
    make_queue(emulator, queue)
    sdk.call("CreateFlow", Name=flow, Definition=CALLBACK.format(queue=queue), Description="", Type="FDL")
    sdk.call("StartExecution", FlowName=flow, ExecutionName="good")
    assert sdk.call("ReportTaskSucceeded", TaskToken=token_from(emulator, queue), Output='{"ok": true}')["EventId"] > 5
    good = sdk.call("DescribeExecution", FlowName=flow, ExecutionName="good", WaitTimeSeconds=10)
    assert (good["Status"], good["Output"]) == ("Succeeded", '{"ok":true}')

    # names after the deleted message of the first one
    again = f"{queue}-again"
    make_queue(emulator, again)
    sdk.call("UpdateFlow", Name=flow, Definition=CALLBACK.format(queue=again))
    sdk.call("StartExecution", FlowName=flow, ExecutionName="bad")
    token = token_from(emulator, again)
    assert sdk.call("ReportTaskFailed", TaskToken=token, Error="Mine", Cause="why")["EventId"] > 5
    bad = sdk.call("DescribeExecution", FlowName=flow, ExecutionName="bad", WaitTimeSeconds=10)
    assert bad["Status"] == "Failed"
    assert sdk.refused("ReportTaskFailed", TaskToken=token, Error="Mine", Cause="why") == "TaskAlreadyCompleted"


def express(sdk, emulator, prefix):
    flow = f"{prefix}-express"
    sdk.call("CreateFlow", Name=flow, Definition=PASS, Description="", Type="FDL", **sdk_mode(sdk))
    if isinstance(sdk, Core):  # its CreateFlow has no mode, so the flow is a standard one
        assert sdk.refused("StartSyncExecution", FlowName=flow, ExecutionName="e") == "ActionNotSupported"
        Tea(emulator).call(
            "CreateFlow", Name=f"{flow}2", Definition=PASS, Description="", Type="FDL", ExecutionMode="Express"
        )
        flow = f"{flow}2"
    reply = sdk.call("StartSyncExecution", FlowName=flow, ExecutionName="e", Input="{}")
    assert (reply["Status"], reply["Output"]) == ("Succeeded", '{"a":1}')
    assert reply["Name"].startswith("e:")
    assert sdk.refused("StartExecution", FlowName=flow, ExecutionName="e") == "ActionNotSupported"


def sdk_mode(sdk):
    return {"ExecutionMode": "Express"} if isinstance(sdk, Tea) else {}


def schedules(sdk, emulator, prefix):
    flow = f"{prefix}-flow"
    names = {"FlowName": flow, "ScheduleName": "s"}
    created = sdk.call(
        "CreateSchedule",
        **names,
        CronExpression="CRON_TZ=Asia/Shanghai 0 0 4 1 * *",
        Payload='{"k": "v"}',
        Enable=False,
        Description="d",
        SignatureVersion="1.0",
    )
    assert (created["Enable"], created["Payload"]) == (False, '{"k": "v"}')
    updated = sdk.call("UpdateSchedule", **names, CronExpression="@every 90m", Enable=True)
    assert (updated["Enable"], updated["CronExpression"]) == (True, "@every 90m")
    assert sdk.call("DescribeSchedule", **names)["ScheduleId"] == created["ScheduleId"]
    listed = sdk.call("ListSchedules", FlowName=flow, Limit=5)
    assert [each["ScheduleName"] for each in listed["Schedules"]] == ["s"]
    sdk.call("DeleteSchedule", **names)
    assert sdk.refused("DescribeSchedule", **names) == "ScheduleNotExists"


def versions(sdk, emulator, prefix):
    flow = f"{prefix}-versions"
    sdk.call("CreateFlow", Name=flow, Definition=PASS, Description="", Type="FDL")
    assert sdk.call("PublishFlowVersion", FlowName=flow, Description="first")["Version"] == "1"
    sdk.call("UpdateFlow", Name=flow, Definition=WAIT)
    assert sdk.call("PublishFlowVersion", FlowName=flow)["Version"] == "2"
    assert sdk.call("DescribeFlow", Name=flow, FlowVersion="1")["Definition"] == PASS
    listed = sdk.call("ListFlowVersions", FlowName=flow, Limit=10)["FlowVersions"]
    assert [each["Version"] for each in listed] == ["2", "1"]

    names = {"FlowName": flow, "Name": "online"}
    both = [{"Version": "1", "Weight": 20}, {"Version": "2", "Weight": 30}]
    made = sdk.call("CreateFlowAlias", **names, RoutingConfigurations=both, Description="d")
    assert made["RoutingConfigurations"] == both
    one = [{"Version": "1", "Weight": 100}]
    assert sdk.call("UpdateFlowAlias", **names, RoutingConfigurations=one)["Alias"]["RoutingConfigurations"] == one
    assert sdk.call("DescribeFlowAlias", **names)["Alias"]["Name"] == "online"
    aliases = sdk.call("ListFlowAliases", FlowName=flow)["Aliases"]
    assert aliases[0]["RoutingConfigurations"] == [{"Version": "1", "Weight": "100"}]
    sdk.call("StartExecution", FlowName=flow, ExecutionName="e", Qualifier="online")
    ended = sdk.call("DescribeExecution", FlowName=flow, ExecutionName="e", WaitTimeSeconds=10)
    assert (ended["Status"], ended["FlowDefinition"]) == ("Succeeded", PASS)
    assert len(sdk.call("ListExecutions", FlowName=flow, Qualifier="online")["Executions"]) == 1
    assert sdk.refused("DeleteFlowVersion", FlowName=flow, FlowVersion="1") == "InvalidArgument"
    sdk.call("DeleteFlowAlias", **names)
    sdk.call("DeleteFlowVersion", FlowName=flow, FlowVersion="1")
    map_run = {"FlowName": flow, "ExecutionName": "e", "MapRunName": "0" * 32}
    assert sdk.refused("DescribeMapRun", **map_run) == "MapRunNotExists"
    assert sdk.refused("UpdateMapRun", **map_run, Concurrency=3) == "MapRunNotExists"
    regions = sdk.call("DescribeRegions")["Regions"]["Region"]
    assert [region["RegionId"] for region in regions] == ["cn-hangzhou"]


@pytest.mark.parametrize("generation", [Core, Tea], ids=["classic", "tea"])
def test_every_operation_of_the_sdk_is_answered(emulator, generation):
    """Each is called for what it is for, and none is forgotten."""
    sdk = generation(emulator)
    prefix = f"ops-{generation.__name__}"

    flows_and_executions(sdk, emulator, prefix)
    reports(sdk, emulator, prefix)
    express(sdk, emulator, prefix)
    schedules(sdk, emulator, prefix)
    if generation is Tea:
        versions(sdk, emulator, prefix)
    sdk.call("DeleteFlow", Name=f"{prefix}-flow")

    assert sdk.called == sdk.operations()


@pytest.mark.parametrize(
    ("arn", "members"),
    [
        (
            "services/none/functions/f",
            {"ErrorCode": "ServiceNotFound", "ErrorMessage": "service 'none' does not exist"},
        ),
        ("functions/none", {"Code": "FunctionNotFound", "Message": "function 'none' does not exist"}),
    ],
    ids=["2.0", "3.0"],
)
def test_the_cause_of_a_refused_call_is_the_answer_of_its_api(emulator, arn, members):
    """3.0 names its members otherwise, and has the id of the request among them."""
    sdk = Core(emulator)
    flow = f"refused-{len(members)}-{arn.count('/')}"
    steps = [{"type": "task", "name": "t", "resourceArn": f"acs:fc:::{arn}"}]
    definition = json.dumps({"version": "v1", "type": "flow", "steps": steps})
    sdk.call("CreateFlow", Name=flow, Definition=definition, Description="", Type="FDL")
    sdk.call("StartExecution", FlowName=flow, ExecutionName="e")
    sdk.call("DescribeExecution", FlowName=flow, ExecutionName="e", WaitTimeSeconds=10)

    last = sdk.call("GetExecutionHistory", FlowName=flow, ExecutionName="e")["Events"][-1]
    cause = json.loads(json.loads(last["EventDetail"])["cause"])
    request_id = cause.pop("RequestId", None)

    assert cause == members
    assert bool(request_id) == ("Code" in members)
    sdk.call("DeleteFlow", Name=flow)


def test_a_distributed_map_over_nothing_has_a_run(emulator):
    """Its end does not overtake the answer that names it; its times have the offset of the SDK's samples."""
    sdk = Tea(emulator)
    flow = "nothing-mapped"
    definition = {
        "Type": "StateMachine", "Name": flow, "SpecVersion": "v1", "StartAt": "each",
        "States": [{
            "Type": "Map", "Name": "each", "ItemsPath": "$Input.items", "End": True,
            "Processor": {
                "ProcessorConfig": {"ExecutionMode": "Express"}, "StartAt": "one",
                "States": [{"Type": "Pass", "Name": "one", "End": True}],
            },
        }],
    }  # fmt: skip
    sdk.call("CreateFlow", Name=flow, Definition=json.dumps(definition), Description="", Type="FDL")
    sdk.call("StartExecution", FlowName=flow, ExecutionName="e", Input='{"items": []}')
    ended = sdk.call("DescribeExecution", FlowName=flow, ExecutionName="e", WaitTimeSeconds=10)
    events = sdk.call("GetExecutionHistory", FlowName=flow, ExecutionName="e")["Events"]

    started = next(json.loads(each["EventDetail"]) for each in events if each["Type"] == "MapRunStarted")
    name = started["output"]["MapRunName"]
    run = sdk.call("DescribeMapRun", FlowName=flow, ExecutionName="e", MapRunName=name)

    assert (ended["Output"], run["Status"]) == ('{"Items":[]}', "Succeeded")
    assert run["StartedTime"].endswith("+08:00")
    sdk.call("DeleteFlow", Name=flow)


@pytest.mark.parametrize("generation", [Core, Tea], ids=["classic", "tea"])
def test_a_signature_version_of_the_callers_own_does_no_harm(emulator, generation):
    """A field that both SDKs offer for CreateSchedule has the name of a parameter of the signature."""
    sdk = generation(emulator)
    flow = f"signed-{generation.__name__}"
    sdk.call("CreateFlow", Name=flow, Definition=PASS, Description="", Type="FDL")

    created = sdk.call(
        "CreateSchedule", FlowName=flow, ScheduleName="s", CronExpression="@every 5m", SignatureVersion="anything"
    )

    assert created["ScheduleName"] == "s"
    sdk.call("DeleteFlow", Name=flow)
