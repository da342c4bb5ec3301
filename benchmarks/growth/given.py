"""What calls need beyond what the clients' own shapes give: things that are there, ids, and calls no client makes.

`PREPARED` makes what `tests.operations.calling.furnish` does not, and keeps what is found in the answers by a name;
`GIVEN` says what a call has instead, with those names in braces. A call that is refused all the same, as one with a
receipt or a token that is good for one use, is measured as what it is, a refusal, and its status stands beside it. A
list has pages that a hundred fill: with more on the page where there is more, a call would not be the same one.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from emulator.app import Emulator
from emulator.services.fc import front as fc
from tests.operations import samples
from tests.operations.calling import Site
from tests.operations.recording import Operation

Names = dict[str, str]

_ACCOUNT = "1234567890123456"
_CODE = {"zipFile": base64.b64encode(samples.package()).decode()}
_EXPRESS = {"Name": "express", "Description": "", "Definition": samples.FLOW, "Type": "FDL", "ExecutionMode": "Express"}
_RESTING = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: rest, duration: 86400}\n"
_AFFINE = {
    "functionName": "affine", "runtime": "python3.10", "handler": "index.handler", "code": _CODE,
    "sessionAffinity": "HEADER_FIELD",
    "sessionAffinityConfig": json.dumps({"affinityHeaderFieldName": "x-session", "sessionConcurrencyPerInstance": 1}),
}  # fmt: skip


class Prepared(NamedTuple):
    """A call made once before the others; ``keeps`` are names with expressions whose first group is kept."""

    call: Operation
    keeps: Mapping[str, str] = {}


def _fc(method: str, path: str, body: Any = None, query: Mapping[str, str] | None = None) -> Operation:
    version = "2023-03-30"
    return Operation(
        "fc20230330", path.rpartition("/")[2], "fc", version, method, f"/{version}{path}", dict(query or {}), {}, body,
        "json",
    )  # fmt: skip


def _rpc(name: str, version: str, **parameters: str) -> Operation:
    return Operation("growth", name, "rpc", version, "POST", "/", {}, {}, parameters, "form")


def _flow(name: str, **parameters: str) -> Operation:
    return _rpc(name, "2019-03-15", **parameters)


PREPARED: tuple[Prepared, ...] = (
    Prepared(_fc("POST", "/layers/layer/versions", {"code": _CODE, "compatibleRuntime": ["python3.10"]})),
    Prepared(_fc("POST", "/functions", _AFFINE)),
    Prepared(_fc("POST", "/functions/affine/sessions", {}), {"session": r'"sessionId":"([^"]+)"'}),
    Prepared(_flow("CreateFlow", **_EXPRESS)),
    Prepared(_flow("CreateFlow", Name="resting", Description="", Definition=_RESTING, Type="FDL")),
    Prepared(_flow("PublishFlowVersion", FlowName="flow")),
    Prepared(
        _flow("CreateFlowAlias", FlowName="flow", Name="al", RoutingConfigurations='[{"Version":"1","Weight":1}]')
    ),
    Prepared(Operation("mns", "CreateQueue", "mns", "", "PUT", "/queues/other", {}, {}, b"", "xml")),
    Prepared(_rpc("CreateUser", "2015-05-01", UserName="u")),
    Prepared(_rpc("CreateLoginProfile", "2015-05-01", UserName="u", Password="Pass-word-1")),
    Prepared(_rpc("CreateAccessKey", "2015-05-01", UserName="u"), {"key": r'"AccessKeyId":"([^"]+)"'}),
)


async def prepare(site: Site) -> Names:
    """Make the calls of `PREPARED` and return what was found in their answers."""
    names: Names = {}
    for call, keeps in PREPARED:
        answer = await site.whole(call)
        text = answer.body.decode("utf-8", "replace")
        for name, expression in keeps.items():
            if (found := re.search(expression, text)) is not None:
                names[name] = found[1]
    return names


_QUALIFIED = {"qualifier": "LATEST"}
_ONE_FUNCTION = f"acs:fc:cn-hangzhou:{_ACCOUNT}:functions/f"
_ACL = {"AclStrategy": "allow", "CidrList": '["10.0.0.0/8"]', "EndpointType": "public"}
_TAGGED_USER = {"ResourceType": "user", "ResourceNames.1": "u", "Tag.1.Key": "k", "Tag.1.Value": "v", "TagKey.1": "k"}
_TAGGED = {"ResourceType": "function", "ResourceId": [_ONE_FUNCTION], "Tag": [{"Key": "k", "Value": "v"}]}
_LAYER = f"/2023-03-30/layerarn/acs:fc:cn-hangzhou:{_ACCOUNT}:layers/layer/versions/1"
_SESSION = "/2023-03-30/functions/affine/sessions/{session}"

GIVEN: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("fc", "CreateLayerVersion"): {"body": {"code": _CODE, "compatibleRuntime": ["python3.10"]}},
    ("fc", "GetLayerVersionByArn"): {"path": _LAYER},
    ("fc", "CreateSession"): {"path": "/2023-03-30/functions/affine/sessions", "body": {}},
    ("fc", "GetSession"): {"path": _SESSION},
    ("fc", "UpdateSession"): {"path": _SESSION, "body": {"sessionTTLInSeconds": 3600}},
    ("fc", "ListSessions"): {"path": "/2023-03-30/functions/affine/sessions", "query": {"limit": "10"}},
    ("fc", "ChangeResourceGroup"): {
        "body": {"NewResourceGroupId": "rg-acfm000000000", "ResourceId": _ONE_FUNCTION, "ResourceType": "function"}
    },
    ("fc", "TagResources"): {"body": _TAGGED},
    ("fc", "UntagResources"): {
        "query": {"ResourceType": "function", "ResourceId": json.dumps([_ONE_FUNCTION]), "TagKey": '["k"]'}
    },
    ("fc", "PutScalingConfig"): {"body": {"minInstances": 0, "maxInstances": 10}, "query": _QUALIFIED},
    ("fc2", "create_alias"): {"body": {"aliasName": "grown", "versionId": "1"}},
    ("rpc", "StartSyncExecution"): {"body": {"FlowName": "express", "Input": "{}"}},
    ("rpc", "StartExecution"): {"body": {"FlowName": "flow", "ExecutionName": "grown", "Input": "{}"}},
    ("rpc", "CreateFlowAlias"): {
        "body": {"FlowName": "flow", "Name": "al", "RoutingConfigurations": '[{"Version":"1","Weight":1}]'}
    },
    ("rpc", "UpdateFlowAlias"): {
        "body": {"FlowName": "flow", "Name": "al", "RoutingConfigurations": '[{"Version":"1","Weight":1}]'}
    },
    ("rpc", "DescribeFlowAlias"): {"query": {"FlowName": "flow", "Name": "al"}},
    ("rpc", "DeleteFlowAlias"): {"body": {"FlowName": "flow", "Name": "al"}},
    ("rpc", "DeleteFlowVersion"): {"body": {"FlowName": "flow", "FlowVersion": "1"}},
    ("rpc", "AuthorizeEndpointAcl"): {"query": _ACL},
    ("rpc", "RevokeEndpointAcl"): {"query": _ACL},
    ("rpc", "GetLoginProfile"): {"query": {"UserName": "u"}},
    ("rpc", "UpdateAccessKey"): {"query": {"UserName": "u", "UserAccessKeyId": "{key}", "Status": "Active"}},
    ("rpc", "TagResources"): {"query": _TAGGED_USER},
    ("rpc", "UntagResources"): {"query": _TAGGED_USER},
    ("rpc", "ListTagResources"): {"query": _TAGGED_USER},
    ("oss", "ListMultipartUploads"): {"query": {"uploads": "", "max-uploads": "10"}},
    ("fc", "ListLayers"): {"query": {"limit": "10"}},
    ("admin", "code"): {"query": {"function": "s/f"}},
    ("admin", "sink"): {"path": "/_localyun/sinks/none"},
}  # fmt: skip
"""(dialect, operation) -> parts of the call that replace the client's."""


