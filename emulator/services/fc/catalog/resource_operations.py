"""Operations on layers, custom domains, tags, VPC bindings and event sources.

The versions of the API differ in a few names.

Source: fc-go-sdk layer.go; aliyun-fc2 client.py; alibabacloud_fc_open20210406; alibabacloud_fc20230330; that binding a
VPC twice is no error is assumed.
"""

from typing import Any

from emulator.http.message import Response
from emulator.kernel.identity import Tenant
from emulator.kernel.paging import cut
from emulator.services.fc import limits
from emulator.services.fc.attributes import read
from emulator.services.fc.catalog import fields
from emulator.services.fc.catalog.attachments import EventSource
from emulator.services.fc.catalog.domains import Domain, shown
from emulator.services.fc.catalog.layers import LayerVersion, layer_arn
from emulator.services.fc.code.store import code_source
from emulator.services.fc.codec import (
    EVERY_API,
    V2016,
    V2021,
    V2023,
    WITH_SERVICES,
    api_of,
    function_of,
    if_match,
    json_answer,
    json_body,
    json_list,
    large_body,
    next_token,
    no_content,
    page_answer,
    page_marker,
    page_size,
    qualifier_of,
    query,
    slice_of,
    tag_filter,
    tag_pairs,
    truth,
    writable_service,
)
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.model import function_arn, service_arn
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
        token = fc.packages.offer(version.code)
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
        return page_answer("layers", [], None)
    public = truth(query(call, "public"))
    page = fc.layers.page(call.tenant, slice_of(call), public=public)
    rows = [_render(fc, call, owner, version) for owner, version in page.items]
    return page_answer("layers", rows, page.next_marker)


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


def render_domain(domain: Domain) -> dict[str, Any]:
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
    return json_answer(render_domain(domain), domain.etag)


