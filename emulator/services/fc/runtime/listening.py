"""The ports that programs listen on, and their health.

Source: Function Compute, health checks of custom runtimes and containers.
"""

import asyncio
import errno
import os
import socket
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from itertools import chain
from pathlib import Path

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
_PORTS = range(20_000, 30_000)
_LISTENS = "0A"
"""The state in ``/proc/net/tcp``. Source: Linux, net/tcp_states.h."""


def free_port(avoid: Collection[int]) -> int:
    """Return a loopback port that is free just now, and that is not in *avoid*.

    It is none that systems give to connections and to servers that ask for any: one of those could have it before the
    program listens. Source: IANA's dynamic ports, from 49152; Linux, ``ip_local_port_range``, from 32768.
    """
    # Not drawn from a seed: emulators with one seed would look for the same ports.
    first = int.from_bytes(os.urandom(4)) % len(_PORTS)
    for port in chain(_PORTS[first:], _PORTS[:first]):
        if port not in avoid and _can_be_had(port):
            return port
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


def _can_be_had(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


async def is_open(port: int) -> bool:
    """Whether a program on this machine accepts connections on *port*."""
    try:
        async with asyncio.timeout(_CONNECT_S):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:  # a time-out is one as well
        return False
    writer.close()
    return True


async def is_served(port: int) -> bool:
    """Whether a server keeps connections to *port*.

    The proxy of a container accepts them from the beginning, and closes them while no server listens behind it.
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


def is_of_another(port: int, pid: int, instance_id: str) -> bool:
    """Whether an instance other than *instance_id*, whose program is *pid*, listens on *port*.

    Both may be told to take the same one, those of other emulators on this machine too. Instances are known by the id
    in the environment of their processes, where there is /proc; elsewhere the answer is False.
    """
    from emulator.services.fc.runtime.bootstrap.python import children  # does not load on every system

    links = {f"socket:[{inode}]" for inode in _listeners(port)}
    if not links or any(_holds(each, links) for each in children.tree([pid])):
        return False
    return any(_holds(each, links) for each in children.others(instance_id))


def _listeners(port: int) -> set[str]:
    """Return the inodes of the sockets that listen on *port*."""
    found = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        with suppress(OSError):
            for line in table.read_text(encoding="ascii").splitlines():
                _, local, _, state, *_, inode = line.split()[:10]
                if state == _LISTENS and local.endswith(f":{port:04X}"):
                    found.add(inode)
    return found


def _holds(pid: int, links: set[str]) -> bool:
    try:
        return any(str(each.readlink()) in links for each in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False
