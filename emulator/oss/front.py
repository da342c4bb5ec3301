"""The object store as the gateway sees it: authentication and errors in its own form; operations are not served."""

import re

from emulator.auth.failures import AuthFailure
from emulator.dialect.context import Answer, RequestContext
from emulator.dialect.xml import Element, render
from emulator.http.message import Request, Response
from emulator.kernel.errors import ServiceError
from emulator.kernel.ids import Ids
from emulator.oss.errors import EntityTooLarge, OperationNotSupported, OssError, SignatureDoesNotMatch, oss_auth_error

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
_KEY_ID = re.compile(r"(?:OSS |AccessKeyId:|Credential=)([^:/,\s]+)")
_SIGNATURE = re.compile(r"(?:OSS [^:]+:|Signature[:=])([^,\s]+)")


class OssFront:
    """Checks signatures and tells that the operations are not served."""

    name = "oss"
    max_body = 64 * 1024 * 1024

    def __init__(self, ids: Ids) -> None:
        self._ids = ids

    def new_request_id(self, context: RequestContext) -> str:
        """Return 24 upper-case hexadecimal digits, the first eight the second of the request."""
        return f"{context.now // 1000:08X}{self._ids.hex(16).upper()}"

    def allows_anonymous(self, context: RequestContext) -> bool:
        """Nothing here is open to callers without a key."""
        del context
        return False

    def auth_error(self, failure: AuthFailure, context: RequestContext) -> ServiceError:
        """Turn a reason into this service's code."""
        return oss_auth_error(failure, *_as_signed(context.request))

    def too_large(self, limit: int) -> ServiceError:
        """Return the error for a body over *limit* bytes."""
        return EntityTooLarge(limit=limit)

    def handle(self, context: RequestContext) -> Answer:
        """Refuse the operation.

        Raises: OperationNotSupported.
        """
        context.operation = context.request.method
        raise OperationNotSupported(operation=context.operation)

    def render_error(self, error: ServiceError, context: RequestContext) -> Response:
        """Write *error* as the service's XML; a wrong signature shows what was signed here, as text and as bytes."""
        ec = error.ec if isinstance(error, OssError) else OssError.ec
        elements = [
            Element("Code", error.code),
            Element("Message", error.message),
            Element("RequestId", context.request_id),
            Element("HostId", context.host or "localhost"),
        ]
        if isinstance(error, SignatureDoesNotMatch):
            string = str(error.fields["string_to_sign"])
            octets = string.encode("utf-8", "surrogateescape")
            elements += [
                Element("OSSAccessKeyId", str(error.fields["key_id"])),
                Element("SignatureProvided", str(error.fields["signature"])),
                Element("StringToSign", string),
                Element("StringToSignBytes", octets.hex(" ").upper()),
            ]
            if error.fields["canonical_request"]:
                elements.append(Element("CanonicalRequest", str(error.fields["canonical_request"])))
        elements.append(Element("EC", ec))
        return Response(
            error.http_status,
            render(Element("Error", children=elements), declaration=_DECLARATION),
            [
                ("Content-Type", "application/xml"),
                ("Server", "AliyunOSS"),
                ("x-oss-request-id", context.request_id),
                ("x-oss-ec", ec),
            ],
        )


def _as_signed(request: Request) -> tuple[str, str]:
    """Return key id and signature as the request carries them, in a header or in the URL; "" where there is none."""
    authorization = request.headers.get("authorization")
    if authorization:
        key_id, signature = _KEY_ID.search(authorization), _SIGNATURE.search(authorization)
        return key_id[1] if key_id else "", signature[1] if signature else ""
    query = dict(reversed(request.query_pairs))
    key = query.get("OSSAccessKeyId") or query.get("x-oss-credential", "").partition("/")[0]
    return key, query.get("Signature") or query.get("x-oss-signature", "")
