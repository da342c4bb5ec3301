"""The lab as one object: everything that tests need over all services."""

from collections.abc import Callable, Sequence
from typing import Protocol

from emulator.kernel.clock import AdjustableClock
from emulator.kernel.identity import Tenant
from emulator.kernel.observing import Observed
from emulator.kernel.timers import LoopTimers
from emulator.lab.clock import TimeControl, Watch
from emulator.lab.skip import Skipper
from emulator.storage.database import Database


class Conditions(Protocol):
    """Looks at resources for the conditions of a skip."""

    def look(self, kind: str, tenant: Tenant, name: str, number: int) -> Callable[[], bool]:
        """Return a function that says whether the condition holds.

        *kind* is ``execution`` (``flow/name``: it has ended), ``queue`` (it has *number* visible messages) or ``calls``
        (``service/function``: it was called *number* times since this call).

        Raises: LabError (NotFound) when there is no such resource; ServiceError.
        """
        ...


class Lab:
    """Clock, quiet and skipping; further parts are attributes of their own."""

    def __init__(
        self,
        database: Database,
        clock: AdjustableClock,
        timers: LoopTimers,
        *,
        watch: Watch,
        observed: Sequence[Observed],
        conditions: Conditions,
        moved: Callable[[], None] = lambda: None,
    ) -> None:
        self.time = TimeControl(database, clock, timers, watch, observed, moved)
        self.skipper = Skipper(self.time, clock)
        self.conditions = conditions
