"""Configurations of a function's instances (limits, instances kept ready, the switch): their bodies and schedules.

A scheduled action sets its target at the times of its expression, ``cron(...)`` or ``at(...)``, between its start and
its end. The target holds until another action sets one, or until the action's end brings the default back.

Source: parameter tables of the provision configuration; the order of overlapping actions is assumed.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple, assert_never

from emulator.kernel.clock import DAY, SECOND, Millis
from emulator.kernel.cron import LENIENT, CronError, Schedule, parse_schedule
from emulator.kernel.frozen import frozen
from emulator.services.fc import limits
from emulator.services.fc.codec import BODY
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.model import FunctionRef, Resource, function_path
from emulator.wire.dates import iso_seconds
from emulator.wire.schema import kinds
from emulator.wire.schema.json_bodies import titled
from emulator.wire.schema.kinds import (
    FLAG,
    TEXT,
    Field,
    Items,
    Number,
    OneOf,
    Ruled,
    Shape,
    Text,
    needed,
    record,
    whole,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOOK_BACK_MS = 8 * 366 * DAY
"""How far back the latest run of a schedule is looked for: the rarest date comes every eight years at least."""
_END_OF_TIME = Millis(2**53)


class Action(NamedTuple):
    """A compiled scheduled action: either *schedule* or the single time *once*."""

    target: int
    start: Millis
    end: Millis
    schedule: Schedule | None
    once: Millis


def compile_action(raw: Mapping[str, Any], field: str) -> Action:
    """Compile a scheduled action or policy of the API.

    Raises: InvalidArgument. Source of its texts: fc-java-sdk FunctionComputeClientTest.
    """
    zone = str(raw.get("timeZone") or "")
    expression = str(raw["scheduleExpression"]).strip()
    _check_zone(zone, f"{field}.timeZone")
    start = _timestamp(raw.get("startTime"), zone, "StartTime")
    end = _timestamp(raw.get("endTime"), zone, "EndTime")
    if start is not None and end is not None and end <= start:
        raise InvalidArgument(f"{field}.endTime must be later than startTime")
    schedule, once = None, Millis(0)
    if expression.startswith("at(") and expression.endswith(")"):
        once = _timestamp(expression[3:-1].strip(), zone, "ScheduleExpression") or Millis(0)
    elif expression.startswith("cron(") and expression.endswith(")"):
        text = expression[5:-1].strip()
        try:
            schedule = parse_schedule(f"CRON_TZ={zone} {text}" if zone and "CRON_TZ" not in text else text, LENIENT)
        except CronError:
            raise InvalidArgument(_NO_SCHEDULE.format(expression[:80])) from None
    else:
        raise InvalidArgument(_NO_SCHEDULE.format(expression[:80]))
    return Action(int(raw.get("target") or 0), start or Millis(0), end or _END_OF_TIME, schedule, once)


_NO_SCHEDULE = (
    "The ScheduleExpression should be atTime or cron expression "
    "(example: ['at(2020-10-10T10:10:10Z)', 'cron(0 */30 * * * *)'], actual: '{}')"
)


def target_at(actions: Iterable[Action], default: int, now: Millis) -> int:
    """Return the number of instances that holds at *now*."""
    latest, target = Millis(-1), default
    for action in actions:
        fired = _latest_run(action, now) if action.start <= now < action.end else None
        if fired is not None and fired >= latest:
            latest, target = fired, action.target
    return target


def next_change(actions: Iterable[Action], now: Millis) -> Millis | None:
    """Return the first time after *now* at which `target_at` may give another number."""
    times = []
    for action in actions:
        run = _next_run(action, now)
        if run is not None and run < action.end:
            times.append(run)
        if action.start <= now < action.end < _END_OF_TIME:
            times.append(action.end)
    return min(times, default=None)


def _next_run(action: Action, now: Millis) -> Millis | None:
    after = Millis(max(now, action.start - 1))
    if action.schedule is None:
        return action.once if action.once > after else None
    return action.schedule.next_after(after)


def _latest_run(action: Action, now: Millis) -> Millis | None:
    """Return the last time up to *now*, not before the action's start, at which it set its target."""
    if action.schedule is None:
        return action.once if action.start <= action.once <= now else None
    before, after = Millis(max(action.start, now - _LOOK_BACK_MS) - 1), now
    if not _runs_between(action.schedule, before, now):
        return None
    while after - before > SECOND:  # no schedule runs twice within a second
        middle = Millis((before + after) // 2)
        if _runs_between(action.schedule, middle, now):
            before = middle
        else:
            after = middle
    return action.schedule.next_after(before)


def _runs_between(schedule: Schedule, after: Millis, until: Millis) -> bool:
    run = schedule.next_after(Millis(max(0, after)))
    return run is not None and run <= until


def _timestamp(text: Any, zone: str, field: str) -> Millis | None:
    """Read ``2020-10-10T10:10:10Z``; a time without an offset is one of *zone*, and refused where that is empty."""
    if text is None or text == "":
        return None
    try:
        moment = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
        if moment.tzinfo is None:
            if not zone:
                raise ValueError("a time of no zone")  # noqa: TRY301 - refused as what cannot be read is
            moment = moment.replace(tzinfo=_zone(zone))
        return Millis((moment - _EPOCH) // timedelta(milliseconds=1))
    except (ValueError, OverflowError, KeyError, OSError):
        raise InvalidArgument(
            f"The {field} is not in UTC time format (example: '2020-10-10T10:10:10Z', actual: '{str(text)[:80]}')"
        ) from None


def _check_zone(name: str, field: str) -> None:
    try:
        if name:
            _zone(name)
    except (ValueError, KeyError, OSError):
        raise InvalidArgument(f"{field} '{name}' is invalid: it must be the name of a time zone") from None


def _zone(name: str) -> Any:
    from zoneinfo import ZoneInfo  # here, because few schedules name a zone

    return ZoneInfo(name)


class Kind(StrEnum):
    """The kinds of configurations of a function's instances; each has its own operations."""

    ON_DEMAND = "on-demand"
    CONCURRENCY = "concurrency"
    PROVISION = "provision"
    SCALING = "scaling"
    SWITCH = "switch"


def place_of(kind: Kind, ref: FunctionRef) -> FunctionRef:
    """Return what a configuration of *kind* applies to: *ref* itself, or its whole function without the qualifier."""
    match kind:
        case Kind.ON_DEMAND | Kind.PROVISION | Kind.SCALING:
            return ref
        case Kind.CONCURRENCY | Kind.SWITCH:
            return ref._replace(qualifier="")
        case _:
            assert_never(kind)


@frozen
class Setting(Resource):
    """A configuration: a checked JSON object under the API's own field names."""

    kind: Kind
    place: FunctionRef
    config: Mapping[str, Any]


def default_target(setting: Setting) -> int:
    """Return how many instances a provision or scaling configuration keeps when no schedule says otherwise."""
    name = "target" if setting.kind is Kind.PROVISION else "minInstances"
    return int(setting.config.get(name) or 0)


def restriction_of(switch: Setting | None) -> dict[str, Any] | None:
    """Return the member of GetFunction that says whether invocation is disabled, None without such a configuration."""
    if switch is None:
        return None
    return {**switch.config, "lastModifiedTime": iso_seconds(switch.modified_at)}


def restricts(switch: Setting | None) -> bool:
    """Whether the configuration that can disable a function's invocation does so."""
    return switch is not None and bool(switch.config.get("disable"))


SCHEDULES = ("scheduledActions", "targetTrackingPolicies")
"""The members of a provision configuration that change its target with time and load."""


def keeps_nothing(setting: Setting) -> bool:
    """Whether *setting* is a provision configuration with a target of 0 and without schedules and policies."""
    return (
        setting.kind is Kind.PROVISION
        and not default_target(setting)
        and not any(setting.config.get(name) for name in SCHEDULES)
    )


def check_deletable(settings: Iterable[Setting]) -> None:
    """Make sure that no instances are kept ready for the function, alias or version that *settings* are about.

    Raises: ProvisionConfigExist, ResidentScalingConfigExists.
    """
    for setting in settings:
        if setting.kind is Kind.PROVISION and not keeps_nothing(setting):
            raise FcError("ProvisionConfigExist", resource=function_path(*setting.place[1:]))
        if setting.kind is Kind.SCALING:
            raise FcError("ResidentScalingConfigExists", resource=function_path(*setting.place[1:]))


_TARGET = whole(limits.INSTANCE_TARGET)
_METRICS = OneOf({"ProvisionedConcurrencyUtilization", "CPUUtilization", "GPUMemUtilization"})
_WINDOW: dict[str, kinds.Kind] = {
    "name": Text(limits.POLICY_NAME_LENGTH, 1), "startTime": TEXT, "endTime": TEXT, "timeZone": Text(64),
}  # fmt: skip
_ACTION = record(**_WINDOW, target=_TARGET, scheduleExpression=Text(256, 1))


_SHARE = Number(0, 1, open=True)
_TRACKING = record(
    **_WINDOW, metricType=_METRICS, metricTarget=_SHARE, minCapacity=_TARGET, maxCapacity=_TARGET
)  # fmt: skip
_HORIZONTAL = record(
    **_WINDOW, metricType=_METRICS, metricTarget=_SHARE, minInstances=_TARGET, maxInstances=_TARGET
)  # fmt: skip


def _check_actions(actions: list[Any], field: str) -> list[Any]:
    for index, action in enumerate(actions):
        place = f"{field}[{index}]"
        _require(action, ("name", "target", "scheduleExpression"), place)
        compile_action(action, place)
    _distinct(actions, "action", field)
    return actions


_ACTIONS = Ruled(Items(_ACTION, limits.POLICIES, titled=True), _check_actions)


def _policies(kind: Shape, low: str, high: str) -> Ruled:
    def check(policies: list[Any], field: str) -> list[Any]:
        for index, policy in enumerate(policies):
            place = f"{field}[{index}]"
            _require(policy, ("name", "metricType", "metricTarget", low, high), place)
            if policy[low] > policy[high]:
                raise InvalidArgument(f"{place}.{low} must not be greater than {high}")
            compile_action({**policy, "scheduleExpression": "cron(0 0 0 * * *)"}, place)  # for its window
        _distinct(policies, "policy", field)
        return policies

    return Ruled(Items(kind, limits.POLICIES, titled=True), check)


def _require(row: Mapping[str, Any], names: tuple[str, ...], field: str) -> None:
    for name in names:
        if name not in row:
            raise InvalidArgument(f"{field}.{name} is required")


def _distinct(rows: list[Any], what: str, field: str) -> None:
    """See that no two rows have one name. Source of the text: fc-java-sdk FunctionComputeClientTest."""
    seen = set()
    for row in rows:
        if row["name"] in seen:
            raise InvalidArgument(f"Duplicate {what} name '{row['name']}' in {titled(field)} is not allowed")
        seen.add(row["name"])


ON_DEMAND = record(maximumInstanceCount=_TARGET)
CONCURRENCY = record(needed("reservedConcurrency", whole(limits.RESERVED_CONCURRENCY)))
PROVISION = record(
    Field("target", "target", _TARGET, names={"file": ("target", "defaultTarget", "DefaultTarget")}),
    defaultTarget=_TARGET, alwaysAllocateCPU=FLAG, alwaysAllocateGPU=FLAG, scheduledActions=_ACTIONS,
    targetTrackingPolicies=_policies(_TRACKING, "minCapacity", "maxCapacity"),
)  # fmt: skip
SCALING = record(
    minInstances=_TARGET, residentPoolId=TEXT, enableOnDemandScaling=FLAG, enableMixMode=FLAG,
    requestDispatchPolicy=TEXT, scheduledPolicies=_ACTIONS,
    horizontalScalingPolicies=_policies(_HORIZONTAL, "minInstances", "maxInstances"),
)  # fmt: skip
SWITCH = record(reason=Text(1024), abortOngoingRequest=FLAG)


def _body(kind: Kind) -> tuple[Shape, str]:
    """Return the shape of the body of a configuration, and the name of the member that is required in it."""
    match kind:
        case Kind.ON_DEMAND:
            return ON_DEMAND, "maximumInstanceCount"
        case Kind.CONCURRENCY:
            return CONCURRENCY, "reservedConcurrency"
        case Kind.PROVISION:
            return PROVISION, "target"
        case Kind.SCALING:
            return SCALING, ""
        case Kind.SWITCH:
            return SWITCH, ""
        case _:
            assert_never(kind)


def read_config(kind: Kind, body: Mapping[str, Any]) -> dict[str, Any]:
    """Check the body that puts a configuration; ``defaultTarget`` of 3.0 goes before ``target`` and becomes it.

    Raises: InvalidArgument.
    """
    shape, needed = _body(kind)
    config: dict[str, Any] = BODY.reader(shape)(body, "")
    if kind is Kind.PROVISION and (default := config.pop("defaultTarget", None)) is not None:
        config["target"] = default
    if needed and needed not in config:
        raise InvalidArgument(f"{needed} is required")
    return config


def actions_of(config: Mapping[str, Any]) -> list[Action]:
    """Return the compiled schedules of a provision or scaling configuration."""
    rows = config.get("scheduledActions") or config.get("scheduledPolicies") or []
    return [compile_action(row, "scheduledActions") for row in rows]


def metric_of(config: Mapping[str, Any]) -> str:
    """Return the first instance metric by which a configuration scales, empty when it scales by none.

    Utilization of provisioned concurrency is not such a metric: it needs no metrics of instances.
    """
    rows = config.get("targetTrackingPolicies") or config.get("horizontalScalingPolicies") or []
    return next((row["metricType"] for row in rows if row["metricType"] != "ProvisionedConcurrencyUtilization"), "")
