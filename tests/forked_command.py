"""The command ``localyun`` for who starts a program and not a fork: `commands` forks it, with the streams of this one.

A program, its arguments an address and those of the command. It starts in a twentieth of the time of the command, whose
code it ends with; signals that end a command go to that. It becomes the ordinary command where that cannot be forked.
"""

import json
import os
import signal
import socket
import sys

_BYTES = 64
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(address, *words):
    """Have the command forked and wait for its end."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link.connect(f"\0{address}")
    asked = {"words": words, "cwd": os.getcwd(), "env": dict(os.environ), "apart": False}  # noqa: PTH109 - no pathlib
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    socket.send_fds(link, [json.dumps(asked).encode()], [0, 1, 2])
    pid = int(link.recv(_BYTES))
    if not pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        os.execv(sys.executable, [sys.executable, "-m", "emulator", *words])
    for number in _ENDING:
        signal.signal(number, lambda each, _frame: os.kill(pid, each))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    code = int(link.recv(_BYTES))
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


sys.exit(main(*sys.argv[1:]))
