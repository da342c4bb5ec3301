"""The object store as the gateway sees it: authentication, errors in its own form, and the way to its operations."""

import re
from binascii import b2a_base64
from collections.abc import Iterable

from emulator.auth.oss import resource
from emulator.http.message import Request, Response
from emulator.kernel.errors import AuthFailure, ServiceError
from emulator.kernel.identity import Demand
from emulator.kernel.ids import Ids
from emulator.oss import limits, rights
from emulator.oss.errors import (
    AccessDenied,
    EntityTooLarge,
    NotModified,
    OssError,
    PositionNotEqualToLength,
    SignatureDoesNotMatch,
    oss_auth_error,
)
from emulator.oss.opening import LazyStorage
from emulator.wire.dates import http_date
from emulator.wire.request import Answer, OperationRequest
from emulator.wire.xml import Element, render

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
_OPEN_METHODS = ("GET", "HEAD", "PUT")
_KEY_ID = re.compile(r"(?:OSS |AccessKeyId:|Credential=)([^:/,\s]+)")
_SIGNATURE = re.compile(r"(?:OSS [^:]+:|Signature[:=])([^,\s]+)")


class OssFront:
    """Finds the operation of a request and runs it; answers errors."""

    name = "oss"
    max_body = limits.REQUEST_BYTES

    def __init__(self, ids: Ids, storage: LazyStorage) -> None:
        self._ids = ids
        self._storage = storage

    def new_request_id(self, context: OperationRequest) -> str:
        """Return 24 upper-case hexadecimal digits, the first eight the second of the request."""
        return f"{context.now // 1000:08X}{self._ids.hex(16).upper()}"

    def allows_anonymous(self, context: OperationRequest) -> bool:
        """Tell whether a request without a signature may go on: it reads a public object, or writes to a public bucket.

        Whatever asks for more than the object itself needs a key.
        """
        request = context.http
        if request.query is not None or "authorization" in request.headers or request.method not in _OPEN_METHODS:
            return False
        bucket, _, key = resource(request)[1:].partition("/")
        writing = request.method == "PUT"
        if not key or (writing and "x-oss-copy-source" in request.headers):
            return False
        return self._storage.is_public(bucket, key, writing=writing)

    def demands(self, context: OperationRequest) -> Iterable[Demand]:
        """Return the rights that the request needs."""
        return rights.demands(context)

    def denied(self, demand: Demand, context: OperationRequest) -> ServiceError:
        """Return the error for a caller without the right, which it names."""
        context.operation = demand.action.partition(":")[2]
        return AccessDenied(f"{AccessDenied.template} Action: {demand.action} Resource: {demand.resource}")

    def auth_error(self, failure: AuthFailure, context: OperationRequest) -> ServiceError:
        """Turn a reason into this service's code."""
        return oss_auth_error(failure, *_as_signed(context.http))

    def too_large(self, limit: int) -> ServiceError:
        """Return the error for a body over *limit* bytes."""
        return EntityTooLarge(limit=limit)

    def handle(self, context: OperationRequest) -> Answer:
        """Run the operation; what goes wrong is raised from the awaited answer.

        Raises: OssError.
        """
        context.operation = context.http.method
        return self._run(context)

    async def _run(self, context: OperationRequest) -> Response:
        apis = await self._storage.apis()
        from emulator.oss.call import Call  # loaded with the operations

        call = Call(context)
        context.operation, operation = apis.find(call)
        response = await operation(call)
        response.headers += [
            ("Server", "AliyunOSS"),
            ("x-oss-request-id", context.request_id),
        ]
        return response

    def render_error(self, error: ServiceError, context: OperationRequest) -> Response:
        """Write *error* as the service's XML; a wrong signature shows what was signed here, as text and as bytes.

        The answer to HEAD has no body, so the document goes into a header. An object that has not changed is no error
        to the caller, and there is nothing to say.
        """
        ec = error.ec if isinstance(error, OssError) else OssError.ec
        headers = [("Server", "AliyunOSS"), ("x-oss-request-id", context.request_id)]
        if isinstance(error, NotModified):
            fields = error.fields
            dates = [("ETag", f'"{fields["etag"]}"'), ("Last-Modified", http_date(fields["modified"]))]
            return Response(error.http_status, b"", [*headers, *dates])
        elements = [
            Element("Code", error.code),
            Element("Message", error.message),
            Element("RequestId", context.request_id),
            Element("HostId", context.host or "localhost"),
            *_details(error),
            Element("EC", ec),
        ]
        body = render(Element("Error", children=elements), declaration=_DECLARATION)
        headers += [("Content-Type", "application/xml"), ("x-oss-ec", ec)]
        if isinstance(error, PositionNotEqualToLength):
            headers.append(("x-oss-next-append-position", str(error.fields["length"])))
        if context.http.method == "HEAD":
            headers.append(("x-oss-err", b2a_base64(body, newline=False).decode("ascii")))
        return Response(error.http_status, body, headers)


def _details(error: ServiceError) -> list[Element]:
    if isinstance(error, SignatureDoesNotMatch):
        string = str(error.fields["string_to_sign"])
        octets = string.encode("utf-8", "surrogateescape")
        elements = [
            Element("OSSAccessKeyId", str(error.fields["key_id"])),
            Element("SignatureProvided", str(error.fields["signature"])),
            Element("StringToSign", string),
            Element("StringToSignBytes", octets.hex(" ").upper()),
        ]
        if error.fields["canonical_request"]:
            elements.append(Element("CanonicalRequest", str(error.fields["canonical_request"])))
        return elements
    shown = error.shown if isinstance(error, OssError) else ()
    return [Element(element, str(error.fields[field])) for element, field in shown if field in error.fields]


def _as_signed(request: Request) -> tuple[str, str]:
    """Return key id and signature as the request carries them, in a header or in the URL; "" where there is none."""
    authorization = request.headers.get("authorization")
    if authorization:
        key_id, signature = _KEY_ID.search(authorization), _SIGNATURE.search(authorization)
        return key_id[1] if key_id else "", signature[1] if signature else ""
    query = dict(reversed(request.query_pairs))
    key = query.get("OSSAccessKeyId") or query.get("x-oss-access-key-id")
    key = key or query.get("x-oss-credential", "").partition("/")[0]
    return key, query.get("Signature") or query.get("x-oss-signature", "")
