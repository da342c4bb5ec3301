"""All that calls functions besides InvokeFunction: triggers of every kind and custom domains, joined."""

import asyncio
import logging
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Iterator
from typing import assert_never

from emulator.http.message import Headers, Request
from emulator.kernel.clock import Clock, Millis
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import FUNCTION_SUFFIX, Principal, Tenant
from emulator.kernel.ids import Ids
from emulator.services.fc.catalog.resolving import Resolver
from emulator.services.fc.errors import FcError
from emulator.services.fc.invoke.invoking import Enqueue, FunctionCall, Invoker
from emulator.services.fc.model import FunctionName
from emulator.services.fc.ports import Platform, QueuedMessage
from emulator.services.fc.triggers.events import (
    ObjectChange,
    TopicMessage,
    fires,
    object_event,
    timer_event,
    topic_event,
)
from emulator.services.fc.triggers.host_names import TriggerNames, names_of
from emulator.services.fc.triggers.http_invoke import HttpInvoker
from emulator.services.fc.triggers.http_routing import HttpRouting, HttpTarget, function_names
from emulator.services.fc.triggers.model import Trigger, bucket_of, topic_of, trigger_path, trigger_type_of
from emulator.services.fc.triggers.object_triggers import ObjectTriggers
from emulator.services.fc.triggers.queue_triggers import QueueTriggers, event_of, queue_source
from emulator.services.fc.triggers.store import Domains, TriggerStore
from emulator.services.fc.triggers.timer_triggers import TimerTriggers
from emulator.services.fc.triggers.topic_triggers import TopicTriggers, subscription_name
from emulator.services.fc.triggers.triggers import Triggers

_log = logging.getLogger(__name__)


