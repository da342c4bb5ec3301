"""The data of a session, and the rules for when its state changes.

The time to live counts from its start, and nothing resets it. The idle time counts from the end of the last call, and
while a call runs it does not count at all. Whichever is over first ends the session.

Source: Function Compute 3.0, session lifecycle and deep hibernation; that a running call holds the idle time up, and
that an idle time of 0 never ends a session, is assumed.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.frozen import field, frozen, replace
from emulator.services.fc import limits
from emulator.services.fc.catalog.affinity import Affinity
from emulator.services.fc.model import Dated, FunctionRef


class Status(StrEnum):
    """The status of a session. Pausing and resuming take no time here, so no session is ever seen in these two."""

    ACTIVE = "Active"
    PAUSING = "Pausing"
    PAUSED = "Paused"
    RESUMING = "Resuming"
    EXPIRED = "Expired"


LIVE = (Status.ACTIVE, Status.PAUSED)


@frozen
class Session(Dated):
    """A session of a function through a qualifier, as its caller names it.

    ``version`` is what the qualifier meant when the session began. ``used_at`` is the start or end of its latest call.
    ``due_at`` is when the state changes next, None when only its connection ends it. ``settings`` holds what is kept
    and shown. ``seq`` is its number, None before it is stored.
    """

    lane: FunctionRef
    session_id: str
    kind: str
    version: str
    status: Status = Status.ACTIVE
    ttl_s: int
    idle_s: int
    reuse_disabled: bool = False
    used_at: Millis
    due_at: Millis | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    seq: int | None = None

    @property
    def ends_at(self) -> Millis:
        """When the session's time to live ends."""
        return Millis(self.created_at + self.ttl_s * SECOND)

    @property
    def pauses(self) -> bool:
        """Whether the session is paused, rather than ended, once it has been idle for its idle time-out."""
        return bool(self.settings.get("enableAutoPause"))


def begun(
    lane: FunctionRef, session_id: str, version: str, affinity: Affinity, now: Millis, given: Mapping[str, Any]
) -> Session:
    """Return a session that begins now; *given* has what its caller sets, attribute -> value."""
    given = dict(given)
    ttl_s = given.pop("ttl_s", affinity.ttl_s)
    session = Session(
        lane=lane,
        session_id=session_id,
        kind=affinity.kind,
        version=version,
        ttl_s=ttl_s,
        idle_s=given.pop("idle_s", min(affinity.idle_s, ttl_s)),
        reuse_disabled=given.pop("reuse_disabled", affinity.reuse_disabled),
        created_at=now,
        modified_at=now,
        used_at=now,
        due_at=None,
        settings=given,
    )
    return resting(session, now)


def resting(session: Session, now: Millis) -> Session:
    """Return the session when its last call has ended, or without one."""
    due = session.ends_at
    if session.idle_s and session.status is Status.ACTIVE:
        due = min(due, Millis(now + session.idle_s * SECOND))
    return replace(session, used_at=now, due_at=due)


def working(session: Session, now: Millis) -> Session:
    """Return the session when a call of it begins."""
    return replace(session, used_at=now, due_at=session.ends_at)


def expired(session: Session, now: Millis) -> Session:
    """Return the session after its end; its record is kept for a while."""
    return replace(session, status=Status.EXPIRED, due_at=Millis(now + limits.SESSION_KEPT_MS))


def paused(session: Session, now: Millis) -> Session:
    """Return the session without an instance, until it is resumed or its time to live is over."""
    return replace(session, status=Status.PAUSED, modified_at=now, due_at=session.ends_at)
