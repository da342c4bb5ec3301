"""How policies and faults name what a call is about: an operation, and the flow with what belongs to it.

The vendor's pages write a flow's name in two ways (``flow/F`` and ``flows/F``) and give what belongs to it a longer
one; a policy may use any of them. Source: "Authorization rules" and "Create execution roles"; that the name of the flow
covers its executions, schedules, versions and aliases is assumed.
"""

from collections.abc import Iterator, Mapping

from emulator.kernel.identity import Demand, Tenant, pass_role
from emulator.kernel.interfering import Dialect, Origin, Subject
from emulator.services.workflow.errors import WorkflowError

DIALECT = Dialect(WorkflowError, "ResourceThrottled")


def subject(operation: str, parameters: Mapping[str, str], origin: Origin = "client") -> Subject:
    """Return an operation on a flow, or on what belongs to it, as faults know it."""
    flow = parameters.get("FlowName") or parameters.get("Name") or ""
    part = parameters.get("ExecutionName") or parameters.get("ScheduleName") or ""
    names = (f"{flow}/{part}", flow, part) if part else (flow,)
    return Subject("fnf", operation, names if flow or part else (), (origin,))


SERVICE = "fnf.aliyuncs.com"
"""How trust policies and ``acs:Service`` name Serverless Workflow."""

_BY_NAME = frozenset({"CreateFlow", "DescribeFlow", "UpdateFlow", "DeleteFlow"})
_FREE = frozenset({"DescribeRegions"})
_PARTS = (("execution", "ExecutionName"), ("schedule", "ScheduleName"))


def demands(tenant: Tenant, operation: str, parameters: Mapping[str, str]) -> Iterator[Demand]:
    """Yield what a call of *operation* needs."""
    if operation in _FREE:
        return
    flow = parameters.get("Name" if operation in _BY_NAME else "FlowName", "") or "*"
    if operation.startswith(("ReportTask", "DescribeMapRun", "UpdateMapRun")):
        yield Demand(f"fnf:{operation}", _arn(tenant, "*"))
    else:
        yield about_flow(tenant, operation, flow, parameters)
    role = parameters.get("RoleArn", "")
    if role and operation in {"CreateFlow", "UpdateFlow"}:
        yield pass_role(tenant.account, role, SERVICE)


def about_flow(tenant: Tenant, operation: str, flow: str, parameters: Mapping[str, str] | None = None) -> Demand:
    """Return the right to do *operation* on a flow, or on what *parameters* name of it."""
    names = [f"flows/{flow}"]
    for part, parameter in _PARTS:
        if part in operation.lower():
            name = (parameters or {}).get(parameter, "") or "*"
            names += [f"flow/{flow}/{part}/{name}", f"flows/{flow}/{part}s/{name}"]
    return Demand(f"fnf:{operation}", _arn(tenant, f"flow/{flow}"), tuple(_arn(tenant, name) for name in names))


def _arn(tenant: Tenant, name: str) -> str:
    return f"acs:fnf:{tenant.region}:{tenant.account}:{name}"
