"""Operations on layers, VPC bindings and event sources. The versions of the API differ in a few names.

Bindings and event sources are only kept. A function here can call every network its machine can call, so a binding
restricts nothing; an event source registers who may call, which the emulator does not ask.

Source: fc-go-sdk layer.go; aliyun-fc2 client.py; alibabacloud_fc_open20210406; alibabacloud_fc20230330; that binding a
VPC twice is no error is assumed.
"""

import re
from typing import Any

from emulator.http.message import Response
from emulator.kernel.clock import Millis
from emulator.kernel.digits import read_digits
from emulator.kernel.identity import Tenant
from emulator.kernel.paging import cut
from emulator.services.fc import codec, limits
from emulator.services.fc.catalog import fields
from emulator.services.fc.catalog.code import code_source, large_body
from emulator.services.fc.catalog.layers import LayerVersion, layer_arn
from emulator.services.fc.codec import BODY, EVERY_API, V2021, V2023, WITH_SERVICES, check_name
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.kinds import check_version_id
from emulator.services.fc.model import FunctionRef
from emulator.services.fc.service import FunctionCompute
from emulator.wire.dates import iso_seconds
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest


def _render(
    fc: FunctionCompute, call: OperationRequest, owner: Tenant, version: LayerVersion, *, with_code: bool = False
) -> dict[str, Any]:
    arn = layer_arn(owner, version.name, version.number)
    third = codec.api_of(call) == V2023
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
        token = fc.packages.offer(version.code)
        body["code"] = {"location": fc.code_url(token), "repositoryType": "OSS"}
    return body


