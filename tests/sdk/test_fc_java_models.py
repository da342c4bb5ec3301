"""Answers of 2016-08-15 with everything optional set, read with the types of fc-java-sdk's models.

Gson reads a number into a text, leaves out what is null or not in the model, and fails at a structure where a scalar is
declared, at a text or a fraction where a whole number is. ``test_fc_members`` has the same for nothing set.
"""

import time
import uuid

import pytest

from tests.sdk.test_fc_members import Api, package

pytest.importorskip("fc2")
pytestmark = pytest.mark.sdk

TIMES = "createdTime:text lastModifiedTime:text"
MODELS = {
    "Service": f"{TIMES} serviceName:text serviceId:text description:text role:text internetAccess:flag logConfig:Log"
    " vpcConfig:Vpc nasConfig:Nas tracingConfig:Tracing",
    "Log": "project:text logstore:text enableRequestMetrics:flag enableInstanceMetrics:flag logBeginRule:text",
    "Vpc": "vpcId:text vSwitchIds:[text] securityGroupId:text",
    "Nas": "userId:whole groupId:whole mountPoints:[Mount]",
    "Mount": "serverAddr:text mountDir:text",
    "Tracing": "type:text params:any",
    "Function": f"{TIMES} functionId:text functionName:text description:text runtime:text handler:text initializer:text"
    " timeout:whole initializationTimeout:whole memorySize:whole gpuMemorySize:whole codeSize:whole codeChecksum:text"
    " environmentVariables:{text} instanceConcurrency:whole instanceSoftConcurrency:whole instanceType:text"
    " customContainerConfig:Container caPort:whole instanceLifecycleConfig:Lifecycle layers:[text] customDNS:Dns"
    " customRuntimeConfig:Runtime",
    "Container": "image:text command:text args:text accelerationType:text instanceID:text accelerationInfo:Ready",
    "Ready": "status:text",
    "Lifecycle": "preFreeze:Hook preStop:Hook",
    "Hook": "handler:text timeout:whole",
    "Dns": "nameServers:[text] searches:[text] dnsOptions:[DnsOption]",
    "DnsOption": "name:text value:text",
    "Runtime": "command:[text] args:[text]",
    "Code": "url:text checksum:text",
    "Version": f"{TIMES} versionId:text description:text",
    "Alias": "aliasName:text versionId:text description:text additionalVersionWeight:{fraction}",
    "Trigger": f"{TIMES} triggerName:text sourceArn:text triggerType:text invocationRole:text qualifier:text"
    " triggerConfig:any urlInternet:text urlIntranet:text",
    "Provision": "resource:text target:whole scheduledActions:[Action] targetTrackingPolicies:[Policy] current:whole"
    " alwaysAllocateCPU:flag currentError:text",
    "Action": "name:text startTime:text endTime:text target:whole scheduleExpression:text",
    "Policy": "name:text startTime:text endTime:text metricType:text metricTarget:fraction minCapacity:whole"
    " maxCapacity:whole",
    "OnDemand": "resource:text maximumInstanceCount:whole",
    "Async": f"{TIMES} service:text function:text qualifier:text destinationConfig:Destinations"
    " maxAsyncEventAgeInSeconds:whole maxAsyncRetryAttempts:whole statefulInvocation:flag",
    "Destinations": "onSuccess:Destination onFailure:Destination",
    "Destination": "destination:text",
    "Task": "serviceName:text functionName:text qualifier:text invocationId:text status:text startedTime:text"
    " endTime:text invocationErrorMessage:text invocationPayload:text destinationStatus:text requestId:text"
    " alreadyRetriedTimes:text instanceId:text events:[Event]",
    "Event": "eventId:whole status:text timestamp:whole eventDetail:text",
    "Layer": "layerName:text version:whole description:text code:any codeSize:whole codeChecksum:text createTime:text"
    " compatibleRuntime:[text] acl:whole arn:text Arn:text",
    "Tags": "requestId:text resourceArn:text tags:{text}",
    "Domain": f"{TIMES} domainName:text accountId:text protocol:text apiVersion:text routeConfig:Routes certConfig:any"
    " tlsConfig:Tls",
    "Routes": "routes:[Route]",
    "Route": "path:text serviceName:text functionName:text qualifier:text",
    "Tls": "minVersion:text cipherSuites:[text]",
    "Services": "services:[Service] nextToken:text",
    "Functions": "functions:[Function] nextToken:text",
    "Versions": "versions:[Version] nextToken:text direction:text",
    "Aliases": "aliases:[Alias] nextToken:text",
    "Triggers": "triggers:[Trigger] nextToken:text",
    "Provisions": "provisionConfigs:[Provision] nextToken:text",
    "OnDemands": "configs:[OnDemand] nextToken:text",
    "Asyncs": "configs:[Async] nextToken:text",
    "Tasks": "invocations:[Task] nextToken:text",
    "Layers": "layers:[Layer] nextToken:text nextVersion:whole",
    "Domains": "customDomains:[Domain] nextToken:text",
}
FROM, UNTIL = "2030-01-01T00:00:00Z", "2031-01-01T00:00:00Z"


