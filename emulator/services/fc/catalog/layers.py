"""Layers: packages that several functions share, in numbered versions that never change.

Source: layers, Function Compute: versions count up and are not reused; a deleted one stays for the functions that use
it.
"""

import json
import logging
import re
from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import AccountId, Tenant
from emulator.services.fc.catalog.code import CodeStore
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.model import SLICED, Code, Slice, arn_of
from emulator.storage.rows import Rows, RowStore
from emulator.wire.schema.kinds import FLAG, TEXTS, Held

OFFICIAL = "official"
"""The account segment of layers that the cloud itself provides."""

_ARN = r"acs:fc:([^:]*):([^:]*):layers/([A-Za-z_][A-Za-z0-9_-]*)(?:#[0-9a-zA-Z]+)?/versions/([0-9]{1,10})"


@frozen
class LayerVersion:
    """A version of a layer. ``deleted`` ones are kept for the functions that use them; ``public`` is the layer's."""

    name: str
    number: int
    description: str
    license: str
    runtimes: tuple[str, ...]
    code: Code
    created_at: Millis
    public: bool = False
    deleted: bool = False


class LayerName(NamedTuple):
    """The parts of the resource name of a layer's version; an empty account is the caller's own."""

    account: AccountId
    name: str
    number: int


def layer_arn(tenant: Tenant, name: str, number: int) -> str:
    """Return the resource name of a layer's version."""
    return arn_of(tenant, f"layers/{name}/versions/{number}")


def parse_layer_arn(arn: str) -> LayerName | None:
    """Read a resource name, in the older form with a digest too; None when it names no layer."""
    match = re.fullmatch(_ARN, arn)
    return LayerName(AccountId(match[2]), match[3], int(match[4])) if match else None


_FROM = "fc_layer_versions v JOIN fc_layers l USING (account, region, name)"
_VERSIONS = Rows(
    LayerVersion,
    _FROM,
    number=Held(lambda number: (number,), int, ("version",)),
    runtimes=TEXTS,
    code=Held(
        attrgetter("digest", "checksum", "size"),
        lambda digest, checksum, size: Code(digest=digest, checksum=checksum, size=size),
        ("code_digest", "code_checksum", "code_size"),
    ),
    public=FLAG,
    deleted=FLAG,
)
_OWN = "account = ? AND region = ?"


class LayerStore(RowStore):
    """The tables ``fc_layers`` and ``fc_layer_versions``."""

    TABLES = (_VERSIONS,)

    def version(self, tenant: Tenant, name: str, number: int) -> LayerVersion | None:
        """Return a version, also a deleted one."""
        return self._one(_VERSIONS, f"{_OWN} AND name = ? AND version = ?", (*tenant, name, number))

    def versions(self, tenant: Tenant, name: str, start: int, limit: int) -> list[LayerVersion]:
        """Return some versions by number, one more than *limit* when there are more."""
        where = f"{_OWN} AND name = ? AND version >= ? AND NOT deleted ORDER BY version LIMIT ?"
        return self._all(_VERSIONS, where, (*tenant, name, start, limit + 1))

    def newest(self, tenant: Tenant, part: Slice, *, public: bool) -> list[tuple[Tenant, LayerVersion]]:
        """Return the newest version of some layers by name: the caller's, or the public ones of every account."""
        whose = "public AND region = ?" if public else _OWN
        sql = (
            f"SELECT account, region, {_VERSIONS.text} FROM fc_layers l CROSS JOIN fc_layer_versions v "  # noqa: S608 - constants
            f"USING (account, region, name) WHERE {whose} AND version = (SELECT o.version FROM fc_layer_versions o "
            "WHERE o.account = l.account AND o.region = l.region AND o.name = l.name AND NOT o.deleted "
            f"ORDER BY o.version DESC LIMIT 1) AND {SLICED}"
        )
        owner = (tenant.region,) if public else tenant
        rows = self._database.read(sql, (*owner, *part.bounds))
        return [(Tenant(*row[:2]), _VERSIONS.item(row[2:])) for row in rows]

    def last_number(self, tenant: Tenant, name: str) -> int:
        """Return the highest number ever given to a version of the layer, 0 when there is no such layer."""
        sql = "SELECT last_version FROM fc_layers WHERE account = ? AND region = ? AND name = ?"
        row = self._database.read(sql, (*tenant, name)).fetchone()
        return int(row[0]) if row else 0

    def add(self, tenant: Tenant, version: LayerVersion) -> None:
        """Write a new version, and its layer when that is new."""
        self._database.write(
            "INSERT INTO fc_layers (account, region, name, last_version, public) VALUES (?, ?, ?, ?, 0) "
            "ON CONFLICT DO UPDATE SET last_version = excluded.last_version",
            (*tenant, version.name, version.number),
        )
        self._database.write(
            "INSERT INTO fc_layer_versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
            (
                *tenant, version.name, version.number, version.description, version.license,
                json.dumps(version.runtimes), version.code.digest, version.code.checksum, version.code.size,
                version.created_at,
            ),
        )  # fmt: skip

    def set_public(self, tenant: Tenant, name: str, *, public: bool) -> None:
        """Make a layer public, or private again."""
        sql = "UPDATE fc_layers SET public = ? WHERE account = ? AND region = ? AND name = ?"
        self._database.write(sql, (public, *tenant, name))

    def remove(self, tenant: Tenant, version: LayerVersion, *, keep_code: bool) -> None:
        """Remove a version; with *keep_code* it stays for the functions that use it and is shown no more."""
        where = (*tenant, version.name, version.number)
        own = "WHERE account = ? AND region = ? AND name = ? AND version = ?"
        if keep_code:
            self._database.write(f"UPDATE fc_layer_versions SET deleted = 1 {own}", where)  # noqa: S608 - constants
        else:
            self._database.write(f"DELETE FROM fc_layer_versions {own}", where)  # noqa: S608 - constants

    def is_used(self, arn: str) -> bool:
        """Whether some function or published version names the layer version in its configuration."""
        sql = "SELECT 1 FROM fc_functions WHERE instr(config, ':layers/') AND instr(config, ?) LIMIT 1"
        return self._database.read(sql, (json.dumps(arn),)).fetchone() is not None

    def clear(self) -> None:
        """Remove every layer."""
        self._database.write("DELETE FROM fc_layer_versions")
        self._database.write("DELETE FROM fc_layers")


