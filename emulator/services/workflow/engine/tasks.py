"""Performs the calls of tasks through the ports, and turns replies into results with the documented error names.

Source: service integration and error handling pages, Serverless Workflow guide; that MNS errors are named
``MNS.{Code}`` is assumed.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, assert_never

from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import Tenant
from emulator.kernel.turnstile import Unanswered
from emulator.services.workflow.engine.decide import RUNTIME_ERROR
from emulator.services.workflow.engine.json_text import NotAnObject, canonical, parse_value
from emulator.services.workflow.engine.language import CallService, Result
from emulator.services.workflow.engine.model import ParameterError, whole_number
from emulator.services.workflow.limits import REPLY_CAUSE_CHARS
from emulator.services.workflow.ports import (
    ActionResource,
    FlowResource,
    FunctionInvoker,
    FunctionReply,
    FunctionResource,
    HttpCaller,
    HttpResource,
    MapResource,
    MessageReply,
    MessageSender,
    ObjectReader,
    ObjectResource,
    QueueResource,
    Refusal,
    TaskTarget,
    TopicResource,
)

CALLBACK_HEADER = "X-FnF-Http-Callback-Task-Token"
"""The header with a task's token in calls over HTTP."""

OBJECT_BYTES = 64 * 1024
"""The largest object a task reads: the limit of a state's output."""


_STORED_HERE = (QueueResource, TopicResource, FlowResource, MapResource, ActionResource)
"""Targets whose calls write to the emulator's database."""


class FlowStarter(Protocol):
    """Starts executions for tasks: the service itself."""

    def start_child(
        self, tenant: Tenant, flow: str, execution: str, text: str, callback_token: str, *, own_name: bool
    ) -> dict[str, Any]:
        """Start an execution of *flow* and return the members of the reply.

        With *own_name* the name was made for this attempt: an execution of that name, even an ended one, is its own.

        Raises: WorkflowError.
        """
        ...

    def start_map_run(self, tenant: Tenant, call: CallService, target: MapResource, key: str, token: str) -> Result:
        """Start a run of a distributed map, whose end is reported to *token*."""
        ...


class Attempt(NamedTuple):
    """An attempt of a task: its parameters by the engine's names, its idempotency key and its token."""

    tenant: Tenant
    call: CallService
    parameters: dict[str, Any]
    key: str
    token: str

    def text(self, name: str, default: Any) -> str:
        """Return a parameter, or *default*, as text; a value that is no text is returned as JSON."""
        return _text(self.parameters.get(name, default))


