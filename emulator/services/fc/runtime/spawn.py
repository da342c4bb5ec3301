"""Starting agents and programs by exec: where there is no fork, and for tests of that way.

An agent connects back to a loopback listener and shows the secret that it was given on its standard input. Standard
output is the log. All of this exists on every system. Nothing looks at a running process here: an agent finds out at
the end of a call that it took too much memory.
"""

import asyncio
import json
import logging
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from emulator.kernel import system
from emulator.kernel.ids import Ids
from emulator.services.fc.runtime.agent import AgentProcess, bootstrap_command, executable_for, interpreter_environment
from emulator.services.fc.runtime.logs import Throttle
from emulator.services.fc.runtime.model import Credentials, InstanceStartFailed, RuntimeUnavailable
from emulator.services.fc.runtime.process import InstanceProcess, Launcher, Listener, Program
from emulator.services.fc.runtime.settings import RuntimeSettings

_log = logging.getLogger(__name__)

_SECRET_DIGITS = 32
_SEQUENCE_DIGITS = 16
_MARK_S = 1.0
_SETTLE_S = 0.002
"""How long to wait for output that was written before an answer and is read a turn of the loop after it."""

Agents = Callable[[Listener], tuple[Program, Mapping[str, Any]]]
"""From an instance to the program its agent is, and more fields of its boot frame."""


