"""Running somebody else's program so that callers of this one see no difference: streams, signals and exit code."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

from emulator.cli.failures import CommandFailed

NOT_EXECUTABLE = 126
NOT_FOUND = 127
"""What shells report for programs that cannot be run."""

_PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_OF_THE_TERMINAL = ("SIGINT", "SIGQUIT")


class CannotRun(CommandFailed):
    """The program is missing or not executable; ``exit_code`` is what a shell would report."""

    def __init__(self, program: str, error: OSError) -> None:
        super().__init__(f"{program}: {error.strerror}")
        self.exit_code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE


def become(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run *command* in place of this process, so that even SIGKILL reaches it; returns only on Windows.

    Raises: CannotRun.
    """
    if os.name == "nt":  # exec starts another process there and ends this one at once
        return run(command, environ)
    for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them, and what is ignored stays so in the new program
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(command[0], list(command), dict(environ))  # noqa: S606 - running it is what the user asked for
    except OSError as error:
        raise CannotRun(command[0], error) from error


def run(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run *command* and return its exit code, 128 and the signal's number when a signal ended it.

    Raises: CannotRun.
    """
    with _passing_on() as receivers:
        try:
            process = subprocess.Popen(command, env=dict(environ))  # noqa: S603 - running it is what the user asked for
        except OSError as error:
            raise CannotRun(command[0], error) from error
        receivers.append(process)
        code = process.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Within the block SIGTERM and SIGHUP end this process by an exception, as Ctrl-C does, so that it can tidy up."""

    def end(number: int, frame: FrameType | None) -> None:
        del frame
        raise SystemExit(128 + number)

    with _handling(("SIGTERM", "SIGHUP"), end):
        yield


@contextmanager
def postponed() -> Iterator[None]:
    """Let signals that are meant to end this process take effect only when the block is over; main thread only."""
    came: list[int] = []
    with _handling(("SIGINT", "SIGTERM", "SIGHUP"), lambda number, frame: came.append(number)):
        yield
    for number in came:
        signal.raise_signal(number)


@contextmanager
def _passing_on() -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Give signals to the processes put into the list, but for those a terminal has given to them already."""
    receivers: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        del frame
        if signal.Signals(number).name not in _OF_THE_TERMINAL or not _is_in_foreground():
            for process in receivers:
                process.send_signal(number)

    with _handling(_PASSED_ON, pass_on):
        yield receivers


@contextmanager
def _handling(names: Sequence[str], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle those of the signals that this system has, for the length of the block."""
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = [(number, signal.signal(number, handler)) for number in numbers]
    try:
        yield
    finally:
        for number, usual in before:
            signal.signal(number, usual)


def _is_in_foreground() -> bool:
    """Tell whether a terminal sends its Ctrl-C to this process and to its children."""
    try:
        terminal = os.open(os.ctermid(), os.O_RDONLY | os.O_NOCTTY)
    except (AttributeError, OSError):  # Windows, where consoles always do; or no terminal
        return os.name == "nt"
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
