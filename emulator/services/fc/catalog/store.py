"""The tables of services, functions, versions, aliases and tags. Each operation is one probe or a short range."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.fc.errors import FcError, function_not_found
from emulator.services.fc.kinds import SCOPE
from emulator.services.fc.model import (
    EVERY,
    SLICED,
    Alias,
    Code,
    Function,
    FunctionConfig,
    FunctionRef,
    Scope,
    Service,
    ServiceConfig,
    Slice,
    Version,
    config_json,
    parse_values,
    scope_of,
)
from emulator.storage.migration import Schema
from emulator.storage.rows import COLUMNS, CountingStore, Rows, T
from emulator.wire.schema.kinds import ANYTHING, TEXTS, Held


class Loaded(NamedTuple):
    """Rows that come from the functions folder, or a portion of them."""

    services: Sequence[Service] = ()
    functions: Sequence[Function] = ()
    versions: Sequence[Version] = ()
    aliases: Sequence[Alias] = ()


SCHEMA = Schema("fc", Path(__file__).parents[1] / "schema")


_OWNER = ("account", "region")
_VALUES = Held(COLUMNS.reader(ANYTHING).write or str, parse_values)


_CONFIGURATIONS = 256
_AT_ONCE = 500
"""How many functions `CatalogStore.loaded` reads in one portion."""


def _settings(kind: Callable[..., ServiceConfig | FunctionConfig]) -> Held:
    """Return the conversion between a configuration and its column; equal texts, which are common, are parsed once."""

    @lru_cache(maxsize=_CONFIGURATIONS)
    def read(text: str) -> ServiceConfig | FunctionConfig:
        return kind(**parse_values(text))

    return Held(config_json, read)


_SERVICES = Rows(
    Service, "fc_services", _OWNER, config=_settings(ServiceConfig), base=_settings(ServiceConfig), changed=_VALUES
)
_FUNCTIONS = Rows(
    Function,
    "fc_functions",
    _OWNER,
    config=_settings(FunctionConfig),
    base=_settings(FunctionConfig),
    changed=_VALUES,
    triggers=TEXTS,
    code=Held(
        attrgetter("checksum", "size", "digest", "folder"),
        lambda checksum, size, digest, folder: Code(checksum=checksum, size=size, digest=digest, folder=folder),
        ("code_checksum", "code_size", "code_digest", "code_folder"),
    ),
)
_VERSIONS = Rows(Version, "fc_versions", _OWNER, scope=SCOPE, config=_settings(ServiceConfig))
_ALIASES = Rows(Alias, "fc_aliases", _OWNER, scope=SCOPE, weights=ANYTHING, route_policy=ANYTHING)
_FROZEN = {
    "version": "?1", "created_at": "?2", "modified_at": "?2", "revision": "1", "folder": "''", "base": "NULL",
    "changed": "'{}'", "triggers": "'[]'",
}  # fmt: skip
"""Columns of a function that change when it is frozen in a version: ``?1`` is the version, ``?2`` the present time."""

_FREEZE = (
    f"INSERT OR REPLACE INTO fc_functions (account, region, {_FUNCTIONS.text}) SELECT account, region, "  # noqa: S608 - constants
    f"{', '.join(_FROZEN.get(name, name) for name in _FUNCTIONS.names)} FROM fc_functions"
)
_MINE = "account = ? AND region = ?"
_IN_SERVICE = f"{_MINE} AND service = ? AND version = ?"
_ATTACHED = "account = ? AND region = ? AND kind = ? AND service = ? AND function = ? AND qualifier = ?"
_IN_SCOPE = f"{_MINE} AND scope_service = ? AND scope_function = ?"
_NUMBERS = f"SELECT 0 UNION ALL SELECT number FROM fc_versions WHERE {_IN_SCOPE}"  # noqa: S608 - constants
_OF_FUNCTION = f"{_MINE} AND service = ? AND name = ? AND version IN ({_NUMBERS})"
"""All versions of a function; their numbers come from ``fc_versions``, so that each row is found by its key."""
_NAMING = {
    "fc_aliases_by_version": "version_id = ?5",
    "fc_aliases_by_weights": """weights BETWEEN '{"' || ?5 || '":' AND '{"' || ?5 || '";'""",
}
"""By index, the condition that an alias names version ``?5``; its weights have one version, so their JSON begins so."""


AttachmentKind = Literal["vpc", "event-source"]


class CatalogStore(CountingStore):
    """The tables of services, functions, versions, aliases, tags and attachments; reads see uncommitted writes."""

    TABLES = (_SERVICES, _FUNCTIONS, _VERSIONS, _ALIASES)

    def service(self, tenant: Tenant, name: str) -> Service | None:
        """Return a service."""
        return self._one(_SERVICES, f"{_MINE} AND name = ?", (*tenant, name))

    def existing_service(self, tenant: Tenant, name: str) -> Service:
        """Return a service.

        Raises: ServiceNotFound.
        """
        service = self._one(_SERVICES, f"{_MINE} AND name = ?", (*tenant, name))
        if service is None:
            raise FcError("ServiceNotFound", service=name)
        return service

    def existing_owner(self, tenant: Tenant, scope: Scope) -> Service | Function:
        """Return the service or function that the versions and aliases of *scope* belong to.

        Raises: ServiceNotFound, FunctionNotFound.
        """
        if scope.service:
            return self.existing_service(tenant, scope.service)
        return self.existing_function(tenant, "", scope.function)

    def existing_function(self, tenant: Tenant, service: str, name: str) -> Function:
        """Return the newest state of a function; *service* is empty for one of 3.0.

        Raises: FunctionNotFound.
        """
        function = self.function(tenant, service, name)
        if function is None:
            raise function_not_found(name, service)
        return function

    def services(self, tenant: Tenant, part: Slice) -> list[Service]:
        """Return the services in *part*, by name."""
        return self._named(_SERVICES, _MINE, tenant, part, "services/")

    def put_service(self, tenant: Tenant, service: Service) -> None:
        """Write a service, new or not."""
        self._put(_SERVICES, service, *tenant)

    def delete_service(self, tenant: Tenant, name: str) -> None:
        """Remove a service and its tags."""
        self._delete(_SERVICES, f"{_MINE} AND name = ?", (*tenant, name))
        self.delete_tags(tenant, f"services/{name}", None)

    def function(self, tenant: Tenant, service: str, name: str, version: int = 0) -> Function | None:
        """Return a function as it is in *version*."""
        return self._one(_FUNCTIONS, f"{_IN_SERVICE} AND name = ?", (*tenant, service, version, name))

    def functions(self, tenant: Tenant, service: str, version: int, part: Slice = EVERY) -> list[Function]:
        """Return the functions in *part* of a service in *version*, or the 3.0 functions when *service* is empty."""
        return self._named(_FUNCTIONS, _IN_SERVICE, (*tenant, service, version), part, "functions/")

    def put_function(self, tenant: Tenant, function: Function) -> None:
        """Write a function, new or not."""
        self._put(_FUNCTIONS, function, *tenant)

    def freeze(self, tenant: Tenant, scope: Scope, number: int, now: Millis) -> None:
        """Copy the functions of *scope*, as they are, into its version *number*, without their folder and triggers."""
        where = _IN_SERVICE.replace("version = ?", "version = 0") + (" AND name = ?" if scope.function else "")
        names = (scope.service, scope.function) if scope.function else (scope.service,)
        self._write(f"{_FREEZE} WHERE {where}", (number, now, *tenant, *names))

    def delete_function(self, tenant: Tenant, service: str, name: str, version: int = 0) -> None:
        """Remove a function of one version; the head takes its tags with it."""
        self._delete(_FUNCTIONS, f"{_IN_SERVICE} AND name = ?", (*tenant, service, version, name))
        if not service and not version:
            self.delete_tags(tenant, f"functions/{name}", None)

    def version(self, tenant: Tenant, scope: Scope, number: int) -> Version | None:
        """Return a published version."""
        return self._one(_VERSIONS, f"{_IN_SCOPE} AND number = ?", (*_scoped(tenant, scope), number))

    def versions(
        self,
        tenant: Tenant,
        scope: Scope,
        *,
        start: int | None = None,
        newest_first: bool = True,
        limit: int = EVERY.limit,
    ) -> list[Version]:
        """Return versions, from number *start* on in the given direction."""
        bound = "number <= ?" if newest_first else "number >= ?"
        order = "DESC" if newest_first else "ASC"
        if start is None:
            start = 2**62 if newest_first else 0
        where = f"{_IN_SCOPE} AND {bound} ORDER BY number {order} LIMIT ?"
        return self._all(_VERSIONS, where, (*_scoped(tenant, scope), start, limit + 1))

    def put_version(self, tenant: Tenant, version: Version) -> None:
        """Write a version."""
        self._put(_VERSIONS, version, *tenant)

    def delete_version(self, tenant: Tenant, scope: Scope, number: int) -> None:
        """Remove a version and its frozen functions."""
        self._delete(_VERSIONS, f"{_IN_SCOPE} AND number = ?", (*_scoped(tenant, scope), number))
        where, values = _IN_SERVICE, [*tenant, scope.service, number]
        if scope.function:
            where, values = f"{where} AND name = ?", [*values, scope.function]
        self._delete(_FUNCTIONS, where, values)

    def alias(self, tenant: Tenant, scope: Scope, name: str) -> Alias | None:
        """Return an alias."""
        return self._one(_ALIASES, f"{_IN_SCOPE} AND name = ?", (*_scoped(tenant, scope), name))

    def aliases(self, tenant: Tenant, scope: Scope, part: Slice = EVERY) -> list[Alias]:
        """Return the aliases in *part*, by name."""
        return self._named(_ALIASES, _IN_SCOPE, _scoped(tenant, scope), part)

    def aliases_naming(self, tenant: Tenant, scope: Scope, version: int) -> list[Alias]:
        """Return the aliases that lead to a version, then those that have it among their weights."""
        values, found = (*_scoped(tenant, scope), str(version)), []
        for index, named in _NAMING.items():
            sql = f"{_ALIASES.select} INDEXED BY {index} WHERE {_IN_SCOPE} AND {named} ORDER BY name"
            found += [_ALIASES.item(row) for row in self._database.read(sql, values)]
        return found

    def put_alias(self, tenant: Tenant, alias: Alias) -> None:
        """Write an alias, new or not."""
        self._put(_ALIASES, alias, *tenant)

    def delete_alias(self, tenant: Tenant, scope: Scope, name: str) -> None:
        """Remove an alias."""
        self._delete(_ALIASES, f"{_IN_SCOPE} AND name = ?", (*_scoped(tenant, scope), name))

    def delete_scope(self, tenant: Tenant, scope: Scope) -> list[int]:
        """Remove the versions and aliases of a scope; return the numbers of the versions."""
        self._delete(_ALIASES, _IN_SCOPE, _scoped(tenant, scope))
        numbers = [version.number for version in self.versions(tenant, scope)]
        for number in numbers:
            self.delete_version(tenant, scope, number)
        return numbers

    def remains(self, tenant: Tenant, service: str) -> str:
        """Return what a service still contains: ``functions``, ``aliases`` or ``versions``; empty for nothing."""
        scope, one = Scope(service=service), Slice(limit=1)
        if self.functions(tenant, service, 0, one):
            return "functions"
        if self.aliases(tenant, scope, one):
            return "aliases"
        return "versions" if self.versions(tenant, scope, limit=1) else ""

    def tags(self, tenant: Tenant, resource: str) -> dict[str, str]:
        """Return the tags of ``services/x`` or ``functions/x``."""
        sql = "SELECT key, value FROM fc_tags WHERE account = ? AND region = ? AND resource = ? ORDER BY key"
        return dict(self._database.read(sql, (*tenant, resource)).fetchall())

    def put_tags(self, tenant: Tenant, resource: str, tags: Mapping[str, str]) -> None:
        """Set some tags; others stay."""
        for tag in tags.items():
            self._write("INSERT OR REPLACE INTO fc_tags VALUES (?, ?, ?, ?, ?)", (*tenant, resource, *tag))

    def delete_tags(self, tenant: Tenant, resource: str, keys: list[str] | None) -> None:
        """Remove some tags, or all of them."""
        sql = "DELETE FROM fc_tags WHERE account = ? AND region = ? AND resource = ?"
        if keys is None:
            self._write(sql, (*tenant, resource))
        for key in keys or ():
            self._write(f"{sql} AND key = ?", (*tenant, resource, key))

    def tagged(self, tenant: Tenant, kind: str, part: Slice) -> list[str]:
        """Return the resources (``services/x``) of *kind* (``services/``) that carry any tag, and those of the slice.

        A tag of the slice with an empty value stands for any value.
        """
        first, end, limit = part.bounds
        where = "account = ? AND region = ? AND resource >= ? AND resource < ?"
        values = [*tenant, kind + first, kind + end]
        tags = sorted(part.tags.items(), key=itemgetter(1), reverse=True)
        if tags and tags[0][1]:  # by an index
            where += " AND key = ? AND value = ?"
            values += tags.pop(0)
        for tag in tags:
            where += (
                " AND EXISTS (SELECT 1 FROM fc_tags o WHERE o.account = t.account AND o.region = t.region"
                " AND o.resource = t.resource AND o.key = ? AND ? IN ('', o.value))"
            )
            values += tag
        sql = f"SELECT DISTINCT resource FROM fc_tags t WHERE {where} ORDER BY resource LIMIT ?"  # noqa: S608 - constants
        return [resource for (resource,) in self._database.read(sql, (*values, limit))]

    def attach(self, owner: FunctionRef, kind: AttachmentKind, name: str, now: Millis) -> None:
        """Write an attachment of a service (then without a function) or a function, unless it is there."""
        sql = "INSERT OR IGNORE INTO fc_attachments VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        self._database.write(sql, (*_at(owner, kind), name, now))

    def attached(self, owner: FunctionRef, kind: AttachmentKind) -> dict[str, Millis]:
        """Return the attachments of *owner* by name, with the timestamps they were made at."""
        sql = f"SELECT name, created_at FROM fc_attachments WHERE {_ATTACHED}"  # noqa: S608 - constants
        return dict(self._database.read(sql, _at(owner, kind)).fetchall())

    def detach(self, owner: FunctionRef, kind: AttachmentKind, name: str) -> bool:
        """Remove an attachment; return whether it was there."""
        sql = f"DELETE FROM fc_attachments WHERE {_ATTACHED} AND name = ?"  # noqa: S608 - constants
        return self._database.write(sql, (*_at(owner, kind), name)).rowcount > 0

    def loaded(self, tenant: Tenant, scopes: Iterable[Scope] | None = None) -> Iterator[Loaded]:
        """Yield the rows that come from the functions folder, in portions: all of them, or those of *scopes*."""
        for each in (None,) if scopes is None else scopes:
            of_service = of_functions = in_scope = f"{_MINE} AND folder <> ''"
            names: tuple[str, ...] = ()
            if each is not None:
                names = each.service, each.function
                of_service += " AND name = ? AND ? = ''"
                of_functions = (
                    f"{_OF_FUNCTION} AND folder <> ''" if each.function else f"{of_functions} AND service = ?"
                )
                in_scope += " AND scope_service = ? AND scope_function = ?"
            values = (*tenant, *names)
            yield Loaded(
                services=self._all(_SERVICES, of_service, values),
                versions=self._all(_VERSIONS, in_scope, values),
                aliases=self._all(_ALIASES, in_scope, values),
            )
            functions = (*values, *values) if each is not None and each.function else (*tenant, *names[:1])
            rows = self._database.read(f"{_FUNCTIONS.select} WHERE {of_functions}", functions)
            while some := rows.fetchmany(_AT_ONCE):
                yield Loaded(functions=[_FUNCTIONS.item(row) for row in some])

    def has_functions(self) -> bool:
        """Whether any account has a function."""
        found: bool = self._database.read("SELECT EXISTS (SELECT 1 FROM fc_functions)").fetchone()[0]
        return found

    def keys(self) -> list[tuple[Tenant, str, str, int]]:
        """Return (tenant, service, name, version) of every function."""
        rows = self._database.read("SELECT account, region, service, name, version FROM fc_functions")
        return [(Tenant(account, region), service, name, version) for account, region, service, name, version in rows]

    def names_in(self, tenant: Tenant, service: str) -> list[str]:
        """Return the names of the functions of a service, or of those without one."""
        sql = f"SELECT name FROM fc_functions WHERE {_MINE} AND service = ? AND version = 0"  # noqa: S608 - constants
        return [name for (name,) in self._database.read(sql, (*tenant, service))]

    def versions_of(self, tenant: Tenant, service: str, name: str) -> list[int]:
        """Return the numbers of the versions that contain a function; 0 is ``LATEST``."""
        values = (*tenant, service, name, *_scoped(tenant, scope_of(service, name)))
        sql = f"SELECT version FROM fc_functions WHERE {_OF_FUNCTION}"  # noqa: S608 - constants
        return [version for (version,) in self._database.read(sql, values)]

    def heads(self, tenant: Tenant) -> list[tuple[str, str]]:
        """Return (service, name) of every function of a tenant."""
        sql = f"SELECT service, name FROM fc_functions WHERE {_MINE} AND version = 0"  # noqa: S608 - constants
        return self._database.read(sql, tenant).fetchall()

    def names(self, tenant: Tenant, containing: str, start: tuple[str, str], limit: int) -> list[tuple[str, str]]:
        """Return (service, name) of the functions with *containing* in their names, from *start* on, in order."""
        rows = self._database.read(
            "SELECT service, name FROM fc_functions WHERE account = ? AND region = ? AND version = 0"
            " AND (service, name) >= (?, ?) AND instr(lower(service || '/' || name), ?) ORDER BY service, name LIMIT ?",
            (*tenant, *start, containing.lower(), limit),
        )
        return [(service, name) for service, name in rows]

    def counts(self) -> dict[str, int]:
        """Return how many services and functions there are in all tenants."""
        (services,) = self._database.read("SELECT count(*) FROM fc_services").fetchone()
        (functions,) = self._database.read("SELECT count(*) FROM fc_functions WHERE version = 0").fetchone()
        return {"services": services, "functions": functions}

    def tenants(self) -> dict[Tenant, int]:
        """Return how many functions each account has in each region where it has functions or services."""
        rows = self._database.read(
            "SELECT account, region, 0 FROM fc_services GROUP BY account, region UNION ALL "
            "SELECT account, region, count(*) FROM fc_functions WHERE version = 0 GROUP BY account, region"
        )
        return {Tenant(AccountId(row[0]), Region(row[1])): row[2] for row in rows}

    def digests(self) -> set[str]:
        """Return the code packages any function or layer of any tenant refers to."""
        rows = self._database.read(
            "SELECT code_digest FROM fc_functions WHERE code_digest <> '' "
            "UNION SELECT code_digest FROM fc_layer_versions"
        )
        return {row[0] for row in rows}

    def clear(self) -> None:
        """Remove everything."""
        # attachments first: each row of the others that goes looks for its own
        for table in ("fc_attachments", "fc_services", "fc_functions", "fc_versions", "fc_aliases", "fc_tags"):
            self._write(f"DELETE FROM {table}")  # noqa: S608 - constants

    def _named(self, rows: Rows[T], where: str, values: tuple[Any, ...], part: Slice, kind: str = "") -> list[T]:
        """Read a list by name; *values* begin with the tenant, *kind* is the resource prefix of its tags."""
        if not part.tags:
            return self._all(rows, f"{where} AND {SLICED}", (*values, *part.bounds))
        names = [resource.removeprefix(kind) for resource in self.tagged(Tenant(*values[:2]), kind, part)]
        where += " AND name IN (SELECT value FROM json_each(?)) ORDER BY name"
        return self._all(rows, where, (*values, json.dumps(names)))


def _at(owner: FunctionRef, kind: AttachmentKind) -> tuple[str, ...]:
    return (*owner.tenant, kind, owner.service, owner.function, owner.qualifier)


def _scoped(tenant: Tenant, scope: Scope) -> tuple[str, str, str, str]:
    return (*tenant, scope.service, scope.function)
