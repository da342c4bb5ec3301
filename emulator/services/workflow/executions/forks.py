"""Executions that begin with a part of the history of another one.

The shared events are copied, with their times moved up to the present: waits and time-outs under way keep their
remaining time. Tasks of other branches that had no result in the shared part are called again, with keys and tokens of
the fork's own.
"""

from typing import Any

from emulator.kernel.clock import Clock
from emulator.kernel.identity import Tenant
from emulator.services.workflow.engine.breakpoints import Watch
from emulator.services.workflow.engine.events import Event, StepEntered
from emulator.services.workflow.engine.history import Recorded
from emulator.services.workflow.engine.language import Program
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.engine.store import EngineStore
from emulator.services.workflow.errors import invalid
from emulator.services.workflow.executions.executions import Executions
from emulator.services.workflow.executions.store import ExecutionStore
from emulator.services.workflow.flows.flows import Flows, read_definition
from emulator.services.workflow.flows.store import FlowStore
from emulator.services.workflow.languages.programs import Programs
from emulator.services.workflow.model import Origin
from emulator.services.workflow.rehearsal.cases import facts_of
from emulator.services.workflow.rehearsal.drive import Drive


class Forks:
    """Starts executions that begin with a part of another one's history."""

    def __init__(
        self,
        executions: Executions,
        flows: Flows,
        stores: tuple[ExecutionStore, EngineStore, FlowStore],
        programs: Programs,
        clock: Clock,
    ) -> None:
        self._executions = executions
        self._flows = flows
        self._store, self._engine_store, self._flow_store = stores
        self._programs = programs
        self._clock = clock

    async def fork(
        self,
        tenant: Tenant,
        flow_name: str,
        source_name: str,
        *,
        before: str = "",
        event: int = 0,
        data: dict[str, Any] | None = None,
        definition: str = "",
        name: str = "",
    ) -> str:
        """Start an execution that shares a history up to a place, and return its name.

        The place is where the step *before* was entered for the last time, or before the event of id *event*. *data*
        is the input the step gets in place of its own; *definition* what the fork goes on with in place of that of
        the execution.

        Raises: FlowNotExists, ExecutionNotExists, InvalidArgument, ExecutionAlreadyExists, ResourceThrottled.
        """
        source = self._executions.get(tenant, flow_name, source_name)
        flow = self._flows.get(tenant, flow_name)
        text = definition or source.definition
        program = await read_definition(self._programs, text)
        at = event or self._store.entered(source.id, before)
        if not at or at < 2:
            raise invalid(f"the execution has not entered a step {before!r}" if before else "name a step or an event")
        shared = list(self._engine_store.events_after(source.id, 0))
        drive = _followed(program, shared, at)
        watch = Watch()
        if data is not None:
            _change(watch, shared, drive.state, at, data)
        origin = Origin(source.id, at - 1, self._clock.now() - drive.now, watch.dump() if watch.changes else None)
        chosen = self._flow_store.keep_definition(flow, text)
        return self._executions.fork(tenant, chosen, name or None, source.input, origin).name


def _change(watch: Watch, shared: list[Recorded], state: ExecutionState, at: int, data: dict[str, Any]) -> None:
    """Set *data* as the input of the step that event *at* enters."""
    entered = next((each for each in shared if each.id == at), None)
    if entered is None or entered.type != StepEntered.type:
        raise invalid("input goes with a step that is about to be entered")
    strand = state.strands[entered.strand]
    watch.passed[strand.id] = strand.last
    watch.changes[strand.id] = data


class _StepsInPlace:
    """Checks that a definition has the steps where a history enters them (`drive.Observer`)."""

    def before(self, state: ExecutionState, event: Event) -> None:
        """Raises: LookupError for a step that is not the one that comes next."""
        if isinstance(event, StepEntered):
            scope = state.strands[event.strand].scopes[-1]
            name = scope.steps.steps[scope.position].name
            if name != event.step:
                raise LookupError(f"where the history enters {event.step!r}, the definition has {name!r}")

    def after(self, state: ExecutionState, event: Event) -> None:
        """Do nothing."""


def _followed(program: Program, shared: list[Recorded], at: int) -> Drive:
    """Return an execution that has applied the *shared* events up to event *at*, which comes next.

    Raises: InvalidArgument when the history does not fit the program.
    """
    drive = Drive(facts_of(program, "fork", {}), shared[0].at, _StepsInPlace())
    try:
        for each in shared[: at - 1]:
            drive.follow(each)
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise invalid(f"the history up to there does not fit the definition: {error}") from error
    if drive.state.last != at - 1 or drive.is_over or not drive.state.strands:
        raise invalid(f"the execution has no event {at} that another one could go on from")
    return drive
