"""Metrics of the service."""

from collections.abc import Iterator

from emulator.kernel.metrics import Family, counter, gauge, labelled
from emulator.services.workflow.service import Workflow


def metrics(workflow: Workflow) -> Iterator[Family]:
    """Yield how many executions are open, and how many have started and ended since the emulator did."""
    yield gauge("localyun_executions_open", "Executions that have not ended.", workflow.open_executions)
    yield counter("localyun_executions_started_total", "Executions started.", workflow.executions.started)
    text = "Executions that have ended, by status."
    yield labelled("localyun_executions_ended_total", "counter", text, "status", workflow.ended)
    yield gauge("localyun_flow_calls_in_flight", "Calls of tasks being made.", workflow.calls_under_way)
