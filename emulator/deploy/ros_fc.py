"""The plain resource types of ROS for functions: ``ALIYUN::FC`` and ``ALIYUN::FC3``.

Source: Resource Orchestration Service, reference of resource types.
"""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from emulator.deploy import fc_fields as fields
from emulator.deploy.build import Build, Builder, Event, trigger_properties, trigger_type
from emulator.deploy.files import packed_text
from emulator.deploy.provider import decoded
from emulator.deploy.shapes import (
    Field,
    Part,
    anything,
    json_text,
    map_of,
    members,
    noted,
    number,
    switch,
    text,
)

_SERVICE_NAME = Field("serviceName", text, required=True)
_FUNCTION_NAME = Field("functionName", text, required=True)
_QUALIFIER = Field("qualifier", text)

_CODE = map_of(
    Field("zipFile", text),
    Field("sourceCode", text),
    Field("ossBucketName", text),
    Field("ossObjectName", text),
    Field("checksum", text),
)
_SOURCE_FILES = {"python": "index.py", "nodejs": "index.js", "php": "index.php"}


def _code(part: Part, values: dict[str, Any], runtime: str) -> bytes | None:
    """Return the package, or leave in *values* where it is in a bucket.

    The text of a handler is packed under the name its runtime expects.
    """
    code = values.pop("code", None)
    if code is None:
        if not runtime.startswith("custom-container"):
            part.problem("Code is missing")
        return None
    place = part.member("Code")
    if source := code.get("sourceCode"):
        name = next((name for prefix, name in _SOURCE_FILES.items() if runtime.startswith(prefix)), "index.py")
        return packed_text(name, source)
    if zipped := code.get("zipFile"):
        package = decoded(zipped)
        if package is None:
            place.member("ZipFile").problem("is not base64 of a zip archive")
        return package
    if code.get("ossBucketName") and code.get("ossObjectName"):
        values["code"] = {name: code[name] for name in ("ossBucketName", "ossObjectName")}
    else:
        place.problem("needs ZipFile, SourceCode, or OssBucketName and OssObjectName")
    return None


def service(build: Build, part: Part, kind: str) -> None:
    """Add a service."""
    values = members(build.properties(part), (_SERVICE_NAME, *fields.SERVICE), capital=True)
    name = values.pop("serviceName", "")
    _own_role(build, values)
    build.add(part, "fc.service", (name,), {"description": "", **values}, type_name=kind)


def _own_role(build: Build, values: dict[str, Any]) -> None:
    if values.get("role"):
        values["role"] = build.role_arn(values["role"])


def function_2(build: Build, part: Part, kind: str) -> None:
    """Add a function in a service, and how it is called asynchronously."""
    place = build.properties(part)
    extra = (
        _SERVICE_NAME,
        _FUNCTION_NAME,
        Field("code", _CODE),
        Field("asyncConfiguration", map_of(*fields.ASYNC_2)),
        Field("projectName", noted("logs go to the emulator's own log")),
        Field("tags", noted("tags of functions are set through the API")),
    )
    values = members(place, (*fields.FUNCTION_2, *extra), capital=True)
    identity = (values.pop("serviceName", ""), values.pop("functionName", ""))
    calls = values.pop("asyncConfiguration", None)
    package = _code(place, values, str(values.get("runtime", "")))
    build.add(part, "fc.function", identity, {**fields.DEFAULTS_2, **values}, type_name=kind, package=package)
    if calls:
        logical = f"{part.name}/async"
        build.add(
            part, "fc.async", (*identity, "LATEST"), calls, type_name="ALIYUN::FC::AsyncConfiguration", logical=logical
        )


