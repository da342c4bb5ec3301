"""The tables of flows: flows with their definitions, versions and aliases."""

import hashlib
from collections.abc import Callable
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import replace
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.workflow.model import (
    FLOW,
    AliasRecord,
    DefinitionId,
    FlowId,
    FlowRecord,
    FlowSettings,
    Route,
    VersionRecord,
)
from emulator.services.workflow.tenants import Tenants
from emulator.storage.database import Database
from emulator.storage.rows import row_of

_SETTINGS = row_of(FLOW)
_FLOW = (
    f"SELECT f.id, f.name, f.uuid, d.text, d.id, f.{_SETTINGS.text.replace(', ', ', f.')}, f.created_at, f.modified_at"  # noqa: S608 - constants
    " FROM workflow_flows f JOIN workflow_definitions d ON d.id = f.definition"
)
_NEW = ("world", "name", "uuid", *_SETTINGS.names, "created_at", "modified_at")
_ADD = (
    f"INSERT INTO workflow_flows (definition, {', '.join(_NEW)}) "  # noqa: S608 - constants
    f"VALUES (0, {', '.join('?' * len(_NEW))}) RETURNING id"
)
_CHANGED = ", ".join(f"{each} = ?" for each in ("definition", *_SETTINGS.names, "modified_at"))
_CHANGE = f"UPDATE workflow_flows SET {_CHANGED} WHERE id = ?"  # noqa: S608 - constants
_ALIAS = "SELECT name, description, created_at, version, weight, other_version, other_weight FROM workflow_aliases"

_KNOWN = 128
"""How many flows are cached."""


def _unwatched(_: DefinitionId) -> None:
    """Do nothing."""


