"""Admin operations of the message service, below ``/_localyun/``."""

from typing import Any, NamedTuple

from emulator.http.message import Response
from emulator.services.mns.reports import delivery_object, outbox_object
from emulator.services.mns.service import MessageService
from emulator.services.mns.topic_service import TopicService
from emulator.wire.operation import ANYONE, Parameter, operation
from emulator.wire.request import OperationRequest

_LIMIT = Parameter("limit", int, "The most rows to return.", default=100)


class Messaging(NamedTuple):
    """Queues and topics, which the operations are about."""

    queues: MessageService
    topics: TopicService


@operation("purge-queue", "POST /purge-queue", Parameter("queue", about="The queue's name.", default=""))
async def purge_queue(service: Messaging, call: OperationRequest) -> dict[str, Any]:
    """Delete every message of a queue; answers how many there were.

    Raises: QueueNotExist.
    """
    queue = call.arguments["queue"]
    return {"queue": queue, "deleted": await service.queues.purge(call.tenant, queue)}


@operation(
    "deliveries",
    "GET /deliveries",
    Parameter("topic", about="The topic's name.", default=""),
    Parameter("subscription", about="The subscription's name.", default=""),
    _LIMIT,
)
def deliveries(service: Messaging, call: OperationRequest) -> dict[str, Any]:
    """The deliveries of a subscription, pending ones first.

    Raises: TopicNotExist, SubscriptionNotExist.
    """
    topic, subscription, limit = (call.arguments[name] for name in ("topic", "subscription", "limit"))
    reports = service.topics.list_deliveries(call.tenant, topic, subscription, limit)
    return {"deliveries": [delivery_object(each) for each in reports]}


@operation("outbox", "GET /outbox", _LIMIT)
def outbox(service: Messaging, call: OperationRequest) -> dict[str, Any]:
    """Mails, short messages and the like that were recorded instead of sent, newest first."""
    entries = service.topics.outbox(call.tenant, call.arguments["limit"])
    return {"entries": [outbox_object(each) for each in entries]}


@operation("signing-certificate", "GET /mns/signing-cert.pem", right=ANYONE)
async def signing_certificate(service: Messaging, call: OperationRequest) -> Response:
    """The certificate that pushes of topics are verified with; receivers have no key, so anyone may read it.

    Raises: SigningFailed.
    """
    del call
    return Response(200, await service.topics.certificate(), [("Content-Type", "application/x-pem-file")])
