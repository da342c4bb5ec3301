"""The seam between the pool and a family of runtimes: a launcher starts processes, a process performs calls.

The Python family has two launchers, one that forks (``zygote.py``) and one that starts by exec (``spawn.py``). A family
whose code is driven in another way, by HTTP on a port for instance, brings a launcher and a process of its own; worker
and pool stay as they are.
"""

import asyncio
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Protocol

from emulator.kernel.frozen import frozen
from emulator.services.fc.runtime.agent import Control, LogSource
from emulator.services.fc.runtime.channel import Channel
from emulator.services.fc.runtime.model import Credentials, FunctionImage, HttpAnswer, HttpCall, StreamedBody

CallKind = Literal["invoke", "initialize", "load", "pre_freeze", "pre_stop"]
"""``load`` makes an agent import the handler's code and do nothing else; what goes wrong is told by the first call."""


@frozen
class Call:
    """One call as the process gets it. ``keys`` are id, secret and token of the role, None when there are none."""

    kind: CallKind
    request_id: str
    event: bytes = b""
    qualifier: str = "LATEST"
    retry_count: int = 0
    keys: tuple[str, str, str] | None = None
    tracing: Mapping[str, str]
    http: HttpCall | None = None
    stream: bool = False


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
    """The process ended instead. ``unread`` tells that it never saw the call; ``fatal`` why it could not start."""

    memory_kb: int
    unread: bool = False
    fatal: str = ""


class Listener(Protocol):
    """Who is told what happens in a process apart from answers."""

    def output(self, data: bytes, request_id: str | None) -> None:
        """The process wrote to its log; the request is None when only the time tells whose output it is."""
        ...

    def listening(self, port: int) -> None:
        """A debugger in the process listens on that port of the loopback interface."""
        ...

    def ended(self, memory_kb: int) -> None:
        """The process has ended, having used that much at most; called once, when its pending calls are resolved."""
        ...


class InstanceProcess(Protocol):
    """A running process that performs calls."""

    def begin(self, call: Call) -> "asyncio.Future[Answer | Exit]":
        """Hand over a call.

        The future is resolved in any case, at the latest when the process ends, and after everything that the call
        wrote has been passed to the listener.
        """
        ...

    def watch(self) -> None:
        """From now on look regularly at what the process uses and kill it when that is too much."""
        ...

    def unwatch(self) -> None:
        """Take back one `watch`."""
        ...

    def terminate(self) -> None:
        """Ask the process to end (SIGTERM), which makes it log what it was doing."""
        ...

    def kill(self) -> None:
        """End the process and all that it started."""
        ...


class Launcher(Protocol):
    """Starts the processes of one family of runtimes."""

    def warm_up(self) -> None:
        """Prepare in the background, so that the first launch is quick."""
        ...

    async def launch(
        self, image: FunctionImage, instance_id: str, listener: Listener, credentials: Credentials | None = None
    ) -> InstanceProcess:
        """Start a process for *image*; *credentials* are for families that do not get those of each call.

        Raises: RuntimeUnavailable; InstanceStartFailed.
        """
        ...

    async def close(self) -> None:
        """End every process that was launched and release what `warm_up` prepared."""
        ...


def boot_frame(image: FunctionImage, environment: dict[str, str], log_level: str) -> dict[str, Any]:
    """Return what an agent is told before its first call."""
    return {
        "do": "boot",
        "name": image.function,
        "handler": image.handler,
        "initialize": image.initializer,
        "pre_freeze": image.pre_freeze,
        "pre_stop": image.pre_stop,
        "memory": image.memory_mb,
        "timeout": image.timeout_s,
        "service": image.service,
        "version": image.version,
        "region": image.region,
        "account": image.account,
        "log_project": image.log_project,
        "log_store": image.log_store,
        "modern_context": _version_of(image.runtime) >= (3, 12),
        "text_event": image.runtime == "python2.7",
        "code_dir": str(image.code_dir),
        "layers": [str(layer) for layer in image.layers],
        "environment": environment,
        "log_level": log_level,
        "concurrency": image.instance_concurrency,
        "keys_in_environment": image.keys_in_environment,
        "keys_in_calls": image.keys_in_calls,
        "debug": image.debug,
        "debug_folder": debugpy_folder() if image.debug else "",
    }


def debugpy_folder() -> str:
    """Return the folder in which debugpy is installed, empty when it is not."""
    found = find_spec("debugpy")
    return str(Path(found.origin).parent.parent) if found is not None and found.origin else ""


def _version_of(runtime: str) -> tuple[int, ...]:
    digits = runtime.removeprefix("python").split(".")
    return tuple(int(part) for part in digits) if all(part.isdigit() for part in digits) else ()


@frozen
class Program:
    """A command line, the folder it is run in and all of its environment."""

    command: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]

    def order(self, *, keep_channel: bool) -> dict[str, Any]:
        """Return the frame that makes a forked process this program.

        With *keep_channel* its last argument is the descriptor of the channel; otherwise the channel closes when the
        program runs.
        """
        return {
            "do": "become",
            "command": list(self.command),
            "folder": str(self.folder),
            "environment": dict(self.environment),
            "keep_channel": keep_channel,
        }


class Forked(Protocol):
    """The server's side of a forked process; ``channel`` leads to it."""

    channel: Channel

    def output(self, data: bytes) -> None:
        """Take in what it wrote."""
        ...

    def exited(self, memory_kb: int) -> None:
        """Take note that it has ended, having used that much at most."""
        ...

    def abandon(self) -> None:
        """Let go of it: its start failed."""
        ...


class ProgramControl(Control, Protocol):
    """How signals reach a program."""

    @property
    def pid(self) -> int:
        """The process's id."""
        ...


class Forker(Protocol):
    """Forks processes and makes programs of them."""

    async def execute(
        self, program: Program, image: FunctionImage, instance_id: str, process: Forked, *, keep_channel: bool
    ) -> tuple[ProgramControl, LogSource]:
        """Start *program* as an instance of *image*.

        A program that cannot be executed is told by a ``fatal`` frame.

        Raises: RuntimeUnavailable; InstanceStartFailed.
        """
        ...
