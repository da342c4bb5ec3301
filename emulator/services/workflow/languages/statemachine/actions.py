"""What tasks call: the actions, their parameters and what each allows, in the one table `ACTIONS`.

A constant parameter is checked when the definition is read, one given by an expression when it is sent, by the same
rule. Actions of other products are accepted and fail when they run.

Source: integrations, CloudFlow documentation. Assumed: defaults of ``invocationType``, modes of other products.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from emulator.kernel.frozen import frozen
from emulator.services.workflow.engine.events import canonical
from emulator.services.workflow.engine.model import ParameterError, Pattern, whole_number
from emulator.services.workflow.languages.fields import NAME, NAME_RULE, parse_action, parse_arn
from emulator.services.workflow.ports import (
    ActionResource,
    FlowResource,
    FunctionResource,
    HttpResource,
    ObjectResource,
    QueueResource,
    Resource,
    TopicResource,
)

Check = Callable[[Any], Any]
"""Takes the value of a parameter; returns the value to send, or raises ValueError with a sentence."""


class Parameter(NamedTuple):
    """A parameter of an action; ``sent_as`` is the engine's name of it."""

    check: Check
    required: bool = False
    sent_as: str = ""


class Kind(NamedTuple):
    """An action that is known."""

    parameters: Mapping[str, Parameter]
    patterns: tuple[Pattern, ...]
    stands_for: type | None = None
    """The class of resource it calls; None for an action that is not available here."""
    answers_in_full: bool = False


