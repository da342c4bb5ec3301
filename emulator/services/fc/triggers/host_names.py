"""Host names of HTTP triggers."""

from emulator.kernel.identity import Tenant
from emulator.kernel.tasks import in_turns
from emulator.services.fc.ports import HostNames
from emulator.services.fc.triggers.model import Trigger
from emulator.services.fc.triggers.store import TriggerStore
from emulator.services.fc.triggers.triggers import TriggerWatcher


def names_of(tenant: Tenant, label: str) -> tuple[str, ...]:
    """Return the own host names of an HTTP trigger with *label*, the cloud's first; none without one."""
    return (f"{label}.{tenant.region}.fcapp.run", f"{label}.localhost") if label else ()


class TriggerNames(TriggerWatcher):
    """Keeps *names* in step with the triggers."""

    def __init__(self, store: TriggerStore, names: HostNames) -> None:
        self._store = store
        self._names = names

    async def start(self) -> None:
        """Register the host names of an earlier run again."""
        async for tenant, label in in_turns(self._store.labels()):
            self._allow(tenant, label)

    def changed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Register the trigger's host names."""
        self._allow(tenant, trigger.label)

    def _allow(self, tenant: Tenant, label: str) -> None:
        for name in names_of(tenant, label):
            self._names.allow(name, https=False)  # the authority permits these domains in any case

    def removed(self, tenant: Tenant, trigger: Trigger) -> None:
        """Stop answering the trigger's host names."""
        for name in names_of(tenant, trigger.label):
            self._names.forget(name)
