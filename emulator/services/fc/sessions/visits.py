"""One call of a function with affinity: which session it belongs to, where it goes, and what its answer carries.

A call that names no session begins one: at once where the platform names it, by header or cookie, and with the answer
where an MCP server does. A call that can have no session goes wherever there is room.

Source: Function Compute 3.0, HeaderField affinity, Cookie affinity, MCP SSE affinity, MCP Streamable HTTP affinity;
what calls of unknown or paused sessions get is assumed.
"""

from collections.abc import Iterable

from emulator.http.message import Request
from emulator.kernel.frozen import frozen, replace
from emulator.kernel.ids import Ids
from emulator.services.fc.catalog.affinity import COOKIE, HEADER, SSE, Affinity
from emulator.services.fc.catalog.resolving import Target
from emulator.services.fc.errors import FcError
from emulator.services.fc.model import FunctionRef
from emulator.services.fc.ports import Instances
from emulator.services.fc.runtime.model import HttpCall, Invocation, InvocationResult, RuntimeFailure
from emulator.services.fc.runtime.seating import Seat
from emulator.services.fc.sessions import marks
from emulator.services.fc.sessions.keeping import Leave, Sessions
from emulator.services.fc.sessions.model import Session, Status

Fields = tuple[tuple[str, str], ...]


@frozen
class Arrival:
    """A call as sessions see it; ``http`` is set when the function serves the request itself.

    ``drawn`` is the header field of the session that it begins, where that is in the event already.
    """

    lane: FunctionRef
    request: Request
    http: HttpCall | None
    body: bytes
    drawn: tuple[str, str] | None = None


class Reception:
    """Finds out which session a call belongs to."""

    def __init__(self, sessions: Sessions, instances: Instances, ids: Ids) -> None:
        self._sessions = sessions
        self._instances = instances
        self._ids = ids

    def kept_to(self, arrival: Arrival, choices: Iterable[Target]) -> Target | None:
        """Return the target of the live session that a call names, None when it names none.

        *choices* are the targets that a new session might get; they may differ in where the session is named.
        """
        for target in choices:
            if target.affinity is not None and (named := self._name_in(arrival, target.affinity)):
                session = self._sessions.store.live(arrival.lane, named)
                if session is not None:
                    return self._sessions.target_of(session, target)
        return None

    def drawn(self, request: Request, affinity: Affinity) -> tuple[str, str] | None:
        """Return the header field that names a new session, None for a call that names one or has no such field."""
        if affinity.kind != HEADER or request.headers.get(affinity.header):
            return None
        return (affinity.header, self._ids.hex(32))

    def receive(self, arrival: Arrival, target: Target, affinity: Affinity) -> "Visit | None":
        """Return the `Visit` of a call, None when any instance may serve it. Nothing is written yet.

        Raises: InvalidArgument for an invalid id, or one that must not be used again; SessionNotActive.
        """
        if affinity.has_api:
            return self._named(arrival, target, affinity)
        if arrival.http is None:
            return None
        if affinity.kind == SSE and marks.opens_stream(arrival.http, affinity.sse_path):
            return self._visit(arrival, target, None)
        if session_id := self._name_in(arrival, affinity):
            session = self._sessions.store.live(arrival.lane, session_id)
            return None if session is None else self._visit(arrival, target, session, session_id)
        begins = affinity.kind != SSE and marks.initializes(arrival.http, arrival.body)
        return self._visit(arrival, target, None) if begins else None

    @staticmethod
    def _name_in(arrival: Arrival, affinity: Affinity) -> str:
        """Return the session id in a call, empty when it has none."""
        match affinity.kind:
            case kind if kind == HEADER:
                return arrival.request.headers.get(affinity.header)
            case kind if kind == COOKIE:
                return marks.cookie_of(arrival.request)
            case kind if kind == SSE:
                return marks.in_address(arrival.http) if arrival.http is not None else ""
            case _:
                return arrival.request.headers.get(marks.MCP_HEADER)

    def _named(self, arrival: Arrival, target: Target, affinity: Affinity) -> "Visit":
        fields: Fields = ()
        session_id = self._name_in(arrival, affinity)
        if session_id:
            session_id = marks.checked_id(session_id, affinity.header or "cookie")
        elif (drawn := arrival.drawn or self.drawn(arrival.request, affinity)) is not None:
            session_id = drawn[1]
            fields = (drawn,)
        else:
            session_id = self._ids.uuid()
            fields = (marks.set_cookie(session_id, affinity.ttl_s),)
        session = self._sessions.store.live(arrival.lane, session_id)
        if session is None:
            self._sessions.check_reusable(arrival.lane, session_id)
        elif session.status is Status.PAUSED and not session.settings.get("enableAutoResume"):
            raise FcError("SessionNotActive", session=session_id, status=session.status.value)
        return self._visit(arrival, target, session, session_id, fields)

    def _visit(
        self, arrival: Arrival, target: Target, session: Session | None, session_id: str = "", fields: Fields = ()
    ) -> "Visit":
        if session is not None:
            target = self._sessions.target_of(session, target)
        return Visit(self._sessions, self._instances, arrival, target, session, session_id, fields)


