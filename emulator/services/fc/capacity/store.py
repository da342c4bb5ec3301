"""The table of the configurations of functions' instances."""

from emulator.kernel.identity import Tenant
from emulator.services.fc.capacity.model import Kind, Setting
from emulator.services.fc.kinds import PLACE
from emulator.services.fc.model import FunctionRef, Scope, Slice
from emulator.storage.rows import CountingStore, Rows
from emulator.wire.schema.kinds import ANYTHING, Held

_ROWS = Rows(Setting, "fc_capacity", kind=Held(str, Kind), place=PLACE, config=ANYTHING)
_KEY = "account = ? AND region = ? AND kind = ? AND service = ? AND function = ? AND qualifier = ?"
_ORDER = "ORDER BY kind, account, region, service, function, qualifier"
_PLACE = ("service", "function", "qualifier")
_ANY_KIND = f"account = ? AND region = ? AND kind IN ({', '.join('?' * len(Kind))}) AND service = ?"
_PATH = "'services/' || service || '.' || qualifier || '/functions/' || function"
"""The path of a place with service and qualifier, as `function_path` returns it; the text is that of an index."""


class CapacityStore(CountingStore):
    """The table ``fc_capacity``."""

    TABLES = (_ROWS,)

    def get(self, kind: Kind, place: FunctionRef) -> Setting | None:
        """Return the configuration of exactly this place."""
        return self._one(_ROWS, _KEY, _key(kind, place))

    def of_function(self, tenant: Tenant, service: str, function: str) -> list[Setting]:
        """Return everything configured for a function."""
        return self._all(_ROWS, f"{_ANY_KIND} AND function = ?", (*tenant, *Kind, service, function))

    def of_qualifier(self, tenant: Tenant, scope: Scope, qualifier: str) -> list[Setting]:
        """Return everything configured for an alias or version, of every function of a service."""
        where = f"{_ANY_KIND} AND qualifier = ?" + (" AND function = ?" if scope.function else "")
        names = (scope.function,) if scope.function else ()
        return self._all(_ROWS, where, (*tenant, *Kind, scope.service, qualifier, *names))

    def page(
        self,
        kind: Kind,
        tenant: Tenant,
        start: str,
        limit: int,
        *,
        service: str | None,
        function: str = "",
        qualifier: str = "",
    ) -> list[Setting]:
        """Return configurations of a kind by place, from ``service/function/qualifier`` *start* on, one too many.

        None as *service* means functions in any service, an empty text functions without one; an empty *function* or
        *qualifier* means any.
        """
        fixed = {} if service is None else {"service": service} | ({"function": function} if function else {})
        first = dict(zip(_PLACE, f"{start}//".split("/"), strict=False))  # the fixed ones come first in the key
        rest = {column: value for column, value in first.items() if column not in fixed}
        where = " AND ".join(f"{column} = ?" for column in ("account", "region", "kind", *fixed))
        where += f" AND ({', '.join(rest)}) >= ({', '.join('?' * len(rest))})"
        where += " AND service > ''" if service is None else ""
        values = [*tenant, kind.value, *fixed.values(), *rest.values()]
        if qualifier:
            where += " AND qualifier = ?"
            values.append(qualifier)
        return self._all(_ROWS, f"{where} ORDER BY {', '.join(_PLACE)} LIMIT ?", (*values, limit + 1))

    def on_demand(self, tenant: Tenant, part: Slice) -> list[Setting]:
        """Return the instance limits of functions in *part*, in the order of their paths (see `function_path`)."""
        where = f"account = ? AND region = ? AND kind = 'on-demand' AND {_PATH} >= ? AND {_PATH} < ?"
        return self._all(_ROWS, f"{where} ORDER BY {_PATH} LIMIT ?", (*tenant, *part.bounds))

    def ready(self) -> list[Setting]:
        """Return the configurations that keep instances ready, by kind and place, of all tenants."""
        return self._all(_ROWS, f"kind IN ('provision', 'scaling') {_ORDER}")

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
