"""Operations on versions and aliases, of a service in 2.0 and of a function in 3.0.

Source: API reference and models of the three versions.
"""

from typing import Any

from emulator.http.message import Response
from emulator.services.fc.attributes import Field, read
from emulator.services.fc.catalog import fields
from emulator.services.fc.codec import (
    V2016,
    V2021,
    V2023,
    WITH_SERVICES,
    api_of,
    if_match,
    json_answer,
    json_body,
    no_content,
    owner_of,
    page_answer,
    page_marker,
    page_size,
    query,
    slice_of,
)
from emulator.services.fc.dialects import v2016
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.model import Alias
from emulator.services.fc.service import FunctionCompute
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest

# --- versions ----------------------------------------------------------------------------------------------------


@operation("PublishServiceVersion", "POST /services/{service}/versions", api=WITH_SERVICES)
@operation("PublishFunctionVersion", "POST /functions/{function}/versions", api=V2023)
async def publish_version(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Freeze the functions of the service, or the function, as the next version."""
    description = str(read((fields.DESCRIPTION,), json_body(call)).get("description", ""))
    version = await fc.publishing.publish(call.tenant, owner_of(call), description, if_match(call), call.now)
    return json_answer(v2016.render_version(version))


@operation("ListServiceVersions", "GET /services/{service}/versions", api=WITH_SERVICES)
@operation("ListFunctionVersions", "GET /functions/{function}/versions", api=V2023)
def list_versions(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List versions, newest first unless ``direction`` is FORWARD."""
    direction = (query(call, "direction") or "BACKWARD").upper()
    if direction not in {"BACKWARD", "FORWARD"}:
        raise InvalidArgument(f"direction '{direction[:40]}' is invalid: it must be FORWARD or BACKWARD")
    start = page_marker(call) or query(call, "startKey")
    if start and not (start.isascii() and start.isdigit() and len(start) < 19):
        raise InvalidArgument(f"startKey '{start[:40]}' is invalid: it must be a version id")
    page = fc.publishing.page_versions(
        call.tenant,
        owner_of(call),
        start=int(start) if start else None,
        newest_first=direction == "BACKWARD",
        limit=page_size(call),
    )
    rows = [v2016.render_version(version) for version in page.items]
    return page_answer("versions", rows, page.next_marker, direction=direction)


@operation("DeleteServiceVersion", "DELETE /services/{service}/versions/{version}", api=WITH_SERVICES)
@operation("DeleteFunctionVersion", "DELETE /functions/{function}/versions/{version}", api=V2023)
def delete_version(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Delete a version that no alias points to."""
    fc.publishing.delete_version(call.tenant, owner_of(call), call.path["version"])
    return no_content()


# --- aliases -----------------------------------------------------------------------------------------------------


@operation("CreateAlias", "POST /services/{service}/aliases", api=WITH_SERVICES)
@operation("CreateAlias", "POST /functions/{function}/aliases", api=V2023)
def create_alias(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Create an alias of a version."""
    body = json_body(call)
    values = read(_alias_fields(call), body)
    alias = fc.publishing.create_alias(call.tenant, owner_of(call), body.get("aliasName"), values, call.now)
    return json_answer(_render(call, alias), alias.etag)


@operation("GetAlias", "GET /services/{service}/aliases/{alias}", api=WITH_SERVICES)
@operation("GetAlias", "GET /functions/{function}/aliases/{alias}", api=V2023)
def get_alias(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return an alias."""
    alias = fc.publishing.alias(call.tenant, owner_of(call), call.path["alias"])
    return json_answer(_render(call, alias), alias.etag)


@operation("UpdateAlias", "PUT /services/{service}/aliases/{alias}", api=WITH_SERVICES)
@operation("UpdateAlias", "PUT /functions/{function}/aliases/{alias}", api=V2023)
def update_alias(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Change an alias; what the body leaves out stays."""
    values = read(_alias_fields(call), json_body(call))
    name = call.path["alias"]
    alias = fc.publishing.update_alias(call.tenant, owner_of(call), name, values, if_match(call), call.now)
    return json_answer(_render(call, alias), alias.etag)


@operation("DeleteAlias", "DELETE /services/{service}/aliases/{alias}", api=WITH_SERVICES)
@operation("DeleteAlias", "DELETE /functions/{function}/aliases/{alias}", api=V2023)
def delete_alias(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Delete an alias."""
    fc.publishing.delete_alias(call.tenant, owner_of(call), call.path["alias"], if_match(call))
    return no_content()


@operation("ListAliases", "GET /services/{service}/aliases", api=WITH_SERVICES)
@operation("ListAliases", "GET /functions/{function}/aliases", api=V2023)
def list_aliases(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List aliases by name."""
    page = fc.publishing.page_aliases(call.tenant, owner_of(call), slice_of(call))
    rows = [_render(call, alias) for alias in page.items]
    return page_answer("aliases", rows, page.next_marker)


_FIELDS = {V2016: fields.ALIAS, V2021: fields.ALIAS_2021, V2023: fields.ALIAS_2023}


def _alias_fields(call: OperationRequest) -> tuple[Field, ...]:
    return _FIELDS[api_of(call)]


def _render(call: OperationRequest, alias: Alias) -> dict[str, Any]:
    return v2016.render_alias(alias, _alias_fields(call))