class EventSources:
    """The triggers and custom domains of every account, joined with the parts that act on them.

    *enqueue* takes asynchronous calls, *endpoint* returns the emulator's own address.
    """

    def __init__(
        self,
        platform: Platform,
        store: TriggerStore,
        resolver: Resolver,
        invoker: Invoker,
        enqueue: Enqueue,
        endpoint: Callable[[], str],
    ) -> None:
        database, clock, ids, ports = platform.database, platform.clock, platform.ids, platform.ports
        self._clock = clock
        self._ids = ids
        self._endpoint = endpoint
        self._turns = turns = platform.timers.turns
        self._enqueue = enqueue
        self._guard = ports.guard
        self._host_names = ports.host_names
        self.store = store
        self.triggers = Triggers(store, database, resolver, ids)
        self.domains = Domains(database, ports.host_names)
        self.http_routing = HttpRouting(database, store, self.domains, resolver)
        self.http_invoker = HttpInvoker(invoker, enqueue)
        self.firing = Firing(invoker, self.http_invoker, clock, ids)
        self.timer_triggers = TimerTriggers(store, clock, platform.timers, self._fire, database.watchers)
        self.triggers.watchers.append(self.timer_triggers)
        if ports.host_names is not None:
            self.triggers.watchers.append(TriggerNames(store, ports.host_names))
        self._topic_triggers = TopicTriggers(store, ports.topics) if ports.topics is not None else None
        if self._topic_triggers is not None:
            self.triggers.watchers.append(self._topic_triggers)
        self.queue_triggers = QueueTriggers(store, database, ports.queues, self._fire, turns) if ports.queues else None
        if self.queue_triggers is not None:
            self.triggers.watchers.append(self.queue_triggers)
        if ports.buckets is not None:
            self.triggers.watchers.append(ObjectTriggers(ports.buckets))

    async def start(self) -> None:
        """Act on stored triggers: arm timers, register host names; some in each turn of the loop."""
        for watcher in self.triggers.watchers:
            await asyncio.sleep(0)
            await watcher.start()

    async def close(self) -> None:
        """Disarm the timers and stop reading queues."""
        for watcher in self.triggers.watchers:
            await watcher.close()

    def topic_made(self, tenant: Tenant, topic: str) -> None:
        """Subscribe the triggers of the folder that wait for a topic which is being created."""
        if self._topic_triggers is not None:
            self._topic_triggers.topic_made(tenant, topic)

    def queue_made(self, tenant: Tenant, queue: str) -> None:
        """Start the triggers that wait for a queue which is being created."""
        if self.queue_triggers is not None:
            self.queue_triggers.queue_made(tenant, queue)

    def behind(self) -> Iterator[tuple[str, str]]:
        """Yield queues that have messages for a trigger now, with its name as ``service/function/trigger``."""
        for key, queue in self.queue_triggers.behind() if self.queue_triggers is not None else ():
            yield queue, "/".join(part for part in key[2:] if part)

    def host_names(self) -> Iterator[str]:
        """Yield the host names that lead to functions by a trigger or a custom domain."""
        yield from self.domains.names()
        for tenant, label in self.store.labels():
            yield from names_of(tenant, label)

    def forget_names(self, names: Iterable[str]) -> None:
        """Stop answering host names whose triggers and domains do not exist any more."""
        if self._host_names is not None:
            for name in names:
                self._host_names.forget(name)

    def clear(self) -> None:
        """Forget every trigger and domain."""
        self.triggers.clear()
        self.domains.clear()

    def url(self, trigger: Trigger) -> str:
        """Return the address of an HTTP trigger that works from everywhere on this machine, without a final slash."""
        return f"{self._endpoint().rstrip('/')}{trigger_path(trigger)}"

    def urls(self, tenant: Tenant, trigger: Trigger) -> list[str]:
        """Return the addresses of an HTTP trigger: by path, and by a host name of its own; none for other kinds."""
        if not trigger.label:
            return []
        port = self._endpoint().rpartition(":")[2].strip("/")
        own = next(iter(function_names(trigger)), trigger.label)
        return [self.url(trigger), f"http://{own}{FUNCTION_SUFFIX}:{port}"]

    def host(self, tenant: Tenant, trigger: Trigger) -> str:
        """Return the host name of an HTTP trigger; ``.localhost`` in place of its domain works too."""
        return names_of(tenant, trigger.label)[0]

    def object_changed(self, tenant: Tenant, change: ObjectChange) -> list[str]:
        """Queue a call for every object trigger that *change* fires, in the current transaction.

        Returns the request ids. A trigger whose function cannot be called is logged and does not keep others from
        firing, nor the change from happening.
        """
        started = []
        for trigger in self.store.of_source(tenant, "oss", change.bucket):
            if bucket_of(trigger.source_arn) != change.bucket:
                continue
            if fires(trigger.config, change) and self._may_fire(tenant, trigger):
                event = object_event(tenant, trigger.id, change)
                key = f"object/{trigger.id}/{change.request_id}/{change.key}"
                try:
                    started.append(self._fire(tenant, trigger, event, key))
                except FcError as error:
                    _log.warning("trigger %s of %s did not fire: %s", trigger.name, trigger.function, error.message)
        return started

    def _may_fire(self, tenant: Tenant, trigger: Trigger) -> bool:
        """Whether the role that a trigger's source calls with, if any, may call the function.

        The log says why it may not.
        """
        caller = trigger_type_of(trigger.kind).caller
        if self._guard is None or not caller or not trigger.role:
            return True
        function = FunctionName(trigger.service, trigger.function, trigger.qualifier)
        reason = self._guard.refusal(tenant, trigger.role, caller, function)
        if reason is not None:
            _log.warning("trigger %s of %s may not fire: %s", trigger.name, trigger.function, reason)
        return reason is None

    def topics_may_call(self, tenant: Tenant, name: FunctionName) -> bool:
        """Whether topics may call a function: one of its topic triggers may fire, or it has none."""
        if self._guard is None:
            return True
        of_function = self.store.some(tenant, name.service, name.function)
        own = [trigger for trigger in of_function if trigger.kind == "mns_topic"]
        return not own or any(self._may_fire(tenant, trigger) for trigger in own)

    def _fire(self, tenant: Tenant, trigger: Trigger, event: bytes, key: str) -> str:
        """Queue a call of a trigger's function; see `Fire`."""
        name = "/".join(part for part in (trigger.service, trigger.function, trigger.name) if part)
        if self._turns.active and self._turns.befalls("trigger", name) == "duplicate":
            self._enqueue(tenant, call_of(trigger, event, self._ids.uuid(), self._clock.now()), f"{key}#once more")
        return self._enqueue(tenant, call_of(trigger, event, self._ids.uuid(), self._clock.now()), key)


def call_of(trigger: Trigger, event: bytes, request_id: str, now: Millis) -> FunctionCall:
    """Return the call of its function that *trigger* makes."""
    return FunctionCall(
        service=trigger.service, function=trigger.function, qualifier=trigger.qualifier, event=event,
        request_id=request_id, now=now, origin="trigger",
    )  # fmt: skip


@frozen
class Fired:
    """The result of a trigger that was fired. ``status`` is that of the HTTP answer for an HTTP trigger, else 200."""

    request_id: str
    status: int
    error_type: str
    body: bytes
    log: bytes = b""


