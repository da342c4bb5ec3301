"""Errors of the security token service, answered in the RPC gateway's form. Source: the service's error code table."""

from collections.abc import Mapping

from emulator.kernel.errors import ErrorRow
from emulator.wire.pop_errors import PopError

ERRORS: Mapping[str, ErrorRow] = {
    # the gateway's pattern for mandatory parameters
    "MissingRoleArn": ErrorRow(400, "RoleArn is mandatory for this action."),
    "MissingRoleSessionName": ErrorRow(400, "RoleSessionName is mandatory for this action."),
    "InvalidParameter.RoleArn": ErrorRow(400, "The parameter RoleArn is wrongly formed."),
    "InvalidParameter.RoleSessionName": ErrorRow(400, "The parameter RoleSessionName is wrongly formed."),
    # fields: ``low`` and ``high`` in seconds
    "InvalidParameter.DurationSeconds": ErrorRow(
        400, "The parameter DurationSeconds must be between {low} and {high}."
    ),
    "InvalidParameter.PolicyGrammar": ErrorRow(400, "The parameter Policy has not passed grammar check."),
    "EntityNotExist.Role": ErrorRow(404, "The specified Role not exists: {arn}."),
    # more temporary keys are alive than the emulator keeps
    "TooManyKeys": ErrorRow(400, "Request was denied due to user flow control.", "Throttling.User"),
}


class StsError(PopError):
    """An error of the security token service."""

    table = ERRORS