def given(call: Operation, names: Names) -> Operation:
    """Return a call with what `GIVEN` has for it."""
    parts = GIVEN.get((call.dialect, call.name), {})
    return call._replace(**{part: _filled(value, names) for part, value in parts.items()})


def _filled(value: Any, names: Names) -> Any:
    if isinstance(value, str):
        return re.sub(r"\{(\w+)\}", lambda found: names.get(found[1], found[0]), value)
    if isinstance(value, dict):
        return {key: _filled(item, names) for key, item in value.items()}
    return [_filled(item, names) for item in value] if isinstance(value, list) else value


NOT_CALLED: Mapping[str, str] = {"admin: POST stop": "it ends the emulator"}

_VERSIONS = {"opening": "2017-12-14"}
"""Of fronts that answer several versions, one."""

_PARAMETERS = {
    "RegionId": "cn-hangzhou", "ProductCode": "fc", "Id": "cn-hangzhou", "ServiceCode": "fc", "ZoneId": "cn-hangzhou-h",
    "VpcId": "vpc-none", "VSwitchId": "vsw-none", "SecurityGroupId": "sg-none", "CidrBlock": "10.0.0.0/16",
    "DestinationResource": "Zone", "ResourceType": "VPC", "ResourceId.1": "vpc-none", "TagKey.1": "k",
}  # fmt: skip
_PATHS = {
    "service": "s", "function": "f", "layer": "layer", "task": "none", "instance": "none", "source": "none",
}  # fmt: skip


def without_clients(emulator: Emulator, missing: Iterable[str]) -> Iterator[Operation]:
    """Yield a call of each operation in *missing* (``front: name``), made from the fronts' tables."""
    routes = {each.name: (api, each) for api, table in fc.ROUTES.items() for each in table}
    for name, operation in (each.split(": ", 1) for each in missing):
        front: Any = emulator._entrance.fronts.get(name)
        if name == "fc":
            api, each = routes[operation]
            method, _, path = each.route.partition(" ")
            filled = path.partition("?")[0].format_map(_Paths())
            yield Operation("growth", operation, "fc", api, method, f"/{api}{filled}", {}, {}, {}, "json")
        elif name == "mns":
            yield Operation("growth", operation, "mns", "", "GET", "/", {"account": "1"}, {}, b"", "xml")
        elif front is not None and f"{name}: {operation}" not in NOT_CALLED:
            version = _VERSIONS.get(name) or front.version
            yield Operation("growth", operation, "rpc", version, "POST", "/", dict(_PARAMETERS), {}, None, "form")


class _Paths(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return _PATHS.get(name, "none")
