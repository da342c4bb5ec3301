"""The triggers' table. Few functions have more than a handful, so everything but one probe reads small ranges."""

import json
from typing import Any

from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.fc.catalog.store import CountingStore
from emulator.services.fc.model import EVERY, SLICED, Slice
from emulator.services.fc.triggers.model import Trigger, TriggerKind

_COLUMNS = (
    "service, function, name, id, kind, config, source_arn, role, qualifier, description, label, created_at, "
    "modified_at, revision, folder"
)
_OWN = "account = ? AND region = ? AND service = ? AND function = ?"


class TriggerStore(CountingStore):
    """Everything triggers keep over a restart."""

    def get(self, tenant: Tenant, service: str, function: str, name: str) -> Trigger | None:
        """Return a trigger."""
        sql = f"SELECT {_COLUMNS} FROM fc_triggers WHERE {_OWN} AND name = ?"  # noqa: S608 - constants
        row = self._database.read(sql, (tenant.account, tenant.region, service, function, name)).fetchone()
        return _trigger(row) if row else None

    def some(self, tenant: Tenant, service: str, function: str, part: Slice = EVERY) -> list[Trigger]:
        """Return some triggers of a function by name, one more than the slice's limit when there are more."""
        sql = f"SELECT {_COLUMNS} FROM fc_triggers WHERE {_OWN} AND {SLICED}"  # noqa: S608 - constants
        where = (tenant.account, tenant.region, service, function, *part.bounds)
        return [_trigger(row) for row in self._database.read(sql, where)]

    def of_kind(self, kind: TriggerKind) -> list[tuple[Tenant, Trigger]]:
        """Return all triggers of a kind, of every tenant."""
        sql = f"SELECT account, region, {_COLUMNS} FROM fc_triggers WHERE kind = ?"  # noqa: S608 - constants
        return [(_tenant(row), _trigger(row[2:])) for row in self._database.read(sql, (kind,))]

    def all(self) -> list[tuple[Tenant, Trigger]]:
        """Return every trigger."""
        sql = f"SELECT account, region, {_COLUMNS} FROM fc_triggers ORDER BY service, function, name"  # noqa: S608 - constants
        return [(_tenant(row), _trigger(row[2:])) for row in self._database.read(sql)]

    def put(self, tenant: Tenant, trigger: Trigger) -> None:
        """Write a trigger, new or not."""
        self._write(
            f"INSERT OR REPLACE INTO fc_triggers (account, region, {_COLUMNS}) "  # noqa: S608 - constants
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                tenant.account, tenant.region, trigger.service, trigger.function, trigger.name, trigger.id,
                trigger.kind, json.dumps(trigger.config), trigger.source_arn, trigger.role, trigger.qualifier,
                trigger.description, trigger.label, trigger.created_at, trigger.modified_at, trigger.revision,
                trigger.folder,
            ),
        )  # fmt: skip

    def delete(self, tenant: Tenant, trigger: Trigger) -> None:
        """Remove a trigger."""
        self._write(
            f"DELETE FROM fc_triggers WHERE {_OWN} AND name = ?",  # noqa: S608 - constants
            (tenant.account, tenant.region, trigger.service, trigger.function, trigger.name),
        )

    def clear(self) -> None:
        """Forget every trigger."""
        self._write("DELETE FROM fc_triggers")


def _tenant(row: Any) -> Tenant:
    return Tenant(AccountId(row[0]), Region(row[1]))


def _trigger(row: Any) -> Trigger:
    (
        service, function, name, trigger_id, kind, config, source_arn, role, qualifier, description, label, created_at,
        modified_at, revision, folder,
    ) = row  # fmt: skip
    return Trigger(
        service=service, function=function, name=name, id=trigger_id, kind=kind, config=json.loads(config),
        source_arn=source_arn, role=role, qualifier=qualifier, description=description, label=label,
        created_at=created_at, modified_at=modified_at, revision=revision, folder=folder,
    )  # fmt: skip
