"""The instances of all functions: which one serves a call, when one is started, kept and ended.

Idle instances of an image are reused, the most recently used first, so that a small load keeps few of them warm. The
rest is reaped after an idle time. Time spent idle follows the emulator's clock; calls run in real time.
"""

import asyncio
import errno
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from emulator.kernel.clock import SECOND, Clock, Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.ids import Ids
from emulator.kernel.tasks import TaskGroup
from emulator.kernel.timers import LoopTimers
from emulator.services.fc.runtime import container
from emulator.services.fc.runtime import runtime_api as polling
from emulator.services.fc.runtime.container import ContainerLauncher
from emulator.services.fc.runtime.custom import CustomLauncher
from emulator.services.fc.runtime.debugger import DebugSession
from emulator.services.fc.runtime.instance import CallNotRead, OnLog, Worker
from emulator.services.fc.runtime.launcher import Launcher
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
    ShellOrder,
)
from emulator.services.fc.runtime.node import NodeLauncher
from emulator.services.fc.runtime.runtime_api import PollingLauncher
from emulator.services.fc.runtime.settings import RuntimeSettings, shell_environment
from emulator.services.fc.runtime.spawn import ProgramSpawner, SpawnLauncher
from emulator.services.fc.runtime.zygote import ZygoteLauncher

if TYPE_CHECKING:
    from emulator.services.fc.runtime.shell import Shell

_log = logging.getLogger(__name__)

_NO_MEANS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)

_WAY_OUT = (
    "it needs the platform's own agent; a custom runtime runs the same code behind an HTTP server of its own (runtime"
    " custom.debian10 or later, with customRuntimeConfig.command)"
)
_FREEZE_PATIENCE_S = 0.25
_REPLACE_AFTER_S = 1.0
_STOP_LIMIT_S = 3.0

