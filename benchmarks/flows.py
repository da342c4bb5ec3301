"""The flow of ten pass steps: started over HTTP, alone and many at once, and the rows that one run of it keeps."""

import json
import statistics
import tempfile
import time
from pathlib import Path
from uuid import uuid4

from benchmarks.server import Connection, Program, checked
from emulator.kernel.clock import Millis
from emulator.services.workflow.engine.history import Recorded, line_of, packed
from emulator.storage.database import Database

FLOWS_AT_ONCE = 1000
STEPS = 10

FLOW = "version: v1\ntype: flow\nsteps:\n" + "".join(
    f"  - type: pass\n    name: step{number}\n    outputMappings:\n      - {{target: n{number}, source: {number}}}\n"
    for number in range(STEPS)
)


def run_flows(server: Program, number: int) -> float:
    """Start many flows through the API, all requests made ahead, wait for the last to end; return flows per second."""
    batch = f"batch-{uuid4()}"
    names = [f"{batch}-{each}" for each in range(number)]
    starts = [server.rpc("StartExecution", FlowName="ten", ExecutionName=name, Input="{}") for name in names]
    watches = [
        server.rpc("DescribeExecution", FlowName="ten", ExecutionName=name, WaitTimeSeconds="60")
        for name in names[-16:]
    ]
    connections = [Connection(server.port) for _ in range(16)]
    began = time.perf_counter()
    for offset in range(0, number, 16):
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
    return number / spent


def create_flow(server: Program, connection: Connection) -> None:
    """Create the flow of ten pass steps."""
    checked(connection.ask(server.rpc("CreateFlow", Name="ten", Definition=FLOW, Description="", Type="FDL")), 200)


def ten_steps_ms(server: Program, runs: int) -> float:
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


def storage_floor_per_s() -> float:
    """Return how many such flows' events can be appended per second, a row each, with nothing else done."""
    at = 1_700_000_000_000
    events = [
        (number, 1, at, kind, 0, cause, step, detail, None)
        for number, (kind, step, cause, detail) in enumerate(_events_of_one_flow(), 1)
    ]
    with tempfile.TemporaryDirectory(prefix="localyun-bench-") as folder:
        database = Database(Path(folder) / "state.db")
        database.write(
            "CREATE TABLE events (execution INTEGER, id INTEGER, world INTEGER, at INTEGER, type TEXT, strand INTEGER,"
            " cause INTEGER, step TEXT, detail TEXT, mark INTEGER, PRIMARY KEY (execution, id)) WITHOUT ROWID"
        )
        database.commit()
        began = time.perf_counter()
        for first in range(0, FLOWS_AT_ONCE, 16):
            rows = [(execution, *event) for execution in range(first, first + 16) for event in events]
            database.write_many("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            database.commit()
        spent = time.perf_counter() - began
        database.close()
    return FLOWS_AT_ONCE / spent


def turn_text() -> str:
    """Return the events of one run as the emulator keeps them."""
    return packed(
        line_of(Recorded(0, kind, 0, cause, step, detail, None, Millis(0)), detail)
        for kind, step, cause, detail in _events_of_one_flow()
    )


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
