"""What Function Compute refuses, one class per documented code.

::

    FcError
    |-- 400  InvalidArgument, MissingRequiredHeader, PathNotSupported, EntityTooLarge, VersionPublishError,
    |        OperationNotServed, SignatureNonceUsed, InstanceMetricsRequired, LimitExceeded
    |-- 403  AccessDenied, SignatureNotMatch, InvalidAccessKeyID, RequestTimeTooSkewed, InvalidSecurityToken,
    |        SecurityTokenExpired, InvocationDisabled and InvocationAborted (with the code AccessDenied)
    |-- 404  ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, TriggerNotFound, DomainNameNotFound,
    |        LayerNotFound, LayerVersionNotFound, AsyncConfigNotExists, StatefulAsyncInvocationNotFound,
    |        OnDemandConfigNotFound, ProvisionConfigNotFound, ScalingConfigNotFound, VpcBindingNotFound,
    |        EventSourceNotFound, InstanceNotFound, SessionNotFound, SnapshotNotFound
    |-- 409  ServiceAlreadyExists, FunctionAlreadyExists, AliasAlreadyExists, TriggerAlreadyExists,
    |        DomainNameAlreadyExists, ServiceNotEmpty, FunctionNotEmpty, VersionInUse, ConcurrentUpdateError,
    |        StatefulAsyncInvocationAlreadyExists, ProvisionConfigExist, ResidentScalingConfigExists
    |-- 412  PreconditionFailed, CAExited, CAFileNotFound
    |-- 429  ResourceExhausted, OutOfStock (with the code ResourceExhausted)
    |-- 499  ClientClosedRequest
    |-- 500  InternalServerError
    |-- 502  BadResponse
    `-- 503  ResourceThrottled

Failures of user code are no errors here: they are answers with status 200 and a header.

Source: the service's error-code pages and live samples; statuses marked "assumed" are not documented.
"""

from typing import ClassVar

from emulator.kernel.errors import AuthFailure, Reason, ServiceError


class FcError(ServiceError):
    """An error Function Compute answers. ``retryable`` tells whether the same call may succeed later."""

    retryable: ClassVar[bool] = False


class InvalidArgument(FcError):
    """A value is missing, malformed or out of range; the message says which and what is allowed."""

    code = "InvalidArgument"
    http_status = 400
    template = "invalid argument"


class MissingRequiredHeader(FcError):
    """A header the request cannot do without."""

    code = "MissingRequiredHeader"
    http_status = 400
    template = "required HTTP header {header} was not specified"


class PathNotSupported(FcError):
    """No operation has this method and path."""

    code = "PathNotSupported"
    http_status = 400
    template = "'{method}' against '{path}' is not supported"


class OperationNotServed(FcError):
    """The operation exists in the cloud and is not part of the emulator; the code is the emulator's own."""

    code = "OperationNotServed"
    http_status = 400
    template = "the operation {operation} is not served by this emulator"


class EntityTooLarge(FcError):
    """A payload over the limit."""

    code = "EntityTooLarge"
    http_status = 400
    template = "payload size exceeds maximum allowed size ({limit} bytes)"


class VersionPublishError(FcError):
    """Nothing has changed since the last publish. Source: texts matched by deployment tools; status assumed."""

    code = "VersionPublishError"
    http_status = 400
    template = "can not publish version for {owner}, detail: 'No changes were made since last publish'"


class SignatureNonceUsed(FcError):
    """A nonce that has been seen within its life."""

    code = "SignatureNonceUsed"
    http_status = 400
    template = "Specified signature nonce was used already."


class InstanceMetricsRequired(FcError):
    """Scaling by a metric of instances that the function does not report."""

    code = "InstanceMetricsRequired"
    http_status = 400
    template = "scaling by {metric} needs logConfig.enableInstanceMetrics"


class AccessDenied(FcError):
    """The caller may not do this."""

    code = "AccessDenied"
    http_status = 403
    template = "access denied"


class InvocationDisabled(AccessDenied):
    """Somebody has switched off the function's invocation; queued calls are tried again. Source: assumed."""

    template = "invocation of function '{function}' is disabled: {reason}"
    retryable = True


