"""Time turned by hand, quiet, checkpoints; and what the lab costs those who do not use it.

The last is measured beside an emulator of the commit before the lab, which git checks out for the run: requests go to
both in small turns, and what counts is the processor time that each server has used for them. Without git and that
commit these rows are left out.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from functools import cached_property, partial
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.earlier import ROOT, checked_out
from benchmarks.functions import ECHO
from benchmarks.harness import Row
from benchmarks.mns import BODY
from benchmarks.server import Connection, Server
from benchmarks.workflow import WAITING, WORLD, Engine, engine, in_loop
from emulator.adapters.lab import FlowActivity
from emulator.kernel.clock import SECOND, AdjustableClock, Millis
from emulator.lab.clock import TimeControl
from emulator.lab.mocks import Mocks
from emulator.services.workflow.model import FlowSettings
from emulator.storage.migration import Schema, migrate
from emulator.testing import Emulator, Execution, Localyun
from emulator.wire.dates import iso_millis

BEFORE = "409cb8e"
"""The commit before the lab."""

POLLING_S = 40.0
TIMERS = 10_000
RESOURCES = 100
TURN = 100
TURNS = 40

Request = Callable[[], bytes]
"""Makes a request; one that is signed with a nonce is good for one use."""

CALL = """
version: v1
type: flow
steps:
  - {type: task, name: call, resourceArn: 'acs:fc:::services/bench/functions/echo'}
