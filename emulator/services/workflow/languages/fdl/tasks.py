"""Task steps: target, pattern, parameters, policies; and the mappings that every step has.

Values of serviceParams that are given by a path are known only when the step runs; the engine checks them then.

Source: service integration, error handling and limits, Serverless Workflow guide. Assumed: that unknown parameters are
refused, and what is marked.
"""

from collections.abc import Callable
from typing import Any, Final, assert_never

from emulator.kernel.phrases import Phrase, alternatives
from emulator.services.workflow.engine.language import DefinitionError
from emulator.services.workflow.engine.model import CatchPolicy, RetryPolicy
from emulator.services.workflow.engine.notation import Pattern
from emulator.services.workflow.languages.document import LocatedNode, Reading, noting, settle
from emulator.services.workflow.languages.fdl.mappings import Mapping, parse_error_source, parse_parameter, parse_source
from emulator.services.workflow.languages.fdl.paths import Path
from emulator.services.workflow.languages.notation import NAME_TEXT, STEP_NAME, Definitions, placed
from emulator.services.workflow.languages.resources import impossible_name, parse_action, parse_arn
from emulator.services.workflow.limits import EXECUTION_S
from emulator.services.workflow.ports import (
    ActionResource,
    FlowResource,
    FunctionResource,
    QueueResource,
    TopicResource,
    WrittenTarget,
)
from emulator.wire.schema.kinds import (
    ANYTHING,
    OBJECT,
    TEXT,
    Also,
    Duration,
    Either,
    Field,
    Items,
    Kind,
    Number,
    OneOf,
    Ruled,
    Shape,
    Text,
    Whole,
    record,
)

DEFINITIONS: Final = Definitions()


def _target(text: str, _name: str) -> str:
    if not all(text.split(".")):
        raise ValueError("a target is a key, or keys joined by dots")
    return text


def _mappings(parse: Callable[[Any], Any]) -> Items:
    """Return the kind of a list of mappings whose sources *parse* compiles."""
    rows = (
        Field(
            "target", "target", Ruled(TEXT, _target), required=True,
            help=("the key to set; dots separate the keys of nested objects", "要设置的键；用点号分隔嵌套对象的键"),
        ),
        Field(
            "source", "source", Ruled(ANYTHING, lambda value, _: parse(value)), required=True,
            help=(
                "a path that begins with `$input`, `$local` or `$context`, or a constant",
                "以 `$input`、`$local` 或 `$context` 开头的路径，或常量",
            ),
        ),
    )  # fmt: skip
    return Items(Shape("mapping", rows, Mapping))


MAPPINGS: Final = _mappings(parse_source)
_ERROR_MAPPINGS: Final = _mappings(parse_error_source)

TIMEOUT: Final = Duration(1, EXECUTION_S)
"""``timeoutSeconds`` of a flow or task; the upper end for tasks is assumed."""

_ERRORS: Final = Field(
    "errors", "errors", Items(TEXT, least=1), required=True,
    help=("names of errors; `FnF.ALL` matches every error", "错误名称；`FnF.ALL` 匹配所有错误"),
)  # fmt: skip

RETRY: Final = Shape("retry", (
    _ERRORS,
    Field("intervalSeconds", "interval_s", Number(0, 86_400), default=1,
          help=("seconds before the first retry", "第一次重试前等待的秒数")),
    Field("maxIntervalSeconds", "max_interval_s", Number(0, 86_400), default=86_400,
          help=("longest pause, in seconds", "最长的间隔秒数")),
    Field("maxAttempts", "max_attempts", Whole(0, 2**31 - 1), default=3,
          help=("maximum number of retries", "最大重试次数")),
    Field("multiplier", "multiplier", Number(1, 2**31 - 1), default=2,
          help=("multiplier of the pause after each retry", "每次重试后间隔的倍数")),
), RetryPolicy)  # fmt: skip
"""The upper ends of attempts and multiplier are assumed: they keep the arithmetic finite."""

CATCH: Final = Shape("catch", (
    _ERRORS,
    Field("goto", "goto", STEP_NAME, required=True,
          help=("the next step, in the same list", "同一步骤列表中的下一步骤")),
), CatchPolicy)  # fmt: skip


