"""Layers on the wire. The three APIs differ in a few names and in the type of a version's number and visibility.

Source: fc-go-sdk layer.go; alibabacloud_fc_open20210406; alibabacloud_fc20230330.
"""

from typing import Any

from emulator.http.message import Response
from emulator.kernel.identity import Tenant
from emulator.services.fc import codec as bodies
from emulator.services.fc.catalog.layers import LayerVersion, layer_arn
from emulator.services.fc.codec import Exchange, next_token, no_content
from emulator.services.fc.dialects.routing import Route
from emulator.services.fc.errors import InvalidArgument
from emulator.wire.dates import iso_seconds


def _render(exchange: Exchange, owner: Tenant, version: LayerVersion, *, with_code: bool = False) -> dict[str, Any]:
    arn = layer_arn(owner, version.name, version.number)
    third = exchange.context.http.path.startswith("/2023-03-30/")
    body: dict[str, Any] = {
        "layerName": version.name,
        "version": version.number,
        "description": version.description,
        "codeChecksum": version.code.checksum,
        "createTime": iso_seconds(version.created_at),
        "acl": str(int(version.public)) if third else int(version.public),
        "compatibleRuntime": list(version.runtimes),
        "license": version.license,
        "codeSize": version.code.size,
    }
    if third:
        body["layerVersionArn"] = arn
    else:
        body |= {"arn": arn, "arnV2": arn, "codesize": version.code.size}  # one official client reads that spelling
    if with_code:
        token = exchange.service.functions.offer(version.code.digest)
        body["code"] = {"location": exchange.service.code_url(token), "repositoryType": "OSS"}
    return body


async def create_layer_version(exchange: Exchange) -> Response:
    """Publish the next version of a layer."""
    body = await exchange.large_body()
    version = await exchange.service.layers.publish(
        exchange.tenant, exchange.segment("layer"), body, bodies.code_source(body), exchange.now
    )
    return exchange.answer(_render(exchange, exchange.tenant, version, with_code=True))


def get_layer_version(exchange: Exchange) -> Response:
    """Show a version and where its package can be downloaded."""
    version = exchange.service.layers.get(exchange.tenant, exchange.segment("layer"), exchange.segment("version"))
    return exchange.answer(_render(exchange, exchange.tenant, version, with_code=True))


def get_layer_version_by_arn(exchange: Exchange) -> Response:
    """Show the version a resource name names."""
    owner, version = exchange.service.layers.by_arn(exchange.tenant, exchange.segment("arn"))
    return exchange.answer(_render(exchange, owner, version, with_code=True))


def list_layer_versions(exchange: Exchange) -> Response:
    """List a layer's versions."""
    start = exchange.query("startVersion") or "0"
    if not (start.isascii() and start.isdigit() and len(start) <= 10):
        raise InvalidArgument(f"startVersion '{start[:40]}' is invalid: it must be a number")
    page = exchange.service.layers.page_versions(
        exchange.tenant, exchange.segment("layer"), int(start), exchange.limit()
    )
    body: dict[str, Any] = {"layers": [_render(exchange, exchange.tenant, version) for version in page.items]}
    if page.next_marker is not None:
        body["nextVersion"] = int(page.next_marker)
    return exchange.answer(body)


def list_layers(exchange: Exchange) -> Response:
    """List the newest version of each layer: the caller's, or with ``public`` those that are open to all.

    The layers of the cloud itself (``official``) are not here.
    """
    if bodies.truth(exchange.query("official")):
        return exchange.answer({"layers": [], "nextToken": ""})
    public = bodies.truth(exchange.query("public"))
    page = exchange.service.layers.page(exchange.tenant, exchange.part(), public=public)
    rows = [_render(exchange, owner, version) for owner, version in page.items]
    return exchange.answer({"layers": rows, "nextToken": next_token(page.next_marker)})


def delete_layer_version(exchange: Exchange) -> Response:
    """Remove a version."""
    exchange.service.layers.delete(exchange.tenant, exchange.segment("layer"), exchange.segment("version"))
    return no_content()


def put_layer_acl(exchange: Exchange) -> Response:
    """Open a layer to other accounts, or close it."""
    public = bodies.truth(exchange.query("public")) or exchange.query("acl") == "1"
    exchange.service.layers.set_public(exchange.tenant, exchange.segment("layer"), public=public)
    return no_content()


_V = "/layers/{layer}/versions"

ROUTES = (
    Route("GET", "/layers", "ListLayers", list_layers),
    Route("POST", _V, "CreateLayerVersion", create_layer_version),
    Route("GET", _V, "ListLayerVersions", list_layer_versions),
    Route("GET", _V + "/{version}", "GetLayerVersion", get_layer_version),
    Route("DELETE", _V + "/{version}", "DeleteLayerVersion", delete_layer_version),
    Route("PUT", "/layers/{layer}/acl", "PutLayerACL", put_layer_acl),
    Route("GET", "/layerarn/{arn}", "GetLayerVersionByArn", get_layer_version_by_arn),
)
