"""The tables of triggers and of custom domains.

Few functions have more than a handful of triggers, so everything but one probe reads small ranges.
"""

from collections.abc import Iterable, Iterator

from emulator.kernel.identity import Tenant
from emulator.kernel.tasks import in_turns
from emulator.services.fc.kinds import TENANT
from emulator.services.fc.model import EVERY, SLICED, Scope, Slice
from emulator.services.fc.ports import HostNames
from emulator.services.fc.triggers.model import Domain, Trigger, TriggerKind, is_https
from emulator.storage.database import CommitFailed, Database
from emulator.storage.rows import CountingStore, Rows
from emulator.wire.schema.kinds import ANYTHING

_TRIGGERS = Rows(Trigger, "fc_triggers", ("account", "region"), config=ANYTHING)
_OWN = "account = ? AND region = ? AND service = ? AND function = ?"
_FUNCTION = (
    "SELECT 1 FROM fc_functions f WHERE f.account = fc_triggers.account AND f.region = fc_triggers.region"
    " AND f.service = fc_triggers.service AND f.version = 0 AND f.name = fc_triggers.function"
)
"""The function of a trigger."""
_ENABLED = "coalesce(json_extract(config, '$.enable'), json_extract(config, '$.triggerEnable'), 1)"
"""As `Trigger.enabled`."""


class TriggerStore(CountingStore):
    """The table ``fc_triggers``."""

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

    def of_source(self, tenant: Tenant, kind: TriggerKind, name: str) -> list[Trigger]:
        """Return the triggers of a kind whose source may be the bucket, topic or queue *name*, and few others."""
        where = "kind = ? AND account = ? AND region = ? AND (instr(source_arn, ?) OR instr(config, ?))"
        return self._all(_TRIGGERS, where, (kind, *tenant, name, name))

    def labelled(self, label: str) -> list[tuple[Tenant, Trigger]]:
        """Return a list with the HTTP trigger of any tenant that has *label*, empty when there is none."""
        return self._owned("WHERE label = ? AND label <> ''", (label,))

    def http_triggers(self, function: str, service: str, qualifier: str) -> list[tuple[Tenant, Trigger]]:
        """Return the HTTP triggers of functions by their names in lower case, of every tenant.

        An empty *service* means functions in any service or without one.
        """
        where = "kind = 'http' AND lower(function) = ? AND ? IN ('', lower(service)) AND qualifier = ?"
        return self._owned(f"WHERE {where}", (function, service, qualifier))

    def http_trigger(self, tenant: Tenant, service: str, function: str, qualifier: str) -> Trigger | None:
        """Return the HTTP trigger of a version or alias of a function."""
        where = f"{_OWN} AND kind = 'http' AND qualifier = ?"
        return self._one(_TRIGGERS, where, (*tenant, service, function, qualifier))

    def enabled_of_kind(self, kind: TriggerKind) -> list[tuple[Tenant, Trigger]]:
        """Return the triggers of a kind that are switched on, of every tenant."""
        return self._owned(f"WHERE kind = ? AND {_ENABLED}", (kind,))

    def loose(self, tenant: Tenant, scopes: Iterable[Scope] | None = None) -> list[Trigger]:
        """Return the triggers that a functions folder has made, and those whose function does not exist.

        All of them, or those of functions in *scopes*.
        """
        where = f"account = ? AND region = ? AND (folder <> '' OR NOT EXISTS ({_FUNCTION}))"
        if scopes is None:
            return self._all(_TRIGGERS, where, tenant)
        where += " AND service = ? AND ? IN ('', function)"
        each = (self._all(_TRIGGERS, where, (*tenant, scope.service, scope.function)) for scope in scopes)
        return [trigger for triggers in each for trigger in triggers]

    def tenants(self) -> dict[Tenant, int]:
        """Return how many triggers each account has in each region where it has some."""
        rows = self._database.read("SELECT account, region, count(*) FROM fc_triggers GROUP BY account, region")
        return {Tenant(account, region): number for account, region, number in rows}

    def labels(self) -> list[tuple[Tenant, str]]:
        """Return the labels of all HTTP triggers."""
        rows = self._database.read("SELECT account, region, label FROM fc_triggers WHERE kind = 'http'")
        return [(Tenant(account, region), label) for account, region, label in rows]

    def all(self) -> list[tuple[Tenant, Trigger]]:
        """Return every trigger."""
        return self._owned("ORDER BY service, function, name")

    def of_tenant(self, tenant: Tenant, skipped: int, limit: int) -> list[Trigger]:
        """Return up to *limit* triggers of a tenant by function and name after the first *skipped*; -1: all."""
        where = "account = ? AND region = ? ORDER BY service, function, name LIMIT ? OFFSET ?"
        return self._all(_TRIGGERS, where, (*tenant, limit, skipped))

    def after(self, tenant: Tenant, last: tuple[str, str, str], limit: int) -> list[Trigger]:
        """Return up to *limit* triggers of a tenant beyond a service, function and name."""
        where = "account = ? AND region = ? AND (service, function, name) > (?, ?, ?)"
        return self._all(_TRIGGERS, f"{where} ORDER BY service, function, name LIMIT ?", (*tenant, *last, limit))

    def dependent(self, tenant: Tenant, *, off: bool) -> Iterator[Trigger]:
        """Yield the triggers that need a queue, topic or bucket, and those that are switched *off* if these count."""
        needs = "kind IN ('mns_topic', 'eventbridge', 'oss')"
        where = f"account = ? AND region = ? AND ({needs} OR {off:d} AND NOT {_ENABLED})"
        rows = self._database.read(f"{_TRIGGERS.select} WHERE {where} ORDER BY service, function, name", tenant)
        return map(_TRIGGERS.item, rows)

    def named(self, tenant: Tenant, containing: str, limit: int) -> list[tuple[str, str, str]]:
        """Return service, function and name of up to *limit* triggers with *containing* in their names."""
        rows = self._database.read(
            "SELECT service, function, name FROM fc_triggers WHERE account = ? AND region = ?"
            " AND instr(lower(name), ?) ORDER BY service, function, name LIMIT ?",
            (*tenant, containing.lower(), limit),
        )
        return rows.fetchall()

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

    async def start(self) -> None:
        """Register the host names of an earlier run again."""
        if self._names is not None:
            rows = self._database.read("SELECT name, json_extract(config, '$.protocol') FROM fc_domains")
            async for name, protocol in in_turns(rows):
                self._names.allow(name, https=is_https(protocol))

    def get(self, name: str) -> Domain | None:
        """Return a domain of any account."""
        return self._one(_DOMAINS, "name = ?", (name,))

    def some(self, tenant: Tenant, part: Slice) -> list[Domain]:
        """Return some domains by name, one more than the slice's limit when there are more."""
        return self._all(_DOMAINS, f"account = ? AND region = ? AND {SLICED}", (*tenant, *part.bounds))

    def all(self) -> list[Domain]:
        """Return every domain."""
        return self._all(_DOMAINS, "true")

    def names(self) -> list[str]:
        """Return the name of every domain."""
        return [name for (name,) in self._database.read("SELECT name FROM fc_domains")]

    def put(self, domain: Domain) -> None:
        """Write a domain, new or not; its name is answered from then on."""
        self._put(_DOMAINS, domain)
        self._database.after_commit(lambda failure: None if failure else self._allow(domain))

    async def served(self, domain: Domain) -> None:
        """Wait until a domain that was written can be called, over HTTPS too if it is for that.

        Raises: CommitFailed.
        """
        await self._database.committed()
        if self._names is not None and domain.https:
            await self._names.certified()

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
