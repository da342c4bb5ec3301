"""The RPC dialect: everything on path ``/``, the operation in ``Action`` or ``x-acs-action``, one flat JSON answer.

FnF, STS, RAM, the management API of MNS and others speak it through the same gateway ("POP"), so one front serves them
all; a service gives its operations. Parameters come from query and form alike. The gateway's errors are one table that
services spoken ROA use too.

Source: codes and statuses as the vendor's error centre lists them; texts as clients quote them; "assumed" marks the
rest.
"""

import asyncio
import json
from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, assert_never

from emulator.http.message import Response
from emulator.kernel.errors import AuthFailure, ErrorRow, Reason, ServiceError
from emulator.kernel.identity import Demand
from emulator.kernel.ids import Ids
from emulator.kernel.instrumentation import Dialect, Subject
from emulator.wire.operation import Actions, Operation
from emulator.wire.request import Answer, OperationRequest
from emulator.wire.xml import escape

Reply = dict[str, Any]

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


ERRORS: Mapping[str, ErrorRow] = {
    # the operation and its parameters; field: the parameter's ``name``
    "MissingAction": ErrorRow(400, "Action is mandatory for this action."),
    "InvalidAction.NotFound": ErrorRow(404, "Specified api is not found, please check your url and method."),
    "InvalidVersion": ErrorRow(404, "Specified parameter Version is not valid."),
    "MissingParameter": ErrorRow(400, "{name} is mandatory for this action."),
    "InvalidParameter": ErrorRow(400, "Specified parameter {name} is not valid."),
    "RequestEntityTooLarge": ErrorRow(413, "The request body exceeds the limit of {limit} bytes."),  # assumed
    # the signature: what is missing
    "MissingAccessKeyId": ErrorRow(400, "AccessKeyId is mandatory for this action."),
    "MissingSignature": ErrorRow(400, "Signature is mandatory for this action."),
    "MissingTimestamp": ErrorRow(400, "Timestamp is mandatory for this action."),
    "MissingSignatureNonce": ErrorRow(400, "SignatureNonce is mandatory for this action."),  # assumed
    "MissingSecurityToken": ErrorRow(400, "SecurityToken is mandatory for this action."),
    # the signature: what is wrong
    "InvalidTimeStamp.Format": ErrorRow(400, "Specified time stamp or date value is not well formatted."),
    "InvalidTimeStamp.Expired": ErrorRow(400, "Specified time stamp or date value is expired."),
    "SignatureNonceUsed": ErrorRow(400, "Specified signature nonce was used already."),
    "InvalidSignatureMethod": ErrorRow(400, "Specified signature method is not valid."),
    "InvalidAccessKeyId.NotFound": ErrorRow(404, "Specified access key is not found."),
    "InvalidAccessKeyId.Inactive": ErrorRow(400, "Specified access key is disabled."),
    "InvalidSecurityToken.Expired": ErrorRow(400, "Specified SecurityToken is expired."),
    "InvalidSecurityToken.Malformed": ErrorRow(400, "Specified SecurityToken is malformed."),
    "InvalidSecurityToken.MismatchWithAccessKey": ErrorRow(400, "Specified SecurityToken mismatch with the AccessKey."),
    "IncompleteSignature": ErrorRow(400, "The request signature does not conform to Aliyun standards. {detail}"),
    # aliyun-python-sdk-core splits this text at the first colon and compares the rest with its own string to sign, to
    # recognise a wrong secret; without a colon it crashes with IndexError. Hence no blank after it.
    "SignatureDoesNotMatch": ErrorRow(
        400, "Specified signature is not matched with our calculation. server string to sign is:{string_to_sign}"
    ),
    # the code is documented, the text assumed
    "ContentMD5NotMatched": ErrorRow(400, "Specified content digest is not matched with the request body."),
    # everything else
    "NoPermission": ErrorRow(403, "You are not authorized to do this action. You should be authorized by RAM."),
    "Throttling": ErrorRow(400, "Request was denied due to request throttling."),
    "InternalError": ErrorRow(500, "The request processing has failed due to some unknown error."),
}


class PopError(ServiceError):
    """An error answered in the RPC gateway's form."""

    table = ERRORS


class InvalidParameter(PopError):
    """A parameter's value cannot be used. Field: ``name``."""


class MissingParameter(PopError):
    """A required parameter is absent. Field: ``name``."""


