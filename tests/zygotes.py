"""Zygotes of function instances, forked from one process that has loaded what each of them loads (`zygote_parent`).

Loading takes four fifths of what a zygote costs, and hundreds of pools start one each. The forked one runs the same
file with the same arguments, in a session of its own, with the variables, the error stream and the socket that it would
have had; it ends when its owner closes that. Only its parent is another process.
"""

import functools
import os
import subprocess
import sys
from pathlib import Path

from emulator.services.fc.runtime import zygote
from emulator.services.fc.runtime.agent import bootstrap_command, interpreter_environment
from tests import forking

VARIABLE = "LOCALYUN_TESTS_ZYGOTES"
_USUAL = bootstrap_command(sys.executable, "zygote", hook=None)
_FLAGS, _ENTRY = _USUAL[:-2], _USUAL[-2]
_PARENT = str(Path(__file__).with_name("zygote_parent.py"))


def are_forked():
    """Have the zygotes of this interpreter forked, for pools in this process and in those that are forked from it."""
    if hasattr(os, "pidfd_open"):
        server()
        zygote.subprocess = Forking()


@functools.cache
def server():
    """Return the process that forks them."""
    return forking.Server(
        lambda number: [*_FLAGS, _PARENT, str(number), _ENTRY], cwd="/", env=interpreter_environment,
        variable=VARIABLE,
    )  # fmt: skip


class Forking:
    """`subprocess` for the module that starts zygotes."""

    def __getattr__(self, name):
        return getattr(subprocess, name)

    def Popen(self, command, **given):
        """Start *command*, which a process of its own runs where it is another interpreter's."""
        if command[: len(_USUAL)] != _USUAL:
            return subprocess.Popen(command, **given)
        words = command[len(_USUAL) + 1 :]  # without the number of the socket
        asked = {"words": words, "cwd": given["cwd"], "env": given["env"], "apart": given["start_new_session"]}
        null = os.open(os.devnull, os.O_RDWR)
        try:
            return forking.Child(server().start(asked, [null, null, 2, *given["pass_fds"]]), command)
        finally:
            os.close(null)