_log = logging.getLogger(__name__)


class Layers:
    """Layers by their resource names, as functions use them."""

    def __init__(self, store: LayerStore, codes: CodeStore) -> None:
        self._store = store
        self._codes = codes
        self._warned: set[str] = set()

    def by_arn(self, tenant: Tenant, arn: str) -> tuple[Tenant, LayerVersion]:
        """Return the owner of a layer and the version that *arn* names; the layer is the caller's own or public.

        Raises: InvalidArgument, LayerVersionNotFound.
        """
        owner, version = self._find(tenant, arn)
        if version is None or version.deleted or (owner != tenant and not version.public):
            named = parse_layer_arn(arn)
            raise FcError(
                "LayerVersionNotFound", layer=named.name if named else arn, version=named.number if named else ""
            )
        return owner, version

    def check(self, tenant: Tenant, arns: Iterable[str]) -> None:
        """Check that the layers *arns* exist and the caller may use them; the cloud's own (``official``) always pass.

        Raises: InvalidArgument, LayerVersionNotFound.
        """
        for arn in arns:
            named = parse_layer_arn(arn)
            if named is None or named.account != OFFICIAL:
                self.by_arn(tenant, arn)

    def folders(self, tenant: Tenant, arns: Iterable[str]) -> tuple[Path, ...]:
        """Return the unpacked folders of layers, in the given order; missing layers are left out with a warning."""
        paths = []
        for arn in arns:
            try:
                version = self._find(tenant, arn)[1]
            except InvalidArgument:
                version = None
            if version is not None:
                paths.append(self._codes.path(version.code))
            elif arn not in self._warned:
                self._warned.add(arn)
                _log.warning("the layer %s is not here; functions that use it run without it", arn)
        return tuple(paths)

    def size(self, tenant: Tenant, arn: str) -> int:
        """Return the size of a layer's package in bytes, 0 for a missing layer."""
        named = parse_layer_arn(arn)
        version = self._find(tenant, arn)[1] if named is not None else None
        return version.code.size if version is not None else 0

    def _find(self, tenant: Tenant, arn: str) -> tuple[Tenant, LayerVersion | None]:
        named = parse_layer_arn(arn)
        if named is None:
            raise InvalidArgument(f"'{arn[:200]}' is not the resource name of a layer version")
        owner = Tenant(named.account or tenant.account, tenant.region)
        return owner, self._store.version(owner, named.name, named.number)
