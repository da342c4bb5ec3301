"""Services, functions, versions and aliases against a plain model, and requests nobody meant to send."""

import asyncio
import base64
import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from emulator.http.message import Headers, Request, Response
from emulator.kernel.clock import VirtualClock
from emulator.kernel.errors import ServiceError
from emulator.kernel.identity import AccountId, Principal, Region, Tenant
from emulator.kernel.ids import CountingIds
from emulator.kernel.timers import VirtualTimers
from emulator.services.fc.front import FcFront
from emulator.services.fc.invoke.logbook import LogBook
from emulator.services.fc.runtime.model import FunctionImage, Invocation, InvocationResult
from emulator.services.fc.service import SCHEMA, FunctionCompute
from emulator.storage.database import Database
from emulator.storage.migration import migrate
from emulator.wire.request import OperationRequest

ACCOUNT, REGION = AccountId("1"), Region("r")
SERVICES = ("a", "b")
FUNCTIONS = ("f", "g")


class CodeReader:
    """Stands for the instances: a call returns the content of the function's only file."""

    async def invoke(self, image: FunctionImage, invocation: Invocation) -> InvocationResult:
        return InvocationResult(
            body=(image.code_dir / "index.py").read_bytes(),
            error_type=None,
            log=b"",
            duration_ms=1.0,
            max_memory_mb=1.0,
            instance_id="c",
            cold=False,
        )

    def expect_calls(self) -> None:
        pass

    def end_all(self) -> None:
        pass

    def retire_family(self, family: str) -> None:
        pass


