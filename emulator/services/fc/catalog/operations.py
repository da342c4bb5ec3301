"""Operations on services, functions, versions and aliases.

They are alike in every version of the API; fields and forms differ. Versions and aliases are of a service in 2.0 and of
a function in 3.0.

Source: API reference and models of the three versions.
"""

from typing import Any

from emulator.http.message import Response
from emulator.kernel.frozen import replace
from emulator.kernel.paging import cut
from emulator.services.fc.attributes import Field, check_name, is_custom, read
from emulator.services.fc.catalog import codec as forms
from emulator.services.fc.catalog import fields
from emulator.services.fc.code.store import code_source
from emulator.services.fc.codec import (
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
    no_content,
    owner_of,
    page_answer,
    page_marker,
    page_size,
    qualifier_of,
    query,
    service_of,
    slice_of,
    tag_pairs,
    valid_text,
    writable_service,
)
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.model import Alias, Function, Scope, Service, ServiceConfig, check_if_match, family
from emulator.services.fc.service import FunctionCompute
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest


@operation("CreateService", "POST /services", api=WITH_SERVICES)
def create_service(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Create a service.

    Raises: InvalidArgument, ServiceAlreadyExists.
    Source: API reference, CreateService; aliyun-fc2 client.py; alibabacloud_fc_open20210406.
    """
    body = json_body(call)
    values = read(fields.SERVICE, body)
    name = check_name(body.get("serviceName"), "serviceName")
    if fc.store.service(call.tenant, name) is not None:
        raise FcError("ServiceAlreadyExists", service=name)
    service = Service(
        name=name, service_id=fc.ids.uuid(), config=ServiceConfig(**values), created_at=call.now, modified_at=call.now
    )
    fc.store.put_service(call.tenant, service)
    return json_answer(forms.render_service(service), service.etag)


@operation("GetService", "GET /services/{service}", api=WITH_SERVICES)
def get_service(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return a service, current or as a version froze it: then with the description the version was published with.

    Raises: ServiceNotFound, VersionNotFound, AliasNotFound.
    Source: API reference, GetService; aliyun-fc2 client.py; alibabacloud_fc_open20210406; fc-python-sdk
    test/version_test.py for the description; fc-go-sdk service.go for the tags, that none are left out is assumed.
    """
    service = fc.store.existing_service(call.tenant, service_of(call))
    scope = Scope(service=service.name)
    if number := fc.resolver.number(call.tenant, scope, qualifier_of(call)):
        version = fc.resolver.version(call.tenant, scope, number)
        config = replace(version.config or service.config, description=version.description)
        service = replace(service, config=config, modified_at=version.modified_at)
    tags = fc.store.tags(call.tenant, f"services/{service.name}")
    return json_answer(forms.render_service(service) | ({"tags": tags} if tags else {}), service.etag)


@operation("UpdateService", "PUT /services/{service}", api=WITH_SERVICES)
def update_service(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Change a service; what the body leaves out stays. Warm instances of its functions retire.

    Raises: ServiceNotFound, PreconditionFailed, InvalidArgument.
    Source: API reference, UpdateService; aliyun-fc2 client.py; alibabacloud_fc_open20210406.
    """
    values = read(fields.SERVICE, json_body(call))
    service = fc.store.existing_service(call.tenant, writable_service(call))
    check_if_match(if_match(call), service.etag)
    changed = replace(
        service,
        config=replace(service.config, **values),
        changed={**service.changed, **values} if service.folder else {},
        modified_at=call.now,
        revision=service.revision + 1,
    )
    fc.store.put_service(call.tenant, changed)
    functions = fc.store.functions(call.tenant, service.name, 0)
    fc.retire(family(call.tenant, service.name, function.name, 0) for function in functions)
    return json_answer(forms.render_service(changed), changed.etag)


@operation("DeleteService", "DELETE /services/{service}", api=WITH_SERVICES)
def delete_service(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Delete an empty service.

    Raises: ServiceNotFound, PreconditionFailed, ServiceNotEmpty, InvalidArgument for one from the functions folder.
    Source: API reference, DeleteService; aliyun-fc2 client.py; alibabacloud_fc_open20210406; that versions and aliases
    hold it back too is assumed.
    """
    service = fc.store.existing_service(call.tenant, writable_service(call))
    check_if_match(if_match(call), service.etag)
    if service.folder:
        raise InvalidArgument(f"service '{service.name}' is loaded from {service.folder}; remove that folder instead")
    if remains := fc.store.remains(call.tenant, service.name):
        raise FcError("ServiceNotEmpty", service=service.name, remains=remains)
    fc.store.delete_service(call.tenant, service.name)
    return no_content()


@operation("ListServices", "GET /services", api=WITH_SERVICES)
def list_services(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List services; ``tag_x=y`` keeps those with that tag.

    Raises: InvalidArgument. Source: API reference, ListServices; aliyun-fc2 client.py; alibabacloud_fc_open20210406.
    """
    tags = {key[4:]: valid_text(value) for key, value in call.query.items() if key.startswith("tag_")}
    part = slice_of(call, tags)
    page = cut(fc.store.services(call.tenant, part), part.limit, lambda service: service.name)
    rows = [forms.render_service(service) for service in page.items]
    return page_answer("services", rows, page.next_marker)


@operation("CreateFunction", "POST /services/{service}/functions", api=WITH_SERVICES)
@operation("CreateFunction", "POST /functions", api=V2023)
async def create_function(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Create a function, in a service or without one.

    Raises: InvalidArgument, ServiceNotFound, FunctionAlreadyExists, LayerVersionNotFound.
    Source: API reference, CreateFunction; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    service = writable_service(call)
    body = await large_body(fc.codes, call)
    values = read(fields.FUNCTION_2 if service else fields.FUNCTION_3, body)
    if "handler" not in values and (service or not is_custom(values.get("runtime", ""))):
        raise InvalidArgument("handler is required")
    tags = fields.check_tags(tag_pairs(body["tags"], "tags")) if body.get("tags") and not service else None
    source = code_source(body, call.header("x-fc-code-checksum") if service else "")
    function = await fc.functions.create(call.tenant, service, body.get("functionName"), values, source, call.now, tags)
    return _function_answer(fc, call, function)


@operation("GetFunction", "GET /services/{service}/functions/{function}", api=WITH_SERVICES)
@operation("GetFunction", "GET /functions/{function}", api=V2023)
def get_function(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return a function, current or as a version froze it.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound.
    Source: API reference, GetFunction; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    return _function_answer(fc, call, fc.functions.get(call.tenant, *function_of(call), qualifier_of(call)))


@operation("UpdateFunction", "PUT /services/{service}/functions/{function}", api=WITH_SERVICES)
@operation("UpdateFunction", "PUT /functions/{function}", api=V2023)
async def update_function(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Change a function; what the body leaves out stays.

    Raises: ServiceNotFound, FunctionNotFound, PreconditionFailed, InvalidArgument, LayerVersionNotFound.
    Source: API reference, UpdateFunction; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    service = writable_service(call)
    body = await large_body(fc.codes, call)
    values = read(fields.FUNCTION_2 if service else fields.FUNCTION_3, body)
    source = code_source(body, call.header("x-fc-code-checksum") if service else "")
    function = await fc.functions.update(
        call.tenant, service, call.path["function"], values, source, if_match(call), call.now
    )
    return _function_answer(fc, call, function)


@operation("DeleteFunction", "DELETE /services/{service}/functions/{function}", api=WITH_SERVICES)
@operation("DeleteFunction", "DELETE /functions/{function}", api=V2023)
def delete_function(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Delete a function; one without a service with its versions and aliases.

    Raises: ServiceNotFound, FunctionNotFound, PreconditionFailed, FunctionNotEmpty, ProvisionConfigExist,
    InvalidArgument for one from the functions folder.
    Source: API reference, DeleteFunction; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    fc.functions.delete(call.tenant, writable_service(call), call.path["function"], if_match(call))
    return no_content()


@operation("ListFunctions", "GET /services/{service}/functions", api=WITH_SERVICES)
def list_functions_of_service(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the functions of a service, current or as a version froze them.

    Raises: ServiceNotFound, VersionNotFound, AliasNotFound, InvalidArgument.
    Source: API reference, ListFunctions; aliyun-fc2 client.py.
    """
    page = fc.functions.page(call.tenant, service_of(call), qualifier_of(call), slice_of(call))
    rows = [forms.render_function_2(function) for function in page.items]
    return page_answer("functions", rows, page.next_marker)


@operation("ListFunctions", "GET /functions", api=V2023)
def list_functions(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the functions that have no service.

    The filters ``description``, ``functionName``, ``runtime``, ``gpuType`` and ``resourceGroupId`` thin out the page;
    with ``fcVersion=v2`` the list is empty.

    Raises: InvalidArgument. Source: alibabacloud_fc20230330.
    """
    if query(call, "fcVersion").lower() == "v2":
        return page_answer("functions", [], None)
    tags = tag_pairs(json_list(query(call, "tags"), "tags"), "tags")
    page = fc.functions.page(call.tenant, "", None, slice_of(call, tags))
    rows = [_render_3(fc, call, function) for function in page.items if _passes(call, function)]
    return page_answer("functions", rows, page.next_marker)


@operation("GetFunctionCode", "GET /services/{service}/functions/{function}/code", api=WITH_SERVICES)
@operation("GetFunctionCode", "GET /functions/{function}/code", api=V2023)
async def get_function_code(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return an address at which the code can be downloaded for some minutes, and its checksum.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument for a function without
    code.
    Source: API reference, GetFunctionCode; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    function = fc.resolver.function(call.tenant, *function_of(call), qualifier_of(call))
    location = await fc.packages.locate(function)
    return json_answer({"url": fc.code_url(location.token), "checksum": location.checksum})


def _function_answer(fc: FunctionCompute, call: OperationRequest, function: Function) -> Response:
    if function.service:
        return json_answer(forms.render_function_2(function), function.etag)
    return json_answer(_render_3(fc, call, function))


def _render_3(fc: FunctionCompute, call: OperationRequest, function: Function) -> dict[str, Any]:
    tenant = call.tenant
    return forms.render_function_3(
        tenant,
        function,
        layer_size=lambda arn: fc.layers.size(tenant, arn),
        tags=fc.store.tags(tenant, f"functions/{function.name}"),
        switch=fc.capacity.switch(tenant, function.name),
    )


def _passes(call: OperationRequest, function: Function) -> bool:
    config = function.config
    runtime, group, gpu = query(call, "runtime"), query(call, "resourceGroupId"), query(call, "gpuType")
    return (
        query(call, "functionName") in function.name
        and query(call, "description") in config.description
        and (runtime or config.runtime) == config.runtime
        and (group or config.resource_group_id) == config.resource_group_id
        and (not gpu or (config.gpu_config or {}).get("gpuType") == gpu)
    )


@operation("PublishServiceVersion", "POST /services/{service}/versions", api=WITH_SERVICES)
@operation("PublishFunctionVersion", "POST /functions/{function}/versions", api=V2023)
async def publish_version(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Freeze the functions of the service, or the function, as the next version.

    Raises: ServiceNotFound, FunctionNotFound, PreconditionFailed, VersionPublishError, ConcurrentUpdateError.
    Source: API reference, PublishServiceVersion; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    description = str(read((fields.DESCRIPTION,), json_body(call)).get("description", ""))
    version = await fc.publishing.publish(call.tenant, owner_of(call), description, if_match(call), call.now)
    return json_answer(forms.render_version(version))


@operation("ListServiceVersions", "GET /services/{service}/versions", api=WITH_SERVICES)
@operation("ListFunctionVersions", "GET /functions/{function}/versions", api=V2023)
def list_versions(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List versions, newest first unless ``direction`` is FORWARD.

    Raises: ServiceNotFound, FunctionNotFound, InvalidArgument.
    Source: API reference, ListServiceVersions; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
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
    rows = [forms.render_version(version) for version in page.items]
    return page_answer("versions", rows, page.next_marker, direction=direction)


@operation("DeleteServiceVersion", "DELETE /services/{service}/versions/{version}", api=WITH_SERVICES)
@operation("DeleteFunctionVersion", "DELETE /functions/{function}/versions/{version}", api=V2023)
def delete_version(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Delete a version that no alias points to.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, VersionInUse, ProvisionConfigExist, InvalidArgument.
    Source: API reference, DeleteServiceVersion; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    fc.publishing.delete_version(call.tenant, owner_of(call), call.path["version"])
    return no_content()


@operation("CreateAlias", "POST /services/{service}/aliases", api=WITH_SERVICES)
@operation("CreateAlias", "POST /functions/{function}/aliases", api=V2023)
def create_alias(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Create an alias of a version.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasAlreadyExists, InvalidArgument.
    Source: API reference, CreateAlias; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    body = json_body(call)
    values = read(_alias_fields(call), body)
    alias = fc.publishing.create_alias(call.tenant, owner_of(call), body.get("aliasName"), values, call.now)
    return json_answer(_render(call, alias), alias.etag)


@operation("GetAlias", "GET /services/{service}/aliases/{alias}", api=WITH_SERVICES)
@operation("GetAlias", "GET /functions/{function}/aliases/{alias}", api=V2023)
def get_alias(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return an alias.

    Raises: ServiceNotFound, FunctionNotFound, AliasNotFound.
    Source: API reference, GetAlias; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    alias = fc.publishing.alias(call.tenant, owner_of(call), call.path["alias"])
    return json_answer(_render(call, alias), alias.etag)


@operation("UpdateAlias", "PUT /services/{service}/aliases/{alias}", api=WITH_SERVICES)
@operation("UpdateAlias", "PUT /functions/{function}/aliases/{alias}", api=V2023)
def update_alias(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Change an alias; what the body leaves out stays.

    Raises: ServiceNotFound, FunctionNotFound, AliasNotFound, VersionNotFound, PreconditionFailed, InvalidArgument.
    Source: API reference, UpdateAlias; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    values = read(_alias_fields(call), json_body(call))
    name = call.path["alias"]
    alias = fc.publishing.update_alias(call.tenant, owner_of(call), name, values, if_match(call), call.now)
    return json_answer(_render(call, alias), alias.etag)


@operation("DeleteAlias", "DELETE /services/{service}/aliases/{alias}", api=WITH_SERVICES)
@operation("DeleteAlias", "DELETE /functions/{function}/aliases/{alias}", api=V2023)
def delete_alias(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Delete an alias.

    Raises: ServiceNotFound, FunctionNotFound, AliasNotFound, PreconditionFailed, ProvisionConfigExist, InvalidArgument.
    Source: API reference, DeleteAlias; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    fc.publishing.delete_alias(call.tenant, owner_of(call), call.path["alias"], if_match(call))
    return no_content()


@operation("ListAliases", "GET /services/{service}/aliases", api=WITH_SERVICES)
@operation("ListAliases", "GET /functions/{function}/aliases", api=V2023)
def list_aliases(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List aliases by name.

    Raises: ServiceNotFound, FunctionNotFound, InvalidArgument.
    Source: API reference, ListAliases; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    page = fc.publishing.page_aliases(call.tenant, owner_of(call), slice_of(call))
    rows = [_render(call, alias) for alias in page.items]
    return page_answer("aliases", rows, page.next_marker)


_FIELDS = {V2016: fields.ALIAS, V2021: fields.ALIAS_2021, V2023: fields.ALIAS_2023}


def _alias_fields(call: OperationRequest) -> tuple[Field, ...]:
    return _FIELDS[api_of(call)]


def _render(call: OperationRequest, alias: Alias) -> dict[str, Any]:
    return forms.render_alias(alias, _alias_fields(call))