def function_3(build: Build, part: Part, kind: str) -> None:
    """Add a function without a service, and what belongs to it."""
    place = build.properties(part)
    extra = (
        _FUNCTION_NAME,
        Field("code", _CODE),
        Field("asyncInvokeConfig", map_of(*fields.ASYNC_3)),
        Field("concurrencyConfig", map_of(*fields.CONCURRENCY)),
        Field("reservedConcurrency", number),
    )
    values = members(place, (*fields.FUNCTION_3, *extra), capital=True)
    name = values.pop("functionName", "")
    _own_role(build, values)
    belongings = {
        key: values.pop(key, None) for key in ("asyncInvokeConfig", "concurrencyConfig", "reservedConcurrency")
    }
    package = _code(place, values, str(values.get("runtime", "")))
    build.add(part, "fc3.function", (name,), {**fields.DEFAULTS_3, **values}, type_name=kind, package=package)
    if calls := belongings["asyncInvokeConfig"]:
        qualifier = calls.pop("qualifier", None) or "LATEST"
        type_name = "ALIYUN::FC3::AsyncInvokeConfig"
        build.add(part, "fc3.async", (name, qualifier), calls, type_name=type_name, logical=f"{part.name}/async")
    limit = belongings["concurrencyConfig"] or (
        {"reservedConcurrency": belongings["reservedConcurrency"]} if belongings["reservedConcurrency"] else None
    )
    if limit:
        type_name = "ALIYUN::FC3::ConcurrencyConfig"
        build.add(part, "fc3.concurrency", (name,), limit, type_name=type_name, logical=f"{part.name}/concurrency")


TRIGGER = (
    _FUNCTION_NAME,
    Field("triggerName", text, required=True),
    Field("triggerType", text, required=True),
    Field("triggerConfig", anything),
    Field("sourceArn", text),
    Field("invocationRole", text),
    Field("description", text),
    _QUALIFIER,
)


def trigger(build: Build, part: Part, kind: str, *, in_service: bool) -> None:
    """Add a trigger of a function."""
    place = build.properties(part)
    values = members(place, (*TRIGGER, _SERVICE_NAME) if in_service else TRIGGER, capital=True)
    if "triggerType" not in values:
        return
    event_kind = trigger_type(place.member("TriggerType"))
    config = place.member("TriggerConfig")
    if isinstance(config.value, str):
        config = config.with_value(_opened(config))
    event = Event(
        kind=event_kind,
        config=config,
        role=values.get("invocationRole"),
        qualifier=values.get("qualifier"),
        source=values.get("sourceArn"),
        description=values.get("description"),
    )
    properties = trigger_properties(build, event)
    names = ("serviceName", "functionName", "triggerName") if in_service else ("functionName", "triggerName")
    identity = tuple(values.get(name, "") for name in names)
    build.add(part, "fc.trigger" if in_service else "fc3.trigger", identity, properties, type_name=kind)


def _opened(part: Part) -> Any:
    try:
        return json.loads(part.value)
    except (ValueError, RecursionError):
        part.problem("is not JSON")
        return {}


def _scope(in_service: bool) -> tuple[Field, str, str]:
    """Return what versions and aliases belong to: the property, and the kind's and its name's beginning."""
    return (_SERVICE_NAME, "serviceName", "fc") if in_service else (_FUNCTION_NAME, "functionName", "fc3")


def version(build: Build, part: Part, kind: str, *, in_service: bool) -> None:
    """Add a published version."""
    owner, name, prefix = _scope(in_service)
    values = members(build.properties(part), (owner, *fields.VERSION), capital=True)
    identity = (values.pop(name, ""), part.name)
    build.add(part, f"{prefix}.version", identity, values, type_name=kind)


def alias(build: Build, part: Part, kind: str, *, in_service: bool) -> None:
    """Add an alias."""
    owner, name, prefix = _scope(in_service)
    values = members(build.properties(part), (owner, *fields.ALIAS), capital=True)
    identity = (values.pop(name, ""), values.pop("aliasName", ""))
    properties = {"description": "", "additionalVersionWeight": {}, **values}
    build.add(part, f"{prefix}.alias", identity, properties, type_name=kind)


def provision_2(build: Build, part: Part, kind: str) -> None:
    """Add instances that are kept ready, of a function in a service."""
    table = (_SERVICE_NAME, _FUNCTION_NAME, Field("qualifier", text, required=True), *fields.PROVISION)
    values = members(build.properties(part), table, capital=True)
    identity = tuple(values.pop(name, "") for name in ("serviceName", "qualifier", "functionName"))
    build.add(part, "fc.provision", identity, values, type_name=kind)


