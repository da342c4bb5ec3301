"""The errors of Function Compute: one table of names, statuses and texts.

`raise FcError("VersionNotFound", version=3, owner=scope)` reads the table. Errors that something catches by name, or
whose text depends on a field, have a class of their own. Failures of user code are no errors here: they are answers
with status 200 and a header.

Source: the service's error-code pages and live samples; statuses and codes marked "assumed" are not documented.
"""

from typing import Any, assert_never

from emulator.kernel.errors import AuthFailure, ErrorRow, Reason, ServiceError
from emulator.kernel.instrumentation import Dialect

ERRORS: dict[str, ErrorRow] = {
    # A value is missing, malformed or out of range; the message says which and what is allowed
    "InvalidArgument": ErrorRow(400, "invalid argument"),
    # A header the request cannot do without
    "MissingRequiredHeader": ErrorRow(400, "required HTTP header {header} was not specified"),
    # No operation has this method and path
    "PathNotSupported": ErrorRow(400, "'{method}' against '{path}' is not supported"),
    # The operation exists in the cloud and is not part of the emulator; the code is the emulator's own
    "OperationNotServed": ErrorRow(400, "the operation {operation} is not served by this emulator"),
    # A payload over the limit
    "EntityTooLarge": ErrorRow(400, "payload size exceeds maximum allowed size ({limit} bytes)"),
    # Nothing has changed since the last publish. Source: texts matched by deployment tools; status assumed
    "VersionPublishError": ErrorRow(
        400,
        "can not publish version for {owner}, detail: 'No changes were made since last publish'",
    ),
    # A nonce that has been seen within its life
    "SignatureNonceUsed": ErrorRow(400, "Specified signature nonce was used already."),
    # Scaling by a metric of instances that the function does not report
    "InstanceMetricsRequired": ErrorRow(400, "scaling by {metric} needs logConfig.enableInstanceMetrics"),
    # There are as many resources of a kind as there may be. Source: which counts are answered with it is assumed
    "LimitExceeded": ErrorRow(400, ""),
    # The caller may not do this
    "AccessDenied": ErrorRow(403, "access denied"),
    # The function's invocation is switched off; queued calls are tried again. Source: assumed
    "InvocationDisabled": ErrorRow(403, "invocation of function '{function}' is disabled: {reason}", "AccessDenied"),
    # The call was running when the function's invocation was switched off. Source: assumed
    "InvocationAborted": ErrorRow(403, "invocation of function '{function}' was aborted: {reason}", "AccessDenied"),
    # The signature is not the one the key gives
    "SignatureNotMatch": ErrorRow(
        403,
        "The request signature we calculated does not match the "
        "signature you provided. Check your access key and signing method",
    ),
    # No such key, or one that has been switched off
    "InvalidAccessKeyID": ErrorRow(403, "invalid access key ID '{key_id}'"),
    # The request's date is too far off
    "RequestTimeTooSkewed": ErrorRow(
        403,
        "the difference between the request time '{date}' and the current time '{now}' is too large",
    ),
    # A temporary key without its token, or with another one's. Source: assumed
    "InvalidSecurityToken": ErrorRow(403, "the security token is missing, malformed or belongs to another key"),
    # A temporary key past its end. Source: assumed
    "SecurityTokenExpired": ErrorRow(403, "the security token has expired"),
    # No service of this name
    "ServiceNotFound": ErrorRow(404, "service '{service}' does not exist"),
    # No function of this name in the service, or outside any service when ``service`` is empty
    "FunctionNotFound": ErrorRow(404, "function '{function}' does not exist{place}"),
    # No such version; ``owner`` reads ``service 'x'`` or ``function 'x'``
    "VersionNotFound": ErrorRow(404, "version '{version}' of {owner} does not exist"),
    # No such alias; ``owner`` reads ``service 'x'`` or ``function 'x'``
    "AliasNotFound": ErrorRow(404, "alias '{alias}' of {owner} does not exist"),
    # The function has no trigger of this name, or none for HTTP requests. Source: code known, text assumed
    "TriggerNotFound": ErrorRow(404, "trigger '{trigger}' does not exist in function '{function}'"),
    # No custom domain of this name, or none of its routes matches. Source: assumed for routes
    "DomainNameNotFound": ErrorRow(404, "domain name '{domain}' does not exist"),
    # No layer of this name. Source: code assumed
    "LayerNotFound": ErrorRow(404, "layer '{layer}' does not exist"),
    # The layer has no such version. Source: code assumed
    "LayerVersionNotFound": ErrorRow(404, "version '{version}' of layer '{layer}' does not exist"),
    # Nothing is configured for asynchronous calls through this qualifier. Source: code observed, status assumed
    "AsyncConfigNotExists": ErrorRow(
        404,
        "async config of function '{function}' with qualifier '{qualifier}' does not exist",
    ),
    # No task of this id. Source: assumed
    "StatefulAsyncInvocationNotFound": ErrorRow(404, "async task '{task}' of function '{function}' does not exist"),
    # The function has no limit of its own, neither of instances (2.0) nor of concurrency (3.0)
    "OnDemandConfigNotFound": ErrorRow(404, "on-demand config of '{resource}' does not exist"),
    # No instances are provisioned. Source: assumed
    "ProvisionConfigNotFound": ErrorRow(404, "provision config of '{resource}' does not exist"),
    # No scaling is configured. Source: assumed
    "ScalingConfigNotFound": ErrorRow(404, "scaling config of '{resource}' does not exist"),
    # The VPC is not bound. Source: assumed
    "VpcBindingNotFound": ErrorRow(404, "VPC binding '{vpc}' does not exist"),
    # The event source is not registered. Source: assumed
    "EventSourceNotFound": ErrorRow(404, "event source '{arn}' does not exist"),
    # The function has no such instance, or has it no longer. Source: assumed
    "InstanceNotFound": ErrorRow(404, "instance '{instance}' does not exist"),
    # The function has no such session. Source: assumed
    "SessionNotFound": ErrorRow(404, "session '{session}' does not exist"),
    # A session that lives has this id. Source: assumed
    "SessionAlreadyExists": ErrorRow(409, "session '{session}' already exists"),
    # A session that is paused takes no calls and is not changed. Source: assumed
    "SessionNotActive": ErrorRow(409, "session '{session}' is {status}"),
    # Only a paused session is resumed. Source: assumed
    "SessionNotPaused": ErrorRow(409, "session '{session}' is {status}, not Paused"),
    # The function has no such snapshot. Source: assumed
    "SnapshotNotFound": ErrorRow(404, "snapshot '{snapshot}' does not exist"),
    # The name is taken
    "ServiceAlreadyExists": ErrorRow(409, "service '{service}' already exists"),
    # The name is taken, by a function of the API or of the functions folder
    "FunctionAlreadyExists": ErrorRow(409, "function '{function}' already exists{place}"),
    # The name is taken
    "AliasAlreadyExists": ErrorRow(409, "alias '{alias}' of {owner} already exists"),
    # The name is taken, or the qualifier has its HTTP trigger already
    "TriggerAlreadyExists": ErrorRow(409, "trigger '{trigger}' already exists in function '{function}'"),
    # The domain name is taken
    "DomainNameAlreadyExists": ErrorRow(409, "domain name '{domain}' already exists"),
    # A service that still has functions, versions or aliases is not deleted
    "ServiceNotEmpty": ErrorRow(409, "service '{service}' has {remains}"),
    # A function that still has triggers is not deleted
    "FunctionNotEmpty": ErrorRow(409, "function '{function}' has active triggers"),
    # A version that an alias points to is not deleted. Source: status documented, code assumed
    "VersionInUse": ErrorRow(409, "version '{version}' of {owner} is used by alias '{alias}'"),
    # A task of this id has not ended yet. Source: status and code assumed
    "StatefulAsyncInvocationAlreadyExists": ErrorRow(
        409,
        "async task '{task}' of function '{function}' already exists",
    ),
    # Something with provisioned instances is not deleted. Source: code from deployment tools, status assumed
    "ProvisionConfigExist": ErrorRow(409, "'{resource}' has a provision config"),
    # Something with a scaling configuration is not deleted. Source: code from deployment tools, status assumed
    "ResidentScalingConfigExists": ErrorRow(409, "'{resource}' has a scaling config"),
    # Another request changed the resource at the same moment
    "ConcurrentUpdateError": ErrorRow(409, "the resource is being updated by another request"),
    # If-Match names a state the resource is no longer in
    "PreconditionFailed": ErrorRow(412, "the resource being modified has been changed"),
    # A custom runtime that ended before it could serve
    "CAExited": ErrorRow(412, "The function either cannot be started or exited. {detail}"),
    # A custom runtime without the program it should start
    "CAFileNotFound": ErrorRow(412, "The function cannot be started. {detail}."),
    # The concurrency limit is reached
    "ResourceExhausted": ErrorRow(429, "the concurrency limit of the function is reached"),
    # There is none left of a thing that the service hands out. Source: code assumed
    "OutOfStock": ErrorRow(429, "no {wanted} is available", "ResourceExhausted"),
    # The caller went away before the answer
    "ClientClosedRequest": ErrorRow(499, "the client closed the request"),
    # A fault of the service itself
    "InternalServerError": ErrorRow(500, "an internal error has occurred. Please retry."),
    # A function answered an HTTP request with what cannot be passed on
    "BadResponse": ErrorRow(502, "the response of the function is invalid: {reason}"),
    # No instance could be started now
    "ResourceThrottled": ErrorRow(503, "the instance limit is reached"),
}

