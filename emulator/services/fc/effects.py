"""What follows a change once it is committed: warm instances retire, packages nobody uses are removed."""

from collections.abc import Callable, Iterable

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.tasks import TaskGroup
from emulator.kernel.timers import Timers
from emulator.services.fc import limits
from emulator.services.fc.code import CodeStore
from emulator.services.fc.model import LATEST
from emulator.services.fc.ports import Instances
from emulator.services.fc.store import Store
from emulator.storage.database import CommitFailed, Database

_SWEEP = ("fc", "unused code")


def family(tenant: Tenant, service: str, function: str, version: int) -> str:
    """Return the name under which the instances of a function's version are known."""
    return f"{tenant.account}/{tenant.region}/{service}/{function}/{version or LATEST}"


class Effects:
    """Does after the commit what an operation recorded; an undone commit has no effects."""

    def __init__(
        self, database: Database, clock: Clock, timers: Timers, instances: Instances, store: Store, codes: CodeStore
    ) -> None:
        self._database = database
        self._clock = clock
        self._timers = timers
        self._instances = instances
        self._store = store
        self._codes = codes
        self._tasks = TaskGroup("fc-effects")
        self.kept_for_download: Callable[[], Iterable[str]] = tuple

    def retire(self, families: Iterable[str]) -> None:
        """Let warm instances of these families end: their configuration, code or function is no more."""
        families = list(families)

        def effect(failure: CommitFailed | None) -> None:
            if failure is None:
                for name in families:
                    self._instances.retire_family(name)

        self._database.after_commit(effect)

    def code_dropped(self) -> None:
        """Remove unused packages when calls that are still in them have had time to end."""
        self._sweep_in(limits.CODE_KEPT_AFTER_USE_S)

    def sweep_soon(self) -> None:
        """Remove what an earlier run has left behind, once the start is over."""
        self._sweep_in(limits.CODE_SWEPT_AFTER_START_S)

    def _sweep_in(self, span_s: int) -> None:
        self._timers.call_at(Millis(self._clock.now() + span_s * SECOND), _SWEEP, self.sweep)

    def sweep(self) -> None:
        """Remove unused packages now, or later when one is just being added."""
        self._tasks.spawn(self._sweep(), "sweep")

    async def _sweep(self) -> None:
        await self._database.committed()
        if not await self._codes.remove_unused(self._store.digests() | set(self.kept_for_download())):
            self.code_dropped()

    async def close(self) -> None:
        """End what is under way."""
        self._timers.cancel(_SWEEP)
        await self._tasks.close()