class SpawnLauncher(Launcher):
    """A `Launcher` that works everywhere and is slower than forking; for Python unless *agents* says otherwise."""

    def __init__(self, settings: RuntimeSettings, ids: Ids, agents: Agents | None = None) -> None:
        self._settings = settings
        self._ids = ids
        self._agents = agents or self._python_agent
        self._server: asyncio.Server | None = None
        self._opening = asyncio.Lock()
        self._expected: dict[str, asyncio.Future[tuple[asyncio.Transport, bytes]]] = {}
        self._running: set[SpawnedAgent] = set()

    async def launch(self, listener: Listener, credentials: Credentials | None = None) -> InstanceProcess:
        """Start an agent's process for one instance; see `Launcher`."""
        program, more = self._agents(listener)
        loop = asyncio.get_running_loop()
        process = AgentProcess(listener, self._settings, self._ids)
        executable = program.command[0]
        secret = self._ids.secret(_SECRET_DIGITS // 2).hex()
        connected = self._expected[secret] = loop.create_future()
        control = SpawnedAgent(process, connected, self._running.discard)
        try:
            port = await self._listen()
            await loop.subprocess_exec(
                lambda: control,
                *program.command,
                env=dict(program.environment),
                cwd=program.folder,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
            self._running.add(control)
            control.instruct({"host": "127.0.0.1", "port": port, "secret": secret})
            async with asyncio.timeout(self._settings.start_timeout_s):
                transport, rest = await connected
        except OSError as error:
            control.kill()
            raise RuntimeUnavailable(listener.image.runtime, f"{executable} does not start: {error}") from error
        except TimeoutError as error:
            control.kill()
            raise InstanceStartFailed(f"{executable} did not connect in time") from error
        finally:
            self._expected.pop(secret, None)
        transport.set_protocol(process.channel)
        process.channel.connection_made(transport)
        process.attach(control, control.log)
        process.channel.send(process.boot_frame(isolated=False, mark=True, more=more))
        if rest:
            process.channel.feed(rest)
        return process

    async def close(self) -> None:
        """Kill every process and stop listening."""
        if self._server is not None:
            self._server.close()
        for control in list(self._running):
            control.kill()
        for control in list(self._running):
            await control.gone
            control.close()

    def _python_agent(self, listener: Listener) -> tuple[Program, Mapping[str, Any]]:
        executable = executable_for(listener.image.runtime, self._settings.interpreters)
        command = bootstrap_command(executable, "agent", hook=self._settings.redirect_hook)
        return Program(command=tuple(command), folder=Path(), environment=interpreter_environment()), {}

    async def _listen(self) -> int:
        async with self._opening:  # of instances that start at once, one opens it for all
            if self._server is None:
                loop = asyncio.get_running_loop()
                self._server = await loop.create_server(lambda: _Greeting(self._expected), "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port


class ProgramSpawner:
    """A `Forker` that does not fork; programs it starts get no channel."""

    def __init__(self) -> None:
        self._running: set[SpawnedProgram] = set()

    async def isolated(self, runtime: str) -> bool:
        """Whether instances have namespaces: no."""
        return False

    async def execute(self, program: Program, process: InstanceProcess, *, keep_channel: bool) -> None:
        """Start *program*; see `Forker`."""
        assert not keep_channel
        spawned = SpawnedProgram(process, self._running.discard)
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: spawned,
                *program.command,
                cwd=program.folder,
                env=dict(program.environment),
                stdin=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise InstanceStartFailed(f"Failed to start function instance. Error: {error}") from error
        self._running.add(spawned)
        process.attach(spawned, spawned)

    async def close(self) -> None:
        """Kill every program and wait until all have ended."""
        for spawned in list(self._running):
            spawned.kill()
        for spawned in list(self._running):
            await spawned.gone


class _Greeting(asyncio.Protocol):
    """Waits for the secret at the beginning of a connection and hands the connection on."""

    def __init__(self, expected: dict[str, "asyncio.Future[tuple[asyncio.Transport, bytes]]"]) -> None:
        self._expected = expected
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Look the secret up; a connection without one that is expected is closed."""
        self._received += data
        if len(self._received) < _SECRET_DIGITS:
            return
        secret = self._received[:_SECRET_DIGITS].decode("ascii", "replace")
        connected = self._expected.pop(secret, None)
        if connected is None or connected.done():
            self._transport.abort()
        else:
            connected.set_result((self._transport, self._received[_SECRET_DIGITS:]))


class _Spawned(asyncio.SubprocessProtocol):
    """Reaches one spawned process. ``gone`` is resolved when it has ended."""

    def __init__(self, on_close: Callable[[Any], None]) -> None:
        self._on_close = on_close
        self._transport: asyncio.SubprocessTransport | None = None
        self._reaped = False
        self._throttle = Throttle(asyncio.get_running_loop())
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def pid(self) -> int:
        """The process's id."""
        assert self._transport is not None
        return self._transport.get_pid()

    namespaces = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def terminate(self) -> None:
        """Ask the process to end; on Windows that ends it."""
        if system.SESSIONS:
            self._send(signal.SIGTERM, os.kill)
        else:
            self.kill()

    def kill(self) -> None:
        """End the process and its session."""
        if system.SESSIONS:
            self._send(signal.SIGKILL, os.killpg)
            self._send(signal.SIGKILL, os.kill)  # before it has a session of its own
        elif self._transport is not None and self._transport.get_returncode() is None:
            self._transport.kill()

    def watch(self, on: bool) -> None:
        """Do nothing: nothing looks at spawned processes."""

    def close(self) -> None:
        """Close the pipes, which what the process left behind may hold open."""
        if self._transport is not None:
            self._transport.close()
        self._on_close(self)

    def _hold_back(self, fd: int, size: int) -> None:
        """Count output that was read, and stop reading for a while when it is a flood."""
        pause_s = self._throttle.spend(size)
        pipe = self._transport.get_pipe_transport(fd) if self._transport is not None and pause_s > 0 else None
        if isinstance(pipe, asyncio.ReadTransport) and not pipe.is_closing():
            pipe.pause_reading()
            asyncio.get_running_loop().call_later(pause_s, _read_on, pipe)

    def _send(self, number: int, send: Callable[[int, int], None]) -> None:
        # Not the transport's own methods: on Unix they may reap the process behind the back of asyncio's watcher.
        if self._transport is None or self._reaped:
            return
        try:
            send(self._transport.get_pid(), number)
        except ProcessLookupError:
            _log.debug("process %s is gone or has no session", self._transport.get_pid())


def _read_on(pipe: asyncio.ReadTransport) -> None:
    if not pipe.is_closing():
        pipe.resume_reading()


class SpawnedAgent(_Spawned):
    """Reaches the process of an agent, and reads its output."""

    def __init__(
        self,
        process: AgentProcess,
        connected: "asyncio.Future[tuple[asyncio.Transport, bytes]]",
        on_close: Callable[["SpawnedAgent"], None],
    ) -> None:
        super().__init__(on_close)
        self._process = process
        self.log = MarkedLog(process, self.close)
        self._connected = connected

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Pass output on."""
        self._hold_back(fd, len(data))
        self.log.feed(data)

    def process_exited(self) -> None:
        """Report the end."""
        if not self._connected.done():
            self._connected.set_exception(InstanceStartFailed("the interpreter ended before it connected"))
        self._reaped = True
        self.gone.set_result(None)
        self._process.exited(0)

    def instruct(self, order: dict[str, object]) -> None:
        """Write the one line that the process waits for."""
        assert self._transport is not None
        pipe = self._transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport)
        pipe.write(json.dumps(order).encode("utf-8") + b"\n")
        pipe.close()


class SpawnedProgram(_Spawned):
    """Reaches one program, and reads its output; it is its own `LogSource`."""

    def __init__(self, process: InstanceProcess, on_close: Callable[["SpawnedProgram"], None]) -> None:
        super().__init__(on_close)
        self._process = process

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Pass output on."""
        self._hold_back(fd, len(data))
        self._process.output(data)

    def process_exited(self) -> None:
        """Kill the rest of the process's session; report the end when the last output has been read."""
        if system.SESSIONS:
            self._send(signal.SIGKILL, os.killpg)
        self._reaped = True
        asyncio.get_running_loop().call_later(_SETTLE_S, self._report)

    def settle(self, sequence: str, then: Callable[[], None]) -> None:
        """Call *then* when what has been written so far has been read."""
        asyncio.get_running_loop().call_later(_SETTLE_S, then)

    def _report(self) -> None:
        self._process.exited(0)
        self.close()
        self.gone.set_result(None)


class MarkedLog:
    """A log that arrives on a way of its own, in which the agent marks where the output of a call ends.

    A mark is NUL, the call's sequence, newline. Any other NUL is output.
    """

    def __init__(self, process: AgentProcess, release: Callable[[], None]) -> None:
        self._process = process
        self._release = release
        self._held = bytearray()
        self._marked: set[str] = set()
        self._waiting: dict[str, Callable[[], None]] = {}

    def feed(self, data: bytes) -> None:
        """Receive output; pass it on up to each mark, and call the function that waits for the mark."""
        self._held += data
        while self._held:
            at = self._held.find(0)
            if at < 0:
                at = len(self._held)
            if at:
                self._pass_on(at)
            elif not self._take_mark():
                return

    def settle(self, sequence: str, then: Callable[[], None]) -> None:
        """Call *then* when the mark of *sequence* is read, or after 1 s: user code may have closed the log."""
        if sequence in self._marked:
            self._marked.discard(sequence)
            then()
        else:
            self._waiting[sequence] = then
            asyncio.get_running_loop().call_later(_MARK_S, self._go_on, sequence)

    def close(self) -> None:
        """Pass on what is held back and close."""
        if self._held:
            self._pass_on(len(self._held))
        self._release()

    def _pass_on(self, size: int) -> None:
        data = bytes(self._held[:size])
        del self._held[:size]
        self._process.output(data)

    def _take_mark(self) -> bool:
        """Handle the NUL at the front: a mark or output. Return whether enough bytes were there to decide."""
        end = 1 + _SEQUENCE_DIGITS
        if len(self._held) <= end:
            return False
        sequence = bytes(self._held[1:end]).decode("ascii", "replace")
        if self._held[end] != 0x0A or not self._process.expects(sequence):
            self._pass_on(1)
            return True
        del self._held[: end + 1]
        if sequence in self._waiting:
            self._go_on(sequence)
        else:
            self._marked.add(sequence)
        return True

    def _go_on(self, sequence: str) -> None:
        then = self._waiting.pop(sequence, None)
        if then is not None:
            then()
