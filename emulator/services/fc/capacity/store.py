"""The table of what is configured about the instances of functions."""

import json
from typing import Any

from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.fc.capacity.model import Kind, Setting
from emulator.services.fc.catalog.store import CountingStore
from emulator.services.fc.model import FunctionRef, Scope

_COLUMNS = "account, region, kind, service, function, qualifier, config, id, revision, created_at, modified_at"
_KEY = "account = ? AND region = ? AND kind = ? AND service = ? AND function = ? AND qualifier = ?"
_ORDER = "ORDER BY account, region, service, function, qualifier"


class CapacityStore(CountingStore):
    """The table ``fc_capacity``."""

    def get(self, kind: Kind, place: FunctionRef) -> Setting | None:
        """Return the configuration of exactly this place."""
        row = self._database.read(f"SELECT {_COLUMNS} FROM fc_capacity WHERE {_KEY}", _key(kind, place)).fetchone()  # noqa: S608 - constants
        return _setting(row) if row else None

    def of_function(self, tenant: Tenant, service: str, function: str) -> list[Setting]:
        """Return everything configured for a function."""
        rows = self._database.read(
            f"SELECT {_COLUMNS} FROM fc_capacity WHERE account = ? AND region = ? AND service = ? AND function = ?",  # noqa: S608 - constants
            (tenant.account, tenant.region, service, function),
        )
        return [_setting(row) for row in rows]

    def of_qualifier(self, tenant: Tenant, scope: Scope, qualifier: str) -> list[Setting]:
        """Return everything configured for an alias or version, of every function of a service."""
        rows = self._database.read(
            f"SELECT {_COLUMNS} FROM fc_capacity WHERE account = ? AND region = ? AND service = ? "  # noqa: S608 - constants
            "AND ? IN ('', function) AND qualifier = ?",
            (tenant.account, tenant.region, scope.service, scope.function, qualifier),
        )
        return [_setting(row) for row in rows]

    def list(self, kind: Kind, tenant: Tenant | None = None) -> list[Setting]:
        """Return the configurations of a kind by service, function and qualifier, of one tenant or of all."""
        sql, values = f"SELECT {_COLUMNS} FROM fc_capacity WHERE kind = ?", [kind.value]  # noqa: S608 - constants
        if tenant is not None:
            sql += " AND account = ? AND region = ?"
            values += [tenant.account, tenant.region]
        return [_setting(row) for row in self._database.read(f"{sql} {_ORDER}", values)]

    def put(self, setting: Setting) -> None:
        """Write a configuration, new or not."""
        self._write(
            f"INSERT OR REPLACE INTO fc_capacity ({_COLUMNS}) VALUES ({', '.join('?' * 11)})",  # noqa: S608 - constants
            (
                *_key(setting.kind, setting.place), json.dumps(dict(setting.config)), setting.setting_id,
                setting.revision, setting.created_at, setting.modified_at,
            ),
        )  # fmt: skip

    def delete(self, *settings: Setting) -> None:
        """Remove configurations."""
        for setting in settings:
            self._write(f"DELETE FROM fc_capacity WHERE {_KEY}", _key(setting.kind, setting.place))  # noqa: S608 - constants

    def clear(self) -> None:
        """Remove everything."""
        self._write("DELETE FROM fc_capacity")


def _key(kind: Kind, place: FunctionRef) -> tuple[str, ...]:
    return (place.tenant.account, place.tenant.region, kind.value, place.service, place.function, place.qualifier)


def _setting(row: Any) -> Setting:
    account, region, kind, service, function, qualifier, config, setting_id, revision, created_at, modified_at = row
    return Setting(
        kind=Kind(kind), place=FunctionRef(Tenant(AccountId(account), Region(region)), service, function, qualifier),
        config=json.loads(config), setting_id=setting_id, created_at=created_at, modified_at=modified_at,
        revision=revision,
    )  # fmt: skip
