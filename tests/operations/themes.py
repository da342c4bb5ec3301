"""What the operations that arrive together are drawn from, and what has to be there for them."""

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.operations import samples
from tests.operations.calling import Site
from tests.operations.recording import Operation

BASE = "base"
"""The checkpoint that every group begins from."""


def _mns(method: str, path: str, body: str = "") -> Operation:
    path, _, query = path.partition("?")
    items = dict(item.partition("=")[::2] for item in query.split("&") if item)
    return Operation("mns", f"{method} {path}", "mns", "", method, path, items, {"x-mns-version": "2015-06-06"},
                     body.encode(), "xml")  # fmt: skip


def _fc(name: str, method: str, path: str, body: Any = None) -> Operation:
    kind = "bytes" if isinstance(body, bytes) else "json"
    return Operation("fc3", name, "fc", "2023-03-30", method, f"/2023-03-30{path}", {}, {}, body, kind)


def _fnf(name: str, **given: str) -> Operation:
    return Operation("aliyunsdkfnf", name, "rpc", "2019-03-15", "POST", "/", {}, {}, given, "form")


def _ram(name: str, **given: str) -> Operation:
    return Operation("ram", name, "rpc", "2015-05-01", "POST", "/", given, {}, None, "form")


def _oss(method: str, path: str, body: bytes = b"", **headers: str) -> Operation:
    name = f"{method} {path}"
    path, _, query = path.partition("?")
    items = dict(item.partition("=")[::2] for item in query.split("&") if item)
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return Operation("oss", name, "oss", "", method, path, items, named, body, "bytes")


def _admin(method: str, path: str, **given: Any) -> Operation:
    return Operation("admin", f"{method} {path}", "admin", "", method, f"/_localyun/{path}", {}, {},
                     given if method == "POST" else None, "json")  # fmt: skip


def _later(function: str, task: str) -> Operation:
    headers = {"X-Fc-Invocation-Type": "Async", "X-Fc-Async-Task-Id": task}
    path = f"/2023-03-30/functions/{function}/invocations"
    return Operation("fc3", f"InvokeFunction {task}", "fc", "2023-03-30", "POST", path, {}, headers, b"{}", "bytes")


def _function(name: str, **more: Any) -> dict[str, Any]:
    code = {"zipFile": samples.text("zipFile")}
    return {"functionName": name, "runtime": "python3.10", "handler": "index.handler", "code": code, **more}


_TRUST = '{"Version":"1","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":["a"]}}]}'
_REST = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: rest, duration: 3600}\n"
_TIMER = {"triggerName": "t", "triggerType": "timer",
          "triggerConfig": '{"cronExpression": "@every 5m", "enable": true}'}  # fmt: skip


def _send(queue: str, body: str) -> Operation:
    return _mns("POST", f"/queues/{queue}/messages", f"<Message><MessageBody>{body}</MessageBody></Message>")


_ASYNC = {"asyncTask": True, "maxAsyncRetryAttempts": 0, "destinationConfig": {"onSuccess": {
    "destination": "acs:mns:cn-hangzhou:1234567890123456:/queues/other/messages"}}}  # fmt: skip
_LAYER = "acs:fc:cn-hangzhou:1234567890123456:layers/tools/versions/1"
_DOMAIN = {"domainName": "www.example.com", "protocol": "HTTP",
           "routeConfig": {"routes": [{"path": "/*", "functionName": "f"}]}}  # fmt: skip
_AFFINE = {"sessionAffinity": "HEADER_FIELD", "sessionAffinityConfig": json.dumps(
    {"affinityHeaderFieldName": "session-id", "sessionIdleTimeoutInSeconds": 60})}  # fmt: skip
_ASK = """
Type: StateMachine
Name: ask
SpecVersion: v1
StartAt: ask
States:
  - Type: Task
    Name: ask
    Action: MNS:SendMessage
    TaskMode: WaitForCustomCallback
    Timeout: 30000
    Parameters: {resourceArn: 'acs:mns:::/queues/tokens/messages', message.$: $Context.Current.TaskToken}
    End: true
"""
_MAP = """
Type: StateMachine
Name: each
SpecVersion: v1
StartAt: each
States:
  - Type: Map
    Name: each
    ItemsPath: $Input.parts
    MaxConcurrency: 1
    End: true
    Processor:
      ProcessorConfig: {ExecutionMode: Standard}
      StartAt: rest
      States:
        - {Type: Wait, Name: rest, Seconds: 300, End: true}
"""
_FAST = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: a}\n"
_ROUTES = '[{"Version":"1","Weight":100}]'