@frozen(kw_only=False)
class Action:
    """``{service}:{operation}``, as written, and what is known of it."""

    name: str
    resource: ActionResource
    pattern: Pattern
    kind: Kind

    @property
    def reply_is_result(self) -> bool:
        """Whether the end of what is called is waited for, not reported."""
        return self.kind.stands_for is FunctionResource

    def target(self, value: dict[str, Any]) -> Resource:
        """Return what a call with the parameters *value* goes to.

        Raises: ParameterError.
        """
        if self.kind.stands_for is None:
            return self.resource
        if self.kind.stands_for is HttpResource:
            return HttpResource(self._checked("method", value), self._checked("url", value))
        if self.kind.stands_for is ObjectResource:
            return ObjectResource(self._checked("bucket", value), self._checked("key", value))
        resource: Resource = self._checked("resourceArn", value)
        return resource

    def parameters(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters by the names the engine knows.

        Raises: ParameterError.
        """
        sent = {
            parameter.sent_as: self._checked(name, value)
            for name, parameter in self.kind.parameters.items()
            if parameter.sent_as and value.get(name) is not None
        }
        if self.kind.stands_for is FunctionResource:
            sent.setdefault("InvocationType", "Async" if self.pattern == "sync" else "Sync")
        if self.kind.stands_for is FlowResource:
            sent.setdefault("Input", {})
        return sent

    def event(self, value: dict[str, Any]) -> bytes:
        """Return what a called function gets: text as it is, all else as JSON.

        Source: assumed for a missing body, which is ``{}``.
        """
        body = value.get("body", {})
        return (body if isinstance(body, str) else canonical(body)).encode()

    def _checked(self, name: str, value: dict[str, Any]) -> Any:
        content = value.get(name)
        if content is None:
            raise ParameterError(f"the parameter {name} is missing")
        try:
            return self.kind.parameters[name].check(content)
        except ValueError as error:
            raise ParameterError(f"the parameter {name}: {error}") from error


def read_action(text: str, pattern: Pattern) -> Action:
    """Return the action *text* names.

    Raises: ValueError with a text for the client.
    """
    resource = parse_action(text)
    known = ACTIONS.get(text)
    meant = MISSPELT.get(text.lower())
    if known is None and meant is not None:
        raise ValueError(f"there is no {text}; did you mean {meant}?")
    return Action(text, resource, pattern, known or _OTHER)


def _anything(value: Any) -> Any:
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be text")  # noqa: TRY004 - one error for everything a definition can hold
    return value


def _named(value: Any) -> str:
    if not NAME.match(_text(value)):
        raise ValueError(f"{value[:200]!r} is not a name: {NAME_RULE}")
    return _text(value)


def _map(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("must be a map")  # noqa: TRY004 - see _text
    return value


def _one_of(*words: str) -> Check:
    def check(value: Any) -> Any:
        if value not in words:
            raise ValueError(f"must be {' or '.join(words)}")
        return value

    return check


def _arn(*kinds: type) -> Check:
    def check(value: Any) -> Any:
        resource = parse_arn(_text(value))
        if not isinstance(resource, kinds):
            raise ValueError("names a resource of another kind than the action calls")  # noqa: TRY004 - see _text
        return resource

    return check


def _whole(low: int, high: int) -> Check:
    return lambda value: whole_number(value, low, high)


METHODS: Final = ("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD")


def _method(value: Any) -> str:
    method = _text(value).upper()
    if method not in METHODS:
        raise ValueError(f"must be one of {', '.join(METHODS)}")
    return method


def _url(value: Any) -> str:
    parts = urlsplit(_text(value))
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be a whole address that begins with http:// or https://")
    return _text(value)


def _headers(value: Any) -> dict[str, str]:
    headers = {}
    for name, content in _map(value).items():
        if isinstance(content, list | dict) or content is None:
            raise ValueError(f"the header {name[:100]!r} must be text")
        headers[name] = content if isinstance(content, str) else canonical(content)
    return headers


_ALL: Final[tuple[Pattern, ...]] = ("requestResponse", "sync", "waitForCallback")
_WITHOUT_JOBS: Final[tuple[Pattern, ...]] = ("requestResponse", "waitForCallback")
_OTHER: Final = Kind({}, _WITHOUT_JOBS)

ACTIONS: Final[dict[str, Kind]] = {
    "FC:InvokeFunction": Kind(
        {
            "resourceArn": Parameter(_arn(FunctionResource), required=True),
            "invocationType": Parameter(_one_of("Sync", "Async"), sent_as="InvocationType"),
            "body": Parameter(_anything),
        },
        _ALL,
        FunctionResource,
        answers_in_full=True,
    ),
    "MNS:SendMessage": Kind(
        {
            "resourceArn": Parameter(_arn(QueueResource, TopicResource), required=True),
            "message": Parameter(_anything, required=True, sent_as="MessageBody"),
            "priority": Parameter(_whole(1, 16), sent_as="Priority"),
            "delaySeconds": Parameter(_whole(0, 604_800), sent_as="DelaySeconds"),
            "messageTag": Parameter(_text, sent_as="MessageTag"),
            "messageAttributes": Parameter(_map, sent_as="MessageAttributes"),
        },
        _WITHOUT_JOBS,
        QueueResource,
    ),
    "FNF:StartExecution": Kind(
        {
            "resourceArn": Parameter(_arn(FlowResource), required=True),
            "executionName": Parameter(_named, sent_as="ExecutionName"),
            "input": Parameter(_map, sent_as="Input"),
        },
        _ALL,
        FlowResource,
    ),
    "HTTP:Request": Kind(
        {
            "url": Parameter(_url, required=True),
            "method": Parameter(_method, required=True),
            "headers": Parameter(_headers, sent_as="Headers"),
            "body": Parameter(_anything, sent_as="Body"),
        },
        _WITHOUT_JOBS,
        HttpResource,
        answers_in_full=True,
    ),
    "OSS:GetObject": Kind(
        {
            "bucket": Parameter(_text, required=True),
            "key": Parameter(_text, required=True),
            "region": Parameter(_text, sent_as="region"),
            "versionId": Parameter(_text, sent_as="versionId"),
            "range": Parameter(_text, sent_as="range"),
            "ifMatch": Parameter(_text, sent_as="ifMatch"),
            "ifNoneMatch": Parameter(_text, sent_as="ifNoneMatch"),
        },
        ("requestResponse",),
        ObjectResource,
    ),
    "EventBridge:PutEvents": Kind({}, _WITHOUT_JOBS),
}

MISSPELT: Final = {
    **{name.lower(): name for name in ACTIONS},
    "mns:sendmessages": "MNS:SendMessage",
    "mns:publishmessage": "MNS:SendMessage",
}
"""Actions that look right and are none, in lower case."""