RETRYABLE = frozenset(
    {"InvocationDisabled", "ConcurrentUpdateError", "ResourceExhausted", "InternalServerError", "ResourceThrottled"}
)
"""Errors after which the same call may succeed later."""

GONE = frozenset({"ServiceNotFound", "FunctionNotFound", "VersionNotFound", "AliasNotFound"})
"""Codes of errors that say that there is nothing to call."""


class FcError(ServiceError):
    """An error Function Compute answers; *name* is a row of `ERRORS`.

    ``retryable`` is whether the same call may succeed later.
    """

    table = ERRORS

    def __init__(self, name: str | None = None, message: str | None = None, /, **fields: Any) -> None:
        super().__init__(name, message, **fields)
        self.retryable = name in RETRYABLE


class InvalidArgument(FcError):
    """A value is missing, malformed or out of range; the message says which and what is allowed."""

    def __init__(self, message: str | None = None, /, **fields: Any) -> None:
        super().__init__("InvalidArgument", message, **fields)


class EntityTooLarge(FcError):
    """A payload over the limit."""

    def __init__(self, *, limit: int) -> None:
        super().__init__("EntityTooLarge", limit=limit)


class BadResponse(FcError):
    """A function answered an HTTP request with what cannot be passed on."""

    def __init__(self, *, reason: str) -> None:
        super().__init__("BadResponse", reason=reason)