def pop_auth_error(failure: AuthFailure) -> PopError:
    """Turn a reason into the gateway's own code, status and text; a wrong signature shows what was signed here."""
    shown = failure.string_to_sign
    if failure.canonical_request:
        shown += f", server side canonicalrequest is:{failure.canonical_request}"
    return PopError(_code(failure.reason), name=failure.detail, detail=_explanation(failure), string_to_sign=shown)


def _code(reason: Reason) -> str:  # noqa: C901 - an arm for each reason
    match reason:
        case Reason.MISSING_AUTHORIZATION | Reason.MISSING_KEY_ID:
            return "MissingAccessKeyId"
        case Reason.MALFORMED_AUTHORIZATION | Reason.UNSIGNED_HEADER:
            return "IncompleteSignature"
        case Reason.MISSING_SIGNATURE:
            return "MissingSignature"
        case Reason.MISSING_DATE:
            return "MissingTimestamp"
        case Reason.BAD_DATE:
            return "InvalidTimeStamp.Format"
        case Reason.SKEWED_DATE | Reason.URL_EXPIRED:
            return "InvalidTimeStamp.Expired"
        case Reason.MISSING_NONCE:
            return "MissingSignatureNonce"
        case Reason.NONCE_USED:
            return "SignatureNonceUsed"
        case Reason.UNSUPPORTED_METHOD:
            return "InvalidSignatureMethod"
        case Reason.UNKNOWN_KEY:
            return "InvalidAccessKeyId.NotFound"
        case Reason.INACTIVE_KEY:
            return "InvalidAccessKeyId.Inactive"
        case Reason.MISSING_TOKEN:
            return "MissingSecurityToken"
        case Reason.BAD_TOKEN:
            return "InvalidSecurityToken.Malformed"
        case Reason.TOKEN_OF_ANOTHER_KEY:
            return "InvalidSecurityToken.MismatchWithAccessKey"
        case Reason.TOKEN_EXPIRED:
            return "InvalidSecurityToken.Expired"
        case Reason.BODY_DIFFERS:
            return "ContentMD5NotMatched"
        case Reason.SIGNATURE_DIFFERS:
            return "SignatureDoesNotMatch"
        case Reason.FOREIGN_ACCOUNT:
            return "NoPermission"
        case Reason.REPEATED_PARAMETER:
            return "InvalidParameter"
        case _:
            assert_never(reason)


def _explanation(failure: AuthFailure) -> str:
    if failure.reason is Reason.UNSIGNED_HEADER:
        return f"The header {failure.detail} is not signed."
    return f"The Authorization header is not valid: {failure.detail}." if failure.detail else ""