def _theirs(operation: Operation) -> Operation:
    """Let another account make a call."""
    scheme = {"mns": "MNS", "oss": "OSS"}[operation.dialect]
    return operation._replace(headers={**operation.headers, "Authorization": f"{scheme} {{key}}:signature"})


def _handles(*names: str) -> str:
    return (
        "<ReceiptHandles>" + "".join(f"<ReceiptHandle>{each}</ReceiptHandle>" for each in names) + "</ReceiptHandles>"
    )


def _fifo(body: str) -> Operation:
    text = f"<Message><MessageBody>{body}</MessageBody><MessageGroupId>g</MessageGroupId></Message>"
    return _mns("POST", "/queues/line/messages", text)


_ROLE = "acs:ram::1234567890123456:role/kept"
_CODE = {"code": {"zipFile": samples.text("zipFile")}}

THEMES: dict[str, list[Operation]] = {
    "a queue": [
        _mns("PUT", "/queues/q", "<Queue/>"),
        _mns("PUT", "/queues/q", "<Queue><DelaySeconds>7</DelaySeconds></Queue>"),
        _mns("DELETE", "/queues/q"),
        _send("q", "one"), _send("q", "two"),
        _mns("GET", "/queues/q/messages"), _mns("GET", "/queues/q/messages?numOfMessages=3"),
        _admin("POST", "purge-queue", queue="q"),
        _admin("POST", "move-messages", queue="q", to="other"),
        _admin("POST", "reset", queue="q"),
    ],
    "a topic": [
        _mns("PUT", "/topics/t", "<Topic/>"), _mns("DELETE", "/topics/t"),
        _mns("PUT", "/topics/t/subscriptions/s",
             "<Subscription><Endpoint>http://127.0.0.1:9/</Endpoint></Subscription>"),
        _mns("DELETE", "/topics/t/subscriptions/s"),
        _admin("POST", "reset", topic="t"),
        _admin("POST", "reset", service="mns"),
    ],
    "a function": [
        _fc("CreateFunction", "POST", "/functions", _function("f")),
        _fc("CreateFunction", "POST", "/functions", _function("g")),
        _fc("UpdateFunction", "PUT", "/functions/f", {"description": "changed"}),
        _fc("UpdateFunction", "PUT", "/functions/f", _CODE),
        _fc("DeleteFunction", "DELETE", "/functions/f"),
        _fc("PublishFunctionVersion", "POST", "/functions/f/versions", {}),
        _fc("CreateAlias", "POST", "/functions/f/aliases", {"aliasName": "live", "versionId": "1"}),
        _fc("DeleteFunctionVersion", "DELETE", "/functions/f/versions/1"),
        _fc("CreateTrigger", "POST", "/functions/f/triggers", _TIMER),
        _fc("DeleteTrigger", "DELETE", "/functions/f/triggers/t"),
        _fc("InvokeFunction", "POST", "/functions/f/invocations", b"{}"),
        _admin("POST", "fire-trigger", function="f", trigger="t"),
    ],
    "a flow": [
        _fnf("CreateFlow", Name="g", Definition=_REST, Description="", Type="FDL"),
        _fnf("UpdateFlow", Name="f", Description="changed"),
        _fnf("DeleteFlow", Name="f"),
        _fnf("StartExecution", FlowName="f", ExecutionName="e"),
        _fnf("StartExecution", FlowName="f", ExecutionName="d"),
        _fnf("StopExecution", FlowName="f", ExecutionName="e"),
        _fnf("DescribeExecution", FlowName="f", ExecutionName="e"),
        _fnf("CreateSchedule", FlowName="f", ScheduleName="s", CronExpression=samples.CRON),
        _fnf("DeleteSchedule", FlowName="f", ScheduleName="s"),
        _admin("POST", "reset", flow="f"),
        _admin("POST", "reset", service="fnf"),
    ],
    "rights": [
        _ram("CreateRole", RoleName="r", AssumeRolePolicyDocument=_TRUST),
        _ram("DeleteRole", RoleName="r"), _ram("GetRole", RoleName="r"),
        _ram("CreateUser", UserName="u"), _ram("DeleteUser", UserName="u"),
        _ram("CreateGroup", GroupName="g"), _ram("AddUserToGroup", UserName="u", GroupName="g"),
        _ram("RemoveUserFromGroup", UserName="u", GroupName="g"),
        _admin("POST", "accounts", accountId="99"), _admin("DELETE", "accounts/99"),
    ],
    "the clock": [
        *[_admin("POST", "skip", until={"queue": "q", "visible": 1}, limit="1h", timeout="5s")] * 2,
        _admin("POST", "clock", advance="7s"), _admin("POST", "clock", next=1),
        _admin("POST", "settle", timeout="5s"), _admin("GET", "clock"),
        _send("q", "sent meanwhile"), _mns("GET", "/queues/q/messages"),
    ],
    "checkpoints": [
        _admin("POST", "checkpoints/c"), _admin("POST", "checkpoints/c/restore"), _admin("DELETE", "checkpoints/c"),
        _admin("POST", f"checkpoints/{BASE}/restore"),
        _send("q", "sent meanwhile"), _fnf("StartExecution", FlowName="f", ExecutionName="e"),
        _fc("CreateFunction", "POST", "/functions", _function("g")),
        _admin("POST", "reset", service="fc"), _admin("POST", "reset"),
    ],
    "files": [
        *[_admin("POST", f"checkpoints/{BASE}/restore")] * 2, _admin("POST", "checkpoints/c"),
        _admin("POST", "checkpoints/c/restore"),
        _oss("PUT", "/files/name", b"new"), _oss("DELETE", "/files/name"), _oss("GET", "/files/name"),
        _fc("CreateFunction", "POST", "/functions", _function("g")),
        _fc("DeleteFunctionVersion", "DELETE", "/functions/f/versions/1"),
        _fc("DeleteFunction", "DELETE", "/functions/f"),
        _admin("POST", "reset", service="fc"), _admin("POST", "reset", service="oss"), _admin("POST", "reset"),
    ],
}  # fmt: skip

