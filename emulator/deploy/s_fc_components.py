"""The components ``fc``, ``fc3``, ``fc3-domain``, ``fc3-layer`` and ``ram`` of Serverless Devs.

Source: schemas of the components ``fc`` and ``fc3``.
"""

from collections.abc import Mapping
from typing import Any, assert_never

from emulator.deploy import fc_fields as fields
from emulator.deploy.build import (
    CUSTOM,
    SYSTEM,
    Build,
    Event,
    add_calls_2,
    add_trigger,
    attach,
    policy_properties,
    role_properties,
    trigger_type,
)
from emulator.deploy.model import Resource
from emulator.deploy.notation import members, text
from emulator.deploy.places import LocatedValue
from emulator.kernel.frozen import replace
from emulator.services.fc.triggers.model import TriggerKind
from emulator.wire.schema.kinds import AS_WRITTEN, TEXT, Also, Items, Noted, Shape, member, needed

REGION = member("region")


_HANDLER = "index.handler"
"""The handler of a function without one, which the API requires but the component does not. Its value is assumed."""

DOMAIN_2 = (
    needed("domainName"),
    member("protocol"),
    member("routeConfigs", Items(fields.ROUTE)),
    member("certConfig", fields.CERTIFICATE),
)
_FC_EXTRA = (
    needed("name"),
    member("codeUri", AS_WRITTEN),
    member("ossBucket"),
    member("ossKey"),
    member("asyncConfiguration", fields.ASYNC_2),
)


_POLICY = (needed("name"), member("description"), needed("statement", AS_WRITTEN))
RAM = (
    needed("name"),
    member("description"),
    member("service"),
    member("policies", AS_WRITTEN),
)


def _name_or_role(part: LocatedValue, capital: bool) -> Any:
    return part.value if isinstance(part.value, dict) else text(part, capital)


_SERVICE = (
    needed("name"),
    *fields.SERVICE.with_kinds(role=Also(TEXT, _name_or_role)),
)


def _role(build: Build, part: LocatedValue, logical: str) -> str:
    """Add a role of component fc or ram with its policies, and return its ARN.

    Source: devsapp/fc docs/zh/yaml/service.md; awesome-fc/fc-fnf-video-processing ram.yaml.
    """
    values = members(part, RAM, capital=False)
    name = values.get("name") or ""
    principal = {"Service": [values.get("service") or "fc.aliyuncs.com"]}
    statement = {"Action": "sts:AssumeRole", "Effect": "Allow", "Principal": principal}
    trust = role_properties({"Statement": [statement], "Version": "1"}, {"description": values.get("description")})
    if not build.describes("ram.role", (name,)):
        build.add(part, "ram.role", (name,), trust, logical=logical)
        for place in part.member("policies").items():
            _policy_of_role(build, place, name, logical)
    return build.role_arn(name)


def _policy_of_role(build: Build, part: LocatedValue, role: str, logical: str) -> None:
    """Add a policy of a role: one of the cloud's, given by name, or a new one, given by its statements."""
    if not isinstance(part.value, dict):
        own = part.text()
        attach(build, part, role, SYSTEM, own, logical=f"{logical}/{own}")
        return
    values = members(part, _POLICY, capital=False)
    own = values.get("name") or ""
    document = {"Version": "1", "Statement": values.get("statement") or []}
    policy = policy_properties(document, values.get("description"))
    build.add(part, "ram.policy", (own,), policy, logical=f"{logical}/{own}-policy")
    attach(build, part, role, CUSTOM, own, logical=f"{logical}/{own}")


def ram(build: Build, part: LocatedValue, props: LocatedValue) -> None:
    """Add a role with its policies."""
    _role(build, props, part.name)


def fc(build: Build, part: LocatedValue, props: LocatedValue) -> None:
    """Add a service, its function, triggers and domains."""
    table = (
        REGION,
        member("service", AS_WRITTEN),
        member("function", AS_WRITTEN),
        member("triggers", AS_WRITTEN),
        member("customDomains", AS_WRITTEN),
    )
    members(props, table, capital=False)
    place = props.member("service")
    service = members(place, _SERVICE, capital=False)
    name = service.pop("name", "")
    if isinstance(service.get("role"), dict):
        service["role"] = _role(build, place.member("role"), f"{part.name}/role")
    key = ("fc.service", (name,))
    if log := fields.log_of_auto_service(place.member("logConfig").value, build.account, build.region, name):
        service["logConfig"] = log
    if not build.describes(*key):  # several modules may share the service
        properties = {"description": "", **build.with_role(service)}
        build.add(place, *key, properties, logical=f"{part.name}/service")
    place = props.member("function")
    if place.value is None:
        return
    values = members(place, (*fields.FUNCTION_2, *_FC_EXTRA), capital=False)
    calls = values.pop("asyncConfiguration", None)
    identity = (name, values.pop("name", ""))
    package = build.package(place, "codeUri", values)
    properties = {**fields.DEFAULTS_2, "handler": _HANDLER, **values}
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
        needed(name_key),
        needed(type_key),
        member(role),
        member("sourceArn"),
        member("qualifier"),
        member("description"),
        member(config, AS_WRITTEN),
    )
    values = members(part, table, capital=False)
    if name_key not in values or type_key not in values:
        return
    kind = trigger_type(part.member(type_key))
    if kind is None:
        return
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


