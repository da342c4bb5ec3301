"""A large state: a million messages, a hundred thousand ended executions, ten thousand functions.

What a start, a first call and a page of a list cost then, beside the same with one of each. The state is made by the
emulator, one of each, and multiplied in its tables, because making it call by call takes a quarter of an hour.
"""

import base64
import io
import json
import shutil
import sqlite3
import tempfile
import time
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.harness import Row
from benchmarks.server import SERVICE, Connection, Server

MESSAGES = 1_000_000
EXECUTIONS = 100_000
FUNCTIONS = 10_000

_QUEUE = b'<?xml version="1.0"?><Queue xmlns="http://mns.aliyuncs.com/doc/v1/"/>'
_MESSAGE = (
    b'<?xml version="1.0"?><Message xmlns="http://mns.aliyuncs.com/doc/v1/"><MessageBody>'
    + b"x" * 100
    + b"</MessageBody></Message>"
)
_FLOW = "version: v1\ntype: flow\nsteps:\n" + "".join(f"  - {{type: pass, name: p{n}}}\n" for n in range(3))

_NUMBERS = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?) "


class BigState:
    """The rows, around two folders of state that are started again and again."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="localyun-bench-"))
        self._small, self._big = self._folder / "small", self._folder / "big"
        make_one(self._small)
        shutil.copytree(self._small, self._big)
        multiply(self._big / "state.db")
        _first_peek_ms(self._big)  # counts the messages, once: nobody has sent them

    def close(self) -> None:
        """Remove both folders."""
        shutil.rmtree(self._folder)

    def rows(self) -> list[Row]:
        """Return the rows in the order they are taken."""
        last = f"f{FUNCTIONS - 50:06d}"
        return [
            self._row("start to the first answered call", "s", _start_s, goal=1.5),
            self._row("memory after a start", "MB", _memory_mb, goal=1.2),
            self._row("first peek into the full queue after a start", "ms", _first_peek_ms),
            self._row("peek into the full queue", "ms", _peek_ms, goal=1.5),
            self._row("attributes of the full queue", "ms", _attributes_ms, goal=1.5),
            self._row("page of 99 executions, the newest", "ms", lambda state: _page_ms(state, _executions)),
            self._row(
                "page of 99 executions, far back",
                "ms",
                lambda state: _page_ms(state, _executions, f"e{EXECUTIONS // 2}"),
            ),
            self._row("page of 99 functions, the first", "ms", lambda state: _page_ms(state, _functions)),
            self._row("page of functions, the last", "ms", lambda state: _page_ms(state, _functions, last)),
        ]

    def _row(self, name: str, unit: str, measure: Callable[[Path], float], goal: float | None = None) -> Row:
        return Row(
            name=f"{name}, large state",
            unit=unit,
            measure=lambda: measure(self._big),
            reference=lambda: measure(self._small),
            reference_name="one message, execution and function",
            goal=goal,
        )


def multiply(path: Path) -> None:
    """Make many of the one message, execution and function in a state file that nobody uses."""
    with closing(sqlite3.connect(path)) as database:
        copy_rows(database, "mns_messages", MESSAGES, {"seq": "seq + n"})
        copy_rows(
            database,
            "workflow_executions",
            EXECUTIONS,
            {"id": "id + n", "name": "'e' || n", "started_at": "started_at + n"},
        )
        copy_rows(database, "workflow_turns", EXECUTIONS, {"execution": "execution + n"})
        copy_rows(database, "fc_functions", FUNCTIONS, {"name": "printf('f%06d', n)", "id": "id || n"}, "name = 'one'")
        database.commit()


def copy_rows(
    database: sqlite3.Connection, table: str, number: int, changed: dict[str, str], chosen: str = "1"
) -> None:
    """Insert *number* copies of every row that is *chosen*, with expressions of ``n`` for the columns that differ."""
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    values = [changed.get(column, column) for column in columns]
    database.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) {_NUMBERS} "
        f"SELECT {', '.join(values)} FROM {table}, numbers WHERE {chosen}",
        (number,),
    )


def make_one(state: Path) -> None:
    """Let an emulator make one of each."""
    with Server(state=state, ask=SERVICE) as server, Connection(server.port) as connection:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("index.py", "def handler(event, context):\n    return event\n")
        function = {
            "functionName": "one",
            "runtime": "python3.10",
            "handler": "index.handler",
            "code": {"zipFile": base64.b64encode(packed.getvalue()).decode()},
        }
        for request in (
            server.mns("PUT", "/queues/full", _QUEUE),
            server.mns("POST", "/queues/full/messages", _MESSAGE),
            server.fc("POST", "/2016-08-15/services", json.dumps({"serviceName": "big"}).encode()),
            server.fc("POST", "/2016-08-15/services/big/functions", json.dumps(function).encode()),
            server.rpc("CreateFlow", Name="f", Definition=_FLOW, Description="", Type="FDL"),
            server.rpc("StartExecution", FlowName="f", ExecutionName="one", Input="{}"),
            server.rpc("DescribeExecution", FlowName="f", ExecutionName="one", WaitTimeSeconds="30"),
        ):
            asked(connection, request)


def asked(connection: Connection, request: bytes) -> bytes:
    status, body = connection.ask(request)
    if status >= 300:
        raise RuntimeError(f"{status}: {body[:300]!r}")
    return body


def _start_s(state: Path) -> float:
    with Server(state=state, ask=SERVICE) as server:
        return server.start_s


def _memory_mb(state: Path) -> float:
    with Server(state=state, ask=SERVICE) as server:
        return server.memory_mb()


def _first_peek_ms(state: Path) -> float:
    with Server(state=state, ask=SERVICE) as server, Connection(server.port) as connection:
        return _spent_ms(connection, lambda: server.mns("GET", "/queues/full/messages?peekonly=true"))


def _peek_ms(state: Path) -> float:
    with Server(state=state, ask=SERVICE) as server, Connection(server.port) as connection:
        return _median_ms(connection, lambda: server.mns("GET", "/queues/full/messages?peekonly=true"))


def _attributes_ms(state: Path) -> float:
    with Server(state=state, ask=SERVICE) as server, Connection(server.port) as connection:
        return _median_ms(connection, lambda: server.mns("GET", "/queues/full"))


def _page_ms(state: Path, request: Callable[[Server, str], bytes], marker: str = "") -> float:
    with Server(state=state, ask=SERVICE) as server, Connection(server.port) as connection:
        known = marker if state.name == "big" else ""
        return _median_ms(connection, lambda: request(server, known))


def _executions(server: Server, marker: str) -> bytes:
    further = {"NextToken": marker} if marker else {}
    return server.rpc("ListExecutions", FlowName="f", Limit="99", **further)


def _functions(server: Server, marker: str) -> bytes:
    further = f"&startKey={marker}" if marker else ""
    return server.fc("GET", f"/2016-08-15/services/big/functions?limit=99{further}")


def _median_ms(connection: Connection, request: Callable[[], bytes]) -> float:
    _spent_ms(connection, request)
    return sorted(_spent_ms(connection, request) for _ in range(9))[4]


def _spent_ms(connection: Connection, request: Callable[[], bytes]) -> float:
    ready = request()
    began = time.perf_counter()
    asked(connection, ready)
    return (time.perf_counter() - began) * 1000
