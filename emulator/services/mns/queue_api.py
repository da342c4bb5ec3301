"""Operations on accounts and queues."""

from collections.abc import Mapping

from emulator.services.mns.call import Call, Handler
from emulator.services.mns.queue_wire import (
    read_account,
    read_marker,
    read_settings,
    render_account,
    render_queue,
    render_queues,
    render_queues_with_meta,
)
from emulator.services.mns.service import MessageService
from emulator.services.mns.wire import document, leaf, read_query_int
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
