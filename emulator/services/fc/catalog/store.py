"""The tables of services, functions, versions, aliases and tags. Each operation is one probe or a short range."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
from emulator.services.fc.errors import FcError
from emulator.services.fc.model import (
    ABOVE_ALL_NAMES,
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
)
from emulator.storage.database import Database, Schema

_encode = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


class Loaded(NamedTuple):
    """What came from the functions folder, by key."""

    services: Mapping[str, Service]
    functions: Mapping[tuple[str, str, int], Function]
    versions: Mapping[tuple[Scope, int], Version]
    aliases: Mapping[tuple[Scope, str], Alias]


SCHEMA = Schema("fc", Path(__file__).parents[1] / "schema")


_SERVICE = "name, id, config, created_at, modified_at, revision, last_version, folder, base, changed"
_FUNCTION = (
    "service, version, name, id, config, code_digest, code_folder, code_checksum, code_size, created_at, modified_at, "
    "revision, last_version, folder, base, changed, problem, triggers"
)
_VERSION = "scope_service, scope_function, number, description, config, content, created_at, modified_at, folder"
_ALIAS = (
    "scope_service, scope_function, name, id, version_id, description, weights, resolve_policy, route_policy, "
    "created_at, modified_at, revision, folder"
)


def _marks(columns: str) -> str:
    return ", ".join("?" * (columns.count(",") + 3))


_PUT_SERVICE = f"INSERT OR REPLACE INTO fc_services (account, region, {_SERVICE}) VALUES ({_marks(_SERVICE)})"  # noqa: S608 - constants
_PUT_FUNCTION = f"INSERT OR REPLACE INTO fc_functions (account, region, {_FUNCTION}) VALUES ({_marks(_FUNCTION)})"  # noqa: S608 - constants
_PUT_VERSION = f"INSERT OR REPLACE INTO fc_versions (account, region, {_VERSION}) VALUES ({_marks(_VERSION)})"  # noqa: S608 - constants
_PUT_ALIAS = f"INSERT OR REPLACE INTO fc_aliases (account, region, {_ALIAS}) VALUES ({_marks(_ALIAS)})"  # noqa: S608 - constants
_ONE_SERVICE = f"SELECT {_SERVICE} FROM fc_services WHERE account = ? AND region = ? AND name = ?"  # noqa: S608 - constants
_ONE_FUNCTION = (
    f"SELECT {_FUNCTION} FROM fc_functions "  # noqa: S608 - constants
    "WHERE account = ? AND region = ? AND service = ? AND version = ? AND name = ?"
)
_ATTACHED = "account = ? AND region = ? AND kind = ? AND service = ? AND function = ? AND qualifier = ?"
_IN_SCOPE = "account = ? AND region = ? AND scope_service = ? AND scope_function = ?"


AttachmentKind = Literal["vpc", "event-source"]


class CountingStore:
    """Tables whose changes are counted: what was computed from them holds until ``generation`` is another."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.generation = 0
        """A number that grows with every change."""
        self._watchers: list[Callable[[], None]] = []
        database.on_rollback(self._changed)

    def watch(self, changed: Callable[[], None]) -> None:
        """Call *changed* after every write from now on, still within the transaction."""
        self._watchers.append(changed)

    def _write(self, sql: str, values: tuple[Any, ...] = ()) -> None:
        self._changed()
        self._database.write(sql, values)
        for changed in self._watchers:
            changed()

    def _changed(self) -> None:
        self.generation += 1


