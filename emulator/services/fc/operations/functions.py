"""Operations on services and functions.

They are alike in every version of the API; fields and forms differ. A function of 2.0 lives in a service; one of 3.0
lives in none, and its service is empty.

Source: API reference and models of the three versions.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from emulator.http.message import Response
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.kernel.paging import cut
from emulator.services.fc import codec, limits
from emulator.services.fc.capacity.model import Kind, restriction_of
from emulator.services.fc.catalog import fields, rendering
from emulator.services.fc.catalog.code import CodeSource, code_source, decode_zip, large_body
from emulator.services.fc.codec import V2023, WITH_SERVICES
from emulator.services.fc.errors import FcError, InvalidArgument, function_exists
from emulator.services.fc.model import (
    CUSTOM_CONTAINER,
    Code,
    Function,
    FunctionConfig,
    FunctionRef,
    Scope,
    Service,
    ServiceConfig,
    check_if_match,
    family,
    is_custom,
)
from emulator.services.fc.service import FunctionCompute
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest


@operation("CreateService", "POST /services", api=WITH_SERVICES)
def create_service(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Create a service.

    Raises: InvalidArgument, ServiceAlreadyExists.
    Source: API reference, CreateService; aliyun-fc2 client.py; alibabacloud_fc_open20210406.
    """
    body = codec.json_body(call)
    values = codec.BODY.read(fields.SERVICE, body)
    name = codec.check_name(body.get("serviceName"), "serviceName")
    if fc.store.service(call.tenant, name) is not None:
        raise FcError("ServiceAlreadyExists", service=name)
    service = Service(
        name=name, id=fc.ids.uuid(), config=ServiceConfig(**values), created_at=call.now, modified_at=call.now
    )
    fc.store.put_service(call.tenant, service)
    return codec.json_answer(rendering.render_service(service), service.etag)


