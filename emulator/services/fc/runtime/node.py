"""Node.js instances: which ``node``, with what environment, and how its agent is reached.

The agent in ``bootstrap/node`` speaks the Python agent's frames. Forked, it inherits its channel and says hello on it,
because the server cannot see otherwise when ``node`` reads it; spawned, it connects back.

A Node.js process cannot fork, and its start takes most of a first call. So where instances have namespaces one is kept
started and waiting; what makes it an instance, folders and variables, it gets when a call needs it.
"""

import asyncio
import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emulator.kernel import system
from emulator.kernel.ids import Ids
from emulator.kernel.tasks import TaskGroup
from emulator.services.fc.runtime.agent import AgentProcess
from emulator.services.fc.runtime.bootstrap.python.frames import Header
from emulator.services.fc.runtime.forking import ZygoteLauncher
from emulator.services.fc.runtime.model import (
    Credentials,
    FunctionImage,
    InstanceStartFailed,
    RuntimeFailure,
    RuntimeUnavailable,
)
from emulator.services.fc.runtime.process import InstanceProcess, Launcher, Listener, Program
from emulator.services.fc.runtime.settings import (
    LOG_LEVEL,
    RuntimeSettings,
    instance_environment,
    waiting_environment,
)
from emulator.services.fc.runtime.spawn import SpawnLauncher

_log = logging.getLogger(__name__)

_MAIN = Path(__file__).parent / "bootstrap" / "node" / "main.js"
_SHOWN = 2000

_END_ON_ERRORS = frozenset({"nodejs4.4", "nodejs6"})
"""Runtimes in which an error that a handler throws ends the process. Source: fc-nodejs-sdk test/client.test.js for
``nodejs6``; the older one is assumed to do the same."""

_AHEAD_AFTER_S = 0.05
"""How long after a launch the next process is started: the call shall have the processor first."""

_READ_EARLY = ("NODE_", "UV_", "LD_", "OPENSSL_", "SSL_", "ICU_", "LANG", "LC_")

PLATFORM_MODULES = Path(".localyun", "nodejs", "node_modules")
"""Where the modules are, below the user's home, that the platform brings and users install once."""


class NodeLauncher(Launcher):
    """A `Launcher` for Node.js; without a *forker* it starts processes by exec.

    Nothing is prepared before the first launch, which has a process started for the second.
    """

    def __init__(self, settings: RuntimeSettings, ids: Ids, forker: ZygoteLauncher | None) -> None:
        self._settings = settings
        self._ids = ids
        self._forker = forker
        self._spawner = SpawnLauncher(settings, ids, self._connecting_program)
        self._waiting: dict[str, asyncio.Task[NodeProcess | None]] = {}
        self._tasks = TaskGroup("node")

    async def launch(self, listener: Listener, credentials: Credentials | None = None) -> InstanceProcess:
        """Start a process for *listener*; see `Launcher`."""
        if self._forker is None:
            return await self._spawner.launch(listener)
        isolated = await self._forker.isolated(listener.image.runtime)
        program = self._program(listener, isolated=isolated)
        more = _more(listener.image)
        process = await self._adopted(self._forker, program, listener) if isolated else None
        if process is not None:
            more["adopted"] = dict(program.environment)
        else:
            process = NodeProcess(listener, self._settings, self._ids)
            await self._forker.execute(program, process, keep_channel=True)
            await self._greeted(process)
        process.channel.send(process.boot_frame(isolated=isolated, mark=False, more=more))
        if isolated:
            self._keep_waiting(self._forker, program.command[0], listener.image)
        return process

    async def close(self) -> None:
        """End the waiting processes, and those that were started by exec; the zygote ends the others."""
        await self._tasks.close()
        for task in self._waiting.values():
            if not task.cancelled() and (process := task.result()) is not None:
                process.abandon()
        await self._spawner.close()

    async def _adopted(self, forker: ZygoteLauncher, program: Program, listener: Listener) -> "NodeProcess | None":
        """Make the waiting process an instance, and return it; None when there is none for such a function."""
        executable = program.command[0]
        task = self._waiting.get(executable) if _may_wait(listener.image) else None
        if task is None:
            return None
        process = await asyncio.shield(task)
        if self._waiting.get(executable) is not task:
            return None  # another call has it
        del self._waiting[executable]
        if process is None or process.gone.done():
            return None
        process.listener = listener
        try:
            await forker.adopt(process, program)
        except BaseException as error:
            process.abandon()
            if not isinstance(error, InstanceStartFailed | OSError):
                raise
            _log.warning("a Node.js process that was started ahead cannot be used: %s", error)
            return None
        return process

    def _keep_waiting(self, forker: ZygoteLauncher, executable: str, image: FunctionImage) -> None:
        """Start a process for the next first call, unless one waits."""
        if executable not in self._waiting:
            self._waiting[executable] = self._tasks.spawn(self._start_ahead(forker, executable, image), "start ahead")

    async def _start_ahead(self, forker: ZygoteLauncher, executable: str, image: FunctionImage) -> "NodeProcess | None":
        await asyncio.sleep(_AHEAD_AFTER_S)
        environment = _with_modules(waiting_environment(self._settings), [], self._settings)
        program = Program(command=(executable, str(_MAIN)), folder=Path(), environment=environment)
        process = NodeProcess(_Nobody(image), self._settings, self._ids)
        try:
            await forker.execute(program, process, keep_channel=True)
            await self._greeted(process)
        except (RuntimeFailure, OSError) as error:
            _log.warning("no Node.js process is started ahead: %s", error)
            return None
        return process

    async def _greeted(self, process: "NodeProcess") -> None:
        """Wait until the agent reads its channel; a process that does not come that far is ended.

        Raises: InstanceStartFailed.
        """
        try:
            async with asyncio.timeout(self._settings.start_timeout_s):
                await process.greeted
        except BaseException as error:
            process.abandon()
            if isinstance(error, TimeoutError):
                raise InstanceStartFailed("node did not begin in time") from error
            raise

    def _connecting_program(self, listener: Listener) -> tuple[Program, Mapping[str, Any]]:
        return self._program(listener, "connect", isolated=False), _more(listener.image)

    def _program(self, listener: Listener, *arguments: str, isolated: bool) -> Program:
        image = listener.image
        command = (_executable(image.runtime, self._settings.interpreters), str(_MAIN), *arguments)
        environment = node_environment(image, listener.instance_id, self._settings, isolated=isolated)
        return Program(command=command, folder=Path(), environment=environment)