class CatalogStore(CountingStore):
    """The tables of ``schema/``; answers what this tick has written."""

    def service(self, tenant: Tenant, name: str) -> Service | None:
        """Return a service."""
        row = self._database.read(_ONE_SERVICE, (tenant.account, tenant.region, name)).fetchone()
        return _service(row) if row else None

    def existing_service(self, tenant: Tenant, name: str) -> Service:
        """Return a service.

        Raises: ServiceNotFound.
        """
        service = self.service(tenant, name)
        if service is None:
            raise FcError("ServiceNotFound", service=name)
        return service

    def services(self, tenant: Tenant, part: Slice) -> list[Service]:
        """Return some services."""
        sql = f"SELECT {_SERVICE} FROM fc_services WHERE account = ? AND region = ?"  # noqa: S608 - constants
        return [_service(row) for row in self._named(sql, (tenant.account, tenant.region), part, tenant, "services/")]

    def put_service(self, tenant: Tenant, service: Service) -> None:
        """Write a service, new or not."""
        values = (
            tenant.account, tenant.region, service.name, service.id, config_json(service.config),
            service.created_at, service.modified_at, service.revision, service.last_version, service.folder,
            None if service.base is None else config_json(service.base), _encode(dict(service.changed)),
        )  # fmt: skip
        self._write(_PUT_SERVICE, values)

    def delete_service(self, tenant: Tenant, name: str) -> None:
        """Remove a service and its tags."""
        where = (tenant.account, tenant.region, name)
        self._write("DELETE FROM fc_services WHERE account = ? AND region = ? AND name = ?", where)
        self.delete_tags(tenant, f"services/{name}", None)

    def function(self, tenant: Tenant, service: str, name: str, version: int = 0) -> Function | None:
        """Return a function as it is in *version*."""
        where = (tenant.account, tenant.region, service, version, name)
        row = self._database.read(_ONE_FUNCTION, where).fetchone()
        return _function(row) if row else None

    def functions(self, tenant: Tenant, service: str, version: int, part: Slice = EVERY) -> list[Function]:
        """Return some functions of a service in *version*, or the 3.0 functions when *service* is empty."""
        sql = (
            f"SELECT {_FUNCTION} FROM fc_functions "  # noqa: S608 - constants
            "WHERE account = ? AND region = ? AND service = ? AND version = ?"
        )
        where = (tenant.account, tenant.region, service, version)
        return [_function(row) for row in self._named(sql, where, part, tenant, "functions/")]

    def put_function(self, tenant: Tenant, function: Function) -> None:
        """Write a function, new or not."""
        code = function.code
        values = (
            tenant.account, tenant.region, function.service, function.version, function.name, function.id,
            config_json(function.config), code and code.digest, code and code.folder, code and code.checksum,
            code and code.size, function.created_at, function.modified_at, function.revision, function.last_version,
            function.folder, None if function.base is None else config_json(function.base),
            _encode(dict(function.changed)), function.problem, json.dumps(function.triggers),
        )  # fmt: skip
        self._write(_PUT_FUNCTION, values)

    def delete_function(self, tenant: Tenant, service: str, name: str, version: int = 0) -> None:
        """Remove a function of one version; the head takes its tags with it."""
        self._write(
            "DELETE FROM fc_functions WHERE account = ? AND region = ? AND service = ? AND version = ? AND name = ?",
            (tenant.account, tenant.region, service, version, name),
        )
        if not service and not version:
            self.delete_tags(tenant, f"functions/{name}", None)

    def version(self, tenant: Tenant, scope: Scope, number: int) -> Version | None:
        """Return a published version."""
        sql = f"SELECT {_VERSION} FROM fc_versions WHERE {_IN_SCOPE} AND number = ?"  # noqa: S608 - constants
        row = self._database.read(sql, (*_scoped(tenant, scope), number)).fetchone()
        return _version(row) if row else None

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
        sql = f"SELECT {_VERSION} FROM fc_versions WHERE {_IN_SCOPE} AND {bound} ORDER BY number {order} LIMIT ?"  # noqa: S608 - constants
        rows = self._database.read(sql, (*_scoped(tenant, scope), start, limit + 1))
        return [_version(row) for row in rows]

    def put_version(self, tenant: Tenant, version: Version) -> None:
        """Write a version."""
        values = (
            *_scoped(tenant, version.scope), version.number, version.description,
            None if version.config is None else config_json(version.config), version.content, version.created_at,
            version.modified_at, version.folder,
        )  # fmt: skip
        self._write(_PUT_VERSION, values)

    def delete_version(self, tenant: Tenant, scope: Scope, number: int) -> None:
        """Remove a version and its frozen functions."""
        where = (*_scoped(tenant, scope), number)
        self._write(f"DELETE FROM fc_versions WHERE {_IN_SCOPE} AND number = ?", where)  # noqa: S608 - constants
        sql = "DELETE FROM fc_functions WHERE account = ? AND region = ? AND service = ? AND version = ?"
        if scope.service:
            self._write(sql, (tenant.account, tenant.region, scope.service, number))
        else:
            self._write(sql + " AND name = ?", (tenant.account, tenant.region, "", number, scope.function))

    def alias(self, tenant: Tenant, scope: Scope, name: str) -> Alias | None:
        """Return an alias."""
        sql = f"SELECT {_ALIAS} FROM fc_aliases WHERE {_IN_SCOPE} AND name = ?"  # noqa: S608 - constants
        row = self._database.read(sql, (*_scoped(tenant, scope), name)).fetchone()
        return _alias(row) if row else None

    def aliases(self, tenant: Tenant, scope: Scope, part: Slice = EVERY) -> list[Alias]:
        """Return some aliases."""
        sql = f"SELECT {_ALIAS} FROM fc_aliases WHERE {_IN_SCOPE}"  # noqa: S608 - constants
        return [_alias(row) for row in self._named(sql, _scoped(tenant, scope), part)]

    def put_alias(self, tenant: Tenant, alias: Alias) -> None:
        """Write an alias, new or not."""
        values = (
            *_scoped(tenant, alias.scope), alias.name, alias.id, alias.version_id, alias.description,
            json.dumps(dict(alias.weights)), alias.resolve_policy,
            None if alias.route_policy is None else json.dumps(alias.route_policy), alias.created_at,
            alias.modified_at, alias.revision, alias.folder,
        )  # fmt: skip
        self._write(_PUT_ALIAS, values)

    def delete_alias(self, tenant: Tenant, scope: Scope, name: str) -> None:
        """Remove an alias."""
        sql = f"DELETE FROM fc_aliases WHERE {_IN_SCOPE} AND name = ?"  # noqa: S608 - constants
        self._write(sql, (*_scoped(tenant, scope), name))

    def delete_scope(self, tenant: Tenant, scope: Scope) -> list[int]:
        """Remove the versions and aliases of a scope; return the numbers of the versions."""
        for alias in self.aliases(tenant, scope):
            self.delete_alias(tenant, scope, alias.name)
        numbers = [version.number for version in self.versions(tenant, scope)]
        for number in numbers:
            self.delete_version(tenant, scope, number)
        return numbers

    def remains(self, tenant: Tenant, service: str) -> str:
        """Return what a service still has: ``functions``, ``aliases``, ``versions``, or nothing."""
        scope, one = Scope(service=service), Slice(limit=1)
        if self.functions(tenant, service, 0, one):
            return "functions"
        if self.aliases(tenant, scope, one):
            return "aliases"
        return "versions" if self.versions(tenant, scope, limit=1) else ""

    def tags(self, tenant: Tenant, resource: str) -> dict[str, str]:
        """Return the tags of ``services/x`` or ``functions/x``."""
        sql = "SELECT key, value FROM fc_tags WHERE account = ? AND region = ? AND resource = ? ORDER BY key"
        return dict(self._database.read(sql, (tenant.account, tenant.region, resource)).fetchall())

    def put_tags(self, tenant: Tenant, resource: str, tags: Mapping[str, str]) -> None:
        """Set some tags; others stay."""
        rows = [(tenant.account, tenant.region, resource, key, value) for key, value in tags.items()]
        self._write_many("INSERT OR REPLACE INTO fc_tags VALUES (?, ?, ?, ?, ?)", rows)

    def delete_tags(self, tenant: Tenant, resource: str, keys: list[str] | None) -> None:
        """Remove some tags, or all of them."""
        sql = "DELETE FROM fc_tags WHERE account = ? AND region = ? AND resource = ?"
        if keys is None:
            self._write(sql, (tenant.account, tenant.region, resource))
        else:
            rows = [(tenant.account, tenant.region, resource, key) for key in keys]
            self._write_many(sql + " AND key = ?", rows)

    def tagged(self, tenant: Tenant, kind: str, part: Slice) -> list[str]:
        """Return the resources (``services/x``) of *kind* (``services/``) that carry any tag."""
        start = max(kind, kind + part.start)
        rows = self._database.read(
            "SELECT DISTINCT resource FROM fc_tags WHERE account = ? AND region = ? AND resource >= ? AND resource < ? "
            "ORDER BY resource LIMIT ?",
            (tenant.account, tenant.region, start, kind + ABOVE_ALL_NAMES, part.limit + 1),
        )
        return [row[0] for row in rows]

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

    def loaded(self, tenant: Tenant) -> Loaded:
        """Return everything that was loaded from the functions folder."""
        where = "WHERE account = ? AND region = ? AND folder <> ''"
        mine = (tenant.account, tenant.region)

        def rows(columns: str, table: str) -> list[Any]:
            return self._database.read(f"SELECT {columns} FROM {table} {where}", mine).fetchall()  # noqa: S608 - constants

        services = [_service(row) for row in rows(_SERVICE, "fc_services")]
        functions = [_function(row) for row in rows(_FUNCTION, "fc_functions")]
        versions = [_version(row) for row in rows(_VERSION, "fc_versions")]
        aliases = [_alias(row) for row in rows(_ALIAS, "fc_aliases")]
        return Loaded(
            services={service.name: service for service in services},
            functions={(function.service, function.name, function.version): function for function in functions},
            versions={(version.scope, version.number): version for version in versions},
            aliases={(alias.scope, alias.name): alias for alias in aliases},
        )

    def keys(self) -> list[tuple[Tenant, str, str, int]]:
        """Return (tenant, service, name, version) of every function."""
        rows = self._database.read("SELECT account, region, service, name, version FROM fc_functions")
        return [(Tenant(account, region), service, name, version) for account, region, service, name, version in rows]

    def names(self, tenant: Tenant, containing: str, start: tuple[str, str], limit: int) -> list[tuple[str, str]]:
        """Return (service, name) of the functions with *containing* in their names, from *start* on, in order."""
        rows = self._database.read(
            "SELECT service, name FROM fc_functions WHERE account = ? AND region = ? AND version = 0"
            " AND (service, name) >= (?, ?) AND instr(lower(service || '/' || name), ?) ORDER BY service, name LIMIT ?",
            (tenant.account, tenant.region, *start, containing.lower(), limit),
        )
        return [(service, name) for service, name in rows]

    def counts(self) -> dict[str, int]:
        """Return how many services and functions there are in all tenants."""
        (services,) = self._database.read("SELECT count(*) FROM fc_services").fetchone()
        (functions,) = self._database.read("SELECT count(*) FROM fc_functions WHERE version = 0").fetchone()
        return {"services": services, "functions": functions}

    def digests(self) -> set[str]:
        """Return the code packages any function or layer of any tenant refers to."""
        rows = self._database.read(
            "SELECT code_digest FROM fc_functions WHERE code_digest <> '' "
            "UNION SELECT code_digest FROM fc_layer_versions"
        )
        return {row[0] for row in rows}

    def clear(self) -> None:
        """Remove everything."""
        for table in ("fc_services", "fc_functions", "fc_versions", "fc_aliases", "fc_tags", "fc_attachments"):
            self._write(f"DELETE FROM {table}")  # noqa: S608 - constants

    def _write_many(self, sql: str, rows: Sequence[tuple[str, ...]]) -> None:
        self._changed()
        self._database.write_many(sql, rows)
        for changed in self._watchers:
            changed()

    def _named(
        self, sql: str, where: tuple[Any, ...], part: Slice, tenant: Tenant | None = None, kind: str = ""
    ) -> list[Any]:
        """Run a list by name; *kind* is the resource prefix tags are kept under."""
        values = [*where]
        for key, value in part.tags.items():
            if tenant is not None:
                sql += (
                    " AND EXISTS (SELECT 1 FROM fc_tags WHERE account = ? AND region = ? AND resource = ? || name "
                    "AND key = ? AND ? IN ('', value))"
                )
                values += [tenant.account, tenant.region, kind, key, value]
        return self._database.read(f"{sql} AND {SLICED}", (*values, *part.bounds)).fetchall()


