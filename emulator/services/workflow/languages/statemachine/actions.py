"""The actions that tasks call, with their parameters and patterns, in the one table `ACTIONS`.

A constant parameter is checked when the definition is read, one given by an expression when it is sent, by the same
rule. Actions of other products are accepted and fail when they run.

Source: integrations, CloudFlow documentation. Assumed: defaults of ``invocationType``, modes of other products.
"""

import re
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from emulator.kernel.frozen import frozen
from emulator.kernel.phrases import Phrase, alternatives
from emulator.services.workflow.engine.json_text import canonical
from emulator.services.workflow.engine.model import ParameterError, whole_number
from emulator.services.workflow.engine.notation import Pattern
from emulator.services.workflow.languages.notation import NAME_TEXT
from emulator.services.workflow.languages.resources import parse_action, parse_arn
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
from emulator.wire.schema.kinds import (
    ANYTHING,
    OBJECT,
    TEXT,
    Duration,
    Field,
    Json,
    OneOf,
    Rule,
    Ruled,
    Shape,
    Text,
    Whole,
    record,
)
from emulator.wire.schema.kinds import Kind as KindOfValue
from emulator.wire.schema.notation import Notation


class ParameterValues(Notation[Rule]):
    """The notation of parameter values, both constants and results of expressions; a mistake is a ValueError."""

    def text(self, kind: Text) -> Rule:
        """Take a text of the right form."""
        form, expected = re.compile(kind.form), kind.expected

        def read(value: Any, _name: str) -> str:
            if not isinstance(value, str):
                raise ValueError("must be text")  # noqa: TRY004 - one error for everything a definition can hold
            if kind.form and not form.fullmatch(value):
                raise ValueError(Phrase("{text!r} is not {expected}", text=value[:200], expected=expected))
            return value

        return read

    def one_of(self, kind: OneOf) -> Rule:
        """Read one of the allowed words."""
        choices, fold, text = tuple(kind.choices), kind.fold, self.reader(TEXT)
        form = "must be one of {what}" if fold else "must be {what}"
        refusal = Phrase(form, what=", ".join(choices) if fold else alternatives(choices))

        def read(value: Any, name: str) -> str:
            word: Any = fold(text(value, name)) if fold is not None else value
            if word not in choices:
                raise ValueError(refusal)
            return word  # type: ignore[no-any-return]  # a choice, and so a text

        return read

    def whole(self, kind: Whole) -> Rule:
        """Take a whole number in its range, or its digits."""
        assert kind.low is not None
        assert kind.high is not None
        low, high = kind.low, kind.high
        return lambda value, _name: whole_number(value, low, high)

    def json(self, kind: Json) -> Rule:
        """Read any value, or a map."""
        only = kind.only

        def read(value: Any, _name: str) -> Any:
            if only == "object" and not isinstance(value, dict):
                raise ValueError("must be a map")
            return value

        return read

    def ruled(self, kind: Ruled) -> Rule:
        """Read a value of the inner kind, then check it with the rule."""
        first, rule = self.reader(kind.kind), kind.rule
        return lambda value, name: rule(first(value, name), name)


PARAMETER_VALUES: Final = ParameterValues("parameter")


class Kind(NamedTuple):
    """A known action. A parameter's attribute is the engine's name for it; without one the parameter is not sent."""

    parameters: Shape
    patterns: tuple[Pattern, ...]
    stands_for: type | None = None
    """The class of resource it calls; None for an action that is not available here."""
    answers_in_full: bool = False


