"""The API of 2016-08-15: services with functions, qualifiers as ``service.qualifier`` in the path.

Source: aliyun-fc2 client.py; the API reference of 2016-08-15.
"""

from typing import Any

from emulator.http.message import Response
from emulator.services.fc import codec as bodies
from emulator.services.fc.asynchronous import operations as async_api
from emulator.services.fc.capacity import operations as capacity_api
from emulator.services.fc.catalog import attachment_operations as attachment_api
from emulator.services.fc.catalog import domain_operations as domain_api
from emulator.services.fc.catalog import fields
from emulator.services.fc.catalog import layer_operations as layer_api
from emulator.services.fc.catalog import version_operations as alias_api
from emulator.services.fc.codec import Exchange, next_token, no_content
from emulator.services.fc.dialects.routing import Route
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.invoke import operations as exec_api
from emulator.services.fc.invoke.operations import invoke_function
from emulator.services.fc.model import Function, Service, Version, service_arn
from emulator.services.fc.triggers import operations as trigger_api
from emulator.wire.dates import iso_seconds

# --- what resources look like ------------------------------------------------------------------------------------


def render_service(service: Service) -> dict[str, Any]:
    """Write a service."""
    return {
        "serviceName": service.name,
        "serviceId": service.service_id,
        **fields.write(fields.SERVICE, service.config),
        "createdTime": iso_seconds(service.created_at),
        "lastModifiedTime": iso_seconds(service.modified_at),
        "useSLRAuthentication": False,
    }


def render_function(function: Function) -> dict[str, Any]:
    """Write a function."""
    code = function.code
    return {
        "functionName": function.name,
        "functionId": function.function_id,
        **fields.SHOWN_2,
        **fields.write(fields.FUNCTION_2, function.config),
        "layersArnV2": list(function.config.layers),
        "codeSize": code.size if code else 0,
        "codeChecksum": code.checksum if code else "0",
        "createdTime": iso_seconds(function.created_at),
        "lastModifiedTime": iso_seconds(function.modified_at),
    }


def render_version(version: Version) -> dict[str, Any]:
    """Write a version."""
    return {
        "versionId": str(version.number),
        "description": version.description,
        "createdTime": iso_seconds(version.created_at),
        "lastModifiedTime": iso_seconds(version.modified_at),
    }


# --- account -----------------------------------------------------------------------------------------------------


def get_account_settings(exchange: Exchange) -> Response:
    """Tell the availability zones."""
    return exchange.answer({"availableAZs": [f"{exchange.tenant.region}-f"], "defaultRole": ""})


def list_reserved_capacities(exchange: Exchange) -> Response:
    """Tell that nothing is reserved."""
    return exchange.answer({"reservedCapacities": [], "nextToken": ""})


# --- services ----------------------------------------------------------------------------------------------------


def create_service(exchange: Exchange) -> Response:
    """Make a service."""
    body = exchange.body()
    values = fields.read(fields.SERVICE, body)
    service = exchange.service.catalog.create(exchange.tenant, body.get("serviceName"), values, exchange.now)
    return exchange.answer(render_service(service), service.etag)


def get_service(exchange: Exchange) -> Response:
    """Show a service, current or as a version froze it."""
    service = exchange.service.catalog.get(exchange.tenant, exchange.service_name, exchange.qualifier)
    return exchange.answer(render_service(service), service.etag)


def update_service(exchange: Exchange) -> Response:
    """Change a service; what the body leaves out stays."""
    values = fields.read(fields.SERVICE, exchange.body())
    service = exchange.service.catalog.update(
        exchange.tenant, exchange.writable_service(), values, exchange.if_match, exchange.now
    )
    return exchange.answer(render_service(service), service.etag)


def delete_service(exchange: Exchange) -> Response:
    """Remove an empty service."""
    exchange.service.catalog.delete(exchange.tenant, exchange.writable_service(), exchange.if_match)
    return no_content()


