"""Starts instances: checks that one more is allowed, names and launches it; also runs commands beside instances.

Which instance a call gets, and when one ends, is decided by the pool.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from emulator.kernel import system
from emulator.kernel.clock import SECOND, Clock
from emulator.kernel.ids import Ids
from emulator.kernel.turnstile import Turnstile
from emulator.services.fc.runtime.instance import Instance, OnLog
from emulator.services.fc.runtime.launcher import Launchers
from emulator.services.fc.runtime.model import (
    Credentials,
    FunctionImage,
    InstancesExhausted,
    InstanceStartFailed,
    RuntimeUnavailable,
    ShellCommand,
)
from emulator.services.fc.runtime.settings import RuntimeSettings, shell_environment

if TYPE_CHECKING:
    from emulator.services.fc.runtime.shell import Shell


class Starter:
    """Starts the instances of a pool; *living* maps the ids of those that live to them.

    *retire* ends one that is idle, for another in its place. *on_log*, *on_end* and *spawn* are those of `Instance`.
    """

    launchers: Launchers

    def __init__(
        self,
        clock: Clock,
        ids: Ids,
        settings: RuntimeSettings,
        living: dict[str, Instance],
        retire: Callable[[Instance], None],
        on_log: OnLog,
        on_end: Callable[[Instance], None],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        turns: Turnstile,
    ) -> None:
        self._turns = turns
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._living = living
        self._retire = retire
        self._on_log = on_log
        self._on_end = on_end
        self._spawn = spawn

    def open(self) -> None:
        """Create the launchers, and the folder for the instances' own folders."""
        self.launchers = Launchers(self._settings, self._ids)
        self._settings = self.launchers.settings

    async def close(self) -> None:
        """End the remaining processes of instances, and remove their folders."""
        await self.launchers.close()

    async def new(self, image: FunctionImage) -> Instance:
        """Return a new instance that lives and has one call counted in; `launch` starts its process.

        Raises: RuntimeUnavailable; InstancesExhausted.
        """
        self.launchers.of(image.runtime)
        instance_id = f"c-{self._clock.now() // SECOND:08x}-{self._ids.hex(20)}"
        # With a seed ids come again after a restore, perhaps before an instance of the state before has ended.
        while (former := self._living.get(instance_id)) is not None:
            await former.kill()
            await former.gone()
        self._make_room()
        banner = self.launchers.banner(image.runtime)
        instance = Instance(
            image, instance_id, self._settings, self._on_log, self._on_end, self._spawn, banner, turns=self._turns
        )
        instance.calls = 1
        instance.started_at = self._clock.now()
        self._living[instance_id] = instance
        return instance

    async def launch(self, instance: Instance, credentials: Credentials | None) -> None:
        """Start the process of an instance.

        Raises: RuntimeUnavailable; InstanceStartFailed.
        """
        await self.launchers.launch(self.launchers.of(instance.image.runtime), instance, credentials)

    async def wait_for_port(self, holder: str) -> None:
        """Wait until the instance *holder* has a place for a call, or is gone; an idle one is ended.

        Raises: InstanceStartFailed when it has sessions, which may keep it for hours.
        """
        instance = self._living.get(holder)
        if instance is None:
            return
        if instance.seats:
            raise InstanceStartFailed(
                f"port {instance.image.port} is held by an instance with sessions; a program that listens on the port "
                "in FC_SERVER_PORT can have several"
            )
        if instance.calls == 0:
            self._retire(instance)
            await instance.stop()
            return
        changed = asyncio.get_running_loop().create_future()
        instance.awaited.append(changed)
        await changed

    def forget(self, instance: Instance) -> None:
        """Remove what an instance that has ended leaves behind."""
        self.launchers.forget(instance.instance_id)

    def shell(
        self,
        instance: Instance,
        command: ShellCommand,
        on_output: Callable[[int, bytes], None],
        on_end: Callable[[], None],
    ) -> "Shell":
        """Run a command beside an instance, which is not idle meanwhile; the command ends with it.

        Raises: RuntimeUnavailable; OSError for no such program.
        """
        image = instance.image
        if image.container is not None:
            raise RuntimeUnavailable(image.runtime, "use docker exec for a container")
        if not system.TERMINALS:
            raise RuntimeUnavailable(image.runtime, "this system has no terminals for it")
        from emulator.services.fc.runtime.shell import Shell  # rarely needed, and needs them

        def ended() -> None:
            instance.on_exit.discard(shell.end)
            on_end()

        keys, beside = instance.credentials, instance.namespaces
        environment = shell_environment(image, instance.instance_id, self._settings, keys, isolated=beside > 0)
        shell = Shell(command, image.code_dir, environment, on_output, ended, beside)
        instance.on_exit.add(shell.end)
        return shell

    def _make_room(self) -> None:
        """End the instance that has been idle for longest when there are as many as allowed.

        Raises: InstancesExhausted.
        """
        staying = [instance for instance in self._living.values() if not instance.retired or instance.calls > 0]
        if len(staying) < self._settings.max_instances:
            return
        idle = [each for each in staying if each.calls == 0 and not each.provisioned and not each.seats]
        if not idle:
            raise InstancesExhausted(self._settings.max_instances)
        self._retire(min(idle, key=lambda instance: instance.idle_since))
