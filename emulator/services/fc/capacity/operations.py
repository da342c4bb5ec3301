"""Capacity over the wire: limits, instances kept ready, scaling, instance lists, the switch of a function.

2.0 limits instances per qualifier (on-demand configuration), 3.0 the concurrency of a function; both keep instances
ready, and 3.0 has a second form of that (scaling configuration).

Source: API reference and models of the three versions; aliyun-fc2 client.py.
"""

from collections.abc import Callable, Mapping
from typing import Any

from emulator.http.message import Response
from emulator.kernel.paging import Page, cut
from emulator.services.fc import limits
from emulator.services.fc.capacity.model import Kind, Setting, default_target, place_of, read_config, resource_of
from emulator.services.fc.codec import (
    OF_SERVICE,
    V2023,
    WITH_SERVICES,
    function_of,
    if_match,
    json_answer,
    json_body,
    json_list,
    no_content,
    page_answer,
    page_marker,
    page_size,
    qualifier_of,
    query,
    ref_of,
    truth,
    whole_number,
)
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.model import LATEST, FunctionRef, check_if_match, function_arn
from emulator.services.fc.runtime.model import InstanceInfo
from emulator.services.fc.service import FunctionCompute
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest

Render = Callable[[FunctionCompute, Setting], dict[str, Any]]


def render_on_demand(fc: FunctionCompute, setting: Setting) -> dict[str, Any]:
    """Write a limit of instances."""
    del fc
    return {"resource": resource_of(setting.place), **setting.config}


def render_concurrency(fc: FunctionCompute, setting: Setting) -> dict[str, Any]:
    """Write a reserved concurrency."""
    del fc
    return {"functionArn": function_arn(setting.place.tenant, "", setting.place.function), **setting.config}


def _readiness(fc: FunctionCompute, setting: Setting, target: str, current: str) -> dict[str, Any]:
    ready = fc.provisioner.readiness(setting)
    return {target: ready.target, current: ready.current, "currentError": ready.error}


def render_provision_2(fc: FunctionCompute, setting: Setting) -> dict[str, Any]:
    """Write how many instances are kept ready, of a function in a service; ``target`` is what holds now."""
    tenant, service, function, qualifier = setting.place
    resource = f"{tenant.account}#{service}#{qualifier}#{function}"
    return {**setting.config, "resource": resource, **_readiness(fc, setting, "target", "current")}


def render_provision_3(fc: FunctionCompute, setting: Setting) -> dict[str, Any]:
    """Write how many instances are kept ready: by default, by schedule now, and in fact."""
    return {
        **setting.config,
        "functionArn": function_arn(*setting.place),
        "defaultTarget": default_target(setting),
        **_readiness(fc, setting, "target", "current"),
    }


def render_scaling(fc: FunctionCompute, setting: Setting) -> dict[str, Any]:
    """Write a scaling configuration and how far it is fulfilled."""
    return {
        **setting.config,
        "functionArn": function_arn(*setting.place),
        "minInstances": default_target(setting),
        **_readiness(fc, setting, "targetInstances", "currentInstances"),
    }


_RENDER_2: dict[Kind, Render] = {Kind.ON_DEMAND: render_on_demand, Kind.PROVISION: render_provision_2}
_RENDER_3: dict[Kind, Render] = {
    Kind.CONCURRENCY: render_concurrency,
    Kind.PROVISION: render_provision_3,
    Kind.SCALING: render_scaling,
}


_KINDS = {
    "on-demand-config": Kind.ON_DEMAND,
    "concurrency": Kind.CONCURRENCY,
    "provision-config": Kind.PROVISION,
    "scaling-config": Kind.SCALING,
}
"""By the last segment of the path."""


