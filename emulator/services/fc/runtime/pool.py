"""The instances of all functions: which one serves a call, when one is started, kept and ended.

Idle instances of an image are reused, the most recently used first, so that a small load keeps few of them warm. Calls
run in real time. A session has a `Seat` in an instance, which is kept as long as it has one.

Source: instance types and usage modes, Function Compute; the order of reuse is assumed.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from emulator.kernel.clock import Clock
from emulator.kernel.frozen import frozen, replace
from emulator.kernel.ids import Ids
from emulator.kernel.tasks import TaskGroup
from emulator.kernel.turnstile import Turnstile
from emulator.services.fc.runtime.debugger import DebugSession
from emulator.services.fc.runtime.instance import Instance, OnLog
from emulator.services.fc.runtime.model import (
    Credentials,
    FunctionImage,
    InstanceInfo,
    InstanceStartFailed,
    Invocation,
    InvocationResult,
    PortBusy,
    ShellCommand,
    Size,
)
from emulator.services.fc.runtime.outcome import CallNotRead
from emulator.services.fc.runtime.provisions import Provisions
from emulator.services.fc.runtime.reaping import Reaper
from emulator.services.fc.runtime.seating import Seat, check_most, place_for
from emulator.services.fc.runtime.settings import RuntimeSettings
from emulator.services.fc.runtime.starting import Starter

if TYPE_CHECKING:
    from emulator.services.fc.runtime.shell import Shell

_log = logging.getLogger(__name__)

_FREEZE_WAIT_S = 0.25
_STOP_LIMIT_S = 3.0


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

    def __init__(
        self, clock: Clock, ids: Ids, settings: RuntimeSettings, on_log: OnLog, turns: Turnstile | None = None
    ) -> None:
        self._clock = clock
        self._turns = turns or Turnstile()
        self._ids = ids
        self._on_log = on_log
        self._instances: dict[str, Instance] = {}
        self._ready: dict[str, list[Instance]] = {}
        self._freezing: dict[str, list[asyncio.Future[None]]] = {}
        self._ends = 0
        """How often `end_all` has been called."""
        self._starter = Starter(
            clock,
            ids,
            settings,
            self._instances,
            self._retire,
            self._log_output,
            self._on_end,
            self._spawn,
            self._turns,
        )
        self._provisions = Provisions(
            self._instances.values, self._start_provisioned, self._retire, self._spawn, self._clock
        )
        self._reaper = Reaper(clock, settings.idle_s * 1000, self._instances.values, self._retire)

    async def start(self) -> None:
        """Open the pool for calls; called on the loop."""
        self._tasks = TaskGroup("instances")
        self._reaper.open(asyncio.get_running_loop())
        self._starter.open()

    def expect_calls(self) -> None:
        """Start preparing for quick first calls, without waiting; see `Launchers.warm_up`."""
        self._starter.launchers.warm_up()

    def clock_moved(self) -> None:
        """End instances that have been idle for long enough, after the emulator's clock was moved or frozen."""
        self._reaper.clock_moved()

    async def close(self) -> None:
        """End all instances; preStop hooks get three seconds."""
        self._provisions.clear()
        self._reaper.close()
        await asyncio.gather(*(instance.stop(limit_s=_STOP_LIMIT_S) for instance in list(self._instances.values())))
        await self._tasks.close()
        await self._starter.close()

    async def invoke(self, image: FunctionImage, invocation: Invocation, seat: Seat | None = None) -> InvocationResult:
        """Run *image*'s handler in a warm instance, or a new one when none is idle; with a *seat*, in its instance.

        Cancelling means that the client gave up: the call is logged so, and its instance is ended unless it is shared.

        Raises: RuntimeUnavailable; InstanceStartFailed; InstancesExhausted; SeatBusy; RequestBroken;
            ResponseTooLarge.
        """
        written, ends = "", self._ends
        for _ in range(2):
            cold = False
            instance = self._take(image.key) if seat is None else await self._take_seat(image, seat)
            if instance is None:
                instance, cold = await self._obtain(image, invocation.credentials, seat)
            if image.once:
                instance.closed = True
            result = None
            try:
                result = await instance.invoke(invocation, cold=cold)
                return result
            except CallNotRead as error:
                written = str(error)
                instance.retired = True
                if ends != self._ends:
                    break  # what it was to run may not be there any more
                invocation = replace(invocation, repeated=True)
            finally:
                if result is not None and result.stream is not None:
                    result.stream.at_end(partial(self._release, instance))
                else:
                    self._release(instance)
        raise _ended_early(written)

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
        except CallNotRead as error:
            raise _ended_early(str(error)) from None
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

        def ended() -> None:
            self._idles(instance)
            on_end()

        return self._starter.shell(instance, command, on_output, ended)

    async def settle(self, image: FunctionImage, seat: Seat, invocation: Invocation) -> None:
        """Bind *seat* to an instance; a new one is initialized with the keys and under the request id of *invocation*.

        Raises: as `invoke`; InstanceStartFailed when the initializer fails.
        """
        instance, cold = await self._take_seat(image, seat), False
        if instance is None:
            instance, cold = await self._obtain(image, invocation.credentials, seat)
        try:
            if cold and not await instance.prepare(invocation.request_id, invocation.credentials):
                instance.retired = True
                raise InstanceStartFailed("the function failed to initialize")
        except CallNotRead as error:
            instance.retired = True
            raise _ended_early(str(error)) from None
        finally:
            if instance.retired:
                instance.empty()
            self._release(instance)

    def vacate(self, seat: Seat, *, now: bool = False) -> None:
        """Unbind *seat* from its instance for good; an instance for sessions alone ends with the last seat.

        With *now* such an instance ends even though calls run in it: they fail.
        """
        seat.given_up = True
        instance = seat.instance
        if instance is None:
            return
        seat.leave()
        if not instance.alive or instance.seats:
            return
        if not instance.closed:
            self._idles(instance)
        elif instance.calls and now:
            self._tasks.spawn(instance.kill(), f"kill {instance.instance_id}")
        else:
            self._retire(instance)

    async def _obtain(
        self, image: FunctionImage, credentials: Credentials | None, seat: Seat | None = None
    ) -> tuple[Instance, bool]:
        """Return an instance with one call counted in, and whether it was started for that call."""
        while True:
            if seat is not None:
                instance = await self._take_seat(image, seat)
            else:
                instance = await self._take_thawed(image.key) if image.key in self._freezing else self._take(image.key)
            if instance is not None:
                return instance, False
            try:
                return await self._start(image, credentials, seat), True
            except PortBusy as busy:
                await self._starter.wait_for_port(busy.holder)

    async def _take_seat(self, image: FunctionImage, seat: Seat) -> Instance | None:
        """Return where *seat* is, or an instance that takes it, with a call counted in; None when another is needed.

        Raises: SeatBusy.
        """
        while seat.instance is not None and (frozen := seat.instance.frozen) is not None:
            await asyncio.wait([frozen])
        instance = place_for(seat, image, reversed(self._ready.get(image.key, ())))
        if instance is None:
            return None
        if instance is not seat.instance:
            seat.take(instance)
        instance.calls += 1
        if instance.calls >= instance.image.instance_concurrency or instance.closed:
            self._forget_ready(instance)
        return instance

    def retire_family(self, family: str) -> None:
        """End the instances of *family* now, busy ones after the call they are in; provisioned ones too."""
        self._provisions.drop(family)
        for instance in list(self._instances.values()):
            if instance.image.family == family:
                self._retire(instance)

    def end_all(self) -> None:
        """End every instance now: those that work are killed, and their calls fail, whether they were read or not."""
        self._ends += 1
        self._provisions.clear()
        for instance in list(self._instances.values()):
            instance.empty()
            if instance.calls == 0:
                self._retire(instance)
            else:
                self._forget_ready(instance)
                self._tasks.spawn(instance.kill(), f"kill {instance.instance_id}")

    async def provision(self, image: FunctionImage, count: int, credentials: Credentials | None = None) -> int:
        """Keep *count* instances of *image* started and initialized; return how many there are now.

        One that ends is replaced. A lower count ends surplus ones, busy ones after their call.

        Raises: RuntimeUnavailable; InstanceStartFailed; InstancesExhausted.
        """
        return await self._provisions.keep(image, count, credentials)

    def families(self) -> list[str]:
        """Return the families that have living instances, each once, that of the oldest instance first."""
        return list(dict.fromkeys(instance.image.family for instance in self._instances.values()))

    def instances(self, family: str) -> list[InstanceInfo]:
        """Return the living instances of *family*, oldest first."""
        return [instance.info for instance in self._instances.values() if instance.image.family == family]

    def kept_ms(self) -> dict[tuple[str, Size], int]:
        """Return the milliseconds for which instances were kept ready since the start, by function and size."""
        return self._provisions.kept_ms(self._clock.now())

    def numbers(self) -> PoolNumbers:
        """Return the numbers of living instances and their calls."""
        living = self._instances.values()
        return PoolNumbers(
            all=len(living),
            busy=sum(instance.calls > 0 for instance in living),
            provisioned=sum(instance.provisioned for instance in living),
            calls=sum(instance.calls for instance in living),
        )

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._tasks.spawn(work, name)

    def _log_output(self, image: FunctionImage, request_id: str, data: bytes) -> None:
        """Pass a piece of log to *on_log*, whose failure must not become the function's."""
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
        instance = ready[-1] if not self._turns.active else self._chosen(ready)
        instance.calls += 1
        if instance.calls >= instance.image.instance_concurrency:
            ready.pop()
        return instance

    def _chosen(self, ready: list[Instance]) -> Instance:
        """Return the latest used instance, or one that a schedule chooses, and move it to the end of *ready*."""
        latest_first = ready[::-1]
        chosen = self._turns.arranged("instance", latest_first, lambda each: each.instance_id, 1)[0]
        ready.remove(chosen)
        ready.append(chosen)
        return chosen

    async def _take_thawed(self, key: str) -> Instance | None:
        """Wait a moment for an instance whose preFreeze hook runs: it is usually quicker than starting another."""
        await asyncio.wait(self._freezing[key], timeout=_FREEZE_WAIT_S, return_when=asyncio.FIRST_COMPLETED)
        return self._take(key)

    async def _start(self, image: FunctionImage, credentials: Credentials | None, seat: Seat | None = None) -> Instance:
        """Start an instance with one call counted in."""
        if seat is not None:
            check_most(seat, image, self._instances.values())
        instance = await self._starter.new(image)
        if seat is not None:
            seat.take(instance)
        if image.instance_concurrency > 1 and not instance.closed:
            self._ready.setdefault(image.key, []).append(instance)  # calls that come meanwhile share it
        await self._starter.launch(instance, credentials)
        return instance

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
        """Count a call out, however it has ended; retire, freeze or free the instance."""
        was_full = instance.calls >= instance.image.instance_concurrency
        instance.calls -= 1
        if instance.awaited:
            instance.wake()
        if not instance.alive:
            return
        if instance.retired or (instance.closed and not instance.seats):
            self._retire(instance)
            return
        if instance.calls == 0:
            self._idles(instance)
            if instance.image.pre_freeze is not None:
                self._forget_ready(instance)
                instance.calls = 1
                frozen = instance.frozen = asyncio.get_running_loop().create_future()
                self._freezing.setdefault(instance.image.key, []).append(frozen)
                self._tasks.spawn(self._freeze(instance, frozen), f"freeze {instance.instance_id}")
                return
        if was_full and not instance.closed:
            self._ready.setdefault(instance.image.key, []).append(instance)

    def _idles(self, instance: Instance) -> None:
        """Record that *instance* is idle from now on."""
        instance.idle_since = self._clock.now()
        if not self._reaper.armed or instance.image.idle_s:
            self._reaper.arm(instance)

    async def _freeze(self, instance: Instance, frozen: asyncio.Future[None]) -> None:
        waiting = self._freezing[instance.image.key]
        try:
            await instance.freeze()
        finally:
            instance.calls = 0
            instance.wake()
            waiting.remove(frozen)
            if not waiting:
                self._freezing.pop(instance.image.key, None)
            instance.frozen = None
            if instance.retired or (instance.closed and not instance.seats):
                self._retire(instance)
            elif instance.alive and not instance.closed:
                self._ready.setdefault(instance.image.key, []).append(instance)
            frozen.set_result(None)

    def _retire(self, instance: Instance) -> None:
        self._forget_ready(instance)
        if instance.seats and instance.alive and not instance.retired:
            instance.closed = True  # its sessions keep it
            return
        instance.retired = True
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
        instance.empty()
        self._starter.forget(instance)
        instance.wake()
        self._forget_ready(instance)
        if instance.provisioned:
            self._provisions.lost(instance)


def _ended_early(written: str) -> InstanceStartFailed:
    return InstanceStartFailed(f"the process ended before it was ready: {written}".rstrip(": "))
