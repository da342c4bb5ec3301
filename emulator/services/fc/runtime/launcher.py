"""Which launcher starts the processes of a runtime, and the folder that each instance writes to."""

import errno
import logging
import os

from emulator.kernel import system
from emulator.kernel.frozen import replace
from emulator.kernel.ids import Ids
from emulator.services.fc.runtime import container
from emulator.services.fc.runtime.container import ContainerLauncher
from emulator.services.fc.runtime.custom import CustomLauncher
from emulator.services.fc.runtime.forking import ZygoteLauncher
from emulator.services.fc.runtime.instance import Instance
from emulator.services.fc.runtime.model import Credentials, InstanceStartFailed, RuntimeUnavailable
from emulator.services.fc.runtime.node import NodeLauncher
from emulator.services.fc.runtime.polling_agents import polls
from emulator.services.fc.runtime.process import Launcher
from emulator.services.fc.runtime.runtime_api import PollingLauncher
from emulator.services.fc.runtime.scratch import Scratch
from emulator.services.fc.runtime.settings import RuntimeSettings
from emulator.services.fc.runtime.spawn import ProgramSpawner, SpawnLauncher

_log = logging.getLogger(__name__)

_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)

_PYTHON_BANNER = b"FunctionCompute python3 runtime inited.\n"
_PYTHON_2_NOTICE = b"WARNING: python2.7 runs on Python 3 here; map it to another interpreter under runtimes:\n"


class Launchers:
    """The launchers of all families of runtimes, and the instances' folders; made on the loop."""

    def __init__(self, settings: RuntimeSettings, ids: Ids) -> None:
        self._scratch = Scratch()
        self._scratch.sweep()
        settings = replace(settings, scratch=self._scratch.folder)
        forks = settings.start_method == "fork" or (settings.start_method == "auto" and system.FORK)
        forker = ZygoteLauncher(settings, ids) if forks else None
        if settings.confined and forker is None:
            _log.warning("isolate: no effect here, instances can change what you can")
        self._spawner = ProgramSpawner()
        programs = forker or self._spawner
        self._families: dict[str, Launcher] = {
            "custom": CustomLauncher(settings, programs),
            "container": ContainerLauncher(settings, programs),
            "runtime api": PollingLauncher(settings, ids, programs),
            "nodejs": NodeLauncher(settings, ids, forker),
            "python": forker or SpawnLauncher(settings, ids),
        }
        self.settings = settings
        """The settings with the folder that holds those of the instances."""

    def warm_up(self) -> None:
        """Begin to prepare what makes first calls quick, without waiting for it."""
        try:
            for launcher in self._families.values():
                launcher.warm_up()
        except OSError:
            _log.exception("nothing is warm: the interpreter does not start")

    def of(self, runtime: str) -> Launcher:
        """Return the launcher of a runtime.

        Raises: RuntimeUnavailable.
        """
        if runtime == "python2.7" or runtime.startswith("python3"):
            return self._families["python"]
        if runtime.startswith("nodejs"):
            return self._families["nodejs"]
        if runtime == "custom" or runtime.startswith("custom."):
            return self._families["custom"]
        if runtime == container.RUNTIME:
            return self._families["container"]
        if polls(runtime):
            return self._families["runtime api"]
        raise RuntimeUnavailable(runtime, "there is no such runtime")

    def banner(self, runtime: str) -> bytes:
        """Return what the log of a first call begins with; runtimes other than Python's say nothing of that kind."""
        if not runtime.startswith("python"):
            return b""
        as_python_3 = runtime == "python2.7" and runtime not in self.settings.interpreters
        return _PYTHON_BANNER + (_PYTHON_2_NOTICE if as_python_3 else b"")

    async def launch(self, launcher: Launcher, instance: Instance, credentials: Credentials | None) -> None:
        """Start the process of *instance*, which has a folder of its own from now on.

        Raises: RuntimeUnavailable; InstanceStartFailed, also when the system has no descriptor, process or memory left.
        """
        image, instance_id = instance.image, instance.instance_id
        try:
            self._scratch.create(instance_id)
            instance.attach(await launcher.launch(image, instance_id, instance, credentials))
        except BaseException as error:
            failure = error
            if isinstance(error, OSError) and error.errno in _EXHAUSTED:
                failure = InstanceStartFailed(os.strerror(error.errno))
            if isinstance(failure, InstanceStartFailed):
                _log.warning("no instance of %s could be started: %s", image.family, failure)
            instance.fail(failure)
            raise failure from error

    def forget(self, instance_id: str) -> None:
        """Remove the folder of an instance that has ended."""
        self._scratch.remove(instance_id)

    async def close(self) -> None:
        """End what the launchers have started, and remove the folders."""
        for launcher in self._families.values():
            await launcher.close()
        await self._spawner.close()
        await self._scratch.close()
