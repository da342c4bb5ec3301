"""What is refused before a service is known, and by the admin API; written as plain JSON."""

from collections.abc import Mapping

from emulator.kernel.errors import ErrorRow, ServiceError

ERRORS: Mapping[str, ErrorRow] = {
    "ForbiddenHost": ErrorRow(403, "The host name '{host}' is not served here."),  # rebound or misdirected
    "ForbiddenOrigin": ErrorRow(403, "Requests of web pages are not served ({header})."),  # no SDK sends these headers
    "Unguarded": ErrorRow(
        403,
        "What users and roles may do in the service '{service}' cannot be checked; only the account itself may.",
        "AccessDenied",
    ),
    "NoSuchService": ErrorRow(
        404,
        "No service is named by this request: {method} {path}. Point an SDK at this address; see /_localyun/health.",
        "NotFound",
    ),
    "BodyTooLarge": ErrorRow(413, "The body is larger than {limit} bytes.", "EntityTooLarge"),
    # the admin API
    "Forbidden": ErrorRow(403, "This call needs the header X-Localyun-Token with this installation's admin token."),
    "NotFound": ErrorRow(404, "There is no {method} {path}."),
    "InvalidArgument": ErrorRow(400, "The request is not understood."),
    "Conflict": ErrorRow(409, "{reason}"),
}


class GatewayError(ServiceError):
    """An error of the gateway itself."""

    table = ERRORS
