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


def mns(method: str, path: str, body: str = "") -> Operation:
    path, _, query = path.partition("?")
    items = dict(item.partition("=")[::2] for item in query.split("&") if item)
    return Operation("mns", f"{method} {path}", "mns", "", method, path, items, {"x-mns-version": "2015-06-06"},
                     body.encode(), "xml")  # fmt: skip


def fc(name: str, method: str, path: str, body: Any = None) -> Operation:
    kind = "bytes" if isinstance(body, bytes) else "json"
    return Operation("fc3", name, "fc", "2023-03-30", method, f"/2023-03-30{path}", {}, {}, body, kind)


def fnf(name: str, **given: str) -> Operation:
    return Operation("aliyunsdkfnf", name, "rpc", "2019-03-15", "POST", "/", {}, {}, given, "form")


def ram(name: str, **given: str) -> Operation:
    return Operation("ram", name, "rpc", "2015-05-01", "POST", "/", given, {}, None, "form")


def oss(method: str, path: str, body: bytes = b"", **headers: str) -> Operation:
    name = f"{method} {path}"
    path, _, query = path.partition("?")
    items = dict(item.partition("=")[::2] for item in query.split("&") if item)
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return Operation("oss", name, "oss", "", method, path, items, named, body, "bytes")


def admin(method: str, path: str, **given: Any) -> Operation:
    return Operation("admin", f"{method} {path}", "admin", "", method, f"/_localyun/{path}", {}, {},
                     given if method == "POST" else None, "json")  # fmt: skip


def _later(function: str, task: str) -> Operation:
    headers = {"X-Fc-Invocation-Type": "Async", "X-Fc-Async-Task-Id": task}
    path = f"/2023-03-30/functions/{function}/invocations"
    return Operation("fc3", f"InvokeFunction {task}", "fc", "2023-03-30", "POST", path, {}, headers, b"{}", "bytes")


def function(name: str, **more: Any) -> dict[str, Any]:
    code = {"zipFile": samples.text("zipFile")}
    return {"functionName": name, "runtime": "python3.10", "handler": "index.handler", "code": code, **more}


_TRUST = '{"Version":"1","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":["a"]}}]}'
_REST = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: rest, duration: 3600}\n"
_TIMER = {"triggerName": "t", "triggerType": "timer",
          "triggerConfig": '{"cronExpression": "@every 5m", "enable": true}'}  # fmt: skip


def _send(queue: str, body: str) -> Operation:
    return mns("POST", f"/queues/{queue}/messages", f"<Message><MessageBody>{body}</MessageBody></Message>")


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


def theirs(operation: Operation) -> Operation:
    """Let another account make a call."""
    scheme = {"mns": "MNS", "oss": "OSS", "fc": "FC"}[operation.dialect]
    return operation._replace(headers={**operation.headers, "Authorization": f"{scheme} {{key}}:signature"})


def _handles(*names: str) -> str:
    return (
        "<ReceiptHandles>" + "".join(f"<ReceiptHandle>{each}</ReceiptHandle>" for each in names) + "</ReceiptHandles>"
    )


def _fifo(body: str) -> Operation:
    text = f"<Message><MessageBody>{body}</MessageBody><MessageGroupId>g</MessageGroupId></Message>"
    return mns("POST", "/queues/line/messages", text)


_ROLE = "acs:ram::1234567890123456:role/kept"
_CODE = {"code": {"zipFile": samples.text("zipFile")}}