"""

WAIT = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: w, duration: 60}\n"


class Lab:
    """The rows, around an emulator that keeps its state and one that does not."""

    def __init__(self) -> None:
        self._closing = ExitStack()
        folder = Path(self._closing.enter_context(tempfile.TemporaryDirectory(prefix="localyun-bench-lab-")))
        functions = ROOT / "functions"
        self._kept = self._closing.enter_context(Emulator(functions=functions, state=folder / "state"))
        self._ephemeral = self._closing.enter_context(Emulator(functions=functions))
        for kit in (self._kept, self._ephemeral):
            kit.checkpoint("bare")
            _fill(kit)
            kit.settle()
            kit.checkpoint("full")

    def close(self) -> None:
        """End the emulators."""
        self._closing.close()

    def rows(self) -> list[Row]:
        """Return the rows in the order they are taken."""
        return [
            Row(
                name="the polling tutorial, time skipped",
                unit="s",
                measure=self._skipped_s,
                reference=lambda: self._polling_s,
                reference_name="as it is (once a run)",
                goal=1 / 200,
            ),
            Row(
                name=f"advance over {TIMERS} waits that end a millisecond apart: processor time",
                unit="ms",
                measure=in_loop(_advance_ms),
                reference=in_loop(_wake_ms),
                reference_name="waking them one after the other",
                goal=1.3,
            ),
            Row(name="settle when quiet, p50", unit="ms", measure=self._settle_ms, goal=1),
            *(
                Row(name=f"restore {RESOURCES} resources, {name}", unit="ms", measure=restore, goal=50)
                for name, restore in (
                    ("state in a file", lambda: self._restore_ms(self._kept, "full")),
                    ("--ephemeral", lambda: self._restore_ms(self._ephemeral, "full")),
                )
            ),
            Row(
                name="back to the baseline between two tests",
                unit="ms",
                measure=lambda: self._restore_ms(self._ephemeral, "bare"),
                goal=20,
            ),
            *self._unused(),
        ]

    @cached_property
    def _polling_s(self) -> float:
        """How long the tutorial takes by itself."""
        began = time.perf_counter()
        if self._polling(self._kept).wait(timeout_s=2 * POLLING_S).status != "Failed":
            raise RuntimeError("the polling tutorial has not given up after four queries")
        return time.perf_counter() - began

    def _skipped_s(self, runs: int = 5) -> float:
        spent = []
        for _ in range(runs):
            began = time.perf_counter()
            self._kept.skip_until(execution=self._polling(self._kept))
            spent.append(time.perf_counter() - began)
        return statistics.median(spent)  # not that of the first, whose instances are cold

    def _polling(self, kit: Localyun) -> Execution:
        text = (ROOT / "sample-apps" / "poll-for-task-status" / "flow.yml").read_text(encoding="utf-8")
        return kit.flow("polling", text.replace("{accountID}", kit.account_id)).start({"delay": 600})

    def _settle_ms(self, calls: int = 200) -> float:
        self._kept.settle()
        request = (
            f"POST /_localyun/settle HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Localyun-Token: {self._kept.token}\r\n"
            "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        ).encode("ascii")
        with Connection(urlsplit(self._kept.endpoint).port or 80) as connection:
            return statistics.median(_spent_ms(lambda: connection.ask(request)) for _ in range(calls))

    def _restore_ms(self, kit: Localyun, name: str, times: int = 10) -> float:
        return statistics.median(
            _spent_ms(lambda: kit.api.admin("POST", f"checkpoints/{name}/restore")) for _ in range(times)
        )

    def _unused(self) -> Iterator[Row]:
        program = self._closing.enter_context(checked_out(BEFORE))
        if program is None:
            return
        functions = Path(self._closing.enter_context(tempfile.TemporaryDirectory(prefix="localyun-bench-lab-")))
        (functions / "bench" / "echo").mkdir(parents=True)
        (functions / "bench" / "echo" / "index.py").write_text(ECHO, encoding="ascii")
        pair = Pair(*(self._closing.enter_context(Server(functions, program=each)) for each in (None, program)))
        yield from beside(
            pair, "nothing of the lab in use", "the commit before the lab", 1.02,
            {"SendMessage": pair.sends, "warm call of a Python function": pair.calls},
        )  # fmt: skip


class Pair:
    """This emulator and an earlier one, which get the same requests in turns."""

    def __init__(self, own: Server, before: Server) -> None:
        self._servers = (own, before)
        self.own_us: list[float] = []
        """What requests have cost this emulator, taken with `before_us`."""

    def sends(self) -> list[Request]:
        """Return what makes a SendMessage for each of the two."""
        self._ask(lambda server: server.mns("PUT", "/queues/q", b"<Queue></Queue>"))
        return [_always(server.mns("POST", "/queues/q/messages", BODY)) for server in self._servers]

    def calls(self) -> list[Request]:
        """Return what makes a call of the function for each of the two."""
        target = "/2016-08-15/services/bench/functions/echo/invocations"
        return [_always(server.fc("POST", target, b"x" * 64)) for server in self._servers]

    def flows(self) -> list[Request]:
        """Return what makes an express execution that calls the function for each of the two."""
        flow = {"Name": "call", "Type": "FDL", "ExecutionMode": "Express", "Definition": CALL, "Description": ""}
        self._ask(lambda server: server.rpc("CreateFlow", **flow))
        runs: list[Request] = [
            partial(server.rpc, "StartSyncExecution", FlowName="call", Input="{}") for server in self._servers
        ]
        for server, run in zip(self._servers, runs, strict=True):
            with Connection(server.port) as connection:
                if b'"Succeeded"' not in connection.ask(run())[1]:
                    raise RuntimeError("the execution has not succeeded")
        return runs

    def _ask(self, request: Callable[[Server], bytes]) -> None:
        for server in self._servers:
            with Connection(server.port) as connection:
                connection.ask(request(server))

    def before_us(self, requests: list[Request]) -> float:
        """Return the processor time that the earlier one has used for a request, and keep that of this one."""
        with ExitStack() as stack:
            connections = [stack.enter_context(Connection(server.port)) for server in self._servers]
            asked = list(zip(connections, requests, strict=True))
            _take_turns(asked, 1)
            began = [server.cpu_ns() for server in self._servers]
            _take_turns(asked, TURNS)
            own, before = (
                (server.cpu_ns() - at) / (TURNS * TURN) / 1000 for server, at in zip(self._servers, began, strict=True)
            )
        self.own_us.append(own)
        return before


def beside(
    pair: Pair, unused: str, reference: str, goal: float, kinds: dict[str, Callable[[], list[Request]]]
) -> Iterator[Row]:
    """Yield a row of each kind of request: what it costs this emulator and an earlier one."""
    for name, requests in kinds.items():
        yield Row(
            name=f"{name}, {unused}: server's processor time",
            unit="us",
            measure=pair.own_us.pop,
            reference=partial(pair.before_us, requests()),
            reference_name=reference,
            goal=goal,
        )


def _always(request: bytes) -> Request:
    return lambda: request


def _take_turns(asked: list[tuple[Connection, Request]], turns: int) -> None:
    for _ in range(turns):
        for connection, request in asked:
            for _ in range(TURN):
                status, body = connection.ask(request())
                if status not in {200, 201}:
                    raise RuntimeError(f"{status}: {body[:200]!r}")


def _fill(kit: Localyun) -> None:
    """Make resources: queues with messages, and flows of which each has an execution that waits."""
    for number in range(RESOURCES // 2):
        kit.queue(f"queue-{number}").send("body")
        kit.flow(f"flow-{number}", WAIT).start({})


def _spent_ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


@asynccontextmanager
async def _parked() -> AsyncIterator[tuple[Engine, AdjustableClock, list[Millis]]]:
    """Yield an engine whose time stands still, with executions that wait, and when their waits end."""
    clock = AdjustableClock()
    clock.freeze()
    begin = clock.now() + 60 * SECOND
    async with engine(clock) as made:
        migrate(made.database, [Schema("lab", ROOT / "emulator" / "lab" / "schema")])
        await made.service.flows.create(WORLD, "f", WAITING, FlowSettings())
        due = [Millis(begin + number) for number in range(TIMERS)]
        for number, at in enumerate(due):
            made.service.executions.start(WORLD, "f", f"e{number}", f'{{"until":"{iso_millis(at)}"}}')
            if number % 50 == 0:
                await asyncio.sleep(0)
        await made.quiet()
        yield made, clock, due
        if made.service.open_executions:
            raise RuntimeError(f"{made.service.open_executions} executions still wait")


async def _advance_ms() -> float:
    async with _parked() as (made, clock, due):
        activity = FlowActivity(made.service, Mocks(clock, lambda: made.timers, lambda: None), made.timers.turns)
        control = TimeControl(made.database, clock, made.timers, lambda notify: lambda: None, [activity])
        began = time.process_time()
        moved = await control.move_to(due[-1])
        spent = time.process_time() - began
        if moved.ran < TIMERS:
            raise RuntimeError(f"only {moved.ran} timers have run")
    return spent * 1000


async def _wake_ms() -> float:
    """Set the clock to the end of each wait, wake what is due and wait for its end and the commit."""
    async with _parked() as (made, clock, due):
        began = time.process_time()
        for at in due:
            clock.freeze(at)
            made.timers.run_due()
            while not made.service.is_idle:
                await asyncio.sleep(0)
            await made.database.committed()
        spent = time.process_time() - began
    return spent * 1000
