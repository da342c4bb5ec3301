"""Resources as 2021-04-06 writes them where it differs from 2016-08-15.

Source: alibabacloud_fc_open20210406.
"""

import json
from typing import Any

from emulator.kernel.identity import Tenant
from emulator.services.fc.dialects import v2016
from emulator.services.fc.model import function_arn
from emulator.services.fc.triggers.model import Trigger


def render_trigger(tenant: Tenant, trigger: Trigger, url: str, host: str) -> dict[str, Any]:
    """Write a trigger with its configuration as text, and the addresses of an HTTP trigger."""
    body = {
        **v2016.trigger_base(trigger),
        "triggerConfig": json.dumps(trigger.config, ensure_ascii=False, separators=(",", ":")),
        "status": None,
        "targetArn": function_arn(tenant, trigger.service, trigger.function),
    }
    if trigger.kind == "http":
        body |= {"domainName": host, "urlInternet": url, "urlIntranet": url}
    return body
