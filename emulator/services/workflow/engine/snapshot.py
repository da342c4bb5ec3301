"""The state as one line of JSON, and back: what makes waking an old execution as cheap as waking a new one.

A snapshot is only a short cut. It equals the fold of the history, which stays the truth: a snapshot of another format
is put aside and the history read instead.
"""

import json
from typing import Any

from emulator.kernel.clock import Millis
from emulator.services.workflow.definition.nodes import Flow, ForeachStep, Step, StepList
from emulator.services.workflow.engine.events import canonical
from emulator.services.workflow.engine.frames import ROOT, Entry, Fork, Phase, Scope, Strand
from emulator.services.workflow.engine.state import ExecutionState, steps_of_strand

FORMAT = 1


def dump(state: ExecutionState) -> str:
    """Write a state that has not ended.

    Raises: ValueError when the data cannot be written as JSON.
    """
    strands = [
        [
            strand.id,
            strand.parent,
            strand.index,
            strand.last,
            strand.parked,
            [
                [scope.position, scope.input, scope.local, _entry_out(scope.entry) if scope.entry else None]
                for scope in strand.scopes
            ],
        ]
        for strand in state.strands.values()
    ]
    return canonical([FORMAT, state.last, state.at, state.started_at, state.error, state.cause, strands])


def load(flow: Flow, text: str) -> ExecutionState | None:
    """Read what `dump` wrote; None when it is of another format."""
    version, *rest = json.loads(text)
    if version != FORMAT:
        return None
    last, at, started_at, error, cause, strands = rest
    state = ExecutionState()
    state.last = last
    state.at = Millis(at)
    state.started_at = Millis(started_at)
    state.error, state.cause = error, cause
    for fields in sorted(strands, key=_strand_id):  # a parent's id is smaller than its children's
        strand = _strand_in(flow, state, fields)
        state.strands[strand.id] = strand
        if not strand.parked:
            state.ready.append(strand.id)
    return state


def _strand_id(fields: list[Any]) -> int:
    return int(fields[0])


def _entry_out(entry: Entry) -> list[Any]:
    fork = entry.fork
    return [
        entry.id,
        int(entry.phase),
        entry.at,
        entry.input,
        entry.local,
        entry.output,
        entry.error,
        entry.cause,
        entry.mark,
        entry.retries,
        entry.scheduled_at,
        fork and [fork.total, fork.opened, fork.running, sorted(fork.results.items()), fork.freed],
    ]


def _strand_in(flow: Flow, state: ExecutionState, fields: list[Any]) -> Strand:
    strand_id, parent, index, last, parked, scopes = fields
    steps = flow.steps if strand_id == ROOT else _branch(state, parent, index)
    strand: Strand | None = None
    for position, given, local, entry in scopes:
        scope = Scope(steps, given)
        scope.position = position
        scope.local = local
        scope.local_text = canonical(local)
        if entry is not None:
            scope.entry = _entry_in(steps.steps[position], entry)
            option = scope.entry.option()
            if option is not None and option.steps is not None:
                steps = option.steps
        if strand is None:
            strand = Strand(strand_id, parent, index, scope)
        else:
            strand.scopes.append(scope)
    if strand is None:
        raise ValueError("a snapshot has a strand without a scope")
    strand.last = last
    strand.parked = parked
    return strand


def _branch(state: ExecutionState, parent: int, index: int) -> StepList:
    owner = state.strands[parent].scopes[-1].entry
    if owner is None:
        raise LookupError("a snapshot has a branch of no step")
    return steps_of_strand(owner.step, index)


def _entry_in(step: Step, fields: list[Any]) -> Entry:
    entry_id, phase, at, given, local, output, error, cause, mark, retries, scheduled_at, fork = fields
    entry = Entry(step, entry_id, Millis(at), given, canonical(given))
    entry.phase = Phase(phase)
    entry.local = local
    entry.output = output
    entry.output_text = canonical(output) if output is not None else "{}"
    entry.error, entry.cause = error, cause
    entry.mark = mark
    entry.retries = retries
    entry.scheduled_at = Millis(scheduled_at)
    if fork:
        total, opened, running, results, freed = fork
        items = step.collection.find_in(given) if isinstance(step, ForeachStep) else None
        entry.fork = Fork(total, items, freed)
        entry.fork.opened, entry.fork.running = opened, running
        entry.fork.results = dict(results)
    return entry
