"""Queues in one process, without sockets and signatures: what an operation costs, alone and beside a million others."""

import asyncio
import gc
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.bare import QUEUE
from benchmarks.floors import BareQueue
from benchmarks.harness import Row
from benchmarks.server import mns_headers
from emulator.auth.authenticator import Authenticator, Keyring, NonceMemory
from emulator.auth.signed_request import AccessKey
from emulator.http.message import Headers, Request, Response
from emulator.kernel.clock import SystemClock
from emulator.kernel.identity import AccountId, Principal, Region, Tenant
from emulator.kernel.ids import RandomIds
from emulator.kernel.timers import Timers
from emulator.services.mns.front import MnsFront
from emulator.services.mns.service import SCHEMA, MessageService
from emulator.storage.database import Database
from emulator.storage.migration import migrate
from emulator.wire.request import OperationRequest
from emulator.wire.xml import parse

MILLION = 1_000_000
CALLS = 300
POLLS = 500

_WORLD = Tenant(AccountId("1234567890123456"), Region("cn-hangzhou"))
_HEADERS = Headers([("Host", "127.0.0.1:8868"), ("x-mns-version", "2015-06-06"), ("Content-Type", "text/xml")])
BODY = (
    b'<?xml version="1.0" encoding="utf-8"?><Message xmlns="http://mns.aliyuncs.com/doc/v1/"><MessageBody>'
    + b"x" * 100
    + b"</MessageBody><DelaySeconds>0</DelaySeconds><Priority>8</Priority></Message>"
)
_FILL = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :number)
INSERT INTO mns_messages (
  seq, queue, priority, visible_from, dequeue_count, revision, enqueued_at, first_dequeued_at, message_id, body_md5,
  group_id, user_properties, system_properties, body, dying
)
SELECT (SELECT ifnull(max(seq), 0) FROM mns_messages) + i, :queue, 8, :visible + i / 1000, 0, 0, :sent + i / 1000, 0,
  printf('%032X', i), printf('%032X', i), NULL, NULL, NULL, 'a message of some length, as they are', 0 FROM n