THEMES: dict[str, list[Operation]] = {
    "a queue": [
        mns("PUT", "/queues/q", "<Queue/>"),
        mns("PUT", "/queues/q", "<Queue><DelaySeconds>7</DelaySeconds></Queue>"),
        mns("DELETE", "/queues/q"),
        _send("q", "one"), _send("q", "two"),
        mns("GET", "/queues/q/messages"), mns("GET", "/queues/q/messages?numOfMessages=3"),
        admin("POST", "purge-queue", queue="q"),
        admin("POST", "move-messages", queue="q", to="other"),
        admin("POST", "reset", queue="q"),
    ],
    "a topic": [
        mns("PUT", "/topics/t", "<Topic/>"), mns("DELETE", "/topics/t"),
        mns("PUT", "/topics/t/subscriptions/s",
             "<Subscription><Endpoint>http://127.0.0.1:9/</Endpoint></Subscription>"),
        mns("DELETE", "/topics/t/subscriptions/s"),
        admin("POST", "reset", topic="t"),
        admin("POST", "reset", service="mns"),
    ],
    "a function": [
        fc("CreateFunction", "POST", "/functions", function("f")),
        fc("CreateFunction", "POST", "/functions", function("g")),
        fc("UpdateFunction", "PUT", "/functions/f", {"description": "changed"}),
        fc("UpdateFunction", "PUT", "/functions/f", _CODE),
        fc("DeleteFunction", "DELETE", "/functions/f"),
        fc("PublishFunctionVersion", "POST", "/functions/f/versions", {}),
        fc("CreateAlias", "POST", "/functions/f/aliases", {"aliasName": "live", "versionId": "1"}),
        fc("DeleteFunctionVersion", "DELETE", "/functions/f/versions/1"),
        fc("CreateTrigger", "POST", "/functions/f/triggers", _TIMER),
        fc("DeleteTrigger", "DELETE", "/functions/f/triggers/t"),
        fc("InvokeFunction", "POST", "/functions/f/invocations", b"{}"),
        admin("POST", "fire-trigger", function="f", trigger="t"),
    ],
    "a flow": [
        fnf("CreateFlow", Name="g", Definition=_REST, Description="", Type="FDL"),
        fnf("UpdateFlow", Name="f", Description="changed"),
        fnf("DeleteFlow", Name="f"),
        fnf("StartExecution", FlowName="f", ExecutionName="e"),
        fnf("StartExecution", FlowName="f", ExecutionName="d"),
        fnf("StopExecution", FlowName="f", ExecutionName="e"),
        fnf("DescribeExecution", FlowName="f", ExecutionName="e"),
        fnf("CreateSchedule", FlowName="f", ScheduleName="s", CronExpression=samples.CRON),
        fnf("DeleteSchedule", FlowName="f", ScheduleName="s"),
        admin("POST", "reset", flow="f"),
        admin("POST", "reset", service="fnf"),
    ],
    "rights": [
        ram("CreateRole", RoleName="r", AssumeRolePolicyDocument=_TRUST),
        ram("DeleteRole", RoleName="r"), ram("GetRole", RoleName="r"),
        ram("CreateUser", UserName="u"), ram("DeleteUser", UserName="u"),
        ram("CreateGroup", GroupName="g"), ram("AddUserToGroup", UserName="u", GroupName="g"),
        ram("RemoveUserFromGroup", UserName="u", GroupName="g"),
        admin("POST", "accounts", accountId="99"), admin("DELETE", "accounts/99"),
    ],
    "the clock": [
        *[admin("POST", "skip", until={"queue": "q", "visible": 1}, limit="1h", timeout="5s")] * 2,
        admin("POST", "clock", advance="7s"), admin("POST", "clock", next=1),
        admin("POST", "settle", timeout="5s"), admin("GET", "clock"),
        _send("q", "sent meanwhile"), mns("GET", "/queues/q/messages"),
    ],
    "checkpoints": [
        admin("POST", "checkpoints/c"), admin("POST", "checkpoints/c/restore"), admin("DELETE", "checkpoints/c"),
        admin("POST", f"checkpoints/{BASE}/restore"),
        _send("q", "sent meanwhile"), fnf("StartExecution", FlowName="f", ExecutionName="e"),
        fc("CreateFunction", "POST", "/functions", function("g")),
        admin("POST", "reset", service="fc"), admin("POST", "reset"),
    ],
    "files": [
        *[admin("POST", f"checkpoints/{BASE}/restore")] * 2, admin("POST", "checkpoints/c"),
        admin("POST", "checkpoints/c/restore"),
        oss("PUT", "/files/name", b"new"), oss("DELETE", "/files/name"), oss("GET", "/files/name"),
        fc("CreateFunction", "POST", "/functions", function("g")),
        fc("DeleteFunctionVersion", "DELETE", "/functions/f/versions/1"),
        fc("DeleteFunction", "DELETE", "/functions/f"),
        admin("POST", "reset", service="fc"), admin("POST", "reset", service="oss"), admin("POST", "reset"),
    ],
}  # fmt: skip

