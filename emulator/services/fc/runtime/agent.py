"""One Python instance as the server sees it: calls as frames, output, the end of the process."""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from emulator.kernel.ids import Ids
from emulator.services.fc.runtime.channel import Channel, Header
from emulator.services.fc.runtime.launcher import Answer, Call, Exit, Listener, boot_frame
from emulator.services.fc.runtime.logs import Throttle
from emulator.services.fc.runtime.model import FunctionImage, HttpAnswer, HttpCall
from emulator.services.fc.runtime.settings import RuntimeSettings, instance_environment, log_level

_log = logging.getLogger(__name__)

_BOOTSTRAP = Path(__file__).parent / "bootstrap" / "python" / "__main__.py"

_LINGER_S = 0.05
"""How long after the end of a process its last answer may still be on the way. Its channel may stay open, held by
something it left behind, so the end of the channel cannot be waited for."""

_NOTHING: Mapping[str, Any] = {}


class Control(Protocol):
    """How signals reach the process."""

    def terminate(self) -> None:
        """Send SIGTERM to the process."""
        ...

    def kill(self) -> None:
        """Send SIGKILL to its whole session."""
        ...

    def watch(self, on: bool) -> None:
        """Look regularly at what it uses, or no longer."""
        ...


class LogSource(Protocol):
    """Where the output of the process is read; it is passed to `PythonProcess.output`."""

    def settle(self, sequence: str, then: Callable[[], None]) -> None:
        """Pass on everything written before the answer of that sequence, and then call *then*."""
        ...

    def close(self) -> None:
        """Pass on the rest and close."""
        ...


