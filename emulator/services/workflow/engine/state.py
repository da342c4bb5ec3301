"""The state of one execution: the fold of its history.

Only events change it (`events.Event.apply`), except for `ExecutionState.park`, which marks a strand as waiting for an
arrival. Its data structures are in `engine.model`; differences between types of steps are methods of the steps.
"""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Any

from emulator.kernel.clock import Millis
from emulator.services.workflow.engine.model import ROOT, Entry, Phase, Strand


class ExecutionState:
    """The data from which decisions are made.

    ``flow_name`` and ``execution_name`` are set by `Execution`.
    ``last`` and ``at`` are the id and the time of the latest event; ``outcome`` is the type of the final one, None
    before; ``output_text``, ``error`` and ``cause`` then say how it ended. ``ready`` is a heap of the strands that are
    not parked. ``variables`` are those of the execution as a whole, in languages that have such. ``abandoned`` collects
    the entries that were under way when a sibling failed or the execution ended; the recorder cancels their timers and
    calls and empties it.
    """

    __slots__ = (
        "abandoned", "at", "cause", "error", "execution_name", "flow_name", "last", "outcome", "output_text", "ready",
        "started_at", "strands", "variables",
    )  # fmt: skip

    def __init__(self) -> None:
        self.flow_name = ""
        self.execution_name = ""
        self.last = 0
        self.at = Millis(0)
        self.started_at = Millis(0)
        self.strands: dict[int, Strand] = {}
        self.ready: list[int] = []
        self.outcome: str | None = None
        self.output_text = ""
        self.error = ""
        self.cause = ""
        self.variables: dict[str, Any] = {}
        self.abandoned: list[Entry] = []

    def next_ready(self) -> Strand | None:
        """Return the strand to go on with: the oldest that is not parked, so that replays take the same turns."""
        return self.strands[self.ready[0]] if self.ready else None

    def park(self, strand: Strand) -> None:
        """Record that *strand* has nothing to do until an event arrives from outside or from a strand it opened."""
        if not strand.parked:
            strand.parked = True
            self._not_ready(strand)

    def unpark(self, strand: Strand) -> None:
        """Mark *strand* as ready, so that its next events are decided."""
        if strand.parked:
            strand.parked = False
            heappush(self.ready, strand.id)

    def submitted(self) -> Iterator[Entry]:
        """Yield the entries of tasks that wait for a report."""
        for strand in self.strands.values():
            entry = strand.scopes[-1].entry
            if entry is not None and entry.phase is Phase.SUBMITTED:
                yield entry

    def find(self, entry_id: int) -> tuple[Strand, Entry] | None:
        """Return the live entry of that id and its strand; None when the step has been exited."""
        for strand in self.strands.values():
            entry = strand.scopes[-1].entry
            if entry is not None and entry.id == entry_id:
                return strand, entry
        return None

    def open(self, strand: Strand) -> None:
        """Add a strand, which is ready."""
        self.strands[strand.id] = strand
        heappush(self.ready, strand.id)

    def close(self, strand: Strand) -> None:
        """Remove a strand that has ended."""
        del self.strands[strand.id]
        if not strand.parked:
            self._not_ready(strand)

    def end(self, outcome: str) -> None:
        """Record the type of the final event, and abandon all strands."""
        self.outcome = outcome
        for strand in self.strands.values():
            self._abandon(strand)
        self._close_all()

    def fail_scope(self, strand: Strand, event_id: int, at: Millis, error: str, cause: str) -> None:
        """Leave the innermost scope of *strand*, whose step has failed for good: the step around it fails in turn.

        Around the flow's own steps there is nothing; the execution then has no strand left.
        """
        strand.scopes.pop()
        if strand.scopes:
            owner = strand
        elif strand.id != ROOT:
            owner = self.strands[strand.parent]
            owner.last = event_id
            self._drop_below(owner.id)
            self.unpark(owner)
        else:
            self._close_all()
            self.error, self.cause = error, cause
            return
        entry = owner.entry
        entry.phase = Phase.FAILING
        entry.at = at
        entry.error, entry.cause = error, cause
        entry.fork = None

    def _close_all(self) -> None:
        self.strands.clear()
        self.ready.clear()

    def _not_ready(self, strand: Strand) -> None:
        ready = self.ready
        if ready[0] == strand.id:
            heappop(ready)
        else:
            ready.remove(strand.id)
            heapify(ready)

    def _drop_below(self, top: int) -> None:
        """Abandon every strand opened, directly or not, by the entry that *top* stands at."""
        doomed = {top}
        for strand_id in sorted(self.strands):  # a strand's id is greater than its parent's
            if strand_id != ROOT and self.strands[strand_id].parent in doomed:
                doomed.add(strand_id)
        doomed.discard(top)
        for strand_id in sorted(doomed):
            self._abandon(self.strands.pop(strand_id))
        self.ready = [strand_id for strand_id in self.ready if strand_id in self.strands]
        heapify(self.ready)

    def _abandon(self, strand: Strand) -> None:
        if strand.scopes and strand.scopes[-1].entry is not None:
            self.abandoned.append(strand.scopes[-1].entry)
