"""What the least costs: each floor runs a program of `benchmarks.bare` in the place of the emulator.

The figures of docs/benchmarks.md stand beside these; that page says for each what it leaves out.
"""

import asyncio
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.bare import PRAGMAS, Messages, Tables
from benchmarks.flows import FLOWS_AT_ONCE, run_flows, turn_text
from benchmarks.server import HEALTH, SERVICE, Connection, Program, child_cpu_s, free_port, ordinary_environment, p50_ms

ROOT = Path(__file__).resolve().parent.parent
TIMES = 5


class Bare(Program):
    """A running program of `benchmarks.bare`; its first argument is the port."""

    def __init__(self, name: str, *arguments: object, ask: bytes = HEALTH) -> None:
        self.key_id = self.secret = "bare"
        port = free_port()
        super().__init__(_command(name, port, *arguments), port, ask, ROOT)


def _command(name: str, *arguments: object) -> list[str]:
    words = ", ".join(map(repr, arguments))
    return [sys.executable, "-c", f"from benchmarks.bare import {name}; {name}({words})"]


def start(measure: Callable[[Program], float]) -> float:
    """Return what *measure* says of a server with nothing behind it that has answered its first call."""
    with (
        tempfile.TemporaryDirectory(prefix="localyun-bench-") as folder,
        Bare("start", f"{folder}/state.db", ask=SERVICE) as bare,
    ):
        return measure(bare)


def warm_ms(function: Path, calls: int) -> float:
    """Return the median time of calls over HTTP of a function in another process, in ms."""
    with Bare("calls", str(function), False) as bare:
        return p50_ms(bare.port, _call(), calls, 20)


def cold_ms(function: Path, calls: int = 9) -> float:
    """Return the median time of such calls when each is answered by a process forked for it, in ms."""
    with Bare("calls", str(function), True) as bare, Connection(bare.port) as connection:
        spent = []
        for _ in range(calls):
            time.sleep(0.1)
            began = time.perf_counter()
            connection.ask(_call())
            spent.append(time.perf_counter() - began)
    return statistics.median(spent) * 1000


def _call() -> bytes:
    return b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 64\r\n\r\n" + b"x" * 64


def flows_per_s() -> float:
    """Return how many flows per second a server keeps that writes their rows and does nothing else."""
    with tempfile.TemporaryDirectory(prefix="localyun-bench-") as folder:
        text = Path(folder) / "turn.txt"
        text.write_text(turn_text(), encoding="ascii")
        with Bare("flows", f"{folder}/state.db", str(text)) as bare:
            return run_flows(bare, FLOWS_AT_ONCE)


def help_ms(shown: list[str]) -> float:
    """Return the processor time of a program that prints as much as the command *shown*, in ms."""
    text = subprocess.run(shown, check=True, capture_output=True, env=ordinary_environment()).stdout
    return _program_ms(_command("help_text", len(text)))


def queue_send_ms(to: Program) -> float:
    """Return the processor time of a program that sends a message to the emulator, in ms."""
    return _program_ms(_command("queue_send", to.port, to.key_id, to.secret))


def _program_ms(command: list[str]) -> float:
    return statistics.median(child_cpu_s(command, ordinary_environment()) for _ in range(TIMES)) * 1000


class BareQueue:
    """Messages in a file of their own, without any server; every call is committed."""

    def __init__(self, folder: Path) -> None:
        self._tables = Tables(str(folder / "bare.db"))
        self._messages = Messages(self._tables)

    def close(self) -> None:
        """Close the file."""
        self._tables.connection.close()

    def fill(self, statement: str, values: dict[str, int]) -> None:
        """Put many messages into the queue."""
        self._tables.connection.execute(statement, values)
        self._messages = Messages(self._tables)

    def send(self, body: bytes) -> None:
        """Send a message."""
        self._messages.send(body)
        self._tables.commit()

    def receive(self) -> str:
        """Receive a message and return its handle."""
        handle, _ = self._messages.receive()
        self._tables.commit()
        return handle

    def delete(self, handle: str) -> None:
        """Delete what was received."""
        self._messages.delete(handle)
        self._tables.commit()


def commit_us(folder: Path, table: str, insert: str, row: tuple[object, ...], commits: int) -> float:
    """Return the processor time of a transaction with one row, and the loop's turn, in microseconds."""
    path = folder / "bare.db"
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in (*PRAGMAS, "wal_autocheckpoint=0"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute(table)

    async def spent() -> float:
        started = time.process_time()
        for _ in range(commits):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(insert, row)
            connection.execute("COMMIT")
            await asyncio.sleep(0)
        return time.process_time() - started

    used = asyncio.run(spent())
    connection.close()
    path.unlink()
    return used / commits * 1e6
