"""What a process that forks others on request (`tests.forking`) does, once it has loaded what each of them needs.

It imports nothing that an instance of a function would not have: what is forked is measured, and lists its modules.
"""

import contextlib
import json
import os
import select
import socket

BYTES = 256 * 1024
_DESCRIPTORS = 4


def serve(listening, takes=lambda asked: True):
    """Fork a child for each connection to a socket, until the input ends.

    Returns in the child: what was asked for, and the descriptors that came along. Who asks for what it does not *take*
    is told 0.
    """
    asking = socket.socket(fileno=listening)
    poll = select.poll()
    poll.register(listening, select.POLLIN)
    poll.register(0, select.POLLIN)
    children = {}
    while True:
        for ready, _ in poll.poll():
            if ready == 0:
                os._exit(0)
            if ready in children:
                pid, link = children.pop(ready)
                poll.unregister(ready)
                os.close(ready)
                _tell(link, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                link.close()
                continue
            link = asking.accept()[0]
            asked, descriptors, _, _ = socket.recv_fds(link, BYTES, _DESCRIPTORS)
            if not asked:
                link.close()
                continue
            request = json.loads(asked)
            pid = os.fork() if takes(request) else None
            if pid == 0:
                for each in (asking, link, *(of_child for _, of_child in children.values())):
                    each.detach()  # a later collection would close what has its number by then
                return request, descriptors
            for each in descriptors:
                os.close(each)
            _tell(link, pid or 0)
            if pid is None:
                link.close()
                continue
            ended = os.pidfd_open(pid)
            poll.register(ended, select.POLLIN)
            children[ended] = pid, link


def become(asked, descriptors):
    """Take the place that was asked for: what came along has the numbers from 0 on, and no other is open."""
    for number, given in enumerate(descriptors):
        os.dup2(given, number)
    os.closerange(len(descriptors), min(os.sysconf("SC_OPEN_MAX"), 65536))
    if asked["apart"]:
        os.setsid()
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])


def _tell(link, number):
    """Send a number to who has asked, unless that has ended."""
    with contextlib.suppress(OSError):
        link.send(str(number).encode())
