"""Triggers on the wire: a configuration is an object in 2016-08-15 and JSON text in the two later APIs.

Source: aliyun-fc2 client.py; alibabacloud_fc_open20210406; alibabacloud_fc20230330.
"""

import json
from collections.abc import Callable
from typing import Any

from emulator.http.message import Response
from emulator.services.fc.codec import Exchange, next_token, no_content
from emulator.services.fc.dialects.routing import Handler, Route
from emulator.services.fc.model import function_arn
from emulator.services.fc.triggers.model import Trigger
from emulator.wire.dates import iso_seconds

Render = Callable[[Exchange, Trigger], dict[str, Any]]


def _common(trigger: Trigger) -> dict[str, Any]:
    return {
        "triggerName": trigger.name,
        "description": trigger.description,
        "triggerId": trigger.trigger_id,
        "triggerType": trigger.kind,
        "sourceArn": trigger.source_arn or None,
        "invocationRole": trigger.role or None,
        "qualifier": trigger.qualifier,
        "createdTime": iso_seconds(trigger.created_at),
        "lastModifiedTime": iso_seconds(trigger.modified_at),
    }


def render_2016(exchange: Exchange, trigger: Trigger) -> dict[str, Any]:
    """Write a trigger with its configuration as an object."""
    body = {**_common(trigger), "triggerConfig": dict(trigger.config)}
    if trigger.kind == "http":
        body["urlInternet"] = exchange.service.sources.url(trigger)
    return body


def render_2021(exchange: Exchange, trigger: Trigger) -> dict[str, Any]:
    """Write a trigger with its configuration as text, and the addresses of an HTTP trigger."""
    body = {
        **_common(trigger),
        "triggerConfig": json.dumps(trigger.config, ensure_ascii=False, separators=(",", ":")),
        "status": None,
        "targetArn": function_arn(exchange.tenant, trigger.service, trigger.function),
    }
    if trigger.kind == "http":
        url = exchange.service.sources.url(trigger)
        body |= {
            "domainName": exchange.service.sources.host(exchange.tenant, trigger),
            "urlInternet": url,
            "urlIntranet": url,
        }
    return body


def render_2023(exchange: Exchange, trigger: Trigger) -> dict[str, Any]:
    """Write a trigger of a function without a service."""
    body = {
        **_common(trigger),
        "triggerConfig": json.dumps(trigger.config, ensure_ascii=False, separators=(",", ":")),
        "status": "",
        "targetArn": function_arn(exchange.tenant, "", trigger.function),
    }
    if trigger.kind == "http":
        url = exchange.service.sources.url(trigger)
        body["httpTrigger"] = {"urlInternet": url, "urlIntranet": url}
    return body


def _service(exchange: Exchange) -> str:
    return exchange.writable_service() if exchange.has_service else ""


def _create(render: Render) -> Handler:
    def create_trigger(exchange: Exchange) -> Response:
        trigger = exchange.service.sources.triggers.create(
            exchange.tenant, _service(exchange), exchange.segment("function"), exchange.body(), exchange.now
        )
        return exchange.answer(render(exchange, trigger), trigger.etag)

    return create_trigger


def _get(render: Render) -> Handler:
    def get_trigger(exchange: Exchange) -> Response:
        trigger = exchange.service.sources.triggers.get(
            exchange.tenant, _service(exchange), exchange.segment("function"), exchange.segment("trigger")
        )
        return exchange.answer(render(exchange, trigger), trigger.etag)

    return get_trigger


def _update(render: Render) -> Handler:
    def update_trigger(exchange: Exchange) -> Response:
        trigger = exchange.service.sources.triggers.update(
            exchange.tenant,
            _service(exchange),
            exchange.segment("function"),
            exchange.segment("trigger"),
            exchange.body(),
            exchange.if_match,
            exchange.now,
        )
        return exchange.answer(render(exchange, trigger), trigger.etag)

    return update_trigger


def _list(render: Render) -> Handler:
    def list_triggers(exchange: Exchange) -> Response:
        page = exchange.service.sources.triggers.page(
            exchange.tenant, _service(exchange), exchange.segment("function"), exchange.part()
        )
        rows = [render(exchange, trigger) for trigger in page.items]
        return exchange.answer({"triggers": rows, "nextToken": next_token(page.next_marker)})

    return list_triggers


def delete_trigger(exchange: Exchange) -> Response:
    """Remove a trigger."""
    exchange.service.sources.triggers.delete(
        exchange.tenant,
        _service(exchange),
        exchange.segment("function"),
        exchange.segment("trigger"),
        exchange.if_match,
    )
    return no_content()


def routes(function: str, render: Render) -> tuple[Route, ...]:
    """Return the operations below the path template of a function."""
    return (
        Route("POST", function + "/triggers", "CreateTrigger", _create(render)),
        Route("GET", function + "/triggers", "ListTriggers", _list(render)),
        Route("GET", function + "/triggers/{trigger}", "GetTrigger", _get(render)),
        Route("PUT", function + "/triggers/{trigger}", "UpdateTrigger", _update(render)),
        Route("DELETE", function + "/triggers/{trigger}", "DeleteTrigger", delete_trigger),
    )
