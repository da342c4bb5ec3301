"""The warm process that forks instances: single-threaded, with the modules loaded that functions use most.

Commands come over the control socket, events go back (``frames.py``). One process is always forked ahead and waits for
the channel of its instance, so that a first call need not wait for the fork. The zygote reaps its children, so a signal
it is to send never reaches another process that got the same id. When the control socket closes, every instance
ends.
"""

from __future__ import annotations

import errno
import gc
import importlib
import io
import json
import logging
import os
import select
import signal
import socket
import sys
import time
from types import ModuleType
from typing import Any, NoReturn

from . import logs, process, sandbox  # noqa: TID252 - the package has another name inside an instance
from .agent import Agent  # noqa: TID252
from .children import Child, Children, next_ended  # noqa: TID252
from .context import FCContext  # noqa: TID252
from .frames import (  # noqa: TID252
    ADOPT,
    COMMAND,
    ENDED,
    EVENT,
    KILL,
    LAUNCH,
    READY,
    REASONS,
    STARTED,
    TERMINATE,
    WATCH,
    FrameBuffer,
    encode,
)
from .handlers import Handlers, to_body  # noqa: TID252

PRELOADED = (
    "base64", "collections.abc", "contextlib", "copy", "dataclasses", "datetime", "decimal", "functools", "json",
    "logging", "random", "re", "string", "threading", "time", "traceback", "typing", "urllib.parse", "uuid",
)  # fmt: skip
"""Modules that most functions import. Beyond the agent's own needs they take 2 MB, shared by all instances, and save a
function that uses all of it 13 ms. ``ssl``, ``http.client`` and ``urllib.request`` would save 19 ms and cost 7 MB, too
much for the many functions that call no server.
"""

_SAMPLE = "warmup_sample"
_LOOK_S = 0.1
_SPARE_AFTER_S = 0.02
"""How long after a launch the next spare is forked: the instance just launched shall have the processor first."""


class Zygote:
    """Forks on request until the control socket closes."""

    def __init__(self, control: socket.socket, hook: ModuleType | None, *, isolated: bool) -> None:
        self._control = control
        self._hook = hook
        self._isolated = isolated
        self._children = Children()
        self._spare: Spare | None = None
        self._received = b""
        self._descriptors: list[int] = []
        self._look_at: float | None = None
        self._spare_at = 0.0
        self._woken, self._waker = socket.socketpair()

    def run(self) -> Agent:
        """Serve commands; return in a forked process only."""
        self._catch_signals()
        self._report(READY, 0, int(self._isolated), 0, 0)
        self._spare_at = time.monotonic() + _SPARE_AFTER_S
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll(self._patience_ms())}
            if self._woken.fileno() in ready:
                self._woken.recv(4096)
                self._reap()
            agent = self._take_command() if self._control.fileno() in ready else self._do_what_is_due()
            if agent is not None:
                return agent

    def _patience_ms(self) -> int | None:
        """Return how long to wait for commands; None when nothing else has to be done."""
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

    def _take_command(self) -> Agent | None:
        data, descriptors = receive_descriptors(self._control, COMMAND.size - len(self._received))
        if not data:
            self._leave()
        self._descriptors += descriptors
        self._received += data
        if len(self._received) < COMMAND.size:
            return None
        command, number, memory_mb, max_processes, instance_id = COMMAND.unpack(self._received)
        self._received = b""
        if command == LAUNCH:
            return self._launch(number, memory_mb, max_processes, instance_id.rstrip(b"\0").decode("ascii"))
        child = self._children.get(number)
        if command == ADOPT:
            self._adopt(child, memory_mb, max_processes, instance_id.rstrip(b"\0").decode("ascii"))
        elif child is not None:
            self._obey(command, child)
        return None

    def _obey(self, command: int, child: Child) -> None:
        if command == TERMINATE:
            child.terminate()
        elif command == KILL:
            child.kill()
        else:
            child.watched = command == WATCH

    def _adopt(self, child: Child | None, memory_mb: int, max_processes: int, instance_id: str) -> None:
        """Let a process of its own mount the folders: only one that enters the namespaces can."""
        link = socket.socket(fileno=self._descriptors.pop())
        if child is not None:
            child.memory_mb, child.max_processes, child.instance_id = memory_mb, max_processes, instance_id
            try:
                if os.fork() == 0:
                    mount_for(child.pid, link)
            except OSError as error:
                link.sendall(str(error).encode())
        link.close()

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
            self._report(ENDED, number, error.errno or 0, 0, REASONS.index("fork"))
        else:
            inode = os.fstat(channel).st_ino
            self._children.add(
                Child(pid, number, instance_id, memory_mb, max_processes, inode, isolated=self._isolated)
            )
            self._report(STARTED, number, pid, 0, 0)
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
        pid = sandbox.fork_inside() if self._isolated else os.fork()
        if pid == 0:
            ours.close()
            for descriptor in not_inherited:
                os.close(descriptor)
            return self._become_instance(theirs)
        theirs.close()
        self._spare = Spare(pid, ours)
        return None

    def _become_instance(self, link: socket.socket) -> Agent:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for own in (self._control, self._woken, self._waker):
            own.close()
        os.setsid()
        warm_up()
        channel, log = wait_for_instance(link)
        moved, moved_log = process.protect_descriptors(socket.socket(fileno=channel), log)
        gc.enable()
        return Agent(moved, moved_log, self._hook, forked=True)

    def _reap(self) -> None:
        while (ended := next_ended()) is not None:
            pid, status, memory_kb = ended
            child = self._children.reap(pid)
            if child is not None:
                self._report(ENDED, child.number, status, memory_kb, child.reason)
            elif self._spare is not None and self._spare.pid == pid:
                self._spare.close()
                self._spare = None

    def _report(self, event: int, number: int, value: int, memory_kb: int, reason: int) -> None:
        try:
            self._control.sendall(EVENT.pack(event, number, value, memory_kb, reason))
        except OSError:
            self._leave()

    def _leave(self) -> None:
        self._children.end_all()
        os._exit(0)