def _patterns(target: WrittenTarget) -> tuple[Pattern, ...]:
    """Return the patterns that a kind of target supports."""
    match target:
        case FunctionResource() | FlowResource():
            return ("requestResponse", "sync", "waitForCallback")
        case QueueResource() | TopicResource():
            return ("requestResponse", "waitForCallback")
        case ActionResource():
            return ("requestResponse",)
        case _:
            assert_never(target)


_ALIASES: Final = {"requestComplete": "requestResponse"}

_BODY: Final = Field("MessageBody", "MessageBody", ANYTHING, required=True,
                     help=("the message; values other than text are sent as JSON",
                           "消息内容；非字符串的值以 JSON 发送"))  # fmt: skip
_INPUT: Final = Field("Input", "Input", ANYTHING, help=("the input of the execution", "执行的输入"))
_EXECUTION: Final = Field("ExecutionName", "ExecutionName", NAME_TEXT,
                          help=("the name of the execution", "执行的名称"))  # fmt: skip

_OF_FUNCTION: Final = record(
    Field("InvocationType", "InvocationType", OneOf(("Sync", "Async")),
          help=("call type; Sync waits for the result", "调用类型；Sync 等待结果")),
    Field("StatefulAsyncInvocationID", "StatefulAsyncInvocationID", TEXT,
          help=("the id of an asynchronous call", "异步调用的 ID")),
)  # fmt: skip
_OF_QUEUE: Final = record(
    _BODY,
    Field("DelaySeconds", "DelaySeconds", Duration(0, 604_800, digits=True),
          help=("delay before the message becomes visible", "消息变为可见之前的延时")),
    Field("Priority", "Priority", Whole(1, 16, digits=True),
          help=("1 is received first", "1 最先被消费")),
)  # fmt: skip
_OF_TOPIC: Final = record(
    _BODY,
    Field("MessageTag", "MessageTag", ANYTHING,
          help=("tag that subscriptions filter by", "订阅过滤所用的标签")),
    Field("MessageAttributes", "MessageAttributes", ANYTHING,
          help=("attributes for mail and SMS", "邮件和短信所用的属性")),
)  # fmt: skip
_OF_FLOW: Final = record(_INPUT, _EXECUTION)

_START_EXECUTION: Final = record(
    Field("FlowName", "FlowName", NAME_TEXT, required=True),
    _EXECUTION,
    _INPUT,
    Field("CallbackFnFTaskToken", "CallbackFnFTaskToken", TEXT),
)


def _of_arn(part: LocatedNode, reading: Reading) -> tuple[WrittenTarget, str]:
    text = part.text()
    try:
        target = parse_arn(text)
    except ValueError as error:
        raise part.failure(str(error)) from error
    if problem := impossible_name(target):
        reading.warn(part, problem)
    return target, text


def _of_action(part: LocatedNode, _reading: Reading) -> tuple[WrittenTarget, str]:
    try:
        return parse_action(part.text()), ""
    except ValueError as error:
        raise part.failure(str(error)) from error


TASK: Final = (
    Field("resourceArn", "called", Also(Text(form="acs:.*"), _of_arn),
          help=("the ARN of the function, queue, topic or flow that is called",
                "所调用的函数、队列、主题或流程的 ARN")),
    Field("action", "called", Also(Text(form="[^:]+:[^:]+"), _of_action),
          help=("instead of an ARN: `{serviceName}:{apiName}`", "代替 ARN：`{serviceName}:{apiName}`")),
    Field("pattern", "pattern", Also(OneOf(("requestResponse", "requestComplete", "sync", "waitForCallback")), placed),
          default=None,
          help=("what the step waits for: the response, the end of the called job, or a callback",
                "步骤等待什么：响应、被调用任务结束，或回调")),
    Field("timeoutSeconds", "timeout_s", TIMEOUT, help=("timeout of an attempt", "一次尝试的超时时间")),
    Field("serviceParams", "service_params", Also(OBJECT, placed), default=None,
          help=("parameters; a value that is a path is read from the step's input",
                "参数；值为路径时从步骤的输入中读取")),
    Field("retry", "retry", Items(RETRY), help=("retry rules; the first that names the error applies",
                                                "重试规则；第一条列出该错误的规则生效")),
    Field("catch", "catch", Items(CATCH), help=("where to continue after an error", "出错后在何处继续")),
    Field("errorMappings", "error_mappings", _ERROR_MAPPINGS,
          help=("the output of the step when an error is caught", "捕获错误时步骤的输出")),
)  # fmt: skip
CALLED: Final = Either(("resourceArn", "action"))


