"""HTTP/1.1 for the server: one `HttpProtocol` per connection.

A connection is in one `Phase`. Input is taken only while no request is unanswered, so a pipelined request waits, unread
by the parser, in the reader's buffer; a request that the application serves early gets the rest of its body at the pace
in which that is taken. An ordinary answer costs one write and neither a task nor a timer; only an answer that comes in
pieces has a task, which waits while the client does not read.
"""

import asyncio
import logging
from collections.abc import Iterable
from enum import IntEnum
from functools import partial
from typing import Any, Final, assert_never, cast

from emulator.http.answer import CONTINUE, Sender, Transaction
from emulator.http.arrival import Arrival
from emulator.http.connections import NEVER, Connections, Refusal
from emulator.http.message import BodyBroken, HangUp, Response
from emulator.http.reader import BodyTooLarge, Incoming, Malformed, RequestReader
from emulator.http.switching import SwitchingProtocols

_log = logging.getLogger(__name__)

_SHARE: Final = 16
"""Pipelined requests served in a row before other connections get their turn."""


class Phase(IntEnum):
    """What a connection is waiting for; no input is taken from ``LINGERING`` on."""

    IDLE = 0
    HEAD = 1
    BODY = 2
    ANSWER = 3
    LINGERING = 4
    CLOSING = 5
    LOST = 6