class Firing:
    """Calls the functions of triggers on demand, as their event sources would."""

    def __init__(self, invoker: Invoker, http: HttpInvoker, clock: Clock, ids: Ids) -> None:
        self._invoker = invoker
        self._http = http
        self._clock = clock
        self._ids = ids

    async def fire(self, tenant: Tenant, trigger: Trigger, *, payload: str | None, event: bytes | None) -> Fired:
        """Call the trigger's function and wait for the result.

        *payload* is what the source brings; *event* stands for the whole event and is given to the function as it is.

        Raises: FcError, as a call of the function does.
        """
        if trigger.kind == "http" and event is None:
            return await self._request(tenant, trigger, payload or "")
        request_id = self._ids.uuid()
        event = event if event is not None else self.event(tenant, trigger, payload)
        call = call_of(trigger, event, request_id, self._clock.now())
        result = (await self._invoker.invoke(tenant, call)).result
        return Fired(
            request_id=request_id, status=200, error_type=result.error_type or "", body=result.body, log=result.log
        )

    def event(self, tenant: Tenant, trigger: Trigger, payload: str | None) -> bytes:
        """Return the event that the function of *trigger* would get now; of an HTTP trigger the body of the request."""
        now = self._clock.now()
        match trigger.kind:
            case "timer":
                text = str(trigger.config.get("payload", "")) if payload is None else payload
                return timer_event(trigger.name, text, now)
            case "mns_topic":
                message = TopicMessage(
                    topic=topic_of(trigger.source_arn),
                    subscription=subscription_name(trigger),
                    message_id=self._ids.hex(32).upper(),
                    body=payload or "",
                    published_at=now,
                    tag=trigger.config.get("filterTag") or "",
                    attributes={},
                )
                return topic_event(trigger.config["notifyContentFormat"], tenant, message)
            case "oss":
                return object_event(tenant, trigger.id, self._change(trigger, payload))
            case "eventbridge" if (source := queue_source(trigger)) is not None:
                sent = QueuedMessage(message_id=self._ids.hex(32).upper(), body=payload or "", sent_at=now, token=None)
                return event_of(tenant, trigger, source, sent)
            case "http" | "log" | "tablestore" | "cdn_events" | "eventbridge" | "rds":  # whatever the caller sends
                return (payload or "").encode("utf-8", "replace")
            case _:
                assert_never(trigger.kind)

    def _change(self, trigger: Trigger, payload: str | None) -> ObjectChange:
        key = (trigger.config.get("filter") or {}).get("key") or {}
        named = str(next(iter(trigger.config.get("events", ())), "oss:ObjectCreated:*")).removeprefix("oss:")
        example = {"ObjectCreated:*": "ObjectCreated:PutObject", "ObjectRemoved:*": "ObjectRemoved:DeleteObject"}
        return ObjectChange(
            event=example.get(named, named.replace(":*", ":ObjectCreated")),
            bucket=bucket_of(trigger.source_arn),
            key=payload or f"{key.get('prefix', '')}object{key.get('suffix', '')}",
            size=0,
            etag="D41D8CD98F00B204E9800998ECF8427E",
            at=self._clock.now(),
            request_id=self._ids.hex(24).upper(),
            metadata={},
        )

    async def _request(self, tenant: Tenant, trigger: Trigger, body: str) -> Fired:
        methods = trigger.config.get("methods", ())
        preferred = ("POST", "PUT") if body else ("GET", "POST")
        method = next((name for name in preferred if name in methods), methods[0] if methods else "GET")
        path = trigger_path(trigger) if trigger.service else ""
        headers = Headers([("Host", "localhost"), ("X-Fc-Log-Type", "Tail")])
        request = Request(method, f"{path}/", headers, body.encode("utf-8", "replace"))
        target = HttpTarget(
            tenant=tenant, trigger=trigger, target="/", request_uri=request.target, base_path=path
        )  # fmt: skip
        request_id = self._ids.uuid()
        owner = Principal(tenant.account, "", f"acs:ram::{tenant.account}:root")
        answer = await self._http.serve(request, target, owner, "localhost", request_id, self._clock.now())
        content = answer.body if isinstance(answer.body, bytes) else b""
        error = answer.header("X-Fc-Error-Type")
        log = a2b_base64(answer.header("X-Fc-Log-Result"))
        return Fired(request_id=request_id, status=answer.status, error_type=error, body=content, log=log)
