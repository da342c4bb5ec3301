"""The resource types of Funcraft: a service with its functions and their events, flows, domains, topics.

Source: Funcraft, specification 2018-04-03.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from emulator.deploy import build as roles
from emulator.deploy import build as triggers
from emulator.deploy import fc_fields as fields
from emulator.deploy.build import Build, Builder, read_function_2
from emulator.deploy.document import Document, read
from emulator.deploy.errors import FileProblems
from emulator.deploy.functions import names_in
from emulator.deploy.model import Resource
from emulator.deploy.shapes import (
    Field,
    Findings,
    Part,
    anything,
    json_text,
    list_of,
    members,
    number,
    payload,
    suggestion,
    switch,
    text,
    whole,
)
from emulator.deploy.shapes import fields as map_of

_REFERS = re.compile(r"!(?:Ref|GetAtt|Sub|Join)\b|\bRef['\"]?\s*:|\bFn::")


def written(build: Build, place: Part) -> object:
    """Return a definition that stands in the template, its references evaluated."""
    with build.scope.giving("ARN"):
        return build.scope.value(place)


def in_file(build: Build, place: Part) -> str | None:
    """Return the definition in the file that *place* names; its text as it is where it refers to nothing."""
    text = build.definition(place)
    if text is None or not _REFERS.search(text):
        return text
    findings = Findings()
    try:
        document = read(text)
        with build.scope.giving("ARN"):
            value = build.scope.value(whole(document, findings))
        findings.check()
    except FileProblems as error:
        for problem in error.problems:
            place.problem(f"{place.value}:{problem.line}: {problem.text}")
        return None
    return json.dumps(value, ensure_ascii=False)


def names_in_file(build: Build, resource: Part) -> set[str]:
    """Return the names that the definition file of a resource may refer to; what is wrong with it is told elsewhere."""
    place = resource.member("Properties").member("DefinitionUri")
    if not isinstance(place.value, str):
        return set()
    text = build.definition(Part(place.value, place.path, place.lines, Findings()))
    if text is None or not _REFERS.search(text):
        return set()
    try:
        document: Document = read(text)
    except FileProblems:
        return set()
    return names_in(document.value)


SERVICE_TYPE = "Aliyun::Serverless::Service"
FUNCTION_TYPE = "Aliyun::Serverless::Function"
FLOW_TYPE = "Aliyun::Serverless::Flow"

REFUSED = frozenset(
    {
        "Aliyun::Serverless::Log", "Aliyun::Serverless::Log::Logstore", "Aliyun::Serverless::TableStore",
        "Aliyun::Serverless::TableStore::Table", "Aliyun::Serverless::Api", "Aliyun::Serverless::VPC",
        "ALIYUN::SLS::Project", "ALIYUN::SLS::Logstore", "ALIYUN::SLS::Index", "ALIYUN::ROS::WaitConditionHandle",
        "ALIYUN::ROS::WaitCondition", "ALIYUN::ROS::Sleep",
    }
)  # fmt: skip
"""Types of services that have no counterpart here; they are noted and left out."""

_RESERVED = frozenset({"Type", "Properties", "DependsOn", "Condition", "Metadata", "Description", "DeletionPolicy"})
_EVENTS = {
    "Timer": "timer", "HTTP": "http", "OSS": "oss", "Log": "log", "MNSTopic": "mns_topic", "CDN": "cdn_events",
    "RDS": "rds", "TableStore": "tablestore",
}  # fmt: skip


# --- a service and its functions -------------------------------------------------------------------------------------


def service(build: Build, part: Part, kind: str) -> None:
    """Add a service, its role, its functions and their triggers."""
    found = members(build.properties(part), (*fields.SERVICE, Field("policies", anything)), capital=True)
    policies = found.pop("policies", None)
    if policies and "role" not in found:
        owner = build.properties(part).member("Policies")
        found["role"] = roles.role_of_policies(build, part, owner, "fc")
    if "role" in found:
        found["role"] = build.role_arn(found["role"])
    made = build.add(part, "fc.service", (part.name,), {"description": "", **found}, type_name=kind)
    for entry in part.entries():
        if entry.name not in _RESERVED:
            _function(build, made, entry)


def _function(build: Build, owner: Resource, part: Part) -> None:
    if not isinstance(part.value, dict) or part.value.get("Type") != FUNCTION_TYPE:
        part.problem(f"only functions can be in a service: Type must be {FUNCTION_TYPE}")
        return
    for entry in part.entries():
        if entry.name not in {"Type", "Properties", "Events"}:
            entry.problem(f"there is no such part of a function{suggestion(entry.name, ['Properties', 'Events'])}")
    place = build.properties(part)
    extra = (Field("codeUri", text), Field("asyncConfiguration", map_of(*fields.ASYNC_2)))
    found = read_function_2(place, extra, capital=True)
    calls = found.pop("asyncConfiguration", None)
    package = _code(build, place, found)
    service_name = owner.identity[0]
    made = build.add(
        part,
        "fc.function",
        (service_name, part.name),
        {**fields.DEFAULTS_2, **found},
        type_name=FUNCTION_TYPE,
        logical=f"{owner.logical}/{part.name}",
        package=package,
        also_known_as=(f"{owner.logical}{part.name}",),
    )
    if calls:
        build.add(
            place.member("AsyncConfiguration"),
            "fc.async",
            (*made.identity, "LATEST"),
            calls,
            type_name="ALIYUN::FC::AsyncConfiguration",
            logical=f"{made.logical}/async",
        )
    events = part.member("Events")
    for event in events.with_value(build.scope.value(events)).entries():
        _event(build, made, event)


def _code(build: Build, place: Part, found: dict[str, Any]) -> bytes | None:
    """Put where the code is into *found*, or return its package."""
    uri = found.pop("codeUri", None)
    if uri is None:
        if not str(found.get("runtime", "")).startswith("custom-container"):
            place.problem("CodeUri is missing")
        return None
    if uri.startswith("oss://"):
        bucket, _, name = uri.removeprefix("oss://").partition("/")
        found["code"] = {"ossBucketName": bucket, "ossObjectName": name}
        return None
    return build.files.package(place.member("CodeUri"))


def _event(build: Build, function: Resource, part: Part) -> None:
    kind = part.value.get("Type") if isinstance(part.value, dict) else None
    if not isinstance(kind, str) or kind not in _EVENTS:
        part.problem(f"Type must be one of {', '.join(_EVENTS)}")
        return
    for entry in part.entries():
        if entry.name not in {"Type", "Properties"}:
            entry.problem("there is no such part of an event")
    place = part.member("Properties")
    given = dict(place.value) if isinstance(place.value, dict) else {}
    extra = {"InvocationRole": None, "Qualifier": None, "TopicName": None, "Region": None, "BucketName": None}
    own = {name: given.pop(name) for name in extra if name in given}
    names = {"instanceName": given.pop("InstanceName", None), "tableName": given.pop("TableName", None)}
    event = triggers.Event(
        kind=_EVENTS[kind],
        config=place.with_value(given),
        role=own.get("InvocationRole"),
        qualifier=own.get("Qualifier"),
        source=_source(build, _EVENTS[kind], own, names),
    )
    triggers.add(build, part, function, event, logical=f"{function.logical}/{part.name}", type_name=kind)


def _source(build: Build, kind: str, own: Mapping[str, Any], names: Mapping[str, Any]) -> str | None:
    match kind:
        case "mns_topic":
            return f"acs:mns:{own.get('Region') or build.region}:{build.account}:/topics/{own.get('TopicName', '')}"
        case "oss":
            return f"acs:oss:{build.region}:{build.account}:{own.get('BucketName', '')}"
        case "log":
            return f"acs:log:{build.region}:{build.account}:project/fun"
        case "cdn_events":
            return f"acs:cdn:*:{build.account}"
        case "rds":
            return f"acs:rds:{build.region}:{build.account}:dbinstance/fun"
        case "tablestore":
            instance, table = names["instanceName"], names["tableName"]
            return f"acs:ots:{build.region}:{build.account}:instance/{instance}/table/{table}"
        case _:
            return None


# --- flows, domains, topics ------------------------------------------------------------------------------------------

_FLOW = (
    Field("name", text),
    Field("definition", json_text),
    Field("definitionUri", text),
    Field("description", text),
    Field("role", text),
    Field("policies", anything),
    Field("type", text),
)
_SCHEDULE = (
    Field("cronExpression", text, required=True),
    Field("payload", payload),
    Field("enable", switch),
    Field("description", text),
)


def flow(build: Build, part: Part, kind: str) -> None:
    """Add a flow, its role and its schedules."""
    raw = part.member("Properties")
    place = build.properties(part)
    if isinstance(place.value, dict) and "Definition" in place.value:
        definition_here = written(build, raw.member("Definition"))
        place = place.with_value({**place.value, "Definition": definition_here})
    found = members(place, _FLOW, capital=True)
    definition = found.get("definition")
    if "definitionUri" in found:
        definition = in_file(build, place.member("DefinitionUri"))
    elif definition is None:
        place.problem("Definition or DefinitionUri is missing")
    role = found.get("role")
    if found.get("policies") and not role:
        role = roles.role_of_policies(build, part, place.member("Policies"), "fnf")
    name = found.get("name") or part.name
    properties = {
        "Definition": definition,
        "Description": found.get("description") or name,
        "Type": found.get("type") or "FDL",
        "RoleArn": build.role_arn(role) if role else None,
    }
    build.add(part, "fnf.flow", (name,), properties, type_name=kind)
    events = part.member("Events")
    for event in events.with_value(build.scope.value(events)).entries():
        if not isinstance(event.value, dict) or event.value.get("Type") not in ("Schedule", "Timer"):
            event.problem("Type must be Schedule")
            continue
        given = members(event.member("Properties"), _SCHEDULE, capital=True)
        schedule = {
            "CronExpression": given.get("cronExpression"),
            "Payload": given.get("payload") or "",
            "Enable": given.get("enable", True),
            "Description": given.get("description") or "",
        }
        logical = f"{part.name}/{event.name}"
        build.add(event, "fnf.schedule", (name, event.name), schedule, type_name="Schedule", logical=logical)


_ROUTE = map_of(*(field for field in fields.ROUTE if field.name != "path"))


def _routes(part: Part, capital: bool) -> list[dict[str, Any]]:
    """Read routes: a map from path to target in Funcraft, a list elsewhere."""
    if isinstance(part.value, list):
        return list(list_of(map_of(*fields.ROUTE))(part, capital))
    return [{"path": entry.name, **_ROUTE(entry, capital)} for entry in part.entries()]


_DOMAIN = (
    Field("domainName", text),
    Field("protocol", text),
    Field("certConfig", fields.CERTIFICATE),
    Field("routeConfig", map_of(Field("routes", _routes, required=True)), required=True),
)


def domain(build: Build, part: Part, kind: str) -> None:
    """Add a custom domain, named by its key unless that is not a domain."""
    place = build.properties(part)
    found = members(place, _DOMAIN, capital=True)
    name = found.pop("domainName", None) or part.name
    if name.lower() == "auto" or "." not in name:
        place.problem("a domain cannot be made up here; DomainName must say it")
        return
    build.add(part, "fc.domain", (name,), {"protocol": "HTTP", **found}, type_name=kind)


_TOPIC = (
    Field("region", text),
    Field("topicName", text),
    Field("maximumMessageSize", number),
    Field("loggingEnabled", switch),
)


def topic(build: Build, part: Part, kind: str) -> None:
    """Add a topic."""
    found = members(build.properties(part), _TOPIC, capital=True)
    properties = {
        "MaxMessageSize": found.get("maximumMessageSize", 65536),
        "EnableLogging": found.get("loggingEnabled", False),
    }
    build.add(part, "mns.topic", (found.get("topicName") or part.name,), properties, type_name=kind)


SERVERLESS_TYPES: Mapping[str, Builder] = {
    SERVICE_TYPE: service,
    FLOW_TYPE: flow,
    "Aliyun::Serverless::CustomDomain": domain,
    "Aliyun::Serverless::MNSTopic": topic,
}
