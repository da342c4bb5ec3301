"""The components ``fc``, ``fc3``, ``fc3-domain`` and ``fc3-layer`` of Serverless Devs.

Source: schemas of the components ``fc`` and ``fc3``.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from emulator.deploy import fc_fields as fields
from emulator.deploy import service_fields
from emulator.deploy.build import POLICY_TYPE, ROLE_TYPE, Build, Event, add_calls_2, add_trigger, trigger_type
from emulator.deploy.model import Resource
from emulator.deploy.ros_types import ROS_TYPES
from emulator.deploy.shapes import (
    Field,
    ListOf,
    LocatedValue,
    anything,
    json_text,
    map_of,
    members,
    noted,
    text,
)
from emulator.kernel.frozen import replace
from emulator.services.mns.queues.model import QUEUE
from emulator.services.mns.topics.model import SUBSCRIPTION, TOPIC

Component = Callable[[Build, LocatedValue, LocatedValue], None]
"""Adds what a module stands for: the module, and its properties with their variables replaced."""

_REGION = Field("region", text)


DOMAIN_2 = (
    Field("domainName", text, required=True),
    Field("protocol", text),
    Field("routeConfigs", ListOf(map_of(*fields.ROUTE))),
    Field("certConfig", fields.CERTIFICATE),
)
_FC_EXTRA = (
    Field("name", text, required=True),
    Field("codeUri", anything),
    Field("ossBucket", text),
    Field("ossKey", text),
    Field("asyncConfiguration", map_of(*fields.ASYNC_2)),
)


def fc(build: Build, part: LocatedValue, props: LocatedValue) -> None:
    """Add a service, its function, triggers and domains."""
    table = (
        _REGION,
        Field("service", anything),
        Field("function", anything),
        Field("triggers", anything),
        Field("customDomains", anything),
    )
    members(props, table, capital=False)
    service = members(props.member("service"), (Field("name", text, required=True), *fields.SERVICE), capital=False)
    name = service.pop("name", "")
    key = ("fc.service", (name,))
    if key not in {(each.kind, each.identity) for each in build.resources}:  # several modules may share a service
        properties = {"description": "", **build.with_role(service)}
        build.add(props.member("service"), *key, properties, logical=f"{part.name}/service")
    place = props.member("function")
    if place.value is None:
        return
    values = members(place, (*fields.FUNCTION_2, *_FC_EXTRA), capital=False)
    calls = values.pop("asyncConfiguration", None)
    identity = (name, values.pop("name", ""))
    package = build.package(place, "codeUri", values)
    properties = {**fields.DEFAULTS_2, **values}
    function = build.add(place, "fc.function", identity, properties, logical=part.name, package=package)
    add_calls_2(build, place.member("asyncConfiguration"), function, calls)
    for trigger in props.member("triggers").items():
        _trigger(build, function, trigger, "", "role", "config")
    for domain in props.member("customDomains").items():
        _domain_2(build, function, domain)


def _trigger(build: Build, function: Resource, part: LocatedValue, prefix: str, role: str, config: str) -> None:
    """Add a trigger; fc calls its parts ``name`` and ``type``, fc3 ``triggerName`` and ``triggerType``."""
    name_key, type_key = ("triggerName", "triggerType") if prefix else ("name", "type")
    table = (
        Field(name_key, text, required=True),
        Field(type_key, text, required=True),
        Field(role, text),
        Field("sourceArn", text),
        Field("qualifier", text),
        Field("description", text),
        Field(config, anything),
    )
    values = members(part, table, capital=False)
    if name_key not in values or type_key not in values:
        return
    kind = trigger_type(part.member(type_key))
    place = part.member(config)
    content = place.value if isinstance(place.value, dict) else {}
    source = values.get("sourceArn") or _source(build, kind, content)
    event = Event(
        kind=kind,
        config=place.with_value(_trigger_config(kind, content)),
        role=values.get(role),
        qualifier=values.get("qualifier"),
        source=source,
        description=values.get("description"),
    )
    logical = f"{function.logical}/{values[name_key]}"
    named = LocatedValue(part.value, (*part.path, values[name_key]), part.marks, part.findings)
    add_trigger(build, named, function, event, logical=logical)


def _source(build: Build, kind: str, config: Mapping[str, Any]) -> str | None:
    if kind == "mns_topic" and config.get("topicName"):
        return f"acs:mns:{config.get('region') or build.region}:{build.account}:/topics/{config['topicName']}"
    if kind == "oss" and config.get("bucketName"):
        return f"acs:oss:{build.region}:{build.account}:{config['bucketName']}"
    return None


def _trigger_config(kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration without what only names the source; ``Key.Prefix`` is taken apart."""
    values = {key: value for key, value in content.items() if kind == "http" or key not in {"topicName", "bucketName"}}
    if kind == "mns_topic":
        values.pop("region", None)
    chosen = values.get("filter")
    if kind == "oss" and isinstance(chosen, dict):
        key = dict(chosen.get("key") or chosen.get("Key") or {})
        key |= {name.partition(".")[2].lower(): value for name, value in chosen.items() if "." in name}
        others = {name: value for name, value in chosen.items() if "." not in name and name.lower() != "key"}
        values["filter"] = {**others, "key": key}
    return values


