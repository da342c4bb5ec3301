"""Decides the next events of a strand of a flow: pure, total, without clock, randomness or store.

An expression that cannot be evaluated fails the step with ``FnF.RuntimeError``, which only a task can catch.
"""

from typing import Any, assert_never

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.services.workflow.engine import events, model
from emulator.services.workflow.engine.decide import (
    RUNTIME_ERROR,
    SURELY_FITS,
    attempt,
    catch_for,
    check_bytes,
    check_size,
    failed,
    final_event,
    open_strands,
    strand_exited,
)
from emulator.services.workflow.engine.events import Event
from emulator.services.workflow.engine.json_text import Json, canonical, joined, member_bytes, member_texts, with_text
from emulator.services.workflow.engine.language import EvaluationError, Events, Facts, Park, WakeAt
from emulator.services.workflow.engine.model import ROOT, Entry, Phase, RetryPolicy, Scope, Strand
from emulator.services.workflow.engine.state import ExecutionState
from emulator.services.workflow.languages.fdl.mappings import Data, reads_context
from emulator.services.workflow.languages.fdl.mappings import apply as apply_mappings
from emulator.services.workflow.languages.fdl.nodes import (
    ChoiceStep,
    FailStep,
    Flow,
    ForeachStep,
    ParallelStep,
    PassStep,
    Step,
    SucceedStep,
    TaskStep,
    WaitStep,
    flow_step,
)
from emulator.services.workflow.languages.strands import StrandProgram
from emulator.services.workflow.limits import ITERATIONS_AT_ONCE


