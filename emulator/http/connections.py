"""The connections of one server: their application, limits and deadlines, and closing them all.

Timeouts are checked by one sweep over the open connections. A connection's deadline is the number of a sweep, so a
request costs neither a timer nor a look at the clock.
"""

import asyncio
import logging
import math
import sys
from collections.abc import AsyncIterator
from time import gmtime
from typing import Final, Protocol

from emulator.http.message import Application, Request, Response
from emulator.kernel.clock import SECOND, Clock
from emulator.kernel.frozen import frozen
from emulator.kernel.tasks import TaskGroup

_log = logging.getLogger(__name__)

KIB = 1024


@frozen
class HttpLimits:
    """How much one connection may send, and how long it may take.

    ``idle_s`` stays at 60 or more in a running emulator: clients keep connections that long and some of them answer a
    connection closed under them with an error instead of a second attempt.
    """

    head_bytes: int = 64 * KIB
    """The most bytes of all header fields of a request together."""
    target_bytes: int = 64 * KIB
    """The most bytes of the request line."""
    header_fields: int = 200
    pipelined_bytes: int = 64 * KIB
    """Input that may wait while an earlier request is unanswered; beyond that nothing more is read."""
    early_bytes: int = 256 * KIB
    """Unread body that may wait when a request is served early; beyond that nothing more is read."""
    linger_bytes: int = 256 * KIB * KIB
    """Input read and dropped after an early refusal, so that the client reads the answer instead of a reset."""
    untrusted_bytes: int = 144 * KIB * KIB
    """The most bytes of bodies of all requests whose sender is not known: one of the largest, or many small ones."""
    slice_bytes: int = 256 * KIB
    """Longer answers are sent in slices of this length, as the client reads them."""

    idle_s: float = 75
    head_s: float = 30
    """From the first byte of a request to the end of its header fields; then 408."""
    body_s: float = 60
    """Without a byte of a body that is not complete; then 408."""
    write_s: float = 60
    """Without the client reading anything of an answer; then the connection is aborted."""
    linger_s: float = 5
    sweep_s: float = 1
    """Between two checks of the other timeouts, which are that coarse."""


NEVER: Final = sys.maxsize

_PROXY_AUTHENTICATION: Final = 407
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


Refusal = tuple[int, str, tuple[tuple[str, str], ...]]
"""Status, reason and further headers."""


class Connection(Protocol):
    """A connection, as the sweep and the stopping server use it; ``deadline`` is the number of a sweep."""

    deadline: int

    def overdue(self) -> None:
        """Act on a deadline that has passed."""
        ...

    def wind_down(self) -> None:
        """Close now if no request, or only a `Following` answer, is under way; else after the answer."""
        ...

    def abort(self) -> None:
        """Close at once, dropping the request under way."""
        ...


class Connections:
    """The open connections of one server.

    ``tick`` counts the sweeps. ``idle_ticks`` and so on are the timeouts of the limits in ticks, rounded up.
    ``stopping`` is set once `stop` has been called; from then on every answer closes its connection. ``untrusted``
    counts the bytes of bodies that are held for requests whose sender is not known.
    """

    def __init__(self, application: Application, *, clock: Clock, limits: HttpLimits) -> None:
        self.application = application
        self.limits = limits
        self._clock = clock
        self._second = -1
        self._date_line = ""
        self.tasks = TaskGroup("http")
        self.tick = 0
        self.stopping = False
        self.idle_ticks = self._ticks(limits.idle_s)
        self.head_ticks = self._ticks(limits.head_s)
        self.body_ticks = self._ticks(limits.body_s)
        self.write_ticks = self._ticks(limits.write_s)
        self.linger_ticks = self._ticks(limits.linger_s)
        self.untrusted = 0
        self._open: set[Connection] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._empty: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: Connection) -> None:
        """Check the deadline of *connection* until it is discarded."""
        self._open.add(connection)
        if self._sweeper is None:
            self._arm()

    def discard(self, connection: Connection) -> None:
        """Remove a connection that has ended."""
        self._open.discard(connection)
        if not self._open and self._empty is not None and not self._empty.done():
            self._empty.set_result(None)

    def dispose(self, body: bytes | AsyncIterator[bytes]) -> None:
        """Close the body of an answer that will not be sent."""
        close = getattr(body, "aclose", None)
        if close is not None:
            self.tasks.spawn(close(), "dispose")

    def malformed(self, status: int, reason: str) -> Response:
        """Return the application's answer to input that is no request; a bare 500 if it fails even at that."""
        try:
            response = self.application.malformed(status, reason)
            if status == _PROXY_AUTHENTICATION:
                response.headers.append(("Proxy-Authenticate", 'Basic realm="localyun"'))
            return response
        except Exception:
            _log.exception("rendering the refusal %d failed", status)
            return Response(500)

    def too_large(self, request: Request, limit: int) -> Response:
        """Return the application's answer for a body that outgrew *limit* bytes; a 500 if it fails at that."""
        try:
            return self.application.too_large(request, limit)
        except Exception:
            _log.exception("refusing the body of a %s request failed", request.method)
            return self.malformed(500, "the request could not be served")

    def date_line(self) -> str:
        """Return the ``Date`` field of an answer that leaves now; rendered once a second."""
        second = self._clock.now() // SECOND
        if second != self._second:
            self._second = second
            self._date_line = f"Date: {_http_date(second)}"
        return self._date_line

    async def stop(self, grace_s: float) -> None:
        """Close idle connections and `Following` answers at once, others after their answer or *grace_s* seconds."""
        self.stopping = True
        for connection in list(self._open):
            connection.wind_down()
        await self._until_empty(grace_s)
        for connection in list(self._open):
            connection.abort()
        await self._until_empty(1)
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        await self.tasks.close()

    async def _until_empty(self, seconds: float) -> None:
        if self._open:
            self._empty = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._empty], timeout=seconds)

    def _ticks(self, seconds: float) -> int:
        """Return after how many sweeps *seconds* have passed for sure, the current one being partly over."""
        return math.ceil(seconds / self.limits.sweep_s) + 1

    def _arm(self) -> None:
        self._sweeper = asyncio.get_running_loop().call_later(self.limits.sweep_s, self._sweep)

    def _sweep(self) -> None:
        self.tick = tick = self.tick + 1
        for connection in [each for each in self._open if each.deadline <= tick]:
            connection.overdue()
        self._sweeper = None
        if self._open:  # without connections the server sleeps
            self._arm()


def _http_date(second: int) -> str:
    """Return ``Fri, 20 Nov 2026 00:00:00 GMT``."""
    at = gmtime(second)
    return (
        f"{_DAYS[at.tm_wday]}, {at.tm_mday:02d} {_MONTHS[at.tm_mon - 1]} {at.tm_year} "
        f"{at.tm_hour:02d}:{at.tm_min:02d}:{at.tm_sec:02d} GMT"
    )
