"""Queued calls: accepted, run with bounded concurrency, tried again, ended, reported to their destinations.

A call is a row from the moment it is accepted. Before an attempt the row is set to Running, and the attempt begins once
that is committed; the attempt's result is written in one transaction with the message to the destination. So a
call is never lost: one that ran when the emulator was killed runs again, at the same retry count.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from emulator.kernel.clock import HOUR, SECOND, Millis
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.kernel.tasks import TaskGroup
from emulator.kernel.timers import look_again_at
from emulator.kernel.tracing import current_trace
from emulator.services.fc import limits
from emulator.services.fc.asynchronous.attempts import Attempts
from emulator.services.fc.asynchronous.model import (
    FINAL,
    Accepted,
    AsyncCall,
    AsyncConfig,
    Attempt,
    Policy,
    Status,
    check_task_id,
    destination_of,
    event_detail,
    expires_at,
    judge,
    policy_of,
)
from emulator.services.fc.asynchronous.outcomes import Completions, Destinations
from emulator.services.fc.asynchronous.store import AsyncStore
from emulator.services.fc.catalog.resolving import Resolver
from emulator.services.fc.errors import EntityTooLarge, FcError, InvalidArgument
from emulator.services.fc.invoke.invoking import FunctionCall, Invoker
from emulator.services.fc.model import LATEST, FunctionName, FunctionRef, Scope, display_name
from emulator.services.fc.ports import Platform
from emulator.storage.database import CommitFailed

_log = logging.getLogger(__name__)

_PURGE = ("fc", "ended asynchronous calls")


class AsyncQueue:
    """The queues of all functions.

    *concurrency* returns how many calls of a queue may run at once, None for no limit of its own; *edits* is as for
    `Attempts`.
    """

    def __init__(
        self,
        platform: Platform,
        store: AsyncStore,
        invoker: Invoker,
        resolver: Resolver,
        concurrency: Callable[[FunctionRef], int | None],
        edits: Callable[[str, str], Awaitable[None] | None],
    ) -> None:
        self._store = store
        self._database = platform.database
        self._clock = platform.clock
        self._ids = platform.ids
        self._timers = platform.timers
        self._invoker = invoker
        self._concurrency = concurrency
        self._edits = edits
        self._attempts = Attempts(platform, invoker, edits)
        self._destinations = Destinations(platform.ports, resolver, self._hand_over)
        self._tasks = TaskGroup("fc-async")
        self._running: dict[FunctionRef, dict[int, asyncio.Task[None] | None]] = {}
        self._stopping: set[int] = set()
        self._woken: set[FunctionRef] = set()
        self.completions = Completions(store, platform.database)
        self._open = False
        platform.database.on_rollback(self._woken.clear)
        platform.timers.on_step_back(self._clock_set_back)

    def start(self) -> None:
        """Resume the calls of an earlier run: those that were running run again, the others wait until they are due."""
        self._open = True
        now = self._clock.now()
        for call in self._store.interrupted():
            if call.status is Status.STOPPING:
                self._finish(call, Status.STOPPED, now)
            else:
                waiting = Status.RETRYING if call.retries else Status.ENQUEUED
                self._store.update(replace(call, status=waiting, due_at=now))
        self._wake_all()
        self._purge()

    async def close(self) -> None:
        """Break off the attempts under way; their calls run again after the next start."""
        self._open = False
        self._timers.cancel(_PURGE)
        await self._tasks.close()
        self._running.clear()
        self._stopping.clear()
        self.completions.close()

    def clear(self) -> None:
        """Forget every call and configuration, between `close` and `start`."""
        self._store.clear()

    def upcoming(self, now: Millis, limit: int) -> list[tuple[str, str, int, Millis]]:
        """Return the next *limit* attempts due after *now*: service, function, failures so far, time."""
        return self._store.upcoming(now, limit)

    @property
    def under_way(self) -> int:
        """How many attempts are being made."""
        return sum(len(running) for running in self._running.values())

    def _clock_set_back(self, before: Millis) -> None:
        """Make due now what was due before the clock was set back, which would wait for the old time otherwise."""
        if self._open:
            self._store.keep_due(self._clock.now(), before)
            self._wake_all()

    def _wake_all(self) -> None:
        for lane in self._store.lanes():
            self._wake(lane)

    def accept(
        self, tenant: Tenant, call: FunctionCall, *, key: str = "", task_id: str = "", task_mode: bool | None = None
    ) -> Accepted:
        """Queue *call*; it is durable once the current transaction is committed.

        *key* is the caller's own name for the call: one with a known key is not queued again. *task_mode* is whether
        a task record is kept, None for as configured; *task_id* is the record's id, empty for the request id.

        Raises: EntityTooLarge, ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InvocationDisabled;
        InvalidArgument for a task id that is malformed or not wanted; StatefulAsyncInvocationAlreadyExists.
        """
        if len(call.event) > limits.ASYNC_PAYLOAD_BYTES:
            raise EntityTooLarge(limit=limits.ASYNC_PAYLOAD_BYTES)
        version = self._invoker.check_callable(tenant, call)
        known = self._store.by_key(tenant, key) if key else None
        if known is not None:
            return Accepted(known.request_id, known.task_id)
        lane = FunctionRef(tenant, call.service, call.function, call.qualifier or LATEST)
        queued = self._store.add(
            AsyncCall(
                seq=0,
                lane=lane,
                request_id=call.request_id,
                task_id=self._task_id(lane, call.request_id, task_id, task_mode),
                call_key=key,
                event=call.event,
                tracing=call.tracing,
                accepted_at=call.now,
                status=Status.ENQUEUED,
                due_at=call.now,
                trace=current_trace() or call.request_id,
                http=call.http,
                origin=call.origin,
                version=version,
            )
        )
        _log.info(
            "call %(request)s of function %(function)s is queued",
            {"request": call.request_id, "function": display_name(*lane[1:3]), "trace": queued.trace},
        )
        if queued.task_id:
            self._store.add_events(queued, call.now, [(Status.ENQUEUED, "")])
        self._wake(lane)
        return Accepted(call.request_id, queued.task_id)

    def _task_id(self, lane: FunctionRef, request_id: str, task_id: str, task_mode: bool | None) -> str:
        """Return the id of the call's task record, empty without one; remove an ended record of the same id."""
        config = self._config(lane)
        if not (task_mode if task_mode is not None else config and config.task_mode):
            if task_id:
                raise InvalidArgument(f"async invocation id '{task_id[:200]}' is given, but task mode is off")
            return ""
        if not task_id:
            return request_id
        old = self._store.task(lane.tenant, lane.service, lane.function, check_task_id(task_id))
        if old is not None and old.status not in FINAL:
            raise FcError("StatefulAsyncInvocationAlreadyExists", task=task_id, function=lane.function)
        if old is not None:
            self._store.delete(old)
        return task_id

    def _hand_over(self, tenant: Tenant, name: FunctionName, event: bytes, key: str) -> None:
        service, function, qualifier = name
        call = FunctionCall(
            service=service, function=function, qualifier=qualifier, event=event, request_id=self._ids.uuid(),
            now=self._clock.now(), origin="async",
        )  # fmt: skip
        self.accept(tenant, call, key=key)

    def stop(self, call: AsyncCall) -> None:
        """End a call that has not ended: one that waits now, one that runs by killing its instance."""
        if call.status in FINAL or call.seq in self._stopping:
            return
        now = self._clock.now()
        if call.seq not in self._running.get(call.lane, {}):
            self._finish(call, Status.STOPPED, now)
            return
        self._stopping.add(call.seq)
        self._store.update(replace(call, status=Status.STOPPING))
        if call.task_id:
            self._store.add_events(call, now, [(Status.STOPPING, "")])

        def cancel(failure: CommitFailed | None) -> None:
            if failure is not None:
                self._stopping.discard(call.seq)
            elif (task := self._running.get(call.lane, {}).get(call.seq)) is not None:
                # not before its first step: a coroutine that never began could not write down its end
                asyncio.get_running_loop().call_soon(task.cancel)

        self._database.after_commit(cancel)

    def stop_all(self, tenant: Tenant, service: str, function: str) -> int:
        """End every call of a function that has not ended; return how many there were."""
        calls = self._store.open_calls(tenant, service, function)
        for call in calls:
            self.stop(call)
        return len(calls)

    def stop_key(self, tenant: Tenant, key: str) -> None:
        """End the call that was queued with *key*, if there is one and it has not ended."""
        call = self._store.by_key(tenant, key)
        if call is not None:
            self.stop(call)

    def forget_function(self, tenant: Tenant, service: str, function: str) -> None:
        """Forget a deleted function: its waiting calls become invalid, its configurations are removed."""
        now = self._clock.now()
        self._store.delete_configs(tenant, service, function, None)
        self._store.delete_waiting(tenant, service, function)
        for call in self._store.open_calls(tenant, service, function):
            if call.seq not in self._running.get(call.lane, {}):
                self._finish(call, Status.INVALID, now)
        self.completions.resolve_removed(tenant, service, function)

    def forget_qualifier(self, tenant: Tenant, scope: Scope, qualifier: str) -> None:
        """Forget a deleted alias or version; calls through it fail when their turn comes."""
        self._store.delete_configs(tenant, scope.service, scope.function or None, qualifier)

    def _wake(self, lane: FunctionRef) -> None:
        """Begin the due attempts of a queue, by `_pump`, once the current transaction is committed."""
        if lane in self._woken:
            return
        self._woken.add(lane)

        def pump(failure: CommitFailed | None) -> None:
            self._woken.discard(lane)
            if failure is None:
                self._pump(lane)
            else:
                self._pump_at(lane, Millis(self._clock.now() + SECOND))

        self._database.after_commit(pump)

    def _pump(self, lane: FunctionRef) -> None:
        """Begin the due attempts there is room for, and arm a timer for the next one."""
        if not self._open:
            return
        running = self._running.setdefault(lane, {})
        own = self._concurrency(lane)
        room = min(limits.ASYNC_CONCURRENCY, own if own is not None else limits.ASYNC_CONCURRENCY)
        room = max(1, room) - len(running)
        if room <= 0:
            return  # the end of an attempt comes back here
        now = self._clock.now()
        policy = self._policy(lane)
        due = self._store.due(lane, now, room)
        if due and not self._database.is_writable(partial(self._pump, lane)):
            return
        for call in due:
            if now >= expires_at(call, policy):
                self._finish(call, Status.EXPIRED, now)
                self._wake(lane)
            else:
                self._begin(call, now)
                room -= 1
        if room > 0 and (due_at := self._store.next_due(lane)) is not None:
            self._pump_at(lane, due_at)
        if not running:
            self._running.pop(lane, None)

    def _pump_at(self, lane: FunctionRef, when: Millis) -> None:
        self._timers.call_at(when, ("fc async", lane), partial(self._pump, lane))

    def _begin(self, call: AsyncCall, now: Millis) -> None:
        """Write that an attempt runs, and let it run once that is committed."""
        if call.task_id:
            steps = [Status.RUNNING] if call.retries else [Status.DEQUEUED, Status.RUNNING]
            self._store.add_events(call, now, [(step, "") for step in steps])
        call = replace(call, status=Status.RUNNING, due_at=None, running_from=call.running_from or now)
        self._store.update(call)
        self._running.setdefault(call.lane, {})[call.seq] = None

        def launch(failure: CommitFailed | None) -> None:
            running = self._running.get(call.lane, {})
            if call.seq not in running:
                return  # broken off before it began
            if failure is None:
                running[call.seq] = self._tasks.spawn(self._attempt(call), call.request_id)
            else:
                del running[call.seq]
                self._pump_at(call.lane, Millis(now + SECOND))

        self._database.after_commit(launch)

    async def _attempt(self, call: AsyncCall) -> None:
        attempt: Attempt | None = None
        try:
            if call.seq not in self._stopping:
                attempt = await self._attempts.made(call)
                await self._see_destinations(call.lane)
                await self._database.writable()
        except asyncio.CancelledError:
            if call.seq not in self._stopping:
                raise  # the emulator ends; the call runs again after the next start
        running = self._running[call.lane]
        del running[call.seq]
        if attempt is None or call.seq in self._stopping:
            self._stopping.discard(call.seq)
            self._finish(call, Status.STOPPED, self._clock.now())
        else:
            self._settle(call, attempt)
        self._wake(call.lane)
        self._database.after_commit(partial(self._again_unless_written, call))

    def _again_unless_written(self, call: AsyncCall, failure: CommitFailed | None) -> None:
        """Run a call again whose end could not be written: its row still says that it runs."""
        if failure is None or not self._open:
            return

        def again() -> None:
            self._store.update(replace(call, status=Status.RETRYING, due_at=self._clock.now()))
            self._wake(call.lane)

        self._timers.call_at(Millis(self._clock.now() + SECOND), ("fc async again", call.seq), again)

    async def _see_destinations(self, lane: FunctionRef) -> None:
        """Wait until edits of the functions folder are read: the destination may be a function just written there."""
        config = self._config(lane)
        if config is not None and config.destinations and (edits := self._edits("", "")) is not None:
            await edits

    def _settle(self, call: AsyncCall, attempt: Attempt) -> None:
        """Write the state after an attempt: the end, or when the next one is due."""
        now = self._clock.now()
        from_platform = attempt.refused and attempt.retryable
        call = replace(
            call,
            platform_failures=call.platform_failures + from_platform,
            function_failures=call.function_failures + (bool(attempt.error) and not from_platform and not attempt.gone),
            http_status=attempt.http_status,
            error=attempt.error,
            result=attempt.body[: limits.TASK_PAYLOAD_BYTES],
            instance_id=attempt.instance_id or call.instance_id,
        )
        status, due_at = judge(call, attempt, self._policy(call.lane), now)
        if due_at is None:
            self._finish(call, status, now, attempt.body)
            return
        self._store.update(replace(call, status=status, due_at=due_at))
        if call.task_id:
            self._store.add_events(call, now, [(status, event_detail(attempt.error))])

    def _finish(self, call: AsyncCall, status: Status, now: Millis, body: bytes | None = None) -> None:
        """End a call: send its result to its destination, keep or remove its row, release its waiters."""
        call = replace(call, status=status, due_at=None, ended_at=now)
        arn = destination_of(self._config(call.lane), status)
        if arn:
            took_it = self._destinations.deliver(arn, call, now)
            call = replace(call, destination="Succeeded" if took_it else "Failed")
        if call.task_id:
            self._store.add_events(call, now, [(status, event_detail(call.error))])
        if call.is_kept:
            self._store.update(call)
        else:
            self._store.delete(call)
        self.completions.resolve(call, call.result if body is None else body)

    def destination(self, tenant: Tenant, name: FunctionName, status: Status) -> str:
        """Return the resource name of the destination for a call that ended with *status*, empty for none."""
        lane = FunctionRef(tenant, name.service, name.function, name.qualifier or LATEST)
        return destination_of(self._config(lane), status)

    def _config(self, lane: FunctionRef) -> AsyncConfig | None:
        stored = self._store.config(lane)
        return stored.config if stored else None

    def _policy(self, lane: FunctionRef) -> Policy:
        return policy_of(self._config(lane))

    def _purge(self) -> None:
        now = self._clock.now()
        self._store.purge(Millis(now - limits.TASK_KEPT_MS), Millis(now - limits.KEYED_CALL_KEPT_MS))
        at = look_again_at(self._store.first_end(), limits.KEYED_CALL_KEPT_MS, now, HOUR)
        self._timers.call_at(at, _PURGE, self._purge)
