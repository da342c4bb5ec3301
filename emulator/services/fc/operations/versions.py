"""Operations on versions and aliases, of a service in 2.0 and of a function in 3.0; the scope says which.

Source: API reference and models of the three versions.
"""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from emulator.http.message import Response
from emulator.kernel.digits import read_digits
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.kernel.paging import cut
from emulator.services.fc import codec
from emulator.services.fc.catalog import alias_fields, fields, rendering
from emulator.services.fc.codec import V2016, V2021, V2023, WITH_SERVICES
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.kinds import check_alias_name, check_version_id
from emulator.services.fc.model import (
    LATEST,
    Alias,
    Function,
    Scope,
    Service,
    Slice,
    Version,
    check_if_match,
    content_of,
    family,
)
from emulator.services.fc.service import FunctionCompute
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.schema.kinds import Shape


@operation("PublishServiceVersion", "POST /services/{service}/versions", api=WITH_SERVICES)
@operation("PublishFunctionVersion", "POST /functions/{function}/versions", api=V2023)
async def publish_version(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Publish the next version: the code and configuration of the function, or of the service's functions.

    Code that is used in place is copied, so that later edits leave the version alone.

    Raises: ServiceNotFound, FunctionNotFound, PreconditionFailed, VersionPublishError, ConcurrentUpdateError.
    Source: API reference, PublishServiceVersion; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    description = str(codec.BODY.read(_DESCRIPTION, codec.json_body(call)).get("description", ""))
    tenant, scope = call.tenant, codec.owner_of(call)
    before = fc.store.generation
    owner, heads = await _publishable(fc, tenant, scope)
    check_if_match(codec.if_match(call), owner.etag)
    config = owner.config if isinstance(owner, Service) else None
    tags = fc.store.tags(tenant, f"services/{scope.service}") if scope.service else {}
    if len(heads) > _AT_ONCE:
        content = await asyncio.to_thread(content_of, config, heads, tags)
    else:
        content = content_of(config, heads, tags)
    newest = fc.store.versions(tenant, scope, limit=1)[:1]
    if newest and newest[0].content == content:
        raise FcError("VersionPublishError", owner=f"{scope}")
    async with AsyncExitStack() as held:
        packed = [await _packed(fc, head, held) for head in heads if head.code is not None and head.code.folder]
        while before != fc.store.generation:
            before = fc.store.generation
            if await _publishable(fc, tenant, scope) != (owner, heads):
                raise FcError("ConcurrentUpdateError")
        number = max([owner.last_version, *(version.number for version in newest)]) + 1
        version = Version(
            scope=scope, number=number, description=description, config=config, content=content, created_at=call.now,
            modified_at=call.now,
        )  # fmt: skip
        fc.store.put_version(tenant, version)
        fc.store.freeze(tenant, scope, number, call.now)
        for function in packed:
            fc.store.put_function(tenant, replace(function, version=number, created_at=call.now, modified_at=call.now))
        # the number is never given out again; the owner's ETag stays, because it has not changed
        if isinstance(owner, Service):
            fc.store.put_service(tenant, replace(owner, last_version=number))
        else:
            fc.store.put_function(tenant, replace(owner, last_version=number))
    return codec.json_answer(rendering.render_version(version))


async def _packed(fc: FunctionCompute, head: Function, held: AsyncExitStack) -> Function:
    """Return a function with what a version keeps of it; its code, used in place, is stored while *held* lasts."""
    held.enter_context(fc.codes.held())  # nothing names it before the version does
    package = await fc.packages.packed(head)
    content = fc.codes.package(package.digest)
    if content is None:
        raise FcError("ConcurrentUpdateError")
    code = await held.enter_async_context(fc.codes.adding(lambda: content))
    return replace(head, code=code, revision=1, folder="", base=None, changed={}, triggers=())


_AT_ONCE = 200
"""How many functions of a service are read in one turn of the loop."""


async def _publishable(fc: FunctionCompute, tenant: Tenant, scope: Scope) -> tuple[Service | Function, list[Function]]:
    """Return the owner of versions, and the functions that the next one freezes.

    Raises: ServiceNotFound, FunctionNotFound.
    """
    owner = fc.store.existing_owner(tenant, scope)
    if isinstance(owner, Function):
        return owner, [owner]
    heads: list[Function] = []
    start: str | None = ""
    while start is not None:
        rows = fc.store.functions(tenant, scope.service, 0, Slice(limit=_AT_ONCE, start=start))
        part = cut(rows, _AT_ONCE, lambda function: function.name)
        heads += part.items
        start = part.next_marker
        if start is not None:
            await asyncio.sleep(0)
    return owner, heads


@operation("ListServiceVersions", "GET /services/{service}/versions", api=WITH_SERVICES)
@operation("ListFunctionVersions", "GET /functions/{function}/versions", api=V2023)
def list_versions(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List versions, newest first unless ``direction`` is FORWARD.

    Raises: ServiceNotFound, FunctionNotFound, InvalidArgument.
    Source: API reference, ListServiceVersions; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    direction = (codec.query(call, "direction") or "BACKWARD").upper()
    if direction not in {"BACKWARD", "FORWARD"}:
        raise InvalidArgument(f"direction '{direction[:40]}' is invalid: it must be FORWARD or BACKWARD")
    start = codec.page_marker(call) or codec.query(call, "startKey")
    first = read_digits(start)
    if start and first is None:
        raise InvalidArgument(f"startKey '{start[:40]}' is invalid: it must be a version id")
    scope, limit = codec.owner_of(call), codec.page_size(call)
    fc.store.existing_owner(call.tenant, scope)
    versions = fc.store.versions(call.tenant, scope, start=first, newest_first=direction == "BACKWARD", limit=limit)
    return codec.list_answer(
        "versions", versions, limit, rendering.render_version, lambda version: str(version.number), direction=direction
    )


@operation("DeleteServiceVersion", "DELETE /services/{service}/versions/{version}", api=WITH_SERVICES)
@operation("DeleteFunctionVersion", "DELETE /functions/{function}/versions/{version}", api=V2023)
def delete_version(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Delete a version; one of a 3.0 function stays while an alias points to it.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, VersionInUse, ProvisionConfigExist, InvalidArgument.
    Source: API reference, DeleteServiceVersion; aliyun-fc2 client.py; alibabacloud_fc20230330; versions with an alias
    in 2.0: fc-python-sdk test/version_test.py.
    """
    tenant, scope = call.tenant, codec.owner_of(call)
    fc.store.existing_owner(tenant, scope)
    number = int(check_version_id(call.path["version"], "versionId"))
    version = fc.resolver.version(tenant, scope, number)
    if version.folder:
        raise InvalidArgument(f"version {number} is loaded from {version.folder}; remove that folder instead")
    for alias in [] if scope.service else fc.store.aliases_naming(tenant, scope, number):
        if str(number) in {alias.version_id, *alias.weights}:
            raise FcError("VersionInUse", version=number, owner=scope, alias=alias.name)
    fc.check_qualifier_removable(tenant, scope, str(number))
    names = [scope.function]
    if scope.service:
        names = [function.name for function in fc.store.functions(tenant, scope.service, number)]
    fc.store.delete_version(tenant, scope, number)
    fc.forget_qualifier(tenant, scope, str(number))
    fc.retire(family(tenant, scope.service, name, number) for name in names)
    fc.unused_packages.remove_later()
    return codec.no_content()


@operation("CreateAlias", "POST /services/{service}/aliases", api=WITH_SERVICES)
@operation("CreateAlias", "POST /functions/{function}/aliases", api=V2023)
def create_alias(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Create an alias of a version.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasAlreadyExists, InvalidArgument.
    Source: API reference, CreateAlias; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    body = codec.json_body(call)
    values = codec.BODY.read(_alias_fields(call), body)
    scope = codec.owner_of(call)
    name = check_alias_name(body.get("aliasName"), "aliasName")
    fc.store.existing_owner(call.tenant, scope)
    if fc.store.alias(call.tenant, scope, name) is not None:
        raise FcError("AliasAlreadyExists", alias=name, owner=scope)
    if "version_id" not in values:
        raise InvalidArgument("versionId is required")
    alias = Alias(scope=scope, name=name, id=fc.ids.uuid(), created_at=call.now, modified_at=call.now, **values)
    return _put_alias(fc, call, alias)


def _put_alias(fc: FunctionCompute, call: OperationRequest, alias: Alias) -> Response:
    """Write an alias whose versions are there, and answer it.

    Raises: VersionNotFound.
    """
    for version_id in (alias.version_id, *alias.weights):
        if version_id != LATEST:
            fc.resolver.version(call.tenant, alias.scope, int(version_id))
    fc.store.put_alias(call.tenant, alias)
    return codec.tagged_answer(call, _render(call, alias), alias.etag)


@operation("GetAlias", "GET /services/{service}/aliases/{alias}", api=WITH_SERVICES)
@operation("GetAlias", "GET /functions/{function}/aliases/{alias}", api=V2023)
def get_alias(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return an alias.

    Raises: ServiceNotFound, FunctionNotFound, AliasNotFound.
    Source: API reference, GetAlias; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    alias = _alias(fc, call)
    return codec.tagged_answer(call, _render(call, alias), alias.etag)


def _alias(fc: FunctionCompute, call: OperationRequest) -> Alias:
    scope, name = codec.owner_of(call), call.path["alias"]
    fc.store.existing_owner(call.tenant, scope)
    alias = fc.store.alias(call.tenant, scope, name)
    if alias is None:
        raise FcError("AliasNotFound", alias=name, owner=scope)
    return alias


def _changeable_alias(fc: FunctionCompute, call: OperationRequest) -> Alias:
    """Return the alias of a call that changes it.

    Raises: as `_alias`; PreconditionFailed, InvalidArgument for one named in a file.
    """
    alias = _alias(fc, call)
    check_if_match(codec.if_match(call), alias.etag)
    if alias.folder:
        raise InvalidArgument(f"alias '{alias.name}' is set in {alias.folder}; change that file instead")
    return alias


@operation("UpdateAlias", "PUT /services/{service}/aliases/{alias}", api=WITH_SERVICES)
@operation("UpdateAlias", "PUT /functions/{function}/aliases/{alias}", api=V2023)
def update_alias(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Change an alias; omitted members stay as they are. It applies to the next call.

    Raises: ServiceNotFound, FunctionNotFound, AliasNotFound, VersionNotFound, PreconditionFailed, InvalidArgument.
    Source: API reference, UpdateAlias; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    values = codec.BODY.read(_alias_fields(call), codec.json_body(call))
    alias = _changeable_alias(fc, call)
    return _put_alias(fc, call, alias.updated(call.now, **values))


@operation("DeleteAlias", "DELETE /services/{service}/aliases/{alias}", api=WITH_SERVICES)
@operation("DeleteAlias", "DELETE /functions/{function}/aliases/{alias}", api=V2023)
def delete_alias(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Delete an alias.

    Raises: ServiceNotFound, FunctionNotFound, AliasNotFound, PreconditionFailed, ProvisionConfigExist, InvalidArgument.
    Source: API reference, DeleteAlias; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    alias = _changeable_alias(fc, call)
    fc.check_qualifier_removable(call.tenant, alias.scope, alias.name)
    fc.store.delete_alias(call.tenant, alias.scope, alias.name)
    fc.forget_qualifier(call.tenant, alias.scope, alias.name)
    return codec.no_content()


@operation("ListAliases", "GET /services/{service}/aliases", api=WITH_SERVICES)
@operation("ListAliases", "GET /functions/{function}/aliases", api=V2023)
def list_aliases(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List aliases by name.

    Raises: ServiceNotFound, FunctionNotFound, InvalidArgument.
    Source: API reference, ListAliases; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    scope, part = codec.owner_of(call), codec.slice_of(call)
    fc.store.existing_owner(call.tenant, scope)
    aliases = fc.store.aliases(call.tenant, scope, part)
    return codec.list_answer("aliases", aliases, part.limit, lambda alias: _render(call, alias))


_DESCRIPTION = Shape("Version", (fields.DESCRIPTION,))
_FIELDS = {V2016: alias_fields.ALIAS, V2021: alias_fields.ALIAS_2021, V2023: alias_fields.ALIAS_2023}


def _alias_fields(call: OperationRequest) -> Shape:
    return _FIELDS[codec.api_of(call)]


def _render(call: OperationRequest, alias: Alias) -> dict[str, Any]:
    return rendering.render_alias(alias, _alias_fields(call))
