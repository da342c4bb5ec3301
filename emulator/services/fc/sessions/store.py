"""The table of sessions. One id can have several rows: one that lives, and those that have ended."""

from typing import Any

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.services.fc.catalog.affinity import SSE
from emulator.services.fc.kinds import PLACE
from emulator.services.fc.model import FunctionRef, display_name
from emulator.services.fc.sessions.model import LIVE, Session, Status
from emulator.storage.rows import Rows, RowStore
from emulator.wire.schema.kinds import ANYTHING, FLAG, Held

_ROWS = Rows(Session, "fc_sessions", lane=PLACE, status=Held(str, Status), reuse_disabled=FLAG, settings=ANYTHING)
_FUNCTION = "account = ? AND region = ? AND service = ? AND function = ?"
_LANE = f"{_FUNCTION} AND qualifier = ?"
_FIXED = {"seq", "session_id", *PLACE.columns}
_PUT = f"{_ROWS.put.replace(' OR REPLACE', '')} ON CONFLICT (seq) DO UPDATE SET " + ", ".join(
    f"{name} = excluded.{name}" for name in _ROWS.names if name not in _FIXED
)
"""Each call of a session writes it: the indexes of what never changes are left alone."""
_LIVE = "status IN ('Active', 'Paused')"
_WORKING = f"(status = 'Active' AND due_at = created_at + ttl_s * {SECOND})"
"""As `model.working` leaves a session, or one without an idle time-out."""


class SessionStore(RowStore):
    """The table ``fc_sessions``."""

    TABLES = (_ROWS,)
    _newest = 0

    def put(self, session: Session) -> Session:
        """Write a session, new or not, and return it with its number.

        The number of a session that is gone does not come back: its calls and streams, which end later, name it.
        """
        if session.seq is None:
            (highest,) = self._database.read("SELECT max(seq) FROM fc_sessions").fetchone()
            self._newest = max(self._newest, highest or 0) + 1
            session = replace(session, seq=self._newest)
        self._write(_PUT, _ROWS.values(session))
        return session

    def get(self, seq: int) -> Session | None:
        """Return a session by its number."""
        return self._one(_ROWS, "seq = ?", (seq,))

    def live(self, lane: FunctionRef, session_id: str) -> Session | None:
        """Return the session of this id that has not ended."""
        return self._one(_ROWS, f"{_LANE} AND session_id = ? AND {_LIVE}", (*PLACE.write(lane), session_id))

    def refuses(self, lane: FunctionRef, session_id: str) -> bool:
        """Whether an ended session forbids that its id is used again."""
        sql = f"SELECT 1 FROM fc_sessions WHERE {_LANE} AND session_id = ? AND reuse_disabled AND status = 'Expired'"  # noqa: S608 - constants
        return self._database.read(sql, (*PLACE.write(lane), session_id)).fetchone() is not None

    def page(
        self,
        function: FunctionRef,
        before: int | None,
        limit: int,
        *,
        session_id: str = "",
        status: Status | None = None,
        kinds: tuple[str, ...] = (),
    ) -> list[Session]:
        """Return sessions of a function, and of one qualifier unless that is empty, the newest first; one too many."""
        where, values = _FUNCTION, [*PLACE.write(function)[:4]]
        bounds: tuple[tuple[str, Any], ...] = (
            ("seq < ?", before),
            ("qualifier = ?" if session_id else "+qualifier = ?", function.qualifier or None),  # in order of seq then
            ("session_id = ?", session_id or None),
            ("status = ?", status.value if status else None),
        )
        for condition, value in bounds:
            if value is not None:
                where += f" AND {condition}"
                values.append(value)
        if kinds:
            where += f" AND kind IN ({', '.join('?' * len(kinds))})"
            values += kinds
        return self._all(_ROWS, f"{where} ORDER BY seq DESC LIMIT ?", (*values, limit + 1))

    def latest(self, tenant: Tenant, service: str, function: str, limit: int) -> list[Session]:
        """Return sessions of a function, or of every one when that is empty, the newest first."""
        where, values = "+account = ? AND +region = ?", [*tenant]  # by number, however many there are
        if function:
            where, values = _FUNCTION, [*tenant, service, function]
        return self._all(_ROWS, f"{where} ORDER BY seq DESC LIMIT ?", (*values, limit))

    def of_function(self, tenant: Tenant, service: str, function: str, qualifier: str | None = None) -> list[Session]:
        """Return the sessions of a function, of one qualifier or of all."""
        values: tuple[str, ...] = (*tenant, service, function)
        if qualifier is None:
            return self._all(_ROWS, _FUNCTION, values)
        return self._all(_ROWS, _LANE, (*values, qualifier))

    def under_way(self) -> list[Session]:
        """Return the live sessions that last as long as their connection, and those that had a call to the last."""
        return self._all(_ROWS, f"{_LIVE} AND (kind = ? OR {_WORKING})", (SSE,))

    def due(self, now: Millis, limit: int) -> list[Session]:
        """Return sessions whose state changes by *now*, the earliest first."""
        return self._all(_ROWS, "due_at <= ? ORDER BY due_at, seq LIMIT ?", (now, limit))

    def next_due(self) -> Millis | None:
        """Return when a state changes next."""
        (due,) = self._database.read("SELECT min(due_at) FROM fc_sessions").fetchone()
        return None if due is None else Millis(due)

    def keep_due(self, now: Millis, before: Millis) -> None:
        """Make due at *now* what became due up to *before*."""
        self._write("UPDATE fc_sessions SET due_at = ? WHERE due_at > ? AND due_at <= ?", (now, now, before))

    def upcoming(self, now: Millis, limit: int) -> list[tuple[str, str, Millis]]:
        """Return the next *limit* ends of sessions after *now*: function, session, time."""
        rows = self._database.read(
            f"SELECT service, function, session_id, due_at FROM fc_sessions WHERE due_at > ? AND {_LIVE}"  # noqa: S608 - constants
            " ORDER BY due_at, seq LIMIT ?",
            (now, limit),
        )
        return [(display_name(service, function), session, Millis(at)) for service, function, session, at in rows]

    def numbers(self) -> dict[str, int]:
        """Return how many sessions there are, by status."""
        counted = dict(self._database.read("SELECT status, count(*) FROM fc_sessions GROUP BY status").fetchall())
        return {status.value: counted.get(status.value, 0) for status in (*LIVE, Status.EXPIRED)}

    def delete(self, seq: int) -> None:
        """Remove a session."""
        self._delete(_ROWS, "seq = ?", (seq,))

    def forget_id(self, lane: FunctionRef, session_id: str) -> None:
        """Remove every session of an id, ended ones too."""
        self._delete(_ROWS, f"{_LANE} AND session_id = ?", (*PLACE.write(lane), session_id))

    def clear(self) -> None:
        """Remove everything."""
        self._write("DELETE FROM fc_sessions")
