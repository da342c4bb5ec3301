"""States of an emulator, drawn at random, and everything that the API shows of one: shared by tests of `export`."""

import json
from io import BytesIO
from zipfile import ZipFile

from hypothesis import strategies as st

from emulator.deploy.fc_providers import path_of
from emulator.deploy.kinds import PROVIDERS
from emulator.deploy.model import Refused, Resource

V2, V3 = "/2016-08-15", "/2023-03-30"
AWKWARD = (
    "plain", "${env(X)}", "${config('AccountID')}", "${vars.region}", "${!x}", "{{ name }}", "{accountID}", "${a.b}",
    "$${x}", "!Ref x", "007", "true", "null", "~", "1e3", " led by a blank", "ends with one ", "two\nlines\n", "\ttab",
    "a: b # c", "'", '"', "\\", "é 中 \U0001f600", "%{x}", "2026-01-01", "file://x", "*x", "&x", "- x", "@", "#", "${}",
    "a\n\n  b", "\r\nx", "\u2028", "\x7f", "line\\n", "acs:fc:cn-hangzhou:1:x", "${file(/etc/hostname)}", "path('x')",
)  # fmt: skip
"""What some format takes for more than text."""

TEXTS = st.sampled_from(AWKWARD)
_TAG = ("Tag.1.Key", "Tag.1.Value")
NAMES = st.sampled_from(["a", "b-1", "C_2"])


def a_package(text):
    archive = BytesIO()
    with ZipFile(archive, "w") as target:
        target.writestr("index.py", f"# {text!r}\ndef handler(event, context):\n    return event\n")
        target.writestr("lib/data.txt", text.encode("utf-8", "replace"))
    return archive.getvalue()


def maybe(**members):
    """Draw a map with any of its members."""
    return st.fixed_dictionaries({}, optional=members)


class State:
    """The calls that make a state, in order; *draw* decides."""

    def __init__(self, draw, account, region):
        self.draw = draw
        self.account, self.region = account, region
        self.calls = []
        self.queues, self.topics, self.roles = [], [], []
        self.layers = []

    def add(self, kind, *identity, package=None, **properties):
        made = Resource(logical="/".join(identity), type=kind, kind=kind, identity=identity, properties=properties,
                        package=package)  # fmt: skip
        self.calls.append(made)

    def some(self, strategy, most=2):
        return self.draw(st.lists(strategy, max_size=most, unique=True))

    def maybe(self, strategy):
        return self.draw(st.none() | strategy)

    def arn(self, service, rest):
        return f"acs:{service}:{self.region}:{self.account}:{rest}"


@st.composite
def states(draw, account, region):
    """Draw a small state: the resources in an order in which they can be made."""
    it = State(draw, account, region)
    for add in (_access, _messages, _layers, _functions, _services, _flows):
        if draw(st.integers(0, 3)):
            add(it)
    return it.calls


def _tagged(it, own, version, action, **parameters):
    """Tag the newest resource now and then; *own* are the names of key and value in the parameters."""
    if it.draw(st.booleans()) and it.draw(st.booleans()):
        tag = {own[0]: "team", own[1]: it.draw(st.sampled_from(["a", "", "${env(X)}"]))}
        it.calls.append(lambda api: api.rpc(version, action, {**parameters, **tag}))