@frozen
class FlowProgram(Flow, StrandProgram):
    """A flow of the flow definition language that can be run."""

    def skipped(self, facts: Facts, strand: Strand, step: model.Step, number: int, data: Any) -> events.StepExited:
        """Return StepExited with *data* merged into the local of the scope."""
        return _exited(facts, number, strand.last, strand, step.name, data or {}, None)

    def end(self, facts: Facts, state: ExecutionState, strand: Strand, scope: Scope) -> Events:
        """Return the event that ends a strand; at the root, its output goes through outputMappings."""
        if strand.id != ROOT:
            return (strand_exited(state, strand, scope.left),)
        output = scope.left
        if self.output_mappings is not None:
            output = with_text(
                apply_mappings(self.output_mappings, Data(facts, state, "", 0, 0, scope.input, scope.local))
            )
            check_size(facts, output.text)
        return (events.ExecutionSucceeded(state.last + 1, strand.last, output),)

    def enter(self, facts: Facts, state: ExecutionState, strand: Strand, scope: Scope) -> Events:
        """Return the event that enters the next step, or all four of one that only maps."""
        step = scope.steps.steps[scope.position]
        assert isinstance(step, Step)
        entry_id = state.last + 1
        value = step.derived_input(scope)
        if value is None:
            data = Data(facts, state, step.name, entry_id, 0, scope.input, scope.local)
            value = apply_mappings(step.input_mappings or (), data)
        local = scope.left
        given = local if value is local.value else with_text(value)
        if len(given.text) + len(local.text) > SURELY_FITS:
            check_size(facts, given.text)
            check_size(facts, local.text)
        target = step.resource_arn if isinstance(step, TaskStep) else None
        entered = events.StepEntered(entry_id, strand.id, strand.last, step.name, given, local.text, target)
        if step.ends_at_once:
            return _at_once(facts, state, strand, step, entered)
        return (entered,)

    def after_entered(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the events that start a step."""
        step = flow_step(entry.step)
        branch = seconds = timestamp = None
        match step:
            case TaskStep():
                return _attempt(state, strand, step, entry.given, 0)
            case FailStep():
                return (failed(state, strand, entry, step.error, step.cause),)
            case ChoiceStep():
                branch = _choose(step, entry.input)
            case WaitStep():
                step.wakes_at(entry.input, state.at)
                seconds, timestamp = step.waited_for(entry.input)
            case ForeachStep():
                if not isinstance(step.collection.find_in(entry.input), list):
                    raise EvaluationError(f"the collection {step.collection} of the input is not an array")
            case PassStep() | SucceedStep() | ParallelStep():
                pass
            case _:
                assert_never(step)
        return (
            events.StepStarted(
                state.last + 1, strand.id, strand.last, step.name, entry.given, branch, seconds, timestamp
            ),
        )

    def after_started(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
        """Return what follows the start of a step: it waits, opens strands or has succeeded."""
        step = entry.step
        if isinstance(step, WaitStep):
            due = step.wakes_at(entry.input, entry.at)
            if due > entry.at:
                return Park(strand.id, (WakeAt(entry.id, "wait", due),))
        if entry.fork is not None:
            if entry.fork.total:
                return _open_strands(facts, state, strand, entry)
            return _succeeded(facts, state, strand, entry, [], {})
        return _succeeded(facts, state, strand, entry, {}, {})

    def after_joined(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the events of a choice, parallel or foreach whose inner steps have ended well."""
        default = entry.local if isinstance(entry.step, ChoiceStep) else {}
        return _succeeded(facts, state, strand, entry, entry.local, default)

    def after_succeeded(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the event that leaves a step, with its output."""
        return (
            _exited(
                facts,
                state.last + 1,
                strand.last,
                strand,
                entry.step.name,
                entry.output.value if entry.output else {},
                _chosen_goto(entry),
            ),
        )

    def after_done(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the event that leaves a task, with the output that its result is mapped to."""
        step = entry.step
        assert isinstance(step, TaskStep)
        output = entry.local
        if step.output_mappings is not None:
            data = Data(facts, state, step.name, entry.id, entry.retries, entry.input, entry.local)
            output = apply_mappings(step.output_mappings, data)
        output_text = canonical(output)
        check_size(facts, entry.given.text, canonical(entry.local), output_text)
        exited = _exited(facts, state.last + 1, strand.last, strand, step.name, output, None)
        exited.input_text, exited.output_text, exited.target = entry.given.text, output_text, step.resource_arn
        return (exited,)

    def after_wait(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the events that end a wait."""
        return _succeeded(facts, state, strand, entry, {}, {})

    def wakes_at(self, entry: Entry) -> Millis | None:
        """Return when a wait ends, None for a step of another kind."""
        return entry.step.wakes_at(entry.input, entry.at) if isinstance(entry.step, WaitStep) else None

    def retry_of(self, entry: Entry) -> tuple[RetryPolicy, ...]:
        """Return the policies of a task; no other step is tried again."""
        return entry.step.retry if isinstance(entry.step, TaskStep) else ()

    def fault(self, facts: Facts, state: ExecutionState, strand: Strand, cause: str) -> Events:
        """Return the events for an evaluation error; a step that has ended cannot fail, so the execution does."""
        entry = strand.scopes[-1].entry
        if entry is not None and entry.phase in {Phase.FAILED, Phase.SUCCEEDED}:
            return (final_event(state, events.ExecutionFailed, RUNTIME_ERROR, cause),)
        return StrandProgram.fault(self, facts, state, strand, cause)

    def after_failed(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the event that leaves a step which has failed."""
        step, scope = entry.step, strand.scopes[-1]
        exited = events.StepExited(
            state.last + 1, strand.id, strand.last, step.name, scope.left, error=entry.error, cause=entry.cause
        )
        return (_of_failed_task(exited, entry, step) if isinstance(step, TaskStep) else exited,)

    def caught(
        self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, error: str, cause: str
    ) -> Event | None:
        """Return the event that leaves a task whose error is caught."""
        step = entry.step
        policy = catch_for(step.catch, error) if isinstance(step, TaskStep) else None
        if policy is None or not isinstance(step, TaskStep):
            return None
        output: dict[str, Any] = {}
        if step.error_mappings is not None:
            local = {"error": error, "cause": cause}
            data = Data(facts, state, step.name, entry.id, entry.retries, entry.input, local)
            output = apply_mappings(step.error_mappings, data)
            check_size(facts, entry.given.text, canonical(output))
        exited = _exited(facts, state.last + 1, strand.last, strand, step.name, output, policy.goto)
        exited.error, exited.cause = error, cause
        return _of_failed_task(exited, entry, step)

    def next_attempt(self, facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events:
        """Return the events that open the next attempt of a task."""
        step = entry.step
        assert isinstance(step, TaskStep)
        sent = _attempt_input(facts, state, strand, entry, entry.retries + 1)
        return _attempt(state, strand, step, sent, entry.retries + 1)


def _at_once(facts: Facts, state: ExecutionState, strand: Strand, step: Step, entered: events.StepEntered) -> Events:
    """Return all four events of a step that only maps data: the common case, which is worth a shortcut."""
    number, sid, name = entered.id, strand.id, step.name
    output = _output(facts, state, step, number, entered.input.value, {}, {})
    if len(entered.input.text) + len(output.text) > SURELY_FITS:
        check_size(facts, entered.input.text, output.text)
    return (
        entered,
        events.StepStarted(number + 1, sid, number, name, entered.input),
        events.StepSucceeded(number + 2, sid, number + 1, name, output),
        _exited(facts, number + 3, number + 2, strand, name, output.value, None),
    )


def _choose(step: ChoiceStep, value: dict[str, Any]) -> int | None:
    for index, option in enumerate(step.options):
        if option.condition is None or option.condition.holds(value):
            return index
    return len(step.options) if step.default is not None else None


def _open_strands(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry) -> Events | Park:
    step, fork, name = entry.step, entry.fork, entry.step.name
    assert fork is not None

    def branch(number: int, trigger: int, index: int) -> Event:
        return events.BranchEntered(number, strand.id, trigger, name, index, entry.given.text)

    if not isinstance(step, ForeachStep):
        return open_strands(state, strand, entry, ITERATIONS_AT_ONCE, branch)

    def iteration(number: int, trigger: int, index: int) -> Event:
        members = member_texts(step.own_members(fork, index))
        check_bytes(facts, 1 + sum({**fork.sizes, **member_bytes(members)}.values()))
        return events.IterationEntered(number, strand.id, trigger, name, index, joined(members), entry.id)

    return open_strands(state, strand, entry, ITERATIONS_AT_ONCE, iteration)


def _of_failed_task(exited: events.StepExited, entry: Entry, step: TaskStep) -> events.StepExited:
    """Add to *exited* the members that StepExited of a failed task shows.

    Source: the reliable multi-step transaction, Serverless Workflow best practices.
    """
    exited.input_text, exited.target, exited.retries = entry.given.text, step.resource_arn, entry.retries
    return exited


def _attempt_input(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, attempt: int) -> Json:
    """Return the input of an attempt of a task: the step's, but with the attempt's own ``$context``."""
    assert isinstance(entry.step, Step)
    mappings = entry.step.input_mappings
    if mappings is None or not reads_context(mappings):
        return entry.given
    scope = strand.scopes[-1]
    data = Data(facts, state, entry.step.name, entry.id, attempt, scope.input, scope.local)
    return with_text(apply_mappings(mappings, data))


def _attempt(state: ExecutionState, strand: Strand, step: TaskStep, sent: Json, retries: int) -> Events:
    target, timeout_s = step.resource_arn, step.timeout_s
    return attempt(state, strand, step, sent, target=target, timeout_s=timeout_s, retries=retries)


def _succeeded(facts: Facts, state: ExecutionState, strand: Strand, entry: Entry, local: Any, default: Any) -> Events:
    """Return the events that end a step other than a task well; a task has one event less.

    *default* is the output without outputMappings.
    """
    step = entry.step
    assert isinstance(step, Step)
    output = _output(facts, state, step, entry.id, entry.input, local, default)
    check_size(facts, entry.given.text, canonical(local) if local else "", output.text)
    first = state.last + 1
    return (
        events.StepSucceeded(first, strand.id, strand.last, step.name, output),
        _exited(facts, first + 1, first, strand, step.name, output.value, _chosen_goto(entry)),
    )


def _output(facts: Facts, state: ExecutionState, step: Step, entry: int, value: Any, local: Any, default: Any) -> Json:
    """Return the output of a step with input *value*; *default* is that without outputMappings."""
    if step.constant_output is not None:
        return step.constant_output
    output = default
    if step.output_mappings is not None:
        output = apply_mappings(step.output_mappings, Data(facts, state, step.name, entry, 0, value, local))
    return with_text(output)


def _exited(
    facts: Facts, number: int, scheduled: int, strand: Strand, name: str, output: Any, goto: str | None
) -> events.StepExited:
    """Return the event that leaves a step with *output*, merged into the local of its scope."""
    scope = strand.scopes[-1]
    left = scope.left
    if output:
        left = with_text({**left.value, **output} if left.value else output)
        if len(left.text) > SURELY_FITS:
            check_size(facts, left.text)
    return events.StepExited(number, strand.id, scheduled, name, left, goto)


def _chosen_goto(entry: Entry) -> str | None:
    """Return the step that the chosen option of a choice jumps to, None when it does not jump."""
    option = entry.step.option(entry.mark) if isinstance(entry.step, ChoiceStep) else None
    return option.goto if option is not None else None
