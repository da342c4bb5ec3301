"""Functions: create, get, update, delete, list.

A function of 2.0 lives in a service; one of 3.0 lives in none, and its ``service`` is empty.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.services.fc import limits
from emulator.services.fc.attributes import check_name
from emulator.services.fc.catalog.effects import Dependents, Effects
from emulator.services.fc.catalog.fields import check_together
from emulator.services.fc.catalog.layers import Layers
from emulator.services.fc.catalog.resolving import Resolver
from emulator.services.fc.catalog.store import CatalogStore
from emulator.services.fc.code.store import CodeSource, CodeStore, Packages
from emulator.services.fc.errors import FcError, InvalidArgument, function_exists
from emulator.services.fc.model import (
    CUSTOM_CONTAINER,
    Code,
    Function,
    FunctionConfig,
    Slice,
    check_if_match,
    family,
    scope_of,
)


class Functions:
    """The functions of every account; ``service`` is empty for those of 3.0 in every method."""

    def __init__(
        self,
        *,
        store: CatalogStore,
        ids: Ids,
        codes: CodeStore,
        effects: Effects,
        resolver: Resolver,
        layers: Layers,
        packages: Packages,
        dependents: Dependents,
    ) -> None:
        self._store = store
        self._ids = ids
        self._codes = codes
        self._effects = effects
        self._resolver = resolver
        self._layers = layers
        self._packages = packages
        self._dependents = dependents

    async def create(
        self,
        tenant: Tenant,
        service: str,
        name: object,
        values: Mapping[str, Any],
        source: CodeSource | None,
        now: Millis,
        tags: Mapping[str, str] | None = None,
    ) -> Function:
        """Create a function from checked attribute *values* and its code.

        Raises: InvalidArgument, ServiceNotFound, FunctionAlreadyExists.
        """
        name = check_name(name, "functionName", limits.FUNCTION_NAME_LENGTH)
        if "runtime" not in values:
            raise InvalidArgument("runtime is required")
        config = FunctionConfig(**{"handler": "", **values})
        check_together(config)
        self._layers.check(tenant, config.layers)
        self._check_free(tenant, service, name)
        async with self._stored(tenant, config, source) as code:
            if code is None and config.runtime != CUSTOM_CONTAINER:
                raise InvalidArgument("code is required")
            self._check_free(tenant, service, name)  # storing the code took time
            function = Function(
                service=service,
                name=name,
                function_id=self._ids.uuid(),
                config=config,
                code=code,
                created_at=now,
                modified_at=now,
            )
            self._store.put_function(tenant, function)
            if tags:
                self._store.put_tags(tenant, f"functions/{name}", tags)
        return function

    def get(self, tenant: Tenant, service: str, name: str, qualifier: str | None = None) -> Function:
        """Return a function as *qualifier* has it, a version of a 3.0 function with the version's own description.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound.
        Source: observed through Terraform's provider, which compares the description of a version with it.
        """
        function = self._resolver.function(tenant, service, name, qualifier)
        if service or not function.version:
            return function
        version = self._resolver.version(tenant, function.scope, function.version)
        return replace(function, config=replace(function.config, description=version.description))

    def page(self, tenant: Tenant, service: str, qualifier: str | None, part: Slice) -> Page[Function]:
        """Return functions by name: those of a service as *qualifier* has it, or the 3.0 functions.

        Raises: ServiceNotFound, VersionNotFound, AliasNotFound.
        """
        number = 0
        if service:
            scope = scope_of(service, "")
            self._store.existing_service(tenant, service)
            number = self._resolver.number(tenant, scope, qualifier)
            if number and self._store.version(tenant, scope, number) is None:
                raise FcError("VersionNotFound", version=number, owner=scope)
        rows = self._store.functions(tenant, service, number, part)
        return cut(rows, part.limit, lambda function: function.name)

    async def update(
        self,
        tenant: Tenant,
        service: str,
        name: str,
        values: Mapping[str, Any],
        source: CodeSource | None,
        if_match: str,
        now: Millis,
    ) -> Function:
        """Change the attributes in *values* and the code when *source* is given; the rest stays.

        Warm instances of the head retire after the calls they are in. For a function of the folder the values are laid
        over what its files say; its code is changed in the folder only.

        Raises: FunctionNotFound, ServiceNotFound, PreconditionFailed, InvalidArgument.
        """
        function = self._changeable(tenant, service, name, if_match, source)
        self._layers.check(tenant, set(values.get("layers", ())) - set(function.config.layers))
        async with self._stored(tenant, replace(function.config, **values), source) as code:
            # storing the code took time: what is changed is the function as it is now
            function = self._changeable(tenant, service, name, if_match, source)
            config = replace(function.config, **values)
            check_together(config)
            code = code or function.code
            if code is None and config.runtime != CUSTOM_CONTAINER:
                raise InvalidArgument(f"code is required for the runtime {config.runtime}")
            changed = replace(
                function,
                config=config,
                code=code,
                changed={**function.changed, **values} if function.folder else {},
                modified_at=now,
                revision=function.revision + 1,
            )
            self._store.put_function(tenant, changed)
        self._effects.retire([family(tenant, service, name, 0)])
        if source is not None:
            self._effects.code_dropped()
        return changed

    def _changeable(
        self, tenant: Tenant, service: str, name: str, if_match: str, source: CodeSource | None
    ) -> Function:
        function = self._resolver.function(tenant, service, name)
        check_if_match(if_match, function.etag)
        if function.folder and source is not None:
            raise InvalidArgument(
                f"the code of function '{name}' is loaded from {function.folder}; change the files there instead"
            )
        return function

    def delete(self, tenant: Tenant, service: str, name: str, if_match: str) -> None:
        """Remove a function, and with a 3.0 function its versions and aliases.

        Raises: FunctionNotFound, ServiceNotFound, PreconditionFailed, InvalidArgument for one from the folder, what
        `Dependents.functions` raises for one that is still needed.
        Source: what happens to versions and aliases of a 3.0 function is assumed.
        """
        function = self._resolver.function(tenant, service, name)
        check_if_match(if_match, function.etag)
        if function.folder:
            raise InvalidArgument(f"function '{name}' is loaded from {function.folder}; remove that folder instead")
        self._dependents.functions.check(tenant, service, name)
        families = [family(tenant, service, name, 0)]
        if not service:
            numbers = self._store.delete_scope(tenant, function.scope)
            families += [family(tenant, "", name, number) for number in numbers]
        self._store.delete_function(tenant, service, name)
        self._dependents.functions.forget(tenant, service, name)
        self._effects.retire(families)
        self._effects.code_dropped()

    @asynccontextmanager
    async def _stored(
        self, tenant: Tenant, config: FunctionConfig, source: CodeSource | None
    ) -> AsyncIterator[Code | None]:
        """Store what *source* names while the context lasts; None when there is nothing to store."""
        if source is None or config.runtime == CUSTOM_CONTAINER:
            yield None
            return
        read = await self._packages.reader(tenant, source)
        async with self._codes.adding(read, source.checksum) as code:
            yield code

    def _check_free(self, tenant: Tenant, service: str, name: str) -> None:
        if service:
            self._store.existing_service(tenant, service)
        if self._store.function(tenant, service, name) is not None:
            raise function_exists(name, service=service)