def _access(it):
    trust = {"Statement": [{"Action": "sts:AssumeRole", "Effect": "Allow",
                            "Principal": {"Service": ["fc.aliyuncs.com"]}}], "Version": "1"}  # fmt: skip
    document = {"Version": "1", "Statement": [{"Effect": "Allow", "Action": "mns:*", "Resource": "*"}]}
    policies = it.some(NAMES)
    for name in policies:
        it.add("ram.policy", f"p-{name}".replace("_", "-"), PolicyDocument=json.dumps(document),
               Description=it.draw(TEXTS))  # fmt: skip
        _tagged(it, _TAG, "2015-05-01", "TagResources", ResourceType="policy",
                **{"ResourceNames.1": f"p-{name}".replace("_", "-")})  # fmt: skip
    for name in it.some(NAMES):
        role = f"r-{name}".lower().replace("_", "-")
        it.roles.append(role)
        it.add("ram.role", role, AssumeRolePolicyDocument=json.dumps(trust), Description=it.maybe(TEXTS),
               MaxSessionDuration=it.maybe(st.sampled_from([3600, 7200, 43200])))  # fmt: skip
        _tagged(it, _TAG, "2015-05-01", "TagResources", ResourceType="role", **{"ResourceNames.1": role})
        for policy in policies:
            it.add("ram.attachment", "Custom", f"p-{policy}".replace("_", "-"), role)
        if it.draw(st.booleans()):
            it.add("ram.attachment", "System", "AliyunFCFullAccess", role)
    if it.draw(st.booleans()):
        acl = it.draw(st.sampled_from(["private", "public-read"]))
        storage = it.draw(st.sampled_from(["Standard", "IA"]))
        it.add("oss.bucket", f"bucket-{it.account[-4:]}", AccessControl=acl, StorageClass=storage, DeletionForce=False)
        if it.draw(st.booleans()):
            text = b"<Tagging><TagSet><Tag><Key>team</Key><Value>a</Value></Tag></TagSet></Tagging>"
            it.calls.append(lambda api: api.objects("PUT", f"/bucket-{it.account[-4:]}?tagging", text))


def _messages(it):
    for name in it.some(NAMES):
        queue = f"q-{name}".replace("_", "-")
        dead = st.sampled_from(it.queues) if it.queues else st.nothing()
        policy = it.maybe(dead) if it.queues else None
        extra = {} if policy is None else {"DlqPolicy": {"Enabled": True, "MaxReceiveCount": 3,
                                           "DeadLetterTargetQueue": it.arn("mns", f"/queues/{policy}")}}  # fmt: skip
        it.queues.append(queue)
        sealed = {"EnableSSE": True, "SseType": "SSE-MNS"} if it.draw(st.booleans()) and it.draw(st.booleans()) else {}
        it.add("mns.queue", queue, **sealed, **it.draw(maybe(
            DelaySeconds=st.integers(0, 5), VisibilityTimeout=st.integers(1, 99), PollingWaitSeconds=st.integers(0, 30),
            MaximumMessageSize=st.just(65536), MessageRetentionPeriod=st.integers(60, 999),
            EnableLogging=st.booleans(), QueueType=st.sampled_from(["normal", "fifo"]),
        )), **extra)  # fmt: skip
    for name in it.some(NAMES):
        topic = f"t-{name}".replace("_", "-")
        it.topics.append(topic)
        it.add("mns.topic", topic, **it.draw(maybe(
            MaxMessageSize=st.sampled_from([1024, 65536]), EnableLogging=st.booleans())))  # fmt: skip
        for own in it.some(NAMES):
            ends = ["http://example.com/x?a=${env(X)}", "mail:directmail:ops@example.com"]
            ends += [it.arn("mns", f"queues/{queue}") for queue in it.queues]
            it.add("mns.subscription", topic, f"s-{own}".replace("_", "-"), Endpoint=it.draw(st.sampled_from(ends)),
                   **it.draw(maybe(
                       NotifyContentFormat=st.sampled_from(["XML", "JSON", "SIMPLIFIED"]),
                       NotifyStrategy=st.sampled_from(["BACKOFF_RETRY", "EXPONENTIAL_DECAY_RETRY"]),
                       MessageTag=st.sampled_from(["red", "a.b", "007"]))))  # fmt: skip


def _layers(it):
    for name in it.some(NAMES):
        for number in range(1, it.draw(st.integers(1, 2)) + 1):
            it.add("fc3.layer", name, package=a_package(f"layer {number}"), compatibleRuntime=["python3.10"],
                   description=it.draw(TEXTS), **it.draw(maybe(license=st.just("MIT"))))  # fmt: skip
            it.layers.append(it.arn("fc", f"layers/{name}/versions/{number}"))


