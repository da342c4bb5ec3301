"""The ways through a scope: which states nothing leads to, and loops that no way leads out of.

A loop that calls nothing and has no way to an end would run until the limit of events, so it is refused. One with
tasks, parallels or maps may be ended by an error and is only remarked upon, as are states that cannot be reached.
"""

from collections.abc import Callable, Sequence

from emulator.services.workflow.engine.model import Step, StepList
from emulator.services.workflow.languages.fields import Part
from emulator.services.workflow.languages.statemachine.nodes import (
    ChoiceState,
    FailState,
    Guarded,
    State,
    SucceedState,
)


def ways_out(state: Step) -> list[str]:
    """Return the names of the states that *state* may lead to."""
    if isinstance(state, ChoiceState):
        return [*(branch.next for branch in state.branches), state.default]
    caught = [rule.goto for rule in state.catch] if isinstance(state, Guarded) else []
    return [state.next, *caught] if isinstance(state, State) and state.next is not None else caught


def check_ways(steps: StepList, parts: Sequence[Part], warn: Callable[[Part, str], None]) -> None:
    """Refuse a scope that cannot end; *parts* are the places of its states, *warn* takes remarks.

    Raises: DefinitionError.
    """
    ways = {step.name: ways_out(step) for step in steps.steps}
    reached = _reachable(ways, steps.steps[steps.start].name)
    for step, part in zip(steps.steps, parts, strict=True):
        if step.name not in reached:
            warn(part, f"nothing leads to the state {step.name!r}")
    finishing = _finishing(steps, ways)
    for step, part in zip(steps.steps, parts, strict=True):
        if step.name in finishing or step.name not in reached:
            continue
        message = f"no way leads from the state {step.name!r} to an end: it runs in a loop for ever"
        loop = _reachable(ways, step.name)
        if not any(isinstance(steps.steps[steps.index[name]], Guarded) for name in loop):
            raise part.failure(message)
        warn(part, message)


def _reachable(ways: dict[str, list[str]], start: str) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(ways[name])
    return reached


def _finishing(steps: StepList, ways: dict[str, list[str]]) -> set[str]:
    """Return the states that some way leads from to an end of the scope."""
    before: dict[str, list[str]] = {}
    waiting = []
    for step in steps.steps:
        for target in ways[step.name]:
            before.setdefault(target, []).append(step.name)
        if isinstance(step, SucceedState | FailState) or (
            isinstance(step, State) and not isinstance(step, ChoiceState) and step.next is None
        ):
            waiting.append(step.name)
    finishing: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in finishing:
            finishing.add(name)
            waiting.extend(before.get(name, ()))
    return finishing
