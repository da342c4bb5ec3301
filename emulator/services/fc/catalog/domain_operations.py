"""Custom domains on the wire, alike in every API but for what their routes name.

Source: aliyun-fc2 client.py; alibabacloud_fc_open20210406; alibabacloud_fc20230330.
"""

from typing import Any

from emulator.http.message import Response
from emulator.services.fc.catalog.domain_routes import Domain, shown
from emulator.services.fc.codec import Exchange, next_token, no_content
from emulator.services.fc.dialects.routing import Route
from emulator.wire.dates import iso_seconds


def render(domain: Domain) -> dict[str, Any]:
    """Write a domain, without its private key."""
    return {
        "domainName": domain.name,
        "accountId": domain.tenant.account,
        "apiVersion": domain.api,
        **shown(domain.config),
        "createdTime": iso_seconds(domain.created_at),
        "lastModifiedTime": iso_seconds(domain.modified_at),
    }


def _api(exchange: Exchange) -> str:
    return exchange.context.http.path.split("/", 2)[1]


def create_custom_domain(exchange: Exchange) -> Response:
    """Make a domain."""
    domain = exchange.service.sources.domains.create(exchange.tenant, exchange.body(), _api(exchange), exchange.now)
    return exchange.answer(render(domain), domain.etag)


def get_custom_domain(exchange: Exchange) -> Response:
    """Show a domain."""
    domain = exchange.service.sources.domains.get(exchange.tenant, exchange.segment("domain"))
    return exchange.answer(render(domain), domain.etag)


def update_custom_domain(exchange: Exchange) -> Response:
    """Change a domain; what the body leaves out stays."""
    domain = exchange.service.sources.domains.update(
        exchange.tenant,
        exchange.segment("domain"),
        exchange.body(),
        _api(exchange),
        exchange.if_match,
        exchange.now,
    )
    return exchange.answer(render(domain), domain.etag)


def delete_custom_domain(exchange: Exchange) -> Response:
    """Remove a domain."""
    exchange.service.sources.domains.delete(exchange.tenant, exchange.segment("domain"), exchange.if_match)
    return no_content()


def list_custom_domains(exchange: Exchange) -> Response:
    """List domains by name."""
    page = exchange.service.sources.domains.page(exchange.tenant, exchange.part())
    rows = [render(domain) for domain in page.items]
    return exchange.answer({"customDomains": rows, "nextToken": next_token(page.next_marker)})


ROUTES = (
    Route("POST", "/custom-domains", "CreateCustomDomain", create_custom_domain),
    Route("GET", "/custom-domains", "ListCustomDomains", list_custom_domains),
    Route("GET", "/custom-domains/{domain}", "GetCustomDomain", get_custom_domain),
    Route("PUT", "/custom-domains/{domain}", "UpdateCustomDomain", update_custom_domain),
    Route("DELETE", "/custom-domains/{domain}", "DeleteCustomDomain", delete_custom_domain),
)
