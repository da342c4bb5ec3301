"""Renders services, functions, versions and aliases for answers, by the tables of their fields."""

from collections.abc import Callable, Mapping
from typing import Any

from emulator.kernel.identity import Tenant, default_resource_group
from emulator.services.fc.catalog.fields import FUNCTION_2, FUNCTION_3, SERVICE
from emulator.services.fc.codec import BODY, times_of
from emulator.services.fc.model import Alias, Function, Service, Version, function_arn
from emulator.wire.schema.kinds import Shape


def _code_size(function: Function) -> dict[str, Any]:
    code = function.code
    return {"codeSize": code.size if code else 0, "codeChecksum": code.checksum if code else "0"}


def render_service(service: Service) -> dict[str, Any]:
    """Write a service."""
    return {
        "serviceName": service.name,
        "serviceId": service.id,
        **BODY.write(SERVICE, service.config),
        **times_of(service),
        "useSLRAuthentication": False,
    }


def render_function_2(function: Function) -> dict[str, Any]:
    """Write a function of a service."""
    return {
        "functionName": function.name,
        "functionId": function.id,
        **BODY.write(FUNCTION_2, function.config),
        "layersArnV2": list(function.config.layers),
        **_code_size(function),
        **times_of(function),
    }


def resource_group_of(tenant: Tenant, function: Function) -> str:
    """Return the resource group of a function without a service, the account's default one unless another is set."""
    return function.config.resource_group_id or default_resource_group(tenant.account)


def render_function_3(
    tenant: Tenant,
    function: Function,
    *,
    layer_size: Callable[[str], int],
    tags: Mapping[str, str],
    restriction: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Write a function without a service. It is ready at once, which deployment tools poll for.

    *layer_size* returns the size of a layer's package by its ARN; *restriction* is as returned by `restriction_of`.
    """
    body = {
        "functionName": function.name,
        "functionId": function.id,
        "functionArn": function_arn(tenant, "", function.name),
        "resourceGroupId": resource_group_of(tenant, function),
        **BODY.write(FUNCTION_3, function.config),
        "layers": [{"arn": arn, "size": layer_size(arn)} for arn in function.config.layers],
        **_code_size(function),
        **times_of(function),
        "state": "Active",
        "stateReason": "",
        "stateReasonCode": "",
        "lastUpdateStatus": "Successful",
        "lastUpdateStatusReason": "",
        "lastUpdateStatusReasonCode": "",
    }
    if restriction is not None:
        body["invocationRestriction"] = restriction
    if tags:
        body["tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
    return body


def render_version(version: Version) -> dict[str, Any]:
    """Write a version; 2023-03-30 has the same form."""
    return {"versionId": str(version.number), "description": version.description, **times_of(version)}


def render_alias(alias: Alias, table: Shape) -> dict[str, Any]:
    """Write an alias with the fields of *table*."""
    return {"aliasName": alias.name, **BODY.write(table, alias), **times_of(alias)}
