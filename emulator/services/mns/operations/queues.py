"""Operations of the XML API on accounts, queues and the messages of a queue.

Every operation reads its request, calls the service once and writes the answer. A long poll is answered with a future.
"""

from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Any

from emulator.http.message import Response
from emulator.kernel.paging import Page
from emulator.services.mns.codec import (
    base_url,
    document,
    leaf,
    read_change,
    read_listing,
    read_query_int,
    render_list,
    render_resource,
    respond,
)
from emulator.services.mns.errors import MnsError
from emulator.services.mns.queues.codec import (
    read_account,
    read_drafts,
    read_handles,
    render_account,
    render_batch,
    render_changed,
    render_message,
    render_messages,
    render_receipt,
    render_refused_handles,
)
from emulator.services.mns.queues.live_queues import LiveQueue
from emulator.services.mns.queues.message import Message, Refused
from emulator.services.mns.queues.model import QUEUE
from emulator.services.mns.service import MessageService
from emulator.wire.operation import operation
from emulator.wire.request import Answer, OperationRequest


@operation("GetAccountAttributes", "GET /?accountmeta=true")
def get_account_attributes(service: MessageService, call: OperationRequest) -> Response:
    """Return the attributes of the account: 200.

    Source: aliyun-mns-python-sdk mns/account.py.
    """
    return respond(call, 200, render_account(service.queue_store.account(call.tenant)))


@operation("SetAccountAttributes", "PUT /?accountmeta=true")
def set_account_attributes(service: MessageService, call: OperationRequest) -> Response:
    """Change the attributes of the account that the body names: 204.

    Raises: MalformedXML, SchemaViolation. Source: aliyun-mns-python-sdk mns/account.py.
    """
    before = service.queue_store.account(call.tenant)
    service.queue_store.put_account(call.tenant, read_account(call.http.body, before))
    return respond(call, 204)


@operation("GetAccount", "GET /?account")
def get_account(service: MessageService, call: OperationRequest) -> Response:
    """Return the number of the account: 200.

    Source: error decoders of the SDKs; assumed: the form.
    """
    return respond(call, 200, document("Account", leaf("AccountId", call.tenant.account)))


@operation("OpenService", "POST /commonbuy/openservice")
def open_service(service: MessageService, call: OperationRequest) -> Response:
    """Return an order number, which is the request's id; nothing is ordered.

    Source: OpenService; assumed.
    """
    return respond(call, 200, document("OpenService", leaf("OrderId", call.request_id)))


@operation("CreateQueue", "PUT /queues/{queue}")
def create_queue(service: MessageService, call: OperationRequest) -> Response:
    """Create a queue: 201 with its URL, 204 when one with the same attributes exists.

    Raises: InvalidQueueName, QueueNameLengthError, InvalidArgument, QueueAlreadyExist, MalformedXML, SchemaViolation.
    Source: CreateQueue; the URL in a 204: aliyun-mns-python-sdk.
    """
    name = call.path["queue"]
    is_new = service.queues.create(call.tenant, name, read_change(QUEUE, call.http.body))
    return respond(call, 201 if is_new else 204, location=f"/queues/{name}")


@operation("SetQueueAttributes", "PUT /queues/{queue}?metaoverride=true")
def set_queue_attributes(service: MessageService, call: OperationRequest) -> Answer:
    """Change the attributes of a queue that the body names: 204.

    Raises: QueueNotExist, InvalidArgument, MalformedXML, SchemaViolation. Source: SetQueueAttributes.
    """
    tenant, name = call.tenant, call.path["queue"]
    service.find(tenant, name)  # a missing queue is refused before a bad body
    later = service.change_queue(tenant, name, read_change(QUEUE, call.http.body))
    return respond(call, 204) if later is None else _changed(later, call)


async def _changed(later: Awaitable[None], call: OperationRequest) -> Response:
    await later
    return respond(call, 204)


@operation("GetQueueAttributes", "GET /queues/{queue}")
def get_queue_attributes(service: MessageService, call: OperationRequest) -> Response:
    """Return the attributes and counters of a queue: 200.

    Raises: QueueNotExist.
    Source: GetQueueAttributes.
    """
    view = service.queues.view(call.tenant, call.path["queue"])
    return respond(call, 200, render_resource(QUEUE, view.queue.settings, view))


@operation("DeleteQueue", "DELETE /queues/{queue}")
def delete_queue(service: MessageService, call: OperationRequest) -> Response:
    """Delete a queue and its messages: 204, also when it does not exist.

    Source: DeleteQueue.
    """
    service.queues.delete(call.tenant, call.path["queue"])
    return respond(call, 204)


@operation("ListQueue", "GET /queues")
def list_queues(service: MessageService, call: OperationRequest) -> Response:
    """Return a page of queue URLs, with attributes on request: 200.

    Raises: InvalidArgument.
    Source: ListQueue.
    """
    prefix, start, limit, with_meta = read_listing(call)
    url = base_url(call.http) + "/queues/"
    page: Page[Any]
    entries: list[tuple[str, Any, Any]]
    if with_meta:
        page = service.queues.page(call.tenant, prefix=prefix, start=start, limit=limit)
        entries = [(url + each.queue.name, each.queue.settings, each) for each in page.items]
    else:  # names alone, without counting messages
        page = service.queues.names(call.tenant, prefix=prefix, start=start, limit=limit)
        entries = [(url + name, None, None) for name in page.items]
    return respond(call, 200, render_list(QUEUE, entries, page.next_marker))


