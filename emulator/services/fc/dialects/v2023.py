"""Resources as 2023-03-30 writes them: functions without services, no ETags.

Source: alibabacloud_fc20230330; the published metadata of this API version.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from emulator.kernel.identity import Tenant
from emulator.services.fc.attributes import write
from emulator.services.fc.capacity.model import Setting
from emulator.services.fc.catalog import fields
from emulator.services.fc.dialects import v2016
from emulator.services.fc.model import Function, function_arn
from emulator.services.fc.triggers.model import Trigger
from emulator.wire.dates import iso_seconds


def render_function(
    tenant: Tenant,
    function: Function,
    *,
    layer_size: Callable[[str], int],
    tags: Mapping[str, str],
    switch: Setting | None,
) -> dict[str, Any]:
    """Write a function. It is ready at once, which deployment tools poll for.

    *layer_size* returns the size of a layer's package by its ARN; *switch* is what disables invocation, if anything.
    """
    code = function.code
    body = {
        "functionName": function.name,
        "functionId": function.function_id,
        "functionArn": function_arn(tenant, "", function.name),
        **write(fields.FUNCTION_3, function.config),
        "layers": [{"arn": arn, "size": layer_size(arn)} for arn in function.config.layers],
        "codeSize": code.size if code else 0,
        "codeChecksum": code.checksum if code else "0",
        "createdTime": iso_seconds(function.created_at),
        "lastModifiedTime": iso_seconds(function.modified_at),
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


def render_trigger(tenant: Tenant, trigger: Trigger, url: str) -> dict[str, Any]:
    """Write a trigger of a function without a service."""
    body = {
        **v2016.trigger_base(trigger),
        "triggerConfig": json.dumps(trigger.config, ensure_ascii=False, separators=(",", ":")),
        "status": "",
        "targetArn": function_arn(tenant, "", trigger.function),
    }
    if trigger.kind == "http":
        body["httpTrigger"] = {"urlInternet": url, "urlIntranet": url}
    return body
