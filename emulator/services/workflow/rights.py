"""Which right each request for Serverless Workflow needs: an action and the flow it is about.

The vendor's pages write a flow's name in two ways (``flow/F`` and ``flows/F``) and give what belongs to it a longer
one; a policy may use any of them. Source: "Authorization rules" and "Create execution roles"; that the name of the flow
covers its executions, schedules, versions and aliases is assumed.
"""

from collections.abc import Iterator, Mapping

from emulator.kernel.identity import Demand, Tenant, pass_role

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
