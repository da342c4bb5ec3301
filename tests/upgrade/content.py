"""What a state folder of the upgrade tests holds, made and read back through the services' public APIs."""

import base64
import io
import json
import zipfile

from emulator.cli.output import CallRefused

FC2 = "/2016-08-15"
FC3 = "/2023-03-30"
VPC = "2016-04-28"
RAM = "2015-05-01"
STS = "2015-04-01"
FNF = "2019-03-15"
OPEN = "2022-01-19"

FLOW = """version: v1
type: flow
steps:
  - type: wait
    name: long
    duration: 86400
"""
DONE = FLOW.replace("type: wait", "type: pass").replace("    duration: 86400\n", "")
CALL = """version: v1
type: flow
steps:
  - type: task
    name: callback
    resourceArn: acs:mns:::/topics/news/messages
    pattern: waitForCallback
    serviceParams:
      MessageBody: $
"""
PARTS = """Type: StateMachine
Name: parts
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
      StartAt: ask
      States:
        - Type: Task
          Name: ask
          Action: MNS:SendMessage
          TaskMode: WaitForCustomCallback
          Parameters: {resourceArn: 'acs:mns:::/queues/asked/messages', message: {token.$: $Context.Current.TaskToken}}
          End: true
"""
"""A distributed map, each of whose elements is an execution that is still waiting."""
TRUST = json.dumps(
    {
        "Statement": [{"Action": "sts:AssumeRole", "Effect": "Allow", "Principal": {"Service": ["fc.aliyuncs.com"]}}],
        "Version": "1",
    }
)
TEMPLATE = """ROSTemplateFormatVersion: '2015-09-01'
Resources:
  Letters: {Type: 'ALIYUN::MNS::Queue', Properties: {QueueName: letters, DelaySeconds: 3}}
"""
"""What `make` deploys, so that there is the record of a deployment."""
POLICY = json.dumps({"Statement": [{"Action": "mns:*", "Effect": "Allow", "Resource": "*"}], "Version": "1"})


