"""The warm process that forks instances: single-threaded, with the modules loaded that functions use most.

Orders come over the control socket, news goes back (``orders.py``). The zygote reaps its children, so a signal it is
asked to send never reaches a stranger that got the same process id. When the control socket closes, every instance
ends.
"""

from __future__ import annotations

import errno
import gc
import importlib
import os
import select
import signal
import socket
import sys
import time
from types import ModuleType

from . import process, spare, warden  # noqa: TID252 - the package has another name inside an instance
from .agent import Agent  # noqa: TID252
from .children import Child, Children, next_ended  # noqa: TID252
from .orders import ENDED, KILL, LAUNCH, NEWS, ORDER, READY, REASONS, STARTED, TERMINATE, WATCH  # noqa: TID252
from .rehearsal import rehearse  # noqa: TID252

PRELOADED = (
    "base64", "collections.abc", "contextlib", "copy", "dataclasses", "datetime", "decimal", "functools", "json",
    "logging", "random", "re", "string", "threading", "time", "traceback", "typing", "urllib.parse", "uuid",
)  # fmt: skip
"""What most functions import. Beyond what the agent needs itself this is 2 MB, shared by all instances, and saves a
function that uses all of it 13 ms. ``ssl``, ``http.client`` and ``urllib.request`` would save 19 ms and cost 7 MB, too
much for the many functions that call nobody.
"""

_LOOK_S = 0.1
_SPARE_AFTER_S = 0.02
"""How long after a launch the next spare is forked: the instance just launched shall have the processor first."""


class Zygote:
    """Forks on request until the control socket closes."""

    def __init__(self, control: socket.socket, hook: ModuleType | None) -> None:
        self._control = control
        self._hook = hook
        self._children = Children()
        self._spare: spare.Spare | None = None
        self._orders = b""
        self._descriptors: list[int] = []
        self._look_at: float | None = None
        self._spare_at = 0.0
        self._woken, self._waker = socket.socketpair()

    def run(self) -> Agent:
        """Serve orders; return in a forked process only."""
        self._catch_signals()
        self._tell(READY, 0, os.getpid(), 0, 0)
        self._spare_at = time.monotonic() + _SPARE_AFTER_S
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll(self._patience_ms())}
            if self._woken.fileno() in ready:
                self._woken.recv(4096)
                self._reap()
            agent = self._take_order() if self._control.fileno() in ready else self._do_what_is_due()
            if agent is not None:
                return agent

    def _patience_ms(self) -> int | None:
        """Return how long to wait for orders; None when nothing else has to be done."""
        now = time.monotonic()
        if not self._children.need_care():
            self._look_at = None
        elif self._look_at is None:
            self._look_at = now + _LOOK_S
        due = [at for at in (self._look_at, self._spare_at if self._spare is None else None) if at is not None]
        return max(0, int((min(due) - now) * 1000) + 1) if due else None

    def _do_what_is_due(self) -> Agent | None:
        now = time.monotonic()
        if self._look_at is not None and now >= self._look_at:
            self._look_at = None
            self._children.look_after()
        if self._spare is None and now >= self._spare_at:
            self._spare_at = now + _LOOK_S
            try:
                return self._fork_spare()
            except OSError:
                return None  # no memory or no process to spare just now: a launch tries again and reports
        return None

    def _catch_signals(self) -> None:
        self._waker.setblocking(False)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)  # only the control socket ends a zygote, not a user's os.kill

    def _take_order(self) -> Agent | None:
        data, descriptors = spare.receive_descriptors(self._control, ORDER.size - len(self._orders))
        if not data:
            self._leave()
        self._descriptors += descriptors
        self._orders += data
        if len(self._orders) < ORDER.size:
            return None
        order, number, memory_mb, max_processes, instance_id = ORDER.unpack(self._orders)
        self._orders = b""
        if order == LAUNCH:
            return self._launch(number, memory_mb, max_processes, instance_id.rstrip(b"\0").decode("ascii"))
        child = self._children.get(number)
        if child is not None:
            self._obey(order, child)
        return None

    def _obey(self, order: int, child: Child) -> None:
        if order == TERMINATE:
            os.kill(child.pid, signal.SIGTERM)
        elif order == KILL:
            warden.end_group(child.pid, signal.SIGKILL)
        else:
            child.watched = order == WATCH

    def _launch(self, number: int, memory_mb: int, max_processes: int, instance_id: str) -> Agent | None:
        channel, log = self._descriptors[:2]
        self._descriptors.clear()
        try:
            pid = self._give_spare(channel, log)
            if pid == 0:
                agent = self._fork_spare(channel, log)
                if agent is not None:
                    return agent
                pid = self._give_spare(channel, log)
            if pid == 0:
                raise OSError(errno.EAGAIN, "the forked process died at once")  # noqa: TRY301 - reported as any other
        except OSError as error:
            self._tell(ENDED, number, error.errno or 0, 0, REASONS.index("fork"))
        else:
            inode = os.fstat(channel).st_ino
            self._children.add(Child(pid, number, instance_id, memory_mb, max_processes, inode))
            self._tell(STARTED, number, pid, 0, 0)
        os.close(channel)
        os.close(log)
        self._spare_at = time.monotonic() + _SPARE_AFTER_S
        return None

    def _give_spare(self, channel: int, log: int) -> int:
        """Make the waiting process an instance; return its id, or 0 when there is none or it has just died."""
        waiting, self._spare = self._spare, None
        if waiting is None:
            return 0
        try:
            waiting.give(channel, log)
        except OSError:
            return 0
        return waiting.pid

    def _fork_spare(self, *not_inherited: int) -> Agent | None:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            ours.close()
            for descriptor in not_inherited:
                os.close(descriptor)
            return self._become_instance(theirs)
        theirs.close()
        self._spare = spare.Spare(pid, ours)
        return None

    def _become_instance(self, link: socket.socket) -> Agent:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for own in (self._control, self._woken, self._waker):
            own.close()
        os.setsid()
        rehearse()
        channel, log = spare.wait(link)
        moved, moved_log = process.isolate(socket.socket(fileno=channel), log)
        gc.enable()
        return Agent(moved, moved_log, self._hook, forked=True)

    def _reap(self) -> None:
        while (ended := next_ended()) is not None:
            pid, status, memory_kb = ended
            child = self._children.reap(pid)
            if child is not None:
                self._tell(ENDED, child.number, status, memory_kb, child.reason)
            elif self._spare is not None and self._spare.pid == pid:
                self._spare.close()
                self._spare = None

    def _tell(self, news: int, number: int, value: int, memory_kb: int, reason: int) -> None:
        try:
            self._control.sendall(NEWS.pack(news, number, value, memory_kb, reason))
        except OSError:
            self._leave()

    def _leave(self) -> None:
        self._children.end_all()
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
