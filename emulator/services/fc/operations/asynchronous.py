"""Asynchronous invocation over the wire: configurations and task records of every dialect.

2.0 names tasks "stateful async invocations"; 3.0 calls them async tasks and knows no services.

Source: API reference and models of the three versions; aliyun-fc2 client.py.
"""

import json
from typing import Any, Literal

from emulator.http.message import Response
from emulator.kernel.clock import Millis
from emulator.kernel.frozen import replace
from emulator.kernel.paging import cut
from emulator.services.fc import codec
from emulator.services.fc.asynchronous.model import (
    CONFIG_2,
    CONFIG_3,
    FINAL,
    AsyncCall,
    AsyncConfig,
    Status,
    StoredConfig,
    TaskEvent,
    TaskQuery,
)
from emulator.services.fc.codec import OF_SERVICE, V2023, WITH_SERVICES
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.model import function_arn
from emulator.services.fc.service import FunctionCompute
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest

Generation = Literal["2.0", "3.0"]

_CONFIG_FIELDS = {"2.0": CONFIG_2, "3.0": CONFIG_3}


def render_config(stored: StoredConfig, generation: Generation) -> dict[str, Any]:
    """Write a configuration; an age and a number of retries that have never been set are null."""
    tenant, service, function, qualifier = stored.lane
    names = (
        {"functionArn": function_arn(tenant, "", function, qualifier)}
        if generation == "3.0"
        else {"service": service, "function": function, "qualifier": qualifier}
    )
    return {**names, **codec.times_of(stored), **codec.BODY.write(_CONFIG_FIELDS[generation], stored.config)}


