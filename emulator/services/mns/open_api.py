"""The management API of the message service, version 2022-01-19, spoken RPC.

It works on the queues, topics and subscriptions of the XML API and adds what that has no elements for. Failures are
answered with the XML API's codes and statuses; the API's own description names none (assumed).
"""

from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import Demand
from emulator.kernel.ids import Ids
from emulator.services.mns.errors import AccessDenied
from emulator.services.mns.open_account import OpenAccount
from emulator.services.mns.open_queues import OpenQueues
from emulator.services.mns.open_rules import OpenRules
from emulator.services.mns.open_topics import OpenTopics
from emulator.services.mns.rights import demand
from emulator.services.mns.routing import Route
from emulator.services.mns.service import MessageService
from emulator.services.mns.topic_service import TopicService
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Parameters, UndeclaredRpcFront

VERSION = "2022-01-19"


class MnsOpenFront(UndeclaredRpcFront):
    """All of its operations."""

    def __init__(self, service: MessageService, topics: TopicService, ids: Ids) -> None:
        operations = {
            **OpenQueues(service).operations,
            **OpenTopics(topics).operations,
            **OpenAccount(service, topics.store).operations,
            **OpenRules(topics).operations,
        }
        super().__init__("mns-open", VERSION, operations, ids, upper_case_ids=True)

    def rights(  # type: ignore[override]  # until its operations are declared
        self, operation: str, parameters: Parameters, context: OperationRequest
    ) -> list[Demand]:
        """Return the right that the XML API asks for the same operation."""
        name = parameters.get("QueueName" if "Queue" in operation else "TopicName", "")
        return [demand(context.tenant, Route(operation, name, parameters.get("SubscriptionName", "")))]

    def denied(self, demand: Demand, context: OperationRequest) -> ServiceError:
        """Return the XML API's error for a caller without the right."""
        del context
        return AccessDenied.to(demand)
