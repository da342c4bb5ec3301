"""The loop of one instance: read a call, run the user's function, answer.

One call at a time runs in the main thread, so that signals work as in any program; with an instance concurrency above
one each call has a thread. A process that user code forked and that comes back from the handler ends here silently.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
import threading
import time
import traceback
from types import FrameType, ModuleType
from typing import Any

from . import logs, process, wsgi  # noqa: TID252 - the package has another name inside an instance
from .context import FCContext, missing_from_context  # noqa: TID252
from .frames import FrameBuffer, encode  # noqa: TID252
from .handlers import Handler, Handlers, LoadFailure, describe, missing_package, to_body, to_json, traceback_of  # noqa: TID252

_CHUNK = 16 * 1024
_TERMINATED = 143
_KEY_VARIABLES = (
    ("ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET", "ALIBABA_CLOUD_SECURITY_TOKEN"),
    ("accessKeyID", "accessKeySecret", "securityToken"),
)

# User code may patch these (gevent does); the agent keeps the originals.
_clock = time.perf_counter
_exit = os._exit
_sleep = time.sleep
_getpid = os.getpid
_write = os.write


class Agent:
    """One function instance."""

    def __init__(self, channel: socket.socket, log: int, hook: ModuleType | None, *, forked: bool) -> None:
        self._pid = _getpid()
        self._channel = channel
        self._receive_into = channel.recv_into
        self._received = memoryview(bytearray(_CHUNK))
        self._send_all = channel.sendall
        self._sending = threading.Lock()
        self._incoming = FrameBuffer()
        self._log = log
        self._hook = hook
        self._forked = forked
        self._about: dict[str, Any] = {}
        self._told_of_time = False
        self._request_ids = logs.RequestIds()
        self._sink = logs.pipe_sink(log)

    def serve(self) -> None:
        """Serve calls until the server closes the channel; ends the process."""
        self._boot = self._read()[0]
        try:
            if "mounts" in self._boot:
                self._mount_folders()
            if self._boot["do"] == "exec":
                process.exec_program(self._boot, self._channel)
            self._handlers = Handlers(self._boot["code_dir"])
            self._meter = process.MemoryMeter(forked=self._forked)
            process.settle_in(self._boot, self._hook)
            if self._boot["debug"]:
                self._send({"debugger": process.start_debugger(self._boot["debug_folder"])})
        except (OSError, ImportError, RuntimeError) as error:
            self._send({"fatal": str(error)})
            _exit(1)
        self._concurrent = self._boot["concurrency"] > 1
        if self._concurrent:
            self._send_logs_in_frames()
        logs.configure_root(self._sink, self._request_ids, self._boot["log_level"])
        signal.signal(signal.SIGTERM, self._dump_stacks)
        while True:
            call, payload = self._read()
            if call["do"] == "clock":
                self._turn_clock(call["time"])
                self._send({"turned": True})
                continue
            if "about" in call:
                self._about = call["about"]
                if self._boot["keys_in_environment"]:
                    _publish_keys(self._about["keys"])
            call.update(self._about)
            if self._concurrent and call["do"] == "invoke":
                threading.Thread(target=self._answer_in_thread, args=(call, payload), daemon=True).start()
            else:
                self._answer(call, payload)

    def _mount_folders(self) -> None:
        from . import sandbox  # noqa: TID252 - only where the zygote has loaded it

        sandbox.mount_folders(*(self._boot[name] for name in ("mounts", "covered", "opt", "hidden")))

    def _answer(self, call: dict[str, Any], payload: bytes) -> None:
        if self._boot["mark"]:
            self._send({"began": call["seq"]})
        self._request_ids.enter(call["rid"])
        if self._boot["debug"] == "wait":
            process.wait_for_debugger()
        began = _clock()
        http: dict[str, Any] | None = None
        if "break" in call:
            succeeded, body = self._break(call["break"])
        else:
            succeeded, body, http = self._perform(call, payload)
        duration_ms = (_clock() - began) * 1000
        if _getpid() != self._pid:
            logs.flush_streams()
            _exit(0)
        peak_kb = self._meter.peak_kb()
        answer = {"done": call["seq"], "ok": succeeded, "ms": duration_ms, "mem": peak_kb}
        if peak_kb > self._boot["memory"] * 1024 and not self._boot["debug"]:
            answer["over"] = self._meter.exceeds(peak_kb, self._boot["memory"])
        if http is not None:
            answer["http"] = http
        if len(body) > self._boot["response_limit"]:
            answer["size"] = len(body)
            body = b""
        logs.flush_streams()
        if self._boot["mark"]:
            _write(self._log, b"\0" + call["seq"].encode("ascii") + b"\n")
        self._send(answer, body)

    def _answer_in_thread(self, call: dict[str, Any], payload: bytes) -> None:
        try:
            self._answer(call, payload)
        except BaseException as error:  # a thread must end the process where the main thread would
            if not isinstance(error, SystemExit):
                traceback.print_exc()
            logs.flush_streams()
            _exit(error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 1)

    def _perform(self, call: dict[str, Any], payload: bytes) -> tuple[bool, bytes, dict[str, Any] | None]:
        """Run handler, initializer or hook; return whether that went well, its body, and the head of an HTTP answer."""
        kind = call["do"]
        try:
            handler = self._handlers.get(self._boot["handler" if kind in ("invoke", "load") else kind])
        except LoadFailure as failure:
            if kind == "load":  # ahead of the first call, which reports what is wrong
                return True, b"", None
            logging.getLogger().error(failure.error)  # noqa: TRY400 - the log shows the error object only
            return False, to_body(failure.error), None
        if kind == "load":
            return True, b"", None
        context = FCContext(self._boot, call, self._logger(call["rid"]))
        if "http" in call:
            return self._perform_http(handler, context, call, payload)
        event = payload.decode("utf-8", "surrogateescape") if self._boot["text_event"] else payload
        try:
            value = handler(event, context) if kind == "invoke" else handler(context)
        except Exception as error:
            return (*self._failed(error, skip=1), None)
        try:
            return True, to_body(value) if kind == "invoke" else b"", None
        except Exception as error:  # what the user returned decides what conversion raises
            return (*self._failed(error, skip=0), None)

    def _turn_clock(self, frame: tuple[int, int | None, dict[str, str]]) -> None:
        """Let user code see the emulator's time; time-machine is imported only once the clock has been moved."""
        try:
            process.turn_clock(*frame)
        except ImportError:
            if not self._told_of_time:
                self._told_of_time = True
                sys.stderr.write(
                    "The emulator's clock has been moved, but this function sees the real time: "
                    "that needs time-machine (pip install 'localyun[testing]').\n"
                )

    def _break(self, how: str) -> tuple[bool, bytes]:
        """Fail the call as an injected fault demands, in this process, so that the server sees a real failure."""
        ways = {"timeout": self._hang, "crash": self._crash, "oom": self._exhaust_memory, "exception": self._raise}
        outcome: tuple[bool, bytes] = ways[how]()
        return outcome

    def _hang(self) -> tuple[bool, bytes]:
        while True:
            _sleep(3600)

    def _crash(self) -> tuple[bool, bytes]:
        logs.flush_streams()
        _exit(1)

    def _exhaust_memory(self) -> tuple[bool, bytes]:
        process.exhaust_memory(self._boot["memory"])
        return True, b"null"

    def _raise(self) -> tuple[bool, bytes]:
        return self._failed(RuntimeError("a fault was injected: exception"), skip=0)

    def _perform_http(
        self, handler: Handler, context: FCContext, call: dict[str, Any], payload: bytes
    ) -> tuple[bool, bytes, dict[str, Any] | None]:
        environ = wsgi.environ_of(call["http"], payload, context, self._boot["handler"])

        def send(answer: dict[str, Any] | None, piece: bytes) -> None:
            header = {"part": call["seq"]} if answer is None else {"part": call["seq"], "http": answer}
            if _getpid() == self._pid:
                self._send(header, piece)

        try:
            http, body = wsgi.serve(handler, environ, send if call["stream"] else None)
        except Exception as error:
            logging.getLogger().error(traceback_of(error, skip=2))  # noqa: TRY400 - frames of the agent are left out
            return (*self._failed(error, skip=2), None)
        return True, body, http

    def _failed(self, error: Exception, skip: int) -> tuple[bool, bytes]:
        text = to_json(describe(error, error.__traceback__, skip=skip))
        logging.getLogger().error(text)
        if hint := missing_from_context(error) or missing_package(error, self._boot["code_dir"]):
            logging.getLogger().warning(hint)
        return False, text.encode("ascii")

    def _logger(self, request_id: str) -> logging.Logger:
        if self._concurrent:
            return logs.request_logger(self._sink, self._request_ids, request_id)
        return logging.getLogger()

    def _send_logs_in_frames(self) -> None:
        self._sink = sink = logs.frame_sink(self._send)
        sys.stdout = logs.RequestStream(sink, self._request_ids, 1)
        sys.stderr = logs.RequestStream(sink, self._request_ids, 2)

    def _dump_stacks(self, signal_number: int, frame: FrameType | None) -> None:
        """Log where every thread is and exit: the server sends SIGTERM when a call takes too long."""
        root = logging.getLogger()
        root.error("Dumping stack trace after function timeout")
        for thread_id, stack in sys._current_frames().items():
            root.error("request id = %s, thread id = %s", self._request_ids.current(), thread_id)
            root.error(traceback.format_stack(stack))
        logs.flush_streams()
        sys.exit(_TERMINATED)

    def _read(self) -> tuple[dict[str, Any], bytes]:
        while True:
            frame = self._incoming.next()
            if frame is not None:
                return frame
            try:
                size = self._receive_into(self._received)
            except ConnectionResetError:  # the server was killed before it had read the last answer
                size = 0
            if size == 0:
                _exit(0)
            self._incoming.feed(self._received[:size])

    def _send(self, header: dict[str, Any], payload: bytes = b"") -> None:
        with self._sending:
            try:
                self._send_all(encode(header, payload))
            except OSError:  # the server has gone, and with it every caller
                _exit(0)


def _publish_keys(keys: list[str] | None) -> None:
    """Keep the environment's keys those of the latest call: temporary keys expire before a warm instance does."""
    for names in _KEY_VARIABLES:
        os.environ.update(zip(names, keys or ()))  # noqa: B905 - strict= is newer than the interpreters served


def start(arguments: list[str]) -> Agent:
    """Connect to the server and return the agent: the way by exec, where there is no fork.

    The server's address and a secret come as one JSON line on standard input; the agent connects back and shows the
    secret.
    """
    order = json.loads(sys.stdin.readline())
    channel = socket.create_connection((order["host"], order["port"]))
    channel.settimeout(None)
    channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    channel.sendall(order["secret"].encode("ascii"))
    sys.stdin.close()
    log = os.dup(1)
    if os.name == "posix":
        channel, log = process.protect_descriptors(channel, log)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # both are text streams over descriptors here
    return Agent(channel, log, process.load_hook(arguments), forked=False)
