"""A Function Compute without a network: service and front over a database in memory; instances only echo."""

import asyncio
import base64
import io
import json
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from emulator.http.message import Headers, Request, Response
from emulator.kernel.clock import VirtualClock
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import AccountId, Principal, Region, Tenant
from emulator.kernel.ids import CountingIds
from emulator.kernel.timers import VirtualTimers
from emulator.services.fc.administration import FunctionAdmin
from emulator.services.fc.front import FcFront
from emulator.services.fc.invoke.logbook import LogBook
from emulator.services.fc.model import MessageTarget
from emulator.services.fc.ports import DestinationRefused, Ports
from emulator.services.fc.runtime.model import (
    Credentials,
    FunctionImage,
    InstanceInfo,
    Invocation,
    InvocationResult,
)
from emulator.services.fc.service import SCHEMA, FunctionCompute
from emulator.storage.database import Database
from emulator.wire.request import OperationRequest
from tests.ready_database import with_tables

ACCOUNT = AccountId("123456789012")
REGION = Region("cn-hangzhou")


class EchoInstances:
    """Stands for the instance pool: a call returns its event; remembers what it was asked."""

    def __init__(self) -> None:
        self.images: list[FunctionImage] = []
        self.invocations: list[Invocation] = []
        self.retired: list[str] = []
        self.provisioned: dict[str, tuple[FunctionImage, int]] = {}
        self.answer: Callable[[FunctionImage, Invocation], InvocationResult] | None = None
        self.expecting = 0

    def expect_calls(self) -> None:
        self.expecting += 1

    async def invoke(self, image: FunctionImage, invocation: Invocation) -> InvocationResult:
        self.images.append(image)
        self.invocations.append(invocation)
        if self.answer is not None:
            return self.answer(image, invocation)
        return InvocationResult(
            body=invocation.event,
            error_type=None,
            log=b"FC Invoke Start\n",
            duration_ms=1.4,
            max_memory_mb=12.5,
            instance_id="c-1",
            cold=False,
        )

    def end_all(self) -> None:
        pass

    def retire_family(self, family: str) -> None:
        self.retired.append(family)

    async def provision(self, image: FunctionImage, count: int, credentials: Credentials | None = None) -> int:
        self.provisioned[image.key] = (image, count)
        return count

    def families(self) -> list[str]:
        return [image.family for image, _ in self.provisioned.values()]

    def instances(self, family: str) -> list[InstanceInfo]:
        return [
            InstanceInfo(f"c-{number}", image.version, "idle", provisioned=True, started_at=number)
            for image, count in self.provisioned.values()
            if image.family == family
            for number in range(count)
        ]


class HeldCalls:
    """Takes the place of a site's instances: holds every call until ``open`` is set."""

    def __init__(self) -> None:
        self.calls: list[Invocation] = []
        self.now = self.most = self.cancelled = 0
        self.open = asyncio.Event()

    async def invoke(self, image: FunctionImage, invocation: Invocation) -> InvocationResult:
        self.calls.append(invocation)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.now -= 1
        return ended(b"done")


class Receivers:
    """Queues and topics that take results: they remember what came, and refuse what they do not know."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.got: list[tuple[str, str]] = []
        self.broken = False

    def send(self, tenant: Tenant, target: MessageTarget, body: str) -> None:
        name = f"{target.kind} {target.name}"
        if self.broken:
            raise RuntimeError("out of order")
        if name not in self.known:
            raise DestinationRefused(f"{name} does not exist")
        self.got.append((name, body))


def ended(body: bytes, error_type: Any = None) -> InvocationResult:
    """Return how a call ended."""
    return InvocationResult(
        body=body, error_type=error_type, log=b"", duration_ms=1, max_memory_mb=1, instance_id="c-9", cold=False
    )


class FixedKeys:
    """Issues the same keys for every role and counts how often."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def for_role(self, account: AccountId, role_arn: str, session: str) -> Credentials:
        self.asked.append(role_arn)
        return Credentials(access_key_id="STS.x", access_key_secret="s", security_token="t")


