"""Capacity over the wire: limits, instances kept ready, scaling, instance lists, the switch of a function.

2.0 limits instances per qualifier (on-demand configuration), 3.0 the concurrency of a function; both keep instances
ready, and 3.0 has a second form of that (scaling configuration).

Source: API reference and models of the three versions; aliyun-fc2 client.py.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from emulator.http.message import Response
from emulator.kernel.paging import Range
from emulator.services.fc import limits
from emulator.services.fc.capacity import shapes
from emulator.services.fc.capacity.model import Kind, Setting, default_target, resource_of
from emulator.services.fc.dialects.bodies import json_list, truth
from emulator.services.fc.dialects.exchange import Exchange, next_token, no_content
from emulator.services.fc.dialects.routing import Handler, Route
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.model import LATEST, function_arn
from emulator.services.fc.runtime.model import InstanceInfo

Render = Callable[[Exchange, Setting], dict[str, Any]]


# --- what they look like -----------------------------------------------------------------------------------------


def render_on_demand(exchange: Exchange, setting: Setting) -> dict[str, Any]:
    """Write a limit of instances."""
    del exchange
    return {"resource": resource_of(setting.place), **setting.config}


def render_concurrency(exchange: Exchange, setting: Setting) -> dict[str, Any]:
    """Write a reserved concurrency."""
    return {"functionArn": function_arn(exchange.tenant, "", setting.place.function), **setting.config}


def render_provision_2(exchange: Exchange, setting: Setting) -> dict[str, Any]:
    """Write how many instances are kept ready, of a function in a service; ``target`` is what holds now."""
    place, ready = setting.place, exchange.service.provisioner.readiness(setting)
    return {
        **setting.config,
        "resource": f"{exchange.tenant.account}#{place.service}#{place.qualifier}#{place.function}",
        "target": ready.target,
        "current": ready.current,
        "currentError": ready.error,
    }


def render_provision_3(exchange: Exchange, setting: Setting) -> dict[str, Any]:
    """Write how many instances are kept ready: by default, by schedule now, and in fact."""
    place, ready = setting.place, exchange.service.provisioner.readiness(setting)
    return {
        **setting.config,
        "functionArn": function_arn(exchange.tenant, "", place.function, place.qualifier),
        "defaultTarget": default_target(setting),
        "target": ready.target,
        "current": ready.current,
        "currentError": ready.error,
    }


def render_scaling(exchange: Exchange, setting: Setting) -> dict[str, Any]:
    """Write a scaling configuration and how far it is fulfilled."""
    place, ready = setting.place, exchange.service.provisioner.readiness(setting)
    return {
        **setting.config,
        "functionArn": function_arn(exchange.tenant, "", place.function, place.qualifier),
        "minInstances": default_target(setting),
        "targetInstances": ready.target,
        "currentInstances": ready.current,
        "currentError": ready.error,
    }


_RENDER_2: dict[Kind, Render] = {Kind.ON_DEMAND: render_on_demand, Kind.PROVISION: render_provision_2}
_RENDER_3: dict[Kind, Render] = {
    Kind.CONCURRENCY: render_concurrency,
    Kind.PROVISION: render_provision_3,
    Kind.SCALING: render_scaling,
}
_READ = {
    Kind.ON_DEMAND: shapes.on_demand,
    Kind.CONCURRENCY: shapes.concurrency,
    Kind.PROVISION: shapes.provision,
    Kind.SCALING: shapes.scaling,
}


# --- put, get, delete --------------------------------------------------------------------------------------------


def _put(kind: Kind, exchange: Exchange) -> Response:
    config = _READ[kind](exchange.body())
    capacity = exchange.service.capacity
    change = capacity.provision if kind in {Kind.PROVISION, Kind.SCALING} else capacity.limit
    setting = change(
        kind, exchange.tenant, *_function(exchange), exchange.qualifier, config, exchange.now, exchange.if_match
    )
    return _shown(exchange, setting)


def _get(kind: Kind, exchange: Exchange) -> Response:
    return _shown(
        exchange, exchange.service.capacity.get(kind, exchange.tenant, *_function(exchange), exchange.qualifier)
    )


def _delete(kind: Kind, exchange: Exchange) -> Response:
    exchange.service.capacity.delete(kind, exchange.tenant, *_function(exchange), exchange.qualifier, exchange.if_match)
    return no_content()


def _shown(exchange: Exchange, setting: Setting) -> Response:
    if setting.place.service:
        return exchange.answer(_RENDER_2[setting.kind](exchange, setting), setting.etag)
    return exchange.answer(_RENDER_3[setting.kind](exchange, setting))


# --- lists -------------------------------------------------------------------------------------------------------


def list_on_demand_configs(exchange: Exchange) -> Response:
    """List the limits of all functions in services; ``prefix`` and ``startKey`` go by the resource's text."""
    prefix = exchange.query("prefix")
    page = exchange.service.capacity.page(
        Kind.ON_DEMAND,
        exchange.tenant,
        lambda setting: resource_of(setting.place).startswith(prefix),
        lambda setting: resource_of(setting.place),
        max(exchange.marker(), exchange.query("startKey")),
        exchange.limit(),
    )
    rows = [render_on_demand(exchange, setting) for setting in page.items]
    return exchange.answer({"configs": rows, "nextToken": next_token(page.next_marker)})


