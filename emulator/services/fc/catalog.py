"""Services of 2.0: create, get, update, delete, list."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.services.fc import checks
from emulator.services.fc.effects import Effects, family
from emulator.services.fc.errors import InvalidArgument, ServiceAlreadyExists, ServiceNotEmpty, ServiceNotFound
from emulator.services.fc.model import Scope, Service, ServiceConfig
from emulator.services.fc.resolving import Resolver
from emulator.services.fc.store import Slice, Store
from emulator.services.fc.versions import check_if_match

_ONE = Slice(limit=1)
_ALL = Slice(limit=1_000_000)


class Catalog:
    """The services of every account."""

    def __init__(self, store: Store, ids: Ids, effects: Effects, resolver: Resolver) -> None:
        self._store = store
        self._ids = ids
        self._effects = effects
        self._resolver = resolver

    def create(self, tenant: Tenant, name: object, values: Mapping[str, Any], now: Millis) -> Service:
        """Make a service from checked attribute *values*.

        Raises: InvalidArgument, ServiceAlreadyExists.
        """
        name = checks.name(name, "serviceName")
        if self._store.service(tenant, name) is not None:
            raise ServiceAlreadyExists(service=name)
        service = Service(
            name=name,
            service_id=self._ids.uuid(),
            config=ServiceConfig(**values),
            created_at=now,
            modified_at=now,
        )
        self._store.put_service(tenant, service)
        return service

    def get(self, tenant: Tenant, name: str, qualifier: str | None = None) -> Service:
        """Return a service; with a version or alias as *qualifier*, with the configuration frozen in it.

        Raises: ServiceNotFound, VersionNotFound, AliasNotFound.
        """
        service = self.require(tenant, name)
        number = self._resolver.number(tenant, Scope(service=name), qualifier)
        if number:
            version = self._resolver.version(tenant, Scope(service=name), number)
            service = replace(service, config=version.config or service.config, modified_at=version.modified_at)
        return service

    def require(self, tenant: Tenant, name: str) -> Service:
        """Return a service as it is now.

        Raises: ServiceNotFound.
        """
        service = self._store.service(tenant, name)
        if service is None:
            raise ServiceNotFound(service=name)
        return service

    def update(self, tenant: Tenant, name: str, values: Mapping[str, Any], if_match: str, now: Millis) -> Service:
        """Change the attributes in *values*; the others stay. Warm instances of its functions retire.

        Raises: ServiceNotFound, PreconditionFailed.
        """
        service = self.require(tenant, name)
        check_if_match(if_match, service.etag)
        changed = replace(
            service,
            config=replace(service.config, **values),
            changed={**service.changed, **values} if service.folder else {},
            modified_at=now,
            revision=service.revision + 1,
        )
        self._store.put_service(tenant, changed)
        functions = self._store.functions(tenant, name, 0, _ALL)
        self._effects.retire(family(tenant, name, function.name, 0) for function in functions)
        return changed

    def delete(self, tenant: Tenant, name: str, if_match: str) -> None:
        """Remove an empty service.

        Raises: ServiceNotFound, PreconditionFailed, ServiceNotEmpty, InvalidArgument for one from the folder.
        Source: code from the API reference; that versions and aliases hold it back too is assumed.
        """
        service = self.require(tenant, name)
        check_if_match(if_match, service.etag)
        if service.folder:
            raise InvalidArgument(f"service '{name}' is loaded from {service.folder}; remove that folder instead")
        scope = Scope(service=name)
        if self._store.functions(tenant, name, 0, _ONE):
            raise ServiceNotEmpty(service=name, remains="functions")
        if self._store.aliases(tenant, scope, _ONE):
            raise ServiceNotEmpty(service=name, remains="aliases")
        if self._store.versions(tenant, scope, start=None, newest_first=True, limit=1):
            raise ServiceNotEmpty(service=name, remains="versions")
        self._store.delete_service(tenant, name)

    def page(self, tenant: Tenant, part: Slice) -> Page[Service]:
        """Return services by name."""
        return cut(self._store.services(tenant, part), part.limit, lambda service: service.name)
