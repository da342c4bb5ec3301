"""Function calls beyond the smallest one: Node.js, large payloads, many at once, a folder of a thousand functions."""

import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.harness import Row
from benchmarks.server import SERVICE, Connection, Server

ECHO = "def handler(event, context):\n    return event\n"
SLEEPER = "import time\n\ndef handler(event, context):\n    time.sleep(0.5)\n    return event\n"
NODE = "exports.handler = (event, context, callback) => callback(null, event);\n"

NODE_COLD = 5
AT_ONCE = 64
MANY = 1000
FEW = 10
PAYLOAD = 6 * 1024 * 1024


class Functions:
    """The rows, around one server that stays up for all rounds; without Node.js its rows are left out."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="localyun-bench-functions-"))
        _write(self._folder / "fixed", "echo", ECHO)
        _write(self._folder / "fixed", "sleeper", SLEEPER)
        self._node = shutil.which("node")
        if self._node is not None:
            for number in range(NODE_COLD):
                _write_node(self._folder / "fixed", f"node{number}")
        self._many = {count: _folder_of(count) for count in (FEW, MANY)}
        self._server = Server(self._folder / "fixed")

    def close(self) -> None:
        """End the server and remove the folders."""
        self._server.stop()
        for folder in (self._folder, *self._many.values()):
            shutil.rmtree(folder)

    def rows(self) -> list[Row]:
        """Return the rows in the order they are taken."""
        node_rows = [
            Row(
                name="first call of a Node.js function (cold)",
                unit="ms",
                measure=self._node_cold_ms,
                reference=self._node_start_ms,
                reference_name="node -e 0",
                goal=0.5,
            ),
            Row(name="warm Node.js function over HTTP, p50", unit="ms", measure=lambda: self._warm_ms("node0", b"{}")),
        ]
        return [
            *(node_rows if self._node is not None else []),
            Row(
                name="6 MB there and back through a Python function",
                unit="ms",
                measure=lambda: self._warm_ms("echo", b"x" * PAYLOAD, calls=20),
                reference=_pipe_ms,
                reference_name="the same bytes through `cat` and back",
            ),
            Row(
                name=f"{AT_ONCE} calls at once of a function that sleeps 0.5 s, until the last has its answer",
                unit="ms",
                measure=lambda: self._sleepers_ms(AT_ONCE),
                reference=lambda: self._sleepers_ms(1),
                reference_name="one such call",
                goal=2,
            ),
            Row(
                name=f"start to first answered service call, folder with {MANY} functions",
                unit="ms",
                measure=lambda: self._start_ms(MANY),
                reference=lambda: self._start_ms(FEW),
                reference_name=f"folder with {FEW} functions",
            ),
            Row(
                name=f"memory of one of {MANY} functions in the folder",
                unit="bytes",
                measure=self._bytes_each,
            ),
        ]

    def _node_cold_ms(self) -> float:
        """Return the median of first calls, each of another function, on a server that has been up for a while."""
        spent = []
        with Server(self._folder / "fixed") as server, Connection(server.port) as connection:
            for number in range(NODE_COLD):
                time.sleep(0.6)  # first calls come one at a time in real life; the process started ahead is there again
                spent.append(_call_ms(connection, _invocation(server, f"node{number}", b"{}")))
        return statistics.median(spent)

    def _node_start_ms(self) -> float:
        began = time.perf_counter()
        subprocess.run([str(self._node), "-e", "0"], check=True)
        return (time.perf_counter() - began) * 1000

    def _warm_ms(self, function: str, payload: bytes, calls: int = 200) -> float:
        request = _invocation(self._server, function, payload)
        with Connection(self._server.port) as connection:
            for _ in range(5):
                _call_ms(connection, request)
            return statistics.median(_call_ms(connection, request) for _ in range(calls))

    def _sleepers_ms(self, count: int) -> float:
        request = _invocation(self._server, "sleeper", b"{}")
        connections = [Connection(self._server.port) for _ in range(count)]
        began = time.perf_counter()
        for connection in connections:
            connection.send(request)
        statuses = {connection.receive()[0] for connection in connections}
        spent = time.perf_counter() - began
        for connection in connections:
            connection.close()
        if statuses != {200}:
            raise RuntimeError(f"calls ended with {statuses}")
        return spent * 1000

    def _start_ms(self, count: int) -> float:
        with Server(self._many[count], ask=SERVICE) as server:
            return server.start_s * 1000

    def _bytes_each(self) -> float:
        memory = {}
        for count, folder in self._many.items():
            with Server(folder, ask=SERVICE) as server:
                time.sleep(0.3)  # let what the start left behind settle
                memory[count] = server.memory_mb()
        return (memory[MANY] - memory[FEW]) * 1024 * 1024 / (MANY - FEW)


def _invocation(server: Server, function: str, payload: bytes) -> bytes:
    return server.fc("POST", f"/2016-08-15/services/bench/functions/{function}/invocations", payload)


def _call_ms(connection: Connection, request: bytes) -> float:
    began = time.perf_counter()
    status, body = connection.ask(request)
    if status != 200:
        raise RuntimeError(f"a call ended with {status}: {body[:200]!r}")
    return (time.perf_counter() - began) * 1000


def _pipe_ms() -> float:
    """Return how long `cat` takes to give back as many bytes as a large event has, in ms; starting it included."""
    began = time.perf_counter()
    done = subprocess.run(["cat"], input=b"x" * PAYLOAD, capture_output=True, check=True)
    if len(done.stdout) != PAYLOAD:
        raise RuntimeError("cat lost bytes")
    return (time.perf_counter() - began) * 1000


def _write(functions: Path, name: str, code: str) -> None:
    folder = functions / "bench" / name
    folder.mkdir(parents=True)
    (folder / "index.py").write_text(code, encoding="ascii")


def _write_node(functions: Path, name: str) -> None:
    folder = functions / "bench" / name
    folder.mkdir(parents=True)
    (folder / "index.js").write_text(NODE, encoding="ascii")
    (folder / "function.yml").write_text("runtime: nodejs20\n", encoding="ascii")


def _folder_of(count: int) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=f"localyun-bench-{count}-functions-"))
    for number in range(count):
        _write(folder, f"f{number}", ECHO)
    return folder
