"""Which launcher starts the processes of a runtime, and the folders that instances write to.

There is one folder per instance, gone when it is gone. All instances of an emulator have theirs below one folder of its
own, which only its user can look into. Where the kernel gives instances namespaces an instance sees its folder as
``/tmp`` (``bootstrap/python/sandbox.py``); elsewhere ``TMPDIR`` and ``HOME`` name it. What a killed emulator has left
is removed by the next one that starts.
"""

import asyncio
import errno
import logging
import os
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from emulator.kernel import system
from emulator.kernel.frozen import replace
from emulator.kernel.ids import Ids
from emulator.kernel.owned_folders import OwnedFolder, remove, sweep
from emulator.services.fc.runtime.forking import ZygoteLauncher
from emulator.services.fc.runtime.instance import Instance
from emulator.services.fc.runtime.model import Credentials, InstanceStartFailed, RuntimeUnavailable
from emulator.services.fc.runtime.process import Forker, Launcher
from emulator.services.fc.runtime.settings import RuntimeSettings

if TYPE_CHECKING:
    from emulator.services.fc.runtime.spawn import ProgramSpawner

_log = logging.getLogger(__name__)

_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)

_PYTHON_BANNER = b"FunctionCompute python3 runtime inited.\n"
_PYTHON_2_NOTICE = b"WARNING: python2.7 runs on Python 3 here; map it to another interpreter under runtimes:\n"


class Launchers:
    """The launchers of all families of runtimes, and the instances' folders; made on the loop."""

    def __init__(self, settings: RuntimeSettings, ids: Ids) -> None:
        self._scratch = Scratch()
        self._scratch.sweep()
        self._ids = ids
        self.settings = settings = replace(settings, scratch=self._scratch.folder)
        """The settings with the folder that holds those of the instances."""
        self._families: dict[str, Launcher] = {}
        self._forker: ZygoteLauncher | None = None
        self._spawner: ProgramSpawner | None = None
        if settings.start_method == "fork" or (settings.start_method == "auto" and system.FORK):
            self._families["python"] = self._forker = ZygoteLauncher(settings, ids)
        elif settings.confined:
            _log.warning("isolate: no effect here, instances can change what you can")

    def warm_up(self) -> None:
        """Start preparing for quick first calls of Python functions, without waiting.

        Nothing is prepared for the other families: most installations run none of them.
        """
        if self._forker is None:
            return
        try:
            self._forker.warm_up()
        except OSError as error:
            _log.error("no process for functions could be started ahead, so first calls will be slow: %s", error)

    def of(self, runtime: str) -> Launcher:
        """Return the launcher of a runtime.

        Raises: RuntimeUnavailable.
        """
        family = _family(runtime)
        if family not in self._families:
            self._families[family] = self._make(family)
        return self._families[family]

    def _make(self, family: str) -> Launcher:
        """Import the launcher of a family with its first function: most installations run only Python."""
        settings, ids = self.settings, self._ids
        match family:
            case "python":
                from emulator.services.fc.runtime.spawn import SpawnLauncher

                return SpawnLauncher(settings, ids)
            case "nodejs":
                from emulator.services.fc.runtime.node import NodeLauncher

                return NodeLauncher(settings, ids, self._forker)
            case "custom":
                from emulator.services.fc.runtime.custom import CustomLauncher

                return CustomLauncher(settings, self._programs())
            case "container":
                from emulator.services.fc.runtime.container import ContainerLauncher

                return ContainerLauncher(settings, self._programs())
            case _:
                from emulator.services.fc.runtime.runtime_api import PollingLauncher

                return PollingLauncher(settings, ids, self._programs())

    def _programs(self) -> Forker:
        """Return the forker for programs that are not agents of the emulator."""
        if self._forker is not None:
            return self._forker
        if self._spawner is None:
            from emulator.services.fc.runtime.spawn import ProgramSpawner  # only where nothing forks

            self._spawner = ProgramSpawner()
        return self._spawner

    def banner(self, runtime: str) -> bytes:
        """Return the beginning of the log of a first call, which is empty for runtimes other than Python's."""
        if not runtime.startswith("python"):
            return b""
        as_python_3 = runtime == "python2.7" and runtime not in self.settings.interpreters
        return _PYTHON_BANNER + (_PYTHON_2_NOTICE if as_python_3 else b"")

    async def launch(self, launcher: Launcher, instance: Instance, credentials: Credentials | None) -> None:
        """Start the process of *instance*, which has a folder of its own from now on.

        Raises: RuntimeUnavailable; InstanceStartFailed, also when the system has no descriptor, process or memory left.
        """
        try:
            await self.settings.trusted()
            self._scratch.create(instance.instance_id)
            instance.attach(await launcher.launch(instance, credentials))
        except BaseException as error:
            failure = error
            if isinstance(error, OSError) and error.errno in _EXHAUSTED:
                failure = InstanceStartFailed(os.strerror(error.errno))
            if isinstance(failure, InstanceStartFailed):
                _log.warning("no instance of %s could be started: %s", instance.image.family, failure)
            instance.fail(failure)
            raise failure from error

    def forget(self, instance_id: str) -> None:
        """Remove the folder of an instance that has ended."""
        self._scratch.remove(instance_id)

    async def close(self) -> None:
        """End what the launchers have started, and remove the folders."""
        for launcher in reversed(self._families.values()):  # the forker last, which the others use
            await launcher.close()
        if self._spawner is not None:
            await self._spawner.close()
        await self._scratch.close()


def _family(runtime: str) -> str:
    """Return the family of a runtime, whose processes one launcher starts.

    Raises: RuntimeUnavailable.
    """
    if runtime == "python2.7" or runtime.startswith("python3"):
        return "python"
    if runtime.startswith("nodejs"):
        return "nodejs"
    if runtime == "custom" or runtime.startswith("custom."):
        return "custom"
    if runtime == "custom-container":
        return "container"
    if runtime.startswith(("go", "java", "php", "dotnet")):
        return "runtime api"
    raise RuntimeUnavailable(runtime, "there is no such runtime")


_PREFIX = "localyun-instances-"


class Scratch:
    """The folders of one emulator's instances; ``folder`` holds them."""

    def __init__(self) -> None:
        self._owned = OwnedFolder(_PREFIX)
        self.folder = self._owned.folder
        self._removals: set[asyncio.Future[None]] = set()
        self._filled = count()

    def create(self, instance_id: str) -> None:
        """Create the folder of an instance.

        Raises: OSError.
        """
        (self.folder / instance_id).mkdir()

    def remove(self, instance_id: str) -> None:
        """Remove the folder of an instance, off the loop: a function may have filled it. The id is free at once."""
        folder = self.folder / instance_id
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            filled = folder.rename(self.folder / f"filled-{next(self._filled)}")
            self._off_loop(lambda: remove(filled))

    def sweep(self) -> None:
        """Remove, off the loop, what emulators that were killed have left."""
        self._off_loop(lambda: sweep(_PREFIX, self.folder.parent, self.folder))

    async def close(self) -> None:
        """Remove all that is left."""
        if self._removals:
            await asyncio.wait(self._removals)
        await asyncio.to_thread(self._owned.close)

    def _off_loop(self, work: Callable[[], None]) -> None:
        removal = asyncio.get_running_loop().run_in_executor(None, work)
        self._removals.add(removal)
        removal.add_done_callback(self._removed)

    def _removed(self, removal: "asyncio.Future[None]") -> None:
        self._removals.discard(removal)
        if not removal.cancelled() and (error := removal.exception()) is not None:
            _log.warning("folders of instances are left behind: %s", error)
