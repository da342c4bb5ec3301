"""Task steps through the ports: parameters out, replies and error names back.

Source: service integration and error handling pages, Serverless Workflow guide; that MNS errors are named
``MNS.{Code}`` is assumed.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any, Protocol

from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import Tenant
from emulator.services.workflow.engine.events import NotAnObject, canonical, parse_value
from emulator.services.workflow.engine.language import CallService, Result
from emulator.services.workflow.engine.model import ParameterError
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

RUNTIME_ERROR = "FnF.RuntimeError"

CALLBACK_HEADER = "X-FnF-Http-Callback-Task-Token"
"""The header that brings a task's token to what it calls over HTTP."""

OBJECT_BYTES = 64 * 1024
"""Largest object a task reads: no output of a state holds more."""


class FlowStarter(Protocol):
    """Starts executions for tasks: the service itself."""

    def start_child(
        self, tenant: Tenant, flow: str, execution: str, text: str, callback_token: str, *, own_name: bool
    ) -> dict[str, Any]:
        """Start an execution of *flow* and return the members of the reply.

        With *own_name* the name was made for this one task: an ended execution of that name is the one.

        Raises: WorkflowError.
        """
        ...

    def start_map_run(self, tenant: Tenant, call: CallService, target: MapResource, key: str, token: str) -> Result:
        """Begin a run of a distributed map, whose end is reported to *token*."""
        ...