_PYTHON_BANNER = b"FunctionCompute python3 runtime inited.\n"
_PYTHON_2_NOTICE = b"WARNING: python2.7 runs on Python 3 here; map it to another interpreter under runtimes:\n"


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
        self._launchers: dict[str, Launcher] = {}
        self._workers: dict[str, Worker] = {}
        self._ready: dict[str, list[Worker]] = {}
        self._freezing: dict[str, list[asyncio.Event]] = {}
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        self._provisions: dict[str, _Provision] = {}
        self._reaping = False

    async def start(self) -> None:
        """Begin to prepare what makes first calls quick, without waiting for it."""
        loop = asyncio.get_running_loop()
        self._tasks = TaskGroup("instances")
        self._timers = LoopTimers(self._clock, loop)
        forks = self._settings.start_method == "fork" or (self._settings.start_method == "auto" and hasattr(os, "fork"))
        forker = ZygoteLauncher(self._settings, self._ids) if forks else None
        self._spawner = ProgramSpawner()
        self._launchers["custom"] = CustomLauncher(self._settings, forker or self._spawner)
        self._launchers["container"] = ContainerLauncher(self._settings, forker or self._spawner)
        self._launchers["polling"] = PollingLauncher(self._settings, self._ids, forker or self._spawner)
        self._launchers["nodejs"] = NodeLauncher(self._settings, self._ids, forker)
        self._launchers["python"] = forker or SpawnLauncher(self._settings, self._ids)
        try:
            for launcher in self._launchers.values():
                launcher.warm_up()
        except OSError:
            _log.exception("nothing is warm: the interpreter does not start")

    async def close(self) -> None:
        """End all instances; preStop hooks get three seconds."""
        self._provisions.clear()
        self._timers.close()
        await asyncio.gather(*(worker.stop(limit_s=_STOP_LIMIT_S) for worker in list(self._workers.values())))
        await self._tasks.close()
        for launcher in self._launchers.values():
            await launcher.close()
        await self._spawner.close()

    async def invoke(self, image: FunctionImage, invocation: Invocation) -> InvocationResult:
        """Run *image*'s handler in a warm instance, or in a new one when none is idle.

        Cancelling means that the client gave up: the call is logged so and its instance is ended.

        Raises: RuntimeUnavailable; InstanceStartFailed; InstancesExhausted; ResponseTooLarge.
        """
        for _ in range(2):
            worker, cold = await self._worker(image, invocation.credentials)
            result = None
            try:
                result = await worker.invoke(invocation, cold=cold)
                return result
            except CallNotRead:
                worker.retired = True
            finally:
                if result is not None and result.stream is not None:
                    result.stream.at_end(partial(self._release_streamed, worker))
                else:
                    self._release(worker)
        raise InstanceStartFailed("the process ended before it was ready")

    async def debug(self, image: FunctionImage, invocation: Invocation, session: DebugSession) -> InvocationResult:
        """Run *image*'s handler in an instance for this call alone, with a debugger in it that *session* leads to.

        Cancelling ends the instance.

        Raises: RuntimeUnavailable; InstanceStartFailed; InstancesExhausted; ResponseTooLarge.
        """
        if not image.runtime.startswith(("python", "nodejs")):
            raise RuntimeUnavailable(image.runtime, "a debugger can be attached to Python and Node.js functions only")
        alone = replace(
            image,
            key=f"{image.key}#debug#{invocation.request_id}",
            instance_concurrency=1,
            debug="wait" if session.waits else "run",
        )
        worker = await self._start(alone, invocation.credentials)
        session.serve(worker.hold, worker.debugger)
        try:
            return await worker.invoke(invocation, cold=True)
        except CallNotRead:
            raise InstanceStartFailed("the process ended before it was ready") from None
        finally:
            worker.retired = True
            self._release(worker)

    def shell(
        self, instance_id: str, order: ShellOrder, on_output: Callable[[int, bytes], None], on_end: Callable[[], None]
    ) -> "Shell":
        """Run a command beside an instance, which is not reaped meanwhile; the command ends with it.

        Raises: RuntimeUnavailable; InstanceStartFailed when there is no such instance; OSError for no such program.
        """
        worker = self._workers.get(instance_id)
        if worker is None:
            raise InstanceStartFailed("the instance has ended")
        if worker.image.container is not None:
            raise RuntimeUnavailable(worker.image.runtime, "use docker exec for a container")
        try:
            from emulator.services.fc.runtime.shell import Shell  # rarely needed, and not there on Windows
        except ImportError:
            raise RuntimeUnavailable(worker.image.runtime, "this system has no terminals for it") from None

        def ended() -> None:
            worker.companions.discard(shell.end)
            worker.idle_since = self._clock.now()
            self._reap_later()
            on_end()

        environment = shell_environment(worker.image, instance_id, self._settings, worker.credentials)
        shell = Shell(order, worker.image.code_dir, environment, on_output, ended)
        worker.companions.add(shell.end)
        return shell

    async def _worker(self, image: FunctionImage, credentials: Credentials | None) -> tuple[Worker, bool]:
        """Return an instance with one call counted in, and whether it was started for that call."""
        while True:
            worker = self._take(image.key)
            if worker is None and image.key in self._freezing:
                worker = await self._take_frozen(image.key)
            if worker is not None:
                return worker, False
            try:
                return await self._start(image, credentials), True
            except PortBusy as busy:
                await self._make_way(busy.holder)

    async def _make_way(self, holder: str) -> None:
        """Wait until the instance *holder* has a place for a call, or is gone; an idle one is ended."""
        worker = self._workers.get(holder)
        if worker is None:
            return
        if worker.calls == 0:
            self._retire(worker)
            await worker.stop()
            return
        changed = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(holder, []).append(changed)
        await changed

    def _tell_waiting(self, worker: Worker) -> None:
        for changed in self._waiting.pop(worker.instance_id, ()):
            if not changed.done():
                changed.set_result(None)

    def retire_family(self, family: str) -> None:
        """End the instances of *family* now, busy ones after the call they are in; provisioned ones too."""
        for key, provision in list(self._provisions.items()):
            if provision.image.family == family:
                del self._provisions[key]
        for worker in list(self._workers.values()):
            if worker.image.family == family:
                self._retire(worker)

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
        for worker in kept[count:]:
            worker.provisioned = False
            if worker.calls == 0:
                self._retire(worker)
        missing = range(count - len(kept))
        await asyncio.gather(*(self._start_provisioned(image, credentials) for _ in missing))
        return len(self._provisioned(image.key))

    def instances(self, family: str) -> list[InstanceInfo]:
        """Return the living instances of *family*, oldest first."""
        return [worker.info for worker in self._workers.values() if worker.image.family == family]

    def numbers(self) -> PoolNumbers:
        """Return how many instances live and what they do."""
        workers = self._workers.values()
        return PoolNumbers(
            all=len(workers),
            busy=sum(worker.calls > 0 for worker in workers),
            provisioned=sum(worker.provisioned for worker in workers),
            calls=sum(worker.calls for worker in workers),
        )

    def _launcher_for(self, runtime: str) -> Launcher:
        if runtime == "python2.7" or runtime.startswith("python3"):
            return self._launchers["python"]
        if runtime.startswith("nodejs"):
            return self._launchers["nodejs"]
        if runtime == "custom" or runtime.startswith("custom."):
            return self._launchers["custom"]
        if runtime == container.RUNTIME:
            return self._launchers["container"]
        if runtime in polling.RUNTIMES:
            return self._launchers["polling"]
        raise RuntimeUnavailable(runtime, _WAY_OUT)

    def _pass_on(self, image: FunctionImage, request_id: str, data: bytes) -> None:
        """Hand log to its listener, whose troubles must not become the function's."""
        try:
            self._on_log(image, request_id, data)
        except Exception:
            _log.exception("the log of %s is not kept", image.family)

    def _take(self, key: str) -> Worker | None:
        ready = self._ready.get(key)
        while ready and ready[-1].retired:
            ready.pop()
        if not ready:
            return None
        worker = ready[-1]
        worker.calls += 1
        if worker.calls >= worker.image.instance_concurrency:
            ready.pop()
        return worker

    async def _take_frozen(self, key: str) -> Worker | None:
        """Wait a moment for an instance whose preFreeze hook runs: it is usually quicker than starting another."""
        waits = [asyncio.create_task(event.wait()) for event in self._freezing[key]]
        await asyncio.wait(waits, timeout=_FREEZE_PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        return self._take(key)

    async def _start(self, image: FunctionImage, credentials: Credentials | None) -> Worker:
        """Start an instance with one call counted in."""
        launcher = self._launcher_for(image.runtime)
        self._make_room()
        instance_id = f"c-{self._clock.now() // SECOND:08x}-{self._ids.hex(20)}"
        greeting = self._greeting(image.runtime)
        worker = Worker(image, instance_id, self._settings, self._pass_on, self._on_end, self._tasks.spawn, greeting)
        worker.calls = 1
        worker.started_at = self._clock.now()
        self._workers[instance_id] = worker
        if image.instance_concurrency > 1:
            self._ready.setdefault(image.key, []).append(worker)  # calls that come meanwhile share it
        try:
            worker.attach(await launcher.launch(image, instance_id, worker, credentials))
        except BaseException as error:
            failure = _without_means(error)
            if isinstance(failure, InstanceStartFailed):
                _log.warning("no instance of %s could be started: %s", image.family, failure)
            worker.fail(failure)
            raise failure from error
        return worker

    def _greeting(self, runtime: str) -> bytes:
        """Return what the log of a first call begins with; runtimes other than Python's say nothing of that kind."""
        if not runtime.startswith("python"):
            return b""
        as_python_3 = runtime == "python2.7" and runtime not in self._settings.interpreters
        return _PYTHON_BANNER + (_PYTHON_2_NOTICE if as_python_3 else b"")

    def _make_room(self) -> None:
        """End the instance that has been idle for longest when there are as many as allowed."""
        staying = [worker for worker in self._workers.values() if not worker.retired or worker.calls > 0]
        if len(staying) < self._settings.max_instances:
            return
        idle = [worker for worker in staying if worker.calls == 0 and not worker.provisioned]
        if not idle:
            raise InstancesExhausted(self._settings.max_instances)
        self._retire(min(idle, key=lambda worker: worker.idle_since))

    async def _start_provisioned(self, image: FunctionImage, credentials: Credentials | None) -> None:
        worker = await self._start(image, credentials)
        worker.provisioned = True
        try:
            if not await worker.prepare(self._ids.uuid(), credentials):
                worker.retired = True
        except CallNotRead:
            worker.retired = True
        finally:
            self._release(worker)

    def _release_streamed(self, worker: Worker, error: BaseException | None) -> None:
        del error
        self._release(worker)

    def _release(self, worker: Worker) -> None:
        """Take a call out of the account and decide what becomes of the instance."""
        was_full = worker.calls >= worker.image.instance_concurrency
        worker.calls -= 1
        self._tell_waiting(worker)
        if not worker.alive:
            return
        if worker.retired:
            self._forget_ready(worker)
            if worker.calls == 0:
                self._tasks.spawn(worker.stop(), f"stop {worker.instance_id}")
            return
        if worker.calls == 0:
            worker.idle_since = self._clock.now()
            self._reap_later()
            if worker.image.pre_freeze is not None:
                self._forget_ready(worker)
                worker.calls = 1
                frozen = asyncio.Event()
                self._freezing.setdefault(worker.image.key, []).append(frozen)
                self._tasks.spawn(self._freeze(worker, frozen), f"freeze {worker.instance_id}")
                return
        if was_full:
            self._ready.setdefault(worker.image.key, []).append(worker)

    async def _freeze(self, worker: Worker, frozen: asyncio.Event) -> None:
        waiting = self._freezing[worker.image.key]
        try:
            await worker.freeze()
        finally:
            worker.calls = 0
            self._tell_waiting(worker)
            waiting.remove(frozen)
            if not waiting:
                self._freezing.pop(worker.image.key, None)
            if worker.alive and worker.retired:
                self._tasks.spawn(worker.stop(), f"stop {worker.instance_id}")
            elif worker.alive:
                self._ready.setdefault(worker.image.key, []).append(worker)
            frozen.set()

    def _retire(self, worker: Worker) -> None:
        worker.retired = True
        self._forget_ready(worker)
        if worker.calls == 0 and worker.alive:
            self._tasks.spawn(worker.stop(), f"stop {worker.instance_id}")

    def _forget_ready(self, worker: Worker) -> None:
        ready = self._ready.get(worker.image.key)
        if ready is not None and worker in ready:
            ready.remove(worker)
            if not ready:
                del self._ready[worker.image.key]

    def _on_end(self, worker: Worker) -> None:
        self._workers.pop(worker.instance_id, None)
        self._tell_waiting(worker)
        self._forget_ready(worker)
        provision = self._provisions.get(worker.image.key)
        if worker.provisioned and provision is not None:
            self._tasks.spawn(self._replace(provision), f"replace {worker.instance_id}")

    async def _replace(self, provision: _Provision) -> None:
        """Bring the number of provisioned instances back, after a pause in case they end at once again."""
        await asyncio.sleep(_REPLACE_AFTER_S)
        if self._provisions.get(provision.image.key) is provision:
            try:
                await self.provision(provision.image, provision.count, provision.credentials)
            except RuntimeFailure:
                _log.exception("a provisioned instance of %s is not replaced", provision.image.family)

    def _provisioned(self, key: str) -> list[Worker]:
        return [
            worker
            for worker in self._workers.values()
            if worker.provisioned and not worker.retired and worker.image.key == key
        ]

    def _reap_later(self) -> None:
        if not self._reaping:
            self._reaping = True
            self._reap_at(Millis(self._clock.now() + self._settings.idle_s * 1000))

    def _reap_at(self, instant: Millis) -> None:
        self._timers.call_at(instant, "reap", self._reap)

    def _reap(self) -> None:
        """End what has been idle for long enough, and come back when the next one will have been."""
        self._reaping = False
        now = self._clock.now()
        idle_ms = self._settings.idle_s * 1000
        idle = [
            worker
            for worker in self._workers.values()
            if worker.calls == 0 and not worker.provisioned and not worker.companions
        ]
        for worker in idle:
            if now - worker.idle_since >= idle_ms:
                self._retire(worker)
        waiting = [worker.idle_since for worker in idle if now - worker.idle_since < idle_ms]
        if waiting:
            self._reaping = True
            self._reap_at(Millis(min(waiting) + idle_ms))


def _without_means(error: BaseException) -> BaseException:
    """Return what a caller is told when the system has no descriptor, process or memory left to start an instance."""
    if isinstance(error, OSError) and error.errno in _NO_MEANS:
        return InstanceStartFailed(os.strerror(error.errno))
    return error
