"""Why a request was not let in. Each service turns a reason into its own code and status."""

from enum import Enum, auto


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