class InvocationAborted(AccessDenied):
    """The call was running when somebody switched off the function's invocation. Source: assumed."""

    template = "invocation of function '{function}' was aborted: {reason}"


class SignatureNotMatch(FcError):
    """The signature is not the one the key gives."""

    code = "SignatureNotMatch"
    http_status = 403
    template = (
        "The request signature we calculated does not match the signature you provided. "
        "Check your access key and signing method"
    )


class InvalidAccessKeyID(FcError):
    """No such key, or one that has been switched off."""

    code = "InvalidAccessKeyID"
    http_status = 403
    template = "invalid access key ID '{key_id}'"


class RequestTimeTooSkewed(FcError):
    """The request's date is too far off."""

    code = "RequestTimeTooSkewed"
    http_status = 403
    template = "the difference between the request time '{date}' and the current time '{now}' is too large"


class InvalidSecurityToken(FcError):
    """A temporary key without its token, or with another one's. Source: assumed."""

    code = "InvalidSecurityToken"
    http_status = 403
    template = "the security token is missing, malformed or belongs to another key"


class SecurityTokenExpired(FcError):
    """A temporary key past its end. Source: assumed."""

    code = "SecurityTokenExpired"
    http_status = 403
    template = "the security token has expired"


class ServiceNotFound(FcError):
    """No service of this name."""

    code = "ServiceNotFound"
    http_status = 404
    template = "service '{service}' does not exist"


class FunctionNotFound(FcError):
    """No function of this name in the service, or outside any service when ``service`` is empty."""

    code = "FunctionNotFound"
    http_status = 404

    def __init__(self, *, function: str, service: str = "") -> None:
        place = f" in service '{service}'" if service else ""
        super().__init__(f"function '{function}' does not exist{place}", function=function, service=service)


class VersionNotFound(FcError):
    """No such version; ``owner`` reads ``service 'x'`` or ``function 'x'``."""

    code = "VersionNotFound"
    http_status = 404
    template = "version '{version}' of {owner} does not exist"


class AliasNotFound(FcError):
    """No such alias; ``owner`` reads ``service 'x'`` or ``function 'x'``."""

    code = "AliasNotFound"
    http_status = 404
    template = "alias '{alias}' of {owner} does not exist"


class TriggerNotFound(FcError):
    """The function has no trigger of this name, or none for HTTP requests. Source: code known, text assumed."""

    code = "TriggerNotFound"
    http_status = 404
    template = "trigger '{trigger}' does not exist in function '{function}'"


class DomainNameNotFound(FcError):
    """No custom domain of this name, or none of its routes matches. Source: assumed for routes."""

    code = "DomainNameNotFound"
    http_status = 404
    template = "domain name '{domain}' does not exist"


class LayerNotFound(FcError):
    """No layer of this name. Source: code assumed."""

    code = "LayerNotFound"
    http_status = 404
    template = "layer '{layer}' does not exist"


class LayerVersionNotFound(FcError):
    """The layer has no such version. Source: code assumed."""

    code = "LayerVersionNotFound"
    http_status = 404
    template = "version '{version}' of layer '{layer}' does not exist"


class AsyncConfigNotExists(FcError):
    """Nothing is configured for asynchronous calls through this qualifier. Source: code observed, status assumed."""

    code = "AsyncConfigNotExists"
    http_status = 404
    template = "async config of function '{function}' with qualifier '{qualifier}' does not exist"


class StatefulAsyncInvocationNotFound(FcError):
    """No task of this id. Source: assumed."""

    code = "StatefulAsyncInvocationNotFound"
    http_status = 404
    template = "async task '{task}' of function '{function}' does not exist"


class OnDemandConfigNotFound(FcError):
    """The function has no limit of its own, neither of instances (2.0) nor of concurrency (3.0)."""

    code = "OnDemandConfigNotFound"
    http_status = 404
    template = "on-demand config of '{resource}' does not exist"