def list_provision_configs_2(exchange: Exchange) -> Response:
    """List the provisioned functions in services, of one service and qualifier if asked so."""
    service, qualifier = exchange.query("serviceName"), exchange.query("qualifier")
    if qualifier and not service:
        raise InvalidArgument("serviceName is required when qualifier is given")
    return _list(
        exchange,
        Kind.PROVISION,
        "provisionConfigs",
        lambda setting: (
            setting.place.service != ""
            and (service or setting.place.service) == setting.place.service
            and (qualifier or setting.place.qualifier) == setting.place.qualifier
        ),
    )


def _list_3(kind: Kind, name: str, exchange: Exchange) -> Response:
    function = exchange.query("functionName")
    return _list(
        exchange,
        kind,
        name,
        lambda setting: not setting.place.service and (function or setting.place.function) == setting.place.function,
    )


def _list(exchange: Exchange, kind: Kind, name: str, wanted: Callable[[Setting], bool]) -> Response:
    page = exchange.service.capacity.page(
        kind, exchange.tenant, wanted, lambda setting: "/".join(setting.place[1:]), exchange.marker(), exchange.limit()
    )
    rows = [(_RENDER_2 if setting.place.service else _RENDER_3)[kind](exchange, setting) for setting in page.items]
    return exchange.answer({name: rows, "nextToken": next_token(page.next_marker)})


# --- instances ---------------------------------------------------------------------------------------------------


def list_instances_2(exchange: Exchange) -> Response:
    """List the instances behind a qualifier."""
    found = exchange.service.instance_list.of_qualifier(exchange.tenant, *_function(exchange), exchange.qualifier)
    rows = [
        {"instanceId": info.instance_id, "versionId": _version_id(info)}
        for info in _named(found, _many(exchange, "instanceIds"))
    ]
    return exchange.answer({"instances": rows[: _limit(exchange, limits.INSTANCE_LIST)]})


def list_instances_3(exchange: Exchange) -> Response:
    """List the living instances behind a qualifier; without one, or with ``withAllActive``, those of all versions.

    An instance is ``Running`` whether or not it has a call, but for the moments it starts and stops; assumed.
    """
    listing, (service, function) = exchange.service.instance_list, _function(exchange)
    qualifier = exchange.qualifier
    if qualifier and not truth(exchange.query("withAllActive")):
        found = listing.of_qualifier(exchange.tenant, service, function, qualifier)
    else:
        found = listing.of_function(exchange.tenant, service, function)
    states = {state.lower() for state in _many(exchange, "instanceStatus")}
    begin, end = _instant(exchange, "startTimeMs"), _instant(exchange, "endTimeMs")
    start = exchange.query("startKey")
    rows = [
        _instance(info, qualifier)
        for info in sorted(_named(found, _many(exchange, "instanceIds")), key=lambda info: info.instance_id)
        if info.instance_id >= start
        and (not states or _STATUS[info.state].lower() in states)
        and (end is None or info.started_at <= end)
        and (begin is None or exchange.now >= begin)
    ]
    rows = rows[: _limit(exchange, limits.INSTANCE_LIST)]
    return exchange.answer({"requestId": exchange.context.request_id, "instances": rows})


_STATUS = {"starting": "Starting", "idle": "Running", "busy": "Running", "stopping": "Stopping"}


def _instance(info: InstanceInfo, qualifier: str | None) -> dict[str, Any]:
    return {
        "instanceId": info.instance_id,
        "versionId": _version_id(info),
        "qualifier": qualifier or info.version,
        "status": _STATUS[info.state],
        "resourceType": "Provisioned" if info.provisioned else "OnDemand",
        "createdTimeMs": info.started_at,
    }


def _version_id(info: InstanceInfo) -> str:
    return "0" if info.version == LATEST else info.version


def _named(found: list[InstanceInfo], wanted: list[str]) -> list[InstanceInfo]:
    return [info for info in found if not wanted or info.instance_id in wanted]


# --- the switch --------------------------------------------------------------------------------------------------


def disable_invocation(exchange: Exchange) -> Response:
    """Let no call of a function begin any more."""
    body = shapes.switch(exchange.body())
    exchange.service.capacity.disable(
        exchange.tenant,
        exchange.segment("function"),
        body.get("reason", ""),
        exchange.now,
        abort=body.get("abortOngoingRequest", False),
    )
    return exchange.answer({"success": True})