WIDER: dict[str, list[Operation]] = {
    "messages": [
        _mns("POST", "/queues/q/messages", "<Messages><Message><MessageBody>a</MessageBody></Message><Message>"
             "<MessageBody>b</MessageBody></Message></Messages>"),
        _mns("DELETE", "/queues/held/messages?ReceiptHandle={receipt}"),
        _mns("DELETE", "/queues/held/messages", _handles("{receipt}", "{receipt}x")),
        _mns("PUT", "/queues/held/messages?receiptHandle={receipt}&visibilityTimeout=0"),
        _mns("PUT", "/queues/held/messages?receiptHandle={receipt}&visibilityTimeout=90"),
        _mns("GET", "/queues/held/messages"), _mns("DELETE", "/queues/held"),
        _admin("POST", "move-messages", queue="held", to="q"),
        _fifo("next"), _mns("GET", "/queues/line/messages"),
        _mns("DELETE", "/queues/line/messages?ReceiptHandle={first}"),
        _admin("POST", "purge-queue", queue="line"),
        _mns("POST", "/topics/t/messages", "<Message><MessageBody>news</MessageBody></Message>"),
        _mns("DELETE", "/topics/t/subscriptions/kept"), _mns("DELETE", "/topics/t"),
        _mns("PUT", "/topics/t/subscriptions/kept?metaoverride=true",
             "<Subscription><NotifyStrategy>EXPONENTIAL_DECAY_RETRY</NotifyStrategy></Subscription>"),
        _admin("POST", "reset", topic="t"), _admin("POST", "reset", service="mns"),
        _mns("GET", "/queues/other/messages"), _admin("POST", f"checkpoints/{BASE}/restore"),
    ],
    "tasks": [
        _later("f", "one"), _later("f", "one"), _later("f", "two"),
        _fc("StopAsyncTask", "PUT", "/functions/f/async-tasks/one/stop"),
        _fc("GetAsyncTask", "GET", "/functions/f/async-tasks/one"),
        _fc("DeleteAsyncInvokeConfig", "DELETE", "/functions/f/async-invoke-config"),
        _fc("PutAsyncInvokeConfig", "PUT", "/functions/f/async-invoke-config", _ASYNC),
        _fc("DeleteFunction", "DELETE", "/functions/f"),
        _fc("UpdateFunction", "PUT", "/functions/f", {"description": "changed"}),
        _admin("POST", "reset", function="f"), _admin("POST", "reset", service="fc"), _admin("POST", "reset"),
        _admin("POST", f"checkpoints/{BASE}/restore"), _admin("POST", "checkpoints/c"),
    ],
    "instances": [
        _fc("CreateSession", "POST", "/functions/h/sessions", {"sessionId": "one"}),
        _fc("CreateSession", "POST", "/functions/h/sessions", {"sessionId": "two"}),
        _fc("GetSession", "GET", "/functions/h/sessions/one"),
        _fc("DeleteSession", "DELETE", "/functions/h/sessions/one"),
        _fc("UpdateSession", "PUT", "/functions/h/sessions/one", {"sessionTTLInSeconds": 600}),
        _fc("DeleteFunction", "DELETE", "/functions/h"),
        _fc("InvokeFunction", "POST", "/functions/h/invocations", b"{}"),
        _fc("PutProvisionConfig", "PUT", "/functions/h/provision-config", {"defaultTarget": 1}),
        _fc("PutProvisionConfig", "PUT", "/functions/h/provision-config", {"defaultTarget": 0}),
        _fc("DeleteProvisionConfig", "DELETE", "/functions/h/provision-config"),
        _fc("UpdateFunction", "PUT", "/functions/h", _CODE),
        _fc("PutConcurrencyConfig", "PUT", "/functions/h/concurrency", {"reservedConcurrency": 1}),
        _fc("DeleteConcurrencyConfig", "DELETE", "/functions/h/concurrency"),
        _admin("POST", "reset", function="h"), _admin("POST", "reset", service="fc"),
    ],
    "packages": [
        _fc("CreateLayerVersion", "POST", "/layers/tools/versions", _CODE),
        _fc("DeleteLayerVersion", "DELETE", "/layers/tools/versions/1"),
        _fc("GetLayerVersion", "GET", "/layers/tools/versions/1"),
        _fc("CreateFunction", "POST", "/functions", _function("l", layers=[_LAYER])),
        _fc("UpdateFunction", "PUT", "/functions/f", {"layers": [_LAYER], **_CODE}),
        _fc("GetFunctionCode", "GET", "/functions/f/code"), _fc("DeleteFunction", "DELETE", "/functions/f"),
        _fc("PublishFunctionVersion", "POST", "/functions/f/versions", {}),
        _fc("CreateCustomDomain", "POST", "/custom-domains", _DOMAIN),
        _fc("DeleteCustomDomain", "DELETE", "/custom-domains/www.example.com"),
        _fc("CreateAlias", "POST", "/functions/f/aliases", {"aliasName": "live", "versionId": "1"}),
        _fc("UpdateAlias", "PUT", "/functions/f/aliases/live", {"versionId": "1"}),
        _fc("DeleteAlias", "DELETE", "/functions/f/aliases/live"),
        _admin("POST", "reset", service="fc"), _admin("POST", "reset"), _admin("POST", "clock", advance="20m"),
        _admin("POST", f"checkpoints/{BASE}/restore"), _admin("POST", "checkpoints/c"),
    ],
    "uploads": [
        _oss("POST", "/files/large?uploads"), _oss("PUT", "/files/large?partNumber=1&uploadId={upload}", b"again"),
        _oss("PUT", "/files/large?partNumber=2&uploadId={upload}", b"more"),
        _oss("POST", "/files/large?uploadId={upload}", b"", x_oss_complete_all="yes"),
        _oss("DELETE", "/files/large?uploadId={upload}"),
        _oss("PUT", "/files/copy", b"", x_oss_copy_source="/files/name"), _oss("PUT", "/files/name", b"new"),
        _oss("PUT", "/files/large?partNumber=3&uploadId={upload}", b"", x_oss_copy_source="/files/name"),
        _oss("POST", "/files/grown?append&position=0", b"one"), _oss("POST", "/files/grown?append&position=3", b"two"),
        _oss("DELETE", "/files/name"), _oss("GET", "/files?stat"), _oss("GET", "/empty?stat"), _oss("DELETE", "/empty"),
        _oss("PUT", "/empty"),
        _oss("PUT", "/empty/name", b"first"), _oss("PUT", "/files/name?acl", b"", x_oss_object_acl="private"),
        _oss("PUT", "/files/name", b"once", x_oss_forbid_overwrite="true"),
        _admin("POST", "reset", service="oss"), _admin("POST", f"checkpoints/{BASE}/restore"),
        _admin("POST", "checkpoints/c"),
    ],
    "executions": [
        _fnf("ReportTaskSucceeded", TaskToken="{token}", Output="{}"),
        _fnf("ReportTaskFailed", TaskToken="{token}", Error="E", Cause="c"),
        _fnf("DeleteFlow", Name="ask"),
        _fnf("StartSyncExecution", FlowName="fast"), _fnf("DeleteFlow", Name="fast"),
        _fnf("StopExecution", FlowName="each", ExecutionName="m"), _fnf("DeleteFlow", Name="each"),
        _fnf("UpdateMapRun", FlowName="each", ExecutionName="m", MapRunName="{run}", Concurrency="2"),
        _fnf("PublishFlowVersion", FlowName="f"), _fnf("DeleteFlowVersion", FlowName="f", FlowVersion="1"),
        _fnf("CreateFlowAlias", FlowName="f", Name="a", RoutingConfigurations=_ROUTES),
        _fnf("DeleteFlowAlias", FlowName="f", Name="a"),
        _fnf("StartExecution", FlowName="f", ExecutionName="v", Qualifier="1"),
        _fnf("UpdateSchedule", FlowName="f", ScheduleName="kept", Enable="false"),
        _fnf("UpdateSchedule", FlowName="f", ScheduleName="kept", Enable="true"),
        _fnf("DeleteSchedule", FlowName="f", ScheduleName="kept"), _fnf("DeleteFlow", Name="f"),
        _admin("POST", "reset", flow="ask"), _admin("POST", "reset", service="fnf"),
        _admin("POST", f"checkpoints/{BASE}/restore"),
        _mns("DELETE", "/queues/tokens"), _admin("POST", "checkpoints/c"),
    ],
    "the lab": [
        _admin("POST", "faults", match={"operation": "SendMessage"}, do={"status": 503}, times=1),
        _admin("DELETE", "faults"), _send("q", "sent"), _mns("GET", "/queues/q/messages"),
        _admin("POST", "mocks", function="f", answers=[{"return": 1}, {"return": 2}]), _admin("DELETE", "mocks"),
        _fc("InvokeFunction", "POST", "/functions/f/invocations", b"{}"),
        _admin("POST", "clock", advance="7s"),
        _admin("POST", f"checkpoints/{BASE}/restore"), _admin("POST", "checkpoints/c"), _admin("POST", "reset"),
        _admin("POST", "checkpoints/c/restore"), _admin("DELETE", "checkpoints/c"),
        _admin("GET", f"checkpoints/{BASE}/archive"),
        _admin("GET", "checkpoints/c/archive"), _admin("GET", "report"), _admin("GET", "status"),
        _admin("GET", "calls/f"),
        _admin("DELETE", "calls"), _admin("POST", "usage/reset"), _admin("GET", "metrics"),
    ],
    "accounts": [
        _admin("POST", "accounts", accountId="77"), _admin("DELETE", "accounts/77"), _admin("GET", "accounts"),
        _theirs(_send("theirs", "sent")), _theirs(_mns("GET", "/queues/theirs/messages")),
        _theirs(_mns("PUT", "/queues/more", "<Queue/>")),
        _theirs(_oss("PUT", "/theirs/name", b"new")), _theirs(_oss("GET", "/theirs/name")),
        _theirs(_oss("DELETE", "/theirs/name")),
        _theirs(_oss("PUT", "/theirs2")),
        Operation("sts", "AssumeRole", "rpc", "2015-04-01", "POST", "/", {"RoleArn": _ROLE, "RoleSessionName": "me"},
                  {}, None, "form"),
        _ram("DeleteRole", RoleName="kept"), _ram("CreateAccessKey", UserName="u"), _ram("DeleteUser", UserName="u"),
        _ram("CreateUser", UserName="u"), _admin("POST", "reset", service="ram"),
        _admin("POST", f"checkpoints/{BASE}/restore"),
        _admin("POST", "checkpoints/c"), _admin("POST", "reset", service="oss"),
    ],
}  # fmt: skip
"""Themes on which fewer groups are drawn."""