"""


class Service:
    """A service over its own file, called through its front; every call is committed before it returns."""

    def __init__(self, folder: Path) -> None:
        self._clock = SystemClock()
        self._database = Database(folder / "state.db")
        migrate(self._database, [SCHEMA])
        ids = RandomIds()
        self.timers = Timers(self._clock)
        self._service = MessageService(self._database, self._clock, ids, self.timers)
        self._front = MnsFront(self._service, ids)

    def close(self) -> None:
        """Close the file."""
        self._service.close()
        self._database.close()

    def create(self, queue: str, visible: int = 0, hidden: int = 0) -> None:
        """Make a queue with so many messages, the visible ones sent first."""
        self._service.queues.create(_WORLD, queue, {})
        number = self._service.find(_WORLD, queue).queue.queue_id
        now = self._clock.now()
        for count, visible_from in ((visible, now - 100_000), (hidden, now + 3_600_000)):
            if count:
                values = {"number": count, "queue": number, "visible": visible_from, "sent": now - 100_000}
                self._database.write(_FILL, values)
        self._database.commit()

    def reopen(self) -> None:
        """Take up the filled tables, as a start does."""
        ids = RandomIds()
        self._service = MessageService(self._database, self._clock, ids, self.timers)
        self._front = MnsFront(self._service, ids)

    def ask(self, method: str, target: str, body: bytes = b"") -> "Response | asyncio.Future[Response]":
        """Run an operation."""
        context = OperationRequest(Request(method, target, _HEADERS, body), self._clock.now())
        context.principal = Principal(_WORLD.account, "key", "arn")
        context.region = _WORLD.region
        context.request_id = "0" * 24
        answer = self._front.handle(context)
        self._database.commit()
        return answer  # type: ignore[return-value] # a long poll here is always a future

    def send(self, queue: str) -> None:
        """Send a message."""
        self.ask("POST", f"/queues/{queue}/messages", BODY)

    def receive(self, queue: str) -> Response:
        """Receive a message."""
        answer = self.ask("GET", f"/queues/{queue}/messages?waitseconds=0")
        if not isinstance(answer, Response):
            raise TypeError("nothing was there")
        return answer

    def delete(self, queue: str, handle: str | None) -> None:
        """Delete what was received."""
        self.ask("DELETE", f"/queues/{queue}/messages?ReceiptHandle={handle}")

    def look(self, queue: str) -> None:
        """Ask for the counters."""
        self.ask("GET", f"/queues/{queue}")


class BareOperation:
    """SendMessage without HTTP and gateway: verify, parse, insert, render; a commit for every 8, as in a busy tick."""

    TOGETHER = 8

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="localyun-bench-bare-")
        self._clock = SystemClock()
        self._database = Database(Path(self._folder.name) / "state.db")
        migrate(self._database, [SCHEMA])
        ids = RandomIds()
        service = MessageService(self._database, self._clock, ids, Timers(self._clock))
        service.queues.create(_WORLD, "q", {})
        self._front = MnsFront(service, ids)
        key = AccessKey(key_id="key", secret="secret", account=_WORLD.account, arn="arn")
        self._authenticator = Authenticator(Keyring(key), lenient=False, nonces=NonceMemory())

    def close(self) -> None:
        """Remove the file."""
        self._database.close()
        self._folder.cleanup()

    def cpu_us(self, calls: int = 3000) -> float:
        """Return the processor time of one."""
        target = "/queues/q/messages"
        headers = Headers(mns_headers("POST", target, BODY, "key", "secret"))
        started = time.process_time()
        for number in range(calls):
            request = Request("POST", target, headers, BODY)
            context = OperationRequest(request, self._clock.now())
            context.principal = self._authenticator.authenticate(request, context.now)
            context.region = _WORLD.region
            context.request_id = self._front.new_request_id(context)
            self._front.handle(context)
            if number % self.TOGETHER == 0:
                self._database.commit()
        self._database.commit()
        return (time.process_time() - started) / calls * 1e6


class Queues:
    """The rows, around one service with small queues and one with a million messages in two queues each."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="localyun-bench-mns-")
        small, large = (Path(self._folder.name) / name for name in ("small", "large"))
        small.mkdir()
        large.mkdir()
        self._small = Service(small)
        self._small.create("q", visible=100)
        self._large = Service(large)
        self._large.create("visible", visible=MILLION)
        self._large.create("hidden", visible=100, hidden=MILLION)
        for service in (self._small, self._large):
            service.reopen()
        for service, queue in ((self._small, "q"), (self._large, "visible"), (self._large, "hidden")):
            service.look(queue)
        self._bare_small, self._bare_large = _bare_queue(small, 100), _bare_queue(large, MILLION)

    def close(self) -> None:
        """Remove the files."""
        self._small.close()
        self._large.close()
        self._bare_small.close()
        self._bare_large.close()
        self._folder.cleanup()

    def rows(self) -> list[Row]:
        """Return the rows in the order they are taken."""

        def small() -> float:
            return receive_us(self._small, "q")

        reference = "receive from a queue of 100"
        return [
            self._service_row("SendMessage", "send"),
            self._service_row("ReceiveMessage", "receive"),
            self._service_row("DeleteMessage", "delete"),
            Row(
                name="receive from a queue of 1,000,000 messages",
                unit="us",
                measure=lambda: receive_us(self._large, "visible"),
                reference=small,
                reference_name=reference,
                goal=1.5,
                floor=lambda: bare_receive_us(self._bare_large),
                floor_reference=lambda: bare_receive_us(self._bare_small),
            ),
            Row(
                name="receive from 100 visible messages beside 1,000,000 hidden ones",
                unit="us",
                measure=lambda: receive_us(self._large, "hidden"),
                reference=small,
                reference_name=reference,
                goal=1.5,
            ),
            Row(
                name="attributes and counters of a queue of 1,000,000 messages",
                unit="us",
                measure=lambda: self._look_us(self._large, "hidden"),
                reference=lambda: self._look_us(self._small, "q"),
                reference_name="of a queue of 100",
                goal=1.5,
            ),
            Row(name=f"memory of one of {POLLS} parked polls", unit="kB", measure=_parked_kb, goal=20),
        ]

    def _service_row(self, name: str, operation: str) -> Row:
        return Row(
            name=f"{name} in the service",
            unit="us",
            measure=lambda: self._each_us(operation),
            goal=80,
            floor=lambda: self._bare_each_us(operation),
        )

    def _bare_each_us(self, operation: str) -> float:
        """Do the same without a service."""
        queue = self._bare_small
        handles: list[str] = []
        spent = {"send": _cpu_us(lambda: queue.send(BODY))}
        spent["receive"] = _cpu_us(lambda: handles.append(queue.receive()))
        spent["delete"] = _cpu_us(lambda: queue.delete(handles.pop()))
        return spent[operation]

    def _each_us(self, operation: str) -> float:
        """Send, receive and delete many; return the processor time of one *operation*."""
        service = self._small
        service.ask("PUT", "/queues/each")
        received: list[Response] = []
        spent = {"send": _cpu_us(lambda: service.send("each"))}
        spent["receive"] = _cpu_us(lambda: received.append(service.receive("each")))
        handles = [_handle_of(each) for each in received]
        spent["delete"] = _cpu_us(lambda: service.delete("each", handles.pop()))
        return spent[operation]

    def _look_us(self, service: Service, queue: str) -> float:
        return _cpu_us(lambda: service.look(queue))


