"""The custom domains' table. A name is there once, whoever owns it."""

import json
from typing import Any

from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.fc.domain_model import Domain
from emulator.services.fc.store import Slice
from emulator.storage.database import Database

_COLUMNS = "name, account, region, id, api, config, created_at, modified_at, revision"
_ABOVE_ALL_NAMES = "\U0010ffff"


class DomainStore:
    """Everything custom domains keep over a restart."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._generation = 0
        database.on_rollback(self._changed)

    @property
    def generation(self) -> int:
        """A number that grows with every change."""
        return self._generation

    def get(self, name: str) -> Domain | None:
        """Return a domain of whatever account."""
        sql = f"SELECT {_COLUMNS} FROM fc_domains WHERE name = ?"  # noqa: S608 - constants
        row = self._database.read(sql, (name,)).fetchone()
        return _domain(row) if row else None

    def some(self, tenant: Tenant, part: Slice) -> list[Domain]:
        """Return some domains by name, one more than the slice's limit when there are more."""
        sql = (
            f"SELECT {_COLUMNS} FROM fc_domains WHERE account = ? AND region = ? "  # noqa: S608 - constants
            "AND name >= ? AND name < ? ORDER BY name LIMIT ?"
        )
        start = max(part.start, part.prefix)
        values = (tenant.account, tenant.region, start, part.prefix + _ABOVE_ALL_NAMES, part.limit + 1)
        return [_domain(row) for row in self._database.read(sql, values)]

    def all(self) -> list[Domain]:
        """Return every domain."""
        return [_domain(row) for row in self._database.read(f"SELECT {_COLUMNS} FROM fc_domains")]  # noqa: S608 - constants

    def put(self, domain: Domain) -> None:
        """Write a domain, new or not."""
        self._changed()
        self._database.write(
            f"INSERT OR REPLACE INTO fc_domains ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - constants
            (
                domain.name, domain.tenant.account, domain.tenant.region, domain.domain_id, domain.api,
                json.dumps(domain.config), domain.created_at, domain.modified_at, domain.revision,
            ),
        )  # fmt: skip

    def delete(self, name: str) -> None:
        """Remove a domain."""
        self._changed()
        self._database.write("DELETE FROM fc_domains WHERE name = ?", (name,))

    def clear(self) -> None:
        """Forget every domain."""
        self._changed()
        self._database.write("DELETE FROM fc_domains")

    def _changed(self) -> None:
        self._generation += 1


def _domain(row: Any) -> Domain:
    name, account, region, domain_id, api, config, created_at, modified_at, revision = row
    return Domain(
        name=name, tenant=Tenant(AccountId(account), Region(region)), domain_id=domain_id, api=api,
        config=json.loads(config), created_at=created_at, modified_at=modified_at, revision=revision,
    )  # fmt: skip