def unreadable(value, kind, place=""):
    """Yield what Gson would fail at, reading *value* into *kind*."""
    if value is None or kind == "any":
        return
    opened, inner = kind[0], kind[1:-1]
    if opened in "[{":
        wanted = list if opened == "[" else dict
        if not isinstance(value, wanted):
            yield f"{place}: {value!r} is no {kind}"
            return
        for each in value if opened == "[" else value.values():
            yield from unreadable(each, inner, f"{place}[]")
    elif kind in MODELS:
        if not isinstance(value, dict):
            yield f"{place}: {value!r} is no {kind}"
            return
        for name, member in (row.split(":") for row in MODELS[kind].split()):
            yield from unreadable(value.get(name), member, f"{place}.{name}")
    elif not reads(value, kind):
        yield f"{place}: {value!r} is no {kind}"


def reads(value, kind):
    """Whether Gson reads a scalar."""
    if isinstance(value, (list, dict)):
        return False
    if kind == "text":
        return True
    if kind == "flag":
        return isinstance(value, bool)
    numbers = (int, float) if kind == "fraction" else int
    return isinstance(value, numbers) and not isinstance(value, bool)


def lost(sent, answered, place=""):
    """Yield what was asked for and does not come back as it was."""
    if isinstance(sent, dict):
        for name, value in sent.items():
            yield from lost(value, answered.get(name) if isinstance(answered, dict) else None, f"{place}.{name}")
    elif sent != answered:
        yield f"{place}: {sent!r} became {answered!r}"