_COMMON = {
    "timeout": st.integers(1, 60),
    "description": TEXTS,
    "instanceConcurrency": st.just(1),
    "environmentVariables": st.dictionaries(st.sampled_from(["A", "B_C", "SECRET_KEY"]), TEXTS, max_size=2),
    "instanceLifecycleConfig": st.just({"preStop": {"handler": "index.handler", "timeout": 3}}),
    "diskSize": st.sampled_from([512, 10240]),
    "cpu": st.sampled_from([0.25, 0.5]),
    "customDNS": st.just(
        {"nameServers": ["1.1.1.1"], "searches": ["x.y"], "dnsOptions": [{"name": "a", "value": "1"}]}
    ),
}
_ONLY_3 = {
    "ossMountConfig": st.just(
        {
            "mountPoints": [
                {"bucketName": "b", "bucketPath": "/", "endpoint": "http://oss", "mountDir": "/mnt/b", "readOnly": True}
            ]
        }
    ),
    "idleTimeout": st.just(60),
    "disableOndemand": st.booleans(),
    "disableInjectCredentials": st.sampled_from(["None", "Env", "Request", "All"]),
    "sessionAffinity": st.just("MCP_SSE"),
    "sessionAffinityConfig": st.just('{"sseEndpointPath": "/sse"}'),
}
_ONLY_2 = {
    "initializer": st.just("index.init"),
    "initializationTimeout": st.integers(1, 60),
    "instanceType": st.sampled_from(["e1", "c1"]),
    "caPort": st.just(9000),
}
_PROGRAM = {
    "command": ["./run"],
    "args": ["${x}", "007"],
    "port": 8080,
    "healthCheckConfig": {
        "httpGetUrl": "/ok",
        "initialDelaySeconds": 1,
        "periodSeconds": 3,
        "timeoutSeconds": 1,
        "failureThreshold": 3,
        "successThreshold": 1,
    },
}
_SHARED = {
    "internetAccess": st.booleans(),
    "logConfig": st.just({"project": "p", "logstore": "l", "enableRequestMetrics": True}),
    "vpcConfig": st.just({"vpcId": "v", "vSwitchIds": ["s"], "securityGroupId": "g"}),
    "nasConfig": st.just(
        {"userId": 7, "groupId": 7, "mountPoints": [{"serverAddr": "n:/a", "mountDir": "/mnt/a", "enableTLS": True}]}
    ),
    "tracingConfig": st.just({"type": "Jaeger", "params": {"endpoint": "http://t"}}),
}


def _config(it, *, shared):
    config = it.draw(maybe(**_COMMON, **(_SHARED | _ONLY_3 if shared else _ONLY_2)))
    if "sessionAffinity" in config:
        config.pop("instanceConcurrency", None)  # MCP over SSE has one of its own
    if it.draw(st.booleans()) and it.draw(st.booleans()):
        config |= {"customRuntimeConfig": _PROGRAM, "runtime": "custom"}
    if it.layers and it.draw(st.booleans()):
        config["layers"] = [it.draw(st.sampled_from(it.layers))]
    if shared and it.roles and it.draw(st.booleans()):
        config["role"] = f"acs:ram::{it.account}:role/{it.draw(st.sampled_from(it.roles))}"
    return {"runtime": "python3.10", "handler": "index.handler", "memorySize": 512, **config}


def _versions(it, kind, owner, change):
    """Publish up to two versions, with a *change* between them, and give them aliases; return the qualifiers."""
    published, aliases = it.draw(st.integers(0, 2)), []
    for number in range(1, published + 1):
        change(number)
        it.add(f"{kind}.version", owner, "version", description=f"version {number}")
    numbers = [str(number) for number in range(1, published + 1)]
    for name in it.some(st.sampled_from(["live", "old"])) if numbers or kind == "fc3" else []:
        lead = it.draw(st.sampled_from([*numbers, "LATEST"] if kind == "fc3" else numbers))
        others = [number for number in numbers if number != lead]
        weights = {others[0]: 0.25} if others and lead != "LATEST" and it.draw(st.booleans()) else {}
        text = it.draw(TEXTS)
        it.add(f"{kind}.alias", owner, name, versionId=lead, description=text, additionalVersionWeight=weights)
        aliases.append(name)
    return ["LATEST", *aliases], numbers


