"""The front of Function Compute: finds the operation by version and path, writes errors and request ids.

Also which rights a call needs: an action, and the name of a resource. The action is the operation's name, unless the
vendor's table has another one; the resource follows the path. Lists, and operations that create something whose name is
not in the path, need ``.../*``.

Source: Function Compute 2.0 and 3.0, "Policies and sample policies"; the denial quoted by Serverless Devs names
``services/*`` for CreateService.
"""

import json
import re
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from typing import Any, cast

from emulator.http.message import Request, Response
from emulator.kernel.errors import AuthFailure, ServiceError, Unavailable
from emulator.kernel.identity import Demand, Tenant, pass_role
from emulator.kernel.ids import Ids
from emulator.kernel.instrumentation import Subject
from emulator.services.fc import limits
from emulator.services.fc.codec import EVERY_API, V2016, V2023, api_of, encode, json_body, qualifier_of
from emulator.services.fc.errors import DIALECT, EntityTooLarge, FcError, auth_error
from emulator.services.fc.model import LATEST, arn_of, function_path, invocation_of
from emulator.services.fc.operations import (
    account,
    asynchronous,
    capacity,
    functions,
    instances,
    invoke,
    resources,
    sessions,
    triggers,
    versions,
)
from emulator.services.fc.ports import FC
from emulator.services.fc.service import FunctionCompute
from emulator.services.fc.triggers.http_routing import HttpTarget
from emulator.wire.dates import http_date
from emulator.wire.operation import Operation, Routes, operations_of
from emulator.wire.request import Answer, OperationRequest

_MODULES = (functions, versions, account, resources, invoke, asynchronous, triggers, capacity, instances, sessions)
ROUTES = {api: Routes(operations_of(*_MODULES, api=api)) for api in EVERY_API}
"""The operations of each version of the API."""

_PATHS = tuple(f"/{api}/" for api in EVERY_API)
_FUNCTION_IN_PATH = re.compile(
    rf"/(?:{V2023}/proxy|[\d-]+/(?:services/(?P<service>[^/.]+)[^/]*/)?functions|[\d-]+/proxy/(?P<proxied>[^/.]+)[^/]*)"
    "/(?P<function>[^/.]+)"
)
_DATES = ("date", "x-fc-date", "x-acs-date")


