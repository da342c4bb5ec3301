"""Converts the call of a task: to an action of the new language and its parameters."""

from collections.abc import Callable
from typing import Any, Final, assert_never

from emulator.kernel.phrases import Phrase
from emulator.services.workflow.languages.conversion.expressions import Expression, State, chosen, literal, under
from emulator.services.workflow.languages.conversion.sources import Source
from emulator.services.workflow.languages.fdl.mappings import reads_context
from emulator.services.workflow.languages.fdl.nodes import TaskStep
from emulator.services.workflow.languages.fdl.paths import Path
from emulator.services.workflow.languages.statemachine.actions import ACTIONS
from emulator.services.workflow.ports import (
    ActionResource,
    FlowResource,
    FunctionResource,
    HttpResource,
    MapResource,
    ObjectResource,
    QueueResource,
    TopicResource,
)

_MESSAGE: Final = {each.attribute: each.name for each in ACTIONS["MNS:SendMessage"].parameters.stored}
"""The parameters of a message in the new language, by their names in the old one."""


class NotConvertible(Exception):
    """A flow that has no counterpart in the other language."""


class Call:
    """The call of a task; *inside* are the sources while its state runs, *outside* those before it.

    *note* is called with each remark about what differs.
    """

    def __init__(self, step: TaskStep, inside: Source, outside: Source, note: Callable[[Phrase], None]) -> None:
        self._step = step
        self._inside = inside
        self._outside = outside
        self._note = note

    def made(self) -> tuple[str, State, str]:
        """Return the action of a task, its parameters, and the path of its result in the reply."""
        source = self._inside
        sources = {name: source.value(value) for name, value in (self._step.service_params or {}).items()}
        event = self._event()
        match self._step.resource:
            case FunctionResource():
                kind = sources.pop("InvocationType", "Sync")
                if kind == "Async" and self._step.pattern == "requestResponse":
                    self._note(Phrase("the result of an asynchronous call is {Code: 202, ...} here"))
                self._dropped(sources)
                arn = {"resourceArn": self._step.resource_arn, **under("invocationType", kind)}
                return "FC:InvokeFunction", {**arn, **under("body", event)}, "$Output.Body"
            case QueueResource() | TopicResource():
                known = {_MESSAGE[name]: sources.pop(name) for name in list(sources) if name in _MESSAGE}
                self._dropped(sources)
                parameters: State = {"resourceArn": self._step.resource_arn}
                for name, value in known.items():
                    parameters |= under(name, value)
                return "MNS:SendMessage", parameters, "$Output"
            case FlowResource():
                return self._start({"resourceArn": self._step.resource_arn}, sources, event)
            case ActionResource(service, operation) if (service, operation) == ("fnf", "StartExecution"):
                flow = sources.pop("FlowName")
                if isinstance(flow, Expression):
                    found = source.find((self._step.service_params or {})["FlowName"])
                    text = f'format("acs:fnf:::flow/{{}}", {flow.text})'
                    there = found.there if found is not None else ""
                    arn = {"resourceArn.$": chosen(there, text, "null") if there else text}
                else:
                    arn = {"resourceArn": f"acs:fnf:::flow/{flow}"}
                return self._start(arn, sources, event)
            case ActionResource(service, operation):
                other: State = {}
                for name, value in sources.items():
                    if isinstance(value, Expression) and source.may_be_missing((self._step.service_params or {})[name]):
                        text = "the parameter {name} is null here when the input does not have it"
                        self._note(Phrase(text, name=name))
                    other |= under(name, value)
                return f"{service}:{operation}", other, "$Output"
            case HttpResource() | ObjectResource() | MapResource():
                raise NotConvertible(Phrase("the step {name!r} calls what no state calls", name=self._step.name))
            case _:
                assert_never(self._step.resource)

    def _start(self, arn: State, sources: State, event: Any) -> tuple[str, State, str]:
        if self._step.pattern == "requestResponse":
            self._note(Phrase("the result of a start is {FlowName, ExecutionName, RequestID} here"))
        parameters = {**arn, **under("input", self._child_input(event, sources.pop("Input", event)))}
        if "ExecutionName" in sources:
            parameters |= under("executionName", sources.pop("ExecutionName"))
        self._dropped(sources)
        return "FNF:StartExecution", parameters, "$Output"

    def _child_input(self, event: Any, given: Any) -> Any:
        """Return the input of a child execution: *given*, or the *event* when that is None."""
        source = (self._step.service_params or {}).get("Input")
        found = self._inside.find(source) if isinstance(source, Path) else None
        if found is None or not found.there:
            return given
        other = event.text if isinstance(event, Expression) else literal(event)
        return Expression(chosen(found.there, found.text, other))

    def _dropped(self, sources: State) -> None:
        for name in sources:
            self._note(Phrase("the parameter {name} has no counterpart and is left out", name=name))

    def _event(self) -> Any:
        """Return the value to send: the step's input, constructed anew for each attempt when it reads ``$context``."""
        if not reads_context(self._step.input_mappings):
            return Expression("$Input.Step")
        source = self._outside
        return source.template(self._step.input_mappings or ())