class PythonProcess:
    """An `InstanceProcess` with a Python agent in it."""

    def __init__(self, listener: Listener, settings: RuntimeSettings, ids: Ids) -> None:
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self._settings = settings
        self._ids = ids
        self._pending: dict[str, asyncio.Future[Answer | Exit]] = {}
        self._throttle = Throttle(self._loop)
        self._control: Control | None = None
        self._log_source: LogSource | None = None
        self._watchers = 0
        self._lost = self._exited = self._over = False
        self._unread = False
        self._marks = False
        self._began: set[str] = set()
        self._fatal = ""
        self._memory_kb = 0
        self.channel = Channel(self._on_frame, self._on_lost, settings.response_limit)

    def start(
        self,
        image: FunctionImage,
        instance_id: str,
        control: Control,
        source: LogSource,
        *,
        mark: bool,
        more: Mapping[str, Any] = _NOTHING,
    ) -> None:
        """Take over a process and tell the agent in it, over the connected channel, what it is."""
        self.take(control, source)
        self.channel.send(self.boot(image, instance_id, mark=mark, more=more))

    def take(self, control: Control, source: LogSource) -> None:
        """Take over a process whose agent is told what it is by somebody else."""
        self._control = control
        self._log_source = source

    def boot(self, image: FunctionImage, instance_id: str, *, mark: bool, more: Mapping[str, Any] = _NOTHING) -> Header:
        """Return the frame that tells an agent what it is, and *more* that only agents of its family know.

        With *mark* it says when it has read a call and marks the log before each answer: for transports that do not
        tell either.
        """
        self._marks = mark
        environment = instance_environment(image, instance_id, self._settings)
        boot = boot_frame(image, environment, log_level(image))
        return boot | {"response_limit": self._settings.response_limit, "mark": mark} | dict(more)

    def begin(self, call: Call) -> asyncio.Future[Answer | Exit]:
        """Hand over a call; see `InstanceProcess`."""
        future: asyncio.Future[Answer | Exit] = self._loop.create_future()
        if self._lost or self._exited:
            future.set_result(Exit(memory_kb=self._memory_kb, unread=True, fatal=self._fatal))
            return future
        sequence = self._ids.hex(16)
        self._pending[sequence] = future
        header = {
            "do": call.kind,
            "seq": sequence,
            "rid": call.request_id,
            "qualifier": call.qualifier,
            "retry": call.retry_count,
            "keys": call.keys,
            "tracing": dict(call.tracing),
        }
        if call.http is not None:
            header["http"] = _http_frame(call.http)
        self.channel.send(header, call.event)
        return future

    def watch(self) -> None:
        """Have the process looked at; see `InstanceProcess`."""
        self._watchers += 1
        if self._watchers == 1 and self._control is not None and not self._exited:
            self._control.watch(True)

    def unwatch(self) -> None:
        """Take back one `watch`; see `InstanceProcess`."""
        self._watchers -= 1
        if self._watchers == 0 and self._control is not None and not self._exited:
            self._control.watch(False)

    def terminate(self) -> None:
        """Send SIGTERM; see `InstanceProcess`."""
        if self._control is not None and not self._exited:
            self._control.terminate()

    def kill(self) -> None:
        """Send SIGKILL to the session; see `InstanceProcess`."""
        if self._control is not None and not self._exited:
            self._control.kill()

    def abandon(self) -> None:
        """Let go of a process whose start failed; its listener is not told any more."""
        self.kill()
        self._over = True
        self.channel.close()

    def output(self, data: bytes) -> None:
        """Take in what came through the log pipe."""
        self._listener.output(data, None)

    def expects(self, sequence: str) -> bool:
        """Tell whether a call of that sequence waits for its answer."""
        return sequence in self._pending

    def exited(self, memory_kb: int) -> None:
        """Take note that the process has ended; what it sent before is still delivered."""
        if self._exited:
            return
        self._exited = True
        self._memory_kb = max(self._memory_kb, memory_kb)
        if self._lost:
            self._finish()
        else:
            self._loop.call_later(_LINGER_S, self._finish_when_quiet, self.channel.received)

    def _on_frame(self, header: Header, payload: bytes) -> None:
        try:
            if "done" in header:
                self._on_answer(header, payload)
            elif "began" in header:
                self._began.add(str(header["began"]))
            elif "log" in header:
                self._listener.output(payload, str(header["log"]))
                self._hold_back(len(payload))
            elif "debugger" in header:
                self._listener.listening(int(header["debugger"]))
            elif "fatal" in header:
                self._fatal = str(header["fatal"])
        except (KeyError, TypeError, ValueError):  # only user code that took over the agent's socket sends such a thing
            _log.warning("an instance sent a frame that makes no sense and is ended")
            self.channel.close()

    def _on_answer(self, header: Header, payload: bytes) -> None:
        sequence = str(header["done"])
        if sequence not in self._pending:
            return
        self._memory_kb = int(header["mem"])
        answer = Answer(
            succeeded=bool(header["ok"]),
            body=payload,
            duration_ms=float(header["ms"]),
            memory_kb=self._memory_kb,
            over_memory=bool(header.get("over", False)),
            handled=bool(header.get("handled", False)),
            size=int(header.get("size", len(payload))),
            http=_http_answer(header["http"]) if "http" in header else None,
        )
        assert self._log_source is not None
        self._log_source.settle(sequence, lambda: self._resolve(sequence, answer))

    def _resolve(self, sequence: str, outcome: Answer | Exit) -> None:
        self._began.discard(sequence)
        future = self._pending.pop(sequence, None)
        if future is not None and not future.done():
            future.set_result(outcome)

    def _hold_back(self, size: int) -> None:
        pause_s = self._throttle.spend(size)
        if pause_s > 0:
            self.channel.pause()
            self._loop.call_later(pause_s, self.channel.resume)

    def _on_lost(self, error: Exception | None) -> None:
        self._lost = True
        # A reset, and not a clean end, means that bytes of ours were left unread: the call never began.
        self._unread = isinstance(error, ConnectionResetError | BrokenPipeError)
        if self._exited:
            self._finish()
        else:
            self.kill()

    def _finish_when_quiet(self, received: int) -> None:
        if self.channel.received != received:
            self._loop.call_later(_LINGER_S, self._finish_when_quiet, self.channel.received)
        else:
            self._finish()

    def _finish(self) -> None:
        if self._over:
            return
        self._over = True
        self.channel.close()
        if self._log_source is not None:
            self._log_source.close()
        unread = self._unread and len(self._pending) == 1  # of several calls some have been read
        for sequence in list(self._pending):
            if self._marks:
                unread = sequence not in self._began
            self._resolve(sequence, Exit(memory_kb=self._memory_kb, unread=unread, fatal=self._fatal))
        self._listener.ended(self._memory_kb)


def _http_frame(http: HttpCall) -> Header:
    return {
        "method": http.method,
        "path": http.path,
        "uri": http.request_uri,
        "ip": http.client_ip,
        "headers": http.headers,
    }


def _http_answer(frame: Header) -> HttpAnswer:
    headers = tuple((str(name), str(value)) for name, value in frame["headers"])
    return HttpAnswer(status=int(frame["status"]), headers=headers)


def bootstrap_command(executable: str, *arguments: str, hook: Path | None) -> list[str]:
    """Return the command line of an agent's process."""
    command = [executable, "-B", "-X", "utf8", str(_BOOTSTRAP), *arguments]
    return [*command, str(hook)] if hook is not None else command


def executable_for(runtime: str, interpreters: Mapping[str, str]) -> str:
    """Return the interpreter that a Python runtime runs on: the mapped one, else the emulator's own."""
    return interpreters.get(runtime) or sys.executable


def interpreter_environment() -> dict[str, str]:
    """Return the variables an interpreter starts with, so that it finds its packages; user code sees none of them."""
    kept = ("PATH", "HOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TEMP")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    # macOS aborts a forked process that touches its frameworks unless this is set before the start.
    return environment | {"LANG": "C.UTF-8", "OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES"}
