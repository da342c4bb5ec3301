"""The warm process that forks instances: single-threaded, with the modules loaded that functions use most.

Orders come over the control socket, news goes back (``orders.py``). The zygote reaps its children, so a signal it is
asked to send never reaches a stranger that got the same process id. When the control socket closes, every instance
ends.
"""

from __future__ import annotations

import array
import gc
import importlib
import os
import select
import signal
import socket
import sys
import time
from types import ModuleType

from . import process, warden  # noqa: TID252 - the package has another name inside an instance
from .agent import Agent  # noqa: TID252
from .orders import ENDED, KILL, LAUNCH, NEWS, ORDER, READY, REASONS, STARTED, TERMINATE, WATCH  # noqa: TID252

PRELOADED = (
    "base64", "collections.abc", "contextlib", "copy", "dataclasses", "datetime", "decimal", "functools", "json",
    "logging", "random", "re", "string", "threading", "time", "traceback", "typing", "urllib.parse",
)  # fmt: skip
"""What most functions import and what costs little memory: together 4 MB, shared by all instances.

``ssl``, ``http.client`` and ``urllib.request`` would save a function that uses them 20 ms once, and cost 6 MB always.
"""

_LOOK_S = 0.1


class _Child:
    def __init__(self, pid: int, number: int, instance_id: str, memory_mb: int, max_processes: int, inode: int) -> None:
        self.pid = pid
        self.number = number
        self.instance_id = instance_id
        self.memory_mb = memory_mb
        self.max_processes = max_processes
        self.inode = inode
        self.reason = 0


class Zygote:
    """Forks on request until the control socket closes."""

    def __init__(self, control: socket.socket, hook: ModuleType | None) -> None:
        self._control = control
        self._hook = hook
        self._children: dict[int, _Child] = {}
        self._watched: dict[int, _Child] = {}
        self._ended: list[_Child] = []
        self._orders = b""
        self._descriptors: list[int] = []
        self._look_at: float | None = None
        self._woken, self._waker = socket.socketpair()

    def run(self) -> Agent:
        """Serve orders; return in a forked process only."""
        self._catch_signals()
        self._tell(READY, 0, os.getpid(), 0, 0)
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll(self._patience_ms())}
            if self._woken.fileno() in ready:
                self._woken.recv(4096)
                self._reap()
            if self._control.fileno() in ready:
                agent = self._take_orders()
                if agent is not None:
                    return agent
            if self._patience_ms() == 0:
                self._look_after()

    def _patience_ms(self) -> int | None:
        """Return how long to wait for something to do; None when nothing has to be looked after."""
        if not self._watched and not self._ended:
            self._look_at = None
            return None
        if self._look_at is None:
            self._look_at = time.monotonic() + _LOOK_S
        return max(0, int((self._look_at - time.monotonic()) * 1000))

    def _catch_signals(self) -> None:
        self._waker.setblocking(False)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)  # only the control socket ends a zygote, not a user's os.kill

    def _take_orders(self) -> Agent | None:
        space = socket.CMSG_SPACE(2 * array.array("i").itemsize)
        data, ancillary, _, _ = self._control.recvmsg(ORDER.size - len(self._orders), space)
        if not data:
            self._leave()
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors = array.array("i")
                descriptors.frombytes(content)
                self._descriptors += descriptors
        self._orders += data
        if len(self._orders) < ORDER.size:
            return None
        order, number, memory_mb, max_processes, instance_id = ORDER.unpack(self._orders)
        self._orders = b""
        if order == LAUNCH:
            return self._fork(number, memory_mb, max_processes, instance_id.rstrip(b"\0").decode("ascii"))
        child = self._children.get(number)
        if child is not None:
            self._obey(order, child)
        return None

    def _obey(self, order: int, child: _Child) -> None:
        if order == TERMINATE:
            os.kill(child.pid, signal.SIGTERM)
        elif order == KILL:
            warden.end_group(child.pid, signal.SIGKILL)
        elif order == WATCH:
            self._watched[child.number] = child
        else:
            self._watched.pop(child.number, None)

    def _fork(self, number: int, memory_mb: int, max_processes: int, instance_id: str) -> Agent | None:
        channel, log = self._descriptors[:2]
        self._descriptors.clear()
        try:
            pid = os.fork()
        except OSError as error:
            self._tell(ENDED, number, error.errno or 0, 0, REASONS.index("fork"))
            pid = -1
        if pid == 0:
            return self._become_instance(channel, log)
        inode = os.fstat(channel).st_ino
        os.close(channel)
        os.close(log)
        if pid > 0:
            self._children[number] = _Child(pid, number, instance_id, memory_mb, max_processes, inode)
            self._tell(STARTED, number, pid, 0, 0)
        return None

    def _become_instance(self, channel: int, log: int) -> Agent:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for own in (self._control, self._woken, self._waker):
            own.close()
        moved, moved_log = process.isolate(socket.socket(fileno=channel), log)
        gc.enable()
        return Agent(moved, moved_log, self._hook)

    def _reap(self) -> None:
        by_pid = {child.pid: child for child in self._children.values()}
        while self._children:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            child = by_pid.get(pid)
            if child is None:
                continue
            warden.end_group(pid, signal.SIGKILL)
            del self._children[child.number]
            self._watched.pop(child.number, None)
            self._ended.append(child)
            scale = 1024 if sys.platform == "darwin" else 1
            self._tell(ENDED, child.number, status, usage.ru_maxrss // scale, child.reason)

    def _look_after(self) -> None:
        """Check watched instances and end what finished ones left."""
        self._look_at = None
        for child in list(self._watched.values()):
            reason = warden.overrun(child.pid, child.memory_mb, child.max_processes)
            if reason:
                child.reason = REASONS.index(reason)
                warden.end_group(child.pid, signal.SIGKILL)
        self._end_strays()

    def _end_strays(self) -> None:
        if self._ended:
            warden.end_strays({child.instance_id for child in self._ended}, {child.inode for child in self._ended})
            self._ended.clear()

    def _tell(self, news: int, number: int, value: int, memory_kb: int, reason: int) -> None:
        try:
            self._control.sendall(NEWS.pack(news, number, value, memory_kb, reason))
        except OSError:
            self._leave()

    def _leave(self) -> None:
        for child in self._children.values():
            warden.end_group(child.pid, signal.SIGKILL)
            self._ended.append(child)
        self._end_strays()
        os._exit(0)


def start(arguments: list[str]) -> Agent:
    """Warm up and serve orders on the descriptor of that number; returns in a forked process only."""
    for name in PRELOADED:
        importlib.import_module(name)
    hook = process.load_hook(arguments[1:])
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # both are text streams over descriptors here
    zygote = Zygote(socket.socket(fileno=int(arguments[0])), hook)
    gc.disable()
    gc.collect()
    gc.freeze()
    return zygote.run()