def _triggers(it, kind, *function, qualifiers):
    kinds = ["http", "timer", "oss", "log", "tablestore", "cdn_events", "eventbridge"]
    kinds += ["mns_topic"] if it.topics else []
    for what in it.some(st.sampled_from(kinds)):
        role = f"acs:ram::{it.account}:role/r-a"
        config, more = {
            "http": ({"authType": "anonymous", "methods": ["GET", "POST"]}, {}),
            "timer": ({"cronExpression": "@every 5m", "enable": False, "payload": it.draw(TEXTS)}, {}),
            "oss": ({"events": ["oss:ObjectCreated:*"], "filter": {"key": {"prefix": "a/", "suffix": it.draw(TEXTS)}}},
                    {"sourceArn": f"acs:oss:{it.region}:{it.account}:uploads", "invocationRole": role}),
            "mns_topic": ({"filterTag": "red", "notifyContentFormat": "JSON", "notifyStrategy": "BACKOFF_RETRY"},
                          {"sourceArn": it.arn("mns", f"/topics/{it.topics[0]}") if it.topics else "",
                           "invocationRole": role}),
            "log": ({"sourceConfig": {"logstore": "s"}, "jobConfig": {"maxRetryTime": 1, "triggerInterval": 30},
                     "logConfig": {"project": "p", "logstore": "l"}, "functionParameter": {"a": it.draw(TEXTS)},
                     "enable": True},
                    {"sourceArn": it.arn("log", "project/p"), "invocationRole": role}),
            "tablestore": ({}, {"sourceArn": it.arn("ots", "instance/i/table/t"), "invocationRole": role}),
            "cdn_events": ({"eventName": "LogFileCreated", "eventVersion": "1.0.0", "notes": it.draw(TEXTS),
                            "filter": {"domain": ["example.com"]}},
                           {"sourceArn": f"acs:cdn:*:{it.account}", "invocationRole": role}),
            "eventbridge": ({"triggerEnable": True, "asyncInvocationType": False,
                             "eventRuleFilterPattern": '{"source":["acs.oss"]}',
                             "eventSourceConfig": {"eventSourceType": "Default"}}, {}),
        }[what]  # fmt: skip
        qualifier = it.draw(st.sampled_from(qualifiers))
        more = {**more, "description": it.draw(TEXTS)} if it.draw(st.booleans()) else more
        it.add(f"{kind}.trigger", *function, f"on-{what.replace('_', '-')}", triggerType=what, triggerConfig=config,
               qualifier=qualifier, **more)  # fmt: skip


def _async(it):
    ends = [it.arn("mns", f"/queues/{queue}/messages") for queue in it.queues]
    sides = {"destinationConfig": {"onFailure": {"destination": it.draw(st.sampled_from(ends))}}} if ends else {}
    return {**sides, **it.draw(maybe(maxAsyncRetryAttempts=st.integers(0, 8), maxAsyncEventAgeInSeconds=st.just(99)))}


