"""The object store as the gateway sees it: which operation and rights a request needs, and errors in its own form.

An operation is found by method, by what the request addresses (the account, a bucket, an object) and by the subresource
in its query. Source: OSS API reference.
"""

import re
from binascii import b2a_base64
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote_plus

from emulator.auth.oss import SUBRESOURCES, resource
from emulator.http.message import Request, Response
from emulator.kernel.errors import AuthFailure, ServiceError
from emulator.kernel.identity import Demand
from emulator.kernel.ids import Ids
from emulator.kernel.instrumentation import Subject
from emulator.oss import limits
from emulator.oss.errors import DIALECT, ERRORS, UNSPECIFIC_EC, OssError, oss_auth_error, subject
from emulator.oss.service import LazyStorage
from emulator.wire.dates import http_date
from emulator.wire.multipart import MalformedForm, form_of
from emulator.wire.operation import Operation
from emulator.wire.request import Answer, OperationRequest
from emulator.wire.xml import Element, render

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
_OPEN_METHODS = ("GET", "HEAD", "PUT")
_SHAPES = ("/", "/{bucket}", "/{bucket}/{key}")
_KEY_ID = r"(?:OSS |AccessKeyId:|Credential=)([^:/,\s]+)"
_SIGNATURE = r"(?:OSS [^:]+:|Signature[:=])([^,\s]+)"


class OssFront:
    """Finds the operation of a request and runs it; answers errors."""

    name = "oss"
    max_body = limits.REQUEST_BYTES
    dialect = DIALECT

    def __init__(self, ids: Ids, storage: LazyStorage) -> None:
        self._ids = ids
        self._storage = storage

    def new_request_id(self, call: OperationRequest) -> str:
        """Return 24 upper-case hexadecimal digits, the first eight the second of the request."""
        return f"{call.now // 1000:08X}{self._ids.hex(16).upper()}"

    def allows_anonymous(self, call: OperationRequest) -> bool:
        """Whether a request without a signature may go on: it reads a public object, or writes to a public bucket.

        Every request with a query needs a key.
        """
        request = call.http
        if request.query is not None or "authorization" in request.headers or request.method not in _OPEN_METHODS:
            return False
        bucket, _, key = resource(request)[1:].partition("/")
        writing = request.method == "PUT"
        if not key or (writing and "x-oss-copy-source" in request.headers):
            return False
        return self._storage.is_public(bucket, key, writing=writing)

    def demands(self, call: OperationRequest) -> Iterable[Demand]:
        """Return the rights that the request needs."""
        return demands(call)

    def denied(self, demand: Demand, call: OperationRequest) -> ServiceError:
        """Return the error for a caller without the right, which it names."""
        call.operation = demand.action.partition(":")[2]
        text = ERRORS["AccessDenied"].text
        return OssError("AccessDenied", f"{text} Action: {demand.action} Resource: {demand.resource}")

    def subject(self, call: OperationRequest) -> Subject:
        """Return the operation, by the action it needs, and the bucket or object."""
        bucket, _, key = resource(call.http)[1:].partition("/")
        action = next(iter(demands(call))).action.partition(":")[2]
        call.operation = action
        return subject(action, bucket, key)

    def auth_error(self, failure: AuthFailure, call: OperationRequest) -> ServiceError:
        """Turn a reason into this service's code."""
        return oss_auth_error(failure, *_as_signed(call.http))

    def too_large(self, limit: int) -> ServiceError:
        """Return the error for a body over *limit* bytes."""
        return OssError("EntityTooLarge", limit=limit)

    def handle(self, call: OperationRequest) -> Answer:
        """Run the operation; errors are raised when the answer is awaited.

        Raises: OssError.
        """
        call.operation = call.http.method
        return self._run(call)

    async def _run(self, call: OperationRequest) -> Response:
        storage, operations = await self._storage.opened()
        bucket, _, key = resource(call.http)[1:].partition("/")
        call.path = {"bucket": bucket, "key": key}
        call.query = dict(reversed(call.http.query_pairs))  # the first of a repeated name counts, as in its signature
        operation = _find(operations, call)
        call.operation = operation.name
        response: Response = await operation.perform(storage, call)
        response.headers += [
            ("Server", "AliyunOSS"),
            ("x-oss-request-id", call.request_id),
        ]
        return response

    def render_error(self, error: ServiceError, call: OperationRequest) -> Response:
        """Write *error* as the service's XML; a wrong signature shows what was signed here, as text and as bytes.

        The answer to HEAD has no body, so the document goes into a header. The answer for an object
        that has not changed has none either.
        """
        name, ec = (error.name, error.ec) if isinstance(error, OssError) else ("", UNSPECIFIC_EC)
        headers = [("Server", "AliyunOSS"), ("x-oss-request-id", call.request_id)]
        if name == "NotModified":
            fields = error.fields
            dates = [("ETag", f'"{fields["etag"]}"'), ("Last-Modified", http_date(fields["modified"]))]
            return Response(error.http_status, b"", [*headers, *dates])
        elements = [
            Element("Code", error.code),
            Element("Message", error.message),
            Element("RequestId", call.request_id),
            Element("HostId", call.host or "localhost"),
            *_details(name, error),
            Element("EC", ec),
        ]
        body = render(Element("Error", children=elements), declaration=_DECLARATION)
        headers += [("Content-Type", "application/xml"), ("x-oss-ec", ec)]
        if name == "PositionNotEqualToLength":
            headers.append(("x-oss-next-append-position", str(error.fields["length"])))
        if call.http.method == "HEAD":
            headers.append(("x-oss-err", b2a_base64(body, newline=False).decode("ascii")))
        return Response(error.http_status, body, headers)


