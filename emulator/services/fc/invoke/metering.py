"""The billable amounts of functions: calls, and seconds of memory, vCPU, disk and GPU memory, active and idle."""

from collections.abc import Iterator, Mapping, Sequence

from emulator.kernel.metering import Amount
from emulator.services.fc.catalog.sizes import FREE_DISK_MB
from emulator.services.fc.runtime.model import Size

_MB_PER_GB = 1024


def amounts(
    spent: Mapping[tuple[str, Size | None], Sequence[int]], kept_ms: Mapping[tuple[str, Size], int]
) -> Iterator[Amount]:
    """Yield the amounts used, by function and type of instance.

    *spent* has the number of calls, their billed milliseconds, and those billed on instances that are kept ready;
    *kept_ms* is how long such instances existed. They were idle for the difference.

    Source: Function Compute, "Billing overview" and "Pay-as-you-go"; a started millisecond is billed, as the log of a
    call says. That calls which one instance serves at the same time are metered each by itself is assumed: the cloud
    counts the instance once.
    """
    for (label, size), (calls, billed_ms, _) in spent.items():
        yield Amount("fc.calls", label, size.type if size is not None else "mock", calls)
        if size is not None:
            yield from _seconds("active", label, size, billed_ms)
    for (label, size), span_ms in kept_ms.items():
        working_ms = spent.get((label, size), (0, 0, 0))[2]
        yield from _seconds("idle", label, size, max(0, span_ms - working_ms))


def of_call(label: str, size: Size, billed_ms: int) -> Iterator[Amount]:
    """Yield the amounts of one call."""
    return amounts({(label, size): (1, billed_ms, 0)}, {})


def _seconds(state: str, label: str, size: Size, span_ms: int) -> Iterator[Amount]:
    """Yield the amounts of memory, vCPU, disk and GPU memory over a span; the first 512 MB of disk are free."""
    span_s = span_ms / 1000
    yield Amount(f"fc.memory_gb_seconds.{state}", label, size.type, size.memory_mb / _MB_PER_GB * span_s)
    yield Amount(f"fc.vcpu_seconds.{state}", label, size.type, size.cpu * span_s)
    if size.disk_mb > FREE_DISK_MB:
        yield Amount("fc.disk_gb_seconds", label, size.type, (size.disk_mb - FREE_DISK_MB) / _MB_PER_GB * span_s)
    if size.gpu_mb:
        yield Amount(f"fc.gpu_gb_seconds.{state}", label, size.type, size.gpu_mb / _MB_PER_GB * span_s)
