"""The RPC dialect: everything on path ``/``, the operation in ``Action`` or ``x-acs-action``, one flat JSON answer.

FnF, STS, the management API of MNS and others speak it through the same gateway ("POP"), so one front serves them all;
a service gives its table of operations. Parameters come from query and form alike.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from emulator.http.message import Response
from emulator.kernel.errors import AuthFailure, ServiceError
from emulator.kernel.identity import Demand
from emulator.kernel.ids import Ids
from emulator.wire.pop_errors import (
    InvalidActionNotFound,
    InvalidParameter,
    InvalidVersion,
    MissingAction,
    NoPermission,
    PopError,
    RequestTooLarge,
    pop_auth_error,
)
from emulator.wire.request import Answer, OperationRequest
from emulator.wire.xml import escape

Parameters = dict[str, str]
Reply = dict[str, Any]
Operation = Callable[[OperationRequest, Parameters], Reply | Awaitable[Reply]]

SYSTEM_PARAMETERS = frozenset(
    {
        "Action", "Version", "AccessKeyId", "Signature", "SignatureMethod", "SignatureVersion", "SignatureNonce",
        "SignatureType", "Timestamp", "Format", "SecurityToken", "BearerToken", "RegionId",
    }
)  # fmt: skip

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class RpcFront:
    """The side of an RPC-style service that the gateway sees.

    *operations* maps the action's name to its function. Names match without regard to case, because one official
    client capitalises them itself.
    """

    max_body = 1024 * 1024

    def __init__(
        self, name: str, version: str, operations: Mapping[str, Operation], ids: Ids, *, upper_case_ids: bool = False
    ) -> None:
        self.name = name
        self.version = version
        self._operations = {action.lower(): (action, operation) for action, operation in operations.items()}
        self._ids = ids
        self._upper_case_ids = upper_case_ids

    # --- what a service may want otherwise ----------------------------------------------------------------------

    def unknown_action(self, action: str) -> ServiceError:
        """Return the error for an action that is not in the table."""
        return InvalidActionNotFound(action=action)

    def too_large(self, limit: int) -> ServiceError:
        """Return the error for a body over *limit* bytes."""
        return RequestTooLarge(limit=limit)

    def not_text(self, name: str) -> ServiceError:
        """Return the error for a parameter whose bytes are no UTF-8, which no operation can look up or keep."""
        return InvalidParameter(name=name)

    def rights(self, operation: str, parameters: Parameters, context: OperationRequest) -> Iterable[Demand]:
        """Return the rights that a call of *operation* needs."""
        del parameters
        return [Demand(f"{self.name}:{operation}", f"acs:{self.name}:{context.region}:{context.tenant.account}:*")]

    def denied(self, demand: Demand, context: OperationRequest) -> ServiceError:
        """Return the error for a caller without the right."""
        del context
        return NoPermission(
            f"You are not authorized to do this action. Resource: {demand.resource} Action: {demand.action}"
        )

    def chosen_request_id(self, context: OperationRequest) -> str | None:
        """Return the request id the caller asked for, where the service allows that."""
        del context
        return None

    # --- Front ---------------------------------------------------------------------------------------------------

    def new_request_id(self, context: OperationRequest) -> str:
        """Return a UUID, in the letters this service uses."""
        chosen = self.chosen_request_id(context)
        if chosen:
            return chosen
        text = self._ids.uuid()
        return text.upper() if self._upper_case_ids else text

    def allows_anonymous(self, context: OperationRequest) -> bool:
        """Nothing here is open to callers without a key."""
        del context
        return False

    def auth_error(self, failure: AuthFailure, context: OperationRequest) -> ServiceError:
        """Turn a reason into the gateway's code."""
        del context
        return pop_auth_error(failure)

    def demands(self, context: OperationRequest) -> Iterable[Demand]:
        """Return the rights that the request needs; none for an action that is not there."""
        found = self._operations.get(context.action.lower())
        if found is None:
            return ()
        context.operation = found[0]
        return self.rights(found[0], self._parameters_of(context), context)

    def handle(self, context: OperationRequest) -> Answer:
        """Find the operation, run it, write its reply.

        Raises: ServiceError, MissingAction, InvalidVersion or what `unknown_action` returns.
        """
        action = context.action
        if not action:
            raise MissingAction
        version = context.version
        if version and self.version and version != self.version:
            raise InvalidVersion(version=version)
        found = self._operations.get(action.lower())
        if found is None:
            context.operation = action
            raise self.unknown_action(action)
        context.operation, operation = found
        reply = operation(context, self._parameters_of(context))
        if isinstance(reply, dict):
            return self._render(reply, context)
        return self._finish(reply, context)

    def render_error(self, error: ServiceError, context: OperationRequest) -> Response:
        """Write the four members every official client reads, as JSON or XML."""
        body: Reply = {
            "RequestId": context.request_id,
            "HostId": context.host or "localhost",
            "Code": error.code,
            "Message": error.message,
        }
        if isinstance(error, PopError):
            body["Recommend"] = ""
        return _write(error.http_status, body, "Error", context)

    def _parameters_of(self, context: OperationRequest) -> Parameters:
        """Return the operation's own parameters: query and form merged, the form wins, system parameters left out.

        Raises: ServiceError for what is no text.
        """
        merged = context.parameters
        for name, value in merged.items():
            if not (name.isascii() and value.isascii()) and not (_is_text(name) and _is_text(value)):
                raise self.not_text(name.encode("utf-8", "replace").decode())
        return {name: value for name, value in merged.items() if name not in SYSTEM_PARAMETERS}

    def _finish(self, reply: Awaitable[Reply], context: OperationRequest) -> Awaitable[Response]:
        if isinstance(reply, asyncio.Future):
            return self._rendered(reply, context)
        return self._awaited(reply, context)

    async def _awaited(self, reply: Awaitable[Reply], context: OperationRequest) -> Response:
        return self._render(await reply, context)

    def _rendered(self, reply: "asyncio.Future[Reply]", context: OperationRequest) -> "asyncio.Future[Response]":
        """Chain two futures, so that a parked long poll costs no task."""
        answer: asyncio.Future[Response] = reply.get_loop().create_future()

        def replied(reply: "asyncio.Future[Reply]") -> None:
            if reply.cancelled():
                answer.cancel()
            elif (error := reply.exception()) is not None:
                if not answer.done():
                    answer.set_exception(error)
            elif not answer.done():
                answer.set_result(self._render(reply.result(), context))

        reply.add_done_callback(replied)
        answer.add_done_callback(lambda _: reply.cancel())  # the client has gone; nothing happens to a reply that is in
        return answer

    def _render(self, reply: Reply, context: OperationRequest) -> Response:
        return _write(200, {"RequestId": context.request_id, **reply}, f"{context.operation}Response", context)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _wants_xml(context: OperationRequest) -> bool:
    """XML is the gateway's default for RPC v1; ACS3 callers say what they accept."""
    asked = context.parameters.get("Format")
    if asked:
        return asked.lower() == "xml"
    headers = context.http.headers
    if headers.get("authorization") or "json" in headers.get("accept"):
        return False
    return "xml" in headers.get("accept") or bool(context.parameters.get("AccessKeyId"))


def _write(status: int, body: Reply, root: str, context: OperationRequest) -> Response:
    if _wants_xml(context):
        text = f"<?xml version='1.0' encoding='UTF-8'?><{root}>{_xml(body)}</{root}>"
        # one official client parses XML only under exactly this content type
        return Response(status, text.encode("utf-8", "replace"), [("Content-Type", "text/xml;charset=utf-8")])
    return Response(
        status, _encode(body).encode("utf-8", "replace"), [("Content-Type", "application/json;charset=utf-8")]
    )


def _xml(value: Any) -> str:
    if isinstance(value, dict):
        return "".join(
            "".join(f"<{key}>{_xml(item)}</{key}>" for item in entry)
            if isinstance(entry, list)
            else f"<{key}>{_xml(entry)}</{key}>"
            for key, entry in value.items()
        )
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else escape(str(value))
