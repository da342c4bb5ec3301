"""Which instances of a function there are."""

from emulator.kernel.identity import Tenant
from emulator.services.fc.effects import family
from emulator.services.fc.model import LATEST, scope_of
from emulator.services.fc.ports import Instances
from emulator.services.fc.resolving import Resolver
from emulator.services.fc.runtime.model import InstanceInfo
from emulator.services.fc.store import Store

_EVERY = 1_000_000


class InstanceList:
    """Lists the living instances of functions; ``service`` is empty for a function of 3.0."""

    def __init__(self, store: Store, resolver: Resolver, instances: Instances) -> None:
        self._store = store
        self._resolver = resolver
        self._instances = instances

    def of_qualifier(self, tenant: Tenant, service: str, function: str, qualifier: str | None) -> list[InstanceInfo]:
        """Return the instances that serve calls through *qualifier*; of an alias those of all its versions.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound.
        """
        self._resolver.function(tenant, service, function, qualifier)
        scope = scope_of(service, function)
        alias = self._store.alias(tenant, scope, qualifier) if qualifier else None
        if alias is None:
            numbers = [self._resolver.number(tenant, scope, qualifier)]
        else:
            named = (alias.version_id, *alias.weights)
            numbers = [0 if version_id == LATEST else int(version_id) for version_id in named]
        return self._of_versions(tenant, service, function, numbers)

    def of_function(self, tenant: Tenant, service: str, function: str) -> list[InstanceInfo]:
        """Return the instances of every version.

        Raises: ServiceNotFound, FunctionNotFound.
        """
        self._resolver.function(tenant, service, function)
        scope = scope_of(service, function)
        versions = self._store.versions(tenant, scope, start=None, newest_first=True, limit=_EVERY)
        return self._of_versions(tenant, service, function, [0, *(version.number for version in versions)])

    def _of_versions(self, tenant: Tenant, service: str, function: str, numbers: list[int]) -> list[InstanceInfo]:
        found = [
            info for number in numbers for info in self._instances.instances(family(tenant, service, function, number))
        ]
        return sorted(found, key=lambda info: (info.started_at, info.instance_id))