def _domain_2(build: Build, function: Resource, part: LocatedValue) -> None:
    values = members(part, DOMAIN_2, capital=False)
    name = values.pop("domainName", "")
    if name.lower() == "auto":
        part.note("a domain cannot be made up here: none is made; the function has its HTTP trigger's address")
        return
    routes = values.pop("routeConfigs", None) or [{"path": "/*"}]
    for route in routes:
        route.setdefault("serviceName", function.identity[0])
        route.setdefault("functionName", function.identity[1])
    properties = {"protocol": "HTTP", **values, "routeConfig": {"routes": routes}}
    build.add(part, "fc.domain", (name,), properties, logical=f"{function.logical}/{name}")


_TARGETS = Field("qualifier", text)
_FC3_EXTRA = (
    _REGION,
    Field("functionName", text, required=True),
    Field("code", anything),
    Field("triggers", anything),
    Field("asyncInvokeConfig", map_of(*fields.ASYNC_3)),
    Field("concurrencyConfig", map_of(*fields.CONCURRENCY)),
    Field("provisionConfig", map_of(*fields.PROVISION, _TARGETS)),
    Field("scalingConfig", map_of(*fields.SCALING, _TARGETS)),
    Field("vpcBinding", noted("there is no VPC here")),
    Field("customDomain", anything),
    Field("instanceType", noted("functions without services have none")),
    Field("invocationRestriction", noted("calls are not restricted here")),
)
_SETTINGS = {
    "asyncInvokeConfig": "async",
    "concurrencyConfig": "concurrency",
    "provisionConfig": "provision",
    "scalingConfig": "scaling",
}


def fc3(build: Build, part: LocatedValue, props: LocatedValue) -> None:
    """Add a function without a service, its triggers and settings."""
    values = members(props, (*fields.FUNCTION_3, *_FC3_EXTRA), capital=False)
    name = values.pop("functionName", "")
    for key in ("region", "triggers"):
        values.pop(key, None)
    domain = values.pop("customDomain", None)
    settings = {key: values.pop(key, None) for key in _SETTINGS}
    package = build.package(props, "code", values)
    properties = {**fields.DEFAULTS_3, **build.with_role(values)}
    function = build.add(part, "fc3.function", (name,), properties, package=package)
    for trigger in props.member("triggers").items():
        _trigger(build, function, trigger, "trigger", "invocationRole", "triggerConfig")
    for key, kind in _SETTINGS.items():
        if value := settings[key]:
            qualifier = value.pop("qualifier", None) or "LATEST"
            identity = (name,) if kind == "concurrency" else (name, qualifier)
            build.add(props.member(key), f"fc3.{kind}", identity, value, logical=f"{part.name}/{kind}")
    if domain is not None:
        _domain_3(build, props.member("customDomain"), logical=f"{part.name}/domain", function=name)
    known = dict(build.scope.attributes[part.name])
    http = next((each for each in build.resources if each.logical.startswith(f"{part.name}/")
                 and each.properties.get("triggerType") == "http"), None)  # fmt: skip
    known |= {"functionArn": known["Arn"], "functionId": known["FunctionId"]}
    if http is not None:
        address = build.scope.attributes[http.logical]
        known |= {"url.system_url": address["UrlInternet"], "url.system_intranet_url": address["UrlIntranet"]}
    build.scope.attributes[part.name] = known


DOMAIN_3 = (
    _REGION,
    *fields.DOMAIN,
    Field("route", map_of(*fields.ROUTE)),
)


def _domain_3(build: Build, place: LocatedValue, *, logical: str, function: str = "") -> None:
    values = members(place, DOMAIN_3, capital=False)
    values.pop("region", None)
    name = values.pop("domainName", "")
    if name.lower() == "auto":
        place.note("a domain cannot be made up here: none is made; the function has its HTTP trigger's address")
        return
    route = values.pop("route", None)
    if route is not None:
        values["routeConfig"] = {"routes": [{"functionName": function, **route}]}
    build.add(place, "fc3.domain", (name,), {"protocol": "HTTP", **values}, logical=logical)


def fc3_domain(build: Build, part: LocatedValue, props: LocatedValue) -> None:
    """Add a custom domain."""
    _domain_3(build, props, logical=part.name)


