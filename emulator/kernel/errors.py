"""The root of every error a client may see.

Each service has one class of errors and one table: name -> status and text. `raise MnsError("QueueNotExist")` reads the
table; an error that something catches by name has a class of its own. The gateway catches once, each dialect renders.
Anything that is not a `ServiceError` is a bug of the emulator and answered as that dialect's internal error.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, ClassVar, NamedTuple, Self

from emulator.kernel.phrases import Phrase


class ErrorRow(NamedTuple):
    """One documented error: HTTP status, text with named fields, and the code where it is not the error's name."""

    status: int
    text: str
    code: str = ""


class ServiceError(Exception):
    """An error a client may see: a documented code, its HTTP status and a message.

    *name* is a row of the service's ``table``; the keyword fields fill the row's text and stay readable as ``fields``;
    *message* replaces the text. A class named as a row, or with attributes of its own, is one error: it takes the
    message only.
    """

    table: ClassVar[Mapping[str, ErrorRow]] = {}
    code: str = "InternalServerError"
    http_status: int = 500
    template: str = "An internal error has occurred. Please retry."

    def __init__(self, name: str | None = None, message: str | None = None, /, **fields: Any) -> None:
        text = self.template
        row = self.table.get(name or "")
        if row is None:  # a class of one error: the argument is its message
            name, message = type(self).__name__, name
            row = self.table.get(name)
        if row is not None:
            self.code, self.http_status, text = row.code or name or "", row.status, row.text
        self.fields = fields
        self.message = message if message is not None else Phrase(text, **fields) if fields else text
        super().__init__(self.message)

    def advise(self, advice: str) -> Self:
        """Add a sentence of the emulator's own to the message and return itself."""
        own = self.message.rstrip(".")
        self.message = f"{own}. {advice}" if own else advice
        self.args = (self.message,)
        return self

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class Unavailable(ServiceError):
    """The call failed because another program keeps the state locked; it may be retried.

    Or it was under way when everything stood still: the text is `BEGUN_BEFORE` then.

    Source: the common error codes of Alibaba Cloud's OpenAPI; the text is the emulator's own.
    """

    code = "ServiceUnavailable"
    http_status = 503
    template = "Another program has locked the state of the emulator. Please retry."


BEGUN_BEFORE = "The emulator was reset, restored or restarted while the request was under way. Please retry."


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
    """Authentication refused a request.

    ``scheme`` is the name of the authenticator that judged it ("" when none applied). ``string_to_sign`` and
    ``canonical_request`` are what the server computed, for the dialects whose errors contain them; ``detail`` is the
    value at fault (the key id, the date, the header's name). ``advice`` is a sentence of the emulator's own, appended
    to the dialect's message.
    """

    def __init__(
        self,
        reason: Reason,
        *,
        scheme: str = "",
        detail: str = "",
        string_to_sign: str = "",
        canonical_request: str = "",
        advice: str = "",
    ) -> None:
        self.reason = reason
        self.scheme = scheme
        self.detail = detail
        self.string_to_sign = string_to_sign
        self.canonical_request = canonical_request
        self.advice = advice
        super().__init__(f"{reason.name} {detail}".strip())