@operation("GetCustomDomain", "GET /custom-domains/{domain}", api=EVERY_API)
def get_custom_domain(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Show a domain."""
    domain = fc.sources.domains.get(call.tenant, call.path["domain"])
    return json_answer(render_domain(domain), domain.etag)


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
    return json_answer(render_domain(domain), domain.etag)


@operation("DeleteCustomDomain", "DELETE /custom-domains/{domain}", api=EVERY_API)
def delete_custom_domain(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Remove a domain."""
    fc.sources.domains.delete(call.tenant, call.path["domain"], if_match(call))
    return no_content()


@operation("ListCustomDomains", "GET /custom-domains", api=EVERY_API)
def list_custom_domains(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List domains by name."""
    page = fc.sources.domains.page(call.tenant, slice_of(call))
    rows = [render_domain(domain) for domain in page.items]
    return page_answer("customDomains", rows, page.next_marker)


def _owner(call: OperationRequest) -> tuple[str, str]:
    """Return service and function; bindings belong to services in 2.0 and to functions in 3.0."""
    service = writable_service(call)
    return (service, "") if service else ("", call.path["function"])


@operation("CreateVpcBinding", "POST /services/{service}/bindings", api=WITH_SERVICES)
@operation("CreateVpcBinding", "POST /services/{service}/binding", api=WITH_SERVICES)
@operation("CreateVpcBinding", "POST /functions/{function}/vpc-bindings", api=V2023)
def create_vpc_binding(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Bind a VPC."""
    vpc = json_body(call).get("vpcId")
    fc.attachments.bind(call.tenant, *_owner(call), vpc, call.now)
    return json_answer({})


@operation("ListVpcBindings", "GET /services/{service}/bindings", api=WITH_SERVICES)
@operation("ListVpcBindings", "GET /functions/{function}/vpc-bindings", api=V2023)
def list_vpc_bindings(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the VPCs that are bound."""
    return json_answer({"vpcIds": fc.attachments.bound(call.tenant, *_owner(call))})


@operation("DeleteVpcBinding", "DELETE /services/{service}/bindings/{vpc}", api=WITH_SERVICES)
@operation("DeleteVpcBinding", "DELETE /functions/{function}/vpc-bindings/{vpc}", api=V2023)
def delete_vpc_binding(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Remove a binding."""
    fc.attachments.unbind(call.tenant, *_owner(call), call.path["vpc"])
    return no_content()


@operation("DeleteVpcBinding", "DELETE /services/{service}/binding", api=WITH_SERVICES)
def delete_named_vpc_binding(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Remove the binding that the body names; answers 200.

    Source: fc-java-sdk DeleteVpcBindingRequest and FunctionComputeClientTest.
    """
    vpc = json_body(call).get("vpcId")
    if not isinstance(vpc, str) or not vpc:
        raise InvalidArgument("vpcId is required")
    fc.attachments.unbind(call.tenant, *_owner(call), vpc)
    return json_answer({})


def _render_source(source: EventSource) -> dict[str, str]:
    return {"sourceArn": source.arn, "createdTime": iso_seconds(source.created_at)}


@operation("RegisterEventSource", "POST /services/{service}/functions/{function}/event-sources", api=V2021)
def register_event_source(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Register an event source."""
    arn = json_body(call).get("sourceArn")
    attachments = fc.attachments
    return json_answer(
        _render_source(attachments.register(call.tenant, *function_of(call), qualifier_of(call), arn, call.now))
    )


@operation("ListEventSources", "GET /services/{service}/functions/{function}/event-sources", api=V2021)
def list_event_sources(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List event sources."""
    sources = fc.attachments.registered(call.tenant, *function_of(call), qualifier_of(call))
    return json_answer({"eventSources": [_render_source(source) for source in sources]})


@operation("DeregisterEventSource", "DELETE /services/{service}/functions/{function}/event-sources/{source}", api=V2021)
def deregister_event_source(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Forget an event source."""
    fc.attachments.deregister(call.tenant, *function_of(call), qualifier_of(call), call.path["source"])
    return no_content()


# --- services ----------------------------------------------------------------------------------------------------


@operation("TagResource", "POST /tag", api=WITH_SERVICES)
def tag_resource(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Set tags on a service."""
    body = json_body(call)
    tagging = fc.tagging
    resource = tagging.resource(call.tenant, str(body.get("resourceArn") or ""), "services")
    tagging.tag(call.tenant, resource, body.get("tags"))
    return json_answer({"requestId": call.request_id})


@operation("UntagResource", "DELETE /tag", api=V2016)
@operation("UntagResource", "PUT /tag", api=V2021)
def untag_resource(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Remove tags from a service. The answer has a body although it is a DELETE: the official client parses it."""
    body = json_body(call)
    tagging = fc.tagging
    resource = tagging.resource(call.tenant, str(body.get("resourceArn") or ""), "services")
    keys = body.get("tagKeys") or []
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise InvalidArgument("tagKeys must be a list of strings")
    tagging.untag(call.tenant, resource, keys, everything=truth(body.get("all")))
    return json_answer({"requestId": call.request_id})


@operation("GetResourceTags", "GET /tag", api=WITH_SERVICES)
def get_resource_tags(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Show the tags of a service."""
    tagging = fc.tagging
    resource = tagging.resource(call.tenant, query(call, "resourceArn"), "services")
    return json_answer(
        {
            "requestId": call.request_id,
            "resourceArn": service_arn(call.tenant, resource.partition("/")[2]),
            "tags": tagging.tags(call.tenant, resource),
        }
    )


@operation("ListTaggedResources", "GET /tags", api=V2021)
def list_tagged_resources(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the services that carry tags."""
    page = fc.tagging.page(call.tenant, "services", slice_of(call))
    rows = [
        {"resourceArn": service_arn(call.tenant, resource.partition("/")[2]), "tags": tags}
        for resource, tags in page.items
    ]
    return page_answer("resources", rows, page.next_marker)


# --- functions ---------------------------------------------------------------------------------------------------


@operation("TagResources", "POST /tags-v2", api=V2023)
def tag_resources(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Set tags on some functions."""
    body = json_body(call)
    named = body.get("ResourceId") or []
    if not isinstance(named, list):
        raise InvalidArgument("ResourceId must be a list")
    resources = _resources(fc, call, str(body.get("ResourceType") or ""), named)
    tags = tag_pairs(body.get("Tag"), "Tag")
    for resource in resources:
        fc.tagging.tag(call.tenant, resource, tags)
    return json_answer({"RequestId": call.request_id})


@operation("UntagResources", "DELETE /tags-v2", api=V2023)
def untag_resources(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Remove tags from some functions."""
    resources = _resources(fc, call, query(call, "ResourceType"), json_list(query(call, "ResourceId"), "ResourceId"))
    keys = [str(key) for key in json_list(query(call, "TagKey"), "TagKey")]
    everything = truth(query(call, "All"))
    for resource in resources:
        fc.tagging.untag(call.tenant, resource, keys, everything=everything)
    return json_answer({"RequestId": call.request_id})


@operation("ListTagResources", "GET /tags-v2", api=V2023)
def list_tag_resources(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List tags, of the functions named or of all; a wanted tag without a value is wanted with any.

    Pages count tags. Source: the cloud-wide form of this operation; that pages count tags is assumed.
    """
    wanted = tag_filter(json_list(query(call, "Tag"), "Tag"), "Tag")
    kind = query(call, "ResourceType") or "function"
    _check_kind(kind)
    limit, start = page_size(call, "Limit"), page_marker(call, "NextToken")
    tagging = fc.tagging
    if named := json_list(query(call, "ResourceId"), "ResourceId"):
        tagged = {resource: tagging.tags(call.tenant, resource) for resource in _resources(fc, call, kind, named)}
    else:
        tagged = dict(tagging.every(call.tenant, "functions"))
    rows = [
        (resource, key, value)
        for resource, tags in sorted(tagged.items())
        if all(key in tags and value in {None, tags[key]} for key, value in wanted.items())
        for key, value in sorted(tags.items())
    ]
    page = cut([row for row in rows if _place_of(row) >= start][: limit + 1], limit, _place_of)
    shown = [
        {
            "ResourceId": function_arn(call.tenant, "", resource.partition("/")[2]),
            "ResourceType": kind,
            "TagKey": key,
            "TagValue": value,
        }
        for resource, key, value in page.items
    ]
    body = {"RequestId": call.request_id, "NextToken": next_token(page.next_marker), "TagResources": shown}
    return json_answer(body)


def _place_of(row: tuple[str, str, str]) -> str:
    """Return where a tag stands in the list; the names of functions hold nothing that sorts below a line feed."""
    return f"{row[0]}\n{row[1]}"


def _check_kind(kind: str) -> None:
    if kind.lower() not in {"function", "functions", "acs:fc:function"}:
        raise InvalidArgument(f"ResourceType '{kind[:40]}' is invalid: it must be function")


def _resources(fc: FunctionCompute, call: OperationRequest, kind: str, named: list[Any]) -> list[str]:
    _check_kind(kind)
    if not limits.TAGS_PER_CALL.contains(len(named)):
        raise InvalidArgument(f"ResourceId must have 1 to {limits.TAGS_PER_CALL.high} items")
    return [fc.tagging.resource(call.tenant, str(name), "functions") for name in named]


@operation("ChangeResourceGroup", "PUT /resource-groups", api=V2023)
async def change_resource_group(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Move a function to another resource group."""
    body = json_body(call)
    [resource] = _resources(fc, call, str(body.get("ResourceType") or "function"), [body.get("ResourceId")])
    group = body.get("NewResourceGroupId")
    values = read(fields.FUNCTION_3, {"resourceGroupId": group})
    if not group or not values:
        raise InvalidArgument("NewResourceGroupId is required")
    name = resource.partition("/")[2]
    functions = fc.functions
    before = functions.get(call.tenant, "", name, None).config.resource_group_id
    await functions.update(call.tenant, "", name, values, None, "", call.now)
    return json_answer(
        {"NewResourceGroupId": group, "OldResourceGroupId": before or "", "ResourceId": str(body.get("ResourceId"))}
    )