def resources(name, account):
    """Every kind of resource with all it can have: model, path, name of one and of the list, what is asked for."""
    service = f"/services/{name}"
    role = f"acs:ram::{account}:role/r"
    yield "Service", "/services", name, {
        "serviceName": name, "description": "d", "role": role, "internetAccess": False,
        "vpcConfig": {"vpcId": "vpc-1", "vSwitchIds": ["vsw-1"], "securityGroupId": "sg-1"},
        "nasConfig": {"userId": 1, "groupId": 2, "mountPoints": [{"serverAddr": "nas.example:/", "mountDir": "/mnt"}]},
        "tracingConfig": {"type": "Jaeger", "params": {"endpoint": "http://127.0.0.1:1"}},
    }  # fmt: skip
    both = {"handler": "index.handler", "description": "d", "timeout": 9, "memorySize": 512}
    yield "Function", f"{service}/functions", "f", {
        **both, "functionName": "f", "runtime": "python3", "initializer": "index.i", "initializationTimeout": 5,
        "environmentVariables": {"A": "b"}, "instanceConcurrency": 4, "instanceSoftConcurrency": 2,
        "instanceType": "e1",
        "customDNS": {"nameServers": ["1.1.1.1"], "searches": ["s"], "dnsOptions": [{"name": "ndots", "value": "2"}]},
        "instanceLifecycleConfig": {
            "preFreeze": {"handler": "index.p", "timeout": 3}, "preStop": {"handler": "index.q", "timeout": 3},
        },
    }  # fmt: skip
    yield "Function", f"{service}/functions", "g", {
        **both, "functionName": "g", "runtime": "custom", "caPort": 9000,
        "customRuntimeConfig": {"command": ["a"], "args": ["b"]},
    }  # fmt: skip
    image = {"image": "registry.example/a/b:c", "command": '["a"]', "args": '["b"]', "instanceID": "cri-1"}
    yield "Function", f"{service}/functions", "h", {
        **both, "functionName": "h", "runtime": "custom-container", "gpuMemorySize": 1024,
        "instanceType": "fc.gpu.tesla.1",
        "customContainerConfig": {**image, "accelerationType": "Default"},
    }  # fmt: skip
    yield "Version", f"{service}/versions", None, {"description": "v"}
    yield "Alias", f"{service}/aliases", "a", {
        "aliasName": "a", "versionId": "1", "description": "d", "additionalVersionWeight": {"1": 0.5},
    }  # fmt: skip
    timer = {"cronExpression": "@every 24h", "enable": True, "payload": "p"}
    yield "Trigger", f"{service}/functions/f/triggers", "t", {
        "triggerName": "t", "triggerType": "timer", "triggerConfig": timer,
    }  # fmt: skip
    yield "Trigger", f"{service}/functions/g/triggers", "w", {
        "triggerName": "w", "triggerType": "http", "triggerConfig": {"authType": "anonymous", "methods": ["GET"]},
    }  # fmt: skip
    yield "Trigger", f"{service}/functions/f/triggers", "c", {
        "triggerName": "c", "triggerType": "cdn_events", "sourceArn": f"acs:cdn:*:{account}", "invocationRole": role,
        "triggerConfig": {
            "eventName": "LogFileCreated", "eventVersion": "1.0.0", "notes": "n", "filter": {"domain": ["a.example"]},
        },
    }  # fmt: skip
    yield "Domain", "/custom-domains", f"{name}.example.com", {
        "domainName": f"{name}.example.com", "protocol": "HTTP",
        "routeConfig": {"routes": [{"path": "/a", "serviceName": name, "functionName": "g", "qualifier": "LATEST"}]},
        "tlsConfig": {"minVersion": "TLSv1.2", "cipherSuites": ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]},
    }  # fmt: skip


def settings(name, account):
    """What is put on functions: model, path, what is asked for."""
    function, live = f"/services/{name}/functions/f", f"/services/{name}.a/functions/f"
    yield "Provision", f"{live}/provision-config", {
        "target": 1, "alwaysAllocateCPU": True,
        "scheduledActions": [
            {"name": "s", "startTime": FROM, "endTime": UNTIL, "target": 2, "scheduleExpression": "cron(0 0 4 * * *)"},
        ],
        "targetTrackingPolicies": [
            {
                "name": "t", "startTime": FROM, "endTime": UNTIL, "metricType": "ProvisionedConcurrencyUtilization",
                "metricTarget": 0.6, "minCapacity": 1, "maxCapacity": 2,
            },
        ],
    }  # fmt: skip
    yield "OnDemand", f"{live}/on-demand-config", {"maximumInstanceCount": 5}
    target = {"destination": f"acs:fc:cn-hangzhou:{account}:services/{name}/functions/g"}
    yield "Async", f"{function}/async-invoke-config", {
        "maxAsyncEventAgeInSeconds": 100, "maxAsyncRetryAttempts": 1, "statefulInvocation": True,
        "destinationConfig": {"onSuccess": target, "onFailure": target},
    }  # fmt: skip


@pytest.fixture
def api(emulator):
    """The version of the API that the SDK speaks."""
    return Api(emulator.fc2(), "2016-08-15")


@pytest.fixture
def name():
    """A service of its own."""
    return f"j{uuid.uuid4().hex[:12]}"