class FlowStore:
    """Flows, their definitions, versions and aliases."""

    def __init__(self, database: Database, tenants: Tenants) -> None:
        self._database = database
        self._tenants = tenants
        self._known: dict[tuple[Tenant, str], FlowRecord] = {}
        """A cache of flows, emptied by any change of a flow."""
        self._on_new: Callable[[DefinitionId], None] = _unwatched
        database.on_rollback(self.forget)

    def forget(self) -> None:
        """Empty the cache of flows."""
        self._known.clear()

    def add(self, tenant: Tenant, name: str, uuid: str, definition: str, settings: FlowSettings, now: Millis) -> None:
        """Store a new flow."""
        self.forget()
        tenant_id = self._tenants.id_of(tenant)
        flow = self._database.write(_ADD, (tenant_id, name, uuid, *_SETTINGS.values(settings), now, now)).fetchone()[0]
        definition_id = self._definition_id(tenant_id, flow, definition)
        self._database.write("UPDATE workflow_flows SET definition = ? WHERE id = ?", (definition_id, flow))

    def change(self, flow: FlowRecord, definition: str, settings: FlowSettings, now: Millis) -> None:
        """Replace a flow's definition and settings; executions that run keep theirs."""
        self.forget()
        tenant_id = self._database.read("SELECT world FROM workflow_flows WHERE id = ?", (flow.id,)).fetchone()[0]
        self._database.write(
            _CHANGE,
            (self._definition_id(tenant_id, flow.id, definition), *_SETTINGS.values(settings), now, flow.id),
        )

    def delete(self, flow: FlowRecord) -> None:
        """Mark a flow as deleted, and remove its versions and aliases; its row is removed after its executions."""
        self.forget()
        self._database.write("UPDATE workflow_flows SET deleted = 1 WHERE id = ?", (flow.id,))
        for table in ("versions", "aliases"):
            self._database.write(f"DELETE FROM workflow_{table} WHERE flow = ?", (flow.id,))  # noqa: S608 - names from the tuple above

    def get(self, tenant: Tenant, name: str) -> FlowRecord | None:
        """Return a flow."""
        known = self._known.get((tenant, name))
        if known is not None:
            return known
        row = self._database.read(
            f"{_FLOW} WHERE f.world = ? AND f.name = ? AND f.deleted = 0", (self._tenants.id_of(tenant), name)
        ).fetchone()
        if row is None:
            return None
        if len(self._known) >= _KNOWN:
            self.forget()
        flow = self._known[tenant, name] = _flow(row)
        return flow

    def page(self, tenant: Tenant, start: str, limit: int, resource_group: str) -> list[FlowRecord]:
        """Return up to *limit* flows by name, from *start* on."""
        rows = self._database.read(
            f"{_FLOW} WHERE f.world = ? AND f.deleted = 0 AND f.name >= ? AND (? = '' OR f.resource_group = ?)"
            " ORDER BY f.name LIMIT ?",
            (self._tenants.id_of(tenant), start, resource_group, resource_group, limit),
        )
        return [_flow(row) for row in rows]

    def names_with(self, tenant: Tenant, containing: str, limit: int) -> list[str]:
        """Return up to *limit* names of flows that contain *containing*, given in lower case, sorted."""
        where = "world = ? AND deleted = 0 AND instr(lower(name), ?) ORDER BY name LIMIT ?"
        values = self._tenants.id_of(tenant), containing, limit
        return [name for (name,) in self._database.read(f"SELECT name FROM workflow_flows WHERE {where}", values)]  # noqa: S608 - constants

    def tenants(self) -> dict[Tenant, int]:
        """Return how many flows each account has in each region where it has some."""
        rows = self._database.read(
            "SELECT w.account, w.region, count(*) FROM workflow_worlds w JOIN workflow_flows f ON f.world = w.id"
            " WHERE f.deleted = 0 GROUP BY w.account, w.region"
        )
        return {Tenant(AccountId(row[0]), Region(row[1])): row[2] for row in rows}

    def count(self, tenant: Tenant) -> int:
        """Return how many flows there are."""
        return int(
            self._database.read(
                "SELECT count(*) FROM workflow_flows WHERE world = ? AND deleted = 0", (self._tenants.id_of(tenant),)
            ).fetchone()[0]
        )

    def watch_definitions(self, on_new: Callable[[DefinitionId], None]) -> None:
        """Call *on_new* with the id of each new definition; a removed definition may have had the same id before."""
        self._on_new = on_new

    def definition(self, definition: DefinitionId) -> str:
        """Return a definition's text, empty when it was removed."""
        row = self._database.read("SELECT text FROM workflow_definitions WHERE id = ?", (definition,)).fetchone()
        return "" if row is None else str(row[0])

    def keep_definition(self, flow: FlowRecord, text: str) -> FlowRecord:
        """Return *flow* with the definition *text*, which is stored for executions; the flow's own does not change."""
        tenant_id = self._database.read("SELECT world FROM workflow_flows WHERE id = ?", (flow.id,)).fetchone()[0]
        definition = DefinitionId(self._definition_id(tenant_id, flow.id, text))
        return replace(flow, definition=text, definition_id=definition)

    def _definition_id(self, tenant_id: int, flow: int, text: str) -> int:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        row = self._database.read(
            "SELECT id FROM workflow_definitions WHERE flow = ? AND digest = ?", (flow, digest)
        ).fetchone()
        if row is None:
            row = self._database.write(
                "INSERT INTO workflow_definitions (world, flow, digest, text) VALUES (?, ?, ?, ?) RETURNING id",
                (tenant_id, flow, digest, text),
            ).fetchone()
            self._on_new(DefinitionId(row[0]))
        return int(row[0])

    def publish(self, flow: FlowRecord, description: str, now: Millis) -> VersionRecord:
        """Store *flow* as it is under the next version number; numbers are never reused."""
        number, tenant = self._database.write(
            "UPDATE workflow_flows SET versions_made = versions_made + 1 WHERE id = ? RETURNING versions_made, world",
            (flow.id,),
        ).fetchone()
        settings = flow.settings
        self._database.write(
            "INSERT INTO workflow_versions (flow, number, world, note, published_at, definition, description, type,"
            " role_arn, environment, modified_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                flow.id, number, tenant, description, now, flow.definition_id, settings.description, settings.type,
                settings.role_arn, settings.environment, flow.modified_at,
            ),
        )  # fmt: skip
        return VersionRecord(number=number, description=description, created_at=now)

    def flow_at(self, flow: FlowRecord, number: int) -> FlowRecord | None:
        """Return *flow* as it was when version *number* was published."""
        row = self._database.read(
            "SELECT v.definition, d.text, v.description, v.type, v.role_arn, v.environment, v.modified_at"
            " FROM workflow_versions v JOIN workflow_definitions d ON d.id = v.definition"
            " WHERE v.flow = ? AND v.number = ?",
            (flow.id, number),
        ).fetchone()
        if row is None:
            return None
        definition_id, definition, description, kind, role_arn, environment, modified_at = row
        return replace(
            flow,
            definition=definition,
            definition_id=definition_id,
            settings=replace(
                flow.settings, description=description, type=kind, role_arn=role_arn, environment=environment
            ),
            modified_at=modified_at,
            version=str(number),
        )

    def versions(self, flow: FlowId, start: int, limit: int) -> list[VersionRecord]:
        """Return up to *limit* versions, newest first, from number *start* down."""
        rows = self._database.read(
            "SELECT number, note, published_at FROM workflow_versions WHERE flow = ? AND number <= ?"
            " ORDER BY number DESC LIMIT ?",
            (flow, start, limit),
        )
        return [VersionRecord(number=number, description=note, created_at=at) for number, note, at in rows]

    def remove_version(self, flow: FlowId, number: int) -> None:
        """Remove a version; executions that run it go on."""
        self._database.write("DELETE FROM workflow_versions WHERE flow = ? AND number = ?", (flow, number))

    def put_alias(self, flow: FlowRecord, alias: AliasRecord) -> None:
        """Store an alias, new or changed."""
        other = alias.routes[1] if len(alias.routes) > 1 else (None, None)
        self._database.write(
            "INSERT OR REPLACE INTO workflow_aliases (flow, name, world, description, created_at, version, weight,"
            " other_version, other_weight) SELECT id, ?, world, ?, ?, ?, ?, ?, ? FROM workflow_flows WHERE id = ?",
            (alias.name, alias.description, alias.created_at, *alias.routes[0], *other, flow.id),
        )

    def alias(self, flow: FlowId, name: str) -> AliasRecord | None:
        """Return an alias."""
        row = self._database.read(f"{_ALIAS} WHERE flow = ? AND name = ?", (flow, name)).fetchone()
        return None if row is None else _alias(row)

    def aliases(self, flow: FlowId, start: str, limit: int) -> list[AliasRecord]:
        """Return up to *limit* aliases by name, from *start* on."""
        rows = self._database.read(f"{_ALIAS} WHERE flow = ? AND name >= ? ORDER BY name LIMIT ?", (flow, start, limit))
        return [_alias(row) for row in rows]

    def alias_of(self, flow: FlowId, number: int) -> str | None:
        """Return the name of an alias that leads to version *number*."""
        for column in ("version", "other_version"):
            row = self._database.read(
                f"SELECT name FROM workflow_aliases INDEXED BY workflow_aliases_by_{column}"  # noqa: S608 - constants
                f" WHERE flow = ? AND {column} = ? ORDER BY name LIMIT 1",
                (flow, number),
            ).fetchone()
            if row is not None:
                return str(row[0])
        return None

    def remove_alias(self, flow: FlowId, name: str) -> None:
        """Remove an alias."""
        self._database.write("DELETE FROM workflow_aliases WHERE flow = ? AND name = ?", (flow, name))


def _flow(row: tuple[Any, ...]) -> FlowRecord:
    """Return the record of a row with the columns of `_FLOW`, which are in the order of its fields."""
    flow, name, uuid, text, definition, *settings, created_at, modified_at = row
    return FlowRecord(flow, name, uuid, text, definition, _SETTINGS.item(settings), created_at, modified_at)


def _alias(row: tuple[Any, ...]) -> AliasRecord:
    name, description, created_at, version, weight, other_version, other_weight = row
    routes = [Route(version, weight)]
    if other_version is not None:
        routes.append(Route(other_version, other_weight))
    return AliasRecord(name=name, description=description, routes=tuple(routes), created_at=created_at)
