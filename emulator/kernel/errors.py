"""The root of every error a client may see.

::

    ServiceError
    |-- FcError            services/fc/errors.py
    |-- MnsError           services/mns/errors.py
    |-- PopError           dialect/rpc.py: what the RPC gateway in front of FnF, STS, ... answers
    |   `-- WorkflowError  services/workflow/errors.py
    `-- GatewayError       gateway/errors.py: what is refused before a service is known

Domain code raises; the gateway catches once; each dialect renders. Anything that is not a `ServiceError` is a bug of
ours and is answered as that dialect's internal error.
"""

from enum import Enum, auto
from typing import Any, ClassVar


class ServiceError(Exception):
    """An error a client may see: a documented code, its HTTP status and a message.

    Subclasses set ``code``, ``http_status`` and ``template``; the keyword fields given at the raise site fill the
    template and stay readable as ``fields``.
    """

    code: ClassVar[str] = "InternalServerError"
    http_status: ClassVar[int] = 500
    template: ClassVar[str] = "An internal error has occurred. Please retry."

    def __init__(self, message: str | None = None, **fields: Any) -> None:
        self.fields = fields
        self.message = message if message is not None else self.template.format_map(fields)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class Reason(Enum):
    """What authentication found wrong."""

    MISSING_AUTHORIZATION = auto()
    MALFORMED_AUTHORIZATION = auto()
    MISSING_KEY_ID = auto()
    MISSING_SIGNATURE = auto()
    MISSING_DATE = auto()
    BAD_DATE = auto()
    SKEWED_DATE = auto()
    MISSING_NONCE = auto()
    NONCE_USED = auto()
    UNSUPPORTED_METHOD = auto()
    UNKNOWN_KEY = auto()
    INACTIVE_KEY = auto()
    MISSING_TOKEN = auto()
    BAD_TOKEN = auto()
    TOKEN_OF_ANOTHER_KEY = auto()
    TOKEN_EXPIRED = auto()
    UNSIGNED_HEADER = auto()
    BODY_DIFFERS = auto()
    SIGNATURE_DIFFERS = auto()
    URL_EXPIRED = auto()
    FOREIGN_ACCOUNT = auto()
    REPEATED_PARAMETER = auto()


class AuthFailure(Exception):
    """A request that is not let in.

    ``scheme`` is the name of the authenticator that judged it ("" when none applied). ``string_to_sign`` and
    ``canonical_request`` are what the server computed, for the dialects that tell the caller; ``detail`` is the value
    at fault (the key id, the date, the header's name).
    """

    def __init__(
        self,
        reason: Reason,
        *,
        scheme: str = "",
        detail: str = "",
        string_to_sign: str = "",
        canonical_request: str = "",
    ) -> None:
        self.reason = reason
        self.scheme = scheme
        self.detail = detail
        self.string_to_sign = string_to_sign
        self.canonical_request = canonical_request
        super().__init__(f"{reason.name} {detail}".strip())
