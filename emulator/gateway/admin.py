"""The front of ``/_localyun/``: admin operations, which each service declares in its ``admin`` module.

An operation names its route below the prefix and its parameters::

    @operation("purge-queue", "POST /purge-queue", argument("queue"))
    async def purge_queue(service: MessageService, call: OperationRequest) -> dict[str, Any]: ...

It reads ``call.arguments``, ``call.path`` and ``call.tenant`` (the installation's) and returns a `Response`, a
dictionary, which is answered as JSON, or None for a resource that does not exist; now or awaitable. `AdminFront`
checks the token, the body and the parameters.

The token travels as ``X-Localyun-Token`` or ``Authorization: Bearer``; changes are POST with a JSON body. A browser
cannot send any of that without a preflight, and preflights are refused. The emulator's own operations stand below.
"""

import hmac
import json
import sys
from collections.abc import Awaitable, Iterable, Mapping
from inspect import isawaitable
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from emulator.gateway.arguments import arguments_of, check_path, document_of
from emulator.gateway.entrance import ADMIN_PREFIX
from emulator.gateway.errors import GatewayError, UnsignedFront, json_response
from emulator.http.message import Headers, Request, Response
from emulator.kernel.clock import Millis
from emulator.kernel.identity import Principal, Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.metrics import CONTENT_TYPE
from emulator.wire.operation import ANYONE, ANYONE_LOCAL, Operation, Routes, operation, operations_of
from emulator.wire.request import Answer, OperationRequest
from emulator.wire.schema.kinds import argument

SCHEMAS = Path(__file__).parents[1] / "schemas"
"""JSON Schemas of the files that users write, ``NAME.json``; ``python -m tools.schemas`` writes them."""

AdminOperations = tuple[Any, ModuleType]
"""A service and the module with its admin operations."""


class AdminFront(UnsignedFront):
    """Serves the admin operations of all services.

    *is_local* is true while the emulator can be reached from this machine only; some operations then need no token.
    """

    name = "admin"
    max_body = 48 * 1024 * 1024  # a debugged call's event is the largest: 32 MiB in base64

    def __init__(self, token: str, ids: Ids, services: Iterable[AdminOperations], *, is_local: bool = True) -> None:
        self._token = token.encode()
        super().__init__(ids)
        self._is_local = is_local
        self._operations: list[Operation] = []
        self._services: dict[str, Any] = {}  # by the first segment of their paths
        self.add(services)

    def add(self, services: Iterable[AdminOperations]) -> None:
        """Serve the operations of further services."""
        for service, module in services:
            for each in operations_of(module):
                self._operations.append(each)
                self._services[each.route] = service
        self._routes = Routes(self._operations)

    @property
    def operations(self) -> Iterable[Operation]:
        """Every operation that is served, for the description of the API."""
        return tuple(self._operations)

    def prepare(self, call: OperationRequest) -> None:
        """Decode a large body.

        Raises: GatewayError (InvalidArgument, BodyTooLarge).
        """
        if call.http.method == "POST":
            call.document = document_of(call)

    def handle(self, call: OperationRequest) -> Answer:
        """Perform one operation.

        Raises: NotFound, Forbidden, InvalidArgument.
        """
        http = call.http
        method = "GET" if http.method == "HEAD" else http.method
        operation = self._find(call, method)
        call.operation = f"{method} {operation.name}"
        if operation.right != ANYONE and not (operation.right == ANYONE_LOCAL and self._is_local):
            self._check_token(call)
        check_path(call.path)
        document = document_of(call) if method == "POST" else {}
        call.arguments = arguments_of(operation.parameters, call.query, document)
        result = operation.perform(self._services[operation.route], call)
        return _answer_later(result, call) if isawaitable(result) else _answer(result, call)

    async def perform(self, method: str, path: str, arguments: Mapping[str, Any], tenant: Tenant, now: Millis) -> Any:
        """Perform the operation at *path*, below the prefix, for the emulator's own pages, and return what it answers.

        Raises: ServiceError as the operation, also for what it answers with an error's status.
        """
        body = json.dumps(arguments).encode("ascii")
        http = Request(method, f"{ADMIN_PREFIX}{path}", Headers([("Content-Type", "application/json")]), body)
        call = OperationRequest(http, now)
        call.region, call.principal = tenant.region, Principal(tenant.account, "", f"acs:ram::{tenant.account}:root")
        call.request_id = self._ids.uuid()
        operation = self._find(call, method)
        check_path(call.path)
        call.arguments = arguments_of(operation.parameters, call.query, arguments)
        result = operation.perform(self._services[operation.route], call)
        answer = _answer(await result if isawaitable(result) else result, call)
        content = json.loads(answer.body) if isinstance(answer.body, bytes) else {}
        if answer.status >= 400:
            raise GatewayError("Conflict", reason=content["Message"])
        return content

    def _find(self, call: OperationRequest, method: str) -> Operation:
        http = call.http
        route = self._routes.find(method, http.path.removeprefix(ADMIN_PREFIX), call.query)
        if route is None:
            raise GatewayError("NotFound", method=http.method, path=http.path)
        operation, call.path = route
        return operation

    def _check_token(self, call: OperationRequest) -> None:
        token = call.header("x-localyun-token") or call.header("authorization").removeprefix("Bearer ")
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token):
            raise GatewayError("Forbidden")


