"""Versions and aliases, of a 2.0 service or of a 3.0 function alike: the scope tells which."""

import json
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from hashlib import sha256
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.services.fc.attributes import check_alias_name, check_version_id
from emulator.services.fc.catalog.effects import Dependents, Effects
from emulator.services.fc.catalog.resolving import Resolver
from emulator.services.fc.catalog.store import CatalogStore
from emulator.services.fc.code.store import CodeStore, Packages
from emulator.services.fc.errors import FcError, InvalidArgument, function_not_found
from emulator.services.fc.model import (
    LATEST,
    Alias,
    Function,
    Scope,
    Service,
    ServiceConfig,
    Slice,
    Version,
    check_if_match,
    config_json,
    family,
)


def content_of(config: ServiceConfig | None, functions: Iterable[Function]) -> str:
    """Return a digest of all that a publish would freeze; equal digests mean that nothing has changed."""
    state: list[Any] = [config_json(config) if config is not None else None]
    state += [
        [function.name, config_json(function.config), function.code.checksum if function.code else None]
        for function in functions
    ]
    return sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


class Publishing:
    """Freezes functions into versions and names versions by aliases."""

    def __init__(
        self,
        store: CatalogStore,
        ids: Ids,
        codes: CodeStore,
        packages: Packages,
        effects: Effects,
        dependents: Dependents,
        resolver: Resolver,
    ) -> None:
        self._store = store
        self._ids = ids
        self._codes = codes
        self._packages = packages
        self._effects = effects
        self._resolver = resolver
        self._dependents = dependents

    async def publish(self, tenant: Tenant, scope: Scope, description: str, if_match: str, now: Millis) -> Version:
        """Freeze all functions of the scope, their code and configuration, as the next version.

        Code that is used in place is copied, so that later edits leave the version alone.

        Raises: ServiceNotFound, FunctionNotFound, PreconditionFailed, VersionPublishError, ConcurrentUpdateError.
        """
        owner = self._owner(tenant, scope)
        check_if_match(if_match, owner.etag)
        heads = self._heads(tenant, scope)
        content = content_of(owner.config if isinstance(owner, Service) else None, heads)
        newest = self._store.versions(tenant, scope, limit=1)[:1]
        if newest and newest[0].content == content:
            raise FcError("VersionPublishError", owner=f"{scope}")
        async with AsyncExitStack() as held:
            frozen = [await self._frozen(head, held) for head in heads]
            if self._owner(tenant, scope) != owner or self._heads(tenant, scope) != heads:
                raise FcError("ConcurrentUpdateError")
            number = max([owner.last_version, *(version.number for version in newest)]) + 1
            version = Version(
                scope=scope,
                number=number,
                description=description,
                config=owner.config if isinstance(owner, Service) else None,
                content=content,
                created_at=now,
                modified_at=now,
            )
            self._store.put_version(tenant, version)
            for function in frozen:
                self._store.put_function(tenant, replace(function, version=number, created_at=now, modified_at=now))
            self._count(tenant, owner, number)
        return version

    def page_versions(
        self, tenant: Tenant, scope: Scope, *, start: int | None, newest_first: bool, limit: int
    ) -> Page[Version]:
        """Return published versions in the given direction.

        Raises: ServiceNotFound, FunctionNotFound.
        """
        self._owner(tenant, scope)
        rows = self._store.versions(tenant, scope, start=start, newest_first=newest_first, limit=limit)
        return cut(rows, limit, lambda version: str(version.number))

    def delete_version(self, tenant: Tenant, scope: Scope, version_id: str) -> None:
        """Remove a version; one of a 3.0 function stays while an alias points to it.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, VersionInUse, InvalidArgument, what
        `Dependents.qualifiers` raises.
        Source: fc-python-sdk test/version_test.py, which deletes versions before aliases.
        """
        self._owner(tenant, scope)
        number = int(check_version_id(version_id, "versionId"))
        version = self._resolver.version(tenant, scope, number)
        if version.folder:
            raise InvalidArgument(f"version {number} is loaded from {version.folder}; remove that folder instead")
        for alias in [] if scope.service else self._store.aliases(tenant, scope):
            if str(number) in {alias.version_id, *alias.weights}:
                raise FcError("VersionInUse", version=number, owner=scope, alias=alias.name)
        self._dependents.qualifiers.check(tenant, scope, str(number))
        names = [scope.function]
        if scope.service:
            names = [function.name for function in self._store.functions(tenant, scope.service, number)]
        self._store.delete_version(tenant, scope, number)
        self._dependents.qualifiers.forget(tenant, scope, str(number))
        self._effects.retire(family(tenant, scope.service, name, number) for name in names)
        self._effects.code_dropped()

    async def _frozen(self, head: Function, held: AsyncExitStack) -> Function:
        code = head.code
        if code is not None and code.folder:
            package = await self._packages.packed(head)
            content = self._codes.package(package.digest)
            if content is None:
                raise FcError("ConcurrentUpdateError")
            code = await held.enter_async_context(self._codes.adding(lambda: content))
        return replace(head, code=code, revision=1, folder="", base=None, changed={}, triggers=())

    def _owner(self, tenant: Tenant, scope: Scope) -> Service | Function:
        if scope.service:
            return self._store.existing_service(tenant, scope.service)
        function = self._store.function(tenant, "", scope.function)
        if function is None:
            raise function_not_found(scope.function)
        return function

    def _heads(self, tenant: Tenant, scope: Scope) -> list[Function]:
        if scope.service:
            return self._store.functions(tenant, scope.service, 0)
        head = self._store.function(tenant, "", scope.function)
        return [head] if head else []

    def _count(self, tenant: Tenant, owner: Service | Function, number: int) -> None:
        """Remember the number, so that it is never given out again. The owner's ETag stays: it has not changed."""
        if isinstance(owner, Service):
            self._store.put_service(tenant, replace(owner, last_version=number))
        else:
            self._store.put_function(tenant, replace(owner, last_version=number))

    def create_alias(self, tenant: Tenant, scope: Scope, name: object, values: Mapping[str, Any], now: Millis) -> Alias:
        """Create an alias from checked attribute *values* (``version_id``, ``weights``, ``description`` ...).

        Raises: InvalidArgument, ServiceNotFound, FunctionNotFound, VersionNotFound, AliasAlreadyExists.
        """
        name = check_alias_name(name, "aliasName")
        self._owner(tenant, scope)
        if self._store.alias(tenant, scope, name) is not None:
            raise FcError("AliasAlreadyExists", alias=name, owner=scope)
        if "version_id" not in values:
            raise InvalidArgument("versionId is required")
        alias = Alias(scope=scope, name=name, alias_id=self._ids.uuid(), created_at=now, modified_at=now, **values)
        self._check_targets(tenant, alias)
        self._store.put_alias(tenant, alias)
        return alias

    def alias(self, tenant: Tenant, scope: Scope, name: str) -> Alias:
        """Return an alias.

        Raises: ServiceNotFound, FunctionNotFound, AliasNotFound.
        """
        self._owner(tenant, scope)
        alias = self._store.alias(tenant, scope, name)
        if alias is None:
            raise FcError("AliasNotFound", alias=name, owner=scope)
        return alias

    def update_alias(
        self, tenant: Tenant, scope: Scope, name: str, values: Mapping[str, Any], if_match: str, now: Millis
    ) -> Alias:
        """Change the attributes in *values*; the others stay. The next call already goes by it.

        Raises: as `alias`; PreconditionFailed, VersionNotFound, InvalidArgument for one named in a file.
        """
        alias = self.alias(tenant, scope, name)
        check_if_match(if_match, alias.etag)
        self._check_own(alias)
        alias = replace(alias, **values, modified_at=now, revision=alias.revision + 1)
        self._check_targets(tenant, alias)
        self._store.put_alias(tenant, alias)
        return alias

    def delete_alias(self, tenant: Tenant, scope: Scope, name: str, if_match: str) -> None:
        """Remove an alias.

        Raises: as `alias`; PreconditionFailed, InvalidArgument for one named in a file, what
        `Dependents.qualifiers` raises.
        """
        alias = self.alias(tenant, scope, name)
        check_if_match(if_match, alias.etag)
        self._check_own(alias)
        self._dependents.qualifiers.check(tenant, scope, name)
        self._store.delete_alias(tenant, scope, name)
        self._dependents.qualifiers.forget(tenant, scope, name)

    def page_aliases(self, tenant: Tenant, scope: Scope, part: Slice) -> Page[Alias]:
        """Return aliases by name.

        Raises: ServiceNotFound, FunctionNotFound.
        """
        self._owner(tenant, scope)
        return cut(self._store.aliases(tenant, scope, part), part.limit, lambda alias: alias.name)

    def _check_targets(self, tenant: Tenant, alias: Alias) -> None:
        for version_id in (alias.version_id, *alias.weights):
            if version_id != LATEST:
                self._resolver.version(tenant, alias.scope, int(version_id))

    def _check_own(self, alias: Alias) -> None:
        if alias.folder:
            raise InvalidArgument(f"alias '{alias.name}' is set in {alias.folder}; change that file instead")
