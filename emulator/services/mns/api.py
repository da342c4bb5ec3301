"""The message service as the gateway sees it: versions, URLs, authentication errors."""

import re

from emulator.auth.failures import AuthFailure
from emulator.dialect.context import Answer, RequestContext
from emulator.http.message import Request, Response
from emulator.kernel.errors import ServiceError
from emulator.kernel.ids import Ids
from emulator.services.mns.errors import (
    ActionNotSupported,
    InvalidArgument,
    InvalidRequestURL,
    InvalidVersionHeader,
    MissingVersionHeader,
    MnsError,
    mns_auth_error,
)
from emulator.services.mns.wire import VERSION, render_error

_PATH = re.compile(
    r"/|/commonbuy/openservice"
    r"|/queues(?:/[^/]+(?:/messages)?)?"
    r"|/topics(?:/[^/]+(?:/messages|/subscriptions(?:/[^/]+)?)?)?"
)


class MnsFront:
    """Checks what every request must have and tells that the operations are not served."""

    name = "mns"
    max_body = 512 * 1024

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
        """Turn a reason into this service's code; a wrong URL or version is complained about first."""
        return _head_error(context.request) or mns_auth_error(failure)

    def too_large(self, limit: int) -> ServiceError:
        """Return the error for a body over *limit* bytes."""
        return InvalidArgument(name="Content-Length", low=0, high=limit, unit="bytes")

    def handle(self, context: RequestContext) -> Answer:
        """Refuse the operation.

        Raises: MissingVersionHeader, InvalidVersionHeader, InvalidRequestURL, ActionNotSupported.
        """
        request = context.request
        error = _head_error(request)
        if error is not None:
            raise error
        context.operation = f"{request.method} {request.path}"
        raise ActionNotSupported(operation=context.operation)

    def render_error(self, error: ServiceError, context: RequestContext) -> Response:
        """Write *error* as the service's XML."""
        return render_error(error, context.request, context.request_id)


def _head_error(request: Request) -> MnsError | None:
    """Return what is wrong with URL or version header, or None."""
    path = request.path.removesuffix("/") or "/"
    if _PATH.fullmatch(path) is None:
        return InvalidRequestURL()
    version = request.headers.get("x-mns-version")
    if not version:
        return MissingVersionHeader()
    return None if version == VERSION else InvalidVersionHeader()
