"""What is attached to services and functions: tags, VPC bindings, event sources.

Bindings and event sources are only kept. A function here can call every network its machine can call, so a binding
restricts nothing; an event source registers who may call, which the emulator does not ask.
"""

import re
from collections.abc import Mapping

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant
from emulator.kernel.paging import Page, cut
from emulator.services.fc import limits
from emulator.services.fc.catalog.resolving import Resolver
from emulator.services.fc.catalog.store import CatalogStore, Slice
from emulator.services.fc.errors import FcError, InvalidArgument, function_not_found
from emulator.services.fc.model import LATEST
from emulator.storage.database import Database

_VPC = "vpc"
_SOURCE = "event-source"
_VPC_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_ARN_LENGTH = 1024


@frozen
class EventSource:
    """A registered event source by its ARN."""

    arn: str
    created_at: Millis


class Attachments:
    """The attachments of every account: ``function`` is empty for those of a service, ``service`` for 3.0 functions."""

    def __init__(self, database: Database, store: CatalogStore, resolver: Resolver) -> None:
        self._table = AttachmentTable(database)
        self._store = store
        self._resolver = resolver

    # --- VPC bindings --------------------------------------------------------------------------------------------

    def bind(self, tenant: Tenant, service: str, function: str, vpc: object, now: Millis) -> None:
        """Allow calls from *vpc* only; one that is bound already stays bound.

        Raises: ServiceNotFound, FunctionNotFound, InvalidArgument.
        """
        self._check_owner(tenant, service, function)
        if not isinstance(vpc, str) or not _VPC_ID.fullmatch(vpc):
            raise InvalidArgument("vpcId is required: 1 to 128 letters, digits, hyphens and underscores")
        self._table.add(tenant, _VPC, (service, function, ""), vpc, now)

    def bound(self, tenant: Tenant, service: str, function: str) -> list[str]:
        """Return the bound VPCs by id.

        Raises: ServiceNotFound, FunctionNotFound.
        """
        self._check_owner(tenant, service, function)
        return [name for name, _ in self._table.list(tenant, _VPC, (service, function, ""))]

    def unbind(self, tenant: Tenant, service: str, function: str, vpc: str) -> None:
        """Remove a binding.

        Raises: ServiceNotFound, FunctionNotFound, VpcBindingNotFound.
        """
        if vpc not in self.bound(tenant, service, function):
            raise FcError("VpcBindingNotFound", vpc=vpc)
        self._table.remove(tenant, _VPC, (service, function, ""), vpc)

    def _check_owner(self, tenant: Tenant, service: str, function: str) -> None:
        if function:
            self._resolver.function(tenant, service, function)
        elif self._store.service(tenant, service) is None:
            raise FcError("ServiceNotFound", service=service)

    # --- event sources -------------------------------------------------------------------------------------------

    def register(
        self, tenant: Tenant, service: str, function: str, qualifier: str | None, arn: object, now: Millis
    ) -> EventSource:
        """Note that *arn* sends events to a function's qualifier; one that is known keeps its date.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument.
        """
        self._resolver.function(tenant, service, function, qualifier)
        if not isinstance(arn, str) or not arn.startswith("acs:") or len(arn) > _ARN_LENGTH:
            raise InvalidArgument(f"sourceArn must be a resource name of at most {_ARN_LENGTH} characters")
        self._table.add(tenant, _SOURCE, (service, function, qualifier or LATEST), arn, now)
        return next(
            source for source in self.registered(tenant, service, function, qualifier or LATEST) if source.arn == arn
        )

    def registered(self, tenant: Tenant, service: str, function: str, qualifier: str | None) -> list[EventSource]:
        """Return the event sources of a qualifier by ARN; None stands for ``LATEST``.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound.
        """
        self._resolver.function(tenant, service, function, qualifier)
        rows = self._table.list(tenant, _SOURCE, (service, function, qualifier or LATEST))
        return [EventSource(arn=arn, created_at=at) for arn, at in rows]

    def deregister(self, tenant: Tenant, service: str, function: str, qualifier: str | None, arn: str) -> None:
        """Forget an event source.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, EventSourceNotFound.
        """
        if all(source.arn != arn for source in self.registered(tenant, service, function, qualifier)):
            raise FcError("EventSourceNotFound", arn=arn)
        self._table.remove(tenant, _SOURCE, (service, function, qualifier or LATEST), arn)

    def clear(self) -> None:
        """Remove everything."""
        self._table.clear()


_Place = tuple[str, str, str]


class AttachmentTable:
    """The table ``fc_attachments``. A place is service, function and qualifier."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, tenant: Tenant, kind: str, place: _Place, name: str, now: Millis) -> None:
        """Write an attachment unless it is there."""
        self._database.write(
            "INSERT OR IGNORE INTO fc_attachments VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (tenant.account, tenant.region, kind, *place, name, now),
        )

    def list(self, tenant: Tenant, kind: str, place: _Place) -> list[tuple[str, Millis]]:
        """Return names and dates by name."""
        rows = self._database.read(
            f"SELECT name, created_at FROM fc_attachments WHERE {_AT}",  # noqa: S608 - a constant
            _key(tenant, kind, place),
        )
        return [(name, Millis(created_at)) for name, created_at in rows]

    def remove(self, tenant: Tenant, kind: str, place: _Place, name: str) -> None:
        """Remove an attachment."""
        self._database.write(
            f"DELETE FROM fc_attachments WHERE {_AT} AND name = ?",  # noqa: S608 - a constant
            (*_key(tenant, kind, place), name),
        )

    def clear(self) -> None:
        """Remove all."""
        self._database.write("DELETE FROM fc_attachments")


_AT = "account = ? AND region = ? AND kind = ? AND service = ? AND function = ? AND qualifier = ?"


def _key(tenant: Tenant, kind: str, place: _Place) -> tuple[str, ...]:
    return (tenant.account, tenant.region, kind, *place)


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
        rows: list[tuple[str, dict[str, str]]] = []
        marker = ""
        while True:
            page = self.page(tenant, kind, Slice(limit=limits.LIST.high, start=marker))
            rows += page.items
            if page.next_marker is None:
                return rows
            marker = page.next_marker


def check_tags(tags: object) -> Mapping[str, str]:
    """Check a map of tags: 1 to 20 a call, texts.

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
