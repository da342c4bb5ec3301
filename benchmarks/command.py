"""The command line: the processor time a short command takes, which is most of what a shell script waits for."""

import os
import statistics
import sys
from pathlib import Path

from benchmarks import floors
from benchmarks.harness import Measure, Row
from benchmarks.server import Connection, Server, child_cpu_s, ordinary_environment, python_pass_cpu_s

TIMES = 5
LOCALYUN = str(Path(sys.executable).with_name("localyun"))


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
            self._row("localyun --help", 2, ["--help"], lambda: floors.help_ms([LOCALYUN, "--help"])),
            self._row(
                "localyun queue send, with its call",
                4,
                ["queue", "send", "orders", "hello"],
                lambda: floors.queue_send_ms(self._server),
            ),
        ]

    def _row(self, name: str, goal: float, words: list[str], floor: Measure) -> Row:
        return Row(
            name=f"{name}: processor time",
            unit="ms",
            measure=lambda: self._run_ms(words),
            reference=lambda: python_pass_cpu_s() * 1000,
            reference_name="python -c pass",
            goal=goal,
            floor=floor,
        )

    def _run_ms(self, words: list[str]) -> float:
        environment = ordinary_environment() | {
            "LOCALYUN_ENDPOINT": f"http://127.0.0.1:{self._server.port}",
            "LOCALYUN_STATE": os.fspath(self._server.state),
        }
        return statistics.median(child_cpu_s([LOCALYUN, *words], environment) for _ in range(TIMES)) * 1000
