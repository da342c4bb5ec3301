"""The server's side of a zygote, the warm process per interpreter that forks instances, and of its forked processes."""

import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

from emulator.services.fc.runtime.agent import bootstrap_command, interpreter_environment
from emulator.services.fc.runtime.bootstrap.python import frames
from emulator.services.fc.runtime.model import InstanceStartFailed
from emulator.services.fc.runtime.process import InstanceProcess, Listener
from emulator.services.fc.runtime.settings import RuntimeSettings

_log = logging.getLogger(__name__)

_END_S = 2.0
_UNLIMITED_MB = 2**31


class ZygoteLost(InstanceStartFailed):
    """The zygote died just now, through no fault of the function that was to start; another one can fork it."""


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

    def adopt(self, link: socket.socket) -> None:
        """Ask the zygote to make the process an instance, whose folders are named on *link*."""
        self._zygote.order(frames.ADOPT, self._number, self._process.listener, [link.fileno()])

    def watch(self, on: bool) -> None:
        """Ask the zygote to watch the process."""
        self._zygote.command(frames.WATCH if on else frames.UNWATCH, self._number)

    def on_started(self, pid: int) -> None:
        """Record the process id."""
        self._pid = pid
        if not self.started.done():
            self.started.set_result(None)

    def on_ended(self, status: int, memory_kb: int, reason: str) -> None:
        """Record that the process has ended, or that there never was one."""
        if reason == "fork":
            if not self.started.done():
                self.started.set_exception(InstanceStartFailed(f"fork: {os.strerror(status)}"))
            return
        if reason:
            _log.warning("process %s was killed: too much %s", self._pid, reason)
        self._process.exited(memory_kb, reason)

    def on_zygote_lost(self) -> None:
        """Record that no zygote reaps the process any more; a running process is kept."""
        if not self.started.done():
            self.started.set_exception(ZygoteLost("the zygote ended"))
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
        self._confined = settings.confined
        self._max_processes = settings.max_processes
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
                bootstrap_command(
                    executable,
                    "zygote",
                    str(theirs.fileno()),
                    self._root,
                    json.dumps([str(path) for path in settings.confined]),
                    hook=settings.redirect_hook,
                ),
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

    def fork(self, process: InstanceProcess, channel: socket.socket, log: int) -> ZygoteControl:
        """Ask for a fork of an instance; `ZygoteControl.started` has the outcome.

        Raises: InstanceStartFailed.
        """
        self._last_number += 1
        number = self._last_number
        self.order(frames.LAUNCH, number, process.listener, [channel.fileno(), log])
        control = self._instances[number] = ZygoteControl(self, number, process)
        self._expect_event(number)
        return control

    def order(self, command: int, number: int, instance: Listener, descriptors: list[int]) -> None:
        """Send a command about an instance that comes with descriptors.

        Raises: InstanceStartFailed.
        """
        memory_mb = _UNLIMITED_MB if instance.image.debug else instance.image.memory_mb
        name = instance.instance_id.encode("ascii")
        order = frames.COMMAND.pack(command, number, memory_mb, self._max_processes, name)
        try:
            socket.send_fds(self._control, [order], descriptors)
        except BlockingIOError as error:
            raise InstanceStartFailed("the zygote is too busy") from error
        except OSError as error:
            self._end()
            raise ZygoteLost(f"the zygote takes no orders: {error}") from error

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
        """Record that an event about an instance has to come soon."""
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

    def has_become_ready(self) -> bool:
        """Whether the zygote is ready, after reading its pending events, for which this loop may have been too slow."""
        if self.alive:
            self._readable()
        return self.ready.done() and self.ready.result()

    def give_up(self) -> None:
        """Kill the zygote; the instances it has forked are kept, and the next call starts another zygote."""
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
            if self._confined and self.isolated:
                home = self._confined[0]
                _log.info("isolate: instances can change nothing in %s", home if home.is_dir() else "their code")
            elif self._confined:
                _log.warning("isolate: no effect here, instances can change what you can")
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


def root_folder(settings: RuntimeSettings) -> str:
    """Return an empty folder for ``sandbox.enter``, empty when there are to be no namespaces."""
    if settings.isolation == "none" or settings.scratch is None:
        return ""
    folder = settings.scratch / "root"
    folder.mkdir(exist_ok=True)
    return str(folder)


def why_shared(root: str) -> str:
    """Return why instances have no namespaces, as the zygote has left it beside its root folder."""
    try:
        return Path(root + ".reason").read_text(encoding="utf-8")
    except OSError:
        return "the reason is not known"