async def furnish(site: Site) -> dict[str, str]:
    """Make what the themes are about, stop the time, keep all of it as a checkpoint; return what has been named."""
    names: dict[str, str] = {}
    for operation, name, pattern in FURNITURE:
        answer = await site.call(named(operation, names))
        assert answer is not None
        assert answer.status < 300, (operation, answer)
        if name:
            found = re.search(pattern.encode(), answer.body)
            assert found is not None, (operation, answer)
            names[name] = found[1].decode()
    return names


def named(operation: Operation, names: Mapping[str, str]) -> Operation:
    """Return *operation* with the *names* that the services have given to things."""

    def put(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: put(item) for key, item in value.items()}
        if isinstance(value, str):
            for name, given in names.items():
                value = value.replace(f"{{{name}}}", given)
        return put(value.decode("latin-1")).encode("latin-1") if isinstance(value, bytes) else value

    return operation._replace(
        path=put(operation.path), query=put(operation.query), headers=put(operation.headers), body=put(operation.body)
    )


def _plain(*operations: Operation) -> list[tuple[Operation, str, str]]:
    return [(each, "", "") for each in operations]


_HANDLE = "<ReceiptHandle>(.*?)</ReceiptHandle>"

FURNITURE: list[tuple[Operation, str, str]] = [
    *_plain(
        _mns("PUT", "/queues/q", "<Queue/>"), _mns("PUT", "/queues/other", "<Queue/>"), _send("q", "first"),
        _mns("PUT", "/queues/held", "<Queue/>"), _send("held", "held"), _mns("PUT", "/queues/tokens", "<Queue/>"),
        Operation("mns", "CreateQueue", "rpc", "2022-01-19", "POST", "/", {"QueueName": "line", "QueueType": "fifo"},
                  {}, None, "form"),
        _fifo("foremost"), _fifo("second"),
        _mns("PUT", "/topics/t", "<Topic/>"),
        _mns("PUT", "/topics/t/subscriptions/kept", "<Subscription><Endpoint>acs:mns:cn-hangzhou:1234567890123456:"
             "queues/other</Endpoint><NotifyContentFormat>SIMPLIFIED</NotifyContentFormat></Subscription>"),
        _fc("CreateFunction", "POST", "/functions", _function("f")),
        _fc("CreateFunction", "POST", "/functions", _function("h", **_AFFINE)),
        _fc("PublishFunctionVersion", "POST", "/functions/f/versions", {}),
        _fc("PutAsyncInvokeConfig", "PUT", "/functions/f/async-invoke-config", _ASYNC),
        _fc("CreateLayerVersion", "POST", "/layers/tools/versions", _CODE),
        _oss("PUT", "/files"), _oss("PUT", "/empty"), _oss("PUT", "/files/name", b"content"),
        _fnf("CreateFlow", Name="f", Definition=_REST, Description="", Type="FDL"),
        _fnf("CreateFlow", Name="ask", Definition=_ASK, Description="", Type="FDL"),
        _fnf("CreateFlow", Name="each", Definition=_MAP, Description="", Type="FDL"),
        _fnf("CreateFlow", Name="fast", Definition=_FAST, Description="", Type="FDL", ExecutionMode="Express"),
        _fnf("PublishFlowVersion", FlowName="f"),
        _fnf("CreateSchedule", FlowName="f", ScheduleName="kept", CronExpression=samples.CRON, Enable="true"),
        _fnf("StartExecution", FlowName="ask", ExecutionName="w"),
        _fnf("StartExecution", FlowName="each", ExecutionName="m", Input='{"parts":[{"n":1},{"n":2}]}'),
        _ram("CreateUser", UserName="u"), _ram("CreateGroup", GroupName="g"),
        _ram("CreateRole", RoleName="kept", AssumeRolePolicyDocument=_TRUST),
        _admin("POST", "clock", freeze=True), _admin("POST", "settle"),
    ),
    (_mns("GET", "/queues/held/messages"), "receipt", _HANDLE),
    (_mns("GET", "/queues/line/messages"), "first", _HANDLE),
    (_mns("GET", "/queues/tokens/messages?peekonly=true"), "token", "<MessageBody>(.*?)</MessageBody>"),
    (_fnf("GetExecutionHistory", FlowName="each", ExecutionName="m", Limit="100"), "run", r'MapRunName\W+([\w-]+)'),
    (_oss("POST", "/files/large?uploads"), "upload", "<UploadId>(.*?)</UploadId>"),
    *_plain(_oss("PUT", "/files/large?partNumber=1&uploadId={upload}", b"part")),
    (_admin("POST", "accounts", accountId="77"), "key", '"accessKeyId": ?"(.*?)"'),
    *_plain(
        _theirs(_mns("PUT", "/queues/theirs", "<Queue/>")), _theirs(_oss("PUT", "/theirs")),
        _theirs(_oss("PUT", "/theirs/name", b"a")),
        _admin("POST", "settle"), _admin("POST", f"checkpoints/{BASE}")
    ),
]  # fmt: skip
"""What is made, in order; of some answers a part gets a name, by which later operations know it: ``{upload}``."""
