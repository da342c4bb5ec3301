"""Firing a trigger by hand: the function gets the event its trigger would give it, and the caller sees the result."""

from emulator.http.message import Headers, Request
from emulator.kernel.clock import Clock
from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Principal, Tenant
from emulator.kernel.ids import Ids
from emulator.services.fc.invoke.http_invoke import HttpInvoker
from emulator.services.fc.invoke.http_routing import HttpTarget
from emulator.services.fc.invoke.invoking import FunctionCall, Invoker
from emulator.services.fc.triggers.events import ObjectChange, TopicMessage, object_event, timer_event, topic_event
from emulator.services.fc.triggers.model import Trigger, bucket_of, topic_of, trigger_path
from emulator.services.fc.triggers.watchers import subscription_name


@frozen
class Fired:
    """What came of it. ``status`` is that of the HTTP answer for an HTTP trigger, else 200."""

    request_id: str
    status: int
    error_type: str
    body: bytes
    log: bytes = b""


class Firing:
    """Fires triggers."""

    def __init__(self, invoker: Invoker, http: HttpInvoker, clock: Clock, ids: Ids) -> None:
        self._invoker = invoker
        self._http = http
        self._clock = clock
        self._ids = ids

    async def fire(self, tenant: Tenant, trigger: Trigger, *, payload: str | None, event: bytes | None) -> Fired:
        """Call the trigger's function and wait for the result; see `EventSources.fire`."""
        if trigger.kind == "http" and event is None:
            return await self._request(tenant, trigger, payload or "")
        request_id = self._ids.uuid()
        call = FunctionCall(
            service=trigger.service,
            function=trigger.function,
            qualifier=trigger.qualifier,
            event=event if event is not None else self.event(tenant, trigger, payload),
            request_id=request_id,
            now=self._clock.now(),
            origin="trigger",
        )
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
                return object_event(tenant, trigger.trigger_id, self._change(trigger, payload))
            case _:
                return (payload or "").encode("utf-8", "replace")

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
        request = Request(method, f"{path}/", Headers([("Host", "localhost")]), body.encode("utf-8", "replace"))
        target = HttpTarget(
            tenant=tenant, trigger=trigger, target="/", request_uri=request.target, base_path=path
        )  # fmt: skip
        request_id = self._ids.uuid()
        owner = Principal(tenant.account, "", f"acs:ram::{tenant.account}:root")
        answer = await self._http.serve(request, target, owner, "localhost", request_id, self._clock.now())
        content = answer.body if isinstance(answer.body, bytes) else b""
        error = answer.header("X-Fc-Error-Type")
        return Fired(request_id=request_id, status=answer.status, error_type=error, body=content)
