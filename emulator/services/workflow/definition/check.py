"""Checks that need more than one step: names once in the flow, jumps to siblings, steps nothing leads to."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from emulator.services.workflow.definition.fields import Part
from emulator.services.workflow.definition.nodes import (
    ChoiceStep,
    FailStep,
    Step,
    StepList,
    SucceedStep,
    TaskStep,
    inner_lists,
)


@dataclass(slots=True)
class Outline:
    """What has been seen of the flow so far: the lines step names stand in, and remarks for the log.

    A name may stand once in the whole flow, not only once in its list, so that the history's step names are clear.
    Source: assumed.
    """

    names: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def enter(self, name: str, part: Part) -> None:
        """Note a step's name.

        Raises: DefinitionError when another step has it.
        """
        if name in self.names:
            raise part.failure(f"another step, in line {self.names[name]}, has the name {name!r}")
        self.names[name] = part.node.line

    def warn(self, part: Part, message: str) -> None:
        """Note something that is allowed and probably not meant."""
        self.warnings.append(f"{part.field}: {message} (line {part.node.line})")


def check_jumps(jumps: list[Part], siblings: StepList) -> None:
    """Make sure that every jump out of a step of a list ends in the same list.

    Raises: DefinitionError.
    """
    for jump in jumps:
        if jump.text() not in siblings.index:
            raise jump.failure(f"no step {jump.text()[:200]!r} stands in the same list of steps")


def unreachable_steps(steps: StepList) -> Iterator[str]:
    """Yield the names of steps that neither the order nor a jump leads to, in all depths."""
    reached: set[int] = set()
    waiting = [0]
    while waiting:
        position = waiting.pop()
        if position in reached or position >= len(steps.steps):
            continue
        reached.add(position)
        step = steps.steps[position]
        waiting.extend(steps.index[target] for target in _jumps(step))
        if _falls_through(step):
            waiting.append(position + 1)
    for position, step in enumerate(steps.steps):
        if position not in reached:
            yield step.name
        for inner in inner_lists(step):
            yield from unreachable_steps(inner)


def _jumps(step: Step) -> list[str]:
    if isinstance(step, TaskStep):
        return [policy.goto for policy in step.catch]
    outcomes = step.outcomes if isinstance(step, ChoiceStep) else ()
    return [option.goto for option in outcomes if option.goto is not None]


def _falls_through(step: Step) -> bool:
    if step.end or isinstance(step, SucceedStep | FailStep):
        return False
    if isinstance(step, ChoiceStep):
        return step.default is None or any(option.goto is None for option in step.outcomes)
    return True