def with_field(http: HttpCall, field: tuple[str, str]) -> HttpCall:
    """Return a request with *field* in place of header fields of that name, which are empty."""
    others = (each for each in http.headers if each[0].lower() != field[0])
    return replace(http, headers=(*others, field))


class Visit:
    """One call of a function with affinity. ``target`` is what it runs, ``fields`` are header fields for its answer.

    Without *session* and with *session_id* it begins that session; without either the answer may name one.
    """

    def __init__(
        self,
        sessions: Sessions,
        instances: Instances,
        arrival: Arrival,
        target: Target,
        session: Session | None,
        session_id: str,
        fields: Fields,
    ) -> None:
        self.target = target
        self.fields = fields
        self._sessions = sessions
        self._instances = instances
        self._arrival = arrival
        self._session = session
        self._session_id = session_id

    @property
    def listens(self) -> bool:
        """Whether the call opens an MCP server's event stream, which stays open as long as the client."""
        http, affinity = self._arrival.http, self.target.affinity
        return http is not None and http.method == "GET" and affinity is not None and not affinity.has_api

    async def run(self, invocation: Invocation) -> InvocationResult:
        """Make the call.

        Raises: RuntimeFailure. The session that it was to begin is not there then, nor after a failed initialization.
        """
        if not self._session_id:
            return await self._learn(invocation)
        sessions, known = self._sessions, self._session
        if known is None:
            session = sessions.begin(self._arrival.lane, self._session_id, self.target)
        elif known.status is Status.PAUSED:
            session = await sessions.resume(known, self.target, invocation.request_id)
        else:
            session = known
        leave = sessions.enter(session)
        try:
            result = await self._instances.invoke(self.target.image, self._named(invocation), sessions.seat(session))
        except BaseException as error:
            if leave() and known is None and isinstance(error, RuntimeFailure):
                sessions.withdraw(session)
            raise
        if result.stream is not None:
            result.stream.at_end(lambda _: self._left(leave, session, result))
        elif self._left(leave, session, result) and known is None and result.error_type == "InitializationError":
            sessions.withdraw(session)
        return result

    def _named(self, invocation: Invocation) -> Invocation:
        """Return the call with the header of its session, which a function that serves HTTP reads there."""
        http, affinity = invocation.http, self.target.affinity
        if http is None and affinity is not None and affinity.kind == HEADER:
            return replace(invocation, session=(affinity.header, self._session_id))
        if http is None or not self.fields or self.fields[0][0] == "Set-Cookie":
            return invocation
        return replace(invocation, http=with_field(http, self.fields[0]))

    def _left(self, leave: Leave, session: Session, result: InvocationResult) -> bool:
        http, answer = self._arrival.http, result.http
        if not leave():
            return False
        if (
            http is not None
            and http.method == "DELETE"
            and self._arrival.request.headers.get(marks.MCP_HEADER) == session.session_id
            and answer is not None
            and answer.status < 300
        ):
            self._sessions.end_of([session])
        return True

    async def _learn(self, invocation: Invocation) -> InvocationResult:
        """Make the call with a new seat, and give the seat to the session that the answer names."""
        seat = self._sessions.new_seat(self._arrival.lane)
        try:
            result = await self._instances.invoke(self.target.image, invocation, seat)
        except BaseException:
            self._instances.vacate(seat)
            raise
        assert self.target.affinity is not None
        stream = result.stream
        if self.target.affinity.kind == SSE:
            if stream is None:
                self._instances.vacate(seat)
            else:
                opened = _Opened(self, seat)
                stream.tap(marks.EndpointReader(opened.begin))
                stream.at_end(opened.end)
            return result
        session = self._begin(self._id_in(result), seat)
        if session is None and stream is None:
            self._instances.vacate(seat)
        elif session is None and stream is not None:
            stream.at_end(lambda _: self._instances.vacate(seat))
        elif session is not None and stream is not None:
            leave = self._sessions.enter(session)
            stream.at_end(lambda _: leave())
        return result

    @staticmethod
    def _id_in(result: InvocationResult) -> str:
        fields = result.http.headers if result.http is not None else ()
        return next((value for name, value in fields if name.lower() == marks.MCP_HEADER), "")

    def _begin(self, session_id: str, seat: Seat) -> Session | None:
        if not session_id:
            return None
        lane = self._arrival.lane
        if (before := self._sessions.store.live(lane, session_id)) is not None:
            self._sessions.end_of([before])
        session = self._sessions.begin(lane, session_id, self.target)
        self._sessions.adopt(session, seat)
        return session


class _Opened:
    """An event stream: its session lives from the event that names it to the end of the stream."""

    def __init__(self, visit: Visit, seat: Seat) -> None:
        self._visit = visit
        self._seat = seat
        self._session: Session | None = None
        self._leave: Leave | None = None

    def begin(self, session_id: str) -> None:
        """Begin the session."""
        self._session = self._visit._begin(session_id, self._seat)
        if self._session is not None:
            self._leave = self._visit._sessions.enter(self._session)

    def end(self, _: BaseException | None) -> None:
        """End the session."""
        if self._session is None or self._leave is None:
            self._visit._instances.vacate(self._seat)
        elif self._leave():
            self._visit._sessions.end_of([self._session])
