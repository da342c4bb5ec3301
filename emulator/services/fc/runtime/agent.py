"""An instance with the emulator's own agent in it, for Python or Node.js: calls as frames, output, the end.

The agent itself is in ``bootstrap/``. This module also chooses its interpreter and the variables it starts with.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from emulator.http.client_connection import ConnectionLost
from emulator.kernel.ids import Ids
from emulator.kernel.pieces import SentPieces
from emulator.services.fc.runtime.bootstrap.python.frames import Header
from emulator.services.fc.runtime.logs import Throttle
from emulator.services.fc.runtime.model import HttpAnswer, HttpCall, Invocation
from emulator.services.fc.runtime.process import Answer, CallKind, Exit, InstanceProcess, Listener, Pending
from emulator.services.fc.runtime.settings import LOG_LEVEL, RuntimeSettings, instance_environment
from emulator.services.fc.runtime.streaming import FailedMidway, StreamedBody

_log = logging.getLogger(__name__)

_BOOTSTRAP = Path(__file__).parent / "bootstrap" / "python" / "__main__.py"

_LINGER_S = 0.05
"""How long after the end of a process its last answer may still be on the way. Its channel may stay open, held by
something it left behind, so the end of the channel cannot be waited for."""

_NOTHING: Mapping[str, Any] = {}


class AgentProcess(InstanceProcess):
    """An `InstanceProcess` with an agent in it."""

    def __init__(self, listener: Listener, settings: RuntimeSettings, ids: Ids) -> None:
        super().__init__(listener, settings.response_limit)
        self._settings = settings
        self._ids = ids
        self._pending: dict[str, Pending] = {}
        self._streams: dict[str, SentPieces] = {}
        self._throttle = Throttle(self._loop)
        self._unread = False
        self._marks = False
        self._began: set[str] = set()
        self._shift: tuple[int, int | None] | None = None
        self._turning = 0
        self._turned: asyncio.Future[None] | None = None
        self._about: tuple[object, ...] = ()
        self._unsent: list[Pending] = []
        """Calls for a process that had ended, which has not been heard out yet."""

    def boot_frame(self, *, isolated: bool, mark: bool, more: Mapping[str, Any] = _NOTHING) -> Header:
        """Return the frame before the first call: the function's settings, and *more* fields for the agent of a family.

        With *mark* it reports when it has read a call and marks the log before each answer: for transports that show
        neither.
        """
        image = self.listener.image
        environment = instance_environment(image, self.listener.instance_id, self._settings, isolated=isolated)
        self._marks = mark
        return {
            "do": "boot",
            "name": image.function,
            "handler": image.handler,
            "initialize": image.initializer,
            "pre_freeze": image.pre_freeze,
            "pre_stop": image.pre_stop,
            "memory": image.memory_mb,
            "timeout": image.timeout_s,
            "service": image.service,
            "version": image.version,
            "region": image.region,
            "account": image.account,
            "log_project": image.log_project,
            "log_store": image.log_store,
            "modern_context": _version_of(image.runtime) >= (3, 12),
            "text_event": image.runtime == "python2.7",
            "library": "python3.6" if image.runtime == "python3" else image.runtime,
            "code_dir": str(image.code_dir),
            "layers": [str(layer) for layer in image.layers],
            "environment": environment,
            "log_level": image.environment.get(LOG_LEVEL) or "INFO",
            "concurrency": image.instance_concurrency,
            "keys_in_environment": image.keys_in_environment,
            "keys_in_calls": image.keys_in_calls,
            "debug": image.debug,
            "debug_folder": debugpy_folder() if image.debug else "",
            "response_limit": self._settings.response_limit,
            "mark": mark,
            **more,
        }

    async def turn_clock(self) -> None:
        """Set the agent's clock if it has another time; see `InstanceProcess`."""
        shift = self._settings.time.shift
        if shift != self._shift and not self._lost:
            self._shift = shift
            self._turning += 1
            if self._turned is None:
                self._turned = self._loop.create_future()
            self.channel.send({"do": "clock", "time": self._settings.time.frame()})
        if self._turned is not None:
            await asyncio.wait(
                {self._turned}, timeout=self._settings.start_timeout_s
            )  # the call's deadline ends others

    def begin(self, kind: CallKind, call: Invocation) -> Pending:
        """Hand over a call; see `InstanceProcess`."""
        future: Pending = self._loop.create_future()
        if self._lost or self.gone.done():
            self._unsent.append(future)
            if self._lost or self._over:  # else what it sent before its end is still to come: why it could not start
                self._refuse_unsent()
            return future
        sequence = self._ids.secret(8).hex()  # the program must not guess that of another call
        self._pending[sequence] = future
        header: Header = {"do": kind.name, "seq": sequence, "rid": call.request_id}
        about = call.qualifier, call.retry_count, call.credentials, call.tracing
        if about != self._about:  # they rarely change, and writing them takes longer than all the rest of a frame
            self._about = about
            header["about"] = dict(zip(("qualifier", "retry", "keys", "tracing"), about, strict=True))
        if call.fault:
            header["break"] = call.fault
        if call.http is not None:
            header["http"] = _http_frame(call.http)
            header["stream"] = call.stream
        self.channel.send(header, call.event)
        return future

    def abandon(self) -> None:
        """Abandon a process whose start failed; its listener is not called again."""
        self.kill()
        self._over = True
        self.channel.close()
        if self._log is not None:
            self._log.close()

    def expects(self, sequence: str) -> bool:
        """Whether a call of that sequence waits for its answer."""
        return sequence in self._pending or sequence in self._streams

    def exited(self, memory_kb: int, reason: str = "") -> None:
        """Record that the process has ended; see `InstanceProcess`."""
        if self.gone.done():
            return
        self.gone.set_result(None)
        self._memory_kb = max(self._memory_kb, memory_kb)
        if self._lost:
            self._finish()
        else:
            self._loop.call_later(_LINGER_S, self._finish_when_quiet, self.channel.received)

    def _on_frame(self, header: Header, payload: bytes) -> None:
        try:
            if "done" in header:
                self._on_answer(header, payload)
            elif "part" in header:
                self._on_part(header, payload)
            elif "began" in header:
                self._began.add(str(header["began"]))
            elif "log" in header:
                self.listener.output(payload, str(header["log"]))
                self._hold_back(len(payload))
            elif "turned" in header:
                self._turning -= 1
                if self._turning <= 0:
                    self._end_turn()
            elif "debugger" in header:
                self.listener.listening(int(header["debugger"]))
            elif "fatal" in header:
                self._fatal = str(header["fatal"])
        except (KeyError, TypeError, ValueError):  # only user code that took over the agent's socket sends such a thing
            _log.warning("an instance sent an invalid frame and is ended")
            self.channel.close()

    def _on_part(self, header: Header, payload: bytes) -> None:
        """Take a piece of a body; the first one comes with status and fields, and answers the call."""
        sequence = str(header["part"])
        if sequence in self._pending:
            pieces = self._streams[sequence] = SentPieces(self.channel)
            http = _http_answer(header["http"])
            answer = Answer(
                succeeded=True,
                body=b"",
                duration_ms=0.0,
                memory_kb=self._memory_kb,
                over_memory=False,
                size=0,
                http=http,
                stream=StreamedBody(pieces),
            )
            self._resolve(sequence, answer)
        if sequence in self._streams:
            self._streams[sequence].put(payload)

    def _on_answer(self, header: Header, payload: bytes) -> None:
        sequence = str(header["done"])
        if sequence in self._streams:
            failure = None if header["ok"] else FailedMidway()
            lost = ConnectionLost("it took too much memory") if header.get("over") else failure
            assert self._log is not None
            self._log.settle(sequence, lambda: self._end_stream(sequence, lost))
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
        assert self._log is not None
        self._log.settle(sequence, lambda: self._resolve(sequence, answer))

    def _resolve(self, sequence: str, outcome: Answer | Exit) -> None:
        self._began.discard(sequence)
        future = self._pending.pop(sequence, None)
        if future is not None and not future.done():
            future.set_result(outcome)

    def _end_stream(self, sequence: str, error: Exception | None) -> None:
        pieces = self._streams.pop(sequence, None)
        if pieces is not None:
            pieces.end(error)

    def _hold_back(self, size: int) -> None:
        pause_s = self._throttle.spend(size)
        if pause_s > 0:
            self.channel.pause()
            self._loop.call_later(pause_s, self.channel.resume)

    def _on_lost(self, error: Exception | None) -> None:
        self._lost = True
        # A reset, and not a clean end, means that bytes of ours were left unread: the call never began.
        self._unread = isinstance(error, ConnectionResetError | BrokenPipeError)
        if self.gone.done():
            self._finish()
        else:
            self.kill()

    def _end_turn(self) -> None:
        turned, self._turned = self._turned, None
        if turned is not None:
            turned.set_result(None)

    def _refuse_unsent(self) -> None:
        unsent, self._unsent = self._unsent, []
        for future in unsent:
            if not future.done():
                written = self._last_words()
                future.set_result(Exit(memory_kb=self._memory_kb, unread=True, fatal=self._fatal, written=written))

    def _last_words(self) -> str:
        """Return what the program wrote last, before it could take a call."""
        return ""

    def _finish_when_quiet(self, received: int) -> None:
        if self.channel.received != received:
            self._loop.call_later(_LINGER_S, self._finish_when_quiet, self.channel.received)
        else:
            self._finish()

    def _finish(self) -> None:
        if self._over:
            return
        self._over = True
        self._end_turn()
        self.channel.close()
        if self._log is not None:
            self._log.close()
        unread = self._unread and len(self._pending) == 1  # of several calls some have been read
        for sequence in list(self._pending):
            if self._marks:
                unread = sequence not in self._began
            ended = Exit(memory_kb=self._memory_kb, unread=unread, fatal=self._fatal, written=self._last_words())
            self._resolve(sequence, ended)
        self._refuse_unsent()
        for sequence in list(self._streams):
            self._end_stream(sequence, ConnectionLost("the process has ended"))
        self.listener.ended(self._memory_kb)


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


def debugpy_folder() -> str:
    """Return the folder in which debugpy is installed, empty when it is not."""
    spec = find_spec("debugpy")
    return str(Path(spec.origin).parent.parent) if spec is not None and spec.origin else ""


def _version_of(runtime: str) -> tuple[int, ...]:
    digits = runtime.removeprefix("python").split(".")
    return tuple(int(part) for part in digits) if all(part.isdigit() for part in digits) else ()
