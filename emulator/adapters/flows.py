"""The services that flows call: functions, queues and topics, and HTTP, behind ports of the workflow service."""

import json
from typing import ClassVar
from urllib.parse import urlsplit

from emulator.http.client_connection import ClientError
from emulator.http.message import split_url
from emulator.kernel.clock import Clock
from emulator.kernel.errors import ErrorRow, ServiceError
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.instrumentation import Dialect, Interference, Subject
from emulator.kernel.turnstile import Turnstile
from emulator.services.fc.asynchronous.model import Status
from emulator.services.fc.errors import FcError
from emulator.services.fc.model import FunctionName
from emulator.services.fc.service import FunctionCompute
from emulator.services.mns.errors import MnsError
from emulator.services.mns.ports import DIALECT, subject
from emulator.services.mns.queues.message import MessageReceipt
from emulator.services.mns.service import MessageService
from emulator.services.mns.topics.push import GuardedClients, Home, PushPolicy, Trusted
from emulator.services.workflow.ports import (
    FunctionReply,
    FunctionResource,
    HttpReply,
    HttpResource,
    MessageReply,
    Refusal,
    Submission,
)


class FunctionCalls:
    """Lets flows run functions (the port `FunctionInvoker` of the workflow service)."""

    def __init__(self, functions: FunctionCompute, ids: Ids, turns: Turnstile) -> None:
        self._turns = turns
        self._functions = functions
        self._ids = ids

    async def invoke(self, tenant: Tenant, resource: FunctionResource, event: bytes, key: str) -> FunctionReply:
        """Run a function and wait for its answer; a refusal keeps its HTTP status and code."""
        request_id = self._ids.uuid()
        try:
            call = await self._functions.invoke(tenant, _name(resource), event, request_id=request_id, origin="flow")
        except FcError as error:
            return FunctionReply(refusal=_refusal(error), request_id=request_id)
        return FunctionReply(body=call.result.body, error_type=call.result.error_type, request_id=request_id)

    async def submit(
        self, tenant: Tenant, resource: FunctionResource, event: bytes, key: str, *, invocation_id: str
    ) -> Submission:
        """Queue an asynchronous call, once for each *key*."""
        try:
            request_id = await self._functions.invoke_async(
                tenant,
                _name(resource),
                event,
                key=_key(key),
                task_id=invocation_id,
                origin="flow",
            )
        except FcError as error:
            return Submission("", _refusal(error))
        return Submission(request_id)

    async def result(self, tenant: Tenant, request_id: str) -> FunctionReply:
        """Wait for the end of a queued call and return its answer.

        Raises: LookupError for a call that is not known (any more).
        """
        with self._turns.resting("call"):
            outcome = await self._functions.completion(tenant, request_id)
        if outcome.status is Status.SUCCEEDED:
            return FunctionReply(body=outcome.body)
        if outcome.http_status >= 400:
            message = outcome.body.decode("utf-8", "replace")
            return FunctionReply(refusal=Refusal(outcome.http_status, outcome.error, _message_of(message)))
        body = outcome.body or json.dumps({"errorMessage": f"The call has ended as {outcome.status}."}).encode()
        return FunctionReply(body=body, error_type=outcome.error or str(outcome.status))

    def abandon(self, tenant: Tenant, key: str) -> None:
        """Stop a queued call that has not ended."""
        self._functions.async_queue.stop_key(tenant, _key(key))


