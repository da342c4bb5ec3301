"""The operations on map runs. The language v1 has no distributed maps, so no execution has one.

Source: alibabacloud_fnf20190315; the error is assumed.
"""

from typing import NoReturn

from emulator.services.workflow import limits, wire
from emulator.services.workflow.errors import InvalidArgument, MapRunNotExists
from emulator.services.workflow.service import Workflow
from emulator.wire.request import OperationRequest
from emulator.wire.rpc import Operation, Parameters


class MapRunOperations:
    """One function per operation."""

    def __init__(self, service: Workflow) -> None:
        self._service = service

    def table(self) -> dict[str, Operation]:
        """Return the operations by name."""
        return {"DescribeMapRun": self.describe_map_run, "UpdateMapRun": self.update_map_run}

    def describe_map_run(self, context: OperationRequest, parameters: Parameters) -> NoReturn:
        """DescribeMapRun."""
        self._find(context, parameters)

    def update_map_run(self, context: OperationRequest, parameters: Parameters) -> NoReturn:
        """UpdateMapRun."""
        wire.whole(parameters, "Concurrency", limits.MAP_CONCURRENCY)
        wire.whole(parameters, "ToleratedFailedCount", limits.MAP_TOLERATED)
        _check_percentage(parameters)
        self._find(context, parameters)

    def _find(self, context: OperationRequest, parameters: Parameters) -> NoReturn:
        flow, execution, name = (
            wire.required(parameters, each) for each in ("FlowName", "ExecutionName", "MapRunName")
        )
        self._service.executions.get(context.tenant, flow, execution)
        raise MapRunNotExists(map_run=name, execution=execution, flow=flow)


def _check_percentage(parameters: Parameters) -> None:
    text = parameters.get("ToleratedFailedPercentage", "")
    try:
        fine = not text or 0 <= float(text) <= 100
    except ValueError:
        fine = False
    if not fine:
        raise InvalidArgument(reason="ToleratedFailedPercentage must be a number from 0 to 100.")