class _Nobody:
    """The listener of a process that is no instance yet; *image* is of its runtime."""

    def __init__(self, image: FunctionImage) -> None:
        self.image = image
        self.instance_id = ""

    def output(self, data: bytes, request_id: str | None) -> None:
        """Drop it: no function has run."""

    def listening(self, port: int) -> None:
        """No debugger is asked for."""

    def ended(self, memory_kb: int) -> None:
        """The next launch finds out."""


class NodeProcess(AgentProcess):
    """An `InstanceProcess` with a Node.js agent in it. ``greeted`` is resolved when the agent reads its channel."""

    def __init__(self, listener: Listener, settings: RuntimeSettings, ids: Ids) -> None:
        super().__init__(listener, settings, ids)
        self.greeted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._said = b""
        self._answered = False

    def output(self, data: bytes) -> None:
        """Receive output; the part before the first answer is kept as the reason of a failed start."""
        if not self._answered:
            self._said = (self._said + data)[-_SHOWN:]
        super().output(data)

    def _last_words(self) -> str:
        return self._said.decode("utf-8", "replace").strip()

    def _finish(self) -> None:
        if not self.greeted.done():
            reason = self._fatal or self._last_words()
            self.greeted.set_exception(InstanceStartFailed(f"node ended before it was ready: {reason}".rstrip(": ")))
        super()._finish()

    def _on_frame(self, header: Header, payload: bytes) -> None:
        self._answered = self._answered or "done" in header or "part" in header
        if "hello" in header and not self.greeted.done():
            self.greeted.set_result(None)
        else:
            super()._on_frame(header, payload)


def _may_wait(image: FunctionImage) -> bool:
    """Whether the function can run in a process that was started without its variables and layers.

    Some variables are read by the interpreter and its libraries at their start and never again.
    """
    early = any(name.startswith(_READ_EARLY) for name in image.environment)
    return not image.layers and not image.debug and not early


def node_environment(
    image: FunctionImage, instance_id: str, settings: RuntimeSettings, *, isolated: bool
) -> dict[str, str]:
    """Return the variables of a Node.js instance, with the modules of layers and the platform, and the redirect hook.

    Source: Function Compute, layers for the folder of their modules.
    """
    environment = instance_environment(image, instance_id, settings, isolated=isolated)
    return _with_modules(environment, [f"{layer}/nodejs/node_modules" for layer in image.layers], settings)


def _with_modules(environment: dict[str, str], modules: list[str], settings: RuntimeSettings) -> dict[str, str]:
    if "NODE_PATH" in environment:
        modules.append(environment["NODE_PATH"])
    home = system.home()
    if home is not None and (platform := home / PLATFORM_MODULES).is_dir():
        modules.append(str(platform))
    if modules:
        environment["NODE_PATH"] = os.pathsep.join(modules)
    return settings.add_hooks(environment)


def _executable(runtime: str, interpreters: Mapping[str, str]) -> str:
    """Return the mapped interpreter, else the ``node`` of the search path.

    Raises: RuntimeUnavailable.
    """
    executable = interpreters.get(runtime) or shutil.which("node")
    if executable is None:
        reason = "there is no node on the PATH; install Node.js, or name an executable under runtimes: in localyun.yaml"
        raise RuntimeUnavailable(runtime, reason)
    return executable


def _more(image: FunctionImage) -> Header:
    """Return the fields of the boot frame for Node.js only; without a level of the function's own all is logged."""
    return {
        "generation": image.generation,
        "ends_on_errors": image.runtime in _END_ON_ERRORS,
        "initializer_timeout": image.initializer_timeout_s,
        "log_level": image.environment.get(LOG_LEVEL, ""),
    }
