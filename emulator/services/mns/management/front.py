"""The management API as the gateway sees it: its operations, and the rights they need."""

from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import Demand
from emulator.kernel.ids import Ids
from emulator.services.mns.errors import access_denied
from emulator.services.mns.front import demand
from emulator.services.mns.management import account, event_rules, operations
from emulator.services.mns.service import MessageService
from emulator.wire.operation import Actions, operations_of
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import RpcFront

VERSION = "2022-01-19"

ACTIONS = Actions(operations_of(operations, account, event_rules))


class ManagementFront(RpcFront):
    """The management API, version 2022-01-19, spoken RPC."""

    def __init__(self, service: MessageService, ids: Ids) -> None:
        super().__init__("mns-open", VERSION, ACTIONS, service, ids, upper_case_ids=True)

    def rights(self, operation: str, call: OperationRequest) -> list[Demand]:
        """Return the right that the XML API needs for the same operation."""
        parameters = call.parameters
        name = parameters.get("QueueName" if "Queue" in operation else "TopicName", "")
        return [demand(call.tenant, operation, name, parameters.get("SubscriptionName", ""))]

    def denied(self, demand: Demand, call: OperationRequest) -> ServiceError:
        """Return the XML API's error for a caller without the right."""
        del call
        return access_denied(demand)