def setting_3(build: Build, part: Part, kind: str, *, what: str, table: tuple[Field, ...]) -> None:
    """Add a configuration of a function without a service."""
    values = members(build.properties(part), (_FUNCTION_NAME, _QUALIFIER, *table), capital=True)
    name, qualifier = values.pop("functionName", ""), values.pop("qualifier", None) or "LATEST"
    identity = (name,) if what == "concurrency" else (name, qualifier)
    build.add(part, f"fc3.{what}", identity, values, type_name=kind)


def domain(build: Build, part: Part, kind: str, *, prefix: str) -> None:
    """Add a custom domain."""
    table = (*fields.DOMAIN, Field("routeConfig", fields.ROUTES), Field("apiVersion", text))
    values = members(build.properties(part), table, capital=True)
    values.pop("apiVersion", None)
    build.add(part, f"{prefix}.domain", (values.pop("domainName", ""),), {"protocol": "HTTP", **values}, type_name=kind)


def layer(build: Build, part: Part, kind: str, *, prefix: str) -> None:
    """Add a layer version."""
    place = build.properties(part)
    values = members(place, (*fields.LAYER, Field("code", _CODE, required=True)), capital=True)
    package = _code(place, values, "python") if "code" in values else None
    build.add(part, f"{prefix}.layer", (values.pop("layerName", ""),), values, type_name=kind, package=package)


def invocation(build: Build, part: Part, kind: str, *, in_service: bool) -> None:
    """Add a call of a function, made once and again when what is said about it changes."""
    table = (
        _FUNCTION_NAME,
        Field("event", json_text),
        _QUALIFIER,
        Field("async", switch),
        Field("serviceRegionId", noted("there is one region")),
        Field("executeVersion", text),
        Field("checkError", switch),
    )
    values = members(build.properties(part), (*table, _SERVICE_NAME) if in_service else table, capital=True)
    names = ("serviceName", "functionName") if in_service else ("functionName",)
    identity = (*(values.pop(name, "") for name in names), part.name)
    build.add(part, "fc.invocation" if in_service else "fc3.invocation", identity, values, type_name=kind)


_FC3 = "ALIYUN::FC3::"
FUNCTION_TYPES: Mapping[str, Builder] = {
    "ALIYUN::FC::Service": service,
    "ALIYUN::FC::Function": function_2,
    "ALIYUN::FC::Trigger": partial(trigger, in_service=True),
    "ALIYUN::FC::Version": partial(version, in_service=True),
    "ALIYUN::FC::Alias": partial(alias, in_service=True),
    "ALIYUN::FC::ProvisionConfig": provision_2,
    "ALIYUN::FC::CustomDomain": partial(domain, prefix="fc"),
    "ALIYUN::FC::Layer": partial(layer, prefix="fc"),
    "ALIYUN::FC::FunctionInvoker": partial(invocation, in_service=True),
    _FC3 + "Function": function_3,
    _FC3 + "Trigger": partial(trigger, in_service=False),
    _FC3 + "Version": partial(version, in_service=False),
    _FC3 + "Alias": partial(alias, in_service=False),
    _FC3 + "ProvisionConfig": partial(setting_3, what="provision", table=fields.PROVISION),
    _FC3 + "ScalingConfig": partial(setting_3, what="scaling", table=fields.SCALING),
    _FC3 + "ConcurrencyConfig": partial(setting_3, what="concurrency", table=fields.CONCURRENCY),
    _FC3 + "AsyncInvokeConfig": partial(setting_3, what="async", table=fields.ASYNC_3[:-1]),
    _FC3 + "CustomDomain": partial(domain, prefix="fc3"),
    _FC3 + "LayerVersion": partial(layer, prefix="fc3"),
    _FC3 + "FunctionInvoker": partial(invocation, in_service=False),
}
"""Types of Function Compute."""
