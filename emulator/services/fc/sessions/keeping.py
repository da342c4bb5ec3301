"""The sessions of all functions: begun, bound to instances, paused, ended when their time is over.

A session is a row, and a `Seat` that binds it to an instance. The row outlives the emulator, the seat does not: the
next call after a restart is bound anew. While calls of a session run it is not unbound from its instance.

Source: Function Compute 3.0, session lifecycle, deep hibernation, isolation; codes and what an ended session leaves
behind are assumed.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import replace
from emulator.kernel.tasks import in_turns
from emulator.kernel.timers import AT_ONCE
from emulator.services.fc.catalog.affinity import SESSION_EXCLUSIVE, SSE, affinity_of
from emulator.services.fc.catalog.resolving import FunctionKeys, Resolver, Target
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.model import CUSTOM_CONTAINER, LATEST, FunctionRef
from emulator.services.fc.ports import Instances, Platform
from emulator.services.fc.runtime.model import Invocation
from emulator.services.fc.runtime.seating import Seat
from emulator.services.fc.sessions.model import LIVE, Session, Status, begun, expired, paused, resting, working
from emulator.services.fc.sessions.store import SessionStore

_TIMER = ("fc", "sessions")

Leave = Callable[[], bool]
"""Records the end of a call; returns whether the session is still one of those that are kept."""


class Sessions:
    """Keeps the sessions. *most* returns how many instances a function may have through a qualifier, if limited."""

    def __init__(
        self,
        platform: Platform,
        store: SessionStore,
        resolver: Resolver,
        instances: Instances,
        keys: FunctionKeys,
        most: Callable[[FunctionRef], int | None],
    ) -> None:
        self.store = store
        self._clock = platform.clock
        self._timers = platform.timers
        self._ids = platform.ids
        self._resolver = resolver
        self._instances = instances
        self._keys = keys
        self._most = most
        self._seats: dict[int, Seat] = {}
        self._running: dict[int, int] = {}
        self._armed: Millis | None = None
        self._open = False
        platform.timers.on_step_back(self._clock_set_back)

    async def start(self) -> None:
        """Resume the sessions of an earlier run: those with running calls become idle, those of streams end.

        This takes several turns of the loop; sessions that change meanwhile are left alone.
        """
        self._open = True
        async for session in in_turns(self.store.under_way()):
            if session.seq is None or session.seq in self._running or self.store.get(session.seq) != session:
                continue
            if session.kind == SSE:
                self.store.delete(session.seq)
            else:
                self.store.put(resting(session, session.used_at))
        self._arm()

    def close(self) -> None:
        """Release every instance; the rows of sessions stay."""
        self._open = False
        self._timers.cancel(_TIMER)
        self._armed = None
        self._seats.clear()
        self._running = {}  # another one: what runs still is no call of the sessions to come

    def clear(self) -> None:
        """Forget every session."""
        for seat in self._seats.values():
            self._instances.vacate(seat)
        self.close()
        self.store.clear()

    def live(self, lane: FunctionRef, session_id: str) -> Session:
        """Return a session that has not ended.

        Raises: SessionNotFound.
        """
        session = self.store.live(lane, session_id)
        if session is None:
            raise FcError("SessionNotFound", session=session_id)
        return session

    def check_reusable(self, lane: FunctionRef, session_id: str) -> None:
        """Make sure that no session of this id has ended that forbids another one.

        Raises: InvalidArgument.
        """
        if self.store.refuses(lane, session_id):
            raise InvalidArgument(f"session '{session_id}' has expired and its id must not be used again")

    def instance_id(self, session: Session) -> str:
        """Return the id of the instance that a session is bound to, empty when it is bound to none."""
        seat = self._seats.get(session.seq or 0)
        return "" if seat is None else seat.instance_id

    def target_of(self, session: Session, target: Target) -> Target:
        """Return the target of a session's calls: the version chosen at its beginning, its instance's image."""
        if session.version != target.version:
            lane = session.lane
            qualifier = None if session.version == LATEST else session.version
            target = self._resolver.target(lane.tenant, lane.service, lane.function, qualifier, 1.0)
        seat = self._seats.get(session.seq or 0)
        image = None if seat is None else seat.image
        return target if image is None else target._replace(image=image)

    def begin(self, lane: FunctionRef, session_id: str, target: Target, given: Mapping[str, Any] = {}) -> Session:
        """Write a new session of what *target* runs; *given* has what its caller sets."""
        assert target.affinity is not None
        session = begun(lane, session_id, target.version, target.affinity, self._clock.now(), given)
        if session.kind == SSE:
            session = replace(session, due_at=None)
        return self._put(session)

    async def create(
        self, lane: FunctionRef, session_id: str, target: Target, given: Mapping[str, Any], request_id: str
    ) -> Session:
        """Start a session with an instance that is initialized.

        Raises: SessionAlreadyExists, InvalidArgument; RuntimeFailure, which leaves no session.
        """
        if self.store.live(lane, session_id) is not None:
            raise FcError("SessionAlreadyExists", session=session_id)
        self.check_reusable(lane, session_id)
        session = self.begin(lane, session_id, target, given)
        try:
            await self._bind(session, target, request_id)
        except BaseException:
            self._forget(session)
            raise
        return session

    async def _bind(self, session: Session, target: Target, request_id: str) -> None:
        credentials = self._keys.of(session.lane.tenant, target, self._clock.now())
        invocation = Invocation(
            request_id=request_id, event=b"", qualifier=session.lane.qualifier, credentials=credentials
        )
        seat = self.seat(session)
        leave = self.enter(session)
        try:
            await self._instances.settle(target.image, seat, invocation)
        finally:
            leave()

    def update(self, session: Session, given: Mapping[str, Any]) -> Session:
        """Change what is *given*, attribute -> value; a time to live that has passed ends the session at once.

        A time to live alone also shortens an idle time that is longer, as when the session begins (assumed).

        Raises: InvalidArgument for an idle time above the time to live.
        """
        given, now = dict(given), self._clock.now()
        own = {name: given.pop(name) for name in ("ttl_s", "idle_s", "reuse_disabled") if name in given}
        if "ttl_s" in own:
            own.setdefault("idle_s", min(session.idle_s, own["ttl_s"]))
        session = replace(session, **own, settings={**session.settings, **given}, modified_at=now)
        if session.idle_s > session.ttl_s:
            raise InvalidArgument(
                f"sessionIdleTimeoutInSeconds {session.idle_s} must not be above sessionTTLInSeconds {session.ttl_s}"
            )
        busy = session.seq in self._running
        session = self._put(working(session, now) if busy else resting(session, session.used_at))
        if session.due_at is not None and session.due_at <= now:
            self._end(session, now)
            session = expired(session, now)
        return session

    def delete(self, session: Session) -> None:
        """Forget a session, and that its id has ever been used; calls of one that is isolated fail."""
        self.store.forget_id(session.lane, session.session_id)
        self._let_go(session, now=True)

    def end_of(self, sessions: Iterable[Session]) -> None:
        """Forget sessions whose function, version or alias is deleted; their calls end normally."""
        for session in sessions:
            self._forget(session)

    def pause(self, session: Session) -> Session:
        """Take a session from its instance until it is resumed.

        Raises: InvalidArgument for a function that cannot be paused; SessionNotActive.
        """
        self._check_pausable(session)
        if session.status is not Status.ACTIVE:
            raise FcError("SessionNotActive", session=session.session_id, status=session.status.value)
        session = self._put(paused(session, self._clock.now()))
        self._let_go(session, now=True)
        return session

    async def resume(self, session: Session, target: Target, request_id: str) -> Session:
        """Bind a paused session to an instance again.

        Raises: SessionNotPaused; RuntimeFailure, after which it is still paused; SessionNotFound when it has ended
        meanwhile.
        """
        if session.status is not Status.PAUSED:
            raise FcError("SessionNotPaused", session=session.session_id, status=session.status.value)
        target = self.target_of(session, target)
        await self._bind(session, target, request_id)
        now = self._clock.now()
        kept = self.store.get(session.seq or 0)
        if kept is None or kept.status not in LIVE:
            raise FcError("SessionNotFound", session=session.session_id)
        return self._put(resting(replace(kept, status=Status.ACTIVE, modified_at=now), now))

    def _check_pausable(self, session: Session) -> None:
        if not self._is_pausable(session):
            raise InvalidArgument(
                f"session '{session.session_id}' cannot be paused: that needs the runtime {CUSTOM_CONTAINER} without "
                f"GPU and the instanceIsolationMode {SESSION_EXCLUSIVE}"
            )

    def _is_pausable(self, session: Session) -> bool:
        """Whether a session can be paused. Source: Function Compute 3.0, deep hibernation."""
        lane = session.lane
        try:
            function = self._resolver.function(lane.tenant, lane.service, lane.function, session.version)
        except FcError:
            return False
        config, affinity = function.config, affinity_of(function.config)
        allowed = config.runtime == CUSTOM_CONTAINER and not config.gpu_config
        return allowed and affinity is not None and affinity.exclusive and affinity.has_api

    def seat(self, session: Session) -> Seat:
        """Return the seat of a session, an empty one when it has none."""
        assert session.seq is not None
        seat = self._seats.get(session.seq)
        if seat is None:
            seat = self._seats[session.seq] = self.new_seat(session.lane, session.session_id)
        return seat

    def new_seat(self, lane: FunctionRef, session_id: str = "") -> Seat:
        """Return a seat for a call that may begin a session."""
        return Seat(session_id, self._most(lane))

    def adopt(self, session: Session, seat: Seat) -> None:
        """Give a new session the seat of the call that began it."""
        assert session.seq is not None
        seat.session = session.session_id
        self._seats[session.seq] = seat

    def enter(self, session: Session) -> Leave:
        """Record that a call of a session begins; return what records its end.

        That returns False for a call that ends after all sessions were closed or replaced: another session may have the
        number by then.
        """
        assert session.seq is not None
        count = self._running.get(session.seq, 0)
        if not count and session.kind != SSE:
            self._put(working(session, self._clock.now()))
        self._running[session.seq] = count + 1
        return partial(self._leave, session, self._running)

    def _leave(self, session: Session, running: dict[int, int]) -> bool:
        """Record that a call of a session has ended; one that expired meanwhile is taken from its instance."""
        assert session.seq is not None
        if running is not self._running:
            return False
        count = running.pop(session.seq) - 1
        if count:
            running[session.seq] = count
            return True
        kept = self.store.get(session.seq)
        if kept is None or kept.status is Status.EXPIRED:
            self._let_go(session)
        elif kept.kind != SSE:
            self._put(resting(kept, self._clock.now()))
        return True

    def withdraw(self, session: Session) -> None:
        """Forget a session whose first call found no instance, or one that did not initialize."""
        seat = self._seats.get(session.seq or 0)
        if (seat is None or seat.image is None) and session.seq not in self._running:
            self._forget(session)

    def upcoming(self, now: Millis, limit: int) -> list[tuple[str, str, Millis]]:
        """Return the next *limit* ends of sessions: function, session, time."""
        return self.store.upcoming(now, limit)

    def _forget(self, session: Session) -> None:
        if session.seq is not None:
            self.store.delete(session.seq)
        self._let_go(session)

    def _let_go(self, session: Session, *, now: bool = False) -> None:
        """Take a session from its instance: at once, or when its last call has ended."""
        assert session.seq is not None
        if session.seq in self._running and not now:
            return
        seat = self._seats.pop(session.seq, None)
        if seat is not None:
            self._instances.vacate(seat, now=now)

    def _put(self, session: Session) -> Session:
        session = self.store.put(session)
        self._arm(session.due_at)
        return session

    def _arm(self, due: Millis | None = None) -> None:
        """Set the timer for the next change of a session's state; *due* is a new one, by default the store is asked."""
        if not self._open:
            return
        if due is None or self._armed is None:
            due = self.store.next_due()
        if due is not None and (self._armed is None or due < self._armed):
            self._armed = due
            self._timers.call_at(due, _TIMER, self._look)

    def _look(self) -> None:
        """Make the changes of state that are due, up to `AT_ONCE` of them, and set the timer for the rest."""
        self._armed = None
        now = self._clock.now()
        for session in self.store.due(now, AT_ONCE):
            self._end(session, now)
        self._arm()

    def _end(self, session: Session, now: Millis) -> None:
        if session.status is Status.EXPIRED:
            self._forget(session)
        elif (
            session.status is Status.ACTIVE and session.pauses and session.ends_at > now and self._is_pausable(session)
        ):
            self.store.put(paused(session, now))
            self._let_go(session)
        else:
            self.store.put(expired(session, now))
            self._let_go(session)

    def _clock_set_back(self, before: Millis) -> None:
        if self._open:
            self.store.keep_due(self._clock.now(), before)
            self._armed = None
            self._arm()
