"""The size of a function's instances, by which their time is billed."""

from typing import Final

from emulator.services.fc.model import FunctionConfig
from emulator.services.fc.runtime.model import Size

FREE_DISK_MB: Final = 512
"""The disk that every instance has. Source: Function Compute, "Instance types and specifications"."""

MB_PER_CPU: Final = 2048
LEAST_CPU: Final = 0.05


def size_of(config: FunctionConfig) -> Size:
    """Return the size of a function's instances: memory, vCPUs, disk and GPU memory.

    Source: Function Compute, "Billing overview": memory, vCPUs, disk and GPU memory as configured. That an instance
    without a configured number of vCPUs has one for each 2 GB of memory, at least 0.05, is assumed.
    """
    gpu = config.gpu_config or {}
    gpu_mb = int(config.gpu_memory_mb or gpu.get("gpuMemorySize") or 0)
    cpu = config.cpu if config.cpu is not None else max(LEAST_CPU, round(config.memory_mb / MB_PER_CPU, 2))
    kind = str(gpu.get("gpuType") or config.instance_type or "cpu")
    return Size(config.memory_mb, cpu, config.disk_mb or FREE_DISK_MB, gpu_mb, kind)
