"""Queues through the management API: the same ones as through the XML API."""

from collections.abc import Iterator, Mapping

from emulator.kernel.identity import Tenant
from emulator.services.mns.model import Encryption, QueueView
from emulator.services.mns.open_parameters import read_fifo, read_page, read_queue, read_tags, required
from emulator.services.mns.open_replies import done, page, queue_object, success
from emulator.services.mns.service import MessageService
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Operation, Parameters, Reply


class OpenQueues:
    """Operations on queues."""

    def __init__(self, service: MessageService) -> None:
        self._service = service
        self._queues = service.queues
        self.operations: Mapping[str, Operation] = {
            "CreateQueue": self._create,
            "SetQueueAttributes": self._set,
            "GetQueueAttributes": self._get,
            "DeleteQueue": self._delete,
            "ListQueue": self._list,
        }

    def _create(self, context: OperationRequest, parameters: Parameters) -> Reply:
        name = required(parameters, "QueueName")
        change = read_queue(parameters, Encryption())
        if (fifo := read_fifo(parameters, "QueueType")) is not None:
            change["fifo"] = fifo
        if tags := read_tags(parameters):
            change["tags"] = tags
        self._queues.create(context.tenant, name, change)
        return done()

    def _set(self, context: OperationRequest, parameters: Parameters) -> Reply:
        name = required(parameters, "QueueName")
        before = self._service.find(context.tenant, name).queue.settings.encryption
        self._queues.change(context.tenant, name, read_queue(parameters, before))
        return done()

    def _get(self, context: OperationRequest, parameters: Parameters) -> Reply:
        return success(queue_object(self._queues.view(context.tenant, required(parameters, "QueueName"))))

    def _delete(self, context: OperationRequest, parameters: Parameters) -> Reply:
        self._queues.delete(context.tenant, required(parameters, "QueueName"))
        return done()

    def _list(self, context: OperationRequest, parameters: Parameters) -> Reply:
        """Return a page of the queues whose names start with QueueName, of the type and with all the tags asked for.

        Source: that the name is a prefix is assumed.
        """
        number, size = read_page(parameters)
        fifo, tags = read_fifo(parameters, "QueueType"), set(read_tags(parameters))
        found = [
            queue_object(view, listed=True)
            for view in self._all(context.tenant, parameters.get("QueueName", ""))
            if fifo in {None, view.queue.settings.fifo} and tags <= set(view.queue.settings.tags)
        ]
        return success(page(found, number, size))

    def _all(self, tenant: Tenant, prefix: str) -> Iterator[QueueView]:
        start: str | None = ""
        while start is not None:
            part = self._queues.page(tenant, prefix=prefix, start=start)
            yield from part.items
            start = part.next_marker
