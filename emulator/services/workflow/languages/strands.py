"""The decisions on a strand that all languages share: step after step, each from `Phase` to `Phase`.

A language has a method for each phase; this module selects the method, and handles expressions that fail.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from emulator.kernel.clock import Millis
from emulator.services.workflow.engine import events
from emulator.services.workflow.engine.decide import (
    FAULTS,
    RUNTIME_ERROR,
    after_fault,
    after_scheduled,
    after_trouble,
    failed,
    final_event,
    retry_at,
    while_called,
)
from emulator.services.workflow.engine.events import Event
from emulator.services.workflow.engine.language import Events, Facts, Park, Program, TimerFired
from emulator.services.workflow.engine.model import Entry, Phase, RetryPolicy, Scope, Strand
from emulator.services.workflow.engine.state import ExecutionState

_Decision = Callable[[Any, Facts, ExecutionState, Strand, Entry], Events | Park]


def _after_scheduled(program: Program, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
    return after_scheduled(facts, state, strand, entry)


def _while_called(program: Program, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Park:
    return while_called(facts, state, strand, entry)


class StrandProgram(Program):
    """A program with a method for each phase of an entered step, for entering a step and for the end of a strand.

    All of these may raise TooMuchData, and `FAULTS` for an expression that cannot be evaluated.
    """

    __slots__ = ()

    _by_phase: ClassVar[tuple[_Decision, ...]]
    """The methods in the order of `Phase`; a tuple, because hashing an Enum member costs more than most of them."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Look the methods up once for all decisions."""
        super().__init_subclass__(**options)
        cls._by_phase = (
            cls.after_entered,
            cls.after_started,
            cls.after_joined,
            cls.after_succeeded,
            _after_scheduled,
            _while_called,
            _while_called,
            cls.after_done,
            cls.after_trouble,
            cls.after_failing,
            cls.after_failed,
        )

    def decide(self, facts: Facts, state: ExecutionState, strand: Strand) -> Events | Park:
        """Return the next events of *strand*, or its `Park`."""
        scope = strand.scopes[-1]
        entry = scope.entry
        try:
            if entry is not None:
                return self._by_phase[entry.phase](self, facts, state, strand, entry)
            if scope.position < len(scope.steps.steps):
                return self.enter(facts, state, strand, scope)
            return self.end(facts, state, strand, scope)
        except FAULTS as fault:
            return self.fault(facts, state, strand, str(fault))

    def resume(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, fired: TimerFired) -> Events:
        """Return the events after the end of a wait, or of the pause before a retry."""
        try:
            if fired.kind == "wait":
                due = self.wakes_at(entry) if entry.phase is Phase.STARTED else None
                return () if due is None or due > fired.now else self.after_wait(facts, state, strand, entry)
            if fired.kind == "retry" and entry.phase in {Phase.TROUBLED, Phase.FAILING}:
                due = retry_at(self.retry_of(entry), entry.error, entry.retries, entry.at)
                return () if due is None or due > fired.now else self.next_attempt(facts, state, strand, entry)
        except FAULTS as fault:
            return self.fault(facts, state, strand, str(fault))
        return ()

    def again(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the events that open one more attempt."""
        try:
            return self.next_attempt(facts, state, strand, entry)
        except FAULTS as fault:
            raise ValueError(str(fault)) from fault

    @abstractmethod
    def enter(self, facts: Facts, state: ExecutionState, strand: Strand, scope: Scope) -> Events:
        """Return the events that enter the next step of *scope*."""

    @abstractmethod
    def end(self, facts: Facts, state: ExecutionState, strand: Strand, scope: Scope) -> Events:
        """Return the event that ends the strand after its last step."""

    @abstractmethod
    def after_entered(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
        """Return the events that start a step which has been entered."""

    @abstractmethod
    def after_started(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
        """Return what follows the start of a step: it waits, opens strands, is scheduled, or has succeeded."""

    @abstractmethod
    def after_joined(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the events of a step whose inner steps have ended well."""

    @abstractmethod
    def after_succeeded(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the event that leaves a step which has succeeded."""

    @abstractmethod
    def after_done(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the event that leaves a task which has its result."""

    def after_trouble(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
        """Return what follows a failed attempt: another attempt, a pause before it, a catch, or the failure."""
        return after_trouble(facts, state, strand, entry, self.retry_of(entry), self.next_attempt, self.caught)

    def after_failing(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
        """Return what follows the failure of an inner step: the outer step fails with the same error."""
        return (failed(state, strand, entry, entry.error, entry.cause),)

    @abstractmethod
    def after_failed(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the event that leaves a step which has failed."""

    @abstractmethod
    def after_wait(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the events that end a wait."""

    @abstractmethod
    def wakes_at(self, entry: Entry) -> Millis | None:
        """Return when a wait ends, None for a step of another kind."""

    @abstractmethod
    def retry_of(self, entry: Entry) -> tuple[RetryPolicy, ...]:
        """Return the retry policies of a step."""

    @abstractmethod
    def next_attempt(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the events that open one more attempt of a step."""

    @abstractmethod
    def caught(
        self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, error: str, cause: str
    ) -> Event | None:
        """Return the event that leaves a step whose error is caught, None when nothing catches it."""

    def fault(self, facts: Facts, state: ExecutionState, strand: Strand, cause: str) -> Events:
        """Return the events for an evaluation error: the step may catch it, else it fails.

        Outside a step (the input of the next one, the output of the flow) the execution fails.
        """
        entry = strand.scopes[-1].entry
        if entry is None:
            return (final_event(state, events.ExecutionFailed, RUNTIME_ERROR, cause),)
        return after_fault(facts, state, strand, entry, cause, self.caught)
