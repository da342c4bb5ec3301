"""The tables of triggers and of custom domains.

Few functions have more than a handful of triggers, so everything but one probe reads small ranges.
"""

from emulator.kernel.identity import Tenant
from emulator.services.fc.kinds import TENANT
from emulator.services.fc.model import EVERY, SLICED, Slice
from emulator.services.fc.ports import HostNames
from emulator.services.fc.triggers.model import Domain, Trigger, TriggerKind
from emulator.storage.database import CommitFailed, Database
from emulator.storage.rows import CountingStore, Rows
from emulator.wire.schema.kinds import ANYTHING

_TRIGGERS = Rows(Trigger, "fc_triggers", ("account", "region"), config=ANYTHING)
_OWN = "account = ? AND region = ? AND service = ? AND function = ?"


class TriggerStore(CountingStore):
    """Everything triggers keep over a restart."""

    TABLES = (_TRIGGERS,)

    def get(self, tenant: Tenant, service: str, function: str, name: str) -> Trigger | None:
        """Return a trigger."""
        return self._one(_TRIGGERS, f"{_OWN} AND name = ?", (*tenant, service, function, name))

    def some(self, tenant: Tenant, service: str, function: str, part: Slice = EVERY) -> list[Trigger]:
        """Return some triggers of a function by name, one more than the slice's limit when there are more."""
        return self._all(_TRIGGERS, f"{_OWN} AND {SLICED}", (*tenant, service, function, *part.bounds))

    def of_kind(self, kind: TriggerKind) -> list[tuple[Tenant, Trigger]]:
        """Return all triggers of a kind, of every tenant."""
        return self._owned("WHERE kind = ?", (kind,))

    def all(self) -> list[tuple[Tenant, Trigger]]:
        """Return every trigger."""
        return self._owned("ORDER BY service, function, name")

    def put(self, tenant: Tenant, trigger: Trigger) -> None:
        """Write a trigger, new or not."""
        self._put(_TRIGGERS, trigger, *tenant)

    def delete(self, tenant: Tenant, trigger: Trigger) -> None:
        """Remove a trigger."""
        where = (*tenant, trigger.service, trigger.function, trigger.name)
        self._delete(_TRIGGERS, f"{_OWN} AND name = ?", where)

    def clear(self) -> None:
        """Forget every trigger."""
        self._write("DELETE FROM fc_triggers")

    def _owned(self, rest: str, values: tuple[str, ...] = ()) -> list[tuple[Tenant, Trigger]]:
        rows = self._database.read(f"SELECT account, region, {_TRIGGERS.text} FROM fc_triggers {rest}", values)  # noqa: S608 - constants
        return [(Tenant(*row[:2]), _TRIGGERS.item(row[2:])) for row in rows]


_DOMAINS = Rows(Domain, "fc_domains", tenant=TENANT, config=ANYTHING)


class Domains(CountingStore):
    """The custom domains of every account. *names* learns, after the commit, which host names lead to functions."""

    TABLES = (_DOMAINS,)

    def __init__(self, database: Database, names: HostNames | None) -> None:
        super().__init__(database)
        self._names = names

    def start(self) -> None:
        """Register the host names of an earlier run again."""
        for domain in self.all():
            self._allow(domain)

    def get(self, name: str) -> Domain | None:
        """Return a domain of whatever account."""
        return self._one(_DOMAINS, "name = ?", (name,))

    def some(self, tenant: Tenant, part: Slice) -> list[Domain]:
        """Return some domains by name, one more than the slice's limit when there are more."""
        return self._all(_DOMAINS, f"account = ? AND region = ? AND {SLICED}", (*tenant, *part.bounds))

    def all(self) -> list[Domain]:
        """Return every domain."""
        return self._all(_DOMAINS, "true")

    def put(self, domain: Domain) -> None:
        """Write a domain, new or not; its name is answered from then on."""
        self._put(_DOMAINS, domain)
        self._database.after_commit(lambda failure: None if failure else self._allow(domain))

    def delete(self, domain: Domain) -> None:
        """Remove a domain; its name is no longer answered, unless another has taken it."""
        self._delete(_DOMAINS, "name = ?", (domain.name,))

        def committed(failure: CommitFailed | None) -> None:
            if failure is None and self._names is not None and self.get(domain.name) is None:
                self._names.forget(domain.name)

        self._database.after_commit(committed)

    def clear(self) -> None:
        """Forget every domain."""
        for domain in self.all():
            self.delete(domain)

    def _allow(self, domain: Domain) -> None:
        if self._names is not None:
            self._names.allow(domain.name, https=domain.https)
