"""The host names of HTTP triggers: ``{label}.localhost`` and ``{label}.{region}.fcapp.run`` lead to the function."""

from emulator.kernel.identity import Tenant
from emulator.services.fc.ports import HostNames
from emulator.services.fc.trigger_model import Trigger
from emulator.services.fc.trigger_sqlite import TriggerStore


def names_of(tenant: Tenant, trigger: Trigger) -> tuple[str, ...]:
    """Return the trigger's own host names, the cloud's first; none when it is no HTTP trigger."""
    if not trigger.label:
        return ()
    return (f"{trigger.label}.{tenant.region}.fcapp.run", f"{trigger.label}.localhost")


class TriggerNames:
    """Keeps *names* in step with the triggers (a `TriggerWatcher`)."""

    def __init__(self, store: TriggerStore, names: HostNames) -> None:
        self._store = store
        self._names = names

    def start(self) -> None:
        """Have the names of an earlier run answered again."""
        for tenant, trigger in self._store.of_kind("http"):
            self.changed(tenant, trigger)

    def joining(self, tenant: Tenant, trigger: Trigger) -> None:
        """Object to nothing: every trigger has names of its own."""

    def leaving(self, tenant: Tenant, trigger: Trigger) -> None:
        """Object to nothing."""

    def changed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Answer the trigger's names."""
        for name in names_of(tenant, trigger):
            self._names.allow(name, https=False)  # the authority permits these domains in any case

    def removed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Answer the trigger's names no longer."""
        for name in names_of(tenant, trigger):
            self._names.forget(name)
