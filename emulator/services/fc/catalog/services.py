"""Services of 2.0: create, get, update, delete, list; and tags, of services and of functions without one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.services.fc import limits
from emulator.services.fc.attributes import check_name
from emulator.services.fc.catalog.effects import Effects
from emulator.services.fc.catalog.resolving import Resolver
from emulator.services.fc.catalog.store import CatalogStore, Slice
from emulator.services.fc.catalog.versions import check_if_match
from emulator.services.fc.errors import FcError, InvalidArgument, function_not_found
from emulator.services.fc.model import Scope, Service, ServiceConfig, family

_ONE = Slice(limit=1)
_ALL = Slice(limit=1_000_000)


class Services:
    """The services of every account."""

    def __init__(self, store: CatalogStore, ids: Ids, effects: Effects, resolver: Resolver) -> None:
        self._store = store
        self._ids = ids
        self._effects = effects
        self._resolver = resolver

    def create(self, tenant: Tenant, name: object, values: Mapping[str, Any], now: Millis) -> Service:
        """Create a service from checked attribute *values*.

        Raises: InvalidArgument, ServiceAlreadyExists.
        """
        name = check_name(name, "serviceName")
        if self._store.service(tenant, name) is not None:
            raise FcError("ServiceAlreadyExists", service=name)
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

        Its description is then the one the version was published with.

        Raises: ServiceNotFound, VersionNotFound, AliasNotFound.
        Source: fc-python-sdk test/version_test.py.
        """
        service = self.require(tenant, name)
        number = self._resolver.number(tenant, Scope(service=name), qualifier)
        if number:
            version = self._resolver.version(tenant, Scope(service=name), number)
            config = replace(version.config or service.config, description=version.description)
            service = replace(service, config=config, modified_at=version.modified_at)
        return service

    def require(self, tenant: Tenant, name: str) -> Service:
        """Return a service as it is now.

        Raises: ServiceNotFound.
        """
        service = self._store.service(tenant, name)
        if service is None:
            raise FcError("ServiceNotFound", service=name)
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
            raise FcError("ServiceNotEmpty", service=name, remains="functions")
        if self._store.aliases(tenant, scope, _ONE):
            raise FcError("ServiceNotEmpty", service=name, remains="aliases")
        if self._store.versions(tenant, scope, start=None, newest_first=True, limit=1):
            raise FcError("ServiceNotEmpty", service=name, remains="versions")
        self._store.delete_service(tenant, name)

    def page(self, tenant: Tenant, part: Slice) -> Page[Service]:
        """Return services by name."""
        return cut(self._store.services(tenant, part), part.limit, lambda service: service.name)


class Tagging:
    """The tags of every account's resources, which are named ``services/x`` or ``functions/x``."""

    def __init__(self, store: CatalogStore) -> None:
        self._store = store

    def resource(self, tenant: Tenant, arn: str, kind: str) -> str:
        """Return the resource an ARN, a part of one, or (for functions) a bare name means; it must exist.

        *kind* is ``services`` or ``functions``.

        Raises: InvalidArgument, ServiceNotFound, FunctionNotFound.
        """
        tail = arn.split(":", 4)[-1] if arn.startswith("acs:") else arn
        if kind == "functions" and "/" not in tail:
            tail = f"functions/{tail}"
        found_kind, _, name = tail.partition("/")
        if found_kind != kind or not name or "/" in name:
            raise InvalidArgument(f"resourceArn '{arn[:200]}' does not name one of the {kind}")
        if kind == "services" and self._store.service(tenant, name) is None:
            raise FcError("ServiceNotFound", service=name)
        if kind == "functions" and self._store.function(tenant, "", name) is None:
            raise function_not_found(name)
        return tail

    def tag(self, tenant: Tenant, resource: str, tags: object) -> None:
        """Set tags on *resource*; other tags stay.

        Raises: InvalidArgument.
        """
        self._store.put_tags(tenant, resource, check_tags(tags))

    def untag(self, tenant: Tenant, resource: str, keys: list[str], *, everything: bool) -> None:
        """Remove tags by key, or all; keys that are not there are no error.

        Raises: InvalidArgument when neither is asked for.
        """
        if not everything:
            if not keys:
                raise InvalidArgument("tagKeys is required")
            if len(keys) > limits.TAGS_PER_CALL.high:
                raise InvalidArgument(f"tagKeys must not have more than {limits.TAGS_PER_CALL.high} items")
        self._store.delete_tags(tenant, resource, None if everything else keys)

    def tags(self, tenant: Tenant, resource: str) -> dict[str, str]:
        """Return the tags of *resource*."""
        return self._store.tags(tenant, resource)

    def page(self, tenant: Tenant, kind: str, part: Slice) -> Page[tuple[str, dict[str, str]]]:
        """Return the tagged resources of *kind* with their tags."""
        names = self._store.tagged(tenant, f"{kind}/", part)
        rows = [(resource, self._store.tags(tenant, resource)) for resource in names]
        return cut(rows, part.limit, lambda row: row[0].partition("/")[2])

    def every(self, tenant: Tenant, kind: str) -> list[tuple[str, dict[str, str]]]:
        """Return all tagged resources of *kind* with their tags."""
        found: list[tuple[str, dict[str, str]]] = []
        marker = ""
        while True:
            page = self.page(tenant, kind, Slice(limit=limits.LIST.high, start=marker))
            found += page.items
            if page.next_marker is None:
                return found
            marker = page.next_marker


def check_tags(tags: object) -> Mapping[str, str]:
    """Kind a map of tags: 1 to 20 a call, texts.

    Raises: InvalidArgument.
    Source: the classic SDK's comments; lengths are the cloud-wide ones.
    """
    if not isinstance(tags, dict) or not limits.TAGS_PER_CALL.contains(len(tags)):
        raise InvalidArgument(f"tags must be an object with 1 to {limits.TAGS_PER_CALL.high} entries")
    for key, value in tags.items():
        if not isinstance(key, str) or not 1 <= len(key) <= limits.TAG_KEY_LENGTH:
            raise InvalidArgument(f"a tag key must have 1 to {limits.TAG_KEY_LENGTH} characters")
        if not isinstance(value, str) or len(value) > limits.TAG_VALUE_LENGTH:
            raise InvalidArgument(f"the value of tag '{key}' must be a string of at most {limits.TAG_VALUE_LENGTH}")
    return tags