def _functions(it):
    made = []
    for name in it.some(NAMES):
        config = _config(it, shared=True)
        it.add("fc3.function", name, package=a_package("code of " + name), **config)
        made.append(name)

        def change(number, name=name, config=config):
            it.calls.append(("PUT", f"{V3}/functions/{name}", {**config, "description": f"before {number}"}))

        qualifiers, _ = _versions(it, "fc3", name, change)
        _triggers(it, "fc3", name, qualifiers=qualifiers)
        for qualifier in it.some(st.sampled_from(qualifiers)):
            it.add("fc3.async", name, qualifier, **_async(it))
        if it.draw(st.booleans()) and it.draw(st.booleans()):
            arn = it.arn("fc", f"functions/{name}")
            it.calls.append(("POST", f"{V3}/tags-v2", {"ResourceId": [arn], "ResourceType": "function",
                                                       "Tag": [{"Key": "a", "Value": "b"}]}))  # fmt: skip
        if it.draw(st.booleans()):
            it.add("fc3.concurrency", name, reservedConcurrency=7)
        aliases = [each for each in qualifiers if each != "LATEST"]
        what = it.draw(st.sampled_from(["none", "provision", "scaling"]))
        qualifier = it.draw(st.sampled_from(["LATEST", *aliases]))
        action = {"name": "night", "target": 0, "scheduleExpression": "cron(0 0 3 * * *)",
                  "startTime": "2027-01-01T00:00:00Z", "endTime": "2027-02-01T00:00:00Z"}  # fmt: skip
        if what == "provision":
            it.add("fc3.provision", name, qualifier, defaultTarget=0, scheduledActions=[action])
        elif what == "scaling":
            it.add("fc3.scaling", name, qualifier, minInstances=0)
    if made and it.draw(st.booleans()):
        common = {"qualifier": "LATEST", "methods": ["GET"]}
        routes = [{"path": f"/{name}/*", "functionName": name, **common} for name in made]
        it.add("fc3.domain", "three.example.com", protocol="HTTP", routeConfig={"routes": routes})


def _services(it):
    for name in it.some(NAMES, 1):
        service = f"s-{name}"
        it.add("fc.service", service, **it.draw(maybe(description=TEXTS, **_SHARED)))
        if it.draw(st.booleans()) and it.draw(st.booleans()):
            tag = {"resourceArn": it.arn("fc", f"services/{service}"), "tags": {"a": "b"}}
            it.calls.append(("POST", f"{V2}/tag", tag))
        functions = [f"f-{each}" for each in it.some(NAMES)]
        for function in functions:
            it.add("fc.function", service, function, package=a_package(function), **_config(it, shared=False))

        def change(number, service=service):
            it.calls.append(("PUT", f"{V2}/services/{service}", {"description": f"before {number}"}))

        qualifiers, _ = _versions(it, "fc", service, change)
        for function in functions:
            _triggers(it, "fc", service, function, qualifiers=qualifiers)
            for qualifier in it.some(st.sampled_from(qualifiers)):
                it.add("fc.async", service, function, qualifier, **_async(it))
            if it.draw(st.booleans()) and it.draw(st.booleans()):
                path = f"{V2}/services/{service}.LATEST/functions/{function}/on-demand-config"
                it.calls.append(("PUT", path, {"maximumInstanceCount": 3}))
            aliases = [each for each in qualifiers if each != "LATEST"]
            if aliases and it.draw(st.booleans()):
                action = {"name": "night", "target": 1, "scheduleExpression": "cron(0 0 3 * * *)",
                          "startTime": "2027-01-01T00:00:00Z", "endTime": "2027-02-01T00:00:00Z"}  # fmt: skip
                it.add("fc.provision", service, it.draw(st.sampled_from(aliases)), function, target=0,
                       scheduledActions=[action])  # fmt: skip
        if functions and it.draw(st.booleans()):
            routes = [{"path": "/*", "serviceName": service, "functionName": functions[0],
                       "qualifier": it.draw(st.sampled_from(qualifiers))}]  # fmt: skip
            it.add("fc.domain", "two.example.com", protocol="HTTP", routeConfig={"routes": routes})


