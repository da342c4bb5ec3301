"""How faults know calls of this service: operation, names of the flow, who makes them."""

from collections.abc import Mapping

from emulator.kernel.interfering import Dialect, Origin, Subject
from emulator.services.workflow.errors import WorkflowError

DIALECT = Dialect(WorkflowError, "ResourceThrottled")


def subject(operation: str, parameters: Mapping[str, str], origin: Origin = "client") -> Subject:
    """Return an operation on a flow, or on what belongs to it, as faults know it."""
    flow = parameters.get("FlowName") or parameters.get("Name") or ""
    part = parameters.get("ExecutionName") or parameters.get("ScheduleName") or ""
    names = (f"{flow}/{part}", flow, part) if part else (flow,)
    return Subject("fnf", operation, names if flow or part else (), (origin,))
