"""The parsed flow: one frozen data class per step type, and `FlowStep`, the union of them.

Nodes hold the checked definition, with every path and condition compiled, and implement `engine.model.Step` for the
fold. The events of a run are decided in `languages.fdl.decide`.
"""

import re
from collections.abc import Mapping as AbcMapping
from typing import Any, ClassVar, Final, cast

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.frozen import field, frozen
from emulator.kernel.phrases import Phrase
from emulator.services.workflow.engine import model
from emulator.services.workflow.engine.json_text import Json, member_bytes, member_texts
from emulator.services.workflow.engine.language import EvaluationError
from emulator.services.workflow.engine.model import (
    Beginning,
    Branching,
    CatchPolicy,
    Definition,
    Entry,
    Fork,
    ParameterError,
    Plain,
    RetryPolicy,
    Scope,
    StepList,
    Task,
    all_steps,
)
from emulator.services.workflow.engine.notation import DOCUMENTED, Notation, Pattern
from emulator.services.workflow.engine.outline import OTHERWISE, StepKind, Way
from emulator.services.workflow.languages.fdl.conditions import Condition
from emulator.services.workflow.languages.fdl.mappings import Mapping, context_of, resolve
from emulator.services.workflow.languages.fdl.mappings import apply as apply_mappings
from emulator.services.workflow.languages.fdl.paths import Path
from emulator.services.workflow.languages.values import MISSING
from emulator.services.workflow.limits import EXPRESS_S, WAIT_S
from emulator.services.workflow.ports import Resource
from emulator.wire.dates import parse_iso


@frozen
class Step(model.Step):
    """The fields of every step.

    ``input_mappings`` None means merge(scope input, scope local); ``output_mappings`` None means the default of the
    step's type; an empty tuple means ``{}``.
    """

    input_mappings: tuple[Mapping, ...] | None = None
    output_mappings: tuple[Mapping, ...] | None = None
    constant_output: Json | None = field(default=None, compare=False)
    """The object that ``output_mappings`` always build, with its text; None when it depends on the data."""
    end: bool = False

    def derived_input(self, scope: Scope) -> Any:
        """Return the scope's input merged with its local, unless the step has inputMappings."""
        if self.input_mappings is not None:
            return None
        if not scope.input:
            return scope.local
        return {**scope.input, **scope.local} if scope.local else scope.input

    def missing(self, scope: Scope) -> list[str]:
        """Return the paths of inputMappings that find nothing."""
        data = {"input": scope.input, "local": scope.local}
        sources = [mapping.source for mapping in self.input_mappings or ()]
        return [
            source.text
            for source in sources
            if isinstance(source, Path) and source.root != "$context" and resolve(source, data) is MISSING
        ]

    def next_position(self, steps: StepList, position: int) -> int:
        """Return the next position in the list, or its end."""
        return len(steps.steps) if self.end else position + 1

    def onward(self, steps: StepList, position: int) -> list[Way]:
        """Return the way to the step that follows, for the step at *position*."""
        return [Way(self.following(steps, position))]

    def following(self, steps: StepList, position: int) -> str | None:
        """Return the name of the step that follows the one at *position*, None at the end."""
        after = self.next_position(steps, position)
        return steps.steps[after].name if after < len(steps.steps) else None


@frozen
class PlainStep(Plain, Step):
    """A step without inner steps, which is followed by the next one."""

    def ways(self, steps: StepList, position: int) -> list[Way]:
        """Return the way to the next step."""
        return self.onward(steps, position)


@frozen
class TaskStep(PlainStep, Task):
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

    kind: ClassVar[StepKind] = "task"

    def about(self) -> str:
        """Return the called resource, with the pattern when that is not ``requestResponse``."""
        called = self.resource.label
        return called if self.pattern == "requestResponse" else f"{called}, {self.pattern}"

    def ways(self, steps: StepList, position: int) -> list[Way]:
        """Return the way to the next step, and those of errors that are caught."""
        caught = [Way(rule.goto, ", ".join(rule.errors), caught=n) for n, rule in enumerate(self.catch)]
        return [*self.onward(steps, position), *caught]

    def policies(self) -> tuple[tuple[RetryPolicy, ...], tuple[CatchPolicy, ...]]:
        """Return ``retry`` and ``catch``."""
        return self.retry, self.catch

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
class PassStep(PlainStep):
    """Emits constants or reshapes its input."""

    ends_at_once: ClassVar[bool] = True
    kind: ClassVar[StepKind] = "pass"


@frozen
class WaitStep(PlainStep):
    """Waits for ``duration`` seconds or until ``timestamp``; exactly one is set, each a constant or a path.

    Source: wait step, Serverless Workflow guide: at most two days, a time in the past ends it at once. What a dynamic
    value outside that does is assumed.
    """

    duration: int | Path | None = None
    timestamp: Millis | Path | None = None
    timestamp_text: str = ""

    kind: ClassVar[StepKind] = "wait"

    def about(self) -> str:
        """Return the duration of the wait, or its end."""
        if self.duration is None:
            return f"until {self.timestamp_text}"
        return f"{self.duration} s" if isinstance(self.duration, int) else self.duration.text

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

    def waited_for(self, value: dict[str, Any]) -> tuple[int | None, str | None]:
        """Return the seconds or the timestamp that the step waits for, the other one as None.

        Raises: EvaluationError.
        """
        if self.duration is not None:
            return _seconds(self.duration, value), None
        if isinstance(self.timestamp, Path):
            return None, str(self.timestamp.find_in(value))
        return None, self.timestamp_text

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