@operation("PutFunctionAsyncInvokeConfig", f"PUT {OF_SERVICE}/async-invoke-config", api=WITH_SERVICES)
@operation("PutAsyncInvokeConfig", "PUT /functions/{function}/async-invoke-config", api=V2023)
def put_config(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Configure asynchronous calls; omitted members stay as they are.

    Queued calls follow it from their next attempt on; only whether a call is a task is fixed when it is queued.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument.
    Source: API reference, PutFunctionAsyncInvokeConfig; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    values = codec.BODY.read(_CONFIG_FIELDS[_generation(call)], codec.json_body(call))
    ref = codec.ref_of(call)
    fc.resolver.function(*ref)
    new = StoredConfig(lane=ref, config=AsyncConfig(), created_at=call.now, modified_at=call.now)
    old = fc.async_store.config(ref) or new
    stored = replace(old, config=replace(old.config, **values), modified_at=call.now)
    fc.async_store.put_config(stored)
    return codec.json_answer(render_config(stored, _generation(call)))


@operation("GetFunctionAsyncInvokeConfig", f"GET {OF_SERVICE}/async-invoke-config", api=WITH_SERVICES)
@operation("GetAsyncInvokeConfig", "GET /functions/{function}/async-invoke-config", api=V2023)
def get_config(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return a configuration.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, AsyncConfigNotExists.
    Source: API reference, GetFunctionAsyncInvokeConfig; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    return codec.json_answer(render_config(_stored(fc, call), _generation(call)))


@operation("DeleteFunctionAsyncInvokeConfig", f"DELETE {OF_SERVICE}/async-invoke-config", api=WITH_SERVICES)
@operation("DeleteAsyncInvokeConfig", "DELETE /functions/{function}/async-invoke-config", api=V2023)
def delete_config(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Delete a configuration.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, AsyncConfigNotExists.
    Source: API reference, DeleteFunctionAsyncInvokeConfig; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    fc.async_store.delete_configs(*_stored(fc, call).lane)
    return codec.no_content()


def _stored(fc: FunctionCompute, call: OperationRequest) -> StoredConfig:
    """Return the configuration of exactly the qualifier that the call names."""
    ref = codec.ref_of(call)
    fc.resolver.function(*ref)
    stored = fc.async_store.config(ref)
    if stored is None:
        raise FcError("AsyncConfigNotExists", function=ref.function, qualifier=ref.qualifier)
    return stored


@operation("ListFunctionAsyncInvokeConfigs", f"GET {OF_SERVICE}/async-invoke-configs", api=WITH_SERVICES)
@operation("ListAsyncInvokeConfigs", "GET /async-invoke-configs", api=V2023)
def list_configs(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the configurations of a function; in 3.0 those of all functions, or of ``functionName``.

    Raises: ServiceNotFound, FunctionNotFound, InvalidArgument.
    Source: API reference, ListFunctionAsyncInvokeConfigs; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    function = call.path.get("function") or codec.query(call, "functionName") or None
    generation = _generation(call)
    token = codec.query(call, "nextToken")
    marker = codec.page_marker(call) if generation == "3.0" else token and f"{function}/{token}"
    service, limit = codec.service_of(call), codec.page_size(call)
    if function is not None:
        fc.resolver.function(call.tenant, service, function)
    first, _, second = marker.partition("/")
    stored = fc.async_store.configs(call.tenant, service, function, (first, second), limit)
    page = cut(stored, limit, lambda row: f"{row.lane.function}/{row.lane.qualifier}")
    rows = [render_config(row, generation) for row in page.items]
    if generation == "3.0":
        return codec.page_answer("configs", rows, page.next_marker)
    # The one list of 2.0 with an empty token at its end; its tokens are qualifiers, and it is null rather than empty.
    # Source: fc-python-sdk test/async_config_test.py, fc-java-sdk FunctionComputeClientTest.
    return codec.json_answer({"configs": rows or None, "nextToken": (page.next_marker or "").partition("/")[2]})


def render_task(task: AsyncCall, events: list[TaskEvent], *, payload: bool) -> dict[str, Any]:
    """Write a task under the names of its generation.

    ``startedTime`` is when the call was accepted, ``durationMs`` runs from its first attempt; both assumed.
    """
    lane = task.lane
    names = _NAMES["2.0" if lane.service else "3.0"]
    body: dict[str, Any] = (
        {"serviceName": lane.service, "functionName": lane.function}
        if lane.service
        else {"functionArn": function_arn(lane.tenant, "", lane.function)}
    )
    body |= {
        "qualifier": lane.qualifier,
        names["id"]: task.task_id,
        "requestId": task.request_id,
        "status": task.status.value,
        "startedTime": task.accepted_at,
        "alreadyRetriedTimes": _retried(task, events),
        "destinationStatus": task.destination,
        names["error"]: _error_message(task),
        "instanceId": task.instance_id,
        "events": [
            {
                "eventId": event.event_id,
                "status": event.status.value,
                "timestamp": event.at,
                "eventDetail": event.detail,
            }
            for event in events
        ],
    }
    if task.ended_at is not None:
        body["endTime"] = task.ended_at
        body["durationMs"] = task.ended_at - (task.running_from or task.ended_at)
    if task.status in FINAL:
        body["returnPayload"] = task.result.decode("utf-8", "replace")
    if payload:
        body[names["payload"]] = task.event.decode("utf-8", "replace")
    return body


_NAMES: dict[str, dict[str, str]] = {
    "2.0": {
        "list": "invocations",
        "prefix": "invocationIdPrefix",
        "id": "invocationId",
        "error": "invocationErrorMessage",
        "payload": "invocationPayload",
    },
    "3.0": {
        "list": "tasks",
        "prefix": "prefix",
        "id": "taskId",
        "error": "taskErrorMessage",
        "payload": "taskPayload",
    },
}


def _retried(task: AsyncCall, events: list[TaskEvent]) -> int:
    """Return how many attempts followed the first: as many as have failed, less one when none began since."""
    began_or_failed = {Status.RUNNING, Status.RETRYING, Status.FAILED}
    last = next((event.status for event in reversed(events) if event.status in began_or_failed), None)
    return task.retries if last is Status.RUNNING else max(0, task.retries - 1)


def _error_message(call: AsyncCall) -> str:
    """Return the message of a failed function or of the platform, the plain text where there is no message in it."""
    if not call.error:
        return ""
    text = call.result.decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return str(body.get("errorMessage", text)) if isinstance(body, dict) else text


@operation("ListStatefulAsyncInvocations", f"GET {OF_SERVICE}/stateful-async-invocations", api=WITH_SERVICES)
@operation("ListAsyncTasks", "GET /functions/{function}/async-tasks", api=V2023)
def list_tasks(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the tasks of a function, the newest first unless ``sortOrderByTime`` is ``asc``.

    Raises: ServiceNotFound, FunctionNotFound, InvalidArgument.
    Source: API reference, ListStatefulAsyncInvocations; alibabacloud_fc_open20210406; alibabacloud_fc20230330.
    """
    names = _NAMES[_generation(call)]
    order = codec.query(call, "sortOrderByTime").lower() or "desc"
    if order not in {"asc", "desc"}:
        raise InvalidArgument(f"sortOrderByTime '{order[:40]}' is invalid: it must be asc or desc")
    wanted = TaskQuery(
        limit=codec.page_size(call),
        after=codec.parse_number(codec.page_marker(call), "nextToken"),
        qualifier=codec.qualifier_of(call),
        status=_status(codec.query(call, "status")),
        prefix=codec.query(call, names["prefix"]),
        begin=_timestamp(call, "startedTimeBegin"),
        end=_timestamp(call, "startedTimeEnd"),
        newest_first=order == "desc",
    )
    service, function = codec.function_of(call)
    fc.resolver.function(call.tenant, service, function)
    tasks = fc.async_store.tasks(call.tenant, service, function, wanted)
    payload = codec.truth(codec.query(call, "includePayload"))
    return codec.list_answer(
        names["list"],
        tasks,
        wanted.limit,
        lambda task: render_task(task, fc.async_store.events(task), payload=payload),
        lambda task: str(task.seq),
    )


@operation("GetStatefulAsyncInvocation", f"GET {OF_SERVICE}/stateful-async-invocations/{{task}}", api=WITH_SERVICES)
@operation("GetAsyncTask", "GET /functions/{function}/async-tasks/{task}", api=V2023)
def get_task(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return a task, its payload included unless ``includePayload`` says otherwise.

    Raises: ServiceNotFound, FunctionNotFound, StatefulAsyncInvocationNotFound.
    Source: API reference, GetStatefulAsyncInvocation; alibabacloud_fc_open20210406; alibabacloud_fc20230330.
    """
    task = _task(fc, call)
    payload = codec.truth(codec.query(call, "includePayload") or "true")
    return codec.json_answer(render_task(task, fc.async_store.events(task), payload=payload))


@operation("StopStatefulAsyncInvocation", f"PUT {OF_SERVICE}/stateful-async-invocations/{{task}}", api=WITH_SERVICES)
@operation("StopAsyncTask", "PUT /functions/{function}/async-tasks/{task}/stop", api=V2023)
def stop_task(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Stop a waiting or running task; an ended one does not change.

    Raises: ServiceNotFound, FunctionNotFound, StatefulAsyncInvocationNotFound.
    Source: API reference, StopStatefulAsyncInvocation; alibabacloud_fc_open20210406; alibabacloud_fc20230330.
    """
    fc.async_queue.stop(_task(fc, call))
    return codec.no_content()


def _task(fc: FunctionCompute, call: OperationRequest) -> AsyncCall:
    """Return the task that the call names; with a qualifier only when it was called through that."""
    service, function = codec.function_of(call)
    fc.resolver.function(call.tenant, service, function)
    task = fc.async_store.task(call.tenant, service, function, call.path["task"])
    if task is None or (codec.qualifier_of(call) or task.lane.qualifier) != task.lane.qualifier:
        raise FcError("StatefulAsyncInvocationNotFound", task=call.path["task"], function=function)
    return task


@operation("ListStatefulAsyncInvocationFunctions", "GET /stateful-async-invocation-functions", api=WITH_SERVICES)
def list_task_functions(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the functions of 2.0 that run tasks.

    Raises: InvalidArgument. Source: alibabacloud_fc_open20210406.
    """
    marker, limit = codec.page_marker(call), codec.page_size(call)
    lanes = fc.async_store.task_lanes(call.tenant, marker, limit)
    names = ("serviceName", "functionName", "qualifier")
    return codec.list_answer("data", lanes, limit, lambda lane: dict(zip(names, lane, strict=True)), "/".join)


def _generation(call: OperationRequest) -> Generation:
    return "3.0" if codec.api_of(call) == V2023 else "2.0"


def _status(text: str) -> Status | None:
    if not text:
        return None
    status = next((status for status in Status if status.value.lower() == text.lower()), None)
    if status is None:
        raise InvalidArgument(f"status '{text[:40]}' is invalid: it must be one of {', '.join(Status)}")
    return status


def _timestamp(call: OperationRequest, name: str) -> Millis | None:
    number = codec.whole_number(call, name)
    return None if number is None else Millis(number)
