"""The tables of asynchronous invocation: configurations, calls, and the events of tasks.

Lists return one item more than asked for when there are more.
"""

import json
from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import fields_of, replace
from emulator.kernel.identity import Tenant
from emulator.services.fc.asynchronous.model import (
    AsyncCall,
    AsyncConfig,
    Status,
    StoredConfig,
    TaskEvent,
    TaskQuery,
)
from emulator.services.fc.kinds import PLACE
from emulator.services.fc.model import ABOVE_ALL_NAMES, FunctionRef
from emulator.services.fc.runtime.model import HttpCall
from emulator.storage.rows import Rows, RowStore
from emulator.wire.schema.kinds import ANYTHING, Held

_PLACE = ", ".join(PLACE.columns)
_NEW = ", ".join((
    _PLACE, "request_id", "task_id", "call_key", "event", "tracing", "accepted_at", "status", "due_at", "trace",
    "http", "origin", "version",
))  # fmt: skip
_ADD = f"INSERT INTO fc_async_calls ({_NEW}) VALUES ({', '.join('?' * 17)})"  # noqa: S608 - constants
_HTTP_FIELDS = ("method", "path", "request_uri", "base_path", "client_ip", "host", "headers")
_OF_FUNCTION = "account = ? AND region = ? AND service = ? AND function = ?"
_OF_LANE = f"{_OF_FUNCTION} AND qualifier = ?"
_ACTIVE = (Status.RUNNING.value, Status.STOPPING.value)
_UNDER_WAY = "ended_at IS NULL AND status IN (?, ?)"
_LANES_FROM = (
    "SELECT service, function, qualifier FROM {} AND account = ? AND region = ? AND service <> ''"
    " AND (service, function, qualifier) >= (?, ?, ?) ORDER BY service, function, qualifier LIMIT {}"
)
_CONFIGURED_FOR_TASKS = _LANES_FROM.format(
    "fc_async_configs INDEXED BY fc_async_configs_of_tasks WHERE json_extract(config, '$.task_mode')", "?"
)
_NEXT_WITH_TASKS = _LANES_FROM.format("fc_async_calls WHERE task_id <> ''", "1")


def _settings_text(config: AsyncConfig) -> str:
    return json.dumps({each.name: getattr(config, each.name) for each in fields_of(config)})


def _http_text(http: HttpCall | None) -> str:
    return json.dumps({name: getattr(http, name) for name in _HTTP_FIELDS}) if http is not None else ""


def _http(text: str) -> HttpCall | None:
    if not text:
        return None
    fields = json.loads(text)
    return HttpCall(**fields | {"headers": tuple((name, value) for name, value in fields["headers"])})


_CONFIGS = Rows(
    StoredConfig,
    "fc_async_configs",
    lane=PLACE,
    config=Held(_settings_text, lambda text: AsyncConfig(**json.loads(text))),
)
_CALLS = Rows(
    AsyncCall,
    "fc_async_calls",
    lane=PLACE,
    tracing=ANYTHING,
    status=Held(str, Status),
    http=Held(_http_text, _http),
)


