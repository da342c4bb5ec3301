"""Operations on accounts and queues."""

from collections.abc import Mapping, Sequence

from emulator.http.message import Response
from emulator.services.mns.codec import Call, Handler, document, leaf, read_query_int
from emulator.services.mns.errors import MissingReceiptHandle, MissingVisibilityTimeout
from emulator.services.mns.queues.codec import (
    read_account,
    read_drafts,
    read_handles,
    read_marker,
    read_settings,
    render_account,
    render_batch,
    render_changed,
    render_message,
    render_messages,
    render_queue,
    render_queues,
    render_queues_with_meta,
    render_receipt,
    render_refused_handles,
)
from emulator.services.mns.queues.live_queues import LiveQueue
from emulator.services.mns.queues.model import Message, Refused
from emulator.services.mns.service import MessageService
from emulator.wire.request import Answer


class QueueApi:
    """Handlers that parse, call the service and render."""

    def __init__(self, service: MessageService) -> None:
        self._service = service
        self.operations: Mapping[str, Handler] = {
            "GetAccountAttributes": self._get_account_attributes,
            "SetAccountAttributes": self._set_account_attributes,
            "GetAccount": self._get_account,
            "OpenService": self._open_service,
            "CreateQueue": self._create,
            "SetQueueAttributes": self._set_attributes,
            "GetQueueAttributes": self._get_attributes,
            "DeleteQueue": self._delete,
            "ListQueue": self._list,
        }

    def _get_account_attributes(self, call: Call) -> Answer:
        return call.answer(200, render_account(self._service.account(call.tenant)))

    def _set_account_attributes(self, call: Call) -> Answer:
        before = self._service.account(call.tenant)
        self._service.set_account(call.tenant, read_account(call.request.body, before))
        return call.answer(204)

    def _get_account(self, call: Call) -> Answer:
        return call.answer(200, document("Account", leaf("AccountId", call.tenant.account)))

    def _open_service(self, call: Call) -> Answer:
        # nothing to order here: the number is the request's
        return call.answer(200, document("OpenService", leaf("OrderId", call.context.request_id)))

    def _create(self, call: Call) -> Answer:
        is_new = self._service.queues.create(call.tenant, call.name, read_settings(call.request.body))
        # with both statuses: the Python client needs the address of a queue that was there already
        return call.answer(201 if is_new else 204, location=f"{call.base}/queues/{call.name}")

    def _set_attributes(self, call: Call) -> Answer:
        self._service.find(call.tenant, call.name)  # a missing queue is complained about before the body
        self._service.queues.change(call.tenant, call.name, read_settings(call.request.body))
        return call.answer(204)

    def _get_attributes(self, call: Call) -> Answer:
        return call.answer(200, render_queue(self._service.queues.view(call.tenant, call.name)))

    def _delete(self, call: Call) -> Answer:
        self._service.queues.delete(call.tenant, call.name)
        return call.answer(204)

    def _list(self, call: Call) -> Answer:
        number = call.header("x-mns-ret-number")
        prefix, start = call.header("x-mns-prefix"), read_marker(call.header("x-mns-marker"))
        limit = read_query_int(number, "x-mns-ret-number") if number else None
        if call.header("x-mns-with-meta").lower() == "true":
            views = self._service.queues.page(call.tenant, prefix=prefix, start=start, limit=limit)
            return call.answer(200, render_queues_with_meta(views, base=call.base))
        names = self._service.queues.names(call.tenant, prefix=prefix, start=start, limit=limit)
        return call.answer(200, render_queues(names, base=call.base))


class MessageApi:
    """Handlers that parse, call the service and render. A long poll is answered with a future."""

    def __init__(self, service: MessageService) -> None:
        self._service = service
        self._messages = service.messages
        self.operations: Mapping[str, Handler] = {
            "SendMessage": self._send,
            "ReceiveMessage": self._receive,
            "DeleteMessage": self._delete,
            "ChangeMessageVisibility": self._change_visibility,
        }

    def _send(self, call: Call) -> Answer:
        queue = self._service.find(call.tenant, call.name)
        drafts = read_drafts(call.request.body)
        if not isinstance(drafts, list):
            receipt = self._messages.send(queue, drafts)
            call.context.about = {"message_id": receipt.message_id}
            return call.answer(201, render_receipt(receipt))
        call.context.operation = "BatchSendMessage"
        entries = self._messages.send_batch(queue, drafts)
        sent = [entry.message_id for entry in entries if not isinstance(entry, Refused)]
        call.context.about = {"message_ids": sent}
        failed = any(isinstance(entry, Refused) for entry in entries)
        return call.answer(500 if failed else 201, render_batch(entries))

    def _receive(self, call: Call) -> Answer:
        queue = self._service.find(call.tenant, call.name)
        number = call.query.get("numofmessages")
        count = 1 if number is None else read_query_int(number, "numOfMessages")
        if call.query.get("peekonly", "").lower() == "true":
            return self._peek(call, queue, count, many=number is not None)
        if number is not None:
            call.context.operation = "BatchReceiveMessage"
        wait = call.query.get("waitseconds")
        wait_s = None if wait is None else read_query_int(wait, "waitseconds")

        def shape(messages: Sequence[Message]) -> Response:
            call.context.about = _received(messages)
            # one message asked for with a number comes in a list too
            body = render_message(messages[0]) if number is None else render_messages(messages)
            return call.answer(200, body)

        return self._messages.receive(queue, count, wait_s, shape)

    def _peek(self, call: Call, queue: LiveQueue, count: int, *, many: bool) -> Answer:
        call.context.operation = "BatchPeekMessage" if many else "PeekMessage"
        messages = self._messages.peek(queue, count)
        if many:
            return call.answer(200, render_messages(messages, peeked=True))
        return call.answer(200, render_message(messages[0], peeked=True))

    def _delete(self, call: Call) -> Answer:
        queue = self._service.find(call.tenant, call.name)
        handle = call.query.get("receipthandle")
        if handle is not None:
            if not handle:
                raise MissingReceiptHandle
            self._messages.delete(queue, handle)
            return call.answer(204)
        call.context.operation = "BatchDeleteMessage"
        refused = self._messages.delete_batch(queue, read_handles(call.request.body))
        return call.answer(404, render_refused_handles(refused)) if refused else call.answer(204)

    def _change_visibility(self, call: Call) -> Answer:
        queue = self._service.find(call.tenant, call.name)
        handle, timeout = call.query.get("receipthandle"), call.query.get("visibilitytimeout")
        if not handle:
            raise MissingReceiptHandle
        if not timeout:
            raise MissingVisibilityTimeout
        timeout_s = read_query_int(timeout, "VisibilityTimeout")
        return call.answer(200, render_changed(self._messages.change_visibility(queue, handle, timeout_s)))


def _received(messages: Sequence[Message]) -> Mapping[str, object]:
    """Return what the log tells of a receive: which messages, and which requests they came from."""
    if len(messages) == 1:
        return {"message_id": messages[0].message_id, "cause": messages[0].trace}
    causes = dict.fromkeys(message.trace for message in messages)
    return {"message_ids": [message.message_id for message in messages], "causes": list(causes)}