def _flows(it):
    aliases = [f"{each.identity[0]}/{each.identity[1]}" for each in it.calls
               if isinstance(each, Resource) and each.kind == "fc3.alias"]  # fmt: skip
    for name in it.some(NAMES):
        flow = f"w-{name}"
        arn = it.arn("fc", f"functions/{it.draw(st.sampled_from([*aliases, 'elsewhere']))}")
        machine = it.draw(st.booleans())
        note = it.draw(TEXTS)
        if machine:
            definition = json.dumps({"Type": "StateMachine", "SpecVersion": "v1", "Name": flow, "StartAt": "one",
                                     "States": [{"Type": "Task", "Name": "one", "Action": "FC:InvokeFunction",
                                                 "Description": note, "Parameters": {"resourceArn": arn},
                                                 "End": True}]})  # fmt: skip
        else:
            # YAML knows no pairs of surrogates, with which JSON escapes what is beyond the basic plane.
            escaped = max(note, default="") <= "\uffff" and it.draw(st.booleans())
            pause = json.dumps(note, ensure_ascii=escaped).replace("\x7f", "\\u007f")  # YAML has it escaped only
            head = f"version: v1\ntype: flow\nname: {flow}\nsteps:\n"
            definition = it.draw(st.sampled_from([
                f"{head}  - type: task\n    name: one\n    resourceArn: {arn}\n",
                "version: v1\ntype: flow\nsteps:\n- type: pass\n  name: one\n  outputMappings:\n"
                f"  - target: x\n    source: {pause}\n",
                '{"version": "v1", "type": "flow", "steps": [{"type": "pass", "name": "p"}]}',
            ]))  # fmt: skip
        role = f"acs:ram::{it.account}:role/{it.roles[0]}" if it.roles else None
        it.add("fnf.flow", flow, Definition=definition, Type="FDL",
               Description=it.draw(TEXTS), RoleArn=role,
               ExecutionMode=it.maybe(st.sampled_from(["Standard", "Express"])) if not machine else None)  # fmt: skip
        for own in it.some(NAMES, 1):
            it.add("fnf.schedule", flow, f"n-{own}", CronExpression="0 0 3 * * *", Payload='{"a": "${env(X)}"}',
                   Enable=it.draw(st.booleans()), Description=it.draw(TEXTS))  # fmt: skip


def make(api, calls):
    """Bring an empty emulator to a state."""
    for each in calls:
        try:
            if isinstance(each, tuple):
                api.functions(*each)
            elif callable(each):
                each(api)
            else:
                kept = {name: value for name, value in each.properties.items() if value is not None}
                PROVIDERS[each.kind].create(api, _replaced(each, kept))
        except Refused as error:
            raise AssertionError(f"{each}: {error}") from error


def _replaced(resource, properties):
    return Resource(logical=resource.logical, type=resource.type, kind=resource.kind, identity=resource.identity,
                    properties=properties, package=resource.package)  # fmt: skip


# what the API shows ---------------------------------------------------------------------------------------------------

_TOLD_ANEW = frozenset(
    {
        "createdTime", "lastModifiedTime", "CreatedTime", "LastModifiedTime", "CreateTime", "LastModifyTime",
        "functionId", "serviceId", "triggerId", "Id", "ScheduleId", "RoleId", "RequestId", "CreateDate", "UpdateDate",
        "urlInternet", "urlIntranet", "httpTrigger", "createTime", "current", "currentInstances",
        "lastUpdateStatus", "state", "AttachDate", "DefaultVersion", "TopicInnerUrl", "codeSize", "codeChecksum",
        "layersArnV2", "code", "size", "targetInstances", "eTag", "status", "currentError", "invocationRestriction",
    }
)  # fmt: skip
"""Members that differ between two emulators with the same in them."""


_CALLED = {name: f"{name}Config" for name in ("concurrency", "provision", "scaling")} | {"async": "asyncInvokeConfig"}


def _plain(value):
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items() if name not in _TOLD_ANEW}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _files(api, path):
    url = api.functions("GET", path).get("url") or ""
    return _unzipped(api.download(url)) if url else {}


def _unzipped(package):
    with ZipFile(BytesIO(package)) as archive:
        return {row.filename: archive.read(row).decode("utf-8", "replace") for row in archive.infolist()}


