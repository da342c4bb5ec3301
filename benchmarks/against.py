"""Today's program beside an earlier one, by processor time: ``python3 dev.py bench --against COMMIT``.

Both servers get the same requests in turns, so that whatever else the machine does meets both; a figure is the median
of turns. What counts is the time of the server's threads: for a request that of a turn over its requests, for a start
all until a service call is answered. Instances of functions are processes of their own and not counted.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from benchmarks.earlier import checked_out
from benchmarks.flows import create_flow, run_flows
from benchmarks.foundation import FUNCTION
from benchmarks.mns import BODY
from benchmarks.server import SERVICE, Connection, Server, checked

TURN = 64
_TURNS = 60
_WARM_UPS = 5
_STARTS = 15

Turn = Callable[[], int]
"""Sends some requests and returns how many."""

Programs = list[Path | None]
"""The folders of the programs to compare; None is this one."""


def compare(earlier: str) -> str:
    """Return a Markdown table: the costs of *earlier*, a commit or the folder of a checkout, beside today's.

    Raises: RuntimeError when git cannot check it out.
    """
    with ExitStack() as stack:
        program = Path(earlier).resolve() if Path(earlier).is_dir() else stack.enter_context(checked_out(earlier))
        if program is None:
            raise RuntimeError(f"git cannot check out {earlier}")
        functions = stack.enter_context(one_function())
        lines = [f"| processor time of the server | {earlier[-12:]} | today | ratio |", "|---|---|---|---|"]
        for title, prepare in LOADS.values():
            lines.append(_line(title, _under_load(functions, [program, None], prepare)))
        lines.append(_line("start to the first answered service call", _starts(functions, [program, None])))
    return "\n".join(lines)


def _line(title: str, spent_us: list[float]) -> str:
    before, today = spent_us
    return f"| {title} | {before:,.0f} us | {today:,.0f} us | {today / before:.2f}x |"


@contextmanager
def one_function() -> Iterator[Path]:
    """Make a functions folder with one function for the time of the block."""
    with tempfile.TemporaryDirectory(prefix="localyun-bench-") as folder:
        (Path(folder) / "bench" / "f0").mkdir(parents=True)
        (Path(folder) / "bench" / "f0" / "index.py").write_text(FUNCTION, encoding="ascii")
        yield Path(folder)


def _sends(server: Server, connection: Connection) -> Turn:
    connection.ask(server.mns("PUT", "/queues/q", b"<Queue></Queue>"))
    return _repeated(connection, server.mns("POST", "/queues/q/messages", BODY), 201)


def _calls(server: Server, connection: Connection) -> Turn:
    return _repeated(connection, server.fc("POST", "/2016-08-15/services/bench/functions/f0/invocations", b"{}"), 200)


def _flows(server: Server, connection: Connection) -> Turn:
    create_flow(server, connection)

    def turn() -> int:
        run_flows(server, TURN)
        return TURN

    return turn


LOADS: dict[str, tuple[str, Callable[[Server, Connection], Turn]]] = {
    "send": ("SendMessage, one client", _sends),
    "call": ("warm call of a Python function, one client", _calls),
    "flow": ("flows of ten steps, 16 connections", _flows),
}


def _repeated(connection: Connection, request: bytes, status: int) -> Turn:
    def turn() -> int:
        for _ in range(TURN):
            checked(connection.ask(request), status)
        return TURN

    return turn


@contextmanager
def under_load(
    functions: Path, programs: Programs, prepare: Callable[[Server, Connection], Turn]
) -> Iterator[list[tuple[Server, Turn]]]:
    """Start a server of each program, with what sends it requests; clients and servers have a core of their own."""
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(functions, program=program)) for program in programs]
        turns = [prepare(server, stack.enter_context(Connection(server.port))) for server in servers]
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[:1])
        stack.callback(os.sched_setaffinity, 0, cores)
        for server in servers:
            os.sched_setaffinity(server.process.pid, cores[-1:])  # the main thread, which is the loop's
        yield list(zip(servers, turns, strict=True))


def _under_load(functions: Path, programs: Programs, prepare: Callable[[Server, Connection], Turn]) -> list[float]:
    """Return what a request costs each program, in microseconds."""
    with under_load(functions, programs, prepare) as loaded:
        spent = [[_turn_us(server, turn) for server, turn in loaded] for _ in range(_WARM_UPS + _TURNS)]
    return [median(each) for each in zip(*spent[_WARM_UPS:], strict=True)]


def _turn_us(server: Server, turn: Turn) -> float:
    before = server.cpu_ns()
    requests = turn()
    return (server.cpu_ns() - before) / requests / 1000


def _starts(functions: Path, programs: Programs) -> list[float]:
    """Return what a start costs each program, in microseconds."""
    spent: list[list[float]] = [[] for _ in programs]
    for number in [*range(len(programs))] * _STARTS:
        with Server(functions, ask=SERVICE, program=programs[number]) as server:
            spent[number].append(server.cpu_ns() / 1000)
    return [median(each) for each in spent]
