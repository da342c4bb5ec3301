"""Flows inside one process: many at once, parked waits, wide and long ones, histories, schedules.

Nothing goes over HTTP here but the express flow, so that the engine and its store are measured and not the front door.
"""

import asyncio
import gc
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.flows import FLOW, FLOWS_AT_ONCE, STEPS, storage_floor_per_s
from benchmarks.harness import Row
from benchmarks.server import Connection, Server, ordinary_environment
from emulator.kernel.clock import SECOND, Millis, SystemClock
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.kernel.ids import RandomIds
from emulator.kernel.timers import LoopTimers
from emulator.services.workflow.engine.store import recorded
from emulator.services.workflow.limits import Bounds
from emulator.services.workflow.model import ExecutionId, FlowSettings, ScheduleSettings
from emulator.services.workflow.ports import FunctionReply, FunctionResource, Submission
from emulator.services.workflow.service import Workflow
from emulator.storage.database import Database
from emulator.storage.migration import migrate
from emulator.wire.dates import iso_millis, parse_iso

WORLD = Tenant(AccountId("1"), Region("cn-hangzhou"))
UNBOUNDED = Bounds(events=10_000_000, step_data_bytes=100_000_000)

PARKED = 10_000
SPREAD_S = 8
"""The parked executions wake one after the other within so many seconds."""

WIDE = 10_000
TURNS = 1_000
HISTORY = 5_000
SCHEDULES = 1_000

PARKED_MACHINES = 2_000

SAME_FLOW = "version: v1\ntype: flow\nsteps:\n" + "".join(
    f"  - type: pass\n    name: step{number}\n    outputMappings: [{{target: n, source: {number}}}]\n"
    for number in range(STEPS)
)
MACHINE = "Type: StateMachine\nName: f\nSpecVersion: v1\nStartAt: step0\nStates:\n" + "".join(
    f"  - Type: Pass\n    Name: step{number}\n    OutputConstructor: {{n: {number}}}\n"
    + (f"    Next: step{number + 1}\n" if number + 1 < STEPS else "    End: true\n")
    for number in range(STEPS)
)
FLOW_WAITING = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, duration: 300}\n"
MACHINE_WAITING = (
    "Type: StateMachine\nName: f\nSpecVersion: v1\nStartAt: w\nStates:\n"
    "  - {Type: Wait, Name: w, Seconds: 300, End: true}\n"
)

HEAD = "version: v1\ntype: flow\nsteps:\n"
WAITING = HEAD + "  - {type: wait, name: w, timestamp: $.until}\n"
EACH = HEAD + (
    "  - type: foreach\n    name: each\n    iterationMapping: {collection: $.items, item: item}\n    steps:\n"
    "      - {type: pass, name: p, inputMappings: [{target: x, source: $input.item}]}\n"
)
POLLING = HEAD + (
    "  - {type: task, name: poll, resourceArn: 'acs:fc:::services/s/functions/f'}\n"
    "  - type: choice\n    name: more\n    choices:\n"
    f"      - {{condition: $.turn < {TURNS}, goto: poll}}\n"
)


class Counter:
    """The function of the polling loop: answers the turn it has been called for."""

    async def invoke(self, tenant: Tenant, resource: FunctionResource, event: bytes, key: str) -> FunctionReply:
        """Return one turn more than *event* tells."""
        del tenant, resource, key
        turn = json.loads(event).get("turn", 0) + 1
        return FunctionReply(body=b'{"turn":%d}' % turn)

    async def submit(
        self, tenant: Tenant, resource: FunctionResource, event: bytes, key: str, *, invocation_id: str
    ) -> Submission:
        """Not called: the loop runs its function synchronously."""
        raise AssertionError((tenant, resource, event, key, invocation_id))

    async def result(self, tenant: Tenant, request_id: str) -> FunctionReply:
        """Not called."""
        raise AssertionError((tenant, request_id))

    def abandon(self, tenant: Tenant, key: str) -> None:
        """Not called."""
        raise AssertionError((tenant, key))


