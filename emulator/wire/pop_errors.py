"""Errors of the gateway in front of the services spoken RPC or ROA (FnF, STS, mns-open, ...): codes, statuses, texts.

::

    PopError
    |-- MissingAction, InvalidActionNotFound, InvalidVersion, MissingParameter, InvalidParameter
    |-- MissingAccessKeyId, MissingSignature, MissingTimestamp, MissingSignatureNonce, MissingSecurityToken
    |-- InvalidTimeStampFormat, InvalidTimeStampExpired, SignatureNonceUsed, InvalidSignatureMethod
    |-- InvalidAccessKeyIdNotFound, InvalidAccessKeyIdInactive
    |-- InvalidSecurityTokenExpired, InvalidSecurityTokenMalformed, InvalidSecurityTokenMismatch
    |-- IncompleteSignature, SignatureDoesNotMatch, ContentMD5NotMatched
    |-- NoPermission, Throttling
    `-- RequestTooLarge, InternalError

Source: codes and statuses as the vendor's error centre lists them; texts as clients quote them. "assumed" marks the
rest.
"""

from emulator.kernel.errors import AuthFailure, Reason, ServiceError


class PopError(ServiceError):
    """An error answered in the RPC gateway's form."""


class InternalError(PopError):
    """Something went wrong inside the emulator."""

    code = "InternalError"
    http_status = 500
    template = "The request processing has failed due to some unknown error."


class MissingAction(PopError):
    """The request names no action."""

    code = "MissingAction"
    http_status = 400
    template = "Action is mandatory for this action."


class InvalidActionNotFound(PopError):
    """The service has no action of that name. Field: none."""

    code = "InvalidAction.NotFound"
    http_status = 404
    template = "Specified api is not found, please check your url and method."


class InvalidVersion(PopError):
    """No service speaks this version."""

    code = "InvalidVersion"
    http_status = 404
    template = "Specified parameter Version is not valid."


class MissingParameter(PopError):
    """A required parameter is absent. Field: ``name``."""

    code = "MissingParameter"
    http_status = 400
    template = "{name} is mandatory for this action."


class InvalidParameter(PopError):
    """A parameter's value cannot be used. Field: ``name``."""

    code = "InvalidParameter"
    http_status = 400
    template = "Specified parameter {name} is not valid."


class RequestTooLarge(PopError):
    """The body is larger than the service takes. Field: ``limit`` in bytes. Source: assumed."""

    code = "RequestEntityTooLarge"
    http_status = 413
    template = "The request body exceeds the limit of {limit} bytes."


class MissingAccessKeyId(PopError):
    """Nobody signed the request."""

    code = "MissingAccessKeyId"
    http_status = 400
    template = "AccessKeyId is mandatory for this action."


class MissingSignature(PopError):
    """A key id without a signature."""

    code = "MissingSignature"
    http_status = 400
    template = "Signature is mandatory for this action."


class MissingTimestamp(PopError):
    """The request carries no date."""

    code = "MissingTimestamp"
    http_status = 400
    template = "Timestamp is mandatory for this action."


class MissingSignatureNonce(PopError):
    """The scheme wants a nonce and there is none. Source: assumed."""

    code = "MissingSignatureNonce"
    http_status = 400
    template = "SignatureNonce is mandatory for this action."


class MissingSecurityToken(PopError):
    """A temporary key came without its token."""

    code = "MissingSecurityToken"
    http_status = 400
    template = "SecurityToken is mandatory for this action."


class InvalidTimeStampFormat(PopError):
    """The date cannot be read."""

    code = "InvalidTimeStamp.Format"
    http_status = 400
    template = "Specified time stamp or date value is not well formatted."


class InvalidTimeStampExpired(PopError):
    """The date is more than 15 minutes off."""

    code = "InvalidTimeStamp.Expired"
    http_status = 400
    template = "Specified time stamp or date value is expired."


class SignatureNonceUsed(PopError):
    """The nonce has been seen from this key."""

    code = "SignatureNonceUsed"
    http_status = 400
    template = "Specified signature nonce was used already."


class InvalidSignatureMethod(PopError):
    """The signature algorithm is not one of those verified here."""

    code = "InvalidSignatureMethod"
    http_status = 400
    template = "Specified signature method is not valid."


class InvalidAccessKeyIdNotFound(PopError):
    """Nobody has this key."""

    code = "InvalidAccessKeyId.NotFound"
    http_status = 404
    template = "Specified access key is not found."


class InvalidAccessKeyIdInactive(PopError):
    """The key has been switched off."""

    code = "InvalidAccessKeyId.Inactive"
    http_status = 400
    template = "Specified access key is disabled."