class AsyncStore(RowStore):
    """The tables ``fc_async_configs``, ``fc_async_calls`` and ``fc_task_events``."""

    TABLES = (_CONFIGS, _CALLS)

    def config(self, lane: FunctionRef) -> StoredConfig | None:
        """Return the configuration of exactly this qualifier."""
        return self._one(_CONFIGS, _OF_LANE, PLACE.write(lane))

    def configs(
        self, tenant: Tenant, service: str, function: str | None, start: tuple[str, str], limit: int
    ) -> list[StoredConfig]:
        """Return configurations by (function, qualifier) from *start* on, of one *function* or of all."""
        where, values = "account = ? AND region = ? AND service = ? AND (function, qualifier) >= (?, ?)", [*start]
        if function is not None:
            where, values = f"{_OF_FUNCTION} AND qualifier >= ?", [function, start[1]]
        return self._all(
            _CONFIGS, f"{where} ORDER BY function, qualifier LIMIT ?", (*tenant, service, *values, limit + 1)
        )

    def put_config(self, config: StoredConfig) -> None:
        """Write a configuration, new or not."""
        self._put(_CONFIGS, config)

    def delete_configs(self, tenant: Tenant, service: str, function: str | None, qualifier: str | None) -> bool:
        """Remove configurations; None for *function* or *qualifier* means all. Return whether there was any."""
        where = "account = ? AND region = ? AND service = ?"
        values = [*tenant, service]
        for column, value in (("function", function), ("qualifier", qualifier)):
            if value is not None:
                where += f" AND {column} = ?"
                values.append(value)
        return self._delete(_CONFIGS, where, values)

    def add(self, call: AsyncCall) -> AsyncCall:
        """Write a new call and return it with its number."""
        cursor = self._database.write(
            _ADD,
            (
                *PLACE.write(call.lane), call.request_id, call.task_id, call.call_key, call.event,
                json.dumps(dict(call.tracing)), call.accepted_at, call.status.value, call.due_at, call.trace,
                _http_text(call.http), call.origin, call.version,
            ),
        )  # fmt: skip
        return replace(call, seq=cursor.lastrowid or 0)

    def update(self, call: AsyncCall) -> None:
        """Write the changed columns of a call."""
        self._database.write(
            "UPDATE fc_async_calls SET status = ?, due_at = ?, function_failures = ?, platform_failures = ?, "
            "running_from = ?, ended_at = ?, http_status = ?, error = ?, result = ?, instance_id = ?, destination = ? "
            "WHERE seq = ?",
            (
                call.status.value, call.due_at, call.function_failures, call.platform_failures, call.running_from,
                call.ended_at, call.http_status, call.error, call.result, call.instance_id, call.destination, call.seq,
            ),
        )  # fmt: skip

    def delete(self, call: AsyncCall) -> None:
        """Remove a call with its events."""
        self._delete(_CALLS, "seq = ?", (call.seq,))
        if call.task_id:
            self._database.write("DELETE FROM fc_task_events WHERE seq = ?", (call.seq,))

    def due(self, lane: FunctionRef, now: Millis, limit: int) -> list[AsyncCall]:
        """Return up to *limit* waiting calls that are due, the earliest first."""
        where = f"{_OF_LANE} AND due_at <= ? ORDER BY due_at, seq LIMIT ?"
        return self._all(_CALLS, where, (*PLACE.write(lane), now, limit))

    def keep_due(self, now: Millis, before: Millis) -> None:
        """Make due at *now* what became due up to *before*."""
        self._database.write(
            "UPDATE fc_async_calls SET due_at = ? WHERE due_at > ? AND due_at <= ?", (now, now, before)
        )

    def next_due(self, lane: FunctionRef) -> Millis | None:
        """Return the time of the earliest waiting call."""
        sql = f"SELECT due_at FROM fc_async_calls WHERE {_OF_LANE} AND due_at IS NOT NULL ORDER BY due_at LIMIT 1"  # noqa: S608 - constants
        row = self._database.read(sql, PLACE.write(lane)).fetchone()
        return row[0] if row else None

    def upcoming(self, now: Millis, limit: int) -> list[tuple[str, str, int, Millis]]:
        """Return the next *limit* attempts due after *now*: service, function, failures so far, time."""
        return self._database.read(
            "SELECT service, function, platform_failures + function_failures, due_at FROM fc_async_calls"
            " WHERE due_at > ? ORDER BY due_at LIMIT ?",
            (now, limit),
        ).fetchall()

    def lanes(self) -> list[FunctionRef]:
        """Return the queues in which a call waits."""
        rows = self._database.read(f"SELECT DISTINCT {_PLACE} FROM fc_async_calls WHERE due_at IS NOT NULL")  # noqa: S608 - constants
        return [PLACE.read(*row) for row in rows]

    def interrupted(self) -> list[AsyncCall]:
        """Return the calls that were running or being stopped when the emulator ended."""
        return self._all(_CALLS, _UNDER_WAY, _ACTIVE)

    def open_numbers(self) -> dict[str, int]:
        """Return how many calls have not ended, by status."""
        sql = "SELECT status, count(*) FROM fc_async_calls WHERE ended_at IS NULL GROUP BY status"
        return dict(self._database.read(sql).fetchall())

    def open_calls(self, tenant: Tenant, service: str, function: str) -> list[AsyncCall]:
        """Return the calls of a function that have not ended, as they were accepted: waiting ones, and under way."""
        of_function = (*tenant, service, function)
        waiting = self._all(_CALLS, f"{_OF_FUNCTION} AND due_at IS NOT NULL", of_function)
        under_way = self._all(_CALLS, f"{_UNDER_WAY} AND due_at IS NULL AND {_OF_FUNCTION}", (*_ACTIVE, *of_function))
        return sorted([*waiting, *under_way], key=attrgetter("seq"))

    def delete_waiting(self, tenant: Tenant, service: str, function: str) -> None:
        """Remove the waiting calls of a function of which no record is kept."""
        where = f"{_OF_FUNCTION} AND due_at IS NOT NULL AND task_id = '' AND call_key = ''"
        self._delete(_CALLS, where, (*tenant, service, function))

    def by_request(self, tenant: Tenant, request_id: str) -> AsyncCall | None:
        """Return a call by its request id."""
        return self._newest("request_id = ? AND account = ? AND region = ?", (request_id, *tenant))

    def by_key(self, tenant: Tenant, call_key: str) -> AsyncCall | None:
        """Return a call by its caller's own name for it."""
        where = "account = ? AND region = ? AND call_key = ? AND call_key <> ''"
        return self._newest(where, (*tenant, call_key))

    def purge(self, tasks_before: Millis, others_before: Millis) -> None:
        """Remove the records of calls that ended before these times."""
        ended = "ended_at < CASE task_id WHEN '' THEN ? ELSE ? END AND ended_at < ?"
        bounds = (others_before, tasks_before, max(tasks_before, others_before))
        self._database.write(
            f"DELETE FROM fc_task_events WHERE seq IN (SELECT seq FROM fc_async_calls WHERE {ended})",  # noqa: S608 - constants
            bounds,
        )
        self._delete(_CALLS, ended, bounds)

    def first_end(self) -> Millis | None:
        """Return when the first of the ended calls that are kept ended; None when there are none."""
        row = self._database.read("SELECT min(ended_at) FROM fc_async_calls WHERE ended_at IS NOT NULL").fetchone()
        return None if row[0] is None else Millis(row[0])

    def task(self, tenant: Tenant, service: str, function: str, task_id: str) -> AsyncCall | None:
        """Return the newest task of this id."""
        where = f"{_OF_FUNCTION} AND task_id = ? AND task_id <> ''"
        return self._newest(where, (*tenant, service, function, task_id))

    def tasks(self, tenant: Tenant, service: str, function: str, query: TaskQuery) -> list[AsyncCall]:
        """Return tasks in the order they were accepted, or the other way round."""
        where = f"{_OF_FUNCTION} AND task_id <> ''"
        values: list[Any] = [*tenant, service, function]
        order, further = ("DESC", "<=") if query.newest_first else ("ASC", ">=")
        bounds = (
            (f"seq {further} ?", query.after),
            ("qualifier = ?", query.qualifier),
            ("status = ?", query.status.value if query.status else None),
            ("accepted_at >= ?", query.begin),
            ("accepted_at <= ?", query.end),
        )
        for condition, value in bounds:
            if value is not None:
                where += f" AND {condition}"
                values.append(value)
        if query.prefix:
            where += " AND task_id >= ? AND task_id < ?"
            values += [query.prefix, query.prefix + ABOVE_ALL_NAMES]
        return self._all(_CALLS, f"{where} ORDER BY seq {order} LIMIT ?", (*values, query.limit + 1))

    def task_lanes(self, tenant: Tenant, start: str, limit: int) -> list[tuple[str, str, str]]:
        """Return (service, function, qualifier) of the 2.0 functions that are configured for tasks or have some.

        They come in this order, from ``service/function/qualifier`` *start* on, one too many.
        """
        first = f"{start}//".split("/")[:3]
        found = set(self._database.read(_CONFIGURED_FOR_TASKS, (*tenant, *first, limit + 1)))
        for _ in range(limit + 1):  # from one to the next, however many tasks each has
            row = self._database.read(_NEXT_WITH_TASKS, (*tenant, *first)).fetchone()
            if row is None:
                break
            found.add(row)
            first = [*row[:2], f"{row[2]}\0"]
        return sorted(found)[: limit + 1]

    def add_events(self, call: AsyncCall, at: Millis, changes: Iterable[tuple[Status, str]]) -> None:
        """Append (status, detail) to the events of a task."""
        (last,) = self._database.read(
            "SELECT coalesce(max(event_id), 0) FROM fc_task_events WHERE seq = ?", (call.seq,)
        ).fetchone()
        rows = [(call.seq, last + step, status.value, at, detail) for step, (status, detail) in enumerate(changes, 1)]
        self._database.write_many("INSERT INTO fc_task_events VALUES (?, ?, ?, ?, ?)", rows)

    def events(self, call: AsyncCall) -> list[TaskEvent]:
        """Return a task's events."""
        rows = self._database.read(
            "SELECT event_id, status, at, detail FROM fc_task_events WHERE seq = ? ORDER BY event_id", (call.seq,)
        )
        return [
            TaskEvent(event_id=number, status=Status(status), at=at, detail=detail)
            for number, status, at, detail in rows
        ]

    def clear(self) -> None:
        """Remove everything."""
        for table in ("fc_async_configs", "fc_async_calls", "fc_task_events"):
            self._database.write(f"DELETE FROM {table}")  # noqa: S608 - constants

    def _newest(self, where: str, values: tuple[str, ...]) -> AsyncCall | None:
        return self._one(_CALLS, f"{where} ORDER BY seq DESC LIMIT 1", values)
