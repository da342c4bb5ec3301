"""Fifty clients at once, each with work of its own kind: how much longer the slow answers take than the usual ones."""

import selectors
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.foundation import FUNCTION
from benchmarks.harness import Row
from benchmarks.mns import BODY
from benchmarks.server import Connection, Server

CLIENTS = 50
REQUESTS = 5000

_FLOW = "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: one}\n  - {type: pass, name: two}\n"


class Mixed:
    """The rows, around one server with a queue, a function and a flow."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="localyun-bench-mixed-")
        code = Path(self._folder.name) / "bench" / "echo"
        code.mkdir(parents=True)
        (code / "index.py").write_text(FUNCTION, encoding="ascii")
        self._server = Server(Path(self._folder.name))
        self._started = 0
        with Connection(self._server.port) as connection:
            for request in (
                self._server.mns("PUT", "/queues/orders"),
                self._server.rpc("CreateFlow", Name="two", Definition=_FLOW, Description="", Type="FDL"),
                *[self._invocation()] * 3,
            ):
                status, body = connection.ask(request)
                if status >= 300:
                    raise RuntimeError(body)

    def close(self) -> None:
        """End the server."""
        self._server.stop()
        self._folder.cleanup()

    def rows(self) -> list[Row]:
        """Return the rows in the order they are taken."""
        spent: list[float] = []

        def typical() -> float:
            spent[:] = sorted(self._spent_ms())
            return spent[len(spent) // 2]

        return [
            Row(
                name=f"{CLIENTS} clients that send, receive, call a function and start a flow: p99",
                unit="ms",
                measure=lambda: spent[len(spent) * 99 // 100],
                reference=typical,
                reference_name="p50",
                goal=5,
            )
        ]

    def _invocation(self) -> bytes:
        return self._server.fc("POST", "/2016-08-15/services/bench/functions/echo/invocations", b"{}")

    def _request(self, number: int) -> bytes:
        match number % 10:
            case 0:
                self._started += 1
                return self._server.rpc("StartExecution", FlowName="two", ExecutionName=f"e{self._started}", Input="{}")
            case 1 | 2:
                return self._invocation()
            case 3 | 4 | 5:
                return self._server.mns("GET", "/queues/orders/messages?waitseconds=0")
            case 6:
                return self._server.mns("GET", "/queues/orders")
            case _:
                return self._server.mns("POST", "/queues/orders/messages", BODY)

    def _spent_ms(self) -> list[float]:
        """Return how long each request took; a client sends its next one when it has its answer."""
        ready = [self._request(number) for number in range(REQUESTS)]  # signed ahead, so that clients cost little
        with selectors.DefaultSelector() as selector:
            connections = [Connection(self._server.port) for _ in range(CLIENTS)]
            sent: dict[Connection, float] = {}

            def send(connection: Connection) -> None:
                sent[connection] = time.perf_counter()
                connection.send(ready.pop())

            for connection in connections:
                selector.register(connection.socket, selectors.EVENT_READ, connection)
                send(connection)
            spent: list[float] = []
            while len(spent) < REQUESTS:
                for key, _ in selector.select(30):
                    connection = key.data
                    status, body = connection.receive()
                    spent.append((time.perf_counter() - sent[connection]) * 1000)
                    if status >= 300 and b"MessageNotExist" not in body:
                        raise RuntimeError(body)
                    if ready:
                        send(connection)
            for connection in connections:
                connection.close()
        return spent