class Engine:
    """A workflow service over a database of its own, in the running loop."""

    def __init__(self, folder: Path, clock: SystemClock) -> None:
        self.path = folder / "state.db"
        self.clock = clock
        self.database = Database(self.path)
        migrate(self.database, [Workflow.SCHEMA])
        self.timers = LoopTimers(self.clock, asyncio.get_running_loop())
        self.service = Workflow(
            database=self.database,
            clock=self.clock,
            ids=RandomIds(),
            timers=self.timers,
            functions=Counter(),
            bounds=UNBOUNDED,
        )

    async def run(self, definition: str, given: Any) -> float:
        """Run one execution to its end and return how long it took, in seconds."""
        await self.service.flows.create(WORLD, "f", definition, FlowSettings())
        began = time.perf_counter()
        self.service.executions.start(WORLD, "f", "e", json.dumps(given))
        await self.ended("e")
        return time.perf_counter() - began

    async def ended(self, name: str) -> None:
        """Wait until an execution of the flow has succeeded."""
        done = asyncio.Event()
        record = self.service.executions.get(WORLD, "f", name)
        if record.is_open:
            self.service.executions.when_ended(record.id, 600, done.set)
            await done.wait()
        record = self.service.executions.get(WORLD, "f", name)
        if record.status != "Succeeded":
            raise RuntimeError(f"{record.status}: {record.error} {record.cause}")

    async def quiet(self) -> None:
        """Wait until nothing is left to do at once."""
        calm = 0
        while calm < 10:
            await asyncio.sleep(0)
            calm = calm + 1 if self.service.is_idle else 0


