"""The registry of all kinds of events; reading stored events, and folding a history to a state."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from emulator.kernel.clock import Millis
from emulator.services.workflow.engine.events import execution, step, task
from emulator.services.workflow.engine.events.kind import Event, Members
from emulator.services.workflow.engine.history import Recorded
from emulator.services.workflow.engine.model import Definition
from emulator.services.workflow.engine.notation import Notation
from emulator.services.workflow.engine.state import ExecutionState

HOMES: Final = (execution, step, task)
"""The modules that define the kinds of events: each class without subclasses is a kind."""


def _kinds(derived: Iterable[type[Event]]) -> Iterator[type[Event]]:
    for kind in derived:
        further = kind.__subclasses__()
        if further:
            yield from _kinds(further)
        else:
            yield kind


KINDS: Final[Mapping[str, type[Event]]] = {kind.type: kind for kind in _kinds(Event.__subclasses__())}
"""Every kind of event by its type."""


def read(kept: Recorded, notation: Notation) -> Event:
    """Return the event that was stored as *kept*.

    Raises: LookupError for a type that does not exist, and as `Event.read`.
    """
    return KINDS[kept.type].read(kept, Members(kept.detail), notation)


def fold(
    definition: Definition, history: Iterable[tuple[Event, Millis]], state: ExecutionState | None = None
) -> ExecutionState:
    """Return the state after *history*, or after *history* on top of *state*."""
    state = state if state is not None else ExecutionState()
    for event, at in history:
        event.apply(definition, state, at)
    return state
