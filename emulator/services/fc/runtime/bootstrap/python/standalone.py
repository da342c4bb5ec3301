"""An instance started by exec: the way where there is no fork.

The server's address and a secret come as one JSON line on standard input; the agent connects back and shows the secret.
"""

from __future__ import annotations

import json
import os
import socket
import sys

from . import process  # noqa: TID252 - the package has another name inside an instance
from .agent import Agent  # noqa: TID252


def start(arguments: list[str]) -> Agent:
    """Connect to the server and return the agent."""
    order = json.loads(sys.stdin.readline())
    channel = socket.create_connection((order["host"], order["port"]))
    channel.settimeout(None)
    channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    channel.sendall(order["secret"].encode("ascii"))
    sys.stdin.close()
    log = os.dup(1)
    if os.name == "posix":
        channel, log = process.isolate(channel, log)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # both are text streams over descriptors here
    return Agent(channel, log, process.load_hook(arguments), forked=False)