@operation("SendMessage", "POST /queues/{queue}/messages")
def send_message(service: MessageService, call: OperationRequest) -> Response:
    """Send one message, or up to 16: 201 with ids and digests; 500 when a message of a batch could not be stored.

    Raises: QueueNotExist, MalformedXML, SchemaViolation, InvalidArgument, FifoMissingMessageGroupId.
    Source: SendMessage, BatchSendMessage.
    """
    name = call.path["queue"]
    queue = service.find(call.tenant, name)
    drafts = read_drafts(call.http.body)
    if not isinstance(drafts, list):
        receipt = service.messages.send(queue, drafts)
        call.about = {"message_id": receipt.message_id, "queue": name}
        return respond(call, 201, render_receipt(receipt))
    call.operation = "BatchSendMessage"
    entries = service.messages.send_batch(queue, drafts)
    sent = [entry.message_id for entry in entries if not isinstance(entry, Refused)]
    call.about = {"message_ids": sent, "queue": name}
    return respond(call, 201 if len(sent) == len(entries) else 500, render_batch(entries))


@operation("ReceiveMessage", "GET /queues/{queue}/messages")
def receive_message(service: MessageService, call: OperationRequest) -> Answer:
    """Receive or peek at up to 16 messages: 200. A request with a number gets a list, even of one message.

    Raises: QueueNotExist, InvalidArgument, MessageNotExist when there is none in time.
    Source: ReceiveMessage, BatchReceiveMessage, PeekMessage, BatchPeekMessage.
    """
    queue = service.find(call.tenant, call.path["queue"])
    query = call.query
    number = query.get("numofmessages")
    count = 1 if number is None else read_query_int(number, "numOfMessages")
    if query.get("peekonly", "").lower() == "true":
        return _peek(service, call, queue, None if number is None else count)
    if number is not None:
        call.operation = "BatchReceiveMessage"
    wait = query.get("waitseconds")
    wait_s = None if wait is None else read_query_int(wait, "waitseconds")
    answer = service.messages.receive(queue, count, wait_s, partial(_received, call, number is None))
    call.parked = not isinstance(answer, Response)
    return answer


def _received(call: OperationRequest, single: bool, messages: Sequence[Message]) -> Response:
    call.about = _about(messages)
    return respond(call, 200, render_message(messages[0]) if single else render_messages(messages))


def _about(messages: Sequence[Message]) -> Mapping[str, object]:
    """Return the log fields of a receive: the ids of messages, and of the requests they came from."""
    if len(messages) == 1:
        return {"message_id": messages[0].message_id, "cause": messages[0].trace}
    causes = dict.fromkeys(message.trace for message in messages)
    return {"message_ids": [message.message_id for message in messages], "causes": list(causes)}


def _handled(handles: Sequence[str]) -> Mapping[str, object]:
    """Return the log fields of a request with receipt handles: the message ids with which the handles begin."""
    return {"handled": [handle[:32] for handle in handles]}


def _peek(service: MessageService, call: OperationRequest, queue: LiveQueue, count: int | None) -> Response:
    call.operation = "PeekMessage" if count is None else "BatchPeekMessage"
    messages = service.messages.peek(queue, 1 if count is None else count)
    if count is None:
        return respond(call, 200, render_message(messages[0], peeked=True))
    return respond(call, 200, render_messages(messages, peeked=True))


@operation("DeleteMessage", "DELETE /queues/{queue}/messages")
def delete_message(service: MessageService, call: OperationRequest) -> Response:
    """Delete the message of a receipt handle, or of up to 16: 204; 404 with the failed ones of a batch.

    Raises: QueueNotExist, MissingReceiptHandle, ReceiptHandleError, MessageNotExist, MalformedXML, SchemaViolation.
    Source: DeleteMessage, BatchDeleteMessage.
    """
    queue = service.find(call.tenant, call.path["queue"])
    handle = call.query.get("receipthandle")
    if handle is not None:
        if not handle:
            raise MnsError("MissingReceiptHandle")
        call.about = _handled([handle])
        service.messages.delete(queue, handle)
        return respond(call, 204)
    call.operation = "BatchDeleteMessage"
    handles = read_handles(call.http.body)
    call.about = _handled(handles)
    refused = service.messages.delete_batch(queue, handles)
    return respond(call, 404, render_refused_handles(refused)) if refused else respond(call, 204)


@operation("ChangeMessageVisibility", "PUT /queues/{queue}/messages")
def change_message_visibility(service: MessageService, call: OperationRequest) -> Response:
    """Hide a received message again and return its new receipt handle: 200.

    Raises: QueueNotExist, MissingReceiptHandle, MissingVisibilityTimeout, InvalidArgument, ReceiptHandleError,
    MessageNotExist. Source: ChangeMessageVisibility.
    """
    queue = service.find(call.tenant, call.path["queue"])
    handle, timeout = call.query.get("receipthandle"), call.query.get("visibilitytimeout")
    if not handle:
        raise MnsError("MissingReceiptHandle")
    if not timeout:
        raise MnsError("MissingVisibilityTimeout")
    timeout_s = read_query_int(timeout, "VisibilityTimeout")
    call.about = _handled([handle])
    return respond(call, 200, render_changed(service.messages.change_visibility(queue, handle, timeout_s)))