class Desk:
    """A Function Compute in memory and a way to ask it."""

    def __init__(self, folder: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.database = Database(None)
        migrate(self.database, [SCHEMA])
        self.ids = CountingIds()
        clock = VirtualClock()
        self.fc = FunctionCompute(
            database=self.database,
            clock=clock,
            ids=self.ids,
            timers=VirtualTimers(clock),
            instances=CodeReader(),
            code_folder=folder / "code",
            logbook=LogBook(folder / "logs", Tenant(ACCOUNT, REGION)),
            account=ACCOUNT,
            region=REGION,
            endpoint=lambda: "http://e",
        )
        self.front = FcFront(self.fc, self.ids)

    def close(self) -> None:
        self.loop.run_until_complete(self.fc.close())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        self.database.close()

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return self.loop.run_until_complete(self._ask(method, path, content))

    async def _ask(self, method: str, path: str, content: bytes) -> tuple[int, bytes]:
        context = OperationRequest(Request(method, path, Headers(), content), self.fc._clock.now())
        context.region = REGION
        context.principal = Principal(ACCOUNT, "ak", "arn")
        context.request_id = "id"
        try:
            answer = self.front.handle(context)
            response = answer if isinstance(answer, Response) else await answer
        except ServiceError as error:
            response = self.front.render_error(error, context)
        await self.database.committed()
        assert isinstance(response.body, bytes)
        return response.status, response.body


def package(content: str) -> dict[str, str]:
    """Return the ``code`` field for one file."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("index.py", content)
    return {"zipFile": base64.b64encode(sink.getvalue()).decode()}


class Resources(RuleBasedStateMachine):
    """Each step is an API call; a dictionary says what must come of it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.desk = Desk(Path(self.folder.name))
        self.services: dict[str, dict[str, Any]] = {}
        self.steps = 0

    def teardown(self) -> None:
        self.desk.close()
        self.folder.cleanup()

    def call(self, method: str, path: str, body: Any = None) -> int:
        return self.desk.ask(method, "/2016-08-15" + path, body)[0]

    @initialize()
    def begin(self) -> None:
        assert self.call("GET", "/services") == 200

    @rule(name=st.sampled_from(SERVICES))
    def create_service(self, name: str) -> None:
        status = self.call("POST", "/services", {"serviceName": name})

        assert status == (409 if name in self.services else 200)
        self.services.setdefault(name, {"head": {}, "versions": {}, "aliases": {}, "last": 0, "newest": None})

    @rule(name=st.sampled_from(SERVICES))
    def delete_service(self, name: str) -> None:
        status = self.call("DELETE", f"/services/{name}")

        known = self.services.get(name)
        if known is None:
            assert status == 404
        elif known["head"] or known["versions"] or known["aliases"]:
            assert status == 409
        else:
            assert status == 204
            del self.services[name]

    @rule(service=st.sampled_from(SERVICES), name=st.sampled_from(FUNCTIONS))
    def write_function(self, service: str, name: str) -> None:
        self.steps += 1
        content = f"step {self.steps}"
        body = {"functionName": name, "runtime": "python3", "handler": "a.b", "code": package(content)}
        created = self.call("POST", f"/services/{service}/functions", body)

        if service not in self.services:
            assert created == 404
            return
        head = self.services[service]["head"]
        assert created == (409 if name in head else 200)
        if created == 409:
            assert self.call("PUT", f"/services/{service}/functions/{name}", {"code": body["code"]}) == 200
        head[name] = content

    @rule(service=st.sampled_from(SERVICES), name=st.sampled_from(FUNCTIONS))
    def delete_function(self, service: str, name: str) -> None:
        status = self.call("DELETE", f"/services/{service}/functions/{name}")

        head = self.services.get(service, {"head": {}})["head"]
        assert status == (204 if head.pop(name, None) is not None else 404)

    @precondition(lambda self: self.services)
    @rule(data=st.data())
    def publish(self, data: st.DataObject) -> None:
        service = data.draw(st.sampled_from(sorted(self.services)))
        known = self.services[service]
        status = self.call("POST", f"/services/{service}/versions", {})

        newest = known["versions"].get(max(known["versions"], default=0))
        assert status == (400 if newest == known["head"] else 200)
        if status == 200:
            known["last"] += 1
            known["versions"][known["last"]] = dict(known["head"])

    @precondition(lambda self: self.services)
    @rule(data=st.data(), number=st.integers(1, 6), second=st.integers(1, 6), weight=st.sampled_from([None, 0.0, 1.0]))
    def set_alias(self, data: st.DataObject, number: int, second: int, weight: float | None) -> None:
        service = data.draw(st.sampled_from(sorted(self.services)))
        known = self.services[service]
        weights = {} if weight is None else {str(second): weight}
        body = {"aliasName": "x", "versionId": str(number), "additionalVersionWeight": weights}
        method, path = ("PUT", "/aliases/x") if "x" in known["aliases"] else ("POST", "/aliases")
        status = self.call(method, f"/services/{service}{path}", body)

        if number not in known["versions"] or (weights and second not in known["versions"]):
            assert status == 404
        else:
            assert status == 200
            known["aliases"]["x"] = (number, second if weights else None, weight)

    @precondition(lambda self: self.services)
    @rule(data=st.data())
    def delete_alias(self, data: st.DataObject) -> None:
        service = data.draw(st.sampled_from(sorted(self.services)))
        status = self.call("DELETE", f"/services/{service}/aliases/x")

        assert status == (204 if self.services[service]["aliases"].pop("x", None) else 404)

    @precondition(lambda self: self.services)
    @rule(data=st.data(), number=st.integers(1, 6))
    def delete_version(self, data: st.DataObject, number: int) -> None:
        service = data.draw(st.sampled_from(sorted(self.services)))
        known = self.services[service]
        status = self.call("DELETE", f"/services/{service}/versions/{number}")

        if number not in known["versions"]:
            assert status == 404
        else:  # also while an alias leads to it, as the makers' suites do
            assert status == 204
            del known["versions"][number]

    @rule()
    def sweep(self) -> None:
        """Whatever is removed as unused, everything that can be called still runs."""
        timers = self.desk.fc.unused_packages._timers
        self.desk.loop.run_until_complete(self._advance(timers))

    async def _advance(self, timers: Any) -> None:
        timers.advance(1_000_000)
        await asyncio.sleep(0)
        await self.desk.fc.codes.in_thread(lambda: None)

    @invariant()
    def every_call_runs_what_it_should(self) -> None:
        for service in SERVICES:
            known = self.services.get(service)
            for name in FUNCTIONS:
                self.check(service, name, "", known["head"].get(name) if known else None)
                for number, frozen in known["versions"].items() if known else ():
                    self.check(service, name, f".{number}", frozen.get(name))
                for main, second, weight in known["aliases"].values() if known else ():
                    target = second if weight == 1.0 else main
                    self.check(service, name, ".x", known["versions"].get(target, {}).get(name))

    def check(self, service: str, name: str, qualifier: str, content: str | None) -> None:
        path = f"/2016-08-15/services/{service}{qualifier}/functions/{name}/invocations"
        status, body = self.desk.ask("POST", path, b"")

        assert status == (404 if content is None else 200), body
        if content is not None:
            assert body.decode() == content


Resources.TestCase.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
TestResources = Resources.TestCase

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
FIELDS = (
    "serviceName", "functionName", "runtime", "handler", "description", "timeout", "memorySize", "cpu",
    "diskSize", "instanceConcurrency", "environmentVariables", "initializer", "initializationTimeout",
    "instanceLifecycleConfig", "caPort", "customRuntimeConfig", "customContainerConfig", "customDNS", "layers",
    "code", "role", "internetAccess", "logConfig", "vpcConfig", "nasConfig", "tracingConfig", "tags",
    "aliasName", "versionId", "additionalVersionWeight", "routePolicy", "resourceArn", "tagKeys", "all",
    "ResourceId", "ResourceType", "Tag",
)  # fmt: skip
PATHS = (
    "/2016-08-15/services", "/2016-08-15/services/s", "/2016-08-15/services/s/functions",
    "/2016-08-15/services/s/functions/f", "/2016-08-15/services/s/versions", "/2016-08-15/services/s/aliases",
    "/2016-08-15/services/s/aliases/x", "/2016-08-15/tag", "/2021-04-06/services/s/aliases", "/2021-04-06/tag",
    "/2023-03-30/functions", "/2023-03-30/functions/f", "/2023-03-30/functions/f/versions", "/2023-03-30/tags-v2",
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    requests=st.lists(
        st.tuples(
            st.sampled_from(("GET", "POST", "PUT", "DELETE")),
            st.sampled_from(PATHS),
            st.sampled_from(
                ("prefix", "limit", "nextToken", "startKey", "tag_k", "tags", "qualifier", "direction", "ResourceId")
            ),
            st.text(max_size=30) | st.sampled_from(("1", "x", "LATEST", "%ff", "[1]", "[[]]", "{}", "%ed%a0%80")),
            st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=5) | st.binary(max_size=30) | json_values,
        ),
        max_size=4,
    )
)
def test_no_request_is_a_fault_of_the_service(requests: list[tuple[str, str, str, str, Any]]):
    """Whatever is sent, the answer is a success or a refusal in the dialect's form, and what was there stays."""
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        try:
            desk.ask("POST", "/2016-08-15/services", {"serviceName": "s"})
            body = {"functionName": "f", "runtime": "python3", "handler": "a.b", "code": package("x")}
            desk.ask("POST", "/2016-08-15/services/s/functions", body)
            desk.ask("POST", "/2023-03-30/functions", body)

            for method, path, parameter, tail, sent in requests:
                status, answer = desk.ask(method, f"{path}?{parameter}={tail}", sent)

                assert status < 500
                if status >= 400:
                    told = json.loads(answer)
                    assert told.get("ErrorCode") or told.get("Code")
                elif status == 200:
                    json.loads(answer)
        finally:
            desk.close()