def receive_us(service: Service, queue: str) -> float:
    """Receive, delete and send again, so that the number stays; return the processor time of a receive."""
    spent = 0.0
    for _ in range(CALLS):
        started = time.process_time()
        received = service.receive(queue)
        spent += time.process_time() - started
        service.delete(queue, _handle_of(received))
        service.send(queue)
    return spent / CALLS * 1e6


def bare_receive_us(queue: BareQueue) -> float:
    """Do the same without a service."""
    spent = 0.0
    for _ in range(CALLS):
        started = time.process_time()
        handle = queue.receive()
        spent += time.process_time() - started
        queue.delete(handle)
        queue.send(BODY)
    return spent / CALLS * 1e6


def _bare_queue(folder: Path, messages: int) -> BareQueue:
    queue = BareQueue(folder)
    sent = SystemClock().now() - 100_000
    queue.fill(_FILL, {"number": messages, "queue": QUEUE, "visible": sent, "sent": sent})
    return queue


def _handle_of(received: Response) -> str | None:
    if not isinstance(received.body, bytes):
        raise TypeError("a streamed message")
    return parse(received.body).text_of("ReceiptHandle")


def _cpu_us(work: Callable[[], object]) -> float:
    started = time.process_time()
    for _ in range(CALLS):
        work()
    return (time.process_time() - started) / CALLS * 1e6


def _parked_kb() -> float:
    """Park many polls, request and context included, and return what each keeps in memory."""
    import tracemalloc  # slows everything down while it runs

    async def measure() -> float:
        with tempfile.TemporaryDirectory() as folder, closing(Service(Path(folder))) as service:
            service.create("q")
            gc.collect()
            tracemalloc.start()
            before = tracemalloc.get_traced_memory()[0]
            polls = [service.ask("GET", "/queues/q/messages?waitseconds=30") for _ in range(POLLS)]
            gc.collect()
            after = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
            for poll in polls:
                if isinstance(poll, Response):
                    raise TypeError("a poll did not wait")
                poll.cancel()
            await asyncio.sleep(0)
            return (after - before) / POLLS / 1024

    return asyncio.run(measure())
