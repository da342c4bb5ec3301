"""The API of 2021-04-06: the resources of 2016-08-15, qualifiers as a query parameter, a few differences.

Source: alibabacloud_fc_open20210406.
"""

from typing import Any

from emulator.http.message import Response
from emulator.services.fc import fields
from emulator.services.fc.dialects import attachment_api, bodies, trigger_api, unavailable_api, v2016
from emulator.services.fc.dialects.exchange import Exchange, next_token
from emulator.services.fc.dialects.routing import Route
from emulator.services.fc.model import Alias, service_arn


def render_alias(alias: Alias) -> dict[str, Any]:
    """Write an alias with its routing policies."""
    body = v2016.render_alias(alias)
    if alias.resolve_policy is not None:
        body["resolvePolicy"] = alias.resolve_policy
    if alias.route_policy is not None:
        body["routePolicy"] = alias.route_policy
    return body


def create_alias(exchange: Exchange) -> Response:
    """Name a version."""
    body = exchange.body()
    values = fields.read(bodies.ALIAS_2021, body)
    publishing = exchange.service.publishing
    alias = publishing.create_alias(exchange.world, exchange.scope, body.get("aliasName"), values, exchange.now)
    return exchange.answer(render_alias(alias), alias.etag)


def get_alias(exchange: Exchange) -> Response:
    """Show an alias."""
    alias = exchange.service.publishing.alias(exchange.world, exchange.scope, exchange.segment("alias"))
    return exchange.answer(render_alias(alias), alias.etag)


def update_alias(exchange: Exchange) -> Response:
    """Change an alias; what the body leaves out stays."""
    values = fields.read(bodies.ALIAS_2021, exchange.body())
    alias = exchange.service.publishing.update_alias(
        exchange.world, exchange.scope, exchange.segment("alias"), values, exchange.if_match, exchange.now
    )
    return exchange.answer(render_alias(alias), alias.etag)


def list_aliases(exchange: Exchange) -> Response:
    """List aliases by name."""
    page = exchange.service.publishing.page_aliases(exchange.world, exchange.scope, exchange.part())
    rows = [render_alias(alias) for alias in page.items]
    return exchange.answer({"aliases": rows, "nextToken": next_token(page.next_marker)})


def list_tagged_resources(exchange: Exchange) -> Response:
    """List the services that carry tags."""
    page = exchange.service.tagging.page(exchange.world, "services", exchange.part())
    rows = [
        {"resourceArn": service_arn(exchange.world, resource.partition("/")[2]), "tags": tags}
        for resource, tags in page.items
    ]
    return exchange.answer({"resources": rows, "nextToken": next_token(page.next_marker)})


_ALIASES = "/services/{service}/aliases"
_F = "/services/{service}/functions/{function}"

ROUTES = (
    Route("POST", _ALIASES, "CreateAlias", create_alias),
    Route("GET", _ALIASES, "ListAliases", list_aliases),
    Route("GET", _ALIASES + "/{alias}", "GetAlias", get_alias),
    Route("PUT", _ALIASES + "/{alias}", "UpdateAlias", update_alias),
    Route("PUT", "/tag", "UntagResource", v2016.untag_resource),
    Route("GET", "/tags", "ListTaggedResources", list_tagged_resources),
    Route("GET", "/reserved-capacities", "ListReservedCapacities", v2016.list_reserved_capacities),
    *trigger_api.routes(_F, trigger_api.render_2021),
    *v2016.SERVED,  # the first route of a path wins, so those above stand in front
    *attachment_api.EVENT_SOURCE_ROUTES,
    *unavailable_api.GPU_ROUTES,
)