class ProvisionConfigNotFound(FcError):
    """No instances are provisioned. Source: assumed."""

    code = "ProvisionConfigNotFound"
    http_status = 404
    template = "provision config of '{resource}' does not exist"


class ScalingConfigNotFound(FcError):
    """No scaling is configured. Source: assumed."""

    code = "ScalingConfigNotFound"
    http_status = 404
    template = "scaling config of '{resource}' does not exist"


class VpcBindingNotFound(FcError):
    """The VPC is not bound. Source: assumed."""

    code = "VpcBindingNotFound"
    http_status = 404
    template = "VPC binding '{vpc}' does not exist"


class EventSourceNotFound(FcError):
    """The event source is not registered. Source: assumed."""

    code = "EventSourceNotFound"
    http_status = 404
    template = "event source '{arn}' does not exist"


class InstanceNotFound(FcError):
    """The function has no such instance, or has it no longer. Source: assumed."""

    code = "InstanceNotFound"
    http_status = 404
    template = "instance '{instance}' does not exist"


class SessionNotFound(FcError):
    """The function has no such session. Source: assumed."""

    code = "SessionNotFound"
    http_status = 404
    template = "session '{session}' does not exist"


class SnapshotNotFound(FcError):
    """The function has no such snapshot. Source: assumed."""

    code = "SnapshotNotFound"
    http_status = 404
    template = "snapshot '{snapshot}' does not exist"


class ServiceAlreadyExists(FcError):
    """The name is taken."""

    code = "ServiceAlreadyExists"
    http_status = 409
    template = "service '{service}' already exists"


class FunctionAlreadyExists(FcError):
    """The name is taken, by a function of the API or of the functions folder."""

    code = "FunctionAlreadyExists"
    http_status = 409

    def __init__(self, *, function: str, service: str = "") -> None:
        place = f" in service '{service}'" if service else ""
        super().__init__(f"function '{function}' already exists{place}", function=function, service=service)


class AliasAlreadyExists(FcError):
    """The name is taken."""

    code = "AliasAlreadyExists"
    http_status = 409
    template = "alias '{alias}' of {owner} already exists"


class LimitExceeded(FcError):
    """There are as many resources of a kind as there may be. Source: which counts are answered with it is assumed."""

    code = "LimitExceeded"
    http_status = 400


class TriggerAlreadyExists(FcError):
    """The name is taken, or the qualifier has its HTTP trigger already."""

    code = "TriggerAlreadyExists"
    http_status = 409
    template = "trigger '{trigger}' already exists in function '{function}'"


class DomainNameAlreadyExists(FcError):
    """The domain name is taken."""

    code = "DomainNameAlreadyExists"
    http_status = 409
    template = "domain name '{domain}' already exists"


class ServiceNotEmpty(FcError):
    """A service that still has functions, versions or aliases is not deleted."""

    code = "ServiceNotEmpty"
    http_status = 409
    template = "service '{service}' has {remains}"


class FunctionNotEmpty(FcError):
    """A function that still has triggers is not deleted."""

    code = "FunctionNotEmpty"
    http_status = 409
    template = "function '{function}' has active triggers"


class VersionInUse(FcError):
    """A version that an alias points to is not deleted. Source: status documented, code assumed."""

    code = "VersionInUse"
    http_status = 409
    template = "version '{version}' of {owner} is used by alias '{alias}'"


class StatefulAsyncInvocationAlreadyExists(FcError):
    """A task of this id has not ended yet. Source: status and code assumed."""

    code = "StatefulAsyncInvocationAlreadyExists"
    http_status = 409
    template = "async task '{task}' of function '{function}' already exists"


class ProvisionConfigExist(FcError):
    """Something with provisioned instances is not deleted. Source: code from deployment tools, status assumed."""

    code = "ProvisionConfigExist"
    http_status = 409
    template = "'{resource}' has a provision config"


class ResidentScalingConfigExists(FcError):
    """Something with a scaling configuration is not deleted. Source: code from deployment tools, status assumed."""

    code = "ResidentScalingConfigExists"
    http_status = 409
    template = "'{resource}' has a scaling config"


