"""Layers as resources: publish, get, list, delete, share; and the folders a function's layers are in."""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.paging import Page, cut
from emulator.services.fc import checks, limits
from emulator.services.fc.checks import items, one_of, text
from emulator.services.fc.code import CodeSource, CodeStore
from emulator.services.fc.effects import Effects
from emulator.services.fc.errors import InvalidArgument, LayerNotFound, LayerVersionNotFound
from emulator.services.fc.fields import Field, read
from emulator.services.fc.functions import Functions
from emulator.services.fc.layer_model import OFFICIAL, LayerVersion, layer_arn, parse_layer_arn
from emulator.services.fc.layer_sqlite import LayerStore
from emulator.services.fc.store import Slice

_log = logging.getLogger(__name__)

_BODY = (
    Field("description", "description", text(limits.DESCRIPTION_LENGTH)),
    Field("license", "license", text(limits.LICENSE_LENGTH)),
    Field("compatibleRuntime", "runtimes", items(one_of(checks.RUNTIMES), limits.COMPATIBLE_RUNTIMES)),
)


class Layers:
    """The layers of every account."""

    def __init__(self, store: LayerStore, codes: CodeStore, functions: Functions, effects: Effects) -> None:
        self._store = store
        self._codes = codes
        self._functions = functions
        self._effects = effects
        self._warned: set[str] = set()

    # --- the operations ------------------------------------------------------------------------------------------

    async def publish(
        self, tenant: Tenant, name: str, body: Mapping[str, Any], source: CodeSource | None, now: Millis
    ) -> LayerVersion:
        """Make the next version of a layer, and the layer itself with the first one.

        Raises: InvalidArgument.
        """
        checks.name(name, "layerName", limits.LAYER_NAME_LENGTH)
        values = read(_BODY, body)
        if not values.get("runtimes"):
            raise InvalidArgument("compatibleRuntime is required")
        if source is None:
            raise InvalidArgument("code is required")
        package = await self._functions.reader(tenant, source)
        async with self._codes.adding(package, source.checksum) as code:
            version = LayerVersion(
                name=name,
                number=self._store.last_number(tenant, name) + 1,
                description=values.get("description", ""),
                license=values.get("license", ""),
                runtimes=tuple(values["runtimes"]),
                code=code,
                created_at=now,
            )
            self._store.add(tenant, version)
        return version

    def get(self, tenant: Tenant, name: str, number: str) -> LayerVersion:
        """Return a version.

        Raises: LayerNotFound, LayerVersionNotFound, InvalidArgument.
        """
        version = self._store.version(tenant, name, int(checks.version_id(number, "version")))
        if version is None or version.deleted:
            if not self._store.versions(tenant, name, 0, 1):
                raise LayerNotFound(layer=name)
            raise LayerVersionNotFound(layer=name, version=number)
        return version

    def by_arn(self, tenant: Tenant, arn: str) -> tuple[Tenant, LayerVersion]:
        """Return the version a resource name names, of the caller's account or a public one, and whose it is.

        Raises: InvalidArgument, LayerVersionNotFound.
        """
        owner, version = self._find(tenant, arn)
        if version is None or version.deleted or (owner != tenant and not version.public):
            named = parse_layer_arn(arn)
            raise LayerVersionNotFound(layer=named.name if named else arn, version=named.number if named else "")
        return owner, version

    def page_versions(self, tenant: Tenant, name: str, start: int, limit: int) -> Page[LayerVersion]:
        """Return a layer's versions by number. Source: that the oldest comes first is assumed.

        Raises: LayerNotFound.
        """
        rows = self._store.versions(tenant, name, start, limit)
        if not rows and not self._store.versions(tenant, name, 0, 1):
            raise LayerNotFound(layer=name)
        return cut(rows, limit, lambda version: str(version.number))

    def page(self, tenant: Tenant, part: Slice, *, public: bool) -> Page[tuple[Tenant, LayerVersion]]:
        """Return the newest version of layers by name, with their owners."""
        return cut(self._store.newest(tenant, part, public=public), part.limit, lambda row: row[1].name)

    def delete(self, tenant: Tenant, name: str, number: str) -> None:
        """Remove a version; functions that use it keep it.

        Raises: LayerNotFound, LayerVersionNotFound, InvalidArgument.
        """
        version = self.get(tenant, name, number)
        used = self._store.is_used(layer_arn(tenant, name, version.number))
        self._store.remove(tenant, version, keep_code=used)
        self._effects.code_dropped()

    def set_public(self, tenant: Tenant, name: str, *, public: bool) -> None:
        """Open a layer to other accounts, or close it.

        Raises: LayerNotFound.
        """
        if not self._store.versions(tenant, name, 0, 1):
            raise LayerNotFound(layer=name)
        self._store.set_public(tenant, name, public=public)

    def clear(self) -> None:
        """Forget every layer."""
        self._store.clear()

    # --- for functions -------------------------------------------------------------------------------------------

    def check(self, tenant: Tenant, arns: Iterable[str]) -> None:
        """See that a function can have the layers *arns* name. Those of the cloud itself pass; they are not here.

        Raises: InvalidArgument, LayerVersionNotFound.
        """
        for arn in arns:
            named = parse_layer_arn(arn)
            if named is None or named.account != OFFICIAL:
                self.by_arn(tenant, arn)

    def folders(self, tenant: Tenant, arns: Iterable[str]) -> tuple[Path, ...]:
        """Return the unpacked folders of layers, in the given order; what is not here is left out with a warning."""
        found = []
        for arn in arns:
            try:
                version = self._find(tenant, arn)[1]
            except InvalidArgument:
                version = None
            if version is not None:
                found.append(self._codes.path(version.code))
            elif arn not in self._warned:
                self._warned.add(arn)
                _log.warning("the layer %s is not here; functions that use it run without it", arn)
        return tuple(found)

    def size(self, tenant: Tenant, arn: str) -> int:
        """Return the size of a layer's package in bytes, 0 for one that is not here."""
        named = parse_layer_arn(arn)
        version = self._find(tenant, arn)[1] if named is not None else None
        return version.code.size if version is not None else 0

    def _find(self, tenant: Tenant, arn: str) -> tuple[Tenant, LayerVersion | None]:
        named = parse_layer_arn(arn)
        if named is None:
            raise InvalidArgument(f"'{arn[:200]}' is not the resource name of a layer version")
        owner = Tenant(named.account or tenant.account, tenant.region)
        return owner, self._store.version(owner, named.name, named.number)