def finish_task(values: dict[str, Any], part: LocatedNode, reading: Reading) -> dict[str, Any]:
    """Return the arguments of a `TaskStep`; check the rules that concern several of its fields.

    Raises: DefinitionError.
    """
    if "called" not in values:  # it has a mistake, which is reported beside those of this
        return values
    resource, arn = values.pop("called")
    mistakes: list[DefinitionError] = []
    pattern, parameters = "", None
    with noting(mistakes):
        pattern = _pattern(values["pattern"], resource)
    with noting(mistakes):
        parameters = _parameters(values["service_params"], resource, part, reading)
    settle(mistakes)
    values |= {"resource": resource, "resource_arn": arn, "pattern": pattern, "service_params": parameters}
    _remark(part, reading, values)
    return values


def _pattern(part: LocatedNode | None, resource: WrittenTarget) -> str:
    if part is None:
        return "requestResponse"
    pattern = _ALIASES.get(part.text(), part.text())
    known = _patterns(resource)
    if pattern not in known:
        raise part.failure(Phrase("for this target the pattern is {names}", names=alternatives(known)))
    return pattern


def _parameters(
    part: LocatedNode | None, resource: WrittenTarget, step: LocatedNode, reading: Reading
) -> dict[str, Any] | None:
    """Return the parameters, each a constant or a `Path` on the step's input; None when there are none.

    Raises: DefinitionError for unknown, missing or unusable ones; a missing one points at *step* when there is no
    ``serviceParams`` at all.
    """
    known = _known(resource)
    required = [each.name for each in known or () if each.required]
    if part is None:
        if isinstance(resource, ActionResource) and required:
            raise step.failure(Phrase("serviceParams must have {name!r} for this action", name=required[0]))
        return None
    given = dict(part.members())
    if known is None:
        return {name: parse_parameter(value.value()) for name, value in given.items()}
    names = {each.name for each in known}
    mistakes = [] if given.keys() <= names else list(DEFINITIONS.unknown(part, names, reading))
    mistakes += [
        part.failure(Phrase("the parameter {name!r} is required", name=name)) for name in required if name not in given
    ]
    read: dict[str, Any] = {}
    for name, value in given.items():
        if name in names:
            with noting(mistakes):
                read[name] = _parameter(value, known[name].kind, reading)
    settle(mistakes)
    return read


def _known(target: WrittenTarget) -> Shape | None:
    """Return the ``serviceParams`` of a target, or None for an action that is not available here."""
    match target:
        case FunctionResource():
            return _OF_FUNCTION
        case QueueResource():
            return _OF_QUEUE
        case TopicResource():
            return _OF_TOPIC
        case FlowResource():
            return _OF_FLOW
        case ActionResource():
            return _START_EXECUTION if (target.service, target.operation) == ("fnf", "StartExecution") else None
        case _:
            assert_never(target)


def _parameter(part: LocatedNode, kind: Kind, reading: Reading) -> Any:
    value = parse_parameter(part.value())
    return value if isinstance(value, Path) else DEFINITIONS.reader(kind)(part, reading)


def _remark(part: LocatedNode, reading: Reading, values: dict[str, Any]) -> None:
    """Warn about combinations of fields that are allowed and probably a mistake."""
    constants = values["service_params"] or {}
    for key, value in constants.items():
        if isinstance(value, str) and value.startswith(("$input", "$local", "$context")):
            text = "{key} is the constant {value!r}: paths start with $ here"
            reading.warn(part.get("serviceParams"), Phrase(text, key=key, value=value))
    asynchronous = constants.get("InvocationType") == "Async" or isinstance(constants.get("InvocationType"), Path)
    if values["pattern"] == "sync" and isinstance(values["resource"], FunctionResource) and not asynchronous:
        reading.warn(part.get("pattern"), "sync is meant for functions with InvocationType Async")
    if "error_mappings" in values and "catch" not in values:
        reading.warn(part.get("errorMappings"), "errorMappings have no effect without catch")
