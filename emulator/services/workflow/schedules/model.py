"""What is kept of schedules, as frozen data."""

from typing import NamedTuple, NewType

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Tenant

ScheduleId = NewType("ScheduleId", int)


def execution_input(payload: str) -> str:
    """Return what a run with *payload* starts with; ``null``, which the console's form holds at first, is nothing.

    Source: timed schedule, Serverless Workflow best practices, for the default ``null``; its meaning is assumed.
    """
    return "" if payload.strip() == "null" else payload


@frozen
class ScheduleSettings:
    """What a caller chooses for a schedule beside its name. ``payload`` is the text of an object or of null, or ""."""

    expression: str
    description: str = ""
    payload: str = ""
    enabled: bool = True


@frozen
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