def code(text="def handler(event, context):\n    return event\n"):
    """Return a package in base64."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("index.py", text)
    return base64.b64encode(packed.getvalue()).decode()


class World:
    """The services of one emulator, through *client*."""

    def __init__(self, client):
        self.client = client
        self.account = client.keys.account_id

    def fc(self, method, path, content=None, **headers):
        body = b"" if content is None else json.dumps(content).encode()
        reply = self.client.functions(method, path, body, {"Content-Type": "application/json", **headers})
        return json.loads(reply.body) if reply.body[:1] in (b"{", b"[") else reply.body.decode()

    def mns(self, method, target, body=""):
        reply = self.client.messages(
            method, target, body.encode(), {"Content-Type": "text/xml", "x-mns-version": "2015-06-06"}
        )
        if reply.status >= 400:
            raise CallRefused(reply.status, "", reply.body.decode())
        return reply.body.decode()

    def fill(self):
        """Make at least one of everything that is stored."""
        self.client.admin("POST", "clock", {"advance": "1h"})
        self._functions()
        self._messages()
        self._flows()
        self._people()
        self._objects()
        self.client.rpc(VPC, "CreateVpc", {"VpcName": "kept", "CidrBlock": "10.0.0.0/8"})

    def _functions(self):
        fc = self.fc
        fc("POST", f"{FC2}/services", {"serviceName": "shop", "description": "kept"})
        function = {"functionName": "order", "runtime": "python3.9", "handler": "index.handler",
                    "environmentVariables": {"A": "1"}, "code": {"zipFile": code()}}  # fmt: skip
        fc("POST", f"{FC2}/services/shop/functions", function)
        fc("POST", f"{FC2}/services/shop/versions", {"description": "first"})
        fc("POST", f"{FC2}/services/shop/aliases", {"aliasName": "online", "versionId": "1"})
        config = {"cronExpression": "@every 24h", "enable": True, "payload": "p"}
        timer = {"triggerName": "nightly", "triggerType": "timer", "qualifier": "LATEST"}
        timer["triggerConfig"] = json.dumps(config)
        fc("POST", f"{FC2}/services/shop/functions/order/triggers", timer)
        fc(
            "PUT",
            f"{FC2}/services/shop/functions/order/async-invoke-config",
            {"maxAsyncRetryAttempts": 2, "statefulInvocation": True},
        )
        fc("PUT", f"{FC2}/services/shop.online/functions/order/provision-config", {"target": 1})
        fc(
            "POST",
            f"{FC2}/layers/lib/versions",
            {"Code": {"zipFile": code("x = 1")}, "compatibleRuntime": ["python3.9"]},
        )
        fc("POST", f"{FC2}/tag", {"resourceArn": "services/shop", "tags": {"team": "a"}})
        fc("POST", f"{FC2}/custom-domains", {"domainName": "shop.example.com", "protocol": "HTTP"})
        fc("POST", f"{FC2}/services/shop/functions/order/invocations", {"n": 1}, **{
            "x-fc-invocation-type": "Async", "x-fc-stateful-async-invocation-id": "job-1"})  # fmt: skip
        fc("POST", f"{FC2}/services/shop/bindings", {"vpcId": "vpc-1"})
        fc("POST", f"{FC3}/functions", {**function, "functionName": "alone"})
        fc("PUT", f"{FC3}/functions/alone/concurrency", {"reservedConcurrency": 3})
        affinity = {
            "sessionAffinity": "HEADER_FIELD", "sessionAffinityConfig": '{"affinityHeaderFieldName":"talk-id"}'
        }  # fmt: skip
        fc("POST", f"{FC3}/functions", {**function, "functionName": "talk", **affinity})
        fc("POST", f"{FC3}/functions/talk/sessions", {"sessionId": "kept", "allowInternetAccess": True})

    def _messages(self):
        name = "<VisibilityTimeout>77</VisibilityTimeout>"
        self.mns("PUT", "/queues/orders", f"<Queue>{name}</Queue>")
        self.mns("PUT", "/?accountmeta=true", "<Account><LoggingBucket>logs</LoggingBucket></Account>")
        for text in ("one", "two"):
            body = base64.b64encode(text.encode()).decode()
            self.mns("POST", "/queues/orders/messages", f"<Message><MessageBody>{body}</MessageBody></Message>")
        self.mns("PUT", "/topics/news", "<Topic></Topic>")
        endpoint = "<Endpoint>http://127.0.0.1:9/</Endpoint>"
        self.mns("PUT", "/topics/news/subscriptions/app", f"<Subscription>{endpoint}</Subscription>")
        self.mns("POST", "/topics/news/messages", "<Message><MessageBody>pushed</MessageBody></Message>")
        self.client.rpc(OPEN, "EnableEndpoint", {"EndpointType": "public"})
        for kind in ("queues", "topics"):
            self.mns("PUT", f"/{kind}/gone", f"<{kind[:-1].title()}/>")
            self.mns("DELETE", f"/{kind}/gone")

    def _flows(self):
        call = self.client.workflow
        call("CreateFlow", Name="gone", Description="", Type="FDL", Definition=DONE)
        call("StartExecution", FlowName="gone", ExecutionName="first")
        self.client.admin("POST", "reset", {"flow": "gone"})
        call("DeleteFlow", Name="gone")
        for name, text in (("waits", FLOW), ("ends", DONE), ("calls", CALL)):
            call("CreateFlow", Name=name, Description="kept", Type="FDL", Definition=text)
            call("StartExecution", FlowName=name, ExecutionName="first", Input='{"n": 1}')
        self.mns("PUT", "/queues/asked", "<Queue/>")
        call("CreateFlow", Name="parts", Description="kept", Type="FDL", Definition=PARTS)
        call("StartExecution", FlowName="parts", ExecutionName="first", Input='{"parts": [1, 2]}')
        call("PublishFlowVersion", FlowName="ends", Description="first")
        routes = json.dumps([{"Version": "1", "Weight": 100}])
        call("CreateFlowAlias", FlowName="ends", Name="live", RoutingConfigurations=routes, Description="kept")
        call("CreateSchedule", FlowName="waits", ScheduleName="nightly", CronExpression="0 0 3 * * *", Payload="{}",
             Enable="true")  # fmt: skip

    def _people(self):
        for action, parameters in (
            ("CreateUser", {"UserName": "ann"}),
            ("CreateAccessKey", {"UserName": "ann"}),
            ("CreateGroup", {"GroupName": "staff"}),
            ("AddUserToGroup", {"UserName": "ann", "GroupName": "staff"}),
            ("CreateRole", {"RoleName": "worker", "AssumeRolePolicyDocument": TRUST.replace(
                '"Service": ["fc.aliyuncs.com"]', f'"RAM": ["acs:ram::{self.account}:root"]')}),
            ("CreatePolicy", {"PolicyName": "queues", "PolicyDocument": POLICY}),
            ("AttachPolicyToUser", {"PolicyType": "Custom", "PolicyName": "queues", "UserName": "ann"}),
            ("TagResources", {"ResourceType": "role", "ResourceNames.1": "worker", "Tag.1.Key": "team",
                              "Tag.1.Value": "a"}),
        ):  # fmt: skip
            self.client.rpc(RAM, action, parameters)
        role = f"acs:ram::{self.account}:role/worker"
        self.client.rpc(STS, "AssumeRole", {"RoleArn": role, "RoleSessionName": "kept", "DurationSeconds": "3600"})

        self.client.admin("POST", "accounts", {"accountId": "1111222233334444"})

    def _objects(self):
        self.objects("PUT", "/kept-bucket")
        self.objects("PUT", "/kept-bucket/letter.txt", b"hello", **{"Content-Type": "text/plain", "x-oss-meta-a": "1"})
        self.objects("PUT", "/kept-bucket?tagging", b"<Tagging><TagSet><Tag><Key>team</Key><Value>a</Value></Tag>"
                     b"</TagSet></Tagging>")  # fmt: skip
        begun = self.objects("POST", "/kept-bucket/large?uploads")
        upload = begun.partition("<UploadId>")[2].partition("<")[0]
        self.objects("PUT", f"/kept-bucket/large?partNumber=1&uploadId={upload}", b"part")

    def _map_run(self):
        events = self.client.workflow("GetExecutionHistory", FlowName="parts", ExecutionName="first")["Events"]
        started = next(each for each in events if each["Type"] == "MapRunStarted")
        name = json.loads(started["EventDetail"])["output"]["MapRunName"]
        return self.client.workflow("DescribeMapRun", FlowName="parts", ExecutionName="first", MapRunName=name)

    def objects(self, method, target, body=b"", **headers):
        reply = self.client.objects(method, target, body, headers)
        if reply.status >= 400:
            raise CallRefused(reply.status, "", reply.body.decode())
        return reply.body.decode()

    def answers(self):
        """Return what the read operations answer, without what differs from call to call.

        What came later than the first version is left out where it is refused, because it was not made.
        """
        fc = {path: self.fc("GET", path) for path in (
            f"{FC2}/services", f"{FC2}/services/shop/functions", f"{FC2}/services/shop/versions",
            f"{FC2}/services/shop/aliases", f"{FC2}/services/shop/functions/order/triggers",
            f"{FC2}/services/shop/functions/order/async-invoke-config", f"{FC2}/layers/lib/versions",
            f"{FC2}/custom-domains", f"{FC3}/functions", f"{FC3}/functions/alone/concurrency",
            f"{FC2}/services/shop/bindings",
        )}  # fmt: skip
        mns = {path: self.mns("GET", path) for path in (
            "/queues/orders", "/topics/news", "/topics/news/subscriptions/app", "/queues/orders/messages?peekonly=true",
        )}  # fmt: skip
        flows = [
            self.client.workflow("DescribeFlow", Name="waits"),
            self.client.workflow("ListFlowVersions", FlowName="ends"),
            self.client.workflow("DescribeSchedule", FlowName="waits", ScheduleName="nightly"),
            *(self.client.workflow("DescribeExecution", FlowName=name, ExecutionName="first")
              for name in ("waits", "ends", "calls")),
            self.client.workflow("GetExecutionHistory", FlowName="ends", ExecutionName="first"),
        ]  # fmt: skip
        later = {
            "sessions": lambda: self.fc("GET", f"{FC3}/functions/talk/sessions"),
            "letters": lambda: self.mns("GET", "/queues/letters"),
            "alias": lambda: self.client.workflow("DescribeFlowAlias", FlowName="ends", Name="live"),
            "map run": lambda: self._map_run(),
            "endpoint": lambda: self.client.rpc(OPEN, "GetEndpointAttribute", {"EndpointType": "public"}),
            "role tags": lambda: self.client.rpc(RAM, "ListTagResources", {
                "ResourceType": "role", "ResourceNames.1": "worker"}),
            "accounts": lambda: self.client.admin("GET", "accounts"),
            "object": lambda: self.objects("GET", "/kept-bucket/letter.txt"),
            "bucket tags": lambda: self.objects("GET", "/kept-bucket?tagging"),
            "objects": lambda: self.objects("GET", "/kept-bucket?list-type=2").partition("<Contents>")[2],
            "uploads": lambda: self.objects("GET", "/kept-bucket?uploads").partition("<Upload>")[2],
        }  # fmt: skip
        ram = [self.client.rpc(RAM, *each) for each in (
            ("GetUser", {"UserName": "ann"}), ("GetRole", {"RoleName": "worker"}),
            ("ListUsersForGroup", {"GroupName": "staff"}), ("ListPoliciesForUser", {"UserName": "ann"}),
        )]  # fmt: skip
        kept = {name: answer for name, read in later.items() if (answer := _answer(read)) is not None}
        return _steady({"fc": fc, "mns": mns, "flows": flows, "ram": ram, "later": kept})


def _answer(read):
    try:
        return read()
    except CallRefused:
        return None


def _steady(content):
    if isinstance(content, list):
        return [_steady(each) for each in content]
    if isinstance(content, dict):
        return {key: _steady(value) for key, value in content.items() if key.lower() not in VOLATILE}
    return content


VOLATILE = {"requestid", "location"}
