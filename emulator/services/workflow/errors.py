"""The errors of this service: one table, and classes for the few that something catches by name.

Source: common errors, Serverless Workflow API reference, where not marked as assumed.
"""

from collections.abc import Mapping

from emulator.kernel.errors import ErrorRow
from emulator.wire.rpc import PopError

ERRORS: Mapping[str, ErrorRow] = {
    # no such operation, or not one for this flow's execution mode
    "ActionNotSupported": ErrorRow(400, "The requested API operation '{action}' is incorrect. Please check."),
    "APIVersionNotSupported": ErrorRow(
        400, "The requested API version '{version}' is not supported yet. Please check."
    ),
    "InvalidArgument": ErrorRow(400, "Parameter error. {reason}"),
    "MissingRequiredParams": ErrorRow(400, "The HTTP query '{name}' must be specified."),
    "EntityTooLarge": ErrorRow(400, "The payload size exceeds maximum allowed size ({limit} bytes)."),
    # the text is that of FC
    "AccessDenied": ErrorRow(403, "the caller is not authorized to perform '{action}' on resource '{resource}'"),
    "FlowNotExists": ErrorRow(404, "Flow {flow} does not exist."),
    "FlowAlreadyExists": ErrorRow(409, "Flow {flow} already exists."),
    "FlowVersionNotExists": ErrorRow(404, "Version {version} of flow {flow} does not exist."),  # assumed
    "FlowAliasNotExists": ErrorRow(404, "Alias {alias} of flow {flow} does not exist."),  # assumed
    "FlowAliasAlreadyExists": ErrorRow(409, "Alias {alias} of flow {flow} already exists."),  # assumed
    "ExecutionNotExists": ErrorRow(404, "Execution {execution} for flow {flow} does not exist."),
    "ExecutionAlreadyExists": ErrorRow(400, "Execution {execution} for flow {flow} already exists."),
    "ExecutionAlreadyCompleted": ErrorRow(400, "Execution '{execution}' for flow '{flow}' has already completed."),
    "MapRunNotExists": ErrorRow(
        404, "Map run {map_run} of execution {execution} for flow {flow} does not exist."
    ),  # assumed
    "ScheduleNotExists": ErrorRow(404, "The schedule {schedule} for flow {flow} does not exist."),
    "ScheduleAlreadyExists": ErrorRow(409, "The schedule {schedule} for flow {flow} already exists."),
    # the attempt that the token belongs to is over
    "TaskAlreadyCompleted": ErrorRow(400, "Task {task} has already completed."),
    # more of something than the account may have; assumed, there is no documented text
    "ResourceThrottled": ErrorRow(429, "The request was throttled. {reason}"),
    "InternalServerError": ErrorRow(500, "An internal error has occurred. Please retry."),
}


class WorkflowError(PopError):
    """An error of this service."""

    table = ERRORS


def invalid(reason: str) -> WorkflowError:
    """Return InvalidArgument, for parameters whose value cannot be used."""
    return WorkflowError("InvalidArgument", reason=reason)


class ExecutionNotExists(WorkflowError):
    """The flow has no execution of this name. Fields: ``flow``, ``execution``."""


class ExecutionAlreadyExists(WorkflowError):
    """An execution of this name has ended already. Fields: ``flow``, ``execution``."""


class ExecutionAlreadyCompleted(WorkflowError):
    """The execution cannot be stopped any more. Fields: ``flow``, ``execution``."""


class TaskAlreadyCompleted(WorkflowError):
    """The attempt that a task token belongs to has ended. Field: ``task``."""
