"""The longest standstill of the loop under what is hardest on it, and what ran meanwhile: ``bench --standstill``.

Compared with nothing. A busy machine keeps a turn of the loop from the processor as well, so there are two figures: the
longest turn by the clock on the wall, with its processor time, and the most processor time of any turn, with what took
it. The goal is about the second: 50 ms, whatever is asked.
"""

import json
import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.server import Connection, Server, checked

GENERATIONS, CHILDREN = 3, 10
ELEMENTS = 2_000
KEYS = 2_500
LOCKED_S = 8

_FAMILY = """version: v1
type: flow
steps:
  - type: choice
    name: generation
    inputMappings: [{target: depth, source: $input.depth}]
    choices:
"""


def family() -> str:
    """Return a flow that starts itself ten times over, three generations deep; the last one waits."""
    choices = [f"      - {{condition: $.depth == {depth}, goto: g{depth}}}\n" for depth in range(GENERATIONS)]
    steps = [_generation(depth) for depth in range(GENERATIONS)]
    return _FAMILY + "".join(choices) + "    default: {goto: rest}\n" + "".join(steps) + _REST


_REST = "  - {type: wait, name: rest, duration: 3600}\n"


def _generation(depth: int) -> str:
    branches = "".join(
        f"      - steps:\n          - {{type: task, name: g{depth}c{child}, resourceArn: 'acs:fnf:::flow/family',"
        f" pattern: sync, inputMappings: [{{target: depth, source: {depth + 1}}}], serviceParams: {{Input: $}}}}\n"
        for child in range(CHILDREN)
    )
    return f"  - type: parallel\n    name: g{depth}\n    branches:\n{branches}    end: true\n"


def spread() -> str:
    """Return a machine with a distributed map."""
    return json.dumps({
        "Type": "StateMachine", "Name": "spread", "SpecVersion": "v1", "StartAt": "all",
        "States": [{
            "Type": "Map", "Name": "all", "ItemsPath": "$Input.parts", "MaxConcurrency": 100, "End": True,
            "Processor": {
                "ProcessorConfig": {"ExecutionMode": "Express"}, "StartAt": "one",
                "States": [{"Type": "Pass", "Name": "one", "OutputConstructor": {}, "End": True}],
            },
        }],
    })  # fmt: skip


