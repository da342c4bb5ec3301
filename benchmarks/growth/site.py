"""An emulator over a state of some size, whose processor time and standstills are looked at call by call."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.server import CLOCK, SERVICE, Server, ordinary_environment
from emulator.kernel.ids import RandomIds
from tests.operations.calling import signed
from tests.operations.recording import Operation

QUIET_S = 0.01
"""So long without processor time, and what a call has set going is over."""

LONGEST_S = 60.0
ACCOUNT = "1234567890123456"
"""Whose the calls of `tests.operations` are."""

_CONSOLE = "/_localyun/console"


class Cost(NamedTuple):
    """What something took: milliseconds of the server's processor time, and what came of it."""

    ms: float
    outcome: str


class Site:
    """One watched emulator, which takes any key."""

    def __init__(self, state: Path, functions: Path | None = None, account: str = "") -> None:
        self._folder = state.parent
        self._report = self._folder / f"{state.name}.report"
        watched = [sys.executable, "-m", "benchmarks.watched", str(self._report)]
        under = ["env", f"LOCALYUN_ACCOUNT_ID={account}", *watched] if account else watched
        self.server = Server(functions, "--auth", "lenient", ask=SERVICE, state=state, under=under)
        keys = json.loads((state / "keys.json").read_text(encoding="utf-8"))
        self._token: str = keys["adminToken"]
        self._ids = RandomIds()
        self._cookie = ""
        self.quiet()

    def close(self) -> None:
        """End the emulator."""
        self.server.stop()

    def quiet(self) -> None:
        """Wait until the emulator uses no processor time any more, nor waits for a processor that others have."""
        end, before = time.perf_counter() + LONGEST_S, self.server.cpu_ns()
        while time.perf_counter() < end:
            time.sleep(QUIET_S)
            now = self.server.cpu_ns()
            if now - before < QUIET_S * 1e9 / 50 and not self.server.is_running():
                return
            before = now

    def cost(self, act: Callable[[], str]) -> Cost:
        """Return what an act and all that follows from it take."""
        before = self.server.cpu_ns()
        outcome = act()
        self.quiet()
        return Cost((self.server.cpu_ns() - before) / 1e6, outcome)

    def standstill_ms(self) -> float:
        """Return the most processor time of one turn of the loop since this was asked last."""
        self._report.unlink(missing_ok=True)
        os.kill(self.server.process.pid, signal.SIGUSR1)
        end = time.perf_counter() + LONGEST_S
        while not self._report.exists():
            if time.perf_counter() > end:
                raise RuntimeError("no report")
            time.sleep(0.001)
        return float(json.loads(self._report.read_text(encoding="utf-8"))["hardest"]["processor_ms"])

    def call(self, operation: Operation) -> str:
        """Make a call and return its status; ``waits`` when it is still waiting after a second."""
        nonce = int.from_bytes(self._ids.uuid().encode()[:8], "big")
        wire = signed(operation, self._token, CLOCK.now(), nonce)
        first, rest = wire.split(b"\r\n", 1)
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=LONGEST_S) as connection:
            connection.settimeout(LONGEST_S if operation.dialect == "admin" else 2.0)
            connection.sendall(first + b"\r\nConnection: close\r\n" + rest)
            received = b""
            with suppress(TimeoutError):
                while piece := connection.recv(1 << 20):
                    received = received or piece
                return received[9:12].decode("ascii")
        return "waits"

    def page(self, path: str, form: dict[str, str] | None = None) -> str:
        """Ask for a page of the console as a browser does that has one open, and return the status."""
        if not self._cookie:
            given = {"X-Localyun-Token": self._token, "Content-Type": "application/json"}
            link = json.loads(self._asked("POST", "/_localyun/console-link", given)[2])["path"]
            self._cookie = self._asked("GET", link, {})[1]["Set-Cookie"].partition(";")[0]
        headers = {"Cookie": self._cookie, "HX-Request": "true"}
        return str(self._asked("GET", _CONSOLE + path, headers)[0])

    def command(self, words: list[str], given: str | None = None, seconds: float = LONGEST_S) -> str:
        """Run a command of the program and return its exit code."""
        environment = ordinary_environment() | {
            "LOCALYUN_ENDPOINT": f"http://127.0.0.1:{self.server.port}",
            "LOCALYUN_STATE": os.fspath(self.server.state),
        }
        ran = subprocess.run(
            [sys.executable, "-m", "emulator", *words], env=environment, input=given, text=True, capture_output=True,
            timeout=seconds, check=False, cwd=self._folder,
        )  # fmt: skip
        return f"exit {ran.returncode}" if ran.returncode else "200"

    def _asked(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, Any, bytes]:
        with closing(http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=LONGEST_S)) as connection:
            connection.request(method, path, "{}" if method == "POST" else None, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
