"""One request and its answer: what the application holds while it works on it."""

import asyncio
import logging
from typing import Any, Protocol

from emulator.http.message import Response

_log = logging.getLogger(__name__)


class Wire(Protocol):
    """What an exchange asks of its connection."""

    def answer(self, exchange: "Exchange", response: Response) -> None:
        """Send *response*, which ends *exchange*."""
        ...

    def fail(self, exchange: "Exchange") -> None:
        """Answer *exchange* after a failure of the application itself, and close."""
        ...

    def drop(self, response: Response) -> None:
        """Let go of an answer that will not be sent."""
        ...


class Exchange:
    """One request and its answer; `respond` is what the application is given."""

    __slots__ = ("_call", "_connection", "abandoned", "answered", "http_1_0", "keep_alive", "method", "unread")

    def __init__(
        self,
        connection: Wire,
        *,
        method: str = "",
        http_1_0: bool = False,
        keep_alive: bool = False,
        unread: bool = False,
    ) -> None:
        self._connection = connection
        self._call: asyncio.Future[Any] | None = None
        self.method = method
        self.http_1_0 = http_1_0
        self.keep_alive = keep_alive
        self.unread = unread
        self.answered = False
        self.abandoned = False

    def respond(self, response: Response) -> None:
        """Send *response*. After the client has gone it is dropped; a second answer is a bug, logged and dropped."""
        if self.abandoned:
            self._connection.drop(response)
        elif self.answered:
            _log.error("a %s request was answered twice, with status %d", self.method, response.status, stack_info=True)
            self._connection.drop(response)
        else:
            self.answered = True
            self._connection.answer(self, response)

    def attend(self, call: asyncio.Future[Any]) -> None:
        """Watch the work behind the answer, so that neither side waits for the other in vain."""
        if self.abandoned:
            call.cancel()
        elif not self.answered:
            self._call = call
            call.add_done_callback(self._ended)

    def abandon(self) -> None:
        """Call the work off: the client has gone."""
        self.abandoned = True
        if self._call is not None and not self._call.done():
            self._call.cancel()

    def _ended(self, call: asyncio.Future[Any]) -> None:
        error = None if call.cancelled() else call.exception()
        if self.abandoned or self.answered or (error is None and not call.cancelled()):
            return
        _log.error("a %s request ended without an answer", self.method, exc_info=error)
        self._connection.fail(self)