@operation("CreateLayerVersion", "POST /layers/{layer}/versions", api=EVERY_API)
async def create_layer_version(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Publish the next version of a layer, and the layer itself with the first one.

    Raises: InvalidArgument. Source: fc-go-sdk layer.go; alibabacloud_fc20230330.
    """
    body = await large_body(fc.codes, call)
    source = code_source(body)
    name = check_name(call.path["layer"], "layerName", limits.LAYER_NAME_LENGTH)
    values = BODY.read(fields.LAYER, body)
    if source is None:
        raise InvalidArgument("code is required")
    package = await fc.packages.reader(call.tenant, source)
    async with fc.codes.adding(package, source.checksum, of_bucket=bool(source.bucket)) as code:
        version = LayerVersion(
            name=name,
            number=fc.layer_store.last_number(call.tenant, name) + 1,
            description=values.get("description", ""),
            license=values.get("license", ""),
            runtimes=tuple(values.get("runtimes", ())),
            code=code,
            created_at=call.now,
        )
        fc.layer_store.add(call.tenant, version)
    return codec.json_answer(_render(fc, call, call.tenant, version, with_code=True))


@operation("GetLayerVersion", "GET /layers/{layer}/versions/{version}", api=EVERY_API)
def get_layer_version(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return a version and the address of its package.

    Raises: LayerNotFound, LayerVersionNotFound, InvalidArgument. Source: fc-go-sdk layer.go; alibabacloud_fc20230330.
    """
    return codec.json_answer(_render(fc, call, call.tenant, _version(fc, call), with_code=True))


def _version(fc: FunctionCompute, call: OperationRequest) -> LayerVersion:
    """Return the version that the path names, unless it has been deleted."""
    name, number = call.path["layer"], call.path["version"]
    version = fc.layer_store.version(call.tenant, name, int(check_version_id(number, "version")))
    if version is None or version.deleted:
        _check_layer(fc, call)
        raise FcError("LayerVersionNotFound", layer=name, version=number)
    return version


def _check_layer(fc: FunctionCompute, call: OperationRequest) -> None:
    if not fc.layer_store.versions(call.tenant, call.path["layer"], 0, 1):
        raise FcError("LayerNotFound", layer=call.path["layer"])


@operation("GetLayerVersionByArn", "GET /layerarn/{arn}", api=EVERY_API)
def get_layer_version_by_arn(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return the version that a resource name identifies.

    Raises: LayerVersionNotFound, InvalidArgument. Source: fc-go-sdk layer.go; alibabacloud_fc20230330.
    """
    owner, version = fc.layers.by_arn(call.tenant, call.path["arn"])
    return codec.json_answer(_render(fc, call, owner, version, with_code=True))


@operation("ListLayerVersions", "GET /layers/{layer}/versions", api=EVERY_API)
def list_layer_versions(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List a layer's versions by number.

    Raises: LayerNotFound, InvalidArgument. Source: fc-go-sdk layer.go; alibabacloud_fc20230330; assumed: the oldest
    comes first.
    """
    start = codec.query(call, "startVersion") or "0"
    first = read_digits(start, limits.VERSION_ID_DIGITS)
    if first is None:
        raise InvalidArgument(f"startVersion '{start[:40]}' is invalid: it must be a number")
    limit = codec.page_size(call)
    versions = fc.layer_store.versions(call.tenant, call.path["layer"], first, limit)
    if not versions:
        _check_layer(fc, call)
    page = cut(versions, limit, lambda version: str(version.number))
    body: dict[str, Any] = {"layers": [_render(fc, call, call.tenant, version) for version in page.items]}
    if page.next_marker is not None:
        body["nextVersion"] = int(page.next_marker)
    return codec.json_answer(body)


@operation("ListLayers", "GET /layers", api=EVERY_API)
def list_layers(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the newest version of each layer of the caller, or with ``public`` of each public layer.

    The layers of the cloud itself (``official``) are not here.

    Raises: InvalidArgument. Source: fc-go-sdk layer.go; alibabacloud_fc20230330.
    """
    if codec.truth(codec.query(call, "official")):
        return codec.page_answer("layers", [], None)
    public = codec.truth(codec.query(call, "public"))
    part = codec.slice_of(call)
    newest = fc.layer_store.newest(call.tenant, part, public=public)
    return codec.list_answer("layers", newest, part.limit, lambda row: _render(fc, call, *row), lambda row: row[1].name)


@operation("DeleteLayerVersion", "DELETE /layers/{layer}/versions/{version}", api=EVERY_API)
def delete_layer_version(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Remove a version; functions that use it keep it.

    Raises: LayerNotFound, LayerVersionNotFound, InvalidArgument. Source: fc-go-sdk layer.go; alibabacloud_fc20230330.
    """
    version = _version(fc, call)
    used = fc.layer_store.is_used(layer_arn(call.tenant, version.name, version.number))
    fc.layer_store.remove(call.tenant, version, keep_code=used)
    fc.unused_packages.remove_later()
    return codec.no_content()


@operation("PutLayerACL", "PUT /layers/{layer}/acl", api=EVERY_API)
def put_layer_acl(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Make a layer public, or private again.

    Raises: LayerNotFound. Source: alibabacloud_fc_open20210406; alibabacloud_fc20230330.
    """
    acl = codec.query(
        call, "acl"
    )  # terraform-provider-alicloud sends both; that this one counts then is what it expects
    public = acl == "1" if acl else codec.truth(codec.query(call, "public"))
    _check_layer(fc, call)
    fc.layer_store.set_public(call.tenant, call.path["layer"], public=public)
    return codec.no_content()


_VPC_ID = r"[A-Za-z0-9_-]{1,128}"
_ARN_LENGTH = 1024


def _owner(fc: FunctionCompute, call: OperationRequest) -> FunctionRef:
    """Return the owner of bindings, which must exist: a service in 2.0, a function in 3.0."""
    if service := codec.writable_service(call):
        fc.store.existing_service(call.tenant, service)
        return FunctionRef(call.tenant, service, "", "")
    function = call.path["function"]
    fc.resolver.function(call.tenant, "", function)
    return FunctionRef(call.tenant, "", function, "")


@operation("CreateVpcBinding", "POST /services/{service}/bindings", api=WITH_SERVICES)
@operation("CreateVpcBinding", "POST /services/{service}/binding", api=WITH_SERVICES)
@operation("CreateVpcBinding", "POST /functions/{function}/vpc-bindings", api=V2023)
def create_vpc_binding(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Bind a VPC.

    Raises: ServiceNotFound, FunctionNotFound, InvalidArgument. Source: alibabacloud_fc_open20210406;
    alibabacloud_fc20230330; assumed: binding twice is no error.
    """
    vpc = codec.json_body(call).get("vpcId")
    owner = _owner(fc, call)
    if not isinstance(vpc, str) or not re.fullmatch(_VPC_ID, vpc):
        raise InvalidArgument("vpcId is required: 1 to 128 letters, digits, hyphens and underscores")
    fc.store.attach(owner, "vpc", vpc, call.now)
    return codec.json_answer({})


@operation("ListVpcBindings", "GET /services/{service}/bindings", api=WITH_SERVICES)
@operation("ListVpcBindings", "GET /functions/{function}/vpc-bindings", api=V2023)
def list_vpc_bindings(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the bound VPCs.

    Raises: ServiceNotFound, FunctionNotFound. Source: alibabacloud_fc_open20210406; alibabacloud_fc20230330.
    """
    return codec.json_answer({"vpcIds": list(fc.store.attached(_owner(fc, call), "vpc"))})


@operation("DeleteVpcBinding", "DELETE /services/{service}/bindings/{vpc}", api=WITH_SERVICES)
@operation("DeleteVpcBinding", "DELETE /functions/{function}/vpc-bindings/{vpc}", api=V2023)
def delete_vpc_binding(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Remove a binding.

    Raises: ServiceNotFound, FunctionNotFound, VpcBindingNotFound.
    Source: alibabacloud_fc_open20210406; alibabacloud_fc20230330.
    """
    _unbind(fc, call, call.path["vpc"])
    return codec.no_content()


@operation("DeleteVpcBinding", "DELETE /services/{service}/binding", api=WITH_SERVICES)
def delete_named_vpc_binding(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Remove the binding that the body names; answers 200.

    Raises: ServiceNotFound, VpcBindingNotFound, InvalidArgument.
    Source: fc-java-sdk DeleteVpcBindingRequest and FunctionComputeClientTest.
    """
    vpc = codec.json_body(call).get("vpcId")
    if not isinstance(vpc, str) or not vpc:
        raise InvalidArgument("vpcId is required")
    _unbind(fc, call, vpc)
    return codec.json_answer({})


def _unbind(fc: FunctionCompute, call: OperationRequest, vpc: str) -> None:
    if not fc.store.detach(_owner(fc, call), "vpc", vpc):
        raise FcError("VpcBindingNotFound", vpc=vpc)


def _receiver(fc: FunctionCompute, call: OperationRequest) -> FunctionRef:
    """Return the function and qualifier that event sources call, which must exist."""
    ref = codec.ref_of(call)
    fc.resolver.function(*ref)
    return ref


def _render_source(arn: str, created_at: Millis) -> dict[str, str]:
    return {"sourceArn": arn, "createdTime": iso_seconds(created_at)}


@operation("RegisterEventSource", "POST /services/{service}/functions/{function}/event-sources", api=V2021)
def register_event_source(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Record that an ARN sends events to a function's qualifier; an existing record keeps its date.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument.
    Source: alibabacloud_fc_open20210406.
    """
    arn = codec.json_body(call).get("sourceArn")
    receiver = _receiver(fc, call)
    if not isinstance(arn, str) or not arn.startswith("acs:") or len(arn) > _ARN_LENGTH:
        raise InvalidArgument(f"sourceArn must be a resource name of at most {_ARN_LENGTH} characters")
    fc.store.attach(receiver, "event-source", arn, call.now)
    return codec.json_answer(_render_source(arn, fc.store.attached(receiver, "event-source")[arn]))


@operation("ListEventSources", "GET /services/{service}/functions/{function}/event-sources", api=V2021)
def list_event_sources(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List event sources.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound. Source: alibabacloud_fc_open20210406.
    """
    sources = fc.store.attached(_receiver(fc, call), "event-source")
    return codec.json_answer({"eventSources": [_render_source(*source) for source in sources.items()]})


@operation("DeregisterEventSource", "DELETE /services/{service}/functions/{function}/event-sources/{source}", api=V2021)
def deregister_event_source(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Remove an event source.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, EventSourceNotFound.
    Source: alibabacloud_fc_open20210406.
    """
    if not fc.store.detach(_receiver(fc, call), "event-source", call.path["source"]):
        raise FcError("EventSourceNotFound", arn=call.path["source"])
    return codec.no_content()
