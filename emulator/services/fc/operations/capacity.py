"""Capacity over the wire: limits, instances kept ready, scaling, the switch of a function.

2.0 limits instances per qualifier (on-demand configuration), 3.0 the concurrency of a function; both keep instances
ready, and 3.0 has a second form of that (scaling configuration).

Source: API reference and models of the three versions; aliyun-fc2 client.py.
"""

from collections.abc import Mapping
from typing import Any, assert_never

from emulator.http.message import Response
from emulator.kernel.paging import cut
from emulator.services.fc import codec
from emulator.services.fc.capacity.model import (
    SCHEDULES,
    Kind,
    Setting,
    default_target,
    keeps_nothing,
    metric_of,
    place_of,
    read_config,
)
from emulator.services.fc.catalog.resolving import is_version
from emulator.services.fc.codec import OF_SERVICE, V2023, WITH_SERVICES
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.model import FunctionRef, check_if_match, function_arn, function_path
from emulator.services.fc.service import FunctionCompute
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest


def _render(fc: FunctionCompute, setting: Setting) -> dict[str, Any]:
    """Write a configuration and, of one that keeps instances ready, how far it is fulfilled.

    In 2.0 ``target`` is what holds now; 3.0 has the default beside it.
    """
    place, config, kind = setting.place, setting.config, setting.kind
    match kind:
        case Kind.ON_DEMAND:
            return {"resource": function_path(*place[1:]), **config}
        case Kind.CONCURRENCY:
            return {"functionArn": function_arn(place.tenant, "", place.function), **config}
        case Kind.PROVISION:
            return _render_ready(fc, setting, "target", "current", "defaultTarget")
        case Kind.SCALING:
            return _render_ready(fc, setting, "targetInstances", "currentInstances", "minInstances")
        case Kind.SWITCH:
            return dict(config)
        case _:
            assert_never(kind)


def _render_ready(fc: FunctionCompute, setting: Setting, target: str, current: str, default: str) -> dict[str, Any]:
    tenant, service, function, qualifier = place = setting.place
    ready = fc.provisioner.readiness(setting)
    readiness = {target: ready.target, current: ready.current, "currentError": ready.error}
    if service:
        return {**setting.config, "resource": f"{tenant.account}#{service}#{qualifier}#{function}", **readiness}
    return {**setting.config, "functionArn": function_arn(*place), default: default_target(setting), **readiness}


_KINDS = {
    "on-demand-config": Kind.ON_DEMAND,
    "concurrency": Kind.CONCURRENCY,
    "provision-config": Kind.PROVISION,
    "scaling-config": Kind.SCALING,
}
"""The kind of configuration by the last segment of the path."""


