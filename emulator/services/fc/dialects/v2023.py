"""The API of 2023-03-30: functions without services, qualifiers as a query parameter, no ETags.

Source: alibabacloud_fc20230330; the published metadata of this API version.
"""

from typing import Any

from emulator.http.message import Response
from emulator.kernel.paging import cut
from emulator.services.fc import checks, limits
from emulator.services.fc import codec as bodies
from emulator.services.fc.asynchronous import operations as async_api
from emulator.services.fc.capacity import operations as capacity_api
from emulator.services.fc.catalog import attachment_operations as attachment_api
from emulator.services.fc.catalog import domain_operations as domain_api
from emulator.services.fc.catalog import fields
from emulator.services.fc.catalog import layer_operations as layer_api
from emulator.services.fc.catalog import version_operations as alias_api
from emulator.services.fc.catalog.services import check_tags
from emulator.services.fc.codec import Exchange, next_token, no_content
from emulator.services.fc.dialects import unavailable as unavailable_api
from emulator.services.fc.dialects import v2016
from emulator.services.fc.dialects.routing import Route
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.invoke.operations import invoke_function
from emulator.services.fc.model import Function, function_arn
from emulator.services.fc.triggers import operations as trigger_api
from emulator.wire.dates import iso_seconds


def render_function(exchange: Exchange, function: Function) -> dict[str, Any]:
    """Write a function. It is ready at once, which deployment tools poll for."""
    code = function.code
    body = {
        "functionName": function.name,
        "functionId": function.function_id,
        "functionArn": function_arn(exchange.tenant, "", function.name),
        **fields.SHOWN_3,
        **fields.write(fields.FUNCTION_3, function.config),
        "layers": [
            {"arn": arn, "size": exchange.service.layers.size(exchange.tenant, arn)} for arn in function.config.layers
        ],
        "codeSize": code.size if code else 0,
        "codeChecksum": code.checksum if code else "0",
        "createdTime": iso_seconds(function.created_at),
        "lastModifiedTime": iso_seconds(function.modified_at),
        "state": "Active",
        "stateReason": "",
        "stateReasonCode": "",
        "lastUpdateStatus": "Successful",
        "lastUpdateStatusReason": "",
        "lastUpdateStatusReasonCode": "",
    }
    tags = exchange.service.tagging.tags(exchange.tenant, f"functions/{function.name}")
    if (switch := exchange.service.capacity.switch(exchange.tenant, function.name)) is not None:
        body["invocationRestriction"] = {**switch.config, "lastModifiedTime": iso_seconds(switch.modified_at)}
    if tags:
        body["tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
    return body


# --- functions ---------------------------------------------------------------------------------------------------


async def create_function(exchange: Exchange) -> Response:
    """Make a function."""
    body = await exchange.large_body()
    values = fields.read(fields.FUNCTION_3, body)
    if "handler" not in values and not checks.is_custom(values.get("runtime", "")):
        raise InvalidArgument("handler is required")
    tags = check_tags(bodies.tag_pairs(body["tags"], "tags")) if body.get("tags") else None
    function = await exchange.service.functions.create(
        exchange.tenant, "", body.get("functionName"), values, bodies.code_source(body), exchange.now, tags
    )
    return exchange.answer(render_function(exchange, function))


def get_function(exchange: Exchange) -> Response:
    """Show a function, current or as a version froze it."""
    function = exchange.service.functions.get(exchange.tenant, "", exchange.segment("function"), exchange.qualifier)
    return exchange.answer(render_function(exchange, function))


async def update_function(exchange: Exchange) -> Response:
    """Change a function; what the body leaves out stays."""
    body = await exchange.large_body()
    function = await exchange.service.functions.update(
        exchange.tenant,
        "",
        exchange.segment("function"),
        fields.read(fields.FUNCTION_3, body),
        bodies.code_source(body),
        exchange.if_match,
        exchange.now,
    )
    return exchange.answer(render_function(exchange, function))


def delete_function(exchange: Exchange) -> Response:
    """Remove a function with its versions and aliases."""
    exchange.service.functions.delete(exchange.tenant, "", exchange.segment("function"), exchange.if_match)
    return no_content()


def list_functions(exchange: Exchange) -> Response:
    """List the functions that have no service.

    The filters ``description``, ``functionName``, ``runtime``, ``gpuType`` and ``resourceGroupId`` thin out the page;
    with ``fcVersion=v2`` there is nothing here.
    """
    if exchange.query("fcVersion").lower() == "v2":
        return exchange.answer({"functions": [], "nextToken": ""})
    tags = bodies.tag_pairs(bodies.json_list(exchange.query("tags"), "tags"), "tags")
    page = exchange.service.functions.page(exchange.tenant, "", None, exchange.part(tags))
    rows = [render_function(exchange, function) for function in page.items if _passes(exchange, function)]
    return exchange.answer({"functions": rows, "nextToken": next_token(page.next_marker)})


def _passes(exchange: Exchange, function: Function) -> bool:
    config = function.config
    query = exchange.query
    return (
        query("functionName") in function.name
        and query("description") in config.description
        and (query("runtime") or config.runtime) == config.runtime
        and (query("resourceGroupId") or config.resource_group_id) == config.resource_group_id
        and (not query("gpuType") or (config.gpu_config or {}).get("gpuType") == query("gpuType"))
    )


# --- tags --------------------------------------------------------------------------------------------------------


def tag_resources(exchange: Exchange) -> Response:
    """Set tags on some functions."""
    body = exchange.body()
    named = body.get("ResourceId") or []
    if not isinstance(named, list):
        raise InvalidArgument("ResourceId must be a list")
    resources = _resources(exchange, str(body.get("ResourceType") or ""), named)
    tags = bodies.tag_pairs(body.get("Tag"), "Tag")
    for resource in resources:
        exchange.service.tagging.tag(exchange.tenant, resource, tags)
    return exchange.answer({"RequestId": exchange.context.request_id})


def untag_resources(exchange: Exchange) -> Response:
    """Remove tags from some functions."""
    resources = _resources(
        exchange, exchange.query("ResourceType"), bodies.json_list(exchange.query("ResourceId"), "ResourceId")
    )
    keys = [str(key) for key in bodies.json_list(exchange.query("TagKey"), "TagKey")]
    everything = bodies.truth(exchange.query("All"))
    for resource in resources:
        exchange.service.tagging.untag(exchange.tenant, resource, keys, everything=everything)
    return exchange.answer({"RequestId": exchange.context.request_id})


def list_tag_resources(exchange: Exchange) -> Response:
    """List tags, of the functions named or of all; a wanted tag without a value is wanted with any.

    Pages count tags. Source: the cloud-wide form of this operation; that pages count tags is assumed.
    """
    wanted = bodies.tag_filter(bodies.json_list(exchange.query("Tag"), "Tag"), "Tag")
    kind = exchange.query("ResourceType") or "function"
    _check_kind(kind)
    limit, start = exchange.limit("Limit"), exchange.marker("NextToken")
    tagging = exchange.service.tagging
    if named := bodies.json_list(exchange.query("ResourceId"), "ResourceId"):
        found = {resource: tagging.tags(exchange.tenant, resource) for resource in _resources(exchange, kind, named)}
    else:
        found = dict(tagging.every(exchange.tenant, "functions"))
    rows = [
        (resource, key, value)
        for resource, tags in sorted(found.items())
        if all(key in tags and value in {None, tags[key]} for key, value in wanted.items())
        for key, value in sorted(tags.items())
    ]
    page = cut([row for row in rows if _place_of(row) >= start][: limit + 1], limit, _place_of)
    shown = [
        {
            "ResourceId": function_arn(exchange.tenant, "", resource.partition("/")[2]),
            "ResourceType": kind,
            "TagKey": key,
            "TagValue": value,
        }
        for resource, key, value in page.items
    ]
    body = {"RequestId": exchange.context.request_id, "NextToken": next_token(page.next_marker), "TagResources": shown}
    return exchange.answer(body)


def _place_of(row: tuple[str, str, str]) -> str:
    """Return where a tag stands in the list; the names of functions hold nothing that sorts below a line feed."""
    return f"{row[0]}\n{row[1]}"


def _check_kind(kind: str) -> None:
    if kind.lower() not in {"function", "functions", "acs:fc:function"}:
        raise InvalidArgument(f"ResourceType '{kind[:40]}' is invalid: it must be function")


def _resources(exchange: Exchange, kind: str, named: list[Any]) -> list[str]:
    _check_kind(kind)
    if not limits.TAGS_PER_CALL.contains(len(named)):
        raise InvalidArgument(f"ResourceId must have 1 to {limits.TAGS_PER_CALL.high} items")
    return [exchange.service.tagging.resource(exchange.tenant, str(name), "functions") for name in named]


async def change_resource_group(exchange: Exchange) -> Response:
    """Move a function to another resource group."""
    body = exchange.body()
    [resource] = _resources(exchange, str(body.get("ResourceType") or "function"), [body.get("ResourceId")])
    group = body.get("NewResourceGroupId")
    values = fields.read(fields.FUNCTION_3, {"resourceGroupId": group})
    if not group or not values:
        raise InvalidArgument("NewResourceGroupId is required")
    name = resource.partition("/")[2]
    functions = exchange.service.functions
    before = functions.get(exchange.tenant, "", name, None).config.resource_group_id
    await functions.update(exchange.tenant, "", name, values, None, "", exchange.now)
    return exchange.answer(
        {"NewResourceGroupId": group, "OldResourceGroupId": before or "", "ResourceId": str(body.get("ResourceId"))}
    )


def describe_regions(exchange: Exchange) -> Response:
    """Tell the one region there is."""
    region = exchange.tenant.region
    return exchange.answer({"Regions": {"Region": [{"LocalName": region, "RegionId": region}]}})


# --- the table ---------------------------------------------------------------------------------------------------

_F = "/functions/{function}"

ROUTES = (
    Route("GET", "/regions", "DescribeRegions", describe_regions),
    Route("POST", "/functions", "CreateFunction", create_function),
    Route("GET", "/functions", "ListFunctions", list_functions),
    Route("GET", _F, "GetFunction", get_function),
    Route("PUT", _F, "UpdateFunction", update_function),
    Route("DELETE", _F, "DeleteFunction", delete_function),
    Route("GET", _F + "/code", "GetFunctionCode", v2016.get_function_code),
    Route("POST", _F + "/invocations", "InvokeFunction", invoke_function),
    Route("POST", _F + "/versions", "PublishFunctionVersion", v2016.publish_version),
    Route("GET", _F + "/versions", "ListFunctionVersions", v2016.list_versions),
    Route("DELETE", _F + "/versions/{version}", "DeleteFunctionVersion", v2016.delete_version),
    *alias_api.routes(_F),
    *domain_api.ROUTES,
    *layer_api.ROUTES,
    *trigger_api.routes(_F, trigger_api.render_2023),
    *async_api.ROUTES_3,
    *capacity_api.ROUTES_3,
    Route("POST", "/tags-v2", "TagResources", tag_resources),
    Route("DELETE", "/tags-v2", "UntagResources", untag_resources),
    Route("GET", "/tags-v2", "ListTagResources", list_tag_resources),
    *attachment_api.vpc_routes(_F + "/vpc-bindings"),
    Route("PUT", "/resource-groups", "ChangeResourceGroup", change_resource_group),
    *unavailable_api.SESSION_ROUTES,
)
