"""The official clients drive Function Compute over a socket: real server, real signatures, real instances."""

import asyncio
import base64
import io
import threading
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.auth.authenticator import Authenticator, Keyring, NonceMemory
from emulator.auth.signed_request import AccessKey
from emulator.gateway.server import Server
from emulator.http.message import Request, Respond, Response
from emulator.kernel.clock import SystemClock
from emulator.kernel.errors import AuthFailure, ServiceError
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.kernel.ids import RandomIds
from emulator.kernel.timers import LoopTimers
from emulator.services.fc.front import FcFront
from emulator.services.fc.invoke.logbook import LogBook
from emulator.services.fc.runtime.pool import InstancePool
from emulator.services.fc.runtime.settings import RuntimeSettings
from emulator.services.fc.service import SCHEMA, FunctionCompute
from emulator.storage.database import Database
from emulator.storage.migration import migrate
from emulator.wire.request import OperationRequest

ACCOUNT = AccountId("123456789012")
REGION = Region("cn-hangzhou")

ECHO = """
import json, logging
def handler(event, context):
    logging.getLogger().info("called as %s", context.function.name)
    return event
"""
FAILING = "def handler(event, context):\n    raise ValueError('boom')\n"
NAMED = "def handler(event, context):\n    return {!r}\n"


class Door:
    """The application behind the socket: authenticates, asks the front, commits, answers."""

    def __init__(self, front: FcFront, service: FunctionCompute, database: Database) -> None:
        key = AccessKey(key_id="ak", secret="sk", account=ACCOUNT, arn=f"acs:ram::{ACCOUNT}:root")
        self._authenticator = Authenticator(Keyring(key), lenient=False, nonces=NonceMemory())
        self._front = front
        self._service = service
        self._database = database
        self._clock = SystemClock()

    def admit(self, request: Request) -> int:
        return self._front.max_body

    def early(self, request: Request) -> int:
        return 0

    def too_large(self, request: Request, limit: int) -> Response:
        return Response(413)

    def malformed(self, status: int, reason: str) -> Response:
        return Response(status, reason.encode())

    def serve(self, request: Request, respond: Respond) -> asyncio.Task[None]:
        return asyncio.ensure_future(self._serve(request, respond))

    async def _serve(self, request: Request, respond: Respond) -> None:
        if request.path.startswith("/_localyun/code/"):
            package = self._service.packages.download(request.path.rpartition("/")[2])
            respond(Response(404 if package is None else 200, package.content if package else b""))
            return
        context = OperationRequest(request, self._clock.now())
        context.region = REGION
        context.request_id = self._front.new_request_id(context)
        try:
            context.principal = self._authenticator.authenticate(request, context.now)
            answer = self._front.handle(context)
            response = answer if isinstance(answer, Response) else await answer
        except AuthFailure as failure:
            response = self._front.render_error(self._front.auth_error(failure, context), context)
        except ServiceError as error:
            response = self._front.render_error(error, context)
        await self._database.committed()
        respond(response)


class Running:
    """A Function Compute on a free port, in a thread of its own."""

    def __init__(self, folder: Path, functions: Path | None) -> None:
        self._folder = folder
        self._functions = functions
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self.port = 0
        self._thread = threading.Thread(target=self._run, name="emulator")

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(30)
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:  # told to the thread that waits in start()
            self._failure = error
            self._ready.set()

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        clock, ids = SystemClock(), RandomIds()
        database = Database(self._folder / "state.db")
        migrate(database, [SCHEMA])
        logbook = LogBook(self._folder / "logs", Tenant(ACCOUNT, REGION))
        timers = LoopTimers(clock, self._loop)
        pool = InstancePool(clock, ids, RuntimeSettings(), logbook.on_log)
        self.service = FunctionCompute(
            database=database,
            clock=clock,
            ids=ids,
            timers=timers,
            instances=pool,
            code_folder=self._folder / "code",
            logbook=logbook,
            account=ACCOUNT,
            region=REGION,
            endpoint=lambda: self.endpoint,
        )
        door = Door(FcFront(self.service, ids), self.service, database)
        server = Server(door, clock=clock, hosts=("127.0.0.1",))
        try:
            await pool.start()
            await self.service.start(self._functions)
            await server.start()
            self.port = server.port
            self._ready.set()
            await self._stop.wait()
        finally:
            await server.stop(1.0)
            await self.service.close()
            await pool.close()
            timers.close()
            database.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One emulator for the module, with a functions folder."""
    folder = tmp_path_factory.mktemp("fc")
    functions = folder / "functions"
    (functions / "demo" / "Echo").mkdir(parents=True)
    (functions / "demo" / "Echo" / "index.py").write_text(ECHO)
    (functions / "three").mkdir()
    (functions / "three" / "index.py").write_text(ECHO)
    (folder / "state").mkdir()
    emulator = Running(folder / "state", functions)
    emulator.start()
    yield emulator
    emulator.stop()


@pytest.fixture
def classic(running: Running):
    """The classic client."""
    fc2 = pytest.importorskip("fc2")
    return fc2.Client(endpoint=running.endpoint, accessKeyID="ak", accessKeySecret="sk", Timeout=20)


def code_of(text: str) -> bytes:
    """Return a package with *text* as its index.py."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("index.py", text)
    return sink.getvalue()