class FlowMessages:
    """Lets flows send messages (the port `MessageSender` of the workflow service).

    A message is stored in the transaction in which the flow records it, or in an earlier one.
    """

    def __init__(self, messages: MessageService, clock: Clock, ids: Ids, interference: Interference) -> None:
        self._messages = messages
        self._interference = interference
        self._clock = clock
        self._ids = ids

    async def send(
        self, tenant: Tenant, queue: str, body: str, *, delay_s: int | None, priority: int | None, key: str
    ) -> MessageReply:
        """Send to a queue; the reply has the members of SendMessage."""
        try:
            async with self._interference.around(subject("SendMessage", queue=queue, origin="flow"), DIALECT):
                receipt = self._messages.send(tenant, queue, body, delay_s=delay_s, priority=priority)
        except MnsError as error:
            return MessageReply(members={}, refusal=_refusal(error))
        return self._reply(receipt)

    async def publish(
        self, tenant: Tenant, topic: str, body: str, *, tag: str | None, attributes: str | None, key: str
    ) -> MessageReply:
        """Publish to a topic; the reply has the members of PublishMessage."""
        try:
            async with self._interference.around(subject("PublishMessage", topic=topic, origin="flow"), DIALECT):
                receipt = self._messages.publish(tenant, topic, body, tag=tag, attributes=attributes)
        except MnsError as error:
            return MessageReply(members={}, refusal=_refusal(error))
        return self._reply(receipt)

    def _reply(self, receipt: MessageReceipt) -> MessageReply:
        members = {
            "MessageId": receipt.message_id,
            "MessageBodyMD5": receipt.body_md5,
            "RequestId": f"{self._clock.now() // 1000:08X}{self._ids.hex(16).upper()}",  # as in the service's answers
        }
        if receipt.handle is not None:
            members["ReceiptHandle"] = receipt.handle
        return MessageReply(members=members)


HTTP_TIMEOUT_S = 60
"""The timeout of a call over HTTP in seconds; assumed. A task's own timeout may end it earlier."""

_ANSWER_BYTES = 1024 * 1024


class HttpFault(ServiceError):
    """An error injected in place of an endpoint's answer."""

    table: ClassVar = {
        "ConnectionClosed": ErrorRow(500, "The connection was closed by an injected fault."),
        "TooManyRequests": ErrorRow(429, "Too many requests."),
        "InternalServerError": ErrorRow(500, "Internal server error."),
    }


_HTTP = Dialect(HttpFault, "TooManyRequests", "ConnectionClosed")


class FlowHttp:
    """Lets flows make calls over HTTP (the port `HttpCaller` of the workflow service).

    The permitted addresses are those of pushes. *home* recognises addresses of this emulator, such as function URLs;
    calls to them do not leave the process.
    """

    def __init__(self, policy: PushPolicy, home: Home, trusted: Trusted, interference: Interference) -> None:
        self._clients = GuardedClients(policy, trusted)
        self._home = home
        self._interference = interference

    async def call(self, target: HttpResource, headers: dict[str, str], body: bytes) -> HttpReply:
        """Make a call and return its answer, whatever its status; redirects are not followed.

        Raises: ValueError when URL or headers cannot go on the wire.
        """
        host = urlsplit(target.url).hostname or ""
        try:
            async with self._interference.around(Subject("http", target.method, (target.url, host), ("flow",)), _HTTP):
                return await self._call(target, headers, body)
        except HttpFault as fault:
            if fault.code == _HTTP.lost:
                return HttpReply(headers={}, failure=fault.message)
            return HttpReply(status=fault.http_status, headers={}, body=fault.message.encode())

    async def _call(self, target: HttpResource, headers: dict[str, str], body: bytes) -> HttpReply:
        url = target.url
        try:
            origin, rest = split_url(url)
            address = self._home(origin.host)
            if address is not None:
                url = f"http://{origin.authority}{rest}"
            client = await self._clients.client(origin, plain=address is not None)
            response = await client.request(
                target.method,
                url,
                timeout_s=HTTP_TIMEOUT_S,
                headers=list(headers.items()),
                body=body,
                connect_to=address,
                max_response=_ANSWER_BYTES,
            )
        except ClientError as error:
            return HttpReply(headers={}, failure=str(error))
        return HttpReply(status=response.status, headers=dict(response.headers.pairs), body=response.body)

    async def close(self) -> None:
        """Close the idle connections."""
        await self._clients.close()


def _name(resource: FunctionResource) -> FunctionName:
    return FunctionName(resource.service or "", resource.function, resource.qualifier)


def _key(key: str) -> str:
    """Return the key of a call, distinct from the keys of topics and triggers."""
    return f"flow {key}"


def _refusal(error: FcError | MnsError) -> Refusal:
    return Refusal(error.http_status, error.code, error.message)


def _message_of(body: str) -> str:
    """Return the message of a refusal that was recorded as a failed function's answer."""
    try:
        members = json.loads(body)
    except ValueError:
        return body
    message = members.get("errorMessage") if isinstance(members, dict) else None
    return message if isinstance(message, str) else body
