"""The front of Serverless Workflow: API version 2019-03-15, spoken RPC."""

from collections.abc import Iterable

from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import Demand
from emulator.kernel.ids import Ids
from emulator.kernel.instrumentation import Subject
from emulator.services.workflow import limits
from emulator.services.workflow.errors import WorkflowError, invalid
from emulator.services.workflow.operations import executions, flows, schedules
from emulator.services.workflow.ports import DIALECT, demands, subject
from emulator.services.workflow.service import Workflow
from emulator.wire.operation import Actions, operations_of
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import RpcFront

VERSION = "2019-03-15"
_LONGEST_REQUEST_ID = 128
OPERATIONS = Actions(operations_of(flows, executions, schedules))


class WorkflowFront(RpcFront):
    """Serverless Workflow on the wire."""

    max_body = limits.REQUEST_BYTES
    dialect = DIALECT

    def __init__(self, service: Workflow, ids: Ids) -> None:
        super().__init__("fnf", VERSION, OPERATIONS, service, ids)

    def unknown_action(self, action: str) -> ServiceError:
        """Return this service's error for an operation it does not have."""
        return WorkflowError("ActionNotSupported", action=action)

    def too_large(self, limit: int) -> ServiceError:
        """Return this service's error for a request over the limit."""
        return WorkflowError("EntityTooLarge", limit=limit)

    def not_text(self, name: str) -> ServiceError:
        """Return this service's error for a parameter that is not UTF-8."""
        return invalid(f"{name} is not valid UTF-8.")

    def rights(self, operation: str, call: OperationRequest) -> Iterable[Demand]:
        """Return the rights that a call of *operation* needs."""
        return demands(call.tenant, operation, call.parameters)

    def denied(self, demand: Demand, call: OperationRequest) -> ServiceError:
        """Return the error for a caller without the right."""
        return WorkflowError("AccessDenied", action=demand.action, resource=demand.resource)

    def new_request_id(self, call: OperationRequest) -> str:
        """Return the parameter ``RequestId``, else a UUID.

        Source: API reference of Serverless Workflow, pages of 2021 to 2023.
        """
        chosen = call.parameters.get("RequestId", "")
        return chosen if 0 < len(chosen) <= _LONGEST_REQUEST_ID and chosen.isprintable() else self._ids.uuid()

    def check_version(self, version: str) -> None:
        """Check the API version of a call; called once the call is known to name an operation.

        Raises: WorkflowError.
        """
        if version and version != VERSION:
            raise WorkflowError("APIVersionNotSupported", version=version)

    def named(self, operation: str, call: OperationRequest) -> Subject:
        """Return *operation* with the flow, execution or schedule that the parameters name."""
        return subject(operation, call.parameters)
