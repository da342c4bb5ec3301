"""History events: what the API shows of an execution, and what its state is rebuilt from.

`Event` is one entry of the history. Its ``detail`` is the JSON text of the API; ``value`` is the part of it the state
needs, already decoded (`decode` gets it back from the text). One number that the API does not show is kept beside the
event as ``mark``: the option a choice took; for an iteration the id of the foreach's StepEntered, because the detail
leaves out the input they share, which would make a history grow with the square of the items (`whole_iteration`).

The members of each detail stand, in the order they are written, in the calls of `detail`. Values inside are compact
JSON with sorted keys, text is not escaped beyond what JSON demands.

Source: viewing the execution history, Serverless Workflow guide (the events of two passes, the detail of a caught
error); members and sequences without such a record are assumed.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from json import encoder
from typing import Any, Final, NamedTuple

from emulator.kernel.clock import Millis
from emulator.services.workflow.limits import NESTING

EXECUTION_STARTED: Final = "ExecutionStarted"
EXECUTION_STOPPED: Final = "ExecutionStopped"
EXECUTION_SUCCEEDED: Final = "ExecutionSucceeded"
EXECUTION_FAILED: Final = "ExecutionFailed"
EXECUTION_TIMED_OUT: Final = "ExecutionTimedOut"
STEP_ENTERED: Final = "StepEntered"
STEP_STARTED: Final = "StepStarted"
STEP_SUCCEEDED: Final = "StepSucceeded"
STEP_FAILED: Final = "StepFailed"
STEP_EXITED: Final = "StepExited"
BRANCH_ENTERED: Final = "BranchEntered"
BRANCH_EXITED: Final = "BranchExited"
ITERATION_ENTERED: Final = "IterationEntered"
ITERATION_EXITED: Final = "IterationExited"
TASK_SCHEDULED: Final = "TaskScheduled"
TASK_STARTED: Final = "TaskStarted"
TASK_SUBMITTED: Final = "TaskSubmitted"
MAP_RUN_STARTED: Final = "MapRunStarted"
TASK_SUBMIT_FAILED: Final = "TaskSubmitFailed"
TASK_SUCCEEDED: Final = "TaskSucceeded"
TASK_FAILED: Final = "TaskFailed"
TASK_TIMED_OUT: Final = "TaskTimedOut"

FINAL: Final = frozenset({EXECUTION_STOPPED, EXECUTION_SUCCEEDED, EXECUTION_FAILED, EXECUTION_TIMED_OUT})
"""Exactly one of these ends every history."""

quote = encoder.encode_basestring
"""Return a text as a JSON string."""


class Event(NamedTuple):
    """One entry of a history. A tuple and no dataclass, because forty are made for a flow of ten steps.

    ``strand`` is the id of the event that opened the branch or iteration it belongs to (0: the flow itself); ``cause``
    the id of the event that triggered it (the API's ScheduleEventId).
    """

    id: int
    type: str
    strand: int
    cause: int
    step: str
    detail: str
    mark: int | None
    value: Any


class Recorded(NamedTuple):
    """One entry of a history as it is kept: an `Event` without its ``value``, and when it was recorded."""

    id: int
    type: str
    strand: int
    cause: int
    step: str
    detail: str
    mark: int | None
    at: Millis

    def event(self, decode: Callable[[str, str], Any]) -> Event:
        """Return the event, with the value that *decode* gets from its type and detail."""
        return Event(*self[:7], decode(self.type, self.detail))


def packed(recorded: Iterable[Event | Recorded]) -> str:
    """Return the text in which events of one turn are kept: a line each, its fields between tabs.

    Neither stands in JSON text, which escapes them; hence the name of the step is written as JSON, too. The ids are
    left out: they are consecutive.
    """
    return "\n".join(
        [
            f"{kind}\t{strand}\t{cause}\t{quote(step)}\t{'' if mark is None else mark}\t{text}"
            for _, kind, strand, cause, step, text, mark, _ in recorded
        ]
    )


def unpacked(first: int, at: int, text: str, start: int) -> Iterator[Recorded]:
    """Return events from the text that `packed` has made, from id *start* on; *first* is the id of the first one."""
    skipped = max(0, start - first)
    for number, line in enumerate(text.split("\n")[skipped:], first + skipped):
        kind, strand, cause, step, mark, detail = line.split("\t")
        parent, trigger, choice = int(strand), int(cause), int(mark) if mark else None
        yield Recorded(number, kind, parent, trigger, json.loads(step), detail, choice, Millis(at))


_slow = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False).encode
_make_encoder = getattr(encoder, "c_make_encoder", None)
# JSONEncoder.encode builds this encoder anew for every value, which takes as long as writing a small object
_chunks = (
    _make_encoder(None, _slow, encoder.encode_basestring, None, ":", ",", True, False, False) if _make_encoder else None
)


def canonical(value: Any) -> str:
    """Return *value* as the engine writes JSON: compact, keys sorted, text unescaped.

    Raises: ValueError for what JSON or UTF-8 cannot hold (NaN, half a surrogate pair, keys that are no text) or what
    nests too deep.
    """
    if value == {}:
        return "{}"
    try:
        text = "".join(_chunks(value, 0)) if _chunks else _slow(value)
    except (RecursionError, TypeError) as error:
        raise ValueError("the data nests too deep or has keys that are no text") from error
    if not text.isascii():
        text.encode()
    return text


def member_texts(value: dict[str, Any]) -> dict[str, str]:
    """Return the canonical text of every member of *value*, for `joined`.

    Raises: ValueError, as `canonical`.
    """
    return {name: f"{quote(name)}:{canonical(item)}" for name, item in value.items()}


def member_bytes(members: dict[str, str]) -> dict[str, int]:
    """Return how many bytes each of *members*, made by `member_texts`, takes in an object: itself and a comma."""
    return {name: len(text.encode()) + 1 for name, text in members.items()}


def joined(members: dict[str, str]) -> str:
    """Return the canonical text of the object that has these members."""
    return "{" + ",".join([members[name] for name in sorted(members)]) + "}"


class NotAnObject(ValueError):
    """A text that is no JSON object."""


def _refuse_constant(name: str) -> Any:
    raise NotAnObject(f"{name} is no JSON")


_decoder = json.JSONDecoder(parse_constant=_refuse_constant)


def parse_object(text: str) -> dict[str, Any]:
    """Read the text of a JSON object.

    Raises: NotAnObject.
    """
    if text.count("[") + text.count("{") > NESTING and _depth(text) > NESTING:
        raise NotAnObject(f"nests deeper than {NESTING} levels")
    try:
        value = _decoder.decode(text)
        if isinstance(value, dict):
            canonical(value)  # what cannot be written again (1e999, half a surrogate pair) must not come in
            return value
    except NotAnObject:
        raise
    except (ValueError, RecursionError) as error:
        raise NotAnObject(str(error)) from error
    raise NotAnObject("not a JSON object")


def parse_value(text: str) -> Any:
    """Read the text of any JSON value.

    Raises: NotAnObject.
    """
    members = parse_object(f'{{"value":{text}}}')
    if members.keys() != {"value"}:  # text such as 1,"x":2
        raise NotAnObject("more than one value")
    return members["value"]


def _depth(text: str) -> int:
    depth = deepest = 0
    quoted = escaped = False
    for character in text:
        if quoted:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                quoted = False
        elif character == '"':
            quoted = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def detail(**members: str | None) -> str:
    """Return the detail that has *members*, JSON texts in the order they are written; None leaves one out."""
    return "{" + ",".join([f'"{name}":{text}' for name, text in members.items() if text is not None]) + "}"


def quoted(text: str | None) -> str | None:
    """Return *text* as a JSON string, None when there is none."""
    return quote(text) if text else None


def failure(error: str, cause: str) -> str:
    """Detail of everything that failed: ``error, cause``, leaving out what is empty."""
    return detail(error=quoted(error), cause=quoted(cause))


def whole_iteration(detail: str, shared: dict[str, str]) -> str:
    """Return the detail of IterationEntered as the API shows it.

    *detail* is what is kept: ``index``, and of ``input`` what the iteration has of its own. *shared* are the members of
    the foreach's own input, as `member_texts` writes them.
    """
    members = json.loads(detail)
    whole = joined({**shared, **member_texts(members["input"])})
    return f'{{"index":{members["index"]},"input":{whole}}}'


def decode(kind: str, detail: str) -> Any:
    """Return the ``value`` of an event of type *kind* whose detail is *detail*.

    A JSON value comes with its text: ExecutionStarted, StepEntered, TaskScheduled: (input, text); StepSucceeded,
    TaskSucceeded, ExecutionSucceeded: (output, text); StepExited: (local, text, goto, what changes in the variables of
    the execution or None); failures: (error, cause). Of other languages (`model.Definition.decode`), StepStarted may
    have (input, text, elements to iterate over or None).
    """
    match kind:
        case "StepStarted" | "TaskStarted" | "TaskSubmitted" | "MapRunStarted" | "BranchEntered" | "IterationEntered":
            return None
        case "ExecutionStarted" | "StepEntered" | "TaskScheduled":
            return with_text(json.loads(detail)["input"])
        case "StepSucceeded" | "TaskSucceeded" | "ExecutionSucceeded":
            return with_text(json.loads(detail)["output"])
        case "BranchExited" | "IterationExited":
            return with_text(json.loads(detail)["local"])
        case "StepExited":
            members = json.loads(detail)
            return (*with_text(members["local"]), members.get("goto"), None)
        case _:
            members = json.loads(detail)
            return members.get("error", ""), members.get("cause", "")


def with_text(value: Any) -> tuple[Any, str]:
    """Return a JSON value and its text."""
    return value, canonical(value)