def enable_invocation(exchange: Exchange) -> Response:
    """Let a function be called again."""
    exchange.service.capacity.enable(exchange.tenant, exchange.segment("function"), exchange.now)
    return exchange.answer({"success": True})


# --- pieces ------------------------------------------------------------------------------------------------------


def _function(exchange: Exchange) -> tuple[str, str]:
    return (exchange.service_name if exchange.has_service else ""), exchange.segment("function")


def _many(exchange: Exchange, name: str) -> list[str]:
    """Read a list: repeated parameters, numbered ones (``instanceIds.1=a``), or one with JSON."""
    values = []
    for key, value in exchange.context.http.query_pairs:
        if key == name or (key.startswith(f"{name}.") and key[len(name) + 1 :].isdigit()):
            values += [str(item) for item in json_list(value, name)]
    return values


def _limit(exchange: Exchange, allowed: Range) -> int:
    number = _instant(exchange, "limit")
    if number is None:
        return allowed.default
    if not allowed.contains(number):
        raise InvalidArgument(f"limit '{number}' is invalid: it must be from {allowed.low} to {allowed.high}")
    return number


def _instant(exchange: Exchange, name: str) -> int | None:
    text = exchange.query(name)
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 17):
        raise InvalidArgument(f"{name} '{text[:40]}' is invalid: it must be a whole number")
    return int(text)


def _of(action: Callable[[Kind, Exchange], Response], kind: Kind) -> Handler:
    return partial(action, kind)


# --- the tables --------------------------------------------------------------------------------------------------

_F2 = "/services/{service}/functions/{function}"
_F3 = "/functions/{function}"

ROUTES_2 = (
    Route("PUT", _F2 + "/on-demand-config", "PutFunctionOnDemandConfig", _of(_put, Kind.ON_DEMAND)),
    Route("GET", _F2 + "/on-demand-config", "GetFunctionOnDemandConfig", _of(_get, Kind.ON_DEMAND)),
    Route("DELETE", _F2 + "/on-demand-config", "DeleteFunctionOnDemandConfig", _of(_delete, Kind.ON_DEMAND)),
    Route("GET", "/on-demand-configs", "ListOnDemandConfigs", list_on_demand_configs),
    Route("PUT", _F2 + "/provision-config", "PutProvisionConfig", _of(_put, Kind.PROVISION)),
    Route("GET", _F2 + "/provision-config", "GetProvisionConfig", _of(_get, Kind.PROVISION)),
    Route("GET", "/provision-configs", "ListProvisionConfigs", list_provision_configs_2),
    Route("GET", _F2 + "/instances", "ListInstances", list_instances_2),
)
"""What the two APIs with services have."""

ROUTES_3 = (
    Route("PUT", _F3 + "/concurrency", "PutConcurrencyConfig", _of(_put, Kind.CONCURRENCY)),
    Route("GET", _F3 + "/concurrency", "GetConcurrencyConfig", _of(_get, Kind.CONCURRENCY)),
    Route("DELETE", _F3 + "/concurrency", "DeleteConcurrencyConfig", _of(_delete, Kind.CONCURRENCY)),
    Route("GET", "/concurrency-configs", "ListConcurrencyConfigs", partial(_list_3, Kind.CONCURRENCY, "configs")),
    Route("PUT", _F3 + "/provision-config", "PutProvisionConfig", _of(_put, Kind.PROVISION)),
    Route("GET", _F3 + "/provision-config", "GetProvisionConfig", _of(_get, Kind.PROVISION)),
    Route("DELETE", _F3 + "/provision-config", "DeleteProvisionConfig", _of(_delete, Kind.PROVISION)),
    Route("GET", "/provision-configs", "ListProvisionConfigs", partial(_list_3, Kind.PROVISION, "provisionConfigs")),
    Route("PUT", _F3 + "/scaling-config", "PutScalingConfig", _of(_put, Kind.SCALING)),
    Route("GET", _F3 + "/scaling-config", "GetScalingConfig", _of(_get, Kind.SCALING)),
    Route("DELETE", _F3 + "/scaling-config", "DeleteScalingConfig", _of(_delete, Kind.SCALING)),
    Route("GET", "/scaling-configs", "ListScalingConfigs", partial(_list_3, Kind.SCALING, "scalingConfigs")),
    Route("GET", _F3 + "/instances", "ListInstances", list_instances_3),
    Route("POST", _F3 + "/invoke/enable", "EnableFunctionInvocation", enable_invocation),
    Route("POST", _F3 + "/invoke/disable", "DisableFunctionInvocation", disable_invocation),
)
"""What the API without services has."""