@operation("PutFunctionOnDemandConfig", f"PUT {OF_SERVICE}/on-demand-config", api=WITH_SERVICES)
@operation("PutProvisionConfig", "PUT /services/{service}/functions/{function}/provision-config", api=WITH_SERVICES)
@operation("PutProvisionConfig", "PUT /functions/{function}/provision-config", api=V2023)
@operation("PutConcurrencyConfig", "PUT /functions/{function}/concurrency", api=V2023)
@operation("PutScalingConfig", "PUT /functions/{function}/scaling-config", api=V2023)
def put_config(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Set a limit, or how many instances are kept ready.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument, PreconditionFailed,
    InstanceMetricsRequired, ProvisionConfigExist, ResidentScalingConfigExists.
    Source: API reference, PutProvisionConfig; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    kind = _kind(call)
    config = read_config(kind, json_body(call))
    if kind in {Kind.PROVISION, Kind.SCALING}:
        setting = fc.capacity.provision(kind, ref_of(call), config, call.now, if_match(call))
    else:
        setting = fc.capacity.put(kind, _place(fc, call, kind), config, call.now, if_match(call))
    if kind is Kind.PROVISION and setting.place.service:
        # what was asked for, also while a schedule asks for more. Source: fc-java-sdk FunctionComputeClientTest
        return json_answer(render_provision_2(fc, setting) | {"target": default_target(setting)}, setting.etag)
    return _shown(fc, setting)


@operation("GetFunctionOnDemandConfig", f"GET {OF_SERVICE}/on-demand-config", api=WITH_SERVICES)
@operation("GetProvisionConfig", "GET /services/{service}/functions/{function}/provision-config", api=WITH_SERVICES)
@operation("GetProvisionConfig", "GET /functions/{function}/provision-config", api=V2023)
@operation("GetConcurrencyConfig", "GET /functions/{function}/concurrency", api=V2023)
@operation("GetScalingConfig", "GET /functions/{function}/scaling-config", api=V2023)
def get_config(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return a limit, or how many instances are kept ready.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, OnDemandConfigNotFound,
    ProvisionConfigNotFound, ScalingConfigNotFound.
    Source: API reference, GetProvisionConfig; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    return _shown(fc, _setting(fc, call))


@operation("DeleteFunctionOnDemandConfig", f"DELETE {OF_SERVICE}/on-demand-config", api=WITH_SERVICES)
@operation("DeleteProvisionConfig", "DELETE /functions/{function}/provision-config", api=V2023)
@operation("DeleteConcurrencyConfig", "DELETE /functions/{function}/concurrency", api=V2023)
@operation("DeleteScalingConfig", "DELETE /functions/{function}/scaling-config", api=V2023)
def delete_config(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Remove a limit, or keep no more instances ready.

    Raises: as `get_config`; PreconditionFailed.
    Source: aliyun-fc2 client.py; alibabacloud_fc20230330; that it is removed at once is assumed.
    """
    setting = _setting(fc, call)
    check_if_match(if_match(call), setting.etag)
    fc.capacity.delete(setting)
    return no_content()


def _kind(call: OperationRequest) -> Kind:
    return _KINDS[call.http.path.rstrip("/").rpartition("/")[2]]


def _place(fc: FunctionCompute, call: OperationRequest, kind: Kind) -> FunctionRef:
    """Return what the call configures, which must exist; a limit of instances may be for what is not there yet.

    Source: fc-java-sdk FunctionComputeClientTest, whose on-demand configurations are for no service.
    """
    if kind is not Kind.ON_DEMAND:
        fc.resolver.function(*ref_of(call))
    return place_of(kind, ref_of(call))


def _setting(fc: FunctionCompute, call: OperationRequest) -> Setting:
    """Return the configuration of exactly the qualifier in the call, or of the function where there is one for all."""
    kind = _kind(call)
    place = _place(fc, call, kind)
    setting = fc.capacity.store.get(kind, place)
    if setting is None:
        raise FcError(_MISSING[kind], resource=resource_of(place))
    return setting


_MISSING: Mapping[Kind, str] = {
    Kind.ON_DEMAND: "OnDemandConfigNotFound",
    Kind.CONCURRENCY: "OnDemandConfigNotFound",  # observed: 3.0 answers the older code here
    Kind.PROVISION: "ProvisionConfigNotFound",
    Kind.SCALING: "ScalingConfigNotFound",
}


def _shown(fc: FunctionCompute, setting: Setting) -> Response:
    if setting.place.service:
        return json_answer(_RENDER_2[setting.kind](fc, setting), setting.etag)
    return json_answer(_RENDER_3[setting.kind](fc, setting))


@operation("ListOnDemandConfigs", "GET /on-demand-configs", api=WITH_SERVICES)
def list_on_demand_configs(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the limits of all functions in services; ``prefix`` and ``startKey`` go by the resource's text.

    Raises: InvalidArgument. Source: API reference, ListOnDemandConfigs; fc-python-sdk test/on_demand_config_test.py.
    """
    prefix = query(call, "prefix")
    page = _page(
        fc,
        call,
        Kind.ON_DEMAND,
        lambda setting: resource_of(setting.place).startswith(prefix),
        lambda setting: resource_of(setting.place),
        query(call, "startKey"),
    )
    rows = [render_on_demand(fc, setting) for setting in page.items]
    # null when there is none. Source: fc-python-sdk test/on_demand_config_test.py
    return page_answer("configs", rows or None, page.next_marker)


def _page(
    fc: FunctionCompute,
    call: OperationRequest,
    kind: Kind,
    wanted: Callable[[Setting], bool],
    key: Callable[[Setting], str],
    start: str = "",
) -> Page[Setting]:
    """Return the configurations that are *wanted*, ordered by *key*, from the token or from *start* on."""
    start, limit = max(page_marker(call), start), page_size(call)
    rows = sorted(filter(wanted, fc.capacity.store.list(kind, call.tenant)), key=key)
    return cut([row for row in rows if key(row) >= start][: limit + 1], limit, key)


@operation("ListProvisionConfigs", "GET /provision-configs", api=WITH_SERVICES)
def list_provision_configs_of_services(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the provisioned functions in services; ``serviceName`` and ``qualifier`` keep those of one of them.

    Raises: InvalidArgument. Source: API reference, ListProvisionConfigs; aliyun-fc2 client.py.
    """
    service, qualifier = query(call, "serviceName"), query(call, "qualifier")
    if qualifier and not service:
        raise InvalidArgument("serviceName is required when qualifier is given")
    return _list(
        fc,
        call,
        Kind.PROVISION,
        "provisionConfigs",
        lambda setting: (
            setting.place.service != ""
            and (service or setting.place.service) == setting.place.service
            and (qualifier or setting.place.qualifier) == setting.place.qualifier
        ),
    )


@operation("ListConcurrencyConfigs", "GET /concurrency-configs", api=V2023)
@operation("ListProvisionConfigs", "GET /provision-configs", api=V2023)
@operation("ListScalingConfigs", "GET /scaling-configs", api=V2023)
def list_configs(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the configurations of a kind, of all functions without a service or of ``functionName``.

    Raises: InvalidArgument. Source: alibabacloud_fc20230330.
    """
    function = query(call, "functionName")
    kind, name = _LISTS[call.http.path.rstrip("/").rpartition("/")[2]]
    return _list(
        fc,
        call,
        kind,
        name,
        lambda setting: not setting.place.service and (function or setting.place.function) == setting.place.function,
    )


_LISTS = {
    "concurrency-configs": (Kind.CONCURRENCY, "configs"),
    "provision-configs": (Kind.PROVISION, "provisionConfigs"),
    "scaling-configs": (Kind.SCALING, "scalingConfigs"),
}
"""By the last segment of the path: kind, and the name of the list in the answer."""


def _list(
    fc: FunctionCompute, call: OperationRequest, kind: Kind, name: str, wanted: Callable[[Setting], bool]
) -> Response:
    page = _page(fc, call, kind, wanted, lambda setting: "/".join(setting.place[1:]))
    rows = [(_RENDER_2 if setting.place.service else _RENDER_3)[kind](fc, setting) for setting in page.items]
    return page_answer(name, rows, page.next_marker)


@operation("ListInstances", "GET /services/{service}/functions/{function}/instances", api=WITH_SERVICES)
def list_instances_of_qualifier(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the instances behind a qualifier of a function in a service.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument.
    Source: API reference, ListInstances; alibabacloud_fc_open20210406.
    """
    instances = fc.instance_list.of_qualifier(call.tenant, *function_of(call), qualifier_of(call))
    rows = [
        {"instanceId": info.instance_id, "versionId": _version_id(info)}
        for info in _named(instances, _many(call, "instanceIds"))
    ]
    return json_answer({"instances": rows[: page_size(call, allowed=limits.INSTANCE_LIST)]})


@operation("ListInstances", "GET /functions/{function}/instances", api=V2023)
def list_instances(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the living instances behind a qualifier; without one, or with ``withAllActive``, those of all versions.

    An instance is ``Running`` whether or not it has a call, but for the moments it starts and stops; assumed.

    Raises: FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument. Source: alibabacloud_fc20230330.
    """
    listing, (service, function) = fc.instance_list, function_of(call)
    qualifier = qualifier_of(call)
    if qualifier and not truth(query(call, "withAllActive")):
        instances = listing.of_qualifier(call.tenant, service, function, qualifier)
    else:
        instances = listing.of_function(call.tenant, service, function)
    states = {state.lower() for state in _many(call, "instanceStatus")}
    begin, end = whole_number(call, "startTimeMs"), whole_number(call, "endTimeMs")
    start = query(call, "startKey")
    rows = [
        _instance(info, qualifier)
        for info in sorted(_named(instances, _many(call, "instanceIds")), key=lambda info: info.instance_id)
        if info.instance_id >= start
        and (not states or _STATUS[info.state].lower() in states)
        and (end is None or info.started_at <= end)
        and (begin is None or call.now >= begin)
    ]
    rows = rows[: page_size(call, allowed=limits.INSTANCE_LIST)]
    return json_answer({"requestId": call.request_id, "instances": rows})


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


def _named(instances: list[InstanceInfo], wanted: list[str]) -> list[InstanceInfo]:
    return [info for info in instances if not wanted or info.instance_id in wanted]


@operation("DisableFunctionInvocation", "POST /functions/{function}/invoke/disable", api=V2023)
def disable_invocation(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Let no call of a function begin any more; with ``abortOngoingRequest`` those that run are ended.

    Raises: FunctionNotFound, InvalidArgument. Source: alibabacloud_fc20230330, DisableFunctionInvocation.
    """
    body = read_config(Kind.SWITCH, json_body(call))
    place, reason = _switched(fc, call), body.get("reason", "")
    fc.capacity.put(Kind.SWITCH, place, {"disable": True, "reason": reason}, call.now)
    if body.get("abortOngoingRequest", False):
        fc.admission.abort(call.tenant, "", place.function, reason or "no reason given")
    return json_answer({"success": True})


@operation("EnableFunctionInvocation", "POST /functions/{function}/invoke/enable", api=V2023)
def enable_invocation(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Let a function be called again.

    Raises: FunctionNotFound. Source: alibabacloud_fc20230330, EnableFunctionInvocation.
    """
    place = _switched(fc, call)
    if fc.capacity.store.get(Kind.SWITCH, place) is not None:
        fc.capacity.put(Kind.SWITCH, place, {"disable": False, "reason": ""}, call.now)
    return json_answer({"success": True})


def _switched(fc: FunctionCompute, call: OperationRequest) -> FunctionRef:
    """Return the function, which must exist, as the place of its switch."""
    function = call.path["function"]
    fc.resolver.function(call.tenant, "", function)
    return FunctionRef(call.tenant, "", function, "")


def _many(call: OperationRequest, name: str) -> list[str]:
    """Read a list: repeated parameters, numbered ones (``instanceIds.1=a``), or one with JSON."""
    values = []
    for key, value in call.http.query_pairs:
        if key == name or (key.startswith(f"{name}.") and key[len(name) + 1 :].isdigit()):
            values += [str(item) for item in json_list(value, name)]
    return values
