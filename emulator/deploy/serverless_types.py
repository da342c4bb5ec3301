"""The resource types of Funcraft: a service with its functions and their events, flows, domains, topics.

Source: Funcraft, specification 2018-04-03.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, assert_never

from emulator.deploy import fc_fields as fields
from emulator.deploy import service_fields
from emulator.deploy.build import Build, Builder, Event, add_calls_2, add_trigger, role_of_policies
from emulator.deploy.functions import names_in
from emulator.deploy.model import FileProblems, Resource
from emulator.deploy.notation import members, text
from emulator.deploy.places import Findings, LocatedValue, whole
from emulator.kernel.phrases import Phrase
from emulator.kernel.spelling import suggestion
from emulator.services.fc.triggers.model import TriggerKind
from emulator.services.mns.topics.model import TOPIC
from emulator.wire.schema.kinds import AS_WRITTEN, JSON_TEXT, Also, member, needed, record

_REFERS = re.compile(r"!(?:Ref|GetAtt|Sub|Join)\b|\bRef['\"]?\s*:|\bFn::")


def definition_in_file(build: Build, place: LocatedValue) -> str | None:
    """Return the definition in the file named by *place*, with its references replaced by values."""
    text = build.definition(place)
    if text is None or not _REFERS.search(text):
        return text
    findings = Findings()
    try:
        document = whole(text, findings)
        with build.scope.giving("ARN"):
            value = build.scope.value(document)
        findings.check()
    except FileProblems as error:
        for problem in error.problems:
            place.problem(problem.within(place.value))
        return None
    return json.dumps(value, ensure_ascii=False)


def names_in_file(build: Build, resource: LocatedValue) -> set[str]:
    """Return the names that a resource's definition file may refer to; problems are reported when it is read."""
    place = resource.member("Properties").member("DefinitionUri")
    if not isinstance(place.value, str):
        return set()
    text = build.definition(LocatedValue(place.value, place.path, place.marks, Findings()))
    if text is None or not _REFERS.search(text):
        return set()
    try:
        document = whole(text, Findings())
    except FileProblems:
        return set()
    return names_in(document.value)


SERVICE_TYPE = "Aliyun::Serverless::Service"
FUNCTION_TYPE = "Aliyun::Serverless::Function"
FLOW_TYPE = "Aliyun::Serverless::Flow"
TOPIC_TYPE = "Aliyun::Serverless::MNSTopic"

REFUSED = frozenset(
    {
        "Aliyun::Serverless::Log", "Aliyun::Serverless::Log::Logstore", "Aliyun::Serverless::TableStore",
        "Aliyun::Serverless::TableStore::Table", "Aliyun::Serverless::Api", "Aliyun::Serverless::VPC",
        "ALIYUN::SLS::Project", "ALIYUN::SLS::Logstore", "ALIYUN::SLS::Index", "ALIYUN::ROS::WaitConditionHandle",
        "ALIYUN::ROS::WaitCondition", "ALIYUN::ROS::Sleep",
    }
)  # fmt: skip
"""Types of services without a counterpart here; they are noted and left out."""

_RESERVED = frozenset({"Type", "Properties", "DependsOn", "Condition", "Metadata", "Description", "DeletionPolicy"})
_EVENTS: Mapping[str, TriggerKind] = {
    "Timer": "timer", "HTTP": "http", "OSS": "oss", "Log": "log", "MNSTopic": "mns_topic", "CDN": "cdn_events",
    "RDS": "rds", "TableStore": "tablestore",
}  # fmt: skip


def service(build: Build, part: LocatedValue, kind: str) -> None:
    """Add a service, its role, its functions and their triggers."""
    place = build.properties(part)
    values = members(place, (*fields.SERVICE, member("policies", AS_WRITTEN)), capital=True)
    policies = values.pop("policies", None)
    if policies and "role" not in values:
        values["role"] = role_of_policies(build, part, place.member("Policies"), "fc")
    properties = {"description": "", **build.with_role(values)}
    made = build.add(part, "fc.service", (part.name,), properties, type_name=kind)
    for entry in part.entries():
        if entry.name not in _RESERVED:
            _function(build, made, entry)


