"""Queues over HTTP: throughput, processor time, the official client, and long polls, beside their references."""

import logging
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple
from urllib.parse import urlencode

from benchmarks.floors import Bare
from benchmarks.harness import Row
from benchmarks.load import answered, requests_per_s
from benchmarks.mns import BODY, BareOperation
from benchmarks.server import Connection, Server, cpu_s, free_port, ordinary_environment

SENDS = 3000
SENDS_ALONE = 1500
SENDS_TO_MOTO = 150
ROUND_TRIPS = 300
POLLS = 500
ARRIVALS = 200
FAST_CLIENTS = 4


class _Canned(NamedTuple):
    """A server of canned answers, or of the least that keeps messages."""

    port: int
    pid: int


class QueuesOverHttp:
    """The rows, around one emulator, moto's server and a server of canned answers, all on loopback."""

    def __init__(self) -> None:
        self._server = Server()
        self._moto_port = free_port()
        self._children = [_child("-m", "moto.server", "-H", "127.0.0.1", "-p", str(self._moto_port))]
        self._canned = self._canned_server()
        self._stack = self._canned_server("stack")
        self._queues = 0
        self._operation = BareOperation()
        self._folder = tempfile.TemporaryDirectory(prefix="localyun-bench-")
        self._bare = Bare("messages", f"{self._folder.name}/state.db", self._server.secret)
        answered(self._moto_port, lambda: self._moto("CreateQueue", QueueName="q"))

    def close(self) -> None:
        """End the children, each by its own id."""
        self._server.stop()
        self._operation.close()
        self._bare.stop()
        self._folder.cleanup()
        for child in self._children:
            child.send_signal(signal.SIGTERM)
        for child in self._children:
            child.communicate(timeout=30)

    def rows(self) -> list[Row]:
        """Return the rows in the order they are taken."""
        return [
            Row(
                name="SendMessage, 16 connections",
                unit="requests/s",
                measure=lambda: self._sends_per_s(16),
                reference=self._moto_sends_per_s,
                reference_name="moto server's SQS SendMessage",
                goal=20,
                at_least=True,
            ),
            Row(
                name="SendMessage, server's processor time per request",
                unit="us",
                measure=lambda: self._cpu_us(16),
                reference=self._operation.cpu_us,
                reference_name="the operation without HTTP: verify, parse, insert, render",
                goal=2,
                floor=lambda: self._cpu_us(16, self._floor),
            ),
            self._cpu_row("1 connection", 1, self._stack, "canned answers on the same HTTP stack", 3.5),
            self._cpu_row("16 connections", 16, self._stack, "canned answers on the same HTTP stack", 8),
            self._cpu_row("1 connection", 1, self._canned, "canned answers on bare asyncio"),
            self._cpu_row("16 connections", 16, self._canned, "canned answers on bare asyncio"),
            Row(
                name="send + receive + delete through the official Python client",
                unit="round trips/s",
                measure=lambda: self._round_trips_per_s(self._server.port),
                reference=lambda: self._round_trips_per_s(self._canned.port),
                reference_name="the same client on canned answers",
                goal=0.65,
                at_least=True,
                floor=lambda: self._round_trips_per_s(self._bare.port),
            ),
            Row(
                name=f"{FAST_CLIENTS} fast clients beside {POLLS} idle long polls",
                unit="requests/s",
                measure=self._sends_beside_polls_per_s,
                reference=lambda: self._sends_per_s(FAST_CLIENTS),
                reference_name="without the polls",
                goal=0.9,
                at_least=True,
            ),
            Row(name=f"memory of {POLLS} idle long polls", unit="MB", measure=self._polls_mb, goal=10),
            Row(name=f"threads of {POLLS} idle long polls", unit="threads", measure=self._polls_threads, goal=0),
            Row(name="a message arrives at a parked long poll, p50", unit="ms", measure=self._arrival_ms, goal=2),
        ]

    def _cpu_row(self, counted: str, connections: int, canned: "_Canned", name: str, goal: float | None = None) -> Row:
        return Row(
            name=f"SendMessage, {counted}, server's processor time per request",
            unit="us",
            measure=lambda: self._cpu_us(connections),
            reference=lambda: self._cpu_us(connections, canned),
            reference_name=name,
            goal=goal,
            floor=lambda: self._cpu_us(connections, self._floor),
        )

    def _sends_per_s(self, connections: int) -> float:
        request = self._server.mns("POST", f"/queues/{self._new_queue()}/messages", BODY)
        return requests_per_s(self._server.port, request, connections=connections, calls=SENDS)

    def _moto_sends_per_s(self) -> float:
        request = _moto_request("SendMessage", QueueUrl=self._moto_queue_url, MessageBody="x" * 100)
        return requests_per_s(self._moto_port, request, connections=16, calls=SENDS_TO_MOTO)

    def _cpu_us(self, connections: int, canned: "_Canned | None" = None) -> float:
        """Return the processor time of one SendMessage here, or at a server of canned answers."""
        request = self._server.mns("POST", f"/queues/{self._new_queue()}/messages", BODY)
        port, process = (canned.port, canned.pid) if canned else (self._server.port, self._server.process.pid)
        calls = SENDS if connections > 1 else SENDS_ALONE
        before = cpu_s(process)
        requests_per_s(port, request, connections=connections, calls=calls)
        return (cpu_s(process) - before) / calls * 1e6

    def _canned_server(self, *form: str) -> "_Canned":
        port = free_port()
        child = _child("-m", "benchmarks.canned", str(port), *form)
        self._children.append(child)
        answered(port, lambda: None)
        return _Canned(port, child.pid)

    @property
    def _floor(self) -> "_Canned":
        return _Canned(self._bare.port, self._bare.process.pid)

    @property
    def _moto_queue_url(self) -> str:
        return f"http://127.0.0.1:{self._moto_port}/123456789012/q"

    def _moto(self, action: str, **parameters: str) -> None:
        with Connection(self._moto_port) as connection:
            status, body = connection.ask(_moto_request(action, **parameters))
        if status != 200:
            raise OSError(body)

    def _round_trips_per_s(self, port: int) -> float:
        from mns.account import Account  # optional: only this row needs the client
        from mns.queue import Message

        logger = logging.getLogger("benchmarks.mns")  # without one the client writes a file of its own
        account: Any = Account(f"http://127.0.0.1:{port}", self._server.key_id, self._server.secret, logger=logger)
        queue = account.get_queue(self._new_queue())
        began = time.perf_counter()
        for _ in range(ROUND_TRIPS):
            queue.send_message(Message("x" * 100))
            queue.delete_message(queue.receive_message(0).receipt_handle)
        spent = time.perf_counter() - began
        account.get_client().close_connection()
        return ROUND_TRIPS / spent

    def _sends_beside_polls_per_s(self) -> float:
        polls = self._park()
        rate = self._sends_per_s(FAST_CLIENTS)
        _leave(polls)
        return rate

    def _polls_mb(self) -> float:
        before = self._server.memory_mb()
        polls = self._park()
        used = self._server.memory_mb() - before
        _leave(polls)
        return used

    def _polls_threads(self) -> float:
        before = self._server.threads()
        polls = self._park()
        more = self._server.threads() - before
        _leave(polls)
        return more

    def _park(self) -> list[Connection]:
        """Return connections that wait for a message; the last requests have been taken in too."""
        request = self._server.mns("GET", f"/queues/{self._new_queue()}/messages?waitseconds=30")
        polls = [Connection(self._server.port) for _ in range(POLLS)]
        for poll in polls:
            poll.send(request)
        self._new_queue()
        return polls

    def _arrival_ms(self) -> float:
        queue = self._new_queue()
        receive = self._server.mns("GET", f"/queues/{queue}/messages?waitseconds=30")
        send = self._server.mns("POST", f"/queues/{queue}/messages", BODY)
        spent = []
        with Connection(self._server.port) as receiver, Connection(self._server.port) as sender:
            for _ in range(ARRIVALS):
                receiver.send(receive)
                time.sleep(0.002)  # so that the poll is parked
                began = time.perf_counter()
                sender.send(send)
                status, _ = receiver.receive()
                spent.append(time.perf_counter() - began)
                sender.receive()
                if status != 200:
                    raise RuntimeError(f"the poll ended with {status}")
        return statistics.median(spent) * 1000

    def _new_queue(self) -> str:
        self._queues += 1
        name = f"q{self._queues}"
        with Connection(self._server.port) as connection:
            status, body = connection.ask(self._server.mns("PUT", f"/queues/{name}"))
        if status != 201:
            raise RuntimeError(body)
        return name


def _leave(polls: list[Connection]) -> None:
    for poll in polls:
        poll.close()


def _child(*words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=ordinary_environment(),
    )


def _moto_request(action: str, **parameters: str) -> bytes:
    """Return an SQS request as bytes; moto reads the service out of the scope and checks no signature."""
    body = urlencode({"Action": action, "Version": "2012-11-05", **parameters}).encode("ascii")
    head = (
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        "Authorization: AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/sqs/aws4_request, "
        f"SignedHeaders=host, Signature=0\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode("ascii") + body
