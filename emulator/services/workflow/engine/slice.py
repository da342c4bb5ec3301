"""What one slice of the driver's work has changed, collected until it is written in one go."""

from emulator.kernel.clock import Millis
from emulator.services.workflow.engine.commands import CallService
from emulator.services.workflow.engine.run import Run
from emulator.services.workflow.model import ExecutionId, WorldId
from emulator.services.workflow.store import Ending, EventRow, Progress


class Slice:
    """Implements `store.Changes`, and beside it the effects that follow the commit."""

    __slots__ = (
        "callbacks", "calls", "cancelled", "cleared", "dispatches", "endings", "events", "orphans", "progress", "told",
        "wakeups",
    )  # fmt: skip

    def __init__(self) -> None:
        self.events: list[EventRow] = []
        self.endings: list[Ending] = []
        self.progress: list[Progress] = []
        self.wakeups: dict[tuple[ExecutionId, int, str], tuple[WorldId, Millis] | None] = {}
        self.calls: dict[tuple[ExecutionId, int], tuple[WorldId, int] | None] = {}
        self.cleared: list[ExecutionId] = []
        self.callbacks: list[tuple[ExecutionId, WorldId]] = []
        self.told: list[ExecutionId] = []
        self.dispatches: list[tuple[Run, CallService]] = []
        self.cancelled: list[tuple[ExecutionId, int]] = []
        self.orphans: list[tuple[Run, CallService]] = []
        """Sync tasks whose child executions stop with them."""

    def earliest(self) -> Millis | None:
        """Return the earliest instant at which a wake-up was set."""
        return min((value[1] for value in self.wakeups.values() if value is not None), default=None)

    def has_effects(self) -> bool:
        """Tell whether something follows the commit."""
        return bool(self.dispatches or self.cancelled or self.orphans or self.endings)