def list_services(exchange: Exchange) -> Response:
    """List services; ``tag_x=y`` keeps those with that tag."""
    tags = {key[4:]: value for key, value in exchange.queries().items() if key.startswith("tag_")}
    page = exchange.service.catalog.page(exchange.tenant, exchange.part(tags))
    rows = [render_service(service) for service in page.items]
    return exchange.answer({"services": rows, "nextToken": next_token(page.next_marker)})


# --- functions ---------------------------------------------------------------------------------------------------


async def create_function(exchange: Exchange) -> Response:
    """Make a function in a service."""
    service = exchange.writable_service()
    body = await exchange.large_body()
    source = bodies.code_source(body, exchange.context.http.headers.get("x-fc-code-checksum"))
    values = fields.read(fields.FUNCTION_2, body)
    if "handler" not in values:
        raise InvalidArgument("handler is required")
    function = await exchange.service.functions.create(
        exchange.tenant, service, body.get("functionName"), values, source, exchange.now
    )
    return exchange.answer(render_function(function), function.etag)


def get_function(exchange: Exchange) -> Response:
    """Show a function, current or as a version froze it."""
    function = exchange.service.functions.get(
        exchange.tenant, exchange.service_name, exchange.segment("function"), exchange.qualifier
    )
    return exchange.answer(render_function(function), function.etag)


async def update_function(exchange: Exchange) -> Response:
    """Change a function; what the body leaves out stays."""
    service = exchange.writable_service()
    body = await exchange.large_body()
    source = bodies.code_source(body, exchange.context.http.headers.get("x-fc-code-checksum"))
    values = fields.read(fields.FUNCTION_2, body)
    function = await exchange.service.functions.update(
        exchange.tenant, service, exchange.segment("function"), values, source, exchange.if_match, exchange.now
    )
    return exchange.answer(render_function(function), function.etag)


def delete_function(exchange: Exchange) -> Response:
    """Remove a function."""
    service, function = exchange.writable_service(), exchange.segment("function")
    exchange.service.functions.delete(exchange.tenant, service, function, exchange.if_match)
    return no_content()


def list_functions(exchange: Exchange) -> Response:
    """List the functions of a service, current or as a version froze them."""
    page = exchange.service.functions.page(exchange.tenant, exchange.service_name, exchange.qualifier, exchange.part())
    rows = [render_function(function) for function in page.items]
    return exchange.answer({"functions": rows, "nextToken": next_token(page.next_marker)})


async def get_function_code(exchange: Exchange) -> Response:
    """Tell where the code can be downloaded for some minutes."""
    location = await exchange.service.functions.locate_code(
        exchange.tenant,
        exchange.service_name if exchange.has_service else "",
        exchange.segment("function"),
        exchange.qualifier,
    )
    return exchange.answer({"url": exchange.service.code_url(location.token), "checksum": location.checksum})


# --- versions ----------------------------------------------------------------------------------------------------


async def publish_version(exchange: Exchange) -> Response:
    """Freeze the scope's functions as the next version."""
    version = await exchange.service.publishing.publish(
        exchange.tenant, exchange.scope, bodies.description(exchange.body()), exchange.if_match, exchange.now
    )
    return exchange.answer(render_version(version))


def list_versions(exchange: Exchange) -> Response:
    """List versions, newest first unless ``direction`` is FORWARD."""
    direction = (exchange.query("direction") or "BACKWARD").upper()
    if direction not in {"BACKWARD", "FORWARD"}:
        raise InvalidArgument(f"direction '{direction[:40]}' is invalid: it must be FORWARD or BACKWARD")
    start = exchange.marker() or exchange.query("startKey")
    if start and not (start.isascii() and start.isdigit() and len(start) < 19):
        raise InvalidArgument(f"startKey '{start[:40]}' is invalid: it must be a version id")
    page = exchange.service.publishing.page_versions(
        exchange.tenant,
        exchange.scope,
        start=int(start) if start else None,
        newest_first=direction == "BACKWARD",
        limit=exchange.limit(),
    )
    rows = [render_version(version) for version in page.items]
    return exchange.answer({"versions": rows, "nextToken": next_token(page.next_marker), "direction": direction})


