"""The members of every answer of 2016-08-15 and 2021-04-06 when nothing optional was set, each with its type.

Typed clients read an absent member, null, an empty text and an empty object differently. The types are those of
fc-go-sdk and alibabacloud-go/fc-open-20210406: what is always there here is a value in the Go models or is dereferenced
by their suites, and what may be absent is a pointer in them.
"""

import base64
import io
import json
import uuid
import zipfile

import pytest

from tests.waiting import eventually

pytest.importorskip("fc2")
pytestmark = pytest.mark.sdk

TIMES = "createdTime:text lastModifiedTime:text"
SERVICE = (
    f"{TIMES} description:text internetAccess:flag logConfig:object nasConfig:object role:text serviceId:text"
    " serviceName:text tracingConfig:object useSLRAuthentication:flag vpcConfig:object"
)
FUNCTION = (
    f"{TIMES} codeChecksum:text codeSize:number description:text environmentVariables:object"
    " functionId:text functionName:text handler:text initializationTimeout:number instanceConcurrency:number"
    " instanceType:text layers:list layersArnV2:list memorySize:number runtime:text timeout:number"
)
VERSION = f"{TIMES} description:text versionId:text"
ALIAS = f"{TIMES} additionalVersionWeight:null aliasName:text description:text versionId:text"
TRIGGER = {
    "2016-08-15": (
        f"{TIMES} description:text invocationRole:text qualifier:text sourceArn:null triggerConfig:object"
        " triggerId:text triggerName:text triggerType:text"
    ),
    "2021-04-06": (
        f"{TIMES} description:text invocationRole:text qualifier:text sourceArn:null status:null targetArn:text"
        " triggerConfig:text triggerId:text triggerName:text triggerType:text"
    ),
}
ADDRESSES = {"2016-08-15": " urlInternet:text", "2021-04-06": " domainName:text urlInternet:text urlIntranet:text"}
DOMAIN = f"{TIMES} accountId:text apiVersion:text domainName:text protocol:text"
ACCOUNT = {"2016-08-15": "availableAZs:list", "2021-04-06": "availableAZs:list defaultRole:text"}
PROVISION = "current:number currentError:text resource:text target:number"
ON_DEMAND = "maximumInstanceCount:number resource:text"
ASYNC = (
    f"{TIMES} function:text maxAsyncEventAgeInSeconds:null maxAsyncRetryAttempts:null qualifier:text service:text"
    " statefulInvocation:flag"
)
LAYER = (
    "acl:number arn:text arnV2:text code:object codeChecksum:text codeSize:number codesize:number"
    " compatibleRuntime:list createTime:text description:text layerName:text license:text version:number"
)
TASK = (
    "alreadyRetriedTimes:number destinationStatus:text durationMs:number endTime:number events:list functionName:text"
    " instanceId:text invocationErrorMessage:text invocationId:text qualifier:text requestId:text returnPayload:text"
    " serviceName:text startedTime:number status:text"
)
KINDS = {str: "text", bool: "flag", int: "number", float: "number", dict: "object", list: "list", type(None): "null"}


def package():
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("index.py", "def handler(event, context):\n    return event\n")
    return {"zipFile": base64.b64encode(sink.getvalue()).decode()}


def members(value):
    """Write an object as the table does: its members with their types, in order of their names."""
    return " ".join(f"{name}:{KINDS[type(each)]}" for name, each in sorted(value.items()))


def in_order(table):
    return " ".join(sorted(table.split()))


class Api:
    """One version of the API: an operation by method and path, answered with an object."""

    def __init__(self, client, version):
        self.version = version
        self._client = client

    def call(self, method, path, body=None):
        path = f"/{self.version}{path}"
        fields = self._client._build_common_headers(method, path, {})
        text = json.dumps(body).encode() if body is not None else None
        return self._client._do_request(method, path, fields, body=text).json()

    def start(self, path, headers):
        """Call a function without waiting; there is no answer to read."""
        path = f"/{self.version}{path}"
        self._client._do_request("POST", path, self._client._build_common_headers("POST", path, headers), body=b"{}")