def _source(build: Build, kind: TriggerKind, config: Mapping[str, Any]) -> str | None:
    """Return the ARN of the event source that a configuration of component fc names.

    Source: devsapp/fc docs/zh/yaml/triggers.md; forms of the names from devsapp/fc3 __tests__/e2e/trigger.
    """
    match kind:
        case "mns_topic" if "topicName" in config:
            return f"acs:mns:{config.get('region') or build.region}:{build.account}:/topics/{config['topicName']}"
        case "oss" if "bucketName" in config:
            return f"acs:oss:{build.region}:{build.account}:{config['bucketName']}"
        case "tablestore" if "instanceName" in config and "tableName" in config:
            table = f"instance/{config['instanceName']}/table/{config['tableName']}"
            return f"acs:ots:{build.region}:{build.account}:{table}"
        case "log" if isinstance(config.get("logConfig"), dict) and "project" in config["logConfig"]:
            return f"acs:log:{build.region}:{build.account}:project/{config['logConfig']['project']}"
        case "cdn_events":
            return f"acs:cdn:*:{build.account}"
        case "mns_topic" | "oss" | "tablestore" | "log" | "http" | "timer" | "eventbridge" | "rds":
            return None
        case _:
            assert_never(kind)


_NAMES_OF_SOURCES = frozenset({"topicName", "bucketName", "instanceName", "tableName"})


def _trigger_config(kind: TriggerKind, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration without the members that name the source; ``Key.Prefix`` is split."""
    values = {key: value for key, value in content.items() if key not in _NAMES_OF_SOURCES}
    match kind:
        case "http":
            rules = content.get("authConfig")
            return {**content, "authConfig": _rules_of_tokens(rules)} if isinstance(rules, dict) else dict(content)
        case "mns_topic":
            values.pop("region", None)
            return values
        case "oss":
            chosen = values.get("filter")
            return {**values, "filter": _filter(chosen)} if isinstance(chosen, dict) else values
        case "timer" | "log" | "tablestore" | "cdn_events" | "eventbridge" | "rds":
            return values
        case _:
            assert_never(kind)


def _filter(chosen: Mapping[str, Any]) -> dict[str, Any]:
    key = dict(chosen.get("key") or chosen.get("Key") or {})
    key |= {name.partition(".")[2].lower(): value for name, value in chosen.items() if "." in name}
    others = {name: value for name, value in chosen.items() if "." not in name and name.lower() != "key"}
    return {**others, "key": key}


_TOKEN_PARTS = {
    "tokenLookup": ("readPosition", "parameterName", "prefix"),
    "claimPassBy": ("mappingParameterPosition", "claimName", "mappingParameterName"),
}
"""Members that the component joins with colons; the first is left out when it is empty."""


def _rules_of_tokens(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of tokens, with lists of maps converted to the texts that the API takes.

    Source: devsapp/fc3 src/interface/trigger.ts, convertIHttpTriggerConfig.
    """
    rules = dict(config)
    for name, parts in _TOKEN_PARTS.items():
        if isinstance(rules.get(name), list):
            rules[name] = ",".join(_joined(row, parts) for row in rules[name])
    return rules


def _joined(row: Any, parts: tuple[str, ...]) -> str:
    if not isinstance(row, dict):
        return str(row)
    text = ":".join(str(row.get(part) or "") for part in parts)
    return text.removesuffix(":") if "prefix" in parts else text


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


_TARGETS = member("qualifier")
_PROVISION_MODE = member("mode", Noted("provisioned instances are started at once"))
_FC3_EXTRA = (
    REGION,
    needed("functionName"),
    member("code", AS_WRITTEN),
    member("triggers", AS_WRITTEN),
    member("asyncInvokeConfig", fields.ASYNC_3),
    member("concurrencyConfig", fields.CONCURRENCY),
    member("provisionConfig", fields.PROVISION.extended(_TARGETS, _PROVISION_MODE)),
    member("scalingConfig", fields.SCALING.extended(_TARGETS)),
    member("vpcBinding", Noted("there is no VPC here")),
    member("customDomain", AS_WRITTEN),
    member("instanceType", Noted("functions without services have none")),
    member("invocationRestriction", Noted("calls are not restricted here")),
    member("annotations", Noted("no models are downloaded here")),
    member("endpoint", Noted("everything is made in the emulator")),
    member("supplement", Noted("it is of the component's other commands")),
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
    if log := fields.log_of_auto(props.member("logConfig").value, build.account, build.region):
        values["logConfig"] = log
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
    REGION,
    *fields.DOMAIN,
    member("route", Shape("", fields.ROUTE)),
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
        route = {"functionName": function, **route}
        if build.changed("fc3.domain", (name,), lambda shared: _with_route(shared, route)):
            return
        values["routeConfig"] = {"routes": [route]}
    build.add(place, "fc3.domain", (name,), {"protocol": "HTTP", **values}, logical=logical)


def _with_route(shared: Resource, route: dict[str, Any]) -> Resource:
    """Return a domain with a route added, that of another function in the file."""
    routes = [*shared.properties["routeConfig"]["routes"], route]
    return replace(shared, properties={**shared.properties, "routeConfig": {"routes": routes}})


def fc3_domain(build: Build, part: LocatedValue, props: LocatedValue) -> None:
    """Add a custom domain."""
    _domain_3(build, props, logical=part.name)


def fc3_layer(build: Build, part: LocatedValue, props: LocatedValue) -> None:
    """Add a layer version."""
    table = (REGION, *fields.LAYER, needed("code", AS_WRITTEN), member("acl", AS_WRITTEN))
    values = members(props, table, capital=False)
    values.pop("region", None)
    if (acl := values.pop("acl", None)) is not None:
        values["acl"] = "1" if str(acl).lower() in {"1", "true"} else "0"
    package = build.package(props, "code", values)
    name = values.pop("layerName", "")
    build.add(part, "fc3.layer", (name,), values, package=package)
    known = build.scope.attributes[part.name]
    build.scope.attributes[part.name] = {**known, "layerVersionArn": known["Arn"]}
