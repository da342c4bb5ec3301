"""A program of a function for who starts a program and not a fork: `commands.parent` of what it loads forks it.

A program, its arguments the parent's address, a file of code and that code's arguments. It ends as the fork does, and
the fork with it, whatever has ended it. The fork has the variables and the output of an instance, and is outside of its
namespaces: it is for what calls a function by its port.
"""

import json
import os
import socket
import sys

_BYTES = 64
_ENDING = """
import os, threading
threading.Thread(target=lambda: os.read(0, 1) or os._exit(1), daemon=True).start()
"""
"""Before the code: what reads the end of the input, whose other end this program has, ends the fork."""


def main(address, file, *words):
    """Have the code forked and wait for its end."""
    with open(file, encoding="utf-8") as opened:  # noqa: PTH123 - no pathlib
        code = opened.read()
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link.connect(f"\0{address}")
    reading, _held = os.pipe()
    asked = {"words": [_ENDING + code, *words], "cwd": "/", "env": dict(os.environ), "apart": False}
    socket.send_fds(link, [json.dumps(asked).encode()], [reading, 1, 2])
    os.close(reading)
    link.recv(_BYTES)
    ended = int(link.recv(_BYTES))
    if ended < 0:
        os.kill(os.getpid(), -ended)
    return ended


sys.exit(main(*sys.argv[1:]))