@asynccontextmanager
async def engine(clock: SystemClock | None = None) -> AsyncIterator[Engine]:
    """Make an engine and take it away afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="localyun-bench-workflow-"))
    made = Engine(folder, clock or SystemClock())
    await made.service.start()
    try:
        yield made
    finally:
        await made.service.close()
        made.timers.close()
        made.database.close()
        shutil.rmtree(folder)


def in_loop(measure: Callable[[], Coroutine[Any, Any, float]]) -> Callable[[], float]:
    """Return a measure that runs in an event loop of its own."""
    return lambda: asyncio.run(measure())


class Workflows:
    """The rows, and the server of the one that goes over HTTP."""

    def __init__(self) -> None:
        self._server = Server()
        with Connection(self._server.port) as connection:
            status, body = connection.ask(
                self._server.rpc(
                    "CreateFlow", Name="ten", Definition=FLOW, Description="", Type="FDL", ExecutionMode="Express"
                )
            )
            if status != 200:
                raise RuntimeError(body)
        self._bytes_on_disk: list[float] = []
        self._lateness_ms: list[float] = []
        self._restart_ms: dict[str, list[float]] = {MACHINE_WAITING: [], FLOW_WAITING: []}

    def close(self) -> None:
        """End the server."""
        self._server.stop()

    def rows(self) -> list[Row]:
        """Return the rows in the order they are taken."""
        return [
            Row(
                name=f"{FLOWS_AT_ONCE} flows of ten steps at once, in process",
                unit="flows/s",
                measure=in_loop(_flows_per_s),
                reference=storage_floor_per_s,
                reference_name="storage floor: the same events alone, a row each",
                goal=0.3,
                at_least=True,
            ),
            Row(
                name=f"memory of one of {PARKED} executions parked in a wait",
                unit="bytes",
                measure=self._parked_bytes,
                goal=1000,
            ),
            Row(name="its bytes in the state file", unit="bytes", measure=self._bytes_on_disk.pop),
            Row(
                name=f"waking them one by one within {SPREAD_S} s: lateness, p99",
                unit="ms",
                measure=self._lateness_ms.pop,
                goal=20,
            ),
            Row(
                name=f"foreach of {WIDE} items, per item",
                unit="ms",
                measure=in_loop(lambda: _foreach_ms(WIDE)),
                reference=in_loop(lambda: _foreach_ms(WIDE // 10)),
                reference_name=f"of {WIDE // 10} items",
            ),
            Row(
                name=f"polling loop of {TURNS} turns: the last hundred, per turn",
                unit="ms",
                measure=in_loop(lambda: self._turn_ms(-100)),
                reference=in_loop(lambda: self._turn_ms(100)),
                reference_name="the first hundred",
                goal=1.25,
            ),
            Row(
                name=f"a history of {HISTORY} events: its last page of 60",
                unit="ms",
                measure=in_loop(lambda: _page_ms(HISTORY - 60)),
                reference=in_loop(lambda: _page_ms(1)),
                reference_name="its first page",
                goal=1.25,
            ),
            Row(
                name=f"{SCHEDULES} schedules due at once: the last flow started after",
                unit="ms",
                measure=in_loop(_schedules_ms),
            ),
            Row(
                name=f"{FLOWS_AT_ONCE} state machines of ten Pass states at once, processor time",
                unit="ms each",
                measure=in_loop(lambda: _ms_each(MACHINE)),
                reference=in_loop(lambda: _ms_each(SAME_FLOW)),
                reference_name="the same flow in the old language",
                goal=1.1,
            ),
            Row(
                name="one state machine of ten Pass states, start to end, processor time",
                unit="ms",
                measure=in_loop(lambda: _alone_ms(MACHINE)),
                reference=in_loop(lambda: _alone_ms(SAME_FLOW)),
                reference_name="the same flow in the old language",
                goal=1.1,
            ),
            Row(
                name="its bytes in the state file while it is parked in a Wait",
                unit="bytes",
                measure=in_loop(lambda: self._parked(MACHINE_WAITING)),
                reference=in_loop(lambda: self._parked(FLOW_WAITING)),
                reference_name="in the old language",
                goal=1.1,
            ),
            Row(
                name=f"a start with {PARKED_MACHINES} of them parked until all have woken, processor time",
                unit="ms",
                measure=self._restart_ms[MACHINE_WAITING].pop,
                reference=self._restart_ms[FLOW_WAITING].pop,
                reference_name="in the old language",
                goal=1.1,
            ),
            Row(name="express flow of ten pass steps over HTTP, p50", unit="ms", measure=self._express_ms, goal=10),
        ]

    def _parked_bytes(self) -> float:
        """Park executions in a fresh process; keep the other two figures for the rows after this one."""
        command = [sys.executable, "-m", "benchmarks.workflow"]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=ordinary_environment())
        memory, disk, late_ms = json.loads(done.stdout)
        self._bytes_on_disk.append(disk)
        self._lateness_ms.append(late_ms)
        return float(memory)

    async def _turn_ms(self, hundred: int) -> float:
        """Return the time per turn of the first (100) or last (-100) hundred turns of a polling loop."""
        async with engine() as made:
            await made.run(POLLING, {})
            instants = [
                event.at
                for event in recorded(made.database, ExecutionId(1))
                if event.type == "StepEntered" and event.step == "poll"
            ]
        if len(instants) != TURNS:
            raise RuntimeError(f"{len(instants)} turns")
        first, last = (instants[0], instants[100]) if hundred > 0 else (instants[-101], instants[-1])
        return float(last - first) / 100

    async def _parked(self, definition: str) -> float:
        """Park executions and return their bytes each; keep how long a start takes that wakes them all."""
        folder = Path(tempfile.mkdtemp(prefix="localyun-bench-workflow-"))
        first = Engine(folder, SystemClock())
        await first.service.start()
        await first.service.flows.create(WORLD, "f", definition, FlowSettings())
        empty = _size(first)
        for number in range(PARKED_MACHINES):
            first.service.executions.start(WORLD, "f", f"e{number}", '{"id":"o-1","parts":[1,2,3]}')
            if number % 50 == 0:
                await asyncio.sleep(0)
        await first.quiet()
        each = (_size(first) - empty) / PARKED_MACHINES
        first.database.write("UPDATE workflow_wakeups SET fire_at = 1 WHERE kind = 'wait'")
        first.database.write("UPDATE workflow_turns SET at = at - 1000000")
        first.database.write("UPDATE workflow_executions SET snapshot = NULL")
        first.database.commit()
        await first.service.close()
        first.timers.close()
        first.database.close()
        began = time.process_time()
        second = Engine(folder, SystemClock())
        await second.service.start()
        while second.service.open_executions:
            await asyncio.sleep(0.05)
        self._restart_ms[definition].append((time.process_time() - began) * 1000)
        await second.service.close()
        second.timers.close()
        second.database.close()
        shutil.rmtree(folder)
        return each

    def _express_ms(self, runs: int = 50) -> float:
        spent = []
        with Connection(self._server.port) as connection:
            for _ in range(runs):
                request = self._server.rpc("StartSyncExecution", FlowName="ten", Input="{}")
                began = time.perf_counter()
                status, body = connection.ask(request)
                spent.append(time.perf_counter() - began)
                if status != 200 or json.loads(body)["Status"] != "Succeeded":
                    raise RuntimeError(body)
        return statistics.median(spent) * 1000


async def _ms_each(definition: str) -> float:
    """Return the processor time of one of many flows."""
    began = time.process_time()
    await _flows_per_s(definition)
    return (time.process_time() - began) * 1000 / FLOWS_AT_ONCE


async def _alone_ms(definition: str, runs: int = 100) -> float:
    spent = []
    async with engine() as made:
        await made.service.flows.create(WORLD, "f", definition, FlowSettings())
        for number in range(runs):
            began = time.process_time()
            made.service.executions.start(WORLD, "f", f"e{number}", "{}")
            await made.ended(f"e{number}")
            spent.append(time.process_time() - began)
    return statistics.median(spent) * 1000


async def _flows_per_s(definition: str = FLOW) -> float:
    async with engine() as made:
        await made.service.flows.create(WORLD, "f", definition, FlowSettings())
        began = time.perf_counter()
        for number in range(FLOWS_AT_ONCE):
            made.service.executions.start(WORLD, "f", f"e{number}", "{}")
            if number % 16 == 15:
                await asyncio.sleep(0)  # as many as a tick of the server takes from its connections
        await made.quiet()
        spent = time.perf_counter() - began
        events = made.database.read("SELECT sum(last_event) FROM workflow_executions").fetchone()[0]
    if events != FLOWS_AT_ONCE * (4 * STEPS + 2):
        raise RuntimeError(f"{events} events")
    return FLOWS_AT_ONCE / spent


async def parked() -> tuple[float, float, float]:
    """Park executions; return the memory and disk of each in bytes, and how late they wake in ms (p99)."""
    async with engine() as made:
        service = made.service
        await service.flows.create(WORLD, "f", WAITING, FlowSettings())
        service.executions.start(WORLD, "f", "first", '{"until":"2020-01-01T00:00:00Z"}')
        await made.ended("first")
        gc.collect()
        memory, size = _memory(), _size(made)
        begin = Millis(made.clock.now() + 15 * SECOND)
        for number in range(PARKED - 1):
            until = iso_millis(Millis(begin + number * SPREAD_S * SECOND // PARKED))
            service.executions.start(WORLD, "f", f"e{number}", f'{{"until":"{until}"}}')
            if number % 50 == 0:
                await asyncio.sleep(0)
        await made.quiet()
        if made.clock.now() > begin:
            raise RuntimeError("this machine is too slow to park them before the first one wakes")
        gc.collect()
        each, disk = (_memory() - memory) / PARKED, (_size(made) - size) / PARKED
        await made.ended(f"e{PARKED - 2}")
        await made.quiet()
        return each, disk, _lateness_p99(made)


async def _foreach_ms(items: int) -> float:
    async with engine() as made:
        spent = await made.run(EACH, {"items": [number % 10 for number in range(items)]})
    return spent * 1000 / items


async def _page_ms(start: int, reads: int = 200) -> float:
    async with engine() as made:
        await made.run(EACH, {"items": [0] * (HISTORY // 6)})
        execution = made.service.executions
        shown = 0
        began = time.perf_counter()
        for _ in range(reads):
            shown += len(execution.history(WORLD, "f", "e", 60, start).items)
        spent = time.perf_counter() - began
    if shown < reads * 50:
        raise RuntimeError("the history is shorter than that")
    return spent * 1000 / reads


async def _schedules_ms() -> float:
    """Make schedules that are due within three seconds, and see when the last of their executions has started."""
    async with engine() as made:
        await made.service.flows.create(WORLD, "f", FLOW, FlowSettings())
        due = Millis((made.clock.now() // SECOND + 4) * SECOND)
        of_day = due // SECOND % 86_400
        settings = ScheduleSettings(expression=f"{of_day % 60} {of_day // 60 % 60} {of_day // 3600} * * *")
        for number in range(SCHEDULES):
            await made.service.schedules.create(WORLD, "f", f"s{number}", settings)
        if made.clock.now() > due:
            raise RuntimeError("this machine is too slow to make them before they are due")
        count, last = 0, 0
        while count < SCHEDULES:
            await asyncio.sleep(0.05)
            count, last = made.database.read("SELECT count(*), max(started_at) FROM workflow_executions").fetchone()
        await made.quiet()
    return float(last - due)


def _lateness_p99(made: Engine) -> float:
    rows = made.database.read(
        "SELECT s.at, x.input FROM workflow_turns s JOIN workflow_executions x ON x.id = s.execution"
        " WHERE s.events LIKE '%StepSucceeded%' AND x.name <> 'first'"
    ).fetchall()
    late = sorted(at - parse_iso(json.loads(given)["until"]) for at, given in rows)
    if len(late) != PARKED - 1:
        raise RuntimeError(f"{len(late)} have woken")
    return float(late[len(late) * 99 // 100])


def _memory() -> int:
    """Return the resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


def _size(made: Engine) -> int:
    made.database.commit()
    pages, each = (made.database.read(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    return int(pages * each)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(parked())))