class ConcurrentUpdateError(FcError):
    """Somebody else changed the resource at the same moment."""

    code = "ConcurrentUpdateError"
    http_status = 409
    template = "the resource is being updated by another request"
    retryable = True


class PreconditionFailed(FcError):
    """If-Match names a state the resource is no longer in."""

    code = "PreconditionFailed"
    http_status = 412
    template = "the resource being modified has been changed"


class CAExited(FcError):
    """A custom runtime that ended before it could serve."""

    code = "CAExited"
    http_status = 412
    template = "The function either cannot be started or exited. {detail}."


class CAFileNotFound(FcError):
    """A custom runtime without the program it should start."""

    code = "CAFileNotFound"
    http_status = 412
    template = "The function cannot be started. {detail}."


class ResourceExhausted(FcError):
    """The concurrency limit is reached."""

    code = "ResourceExhausted"
    http_status = 429
    template = "the concurrency limit of the function is reached"
    retryable = True


class OutOfStock(FcError):
    """There is none left of a thing that the service hands out. Source: code assumed."""

    code = "ResourceExhausted"
    http_status = 429
    template = "there is no {wanted} available"


class ClientClosedRequest(FcError):
    """The caller went away before the answer."""

    code = "ClientClosedRequest"
    http_status = 499
    template = "the client closed the request"


class InternalServerError(FcError):
    """A fault of the service itself."""

    code = "InternalServerError"
    http_status = 500
    template = "an internal error has occurred. Please retry."
    retryable = True


class BadResponse(FcError):
    """A function answered an HTTP request with what cannot be passed on."""

    code = "BadResponse"
    http_status = 502
    template = "the response of the function is invalid: {reason}"


class ResourceThrottled(FcError):
    """No instance could be started now."""

    code = "ResourceThrottled"
    http_status = 503
    template = "the instance limit is reached"
    retryable = True


def auth_error(failure: AuthFailure, *, date_given: bool, now: str, authorization: str = "") -> FcError:
    """Turn an authentication reason into this service's code and text.

    *date_given* tells whether the request has any date header: a missing date is reported before everything else.
    *now* is the server's time as an HTTP date. *authorization* is the header, which the caller gets to see again when
    it cannot be read.

    Source: vendor error table for the texts of date, authorization, key and signature; token codes are assumed.
    """
    match failure.reason:
        case Reason.MISSING_AUTHORIZATION | Reason.MALFORMED_AUTHORIZATION | Reason.MISSING_SIGNATURE if not date_given:
            return MissingRequiredHeader(header="Date")
        case Reason.MISSING_DATE:
            return MissingRequiredHeader(header="Date")
        case Reason.MISSING_NONCE:
            return MissingRequiredHeader(header="x-acs-signature-nonce")
        case Reason.UNKNOWN_KEY | Reason.INACTIVE_KEY:
            return InvalidAccessKeyID(key_id=failure.detail)
        case Reason.SIGNATURE_DIFFERS | Reason.BODY_DIFFERS | Reason.UNSIGNED_HEADER:
            return SignatureNotMatch()
        case Reason.NONCE_USED:
            return SignatureNonceUsed()
        case Reason.BAD_DATE | Reason.SKEWED_DATE:
            return RequestTimeTooSkewed(date=failure.detail, now=now)
        case Reason.URL_EXPIRED:
            return AccessDenied("the signed URL has expired")
        case Reason.MISSING_TOKEN | Reason.BAD_TOKEN | Reason.TOKEN_OF_ANOTHER_KEY:
            return InvalidSecurityToken()
        case Reason.TOKEN_EXPIRED:
            return SecurityTokenExpired()
        case Reason.FOREIGN_ACCOUNT:
            return AccessDenied("The service or function doesn't belong to you")
        case _:
            return InvalidArgument(f"invalid authorization '{_at_fault(failure, authorization)}'")


def _at_fault(failure: AuthFailure, authorization: str) -> str:
    unreadable = failure.reason in {Reason.MISSING_AUTHORIZATION, Reason.MALFORMED_AUTHORIZATION}
    return authorization if unreadable else failure.detail
