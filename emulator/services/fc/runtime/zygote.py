"""Starting Python instances by fork: the server's end of the warm process per interpreter.

The zygote is started in the background and started again when it dies. An order to fork carries the instance's ends of
a socket pair and of a log pipe, so nothing is shared with the zygote afterwards.
"""

import asyncio
import logging
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

from emulator.kernel.ids import Ids
from emulator.services.fc.runtime.agent import AgentProcess, bootstrap_command, executable_for, interpreter_environment
from emulator.services.fc.runtime.bootstrap.python import frames
from emulator.services.fc.runtime.bootstrap.python.frames import Header, encode
from emulator.services.fc.runtime.logs import PipeLog
from emulator.services.fc.runtime.model import Credentials, FunctionImage, InstanceStartFailed, RuntimeUnavailable
from emulator.services.fc.runtime.process import InstanceProcess, Listener, LogSource, ProcessControl, Program
from emulator.services.fc.runtime.scratch import mounts_of, root_folder, why_shared
from emulator.services.fc.runtime.settings import RuntimeSettings

_log = logging.getLogger(__name__)

_END_S = 2.0
_UNLIMITED_MB = 2**31


class _ZygoteLost(InstanceStartFailed):
    """The zygote died just now, through no fault of the function that was to start; another one can fork it."""


class ZygoteLauncher:
    """A `Launcher` for Python on systems that can fork."""

    def __init__(self, settings: RuntimeSettings, ids: Ids) -> None:
        self._settings = settings
        self._ids = ids
        self._zygotes: dict[str, Zygote] = {}
        self._ended: list[Zygote] = []
        self._closed = False

    def warm_up(self) -> None:
        """Start the zygote of the emulator's own interpreter."""
        self._zygote(executable_for("python3", {}))

    async def launch(
        self, image: FunctionImage, instance_id: str, listener: Listener, credentials: Credentials | None = None
    ) -> InstanceProcess:
        """Fork an instance; see `Launcher`."""
        process = AgentProcess(listener, self._settings, self._ids)
        executable = executable_for(image.runtime, self._settings.interpreters)
        control, source = await self._fork(
            executable,
            image,
            instance_id,
            process,
            lambda isolated: process.boot_frame(image, instance_id, isolated=isolated, mark=False),
        )
        process.attach(control, source)
        return process

    async def isolated(self, runtime: str) -> bool:
        """Whether instances have namespaces; see `Forker`."""
        return (await self._ready(runtime, executable_for("python3", {}))).isolated

    async def execute(
        self, program: Program, image: FunctionImage, instance_id: str, process: InstanceProcess, *, keep_channel: bool
    ) -> tuple[ProcessControl, LogSource]:
        """Fork and let the new process become *program*; see `Forker`."""
        executable = executable_for("python3", {})
        frame = program.exec_frame(keep_channel=keep_channel)
        return await self._fork(executable, image, instance_id, process, lambda _: frame)

    async def _ready(self, runtime: str, executable: str) -> "Zygote":
        try:
            zygote = self._zygote(executable)
        except OSError as error:
            raise RuntimeUnavailable(runtime, f"{executable} does not start: {error}") from error
        try:
            async with asyncio.timeout(self._settings.start_timeout_s):
                ready = await asyncio.shield(zygote.ready)
        except TimeoutError as error:
            zygote.give_up()  # the next call tries another one
            raise InstanceStartFailed(f"{executable} was not ready in time") from error
        if not ready:
            raise RuntimeUnavailable(runtime, f"{executable} ended before it was ready")
        return zygote

    async def close(self) -> None:
        """End the zygotes, and with them every instance."""
        self._closed = True
        for zygote in [*self._zygotes.values(), *self._ended]:
            await zygote.close()
        self._zygotes.clear()
        self._ended.clear()

    async def _fork(
        self,
        executable: str,
        image: FunctionImage,
        instance_id: str,
        process: InstanceProcess,
        first: Callable[[bool], Header],
    ) -> "tuple[ZygoteControl, LogSource]":
        """Have an instance forked that finds the frame *first* in its channel, by a second zygote if the first is lost.

        *first* is called with whether the instance has namespaces.
        """
        try:
            return await self._fork_once(executable, image, instance_id, process, first)
        except _ZygoteLost:
            return await self._fork_once(executable, image, instance_id, process, first)

    async def _fork_once(
        self,
        executable: str,
        image: FunctionImage,
        instance_id: str,
        process: InstanceProcess,
        first: Callable[[bool], Header],
    ) -> "tuple[ZygoteControl, LogSource]":
        zygote = await self._ready(image.runtime, executable)
        frame = first(zygote.isolated)
        if zygote.isolated and image.container is None:
            frame |= mounts_of(image, self._settings, instance_id, frame)
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        source = _SettledPipe(PipeLog(loop, reading, process.output))
        try:
            control = zygote.fork(image, instance_id, theirs, writing, self._settings.max_processes, process)
            unsent = _send(ours, encode(frame))
            await control.started
            await loop.create_connection(lambda: process.channel, sock=ours)
            process.channel.write(unsent)
        except BaseException as error:
            source.close()
            ours.close()
            if not isinstance(error, _ZygoteLost):
                process.abandon()
            raise
        finally:
            theirs.close()
            os.close(writing)
        return control, source

    def _zygote(self, executable: str) -> "Zygote":
        zygote = self._zygotes.get(executable)
        if zygote is None:
            zygote = self._zygotes[executable] = Zygote(executable, self._settings, self._on_end)
        return zygote

    def _on_end(self, zygote: "Zygote") -> None:
        """Start another one, unless it never worked: then the next launch tries again and reports."""
        if self._closed or self._zygotes.get(zygote.executable) is not zygote:
            return
        del self._zygotes[zygote.executable]
        self._ended.append(zygote)
        if zygote.ready.result():
            _log.warning("the zygote of %s has ended and is started again", zygote.executable)
            try:
                self._zygote(zygote.executable)
            except OSError:
                _log.exception("the zygote of %s does not start again", zygote.executable)


