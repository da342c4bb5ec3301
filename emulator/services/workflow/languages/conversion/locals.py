"""Infers from a list of steps which members its local can have."""

from typing import Any

from emulator.services.workflow.engine.model import StepList
from emulator.services.workflow.languages.conversion.sources import compares_constants
from emulator.services.workflow.languages.fdl.nodes import ChoiceStep, Step, TaskStep
from emulator.services.workflow.languages.fdl.paths import Path


def possible_keys(steps: StepList) -> set[str] | None:
    """Return the members that the local of a list may get; None when they cannot be known."""
    keys: set[str] = set()
    for step in steps.steps:
        assert isinstance(step, Step)
        inner: list[set[str] | None] = []
        if step.output_mappings is not None:
            inner = [{mapping.keys[0] for mapping in step.output_mappings}]
        elif isinstance(step, ChoiceStep):
            inner = [possible_keys(nested) for nested in step.inner_lists()]
        elif isinstance(step, TaskStep):
            return None
        if isinstance(step, TaskStep):
            inner.append({mapping.keys[0] for mapping in step.error_mappings or ()})
        for found in inner:
            if found is None:
                return None
            keys |= found
    return keys


def sure_keys(steps: StepList) -> set[str]:
    """Return members that the local of a list certainly gets when all its steps run in order."""
    keys: set[str] = set()
    for position, step in enumerate(steps.steps):
        assert isinstance(step, Step)
        if isinstance(step, TaskStep) and step.catch:
            return set()
        if isinstance(step, ChoiceStep) and any(option.goto for option in step.outcomes):
            return set()
        keys |= {mapping.keys[0] for mapping in step.output_mappings or () if _is_sure(mapping.source)}
        if step.next_position(steps, position) != position + 1:
            break
    return keys


def _is_sure(source: Any) -> bool:
    return not isinstance(source, Path) or (source.root in {"$input", "$local"} and not source.segments)


def read_of_local(step: Step) -> list[tuple[Any, ...]]:
    """Return the paths on ``$local`` in the outputMappings of a step, as their segments."""
    sources = [mapping.source for mapping in step.output_mappings or ()]
    return [source.segments for source in sources if isinstance(source, Path) and source.root == "$local"]


def takes_null(step: ChoiceStep) -> bool:
    """Whether null can stand for a missing member: only conditions read the input, and compare it with constants."""
    if any(option.steps is not None for option in step.outcomes):
        return False
    sources = [mapping.source for mapping in step.output_mappings or ()]
    if any(isinstance(source, Path) and source.root != "$context" for source in sources):
        return False
    return all(option.condition is None or compares_constants(option.condition.tree) for option in step.options)
