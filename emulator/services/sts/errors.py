"""Errors of the security token service, answered in the RPC gateway's form.

::

    PopError
    |-- MissingRoleArn, MissingRoleSessionName
    |-- InvalidRoleArn, InvalidRoleSessionName, InvalidDurationSeconds, InvalidPolicyGrammar
    |-- RoleNotFound
    `-- TooManyKeys

Source: the service's error code table.
"""

from emulator.wire.pop_errors import PopError


class MissingRoleArn(PopError):
    """AssumeRole without a role. Source: the gateway's pattern for mandatory parameters."""

    code = "MissingRoleArn"
    http_status = 400
    template = "RoleArn is mandatory for this action."


class MissingRoleSessionName(PopError):
    """AssumeRole without a session name. Source: the gateway's pattern for mandatory parameters."""

    code = "MissingRoleSessionName"
    http_status = 400
    template = "RoleSessionName is mandatory for this action."


class InvalidRoleArn(PopError):
    """The role is not of the form ``acs:ram::{account}:role/{name}``."""

    code = "InvalidParameter.RoleArn"
    http_status = 400
    template = "The parameter RoleArn is wrongly formed."


class InvalidRoleSessionName(PopError):
    """The session name is too short, too long or holds a character that is not allowed."""

    code = "InvalidParameter.RoleSessionName"
    http_status = 400
    template = "The parameter RoleSessionName is wrongly formed."


class InvalidDurationSeconds(PopError):
    """The duration is no whole number in the range. Fields: ``low`` and ``high`` in seconds."""

    code = "InvalidParameter.DurationSeconds"
    http_status = 400
    template = "The parameter DurationSeconds must be between {low} and {high}."


class InvalidPolicyGrammar(PopError):
    """The policy is no JSON object with a version and statements, or too long."""

    code = "InvalidParameter.PolicyGrammar"
    http_status = 400
    template = "The parameter Policy has not passed grammar check."


class RoleNotFound(PopError):
    """The account has no such role. Field: ``arn``."""

    code = "EntityNotExist.Role"
    http_status = 404
    template = "The specified Role not exists: {arn}."


class TooManyKeys(PopError):
    """More temporary keys are alive than the emulator keeps."""

    code = "Throttling.User"
    http_status = 400
    template = "Request was denied due to user flow control."
