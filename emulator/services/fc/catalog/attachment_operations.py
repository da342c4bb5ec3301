"""VPC bindings of services and functions, and event sources, over the wire.

Source: API reference and models of the three versions; that binding twice is no error is assumed.
"""

from emulator.http.message import Response
from emulator.services.fc.catalog.attachments import EventSource
from emulator.services.fc.codec import Exchange, no_content
from emulator.services.fc.dialects.routing import Route
from emulator.wire.dates import iso_seconds


def _owner(exchange: Exchange) -> tuple[str, str]:
    """Return service and function; bindings belong to services in 2.0 and to functions in 3.0."""
    return (exchange.writable_service(), "") if exchange.has_service else ("", exchange.segment("function"))


def create_vpc_binding(exchange: Exchange) -> Response:
    """Bind a VPC."""
    vpc = exchange.body().get("vpcId")
    exchange.service.attachments.bind(exchange.tenant, *_owner(exchange), vpc, exchange.now)
    return exchange.answer({})


def list_vpc_bindings(exchange: Exchange) -> Response:
    """List the VPCs that are bound."""
    return exchange.answer({"vpcIds": exchange.service.attachments.bound(exchange.tenant, *_owner(exchange))})


def delete_vpc_binding(exchange: Exchange) -> Response:
    """Remove a binding."""
    exchange.service.attachments.unbind(exchange.tenant, *_owner(exchange), exchange.segment("vpc"))
    return no_content()


def vpc_routes(base: str) -> tuple[Route, ...]:
    """Return the routes of VPC bindings whose paths begin with *base*."""
    return (
        Route("POST", base, "CreateVpcBinding", create_vpc_binding),
        Route("GET", base, "ListVpcBindings", list_vpc_bindings),
        Route("DELETE", base + "/{vpc}", "DeleteVpcBinding", delete_vpc_binding),
    )


def _render(source: EventSource) -> dict[str, str]:
    return {"sourceArn": source.arn, "createdTime": iso_seconds(source.created_at)}


def _function(exchange: Exchange) -> tuple[str, str, str | None]:
    return exchange.service_name, exchange.segment("function"), exchange.qualifier


def register_event_source(exchange: Exchange) -> Response:
    """Register an event source."""
    arn = exchange.body().get("sourceArn")
    attachments = exchange.service.attachments
    return exchange.answer(_render(attachments.register(exchange.tenant, *_function(exchange), arn, exchange.now)))


def list_event_sources(exchange: Exchange) -> Response:
    """List event sources."""
    found = exchange.service.attachments.registered(exchange.tenant, *_function(exchange))
    return exchange.answer({"eventSources": [_render(source) for source in found]})


def deregister_event_source(exchange: Exchange) -> Response:
    """Forget an event source."""
    exchange.service.attachments.deregister(exchange.tenant, *_function(exchange), exchange.segment("source"))
    return no_content()


_F = "/services/{service}/functions/{function}/event-sources"

EVENT_SOURCE_ROUTES = (
    Route("POST", _F, "RegisterEventSource", register_event_source),
    Route("GET", _F, "ListEventSources", list_event_sources),
    Route("DELETE", _F + "/{source}", "DeregisterEventSource", deregister_event_source),
)
