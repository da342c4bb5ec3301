"""Node.js instances: which ``node``, with what environment, and how its agent is reached.

The agent in ``bootstrap/node`` speaks the Python agent's frames. Forked, it inherits its channel and says hello on it,
because the server cannot see otherwise when ``node`` reads it; spawned, it connects back.
"""

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emulator.kernel.ids import Ids
from emulator.services.fc.runtime.agent import AgentProcess
from emulator.services.fc.runtime.bootstrap.python.frames import Header
from emulator.services.fc.runtime.launcher import Forker, Program
from emulator.services.fc.runtime.model import Credentials, FunctionImage, InstanceStartFailed, RuntimeUnavailable
from emulator.services.fc.runtime.process import InstanceProcess, Listener
from emulator.services.fc.runtime.settings import LOG_LEVEL, RuntimeSettings, instance_environment
from emulator.services.fc.runtime.spawn import SpawnLauncher

_MAIN = Path(__file__).parent / "bootstrap" / "node" / "main.js"
_SHOWN = 2000

_END_ON_ERRORS = frozenset({"nodejs4.4", "nodejs6"})
"""Runtimes in which an error that a handler throws ends the process. Source: fc-nodejs-sdk test/client.test.js for
``nodejs6``; the older one is assumed to do the same."""

PLATFORM_MODULES = Path(".localyun", "nodejs", "node_modules")
"""Where the modules are, below the user's home, that the platform brings and users install once."""


class NodeLauncher:
    """A `Launcher` for Node.js; without a *forker* it starts processes by exec."""

    def __init__(self, settings: RuntimeSettings, ids: Ids, forker: Forker | None) -> None:
        self._settings = settings
        self._ids = ids
        self._forker = forker
        self._spawner = SpawnLauncher(settings, ids, self._connecting_program)

    def warm_up(self) -> None:
        """Do nothing: most installations run no Node.js."""

    async def launch(
        self, image: FunctionImage, instance_id: str, listener: Listener, credentials: Credentials | None = None
    ) -> InstanceProcess:
        """Start a process for *image*; see `Launcher`."""
        if self._forker is None:
            return await self._spawner.launch(image, instance_id, listener)
        isolated = await self._forker.isolated(image.runtime)
        program = self._program(image, instance_id, isolated=isolated)
        process = NodeProcess(listener, self._settings, self._ids)
        control, source = await self._forker.execute(program, image, instance_id, process, keep_channel=True)
        try:
            async with asyncio.timeout(self._settings.start_timeout_s):
                await process.greeted
        except BaseException as error:
            control.kill()
            process.abandon()
            source.close()
            if isinstance(error, TimeoutError):
                raise InstanceStartFailed(f"{program.command[0]} did not begin in time") from error
            raise
        process.attach(control, source)
        process.channel.send(process.boot_frame(image, instance_id, isolated=isolated, mark=False, more=_more(image)))
        return process

    async def close(self) -> None:
        """End the processes that were started by exec; the zygote ends the others."""
        await self._spawner.close()

    def _connecting_program(self, image: FunctionImage, instance_id: str) -> tuple[Program, Mapping[str, Any]]:
        return self._program(image, instance_id, "connect", isolated=False), _more(image)

    def _program(self, image: FunctionImage, instance_id: str, *arguments: str, isolated: bool) -> Program:
        command = (_executable(image.runtime, self._settings.interpreters), str(_MAIN), *arguments)
        environment = node_environment(image, instance_id, self._settings, isolated=isolated)
        return Program(command=command, folder=Path(), environment=environment)


class NodeProcess(AgentProcess):
    """An `InstanceProcess` with a Node.js agent in it. ``greeted`` is resolved when the agent reads its channel."""

    def __init__(self, listener: Listener, settings: RuntimeSettings, ids: Ids) -> None:
        super().__init__(listener, settings, ids)
        self.greeted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._said = b""

    def output(self, data: bytes) -> None:
        """Take in output; what comes before the hello may say why there is none."""
        if not self.greeted.done():
            self._said = (self._said + data)[-_SHOWN:]
        super().output(data)

    def _finish(self) -> None:
        if not self.greeted.done():
            reason = self._fatal or self._said.decode("utf-8", "replace").strip()
            self.greeted.set_exception(InstanceStartFailed(f"node ended before it was ready: {reason}".rstrip(": ")))
        super()._finish()

    def _on_frame(self, header: Header, payload: bytes) -> None:
        if "hello" in header and not self.greeted.done():
            self.greeted.set_result(None)
        else:
            super()._on_frame(header, payload)


def node_environment(
    image: FunctionImage, instance_id: str, settings: RuntimeSettings, *, isolated: bool
) -> dict[str, str]:
    """Return the variables of a Node.js instance, with the modules of layers and the platform, and the redirect hook.

    Source: Function Compute, layers for the folder of their modules.
    """
    environment = instance_environment(image, instance_id, settings, isolated=isolated)
    modules = [f"{layer}/nodejs/node_modules" for layer in image.layers]
    if "NODE_PATH" in environment:
        modules.append(environment["NODE_PATH"])
    platform = Path.home() / PLATFORM_MODULES
    if platform.is_dir():
        modules.append(str(platform))
    if modules:
        environment["NODE_PATH"] = os.pathsep.join(modules)
    return settings.add_hooks(environment)


def _executable(runtime: str, interpreters: Mapping[str, str]) -> str:
    """Return the mapped interpreter, else the ``node`` of the search path.

    Raises: RuntimeUnavailable.
    """
    found = interpreters.get(runtime) or shutil.which("node")
    if found is None:
        reason = "there is no node on the PATH; install Node.js, or name an executable under runtimes: in localyun.yaml"
        raise RuntimeUnavailable(runtime, reason)
    return found


def _more(image: FunctionImage) -> Header:
    """Return the fields of the boot frame for Node.js only; without a level of the function's own all is logged."""
    return {
        "generation": image.generation,
        "ends_on_errors": image.runtime in _END_ON_ERRORS,
        "initializer_timeout": image.initializer_timeout_s,
        "log_level": image.environment.get(LOG_LEVEL, ""),
    }