@operation("GetService", "GET /services/{service}", api=WITH_SERVICES)
def get_service(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return a service or one of its versions; a version has the description it was published with.

    Raises: ServiceNotFound, VersionNotFound, AliasNotFound. Source: API reference, GetService; aliyun-fc2 client.py;
    alibabacloud_fc_open20210406; description of a version: fc-python-sdk test/version_test.py; no tags in the response:
    terraform-provider-alicloud.
    """
    service = fc.store.existing_service(call.tenant, codec.service_of(call))
    scope = Scope(service=service.name)
    if number := fc.resolver.number(call.tenant, scope, codec.qualifier_of(call)):
        version = fc.resolver.version(call.tenant, scope, number)
        config = replace(version.config or service.config, description=version.description)
        service = replace(service, config=config, modified_at=version.modified_at)
    return codec.json_answer(rendering.render_service(service), service.etag)


@operation("UpdateService", "PUT /services/{service}", api=WITH_SERVICES)
def update_service(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Change a service; omitted members stay as they are. Warm instances of its functions end.

    Raises: ServiceNotFound, PreconditionFailed, InvalidArgument.
    Source: API reference, UpdateService; aliyun-fc2 client.py; alibabacloud_fc_open20210406.
    """
    values = codec.BODY.read(fields.SERVICE, codec.json_body(call))
    service = fc.store.existing_service(call.tenant, codec.writable_service(call))
    check_if_match(codec.if_match(call), service.etag)
    changed = service.updated(
        call.now,
        config=replace(service.config, **values),
        changed={**service.changed, **values} if service.folder else {},
    )
    fc.store.put_service(call.tenant, changed)
    fc.retire(family(call.tenant, service.name, name, 0) for name in fc.store.names_in(call.tenant, service.name))
    return codec.json_answer(rendering.render_service(changed), changed.etag)


@operation("DeleteService", "DELETE /services/{service}", api=WITH_SERVICES)
def delete_service(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Delete an empty service.

    Raises: ServiceNotFound, PreconditionFailed, ServiceNotEmpty, InvalidArgument for one from the functions folder.
    Source: API reference, DeleteService; aliyun-fc2 client.py; alibabacloud_fc_open20210406; assumed: versions and
    aliases prevent the deletion too.
    """
    service = fc.store.existing_service(call.tenant, codec.writable_service(call))
    check_if_match(codec.if_match(call), service.etag)
    if service.folder:
        raise InvalidArgument(f"service '{service.name}' is loaded from {service.folder}; remove that folder instead")
    if remains := fc.store.remains(call.tenant, service.name):
        raise FcError("ServiceNotEmpty", service=service.name, remains=remains)
    fc.store.delete_service(call.tenant, service.name)
    return codec.no_content()


@operation("ListServices", "GET /services", api=WITH_SERVICES)
def list_services(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List services; ``tag_x=y`` keeps those with that tag.

    Raises: InvalidArgument. Source: API reference, ListServices; aliyun-fc2 client.py; alibabacloud_fc_open20210406.
    """
    tags = {key[4:]: codec.valid_text(value) for key, value in call.query.items() if key.startswith("tag_")}
    part = codec.slice_of(call, tags)
    return codec.list_answer("services", fc.store.services(call.tenant, part), part.limit, rendering.render_service)


@operation("CreateFunction", "POST /services/{service}/functions", api=WITH_SERVICES)
@operation("CreateFunction", "POST /functions", api=V2023)
async def create_function(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Create a function, in a service or without one.

    Raises: InvalidArgument, ServiceNotFound, FunctionAlreadyExists, LayerVersionNotFound.
    Source: API reference, CreateFunction; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    tenant, service = call.tenant, codec.writable_service(call)
    body = await large_body(fc.codes, call)
    values = codec.BODY.read(fields.FUNCTION_2 if service else fields.FUNCTION_3, body)
    if "handler" not in values and (service or not is_custom(values.get("runtime", ""))):
        raise InvalidArgument("handler is required")
    tags = fields.check_tags(codec.tag_pairs(body["tags"], "tags")) if body.get("tags") and not service else None
    source = code_source(body, call.header("x-fc-code-checksum") if service else "")
    name = codec.check_name(body.get("functionName"), "functionName", limits.FUNCTION_NAME_LENGTH)
    if "runtime" not in values:
        raise InvalidArgument("runtime is required")
    config = fields.check_together(FunctionConfig(**{"handler": "", **values}), values)
    fc.layers.check(tenant, config.layers)
    _check_free(fc, tenant, service, name)
    async with await _storing(fc, tenant, config, source) as code:
        if code is None and config.runtime != CUSTOM_CONTAINER:
            raise InvalidArgument("code is required")
        fc.layers.check(tenant, config.layers)  # storing the code took time
        _check_free(fc, tenant, service, name)
        function = Function(
            service=service, name=name, id=fc.ids.uuid(), config=config, code=code, created_at=call.now,
            modified_at=call.now,
        )  # fmt: skip
        fc.store.put_function(tenant, function)
        if tags:
            fc.store.put_tags(tenant, f"functions/{name}", tags)
    return _function_answer(fc, call, function)


def _check_free(fc: FunctionCompute, tenant: Tenant, service: str, name: str) -> None:
    if service:
        fc.store.existing_service(tenant, service)
    if fc.store.function(tenant, service, name) is not None:
        raise function_exists(name, service=service)


async def _storing(
    fc: FunctionCompute, tenant: Tenant, config: FunctionConfig, source: CodeSource | None
) -> AbstractAsyncContextManager[Code | None]:
    """Return a context in which the code that *source* names is stored; its value is None when there is no code."""
    if source is None or config.runtime == CUSTOM_CONTAINER:
        return nullcontext()
    return fc.codes.adding(await fc.packages.reader(tenant, source), source.checksum, of_bucket=bool(source.bucket))


@operation("GetFunction", "GET /services/{service}/functions/{function}", api=WITH_SERVICES)
@operation("GetFunction", "GET /functions/{function}", api=V2023)
def get_function(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return a function or one of its versions; a version of a 3.0 function has its own description.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound. Source: API reference, GetFunction;
    aliyun-fc2 client.py; alibabacloud_fc20230330; description of a version: terraform-provider-alicloud.
    """
    function = fc.resolver.function(call.tenant, *codec.function_of(call), codec.qualifier_of(call))
    if function.version and not function.service:
        version = fc.resolver.version(call.tenant, function.scope, function.version)
        function = replace(function, config=replace(function.config, description=version.description))
    return _function_answer(fc, call, function)


@operation("UpdateFunction", "PUT /services/{service}/functions/{function}", api=WITH_SERVICES)
@operation("UpdateFunction", "PUT /functions/{function}", api=V2023)
async def update_function(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Change a function; omitted members stay as they are. Warm instances end after their current calls.

    Raises: ServiceNotFound, FunctionNotFound, PreconditionFailed, InvalidArgument, LayerVersionNotFound.
    Source: API reference, UpdateFunction; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    service = codec.writable_service(call)
    body = await large_body(fc.codes, call)
    values = codec.BODY.read(fields.FUNCTION_2 if service else fields.FUNCTION_3, body)
    source = code_source(body, call.header("x-fc-code-checksum") if service else "")
    function = await change_function(fc, call, service, call.path["function"], values, source, codec.if_match(call))
    return _function_answer(fc, call, function)


async def change_function(
    fc: FunctionCompute,
    call: OperationRequest,
    service: str,
    name: str,
    values: Mapping[str, Any],
    source: CodeSource | None = None,
    etag: str = "",
) -> Function:
    """Change the attributes in *values*, and the code when *source* is given, of a function that has *etag*.

    For a function of the folder the values override those of its files; its code can only be changed in the folder, so
    a package is accepted only if it has the same files.

    Raises: FunctionNotFound, ServiceNotFound, PreconditionFailed, InvalidArgument, LayerVersionNotFound.
    """
    tenant = call.tenant
    source = await _unless_in_folder(fc, tenant, service, name, source)
    function = _changeable(fc, tenant, service, name, source, etag)
    fc.layers.check(tenant, set(values.get("layers", ())) - set(function.config.layers))
    async with await _storing(fc, tenant, replace(function.config, **values), source) as code:
        # storing the code took time: what is changed is the function as it is now
        function = _changeable(fc, tenant, service, name, source, etag)
        fc.layers.check(tenant, set(values.get("layers", ())) - set(function.config.layers))
        config = fields.check_together(replace(function.config, **values), values, function.config)
        code = code or function.code
        if code is None and config.runtime != CUSTOM_CONTAINER:
            raise InvalidArgument(f"code is required for the runtime {config.runtime}")
        laid_over = {**function.changed, **values} if function.folder else {}
        changed = function.updated(call.now, config=config, code=code, changed=laid_over)
        fc.store.put_function(tenant, changed)
    fc.retire([family(tenant, service, name, 0)])
    if source is not None:
        fc.unused_packages.remove_later()
    return changed


async def _unless_in_folder(
    fc: FunctionCompute, tenant: Tenant, service: str, name: str, source: CodeSource | None
) -> CodeSource | None:
    """Return None for a package of nothing but the files that a function of the folder has anyway."""
    function = fc.resolver.function(tenant, service, name)
    if source is None or not source.zip_base64 or not function.folder:
        return source
    from emulator.services.fc.catalog.archive import holds_the_same  # its imports are slow and not always needed

    same = await asyncio.to_thread(holds_the_same, decode_zip(source.zip_base64), Path(function.folder))
    return None if same else source


def _changeable(
    fc: FunctionCompute, tenant: Tenant, service: str, name: str, source: CodeSource | None, etag: str
) -> Function:
    function = fc.resolver.function(tenant, service, name)
    check_if_match(etag, function.etag)
    if function.folder and source is not None:
        raise InvalidArgument(
            f"the code of function '{name}' is loaded from {function.folder}; change the files there instead"
        )
    return function


@operation("DeleteFunction", "DELETE /services/{service}/functions/{function}", api=WITH_SERVICES)
@operation("DeleteFunction", "DELETE /functions/{function}", api=V2023)
def delete_function(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Delete a function; one without a service with its versions and aliases.

    Raises: ServiceNotFound, FunctionNotFound, PreconditionFailed, FunctionNotEmpty, ProvisionConfigExist,
    InvalidArgument for one from the functions folder. Source: API reference, DeleteFunction; aliyun-fc2 client.py;
    alibabacloud_fc20230330; assumed: its versions and aliases are deleted too.
    """
    tenant, service, name = call.tenant, codec.writable_service(call), call.path["function"]
    function = fc.resolver.function(tenant, service, name)
    check_if_match(codec.if_match(call), function.etag)
    if function.folder:
        raise InvalidArgument(f"function '{name}' is loaded from {function.folder}; remove that folder instead")
    fc.check_function_removable(tenant, service, name)
    numbers = [0] if service else [0, *fc.store.delete_scope(tenant, function.scope)]
    fc.store.delete_function(tenant, service, name)
    fc.forget_function(tenant, service, name)
    fc.retire(family(tenant, service, name, number) for number in numbers)
    fc.unused_packages.remove_later()
    return codec.no_content()


@operation("ListFunctions", "GET /services/{service}/functions", api=WITH_SERVICES)
def list_functions_of_service(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the functions of a service or of one of its versions.

    Raises: ServiceNotFound, VersionNotFound, AliasNotFound, InvalidArgument.
    Source: API reference, ListFunctions; aliyun-fc2 client.py.
    """
    service, part = codec.service_of(call), codec.slice_of(call)
    scope = Scope(service=service)
    fc.store.existing_service(call.tenant, service)
    number = fc.resolver.number(call.tenant, scope, codec.qualifier_of(call))
    if number:
        fc.resolver.version(call.tenant, scope, number)
    functions = fc.store.functions(call.tenant, service, number, part)
    return codec.list_answer("functions", functions, part.limit, rendering.render_function_2)


@operation("ListFunctions", "GET /functions", api=V2023)
async def list_functions(fc: FunctionCompute, call: OperationRequest) -> Response:
    """List the functions that have no service.

    ``description``, ``functionName``, ``runtime``, ``gpuType`` and ``resourceGroupId`` filter them; with
    ``fcVersion=v2`` the list is empty.

    Raises: InvalidArgument. Source: alibabacloud_fc20230330.
    """
    tags = codec.tag_pairs(codec.json_list(codec.query(call, "tags"), "tags"), "tags")
    part = codec.slice_of(call, tags)
    if codec.query(call, "fcVersion").lower() == "v2":
        return codec.page_answer("functions", [], None)
    wider = replace(part, limit=part.limit + 1)  # what is beyond a page says whether there is another
    found: list[Function] = []
    marker: str | None = part.start
    while marker is not None and len(found) <= part.limit:  # a filter may leave nothing of many parts
        rows = fc.store.functions(call.tenant, "", 0, replace(wider, start=marker))
        read = cut(rows, wider.limit, lambda function: function.name)
        found += [function for function in read.items if _passes(call, function)]
        marker = read.next_marker
        await asyncio.sleep(0)
    return codec.list_answer("functions", found, part.limit, partial(_render_3, fc, call))


@operation("GetFunctionCode", "GET /services/{service}/functions/{function}/code", api=WITH_SERVICES)
@operation("GetFunctionCode", "GET /functions/{function}/code", api=V2023)
async def get_function_code(fc: FunctionCompute, call: OperationRequest) -> Response:
    """Return an address at which the code can be downloaded for some minutes, and its checksum.

    Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument for a function without
    code.
    Source: API reference, GetFunctionCode; aliyun-fc2 client.py; alibabacloud_fc20230330.
    """
    function = fc.resolver.function(call.tenant, *codec.function_of(call), codec.qualifier_of(call))
    with fc.codes.held():  # nothing names it before it is offered
        package = await fc.packages.of_function(function)
        url = fc.code_url(fc.packages.offer(package))
    return codec.json_answer({"url": url, "checksum": package.checksum})


def _function_answer(fc: FunctionCompute, call: OperationRequest, function: Function) -> Response:
    if function.service:
        return codec.json_answer(rendering.render_function_2(function), function.etag)
    return codec.json_answer(_render_3(fc, call, function))


def _render_3(fc: FunctionCompute, call: OperationRequest, function: Function) -> dict[str, Any]:
    tenant = call.tenant
    return rendering.render_function_3(
        tenant,
        function,
        layer_size=lambda arn: fc.layers.size(tenant, arn),
        tags=fc.store.tags(tenant, f"functions/{function.name}"),
        restriction=restriction_of(fc.capacity.get(Kind.SWITCH, FunctionRef(tenant, "", function.name, ""))),
    )


def _passes(call: OperationRequest, function: Function) -> bool:
    config = function.config
    runtime, group, gpu = (
        codec.query(call, "runtime"),
        codec.query(call, "resourceGroupId"),
        codec.query(call, "gpuType"),
    )
    return (
        codec.query(call, "functionName") in function.name
        and codec.query(call, "description") in config.description
        and (runtime or config.runtime) == config.runtime
        and group in {"", rendering.resource_group_of(call.tenant, function)}
        and (not gpu or (config.gpu_config or {}).get("gpuType") == gpu)
    )
