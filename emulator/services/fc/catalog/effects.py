"""What follows a change: dependents of a function go with it, warm instances retire, unused packages are removed."""

from collections.abc import Callable, Iterable
from typing import Generic, ParamSpec

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.tasks import TaskGroup
from emulator.kernel.timers import Timers
from emulator.services.fc import limits
from emulator.services.fc.catalog.code import CodeStore, Packages
from emulator.services.fc.catalog.store import CatalogStore
from emulator.services.fc.model import Scope
from emulator.services.fc.ports import Instances
from emulator.storage.database import CommitFailed, Database

_SWEEP = ("fc", "unused code")

Where = ParamSpec("Where")


class Registrations(Generic[Where]):
    """The parts that keep something about resources of one kind: whether these may go, and what goes along.

    A *check* raises when the resource is still needed; a *forget* removes what the part keeps, in the transaction of
    the deletion. All checks run before anything is removed.
    """

    def __init__(self) -> None:
        self._checks: list[Callable[Where, None]] = []
        self._forgets: list[Callable[Where, None]] = []

    def add(self, *, check: Callable[Where, None] | None = None, forget: Callable[Where, None] | None = None) -> None:
        """Register a part."""
        self._checks += [check] if check else []
        self._forgets += [forget] if forget else []

    def check(self, *where: Where.args, **more: Where.kwargs) -> None:
        """Check that a resource may be deleted.

        Raises: FcError.
        """
        for check in self._checks:
            check(*where, **more)

    def forget(self, *where: Where.args, **more: Where.kwargs) -> None:
        """Remove what is kept about a resource."""
        for forget in self._forgets:
            forget(*where, **more)


class Dependents:
    """What is kept about functions, and about versions and aliases, by other parts than the catalog.

    A function is a tenant, a service (empty for a 3.0 function) and a name; a version or alias is a tenant, a scope and
    the version or alias in it.
    """

    def __init__(self) -> None:
        self.functions: Registrations[[Tenant, str, str]] = Registrations()
        self.qualifiers: Registrations[[Tenant, Scope, str]] = Registrations()


class Effects:
    """Performs after the commit what an operation recorded; a commit that failed has no effects."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        timers: Timers,
        instances: Instances,
        store: CatalogStore,
        codes: CodeStore,
        packages: Packages,
    ) -> None:
        self._database = database
        self._clock = clock
        self._timers = timers
        self._instances = instances
        self._store = store
        self._codes = codes
        self._packages = packages
        self._tasks = TaskGroup("fc-effects")

    def retire(self, families: Iterable[str]) -> None:
        """End the warm instances of *families*: their configuration, code or function has changed."""
        families = list(families)

        def effect(failure: CommitFailed | None) -> None:
            if failure is None:
                for name in families:
                    self._instances.retire_family(name)

        self._database.after_commit(effect)

    def code_dropped(self) -> None:
        """Remove unused packages when calls that still run their code have had time to end."""
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
        if not await self._codes.remove_unused(self._store.digests() | set(self._packages.offered())):
            self.code_dropped()

    async def close(self) -> None:
        """End the removal under way."""
        self._timers.cancel(_SWEEP)
        await self._tasks.close()
