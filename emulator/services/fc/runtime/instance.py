"""One function instance: calls with deadlines and logs, hooks, the end.

An instance turns what its process does (`Answer`, `Exit`) into what a caller gets (`InvocationResult`). Which instance
serves a call, and how long it is kept, is decided by the pool.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Literal, Protocol

from emulator.http.client_connection import ClientError
from emulator.kernel.frozen import replace
from emulator.kernel.turnstile import Turnstile
from emulator.services.fc.runtime import logs
from emulator.services.fc.runtime.debugger import Deadline, DeadlineClock
from emulator.services.fc.runtime.model import (
    Credentials,
    ErrorType,
    FunctionImage,
    InstanceInfo,
    InstanceStartFailed,
    Invocation,
    InvocationResult,
    RequestBroken,
    ResponseTooLarge,
    RuntimeFailure,
)
from emulator.services.fc.runtime.outcome import CallNotRead, Outcome, judged
from emulator.services.fc.runtime.process import (
    INITIALIZE,
    INVOKE,
    LOAD,
    PRE_FREEZE,
    PRE_STOP,
    Answer,
    CallKind,
    Exit,
    InstanceProcess,
)
from emulator.services.fc.runtime.settings import RuntimeSettings
from emulator.services.fc.runtime.streaming import Abandoned, FailedMidway, StreamedBody

OnLog = Callable[[FunctionImage, str, bytes], None]

_END_S = 2.0
_LEFT = (Abandoned, RequestBroken, asyncio.CancelledError)
"""What cuts a body short because of the caller: it stopped reading, or did not send its whole request."""


class Occupant(Protocol):
    """A session's hold on an instance; implemented by `Seat`."""

    def leave(self) -> None:
        """Leave the instance."""