WIDER: dict[str, list[Operation]] = {
    "messages": [
        mns("POST", "/queues/q/messages", "<Messages><Message><MessageBody>a</MessageBody></Message><Message>"
             "<MessageBody>b</MessageBody></Message></Messages>"),
        mns("DELETE", "/queues/held/messages?ReceiptHandle={receipt}"),
        mns("DELETE", "/queues/held/messages", _handles("{receipt}", "{receipt}x")),
        mns("PUT", "/queues/held/messages?receiptHandle={receipt}&visibilityTimeout=0"),
        mns("PUT", "/queues/held/messages?receiptHandle={receipt}&visibilityTimeout=90"),
        mns("GET", "/queues/held/messages"), mns("DELETE", "/queues/held"),
        admin("POST", "move-messages", queue="held", to="q"),
        _fifo("next"), mns("GET", "/queues/line/messages"),
        mns("DELETE", "/queues/line/messages?ReceiptHandle={first}"),
        admin("POST", "purge-queue", queue="line"),
        mns("POST", "/topics/t/messages", "<Message><MessageBody>news</MessageBody></Message>"),
        mns("DELETE", "/topics/t/subscriptions/kept"), mns("DELETE", "/topics/t"),
        mns("PUT", "/topics/t/subscriptions/kept?metaoverride=true",
             "<Subscription><NotifyStrategy>EXPONENTIAL_DECAY_RETRY</NotifyStrategy></Subscription>"),
        admin("POST", "reset", topic="t"), admin("POST", "reset", service="mns"),
        mns("GET", "/queues/other/messages"), admin("POST", f"checkpoints/{BASE}/restore"),
    ],
    "tasks": [
        _later("f", "one"), _later("f", "one"), _later("f", "two"),
        fc("StopAsyncTask", "PUT", "/functions/f/async-tasks/one/stop"),
        fc("GetAsyncTask", "GET", "/functions/f/async-tasks/one"),
        fc("DeleteAsyncInvokeConfig", "DELETE", "/functions/f/async-invoke-config"),
        fc("PutAsyncInvokeConfig", "PUT", "/functions/f/async-invoke-config", _ASYNC),
        fc("DeleteFunction", "DELETE", "/functions/f"),
        fc("UpdateFunction", "PUT", "/functions/f", {"description": "changed"}),
        admin("POST", "reset", function="f"), admin("POST", "reset", service="fc"), admin("POST", "reset"),
        admin("POST", f"checkpoints/{BASE}/restore"), admin("POST", "checkpoints/c"),
    ],
    "instances": [
        fc("CreateSession", "POST", "/functions/h/sessions", {"sessionId": "one"}),
        fc("CreateSession", "POST", "/functions/h/sessions", {"sessionId": "two"}),
        fc("GetSession", "GET", "/functions/h/sessions/one"),
        fc("DeleteSession", "DELETE", "/functions/h/sessions/one"),
        fc("UpdateSession", "PUT", "/functions/h/sessions/one", {"sessionTTLInSeconds": 600}),
        fc("DeleteFunction", "DELETE", "/functions/h"),
        fc("InvokeFunction", "POST", "/functions/h/invocations", b"{}"),
        fc("PutProvisionConfig", "PUT", "/functions/h/provision-config", {"defaultTarget": 1}),
        fc("PutProvisionConfig", "PUT", "/functions/h/provision-config", {"defaultTarget": 0}),
        fc("DeleteProvisionConfig", "DELETE", "/functions/h/provision-config"),
        fc("UpdateFunction", "PUT", "/functions/h", _CODE),
        fc("PutConcurrencyConfig", "PUT", "/functions/h/concurrency", {"reservedConcurrency": 1}),
        fc("DeleteConcurrencyConfig", "DELETE", "/functions/h/concurrency"),
        admin("POST", "reset", function="h"), admin("POST", "reset", service="fc"),
    ],
    "packages": [
        fc("CreateLayerVersion", "POST", "/layers/tools/versions", _CODE),
        fc("DeleteLayerVersion", "DELETE", "/layers/tools/versions/1"),
        fc("GetLayerVersion", "GET", "/layers/tools/versions/1"),
        fc("CreateFunction", "POST", "/functions", function("l", layers=[_LAYER])),
        fc("UpdateFunction", "PUT", "/functions/f", {"layers": [_LAYER], **_CODE}),
        fc("GetFunctionCode", "GET", "/functions/f/code"), fc("DeleteFunction", "DELETE", "/functions/f"),
        fc("PublishFunctionVersion", "POST", "/functions/f/versions", {}),
        fc("CreateCustomDomain", "POST", "/custom-domains", _DOMAIN),
        fc("DeleteCustomDomain", "DELETE", "/custom-domains/www.example.com"),
        fc("CreateAlias", "POST", "/functions/f/aliases", {"aliasName": "live", "versionId": "1"}),
        fc("UpdateAlias", "PUT", "/functions/f/aliases/live", {"versionId": "1"}),
        fc("DeleteAlias", "DELETE", "/functions/f/aliases/live"),
        admin("POST", "reset", service="fc"), admin("POST", "reset"), admin("POST", "clock", advance="20m"),
        admin("POST", f"checkpoints/{BASE}/restore"), admin("POST", "checkpoints/c"),
    ],
    "uploads": [
        oss("POST", "/files/large?uploads"), oss("PUT", "/files/large?partNumber=1&uploadId={upload}", b"again"),
        oss("PUT", "/files/large?partNumber=2&uploadId={upload}", b"more"),
        oss("POST", "/files/large?uploadId={upload}", b"", x_oss_complete_all="yes"),
        oss("DELETE", "/files/large?uploadId={upload}"),
        oss("PUT", "/files/copy", b"", x_oss_copy_source="/files/name"), oss("PUT", "/files/name", b"new"),
        oss("PUT", "/files/large?partNumber=3&uploadId={upload}", b"", x_oss_copy_source="/files/name"),
        oss("POST", "/files/grown?append&position=0", b"one"), oss("POST", "/files/grown?append&position=3", b"two"),
        oss("DELETE", "/files/name"), oss("GET", "/files?stat"), oss("GET", "/empty?stat"), oss("DELETE", "/empty"),
        oss("PUT", "/empty"),
        oss("PUT", "/empty/name", b"first"), oss("PUT", "/files/name?acl", b"", x_oss_object_acl="private"),
        oss("PUT", "/files/name", b"once", x_oss_forbid_overwrite="true"),
        admin("POST", "reset", service="oss"), admin("POST", f"checkpoints/{BASE}/restore"),
        admin("POST", "checkpoints/c"),
    ],
    "executions": [
        fnf("ReportTaskSucceeded", TaskToken="{token}", Output="{}"),
        fnf("ReportTaskFailed", TaskToken="{token}", Error="E", Cause="c"),
        fnf("DeleteFlow", Name="ask"),
        fnf("StartSyncExecution", FlowName="fast"), fnf("DeleteFlow", Name="fast"),
        fnf("StopExecution", FlowName="each", ExecutionName="m"), fnf("DeleteFlow", Name="each"),
        fnf("UpdateMapRun", FlowName="each", ExecutionName="m", MapRunName="{run}", Concurrency="2"),
        fnf("PublishFlowVersion", FlowName="f"), fnf("DeleteFlowVersion", FlowName="f", FlowVersion="1"),
        fnf("CreateFlowAlias", FlowName="f", Name="a", RoutingConfigurations=_ROUTES),
        fnf("DeleteFlowAlias", FlowName="f", Name="a"),
        fnf("StartExecution", FlowName="f", ExecutionName="v", Qualifier="1"),
        fnf("UpdateSchedule", FlowName="f", ScheduleName="kept", Enable="false"),
        fnf("UpdateSchedule", FlowName="f", ScheduleName="kept", Enable="true"),
        fnf("DeleteSchedule", FlowName="f", ScheduleName="kept"), fnf("DeleteFlow", Name="f"),
        admin("POST", "reset", flow="ask"), admin("POST", "reset", service="fnf"),
        admin("POST", f"checkpoints/{BASE}/restore"),
        mns("DELETE", "/queues/tokens"), admin("POST", "checkpoints/c"),
    ],
    "the lab": [
        admin("POST", "faults", match={"operation": "SendMessage"}, do={"status": 503}, times=1),
        admin("DELETE", "faults"), _send("q", "sent"), mns("GET", "/queues/q/messages"),
        admin("POST", "mocks", function="f", answers=[{"return": 1}, {"return": 2}]), admin("DELETE", "mocks"),
        fc("InvokeFunction", "POST", "/functions/f/invocations", b"{}"),
        admin("POST", "clock", advance="7s"),
        admin("POST", f"checkpoints/{BASE}/restore"), admin("POST", "checkpoints/c"), admin("POST", "reset"),
        admin("POST", "checkpoints/c/restore"), admin("DELETE", "checkpoints/c"),
        admin("GET", f"checkpoints/{BASE}/archive"),
        admin("GET", "checkpoints/c/archive"), admin("GET", "report"), admin("GET", "status"),
        admin("GET", "calls/f"),
        admin("DELETE", "calls"), admin("POST", "usage/reset"), admin("GET", "metrics"),
    ],
    "accounts": [
        admin("POST", "accounts", accountId="77"), admin("DELETE", "accounts/77"), admin("GET", "accounts"),
        theirs(_send("theirs", "sent")), theirs(mns("GET", "/queues/theirs/messages")),
        theirs(mns("PUT", "/queues/more", "<Queue/>")),
        theirs(oss("PUT", "/theirs/name", b"new")), theirs(oss("GET", "/theirs/name")),
        theirs(oss("DELETE", "/theirs/name")),
        theirs(oss("PUT", "/theirs2")),
        Operation("sts", "AssumeRole", "rpc", "2015-04-01", "POST", "/", {"RoleArn": _ROLE, "RoleSessionName": "me"},
                  {}, None, "form"),
        ram("DeleteRole", RoleName="kept"), ram("CreateAccessKey", UserName="u"), ram("DeleteUser", UserName="u"),
        ram("CreateUser", UserName="u"), admin("POST", "reset", service="ram"),
        admin("POST", f"checkpoints/{BASE}/restore"),
        admin("POST", "checkpoints/c"), admin("POST", "reset", service="oss"),
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
        mns("PUT", "/queues/q", "<Queue/>"), mns("PUT", "/queues/other", "<Queue/>"), _send("q", "first"),
        mns("PUT", "/queues/held", "<Queue/>"), _send("held", "held"), mns("PUT", "/queues/tokens", "<Queue/>"),
        Operation("mns", "CreateQueue", "rpc", "2022-01-19", "POST", "/", {"QueueName": "line", "QueueType": "fifo"},
                  {}, None, "form"),
        _fifo("foremost"), _fifo("second"),
        mns("PUT", "/topics/t", "<Topic/>"),
        mns("PUT", "/topics/t/subscriptions/kept", "<Subscription><Endpoint>acs:mns:cn-hangzhou:1234567890123456:"
             "queues/other</Endpoint><NotifyContentFormat>SIMPLIFIED</NotifyContentFormat></Subscription>"),
        fc("CreateFunction", "POST", "/functions", function("f")),
        fc("CreateFunction", "POST", "/functions", function("h", **_AFFINE)),
        fc("PublishFunctionVersion", "POST", "/functions/f/versions", {}),
        fc("PutAsyncInvokeConfig", "PUT", "/functions/f/async-invoke-config", _ASYNC),
        fc("CreateLayerVersion", "POST", "/layers/tools/versions", _CODE),
        oss("PUT", "/files"), oss("PUT", "/empty"), oss("PUT", "/files/name", b"content"),
        fnf("CreateFlow", Name="f", Definition=_REST, Description="", Type="FDL"),
        fnf("CreateFlow", Name="ask", Definition=_ASK, Description="", Type="FDL"),
        fnf("CreateFlow", Name="each", Definition=_MAP, Description="", Type="FDL"),
        fnf("CreateFlow", Name="fast", Definition=_FAST, Description="", Type="FDL", ExecutionMode="Express"),
        fnf("PublishFlowVersion", FlowName="f"),
        fnf("CreateSchedule", FlowName="f", ScheduleName="kept", CronExpression=samples.CRON, Enable="true"),
        fnf("StartExecution", FlowName="ask", ExecutionName="w"),
        fnf("StartExecution", FlowName="each", ExecutionName="m", Input='{"parts":[{"n":1},{"n":2}]}'),
        ram("CreateUser", UserName="u"), ram("CreateGroup", GroupName="g"),
        ram("CreateRole", RoleName="kept", AssumeRolePolicyDocument=_TRUST),
        admin("POST", "clock", freeze=True), admin("POST", "settle"),
    ),
    (mns("GET", "/queues/held/messages"), "receipt", _HANDLE),
    (mns("GET", "/queues/line/messages"), "first", _HANDLE),
    (mns("GET", "/queues/tokens/messages?peekonly=true"), "token", "<MessageBody>(.*?)</MessageBody>"),
    (fnf("GetExecutionHistory", FlowName="each", ExecutionName="m", Limit="100"), "run", r'MapRunName\W+([\w-]+)'),
    (oss("POST", "/files/large?uploads"), "upload", "<UploadId>(.*?)</UploadId>"),
    *_plain(oss("PUT", "/files/large?partNumber=1&uploadId={upload}", b"part")),
    (admin("POST", "accounts", accountId="77"), "key", '"accessKeyId": ?"(.*?)"'),
    *_plain(
        theirs(mns("PUT", "/queues/theirs", "<Queue/>")), theirs(oss("PUT", "/theirs")),
        theirs(oss("PUT", "/theirs/name", b"a")),
        admin("POST", "settle"), admin("POST", f"checkpoints/{BASE}")
    ),
]  # fmt: skip
"""What is made, in order; of some answers a part gets a name, by which later operations know it: ``{upload}``."""