def _function(build: Build, owner: Resource, part: LocatedValue) -> None:
    if not isinstance(part.value, dict) or part.value.get("Type") != FUNCTION_TYPE:
        part.problem(Phrase("only functions can be in a service: Type must be {type}", type=FUNCTION_TYPE))
        return
    for entry in part.entries():
        if entry.name not in {"Type", "Properties", "Events"}:
            entry.problem("there is no such part of a function", suggestion(entry.name, ["Properties", "Events"]))
    place = build.properties(part)
    extra = (member("functionName"), member("codeUri"), member("asyncConfiguration", fields.ASYNC_2))
    values = members(place, (*fields.FUNCTION_2, *extra), capital=True)
    calls = values.pop("asyncConfiguration", None)
    name = values.pop("functionName", None) or part.name
    package = build.package(place, "CodeUri", values)
    made = build.add(
        part,
        "fc.function",
        (owner.identity[0], name),
        {**fields.DEFAULTS_2, **values},
        type_name=FUNCTION_TYPE,
        logical=f"{owner.logical}/{part.name}",
        package=package,
        also_known_as=(f"{owner.logical}{part.name}",),
    )
    add_calls_2(build, place.member("AsyncConfiguration"), made, calls, "ALIYUN::FC::AsyncConfiguration")
    events = part.member("Events")
    for event in events.with_value(build.scope.value(events)).entries():
        _event(build, made, event)


def _event(build: Build, function: Resource, part: LocatedValue) -> None:
    kind = part.value.get("Type") if isinstance(part.value, dict) else None
    if not isinstance(kind, str) or kind not in _EVENTS:
        part.problem(Phrase("Type must be one of {choices}", choices=", ".join(_EVENTS)))
        return
    for entry in part.entries():
        if entry.name not in {"Type", "Properties"}:
            entry.problem("there is no such part of an event")
    place = part.member("Properties")
    config = dict(place.value) if isinstance(place.value, dict) else {}
    for name in _NESTED.get(_EVENTS[kind], ()):
        if isinstance(config.get(name), dict):
            config[name] = {f"{key[:1].lower()}{key[1:]}": value for key, value in config[name].items()}
    own = {name: text(place.member(name)) for name in _SOURCE if config.pop(name, None) is not None}
    if (needed := _NEEDED.get(_EVENTS[kind])) and place.member(needed).value is None:
        place.problem(Phrase("{name} is missing", name=needed))
    event = Event(
        kind=_EVENTS[kind],
        config=place.with_value(config),
        role=own.get("InvocationRole"),
        qualifier=own.get("Qualifier"),
        source=_source(build, _EVENTS[kind], own, place),
    )
    add_trigger(build, part, function, event, logical=f"{function.logical}/{part.name}", type_name=kind)


_SOURCE = (
    "InvocationRole", "Qualifier", "Region", "TopicName", "BucketName", "InstanceId", "InstanceName", "TableName",
)  # fmt: skip
"""Properties of an event that are not part of the trigger's configuration."""

_NEEDED: Mapping[TriggerKind, str] = {"oss": "BucketName", "mns_topic": "TopicName"}

_NESTED: Mapping[TriggerKind, tuple[str, ...]] = {
    "log": ("SourceConfig", "JobConfig", "LogConfig"), "cdn_events": ("Filter",),
}  # fmt: skip
"""Parts of configurations that are passed on unchanged except for the case of their names."""


def _source(build: Build, kind: TriggerKind, own: Mapping[str, Any], place: LocatedValue) -> str | None:
    match kind:
        case "mns_topic":
            return f"acs:mns:{own.get('Region') or build.region}:{build.account}:/topics/{own.get('TopicName', '')}"
        case "oss":
            return f"acs:oss:{build.region}:{build.account}:{own.get('BucketName', '')}"
        case "log":
            project = place.member("LogConfig").member("Project").value or "fun"
            return f"acs:log:{build.region}:{build.account}:project/{project}"
        case "cdn_events":
            return f"acs:cdn:*:{build.account}"
        case "rds":
            return f"acs:rds:{build.region}:{build.account}:dbinstance/{own.get('InstanceId', 'fun')}"
        case "tablestore":
            instance, table = own.get("InstanceName"), own.get("TableName")
            return f"acs:ots:{build.region}:{build.account}:instance/{instance}/table/{table}"
        case "http" | "timer" | "eventbridge":
            return None
        case _:
            assert_never(kind)


