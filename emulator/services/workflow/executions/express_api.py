"""StartSyncExecution: parse, start, render at the end."""

from collections.abc import Awaitable

from emulator.services.workflow import limits, wire
from emulator.services.workflow.executions.waiters import reply_at_end
from emulator.services.workflow.model import ExecutionRecord
from emulator.services.workflow.service import Workflow
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Operation, Parameters, Reply

_SPARE_S = 30
"""The engine ends an execution at its time; this is for one that it could not end."""


class ExpressOperations:
    """One function per operation."""

    def __init__(self, service: Workflow) -> None:
        self._service = service

    def table(self) -> dict[str, Operation]:
        """Return the operations by name."""
        return {"StartSyncExecution": self.start_sync_execution}

    def start_sync_execution(self, context: OperationRequest, parameters: Parameters) -> Awaitable[Reply]:
        """StartSyncExecution: the reply comes with the end, and a failed execution is a reply like any other."""
        record = self._service.express.start(
            context.tenant,
            wire.required(parameters, "FlowName"),
            wire.optional(parameters, "ExecutionName") or None,
            wire.optional(parameters, "Input"),
            wire.optional(parameters, "Qualifier"),
        )
        return reply_at_end(self._service.executions, context.tenant, record, limits.EXPRESS_S + _SPARE_S, _render)


def _render(execution: ExecutionRecord) -> Reply:
    members = wire.render_described_execution(execution)
    for name in ("FlowDefinition", "Input"):
        del members[name]
    return {**members, "ErrorCode": execution.error, "ErrorMessage": execution.cause}
