"""Starting, memory, function calls and flows: figures of the finished product beside their references."""

import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from uuid import uuid4

import emulator
from benchmarks.harness import Row
from benchmarks.load import requests_per_s
from benchmarks.server import (
    HEALTH,
    SERVICE,
    Connection,
    Server,
    checked,
    children_of,
    echo_p50_ms,
    p50_ms,
    private_mb,
    python_pass_cpu_s,
    python_pass_s,
)
from emulator.storage.database import Database

FLOWS_AT_ONCE = 1000
STEPS = 10
WARM_CALLS = 500

FLOW = "version: v1\ntype: flow\nsteps:\n" + "".join(
    f"  - type: pass\n    name: step{number}\n    outputMappings:\n      - {{target: n{number}, source: {number}}}\n"
    for number in range(STEPS)
)

_EVENTS = (
    "CREATE TABLE events (execution INTEGER, id INTEGER, world INTEGER, at INTEGER, type TEXT, strand INTEGER,"
    " cause INTEGER, step TEXT, detail TEXT, mark INTEGER, PRIMARY KEY (execution, id)) WITHOUT ROWID"
)
FUNCTION = "def handler(event, context):\n    return event\n"


class Foundation:
    """The rows, around one server that stays up for all rounds and a folder of ten functions."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="localyun-bench-functions-"))
        for number in range(10):
            folder = self._folder / "bench" / f"f{number}"
            folder.mkdir(parents=True)
            (folder / "index.py").write_text(FUNCTION, encoding="ascii")
        self._server = Server(self._folder)
        self._batch = 0
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
            ),
            Row(
                name="start to first answered service call",
                unit="ms",
                measure=lambda: self._start_ms(SERVICE),
                reference=lambda: python_pass_s() * 1000,
                reference_name="python -c pass",
                goal=9,
            ),
            Row(
                name="the same: the server's processor time",
                unit="ms",
                measure=self._start_cpu_ms,
                reference=lambda: python_pass_cpu_s() * 1000,
                reference_name="python -c pass",
            ),
            Row(name="idle memory, all services ready", unit="MB", measure=self._idle_memory_mb, goal=35),
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
                measure=self._flows_per_s,
                reference=storage_floor_per_s,
                reference_name="storage floor: the same events alone, a row each",
                goal=0.35,
                at_least=True,
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

    def _flows_per_s(self) -> float:
        """Start many flows through the API, all requests sent ahead, and wait for the last to end."""
        self._batch += 1
        names = [f"batch{self._batch}-{number}" for number in range(FLOWS_AT_ONCE)]
        starts = [self._server.rpc("StartExecution", FlowName="ten", ExecutionName=name, Input="{}") for name in names]
        watches = [
            self._server.rpc("DescribeExecution", FlowName="ten", ExecutionName=name, WaitTimeSeconds="60")
            for name in names[-16:]
        ]
        connections = [Connection(self._server.port) for _ in range(16)]
        began = time.perf_counter()
        for offset in range(0, FLOWS_AT_ONCE, 16):
            for connection, request in zip(connections, starts[offset : offset + 16], strict=False):
                connection.send(request)
            for connection, _ in zip(connections, starts[offset : offset + 16], strict=False):
                connection.receive()
        for connection, request in zip(connections, watches, strict=True):
            connection.send(request)
        last = [json.loads(connection.receive()[1])["Status"] for connection in connections]
        spent = time.perf_counter() - began
        for connection in connections:
            connection.close()
        if set(last) != {"Succeeded"}:
            raise RuntimeError(last)
        return FLOWS_AT_ONCE / spent


def create_flow(server: Server, connection: Connection) -> None:
    """Create the flow of ten pass steps."""
    checked(connection.ask(server.rpc("CreateFlow", Name="ten", Definition=FLOW, Description="", Type="FDL")), 200)


def ten_steps_ms(server: Server, runs: int) -> float:
    """Return the median time of executions of that flow, one after the other, from start to end."""
    spent = []
    with Connection(server.port) as connection:
        for _ in range(runs):
            name = f"single-{uuid4()}"
            start = server.rpc("StartExecution", FlowName="ten", ExecutionName=name, Input="{}")
            watch = server.rpc("DescribeExecution", FlowName="ten", ExecutionName=name, WaitTimeSeconds="60")
            began = time.perf_counter()
            checked(connection.ask(start), 200)
            reply = json.loads(checked(connection.ask(watch), 200))
            spent.append(time.perf_counter() - began)
            if reply["Status"] != "Succeeded":
                raise RuntimeError(reply)
    return statistics.median(spent) * 1000


def program_mb() -> float:
    """Return the size of the files that an installed wheel has."""
    root = Path(emulator.__file__).parent
    files = [path for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return sum(path.stat().st_size for path in files) / 1024 / 1024


def storage_floor_per_s() -> float:
    """Return how many such flows' events can be appended per second, a row each, with nothing else done."""
    events = [
        (number, 1, 1_700_000_000_000, kind, 0, cause, step, detail, None)
        for number, (kind, step, cause, detail) in enumerate(_events_of_one_flow(), 1)
    ]
    with tempfile.TemporaryDirectory(prefix="localyun-bench-") as folder:
        database = Database(Path(folder) / "state.db")
        database.write(_EVENTS)
        database.commit()
        began = time.perf_counter()
        for first in range(0, FLOWS_AT_ONCE, 16):
            rows = [(execution, *event) for execution in range(first, first + 16) for event in events]
            database.write_many("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            database.commit()
        spent = time.perf_counter() - began
        database.close()
    return FLOWS_AT_ONCE / spent


def _events_of_one_flow() -> list[tuple[str, str, int, str]]:
    """Return (type, step, cause, detail) of every event one run of `FLOW` writes."""
    events = [("ExecutionStarted", "", 0, '{"input":{}}')]
    for number in range(STEPS):
        local = json.dumps({f"n{done}": done for done in range(number)}, separators=(",", ":"))
        for kind, detail in (
            ("StepEntered", f'{{"input":{local},"local":{local}}}'),
            ("StepStarted", f'{{"input":{local}}}'),
            ("StepSucceeded", f'{{"output":{{"n{number}":{number}}}}}'),
            ("StepExited", f'{{"local":{local}}}'),
        ):
            events.append((kind, f"step{number}", len(events), detail))
    events.append(("ExecutionSucceeded", "", len(events), '{"output":{}}'))
    return events