class Spare:
    """A waiting process, as its zygote sees it."""

    def __init__(self, pid: int, link: socket.socket) -> None:
        self.pid = pid
        self._link = link

    def give(self, channel: int, log: int) -> None:
        """Turn the waiting process into an instance with these descriptors, which stay open in the zygote.

        Raises: OSError when it has died.
        """
        try:
            socket.send_fds(self._link, [b"!"], [channel, log])
        finally:
            self.close()

    def close(self) -> None:
        """Close the link to the process, which ends if it still waits."""
        self._link.close()


def wait_for_instance(link: socket.socket) -> tuple[int, int]:
    """Wait, in the spare process, for the descriptors of channel and log; ends the process when none will come."""
    passed = receive_descriptors(link, 1)[1]
    link.close()
    if len(passed) < 2:
        os._exit(0)
    return passed[0], passed[1]


def mount_for(pid: int, link: socket.socket) -> NoReturn:
    """Mount the folders that a frame on *link* names in the namespace of a process, and end."""
    try:
        frames = FrameBuffer()
        while (frame := frames.next()) is None:
            received = link.recv(65536)
            if not received:
                os._exit(1)
            frames.feed(received)
        sandbox.join_mounts(pid)
        sandbox.mount_folders(*(frame[0][name] for name in ("mounts", "covered", "opt", "hidden")))
    except BaseException as error:
        link.sendall(str(error).encode())
        os._exit(1)
    os._exit(0)


def receive_descriptors(link: socket.socket, size: int) -> tuple[bytes, list[int]]:
    """Receive up to *size* bytes and the descriptors that came along; no bytes when the other end is gone."""
    try:
        data, descriptors, _, _ = socket.recv_fds(link, size, 2)
    except ConnectionResetError:  # it was killed before it had read its last message
        return b"", []
    return data, descriptors


def warm_up() -> None:
    """Go once through what a first call does, without leaving a trace.

    A forked process shares its memory with the zygote until it writes, and the first write to a page costs a page
    fault. Most of a first call's time was spent on these; here they happen while no caller waits.
    """
    names = ("name", "handler", "memory", "timeout", "region", "account", "service", "version", "log_project")
    boot: dict[str, Any] = dict.fromkeys((*names, "log_store"), "") | {"modern_context": False, "keys_in_calls": True}
    frames = FrameBuffer()
    frames.feed(encode({"do": "invoke", "rid": "", "qualifier": "", "retry": 0, "keys": None, "tracing": {}}, b"{}"))
    frame = frames.next()
    assert frame is not None
    call, event = frame
    request_ids = logs.RequestIds()
    context = FCContext(boot, call, logging.getLogger())
    handler = Handlers(os.path.dirname(__file__)).get(f"{_SAMPLE}.handler")  # noqa: PTH120 - no pathlib, for memory
    body = to_body(handler(event, context))
    sys.modules.pop(_SAMPLE)
    sink = logs.frame_sink(lambda header, payload: None)
    logs.LogHandler(sink, request_ids).emit(logging.LogRecord("", logging.INFO, "", 0, "%s", (body,), None))
    print(body, file=io.StringIO())
    os.environ.update(dict(os.environ))


def _isolate(folder: str, confined: list[str], probe: sandbox.Probe | None) -> bool:
    """Give instances namespaces where the kernel lets them have some; a file beside *folder* says why it does not.

    Raises: SystemExit (the folder is gone: the emulator was killed, and the next one has cleared up after it).
    """
    reason = probe.reason() if probe is not None else ""
    try:
        if probe is not None and not reason:
            sandbox.enter(folder, confined)
            return True
        if reason:
            with open(folder + ".reason", "w", encoding="utf-8") as file:  # noqa: PTH123 - no pathlib, for memory
                file.write(reason)
    except FileNotFoundError:
        if os.path.exists(folder):  # noqa: PTH110 - no pathlib, for memory
            raise
        raise SystemExit(f"{folder} is gone: its emulator was killed and the next one has cleared up") from None
    sandbox.adopt_orphans()
    return False


def start(arguments: list[str]) -> Agent:
    """Warm up and serve commands; returns in a forked process only.

    *arguments* are the number of the control socket's descriptor, the folder for `sandbox.enter` (empty for none), the
    paths for `sandbox.confine` as JSON and perhaps the hook's file.
    """
    confined: list[str] = json.loads(arguments[2])
    probe = sandbox.Probe(arguments[1], confined) if arguments[1] else None
    for name in PRELOADED:
        importlib.import_module(name)
    hook = process.load_hook(arguments[3:])
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # both are text streams over descriptors here
    zygote = Zygote(socket.socket(fileno=int(arguments[0])), hook, isolated=_isolate(arguments[1], confined, probe))
    gc.disable()
    gc.collect()
    gc.freeze()
    return zygote.run()
