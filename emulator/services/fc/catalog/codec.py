"""Services, functions, versions and aliases as the three versions of the API write them.

2021-04-06 differs from 2016-08-15 in aliases only. 2023-03-30 has functions without services, no ETags.

Source: aliyun-fc2 client.py; alibabacloud_fc_open20210406; alibabacloud_fc20230330; the API reference of 2016-08-15 and
the published metadata of 2023-03-30.
"""

from collections.abc import Callable, Mapping
from typing import Any

from emulator.kernel.identity import Tenant
from emulator.services.fc.attributes import Field, write
from emulator.services.fc.capacity.model import Setting
from emulator.services.fc.catalog import fields
from emulator.services.fc.codec import times_of
from emulator.services.fc.model import Alias, Function, Service, Version, function_arn
from emulator.wire.dates import iso_seconds


def _code_size(function: Function) -> dict[str, Any]:
    code = function.code
    return {"codeSize": code.size if code else 0, "codeChecksum": code.checksum if code else "0"}


def render_service(service: Service) -> dict[str, Any]:
    """Write a service."""
    return {
        "serviceName": service.name,
        "serviceId": service.id,
        **write(fields.SERVICE, service.config),
        **times_of(service),
        "useSLRAuthentication": False,
    }


def render_function_2(function: Function) -> dict[str, Any]:
    """Write a function of a service."""
    return {
        "functionName": function.name,
        "functionId": function.id,
        **write(fields.FUNCTION_2, function.config),
        "layersArnV2": list(function.config.layers),
        **_code_size(function),
        **times_of(function),
    }


def render_function_3(
    tenant: Tenant,
    function: Function,
    *,
    layer_size: Callable[[str], int],
    tags: Mapping[str, str],
    switch: Setting | None,
) -> dict[str, Any]:
    """Write a function without a service. It is ready at once, which deployment tools poll for.

    *layer_size* returns the size of a layer's package by its ARN; *switch* is what disables invocation, if anything.
    """
    body = {
        "functionName": function.name,
        "functionId": function.id,
        "functionArn": function_arn(tenant, "", function.name),
        **write(fields.FUNCTION_3, function.config),
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
    if switch is not None:
        body["invocationRestriction"] = {**switch.config, "lastModifiedTime": iso_seconds(switch.modified_at)}
    if tags:
        body["tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
    return body


def render_version(version: Version) -> dict[str, Any]:
    """Write a version; 2023-03-30 has the same form."""
    return {
        "versionId": str(version.number),
        "description": version.description,
        **times_of(version),
    }


def render_alias(alias: Alias, table: tuple[Field, ...] = fields.ALIAS) -> dict[str, Any]:
    """Write an alias with the fields of *table*."""
    return {
        "aliasName": alias.name,
        **write(table, alias),
        **times_of(alias),
    }
