"""What the service needs remembered, in its own words. `emulator.services.fc.sqlite` is the one implementation.

``version`` 0 is the changeable head of a function. Lists are ordered by name (versions by number), start at
``Slice.start`` and return one item more than ``Slice.limit`` when there are more.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple, Protocol

from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant
from emulator.services.fc.model import Alias, Function, Scope, Service, Version


@frozen
class Slice:
    """A part of a list of names: from *start* on, with *prefix*, carrying *tags*."""

    limit: int
    start: str = ""
    prefix: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


class Loaded(NamedTuple):
    """What came from the functions folder, by key."""

    services: Mapping[str, Service]
    functions: Mapping[tuple[str, str, int], Function]
    versions: Mapping[tuple[Scope, int], Version]
    aliases: Mapping[tuple[Scope, str], Alias]


class Store(Protocol):
    """Everything Function Compute keeps over a restart."""

    @property
    def generation(self) -> int:
        """A number that grows with every change, for those who keep something derived."""
        ...

    def service(self, tenant: Tenant, name: str) -> Service | None:
        """Return a service."""
        ...

    def services(self, tenant: Tenant, part: Slice) -> list[Service]:
        """Return some services."""
        ...

    def put_service(self, tenant: Tenant, service: Service) -> None:
        """Write a service, new or not."""
        ...

    def delete_service(self, tenant: Tenant, name: str) -> None:
        """Remove a service and its tags."""
        ...

    def function(self, tenant: Tenant, service: str, name: str, version: int = 0) -> Function | None:
        """Return a function as it is in *version*."""
        ...

    def functions(self, tenant: Tenant, service: str, version: int, part: Slice) -> list[Function]:
        """Return some functions of a service in *version*, or the 3.0 functions when *service* is empty."""
        ...

    def put_function(self, tenant: Tenant, function: Function) -> None:
        """Write a function, new or not."""
        ...

    def delete_function(self, tenant: Tenant, service: str, name: str, version: int = 0) -> None:
        """Remove a function of one version; the head takes its tags with it."""
        ...

    def version(self, tenant: Tenant, scope: Scope, number: int) -> Version | None:
        """Return a published version."""
        ...

    def versions(
        self, tenant: Tenant, scope: Scope, *, start: int | None, newest_first: bool, limit: int
    ) -> list[Version]:
        """Return some versions, from number *start* on in the given direction."""
        ...

    def put_version(self, tenant: Tenant, version: Version) -> None:
        """Write a version."""
        ...

    def delete_version(self, tenant: Tenant, scope: Scope, number: int) -> None:
        """Remove a version and its frozen functions."""
        ...

    def alias(self, tenant: Tenant, scope: Scope, name: str) -> Alias | None:
        """Return an alias."""
        ...

    def aliases(self, tenant: Tenant, scope: Scope, part: Slice) -> list[Alias]:
        """Return some aliases."""
        ...

    def put_alias(self, tenant: Tenant, alias: Alias) -> None:
        """Write an alias, new or not."""
        ...

    def delete_alias(self, tenant: Tenant, scope: Scope, name: str) -> None:
        """Remove an alias."""
        ...

    def tags(self, tenant: Tenant, resource: str) -> dict[str, str]:
        """Return the tags of ``services/x`` or ``functions/x``."""
        ...

    def put_tags(self, tenant: Tenant, resource: str, tags: Mapping[str, str]) -> None:
        """Set some tags; others stay."""
        ...

    def delete_tags(self, tenant: Tenant, resource: str, keys: list[str] | None) -> None:
        """Remove some tags, or all of them."""
        ...

    def tagged(self, tenant: Tenant, kind: str, part: Slice) -> list[str]:
        """Return the resources (``services/x``) of *kind* (``services/``) that carry any tag."""
        ...

    def loaded(self, tenant: Tenant) -> "Loaded":
        """Return everything that was loaded from the functions folder."""
        ...

    def keys(self) -> list[tuple[Tenant, str, str, int]]:
        """Return (tenant, service, name, version) of every function."""
        ...

    def counts(self) -> dict[str, int]:
        """Return how many services and functions there are in all tenants."""
        ...

    def digests(self) -> set[str]:
        """Return the code packages any function or layer of any tenant refers to."""
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...
