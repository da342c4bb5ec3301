"""At start, and after a transaction was lost: what was under way becomes claimable again.

Nothing is folded or run here. Executions with something to do are queued, calls without a recorded result are asked
for again by their entry, wake-ups stand in the store with their absolute instants. Doing this twice is harmless.
"""

from collections.abc import Iterator

from emulator.services.workflow.engine.commands import Resumed
from emulator.services.workflow.model import ExecutionId
from emulator.services.workflow.store import EngineStore


def claimable(store: EngineStore) -> Iterator[tuple[ExecutionId, Resumed | None]]:
    """Yield the executions to queue, each with the call to be made again, if that is the reason."""
    for execution in store.ready():
        yield execution, None
    for execution, entry in store.pending_calls():
        yield execution, Resumed(entry)