class FcFront:
    """The side of Function Compute that the gateway sees."""

    name = "fc"
    max_body = limits.REQUEST_BYTES
    dialect = DIALECT

    def __init__(self, service: FunctionCompute, ids: Ids) -> None:
        self._service = service
        self._http_routing = service.sources.http_routing
        self._ids = ids

    def edits(self, request: Request) -> Awaitable[None] | None:
        """Return what to await before *request* is routed, None when all edits of the functions folder have been read.

        Where the system does not announce edits, requests of other services do not wait.
        """
        follower = self._service.follower
        if follower is None or not follower.behind:  # the way of every warm request
            return None
        if self._service.edits_announced:
            return self._service.catch_up()
        if (named := _FUNCTION_IN_PATH.match(request.decoded_path)) is not None:
            return self._service.catch_up(named["service"] or named["proxied"] or "", named["function"])
        host = (request.authority or request.headers.get("host")).partition(":")[0].lower()
        is_ours = request.path.startswith(_PATHS) or self._http_routing.concerns(request, host)
        return self._service.catch_up() if is_ours else None

    def new_request_id(self, call: OperationRequest) -> str:
        """Return a UUID, or ``1-{seconds}-{8 digits}-{12 digits}`` in 2023-03-30."""
        if api_of(call) != V2023 and not (
            self._is_for_trigger(call) and self._http_routing.is_third_generation(call.http, call.host)
        ):
            return self._ids.uuid()
        return f"1-{call.now // 1000:08x}-{self._ids.hex(8)}-{self._ids.hex(12)}"

    def handle(self, call: OperationRequest) -> Answer:
        """Run the operation the path names, or the function whose HTTP trigger the request is for.

        Raises: FcError.
        """
        if self._is_for_trigger(call):
            return self._serve_trigger(call)
        operation = self._route(call)
        call.operation = operation.name
        answer = operation.perform(self._service, call)
        return _named(answer, call) if isinstance(answer, Response) else _finish(answer, call)

    def prepare(self, call: OperationRequest) -> None:
        """Decode a large JSON body, such as one with a code package; the event of a call is not decoded.

        Raises: FcError.
        """
        if not self._is_for_trigger(call) and self._route(call).name != "InvokeFunction":
            call.document = json_body(call)

    def allows_anonymous(self, call: OperationRequest) -> bool:
        """Whether the request may be unsigned: it is for an HTTP trigger that asks for no signature."""
        if not self._is_for_trigger(call):
            return False
        try:
            return "function" not in self._target(call).auth
        except FcError:
            return False

    def may_be_early(self, call: OperationRequest) -> bool:
        """Whether *call* may be served before its body is whole: HTTP triggers alone have functions that take it so."""
        return self._is_for_trigger(call)

    def early(self, call: OperationRequest) -> int:
        """Return how many bytes of body may be streamed to the function; 0 when it gets the body whole."""
        if not self._is_for_trigger(call):
            return 0
        try:
            return self._service.sources.http_invoker.early(call.http, self._target(call), call.now)
        except FcError:
            return 0  # which `handle` raises again

    def demands(self, call: OperationRequest) -> Iterable[Demand]:
        """Return the rights that the request needs; a signed call of an HTTP trigger needs that to call its function.

        Raises: FcError.
        """
        if not self._is_for_trigger(call):
            return demands_of(self._route(call), call)
        trigger = self._target(call).trigger
        return [invocation_demand(call.tenant, trigger.service or None, trigger.function, trigger.qualifier)]

    def denied(self, demand: Demand, call: OperationRequest) -> FcError:
        """Return the error for a caller without the right."""
        call.operation = demand.action.partition(":")[2]
        return FcError(
            "AccessDenied",
            f"the caller is not authorized to perform '{demand.action}' on resource '{demand.resource}'",
        )

    def subject(self, call: OperationRequest) -> Subject:
        """Return operation and resource of the call; a request for an HTTP trigger is a call of its function.

        Raises: FcError.
        """
        if self._is_for_trigger(call):
            call.operation = "HTTP trigger"
            trigger = self._target(call).trigger
            return invocation_of(trigger.service, trigger.function, trigger.qualifier, "trigger")
        operation = self._route(call)
        call.operation = operation.name
        path = call.path
        service, _, of_service = path.get("service", "").partition(".")
        if function := path.get("function", ""):
            qualifier = of_service or qualifier_of(call)
            return invocation_of(service, function, qualifier, "client", operation=operation.name)
        return Subject("fc", operation.name, tuple(path.values()), ("client",))

    def open_to_web(self, call: OperationRequest) -> bool:
        """Whether web pages of any origin may send the request; what CORS answers say is up to the function."""
        return self.allows_anonymous(call)

    def auth_error(self, failure: AuthFailure, call: OperationRequest) -> FcError:
        """Turn a reason into this service's code and text; a missing trigger or operation is reported before that.

        Source: responses to unsigned requests for ``/``, in issue trackers; assumed for other paths.
        """
        try:
            if self._is_for_trigger(call):
                self._target(call)
            else:
                self._route(call)
        except FcError as error:
            return error
        has_date = any(name in call.http.headers for name in _DATES)
        authorization = call.header("authorization")
        return auth_error(failure, date_given=has_date, now=http_date(call.now), authorization=authorization)

    def too_large(self, limit: int) -> FcError:
        """Return the error for a body over *limit* bytes."""
        return EntityTooLarge(limit=limit)

    def render_error(self, error: ServiceError, call: OperationRequest) -> Response:
        """Write *error* as the JSON the clients of the path's version read; always JSON, which they insist on."""
        if not isinstance(error, FcError | Unavailable):
            error = FcError("InternalServerError")
        api, for_trigger = api_of(call), self._is_for_trigger(call)
        body: dict[str, Any] = {}
        if api != V2023:
            body = {"ErrorCode": error.code, "ErrorMessage": error.message}
        if api != V2016 or for_trigger:
            body |= {"Code": error.code, "Message": error.message, "RequestId": call.request_id}
        response = Response(error.http_status, encode(body), [("Content-Type", "application/json")])
        if for_trigger:
            response.headers.append(("X-Fc-Error-Type", "FcCommonError"))
        return _named(response, call)

    def _is_for_trigger(self, call: OperationRequest) -> bool:
        """Whether the request is for an HTTP trigger rather than for the API; found out once per call."""
        if call.finding is None:
            call.finding = self._http_routing.concerns(call.http, call.host)
        return bool(call.finding)

    def _route(self, call: OperationRequest) -> Operation:
        """Find the operation that method and path name, and note the values in the path.

        Raises: PathNotSupported.
        """
        if call.declared is not None:
            routed: Operation = call.declared
            return routed
        request = call.http
        _, version, rest = (*request.path.split("/", 2), "", "")[:3]
        routes = ROUTES.get(version)
        match = routes.find(request.method, rest, call.query) if routes is not None else None
        if match is None:
            raise FcError("PathNotSupported", method=request.method, path=request.decoded_path)
        operation, path = match
        call.path = path if request.path.isascii() and "%" not in request.path else _readable(path)
        call.declared = operation
        return operation

    def _target(self, call: OperationRequest) -> HttpTarget:
        account = call.principal.account if call.principal else call.host_account
        tenant = Tenant(account or self._service.tenant.account, call.region)
        return self._http_routing.find(call.http, call.host, tenant)

    def _serve_trigger(self, call: OperationRequest) -> Awaitable[Response]:
        call.operation = "HTTP trigger"
        if call.principal is None:
            raise LookupError("the request has not been authenticated")
        target = self._target(call)
        call.writes_later = bool(target.token_rules)  # whose check comes before the instance gets its keys
        answer = self._service.sources.http_invoker.serve(
            call.http, target, call.principal, call.host, call.request_id, call.now
        )
        return _finish(answer, call)