NO_STEPS: Final = StepList(steps=(), index={})


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

    kind: ClassVar[StepKind] = "choice"

    def about(self) -> str:
        """Return an empty text: the ways have the conditions."""
        return ""

    def ways(self, steps: StepList, position: int) -> list[Way]:
        """Return a way for each outcome; without a default the last one is that no option applies."""
        following = self.following(steps, position)
        return [Way(option.goto or following, label, option=n) for n, (label, option) in enumerate(self._labelled())]

    def parts(self) -> list[tuple[str, StepList]]:
        """Return the steps of every outcome, when any has some."""
        labelled = self._labelled()
        if not any(option.steps for _, option in labelled):
            return []
        return [(label, option.steps or NO_STEPS) for label, option in labelled]

    def _labelled(self) -> list[tuple[str, Option]]:
        options = [(option.condition.text if option.condition else "", option) for option in self.options]
        return [*options, (OTHERWISE, Option()) if self.default is None else ("default", self.default)]

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


@frozen
class SucceedStep(PlainStep):
    """Ends the innermost step list."""

    ends_at_once: ClassVar[bool] = True
    kind: ClassVar[StepKind] = "succeed"

    def next_position(self, steps: StepList, position: int) -> int:
        """Return the end of the list."""
        return len(steps.steps)


@frozen
class FailStep(PlainStep):
    """Fails its parent, and so on up to the execution."""

    error: str = ""
    cause: str = ""

    kind: ClassVar[StepKind] = "fail"

    def about(self) -> str:
        """Return the error and its cause."""
        return " ".join(filter(None, (self.error, self.cause)))

    def ways(self, steps: StepList, position: int) -> list[Way]:
        """Return an empty list: no step follows."""
        return []


@frozen
class ParallelStep(Branching, Step):
    """Runs its branches side by side."""

    branches: tuple[StepList, ...]

    kind: ClassVar[StepKind] = "parallel"

    def ways(self, steps: StepList, position: int) -> list[Way]:
        """Return the way to the next step."""
        return self.onward(steps, position)


@frozen
class ForeachStep(Step):
    """Runs its steps once per element of an array, at most 100 at a time."""

    collection: Path
    item: str
    index_name: str | None = None
    steps: StepList

    kind: ClassVar[StepKind] = "foreach"

    def about(self) -> str:
        """Return the element's name and the collection."""
        return f"{self.item} in {self.collection.text}"

    def ways(self, steps: StepList, position: int) -> list[Way]:
        """Return the way to the next step."""
        return self.onward(steps, position)

    def fork(self, value: Any, freed: int, items: list[Any] | None = None) -> Fork:
        """Return a fork with one strand for each element."""
        items = self.collection.find_in(value)
        return Fork(len(items), freed, items, member_bytes(member_texts(value)))

    def branch(self, entry: Entry, index: int) -> tuple[StepList, Any]:
        """Return the steps of an iteration; its input is the step's with the element and its index."""
        own = self.own_members(entry.fork, index) if entry.fork is not None else {}
        return self.steps, {**entry.input, **own}

    def own_members(self, fork: Fork, index: int) -> dict[str, Any]:
        """Return the members that the input of iteration *index* has in addition to the foreach's own input."""
        own = {self.item: fork.items[index]} if fork.items is not None else {}
        if self.index_name is not None:
            own[self.index_name] = index
        return own

    def parts(self) -> list[tuple[str, StepList]]:
        """Return the steps of an iteration."""
        return [("each iteration", self.steps)]


FlowStep = TaskStep | PassStep | WaitStep | ChoiceStep | SucceedStep | FailStep | ParallelStep | ForeachStep
"""Every kind of step. A ``match`` on it ends with ``assert_never``, so that a type checker finds a forgotten kind."""


def flow_step(step: model.Step) -> FlowStep:
    """Cast a step to `FlowStep`: the lists of a flow of this language hold no others."""
    return cast(FlowStep, step)


@frozen
class Flow(Definition):
    """A whole definition. ``warnings`` are for the log, not for the client."""

    notation: ClassVar[Notation] = DOCUMENTED

    steps: StepList
    input_mappings: tuple[Mapping, ...] | None = None
    output_mappings: tuple[Mapping, ...] | None = None
    timeout_s: int | None = None
    warnings: tuple[str, ...] = field(default=())

    def unfit_for_express(self) -> str | None:
        """Return why the flow cannot be express, also for a wait longer than an express execution may take.

        Source: express executions, Serverless Workflow guide: no long waits; how long one may be is assumed.
        """
        for step in all_steps(self.steps):
            if isinstance(step, WaitStep) and isinstance(step.duration, int) and step.duration > EXPRESS_S:
                text = "step {name!r} waits longer than the {most} seconds of express flows"
                return Phrase(text, name=step.name, most=EXPRESS_S)
        return Definition.unfit_for_express(self)

    def begin(self, value: Any, beginning: Beginning) -> Any:
        """Return the execution's input after the flow's inputMappings."""
        if self.input_mappings is None:
            return value
        data = {"input": value, "local": {}, "context": context_of(beginning, beginning.at)}
        return apply_mappings(self.input_mappings, data)
