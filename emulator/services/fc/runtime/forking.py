"""Starting instances by fork: the `Launcher` of the Python family, and the `Forker` of programs.

The zygote per interpreter is started in the background and started again when it dies. An order to fork carries the
instance's ends of a socket pair and of a log pipe, so nothing is shared with the zygote afterwards.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable

from emulator.kernel.ids import Ids
from emulator.services.fc.runtime.agent import AgentProcess, executable_for
from emulator.services.fc.runtime.bootstrap.python.frames import Header, encode
from emulator.services.fc.runtime.logs import PipeLog
from emulator.services.fc.runtime.model import Credentials, InstanceStartFailed, RuntimeUnavailable
from emulator.services.fc.runtime.mounts import mounts_of
from emulator.services.fc.runtime.process import InstanceProcess, Launcher, Listener, Program
from emulator.services.fc.runtime.settings import RuntimeSettings
from emulator.services.fc.runtime.zygote import Zygote, ZygoteControl, ZygoteLost

_log = logging.getLogger(__name__)


class ZygoteLauncher(Launcher):
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

    async def launch(self, listener: Listener, credentials: Credentials | None = None) -> InstanceProcess:
        """Fork an instance; see `Launcher`."""
        process = AgentProcess(listener, self._settings, self._ids)
        executable = executable_for(listener.image.runtime, self._settings.interpreters)
        await self._fork(executable, process, lambda isolated: process.boot_frame(isolated=isolated, mark=False))
        return process

    async def isolated(self, runtime: str) -> bool:
        """Whether instances have namespaces; see `Forker`."""
        return (await self._ready(runtime, executable_for("python3", {}))).isolated

    async def execute(self, program: Program, process: InstanceProcess, *, keep_channel: bool) -> None:
        """Fork and let the new process become *program*; see `Forker`.

        One whose listener has no id yet has namespaces and none of an instance's folders.
        """
        frame = program.exec_frame(keep_channel=keep_channel)
        await self._fork(executable_for("python3", {}), process, lambda _: frame)

    async def adopt(self, process: InstanceProcess, program: Program) -> None:
        """Give a process that waits without an instance the folders, limits and id of its listener.

        *program* is what the instance would otherwise be started with; its command and variables say what to mount.

        Raises: InstanceStartFailed; OSError, a TimeoutError when it takes too long.
        """
        control = process.control
        assert isinstance(control, ZygoteControl)
        frame = encode(mounts_of(process.listener, self._settings, program.exec_frame(keep_channel=True)))
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                unsent = _send(ours, frame)
                control.adopt(theirs)
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(self._settings.start_timeout_s):
                if unsent:
                    await loop.sock_sendall(ours, unsent)
                reason = await loop.sock_recv(ours, 4096)
        if reason:
            raise InstanceStartFailed(reason.decode("utf-8", "replace"))

    async def _ready(self, runtime: str, executable: str) -> Zygote:
        try:
            zygote = self._zygote(executable)
        except OSError as error:
            raise RuntimeUnavailable(runtime, f"{executable} does not start: {error}") from error
        try:
            async with asyncio.timeout(self._settings.start_timeout_s):
                ready = await asyncio.shield(zygote.ready)
        except TimeoutError as error:
            if zygote.has_become_ready():
                return zygote
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
        self, executable: str, process: InstanceProcess, first: Callable[[bool], Header], *, again: bool = True
    ) -> None:
        """Have an instance forked that finds the frame *first* in its channel, by a second zygote if the first is lost.

        *first* is called with whether the instance has namespaces; *again* is whether a second may follow.
        """
        instance = process.listener
        zygote = await self._ready(instance.image.runtime, executable)
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        source = PipeLog(loop, reading, process.output)
        try:
            control = zygote.fork(process, theirs, writing)
            frame = first(zygote.isolated)  # made while the zygote works
            if zygote.isolated and instance.instance_id and instance.image.container is None:
                frame |= mounts_of(instance, self._settings, frame)
            unsent = _send(ours, encode(frame))
            await control.started
            await loop.create_connection(lambda: process.channel, sock=ours)
            process.channel.write(unsent)
        except BaseException as error:
            source.close()
            ours.close()
            if not isinstance(error, ZygoteLost):
                process.abandon()
            elif again:
                await self._fork(executable, process, first, again=False)
                return
            raise
        finally:
            theirs.close()
            os.close(writing)
        process.attach(control, source)

    def _zygote(self, executable: str) -> Zygote:
        zygote = self._zygotes.get(executable)
        if zygote is None:
            zygote = self._zygotes[executable] = Zygote(executable, self._settings, self._on_end)
        return zygote

    def _on_end(self, zygote: Zygote) -> None:
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
