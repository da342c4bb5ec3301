"""Flows, versions, aliases, schedules, executions and map runs as they are kept, as frozen data."""

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
"""Different for a later flow of the same name."""

ExecutionId = NewType("ExecutionId", int)

HistoryId = NewType("HistoryId", str)
"""Of a history that only grows: different once executions were removed or all tables replaced, and in another run."""

DefinitionId = NewType("DefinitionId", int)
TenantId = NewType("TenantId", int)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,127}\Z", re.ASCII)


def check_name(parameter: str, name: str) -> None:
    """Hold *name*, the value of *parameter*, against the one rule for flows, executions, schedules and aliases.

    Raises: WorkflowError: InvalidArgument.
    """
    if not _NAME.match(name):
        raise invalid(
            f"{parameter} must have 1 to {NAME_MAX} characters: letters, digits, '_' and '-', beginning "
            "with a letter or '_'."
        )


class Status(StrEnum):
    """Where an execution stands; the last four are final."""

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
    """What a caller chooses for a flow, beside its name and definition. ``environment`` is JSON text or ""."""

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
"""What a flow has beside its name and definition; a new attribute is a row, a member above and a column."""


@frozen(kw_only=False)
class FlowRecord:
    """A flow as it is kept; with ``version``, as it was when that was published."""

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
    """What is kept of an accepted execution beside its flow; ``map_run`` and ``map_index`` of an element of a map."""

    name: str
    input: str
    callback_token: str
    started_at: Millis
    qualifier: str = ""
    map_run: int | None = None
    map_index: int | None = None


class Origin(NamedTuple):
    """What a fork shares: the events of an execution up to one, *moved_ms* later. ``watch`` is for the fork itself."""

    execution: ExecutionId
    last_event: int
    moved_ms: int
    watch: str | None


class Standing(IntEnum):
    """What an open execution is at, as its row says."""

    PARKED = 0
    """It waits for a timer or a call; no task of it waits for a report."""

    READY = 1
    """It has something to do at once."""

    SUBMITTED = 2
    """It waits, and a task of it may wait for a report."""


@frozen(kw_only=False)
class LiveExecution:
    """What the driver needs to go on with an execution.

    ``is_express`` bounds how long it may go; ``trace`` is the request that started it; ``watch`` is set while it is
    being debugged; ``map_step`` is the number of the distributed map it is an element of.
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

    ``qualifier`` is the version that ran or what the caller asked for; ``map_run`` the run whose executions they are.
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
    """What a caller chooses for a schedule beside its name. ``payload`` is the text of an object or of null, or ""."""

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
"""What a schedule has beside its names; a new attribute is a row, a member above and a column."""


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
    """When a schedule runs next. ``since`` is what ``@every`` counts from; ``next_at`` None: not in sight."""

    since: Millis
    counted_at: Millis
    next_at: Millis | None


class DueSchedule(NamedTuple):
    """What is needed to run a schedule and to find its next run."""

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
    """A run as it is kept; ``execution`` is the one whose map it is."""

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