class Standstill:
    """One watched emulator and the cases."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="localyun-bench-still-")
        self._report = Path(self._folder.name) / "report.json"
        self._server = Server(
            None, state=Path(self._folder.name) / "state",
            under=[sys.executable, "-m", "benchmarks.watched", str(self._report)],
        )  # fmt: skip

    def close(self) -> None:
        """End the emulator."""
        self._server.stop()
        self._folder.cleanup()

    def lines(self) -> Iterator[str]:
        """Run every case and yield a line for it, and what the turn with most work in it was made of."""
        for name, case in self.cases().items():
            self._told()
            case()
            found = self._told()
            longest, hardest = found["longest"], found["hardest"]
            yield (
                f"{name:<44} {longest['ms']:>8.1f} ms, {longest['processor_ms']:.1f} of them at work;"
                f" most work in a turn {hardest['processor_ms']:.1f} ms"
            )
            for each in hardest["causes"][:3]:
                yield f"    {each['ms']:>8.1f} ms  {each['times']:>5} x {each['name']}"

    def cases(self) -> dict[str, Callable[[], None]]:
        """Return the cases by their names, in order."""
        return {
            f"another program holds the lock for {LOCKED_S} s": self._locked,
            f"a flow starts itself {CHILDREN} times over": self._family,
            "its root is stopped": self._stopped,
            f"a distributed map of {ELEMENTS} elements": self._map,
            "a cron line that never fires": self._cron,
            f"an input with {KEYS} keys": self._keys,
        }

    def _told(self) -> dict[str, Any]:
        """Return the watcher's report of the time since the last one."""
        self._report.unlink(missing_ok=True)
        os.kill(self._server.process.pid, signal.SIGUSR1)
        self._wait(self._report.exists)
        found: dict[str, Any] = json.loads(self._report.read_text(encoding="utf-8"))
        return found

    def _wait(self, holds: Callable[[], bool], seconds: float = 120) -> None:
        end = time.perf_counter() + seconds
        while not holds():
            if time.perf_counter() > end:
                raise RuntimeError("it did not happen in time")
            time.sleep(0.05)

    def _ask(self, request: bytes) -> tuple[int, bytes]:
        with Connection(self._server.port) as connection:
            return connection.ask(request)

    def _rpc(self, action: str, **parameters: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(checked(self._ask(self._server.rpc(action, **parameters)), 200))
        return answer

    def _count(self, flow: str, status: str) -> int:
        with closing(sqlite3.connect(f"file:{self._server.state}/state.db?mode=ro", uri=True)) as database:
            sql = (
                "SELECT count(*) FROM workflow_executions e JOIN workflow_flows f ON f.id = e.flow"
                " WHERE f.name = ? AND e.status = ?"
            )
            return int(database.execute(sql, (flow, status)).fetchone()[0])

    def _locked(self) -> None:
        checked(self._ask(self._server.mns("PUT", "/queues/q")), 201)
        send = self._server.mns("POST", "/queues/q/messages", b"<Message><MessageBody>x</MessageBody></Message>")
        with (
            closing(sqlite3.connect(self._server.state / "state.db", isolation_level=None)) as other,
            Connection(self._server.port) as sender,
        ):
            other.execute("BEGIN IMMEDIATE")
            sender.send(send)
            end = time.perf_counter() + LOCKED_S
            while time.perf_counter() < end:
                checked(self._ask(b"GET /_localyun/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), 200)
                time.sleep(0.05)
            other.execute("ROLLBACK")
            checked(sender.receive(), 201)

    def _family(self) -> None:
        self._rpc("CreateFlow", Name="family", Definition=family(), Description="", Type="FDL")
        self._rpc("StartExecution", FlowName="family", ExecutionName="root", Input='{"depth": 0}')
        everyone = sum(CHILDREN**generation for generation in range(GENERATIONS + 1))
        self._wait(lambda: self._count("family", "Running") == everyone)

    def _stopped(self) -> None:
        self._rpc("StopExecution", FlowName="family", ExecutionName="root")
        self._wait(lambda: self._count("family", "Running") == 0)

    def _map(self) -> None:
        self._rpc("CreateFlow", Name="spread", Definition=spread(), Description="", Type="FDL")
        parts = json.dumps({"parts": [1] * ELEMENTS})
        self._rpc("StartExecution", FlowName="spread", ExecutionName="e", Input=parts)
        self._wait(lambda: self._count("spread", "Succeeded") == ELEMENTS + 1)

    def _cron(self) -> None:
        for number, line in enumerate(
            ("0 0 0 31 2 *", "0 0 0 29 2 *", "0 0 0 30 2 1", "CRON_TZ=Asia/Tokyo 0 0 0 29 2 ?")
        ):
            name = f"s{number}"
            request = self._server.rpc("CreateSchedule", FlowName="spread", ScheduleName=name, CronExpression=line)
            self._ask(request)

    def _keys(self) -> None:
        text = json.dumps({f"k{number}": 0 for number in range(KEYS)})
        self._rpc("CreateFlow", Name="plain", Definition=_PLAIN, Description="", Type="FDL")
        self._rpc("StartExecution", FlowName="plain", ExecutionName="e", Input=text)
        self._wait(lambda: self._count("plain", "Succeeded") == 1)


_PLAIN = """version: v1
type: flow
steps:
  - {type: pass, name: one}
  - {type: pass, name: two, inputMappings: [{target: all, source: $input}]}
  - {type: pass, name: three}
"""
