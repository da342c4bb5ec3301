"""The process of an instance as the server sees it: calls in, answers, output and its end out.

`InstanceProcess` is what all families share; subclasses define how a call reaches the code, in frames or over HTTP
(``agent.py``, ``custom.py``, ``runtime_api.py``), and launchers how signals reach the process.
"""

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from emulator.kernel import system
from emulator.kernel.frozen import frozen
from emulator.services.fc.runtime.bootstrap.python.frames import BrokenFrame, FrameBuffer, Header, encode
from emulator.services.fc.runtime.logs import Marker
from emulator.services.fc.runtime.model import Credentials, FunctionImage, HttpAnswer, Invocation
from emulator.services.fc.runtime.streaming import StreamedBody


class CallKind(NamedTuple):
    """A kind of call to an instance, as agents, programs and the log know it.

    ``marker`` is its word in the log, None for one that leaves no lines; a program gets it as a request of ``method``
    for ``path``, with ``number`` as its ``x-fc-function-type``. After an answer of 500 to one that ``freezes`` the
    platform starts the instance anew.
    """

    name: str
    marker: Marker | None
    method: str
    path: str
    number: str
    freezes: bool = False


INVOKE: Final = CallKind("invoke", "Invoke", "POST", "/invoke", "0")
INITIALIZE: Final = CallKind("initialize", "Initialize", "POST", "/initialize", "1")
PRE_STOP: Final = CallKind("pre_stop", "PreStop", "GET", "/pre-stop", "2", freezes=True)
PRE_FREEZE: Final = CallKind("pre_freeze", "PreFreeze", "GET", "/pre-freeze", "3", freezes=True)
LOAD: Final = CallKind("load", None, "", "", "")
"""Makes an agent import the handler's code and do nothing else; the first call reports what goes wrong. Programs, which
load their code when they start, never get it."""

_CHUNK = 16 * 1024


@frozen
class Answer:
    """The process answered.

    ``over_memory`` means it needed more than it may; ``size`` is that of the whole body; ``handled`` that the function
    itself reported its failure; ``stream`` stands for a body that the function still writes.
    """

    succeeded: bool
    body: bytes
    duration_ms: float
    memory_kb: int
    over_memory: bool
    size: int
    http: HttpAnswer | None = None
    handled: bool = False
    stream: StreamedBody | None = None


@frozen
class Exit:
    """The process ended without an answer.

    ``unread`` means that it never read the call, and ``written`` is its last output, if known; ``fatal`` is why it
    could not start.
    """

    memory_kb: int
    unread: bool = False
    fatal: str = ""
    written: str = ""


Pending = asyncio.Future[Answer | Exit]


class Listener(Protocol):
    """The instance that a process is for, which hears what happens in it apart from answers."""

    image: FunctionImage
    instance_id: str

    def output(self, data: bytes, request_id: str | None) -> None:
        """The process wrote to its log; the request is None when only the time says whose output it is."""
        ...

    def listening(self, port: int) -> None:
        """A debugger in the process listens on that port of the loopback interface."""
        ...

    def ended(self, memory_kb: int) -> None:
        """The process has ended, having used that much at most; called once, when its pending calls are resolved."""
        ...


class ProcessControl(Protocol):
    """How signals reach a process."""

    @property
    def pid(self) -> int:
        """The process's id."""
        ...

    @property
    def namespaces(self) -> int:
        """The id of a process whose namespaces are the instance's; 0 when it has none of its own."""
        ...

    def terminate(self) -> None:
        """Send SIGTERM to the process."""
        ...

    def kill(self) -> None:
        """Send SIGKILL to its whole session."""
        ...

    def watch(self, on: bool) -> None:
        """Start or stop watching what the process uses."""
        ...


class LogSource(Protocol):
    """Where the output of a process is read; it is passed to `InstanceProcess.output`."""

    def settle(self, sequence: str, then: Callable[[], None]) -> None:
        """Pass on everything written before the answer of that sequence, and then call *then*."""
        ...

    def close(self) -> None:
        """Pass on the rest and close."""
        ...


