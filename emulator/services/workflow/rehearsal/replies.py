"""The known replies of integrations, and checks of the answers of mocks against them.

Source: integrations, CloudFlow documentation and service integration, Serverless Workflow guide, for the members of
replies; those of messages and objects are assumed.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from emulator.kernel.phrases import Phrase
from emulator.services.workflow.engine.json_text import NotAnObject, parse_object
from emulator.services.workflow.engine.model import Task
from emulator.services.workflow.rehearsal.answers import is_reported
from emulator.wire.answers import Answer, Script, action_key

_TEXT: Final = (str, Phrase("a text"))
_MAP: Final = (dict, Phrase("a map"))
_WHOLE: Final = (int, Phrase("a whole number"))
_FLAG: Final = (bool, Phrase("true or false"))
_ANY: Final = (object, Phrase("anything"))

Kind = tuple[type, str]


class Reply(NamedTuple):
    """The possible reply of an integration: the members with their kinds, and the prefix of its error names."""

    members: Mapping[str, Kind]
    errors: str


_EXECUTION: Final = dict.fromkeys(("FlowName", "Name", "Input", "Output", "Status", "StartedTime", "StoppedTime"), "")
"""The members that describe an execution, with values of their kinds."""

REPLIES: Final[Mapping[str, Reply]] = {
    action_key(action): reply
    for action, reply in {
        "MNS:SendMessage": Reply(
            {"MessageId": _TEXT, "MessageBodyMD5": _TEXT, "RequestId": _TEXT, "ReceiptHandle": _TEXT}, "MNS."
        ),
        "FNF:StartExecution": Reply(dict.fromkeys((*_EXECUTION, "ExecutionName", "RequestID"), _TEXT), "FnF."),
        "HTTP:Request": Reply({"Code": _WHOLE, "Header": _MAP, "Body": _ANY}, "HTTP."),
        "OSS:GetObject": Reply(
            {
                "bucket": _TEXT, "key": _TEXT, "etag": _TEXT, "contentLength": _WHOLE, "lastModified": _TEXT,
                "body": _TEXT, "isBase64Encoded": _FLAG,
            },
            "OSS.",
        ),
    }.items()
}  # fmt: skip


def doubts_of_task(task: Task, script: Script) -> Iterator[str]:
    """Yield the reasons why *task* cannot get the answers of *script*; each reason once."""
    yield from dict.fromkeys(doubt for answer in script.answers for doubt in _of_task(task, answer))


def doubts_of_action(action: str, script: Script) -> Iterator[str]:
    """Yield the reasons why no task can get the answers of *script* from an *action*.

    Tasks of every action may wait for a callback. A map without any member of the reply, even a misspelled one, counts
    as the result of a callback.
    """
    known = REPLIES.get(action_key(action))
    if known is not None:
        answers = [each for each in script.answers if not _may_be_reported(known, each)]
        yield from dict.fromkeys(doubt for answer in answers for doubt in _of_reply(action, known, answer))


def _may_be_reported(known: Reply, answer: Answer) -> bool:
    value = answer.value
    return isinstance(value, dict) and not any(get_close_matches(name, list(known.members), 1) for name in value)


def possible(task: Task, reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of *reply* that *task* can get; all of them when its integration is not known."""
    known = _reply_of(task)
    if known is None:
        return dict(reply)
    return {name: value for name, value in reply.items() if name in known.members and _fits(value, known.members[name])}


def _reply_of(task: Task) -> Reply | None:
    """Return the reply of the integration of *task*; None when it is unknown, or the task waits for a callback."""
    action = action_key(task.resource.action)
    known = None if is_reported(task) else REPLIES.get(action)
    if known is not None and action == "fnf:StartExecution":
        return known._replace(members=dict.fromkeys(task.child_reply(dict(_EXECUTION), ""), _TEXT))
    return known


def _of_task(task: Task, answer: Answer) -> Iterator[str]:
    action, known = task.resource.action, _reply_of(task)
    if answer.never or answer.failed:
        if answer.failed and known is not None:
            yield from _of_error(action, known, answer)
        return
    if is_reported(task):
        if not _is_map(answer.value):
            yield Phrase("what is reported of the task {name} is a map", name=task.name)
    elif known is None:
        if action == "FC:InvokeFunction" and not task.answers_in_full and not _is_map(answer.value):
            yield Phrase(
                "the mock must return a map: the task {name} accepts nothing else from a function", name=task.name
            )
    else:
        yield from _of_reply(action, known, answer)


def _of_reply(action: str, known: Reply, answer: Answer) -> Iterator[str]:
    if answer.failed:
        yield from _of_error(action, known, answer)
    elif answer.never or answer.value is None:
        return
    elif not isinstance(answer.value, dict):
        yield Phrase("{action} returns a map with {names}", action=action, names=", ".join(known.members))
    else:
        for name, value in answer.value.items():
            if name not in known.members:
                hint = _near(name, known.members)
                yield Phrase("{action} returns no member {name!r}; {hint}", action=action, name=name, hint=hint)
                continue
            if not _fits(value, known.members[name]):
                kind = known.members[name][1]
                yield Phrase("{name} of what {action} returns is {kind}", name=name, action=action, kind=kind)


def _fits(value: Any, kind: Kind) -> bool:
    return isinstance(value, kind[0]) and not (kind is _WHOLE and isinstance(value, bool))


def _of_error(action: str, known: Reply, answer: Answer) -> Iterator[str]:
    name = answer.error_type.lower()
    if not name.startswith((known.errors.lower(), "fnf.")):
        text = "errors of {action} are called {prefix}NAME, not {name!r}"
        yield Phrase(text, action=action, prefix=known.errors, name=answer.error_type)


def _is_map(value: Any) -> bool:
    if isinstance(value, str):
        try:
            parse_object(value)
        except NotAnObject:
            return False
        return True
    return value is None or isinstance(value, dict)


def _near(name: str, members: Mapping[str, Kind]) -> str:
    near, names = get_close_matches(name, list(members), 1), ", ".join(members)
    if near:
        return Phrase("did you mean {name!r}? there are {names}", name=near[0], names=names)
    return Phrase("there are {names}", names=names)
