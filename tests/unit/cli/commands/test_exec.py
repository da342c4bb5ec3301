"""Signals and the processes that commands start."""

import errno
import os
import signal

import pytest

from emulator.cli.background import postponed
from emulator.cli.commands.exec import CannotRun, ended_by_signals


@pytest.mark.skipif(os.name == "nt", reason="sends POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_postponed_signal_takes_effect_after_the_block(number):
    """What the block does is done whole, and known to what tidies up."""
    done = []

    with pytest.raises(BaseException) as caught, ended_by_signals(), postponed():
        os.kill(os.getpid(), number)
        done.append("all of it")

    assert done == ["all of it"]
    assert caught.type is (SystemExit if number == signal.SIGTERM else KeyboardInterrupt)


def test_without_a_signal_nothing_happens():
    """The handlers of before are back."""
    before = signal.getsignal(signal.SIGTERM)

    with postponed():
        during = signal.getsignal(signal.SIGTERM)

    assert signal.getsignal(signal.SIGTERM) is before is not during


@pytest.mark.parametrize(("there", "code"), [(False, 127), (True, 126)], ids=["missing", "not executable"])
def test_program_that_no_folder_of_the_path_has_is_missing(tmp_path, there, code):
    """Even where the system denies it, because it may not look into one of the folders."""
    if there:
        (tmp_path / "program").touch(mode=0o644)
    path = os.pathsep.join([str(tmp_path / "secret"), str(tmp_path)])

    error = CannotRun("program", PermissionError(errno.EACCES, "Permission denied"), {"PATH": path})

    assert error.exit_code == code
    assert str(error) == f"program: {os.strerror(errno.EACCES if there else errno.ENOENT)}"
