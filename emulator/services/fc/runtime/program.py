"""Programs that instances are made of, apart from the Python agent: how they are called, and how they are started.

Where the zygote forks, a fresh fork becomes the program: it has a session of its own, its log pipe and its limits by
then, and the zygote watches and reaps it like any instance. Elsewhere the loop starts the program by exec.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from emulator.kernel.frozen import frozen
from emulator.services.fc.runtime.framing import Channel
from emulator.services.fc.runtime.instance import FunctionImage
from emulator.services.fc.runtime.python import Control, LogSource


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