@operation("PutFunctionOnDemandConfig", f"PUT {OF_SERVICE}/on-demand-config", api=WITH_SERVICES)
@operation("PutProvisionConfig", "PUT /services/{service}/functions/{function}/provision-config", api=WITH_SERVICES)
@operation("PutProvisionConfig", "PUT /functions/{function}/provision-config", api=V2023)
@operation("PutConcurrencyConfig", "PUT /functions/{function}/concurrency", api=V2023)
@operation("PutScalingConfig", "PUT /functions/{function}/scaling-config", api=V2023)
def put_config(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Set a limit of instances, or the number of provisioned instances.

    Schedules and policies of 2.0 that the body does not have stay; empty lists remove them. A configuration with a
    target of 0 stays readable. One function and qualifier has a provision or a scaling configuration.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument, PreconditionFailed,
    InstanceMetricsRequired, ProvisionConfigExist, ResidentScalingConfigExists. Source: API reference,
    PutProvisionConfig; aliyun-fc2 client.py; alibabacloud_fc20230330; schedules and policies that stay: fc-java-sdk
    FunctionComputeClientTest; a target of 0 in 3.0: terraform-provider-alicloud.
    """
    kind = _kind(call)
    config = read_config(kind, codec.json_body(call))
    place = _place(fc, call, kind)
    old = fc.capacity.get(kind, place)
    if kind in {Kind.PROVISION, Kind.SCALING}:
        _check_provision(fc, kind, place, config)
        if place.service and old is not None:
            config = {name: old.config[name] for name in SCHEDULES if name in old.config} | config
    check_if_match(codec.if_match(call), old.etag if old else "")
    setting = _put(fc, call, kind, place, config)
    # what was asked for, also while a schedule asks for more. Source: fc-java-sdk FunctionComputeClientTest
    asked = {"target": default_target(setting)} if kind is Kind.PROVISION and place.service else {}
    return _shown(fc, setting, **asked)


def _check_provision(fc: FunctionCompute, kind: Kind, place: FunctionRef, config: Mapping[str, Any]) -> None:
    """Check that instances can be kept ready for *place*; a version of 2.0 can have none, an alias and LATEST can.

    Raises: InvalidArgument, InstanceMetricsRequired, ProvisionConfigExist, ResidentScalingConfigExists.
    """
    if place.service and is_version(place.qualifier):
        raise InvalidArgument(f"qualifier '{place.qualifier}' is invalid: it must be an alias or LATEST")
    metric = metric_of(config)
    log = fc.resolver.function(*place).config.log_config or {}
    if metric and not place.service and not log.get("enableInstanceMetrics"):
        raise FcError("InstanceMetricsRequired", metric=metric)
    provision = fc.capacity.get(Kind.PROVISION, place)
    if kind is Kind.SCALING and provision is not None and not keeps_nothing(provision):
        raise FcError("ProvisionConfigExist", resource=function_path(*place[1:]))
    if kind is Kind.PROVISION and fc.capacity.get(Kind.SCALING, place) is not None:
        raise FcError("ResidentScalingConfigExists", resource=function_path(*place[1:]))


def _put(
    fc: FunctionCompute, call: OperationRequest, kind: Kind, place: FunctionRef, config: Mapping[str, Any]
) -> Setting:
    """Write the configuration of exactly *place*; the next call goes by it."""
    old = fc.capacity.get(kind, place)
    if old is None:
        new = Setting(
            kind=kind, place=place, config=config, id=fc.ids.uuid(), created_at=call.now, modified_at=call.now
        )
    else:
        new = old.updated(call.now, config=config)
    fc.capacity.put(new)
    return new


@operation("GetFunctionOnDemandConfig", f"GET {OF_SERVICE}/on-demand-config", api=WITH_SERVICES)
@operation("GetProvisionConfig", "GET /services/{service}/functions/{function}/provision-config", api=WITH_SERVICES)
@operation("GetProvisionConfig", "GET /functions/{function}/provision-config", api=V2023)
@operation("GetConcurrencyConfig", "GET /functions/{function}/concurrency", api=V2023)
@operation("GetScalingConfig", "GET /functions/{function}/scaling-config", api=V2023)
def get_config(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return a limit of instances, or the number of provisioned instances.

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
    """Remove a limit, or all provisioned instances.

    Raises: as `get_config`; PreconditionFailed. Source: aliyun-fc2 client.py; alibabacloud_fc20230330; assumed: it
    takes effect immediately.
    """
    setting = _setting(fc, call)
    check_if_match(codec.if_match(call), setting.etag)
    fc.capacity.delete(setting)
    return codec.no_content()


def _kind(call: OperationRequest) -> Kind:
    return _KINDS[call.http.path.rstrip("/").rpartition("/")[2]]


def _place(fc: FunctionCompute, call: OperationRequest, kind: Kind) -> FunctionRef:
    """Return the function and qualifier to configure, which must exist; a limit of instances may be set before they do.

    Source: fc-java-sdk FunctionComputeClientTest, whose on-demand configurations are for no service.
    """
    if kind is not Kind.ON_DEMAND:
        fc.resolver.function(*codec.ref_of(call))
    return place_of(kind, codec.ref_of(call))


def _setting(fc: FunctionCompute, call: OperationRequest) -> Setting:
    """Return the configuration of exactly the qualifier in the call, or of the function where there is one for all."""
    kind = _kind(call)
    place = _place(fc, call, kind)
    setting = fc.capacity.get(kind, place)
    if setting is None:
        raise FcError(_missing(kind), resource=function_path(*place[1:]))
    return setting


def _missing(kind: Kind) -> str:
    """Return the error for a configuration that is not there. Source: observed; 3.0 answers the older code too."""
    match kind:
        case Kind.ON_DEMAND | Kind.CONCURRENCY:
            return "OnDemandConfigNotFound"
        case Kind.PROVISION:
            return "ProvisionConfigNotFound"
        case Kind.SCALING:
            return "ScalingConfigNotFound"
        case Kind.SWITCH:
            raise LookupError("a switch is read with its function, and by no operation of its own")
        case _:
            assert_never(kind)


def _shown(fc: FunctionCompute, setting: Setting, **changes: Any) -> Response:
    return codec.json_answer(_render(fc, setting) | changes, setting.etag if setting.place.service else "")


@operation("ListOnDemandConfigs", "GET /on-demand-configs", api=WITH_SERVICES)
def list_on_demand_configs(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the limits of all functions in services; ``prefix`` and ``startKey`` compare the resource's text.

    Raises: InvalidArgument. Source: API reference, ListOnDemandConfigs; fc-python-sdk test/on_demand_config_test.py.
    """
    part = codec.slice_of(call)
    page = cut(fc.capacity.on_demand(call.tenant, part), part.limit, lambda setting: function_path(*setting.place[1:]))
    rows = [_render(fc, setting) for setting in page.items]
    # null when there is none. Source: fc-python-sdk test/on_demand_config_test.py
    return codec.page_answer("configs", rows or None, page.next_marker)


@operation("ListProvisionConfigs", "GET /provision-configs", api=WITH_SERVICES)
def list_provision_configs_of_services(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the provisioned functions in services; ``serviceName`` and ``qualifier`` filter them.

    Raises: InvalidArgument. Source: API reference, ListProvisionConfigs; aliyun-fc2 client.py.
    """
    service, qualifier = codec.query(call, "serviceName"), codec.query(call, "qualifier")
    if qualifier and not service:
        raise InvalidArgument("serviceName is required when qualifier is given")
    return _list(fc, call, Kind.PROVISION, "provisionConfigs", service=service or None, qualifier=qualifier)


@operation("ListConcurrencyConfigs", "GET /concurrency-configs", api=V2023)
@operation("ListProvisionConfigs", "GET /provision-configs", api=V2023)
@operation("ListScalingConfigs", "GET /scaling-configs", api=V2023)
def list_configs(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the configurations of a kind, of all functions without a service or of ``functionName``.

    Raises: InvalidArgument. Source: alibabacloud_fc20230330.
    """
    kind, name = _LISTS[call.http.path.rstrip("/").rpartition("/")[2]]
    return _list(fc, call, kind, name, service="", function=codec.query(call, "functionName"))


def _list(
    fc: FunctionCompute,
    call: OperationRequest,
    kind: Kind,
    name: str,
    *,
    service: str | None,
    function: str = "",
    qualifier: str = "",
) -> Response:
    """Return a page of configurations under *name*; the others as in `CapacityStore.page`."""
    start, limit = codec.page_marker(call), codec.page_size(call)
    found = fc.capacity.page(
        kind, call.tenant, start, limit, service=service, function=function, qualifier=qualifier
    )  # fmt: skip
    return codec.list_answer(
        name, found, limit, lambda setting: _render(fc, setting), lambda setting: "/".join(setting.place[1:])
    )


_LISTS = {
    "concurrency-configs": (Kind.CONCURRENCY, "configs"),
    "provision-configs": (Kind.PROVISION, "provisionConfigs"),
    "scaling-configs": (Kind.SCALING, "scalingConfigs"),
}
"""By the last segment of the path: kind, and the name of the list in the answer."""


@operation("DisableFunctionInvocation", "POST /functions/{function}/invoke/disable", api=V2023)
def disable_invocation(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Disable a function, so that further calls fail; with ``abortOngoingRequest`` running calls end too.

    Raises: FunctionNotFound, InvalidArgument. Source: alibabacloud_fc20230330, DisableFunctionInvocation.
    """
    body = read_config(Kind.SWITCH, codec.json_body(call))
    place, reason = _switched(fc, call), body.get("reason", "")
    _put(fc, call, Kind.SWITCH, place, {"disable": True, "reason": reason})
    if body.get("abortOngoingRequest", False):
        fc.admission.abort(call.tenant, "", place.function, reason or "no reason given")
    return codec.json_answer({"success": True})


@operation("EnableFunctionInvocation", "POST /functions/{function}/invoke/enable", api=V2023)
def enable_invocation(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Allow calls of a function again.

    Raises: FunctionNotFound. Source: alibabacloud_fc20230330, EnableFunctionInvocation.
    """
    place = _switched(fc, call)
    if fc.capacity.get(Kind.SWITCH, place) is not None:
        _put(fc, call, Kind.SWITCH, place, {"disable": False, "reason": ""})
    return codec.json_answer({"success": True})


def _switched(fc: FunctionCompute, call: OperationRequest) -> FunctionRef:
    """Return the function, which must exist, as the place of its switch."""
    function = call.path["function"]
    fc.resolver.function(call.tenant, "", function)
    return FunctionRef(call.tenant, "", function, "")