@pytest.fixture(params=["2016-08-15", "2021-04-06"])
def api(request, emulator):
    """Each version of the API."""
    return Api(emulator.fc2(), request.param)


def test_members_of_answers_with_nothing_set(api):
    """Made, read, changed and listed alike."""
    name = f"s{uuid.uuid4().hex[:12]}"
    service, function = f"/services/{name}", f"/services/{name}/functions/f"
    domain = f"{name}.example.com"
    config = {"cronExpression": "@every 5m"}, {"authType": "anonymous", "methods": ["GET"]}
    timer, http = (json.dumps(each) if api.version == "2021-04-06" else each for each in config)
    made = {"functionName": "f", "handler": "index.handler", "runtime": "python3.9", "code": package()}
    rows = [
        (SERVICE, "POST", "/services", {"serviceName": name}),
        (SERVICE, "GET", service, None),
        (SERVICE, "PUT", service, {}),
        (FUNCTION, "POST", f"{service}/functions", made),
        (FUNCTION, "GET", function, None),
        (FUNCTION, "PUT", function, {}),
        ("functions:list", "GET", f"{service}/functions", None),
        ("checksum:text url:text", "GET", f"{function}/code", None),
        (VERSION, "POST", f"{service}/versions", {}),
        ("direction:text versions:list", "GET", f"{service}/versions", None),
        (ALIAS, "POST", f"{service}/aliases", {"aliasName": "a", "versionId": "1"}),
        (ALIAS, "GET", f"{service}/aliases/a", None),
        (ALIAS, "PUT", f"{service}/aliases/a", {}),
        ("aliases:list", "GET", f"{service}/aliases", None),
        (
            TRIGGER[api.version],
            "POST",
            f"{function}/triggers",
            {"triggerName": "t", "triggerType": "timer", "triggerConfig": timer},
        ),
        (TRIGGER[api.version], "GET", f"{function}/triggers/t", None),
        (
            TRIGGER[api.version] + ADDRESSES[api.version],
            "POST",
            f"{function}/triggers",
            {"triggerName": "h", "triggerType": "http", "triggerConfig": http},
        ),
        (TRIGGER[api.version] + ADDRESSES[api.version], "GET", f"{function}/triggers/h", None),
        ("triggers:list", "GET", f"{function}/triggers", None),
        (DOMAIN, "POST", "/custom-domains", {"domainName": domain, "protocol": "HTTP"}),
        (DOMAIN, "GET", f"/custom-domains/{domain}", None),
        (DOMAIN, "PUT", f"/custom-domains/{domain}", {"protocol": "HTTP"}),
        ("customDomains:list", "GET", "/custom-domains", None),
        (PROVISION, "PUT", f"/services/{name}.a/functions/f/provision-config", {"target": 0}),
        (PROVISION, "GET", f"/services/{name}.a/functions/f/provision-config", None),
        ("provisionConfigs:list", "GET", "/provision-configs", None),
        (ON_DEMAND, "PUT", f"/services/{name}.a/functions/f/on-demand-config", {"maximumInstanceCount": 5}),
        (ON_DEMAND, "GET", f"/services/{name}.a/functions/f/on-demand-config", None),
        ("configs:list", "GET", "/on-demand-configs", None),
        (ASYNC, "PUT", f"{function}/async-invoke-config", {}),
        (ASYNC, "GET", f"{function}/async-invoke-config", None),
        ("configs:list nextToken:text", "GET", f"{function}/async-invoke-configs", None),
        ("invocations:list", "GET", f"{function}/stateful-async-invocations", None),
        ("instances:list", "GET", f"{function}/instances", None),
        (LAYER, "POST", f"/layers/{name}/versions", {"code": package(), "compatibleRuntime": ["python3.9"]}),
        (LAYER, "GET", f"/layers/{name}/versions/1", None),
        ("layers:list", "GET", f"/layers/{name}/versions", None),
        ("layers:list", "GET", "/layers", None),
        (ACCOUNT[api.version], "GET", "/account-settings", None),
        ("", "POST", f"{service}/bindings", {"vpcId": "vpc-1"}),
        ("vpcIds:list", "GET", f"{service}/bindings", None),
    ]

    seen = [(f"{method} {path}", members(api.call(method, path, body))) for _, method, path, body in rows]

    assert seen == [(f"{method} {path}", in_order(table)) for table, method, path, _ in rows]