class TaskCaller:
    """Performs attempts of tasks. Every failure becomes a `Result`; nothing is raised but cancellation and bugs."""

    def __init__(
        self,
        invoker: FunctionInvoker | None,
        sender: MessageSender | None,
        flows: FlowStarter | None,
        http: HttpCaller | None = None,
        objects: ObjectReader | None = None,
    ) -> None:
        self._invoker = invoker
        self._sender = sender
        self._flows = flows
        self._http = http
        self._objects = objects

    async def perform(
        self, tenant: Tenant, call: CallService, key: str, token: str, submitted: Callable[[Result], None]
    ) -> Result:
        """Make the call of an attempt. *token* is the attempt's task token.

        *submitted* is called with what was answered when a function was queued whose end is then waited for.
        """
        try:
            parameters = call.step.parameters(call.input)
            match call.step.target(call.input):
                case FunctionResource() as function:
                    return await self._call_function(tenant, function, call, parameters, key, submitted)
                case QueueResource() as target:
                    return await self._send(tenant, target.queue, call, parameters, key)
                case TopicResource() as target:
                    return await self._publish(tenant, target.topic, call, parameters, key)
                case FlowResource() as target:
                    return self._start(tenant, target.flow, call, parameters, key, token)
                case HttpResource() as target:
                    return await self._request(target, call, parameters, token)
                case ObjectResource() as target:
                    return await self._read(tenant, target, parameters)
                case MapResource() as target:
                    if self._flows is None:
                        return Result(error="FnF.ActionNotSupported", cause="Maps cannot be run here.", refused=True)
                    return self._flows.start_map_run(tenant, call, target, key, token)
                case ActionResource() as action:
                    return self._act(tenant, action, call, parameters, key)
        except ParameterError as problem:
            return Result(error=RUNTIME_ERROR, cause=str(problem), refused=True)

    # --- functions -----------------------------------------------------------------------------------------------

    async def _call_function(
        self,
        tenant: Tenant,
        function: FunctionResource,
        call: CallService,
        parameters: dict[str, Any],
        key: str,
        submitted: Callable[[Result], None],
    ) -> Result:
        if self._invoker is None:
            return Result(error="FC.Unknown", cause="Function Compute is not available here.", refused=True)
        kind = parameters.get("InvocationType", "Sync")
        if kind not in {"Sync", "Async"}:
            raise ParameterError("InvocationType must be Sync or Async")
        event = call.step.event(call.input, call.input_text)
        in_full = call.step.answers_in_full
        if kind == "Sync":
            reply = await self._invoker.invoke(tenant, function, event, key)
            result = function_result(reply)
            if in_full and result.error is None:
                return _in_full(200, _request_id_header(reply.request_id), reply.body)
            return result
        own_id = _text(parameters.get("StatefulAsyncInvocationID", ""))
        submission = await self._invoker.submit(tenant, function, event, key, invocation_id=own_id)
        accepted = function_result(
            FunctionReply(body=canonical({"RequestId": submission.request_id}).encode(), refusal=submission.refusal)
        )
        if submission.refusal is not None or call.step.pattern != "sync":
            if in_full and submission.refusal is None:
                return _in_full(202, _request_id_header(submission.request_id), b"")
            return accepted
        submitted(accepted)
        return function_result(await self._invoker.result(tenant, submission.request_id))

    def abandon(self, tenant: Tenant, call: CallService, key: str) -> None:
        """Stop the asynchronous call of a function that an attempt has queued."""
        if self._invoker is not None and isinstance(target_of(call), FunctionResource):
            self._invoker.abandon(tenant, key)

    # --- messages ------------------------------------------------------------------------------------------------

    async def _send(
        self, tenant: Tenant, queue: str, call: CallService, parameters: dict[str, Any], key: str
    ) -> Result:
        if self._sender is None:
            return _NO_MESSAGES
        body = _text(parameters.get("MessageBody", call.input))
        delay_s = _whole(parameters, "DelaySeconds", 0, 604_800)
        priority = _whole(parameters, "Priority", 1, 16)
        return _message_result(
            await self._sender.send(tenant, queue, body, delay_s=delay_s, priority=priority, key=key)
        )

    async def _publish(
        self, tenant: Tenant, topic: str, call: CallService, parameters: dict[str, Any], key: str
    ) -> Result:
        if self._sender is None:
            return _NO_MESSAGES
        body = _text(parameters.get("MessageBody", call.input))
        tag = parameters.get("MessageTag")
        attributes = parameters.get("MessageAttributes")
        return _message_result(
            await self._sender.publish(
                tenant,
                topic,
                body,
                tag=None if tag is None else _text(tag),
                attributes=None if attributes is None else _text(attributes),
                key=key,
            )
        )

    # --- flows ---------------------------------------------------------------------------------------------------

    def _start(
        self, tenant: Tenant, flow: str, call: CallService, parameters: dict[str, Any], key: str, token: str
    ) -> Result:
        callback = token if call.step.pattern == "sync" else ""
        return self._start_flow(tenant, flow, call, parameters, key, callback, "FnF")

    def _act(
        self, tenant: Tenant, action: ActionResource, call: CallService, parameters: dict[str, Any], key: str
    ) -> Result:
        if (action.service.lower(), action.operation) != ("fnf", "StartExecution"):
            cause = f"The action {action.service}:{action.operation} is not available here."
            return Result(error=f"{action.service}.ActionNotSupported", cause=cause, refused=True)
        flow = parameters.get("FlowName")
        if not isinstance(flow, str):
            raise ParameterError("FlowName is missing in the input of the step")
        return self._start_flow(tenant, flow, call, parameters, key, "", "fnf")

    def _start_flow(
        self,
        tenant: Tenant,
        flow: str,
        call: CallService,
        parameters: dict[str, Any],
        key: str,
        callback: str,
        prefix: str,
    ) -> Result:
        name = child_name(call, parameters, key)
        text = _text(parameters.get("Input", call.input))
        own_name = "ExecutionName" not in parameters
        if self._flows is None:
            return Result(error=f"{prefix}.ActionNotSupported", cause="Flows cannot be started here.", refused=True)
        try:
            members = self._flows.start_child(tenant, flow, name, text, callback, own_name=own_name)
        except ServiceError as error:
            return Result(error=f"{prefix}.{error.code}", cause=error.message, refused=True)
        return Result(output=canonical(call.step.child_reply(members, _request_id(key))))

    # --- HTTP and objects ----------------------------------------------------------------------------------------

    async def _request(self, target: HttpResource, call: CallService, parameters: dict[str, Any], token: str) -> Result:
        if self._http is None:
            return Result(error="HTTP.Unknown", cause="Calls over HTTP are not available here.", refused=True)
        body = parameters.get("Body")
        headers = dict(parameters.get("Headers", {}))
        if body is not None and not isinstance(body, str) and "content-type" not in map(str.lower, headers):
            headers["Content-Type"] = "application/json"
        if call.step.pattern == "waitForCallback":
            headers[CALLBACK_HEADER] = token
        try:
            reply = await self._http.call(target, headers, b"" if body is None else _text(body).encode())
        except ValueError as error:
            raise ParameterError(str(error)) from error
        if reply.failure is not None:
            return Result(error="HTTP.Unknown", cause=reply.failure[:REPLY_CAUSE_CHARS], refused=True)
        return _in_full(reply.status, reply.headers, reply.body)

    async def _read(self, tenant: Tenant, target: ObjectResource, parameters: dict[str, Any]) -> Result:
        if self._objects is None:
            return Result(error="OSS.Unknown", cause="Object storage is not available here.", refused=True)
        reply = await self._objects.read(tenant, target, parameters, OBJECT_BYTES)
        if reply.refusal is not None:
            cause = reply.refusal.message[:REPLY_CAUSE_CHARS]
            return Result(error=f"OSS.{reply.refusal.code}", cause=cause, refused=True)
        return Result(output=canonical(reply.members))