class RpcFront:
    """The side of an RPC-style service that the gateway sees.

    An operation is called with *service* and the call, whose ``parameters`` are its own; it returns the members of the
    answer, now or awaitable.
    """

    max_body = 1024 * 1024
    dialect = Dialect(PopError, "Throttling")

    def __init__(self, name: str, version: str, operations: Actions, service: Any, ids: Ids) -> None:
        self.name = name
        self.version = version
        self.operations = operations
        self._service = service
        self._ids = ids

    def unknown_action(self, action: str) -> ServiceError:
        """Return the error for an operation that does not exist."""
        return PopError("InvalidAction.NotFound", action=action)

    def too_large(self, limit: int) -> ServiceError:
        """Return the error for a body over *limit* bytes."""
        return PopError("RequestEntityTooLarge", limit=limit)

    def not_text(self, name: str) -> ServiceError:
        """Return the error for a parameter that is not UTF-8, which no operation can look up or keep."""
        return PopError("InvalidParameter", name=name)

    def rights(self, operation: str, call: OperationRequest) -> Iterable[Demand]:
        """Return the rights that a call of *operation* needs."""
        return [Demand(f"{self.name}:{operation}", f"acs:{self.name}:{call.region}:{call.tenant.account}:*")]

    def denied(self, demand: Demand, call: OperationRequest) -> ServiceError:
        """Return the error for a caller without the right."""
        return no_permission(demand)

    def named(self, operation: str, call: OperationRequest) -> Subject:
        """Return the subject of a call of *operation*, for faults; its names are the parameters ``...Name``."""
        names = [value for name, value in call.parameters.items() if name.endswith("Name")]
        return Subject(self.name, operation, tuple(names), ("client",))

    def new_request_id(self, call: OperationRequest) -> str:
        """Return a UUID in capital letters."""
        return self._ids.uuid().upper()

    def allows_anonymous(self, call: OperationRequest) -> bool:
        """Return False: every caller needs a key."""
        return False

    def auth_error(self, failure: AuthFailure, call: OperationRequest) -> ServiceError:
        """Turn a reason into the gateway's code."""
        return pop_auth_error(failure)

    def demands(self, call: OperationRequest) -> Iterable[Demand]:
        """Return the rights that the request needs; none for an operation that does not exist."""
        operation = self.operations.find(call.action)
        if operation is None:
            return ()
        call.operation = operation.name
        self._check_text(call)
        return self.rights(operation.name, call)

    def subject(self, call: OperationRequest) -> Subject:
        """Return operation and resource of the call.

        Raises: ServiceError, as `handle` would.
        """
        return self.named(self._find(call).name, call)

    def handle(self, call: OperationRequest) -> Answer:
        """Find the operation, run it, write its reply.

        Raises: ServiceError: MissingAction, InvalidVersion, what `unknown_action` or `not_text` returns.
        """
        reply = self._find(call).perform(self._service, call)
        if isinstance(reply, dict):
            return self._render(reply, call)
        return self._rendered(reply, call) if isinstance(reply, asyncio.Future) else self._awaited(reply, call)

    def render_error(self, error: ServiceError, call: OperationRequest) -> Response:
        """Write the four members every official client reads, as JSON or XML."""
        body: Reply = {
            "RequestId": call.request_id,
            "HostId": call.host or "localhost",
            "Code": error.code,
            "Message": error.message,
        }
        if isinstance(error, PopError):
            body["Recommend"] = ""
        return _write(error.http_status, body, "Error", call)

    def check_version(self, version: str) -> None:
        """Refuse calls of a version that the service does not have.

        Raises: ServiceError.
        """
        if version and self.version and version != self.version:
            raise PopError("InvalidVersion")

    def _find(self, call: OperationRequest) -> Operation:
        if call.declared is None:
            action = call.action
            if not action:
                raise PopError("MissingAction")
            self.check_version(call.version)
            operation = self.operations.find(action)
            if operation is None:
                call.operation = action
                raise self.unknown_action(action)
            call.operation = operation.name
            self._check_text(call)
            call.declared = operation
        declared: Operation = call.declared
        return declared

    def _check_text(self, call: OperationRequest) -> None:
        for name, value in call.all_parameters.items():
            if not (name.isascii() and value.isascii()) and not (_is_text(name) and _is_text(value)):
                raise self.not_text(name.encode("utf-8", "replace").decode())

    async def _awaited(self, reply: Awaitable[Reply], call: OperationRequest) -> Response:
        return self._render(await reply, call)

    def _rendered(self, reply: "asyncio.Future[Reply]", call: OperationRequest) -> "asyncio.Future[Response]":
        """Chain two futures, so that a parked long poll costs no task."""
        answer: asyncio.Future[Response] = reply.get_loop().create_future()

        def replied(reply: "asyncio.Future[Reply]") -> None:
            if reply.cancelled():
                answer.cancel()
            elif (error := reply.exception()) is not None:
                if not answer.done():
                    answer.set_exception(error)
            elif not answer.done():
                answer.set_result(self._render(reply.result(), call))

        reply.add_done_callback(replied)
        answer.add_done_callback(lambda _: reply.cancel())  # if the client has gone; a finished reply is not affected
        return answer

    def _render(self, reply: Reply, call: OperationRequest) -> Response:
        return _write(200, {"RequestId": call.request_id, **reply}, f"{call.operation}Response", call)


def no_permission(demand: Demand) -> PopError:
    """Return the gateway's error for a caller without a right."""
    return PopError(
        "NoPermission", f"You are not authorized to do this action. Resource: {demand.resource} Action: {demand.action}"
    )


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _wants_xml(call: OperationRequest) -> bool:
    """XML is the gateway's default for RPC v1; ACS3 callers name what they accept."""
    wanted = call.all_parameters.get("Format")
    if wanted:
        return wanted.lower() == "xml"
    headers = call.http.headers
    if headers.get("authorization") or "json" in headers.get("accept"):
        return False
    return "xml" in headers.get("accept") or bool(call.all_parameters.get("AccessKeyId"))


def _write(status: int, body: Reply, root: str, call: OperationRequest) -> Response:
    if _wants_xml(call):
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
