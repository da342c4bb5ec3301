"""The table of what is configured about the instances of functions."""

from collections.abc import Iterator

from emulator.kernel.identity import Tenant
from emulator.services.fc.capacity.model import Kind, Setting
from emulator.services.fc.kinds import PLACE
from emulator.services.fc.model import FunctionRef, Scope
from emulator.storage.rows import CountingStore, Rows
from emulator.wire.schema.kinds import ANYTHING, Held

_ROWS = Rows(Setting, "fc_capacity", kind=Held(str, Kind), place=PLACE, config=ANYTHING)
_KEY = "account = ? AND region = ? AND kind = ? AND service = ? AND function = ? AND qualifier = ?"
_ORDER = "ORDER BY kind, account, region, service, function, qualifier"


class CapacityStore(CountingStore):
    """The table ``fc_capacity``."""

    TABLES = (_ROWS,)

    def get(self, kind: Kind, place: FunctionRef) -> Setting | None:
        """Return the configuration of exactly this place."""
        return self._one(_ROWS, _KEY, _key(kind, place))

    def of_function(self, tenant: Tenant, service: str, function: str) -> list[Setting]:
        """Return everything configured for a function."""
        where = (
            f"account = ? AND region = ? AND kind IN ({', '.join('?' * len(Kind))}) AND service = ? AND function = ?"
        )
        return self._all(_ROWS, where, (*tenant, *Kind, service, function))

    def of_qualifier(self, tenant: Tenant, scope: Scope, qualifier: str) -> list[Setting]:
        """Return everything configured for an alias or version, of every function of a service."""
        where = "account = ? AND region = ? AND service = ? AND ? IN ('', function) AND qualifier = ?"
        return self._all(_ROWS, where, (*tenant, scope.service, scope.function, qualifier))

    def places(self, kind: Kind, tenant: Tenant) -> Iterator[FunctionRef]:
        """Yield the places of a tenant that have a configuration of a kind."""
        rows = self._database.read(
            "SELECT service, function, qualifier FROM fc_capacity WHERE account = ? AND region = ? AND kind = ?",
            (*tenant, kind),
        )
        return (FunctionRef(tenant, *row) for row in rows)

    def list(self, *kinds: Kind) -> list[Setting]:
        """Return the configurations of *kinds* by kind, service, function and qualifier, of all tenants."""
        return self._all(_ROWS, f"kind IN ({', '.join('?' * len(kinds))}) {_ORDER}", kinds)

    def put(self, setting: Setting) -> None:
        """Write a configuration, new or not."""
        self._put(_ROWS, setting)

    def delete(self, *settings: Setting) -> None:
        """Remove configurations."""
        for setting in settings:
            self._delete(_ROWS, _KEY, _key(setting.kind, setting.place))

    def clear(self) -> None:
        """Remove everything."""
        self._write("DELETE FROM fc_capacity")


def _key(kind: Kind, place: FunctionRef) -> tuple[str, ...]:
    return (*place.tenant, kind.value, place.service, place.function, place.qualifier)
