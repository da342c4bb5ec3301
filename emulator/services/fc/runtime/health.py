"""Looking whether a program that listens is well, as its function's health check says.

Source: Function Compute, health checks of custom runtimes and containers.
"""

import asyncio
from collections.abc import Awaitable, Callable

from emulator.services.fc.runtime.instance import HealthCheck

Probe = Callable[[], Awaitable[bool]]


async def wait_until_well(check: HealthCheck, probe: Probe) -> None:
    """Return when *probe* has succeeded as often in a row as *check* wants; waits for ever."""
    await asyncio.sleep(check.initial_delay_s)
    successes = 0
    while True:
        successes = successes + 1 if await probe() else 0
        if successes >= check.success_threshold:
            return
        await asyncio.sleep(check.period_s)


async def wait_until_ill(check: HealthCheck, probe: Probe) -> None:
    """Return when *probe* has failed as often in a row as *check* allows; waits for ever."""
    failures = 0
    while failures < check.failure_threshold:
        await asyncio.sleep(check.period_s)
        failures = 0 if await probe() else failures + 1
