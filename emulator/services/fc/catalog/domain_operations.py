"""Custom domains on the wire, alike in every API but for what their routes name.

Source: aliyun-fc2 client.py; alibabacloud_fc_open20210406; alibabacloud_fc20230330.
"""

from typing import Any

from emulator.http.message import Response
from emulator.services.fc.catalog.domain_routes import Domain, shown
from emulator.services.fc.codec import (
    EVERY_API,
    api_of,
    if_match,
    json_answer,
    json_body,
    next_token,
    no_content,
    slice_of,
)
from emulator.services.fc.service import FunctionCompute
from emulator.wire.dates import iso_seconds
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest


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


@operation("CreateCustomDomain", "POST /custom-domains", api=EVERY_API)
def create_custom_domain(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Make a domain."""
    domain = fc.sources.domains.create(call.tenant, json_body(call), api_of(call), call.now)
    return json_answer(render(domain), domain.etag)


@operation("GetCustomDomain", "GET /custom-domains/{domain}", api=EVERY_API)
def get_custom_domain(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Show a domain."""
    domain = fc.sources.domains.get(call.tenant, call.path["domain"])
    return json_answer(render(domain), domain.etag)


@operation("UpdateCustomDomain", "PUT /custom-domains/{domain}", api=EVERY_API)
def update_custom_domain(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Change a domain; what the body leaves out stays."""
    domain = fc.sources.domains.update(
        call.tenant,
        call.path["domain"],
        json_body(call),
        api_of(call),
        if_match(call),
        call.now,
    )
    return json_answer(render(domain), domain.etag)


@operation("DeleteCustomDomain", "DELETE /custom-domains/{domain}", api=EVERY_API)
def delete_custom_domain(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Remove a domain."""
    fc.sources.domains.delete(call.tenant, call.path["domain"], if_match(call))
    return no_content()


@operation("ListCustomDomains", "GET /custom-domains", api=EVERY_API)
def list_custom_domains(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List domains by name."""
    page = fc.sources.domains.page(call.tenant, slice_of(call))
    rows = [render(domain) for domain in page.items]
    return json_answer({"customDomains": rows, "nextToken": next_token(page.next_marker)})
