"""When a program that was started can be called: it listens and, where there is a health check, is well.

Source: Function Compute, custom runtimes: start-up and its failures.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection

from emulator.services.fc.runtime.model import HealthCheck

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


_FIRST_LOOK_S = 0.005
_SLOWEST_LOOK_S = 0.05
_CONNECT_S = 1.0
_KEPT_S = 0.2


def free_port(avoid: Collection[int]) -> int:
    """Return a loopback port that nobody listens on just now, and that is not in *avoid*."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port not in avoid:
            return port


async def is_open(port: int) -> bool:
    """Tell whether somebody on this machine accepts connections on *port*."""
    try:
        async with asyncio.timeout(_CONNECT_S):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:  # a time-out is one as well
        return False
    writer.close()
    return True


async def is_served(port: int) -> bool:
    """Tell whether somebody keeps connections to *port*.

    The proxy of a container accepts them from the beginning, and closes them while nobody listens behind it.
    """
    try:
        async with asyncio.timeout(_CONNECT_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    try:
        async with asyncio.timeout(_KEPT_S):
            await reader.read(1)
    except TimeoutError:
        return True
    except OSError:
        return False
    finally:
        writer.close()
    return False


async def wait_until(ports: Collection[int], serves: Callable[[int], Awaitable[bool]]) -> int:
    """Return the first of *ports* for which *serves* holds; waits for ever."""
    pause_s = _FIRST_LOOK_S
    while True:
        for port in ports:
            if await serves(port):
                return port
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _SLOWEST_LOOK_S)