def _readable(path: dict[str, str]) -> dict[str, str]:
    """Return the values of a path with a replacement character for bytes that are not UTF-8."""
    return {
        name: value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        for name, value in path.items()
    }


def _named(response: Response, call: OperationRequest) -> Response:
    response.headers.append(("X-Fc-Request-Id", call.request_id))
    return response


async def _finish(answer: Awaitable[Response], call: OperationRequest) -> Response:
    return _named(await answer, call)


_COLLECTIONS = frozenset(
    {
        "services", "functions", "triggers", "versions", "aliases", "layers", "custom-domains", "async-tasks",
        "stateful-async-invocations", "bindings", "vpc-bindings", "instances", "sessions", "snapshots",
    }
)  # fmt: skip
_ACTIONS = {
    "PutAsyncInvokeConfig": "PutFunctionAsyncInvokeConfig",
    "GetAsyncInvokeConfig": "GetFunctionAsyncInvokeConfig",
    "DeleteAsyncInvokeConfig": "DeleteFunctionAsyncInvokeConfig",
    "ListAsyncInvokeConfigs": "ListFunctionAsyncInvokeConfigs",
}
_WITHOUT_RESOURCE = frozenset(
    {
        "CreateSession", "GetSession", "ListSessions", "UpdateSession", "DeleteSession", "PauseSession",
        "ResumeSession",
    }
)  # fmt: skip
"""Operations that policies cannot allow for single functions. Source: RAM, the actions of Function Compute 3.0."""
_NAMED_IN_BODY = {
    "CreateFunction": "functionName",
    "CreateTrigger": "triggerName",
    "CreateAlias": "aliasName",
    "CreateCustomDomain": "domainName",
}
_GIVING_ROLES = {
    "CreateService": "role",
    "UpdateService": "role",
    "CreateFunction": "role",
    "UpdateFunction": "role",
    "CreateTrigger": "invocationRole",
    "UpdateTrigger": "invocationRole",
}


def demands_of(operation: Operation, call: OperationRequest) -> Iterator[Demand]:
    """Yield the rights that a call of *operation* needs; `OperationRequest.path` has the values of its path."""
    name = operation.name
    template = operation.route.partition(" ")[2].strip("/")
    body = _body(call) if name in _NAMED_IN_BODY or name in _GIVING_ROLES else {}
    own_name = body.get(_NAMED_IN_BODY.get(name, ""))
    given = own_name if isinstance(own_name, str) and own_name else "*"
    path = "*" if name in _WITHOUT_RESOURCE else _path(template, call.path, given)
    qualifier = call.query.get("qualifier", "")
    if qualifier and "{" in template and path.rpartition("/")[0].endswith("functions"):
        path = _qualified(path, qualifier)
    tenant = call.tenant
    general = (arn_of(tenant, path.rpartition("/")[0] + "/*"),) if own_name and name.startswith("Create") else ()
    yield Demand(f"fc:{_ACTIONS.get(name, name)}", arn_of(tenant, path), general)
    role = body.get(_GIVING_ROLES.get(name, ""))
    if isinstance(role, str) and role:
        yield pass_role(tenant.account, role, FC)


def invocation_demand(tenant: Tenant, service: str | None, function: str, qualifier: str | None) -> Demand:
    """Return the right to call a function."""
    path = function_path(service or "", function, "" if qualifier in {None, LATEST} else str(qualifier))
    return Demand("fc:InvokeFunction", arn_of(tenant, path))


def _path(template: str, segments: Mapping[str, str], name: str) -> str:
    """Return the part of the path template that names a resource, its placeholders filled."""
    parts = template.split("/")
    named: list[str] = []
    for index, part in enumerate(parts):
        if part[0] == "{":
            continue
        if parts[index + 1 :] and parts[index + 1][0] == "{":
            named += [part, segments.get(parts[index + 1].strip("{}"), "*")]
        elif part in _COLLECTIONS or (index == 0 and part.endswith("-configs")):
            return "/".join([*named, part, name])
        else:
            break  # what follows is something of the resource, not one of its own
    return "/".join(named) or "*"


def _qualified(path: str, qualifier: str) -> str:
    """Return the path of a function with the qualifier where its generation has it."""
    if not qualifier or qualifier == LATEST:
        return path
    kind, service, *rest = path.split("/", 2)
    if kind == "functions":
        return f"{path}/{qualifier}"
    return path if "." in service else "/".join([kind, f"{service}.{qualifier}", *rest])


def _body(call: OperationRequest) -> dict[str, Any]:
    if call.document is not None:
        return cast("dict[str, Any]", call.document)
    try:
        body = json.loads(call.http.body or b"{}")
    except (ValueError, RecursionError):
        return {}  # the operation itself refuses it
    return body if isinstance(body, dict) else {}
