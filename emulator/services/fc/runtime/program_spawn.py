"""Starting programs by exec from the loop: where there is no fork. Nothing here looks at what they use."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable

from emulator.services.fc.runtime.instance import FunctionImage, InstanceStartFailed
from emulator.services.fc.runtime.program import Forked, Program, ProgramControl
from emulator.services.fc.runtime.python import LogSource

_log = logging.getLogger(__name__)

_SETTLE_S = 0.002
"""Output that was written before an answer may be read a turn of the loop after it."""


class ProgramSpawner:
    """A `Forker` that does not fork; programs it starts get no channel."""

    def __init__(self) -> None:
        self._running: set[SpawnedProgram] = set()

    async def execute(
        self, program: Program, image: FunctionImage, instance_id: str, process: Forked, *, keep_channel: bool
    ) -> tuple[ProgramControl, LogSource]:
        """Start *program*; see `Forker`."""
        del image, instance_id
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
            process.abandon()
            raise InstanceStartFailed(f"Failed to start function instance. Error: {error}") from error
        self._running.add(spawned)
        return spawned, spawned

    async def close(self) -> None:
        """Kill every program and wait until all have ended."""
        for spawned in list(self._running):
            spawned.kill()
        for spawned in list(self._running):
            await spawned.gone


class SpawnedProgram(asyncio.SubprocessProtocol):
    """Reaches one program, and reads its output. ``gone`` is resolved when it has ended."""

    def __init__(self, process: Forked, on_end: Callable[["SpawnedProgram"], None]) -> None:
        self._process = process
        self._on_end = on_end
        self._transport: asyncio.SubprocessTransport | None = None
        self._ended = False
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def pid(self) -> int:
        """The process's id."""
        assert self._transport is not None
        return self._transport.get_pid()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Pass output on."""
        self._process.output(data)

    def process_exited(self) -> None:
        """End what is left of the session; report the end when the last output has been read."""
        self.kill()
        self._ended = True
        asyncio.get_running_loop().call_later(_SETTLE_S, self._report)

    def _report(self) -> None:
        self._process.exited(0)
        self.close()
        self._on_end(self)
        self.gone.set_result(None)

    def terminate(self) -> None:
        """Ask the program to end; on Windows that ends it."""
        if os.name == "posix":
            self._send(signal.SIGTERM, os.kill)
        else:
            self.kill()

    def kill(self) -> None:
        """End the program and its session."""
        if os.name == "posix":
            self._send(signal.SIGKILL, os.killpg)
        elif self._transport is not None and self._transport.get_returncode() is None:
            self._transport.kill()

    def watch(self, on: bool) -> None:
        """Do nothing: nobody looks at spawned processes."""

    def settle(self, sequence: str, then: Callable[[], None]) -> None:
        """Call *then* when what has been written so far has been read."""
        asyncio.get_running_loop().call_later(_SETTLE_S, then)

    def close(self) -> None:
        """Close the pipes, which what the program left behind may hold open."""
        if self._transport is not None:
            self._transport.close()

    def _send(self, number: int, send: Callable[[int, int], None]) -> None:
        # Not the transport's own methods: on Unix they may reap the process behind the back of asyncio's watcher.
        if self._transport is None or self._ended:
            return
        try:
            send(self._transport.get_pid(), number)
        except ProcessLookupError:
            _log.debug("process %s is gone", self._transport.get_pid())
