"""Numbers for tenants: rows of the tables have the number, everything else the `Tenant`; and emptying all tables."""

from pathlib import Path

from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.workflow.model import TenantId
from emulator.storage.database import Database
from emulator.storage.migration import Schema

SCHEMA = Schema("workflow", Path(__file__).parent / "schema")

_TABLES = (
    "callbacks", "calls", "wakeups", "turns", "executions", "map_runs", "schedules", "aliases", "versions",
    "definitions", "flows",
)  # fmt: skip
"""The tables with data of tenants, each before the tables that it refers to."""


class Tenants:
    """Translates between tenants and their numbers; a tenant gets one when it first needs it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ids: dict[Tenant, TenantId] = {}
        self._tenants: dict[int, Tenant] = {}
        database.on_rollback(self._forget)

    def id_of(self, tenant: Tenant) -> TenantId:
        """Return the number of *tenant*."""
        known = self._ids.get(tenant)
        if known is not None:
            return known
        read = self._database.read
        where = (tenant.account, tenant.region)
        row = read("SELECT id FROM workflow_worlds WHERE account = ? AND region = ?", where).fetchone()
        if row is None:
            row = self._database.write(
                "INSERT INTO workflow_worlds (account, region) VALUES (?, ?) RETURNING id", where
            ).fetchone()
        self._ids[tenant] = TenantId(row[0])
        self._tenants[row[0]] = tenant
        return self._ids[tenant]

    def by_id(self, tenant_id: int) -> Tenant:
        """Return the tenant of a number in a table."""
        known = self._tenants.get(tenant_id)
        if known is None:
            row = self._database.read(
                "SELECT account, region FROM workflow_worlds WHERE id = ?", (tenant_id,)
            ).fetchone()
            known = self._tenants[tenant_id] = Tenant(AccountId(row[0]), Region(row[1]))
        return known

    def clear(self) -> None:
        """Delete the data of all tenants."""
        for table in _TABLES:
            self._database.write(f"DELETE FROM workflow_{table}")  # noqa: S608 - names from the tuple above

    def _forget(self) -> None:
        self._ids.clear()
        self._tenants.clear()
