"""Flow versions and aliases over SQLite."""

from dataclasses import replace
from typing import Any

from emulator.kernel.clock import Millis
from emulator.services.workflow.model import FlowId, FlowRecord
from emulator.services.workflow.version_model import AliasRecord, Route, VersionRecord
from emulator.storage.database import Database

_ALIAS = "SELECT name, description, created_at, version, weight, other_version, other_weight FROM workflow_aliases"


class SqliteVersionStore:
    """Implements `VersionStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # --- versions ------------------------------------------------------------------------------------------------

    def publish(self, flow: FlowRecord, description: str, now: Millis) -> VersionRecord:
        """Keep *flow* as it is under the next number; numbers are never given twice."""
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

    # --- aliases -------------------------------------------------------------------------------------------------

    def put_alias(self, flow: FlowRecord, alias: AliasRecord) -> None:
        """Keep an alias, new or changed."""
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
        row = self._database.read(
            "SELECT name FROM workflow_aliases WHERE flow = ? AND ? IN (version, other_version) ORDER BY name LIMIT 1",
            (flow, number),
        ).fetchone()
        return None if row is None else str(row[0])

    def remove_alias(self, flow: FlowId, name: str) -> None:
        """Remove an alias."""
        self._database.write("DELETE FROM workflow_aliases WHERE flow = ? AND name = ?", (flow, name))

    def remove_of(self, flow: FlowId) -> None:
        """Remove every version and alias of a flow."""
        for table in ("versions", "aliases"):
            self._database.write(f"DELETE FROM workflow_{table} WHERE flow = ?", (flow,))  # noqa: S608 - names from the tuple above

    def clear(self) -> None:
        """Forget all versions and aliases."""
        for table in ("versions", "aliases"):
            self._database.write(f"DELETE FROM workflow_{table}")  # noqa: S608 - names from the tuple above


def _alias(row: tuple[Any, ...]) -> AliasRecord:
    name, description, created_at, version, weight, other_version, other_weight = row
    routes = [Route(version, weight)]
    if other_version is not None:
        routes.append(Route(other_version, other_weight))
    return AliasRecord(name=name, description=description, routes=tuple(routes), created_at=created_at)
