"""Usage in the admin API: of everything, of an execution, of a deployment, since a checkpoint."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from emulator.gateway.errors import GatewayError
from emulator.kernel.identity import Tenant
from emulator.kernel.metering import Amount, added
from emulator.usage.meter import Meter
from emulator.usage.report import names_of, of_resources, shown
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.schema.kinds import FLAG, argument


class Executions(Protocol):
    """The port for the usage of single executions."""

    async def of_execution(self, tenant: Tenant, flow: str, execution: str) -> Iterable[Amount]:
        """Return the usage of an execution, with the calls, messages and executions it caused.

        Raises: ServiceError when there is no such execution.
        """
        ...


class Usage:
    """The usage counters, restricted to an execution or a deployment.

    *deployment* returns the record of a deployment by name, None when there is none.
    """

    def __init__(
        self, meter: Meter, executions: Executions, deployment: Callable[[str], Mapping[str, Any] | None]
    ) -> None:
        self.meter = meter
        self._executions = executions
        self._deployment = deployment

    async def of_execution(self, tenant: Tenant, name: str) -> dict[str, Any]:
        """Return the usage of ``FLOW/EXECUTION``. Raises: GatewayError (InvalidArgument), ServiceError."""
        flow, _, execution = name.partition("/")
        if not execution:
            raise GatewayError("InvalidArgument", "execution must be FLOW/EXECUTION")
        return await shown(added(await self._executions.of_execution(tenant, flow, execution)))

    async def of_deployment(self, name: str, totals: Mapping[tuple[str, str, str], float]) -> dict[str, Any]:
        """Return the usage of a deployment's resources. Raises: GatewayError (InvalidArgument)."""
        record = self._deployment(name)
        if record is None:
            raise GatewayError("InvalidArgument", f"there is no deployment {name!r}")
        names = names_of(record)
        return await shown(of_resources(totals, lambda service, resource: (service, resource) in names))


@operation(
    "usage",
    "GET /usage",
    argument("execution", about="Only this execution, ``FLOW/EXECUTION``, and its effects.", default=""),
    argument("deployment", about="Only the resources of this deployment.", default=""),
    argument("restored", FLAG, "Only what came since a checkpoint was restored last.", default=False),
)
async def get_usage(usage: Usage, call: OperationRequest) -> dict[str, Any]:
    """The usage that the cloud would bill: sums by item, and rows by item, resource and kind. Survives restarts.

    Raises: GatewayError for a deployment that does not exist; the service's error for an execution that does not.
    """
    arguments = call.arguments
    if arguments["execution"]:
        return await usage.of_execution(call.tenant, arguments["execution"])
    meter = usage.meter
    totals = meter.since_mark() if arguments["restored"] else meter.totals()
    if arguments["deployment"]:
        return await usage.of_deployment(arguments["deployment"], totals)
    return await shown(totals)


@operation("reset-usage", "POST /usage/reset")
def reset_usage(usage: Usage, call: OperationRequest) -> dict[str, Any]:
    """Set all usage counters to 0."""
    usage.meter.reset()
    return {"status": "reset"}
