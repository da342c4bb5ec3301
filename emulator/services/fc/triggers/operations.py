"""Operations on triggers: a configuration is an object in 2016-08-15 and JSON text in the two later versions.

Source: aliyun-fc2 client.py; alibabacloud_fc_open20210406; alibabacloud_fc20230330.
"""

from typing import Any

from emulator.http.message import Response
from emulator.services.fc.codec import (
    V2023,
    WITH_SERVICES,
    api_of,
    if_match,
    json_answer,
    json_body,
    no_content,
    page_answer,
    slice_of,
    writable_service,
)
from emulator.services.fc.dialects.codec import render_trigger
from emulator.services.fc.service import FunctionCompute
from emulator.services.fc.triggers.model import Trigger
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest


@operation("CreateTrigger", "POST /services/{service}/functions/{function}/triggers", api=WITH_SERVICES)
@operation("CreateTrigger", "POST /functions/{function}/triggers", api=V2023)
def create_trigger(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Create a trigger of a function.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument, TriggerAlreadyExists,
    LimitExceeded.
    Source: API reference, CreateTrigger; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    trigger = fc.sources.triggers.create(call.tenant, *_function(call), json_body(call), call.now)
    return json_answer(_render(fc, call, trigger), trigger.etag)


@operation("GetTrigger", "GET /services/{service}/functions/{function}/triggers/{trigger}", api=WITH_SERVICES)
@operation("GetTrigger", "GET /functions/{function}/triggers/{trigger}", api=V2023)
def get_trigger(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return a trigger.

    Raises: ServiceNotFound, FunctionNotFound, TriggerNotFound.
    Source: API reference, GetTrigger; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    trigger = fc.sources.triggers.get(call.tenant, *_function(call), call.path["trigger"])
    return json_answer(_render(fc, call, trigger), trigger.etag)


@operation("UpdateTrigger", "PUT /services/{service}/functions/{function}/triggers/{trigger}", api=WITH_SERVICES)
@operation("UpdateTrigger", "PUT /functions/{function}/triggers/{trigger}", api=V2023)
def update_trigger(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Change a trigger; what the body leaves out stays.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, TriggerNotFound, PreconditionFailed,
    InvalidArgument, TriggerAlreadyExists.
    Source: API reference, UpdateTrigger; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    name = call.path["trigger"]
    trigger = fc.sources.triggers.update(call.tenant, *_function(call), name, json_body(call), if_match(call), call.now)
    return json_answer(_render(fc, call, trigger), trigger.etag)


@operation("DeleteTrigger", "DELETE /services/{service}/functions/{function}/triggers/{trigger}", api=WITH_SERVICES)
@operation("DeleteTrigger", "DELETE /functions/{function}/triggers/{trigger}", api=V2023)
def delete_trigger(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Delete a trigger.

    Raises: ServiceNotFound, FunctionNotFound, TriggerNotFound, PreconditionFailed, InvalidArgument for one named in a
    file.
    Source: API reference, DeleteTrigger; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    fc.sources.triggers.delete(call.tenant, *_function(call), call.path["trigger"], if_match(call))
    return no_content()


@operation("ListTriggers", "GET /services/{service}/functions/{function}/triggers", api=WITH_SERVICES)
@operation("ListTriggers", "GET /functions/{function}/triggers", api=V2023)
def list_triggers(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the triggers of a function by name.

    Raises: ServiceNotFound, FunctionNotFound, InvalidArgument.
    Source: API reference, ListTriggers; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    page = fc.sources.triggers.page(call.tenant, *_function(call), slice_of(call))
    rows = [_render(fc, call, trigger) for trigger in page.items]
    return page_answer("triggers", rows, page.next_marker)


def _function(call: OperationRequest) -> tuple[str, str]:
    return writable_service(call), call.path["function"]


def _render(fc: FunctionCompute, call: OperationRequest, trigger: Trigger) -> dict[str, Any]:
    is_http = trigger.kind == "http"
    url = fc.sources.url(trigger) if is_http else ""
    host = fc.sources.host(call.tenant, trigger) if is_http else ""
    return render_trigger(api_of(call), call.tenant, trigger, url, host)
