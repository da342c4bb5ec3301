"""The table of schedules."""

from collections.abc import Iterable, Sequence
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
from emulator.services.workflow.model import (
    SCHEDULE,
    DueSchedule,
    FlowId,
    ScheduleId,
    ScheduleRecord,
    ScheduleSettings,
    Turn,
)
from emulator.services.workflow.tenants import Tenants
from emulator.storage.database import Database
from emulator.storage.rows import row_of

_SETTINGS = row_of(SCHEDULE)
_SCHEDULE = f"SELECT id, name, uuid, {_SETTINGS.text}, created_at, modified_at FROM workflow_schedules"  # noqa: S608 - constants
_NEW = (
    "world",
    "flow",
    "name",
    "uuid",
    *_SETTINGS.names,
    "created_at",
    "modified_at",
    "since",
    "counted_at",
    "next_at",
)
_ADD = f"INSERT INTO workflow_schedules ({', '.join(_NEW)}) VALUES ({', '.join('?' * len(_NEW))})"  # noqa: S608 - as above
_CHANGED = (*_SETTINGS.names, "modified_at", "since", "counted_at", "next_at")
_CHANGE = f"UPDATE workflow_schedules SET {', '.join(f'{each} = ?' for each in _CHANGED)} WHERE id = ?"  # noqa: S608 - as above
_OF_FLOWS = f"s.{_SETTINGS.text.replace(', ', ', s.')}"
_DUE = (
    "SELECT s.id, s.world, f.name, s.name, s.expression, s.payload, s.since, s.next_at FROM workflow_schedules s"
    " JOIN workflow_flows f ON f.id = s.flow"
)


class ScheduleStore:
    """Schedules, as the operations and their timer see them."""

    def __init__(self, database: Database, tenants: Tenants) -> None:
        self._database = database
        self._tenants = tenants

    def add(
        self, tenant: Tenant, flow: FlowId, name: str, uuid: str, settings: ScheduleSettings, now: Millis, turn: Turn
    ) -> None:
        """Store a new schedule."""
        self._database.write(
            _ADD, (self._tenants.id_of(tenant), flow, name, uuid, *_SETTINGS.values(settings), now, now, *turn)
        )

    def change(self, schedule: ScheduleId, settings: ScheduleSettings, now: Millis, turn: Turn) -> None:
        """Replace a schedule's settings and its next run."""
        self._database.write(_CHANGE, (*_SETTINGS.values(settings), now, *turn, schedule))

    def remove(self, schedule: ScheduleId) -> None:
        """Remove a schedule."""
        self._database.write("DELETE FROM workflow_schedules WHERE id = ?", (schedule,))

    def remove_of(self, flow: FlowId) -> None:
        """Remove every schedule of a flow."""
        self._database.write("DELETE FROM workflow_schedules WHERE flow = ?", (flow,))

    def get(self, flow: FlowId, name: str) -> ScheduleRecord | None:
        """Return a schedule."""
        row = self._database.read(f"{_SCHEDULE} WHERE flow = ? AND name = ?", (flow, name)).fetchone()
        return None if row is None else _record(row)

    def page(self, flow: FlowId, start: str, limit: int) -> list[ScheduleRecord]:
        """Return up to *limit* schedules of a flow by name, from *start* on."""
        rows = self._database.read(
            f"{_SCHEDULE} WHERE flow = ? AND name >= ? ORDER BY name LIMIT ?", (flow, start, limit)
        )
        return [_record(row) for row in rows]

    def all(
        self, tenant: Tenant, start: tuple[str, str], limit: int
    ) -> list[tuple[str, ScheduleRecord, Millis | None]]:
        """Return (flow, schedule, next run) of up to *limit* schedules by flow and name, from *start* on."""
        rows = self._database.read(
            f"SELECT f.name, s.next_at, s.id, s.name, s.uuid, {_OF_FLOWS},"  # noqa: S608 - as above
            " s.created_at, s.modified_at FROM workflow_schedules s JOIN workflow_flows f ON f.id = s.flow"
            " WHERE s.world = ? AND (f.name, s.name) >= (?, ?) ORDER BY f.name, s.name LIMIT ?",
            (self._tenants.id_of(tenant), *start, limit),
        )
        return [(flow, _record(row), next_at) for flow, next_at, *row in rows]

    def names_with(self, tenant: Tenant, containing: str, limit: int) -> list[tuple[str, str]]:
        """Return flow and name of up to *limit* schedules with *containing*, in small letters, in their names."""
        return self._database.read(
            "SELECT f.name, s.name FROM workflow_schedules s JOIN workflow_flows f ON f.id = s.flow"
            " WHERE s.world = ? AND instr(lower(s.name), ?) ORDER BY f.name, s.name LIMIT ?",
            (self._tenants.id_of(tenant), containing, limit),
        ).fetchall()

    def due(self, now: Millis, limit: int) -> Sequence[DueSchedule]:
        """Return up to *limit* schedules whose run is due, earliest first."""
        return self._due("s.next_at <= ? ORDER BY s.next_at, s.id LIMIT ?", (now, limit))

    def upcoming(self, now: Millis, limit: int) -> list[tuple[str, str, Millis]]:
        """Return the next *limit* runs after *now*: flow, schedule, time."""
        return self._database.read(
            "SELECT f.name, s.name, s.next_at FROM workflow_schedules s JOIN workflow_flows f ON f.id = s.flow"
            " WHERE s.next_at > ? ORDER BY s.next_at LIMIT ?",
            (now, limit),
        ).fetchall()

    def ahead(self, at: Millis, limit: int) -> Sequence[DueSchedule]:
        """Return up to *limit* schedules whose next run was computed at a time later than *at*."""
        return self._due("s.next_at IS NOT NULL AND s.counted_at > ? LIMIT ?", (at, limit))

    def turn(self, turns: Iterable[tuple[ScheduleId, Turn]]) -> None:
        """Set the next runs of schedules."""
        self._database.write_many(
            "UPDATE workflow_schedules SET since = ?, counted_at = ?, next_at = ? WHERE id = ?",
            [(*turn, schedule) for schedule, turn in turns],
        )

    def next_run(self) -> Millis | None:
        """Return the time of the earliest run."""
        row = self._database.read("SELECT min(next_at) FROM workflow_schedules WHERE next_at IS NOT NULL").fetchone()
        return None if row[0] is None else Millis(row[0])

    def counts_wall_clock(self) -> bool:
        """Whether an enabled schedule has another expression than ``@every``."""
        row = self._database.read(
            "SELECT 1 FROM workflow_schedules WHERE next_at IS NOT NULL AND expression NOT LIKE '@every%' LIMIT 1"
        ).fetchone()
        return row is not None

    def _due(self, where: str, values: tuple[Any, ...]) -> list[DueSchedule]:
        rows = self._database.read(f"{_DUE} WHERE {where}", values).fetchall()
        return [DueSchedule(schedule, self._tenants.by_id(tenant), *rest) for schedule, tenant, *rest in rows]


def _record(row: Sequence[Any]) -> ScheduleRecord:
    schedule, name, uuid, *settings, created_at, modified_at = row
    return ScheduleRecord(schedule, name, uuid, _SETTINGS.item(settings), created_at, modified_at)
