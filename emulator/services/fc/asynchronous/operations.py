"""Asynchronous invocation over the wire: configurations and task records of every dialect.

2.0 names tasks "stateful async invocations"; 3.0 calls them async tasks and knows no services. Handlers named ``..._2``
and ``..._3`` differ in field names only.

Source: API reference and models of the three versions; aliyun-fc2 client.py.
"""

import json
from typing import Any, Literal

from emulator.http.message import Response
from emulator.kernel.clock import Millis
from emulator.services.fc import limits
from emulator.services.fc.asynchronous.model import FINAL, AsyncCall, AsyncConfig, Status, StoredConfig, TaskQuery
from emulator.services.fc.asynchronous.records import config_fields
from emulator.services.fc.catalog import fields
from emulator.services.fc.codec import Exchange, next_token, no_content, truth
from emulator.services.fc.dialects.routing import Route
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.model import function_arn
from emulator.wire.dates import iso_seconds

Generation = Literal["2.0", "3.0"]

_CONFIG_FIELDS = {"2.0": config_fields("statefulInvocation"), "3.0": config_fields("asyncTask")}
_CONFIG_DEFAULTS = {
    "max_age_s": limits.ASYNC_AGE_S.default,
    "max_retries": limits.ASYNC_RETRIES.default,
    "task_mode": False,
}
_WAITING_AFTER_FAILURE = {Status.RETRYING, Status.FAILED, Status.EXPIRED}


# --- configurations ----------------------------------------------------------------------------------------------


def render_config(stored: StoredConfig, generation: Generation) -> dict[str, Any]:
    """Write a configuration: what was never set as its default, and destinations that were never set not at all.

    Source: the defaults of the API reference; that they are shown is assumed.
    """
    lane = stored.lane
    times = {"createdTime": iso_seconds(stored.created_at), "lastModifiedTime": iso_seconds(stored.modified_at)}
    said = {
        field.wire: value
        for field in _CONFIG_FIELDS[generation]
        if (value := _said_or_default(stored.config, field.attribute)) is not None
    }
    if generation == "3.0":
        return {"functionArn": function_arn(lane.tenant, "", lane.function, lane.qualifier), **times, **said}
    return {"service": lane.service, "function": lane.function, "qualifier": lane.qualifier, **times, **said}


def _said_or_default(config: AsyncConfig, attribute: str) -> Any:
    value = getattr(config, attribute)
    return _CONFIG_DEFAULTS.get(attribute) if value is None else value


def _put(exchange: Exchange, generation: Generation) -> Response:
    values = fields.read(_CONFIG_FIELDS[generation], exchange.body())
    stored = exchange.service.async_configs.put(
        exchange.tenant, *_function(exchange), exchange.qualifier, values, exchange.now
    )
    return exchange.answer(render_config(stored, generation))


def put_config_2(exchange: Exchange) -> Response:
    """Configure asynchronous calls; what the body leaves out stays."""
    return _put(exchange, "2.0")


def put_config_3(exchange: Exchange) -> Response:
    """Configure asynchronous calls; what the body leaves out stays."""
    return _put(exchange, "3.0")


def get_config_2(exchange: Exchange) -> Response:
    """Show a configuration."""
    stored = exchange.service.async_configs.get(exchange.tenant, *_function(exchange), exchange.qualifier)
    return exchange.answer(render_config(stored, "2.0"))


def get_config_3(exchange: Exchange) -> Response:
    """Show a configuration."""
    stored = exchange.service.async_configs.get(exchange.tenant, *_function(exchange), exchange.qualifier)
    return exchange.answer(render_config(stored, "3.0"))


def delete_config(exchange: Exchange) -> Response:
    """Remove a configuration."""
    exchange.service.async_configs.delete(exchange.tenant, *_function(exchange), exchange.qualifier)
    return no_content()


def list_configs_2(exchange: Exchange) -> Response:
    """List the configurations of a function."""
    service, function = _function(exchange)
    return _configs(exchange, service, function, "2.0")