def code_folder(folder: Path, text: str) -> str:
    """Write *text* as the index.py of a folder and return the folder's path.

    The client packs it itself; given a zip file it would forget to close it.
    """
    (folder / "code").mkdir(exist_ok=True)
    (folder / "code" / "index.py").write_text(text)
    return str(folder / "code")


def test_classic_client_walks_through_the_life_of_a_service(classic, tmp_path: Path):
    """Services, functions, code, versions, aliases and tags, as the classic client names them."""
    classic.create_service("life", description="d", logConfig={"project": "p", "logstore": "l"})
    made = classic.create_function(
        "life", "f", "python3.10", "index.handler", codeDir=code_folder(tmp_path, NAMED.format("one"))
    )
    assert made.headers["etag"]
    assert (made.data["timeout"], made.data["memorySize"], made.data["initializationTimeout"]) == (60, 256, 30)

    first = classic.publish_version("life", description="one").data["versionId"]
    classic.update_function("life", "f", codeDir=code_folder(tmp_path, NAMED.format("two")), timeout=9)
    second = classic.publish_version("life").data["versionId"]
    classic.create_alias("life", "online", first)
    results = [classic.invoke_function("life", "f", qualifier="online").data]
    classic.update_alias("life", "online", second, additionalVersionWeight={first: 0.0})
    results += [
        classic.invoke_function("life", "f", qualifier=qualifier).data for qualifier in ("online", first, second, None)
    ]

    assert (first, second) == ("1", "2")
    assert results == [b"one", b"two", b"one", b"two", b"two"]
    assert classic.get_function("life", "f", qualifier=first).data["timeout"] == 60
    assert [row["versionId"] for row in classic.list_versions("life").data["versions"]] == ["2", "1"]
    assert [row["aliasName"] for row in classic.list_aliases("life", prefix="on").data["aliases"]] == ["online"]

    located = classic.get_function_code("life", "f").data
    with urllib.request.urlopen(located["url"], timeout=10) as answer:
        package = zipfile.ZipFile(io.BytesIO(answer.read()))
    assert package.read("index.py").decode() == NAMED.format("two")

    classic.tag_resource("services/life", {"k": "v"})
    assert classic.get_resource_tags("services/life").data["tags"] == {"k": "v"}
    assert [row["serviceName"] for row in classic.list_services(tags={"k": "v"}).data["services"]] == ["life"]
    assert classic.untag_resource("services/life", ["k"]).data["requestId"]

    assert classic.get_account_settings().data["availableAZs"]
    assert classic.list_reserved_capacities().data["reservedCapacities"] == []
    classic.delete_alias("life", "online")
    classic.delete_version("life", "1")
    classic.delete_version("life", "2")
    classic.delete_function("life", "f")
    classic.delete_service("life")


def test_classic_client_gets_folders_with_links_and_checks_etags(classic, tmp_path: Path):
    """A folder packed by the client arrives whole, and If-Match works with the ETag the client saw."""
    import fc2

    source = tmp_path / "source"
    (source / "lib").mkdir(parents=True)
    (source / "lib" / "real.py").write_text("WORD = 'linked'")
    (source / "word.py").symlink_to("lib/real.py")
    (source / "index.py").write_text("import word\ndef handler(event, context):\n    return word.WORD\n")
    classic.create_service("tags")
    made = classic.create_function("tags", "f", "python3", "index.handler", codeDir=str(source))

    result = classic.invoke_function("tags", "f").data
    with pytest.raises(fc2.FcError) as stale:
        classic.update_function("tags", "f", timeout=5, headers={"if-match": "stale"})
    updated = classic.update_function("tags", "f", timeout=5, headers={"if-match": made.headers["etag"]})

    assert result == b"linked"
    assert (stale.value.status_code, stale.value.err_code) == (412, "PreconditionFailed")
    assert updated.data["timeout"] == 5


def test_classic_client_sees_logs_and_failures(classic, tmp_path: Path):
    """Tail logs come decoded from the header; a failing function raises in the client with its message."""
    import fc2

    classic.create_service("fails")
    classic.create_function(
        "fails", "f", "python3.10", "index.handler", codeDir=code_folder(tmp_path, FAILING), description="x"
    )

    answer = classic.invoke_function("demo", "Echo", payload=b"hi", headers={"x-fc-log-type": "Tail"})
    with pytest.raises(fc2.FcError) as failed:
        classic.invoke_function("fails", "f")

    log = base64.b64decode(answer.headers["X-Fc-Log-Result"]).decode()
    request_id = answer.headers["X-Fc-Request-Id"]
    assert answer.data == b"hi"
    assert f"FC Invoke Start RequestId: {request_id}" in log
    assert f"{request_id} [INFO] called as Echo" in log
    assert failed.value.status_code == 200
    assert "boom" in str(failed.value)


