"""Aliases over the wire: the same operations in every version; 2021-04-06 has routing by content beside them.

Source: API reference and models of the three versions.
"""

from typing import Any

from emulator.http.message import Response
from emulator.services.fc import checks
from emulator.services.fc.catalog import fields
from emulator.services.fc.catalog.fields import Field
from emulator.services.fc.catalog.versions import check_weights
from emulator.services.fc.checks import one_of, shape, text
from emulator.services.fc.codec import DESCRIPTION, Exchange, next_token, no_content
from emulator.services.fc.dialects.routing import Route
from emulator.services.fc.model import Alias
from emulator.wire.dates import iso_seconds

_FIELDS = (
    Field("versionId", "version_id", checks.version_or_latest),
    DESCRIPTION,
    Field("additionalVersionWeight", "weights", check_weights),
)
_FIELDS_WITH_POLICIES = (
    *_FIELDS,
    Field("resolvePolicy", "resolve_policy", one_of({"Random", "Content"})),
    Field(
        "routePolicy",
        "route_policy",
        shape(
            condition=one_of({"AND", "OR"}),
            policyItems=checks.items(shape(type=text(), key=text(), operator=text(), value=text())),
        ),
    ),
)


class _Aliases:
    """The operations of one version."""

    def __init__(self, *, with_policies: bool) -> None:
        self._with_policies = with_policies
        self._fields = _FIELDS_WITH_POLICIES if with_policies else _FIELDS

    def create(self, exchange: Exchange) -> Response:
        """Name a version."""
        body = exchange.body()
        values = fields.read(self._fields, body)
        publishing = exchange.service.publishing
        alias = publishing.create_alias(exchange.tenant, exchange.scope, body.get("aliasName"), values, exchange.now)
        return self._answer(exchange, alias)

    def get(self, exchange: Exchange) -> Response:
        """Show an alias."""
        alias = exchange.service.publishing.alias(exchange.tenant, exchange.scope, exchange.segment("alias"))
        return self._answer(exchange, alias)

    def update(self, exchange: Exchange) -> Response:
        """Change an alias; what the body leaves out stays."""
        values = fields.read(self._fields, exchange.body())
        alias = exchange.service.publishing.update_alias(
            exchange.tenant, exchange.scope, exchange.segment("alias"), values, exchange.if_match, exchange.now
        )
        return self._answer(exchange, alias)

    def delete(self, exchange: Exchange) -> Response:
        """Remove an alias."""
        exchange.service.publishing.delete_alias(
            exchange.tenant, exchange.scope, exchange.segment("alias"), exchange.if_match
        )
        return no_content()

    def list(self, exchange: Exchange) -> Response:
        """List aliases by name."""
        page = exchange.service.publishing.page_aliases(exchange.tenant, exchange.scope, exchange.part())
        rows = [self._render(alias) for alias in page.items]
        return exchange.answer({"aliases": rows, "nextToken": next_token(page.next_marker)})

    def _answer(self, exchange: Exchange, alias: Alias) -> Response:
        return exchange.answer(self._render(alias), alias.etag)

    def _render(self, alias: Alias) -> dict[str, Any]:
        body: dict[str, Any] = {
            "aliasName": alias.name,
            "versionId": alias.version_id,
            "description": alias.description,
            "additionalVersionWeight": dict(alias.weights),
            "createdTime": iso_seconds(alias.created_at),
            "lastModifiedTime": iso_seconds(alias.modified_at),
        }
        if self._with_policies:
            policies = {"resolvePolicy": alias.resolve_policy, "routePolicy": alias.route_policy}
            body |= {name: value for name, value in policies.items() if value is not None}
        return body


def routes(owner: str, *, with_policies: bool = False) -> tuple[Route, ...]:
    """Return the routes of the aliases of *owner*, the path of a service or function."""
    aliases, base = _Aliases(with_policies=with_policies), owner + "/aliases"
    return (
        Route("POST", base, "CreateAlias", aliases.create),
        Route("GET", base, "ListAliases", aliases.list),
        Route("GET", base + "/{alias}", "GetAlias", aliases.get),
        Route("PUT", base + "/{alias}", "UpdateAlias", aliases.update),
        Route("DELETE", base + "/{alias}", "DeleteAlias", aliases.delete),
    )
