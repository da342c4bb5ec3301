"""Serializes a state as one line of JSON, so that waking an old execution is as cheap as waking a new one.

A snapshot equals the fold of the history and only saves reading it: a snapshot of another format is ignored and the
history read instead. An input that follows from another one (that of a branch or iteration, of a step without
inputMappings, of the steps of an option) is left out: a foreach may have a hundred iterations under way, and each
holds the whole input of the foreach.
"""

import json
from operator import itemgetter
from typing import Any

from emulator.kernel.clock import Millis
from emulator.services.workflow.engine.json_text import canonical, with_text
from emulator.services.workflow.engine.model import ROOT, Definition, Entry, Fork, Phase, Scope, Step, StepList, Strand
from emulator.services.workflow.engine.state import ExecutionState

FORMAT = 3


def dump(state: ExecutionState) -> str:
    """Write a state that has not ended.

    Raises: ValueError when the data cannot be written as JSON.
    """
    strands = [
        [strand.id, strand.parent, strand.index, strand.last, strand.parked, _scopes_out(strand)]
        for strand in state.strands.values()
    ]
    return canonical(
        [FORMAT, state.last, state.at, state.started_at, state.error, state.cause, state.variables, strands]
    )


def _scopes_out(strand: Strand) -> list[list[Any]]:
    return [
        [
            scope.position,
            scope.input if strand.id == ROOT and scope is strand.scopes[0] else None,
            scope.local,
            _entry_out(scope.entry, scope) if scope.entry else None,
        ]
        for scope in strand.scopes
    ]


def load(definition: Definition, text: str) -> ExecutionState | None:
    """Return the state that `dump` wrote as *text*; None when it is of another format."""
    version, *rest = json.loads(text)
    if version != FORMAT:
        return None
    last, at, started_at, error, cause, variables, strands = rest
    state = ExecutionState()
    state.last = last
    state.at = Millis(at)
    state.started_at = Millis(started_at)
    state.error, state.cause = error, cause
    state.variables = variables
    for fields in sorted(strands, key=itemgetter(0)):  # a parent's id is smaller than its children's
        strand = _strand_in(definition, state, fields)
        state.strands[strand.id] = strand
        if not strand.parked:
            state.ready.append(strand.id)
    return state


def _entry_out(entry: Entry, scope: Scope) -> list[Any]:
    fork = entry.fork
    return [
        entry.id,
        int(entry.phase),
        entry.at,
        None if entry.step.derived_input(scope) == entry.input else entry.input,
        entry.local,
        None if entry.output is None else entry.output.value,
        entry.error,
        entry.cause,
        entry.mark,
        entry.retries,
        entry.scheduled_at,
        entry.request and entry.request.value,
        fork and _fork_out(fork),
    ]


def _fork_out(fork: Fork) -> list[Any]:
    items = fork.items if fork.own_items else None
    return [fork.total, fork.opened, fork.running, sorted(fork.results.items()), fork.freed, items]


def _strand_in(definition: Definition, state: ExecutionState, fields: list[Any]) -> Strand:
    strand_id, parent, index, last, parked, scopes = fields
    steps, known = (definition.steps, {}) if strand_id == ROOT else _branch(state, parent, index)
    strand: Strand | None = None
    for position, value, local, entry in scopes:
        scope = Scope(steps, known if value is None else value)
        scope.position = position
        scope.left = with_text(local)
        if entry is not None:
            scope.entry = _entry_in(steps.steps[position], entry, scope)
            known = scope.entry.input
            nested = None if scope.entry.mark is None else scope.entry.step.nested(scope.entry.mark)
            if nested is not None:
                steps = nested
        if strand is None:
            strand = Strand(strand_id, parent, index, scope)
        else:
            strand.scopes.append(scope)
    if strand is None:
        raise ValueError("a snapshot has a strand without a scope")
    strand.last = last
    strand.parked = parked
    return strand


def _branch(state: ExecutionState, parent: int, index: int) -> tuple[StepList, Any]:
    owner = state.strands[parent].scopes[-1].entry
    if owner is None:
        raise LookupError("a snapshot has a branch of no step")
    return owner.step.branch(owner, index)


def _entry_in(step: Step, fields: list[Any], scope: Scope) -> Entry:
    entry_id, phase, at, own, local, output, error, cause, mark, retries, scheduled_at, request, fork = fields
    value = step.derived_input(scope) if own is None else own
    entry = Entry(step, entry_id, Millis(at), with_text(value))
    entry.phase = Phase(phase)
    entry.local = local
    entry.output = None if output is None else with_text(output)
    entry.error, entry.cause = error, cause
    entry.mark = mark
    entry.retries = retries
    entry.scheduled_at = Millis(scheduled_at)
    entry.request = None if request is None else with_text(request)
    if fork:
        total, opened, running, results, freed, items = fork
        entry.fork = step.fork(value, freed, items)
        if entry.fork is None or entry.fork.total != total:
            raise LookupError("a snapshot has a fork that its step does not open")
        entry.fork.opened, entry.fork.running = opened, running
        entry.fork.results = dict(results)
    return entry
