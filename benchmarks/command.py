"""The command line: how long a command takes from its start to its end, and so what a shell script waits for."""

import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.harness import Row
from benchmarks.server import Connection, Server, ordinary_environment, python_pass_s

TIMES = 5


class Commands:
    """The rows, around one server that stays up for all rounds."""

    def __init__(self) -> None:
        self._server = Server()
        with Connection(self._server.port) as connection:
            status, body = connection.ask(self._server.mns("PUT", "/queues/orders"))
        if status != 201:
            raise RuntimeError(body)

    def close(self) -> None:
        """End the server."""
        self._server.stop()

    def rows(self) -> list[Row]:
        """Return the rows in the order they are taken."""
        return [
            self._row("localyun --help", 2, "--help"),
            self._row("localyun queue send, the round trip included", 4, "queue", "send", "orders", "hello"),
        ]

    def _row(self, name: str, goal: float, *words: str) -> Row:
        return Row(
            name=name,
            unit="ms",
            measure=lambda: self._run_ms(*words),
            reference=lambda: min(python_pass_s() for _ in range(TIMES)) * 1000,
            reference_name="python -c pass",
            goal=goal,
        )

    def _run_ms(self, *words: str) -> float:
        """Return the shortest of several runs: the start of a process is what the machine disturbs most."""
        return min(self._once_ms(*words) for _ in range(TIMES))

    def _once_ms(self, *words: str) -> float:
        environment = ordinary_environment() | {
            "LOCALYUN_ENDPOINT": f"http://127.0.0.1:{self._server.port}",
            "LOCALYUN_STATE": os.fspath(self._server.state),
        }
        command = Path(sys.executable).with_name("localyun")
        began = time.perf_counter()
        subprocess.run([command, *words], check=True, env=environment, stdout=subprocess.DEVNULL)
        return (time.perf_counter() - began) * 1000
