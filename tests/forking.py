"""Processes forked from one that has loaded what they need, which takes longer than what most of them do.

The one that forks runs `fork_server.serve`. It is started when it is first asked and ends with the process that has
started it; processes below that find it by a variable.
"""

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess

from tests.fork_server import BYTES

START_S = 60


def address_of(number):
    """Return the address of the socket with that file descriptor, as `Server` takes it from a variable."""
    with socket.socket(fileno=os.dup(number)) as asking:
        return asking.getsockname()[1:].decode()


class Server:
    """The process that forks; *command* is called with the number of its socket and returns its command line.

    *variable* is where a process finds the address of the one that another process has started; *env* makes the
    variables of one that is started here.
    """

    def __init__(self, command, *, cwd, env, variable):
        self.address = os.environ.get(variable)
        if self.address is not None:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
            asking.bind("")  # to a name that the system finds, which begins with a zero
            asking.listen(128)
            self.address = address_of(asking.fileno())
            self._process = subprocess.Popen(
                command(asking.fileno()),
                cwd=cwd, env=env(), pass_fds=[asking.fileno()], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        self._owner = os.getpid()
        atexit.register(self.close)

    def close(self):
        """Let the process end, which it does when its input ends; forked ones leave it to the one they come from."""
        if os.getpid() == self._owner:
            self._process.stdin.close()
            self._process.wait(30)

    def start(self, asked, descriptors):
        """Return a connection to it on behalf of a process, which gets *descriptors* as 0, 1 and so on.

        The first thing to come is the process's id, the second its exit code.
        """
        link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        link.connect(f"\0{self.address}")
        socket.send_fds(link, [json.dumps(asked).encode()], descriptors)
        return link


class Child(subprocess.Popen):
    """A forked process: the part of `subprocess.Popen` that does not depend on being the parent."""

    def __init__(self, link, args, streams=(None, None, None)):
        self.args, self.returncode = args, None
        self._link = link.detach()  # a number, for a socket in a circle of garbage is found unclosed
        self._heard = select.poll()
        self._heard.register(self._link, select.POLLIN)
        self.pid = self._hear(START_S) or -1
        if self.pid < 0:
            raise RuntimeError("the process that forks does not answer")
        self.stdin, self.stdout, self.stderr = (
            None if number is None else os.fdopen(number, "w" if which == 0 else "r", encoding="utf-8")
            for which, number in enumerate(streams)
        )
        self.universal_newlines = self.text_mode = True
        self.encoding, self.errors = "utf-8", None
        self.pipesize = -1
        self._child_created = True
        self._communication_started = False
        self._input = None

    def __del__(self):
        """Stop listening for its end: the process that forks waits for its children."""
        if self.returncode is None:
            os.close(self._link)

    def poll(self):
        """Return the exit code, None while it runs."""
        if self.returncode is None and (code := self._hear(0)) is not None:
            self.returncode = code
            os.close(self._link)
        return self.returncode

    def wait(self, timeout=None):
        """Return the exit code."""
        if self.returncode is None:
            self._heard.poll(None if timeout is None else timeout * 1000)
        if self.poll() is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def send_signal(self, sig):
        """Send a signal to it, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def _hear(self, timeout):
        """Return what the process that forks says next; the end of its connection is that of both processes."""
        if not self._heard.poll(timeout * 1000):
            return None
        told = os.read(self._link, BYTES)
        return int(told) if told else -signal.SIGKILL