def fc3_layer(build: Build, part: LocatedValue, props: LocatedValue) -> None:
    """Add a layer version."""
    table = (_REGION, *fields.LAYER, Field("code", anything, required=True), Field("acl", anything))
    values = members(props, table, capital=False)
    values.pop("region", None)
    values.pop("acl", None)
    package = build.package(props, "code", values)
    name = values.pop("layerName", "")
    build.add(part, "fc3.layer", (name,), values, package=package)
    known = build.scope.attributes[part.name]
    build.scope.attributes[part.name] = {**known, "layerVersionArn": known["Arn"]}


FLOW = (
    _REGION,
    Field("name", text, required=True),
    Field("definition", anything, required=True),
    Field("description", text),
    Field("type", text),
    Field("roleArn", text, also=("role", "rolearn")),
    Field("executionMode", text),
    Field("environment", json_text),
    Field("schedules", anything),
)
WRITTEN_HERE = "# written here\n"
"""What an export writes before a definition of one line, which would be the name of a file."""
SCHEDULE = (Field("name", text, required=True, also=("scheduleName",)), *service_fields.RUNS)


def flow(build: Build, part: LocatedValue, props: LocatedValue) -> None:
    """Add a flow, whose definition is a file, a text or written out, and its schedules."""
    values = members(props, FLOW, capital=False)
    definition = values.get("definition")
    if isinstance(definition, str) and "\n" not in definition.strip():
        definition = build.definition(props.member("definition"))
    elif isinstance(definition, str):
        definition = definition.removeprefix(WRITTEN_HERE)
    elif definition is not None:
        definition = json.dumps(definition, ensure_ascii=False)
    name = values.get("name", "")
    role = values.get("roleArn")
    values |= {"definition": definition, "roleArn": build.role_arn(role) if role else None}
    build.add(part, "fnf.flow", (name,), service_fields.flow_properties(name, values))
    for place in props.member("schedules").items():
        rows = members(place, SCHEDULE, capital=False)
        schedule = service_fields.schedule_properties(rows)
        own = rows.get("name", "")
        build.add(place, "fnf.schedule", (name, own), schedule, logical=f"{part.name}/{own}")


_QUEUE = (
    _REGION,
    Field("queueName", text, required=True, also=("name",)),
    *service_fields.fields_of(QUEUE, capital=False),
)
_TOPIC = (
    _REGION,
    Field("topicName", text, required=True, also=("name",)),
    *service_fields.fields_of(TOPIC, capital=False),
    Field("subscriptions", anything),
)
_SUBSCRIPTION = (
    Field("subscriptionName", text, required=True, also=("name",)),
    *service_fields.fields_of(SUBSCRIPTION, capital=False),
    Field("endpoint", text, required=True),
)


def queue(build: Build, part: LocatedValue, props: LocatedValue, logical: str = "") -> None:
    """Add a queue."""
    values = members(props, _QUEUE, capital=False)
    name = values.get("queueName", "")
    properties = service_fields.api_properties(QUEUE, values)
    build.add(part, "mns.queue", (name,), properties, logical=logical and f"{logical}/{name}")


def topic(build: Build, part: LocatedValue, props: LocatedValue, logical: str = "") -> None:
    """Add a topic and its subscriptions."""
    values = members(props, _TOPIC, capital=False)
    name = values.get("topicName", "")
    properties = service_fields.api_properties(TOPIC, values)
    made = build.add(part, "mns.topic", (name,), properties, logical=logical and f"{logical}/{name}")
    for place in props.member("subscriptions").items():
        own = members(place, _SUBSCRIPTION, capital=False)
        own_name = own.get("subscriptionName", "")
        properties = service_fields.message_properties(build, SUBSCRIPTION, own)
        logical_name = f"{made.logical}/{own_name}"
        build.add(place, "mns.subscription", (name, own_name), properties, logical=logical_name)


def messages(build: Build, part: LocatedValue, props: LocatedValue) -> None:
    """Add queues and topics."""
    members(props, (_REGION, Field("queues", anything), Field("topics", anything)), capital=False)
    for place in props.member("queues").items():
        queue(build, place, place, part.name)
    for place in props.member("topics").items():
        topic(build, place, place, part.name)


_BUCKET, _ROLE, _POLICY = (ROS_TYPES[name] for name in ("ALIYUN::OSS::Bucket", ROLE_TYPE, POLICY_TYPE))

COMPONENTS: Mapping[str, Component] = {
    "fc": fc,
    "fc3": fc3,
    "fc3-domain": fc3_domain,
    "fc3-layer": fc3_layer,
    "fnf": flow,
    "cloudflow": flow,
    "mns": messages,
    "mns-queue": queue,
    "mns-topic": topic,
    "oss-bucket": replace(_BUCKET, table=(_REGION, *_BUCKET.table)).add,
    "ram-policy": _POLICY.add,
    "ram-role": _ROLE.add,
}
