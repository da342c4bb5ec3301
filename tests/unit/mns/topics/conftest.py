"""Topics under virtual time, pushing to real web servers on loopback."""

import asyncio
import base64
import contextlib

import pytest

from emulator.http.message import Headers, Request
from emulator.kernel.clock import VirtualClock
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import AccountId, Principal, Region, Tenant
from emulator.kernel.ids import CountingIds
from emulator.kernel.timers import VirtualTimers
from emulator.services.mns.front import ManagementFront, MnsFront
from emulator.services.mns.ports import FunctionRefused
from emulator.services.mns.service import CERTIFICATE_PAGE, SCHEMA, MessageService
from emulator.services.mns.topics.model import ContentFormat, SubscriptionSettings
from emulator.services.mns.topics.push import Pusher, PushPolicy
from emulator.storage.database import Database
from emulator.wire.request import OperationRequest
from emulator.wire.xml import parse
from tests.ready_database import with_tables
from tests.waiting import until

WORLD = Tenant(AccountId("1234567890123456"), Region("cn-hangzhou"))
ADDRESS = "http://127.0.0.1:8868"


class PlainSigner:
    """Signs with the text itself, so that a test can read what was signed."""

    def __init__(self):
        self.warmed = 0

    def warm(self):
        self.warmed += 1

    async def authorization(self, text):
        return base64.b64encode(text.encode()).decode()

    async def certificate(self):
        return b"-----BEGIN CERTIFICATE-----"


class HalfwayIds(CountingIds):
    """Draws always fall in the middle of a range."""

    def fraction(self):
        return 0.5


class RecordingFunctions:
    """Keeps the events functions are given; refuses as often as it is told to."""

    def __init__(self):
        self.events = []
        self.refusals = 0

    async def invoke_async(self, tenant, arn, event, key):
        if self.refusals:
            self.refusals -= 1
            raise FunctionRefused("FunctionNotFound: there is no such function")
        self.events.append((arn, event, key))


class Push:
    """One push as it arrived, and the virtual instant it did."""

    def __init__(self, head, body, at):
        lines = head.decode().split("\r\n")
        self.method, self.target, _ = lines[0].split(" ")
        self.headers = dict(line.split(": ", 1) for line in lines[1:] if line)
        self.body = body
        self.at = at


class Receiver:
    """A web server that answers each push with the next of its answers, the last one for ever; None: never."""

    def __init__(self, clock, answers):
        self.clock = clock
        self.answers = list(answers)
        self.pushes = []
        self.came = asyncio.Event()

    async def start(self):
        self._open = set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    async def close(self):
        self._server.close()
        for writer in self._open:
            writer.close()

    async def _serve(self, reader, writer):
        self._open.add(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            self.pushes.append(Push(head, await reader.readexactly(length), self.clock.now()))
            self.came.set()
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if answer is None:
                await reader.read()
            else:
                writer.write(answer if isinstance(answer, bytes) else b"HTTP/1.0 %d X\r\n\r\n" % answer)
                await writer.drain()
        writer.close()
        self._open.discard(writer)


class Site:
    """Queues, topics and everything around them that a test may want to move or look at."""

    tenant = WORLD

    def __init__(self, path=None, clock=None, *, functions=True, **options):
        self.clock = clock or VirtualClock()
        self.ids = HalfwayIds()
        self.timers = VirtualTimers(self.clock)
        self.database = Database(path)
        with_tables(self.database, SCHEMA)
        self.functions = RecordingFunctions()
        self.signer = options.pop("signer", None) or PlainSigner()
        pusher = Pusher(
            self.signer, self.clock, self.ids, PushPolicy(),
            certificate_url=lambda: f"{ADDRESS}/_localyun/{CERTIFICATE_PAGE}", **options,
        )  # fmt: skip
        self.queues = self.service = MessageService(self.database, self.clock, self.ids, self.timers, pusher=pusher)
        if functions:
            self.service.connect(self.functions)
        self.front = MnsFront(self.service, self.ids)
        self.open_front = ManagementFront(self.service, self.ids)
        self._receivers = []

    async def __aenter__(self):
        self.service.start()
        self.service.deliver()
        return self

    async def __aexit__(self, *error):
        await self.service.aclose()
        for receiver in self._receivers:
            await receiver.close()
        self.database.close()

    async def receiver(self, *answers):
        receiver = await Receiver(self.clock, answers or [204]).start()
        self._receivers.append(receiver)
        return receiver

    def topic(self, name="t", **change):
        self.service.topics.create(self.tenant, name, change)

    def queue(self, name="q", **change):
        self.queues.queues.create(self.tenant, name, change)

    def subscribe(self, endpoint, name="s", topic="t", content_format=ContentFormat.SIMPLIFIED, **settings):
        chosen = SubscriptionSettings(endpoint=endpoint, content_format=content_format, **settings)
        self.service.subscriptions.create(self.tenant, topic, name, chosen)

    def to_queue(self, queue="q", **settings):
        self.subscribe(f"acs:mns:any:any:queues/{queue}", **settings)

    def publish(self, body="hello", topic="t", **more):
        return self.service.publish(self.tenant, topic, body, **more)

    def bodies(self, queue="q"):
        """Receive all messages of a queue and return their bodies."""
        live = self.queues.find(self.tenant, queue)
        found = []
        while live.tally.counters(self.clock.now()).active:
            found += [message.body for message in self.queues.messages.receive(live, 16, 0, list)]
        return found

    def reports(self, name="s", topic="t"):
        return self.service.list_deliveries(self.tenant, topic, name)

    async def settle(self):
        """Let attempts under way end."""
        await asyncio.sleep(0)
        await until(lambda: not (self.database.dirty or self.service.courier.under_way))

    async def advance(self, seconds):
        """Move time forward, letting every attempt on the way end at its own instant."""
        end = self.clock.now() + round(seconds * 1000)
        await self.settle()
        while (instant := self.timers.next_at()) is not None and instant <= end:
            self.timers.advance(max(0, instant - self.clock.now()))
            await self.settle()
        self.timers.advance(end - self.clock.now())
        await self.settle()

    def call(self, method, target, body=b"", **headers):
        """Ask the XML API and return its answer."""
        pairs = {"Host": "127.0.0.1:8868", "x-mns-version": "2015-06-06"}
        pairs |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if isinstance(body, bytes) else body.encode()
        return self._ask(self.front, Request(method, target, Headers(pairs.items()), content))

    def error(self, method, target, body=b"", **headers):
        """Return status and code of a refusal of the XML API."""
        answer = self.call(method, target, body, **headers)
        root = parse(answer.body)
        assert root.name == "Error"
        return answer.status, root.text_of("Code")

    def xml(self, method, target, body=b"", **headers):
        """Return the document of an answer of the XML API."""
        answer = self.call(method, target, body, **headers)
        assert answer.status in {200, 201}, answer.body
        return parse(answer.body)

    def act(self, action, **parameters):
        """Ask the management API with parameters in the query and return its answer."""
        from urllib.parse import urlencode

        query = urlencode({"Action": action, "Version": "2022-01-19", "Format": "JSON", **parameters})
        return self._ask(self.open_front, Request("POST", f"/?{query}", Headers([("Host", "h")])))

    def _ask(self, front, request):
        context = OperationRequest(request, self.clock.now())
        context.region = self.tenant.region
        context.principal = Principal(self.tenant.account, "key", "arn")

        context.request_id = front.new_request_id(context)
        try:
            return front.handle(context)
        except ServiceError as error:
            return front.render_error(error, context)


@pytest.fixture
def new_site():
    """The class: ``async with new_site(options of the service) as site`` opens a site."""
    return Site
