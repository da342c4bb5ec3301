"""Resources as the versions of the API write them: 2016-08-15, 2021-04-06 and 2023-03-30.

2021-04-06 differs from 2016-08-15 in aliases and triggers only. 2023-03-30 has functions without services, no ETags.

Source: aliyun-fc2 client.py; alibabacloud_fc_open20210406; alibabacloud_fc20230330; the API reference of 2016-08-15 and
the published metadata of 2023-03-30.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from emulator.kernel.identity import Tenant
from emulator.services.fc.attributes import Field, write
from emulator.services.fc.capacity.model import Setting
from emulator.services.fc.catalog import fields
from emulator.services.fc.codec import V2016, V2021
from emulator.services.fc.model import Alias, Function, Service, Version, function_arn
from emulator.services.fc.triggers.model import Trigger
from emulator.wire.dates import iso_seconds


def _times(row: Service | Function | Version | Alias | Trigger) -> dict[str, str]:
    return {"createdTime": iso_seconds(row.created_at), "lastModifiedTime": iso_seconds(row.modified_at)}


def _code_size(function: Function) -> dict[str, Any]:
    code = function.code
    return {"codeSize": code.size if code else 0, "codeChecksum": code.checksum if code else "0"}


def render_service(service: Service) -> dict[str, Any]:
    """Write a service."""
    return {
        "serviceName": service.name,
        "serviceId": service.service_id,
        **write(fields.SERVICE, service.config),
        **_times(service),
        "useSLRAuthentication": False,
    }


def render_function_2(function: Function) -> dict[str, Any]:
    """Write a function of a service."""
    return {
        "functionName": function.name,
        "functionId": function.function_id,
        **write(fields.FUNCTION_2, function.config),
        "layersArnV2": list(function.config.layers),
        **_code_size(function),
        **_times(function),
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
        "functionId": function.function_id,
        "functionArn": function_arn(tenant, "", function.name),
        **write(fields.FUNCTION_3, function.config),
        "layers": [{"arn": arn, "size": layer_size(arn)} for arn in function.config.layers],
        **_code_size(function),
        **_times(function),
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
        **_times(version),
    }


def render_alias(alias: Alias, table: tuple[Field, ...] = fields.ALIAS) -> dict[str, Any]:
    """Write an alias with the fields of *table*."""
    return {
        "aliasName": alias.name,
        **write(table, alias),
        **_times(alias),
    }


def render_trigger(api: str, tenant: Tenant, trigger: Trigger, url: str, host: str) -> dict[str, Any]:
    """Write a trigger; *url* and *host* are the address of an HTTP trigger.

    A configuration is an object in 2016-08-15 and JSON text later. An HTTP trigger has no source, whatever was sent;
    the role is the text that was sent, empty without one.

    Source: fc-go-sdk client_test.go and fc-python-sdk test/trigger_test.py.
    """
    is_http = trigger.kind == "http"
    body: dict[str, Any] = {
        "triggerName": trigger.name,
        "description": trigger.description,
        "triggerId": trigger.trigger_id,
        "triggerType": trigger.kind,
        "sourceArn": None if is_http else trigger.source_arn or None,
        "invocationRole": trigger.role,
        "qualifier": trigger.qualifier,
        **_times(trigger),
    }
    if api == V2016:
        return body | {"triggerConfig": dict(trigger.config)} | ({"urlInternet": url} if is_http else {})
    body |= {
        "triggerConfig": json.dumps(trigger.config, ensure_ascii=False, separators=(",", ":")),
        "status": None if api == V2021 else "",
        "targetArn": function_arn(tenant, trigger.service, trigger.function),
    }
    urls = {"urlInternet": url, "urlIntranet": url}
    if is_http:
        body |= {"domainName": host, **urls} if api == V2021 else {"httpTrigger": urls}
    return body
