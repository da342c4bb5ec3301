"""The parsed flow: one frozen data class per step type.

Nodes hold what the definition says, already checked and with every path and condition compiled, and answer what the
fold asks of a step (`engine.model.Step`). What is recorded when they run is decided in `languages.fdl.decide`.
"""

import re
from collections.abc import Mapping as AbcMapping
from typing import Any

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.frozen import field, frozen
from emulator.services.workflow.engine import model
from emulator.services.workflow.engine.events import member_bytes, member_texts, quote
from emulator.services.workflow.engine.language import EvaluationError
from emulator.services.workflow.engine.model import (
    Branching,
    CatchPolicy,
    Definition,
    Entry,
    Fork,
    ParameterError,
    Pattern,
    RetryPolicy,
    Scope,
    StepList,
    Task,
)
from emulator.services.workflow.languages.fdl.conditions import Condition
from emulator.services.workflow.languages.fdl.mappings import Mapping
from emulator.services.workflow.languages.fdl.mappings import apply as apply_mappings
from emulator.services.workflow.languages.fdl.paths import Path
from emulator.services.workflow.languages.values import MISSING
from emulator.services.workflow.limits import WAIT_S
from emulator.services.workflow.ports import Resource
from emulator.wire.dates import parse_iso


@frozen
class Step(model.Step):
    """What every step has.

    ``input_mappings`` None means merge(scope input, scope local); ``output_mappings`` None means the default of the
    step's type; an empty tuple means ``{}``.
    """

    input_mappings: tuple[Mapping, ...] | None = None
    output_mappings: tuple[Mapping, ...] | None = None
    constant_output: tuple[dict[str, Any], str] | None = field(default=None, compare=False)
    """What ``output_mappings`` always build, with its text."""
    end: bool = False

    def derived_input(self, scope: Scope) -> Any:
        """Return the scope's input merged with its local, unless the step has inputMappings."""
        if self.input_mappings is not None:
            return None
        if not scope.input:
            return scope.local
        return {**scope.input, **scope.local} if scope.local else scope.input

    def next_position(self, steps: StepList, position: int) -> int:
        """Return the next position in the list, or its end."""
        return len(steps.steps) if self.end else position + 1


@frozen
class TaskStep(Step, Task):
    """Calls a service. ``resource_arn`` is the text as written ("" for an action); shown in the history."""

    resource: Resource
    resource_arn: str
    pattern: Pattern = "requestResponse"
    timeout_s: int | None = None
    service_params: AbcMapping[str, Any] | None = None
    """Constants, or `Path` objects on the step's input."""
    retry: tuple[RetryPolicy, ...] = ()
    catch: tuple[CatchPolicy, ...] = ()
    error_mappings: tuple[Mapping, ...] | None = None

    def parameters(self, value: Any) -> dict[str, Any]:
        """Return serviceParams with every path replaced by its value; a path that matches nothing is left out.

        Raises: ParameterError for a required one.
        """
        resolved = {}
        for name, source in (self.service_params or {}).items():
            item = source.find_in(value) if isinstance(source, Path) else source
            if item is not MISSING:
                resolved[name] = item
            elif name in {"MessageBody", "FlowName"}:
                raise ParameterError(f"{name} is missing in the input of the step")
        return resolved


@frozen
class PassStep(Step):
    """Emits constants or reshapes its input."""


@frozen
class WaitStep(Step):
    """Waits for ``duration`` seconds or until ``timestamp``; exactly one is set, each a constant or a path.

    Source: wait step, Serverless Workflow guide: at most two days, a time in the past ends it at once. What a dynamic
    value outside that does is assumed.
    """

    duration: int | Path | None = None
    timestamp: Millis | Path | None = None
    timestamp_text: str = ""

    def wakes_at(self, value: dict[str, Any], started: Millis) -> Millis:
        """Return when a wait that started at *started* with input *value* ends.

        Raises: EvaluationError for a value that is no whole number of seconds or no date, or lies over two days ahead.
        """
        if self.duration is not None:
            return Millis(started + _seconds(self.duration, value) * SECOND)
        at = self._time(value)
        if at - started > WAIT_S * SECOND:
            raise EvaluationError(f"a wait may last {WAIT_S} seconds at most")
        return at

    def member(self, value: dict[str, Any]) -> str:
        """Return the member of StepStarted's detail that says what is waited for.

        Raises: EvaluationError.
        """
        if self.duration is not None:
            return f'"duration":{_seconds(self.duration, value)}'
        if isinstance(self.timestamp, Path):
            return f'"timestamp":{quote(str(self.timestamp.find_in(value)))}'
        return f'"timestamp":{quote(self.timestamp_text)}'

    def _time(self, value: dict[str, Any]) -> Millis:
        if isinstance(self.timestamp, int):
            return self.timestamp
        text = self.timestamp.find_in(value) if self.timestamp is not None else None
        if not isinstance(text, str):
            raise EvaluationError("the timestamp must be the text of a date and time")
        try:
            return parse_timestamp(text)
        except (ValueError, OverflowError) as error:
            raise EvaluationError("the timestamp must be a date and time such as 2024-05-01T08:00:00Z") from error