def test_classic_client_learns_codes_of_errors(classic, running: Running, tmp_path: Path):
    """Codes and statuses arrive in the client's own exceptions, also for wrong keys."""
    import fc2

    stranger = fc2.Client(endpoint=running.endpoint, accessKeyID="who", accessKeySecret="sk")
    forger = fc2.Client(endpoint=running.endpoint, accessKeyID="ak", accessKeySecret="wrong")
    attempts = {
        "ServiceNotFound": lambda: classic.get_service("none"),
        "FunctionNotFound": lambda: classic.invoke_function("demo", "none"),
        "VersionNotFound": lambda: classic.get_function("demo", "Echo", qualifier="77"),
        "AliasNotFound": lambda: classic.get_alias("demo", "none"),
        "InvalidArgument": lambda: classic.create_service("9lives"),
        "ServiceAlreadyExists": lambda: classic.create_service("demo"),
        "InvalidAccessKeyID": lambda: stranger.list_services(),
        "SignatureNotMatch": lambda: forger.list_services(),
    }

    seen = {}
    for attempt in attempts.values():
        with pytest.raises(fc2.FcError) as refused:
            attempt()
        seen[refused.value.err_code] = refused.value.status_code

    assert set(seen) == set(attempts)
    assert seen["InvalidAccessKeyID"] == seen["SignatureNotMatch"] == 403


def test_client_of_3_0_makes_calls_and_deletes(running: Running):
    """The newest client creates, reads, lists, updates, publishes, invokes and deletes functions."""
    pytest.importorskip("alibabacloud_fc20230330")
    from alibabacloud_fc20230330 import models
    from alibabacloud_fc20230330.client import Client
    from alibabacloud_tea_openapi.models import Config

    client = Client(
        Config(
            endpoint=f"127.0.0.1:{running.port}",
            protocol="HTTP",
            region_id="cn-hangzhou",
            access_key_id="ak",
            access_key_secret="sk",
        )
    )
    code = models.InputCodeLocation(zip_file=base64.b64encode(code_of(ECHO)).decode())
    body = models.CreateFunctionInput(
        function_name="made", runtime="python3.10", handler="index.handler", code=code, memory_size=256, cpu=0.25,
        tags=[models.Tag(key="k", value="v")],
    )  # fmt: skip

    made = client.create_function(models.CreateFunctionRequest(body=body)).body
    got = client.get_function("made", models.GetFunctionRequest()).body
    version = client.publish_function_version(
        "made", models.PublishFunctionVersionRequest(body=models.PublishVersionInput(description="d"))
    ).body
    called = client.invoke_function("made", models.InvokeFunctionRequest(body=io.BytesIO(b"hi"), qualifier="1"))
    folder = client.invoke_function("three", models.InvokeFunctionRequest(body=io.BytesIO(b"ho")))
    listed = client.list_functions(models.ListFunctionsRequest(prefix="ma")).body
    updated = client.update_function(
        "made", models.UpdateFunctionRequest(body=models.UpdateFunctionInput(timeout=77))
    ).body
    deleted = client.delete_function("made")
    with pytest.raises(Exception, match="FunctionNotFound"):
        client.get_function("made", models.GetFunctionRequest())

    assert (made.function_name, made.state, made.last_update_status) == ("made", "Active", "Successful")
    assert (got.cpu, got.memory_size, got.tags[0].key) == (0.25, 256, "k")
    assert version.version_id == "1"
    assert called.body.read() == b"hi"
    assert folder.body.read() == b"ho"
    assert [row.function_name for row in listed.functions] == ["made"]
    assert updated.timeout == 77
    assert deleted.status_code == 204


def test_client_of_2021_sees_the_same_services(running: Running, classic, tmp_path: Path):
    """The client between the two reads what the classic one made; its capital letter is understood."""
    pytest.importorskip("alibabacloud_fc_open20210406")
    from alibabacloud_fc_open20210406 import models
    from alibabacloud_fc_open20210406.client import Client
    from alibabacloud_tea_openapi.models import Config

    client = Client(
        Config(
            endpoint=f"127.0.0.1:{running.port}",
            protocol="HTTP",
            region_id="cn-hangzhou",
            access_key_id="ak",
            access_key_secret="sk",
        )
    )
    classic.create_service("mixed")
    classic.create_function("mixed", "f", "python3", "index.handler", codeDir=code_folder(tmp_path, ECHO))

    service = client.get_service("mixed", models.GetServiceRequest()).body
    updated = client.update_function("mixed", "f", models.UpdateFunctionRequest(instance_concurrency=7)).body
    version = client.publish_service_version("mixed", models.PublishServiceVersionRequest()).body
    alias = client.create_alias(
        "mixed", models.CreateAliasRequest(alias_name="a", version_id="1", additional_version_weight={})
    ).body
    called = client.invoke_function("mixed", "f", models.InvokeFunctionRequest(body=b"x", qualifier="a"))
    with pytest.raises(Exception, match="ServiceNotFound"):
        client.get_service("none", models.GetServiceRequest())

    assert service.service_name == "mixed"
    assert updated.instance_concurrency == 7
    assert (version.version_id, alias.version_id) == ("1", "1")
    assert called.body == b"x"
