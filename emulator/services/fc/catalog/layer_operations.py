"""Layers on the wire. The three APIs differ in a few names and in the type of a version's number and visibility.

Source: fc-go-sdk layer.go; alibabacloud_fc_open20210406; alibabacloud_fc20230330.
"""

from typing import Any

from emulator.http.message import Response
from emulator.kernel.identity import Tenant
from emulator.services.fc.catalog.layers import LayerVersion, layer_arn
from emulator.services.fc.code.packages import code_source
from emulator.services.fc.codec import (
    EVERY_API,
    V2023,
    api_of,
    json_answer,
    large_body,
    next_token,
    no_content,
    page_size,
    query,
    slice_of,
    truth,
)
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.service import FunctionCompute
from emulator.wire.dates import iso_seconds
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest


def _render(
    fc: FunctionCompute, call: OperationRequest, owner: Tenant, version: LayerVersion, *, with_code: bool = False
) -> dict[str, Any]:
    arn = layer_arn(owner, version.name, version.number)
    third = api_of(call) == V2023
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
        token = fc.packages.offer(version.code.digest)
        body["code"] = {"location": fc.code_url(token), "repositoryType": "OSS"}
    return body


@operation("CreateLayerVersion", "POST /layers/{layer}/versions", api=EVERY_API)
async def create_layer_version(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Publish the next version of a layer."""
    body = await large_body(fc.codes, call)
    version = await fc.layers.publish(call.tenant, call.path["layer"], body, code_source(body), call.now)
    return json_answer(_render(fc, call, call.tenant, version, with_code=True))


@operation("GetLayerVersion", "GET /layers/{layer}/versions/{version}", api=EVERY_API)
def get_layer_version(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Show a version and where its package can be downloaded."""
    version = fc.layers.get(call.tenant, call.path["layer"], call.path["version"])
    return json_answer(_render(fc, call, call.tenant, version, with_code=True))


@operation("GetLayerVersionByArn", "GET /layerarn/{arn}", api=EVERY_API)
def get_layer_version_by_arn(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Show the version a resource name names."""
    owner, version = fc.layers.by_arn(call.tenant, call.path["arn"])
    return json_answer(_render(fc, call, owner, version, with_code=True))


@operation("ListLayerVersions", "GET /layers/{layer}/versions", api=EVERY_API)
def list_layer_versions(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List a layer's versions."""
    start = query(call, "startVersion") or "0"
    if not (start.isascii() and start.isdigit() and len(start) <= 10):
        raise InvalidArgument(f"startVersion '{start[:40]}' is invalid: it must be a number")
    page = fc.layers.page_versions(call.tenant, call.path["layer"], int(start), page_size(call))
    body: dict[str, Any] = {"layers": [_render(fc, call, call.tenant, version) for version in page.items]}
    if page.next_marker is not None:
        body["nextVersion"] = int(page.next_marker)
    return json_answer(body)


@operation("ListLayers", "GET /layers", api=EVERY_API)
def list_layers(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the newest version of each layer: the caller's, or with ``public`` those that are open to all.

    The layers of the cloud itself (``official``) are not here.
    """
    if truth(query(call, "official")):
        return json_answer({"layers": [], "nextToken": ""})
    public = truth(query(call, "public"))
    page = fc.layers.page(call.tenant, slice_of(call), public=public)
    rows = [_render(fc, call, owner, version) for owner, version in page.items]
    return json_answer({"layers": rows, "nextToken": next_token(page.next_marker)})


@operation("DeleteLayerVersion", "DELETE /layers/{layer}/versions/{version}", api=EVERY_API)
def delete_layer_version(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Remove a version."""
    fc.layers.delete(call.tenant, call.path["layer"], call.path["version"])
    return no_content()


@operation("PutLayerACL", "PUT /layers/{layer}/acl", api=EVERY_API)
def put_layer_acl(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Open a layer to other accounts, or close it."""
    public = truth(query(call, "public")) or query(call, "acl") == "1"
    fc.layers.set_public(call.tenant, call.path["layer"], public=public)
    return no_content()
