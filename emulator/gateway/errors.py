"""What is refused before a service is known, written as plain JSON."""

from emulator.kernel.errors import ServiceError


class GatewayError(ServiceError):
    """Base of the gateway's own refusals."""

    code = "BadRequest"
    http_status = 400
    template = "The request is not understood."


class ForbiddenHost(GatewayError):
    """The Host is neither loopback nor an emulated name: a rebound or misdirected request."""

    code = "ForbiddenHost"
    http_status = 403
    template = "The host name '{host}' is not served here."


class ForbiddenOrigin(GatewayError):
    """A web page's request; no SDK sends these headers."""

    code = "ForbiddenOrigin"
    http_status = 403
    template = "Requests of web pages are not served ({header})."


class Unguarded(GatewayError):
    """A caller without all rights calls a service that does not tell which rights are needed. Field: ``service``."""

    code = "AccessDenied"
    http_status = 403
    template = "What users and roles may do in the service '{service}' cannot be checked; only the account itself may."


class NoSuchService(GatewayError):
    """Nothing in the request names a service."""

    code = "NotFound"
    http_status = 404
    template = (
        "No service is named by this request: {method} {path}. Point an SDK at this address; see /_localyun/health."
    )


class AdminForbidden(GatewayError):
    """An admin call without this installation's token."""

    code = "Forbidden"
    http_status = 403
    template = "This call needs the header X-Localyun-Token with this installation's admin token."


class AdminNotFound(GatewayError):
    """No such admin page or the wrong method for it."""

    code = "NotFound"
    http_status = 404
    template = "There is no {method} {path}."


class AdminBadRequest(GatewayError):
    """An admin call whose body or parameters are wrong."""

    code = "InvalidArgument"
    http_status = 400


class BodyTooLarge(GatewayError):
    """A body nobody here would read."""

    code = "EntityTooLarge"
    http_status = 413
    template = "The body is larger than {limit} bytes."
