"""The stored records of flows, versions, aliases, schedules, executions and map runs."""

import re
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple, NewType

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant
from emulator.services.workflow.errors import invalid
from emulator.services.workflow.limits import NAME_MAX
from emulator.wire.schema.kinds import FLAG, JSON_TEXT, Field, OneOf, Shape

FlowId = NewType("FlowId", int)
"""The number of a flow; a later flow of the same name has another one."""

ExecutionId = NewType("ExecutionId", int)

HistoryId = NewType("HistoryId", str)
"""Identifies a history that only grows; changes when executions are removed or tables replaced, and with each start."""

DefinitionId = NewType("DefinitionId", int)
TenantId = NewType("TenantId", int)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,127}\Z", re.ASCII)


def check_name(parameter: str, name: str) -> None:
    """Check *name*, the value of *parameter*, against the rule for names of flows, executions, schedules and aliases.

    Raises: WorkflowError: InvalidArgument.
    """
    if not _NAME.match(name):
        raise invalid(
            f"{parameter} must have 1 to {NAME_MAX} characters: letters, digits, '_' and '-', beginning "
            "with a letter or '_'."
        )


class Status(StrEnum):
    """The status of an execution; the last four are final."""

    STARTING = "Starting"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    STOPPED = "Stopped"
    TIMED_OUT = "TimedOut"


STATUS_OF = {
    "ExecutionSucceeded": Status.SUCCEEDED,
    "ExecutionFailed": Status.FAILED,
    "ExecutionStopped": Status.STOPPED,
    "ExecutionTimedOut": Status.TIMED_OUT,
}
"""The status after each final event."""


@frozen(kw_only=False)
class FlowSettings:
    """The settable attributes of a flow beside its name and definition. ``environment`` is JSON text or ""."""

    description: str = ""
    type: str = "FDL"
    role_arn: str = ""
    storage_location: str = ""
    execution_mode: str = ""
    environment: str = ""
    resource_group: str = ""

    @property
    def is_express(self) -> bool:
        """Whether executions are short and their starters wait for the end."""
        return self.execution_mode == "Express"


FLOW = Shape(
    "Flow",
    (
        Field("Description", "description", source="CreateFlow", help=("description", "描述")),
        Field(
            "Type", "type", OneOf(("FDL", "DEFAULT")), required=True,
            source="CreateFlow; DEFAULT: Terraform provider, alicloud_fnf_flow",
            help=("FDL for both languages, which the definition tells apart", "两种流程语言都用 FDL，由流程定义区分"),
        ),
        Field(
            "RoleArn", "role_arn", source="CreateFlow",
            help=("role that executions assume", "流程执行时扮演的角色"),
        ),
        Field("ExternalStorageLocation", "storage_location", only=("rpc", "reply"), fixed=True, source="CreateFlow"),
        Field(
            "ExecutionMode", "execution_mode", OneOf(("Standard", "Express")), fixed=True, source="CreateFlow",
            help=("Standard, or Express for short, synchronous executions", "Standard，或 Express：短时的同步执行"),
        ),
        Field(
            "Environment", "environment", JSON_TEXT, only=("rpc", "file"), source="CreateFlow",
            help=("environment variables of executions", "执行的环境变量"),
        ),
        Field("ResourceGroupId", "resource_group", only=("rpc", "reply"), fixed=True, source="CreateFlow"),
    ),
    FlowSettings,
)  # fmt: skip
"""The attributes of a flow beside its name and definition; a new one needs a row, a member above and a column."""


@frozen(kw_only=False)
class FlowRecord:
    """A stored flow; with ``version``, as it was when that version was published."""

    id: FlowId
    name: str
    uuid: str
    definition: str
    definition_id: DefinitionId
    settings: FlowSettings
    created_at: Millis
    modified_at: Millis
    version: str = ""


