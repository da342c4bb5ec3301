"""Starting, memory, function calls and flows: figures of the finished product beside their references."""

import shutil
import statistics
import tempfile
import time
from pathlib import Path

import emulator
from benchmarks import floors
from benchmarks.flows import FLOWS_AT_ONCE, create_flow, run_flows, storage_floor_per_s, ten_steps_ms
from benchmarks.harness import Row
from benchmarks.load import requests_per_s
from benchmarks.server import (
    HEALTH,
    SERVICE,
    Connection,
    Program,
    Server,
    children_of,
    echo_p50_ms,
    p50_ms,
    private_mb,
    python_pass_cpu_s,
    python_pass_s,
)

WARM_CALLS = 500

FUNCTION = "def handler(event, context):\n    return event\n"


class Foundation:
    """The rows, around one server that stays up for all rounds and a folder of ten functions."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="localyun-bench-functions-"))
        for number in range(10):
            folder = self._folder / "bench" / f"f{number}"
            folder.mkdir(parents=True)
            (folder / "index.py").write_text(FUNCTION, encoding="ascii")
        self._function = self._folder / "bench" / "f0" / "index.py"
        self._server = Server(self._folder)
        with Connection(self._server.port) as connection:
            create_flow(self._server, connection)

    def close(self) -> None:
        """End the server."""
        self._server.stop()
        shutil.rmtree(self._folder)

    def rows(self) -> list[Row]:
        """Return the rows in the order they are taken."""
        return [
            Row(
                name="start to first answered call, folder with 10 functions",
                unit="ms",
                measure=lambda: self._start_ms(HEALTH),
                reference=lambda: python_pass_s() * 1000,
                reference_name="python -c pass",
                goal=12,
                floor=lambda: floors.start(lambda bare: bare.start_s * 1000),
            ),
            Row(
                name="start to first answered service call",
                unit="ms",
                measure=lambda: self._start_ms(SERVICE),
                reference=lambda: python_pass_s() * 1000,
                reference_name="python -c pass",
                goal=9,
                floor=lambda: floors.start(lambda bare: bare.start_s * 1000),
            ),
            Row(
                name="the same: the server's processor time",
                unit="ms",
                measure=self._start_cpu_ms,
                reference=lambda: python_pass_cpu_s() * 1000,
                reference_name="python -c pass",
                floor=lambda: floors.start(lambda bare: bare.cpu_s() * 1000),
            ),
            Row(
                name="idle memory, all services ready",
                unit="MB",
                measure=self._idle_memory_mb,
                goal=35,
                floor=lambda: floors.start(Program.memory_mb),
            ),
            Row(
                name="private memory of a warm Python instance",
                unit="MB",
                measure=self._instance_memory_mb,
                goal=6,
            ),
            Row(name="unpacked program, without compiled modules", unit="MB", measure=program_mb),
            Row(
                name="warm Python function over HTTP, p50",
                unit="ms",
                measure=self._warm_ms,
                reference=lambda: self._empty_ms() + echo_p50_ms(),
                reference_name="an empty answer of the server, and one echo through a socket pair",
                goal=1.6,
                floor=lambda: floors.warm_ms(self._function, WARM_CALLS),
            ),
            Row(
                name="warm Python function, 16 clients",
                unit="calls/s",
                measure=lambda: self._warm_per_s(16),
                reference=lambda: self._warm_per_s(1),
                reference_name="one client",
                goal=1.7,
                at_least=True,
            ),
            Row(
                name="first call of a Python function (cold)",
                unit="ms",
                measure=self._cold_ms,
                reference=lambda: python_pass_s() * 1000,
                reference_name="python -c pass",
                goal=0.2,
                floor=lambda: floors.cold_ms(self._function),
            ),
            Row(
                name="flow of ten pass steps, start to Succeeded (long poll)",
                unit="ms",
                measure=lambda: ten_steps_ms(self._server, 30),
                goal=10,
            ),
            Row(
                name=f"{FLOWS_AT_ONCE} flows of ten steps at once, over HTTP",
                unit="flows/s",
                measure=lambda: run_flows(self._server, FLOWS_AT_ONCE),
                reference=storage_floor_per_s,
                reference_name="storage floor: the same events alone, a row each",
                goal=0.35,
                at_least=True,
                floor=floors.flows_per_s,
            ),
        ]

    def _start_ms(self, request: bytes) -> float:
        """Start an emulator and ask until it answers."""
        with Server(self._folder, ask=request) as server:
            return server.start_s * 1000

    def _start_cpu_ms(self) -> float:
        with Server(self._folder, ask=SERVICE) as server:
            return server.cpu_s() * 1000

    def _idle_memory_mb(self) -> float:
        with Server(self._folder) as server:
            time.sleep(0.3)  # let what the start left behind settle
            return server.memory_mb()

    def _instance_memory_mb(self) -> float:
        """Return what an instance that has answered a call shares with no other process."""
        with Server(self._folder) as server, Connection(server.port) as connection:
            connection.ask(self._invocation(server))
            time.sleep(0.3)  # the process forked ahead for the next one is there
            instances = [
                each for zygote in children_of(server.process.pid) for each in children_of(zygote) if children_of(each)
            ]
            return max(sum(map(private_mb, [each, *children_of(each)])) for each in instances)

    def _invocation(self, server: Server) -> bytes:
        return server.fc("POST", "/2016-08-15/services/bench/functions/f0/invocations", b"x" * 64)

    def _warm_ms(self) -> float:
        return p50_ms(self._server.port, self._invocation(self._server), WARM_CALLS, 20)

    def _empty_ms(self) -> float:
        return p50_ms(self._server.port, HEALTH, WARM_CALLS, 20)

    def _warm_per_s(self, clients: int) -> float:
        request = self._invocation(self._server)
        requests_per_s(self._server.port, request, connections=clients, calls=4 * clients)
        return requests_per_s(self._server.port, request, connections=clients, calls=1500)

    def _cold_ms(self) -> float:
        """Return the median of nine first calls, each of another function, on a server that has been up for a while."""
        with Server(self._folder) as server, Connection(server.port) as connection:
            time.sleep(0.5)  # the warm process that instances are forked from is ready then
            spent = []
            for number in range(1, 10):
                time.sleep(0.1)  # first calls come one at a time in real life; the process forked ahead is there again
                request = server.fc("POST", f"/2016-08-15/services/bench/functions/f{number}/invocations", b"{}")
                began = time.perf_counter()
                connection.ask(request)
                spent.append(time.perf_counter() - began)
        return statistics.median(spent) * 1000


def program_mb() -> float:
    """Return the size of the files that an installed wheel has."""
    root = Path(emulator.__file__).parent
    files = [path for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return sum(path.stat().st_size for path in files) / 1024 / 1024