class Answered:
    """An answer, decoded."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.content = response.body if isinstance(response.body, bytes) else b""
        self.headers = {name.lower(): value for name, value in response.headers}

    @property
    def body(self) -> Any:
        return json.loads(self.content)

    @property
    def code(self) -> str:
        body = self.body
        return str(body.get("ErrorCode") or body.get("Code"))


class Site:
    """One emulated Function Compute and a caller in front of it."""

    def __init__(self, folder: Path, database: Database | None = None) -> None:
        self.folder = folder
        self.tenant = Tenant(ACCOUNT, REGION)
        self.clock = VirtualClock()
        self.ids = CountingIds()
        self.timers = VirtualTimers(self.clock)
        self.instances = EchoInstances()
        self.keys = FixedKeys()
        self.receivers = Receivers()
        self.database = database or Database(None)
        with_tables(self.database, SCHEMA)
        self.logbook = LogBook(folder / "logs", self.tenant)
        self.fc = FunctionCompute(
            database=self.database,
            clock=self.clock,
            ids=self.ids,
            timers=self.timers,
            instances=self.instances,
            code_folder=folder / "code",
            logbook=self.logbook,
            account=ACCOUNT,
            region=REGION,
            endpoint=lambda: "http://127.0.0.1:8868",
            ports=Ports(credentials=self.keys, destinations=self.receivers),
        )
        self.front = FcFront(self.fc, self.ids)
        self.admin = FunctionAdmin(self.fc, self.clock, self.ids, self.instances)  # type: ignore[arg-type]  # a double

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answered:
        """Send a request as an authenticated caller; header names take ``_`` for ``-``."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
        request = Request(method, path, Headers(pairs), content)
        if (edits := self.front.edits(request)) is not None:
            await edits
        context = OperationRequest(request, self.clock.now())
        context.region = REGION
        context.principal = Principal(ACCOUNT, "ak", f"acs:ram::{ACCOUNT}:root")
        context.request_id = self.front.new_request_id(context)
        try:
            answer = self.front.handle(context)
            response = answer if isinstance(answer, Response) else await answer
        except ServiceError as error:
            response = self.front.render_error(error, context)
        await self.database.committed()
        return Answered(response)

    async def v1(self, method: str, path: str, body: Any = None, **headers: str) -> Answered:
        return await self.ask(method, "/2016-08-15" + path, body, **headers)

    async def v3(self, method: str, path: str, body: Any = None, **headers: str) -> Answered:
        return await self.ask(method, "/2023-03-30" + path, body, **headers)

    async def settle(self) -> None:
        """Let everything run that is due now."""
        for _ in range(40):
            await asyncio.sleep(0)

    async def after(self, ms: int) -> None:
        """Let *ms* pass on the clock, and whatever becomes due meanwhile run at its instant."""
        end = self.clock.now() + ms
        await self.settle()
        while (instant := self.timers.next_at()) is not None and instant <= end:
            self.timers.advance(max(0, instant - self.clock.now()))
            await self.settle()
        self.timers.advance(end - self.clock.now())
        await self.settle()

    def hold_calls(self) -> HeldCalls:
        """Let calls begin and not end, from now on."""
        held = HeldCalls()
        self.instances.invoke = held.invoke  # type: ignore[method-assign]  # a double in place of a double
        return held

    def answer_calls(self, body: bytes, error_type: Any = None) -> None:
        """Let every call end like this, from now on."""
        self.instances.answer = lambda image, invocation: ended(body, error_type)

    async def make_function(self, service: str = "shop", name: str = "order", **fields: Any) -> Answered:
        """Make a service, unless there is one, and a function in it."""
        await self.v1("POST", "/services", {"serviceName": service})
        body = {"functionName": name, "runtime": "python3.10", "handler": "index.handler", "code": package(), **fields}
        return await self.v1("POST", f"/services/{service}/functions", body)


def package(**files: str) -> dict[str, str]:
    """Return the ``code`` field for a zip of *files* (name with ``__`` for the dot -> content)."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, content in (files or {"index__py": "def handler(event, context): return event"}).items():
            archive.writestr(name.replace("__", "."), content)
    return {"zipFile": base64.b64encode(sink.getvalue()).decode()}


@pytest.fixture
def pack() -> Callable[..., dict[str, str]]:
    """Makes the ``code`` field out of files."""
    return package


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """A fresh site without a functions folder."""
    async with _open(tmp_path / "state", None) as opened:
        yield opened


@pytest.fixture
def open_site(tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[Site]]:
    """Opens a fresh site: ``async with open_site(the functions folder) as site``."""
    return lambda functions=None: _open(tmp_path / "state", functions)


@asynccontextmanager
async def _open(folder: Path, functions: Path | None) -> AsyncIterator[Site]:
    site = Site(folder)
    await site.fc.start(functions)
    try:
        yield site
    finally:
        await site.fc.close()
        site.database.close()


@pytest.fixture
def site_of() -> type[Site]:
    """The class of sites, for tests that build their own."""
    return Site
