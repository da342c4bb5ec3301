"""The console over much: 1,000 queues, 10,000 functions, 100,000 executions, a history as long as one can be.

``python -m benchmarks.console`` prints for each page its size, the time of its first making and the median of five
more, with the processor time beside each, in milliseconds. Nothing is asserted; a page is to take less than 100 ms.

``--overview`` measures the overview and the list of messages alone, over 2,000 queues, 500 functions and 20,000
executions, with a full log of 5,000 lines behind it; the overview is to take less than 50 ms.
"""

import http.client
import json
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from benchmarks.big_state import asked, copy_rows, make_one, multiply
from benchmarks.server import SERVICE, Connection, Server
from emulator.gateway.journal import LINES

QUEUES = 1_000
ITERATIONS = 5_000
"""More than a history can have events: it is as long as one gets."""

_ROUNDS = 5
_ROOT = "/_localyun/console"
_FOREACH = """
version: v1
type: flow
steps:
- type: foreach
  name: each
  iterationMapping: {collection: $.items, item: one}
  steps:
  - {type: pass, name: inner}
"""

_MESSAGE = (
    b'<?xml version="1.0"?><Message xmlns="http://mns.aliyuncs.com/doc/v1/"><MessageBody>tea</MessageBody></Message>'
)

PAGES = {
    "overview": "/",
    "messages": "/messages",
    "flows": "/flows",
    "a flow of 100,000 executions": "/flows/f",
    "its executions, far back": "/flows/f?from=e50000",
    "an execution of three steps": "/flows/f/executions/e777",
    "an execution of 5,000 events": "/flows/many/executions/one",
    "the same, at event 2,500": "/flows/many/executions/one?at=2500",
    "the same, back at event 2,000": "/flows/many/executions/one?at=2000",
    "two executions side by side": "/flows/f/executions/e777/compare?with=e778",
    "queues": "/queues",
    "queues, far back": "/queues?from=q900",
    "a queue of a million messages": "/queues/full",
    "topics": "/topics",
    "functions": "/functions",
    "functions, far back": "/functions?from=big/f009900",
    "a function": "/functions/big/f000500",
    "triggers": "/triggers",
    "schedules": "/schedules",
    "requests": "/requests",
    "clock": "/clock",
    "search": "/search?q=f0005",
}


FIRST_PAGES = {"overview": "/", "messages": "/messages"}
_OVERVIEW = (2_000, 500, 20_000)
"""Queues, functions, executions."""


def main() -> None:
    """Make the state, walk through the pages, print the figures."""
    if "--overview" in sys.argv[1:]:
        return _overview()
    folder = Path(tempfile.mkdtemp(prefix="localyun-bench-"))
    try:
        state = folder / "state"
        make_one(state)
        multiply(state / "state.db")
        with closing(sqlite3.connect(state / "state.db")) as database:
            copy_rows(database, "mns_queues", QUEUES, {"id": "id + n", "name": "'q' || n"}, "name = 'full'")
            database.commit()
        with Server(state=state, ask=SERVICE) as server:
            _start_many(server)
            _walk(server, PAGES)
    finally:
        shutil.rmtree(folder)


def _overview() -> None:
    queues, functions, executions = _OVERVIEW
    folder = Path(tempfile.mkdtemp(prefix="localyun-bench-"))
    try:
        state = folder / "state"
        make_one(state)
        with closing(sqlite3.connect(state / "state.db")) as database:
            copy_rows(database, "mns_queues", queues, {"id": "id + n", "name": "'q' || n"}, "name = 'full'")
            run = {"id": "id + n", "name": "'e' || n", "started_at": "started_at + n"}
            copy_rows(database, "workflow_executions", executions, run)
            copy_rows(database, "workflow_turns", executions, {"execution": "execution + n"})
            named = {"name": "printf('f%06d', n)", "id": "id || n"}
            copy_rows(database, "fc_functions", functions, named, "name = 'one'")
            database.commit()
        with Server(None, "--log-level", "info", ask=SERVICE, state=state) as server:
            with Connection(server.port) as connection:
                for each in range(LINES):
                    asked(connection, server.mns("POST", f"/queues/q{each % 50 + 1}/messages", _MESSAGE))
            _walk(server, FIRST_PAGES)
    finally:
        shutil.rmtree(folder)


def _walk(server: Server, pages: dict[str, str]) -> None:
    cookie = _cookie(server)
    _print("page", "kB", "first", "CPU", "median", "CPU")
    for name, path in pages.items():
        samples = [_measured(server, cookie, path) for _ in range(_ROUNDS + 1)]
        (first, first_cpu, size), more = samples[0], samples[1:]
        medians = [statistics.median(each[at] for each in more) for at in (0, 1)]
        _print(name, *(f"{value:.1f}" for value in (size / 1000, first, first_cpu, *medians)))


def _print(name: str, *values: str) -> None:
    print(f"{name:32}" + "".join(f"{value:>10}" for value in values))


def _start_many(server: Server) -> None:
    with Connection(server.port) as connection:
        text = json.dumps({"items": list(range(ITERATIONS))})
        asked(connection, server.rpc("CreateFlow", Name="many", Definition=_FOREACH, Description="", Type="FDL"))
        asked(connection, server.rpc("StartExecution", FlowName="many", ExecutionName="one", Input=text))
        describe = {"FlowName": "many", "ExecutionName": "one", "WaitTimeSeconds": "30"}
        asked(connection, server.rpc("DescribeExecution", **describe))


def _cookie(server: Server) -> str:
    keys = json.loads((server.state / "keys.json").read_text(encoding="utf-8"))
    token = {"X-Localyun-Token": keys["adminToken"], "Content-Type": "application/json"}
    link = json.loads(_answer(server, "POST", "/_localyun/console-link", token)[1])["path"]
    return _answer(server, "GET", link, {})[0]["Set-Cookie"].partition(";")[0]


def _measured(server: Server, cookie: str, path: str) -> tuple[float, float, int]:
    """Return milliseconds of time and processor time, and bytes."""
    began, used = time.perf_counter(), server.cpu_s()
    _, body = _answer(server, "GET", _ROOT + path, {"Cookie": cookie, "HX-Request": "true"})
    return (time.perf_counter() - began) * 1000, (server.cpu_s() - used) * 1000, len(body)


def _answer(server: Server, method: str, path: str, headers: dict[str, str]) -> tuple[http.client.HTTPMessage, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        connection.request(method, path, "{}" if method == "POST" else None, headers)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {body[:200]!r}")
        return answer.headers, body


if __name__ == "__main__":
    main()
