"""Turns answers of mocks into results of a task's call, in the form that the called service gives.

A mock is for a step by its name, for a function (``service/function`` or ``function``), or for an action such as
``MNS:SendMessage``; the first of these that has a mock answers.
"""

from collections.abc import Mapping
from typing import Any

from emulator.kernel.phrases import Phrase
from emulator.services.workflow.engine.decide import RUNTIME_ERROR
from emulator.services.workflow.engine.json_text import canonical
from emulator.services.workflow.engine.language import CallService, Replied, Reported, Result
from emulator.services.workflow.engine.model import ParameterError, Task
from emulator.services.workflow.engine.tasks import function_result, target_of, whole_reply
from emulator.services.workflow.ports import FunctionReply, FunctionResource, Resource
from emulator.services.workflow.rehearsal.drive import Drive
from emulator.wire.answers import Answer, Script, action_key, read_script


def function_name(resource: Resource) -> str | None:
    """Return ``service/function`` or ``function`` for a function, None for any other resource."""
    if not isinstance(resource, FunctionResource):
        return None
    return f"{resource.service}/{resource.function}" if resource.service else resource.function


def named_by(task: Task, target: Resource | None) -> list[str]:
    """Return the names of mocks that apply to a task that calls *target*, in order of precedence."""
    resource = target or task.resource
    function = function_name(resource)
    names = [task.name, *([function] if function else []), action_key(resource.action)]
    written = getattr(task, "action", None)  # what a state has, where that is not what its resource tells
    return names if written is None else [*names, action_key(written.name)]


class Mocks:
    """The mocks of one execution, by their names; each counts the answers it has given."""

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        self._scripts = {action_key(name) if ":" in name else name: script for name, script in scripts.items()}
        self._given: dict[str, int] = {}

    def next(self, call: CallService) -> Answer | None:
        """Return the next answer to a call; None when no mock applies, or when the mock passes the call through."""
        for name in named_by(call.step, target_of(call)):
            script = self._scripts.get(name)
            if script is not None:
                at = self._given.get(name, 0)
                self._given[name] = at + 1
                return script.answer(at, name)
        return None


def read_mock(document: Any) -> Script:
    """Read the value of one mock: an answer, a list of them, or ``{"answers": [...], "then": ...}``.

    Raises: ValueError with a sentence.
    """
    if isinstance(document, Mapping) and document.keys() & {"answers", "then"}:
        if unknown := document.keys() - {"answers", "then"}:
            raise ValueError(Phrase("a mock has no member {name!r}; it has answers and then", name=min(unknown)))
        return read_script(document.get("answers"), document.get("then"))
    return read_script(document if isinstance(document, list) else [document], "repeat")


def refused_parameters(call: CallService) -> Result | None:
    """Return the result of a call whose parameters are invalid, None when they are valid."""
    try:
        call.step.parameters(call.input)
        call.step.target(call.input)
    except ParameterError as problem:
        return Result(error=RUNTIME_ERROR, cause=str(problem), refused=True)
    return None


def result_of(call: CallService, answer: Answer) -> Result:
    """Return the result of a call that a mock answers with *answer*."""
    target = target_of(call)
    if isinstance(target, FunctionResource):
        failed = "HandledInvocationError" if answer.failed else None
        result = function_result(target, FunctionReply(body=answer.body, error_type=failed))
        if call.step.answers_in_full and result.error is None:
            is_queued = call.step.parameters(call.input).get("InvocationType") == "Async"
            return whole_reply(202, {}, b"") if is_queued else whole_reply(200, {}, answer.body)
        return result
    return report_of(answer)


def report_of(answer: Answer) -> Result:
    """Return *answer* as the result in a report of a task."""
    if answer.failed:
        return Result(error=answer.error_type, cause=answer.error_message)
    return Result(output=answer.value if isinstance(answer.value, str) else canonical(_value(answer)))


def _value(answer: Answer) -> Any:
    return {} if answer.value is None else answer.value


def is_reported(task: Task) -> bool:
    """Whether a task ends with a report, rather than with the reply to its call."""
    return task.pattern == "waitForCallback" or (task.pattern == "sync" and not task.reply_is_result)


def give(drive: Drive, call: CallService, answer: Answer) -> None:
    """Answer a call of *drive* with *answer*: post its reply or report after the answer's delay."""
    refused = refused_parameters(call)
    if refused is not None:
        drive.post(0, Replied(call.entry, call.attempt, refused))
        return
    if is_reported(call.step):
        drive.post(0, Replied(call.entry, call.attempt, Result()))
        if not answer.never:
            drive.post(answer.delay_ms, Reported(call.entry, call.attempt, report_of(answer)))
    elif not answer.never:
        drive.post(answer.delay_ms, Replied(call.entry, call.attempt, result_of(call, answer)))
