"""When a program that was started can be called: it listens and, where there is a health check, is well.

Source: Function Compute, custom runtimes: start-up and its failures.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from emulator.services.fc.runtime.custom_process import CustomProcess
from emulator.services.fc.runtime.health import wait_until_well
from emulator.services.fc.runtime.instance import FunctionImage, InstanceStartFailed
from emulator.services.fc.runtime.listening import is_open, wait_until


async def until_ready(
    image: FunctionImage,
    process: CustomProcess,
    ports: Sequence[int],
    limit_s: float,
    serves: Callable[[int], Awaitable[bool]] = is_open,
) -> None:
    """Wait until the program of *process* listens on one of *ports*, the first of which it was told, and is well.

    Raises: InstanceStartFailed when it ends, or is not ready after *limit_s*.
    """

    async def ready() -> None:
        process.port = await wait_until(ports, serves)
        if image.health_check is not None:
            await wait_until_well(image.health_check, process.probe)

    waiting = asyncio.create_task(ready())
    try:
        await asyncio.wait({waiting, process.gone}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
    if process.gone.done():
        raise InstanceStartFailed(process.failure(" ".join(image.command) or "/code/bootstrap"))
    if not waiting.done() or waiting.cancelled():
        raise InstanceStartFailed(_never_ready(image, process, ports[0], limit_s))
    waiting.result()
    process.look_after()


def _never_ready(image: FunctionImage, process: CustomProcess, told: int, limit_s: float) -> str:
    message = f"Function instance health check failed on port {image.port} in {limit_s:g} seconds."
    if image.container is None:
        message += f" It did not listen on {told}, the value of FC_SERVER_PORT, either."
    return f"{message}\nLogs:\n{process.said()}"
