"""The parts of debugging, each loaded when it is first asked for: an emulator that nobody looks into stays small."""

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING

from emulator.kernel.clock import Clock
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.services.workflow.engine.driver import Driver
from emulator.services.workflow.engine.language import CallService, Result
from emulator.services.workflow.engine.store import EngineStore
from emulator.services.workflow.executions.executions import Executions
from emulator.services.workflow.executions.store import ExecutionStore
from emulator.services.workflow.flows.flows import Flows
from emulator.services.workflow.flows.store import FlowStore
from emulator.services.workflow.languages.programs import Programs

if TYPE_CHECKING:
    from emulator.services.workflow.debugging.alone import LoneSteps
    from emulator.services.workflow.debugging.debugger import Debugger
    from emulator.services.workflow.debugging.forks import Forks

Call = Callable[[Tenant, CallService, str, str, Callable[[Result], None]], Awaitable[Result]]
"""Makes a real call: tenant, call, key, token, and what takes the answer to a queued call."""


class Debugging:
    """The parts, each loaded when it is first asked for. *call* makes the calls of steps that run alone."""

    def __init__(
        self,
        executions: Executions,
        flows: Flows,
        engine: Driver,
        stores: tuple[ExecutionStore, EngineStore, FlowStore],
        programs: Programs,
        clock: Clock,
        ids: Ids,
        call: Call,
    ) -> None:
        self._executions = executions
        self._flows = flows
        self._engine = engine
        self._stores = stores
        self._programs = programs
        self._clock = clock
        self._ids = ids
        self._call = call

    @cached_property
    def debugger(self) -> "Debugger":
        """Executions that stop."""
        from emulator.services.workflow.debugging.debugger import Debugger

        return Debugger(self._executions, self._flows, self._engine)

    @cached_property
    def forks(self) -> "Forks":
        """Executions that begin with the history of another one."""
        from emulator.services.workflow.debugging.forks import Forks

        return Forks(self._executions, self._flows, self._stores, self._programs, self._clock)

    @cached_property
    def alone(self) -> "LoneSteps":
        """Steps that run alone."""
        from emulator.services.workflow.debugging.alone import LoneSteps

        return LoneSteps(self._programs, self._clock, self._ids, self._call)
