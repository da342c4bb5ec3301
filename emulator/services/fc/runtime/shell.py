"""A command run beside an instance, as if logged in to it: same folder, same variables, and it ends with the instance.

It sees what the function sees: the instance's own files and processes where it has namespaces, else the machine's.
"""

import asyncio
import errno
import fcntl
import os
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping
from pathlib import Path

from emulator.kernel import system
from emulator.services.fc.runtime.agent import bootstrap_command
from emulator.services.fc.runtime.model import ShellCommand

STDOUT = 1
STDERR = 2

_PIECE = 32 * 1024

OnOutput = Callable[[int, bytes], None]


class Shell:
    """One running command. *on_output* gets what it writes, *on_end* is called once, when the command has ended.

    It is in the namespaces of the process *beside*, unless that is 0.

    Raises: OSError when there is no such program.
    """

    def __init__(
        self,
        command: ShellCommand,
        folder: Path,
        environment: Mapping[str, str],
        on_output: OnOutput,
        on_end: Callable[[], None],
        beside: int = 0,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_output = on_output
        self._on_end = on_end
        self._readers: dict[int, int] = {}
        self._paused = False
        self._over = False
        self._input = -1
        self._unsent = b""
        words = list(command.command)
        if beside:
            _check(words[0], environment)
            words = [*bootstrap_command(sys.executable, "sandbox", str(beside), str(folder), hook=None), *words]
            folder = Path("/")
        if command.tty:
            self._process = self._start_terminal(command, words, folder, environment)
        else:
            self._process = self._start_pipes(command, words, folder, environment)

    def write(self, data: bytes) -> None:
        """Give *data* to the command; nothing is read from a command without stdin."""
        if self._input < 0:
            return
        self._unsent += data
        self._flush()

    def resize(self, columns: int, rows: int) -> None:
        """Give a terminal its new size."""
        if self._readers and self._input in self._readers:
            fcntl.ioctl(self._input, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def pace(self, go: bool) -> None:
        """Stop reading the command's output (False), or resume it (True)."""
        if self._paused == (not go):
            return
        self._paused = not go
        for descriptor in self._readers:
            if go:
                self._loop.add_reader(descriptor, self._read, descriptor)
            else:
                self._loop.remove_reader(descriptor)

    def _start_terminal(
        self, command: ShellCommand, words: list[str], folder: Path, environment: Mapping[str, str]
    ) -> "subprocess.Popen[bytes]":
        ours, theirs = os.openpty()
        try:
            process = subprocess.Popen(  # noqa: S603 - the owner of the function runs what they like
                words,
                cwd=folder,
                env={"TERM": "xterm", **environment},
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                start_new_session=True,
            )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        self._watch(ours, STDOUT)
        self._input = ours if command.stdin else -1
        return process

    def _start_pipes(
        self, command: ShellCommand, words: list[str], folder: Path, environment: Mapping[str, str]
    ) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(  # noqa: S603 - as above
            words,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE if command.stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE if command.stdout else subprocess.DEVNULL,
            stderr=subprocess.PIPE if command.stderr else subprocess.DEVNULL,
            start_new_session=True,
        )
        for stream, channel in ((process.stdout, STDOUT), (process.stderr, STDERR)):
            if stream is not None:
                self._watch(_own(stream), channel)
        if process.stdin is not None:
            self._input = _own(process.stdin)
            os.set_blocking(self._input, False)
        if not self._readers:  # no stream shows when it ends, and no caller listens
            self._loop.call_soon(self.end)
        return process

    def _watch(self, descriptor: int, channel: int) -> None:
        os.set_blocking(descriptor, False)
        self._readers[descriptor] = channel
        self._loop.add_reader(descriptor, self._read, descriptor)

    def _read(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, _PIECE)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.EIO:  # how a terminal reports that its other end is closed
                raise
            data = b""
        if data:
            self._on_output(self._readers[descriptor], data)
            return
        self._loop.remove_reader(descriptor)
        del self._readers[descriptor]
        if descriptor != self._input:
            os.close(descriptor)
        if not self._readers:
            self.end()

    def _flush(self) -> None:
        while self._unsent:
            try:
                sent = os.write(self._input, self._unsent)
            except BlockingIOError:
                self._loop.add_writer(self._input, self._flush)
                return
            except OSError:  # it reads no more
                self._unsent = b""
                break
            self._unsent = self._unsent[sent:]
        self._loop.remove_writer(self._input)

    def end(self) -> None:
        """End the command and all processes it has started."""
        if self._over:
            return
        self._over = True
        for descriptor in {*self._readers, self._input} - {-1}:
            self._loop.remove_reader(descriptor)
            self._loop.remove_writer(descriptor)
            os.close(descriptor)
        self._readers.clear()
        self._input = -1
        if self._process.poll() is None:
            system.end_session(self._process.pid)
            self._loop.run_in_executor(None, self._process.wait)
        self._on_end()


def _own(stream: object) -> int:
    """Return a descriptor of our own for a pipe, which asyncio reads, and no buffer."""
    fileno = os.dup(stream.fileno())  # type: ignore[attr-defined]  # a pipe of a Popen
    stream.close()  # type: ignore[attr-defined]  # as above
    return fileno


def _check(program: str, environment: Mapping[str, str]) -> None:
    """Look for a program ahead of the process that enters the namespaces, which could only end.

    Raises: FileNotFoundError.
    """
    if "/" not in program and shutil.which(program, path=environment.get("PATH")) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)
