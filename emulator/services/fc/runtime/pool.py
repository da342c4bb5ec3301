"""The instances of all functions: which one serves a call, when one is started, kept and ended.

Idle instances of an image are reused, the most recently used first, so that a small load keeps few of them warm. The
rest is reaped after an idle time. Time spent idle follows the emulator's clock; calls run in real time.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from emulator.kernel import system
from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.frozen import frozen, replace
from emulator.kernel.ids import Ids
from emulator.kernel.tasks import TaskGroup
from emulator.kernel.timers import LoopTimers
from emulator.services.fc.runtime.debugger import DebugSession
from emulator.services.fc.runtime.instance import CallNotRead, Instance, OnLog
from emulator.services.fc.runtime.launcher import Launchers
from emulator.services.fc.runtime.model import (
    Credentials,
    FunctionImage,
    InstanceInfo,
    InstancesExhausted,
    InstanceStartFailed,
    Invocation,
    InvocationResult,
    PortBusy,
    RuntimeFailure,
    RuntimeUnavailable,
    ShellCommand,
)
from emulator.services.fc.runtime.settings import RuntimeSettings, shell_environment

if TYPE_CHECKING:
    from emulator.services.fc.runtime.shell import Shell

_log = logging.getLogger(__name__)

_FREEZE_WAIT_S = 0.25
_REPLACE_AFTER_S = 1.0
_STOP_LIMIT_S = 3.0


@frozen
class _Provision:
    """How many instances of an image are kept, and with whose keys."""

    image: FunctionImage
    count: int
    credentials: Credentials | None


@frozen
class PoolNumbers:
    """Instances, those with a call, those kept ready, and calls; several calls may share an instance."""

    all: int
    busy: int
    provisioned: int
    calls: int


class InstancePool:
    """Runs functions in instances of its own.

    *on_log* is called on the loop with every piece of log as it comes; its request id is empty for output outside of
    any call. It must not block.
    """

    def __init__(self, clock: Clock, ids: Ids, settings: RuntimeSettings, on_log: OnLog) -> None:
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._on_log = on_log
        self._instances: dict[str, Instance] = {}
        self._ready: dict[str, list[Instance]] = {}
        self._freezing: dict[str, list[asyncio.Future[None]]] = {}
        self._port_waiters: dict[str, list[asyncio.Future[None]]] = {}
        self._provisions: dict[str, _Provision] = {}
        self._reaping = False

    async def start(self) -> None:
        """Begin to prepare what makes first calls quick, without waiting for it."""
        loop = asyncio.get_running_loop()
        self._tasks = TaskGroup("instances")
        self._launchers = Launchers(self._settings, self._ids)
        self._settings = self._launchers.settings
        self._timers = LoopTimers(self._clock, loop)
        self._launchers.warm_up()

    async def close(self) -> None:
        """End all instances; preStop hooks get three seconds."""
        self._provisions.clear()
        self._timers.close()
        await asyncio.gather(*(instance.stop(limit_s=_STOP_LIMIT_S) for instance in list(self._instances.values())))
        await self._tasks.close()
        await self._launchers.close()

    async def invoke(self, image: FunctionImage, invocation: Invocation) -> InvocationResult:
        """Run *image*'s handler in a warm instance, or in a new one when none is idle.

        Cancelling means that the client gave up: the call is logged so and its instance is ended.

        Raises: RuntimeUnavailable; InstanceStartFailed; InstancesExhausted; ResponseTooLarge.
        """
        for _ in range(2):
            cold = False
            instance = self._take(image.key)
            if instance is None:
                instance, cold = await self._obtain(image, invocation.credentials)
            result = None
            try:
                result = await instance.invoke(invocation, cold=cold)
                return result
            except CallNotRead:
                instance.retired = True
            finally:
                if result is not None and result.stream is not None:
                    result.stream.at_end(partial(self._release, instance))
                else:
                    self._release(instance)
        raise InstanceStartFailed("the process ended before it was ready")

    async def debug(self, image: FunctionImage, invocation: Invocation, session: DebugSession) -> InvocationResult:
        """Run *image*'s handler in an instance for this call alone, with a debugger in it that *session* leads to.

        The runtime is Python or Node.js, which is for the caller to check. Cancelling ends the instance.

        Raises: RuntimeUnavailable; InstanceStartFailed; InstancesExhausted; ResponseTooLarge.
        """
        alone = replace(
            image,
            key=f"{image.key}#debug#{invocation.request_id}",
            instance_concurrency=1,
            debug="wait" if session.waits else "run",
        )
        instance = await self._start(alone, invocation.credentials)
        session.serve(instance.clock, instance.debugger)
        try:
            return await instance.invoke(invocation, cold=True)
        except CallNotRead:
            raise InstanceStartFailed("the process ended before it was ready") from None
        finally:
            instance.retired = True
            self._release(instance)

    def shell(
        self,
        instance_id: str,
        command: ShellCommand,
        on_output: Callable[[int, bytes], None],
        on_end: Callable[[], None],
    ) -> "Shell":
        """Run a command beside an instance, which is not reaped meanwhile; the command ends with it.

        Raises: RuntimeUnavailable; InstanceStartFailed when there is no such instance; OSError for no such program.
        """
        instance = self._instances.get(instance_id)
        if instance is None:
            raise InstanceStartFailed("the instance has ended")
        if instance.image.container is not None:
            raise RuntimeUnavailable(instance.image.runtime, "use docker exec for a container")
        if not system.TERMINALS:
            raise RuntimeUnavailable(instance.image.runtime, "this system has no terminals for it")
        from emulator.services.fc.runtime.shell import Shell  # rarely needed, and needs them

        def ended() -> None:
            instance.on_exit.discard(shell.end)
            instance.idle_since = self._clock.now()
            self._reap_later(instance.idle_since)
            on_end()

        keys, beside = instance.credentials, instance.namespaces
        environment = shell_environment(instance.image, instance_id, self._settings, keys, isolated=beside > 0)
        shell = Shell(command, instance.image.code_dir, environment, on_output, ended, beside)
        instance.on_exit.add(shell.end)
        return shell

    async def _obtain(self, image: FunctionImage, credentials: Credentials | None) -> tuple[Instance, bool]:
        """Return an instance with one call counted in, and whether it was started for that call."""
        while True:
            instance = await self._take_thawed(image.key) if image.key in self._freezing else self._take(image.key)
            if instance is not None:
                return instance, False
            try:
                return await self._start(image, credentials), True
            except PortBusy as busy:
                await self._wait_for_port(busy.holder)

    async def _wait_for_port(self, holder: str) -> None:
        """Wait until the instance *holder* has a place for a call, or is gone; an idle one is ended."""
        instance = self._instances.get(holder)
        if instance is None:
            return
        if instance.calls == 0:
            self._retire(instance)
            await instance.stop()
            return
        changed = asyncio.get_running_loop().create_future()
        self._port_waiters.setdefault(holder, []).append(changed)
        await changed

    def _wake_port_waiters(self, instance: Instance) -> None:
        for changed in self._port_waiters.pop(instance.instance_id, ()):
            if not changed.done():
                changed.set_result(None)

    def retire_family(self, family: str) -> None:
        """End the instances of *family* now, busy ones after the call they are in; provisioned ones too."""
        for key, provision in list(self._provisions.items()):
            if provision.image.family == family:
                del self._provisions[key]
        for instance in list(self._instances.values()):
            if instance.image.family == family:
                self._retire(instance)

    def end_all(self) -> None:
        """End every instance now: those that work are killed, their calls fail."""
        self._provisions.clear()
        for instance in list(self._instances.values()):
            if instance.calls == 0:
                self._retire(instance)
            else:
                self._forget_ready(instance)
                self._tasks.spawn(instance.kill(), f"kill {instance.instance_id}")

    async def provision(self, image: FunctionImage, count: int, credentials: Credentials | None = None) -> int:
        """Keep *count* instances of *image* started and initialized; return how many there are now.

        One that ends is replaced. A lower count ends idle surplus ones at once.

        Raises: RuntimeUnavailable; InstanceStartFailed; InstancesExhausted.
        """
        if count <= 0:
            self._provisions.pop(image.key, None)
        else:
            self._provisions[image.key] = _Provision(image=image, count=count, credentials=credentials)
        kept = self._provisioned(image.key)
        for instance in kept[count:]:
            instance.provisioned = False
            if instance.calls == 0:
                self._retire(instance)
        missing = range(count - len(kept))
        await asyncio.gather(*(self._start_provisioned(image, credentials) for _ in missing))
        return len(self._provisioned(image.key))

    def instances(self, family: str) -> list[InstanceInfo]:
        """Return the living instances of *family*, oldest first."""
        return [instance.info for instance in self._instances.values() if instance.image.family == family]

    def numbers(self) -> PoolNumbers:
        """Return how many instances live and what they do."""
        living = self._instances.values()
        return PoolNumbers(
            all=len(living),
            busy=sum(instance.calls > 0 for instance in living),
            provisioned=sum(instance.provisioned for instance in living),
            calls=sum(instance.calls for instance in living),
        )

    def _log_output(self, image: FunctionImage, request_id: str, data: bytes) -> None:
        """Hand log to its listener, whose failure must not become the function's."""
        try:
            self._on_log(image, request_id, data)
        except Exception:
            _log.exception("the log of %s is not kept", image.family)

    def _take(self, key: str) -> Instance | None:
        ready = self._ready.get(key)
        while ready and (ready[-1].retired or ready[-1].outdated):
            passed_over = ready.pop()
            if not passed_over.retired:
                self._retire(passed_over)
        if not ready:
            return None
        instance = ready[-1]
        instance.calls += 1
        if instance.calls >= instance.image.instance_concurrency:
            ready.pop()
        return instance

    async def _take_thawed(self, key: str) -> Instance | None:
        """Wait a moment for an instance whose preFreeze hook runs: it is usually quicker than starting another."""
        await asyncio.wait(self._freezing[key], timeout=_FREEZE_WAIT_S, return_when=asyncio.FIRST_COMPLETED)
        return self._take(key)

    async def _start(self, image: FunctionImage, credentials: Credentials | None) -> Instance:
        """Start an instance with one call counted in."""
        launcher = self._launchers.of(image.runtime)
        self._make_room()
        instance_id = f"c-{self._clock.now() // SECOND:08x}-{self._ids.hex(20)}"
        banner = self._launchers.banner(image.runtime)
        instance = Instance(
            image, instance_id, self._settings, self._log_output, self._on_end, self._tasks.spawn, banner
        )
        instance.calls = 1
        instance.started_at = self._clock.now()
        self._instances[instance_id] = instance
        if image.instance_concurrency > 1:
            self._ready.setdefault(image.key, []).append(instance)  # calls that come meanwhile share it
        await self._launchers.launch(launcher, instance, credentials)
        return instance

    def _make_room(self) -> None:
        """End the instance that has been idle for longest when there are as many as allowed."""
        staying = [instance for instance in self._instances.values() if not instance.retired or instance.calls > 0]
        if len(staying) < self._settings.max_instances:
            return
        idle = [instance for instance in staying if instance.calls == 0 and not instance.provisioned]
        if not idle:
            raise InstancesExhausted(self._settings.max_instances)
        self._retire(min(idle, key=lambda instance: instance.idle_since))

    async def _start_provisioned(self, image: FunctionImage, credentials: Credentials | None) -> None:
        instance = await self._start(image, credentials)
        instance.provisioned = True
        try:
            if not await instance.prepare(self._ids.uuid(), credentials):
                instance.retired = True
        except CallNotRead:
            instance.retired = True
        finally:
            self._release(instance)

    def _release(self, instance: Instance, _: BaseException | None = None) -> None:
        """Take a call out of the account and decide what becomes of the instance, however the call has ended."""
        was_full = instance.calls >= instance.image.instance_concurrency
        instance.calls -= 1
        self._wake_port_waiters(instance)
        if not instance.alive:
            return
        if instance.retired:
            self._retire(instance)
            return
        if instance.calls == 0:
            instance.idle_since = self._clock.now()
            self._reap_later(instance.idle_since)
            if instance.image.pre_freeze is not None:
                self._forget_ready(instance)
                instance.calls = 1
                frozen = asyncio.get_running_loop().create_future()
                self._freezing.setdefault(instance.image.key, []).append(frozen)
                self._tasks.spawn(self._freeze(instance, frozen), f"freeze {instance.instance_id}")
                return
        if was_full:
            self._ready.setdefault(instance.image.key, []).append(instance)

    async def _freeze(self, instance: Instance, frozen: asyncio.Future[None]) -> None:
        waiting = self._freezing[instance.image.key]
        try:
            await instance.freeze()
        finally:
            instance.calls = 0
            self._wake_port_waiters(instance)
            waiting.remove(frozen)
            if not waiting:
                self._freezing.pop(instance.image.key, None)
            if instance.retired:
                self._retire(instance)
            elif instance.alive:
                self._ready.setdefault(instance.image.key, []).append(instance)
            frozen.set_result(None)

    def _retire(self, instance: Instance) -> None:
        instance.retired = True
        self._forget_ready(instance)
        if instance.calls == 0 and instance.alive:
            self._tasks.spawn(instance.stop(), f"stop {instance.instance_id}")

    def _forget_ready(self, instance: Instance) -> None:
        ready = self._ready.get(instance.image.key)
        if ready is not None and instance in ready:
            ready.remove(instance)
            if not ready:
                del self._ready[instance.image.key]

    def _on_end(self, instance: Instance) -> None:
        self._instances.pop(instance.instance_id, None)
        self._launchers.forget(instance.instance_id)
        self._wake_port_waiters(instance)
        self._forget_ready(instance)
        provision = self._provisions.get(instance.image.key)
        if instance.provisioned and provision is not None:
            self._tasks.spawn(self._replace(provision), f"replace {instance.instance_id}")

    async def _replace(self, provision: _Provision) -> None:
        """Bring the number of provisioned instances back, after a pause in case they end at once again."""
        await asyncio.sleep(_REPLACE_AFTER_S)
        if self._provisions.get(provision.image.key) is provision:
            try:
                await self.provision(provision.image, provision.count, provision.credentials)
            except RuntimeFailure:
                _log.exception("a provisioned instance of %s is not replaced", provision.image.family)

    def _provisioned(self, key: str) -> list[Instance]:
        return [
            instance
            for instance in self._instances.values()
            if instance.provisioned and not instance.retired and instance.image.key == key
        ]

    def _reap_later(self, idle_since: int) -> None:
        if not self._reaping:
            self._reaping = True
            self._timers.call_at(Millis(idle_since + self._settings.idle_s * 1000), "reap", self._reap)

    def _reap(self) -> None:
        """End what has been idle for long enough, and come back when the next one will have been."""
        self._reaping = False
        now = self._clock.now()
        idle_ms = self._settings.idle_s * 1000
        idle = [
            instance
            for instance in self._instances.values()
            if instance.calls == 0 and not instance.provisioned and not instance.on_exit
        ]
        for instance in idle:
            if now - instance.idle_since >= idle_ms:
                self._retire(instance)
        waiting = [instance.idle_since for instance in idle if now - instance.idle_since < idle_ms]
        if waiting:
            self._reap_later(min(waiting))