class Instance:
    """One instance. Calls may overlap up to the image's instance concurrency.

    *on_log* gets each piece of log with its request; *spawn* runs what goes on after a caller has disconnected;
    *banner* begins the log of the first call. ``clock`` measures the deadlines of calls, ``debugger`` is resolved with
    the port of a debugger in the process, and ``on_exit`` are called when the process has ended.

    The pool owns ``provisioned``, ``started_at``, ``idle_since`` and:

    - ``seats``: those of the sessions that are bound to the instance;
    - ``closed``: no other session is bound to it any more, and it ends with the last seat and the last call;
    - ``frozen``: resolved when a preFreeze hook that runs has ended; ``awaited``: resolved when a call has ended.
    """

    def __init__(
        self,
        image: FunctionImage,
        instance_id: str,
        settings: RuntimeSettings,
        on_log: OnLog,
        on_end: Callable[["Instance"], None],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
        banner: bytes = b"",
        *,
        turns: Turnstile,
    ) -> None:
        self.image = image
        self.instance_id = instance_id
        self.alive = True
        self.retired = False
        self.provisioned = False
        self.started_at = 0
        self.idle_since = 0
        self.calls = 0
        self.seats: set[Occupant] = set()
        self.closed = False
        self.frozen: asyncio.Future[None] | None = None
        self.awaited: list[asyncio.Future[None]] = []
        self.clock = DeadlineClock()
        self.on_exit: set[Callable[[], None]] = set()
        self.debugger: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._settings = settings
        self._on_log = on_log
        self._on_end = on_end
        self._spawn = spawn
        self._banner = banner
        self._turns = turns
        self._process: InstanceProcess | None = None
        self._attached = asyncio.Event()
        self._failure: RuntimeFailure | None = None
        self._logs: dict[str, logs.CallLog] = {}
        self._initialized: asyncio.Future[Outcome] | None = None
        self._last: Invocation | None = None
        self._memory_mb = 0.0
        self._ended = asyncio.Event()
        self._freezing = asyncio.Lock()
        self._stopping = False

    @property
    def info(self) -> InstanceInfo:
        """The instance as lists show it."""
        state: Literal["starting", "idle", "busy", "stopping"] = "busy" if self.calls else "idle"
        if self.retired and not self.calls:
            state = "stopping"
        elif self._process is None:
            state = "starting"
        return InstanceInfo(
            self.instance_id, self.image.version, state, self.provisioned, self.started_at, self._memory_mb
        )

    @property
    def credentials(self) -> Credentials | None:
        """The keys of the latest call."""
        return self._last.credentials if self._last is not None else None

    @property
    def namespaces(self) -> int:
        """The id of a process whose namespaces are the instance's; 0 when it has none of its own."""
        return self._process.namespaces if self._process is not None else 0

    @property
    def outdated(self) -> bool:
        """Whether its process sees another time than one that starts now."""
        return self._process is not None and self._process.outdated

    def empty(self) -> None:
        """Unbind every session from the instance; its next call is bound to another."""
        for seat in list(self.seats):
            seat.leave()

    def wake(self) -> None:
        """Wake the calls that wait for a place in this instance; each looks again whether there is one."""
        awaited, self.awaited = self.awaited, []
        for each in awaited:
            if not each.done():
                each.set_result(None)

    def attach(self, process: InstanceProcess) -> None:
        """Take the process that was launched with this instance as its listener."""
        self._process = process
        self._attached.set()

    def fail(self, error: BaseException) -> None:
        """Record that there will be no process, and fail every call that waits for it."""
        self._failure = error if isinstance(error, RuntimeFailure) else InstanceStartFailed("the start was given up")
        self._attached.set()
        self.ended(0)

    async def invoke(self, invocation: Invocation, *, cold: bool) -> InvocationResult:
        """Run the handler, after the initializer when this is the first call.

        Raises: CallNotRead; RequestBroken; ResponseTooLarge; InstanceStartFailed.
        """
        log = self._open_log(invocation)
        streaming = False
        try:
            if self.image.initializer is not None:
                initialized = await self._initialize(invocation, log)
                if initialized.error:
                    return self._result(log, initialized, "InitializationError", cold=cold)
            outcome = await self._run(INVOKE, invocation, log, self.image.timeout_s)
            streaming = outcome.stream is not None
            result = self._result(log, outcome, outcome.error_type, cold=cold)
            if outcome.too_large:
                raise ResponseTooLarge(self._settings.response_limit)
            return result
        finally:
            if not streaming:
                self._close_log(invocation)

    async def prepare(self, request_id: str, credentials: Credentials | None) -> bool:
        """Load the code and run the initializer ahead of the first call, as provisioned instances do.

        Returns whether the instance can be used.

        Raises: CallNotRead; InstanceStartFailed.
        """
        invocation = Invocation(request_id=request_id, event=b"", credentials=credentials)
        log = self._open_log(invocation)
        try:
            if self.image.initializer is not None:
                return not (await self._initialize(invocation, log)).error
            if self.image.runtime.startswith(("python", "nodejs")):
                return not (await self._run(LOAD, invocation, log, self.image.timeout_s)).error
        finally:
            self._close_log(invocation)
        return True

    async def freeze(self) -> None:
        """Run the preFreeze hook; its failure changes nothing."""
        async with self._freezing:
            await self._run_hook(PRE_FREEZE, self.image.pre_freeze_timeout_s)

    async def stop(self, *, limit_s: float | None = None) -> None:
        """Run the preStop hook, for at most *limit_s*, and end the process; once, however often it is called."""
        self.retired = True
        if self._stopping:
            await self._ended.wait()
            return
        self._stopping = True
        if self.image.pre_stop is not None and self._last is not None and self.alive:
            timeout_s: float = self.image.pre_stop_timeout_s
            if await self._until_frozen(limit_s):
                await self._run_hook(PRE_STOP, timeout_s if limit_s is None else min(limit_s, timeout_s))
        await self.kill()

    async def _until_frozen(self, limit_s: float | None) -> bool:
        """Wait for a preFreeze hook that runs; return whether it has come to its end."""
        try:
            async with asyncio.timeout(limit_s), self._freezing:
                return True
        except TimeoutError:
            return False

    async def gone(self) -> None:
        """Wait until the process has ended."""
        await self._ended.wait()

    async def kill(self) -> None:
        """End the process and wait for that."""
        self.retired = True
        if self._process is not None and self.alive:
            self._process.kill()
            try:
                async with asyncio.timeout(_END_S):
                    await self._ended.wait()
            except TimeoutError:  # a process in an uninterruptible system call: it is gone as soon as it can be
                self.ended(0)

    def output(self, data: bytes, request_id: str | None) -> None:
        """Put output into the log of its call; what belongs to none goes out without a request id."""
        log: logs.CallLog | None
        if request_id is None:
            log = next(iter(self._logs.values())) if len(self._logs) == 1 else None
        else:
            log = self._logs.get(request_id)
        if log is not None:
            log.add(data)
        else:
            self._on_log(self.image, "", data)

    def listening(self, port: int) -> None:
        """Record the port that the debugger in the process listens on."""
        if not self.debugger.done():
            self.debugger.set_result(port)

    def ended(self, memory_kb: int) -> None:
        """Record that the process is gone."""
        if not self.alive:
            return
        self._note_memory(memory_kb)
        self.alive = False
        self.debugger.cancel()
        for action in list(self.on_exit):
            action()
        self._ended.set()
        self._on_end(self)

    def _open_log(self, invocation: Invocation) -> logs.CallLog:
        emit = partial(self._on_log, self.image, invocation.request_id)
        log = self._logs[invocation.request_id] = logs.CallLog(self._settings.log_limit, emit)
        self._last = invocation
        if self._banner:
            log.add_line(self._banner)
            self._banner = b""
        return log

    def _close_log(self, invocation: Invocation) -> None:
        log = self._logs.pop(invocation.request_id, None)
        if log is not None:
            log.flush()

    async def _initialize(self, invocation: Invocation, log: logs.CallLog) -> Outcome:
        """Run the initializer once for all calls; the first one's log gets its output."""
        if self._initialized is not None:
            return await asyncio.shield(self._initialized)
        self._initialized = asyncio.get_running_loop().create_future()
        try:
            outcome = await self._run(INITIALIZE, invocation, log, self.image.initializer_timeout_s)
        except BaseException:
            self.retired = True
            self._initialized.set_exception(CallNotRead())
            self._initialized.exception()  # no other call may be waiting
            raise
        if outcome.error:
            self._discard()
        self._initialized.set_result(outcome)
        return outcome

    async def _run(self, kind: CallKind, invocation: Invocation, log: logs.CallLog, timeout_s: float) -> Outcome:
        """Run user code between its markers."""
        if self._process is None:
            await self._attached.wait()
            if self._failure is not None:
                raise self._failure
        assert self._process is not None
        marker, request_id = kind.marker, invocation.request_id
        if kind is not INVOKE:  # the event or HTTP request of a call is for its handler only
            invocation = replace(invocation, event=b"", http=None, stream=False, body=None, session=None)
        await self._process.turn_clock()
        pending = self._process.begin(kind, invocation)
        if marker is not None:  # the process is at work by now; its output cannot come before this
            log.add_line(logs.start_marker(marker, request_id))
        grace_s = self._settings.kill_grace_s
        # how long the process got no processor: a history that is the same every time must not depend on other work
        unserved = self._process.unserved_s if self._turns.active else None
        deadline = Deadline(self._process, timeout_s, grace_s, self.clock, log.flush, unserved)
        try:
            reply = await pending
        except (asyncio.CancelledError, RequestBroken):
            deadline.cancel()
            self._abandon(log, marker or "Initialize", request_id, deadline.elapsed_ms())
            raise
        if isinstance(reply, Answer) and reply.stream is not None:
            reply.stream.at_end(partial(self._end_stream, deadline, invocation, log))
            if self.image.is_shared:
                deadline.spare(partial(self._cut, reply.stream, request_id))
            return Outcome(body=b"", error="", duration_ms=deadline.elapsed_ms(), http=reply.http, stream=reply.stream)
        deadline.cancel()
        outcome = self._judge(reply, deadline, timeout_s, out_of_memory=kind is INVOKE and invocation.fault == "oom")
        if marker is not None:
            log.add_line(logs.end_marker(marker, request_id, outcome.error))
        return outcome

    def _shown(self, measured: float) -> float:
        """Return *measured* for a message, but 0 while a schedule is set: histories, which record it, must repeat."""
        return 0.0 if self._turns.active else measured

    def _cut(self, stream: StreamedBody, request_id: str) -> None:
        """Close a stream that has timed out, in an instance that serves other calls too."""
        self._spawn(stream.aclose(), f"time-out of {request_id}")

    def _end_stream(
        self, deadline: Deadline, invocation: Invocation, log: logs.CallLog, error: BaseException | None
    ) -> None:
        """Close a call whose answer was passed on as it came; what cut it short ends the instance."""
        deadline.cancel()
        elapsed_ms, request_id = deadline.elapsed_ms(), invocation.request_id
        if deadline.passed:
            message = logs.timed_out(self.image.timeout_s, self._shown(self._memory_mb))
        elif error is None:
            message = ""
        elif isinstance(error, FailedMidway):
            message = logs.UNHANDLED
        elif isinstance(error, ClientError):
            message = logs.process_exited(self._shown(elapsed_ms), self._shown(self._memory_mb))
        else:
            message = logs.canceled(elapsed_ms, self._memory_mb)
        left = error is None or isinstance(error, _LEFT)
        if message not in {"", logs.UNHANDLED} and not (left and self.image.is_shared):
            self._discard()
        log.add_line(logs.end_marker("Invoke", request_id, message))
        log.add(logs.summary(elapsed_ms, self.image.memory_mb, self._memory_mb))
        self._logs.pop(request_id, None)

    def _judge(self, reply: Answer | Exit, deadline: Deadline, timeout_s: float, *, out_of_memory: bool) -> Outcome:
        """Return how a run ended, and discard the instance unless it can go on.

        Raises: CallNotRead; InstanceStartFailed.
        """
        self._note_memory(reply.memory_kb)
        limit = self._settings.response_limit
        outcome = judged(reply, deadline, timeout_s, self._shown, self._memory_mb, limit, out_of_memory=out_of_memory)
        if outcome.is_last:
            self._discard()
        return outcome

    def _result(
        self, log: logs.CallLog, outcome: Outcome, error_type: ErrorType | None, *, cold: bool
    ) -> InvocationResult:
        if outcome.stream is None:
            log.add(logs.summary(outcome.duration_ms, self.image.memory_mb, self._memory_mb))
        return InvocationResult(
            body=outcome.body,
            error_type=error_type,
            log=log.content(),
            duration_ms=outcome.duration_ms,
            max_memory_mb=self._memory_mb,
            instance_id=self.instance_id,
            cold=cold,
            provisioned=self.provisioned,
            http=outcome.http,
            stream=outcome.stream,
        )

    async def _run_hook(self, kind: CallKind, timeout_s: float) -> None:
        if self._last is None:
            return
        log = self._open_log(self._last)
        try:
            await self._run(kind, self._last, log, timeout_s)
        except (CallNotRead, InstanceStartFailed):
            return  # the process had ended before; there is nothing left to freeze or stop
        finally:
            self._close_log(self._last)

    def _abandon(self, log: logs.CallLog, marker: logs.Marker, request_id: str, duration_ms: float) -> None:
        """Close the log of a call whose caller has left, and end the instance unless it is shared."""
        self.retired = self.retired or not self.image.is_shared
        self._spawn(self._close_abandoned(log, marker, request_id, duration_ms), f"abandoned {request_id}")

    async def _close_abandoned(
        self, log: logs.CallLog, marker: logs.Marker, request_id: str, duration_ms: float
    ) -> None:
        if self.calls == 0 and self.retired:
            await self.kill()
        log.add_line(logs.end_marker(marker, request_id, logs.canceled(duration_ms, self._memory_mb)))
        log.add(logs.summary(duration_ms, self.image.memory_mb, self._memory_mb))

    def _discard(self) -> None:
        self.retired = True
        if self._process is not None:
            self._process.kill()

    def _note_memory(self, memory_kb: int) -> None:
        self._memory_mb = max(self._memory_mb, round(memory_kb / 1024, 2))
