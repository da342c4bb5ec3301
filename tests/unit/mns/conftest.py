"""A message service in memory under virtual time, asked through its front as the gateway asks it."""

import asyncio

import pytest

from emulator.http.message import Headers, Request, Response
from emulator.kernel.clock import VirtualClock
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import AccountId, Principal, Region, Tenant
from emulator.kernel.ids import CountingIds
from emulator.kernel.timers import VirtualTimers
from emulator.services.mns.front import MnsFront
from emulator.services.mns.limits import RELAXED
from emulator.services.mns.service import SCHEMA, MessageService
from emulator.storage.database import Database
from emulator.wire.request import OperationRequest
from emulator.wire.xml import parse
from tests.ready_database import with_tables

ACCOUNT = AccountId("1234567890123456")
REGION = Region("cn-hangzhou")
HOST = "127.0.0.1:8868"


class Mns:
    """The service and everything around it that a test may want to move or look at."""

    def __init__(self, path=None, clock=None, profile=RELAXED):
        self.tenant = Tenant(ACCOUNT, REGION)
        self.clock = clock or VirtualClock()
        self.ids = CountingIds()
        self.timers = VirtualTimers(self.clock)
        self.database = Database(path)
        with_tables(self.database, SCHEMA)
        self.service = MessageService(self.database, self.clock, self.ids, self.timers, profile=profile)
        self.service.start()
        self.front = MnsFront(self.service, self.ids)
        self.element = element
        self.refusal = refusal
        self.message_xml = message_xml
        self.turns = turns

    def close(self):
        self.service.close()
        self.database.close()

    def ask(self, method, target, body=b"", **headers):
        """Return the answer: a response, or a future for a long poll."""
        pairs = {"Host": HOST, "x-mns-version": "2015-06-06"}
        pairs |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if isinstance(body, bytes) else body.encode()
        context = OperationRequest(Request(method, target, Headers(pairs.items()), content), self.clock.now())
        context.region = self.tenant.region
        context.principal = Principal(self.tenant.account, "key", "arn")
        context.request_id = self.front.new_request_id(context)
        self.context = context
        try:
            return self.front.handle(context)
        except ServiceError as error:
            return self.front.render_error(error, context)

    def call(self, method, target, body=b"", **headers):
        """Return the answer of an operation that does not wait, committed."""
        answer = self.ask(method, target, body, **headers)
        assert isinstance(answer, Response)
        self.database.commit()
        return answer

    def error(self, method, target, body=b"", **headers):
        """Return status and code of a refusal."""
        return refusal(self.call(method, target, body, **headers))

    def create(self, name="q", **change):
        assert self.service.queues.create(self.tenant, name, change)
        self.database.commit()

    def send(self, body="hello", queue="q", **elements):
        return element(self.call("POST", f"/queues/{queue}/messages", message_xml(body, **elements)), 201)

    def receive(self, queue="q"):
        """Return the received message as an element, or None."""
        answer = self.call("GET", f"/queues/{queue}/messages?waitseconds=0")
        return None if answer.status == 404 else element(answer, 200)

    def drain(self, queue="q"):
        """Receive until nothing is left and return the bodies."""
        bodies = []
        while (message := self.receive(queue)) is not None:
            bodies.append(message.text_of("MessageBody"))
        return bodies

    def counters(self, queue="q"):
        counters = self.service.queues.view(self.tenant, queue).counters
        self.database.commit()
        return counters.active, counters.inactive, counters.delayed

    def advance(self, seconds):
        self.timers.advance(round(seconds * 1000))
        self.database.commit()


def element(answer, status):
    assert answer.status == status, answer.body
    return parse(answer.body)


def refusal(answer):
    root = parse(answer.body)
    assert root.name == "Error"
    return answer.status, root.text_of("Code")


def message_xml(body="hello", **elements):
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in elements.items())
    return f'<Message xmlns="http://mns.aliyuncs.com/doc/v1/"><MessageBody>{body}</MessageBody>{inner}</Message>'


async def turns(number=6):
    """Let the loop run: a commit, what waited for it, and their callbacks."""
    for _ in range(number):
        await asyncio.sleep(0)


@pytest.fixture
def make_mns():
    made = []

    def make(*args, **options):
        made.append(Mns(*args, **options))
        return made[-1]

    yield make
    for mns in made:
        mns.close()


@pytest.fixture
def mns(make_mns):
    return make_mns()