class TaskCaller:
    """Performs attempts of tasks. Every failure is returned as a `Result`; only cancellation and bugs are raised."""

    def __init__(
        self,
        invoker: FunctionInvoker | None,
        sender: MessageSender | None,
        flows: FlowStarter | None,
        http: HttpCaller | None = None,
        objects: ObjectReader | None = None,
        writable: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._writable = writable
        """Waits until the database can be written, which another program may have locked."""
        self._invoker = invoker
        self._sender = sender
        self._flows = flows
        self._http = http
        self._objects = objects

    async def perform(
        self, tenant: Tenant, call: CallService, key: str, token: str, submitted: Callable[[Result], None]
    ) -> Result:
        """Make the call of an attempt. *token* is the attempt's task token.

        *submitted* is called with the reply when a function call is queued, before its end is awaited.
        """
        try:
            attempt = Attempt(tenant, call, call.step.parameters(call.input), key, token)
            target = call.step.target(call.input)
            if self._writable is not None and isinstance(target, _STORED_HERE):
                await self._writable()
            match target:
                case FunctionResource() as function:
                    return await self._call_function(attempt, function, submitted)
                case QueueResource(queue):
                    return await self._send(attempt, queue)
                case TopicResource(topic):
                    return await self._publish(attempt, topic)
                case FlowResource(flow):
                    callback = token if call.step.pattern == "sync" else ""
                    return self._start_flow(attempt, flow, callback, "FnF")
                case HttpResource():
                    return await self._request(attempt, target)
                case ObjectResource():
                    return await self._read(attempt, target)
                case MapResource():
                    if self._flows is None:
                        return _refused("FnF.ActionNotSupported", "Maps cannot be run here.")
                    return self._flows.start_map_run(tenant, call, target, key, token)
                case ActionResource() as action:
                    return self._act(attempt, action)
        except ParameterError as problem:
            return _refused(RUNTIME_ERROR, str(problem))

    async def _call_function(
        self, attempt: Attempt, function: FunctionResource, submitted: Callable[[Result], None]
    ) -> Result:
        if self._invoker is None:
            return _refused("FC.Unknown", "Function Compute is not available here.")
        tenant, call, parameters, key, _ = attempt
        kind = parameters.get("InvocationType", "Sync")
        if kind not in {"Sync", "Async"}:
            raise ParameterError("InvocationType must be Sync or Async")
        event = call.step.event(call.input, call.input_text)
        in_full, is_sync = call.step.answers_in_full, call.step.pattern == "sync"
        if kind == "Sync":
            reply = await self._invoker.invoke(tenant, function, event, key)
            result = function_result(function, reply)
            if in_full and result.error is None:
                return whole_reply(200, _request_id_header(reply.request_id), reply.body)
            return result
        own_id = attempt.text("StatefulAsyncInvocationID", "")
        if self._writable is not None:
            await self._writable()
        submission = await self._invoker.submit(tenant, function, event, key, invocation_id=own_id)
        if submission.refusal is not None:
            return function_result(function, FunctionReply(refusal=submission.refusal))
        if in_full and not is_sync:
            return whole_reply(202, _request_id_header(submission.request_id), b"")
        accepted = Result(output=canonical({"RequestId": submission.request_id}))
        if not is_sync:
            return accepted
        submitted(accepted)
        return function_result(function, await self._invoker.result(tenant, submission.request_id))

    def abandon(self, tenant: Tenant, call: CallService, key: str) -> None:
        """Stop the asynchronous call of a function that an attempt has queued."""
        if isinstance(target_of(call), FunctionResource):
            self.abandon_queued(tenant, key)

    def abandon_queued(self, tenant: Tenant, key: str) -> None:
        """Stop the asynchronous call of that key, if there is one."""
        if self._invoker is not None:
            self._invoker.abandon(tenant, key)

    async def _send(self, attempt: Attempt, queue: str) -> Result:
        if self._sender is None:
            return _NO_MESSAGES
        body = attempt.text("MessageBody", attempt.call.input)
        delay_s = _whole(attempt.parameters, "DelaySeconds", 0, 604_800)
        priority = _whole(attempt.parameters, "Priority", 1, 16)
        return _message_result(
            await self._sender.send(attempt.tenant, queue, body, delay_s=delay_s, priority=priority, key=attempt.key)
        )

    async def _publish(self, attempt: Attempt, topic: str) -> Result:
        if self._sender is None:
            return _NO_MESSAGES
        body = attempt.text("MessageBody", attempt.call.input)
        tag, attributes = (
            None if attempt.parameters.get(name) is None else attempt.text(name, "")
            for name in ("MessageTag", "MessageAttributes")
        )
        return _message_result(
            await self._sender.publish(attempt.tenant, topic, body, tag=tag, attributes=attributes, key=attempt.key)
        )

    def _act(self, attempt: Attempt, action: ActionResource) -> Result:
        if (action.service.lower(), action.operation) != ("fnf", "StartExecution"):
            cause = f"The action {action.service}:{action.operation} is not available here."
            return _refused(f"{action.service}.ActionNotSupported", cause)
        flow = attempt.parameters.get("FlowName")
        if not isinstance(flow, str):
            raise ParameterError("FlowName is missing in the input of the step")
        return self._start_flow(attempt, flow, "", "fnf")

    def _start_flow(self, attempt: Attempt, flow: str, callback: str, prefix: str) -> Result:
        """Start an execution whose end is reported to the token *callback*, empty for none."""
        tenant, call, parameters, key, _ = attempt
        name = child_name(parameters, key)
        text = attempt.text("Input", call.input)
        own_name = "ExecutionName" not in parameters
        if self._flows is None:
            return _refused(f"{prefix}.ActionNotSupported", "Flows cannot be started here.")
        try:
            members = self._flows.start_child(tenant, flow, name, text, callback, own_name=own_name)
        except ServiceError as error:
            return _refused(f"{prefix}.{error.code}", error.message)
        return Result(output=canonical(call.step.child_reply(members, _request_id(key))))

    async def _request(self, attempt: Attempt, target: HttpResource) -> Result:
        if self._http is None:
            return _refused("HTTP.Unknown", "Calls over HTTP are not available here.")
        body = attempt.parameters.get("Body")
        headers = dict(attempt.parameters.get("Headers", {}))
        if body is not None and not isinstance(body, str) and "content-type" not in map(str.lower, headers):
            headers["Content-Type"] = "application/json"
        if attempt.call.step.pattern == "waitForCallback":
            headers[CALLBACK_HEADER] = attempt.token
        try:
            reply = await self._http.call(target, headers, b"" if body is None else _text(body).encode())
        except ValueError as error:
            raise ParameterError(str(error)) from error
        if reply.failure is not None:
            return _refused("HTTP.Unknown", reply.failure[:REPLY_CAUSE_CHARS])
        return whole_reply(reply.status, reply.headers, reply.body)

    async def _read(self, attempt: Attempt, target: ObjectResource) -> Result:
        if self._objects is None:
            return _refused("OSS.Unknown", "Object storage is not available here.")
        reply = await self._objects.read(attempt.tenant, target, attempt.parameters, OBJECT_BYTES)
        if reply.refusal is not None:
            return _refused(f"OSS.{reply.refusal.code}", reply.refusal.message[:REPLY_CAUSE_CHARS])
        return Result(output=canonical(reply.members))


def whole_reply(status: int, headers: dict[str, str], body: bytes) -> Result:
    """Return a result with the reply's code, header and body, which is parsed when it is JSON."""
    value: Any = body.decode("utf-8", "replace")
    with suppress(NotAnObject):
        value = parse_value(value) if value.strip() else value
    return Result(output=canonical({"Code": status, "Header": headers, "Body": value}))


def _request_id_header(request_id: str) -> dict[str, str]:
    return {"X-Fc-Request-Id": request_id} if request_id else {}


def _request_id(key: str) -> str:
    digits = hashlib.sha256(f"request {key}".encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}"


def child_name(parameters: dict[str, Any], key: str) -> str:
    """Return the name of the execution a task starts: its parameter, else made from the attempt's key.

    So a call repeated after a crash finds the execution the first one started.
    """
    name = parameters.get("ExecutionName")
    if name is not None:
        return _text(name)
    digits = hashlib.sha256(key.encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


def child_of(call: CallService, key: str) -> tuple[str, str] | None:
    """Return (flow, execution) of the child that a sync task has started, None for any other task."""
    target = target_of(call) if call.step.pattern == "sync" else None
    if not isinstance(target, FlowResource):
        return None
    return target.flow, child_name(call.step.parameters(call.input), key)


def target_of(call: CallService) -> TaskTarget | None:
    """Return the target of a task's call; None when its parameters or its action make a call impossible."""
    try:
        resource = call.step.target(call.input)
        if not isinstance(resource, ActionResource):
            return resource
        flow = call.step.parameters(call.input).get("FlowName")
    except ParameterError:
        return None
    return FlowResource(flow) if isinstance(flow, str) else None


def outlives_its_task(call: CallService) -> bool:
    """Whether an attempt has started work that goes on by itself: an execution, a map run, a queued function call.

    Source: functions that still run for an execution are cancelled when it ends: seen in published examples.
    """
    if call.step.pattern != "waitForCallback":
        return call.step.pattern == "sync"
    try:
        is_queued = call.step.parameters(call.input).get("InvocationType") == "Async"
    except ParameterError:
        return False
    return is_queued and isinstance(target_of(call), FunctionResource)


def refused(target: TaskTarget, refusal: Refusal) -> Result:
    """Return the result of a call that the called service refuses."""
    match target:
        case FunctionResource() as function:
            return function_result(function, FunctionReply(refusal=refusal))
        case QueueResource() | TopicResource():
            return _message_result(MessageReply(members={}, refusal=refusal))
        case FlowResource() | MapResource():
            return _refused(f"FnF.{refusal.code}", refusal.message)
        case ObjectResource():
            return _refused(f"OSS.{refusal.code}", refusal.message)
        case HttpResource():
            return _refused("HTTP.Unknown", refusal.message)


def _prefix_of(target: TaskTarget | None) -> str:
    """Return the prefix of the names of a called service's errors."""
    match target:
        case FunctionResource():
            return "FC"
        case QueueResource() | TopicResource():
            return "MNS"
        case FlowResource() | MapResource() | None:
            return "FnF"
        case ObjectResource():
            return "OSS"
        case HttpResource():
            return "HTTP"


def befallen_result(call: CallService, verdict: Unanswered) -> Result:
    """Return the result of a call that a schedule of effects loses, loses the answer of, or throttles.

    Source: error handling page, FC.Unknown is what is left when no answer has come; for other services assumed.
    """
    prefix = _prefix_of(target_of(call))
    match verdict:
        case "throttle":
            code = "ResourceThrottled" if prefix == "FC" else "QpsLimitExceeded"
            return _refused(f"{prefix}.{code}", "Throttled.")
        case "lost-before" | "lost-after":
            return _refused(f"{prefix}.Unknown", "The connection was lost, and no answer has come.")
        case _:
            assert_never(verdict)


def function_result(function: FunctionResource, reply: FunctionReply) -> Result:
    """Turn what Function Compute answered into the task's result, with the documented error names.

    The cause of a refusal is the answer's body, which has other members for a function outside a service.
    """
    if reply.refusal is not None:
        status, code, message = reply.refusal
        if function.service is not None:
            body = {"ErrorCode": code, "ErrorMessage": message}
        else:
            named = {"RequestId": reply.request_id} if reply.request_id else {}
            body = {"Code": code, "Message": message, **named}
        cause = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return _refused(_refusal_name(status, code), cause[:REPLY_CAUSE_CHARS])
    text = reply.body.decode("utf-8", "replace")
    if reply.error_type is None:
        return Result(output=text if text.strip() else "{}")
    return Result(error=_thrown(text) or "FC.Unknown", cause=text[:REPLY_CAUSE_CHARS])


def _refusal_name(status: int, code: str) -> str:
    if status == 503 or code == "ResourceThrottled":
        return "FC.ResourceThrottled"
    if status == 429:
        return "FC.ResourceExhausted"
    if status >= 500:
        return "FC.InternalServerError"
    return f"FC.{code}" if code else "FC.Unknown"


def _thrown(body: str) -> str | None:
    """Return the ``errorType`` of a failed function's answer: what its code threw."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    name = value.get("errorType") if isinstance(value, dict) else None
    return name if isinstance(name, str) and name else None


def _message_result(reply: MessageReply) -> Result:
    if reply.refusal is not None:
        code = reply.refusal.code or "Unknown"
        return _refused(f"MNS.{code}", reply.refusal.message[:REPLY_CAUSE_CHARS])
    return Result(output=canonical(reply.members))


def _refused(error: str, cause: str) -> Result:
    return Result(error=error, cause=cause, refused=True)


_NO_MESSAGES = _refused("MNS.Unknown", "The message service is not available here.")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value)


def _whole(parameters: dict[str, Any], name: str, low: int, high: int) -> int | None:
    value = parameters.get(name)
    try:
        return None if value is None else whole_number(value, low, high)
    except ValueError as error:
        raise ParameterError(f"{name} {error}") from error