@frozen(kw_only=False)
class ExecutionRecord:
    """An execution as the API shows it. ``output``, ``error`` and ``cause`` are empty until it has ended."""

    id: ExecutionId
    flow_name: str
    name: str
    definition: str
    role_arn: str
    environment: str
    input: str
    output: str
    status: Status
    started_at: Millis
    stopped_at: Millis | None
    error: str = ""
    cause: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the execution has not ended yet."""
        return self.stopped_at is None


class NewExecution(NamedTuple):
    """The fields of an accepted execution beside its flow; ``map_run`` and ``map_index`` are for elements of a map."""

    name: str
    input: str
    callback_token: str
    started_at: Millis
    qualifier: str = ""
    map_run: int | None = None
    map_index: int | None = None


class Origin(NamedTuple):
    """The shared part of a fork: the events of ``execution`` up to ``last_event``, with times moved by ``moved_ms``.

    ``watch`` is the stored `Watch` of the fork itself.
    """

    execution: ExecutionId
    last_event: int
    moved_ms: int
    watch: str | None


class Standing(IntEnum):
    """The state of an open execution as stored in its row, by which the driver finds those that can go on."""

    PARKED = 0
    """The execution waits for a timer or a call; none of its tasks waits for a report."""

    READY = 1
    """The execution can go on at once."""

    SUBMITTED = 2
    """The execution waits, and one of its tasks may wait for a report."""


@frozen(kw_only=False)
class LiveExecution:
    """The fields of an open execution that the driver needs.

    ``is_express`` bounds its duration; ``trace`` is the request that started it; ``watch`` is set while it is being
    debugged; ``map_step`` is the number of the step, a distributed map, that it is an element of.
    """

    id: ExecutionId
    tenant: Tenant
    tenant_id: TenantId
    flow_name: str
    name: str
    definition_id: DefinitionId
    input: str
    callback_token: str
    started_at: Millis
    halted: bool
    last_event: int
    snapshot: str | None
    standing: Standing = Standing.READY
    is_express: bool = False
    trace: str = ""
    role_arn: str = ""
    watch: str | None = None
    map_step: int | None = None
    is_express_child: bool | None = None


@frozen
class EndedExecution:
    """An execution that has ended; ``map_run`` is the number of the run of a distributed map that it belongs to."""

    record: ExecutionRecord
    tenant: Tenant
    callback_token: str
    map_run: int | None


@frozen(kw_only=False)
class HistoryEvent:
    """One event as the API shows it."""

    id: int
    cause: int
    step: str
    type: str
    at: Millis
    detail: str


@frozen
class ExecutionFilter:
    """Which executions a list shows. ``started_from`` is inclusive, ``started_before`` exclusive.

    ``qualifier`` is the version that ran, or the qualifier that the caller gave; ``map_run`` is the run of a
    distributed map that the executions belong to.
    """

    status: Status | None = None
    started_from: Millis | None = None
    started_before: Millis | None = None
    name_prefix: str = ""
    qualifier: str = ""
    map_run: int | None = None


class FoundExecution(NamedTuple):
    """An execution that a search has found, with how it failed, if it did."""

    id: ExecutionId
    flow: str
    name: str
    error: str
    cause: str


@frozen
class VersionRecord:
    """A published version; ``description`` is its own, not the flow's."""

    number: int
    description: str
    created_at: Millis


class Route(NamedTuple):
    """A version an alias leads to; ``weight`` counts against the other one's."""

    version: int
    weight: int


@frozen
class AliasRecord:
    """An alias: a name for one version, or for two that are drawn from by weight."""

    name: str
    description: str
    routes: tuple[Route, ...]
    created_at: Millis

    def draw(self, fraction: float) -> int:
        """Return the version that *fraction*, a random number in [0, 1), falls on."""
        left = fraction * sum(route.weight for route in self.routes)
        for route in self.routes[:-1]:
            if left < route.weight:
                return route.version
            left -= route.weight
        return self.routes[-1].version


ScheduleId = NewType("ScheduleId", int)


def execution_input(payload: str) -> str:
    """Return the input of an execution that a schedule with *payload* starts; ``null``, the form's default, is "".

    Source: timed schedule, Serverless Workflow best practices, for the default ``null``; its meaning is assumed.
    """
    return "" if payload.strip() == "null" else payload


@frozen(kw_only=False)
class ScheduleSettings:
    """The settable attributes of a schedule beside its name. ``payload`` is the text of an object or null, or ""."""

    expression: str
    description: str = ""
    payload: str = ""
    enabled: bool = True


SCHEDULE = Shape(
    "Schedule",
    (
        Field("Description", "description", source="CreateSchedule", help=("description", "描述")),
        Field(
            "CronExpression", "expression", required=True, source="CreateSchedule",
            help=(
                "when it runs, seconds first, such as 0 0 3 * * *; or @every 60m",
                "运行时间，第一个字段是秒，例如 0 0 3 * * *；或 @every 60m",
            ),
        ),
        Field(
            "Payload", "payload", JSON_TEXT, source="CreateSchedule",
            help=("input of the executions", "执行的输入"),
        ),
        Field("Enable", "enabled", FLAG, source="CreateSchedule", help=("whether the schedule is enabled", "是否启用")),
    ),
    ScheduleSettings,
)  # fmt: skip
"""The attributes of a schedule beside its names; a new one needs a row, a member above and a column."""


@frozen(kw_only=False)
class ScheduleRecord:
    """A schedule as the API shows it."""

    id: ScheduleId
    name: str
    uuid: str
    settings: ScheduleSettings
    created_at: Millis
    modified_at: Millis


class Turn(NamedTuple):
    """The next run of a schedule.

    ``since`` is the time ``@every`` counts from, ``counted_at`` the time when ``next_at`` was computed, which is None
    when there is no next run.
    """

    since: Millis
    counted_at: Millis
    next_at: Millis | None


class DueSchedule(NamedTuple):
    """The fields of a schedule that are needed to run it and to compute its next run."""

    id: ScheduleId
    tenant: Tenant
    flow_name: str
    name: str
    expression: str
    payload: str
    since: Millis
    next_at: Millis


@frozen(kw_only=False)
class MapRun:
    """A stored run of a distributed map; ``execution`` is the execution with the map."""

    id: int
    tenant: Tenant
    name: str
    execution: ExecutionId
    token: str
    definition: DefinitionId
    items: list[Any]
    at_once: int
    tolerated_count: int
    tolerated_percentage: float
    status: str
    started_at: Millis
    stopped_at: Millis | None
    flow: str

    @property
    def tolerated(self) -> int:
        """How many executions may fail."""
        return max(self.tolerated_count, int(len(self.items) * self.tolerated_percentage / 100))
