"""The seam between the pool and a family of runtimes: a `Launcher` starts processes, a `Forker` programs.

The Python family has two launchers, one that forks (``zygote.py``) and one that starts by exec (``spawn.py``). A family
whose code is driven in another way, by HTTP on a port for instance, brings a launcher and a process of its own;
instances and pool stay as they are.

Programs are what instances are made of, apart from the Python agent. Where the zygote forks, a fresh fork becomes the
program: it has a session of its own, its log pipe and its limits by then, and the zygote watches and reaps it like any
instance. Elsewhere the loop starts the program by exec.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from emulator.kernel.frozen import frozen
from emulator.services.fc.runtime.model import Credentials, FunctionImage
from emulator.services.fc.runtime.process import InstanceProcess, Listener, LogSource, ProcessControl


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

    async def execute(
        self, program: Program, image: FunctionImage, instance_id: str, process: InstanceProcess, *, keep_channel: bool
    ) -> tuple[ProcessControl, LogSource]:
        """Start *program* as an instance of *image*.

        A program that cannot be executed is reported by a ``fatal`` frame.

        Raises: RuntimeUnavailable; InstanceStartFailed.
        """
        ...