def _at(owner: FunctionRef, kind: AttachmentKind) -> tuple[str, ...]:
    return (owner.tenant.account, owner.tenant.region, kind, owner.service, owner.function, owner.qualifier)


def _scoped(tenant: Tenant, scope: Scope) -> tuple[str, str, str, str]:
    return (tenant.account, tenant.region, scope.service, scope.function)


def _service(row: Any) -> Service:
    (name, service_id, config, created_at, modified_at, revision, last_version, folder, base, changed) = row
    return Service(
        name=name, id=service_id, config=ServiceConfig(**parse_values(config)), created_at=created_at,
        modified_at=modified_at, revision=revision, last_version=last_version, folder=folder,
        base=None if base is None else ServiceConfig(**parse_values(base)), changed=json.loads(changed),
    )  # fmt: skip


def _function(row: Any) -> Function:
    (
        service, version, name, function_id, config, digest, code_folder, checksum, size, created_at, modified_at,
        revision, last_version, folder, base, changed, problem, triggers,
    ) = row  # fmt: skip
    code = None if checksum is None else Code(checksum=checksum, size=size, digest=digest, folder=code_folder)
    return Function(
        service=service, version=version, name=name, id=function_id,
        config=FunctionConfig(**parse_values(config)), code=code, created_at=created_at, modified_at=modified_at,
        revision=revision, last_version=last_version, folder=folder,
        base=None if base is None else FunctionConfig(**parse_values(base)), changed=parse_values(changed),
        problem=problem, triggers=tuple(json.loads(triggers)),
    )  # fmt: skip


def _version(row: Any) -> Version:
    service, function, number, description, config, content, created_at, modified_at, folder = row
    return Version(
        scope=Scope(service, function), number=number, description=description,
        config=None if config is None else ServiceConfig(**parse_values(config)), content=content,
        created_at=created_at, modified_at=modified_at, folder=folder,
    )  # fmt: skip


def _alias(row: Any) -> Alias:
    (
        service, function, name, alias_id, version_id, description, weights, resolve_policy, route_policy, created_at,
        modified_at, revision, folder,
    ) = row  # fmt: skip
    return Alias(
        scope=Scope(service, function), name=name, id=alias_id, version_id=version_id, description=description,
        weights=json.loads(weights), resolve_policy=resolve_policy,
        route_policy=None if route_policy is None else json.loads(route_policy), created_at=created_at,
        modified_at=modified_at, revision=revision, folder=folder,
    )  # fmt: skip
