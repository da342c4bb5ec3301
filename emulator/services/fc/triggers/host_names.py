"""Host names of HTTP triggers."""

from emulator.kernel.identity import Tenant
from emulator.services.fc.ports import HostNames
from emulator.services.fc.triggers.model import Trigger
from emulator.services.fc.triggers.store import TriggerStore
from emulator.services.fc.triggers.triggers import TriggerWatcher


def names_of(tenant: Tenant, trigger: Trigger) -> tuple[str, ...]:
    """Return the trigger's own host names, the cloud's first; none when it is no HTTP trigger."""
    if not trigger.label:
        return ()
    return (f"{trigger.label}.{tenant.region}.fcapp.run", f"{trigger.label}.localhost")


class TriggerNames(TriggerWatcher):
    """Keeps *names* in step with the triggers."""

    def __init__(self, store: TriggerStore, names: HostNames) -> None:
        self._store = store
        self._names = names

    def start(self) -> None:
        """Register the host names of an earlier run again."""
        for tenant, trigger in self._store.of_kind("http"):
            self.changed(tenant, trigger)

    def changed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Answer the trigger's names."""
        for name in names_of(tenant, trigger):
            self._names.allow(name, https=False)  # the authority permits these domains in any case

    def removed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Stop answering the trigger's host names."""
        for name in names_of(tenant, trigger):
            self._names.forget(name)