def shown(api):
    """Return everything the API shows, by kind and name: its own reading, apart from that of `export`."""
    found, newest = {}, {}

    def put(kind, name, value):
        found[kind, name] = _plain(value)

    _of_layers(api, put, newest)
    _of_functions(api, put)
    _of_services(api, put)
    for row in api.functions("GET", f"{V3}/custom-domains?limit=100").get("customDomains") or []:
        put("customDomain", row["domainName"], {**row, "apiVersion": None})
    for row in api.functions("GET", f"{V2}/on-demand-configs?limit=100").get("configs") or []:
        service, _, rest = str(row["resource"]).rpartition("services/")[2].partition("/functions/")
        put("function", f"{service.partition('.')[0]}/{rest}#", row)
    _others(api, put)
    return {key: _with_newest(value, newest) for key, value in found.items()}


def _of_layers(api, put, newest):
    for layer in api.functions("GET", f"{V3}/layers?limit=100").get("layers") or []:
        name = layer["layerName"]
        newest[f"layers/{name}/versions/{layer['version']}"] = f"layers/{name}/versions/newest"
        for row in api.functions("GET", f"{V3}/layers/{name}/versions?limit=100")["layers"]:
            one = api.functions("GET", f"{V3}/layers/{name}/versions/{row['version']}")
            code = _unzipped(api.download(one["code"]["location"]))
            number = "newest" if row["version"] == layer["version"] else row["version"]
            one = {**one, "files": code, "version": number, "layerVersionArn": ""}
            put("layer", f"{name}/{number}", one)


_UNSAID = {"alwaysAllocateCPU": False, "alwaysAllocateGPU": False, "scheduledActions": [], "targetTrackingPolicies": []}
"""What answers leave out of a provision configuration until somebody says it; an s.yaml has to say all of it.

Source: devsapp/fc3 src/schema.json, IProvisionConfig: all members are required.
"""


def _of_functions(api, put):
    for function in api.functions("GET", f"{V3}/functions?limit=100").get("functions") or []:
        name = function["functionName"]
        own = path_of(V3 + "/functions/{0}", (name,))
        put("function", name, {**api.functions("GET", own), "files": _files(api, own + "/code")})
        _of_owner(api, put, own, name)
        for kind, path, member in (
            ("async", "async-invoke-configs", "configs"), ("concurrency", "concurrency-configs", "configs"),
            ("provision", "provision-configs", "provisionConfigs"), ("scaling", "scaling-configs", "scalingConfigs"),
        ):  # fmt: skip
            for row in api.functions("GET", f"{V3}/{path}?functionName={name}&limit=100").get(member) or []:
                where = str(row.get("functionArn") or row.get("resource")).rpartition("functions/")[2]
                unsaid = _UNSAID if kind == "provision" else {}
                put(_CALLED.get(kind, kind), f"{where}/{row.get('qualifier', '')}".strip("/"), {**unsaid, **row})


def _of_services(api, put):
    for service in api.functions("GET", f"{V2}/services?limit=100").get("services") or []:
        name = service["serviceName"]
        own = f"{V2}/services/{name}"
        tags = api.functions("GET", f"{V2}/tag?resourceArn=services/{name}").get("tags")
        put("service", name, {**api.functions("GET", own), "tags": tags})
        _of_owner(api, put, own, name)
        for row in api.functions("GET", f"{V2}/provision-configs?serviceName={name}&limit=100")["provisionConfigs"]:
            where = "/".join(str(row["resource"]).split("#")[1:])  # account#service#qualifier#function
            put("provisionConfig", where, {**_UNSAID, **row})
        for function in api.functions("GET", f"{own}/functions?limit=100").get("functions") or []:
            inner = f"{own}/functions/{function['functionName']}"
            put("function", f"{name}/{function['functionName']}",
                {**api.functions("GET", inner), "files": _files(api, inner + "/code")})  # fmt: skip
            for row in api.functions("GET", f"{inner}/triggers?limit=100").get("triggers") or []:
                put("trigger", f"{name}/{function['functionName']}/{row['triggerName']}", row)
            for row in api.functions("GET", f"{inner}/async-invoke-configs?limit=100").get("configs") or []:
                put("asyncInvokeConfig", f"{name}/{function['functionName']}/{row.get('qualifier')}", row)