def list_configs_3(exchange: Exchange) -> Response:
    """List the configurations of a function, or of all."""
    return _configs(exchange, "", exchange.query("functionName") or None, "3.0")


def _configs(exchange: Exchange, service: str, function: str | None, generation: Generation) -> Response:
    page = exchange.service.async_configs.page(exchange.tenant, service, function, exchange.marker(), exchange.limit())
    rows = [render_config(stored, generation) for stored in page.items]
    return exchange.answer({"configs": rows, "nextToken": next_token(page.next_marker)})


# --- tasks -------------------------------------------------------------------------------------------------------


def render_task(exchange: Exchange, call: AsyncCall, *, payload: bool) -> dict[str, Any]:
    """Write a task under the names of its generation.

    ``startedTime`` is when the call was accepted, ``durationMs`` runs from its first attempt; both assumed.
    """
    lane = call.lane
    names = _NAMES["2.0" if lane.service else "3.0"]
    failed_once_more = call.status in _WAITING_AFTER_FAILURE and call.retries > 0
    body: dict[str, Any] = (
        {"serviceName": lane.service, "functionName": lane.function}
        if lane.service
        else {"functionArn": function_arn(lane.tenant, "", lane.function)}
    )
    body |= {
        "qualifier": lane.qualifier,
        names["id"]: call.task_id,
        "requestId": call.request_id,
        "status": call.status.value,
        "startedTime": call.accepted_at,
        "alreadyRetriedTimes": call.retries - failed_once_more,
        "destinationStatus": call.destination,
        names["error"]: _error_message(call),
        "instanceId": call.instance_id,
        "events": [
            {
                "eventId": event.event_id,
                "status": event.status.value,
                "timestamp": event.at,
                "eventDetail": event.detail,
            }
            for event in exchange.service.tasks.events(call)
        ],
    }
    if call.ended_at is not None:
        body["endTime"] = call.ended_at
        body["durationMs"] = call.ended_at - (call.running_from or call.ended_at)
    if call.status in FINAL:
        body["returnPayload"] = call.result.decode("utf-8", "replace")
    if payload:
        body[names["payload"]] = call.event.decode("utf-8", "replace")
    return body


_NAMES: dict[str, dict[str, str]] = {
    "2.0": {"id": "invocationId", "error": "invocationErrorMessage", "payload": "invocationPayload"},
    "3.0": {"id": "taskId", "error": "taskErrorMessage", "payload": "taskPayload"},
}


def _error_message(call: AsyncCall) -> str:
    """Return what a failed function or the platform said, the plain text where there is no message in it."""
    if not call.error:
        return ""
    text = call.result.decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return str(body.get("errorMessage", text)) if isinstance(body, dict) else text


def list_tasks_2(exchange: Exchange) -> Response:
    """List the tasks of a function, the newest first unless ``sortOrderByTime`` is ``asc``."""
    return _tasks(exchange, "invocations", "invocationIdPrefix")


def list_tasks_3(exchange: Exchange) -> Response:
    """List the tasks of a function, the newest first unless ``sortOrderByTime`` is ``asc``."""
    return _tasks(exchange, "tasks", "prefix")


def _tasks(exchange: Exchange, rows_name: str, prefix_name: str) -> Response:
    order = exchange.query("sortOrderByTime").lower() or "desc"
    if order not in {"asc", "desc"}:
        raise InvalidArgument(f"sortOrderByTime '{order[:40]}' is invalid: it must be asc or desc")
    marker = exchange.marker()
    query = TaskQuery(
        limit=exchange.limit(),
        after=_number(marker, "nextToken"),
        qualifier=exchange.qualifier,
        status=_status(exchange.query("status")),
        prefix=exchange.query(prefix_name),
        begin=_instant(exchange, "startedTimeBegin"),
        end=_instant(exchange, "startedTimeEnd"),
        newest_first=order == "desc",
    )
    page = exchange.service.tasks.page(exchange.tenant, *_function(exchange), query)
    payload = truth(exchange.query("includePayload"))
    rows = [render_task(exchange, call, payload=payload) for call in page.items]
    return exchange.answer({rows_name: rows, "nextToken": next_token(page.next_marker)})