def _in_full(status: int, headers: dict[str, str], body: bytes) -> Result:
    """Return a result with the reply's code, header and body, which is parsed when it is JSON."""
    text = body.decode("utf-8", "replace")
    value: Any = text
    if text.strip():
        try:
            value = parse_value(text)
        except NotAnObject:
            value = text
    return Result(output=canonical({"Code": status, "Header": headers, "Body": value}))


def _request_id_header(request_id: str) -> dict[str, str]:
    return {"X-Fc-Request-Id": request_id} if request_id else {}


def _request_id(key: str) -> str:
    digits = hashlib.sha256(f"request {key}".encode()).hexdigest().upper()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}"


def child_name(call: CallService, parameters: dict[str, Any], key: str) -> str:
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
    return target.flow, child_name(call, call.step.parameters(call.input), key)


def target_of(call: CallService) -> TaskTarget | None:
    """Return what the call of a task is made to; None for one that cannot be made."""
    try:
        resource = call.step.target(call.input)
        if not isinstance(resource, ActionResource):
            return resource
        flow = call.step.parameters(call.input).get("FlowName")
    except ParameterError:
        return None
    return FlowResource(flow) if isinstance(flow, str) else None


def refused(target: TaskTarget, refusal: Refusal) -> Result:
    """Return the result of a call that the service it is made to refuses."""
    match target:
        case FunctionResource():
            return function_result(FunctionReply(refusal=refusal))
        case QueueResource() | TopicResource():
            return _message_result(MessageReply(members={}, refusal=refusal))
        case FlowResource():
            return Result(error=f"FnF.{refusal.code}", cause=refusal.message, refused=True)
        case ObjectResource():
            return Result(error=f"OSS.{refusal.code}", cause=refusal.message, refused=True)
        case HttpResource():
            return Result(error="HTTP.Unknown", cause=refusal.message, refused=True)
        case MapResource():
            return Result(error=f"FnF.{refusal.code}", cause=refusal.message, refused=True)


def function_result(reply: FunctionReply) -> Result:
    """Turn what Function Compute answered into the task's result, with the documented error names."""
    if reply.refusal is not None:
        status, code, message = reply.refusal
        cause = json.dumps({"ErrorCode": code, "ErrorMessage": message}, ensure_ascii=False, separators=(",", ":"))
        return Result(error=_refusal_name(status, code), cause=cause[:REPLY_CAUSE_CHARS], refused=True)
    body = reply.body.decode("utf-8", "replace")
    if reply.error_type is None:
        return Result(output=body if body.strip() else "{}")
    return Result(error=_thrown(body) or "FC.Unknown", cause=body[:REPLY_CAUSE_CHARS])


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
        return Result(error=f"MNS.{code}", cause=reply.refusal.message[:REPLY_CAUSE_CHARS], refused=True)
    return Result(output=canonical(reply.members))


_NO_MESSAGES = Result(error="MNS.Unknown", cause="The message service is not available here.", refused=True)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value)


def _whole(parameters: dict[str, Any], name: str, low: int, high: int) -> int | None:
    value = parameters.get(name)
    if value is None:
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ParameterError(f"{name} must be a whole number from {low} to {high}")
    return value
