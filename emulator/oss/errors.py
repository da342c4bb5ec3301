"""Errors of the object store: codes, statuses and texts.

::

    OssError
    |-- InternalError, OperationNotSupported, EntityTooLarge
    |-- AccessDenied, InvalidArgument, RequestTimeTooSkewed, InvalidAccessKeyId, SignatureDoesNotMatch
    |-- InvalidSecurityToken, SecurityTokenExpired
    `-- InvalidDigest

``ec`` is the finer code that goes into the element EC and a header. Source: OSS "Common error codes"; "assumed" marks
the rest.
"""

from typing import ClassVar

from emulator.auth.failures import AuthFailure, Reason
from emulator.kernel.errors import ServiceError


class OssError(ServiceError):
    """An error answered as the XML document of the object store."""

    ec: ClassVar[str] = "0000-00000001"


class InternalError(OssError):
    """Something went wrong inside the emulator."""

    code = "InternalError"
    http_status = 500
    template = "We encountered an internal error. Please try again."


class OperationNotSupported(OssError):
    """An operation this version of the emulator does not serve. Field: ``operation``. Source: text assumed."""

    code = "OperationNotSupported"
    http_status = 400
    template = "This version of the emulator does not serve {operation} on objects yet."


class EntityTooLarge(OssError):
    """The object is larger than is taken here. Field: ``limit`` in bytes."""

    code = "EntityTooLarge"
    http_status = 400
    template = "Your proposed upload exceeds the maximum allowed size of {limit} bytes."


class AccessDenied(OssError):
    """No signature, no date, or a URL whose time is over; the message tells which."""

    code = "AccessDenied"
    http_status = 403
    template = "You have no right to access this object because of bucket acl."
    ec = "0003-00000001"


class InvalidArgument(OssError):
    """The Authorization header, or a signed URL's parameters, cannot be read. Field: ``detail``."""

    code = "InvalidArgument"
    http_status = 400
    template = "Authorization is invalid: {detail}."
    ec = "0002-00000224"


class RequestTimeTooSkewed(OssError):
    """The date is more than 15 minutes off."""

    code = "RequestTimeTooSkewed"
    http_status = 403
    template = "The difference between the request time and the current time is too large."
    ec = "0002-00000504"


class InvalidAccessKeyId(OssError):
    """Nobody has this key, or a temporary one came without its token."""

    code = "InvalidAccessKeyId"
    http_status = 403
    template = "The OSS Access Key Id you provided does not exist in our records."
    ec = "0002-00000902"


class SignatureDoesNotMatch(OssError):
    """The signature is not the one computed here.

    Fields: ``key_id``, ``signature``, ``string_to_sign``, ``canonical_request`` ("" where the scheme has none); the
    answer shows them all.
    """

    code = "SignatureDoesNotMatch"
    http_status = 403
    template = (
        "The request signature we calculated does not match the signature you provided. "
        "Check your key and signing method."
    )
    ec = "0002-00000040"


class InvalidSecurityToken(OssError):
    """The token is not the key's."""

    code = "InvalidSecurityToken"
    http_status = 403
    template = "The security token you provided is invalid."


class SecurityTokenExpired(OssError):
    """The temporary key's time is over."""

    code = "SecurityTokenExpired"
    http_status = 403
    template = "The security token you provided has expired."
    ec = "0002-00000069"


class InvalidDigest(OssError):
    """The stated digest is not the body's."""

    code = "InvalidDigest"
    http_status = 400
    template = "The Content-MD5 you specified was invalid."


_BY_REASON: dict[Reason, type[OssError]] = {
    Reason.SKEWED_DATE: RequestTimeTooSkewed,
    Reason.UNKNOWN_KEY: InvalidAccessKeyId,
    Reason.INACTIVE_KEY: InvalidAccessKeyId,
    Reason.MISSING_TOKEN: InvalidAccessKeyId,
    Reason.BAD_TOKEN: InvalidSecurityToken,
    Reason.TOKEN_OF_ANOTHER_KEY: InvalidSecurityToken,
    Reason.TOKEN_EXPIRED: SecurityTokenExpired,
    Reason.BODY_DIFFERS: InvalidDigest,
}

_DENIED: dict[Reason, str] = {
    Reason.MISSING_AUTHORIZATION: "Anonymous access is forbidden for this operation.",
    Reason.MISSING_SIGNATURE: "The request carries no signature.",
    Reason.MISSING_DATE: "OSS authentication requires a valid Date.",
    Reason.BAD_DATE: "OSS authentication requires a valid Date.",
    Reason.URL_EXPIRED: "Request has expired.",
    Reason.FOREIGN_ACCOUNT: "The bucket you access does not belong to you.",
}


def oss_auth_error(failure: AuthFailure, key_id: str, signature: str) -> OssError:
    """Turn a reason into this service's code; *key_id* and *signature* are what the request carried, to be shown."""
    if failure.reason is Reason.SIGNATURE_DIFFERS:
        return SignatureDoesNotMatch(
            key_id=key_id,
            signature=signature,
            string_to_sign=failure.string_to_sign,
            canonical_request=failure.canonical_request,
        )
    if failure.reason in _DENIED:
        return AccessDenied(_DENIED[failure.reason])
    return _BY_REASON.get(failure.reason, InvalidArgument)(detail=failure.detail)