@frozen(kw_only=False)
class Action:
    """``{service}:{operation}`` in a task: its name as written, and its kind."""

    name: str
    resource: ActionResource
    pattern: Pattern
    kind: Kind

    @property
    def reply_is_result(self) -> bool:
        """Whether the end of the call is awaited, rather than reported with a token."""
        return self.kind.stands_for is FunctionResource

    def target(self, value: dict[str, Any]) -> Resource:
        """Return the target of a call with the parameters *value*.

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
        """Return the parameters under the engine's names.

        Raises: ParameterError.
        """
        sent = {
            each.attribute: self._checked(each.name, value)
            for each in self.kind.parameters.stored
            if each.required or value.get(each.name) is not None
        }
        if self.kind.stands_for is FunctionResource:
            sent.setdefault("InvocationType", "Async" if self.pattern == "sync" else "Sync")
        if self.kind.stands_for is FlowResource:
            sent.setdefault("Input", {})
        return sent

    def event(self, value: dict[str, Any]) -> bytes:
        """Return the event for a called function: text as it is, other values as JSON.

        Source: assumed for a missing body, which is ``{}``.
        """
        body = value.get("body", {})
        return (body if isinstance(body, str) else canonical(body)).encode()

    def _checked(self, name: str, value: dict[str, Any]) -> Any:
        content = value.get(name)
        if content is None:
            raise ParameterError(f"the parameter {name} is missing")
        try:
            return PARAMETER_VALUES.reader(self.kind.parameters[name].kind)(content, name)
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
        raise ValueError(Phrase("there is no {name}; did you mean {near}?", name=text, near=meant))
    return Action(text, resource, pattern, known or _OTHER)


def _arn(*kinds: type) -> Ruled:
    """Return the kind of the ARN of one of *kinds* of resources, kept as the resource."""

    def resource_of(text: str, _name: str) -> Resource:
        resource = parse_arn(text)
        if not isinstance(resource, kinds):
            raise ValueError("names a resource of another kind than the action calls")  # noqa: TRY004 - see text
        return resource

    return Ruled(TEXT, resource_of)


def _url(text: str, _name: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be a whole address that begins with http:// or https://")
    return text


def _headers(headers: dict[str, Any], _name: str) -> dict[str, str]:
    for name, content in headers.items():
        if isinstance(content, list | dict) or content is None:
            raise ValueError(Phrase("the header {name!r} must be text", name=name[:100]))
    return {name: each if isinstance(each, str) else canonical(each) for name, each in headers.items()}


METHOD: Final = OneOf(("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD"), fold=str.upper)

_ALL: Final[tuple[Pattern, ...]] = ("requestResponse", "sync", "waitForCallback")
_WITHOUT_JOBS: Final[tuple[Pattern, ...]] = ("requestResponse", "waitForCallback")
_OTHER: Final = Kind(record(), _WITHOUT_JOBS)


def _resource(kind: Ruled, english: str, chinese: str) -> Field:
    return Field("resourceArn", "", kind, required=True, help=(english, chinese))


def _parameter(name: str, attribute: str, kind: KindOfValue, english: str, chinese: str) -> Field:
    return Field(name, attribute, kind, help=(english, chinese))


ACTIONS: Final[dict[str, Kind]] = {
    "FC:InvokeFunction": Kind(
        record(
            _resource(_arn(FunctionResource), "the function", "函数"),
            _parameter("invocationType", "InvocationType", OneOf(("Sync", "Async")),
                       "whether the result of the call is waited for", "是否等待调用结果"),
            _parameter("body", "", ANYTHING, "the event; what is no text is sent as JSON",
                       "事件；不是字符串时以 JSON 发送"),
        ),
        _ALL,
        FunctionResource,
        answers_in_full=True,
    ),
    "MNS:SendMessage": Kind(
        record(
            _resource(_arn(QueueResource, TopicResource), "the queue or topic", "队列或主题"),
            Field("message", "MessageBody", ANYTHING, required=True,
                  help=("the message; values other than text are sent as JSON", "消息内容；非字符串的值以 JSON 发送")),
            _parameter("priority", "Priority", Whole(1, 16, digits=True), "1 is received first", "1 最先被消费"),
            _parameter("delaySeconds", "DelaySeconds", Duration(0, 604_800, digits=True),
                       "how long the message is hidden at first", "消息最初不可见的时长"),
            _parameter("messageTag", "MessageTag", TEXT, "what subscriptions filter by", "订阅过滤所用的标签"),
            _parameter("messageAttributes", "MessageAttributes", OBJECT, "attributes for mail and SMS",
                       "邮件和短信所用的属性"),
        ),
        _WITHOUT_JOBS,
        QueueResource,
    ),
    "FNF:StartExecution": Kind(
        record(
            _resource(_arn(FlowResource), "the flow", "流程"),
            _parameter("executionName", "ExecutionName", NAME_TEXT, "the name of the execution", "执行的名称"),
            _parameter("input", "Input", OBJECT, "the input of the execution", "执行的输入"),
        ),
        _ALL,
        FlowResource,
    ),
    "HTTP:Request": Kind(
        record(
            Field("url", "", Ruled(TEXT, _url), required=True, help=("the address", "地址")),
            Field("method", "", METHOD, required=True, help=("the method", "方法")),
            _parameter("headers", "Headers", Ruled(OBJECT, _headers), "headers by name", "按名称给出的请求头"),
            _parameter("body", "Body", ANYTHING, "the body; what is no text is sent as JSON",
                       "请求体；不是字符串时以 JSON 发送"),
        ),
        _WITHOUT_JOBS,
        HttpResource,
        answers_in_full=True,
    ),
    "OSS:GetObject": Kind(
        record(
            Field("bucket", "", TEXT, required=True, help=("the bucket", "存储空间")),
            Field("key", "", TEXT, required=True, help=("the key of the object", "对象的键")),
            _parameter("region", "region", TEXT, "the region, which has no effect here", "地域，在此不起作用"),
            _parameter("versionId", "versionId", TEXT, "the version of the object", "对象的版本"),
            _parameter("range", "range", TEXT, "the part of the object, as in HTTP", "对象的范围，写法同 HTTP"),
            _parameter("ifMatch", "ifMatch", TEXT, "the ETag that the object must have", "对象必须具有的 ETag"),
            _parameter("ifNoneMatch", "ifNoneMatch", TEXT, "the ETag that the object must not have",
                       "对象不得具有的 ETag"),
        ),
        ("requestResponse",),
        ObjectResource,
    ),
    "EventBridge:PutEvents": Kind(record(), _WITHOUT_JOBS),
}  # fmt: skip

MISSPELT: Final = {
    **{name.lower(): name for name in ACTIONS},
    "mns:sendmessages": "MNS:SendMessage",
    "mns:publishmessage": "MNS:SendMessage",
}
"""Common misspellings of actions, in lower case, with the right names."""