def topics_in_events(service_part: LocatedValue) -> set[str]:
    """Return the names of the topics in the events of a service's functions; they are created before the triggers."""
    functions = (entry for entry in service_part.unreported().entries() if entry.name not in _RESERVED)
    events = (event for function in functions for event in function.member("Events").entries())
    topics = (event.member("Properties").member("TopicName").value for event in events)
    return {topic for topic in topics if isinstance(topic, str)}


_FLOW = (
    member("name"),
    member("definition", JSON_TEXT),
    member("definitionUri"),
    *(each for each in service_fields.ATTRIBUTES if each.name != "roleArn"),
    member("role"),
    member("policies", AS_WRITTEN),
)


def flow(build: Build, part: LocatedValue, kind: str) -> None:
    """Add a flow, its role and its schedules."""
    place = build.properties(part)
    if isinstance(place.value, dict) and "Definition" in place.value:
        with build.scope.giving("ARN"):
            written = build.scope.value(part.member("Properties").member("Definition"))
        place = place.with_value({**place.value, "Definition": written})
    values = members(place, _FLOW, capital=True)
    definition = values.get("definition")
    if "definitionUri" in values:
        definition = definition_in_file(build, place.member("DefinitionUri"))
    elif definition is None:
        place.problem("Definition or DefinitionUri is missing")
    role = values.get("role")
    if values.get("policies") and not role:
        role = role_of_policies(build, part, place.member("Policies"), "fnf")
    name = values.get("name") or part.name
    values |= {"definition": definition, "roleArn": build.role_arn(role) if role else None}
    build.add(part, "fnf.flow", (name,), service_fields.flow_properties(values), type_name=kind)
    events = part.member("Events")
    for event in events.with_value(build.scope.value(events)).entries():
        if not isinstance(event.value, dict) or event.value.get("Type") not in ("Schedule", "Timer"):
            event.problem("Type must be Schedule")
            continue
        own = members(event.member("Properties"), service_fields.RUNS, capital=True)
        schedule = service_fields.schedule_properties(own)
        logical = f"{part.name}/{event.name}"
        build.add(event, "fnf.schedule", (name, event.name), schedule, type_name="Schedule", logical=logical)


_ROUTE = fields.ROUTE.without("path")


def _routes(part: LocatedValue, capital: bool) -> list[dict[str, Any]]:
    """Read routes: a map from path to target in Funcraft, a list elsewhere."""
    if isinstance(part.value, list):
        return [members(item, fields.ROUTE, capital=capital) for item in part.items()]
    return [{"path": entry.name, **members(entry, _ROUTE, capital=capital)} for entry in part.entries()]


_DOMAIN = (
    member("domainName"),
    member("protocol"),
    member("certConfig", fields.CERTIFICATE),
    needed("routeConfig", record(needed("routes", Also(AS_WRITTEN, _routes)))),
)


def domain(build: Build, part: LocatedValue, kind: str) -> None:
    """Add a custom domain, named by its key unless that is not a domain."""
    place = build.properties(part)
    values = members(place, _DOMAIN, capital=True)
    name = values.pop("domainName", None) or part.name
    if name.lower() == "auto":
        place.member("DomainName").note("no domain is made up here; the functions have their HTTP triggers' addresses")
        build.scope.attributes[part.name] = {"": part.name}
        return
    if "." not in name:
        place.problem("the key is not a domain name; set DomainName")
        return
    build.add(part, "fc.domain", (name,), {"protocol": "HTTP", **values}, type_name=kind)


_TOPIC = (member("region"), member("topicName"), *service_fields.fields_of(TOPIC))


def topic(build: Build, part: LocatedValue, kind: str) -> None:
    """Add a topic."""
    values = members(build.properties(part), _TOPIC, capital=True)
    properties = service_fields.api_properties(TOPIC, values)
    build.add(part, "mns.topic", (values.get("topicName") or part.name,), properties, type_name=kind)


SERVERLESS_TYPES: Mapping[str, Builder] = {
    SERVICE_TYPE: service,
    FLOW_TYPE: flow,
    "Aliyun::Serverless::CustomDomain": domain,
    TOPIC_TYPE: topic,
}