Result = Response | dict[str, Any] | None


def _answer(result: Result, call: OperationRequest) -> Response:
    if result is None:
        raise GatewayError("NotFound", method=call.http.method, path=call.http.path)
    return result if isinstance(result, Response) else json_response(200, result)


async def _answer_later(result: Awaitable[Result], call: OperationRequest) -> Response:
    return _answer(await result, call)


class RunningEmulator(Protocol):
    """The emulator, as its own admin operations use it."""

    def health(self) -> dict[str, Any]: ...  # noqa: D102 - see the operations of the same names

    async def status(self) -> dict[str, Any]: ...  # noqa: D102

    async def proxy(self) -> dict[str, Any]: ...  # noqa: D102

    def metrics(self) -> bytes: ...  # noqa: D102

    def trace(self, request: str) -> list[dict[str, Any]]: ...  # noqa: D102

    def openapi(self) -> dict[str, Any]: ...  # noqa: D102

    def report(self) -> list[dict[str, Any]]: ...  # noqa: D102

    async def reset(self, scope: Mapping[str, str]) -> dict[str, Any]: ...  # noqa: D102

    async def remove_account(self, account: str) -> bool: ...  # noqa: D102

    def stop_soon(self) -> None: ...  # noqa: D102


@operation("health", "GET /health", right=ANYONE)
def health(emulator: RunningEmulator, call: OperationRequest) -> dict[str, Any]:
    """Status, version, services, account and region."""
    return emulator.health()


@operation("status", "GET /status")
async def status(emulator: RunningEmulator, call: OperationRequest) -> dict[str, Any]:
    """Health, process, ports, functions and counts."""
    return await emulator.status()


@operation("proxy", "GET /proxy")
async def proxy(emulator: RunningEmulator, call: OperationRequest) -> dict[str, Any]:
    """The addresses of the proxy, which contain the secret of this run."""
    return await emulator.proxy()


@operation("metrics", "GET /metrics", right=ANYONE_LOCAL)
def metrics(emulator: RunningEmulator, call: OperationRequest) -> Response:
    """Metrics in the Prometheus text format, with names of queues but without message bodies."""
    return Response(200, emulator.metrics(), [("Content-Type", CONTENT_TYPE)])


@operation("trace", "GET /trace", argument("request", about="A request id.", default=""))
def trace(emulator: RunningEmulator, call: OperationRequest) -> dict[str, Any]:
    """The recent log lines that a request caused."""
    return {"lines": emulator.trace(call.arguments["request"])}


@operation("openapi", "GET /openapi.json", right=ANYONE_LOCAL)
def openapi(emulator: RunningEmulator, call: OperationRequest) -> dict[str, Any]:
    """The description of this API in OpenAPI 3.1."""
    return emulator.openapi()


@operation("schemas", "GET /schemas", right=ANYONE_LOCAL)
def schemas(emulator: RunningEmulator, call: OperationRequest) -> dict[str, Any]:
    """The names and addresses of the JSON Schemas."""
    return {"schemas": {each.stem: f"/_localyun/schemas/{each.name}" for each in sorted(SCHEMAS.glob("*.json"))}}


@operation("schema", "GET /schemas/{name}", right=ANYONE_LOCAL)
def schema(emulator: RunningEmulator, call: OperationRequest) -> Response | None:
    """A JSON Schema for editors: ``fdl``, ``statemachine``, ``localyun``, ``function`` or ``service``."""
    name = call.path["name"].removesuffix(".json")
    file = next((each for each in SCHEMAS.glob("*.json") if each.stem == name), None)
    return None if file is None else Response(200, file.read_bytes(), [("Content-Type", "application/schema+json")])


@operation("report", "GET /report")
def report(emulator: RunningEmulator, call: OperationRequest) -> dict[str, Any]:
    """The log lines since a checkpoint was restored: requests to services and their effects."""
    return {"lines": emulator.report()}


@operation(
    "reset",
    "POST /reset",
    argument("service", about="Only this service: ``fc``, ``fnf``, ``mns``, ``oss`` or ``ram``.", default=""),
    argument("queue", about="Only the messages of this queue.", default=""),
    argument("topic", about="Only the deliveries of this topic.", default=""),
    argument("flow", about="Only the executions of this flow.", default=""),
    argument("function", about="Only the calls and instances of this ``service/function``.", default=""),
)
async def reset(emulator: RunningEmulator, call: OperationRequest) -> dict[str, Any]:
    """Delete the state of all services, or of the one resource or service named; functions of the folder stay.

    Raises: GatewayError for more than one parameter; the service's error for a name that does not exist.
    """
    return await emulator.reset(call.arguments)


@operation("remove-account", "DELETE /accounts/{account}")
async def remove_account(emulator: RunningEmulator, call: OperationRequest) -> dict[str, Any]:
    """Delete an account, its key and its resources."""
    account = call.path["account"]
    if not await emulator.remove_account(account):
        raise GatewayError("NotFound", f"There is no account {account}.")
    return {"accountId": account}


@operation("stop", "POST /stop")
def stop(emulator: RunningEmulator, call: OperationRequest) -> dict[str, Any]:
    """Stop the emulator after this response."""
    emulator.stop_soon()
    return {"status": "stopping"}


OWN = sys.modules[__name__]
"""This module, for `AdminFront`."""