class Channel(asyncio.BufferedProtocol):
    """The server's end of an instance's channel, over any stream transport; each frame received goes to *on_frame*.

    *on_lost* is called once, with the error (None at a clean end), when the other end is gone or has sent what is no
    frame, or more payload than *payload_limit* bytes.
    """

    def __init__(
        self,
        on_frame: Callable[[Header, bytes], None],
        on_lost: Callable[[Exception | None], None],
        payload_limit: int,
    ) -> None:
        self._on_frame = on_frame
        self._on_lost = on_lost
        self._buffer = FrameBuffer(payload_limit)
        self._transport: asyncio.Transport | None = None
        self._broken: Exception | None = None
        self._ended = asyncio.get_running_loop().create_future()
        # One buffer for all reads: a fresh one of the transport's size costs a system call to get and one to free.
        self._chunk = memoryview(bytearray(_CHUNK))
        self.received = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer into which the transport reads."""
        return self._chunk

    def buffer_updated(self, nbytes: int) -> None:
        """Hand on every frame that is complete now."""
        self.feed(self._chunk[:nbytes])

    def feed(self, data: bytes | memoryview) -> None:
        """Handle *data* as if it had been received."""
        self.received += len(data)
        self._buffer.feed(data)
        try:
            while self._broken is None and (frame := self._buffer.next()) is not None:
                self._on_frame(*frame)
        except BrokenFrame as error:
            self._broken = error
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the end, after what was sent before it."""
        transport, self._transport = self._transport, None
        if (
            isinstance(exc, ConnectionError) and transport is not None
        ):  # a write found the other end gone, before a read
            self._read_rest(transport.get_extra_info("socket"))
        self._ended.set_result(None)
        self._on_lost(self._broken or exc)

    def _read_rest(self, sock: Any) -> None:
        with suppress(OSError):  # nothing is left, or the system does not read sockets as files
            while self._broken is None and (data := os.read(sock.fileno(), _CHUNK)):
                self.feed(data)

    async def hear_out(self, limit_s: float) -> None:
        """Wait for the frames that a process sent before it ended, for *limit_s* seconds at most."""
        if self._transport is not None:
            await asyncio.wait({self._ended}, timeout=limit_s)

    def send(self, header: dict[str, Any], payload: bytes = b"") -> None:
        """Send one frame; does nothing when the other end is gone, which `on_lost` reports."""
        self.write(encode(header, payload))

    def write(self, data: bytes) -> None:
        """Send bytes of frames, as `send` does."""
        if self._transport is not None:
            self._transport.write(data)

    def pause(self) -> None:
        """Stop reading, so that the other end has to wait."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        """Close this end."""
        if self._transport is not None:
            self._transport.abort()


class InstanceProcess(ABC):
    """A running process that performs calls. ``gone`` is resolved when it has ended."""

    def __init__(self, listener: Listener, payload_limit: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.listener = listener
        self.control: ProcessControl | None = None
        self._log: LogSource | None = None
        self._watchers = 0
        self._memory_kb = 0
        self._fatal = ""
        self._lost = False
        self._over = False
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self.channel = Channel(self._on_frame, self._on_lost, payload_limit)

    def attach(self, control: ProcessControl, log: LogSource) -> None:
        """Set how signals reach the process and where its output is read; if it has ended already, read the rest."""
        self.control = control
        self._log = log
        if self.gone.done():
            log.close()

    @property
    def namespaces(self) -> int:
        """The id of a process whose namespaces are the instance's; 0 when it has none of its own."""
        return control.namespaces if (control := self._running) is not None else 0

    def unserved_s(self) -> float:
        """Return how many seconds the process has been ready to run and got no processor; 0 when it has ended."""
        return system.unserved_s(control.pid) if (control := self._running) is not None else 0.0

    @property
    def _running(self) -> ProcessControl | None:
        return None if self.gone.done() else self.control

    @property
    def outdated(self) -> bool:
        """Whether the process sees another time than one that starts now, and its time cannot be changed."""
        return False

    async def turn_clock(self) -> None:  # noqa: B027 - most families see a time from their start on
        """Set the process's time to the emulator's, before a call begins and with it the deadline."""

    @abstractmethod
    def begin(self, kind: CallKind, call: Invocation) -> Pending:
        """Hand over a call.

        The future is resolved in any case, at the latest when the process ends, and after everything that the call
        wrote has been passed to the listener.
        """

    def watch(self, on: bool) -> None:
        """Start or stop watching the process, which is killed when it uses too much; on as long as any caller wants."""
        self._watchers += 1 if on else -1
        if self._watchers == int(on) and (control := self._running) is not None:
            control.watch(on)

    def terminate(self) -> None:
        """Ask the process to end (SIGTERM), which makes it log what it was doing."""
        if (control := self._running) is not None:
            control.terminate()

    def kill(self) -> None:
        """End the process and all that it started."""
        if (control := self._running) is not None:
            control.kill()

    @abstractmethod
    def abandon(self) -> None:
        """Abandon a process whose start failed; its listener is not called again."""

    def output(self, data: bytes) -> None:
        """Receive bytes of the log pipe."""
        self.listener.output(data, None)

    @abstractmethod
    def exited(self, memory_kb: int, reason: str = "") -> None:
        """Record that the process has ended; frames it has sent are still delivered.

        *memory_kb* is its peak memory, *reason* the limit that it was killed for: ``memory``, ``processes``, or "".
        """

    @abstractmethod
    def _on_frame(self, header: Header, payload: bytes) -> None:
        """Take a frame of the process."""

    def _on_lost(self, error: Exception | None) -> None:
        """Record that the channel has closed."""
        self._lost = True


class Launcher(ABC):
    """Starts the processes of one family of runtimes."""

    @abstractmethod
    async def launch(self, listener: Listener, credentials: Credentials | None = None) -> InstanceProcess:
        """Start a process for *listener*; *credentials* are for families that do not get those of each call.

        Raises: RuntimeUnavailable; InstanceStartFailed.
        """

    @abstractmethod
    async def close(self) -> None:
        """End every process that was launched, unless its forker does, and release what was prepared."""


@frozen
class Program:
    """A command line, the folder it is run in and all of its environment."""

    command: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]

    def exec_frame(self, *, keep_channel: bool) -> dict[str, Any]:
        """Return the frame that makes a forked process this program.

        With *keep_channel* its last argument is the descriptor of the channel; otherwise the channel closes when the
        program runs.
        """
        return {
            "do": "exec",
            "command": list(self.command),
            "folder": str(self.folder),
            "environment": dict(self.environment),
            "keep_channel": keep_channel,
        }


class Forker(Protocol):
    """Forks processes and makes programs of them."""

    async def isolated(self, runtime: str) -> bool:
        """Whether instances have namespaces, so that ``/tmp`` is their own.

        Raises: RuntimeUnavailable; InstanceStartFailed.
        """
        ...

    async def execute(self, program: Program, process: InstanceProcess, *, keep_channel: bool) -> None:
        """Start *program* and attach it to *process*.

        A program that cannot be executed is reported by a ``fatal`` frame.

        Raises: RuntimeUnavailable; InstanceStartFailed.
        """
        ...