def delete_version(exchange: Exchange) -> Response:
    """Remove a version no alias needs."""
    exchange.service.publishing.delete_version(exchange.tenant, exchange.scope, exchange.segment("version"))
    return no_content()


# --- tags --------------------------------------------------------------------------------------------------------


def tag_resource(exchange: Exchange) -> Response:
    """Set tags on a service."""
    body = exchange.body()
    tagging = exchange.service.tagging
    resource = tagging.resource(exchange.tenant, str(body.get("resourceArn") or ""), "services")
    tagging.tag(exchange.tenant, resource, body.get("tags"))
    return exchange.answer({"requestId": exchange.context.request_id})


def untag_resource(exchange: Exchange) -> Response:
    """Remove tags from a service. The answer has a body although it is a DELETE: the official client parses it."""
    body = exchange.body()
    tagging = exchange.service.tagging
    resource = tagging.resource(exchange.tenant, str(body.get("resourceArn") or ""), "services")
    keys = body.get("tagKeys") or []
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise InvalidArgument("tagKeys must be a list of strings")
    tagging.untag(exchange.tenant, resource, keys, everything=bodies.truth(body.get("all")))
    return exchange.answer({"requestId": exchange.context.request_id})


def get_resource_tags(exchange: Exchange) -> Response:
    """Show the tags of a service."""
    tagging = exchange.service.tagging
    resource = tagging.resource(exchange.tenant, exchange.query("resourceArn"), "services")
    return exchange.answer(
        {
            "requestId": exchange.context.request_id,
            "resourceArn": service_arn(exchange.tenant, resource.partition("/")[2]),
            "tags": tagging.tags(exchange.tenant, resource),
        }
    )


# --- the table ---------------------------------------------------------------------------------------------------

_S = "/services/{service}"
_F = "/services/{service}/functions/{function}"

SERVED = (
    Route("GET", "/account-settings", "GetAccountSettings", get_account_settings),
    Route("POST", "/services", "CreateService", create_service),
    Route("GET", "/services", "ListServices", list_services),
    Route("GET", _S, "GetService", get_service),
    Route("PUT", _S, "UpdateService", update_service),
    Route("DELETE", _S, "DeleteService", delete_service),
    Route("POST", _S + "/functions", "CreateFunction", create_function),
    Route("GET", _S + "/functions", "ListFunctions", list_functions),
    Route("GET", _F, "GetFunction", get_function),
    Route("PUT", _F, "UpdateFunction", update_function),
    Route("DELETE", _F, "DeleteFunction", delete_function),
    Route("GET", _F + "/code", "GetFunctionCode", get_function_code),
    Route("POST", _F + "/invocations", "InvokeFunction", invoke_function),
    Route("POST", _S + "/versions", "PublishServiceVersion", publish_version),
    Route("GET", _S + "/versions", "ListServiceVersions", list_versions),
    Route("DELETE", _S + "/versions/{version}", "DeleteServiceVersion", delete_version),
    *alias_api.routes(_S),
    *async_api.ROUTES_2,
    *capacity_api.ROUTES_2,
    Route("POST", "/tag", "TagResource", tag_resource),
    Route("GET", "/tag", "GetResourceTags", get_resource_tags),
    *attachment_api.vpc_routes(_S + "/bindings"),
    Route("POST", _S + "/binding", "CreateVpcBinding", attachment_api.create_vpc_binding),
    *exec_api.ROUTES,
    *domain_api.ROUTES,
    *layer_api.ROUTES,
)
"""What this API and the one of 2021-04-06 have in common."""

ROUTES = (
    *SERVED,
    *trigger_api.routes(_F, trigger_api.render_2016),
    Route("DELETE", "/tag", "UntagResource", untag_resource),
    Route("GET", "/reservedCapacities", "ListReservedCapacities", list_reserved_capacities),
)