_RFC_3339 = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})\Z", re.ASCII)


def parse_timestamp(text: str) -> Millis:
    """Return the time of an RFC 3339 text such as ``2024-05-01T08:00:00.5+08:00``.

    Raises: ValueError.
    """
    if not _RFC_3339.match(text):
        raise ValueError(text)
    return parse_iso(text)


def _seconds(duration: int | Path, value: dict[str, Any]) -> int:
    seconds = duration.find_in(value) if isinstance(duration, Path) else duration
    if isinstance(seconds, float) and seconds.is_integer():
        seconds = int(seconds)
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 0 <= seconds <= WAIT_S:
        raise EvaluationError(f"the duration must be a whole number of seconds from 0 to {WAIT_S}")
    return seconds


@frozen
class Option:
    """One way out of a choice; the default has no condition."""

    condition: Condition | None = None
    steps: StepList | None = None
    goto: str | None = None


@frozen
class ChoiceStep(Step):
    """Takes the first option whose condition is true, else the default, else nothing."""

    options: tuple[Option, ...]
    default: Option | None = None

    @property
    def outcomes(self) -> tuple[Option, ...]:
        """The options, and the default behind them if there is one."""
        return self.options if self.default is None else (*self.options, self.default)

    def option(self, mark: int | None) -> Option | None:
        """Return the option of that number, the default for the number after the last."""
        if mark is None:
            return None
        return self.options[mark] if mark < len(self.options) else self.default

    def nested(self, mark: int) -> StepList | None:
        """Return the steps of the option that was taken."""
        option = self.option(mark)
        return option.steps if option is not None else None

    def inner_lists(self) -> list[StepList]:
        """Return the steps of the options."""
        return [option.steps for option in self.outcomes if option.steps is not None]


@frozen
class SucceedStep(Step):
    """Ends the innermost step list."""

    def next_position(self, steps: StepList, position: int) -> int:
        """Return the end of the list."""
        return len(steps.steps)


@frozen
class FailStep(Step):
    """Fails its parent, and so on up to the execution."""

    error: str = ""
    cause: str = ""


@frozen
class ParallelStep(Branching, Step):
    """Runs its branches side by side."""

    branches: tuple[StepList, ...]


@frozen
class ForeachStep(Step):
    """Runs its steps once per element of an array, at most 100 at a time."""

    collection: Path
    item: str
    index_name: str | None = None
    steps: StepList

    def fork(self, value: Any, freed: int, items: list[Any] | None = None) -> Fork:
        """Return a fork with one strand for each element."""
        items = self.collection.find_in(value)
        return Fork(len(items), freed, items, member_bytes(member_texts(value)))

    def branch(self, entry: Entry, index: int) -> tuple[StepList, Any]:
        """Return the steps of an iteration; its input is the step's with the element and its index."""
        own = self.own_members(entry.fork, index) if entry.fork is not None else {}
        return self.steps, {**entry.input, **own}

    def own_members(self, fork: Fork, index: int) -> dict[str, Any]:
        """Return what the input of iteration *index* has beside the foreach's own input."""
        own = {self.item: fork.items[index]} if fork.items is not None else {}
        if self.index_name is not None:
            own[self.index_name] = index
        return own

    def inner_lists(self) -> list[StepList]:
        """Return the steps of an iteration."""
        return [self.steps]


@frozen
class Flow(Definition):
    """A whole definition. ``warnings`` are for the log, not for the client."""

    steps: StepList
    input_mappings: tuple[Mapping, ...] | None = None
    output_mappings: tuple[Mapping, ...] | None = None
    timeout_s: int | None = None
    warnings: tuple[str, ...] = field(default=())

    def begin(self, value: Any) -> Any:
        """Return the execution's input after the flow's inputMappings."""
        if self.input_mappings is None:
            return value
        return apply_mappings(self.input_mappings, {"input": value, "local": {}, "context": {}})
