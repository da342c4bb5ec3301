"""Errors of the gateway in front of the services spoken RPC or ROA (FnF, STS, RAM, mns-open, ...): one table.

Source: codes and statuses as the vendor's error centre lists them; texts as clients quote them. "assumed" marks the
rest.
"""

from collections.abc import Mapping
from typing import Any

from emulator.kernel.errors import AuthFailure, ErrorRow, Reason, ServiceError

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

    def __init__(self, message: str | None = None, /, **fields: Any) -> None:
        super().__init__("InvalidParameter", message, **fields)


class MissingParameter(PopError):
    """A required parameter is absent. Field: ``name``."""

    def __init__(self, message: str | None = None, /, **fields: Any) -> None:
        super().__init__("MissingParameter", message, **fields)


_BY_REASON: Mapping[Reason, str] = {
    Reason.MISSING_AUTHORIZATION: "MissingAccessKeyId",
    Reason.MALFORMED_AUTHORIZATION: "IncompleteSignature",
    Reason.MISSING_KEY_ID: "MissingAccessKeyId",
    Reason.MISSING_SIGNATURE: "MissingSignature",
    Reason.MISSING_DATE: "MissingTimestamp",
    Reason.BAD_DATE: "InvalidTimeStamp.Format",
    Reason.SKEWED_DATE: "InvalidTimeStamp.Expired",
    Reason.MISSING_NONCE: "MissingSignatureNonce",
    Reason.NONCE_USED: "SignatureNonceUsed",
    Reason.UNSUPPORTED_METHOD: "InvalidSignatureMethod",
    Reason.UNKNOWN_KEY: "InvalidAccessKeyId.NotFound",
    Reason.INACTIVE_KEY: "InvalidAccessKeyId.Inactive",
    Reason.MISSING_TOKEN: "MissingSecurityToken",
    Reason.BAD_TOKEN: "InvalidSecurityToken.Malformed",
    Reason.TOKEN_OF_ANOTHER_KEY: "InvalidSecurityToken.MismatchWithAccessKey",
    Reason.TOKEN_EXPIRED: "InvalidSecurityToken.Expired",
    Reason.UNSIGNED_HEADER: "IncompleteSignature",
    Reason.BODY_DIFFERS: "ContentMD5NotMatched",
    Reason.SIGNATURE_DIFFERS: "SignatureDoesNotMatch",
    Reason.URL_EXPIRED: "InvalidTimeStamp.Expired",
    Reason.FOREIGN_ACCOUNT: "NoPermission",
    Reason.REPEATED_PARAMETER: "InvalidParameter",
}


def pop_auth_error(failure: AuthFailure) -> PopError:
    """Turn a reason into the gateway's own code, status and text; a wrong signature shows what was signed here."""
    shown = failure.string_to_sign
    if failure.canonical_request:
        shown += f", server side canonicalrequest is:{failure.canonical_request}"
    return PopError(_BY_REASON[failure.reason], name=failure.detail, detail=_explanation(failure), string_to_sign=shown)


def _explanation(failure: AuthFailure) -> str:
    if failure.reason is Reason.UNSIGNED_HEADER:
        return f"The header {failure.detail} is not signed."
    return f"The Authorization header is not valid: {failure.detail}." if failure.detail else ""