def _with_newest(value, newest):
    """A layer is known by whether it is the newest: the number is given anew."""
    text = json.dumps(value)
    for number, instead in newest.items():
        text = text.replace(f'{number}"', f'{instead}"')
    return json.loads(text)


def _of_owner(api, put, own, name):
    """Versions and aliases of a function or service; triggers of a function."""
    rows = api.functions("GET", f"{own}/versions?limit=100").get("versions") or []
    newest = max((row["versionId"] for row in rows), key=int, default="")
    for row in rows:
        number = "newest" if row["versionId"] == newest else row["versionId"]
        put("version", f"{name}/{number}", {**row, "versionId": number})
    for row in api.functions("GET", f"{own}/aliases?limit=100").get("aliases") or []:
        number = "newest" if row["versionId"] == newest else row["versionId"]
        put("alias", f"{name}/{row['aliasName']}", {**row, "versionId": number})
    if V3 in own:
        for row in api.functions("GET", f"{own}/triggers?limit=100").get("triggers") or []:
            put("trigger", f"{name}/{row['triggerName']}", row)


def _others(api, put):
    mns, ram, fnf = "2022-01-19", "2015-05-01", "2019-03-15"
    for kind in ("Queue", "Topic"):
        for row in api.rpc(mns, f"List{kind}", {"PageNum": "1", "PageSize": "100"})["Data"]["PageData"]:
            name = row[f"{kind}Name"]
            put(kind.lower(), name, api.rpc(mns, f"Get{kind}Attributes", {f"{kind}Name": name})["Data"])
            if kind == "Topic":
                listed = {"TopicName": name, "PageNum": "1", "PageSize": "100"}
                for own in api.rpc(mns, "ListSubscriptionByTopic", listed)["Data"]["PageData"]:
                    if not own["SubscriptionName"].startswith("fc-"):  # a trigger's own
                        asked = {"TopicName": name, "SubscriptionName": own["SubscriptionName"]}
                        put("subscription", f"{name}/{own['SubscriptionName']}",
                            api.rpc(mns, "GetSubscriptionAttributes", asked)["Data"])  # fmt: skip
    for row in api.rpc(fnf, "ListFlows", {"Limit": "100"}).get("Flows") or []:
        put("flow", row["Name"], api.rpc(fnf, "DescribeFlow", {"Name": row["Name"]}))
        asked = {"Limit": "100", "FlowName": row["Name"]}
        for own in api.rpc(fnf, "ListSchedules", asked).get("Schedules") or []:
            put("schedule", f"{row['Name']}/{own['ScheduleName']}", own)
    for row in api.rpc(ram, "ListPolicies", {"PolicyType": "Custom"})["Policies"]["Policy"]:
        asked = {"PolicyName": row["PolicyName"], "PolicyType": "Custom"}
        put("policy", row["PolicyName"], {**api.rpc(ram, "GetPolicy", asked), "Tags": row.get("Tags")})
    for row in api.rpc(ram, "ListRoles", {})["Roles"]["Role"]:
        name = row["RoleName"]
        put("role", name, {**api.rpc(ram, "GetRole", {"RoleName": name})["Role"], "Tags": row.get("Tags")})
        for each in api.rpc(ram, "ListPoliciesForRole", {"RoleName": name})["Policies"]["Policy"]:
            put("attachment", f"{name}/{each['PolicyName']}", each)
    for bucket in _buckets(api):
        info, tags = (api.objects("GET", f"/{bucket}?{what}").decode() for what in ("bucketInfo", "tagging"))
        put("bucket", bucket, {"acl": info.partition("<AccessControlList>")[2], "tags": tags.partition("<TagSet>")[2],
                               "class": info.partition("<StorageClass>")[2].partition("<")[0]})  # fmt: skip


def _buckets(api):
    listing = api.objects("GET", "/").decode()
    names = [each.partition("</Name>")[0] for each in listing.split("<Name>")[1:]]
    return [name for name in names if not name.startswith("localyun-code-")]
