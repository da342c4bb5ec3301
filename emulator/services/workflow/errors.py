"""The errors of this service.

::

    PopError
    `-- WorkflowError
        |-- ActionNotSupported, APIVersionNotSupported
        |-- InvalidArgument, MissingRequiredParams, EntityTooLarge
        |-- AccessDenied
        |-- FlowNotExists, FlowAlreadyExists
        |-- FlowVersionNotExists, FlowAliasNotExists, FlowAliasAlreadyExists
        |-- ExecutionNotExists, ExecutionAlreadyExists, ExecutionAlreadyCompleted
        |-- MapRunNotExists
        |-- ScheduleNotExists, ScheduleAlreadyExists
        |-- TaskAlreadyCompleted
        |-- ResourceThrottled
        `-- InternalServerError

Source: common errors, Serverless Workflow API reference. Throttling has no documented text.
"""

from emulator.wire.pop_errors import PopError


class WorkflowError(PopError):
    """Something the caller of this service did wrong, or asked for too much of."""

    code = "InvalidArgument"
    http_status = 400
    template = "Parameter error."


class ActionNotSupported(WorkflowError):
    """No such operation, or not one for this flow's execution mode. Field: ``action``."""

    code = "ActionNotSupported"
    template = "The requested API operation '{action}' is incorrect. Please check."


class APIVersionNotSupported(WorkflowError):
    """Another version of the API was asked for. Field: ``version``."""

    code = "APIVersionNotSupported"
    template = "The requested API version '{version}' is not supported yet. Please check."


class InvalidArgument(WorkflowError):
    """A parameter's value cannot be used. Field: ``reason``."""

    code = "InvalidArgument"
    template = "Parameter error. {reason}"


class MissingRequiredParams(WorkflowError):
    """A required parameter is absent. Field: ``name``."""

    code = "MissingRequiredParams"
    template = "The HTTP query '{name}' must be specified."


class EntityTooLarge(WorkflowError):
    """The request is over the limit. Field: ``limit`` in bytes."""

    code = "EntityTooLarge"
    template = "The payload size exceeds maximum allowed size ({limit} bytes)."


class AccessDenied(WorkflowError):
    """The caller has not the right. Fields: ``action``, ``resource``. Source: the code; the text is that of FC."""

    code = "AccessDenied"
    http_status = 403
    template = "the caller is not authorized to perform '{action}' on resource '{resource}'"


class FlowNotExists(WorkflowError):
    """No flow of this name. Field: ``flow``."""

    code = "FlowNotExists"
    http_status = 404
    template = "Flow {flow} does not exist."


class FlowAlreadyExists(WorkflowError):
    """The name is taken. Field: ``flow``."""

    code = "FlowAlreadyExists"
    http_status = 409
    template = "Flow {flow} already exists."


class FlowVersionNotExists(WorkflowError):
    """The flow has no such version. Fields: ``flow``, ``version``. Source: assumed."""

    code = "FlowVersionNotExists"
    http_status = 404
    template = "Version {version} of flow {flow} does not exist."


class FlowAliasNotExists(WorkflowError):
    """The flow has no alias of this name. Fields: ``flow``, ``alias``. Source: assumed."""

    code = "FlowAliasNotExists"
    http_status = 404
    template = "Alias {alias} of flow {flow} does not exist."


class FlowAliasAlreadyExists(WorkflowError):
    """The flow has an alias of this name. Fields: ``flow``, ``alias``. Source: assumed."""

    code = "FlowAliasAlreadyExists"
    http_status = 409
    template = "Alias {alias} of flow {flow} already exists."


class ExecutionNotExists(WorkflowError):
    """The flow has no execution of this name. Fields: ``flow``, ``execution``."""

    code = "ExecutionNotExists"
    http_status = 404
    template = "Execution {execution} for flow {flow} does not exist."


class ExecutionAlreadyExists(WorkflowError):
    """An execution of this name has ended already. Fields: ``flow``, ``execution``."""

    code = "ExecutionAlreadyExists"
    template = "Execution {execution} for flow {flow} already exists."


class ExecutionAlreadyCompleted(WorkflowError):
    """The execution cannot be stopped any more. Fields: ``flow``, ``execution``."""

    code = "ExecutionAlreadyCompleted"
    template = "Execution '{execution}' for flow '{flow}' has already completed."


class MapRunNotExists(WorkflowError):
    """The execution has no map run of this name. Fields: ``flow``, ``execution``, ``map_run``. Source: assumed."""

    code = "MapRunNotExists"
    http_status = 404
    template = "Map run {map_run} of execution {execution} for flow {flow} does not exist."


class ScheduleNotExists(WorkflowError):
    """The flow has no schedule of this name. Fields: ``flow``, ``schedule``."""

    code = "ScheduleNotExists"
    http_status = 404
    template = "The schedule {schedule} for flow {flow} does not exist."


class ScheduleAlreadyExists(WorkflowError):
    """The flow has a schedule of this name. Fields: ``flow``, ``schedule``."""

    code = "ScheduleAlreadyExists"
    http_status = 409
    template = "The schedule {schedule} for flow {flow} already exists."


class TaskAlreadyCompleted(WorkflowError):
    """The attempt this token belongs to is over. Field: ``task``."""

    code = "TaskAlreadyCompleted"
    template = "Task {task} has already completed."


class ResourceThrottled(WorkflowError):
    """More of something than the account may have. Field: ``reason``. Source: assumed."""

    code = "ResourceThrottled"
    http_status = 429
    template = "The request was throttled. {reason}"


class InternalServerError(WorkflowError):
    """Something went wrong inside the emulator."""

    code = "InternalServerError"
    http_status = 500
    template = "An internal error has occurred. Please retry."
