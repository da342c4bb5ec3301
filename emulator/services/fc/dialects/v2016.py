"""Resources as 2016-08-15 writes them; 2021-04-06 differs in aliases and triggers only.

Source: aliyun-fc2 client.py; the API reference of 2016-08-15.
"""

from typing import Any

from emulator.services.fc.attributes import Field, write
from emulator.services.fc.catalog import fields
from emulator.services.fc.model import Alias, Function, Service, Version
from emulator.services.fc.triggers.model import Trigger
from emulator.wire.dates import iso_seconds


def render_service(service: Service) -> dict[str, Any]:
    """Write a service."""
    return {
        "serviceName": service.name,
        "serviceId": service.service_id,
        **write(fields.SERVICE, service.config),
        "createdTime": iso_seconds(service.created_at),
        "lastModifiedTime": iso_seconds(service.modified_at),
        "useSLRAuthentication": False,
    }


def render_function(function: Function) -> dict[str, Any]:
    """Write a function."""
    code = function.code
    return {
        "functionName": function.name,
        "functionId": function.function_id,
        **write(fields.FUNCTION_2, function.config),
        "layersArnV2": list(function.config.layers),
        "codeSize": code.size if code else 0,
        "codeChecksum": code.checksum if code else "0",
        "createdTime": iso_seconds(function.created_at),
        "lastModifiedTime": iso_seconds(function.modified_at),
    }


def render_version(version: Version) -> dict[str, Any]:
    """Write a version; 2023-03-30 has the same form."""
    return {
        "versionId": str(version.number),
        "description": version.description,
        "createdTime": iso_seconds(version.created_at),
        "lastModifiedTime": iso_seconds(version.modified_at),
    }


def render_alias(alias: Alias, table: tuple[Field, ...] = fields.ALIAS) -> dict[str, Any]:
    """Write an alias with the fields of *table*."""
    return {
        "aliasName": alias.name,
        **write(table, alias),
        "createdTime": iso_seconds(alias.created_at),
        "lastModifiedTime": iso_seconds(alias.modified_at),
    }


def trigger_base(trigger: Trigger) -> dict[str, Any]:
    """Write what every version shows of a trigger.

    An HTTP trigger has no source, whatever was sent; the role is the text that was sent, empty without one.

    Source: fc-go-sdk client_test.go and fc-python-sdk test/trigger_test.py.
    """
    return {
        "triggerName": trigger.name,
        "description": trigger.description,
        "triggerId": trigger.trigger_id,
        "triggerType": trigger.kind,
        "sourceArn": (trigger.source_arn or None) if trigger.kind != "http" else None,
        "invocationRole": trigger.role,
        "qualifier": trigger.qualifier,
        "createdTime": iso_seconds(trigger.created_at),
        "lastModifiedTime": iso_seconds(trigger.modified_at),
    }


def render_trigger(trigger: Trigger, url: str) -> dict[str, Any]:
    """Write a trigger with its configuration as an object; *url* is the address of an HTTP trigger."""
    body = {**trigger_base(trigger), "triggerConfig": dict(trigger.config)}
    if trigger.kind == "http":
        body["urlInternet"] = url
    return body
