"""The front of Function Compute: picks the dialect by the path's version, writes errors and request ids."""

from collections.abc import Awaitable, Iterable
from typing import Any, Literal

from emulator.http.message import Response
from emulator.kernel.errors import AuthFailure, ServiceError
from emulator.kernel.identity import Demand, Tenant
from emulator.kernel.ids import Ids
from emulator.services.fc import limits, rights
from emulator.services.fc.codec import Exchange, encode
from emulator.services.fc.dialects import v2016, v2021, v2023
from emulator.services.fc.dialects.routing import Route, Routes, serve
from emulator.services.fc.errors import EntityTooLarge, FcError, auth_error
from emulator.services.fc.invoke.http_routing import HttpTarget
from emulator.services.fc.service import FunctionCompute
from emulator.wire.dates import http_date
from emulator.wire.request import Answer, OperationRequest

Version = Literal["2016-08-15", "2021-04-06", "2023-03-30"]

_DATES = ("date", "x-fc-date", "x-acs-date")


class FcFront:
    """The side of Function Compute that the gateway sees."""

    name = "fc"
    max_body = limits.REQUEST_BYTES

    def __init__(self, service: FunctionCompute, ids: Ids) -> None:
        self._service = service
        self._ids = ids
        self._routes = {
            "2016-08-15": Routes(v2016.ROUTES),
            "2021-04-06": Routes(v2021.ROUTES),
            "2023-03-30": Routes(v2023.ROUTES),
        }

    def new_request_id(self, context: OperationRequest) -> str:
        """Return a UUID, or ``1-{seconds}-{8 digits}-{12 digits}`` in 2023-03-30."""
        if version_of(context) != "2023-03-30" and not self._service.sources.http_routing.is_third_generation(
            context.http, context.host
        ):
            return self._ids.uuid()
        return f"1-{context.now // 1000:08x}-{self._ids.hex(8)}-{self._ids.hex(12)}"

    def handle(self, context: OperationRequest) -> Answer:
        """Run the operation the path names.

        Raises: FcError.
        """
        if self._service.sources.http_routing.concerns(context.http, context.host):
            return self._serve_trigger(context)
        route, segments = self._route(context)
        context.operation = route.operation
        answer = serve(route, Exchange(self._service, context, segments))
        if isinstance(answer, Response):
            return _named(answer, context)
        return _finish(answer, context)

    def allows_anonymous(self, context: OperationRequest) -> bool:
        """Tell whether the request may go on unsigned: it is for an HTTP trigger that asks for no signature."""
        if not self._service.sources.http_routing.concerns(context.http, context.host):
            return False
        try:
            return "function" not in self._target(context).auth
        except FcError:
            return False

    def demands(self, context: OperationRequest) -> Iterable[Demand]:
        """Return the rights that the request needs; a signed call of an HTTP trigger needs that to call its function.

        Raises: FcError.
        """
        if not self._service.sources.http_routing.concerns(context.http, context.host):
            return rights.demands(*self._route(context), context)
        trigger = self._target(context).trigger
        return [rights.invocation(context.tenant, trigger.service or None, trigger.function, trigger.qualifier)]

    def denied(self, demand: Demand, context: OperationRequest) -> FcError:
        """Return the error for a caller without the right."""
        context.operation = demand.action.partition(":")[2]
        return FcError(
            "AccessDenied", f"the caller is not authorized to perform '{demand.action}' on resource '{demand.resource}'"
        )

    def open_to_web(self, context: OperationRequest) -> bool:
        """Tell whether web pages of any origin may send the request: what CORS answers say is the function's affair."""
        return self.allows_anonymous(context)

    def auth_error(self, failure: AuthFailure, context: OperationRequest) -> FcError:
        """Turn a reason into this service's code and text; a trigger that is not there is told before that."""
        if self._service.sources.http_routing.concerns(context.http, context.host):
            try:
                self._target(context)
            except FcError as error:
                return error
        given = any(name in context.http.headers for name in _DATES)
        told = context.http.headers.get("authorization")
        return auth_error(failure, date_given=given, now=http_date(context.now), authorization=told)

    def too_large(self, limit: int) -> FcError:
        """Return the error for a body over *limit* bytes."""
        return EntityTooLarge(limit=limit)

    def render_error(self, error: ServiceError, context: OperationRequest) -> Response:
        """Write *error* as the JSON the clients of the path's version read; always JSON, which they insist on."""
        if not isinstance(error, FcError):
            error = FcError("InternalServerError")
        version = version_of(context)
        body: dict[str, Any] = {}
        for_trigger = self._service.sources.http_routing.concerns(context.http, context.host)
        if version != "2023-03-30":
            body = {"ErrorCode": error.code, "ErrorMessage": error.message}
        if version != "2016-08-15" or for_trigger:
            body |= {"Code": error.code, "Message": error.message, "RequestId": context.request_id}
        response = Response(error.http_status, encode(body), [("Content-Type", "application/json")])
        if for_trigger:
            response.headers.append(("X-Fc-Error-Type", "FcCommonError"))
        return _named(response, context)

    def _route(self, context: OperationRequest) -> tuple[Route, dict[str, str]]:
        """Find the operation that method and path name.

        Raises: PathNotSupported.
        """
        request = context.http
        _, version, rest = (*request.path.split("/", 2), "", "")[:3]
        routes = self._routes.get(version)
        if routes is None:
            raise FcError("PathNotSupported", method=request.method, path=request.decoded_path)
        return routes.find(request.method, rest, request.decoded_path)

    # --- HTTP triggers -------------------------------------------------------------------------------------------

    def _target(self, context: OperationRequest) -> HttpTarget:
        account = context.principal.account if context.principal else context.host_account
        tenant = Tenant(account or self._service.tenant.account, context.region)
        return self._service.sources.http_routing.find(context.http, context.host, tenant)

    def _serve_trigger(self, context: OperationRequest) -> Awaitable[Response]:
        context.operation = "HTTP trigger"
        if context.principal is None:
            raise LookupError("the request has not been authenticated")
        answer = self._service.sources.http_invoker.serve(
            context.http,
            self._target(context),
            context.principal,
            context.host,
            context.request_id,
            context.now,
        )
        return _finish(answer, context)


def version_of(context: OperationRequest) -> Version:
    """Return the API version in the path; without one it is that of the signature scheme's first users."""
    path = context.http.path
    if path.startswith("/2023-03-30/"):
        return "2023-03-30"
    return "2021-04-06" if path.startswith("/2021-04-06/") else "2016-08-15"


def _named(response: Response, context: OperationRequest) -> Response:
    response.headers.append(("X-Fc-Request-Id", context.request_id))
    return response


async def _finish(answer: Awaitable[Response], context: OperationRequest) -> Response:
    return _named(await answer, context)
