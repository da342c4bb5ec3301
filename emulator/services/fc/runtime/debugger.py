"""The time a call may take, and debuggers, for which it stands still while one is attached.

Processes run in real time, so deadlines use the loop's clock and never a virtual one. A debugger's port stays open
before the instance's own debugger listens, on a port that is not known beforehand: the emulator listens itself, passes
bytes on in both directions, and sees from its connections whether a debugger is attached.
"""

import asyncio
from collections.abc import Callable

from emulator.services.fc.runtime.process import InstanceProcess

_WATCH_AFTER_S = 0.1
_LEAST_OWED_S = 0.01


class DeadlineClock:
    """The clock of all deadlines of an instance, which stands still while a debugger is attached."""

    def __init__(self) -> None:
        self.paused = False
        self.deadlines: set[Deadline] = set()

    def pause(self, on: bool) -> None:
        """Pause the clock (True), or resume it."""
        if on == self.paused:
            return
        self.paused = on
        for deadline in self.deadlines:
            deadline.pause(on)


class Deadline:
    """Asks the process to end after *timeout_s* seconds, and kills it *grace_s* later unless cancelled.

    Time counts from the construction on, except while *clock* is paused. When a call is not over at once *on_wait* is
    called, and the process is watched for what it uses. *unserved* returns how many seconds the process has been ready
    to run and got no processor, which then do not count either.
    """

    def __init__(
        self,
        process: InstanceProcess,
        timeout_s: float,
        grace_s: float,
        clock: DeadlineClock,
        on_wait: Callable[[], None],
        unserved: Callable[[], float] | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._process = process
        self._grace_s = grace_s
        self._clock = clock
        self._on_wait = on_wait
        self._watching = False
        self._began = self._loop.time()
        self._at = self._began + timeout_s
        self._left_s = timeout_s
        self.passed = False
        self._unserved = unserved
        self._allowed_s = unserved() if unserved is not None else 0.0
        self._instead: Callable[[], None] | None = None
        self._handle: asyncio.Handle = self._loop.call_at(min(self._began + _WATCH_AFTER_S, self._at), self._watch)
        clock.deadlines.add(self)
        if clock.paused:
            self.pause(True)

    def elapsed_ms(self) -> float:
        """Return how long the call has taken so far, stops of the clock included."""
        return (self._loop.time() - self._began) * 1000

    def cancel(self) -> None:
        """Cancel the deadline: the process may go on."""
        self._clock.deadlines.discard(self)
        self._handle.cancel()
        if self._watching:
            self._unwatch()

    def spare(self, instead: Callable[[], None]) -> None:
        """Call *instead* when the time-out is reached, rather than end the process."""
        self._instead = instead

    def pause(self, on: bool) -> None:
        """Pause the deadline (True), or resume it; one that has passed stays passed."""
        if self.passed:
            return
        now = self._loop.time()
        self._handle.cancel()
        if on:
            self._left_s = self._at - now
            if self._watching:
                self._unwatch()
            self._on_wait()
        else:
            self._at = now + self._left_s
            self._handle = self._loop.call_at(min(now + _WATCH_AFTER_S, self._at), self._watch)

    def _unwatch(self) -> None:
        self._watching = False
        self._process.watch(False)

    def _watch(self) -> None:
        self._watching = True
        self._on_wait()
        self._process.watch(True)
        self._handle = self._loop.call_at(self._at, self._pass)

    def _pass(self) -> None:
        if self._unserved is not None:
            owed_s = self._unserved() - self._allowed_s
            if owed_s > _LEAST_OWED_S:
                self._allowed_s += owed_s
                self._at = self._loop.time() + owed_s
                self._handle = self._loop.call_at(self._at, self._pass)
                return
        self._handle = self._loop.call_soon(self._end)  # an answer that came in the same turn is taken first

    def _end(self) -> None:
        self.passed = True
        if self._instead is not None:
            self._instead()
            return
        self._process.terminate()
        self._handle = self._loop.call_later(self._grace_s, self._process.kill)


_LOOPBACK = "127.0.0.1"
_WAITING_BYTES = 64 * 1024


class DebugSession:
    """Relays debuggers to one instance. With *waits* the function does not run before a debugger is attached."""

    def __init__(self, *, waits: bool) -> None:
        self.waits = waits
        self._clock = DeadlineClock()
        self._server: asyncio.Server | None = None
        self._target: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._connections: set[_DebuggerConnection] = set()
        self._was_attached = False

    async def listen(self, port: int) -> int:
        """Listen on *port* of the loopback interface, any free one when it is 0; return which it is.

        Raises: OSError when the port is taken.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _DebuggerConnection(self), _LOOPBACK, port)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    def serve(self, clock: DeadlineClock, listening: "asyncio.Future[int]") -> None:
        """Relay to an instance: *clock* is that of its deadlines, *listening* resolves to the port of its debugger."""
        self._clock = clock
        self._update()
        listening.add_done_callback(self._reached)

    async def aclose(self) -> None:
        """Refuse further debuggers and disconnect those that are attached."""
        self._target.cancel()
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.end()

    async def connect(self, connection: "_DebuggerConnection") -> None:
        """Connect a debugger to the instance once the instance is listening."""
        try:
            port = await asyncio.shield(self._target)
            await asyncio.get_running_loop().create_connection(lambda: connection.other, _LOOPBACK, port)
        except (OSError, asyncio.CancelledError):
            connection.end()

    def attached(self, connection: "_DebuggerConnection") -> None:
        """Count a debugger in."""
        self._connections.add(connection)
        self._was_attached = True
        self._update()

    def detached(self, connection: "_DebuggerConnection") -> None:
        """Count a debugger out."""
        self._connections.discard(connection)
        self._update()

    def _reached(self, listening: "asyncio.Future[int]") -> None:
        if listening.cancelled():
            self._target.cancel()
        elif not self._target.done():
            self._target.set_result(listening.result())

    def _update(self) -> None:
        self._clock.pause(bool(self._connections) or (self.waits and not self._was_attached))


class _End(asyncio.Protocol):
    """One end of a relayed connection; bytes received are sent at ``other``."""

    def __init__(self, on_lost: Callable[[], None]) -> None:
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._early: list[bytes] = []
        self.other: _End

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.writelines(self._early)
        self._early.clear()

    def data_received(self, data: bytes) -> None:
        self.other.send(data)

    def send(self, data: bytes) -> None:
        """Send *data*, at the latest when this end is connected."""
        if self._transport is not None:
            self._transport.write(data)
            return
        self._early.append(data)
        if sum(map(len, self._early)) > _WAITING_BYTES:
            self._on_lost()

    def pause_writing(self) -> None:
        """Stop reading at the other end, because this one does not keep up."""
        if self.other._transport is not None:
            self.other._transport.pause_reading()

    def resume_writing(self) -> None:
        """Resume reading at the other end."""
        if self.other._transport is not None and not self.other._transport.is_closing():
            self.other._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_lost()

    def close(self) -> None:
        """Close once everything has been sent."""
        if self._transport is not None:
            self._transport.close()


class _DebuggerConnection(_End):
    """A debugger's connection, and in ``other`` the one to the instance."""

    def __init__(self, session: DebugSession) -> None:
        super().__init__(self.end)
        self._session = session
        self._work: asyncio.Task[None] | None = None
        self.other = _End(self.end)
        self.other.other = self

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._session.attached(self)
        self._work = asyncio.get_running_loop().create_task(self._session.connect(self), name="debugger")

    def end(self) -> None:
        """Close both ends."""
        self.close()
        self.other.close()
        if self._work is not None:
            self._work.cancel()
        self._session.detached(self)