def get_task(exchange: Exchange) -> Response:
    """Show a task, its payload included unless ``includePayload`` says otherwise."""
    call = exchange.service.tasks.get(
        exchange.tenant, *_function(exchange), exchange.segment("task"), exchange.qualifier
    )
    return exchange.answer(render_task(exchange, call, payload=truth(exchange.query("includePayload") or "true")))


def stop_task(exchange: Exchange) -> Response:
    """End a task."""
    exchange.service.tasks.stop(exchange.tenant, *_function(exchange), exchange.segment("task"), exchange.qualifier)
    return no_content()


def list_task_functions(exchange: Exchange) -> Response:
    """List the functions of 2.0 that run tasks."""
    page = exchange.service.tasks.functions(exchange.tenant, exchange.marker(), exchange.limit())
    rows = [
        {"serviceName": service, "functionName": function, "qualifier": qualifier}
        for service, function, qualifier in page.items
    ]
    return exchange.answer({"data": rows, "nextToken": next_token(page.next_marker)})


# --- pieces ------------------------------------------------------------------------------------------------------


def _function(exchange: Exchange) -> tuple[str, str]:
    return (exchange.service_name if exchange.has_service else ""), exchange.segment("function")


def _status(text: str) -> Status | None:
    if not text:
        return None
    found = next((status for status in Status if status.value.lower() == text.lower()), None)
    if found is None:
        raise InvalidArgument(f"status '{text[:40]}' is invalid: it must be one of {', '.join(Status)}")
    return found


def _instant(exchange: Exchange, name: str) -> Millis | None:
    number = _number(exchange.query(name), name)
    return None if number is None else Millis(number)


def _number(text: str, name: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 17):
        raise InvalidArgument(f"{name} '{text[:40]}' is invalid: it must be a whole number")
    return int(text)


# --- the tables --------------------------------------------------------------------------------------------------

_F2 = "/services/{service}/functions/{function}"
_F3 = "/functions/{function}"

ROUTES_2 = (
    Route("PUT", _F2 + "/async-invoke-config", "PutFunctionAsyncInvokeConfig", put_config_2),
    Route("GET", _F2 + "/async-invoke-config", "GetFunctionAsyncInvokeConfig", get_config_2),
    Route("DELETE", _F2 + "/async-invoke-config", "DeleteFunctionAsyncInvokeConfig", delete_config),
    Route("GET", _F2 + "/async-invoke-configs", "ListFunctionAsyncInvokeConfigs", list_configs_2),
    Route("GET", _F2 + "/stateful-async-invocations", "ListStatefulAsyncInvocations", list_tasks_2),
    Route("GET", _F2 + "/stateful-async-invocations/{task}", "GetStatefulAsyncInvocation", get_task),
    Route("PUT", _F2 + "/stateful-async-invocations/{task}", "StopStatefulAsyncInvocation", stop_task),
    Route("GET", "/stateful-async-invocation-functions", "ListStatefulAsyncInvocationFunctions", list_task_functions),
)
"""What the two APIs with services have."""

ROUTES_3 = (
    Route("PUT", _F3 + "/async-invoke-config", "PutAsyncInvokeConfig", put_config_3),
    Route("GET", _F3 + "/async-invoke-config", "GetAsyncInvokeConfig", get_config_3),
    Route("DELETE", _F3 + "/async-invoke-config", "DeleteAsyncInvokeConfig", delete_config),
    Route("GET", "/async-invoke-configs", "ListAsyncInvokeConfigs", list_configs_3),
    Route("GET", _F3 + "/async-tasks", "ListAsyncTasks", list_tasks_3),
    Route("GET", _F3 + "/async-tasks/{task}", "GetAsyncTask", get_task),
    Route("PUT", _F3 + "/async-tasks/{task}/stop", "StopAsyncTask", stop_task),
)
"""What the API without services has."""