class InvalidSecurityTokenExpired(PopError):
    """The temporary key's time is over."""

    code = "InvalidSecurityToken.Expired"
    http_status = 400
    template = "Specified SecurityToken is expired."


class InvalidSecurityTokenMalformed(PopError):
    """The token is not one that STS hands out."""

    code = "InvalidSecurityToken.Malformed"
    http_status = 400
    template = "Specified SecurityToken is malformed."


class InvalidSecurityTokenMismatch(PopError):
    """The token belongs to another key, or to none because the key is a lasting one."""

    code = "InvalidSecurityToken.MismatchWithAccessKey"
    http_status = 400
    template = "Specified SecurityToken mismatch with the AccessKey."


class IncompleteSignature(PopError):
    """The Authorization header cannot be read or leaves a required header unsigned. Field: ``detail``."""

    code = "IncompleteSignature"
    http_status = 400
    template = "The request signature does not conform to Aliyun standards. {detail}"


class SignatureDoesNotMatch(PopError):
    """The signature is not the one computed here.

    aliyun-python-sdk-core splits this text at the first colon and compares the rest with its own string to sign, to
    tell a wrong secret from a wrong string; without a colon it crashes with IndexError. Hence no blank after it.
    Field: ``string_to_sign``.
    """

    code = "SignatureDoesNotMatch"
    http_status = 400
    template = "Specified signature is not matched with our calculation. server string to sign is:{string_to_sign}"


class ContentMD5NotMatched(PopError):
    """The digest in the headers is not that of the body. Source: the code is documented, the text assumed."""

    code = "ContentMD5NotMatched"
    http_status = 400
    template = "Specified content digest is not matched with the request body."


class NoPermission(PopError):
    """The caller may not do this."""

    code = "NoPermission"
    http_status = 403
    template = "You are not authorized to do this action. You should be authorized by RAM."


class Throttling(PopError):
    """Too many requests for now."""

    code = "Throttling"
    http_status = 400
    template = "Request was denied due to request throttling."


_BY_REASON: dict[Reason, type[PopError]] = {
    Reason.MISSING_AUTHORIZATION: MissingAccessKeyId,
    Reason.MALFORMED_AUTHORIZATION: IncompleteSignature,
    Reason.MISSING_KEY_ID: MissingAccessKeyId,
    Reason.MISSING_SIGNATURE: MissingSignature,
    Reason.MISSING_DATE: MissingTimestamp,
    Reason.BAD_DATE: InvalidTimeStampFormat,
    Reason.SKEWED_DATE: InvalidTimeStampExpired,
    Reason.MISSING_NONCE: MissingSignatureNonce,
    Reason.NONCE_USED: SignatureNonceUsed,
    Reason.UNSUPPORTED_METHOD: InvalidSignatureMethod,
    Reason.UNKNOWN_KEY: InvalidAccessKeyIdNotFound,
    Reason.INACTIVE_KEY: InvalidAccessKeyIdInactive,
    Reason.MISSING_TOKEN: MissingSecurityToken,
    Reason.BAD_TOKEN: InvalidSecurityTokenMalformed,
    Reason.TOKEN_OF_ANOTHER_KEY: InvalidSecurityTokenMismatch,
    Reason.TOKEN_EXPIRED: InvalidSecurityTokenExpired,
    Reason.UNSIGNED_HEADER: IncompleteSignature,
    Reason.BODY_DIFFERS: ContentMD5NotMatched,
    Reason.SIGNATURE_DIFFERS: SignatureDoesNotMatch,
    Reason.URL_EXPIRED: InvalidTimeStampExpired,
    Reason.FOREIGN_ACCOUNT: NoPermission,
    Reason.REPEATED_PARAMETER: InvalidParameter,
}


def pop_auth_error(failure: AuthFailure) -> PopError:
    """Turn a reason into the gateway's own code, status and text; a wrong signature shows what was signed here."""
    kind = _BY_REASON[failure.reason]
    if kind is SignatureDoesNotMatch:
        shown = failure.string_to_sign
        if failure.canonical_request:
            shown += f", server side canonicalrequest is:{failure.canonical_request}"
        return SignatureDoesNotMatch(string_to_sign=shown)
    return kind(name=failure.detail, detail=_explained(failure))


def _explained(failure: AuthFailure) -> str:
    if failure.reason is Reason.UNSIGNED_HEADER:
        return f"The header {failure.detail} is not signed."
    return f"The Authorization header is not valid: {failure.detail}." if failure.detail else ""
