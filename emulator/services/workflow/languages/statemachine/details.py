"""The details of events of the state machine language, written and read back.

Members are in the order they are written. The names ``input``, ``output``, ``error`` and ``cause`` are those of the
old language, because programs that read histories know them.

Source: assumed as a whole; no history of this language has been published.
"""

import json
from typing import Any

from emulator.services.workflow.engine import events
from emulator.services.workflow.engine.events import quote, with_text


def entered(input_text: str, action: str | None) -> str:
    """Detail of StepEntered: the raw ``input``; of a task, too, ``action``."""
    return f'{{"input":{input_text}}}' if action is None else f'{{"input":{input_text},"action":{quote(action)}}}'


def started(input_text: str, *, items_text: str | None = None, seconds: int | None = None, retries: int = 0) -> str:
    """Detail of StepStarted: the constructed ``input``.

    A map has ``items`` when they do not follow from the input, a wait its ``seconds``, what is tried again its
    ``retryCount``.
    """
    members = [f'"input":{input_text}']
    if items_text is not None:
        members.append(f'"items":{items_text}')
    if seconds is not None:
        members.append(f'"seconds":{seconds}')
    if retries:
        members.append(f'"retryCount":{retries}')
    return "{" + ",".join(members) + "}"


def scheduled(input_text: str, action: str, mode: str, timeout_s: int | None, retries: int) -> str:
    """Detail of TaskScheduled: the evaluated Parameters as ``input``, how they are sent and how often before."""
    timeout_member = f',"timeoutSeconds":{timeout_s}' if timeout_s is not None else ""
    return (
        f'{{"input":{input_text},"action":{quote(action)},"taskMode":"{mode}"{timeout_member},"retryCount":{retries}}}'
    )


def exited(output_text: str, goto: str | None, variables: dict[str, Any] | None) -> str:
    """Detail of StepExited of a state that went well: ``output, goto, global``; ``goto`` is what a choice chose."""
    members = [f'"output":{output_text}']
    if goto is not None:
        members.append(f'"goto":{quote(goto)}')
    if variables:
        members.append(f'"global":{events.canonical(variables)}')
    return "{" + ",".join(members) + "}"


def exited_with_error(output_text: str, cause: str, error: str, retries: int, goto: str | None) -> str:
    """Detail of StepExited of a state that failed: ``output, cause, error, retryCount, goto``."""
    members = [f'"output":{output_text}']
    if cause:
        members.append(f'"cause":{quote(cause)}')
    if error:
        members.append(f'"error":{quote(error)}')
    members.append(f'"retryCount":{retries}')
    if goto is not None:
        members.append(f'"goto":{quote(goto)}')
    return "{" + ",".join(members) + "}"


def decode(kind: str, detail: str) -> Any:
    """Return the ``value`` of an event; see `engine.events.decode`."""
    match kind:
        case "StepStarted":
            members = json.loads(detail)
            if len(members) == 1:  # its text is what stands there
                return members["input"], detail[len('{"input":') : -1], None
            return (*with_text(members["input"]), members.get("items"))
        case "BranchExited" | "IterationExited":
            return with_text(json.loads(detail)["output"])
        case "StepExited":
            members = json.loads(detail)
            return (*with_text(members["output"]), members.get("goto"), members.get("global"))
        case _:
            return events.decode(kind, detail)
