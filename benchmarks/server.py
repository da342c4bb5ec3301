"""A started emulator and prebuilt, signed requests: what the rows share."""

import json
import os
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlencode

from emulator.auth import fc as fc_scheme
from emulator.auth import mns as mns_scheme
from emulator.auth import rpc as rpc_scheme
from emulator.http.message import Headers, Request
from emulator.kernel.clock import SystemClock
from emulator.kernel.ids import RandomIds
from emulator.wire.dates import http_date

CLOCK = SystemClock()
IDS = RandomIds()


HEALTH = b"GET /_localyun/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
SERVICE = b"GET /2016-08-15/services HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
"""An unsigned call: it is refused by the service itself, so the service is there."""


LONGEST_START_S = 120
"""A start that takes longer has failed; on a machine with other work one over a large state takes half a minute."""


class Signer:
    """Makes signed requests with the key of one emulator."""

    key_id: str
    secret: str

    def rpc(self, action: str, **parameters: str) -> bytes:
        """Return a signed workflow request as bytes for the wire; each is good for one use."""
        named = rpc_scheme.signed_parameters(
            "POST",
            {"Action": action, "Version": "2019-03-15", "Format": "JSON", **parameters},
            key_id=self.key_id,
            secret=self.secret,
            timestamp=CLOCK.now(),
            nonce=IDS.uuid(),
        )
        body = urlencode(named).encode("ascii")
        head = (
            f"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode("ascii") + body

    def fc(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Return a signed Function Compute request as bytes; good for fifteen minutes."""
        headers = [
            ("Host", "127.0.0.1"),
            ("Date", http_date(CLOCK.now())),
            ("Content-Type", "application/octet-stream"),
        ]
        authorization = fc_scheme.authorization(Request(method, path, Headers(headers), body), self.key_id, self.secret)
        headers += [("Authorization", authorization), ("Content-Length", str(len(body)))]
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("ascii") + body

    def mns(self, method: str, target: str, body: bytes = b"") -> bytes:
        """Return a signed Message Service request as bytes; good for fifteen minutes."""
        headers = mns_headers(method, target, body, self.key_id, self.secret)
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("ascii") + body


class Program(Signer):
    """A process that serves HTTP on `port`; ended with the ``with`` block.

    `start_s` is how long it took from starting it until *ask* was answered.
    """

    def __init__(
        self, command: Sequence[str], port: int, ask: bytes, folder: Path | None = None, **environment: str
    ) -> None:
        self.port = port
        began = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=ordinary_environment() | environment,
            cwd=folder,
        )
        while not self._answers(ask):
            if self.process.poll() is not None or time.perf_counter() - began > LONGEST_START_S:
                self.process.kill()
                self.process.wait()
                raise RuntimeError(f"it did not start: {command}")
            time.sleep(0.001)
        self.start_s = time.perf_counter() - began

    def _answers(self, ask: bytes) -> bool:
        try:
            with Connection(self.port) as connection:
                return connection.ask(ask)[0] > 0
        except OSError:
            return False

    def memory_mb(self) -> float:
        """Return its resident memory in MB (function instances are processes of their own)."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise RuntimeError("no VmRSS")

    def cpu_s(self) -> float:
        """Return the processor time it has used, in seconds."""
        return cpu_s(self.process.pid)

    def cpu_ns(self) -> int:
        """Return the processor time of the process in nanoseconds, threads that have ended included; for short spans.

        Source: clock_getcpuclockid(3), whose numbers are made as here.
        """
        return time.clock_gettime_ns(~self.process.pid << 3 | 2)

    def is_running(self) -> bool:
        """Whether a thread of it runs, or would if a processor were free (Linux)."""
        for each in Path(f"/proc/{self.process.pid}/task").iterdir():
            with suppress(FileNotFoundError):  # it has ended meanwhile
                if (each / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0] == "R":
                    return True
        return False

    def threads(self) -> int:
        """Return how many threads it has."""
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    def stop(self) -> None:
        """End the process by its own id."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(LONGEST_START_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class Server(Program):
    """One emulator process on free ports with its own state folder, or *state*.

    *program* is the folder of another version of the emulator; *under* are the words of a program that runs it as its
    child. It stands in a registry of its own, ``runtime``: ``localyun list`` asks every emulator that it finds.
    """

    def __init__(
        self,
        functions: Path | None = None,
        *options: str,
        ask: bytes = HEALTH,
        state: Path | None = None,
        program: Path | None = None,
        under: Sequence[str] = (),
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="localyun-bench-")
        self.runtime = Path(self._folder.name)
        self.state = state or self.runtime / "state"
        port = free_port()
        command = [*under, sys.executable, "-m", "emulator", "start", "--port", str(port), "--https-port", "0"]
        command += ["--state", str(self.state), "--log-level", "warning", *options]
        if functions is not None:
            command += ["--functions", str(functions)]
        environment = {"XDG_RUNTIME_DIR": str(self.runtime)}
        if program is not None:
            environment["PYTHONPATH"] = str(program)
        super().__init__(command, port, ask, program, **environment)
        keys = json.loads((self.state / "keys.json").read_text(encoding="utf-8"))
        self.key_id, self.secret = keys["accessKeyId"], keys["accessKeySecret"]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._folder.cleanup()


class Connection:
    """A kept-alive connection with as little client as possible: bytes out, status and body in."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=70)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send *request* and return (status, body) of its answer; answers carry Content-Length."""
        self.send(request)
        return self.receive()

    def send(self, request: bytes) -> None:
        """Send *request* without waiting."""
        self.socket.sendall(request)

    def receive(self) -> tuple[int, bytes]:
        """Return (status, body) of the next answer."""
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            self._more()
        head = self._buffer[:end].decode("latin-1")
        length = 0
        for line in head.split("\r\n")[1:]:
            name, _, value = line.partition(":")
            if name.lower() == "content-length":
                length = int(value)
        while len(self._buffer) < end + 4 + length:
            self._more()
        body = self._buffer[end + 4 : end + 4 + length]
        self._buffer = self._buffer[end + 4 + length :]
        return int(head.split(" ", 2)[1]), body

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def _more(self) -> None:
        received = self.socket.recv(262_144)
        if not received:
            raise ConnectionError("the server closed the connection")
        self._buffer += received

    def __enter__(self) -> "Connection":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def checked(answer: tuple[int, bytes], wanted: int) -> bytes:
    """Return the body of an answer with the status *wanted*.

    Raises: RuntimeError.
    """
    if answer[0] != wanted:
        raise RuntimeError(answer)
    return answer[1]


def p50_ms(port: int, request: bytes, calls: int = 30, warm: int = 3) -> float:
    """Return the median time of *calls* over one connection after *warm* others, in ms.

    Raises: RuntimeError when one is refused.
    """
    spent = []
    with Connection(port) as connection:
        for number in range(warm + calls):
            began = time.perf_counter()
            checked(connection.ask(request), 200)
            if number >= warm:
                spent.append(time.perf_counter() - began)
    return statistics.median(spent) * 1000


def mns_headers(method: str, target: str, body: bytes, key_id: str, secret: str) -> list[tuple[str, str]]:
    """Return the headers the official Python client sends, signed."""
    headers = [
        ("Host", "127.0.0.1"),
        ("Date", http_date(CLOCK.now())),
        ("Content-Type", "text/xml;charset=UTF-8"),
        ("Content-Length", str(len(body))),
        ("x-mns-version", "2015-06-06"),
        ("User-Agent", "aliyun-sdk-python/1.1.5"),
    ]
    return [
        *headers,
        ("Authorization", mns_scheme.authorization(Request(method, target, Headers(headers), body), key_id, secret)),
    ]


def ordinary_environment() -> dict[str, str]:
    """Return this process's environment without what would keep Python from caching compiled modules."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def cpu_s(process: int) -> float:
    """Return the processor time that all threads of a process have used, in seconds (Linux)."""
    threads = Path(f"/proc/{process}/task").iterdir()
    return sum(int((each / "schedstat").read_text(encoding="ascii").split()[0]) for each in threads) / 1e9


def children_of(process: int) -> list[int]:
    """Return the children that the threads of a process have (Linux)."""
    found: list[int] = []
    for thread in Path(f"/proc/{process}/task").iterdir():
        found += map(int, (thread / "children").read_text(encoding="ascii").split())
    return found


def private_mb(process: int) -> float:
    """Return the memory of a process that it shares with no other, in MB (Linux)."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def free_port() -> int:
    """Return a port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def python_pass_s() -> float:
    """Return how long the interpreter takes to start and do nothing, in seconds."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - began


def child_cpu_s(command: list[str], environment: dict[str, str] | None = None) -> float:
    """Run a command to its end and return the processor time it used, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def python_pass_cpu_s() -> float:
    """Return the processor time the interpreter takes to start and do nothing, in seconds; median of five."""
    return statistics.median(child_cpu_s([sys.executable, "-c", "pass"], ordinary_environment()) for _ in range(5))


def echo_p50_ms(calls: int = 500) -> float:
    """Return the median round trip of one small message over a socket pair between two processes, in ms."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        while data := theirs.recv(4096):
            theirs.sendall(data)
        os._exit(0)
    theirs.close()
    spent = []
    for _ in range(calls):
        began = time.perf_counter()
        ours.sendall(b"x" * 64)
        ours.recv(4096)
        spent.append(time.perf_counter() - began)
    ours.close()
    os.waitpid(child, 0)
    return statistics.median(spent) * 1000