def function_not_found(function: str, service: str = "") -> FcError:
    """Return the error for a function that does not exist in *service*, or outside any service when that is empty."""
    return FcError("FunctionNotFound", function=function, service=service, place=_place(service))


def function_exists(function: str, service: str = "") -> FcError:
    """Return the error for a function name that is taken."""
    return FcError("FunctionAlreadyExists", function=function, service=service, place=_place(service))


def _place(service: str) -> str:
    return f" in service '{service}'" if service else ""


def auth_error(failure: AuthFailure, *, date_given: bool, now: str, authorization: str = "") -> FcError:  # noqa: C901 - an arm for each reason
    """Turn an authentication reason into this service's code and text.

    *date_given* is whether the request has any date header: a missing date is reported before everything else.
    *now* is the server's time as an HTTP date. *authorization* is the header, which the caller gets to see again when
    it cannot be read.

    Source: vendor error table for the texts of date, authorization, key and signature; token codes are assumed.
    """
    match failure.reason:
        case Reason.MISSING_AUTHORIZATION | Reason.MALFORMED_AUTHORIZATION | Reason.MISSING_SIGNATURE if not date_given:
            return FcError("MissingRequiredHeader", header="Date")
        case Reason.MISSING_DATE:
            return FcError("MissingRequiredHeader", header="Date")
        case Reason.MISSING_NONCE:
            return FcError("MissingRequiredHeader", header="x-acs-signature-nonce")
        case Reason.UNKNOWN_KEY | Reason.INACTIVE_KEY:
            return FcError("InvalidAccessKeyID", key_id=failure.detail)
        case Reason.SIGNATURE_DIFFERS | Reason.BODY_DIFFERS | Reason.UNSIGNED_HEADER:
            return FcError("SignatureNotMatch")
        case Reason.NONCE_USED:
            return FcError("SignatureNonceUsed")
        case Reason.BAD_DATE | Reason.SKEWED_DATE:
            return FcError("RequestTimeTooSkewed", date=failure.detail, now=now)
        case Reason.URL_EXPIRED:
            return FcError("AccessDenied", "the signed URL has expired")
        case Reason.MISSING_TOKEN | Reason.BAD_TOKEN | Reason.TOKEN_OF_ANOTHER_KEY:
            return FcError("InvalidSecurityToken")
        case Reason.TOKEN_EXPIRED:
            return FcError("SecurityTokenExpired")
        case Reason.FOREIGN_ACCOUNT:
            return FcError("AccessDenied", "The service or function doesn't belong to you")
        case Reason.MISSING_AUTHORIZATION | Reason.MALFORMED_AUTHORIZATION:
            return InvalidArgument(f"invalid authorization '{authorization}'")
        case Reason.MISSING_SIGNATURE | Reason.MISSING_KEY_ID | Reason.UNSUPPORTED_METHOD | Reason.REPEATED_PARAMETER:
            return InvalidArgument(f"invalid authorization '{failure.detail}'")
        case _:
            assert_never(failure.reason)


DIALECT = Dialect(FcError, "ResourceThrottled")
"""The error class and the code for throttled callers, which injected faults raise."""
