"""Have a forked process run the command, for a program that can only start programs (`tests.commands.typed`).

Runs without the site and imports what is loaded already or built in: it shall cost next to nothing. The words are the
door of the process that forks, those of the ordinary program, ``--`` and the command's own.
"""

import _socket
import marshal
import os
import signal
import sys

door, *words = sys.argv[1:]
at = words.index("--")
ordinary, words = words[:at], words[at + 1 :]
child = None


def hand_on(number, _frame):
    """Send the child what came here."""
    os.kill(child, number)


handed_on = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
signal.pthread_sigmask(signal.SIG_BLOCK, handed_on)
asking = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
asking.connect(door)
request = {"words": words, "cwd": os.getcwd(), "env": dict(os.environ), "apart": False}  # noqa: PTH109 - as above
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
asking.sendmsg([marshal.dumps(request)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
child, code = marshal.loads(asking.recv(100))
if child is None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, handed_on)
    os.execv(ordinary[0], [*ordinary, *words])
for number in handed_on:
    signal.signal(number, hand_on)
signal.pthread_sigmask(signal.SIG_UNBLOCK, handed_on)
child, code = marshal.loads(asking.recv(100))
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
