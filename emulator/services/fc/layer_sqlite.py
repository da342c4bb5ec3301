"""The tables of layers and their versions."""

import json
from typing import Any

from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.services.fc.layer_model import LayerVersion
from emulator.services.fc.model import Code
from emulator.services.fc.store import Slice
from emulator.storage.database import Database

_COLUMNS = (
    "v.name, v.version, v.description, v.license, v.runtimes, v.code_digest, v.code_checksum, v.code_size, "
    "v.created_at, l.public, v.deleted"
)
_FROM = "fc_layer_versions v JOIN fc_layers l USING (account, region, name)"
_OWN = "v.account = ? AND v.region = ?"
_ABOVE_ALL_NAMES = "\U0010ffff"


class LayerStore:
    """Everything layers keep over a restart."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def version(self, tenant: Tenant, name: str, number: int) -> LayerVersion | None:
        """Return a version, also a deleted one."""
        sql = f"SELECT {_COLUMNS} FROM {_FROM} WHERE {_OWN} AND v.name = ? AND v.version = ?"  # noqa: S608 - constants
        row = self._database.read(sql, (tenant.account, tenant.region, name, number)).fetchone()
        return _version(row) if row else None

    def versions(self, tenant: Tenant, name: str, start: int, limit: int) -> list[LayerVersion]:
        """Return some versions by number, one more than *limit* when there are more."""
        sql = (
            f"SELECT {_COLUMNS} FROM {_FROM} WHERE {_OWN} AND v.name = ? "  # noqa: S608 - constants
            "AND v.version >= ? AND NOT v.deleted ORDER BY v.version LIMIT ?"
        )
        rows = self._database.read(sql, (tenant.account, tenant.region, name, start, limit + 1))
        return [_version(row) for row in rows]

    def newest(self, tenant: Tenant, part: Slice, *, public: bool) -> list[tuple[Tenant, LayerVersion]]:
        """Return the newest version of some layers by name: the caller's, or the public ones of every account."""
        whose = "l.public AND v.region = ?" if public else _OWN
        sql = (
            f"SELECT v.account, v.region, {_COLUMNS} FROM {_FROM} WHERE {whose} "  # noqa: S608 - constants
            "AND v.name >= ? AND v.name < ? AND NOT v.deleted AND v.version = (SELECT max(o.version) "
            "FROM fc_layer_versions o WHERE o.account = v.account AND o.region = v.region AND o.name = v.name "
            "AND NOT o.deleted) ORDER BY v.name LIMIT ?"
        )
        start = max(part.start, part.prefix)
        owner = (tenant.region,) if public else (tenant.account, tenant.region)
        rows = self._database.read(sql, (*owner, start, part.prefix + _ABOVE_ALL_NAMES, part.limit + 1))
        return [(Tenant(AccountId(row[0]), Region(row[1])), _version(row[2:])) for row in rows]

    def last_number(self, tenant: Tenant, name: str) -> int:
        """Return the highest number ever given to a version of the layer, 0 when there is no such layer."""
        sql = "SELECT last_version FROM fc_layers WHERE account = ? AND region = ? AND name = ?"
        row = self._database.read(sql, (tenant.account, tenant.region, name)).fetchone()
        return int(row[0]) if row else 0

    def add(self, tenant: Tenant, version: LayerVersion) -> None:
        """Write a new version, and its layer when that is new."""
        self._database.write(
            "INSERT INTO fc_layers (account, region, name, last_version, public) VALUES (?, ?, ?, ?, 0) "
            "ON CONFLICT DO UPDATE SET last_version = excluded.last_version",
            (tenant.account, tenant.region, version.name, version.number),
        )
        self._database.write(
            "INSERT INTO fc_layer_versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
            (
                tenant.account, tenant.region, version.name, version.number, version.description, version.license,
                json.dumps(version.runtimes), version.code.digest, version.code.checksum, version.code.size,
                version.created_at,
            ),
        )  # fmt: skip

    def set_public(self, tenant: Tenant, name: str, *, public: bool) -> None:
        """Open a layer to other accounts, or close it."""
        sql = "UPDATE fc_layers SET public = ? WHERE account = ? AND region = ? AND name = ?"
        self._database.write(sql, (public, tenant.account, tenant.region, name))

    def remove(self, tenant: Tenant, version: LayerVersion, *, keep_code: bool) -> None:
        """Remove a version; with *keep_code* it stays for those who use it and is seen by nobody else."""
        where = (tenant.account, tenant.region, version.name, version.number)
        own = "WHERE account = ? AND region = ? AND name = ? AND version = ?"
        if keep_code:
            self._database.write(f"UPDATE fc_layer_versions SET deleted = 1 {own}", where)  # noqa: S608 - constants
        else:
            self._database.write(f"DELETE FROM fc_layer_versions {own}", where)  # noqa: S608 - constants

    def is_used(self, arn: str) -> bool:
        """Tell whether some function or published version names the layer version in its configuration."""
        sql = "SELECT 1 FROM fc_functions WHERE instr(config, ?) LIMIT 1"
        return self._database.read(sql, (json.dumps(arn),)).fetchone() is not None

    def clear(self) -> None:
        """Forget every layer."""
        self._database.write("DELETE FROM fc_layer_versions")
        self._database.write("DELETE FROM fc_layers")


def _version(row: Any) -> LayerVersion:
    name, number, description, license_, runtimes, digest, checksum, size, created_at, public, deleted = row
    return LayerVersion(
        name=name, number=number, description=description, license=license_, runtimes=tuple(json.loads(runtimes)),
        code=Code(digest=digest, checksum=checksum, size=size), created_at=created_at, public=bool(public),
        deleted=bool(deleted),
    )  # fmt: skip