def test_members_inside_a_service_with_nothing_set(api):
    """Structures are whole; what is in them is empty, false or null."""
    name = f"s{uuid.uuid4().hex[:12]}"

    service = api.call("POST", "/services", {"serviceName": name, "tracingConfig": {}})

    assert service["logConfig"] == {
        "project": "",
        "logstore": "",
        "enableRequestMetrics": False,
        "enableInstanceMetrics": False,
        "logBeginRule": service["logConfig"]["logBeginRule"],
    }
    assert service["tracingConfig"] == {"type": None, "params": None}
    assert (service["role"], service["description"]) == ("", "")


def test_members_of_tasks_and_of_what_lists_hold(api):
    """Elements are as whole as single answers; only a single task has its payload, and only one that ended its end."""
    name = f"s{uuid.uuid4().hex[:12]}"
    function = f"/services/{name}/functions/f"
    api.call("POST", "/services", {"serviceName": name})
    made = {"functionName": "f", "handler": "index.handler", "runtime": "python3.9", "code": package()}
    api.call("POST", f"/services/{name}/functions", made)
    api.call("PUT", f"{function}/async-invoke-config", {"statefulInvocation": True})
    identity = {"x-fc-invocation-type": "Async", "x-fc-stateful-async-invocation-id": "first"}

    api.start(f"{function}/invocations", identity)
    tasks = f"{function}/stateful-async-invocations"
    single = eventually(lambda: (task := api.call("GET", f"{tasks}/first"))["status"] == "Succeeded" and task)
    listed = api.call("GET", tasks)["invocations"]
    owners = api.call("GET", "/stateful-async-invocation-functions")
    tagged = api.call("POST", "/tag", {"resourceArn": f"services/{name}", "tags": {"a": "b"}})

    assert [members(task) for task in listed] == [in_order(TASK)]
    assert members(single) == in_order(f"{TASK} invocationPayload:text")
    assert {members(event) for event in single["events"]} == {
        "eventDetail:text eventId:number status:text timestamp:number"
    }
    assert {members(owner) for owner in owners["data"]} == {"functionName:text qualifier:text serviceName:text"}
    assert members(tagged) == "requestId:text"


def test_members_that_one_version_alone_has(api):
    """Event sources came with the later version, quotas and lent buckets went with the earlier one."""
    name = f"s{uuid.uuid4().hex[:12]}"
    sources = f"/services/{name}/functions/f/event-sources"
    source = "createdTime:text sourceArn:text"
    if api.version == "2021-04-06":
        api.call("POST", "/services", {"serviceName": name})
        made = {"functionName": "f", "handler": "index.handler", "runtime": "python3.9", "code": package()}
        api.call("POST", f"/services/{name}/functions", made)
        rows = [
            (source, "POST", sources, {"sourceArn": "acs:mns:cn-hangzhou:1:/queues/q"}),
            ("eventSources:list", "GET", sources, None),
            ("reservedCapacities:list", "GET", "/reserved-capacities", None),
        ]
    else:
        limits = "CodeSizeLimit:text Concurrency:text EnhancedCodeSizeLimit:text GPUCodeSizeLimit:text"
        token = "codeSizeLimit:number credentials:object objectName:text ossBucket:text ossRegion:text"
        rows = [
            (limits, "GET", "/accountConfigs", None),
            (token, "GET", "/tempBucketToken", None),
            ("reservedCapacities:list", "GET", "/reservedCapacities", None),
        ]

    seen = [(path, members(api.call(method, path, body))) for _, method, path, body in rows]

    assert seen == [(path, in_order(table)) for table, _, path, _ in rows]