def _details(name: str, error: ServiceError) -> list[Element]:
    if name == "SignatureDoesNotMatch":
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
    repeated = error.repeated.items() if isinstance(error, OssError) else ()
    return [Element(element, str(error.fields[field])) for element, field in repeated if field in error.fields]


def _as_signed(request: Request) -> tuple[str, str]:
    """Return key id and signature from a header or the URL, "" where there is none."""
    authorization = request.headers.get("authorization")
    if authorization:
        key_id, signature = re.search(_KEY_ID, authorization), re.search(_SIGNATURE, authorization)
        return key_id[1] if key_id else "", signature[1] if signature else ""
    query = dict(reversed(request.query_pairs))
    key = query.get("OSSAccessKeyId") or query.get("x-oss-access-key-id")
    key = key or query.get("x-oss-credential", "").partition("/")[0]
    return key, query.get("Signature") or query.get("x-oss-signature", "")


_PARAMETERS = frozenset(
    """security-token continuation-token partNumber position sequential response-content-type response-content-language
    response-cache-control response-content-encoding response-expires response-content-disposition x-oss-traffic-limit
    x-oss-request-payer x-oss-ac-source-ip x-oss-ac-subnet-mask x-oss-ac-vpc-id x-oss-ac-forward-allow""".split()  # noqa: SIM905 - as in auth.oss
)
"""Query names that are signed like subresources but select no operation."""
_UNSIGNED = frozenset({"accessmonitor"})
"""Query names that select an operation but are not part of a v1 signature."""


def choosing(names: Iterable[str]) -> list[str]:
    """Return those of the *names* of a query that select an operation, in order."""
    return [name for name in names if (name in SUBRESOURCES and name not in _PARAMETERS) or name in _UNSIGNED]


def _find(operations: Mapping[str, Operation], call: OperationRequest) -> Operation:
    """Return the operation a request names.

    Raises: OssError: OperationNotSupported for one of the cloud's that is not served, MethodNotAllowed.
    """
    route = f"{call.http.method} {_SHAPES[bool(call.path['bucket']) + bool(call.path['key'])]}"
    names = choosing(call.query)
    for name in names:
        if f"{route}?{name}" not in operations:
            raise OssError("OperationNotSupported", operation=f"{call.http.method} ?{name}")
    operation = operations.get(f"{route}?{names[0]}" if names else route)
    if operation is None:
        raise OssError("MethodNotAllowed")
    return operation


_BUCKET_ACTIONS = {
    ("PUT", ""): "PutBucket", ("GET", ""): "ListObjects", ("HEAD", ""): "GetBucketInfo", ("DELETE", ""): "DeleteBucket",
    ("GET", "bucketInfo"): "GetBucketInfo", ("GET", "location"): "GetBucketLocation", ("GET", "stat"): "GetBucketStat",
    ("GET", "acl"): "GetBucketAcl", ("PUT", "acl"): "PutBucketAcl", ("GET", "uploads"): "ListMultipartUploads",
}  # fmt: skip
_OBJECT_ACTIONS = {
    ("GET", "acl"): "GetObjectAcl", ("PUT", "acl"): "PutObjectAcl", ("GET", "tagging"): "GetObjectTagging",
    ("PUT", "tagging"): "PutObjectTagging", ("DELETE", "tagging"): "DeleteObjectTagging",
    ("GET", "uploadId"): "ListParts", ("DELETE", "uploadId"): "AbortMultipartUpload",
}  # fmt: skip
_ACTION_OF_METHOD = {
    "GET": "GetObject",
    "HEAD": "GetObject",
    "PUT": "PutObject",
    "POST": "PutObject",
    "DELETE": "DeleteObject",
}


def demands(call: OperationRequest) -> Iterator[Demand]:
    """Yield the rights a request needs on a bucket or an object; copying needs the right to read the source as well.

    The region of a resource may be written with or without ``oss-`` in front of it. Source: OSS, "RAM policies" and the
    pages of the operations.
    """
    request = call.http
    method = request.method
    query = dict(request.query_pairs)
    bucket, _, key = resource(request)[1:].partition("/")
    sub = next(iter(choosing(query)), "")
    if not bucket:
        yield _demand(call, "ListBuckets", "*")
    elif not key and (method, sub) == ("POST", "delete"):
        yield _demand(call, "DeleteObject", f"{bucket}/*")
    elif not key and (method, sub) == ("POST", ""):
        yield _demand(call, "PutObject", f"{bucket}/{_key_of_form(request) or '*'}")
    elif not key:
        conditions = tuple((f"oss:{name.title()}", query.get(name, "")) for name in ("prefix", "delimiter"))
        action = _BUCKET_ACTIONS.get((method, sub), f"{method.title()}Bucket{sub[:1].upper()}{sub[1:]}")
        yield _demand(call, action, bucket, conditions if action == "ListObjects" else ())
    else:
        yield _demand(
            call, _OBJECT_ACTIONS.get((method, sub), _ACTION_OF_METHOD.get(method, "GetObject")), f"{bucket}/{key}"
        )
        source = unquote_plus(request.headers.get("x-oss-copy-source").partition("?")[0]).lstrip("/")
        if source:
            yield _demand(call, "GetObject", source)


def _key_of_form(request: Request) -> str:
    """Return the object's name in an upload form; empty for a form that is refused later anyway."""
    try:
        fields = form_of(request)
    except MalformedForm:
        return ""
    return next((field.text for field in fields if field.name.lower() == "key"), "")


def _demand(call: OperationRequest, action: str, name: str, facts: tuple[tuple[str, str], ...] = ()) -> Demand:
    account, region = call.tenant.account, call.region
    return Demand(
        f"oss:{action}", f"acs:oss:oss-{region}:{account}:{name}", (f"acs:oss:{region}:{account}:{name}",), facts
    )
