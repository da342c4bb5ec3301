"""Figures of functions for those who watch."""

from collections.abc import Iterator

from emulator.kernel.metrics import Family, Sample, gauge, labelled
from emulator.services.fc.runtime.pool import InstancePool
from emulator.services.fc.service import FunctionCompute


def fc_figures(functions: FunctionCompute, pool: InstancePool) -> Iterator[Family]:
    """Yield calls being made and made, instances, and asynchronous calls that have not ended."""
    numbers = pool.numbers()
    yield gauge("localyun_fc_invocations_in_flight", "Calls being made.", numbers.calls)
    text = "Instances: busy with a call, idle and warm."
    yield labelled(
        "localyun_fc_instances", "gauge", text, "state", {"busy": numbers.busy, "idle": numbers.all - numbers.busy}
    )
    yield gauge("localyun_fc_provisioned_instances", "Instances kept ready, busy or not.", numbers.provisioned)
    ended = [
        Sample({"result": result, "start": start}, number)
        for (result, start), number in functions.invoker.ended.items()
    ]
    text = "Calls that have ended; refused ones did not reach the function."
    yield Family("localyun_fc_invocations_total", "counter", text, ended)
    text = "Asynchronous calls that have not ended, by status."
    yield labelled("localyun_fc_async_calls", "gauge", text, "status", functions.async_queue.open_numbers())