class HttpProtocol(asyncio.Protocol):
    """Serves one connection.

    With *refusal* (status, reason and headers) nothing is served: whatever comes in is answered with that. A connection
    that is *proxied* is that of a proxy's client: its next request may be for another host, so it carries one only.
    """

    def __init__(
        self,
        connections: Connections,
        *,
        scheme: str = "http",
        refusal: Refusal | None = None,
        proxied: bool = False,
    ) -> None:
        self._connections = connections
        self._scheme = scheme
        self._refusal = refusal
        self._proxied = proxied
        self._phase = Phase.IDLE
        self._incoming: Incoming | None = None
        self._limit = 0
        self._may_be_early = False
        self._keeps_alive = False
        self._transaction: Transaction | None = None
        self._advancing = False
        self._scheduled = False
        self._half_closed = False
        self._dropped = 0
        self.deadline = NEVER

    # Methods of asyncio.Protocol.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request."""
        connections = self._connections
        self._loop = asyncio.get_running_loop()
        self._transport = cast("asyncio.Transport", transport)
        self._sender = Sender(connections, self._transport, self._answered)
        peer = transport.get_extra_info("peername")
        remote = str(peer[0]) if isinstance(peer, tuple) else ""
        self._reader = RequestReader(connections.limits, scheme=self._scheme, remote=remote)
        self._arrival = Arrival(self._reader, connections, self._transport)
        self.deadline = connections.tick + connections.idle_ticks
        connections.add(self)
        if self._refusal is not None:
            self._reject(*self._refusal)
        elif connections.stopping:
            self._finish(unread=True)

    def data_received(self, data: bytes) -> None:
        """Parse bytes of the client, and serve the request unless an earlier one is unanswered."""
        if self._phase >= Phase.LINGERING:
            self._drop(len(data))
            return
        self._reader.feed(data)
        if self._arrival.pieces is not None:
            self._pass_on()
        elif not self._is_busy():
            self._advance()
        if self._is_busy() and self._reader.held > self._connections.limits.pipelined_bytes:
            self._arrival.pause()

    def eof_received(self) -> bool:
        """End the connection, unless the client has merely finished sending and waits for pipelined answers.

        A client that closes and one that only stops sending look alike. One with an unanswered request and nothing
        else on its way is taken to be gone: a receiver of messages that was killed must not be handed another.
        """
        if self._is_busy() and self._reader.held and self._scheme == "http":
            self._half_closed = True
            return True
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the request under way."""
        self._connections.discard(self)
        self._phase = Phase.LOST
        self.deadline = NEVER
        self._reader.close()
        self._sender.cancel()
        self._arrival.discount()
        if self._transaction is not None:
            self._transaction.abandon()
            self._transaction = None
        self._arrival.end(BodyBroken("the client has gone before its end"))

    def pause_writing(self) -> None:
        """Pause sending: the client reads more slowly."""
        self._sender.pause()
        self.deadline = self._connections.tick + self._connections.write_ticks

    def resume_writing(self) -> None:
        """Resume sending: the client has read most of what was sent."""
        self._sender.resume()
        if self._transaction is not None:
            self.deadline = NEVER
        elif self._phase < Phase.LINGERING:
            self._await_input()
            self._schedule()

    # Methods for the server, which calls them for each connection.

    def overdue(self) -> None:
        """Act on a deadline that has passed: close what is idle, answer 408 to what is too slow."""
        if not self._sender.writable:
            self._abort_if_stalled()
            return
        match self._phase:
            case Phase.CLOSING:
                self._abort_if_stalled()
            case Phase.HEAD:
                self._reject(408, "the header fields did not arrive in time")
            case Phase.BODY:
                self._reject(408, "the body did not arrive in time")
            case Phase.IDLE | Phase.ANSWER | Phase.LINGERING | Phase.LOST:
                self._close()
            case _:
                assert_never(self._phase)

    def _abort_if_stalled(self) -> None:
        if self._sender.stalled():
            self.abort()
        self.deadline = self._connections.tick + self._connections.write_ticks

    def wind_down(self) -> None:
        """Close now if no request, or only a `Following` answer, is under way; else after the answer."""
        if not self._sender.end_following() and self._phase in {Phase.IDLE, Phase.LINGERING} and self._sender.writable:
            self._close()

    def abort(self) -> None:
        """Close at once, dropping the request under way."""
        self._transport.abort()

    # Methods for transactions.

    def answer(self, transaction: Transaction, response: Response) -> None:
        """Send *response*, which ends *transaction*."""
        if self._connections.stopping or (self._half_closed and not self._reader.held):
            transaction.keep_alive = False
        if isinstance(response, SwitchingProtocols):
            self._switch(response)
        elif isinstance(response, HangUp):
            self.drop(response)
            self._answered(close=True)
        else:
            self._sender.send(transaction, response)

    def fail(self, transaction: Transaction) -> None:
        """Answer *transaction* with 500 after a failure of the application, and close."""
        transaction.keep_alive = False
        transaction.respond(self._connections.malformed(500, "the request could not be served"))

    def drop(self, response: Response) -> None:
        """Close the body of an answer that will not be sent."""
        unsent = response.unsent if isinstance(response, HangUp) else response
        if unsent is not None:
            self._sender.drop(unsent)

    def _switch(self, response: SwitchingProtocols) -> None:
        """Hand the connection over, with what has come on it since; nothing here hears of it again."""
        first = self._reader.rest()
        self._arrival.resume()
        self.connection_lost(None)
        self._transport.write(response.head())
        response.socket.take(self._transport, self._connections, first)

    # Reading requests.

    def _may_advance(self) -> bool:
        return self._phase < Phase.LINGERING and not self._is_busy()

    def _is_busy(self) -> bool:
        """Whether input has to wait: for an answer, for the client to take one, or for other connections' turn."""
        return self._phase < Phase.LINGERING and (
            self._transaction is not None or self._scheduled or not self._sender.writable
        )

    def _schedule(self) -> None:
        """Go on with held input, but not from within a call of the application's."""
        if not self._scheduled and (self._reader.held or self._half_closed or self._arrival.is_paused):
            self._scheduled = True
            self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self._scheduled = False
        if self._may_advance():
            self._advance()
        if self._half_closed and self._transaction is None and not self._scheduled:
            self._close()
        elif self._arrival.is_paused and self._reader.held <= self._connections.limits.pipelined_bytes:
            self._arrival.resume()

    def _advance(self) -> None:
        """Serve the requests that have arrived, one after the other, as long as each is answered at once.

        The caller has asked `_may_advance`.
        """
        self._advancing = True
        try:
            for _ in range(_SHARE):
                if not self._step() or not self._may_advance():
                    return
            self._schedule()
        except Malformed as error:
            self._reject(error.status, error.reason)
        finally:
            self._advancing = False

    def _step(self) -> bool:
        """Take one request as far as its input reaches; return False when more is needed."""
        if self._incoming is None:
            incoming = self._reader.head()
            if incoming is None:
                self._await_input()
                return False
            if self._proxied:
                incoming = incoming.of_proxy()
            if not self._admit(incoming):
                return True
            self._incoming = incoming
        incoming = self._incoming
        try:
            body = self._reader.pieces(self._limit)
        except BodyTooLarge:
            self._refuse_size(incoming)
            return True
        if body is None:
            if self._may_be_early and self._serve_early(incoming):
                return False
            if not incoming.request.trusted and not self._arrival.count():
                self._limit = self._arrival.counted
                self._refuse_size(incoming)
                return True
            self._await_input()
            return False
        self._incoming = None
        incoming.request.take_body(body)
        self._serve(incoming)
        if self._reader.held:
            return True
        if self._transaction is None and self._phase < Phase.LINGERING and self._sender.writable:
            self._await_input()
        return False

    def _await_input(self) -> None:
        connections = self._connections
        if self._incoming is not None:
            self._phase = Phase.BODY
            self.deadline = connections.tick + connections.body_ticks
        elif not self._reader.held:
            self._phase = Phase.IDLE
            self.deadline = connections.tick + connections.idle_ticks
        elif self._phase is not Phase.HEAD:
            self._phase = Phase.HEAD
            self.deadline = connections.tick + connections.head_ticks

    def _admit(self, incoming: Incoming) -> bool:
        """Ask the application whether it wants the body; return False when the request has been answered instead."""
        length = incoming.length
        try:
            verdict = self._connections.application.admit(incoming.request)
        except Exception:
            _log.exception("admitting a %s request failed", incoming.request.method)
            self.fail(self._transaction_for(incoming, unread=length != 0))
            return False
        if isinstance(verdict, Response):
            if length == 0:
                self._reader.body(0)
            self._transaction_for(incoming, unread=length != 0).respond(verdict)
            return False
        self._limit = verdict
        if length is not None and length > verdict:
            self._refuse_size(incoming)
            return False
        if incoming.expects_continue and length != 0 and not self._reader.held:
            self._transport.write(CONTINUE)
        self._may_be_early = True
        return True

    def _serve_early(self, incoming: Incoming) -> bool:
        """Have a request served whose body still comes, if the application wants that; return whether it does.

        The application is not asked before a part of the body has come, since judging a head costs time, unless it has
        judged the head already.
        """
        request = incoming.request
        if request.admitted is None and not self._reader.body_held:
            return False
        self._may_be_early = False
        try:
            limit = self._connections.application.early(request)
        except Exception:
            _log.exception("judging a %s request failed", request.method)
            return False
        if not isinstance(limit, int):
            limit.add_done_callback(partial(self._ask_again, incoming))
            return False
        if limit == 0 or (incoming.length or 0) > limit:
            return False
        self._keeps_alive = incoming.keep_alive
        request.arriving = self._arrival.pass_on(limit)
        self._arrival.take()
        self._serve(incoming, unread=self._arrival.pieces is not None)
        return True

    def _ask_again(self, incoming: Incoming, known: "asyncio.Future[Any]") -> None:
        """Ask once more whether a request is served early; its client may wait for an answer before sending more."""
        if not known.cancelled():
            known.exception()  # marks the error as retrieved; serving the request raises it again
        if self._incoming is incoming:
            self._may_be_early = True
            if self._may_advance():
                self._advance()

    def _pass_on(self) -> None:
        """Pass on what has come of the body of a request that is being served."""
        transaction = self._transaction
        if self._arrival.take() and transaction is not None and not transaction.answered:
            transaction.unread = False  # otherwise the head of the answer has said ``Connection: close``
            transaction.keep_alive = self._keeps_alive

    def _serve(self, incoming: Incoming, *, unread: bool = False) -> None:
        transaction = self._transaction_for(incoming, unread=unread)
        try:
            call = self._connections.application.serve(incoming.request, transaction.respond)
        except Exception:
            _log.exception("serving a %s request failed", incoming.request.method)
            if not transaction.answered:
                self.fail(transaction)
        else:
            if call is not None:
                transaction.attend(call)

    def _transaction_for(self, incoming: Incoming, *, unread: bool) -> Transaction:
        """Begin a transaction. After one that leaves a body unread the connection cannot go on."""
        self._incoming = None
        self._phase = Phase.ANSWER
        self.deadline = NEVER
        self._transaction = Transaction(
            self,
            method=incoming.request.method,
            http_1_0=incoming.http_1_0,
            keep_alive=incoming.keep_alive and not unread,
            unread=unread,
        )
        return self._transaction

    # Refusing requests.

    def _refuse_size(self, incoming: Incoming) -> None:
        transaction = self._transaction_for(incoming, unread=True)
        transaction.respond(self._connections.too_large(incoming.request, self._limit))

    def _reject(self, status: int, reason: str, headers: Iterable[tuple[str, str]] = ()) -> None:
        """Answer input that is no request, and close."""
        self._incoming = None
        self._transaction = transaction = Transaction(self, unread=True)
        answer = self._connections.malformed(status, reason)
        answer.headers = [*answer.headers, *headers]
        transaction.respond(answer)

    def _answered(self, close: bool) -> None:
        """Go on after an answer has left."""
        transaction = self._transaction
        self._transaction = None
        if self._arrival.counted:
            self._arrival.discount()
        if self._arrival.pieces is not None:
            self._arrival.end(BodyBroken("the answer is complete without it"))
        if close or self._connections.stopping:
            self._finish(
                unread=(transaction is not None and transaction.unread)
                or self._arrival.is_paused
                or self._reader.held > 0
            )
        elif not self._advancing:
            self._await_input()
            self._schedule()

    # Closing the connection.

    def _finish(self, *, unread: bool) -> None:
        """Close after the last answer. With input unread, drop some of it first.

        A socket closed with unread input sends a reset, and the client may see that instead of the answer.
        """
        if not unread:
            self._close()
            return
        self._phase = Phase.LINGERING
        self._reader.close()
        self.deadline = self._connections.tick + self._connections.linger_ticks
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._arrival.resume()

    def _close(self) -> None:
        self._phase = Phase.CLOSING
        self.deadline = self._connections.tick + self._connections.write_ticks
        self._sender.close()

    def _drop(self, size: int) -> None:
        self._dropped += size
        if self._dropped > self._connections.limits.linger_bytes and self._phase is Phase.LINGERING:
            self._close()