def test_answers_with_everything_set_fit_the_models(api, emulator, name):
    """Made, read, changed and listed; what was asked for comes back, of the type it was asked with."""
    account = emulator.keys["accountId"]
    found = []

    def look(model, answer, sent=()):
        found.extend(unreadable(answer, model, model))
        found.extend(lost(dict(sent), answer, model))

    for model, path, one, asked in resources(name, account):
        body = {**asked, "code": package()} if model == "Function" and "customContainerConfig" not in asked else asked
        look(model, api.call("POST", path, body), asked)
        if one is not None:
            look(model, api.call("GET", f"{path}/{one}"), asked)
            changed = {"protocol": "HTTP"} if model == "Domain" else {}
            look(model, api.call("PUT", f"{path}/{one}", changed), asked)
        plural = f"{model}s" if model != "Alias" else "Aliases"
        look(plural, api.call("GET", path))
    for model, path, asked in settings(name, account):
        look(model, api.call("PUT", path, asked), asked)
        look(model, api.call("GET", path), asked)
    look("Provisions", api.call("GET", "/provision-configs"))
    look("OnDemands", api.call("GET", "/on-demand-configs"))
    look("Asyncs", api.call("GET", f"/services/{name}/functions/f/async-invoke-configs"))
    look("Code", api.call("GET", f"/services/{name}/functions/f/code"))
    api.call("PUT", f"/services/{name}.a/functions/f/provision-config", {"target": 0})

    assert found == []


def test_layers_and_tags_fit_the_models(api, emulator, name):
    """Versions of a layer are numbers, whatever their type in a model."""
    versions = f"/layers/{name}/versions"
    asked = {"description": "d", "compatibleRuntime": ["python3"]}
    api.call("POST", "/services", {"serviceName": name})

    made = api.call("POST", versions, {**asked, "Code": package()})
    answers = [made, api.call("GET", f"{versions}/1")]
    lists = [api.call("GET", versions), api.call("GET", "/layers")]
    api.call("POST", "/tag", {"resourceArn": f"services/{name}", "tags": {"a": "b"}})
    tags = emulator.fc2().get_resource_tags(f"services/{name}").data

    assert [problem for each in answers for problem in (*unreadable(each, "Layer"), *lost(asked, each))] == []
    assert [problem for each in lists for problem in unreadable(each, "Layers")] == []
    assert (list(unreadable(tags, "Tags")), tags["tags"]) == ([], {"a": "b"})


def test_tasks_fit_the_models(api, emulator, name):
    """An asynchronous call that has ended."""
    service = f"/services/{name}"
    api.call("POST", "/services", {"serviceName": name})
    made = {"functionName": "f", "handler": "index.handler", "runtime": "python3", "code": package()}
    api.call("POST", f"{service}/functions", made)
    api.call("PUT", f"{service}/functions/f/async-invoke-config", {"statefulInvocation": True})
    fields = {"x-fc-invocation-type": "Async", "x-fc-stateful-async-invocation-id": "one"}
    emulator.fc2().invoke_function(name, "f", payload=b"{}", headers=fields)

    tasks = f"{service}/functions/f/stateful-async-invocations"
    deadline = time.monotonic() + 30
    while (task := api.call("GET", f"{tasks}/one"))["status"] not in {"Succeeded", "Failed"}:
        assert time.monotonic() < deadline, task

    assert (task["status"], list(unreadable(task, "Task"))) == ("Succeeded", [])
    assert len(task["events"]) > 1
    assert list(unreadable(api.call("GET", tasks), "Tasks")) == []


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"acl": "0"}, "Layer"),
        ({"mountPoints": {}}, "Nas"),
        ({"additionalVersionWeight": {"1": "x"}}, "Alias"),
        ({"statefulInvocation": 1}, "Async"),
        ({"description": {}}, "Version"),
        ([], "Version"),
        ({"versions": [[]]}, "Versions"),
    ],
)
def test_types_are_told_apart(value, kind):
    """The check above would notice."""
    assert len(list(unreadable(value, kind))) == 1
