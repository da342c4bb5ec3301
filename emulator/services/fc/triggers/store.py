"""The triggers' table. Few functions have more than a handful, so everything but one probe reads small ranges."""

from emulator.kernel.identity import Tenant
from emulator.services.fc.model import EVERY, SLICED, Slice
from emulator.services.fc.tables import JSON, CountingStore, Rows
from emulator.services.fc.triggers.model import Trigger, TriggerKind

_ROWS = Rows(Trigger, "fc_triggers", ("account", "region"), config=JSON)
_OWN = "account = ? AND region = ? AND service = ? AND function = ?"


class TriggerStore(CountingStore):
    """Everything triggers keep over a restart."""

    def get(self, tenant: Tenant, service: str, function: str, name: str) -> Trigger | None:
        """Return a trigger."""
        return self._one(_ROWS, f"{_OWN} AND name = ?", (*tenant, service, function, name))

    def some(self, tenant: Tenant, service: str, function: str, part: Slice = EVERY) -> list[Trigger]:
        """Return some triggers of a function by name, one more than the slice's limit when there are more."""
        return self._all(_ROWS, f"{_OWN} AND {SLICED}", (*tenant, service, function, *part.bounds))

    def of_kind(self, kind: TriggerKind) -> list[tuple[Tenant, Trigger]]:
        """Return all triggers of a kind, of every tenant."""
        return self._owned("WHERE kind = ?", (kind,))

    def all(self) -> list[tuple[Tenant, Trigger]]:
        """Return every trigger."""
        return self._owned("ORDER BY service, function, name")

    def put(self, tenant: Tenant, trigger: Trigger) -> None:
        """Write a trigger, new or not."""
        self._write(_ROWS.put, (*tenant, *_ROWS.values(trigger)))

    def delete(self, tenant: Tenant, trigger: Trigger) -> None:
        """Remove a trigger."""
        self._write(
            f"DELETE FROM fc_triggers WHERE {_OWN} AND name = ?",  # noqa: S608 - constants
            (*tenant, trigger.service, trigger.function, trigger.name),
        )

    def clear(self) -> None:
        """Forget every trigger."""
        self._write("DELETE FROM fc_triggers")

    def _owned(self, rest: str, values: tuple[str, ...] = ()) -> list[tuple[Tenant, Trigger]]:
        rows = self._database.read(f"SELECT account, region, {_ROWS.columns} FROM fc_triggers {rest}", values)  # noqa: S608 - constants
        return [(Tenant(*row[:2]), _ROWS.item(row[2:])) for row in rows]