def _send(to: socket.socket, data: bytes) -> bytes:
    """Send what the socket takes at once and return the rest."""
    to.setblocking(False)
    try:
        return data[to.send(data) :]
    except BlockingIOError:
        return data


class ZygoteControl:
    """Reaches one forked process: through its zygote, or directly when that has died."""

    def __init__(self, zygote: "Zygote", number: int, process: InstanceProcess) -> None:
        self._zygote = zygote
        self._number = number
        self._process = process
        self._pid = 0
        self._killed = False
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def pid(self) -> int:
        """The process's id; 0 when it has ended."""
        if not self._zygote.isolated:
            return self._pid
        try:
            children = Path(f"/proc/{self._pid}/task/{self._pid}/children").read_text(encoding="ascii").split()
        except OSError:
            return 0
        return int(children[0]) if children else 0

    @property
    def namespaces(self) -> int:
        """The id of a process whose namespaces are the instance's; 0 when it has none of its own."""
        return self.pid if self._zygote.isolated else 0

    def terminate(self) -> None:
        """Send SIGTERM to the process."""
        if self._zygote.alive:
            self._zygote.command(frames.TERMINATE, self._number)
        else:
            self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL to its session."""
        if self._zygote.alive:
            self._zygote.command(frames.KILL, self._number)
        else:
            self.end()
        self._killed = True

    def end(self) -> None:
        """Send SIGKILL to its session without the zygote."""
        self._signal(signal.SIGKILL)
        asyncio.get_running_loop().call_soon(self._process.exited, 0)

    def watch(self, on: bool) -> None:
        """Have the zygote look at it."""
        self._zygote.command(frames.WATCH if on else frames.UNWATCH, self._number)

    def on_started(self, pid: int) -> None:
        """Take note of the process id."""
        self._pid = pid
        if not self.started.done():
            self.started.set_result(None)

    def on_ended(self, status: int, memory_kb: int, reason: str) -> None:
        """Take note that the process has ended, or that there never was one."""
        if reason == "fork":
            if not self.started.done():
                self.started.set_exception(InstanceStartFailed(f"fork: {os.strerror(status)}"))
            return
        if reason:
            _log.warning("process %s was killed: too much %s", self._pid, reason)
        self._process.exited(memory_kb)

    def on_zygote_lost(self) -> None:
        """Take note that no zygote reaps the process any more; one that runs goes on."""
        if not self.started.done():
            self.started.set_exception(_ZygoteLost("the zygote ended"))
        elif self._killed:
            self.end()

    def _signal(self, number: int) -> None:
        if self._pid <= 0:  # never started; as a group, 0 would be the emulator itself
            return
        try:
            if not self._zygote.isolated:
                os.killpg(self._pid, number)
            elif number == signal.SIGKILL:
                os.kill(self._pid, number)  # the first process of a namespace: all others end with it
            elif self.pid:
                os.kill(self.pid, number)
        except ProcessLookupError:
            _log.debug("process %s is gone already", self._pid)


class Zygote:
    """One running zygote. ``ready`` becomes true when it forks, false when it ended before that.

    Raises: OSError when the interpreter cannot be started.
    """

    def __init__(self, executable: str, settings: RuntimeSettings, on_end: Callable[["Zygote"], None]) -> None:
        self.executable = executable
        self.alive = True
        self.isolated = False
        self._silence_s = settings.zygote_silence_s
        self._silence: asyncio.TimerHandle | None = None
        self._awaited: set[int] = set()
        self._heard_at = 0.0
        self._root = root_folder(settings)
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[bool] = self._loop.create_future()
        self._on_end = on_end
        self._last_number = 0
        self._instances: dict[int, ZygoteControl] = {}
        self._unsent: list[bytes] = []
        self._events = b""
        self._control, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - an argument list of our own
                bootstrap_command(executable, "zygote", str(theirs.fileno()), self._root, hook=settings.redirect_hook),
                env=interpreter_environment(),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except OSError:
            self._control.close()
            raise
        finally:
            theirs.close()
        self._control.setblocking(False)
        self._loop.add_reader(self._control, self._readable)

    def fork(
        self,
        image: FunctionImage,
        instance_id: str,
        channel: socket.socket,
        log: int,
        max_processes: int,
        process: InstanceProcess,
    ) -> ZygoteControl:
        """Have an instance forked; `ZygoteControl.started` has the outcome.

        Raises: InstanceStartFailed.
        """
        self._last_number += 1
        number = self._last_number
        name = instance_id.encode("ascii")
        memory_mb = _UNLIMITED_MB if image.debug else image.memory_mb
        order = frames.COMMAND.pack(frames.LAUNCH, number, memory_mb, max_processes, name)
        try:
            socket.send_fds(self._control, [order], [channel.fileno(), log])
        except BlockingIOError as error:
            raise InstanceStartFailed("the zygote is too busy") from error
        except OSError as error:
            self._end()
            raise _ZygoteLost(f"the zygote takes no orders: {error}") from error
        control = self._instances[number] = ZygoteControl(self, number, process)
        self._expect_event(number)
        return control

    def command(self, command: int, number: int) -> None:
        """Send a command about a running instance."""
        if self.alive and number in self._instances:
            self._unsent.append(frames.COMMAND.pack(command, number, 0, 0, b""))
            self._flush()
            if command == frames.KILL:
                self._expect_event(number)

    async def close(self) -> None:
        """Close the control socket, upon which the zygote ends its instances and itself."""
        self._end()
        deadline = self._loop.time() + _END_S
        while self._process.poll() is None:
            if self._loop.time() > deadline:
                self._process.kill()
                for control in self._instances.values():  # it has not ended them
                    control.end()
            await asyncio.sleep(0.005)

    def _expect_event(self, number: int) -> None:
        """Take note that an event about an instance has to come soon."""
        if not self.alive:
            return
        if not self._awaited:
            self._heard_at = self._loop.time()
        self._awaited.add(number)
        if self._silence is None:
            self._silence = self._loop.call_later(self._silence_s, self._look_for_events)

    def _look_for_events(self) -> None:
        """Replace the zygote when nothing came for too long: a function has stopped it, for instance."""
        self._silence = None
        if self.alive:
            self._readable()  # this loop may have been the slow one
        if not self.alive or not self._awaited:
            return
        left_s = self._heard_at + self._silence_s - self._loop.time()
        if left_s > 0:
            self._silence = self._loop.call_later(left_s, self._look_for_events)
            return
        _log.warning("the zygote of %s does nothing for %g s and is killed", self.executable, self._silence_s)
        self.give_up()

    def give_up(self) -> None:
        """Kill the zygote; the instances it has forked go on, and the next call starts another one."""
        self._process.kill()
        self._end()

    def _readable(self) -> None:
        try:
            data = self._control.recv(64 * 1024)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end()
            return
        self._heard_at = self._loop.time()
        self._events += data
        size = frames.EVENT.size
        whole = len(self._events) // size * size
        events, self._events = self._events[:whole], self._events[whole:]
        for kind, number, value, memory_kb, reason in frames.EVENT.iter_unpack(events):
            self._take(kind, number, value, memory_kb, frames.REASONS[reason])

    def _take(self, kind: int, number: int, value: int, memory_kb: int, reason: str) -> None:
        if kind == frames.READY:
            self.isolated = bool(value)
            if not self.isolated and self._root:
                _log.warning("instances share /tmp and see all processes of this machine: %s", why_shared(self._root))
            if not self.ready.done():
                self.ready.set_result(True)
        elif kind == frames.STARTED:
            self._awaited.discard(number)
            self._instances[number].on_started(value)
        else:
            self._awaited.discard(number)
            self._instances.pop(number).on_ended(value, memory_kb, reason)

    def _flush(self) -> None:
        while self._unsent:
            try:
                self._control.send(self._unsent[0])
            except BlockingIOError:
                self._loop.add_writer(self._control, self._flush)
                return
            except OSError:  # it has died, which reading the socket shows
                self._unsent.clear()
                return
            del self._unsent[0]
        self._loop.remove_writer(self._control)

    def _end(self) -> None:
        if not self.alive:
            return
        self.alive = False
        if self._silence is not None:
            self._silence.cancel()
        self._loop.remove_reader(self._control)
        self._loop.remove_writer(self._control)
        self._control.close()
        if not self.ready.done():
            self.ready.set_result(False)
        for control in self._instances.values():
            control.on_zygote_lost()
        self._on_end(self)


class _SettledPipe:
    """A pipe as the log of a process on this machine: what was written before an answer is there when that arrives."""

    def __init__(self, pipe: PipeLog) -> None:
        self._pipe = pipe

    def settle(self, sequence: str, then: Callable[[], None]) -> None:
        """Read what is there."""
        self._pipe.settle()
        then()

    def close(self) -> None:
        """Read the rest and close."""
        self._pipe.close()
