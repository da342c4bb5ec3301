"""All that calls functions besides InvokeFunction: triggers of every kind and custom domains, joined."""

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.timers import Timers
from emulator.services.fc.domain_sqlite import DomainStore
from emulator.services.fc.domains import Domains
from emulator.services.fc.errors import FcError
from emulator.services.fc.http_invoke import HttpInvoker
from emulator.services.fc.http_routing import HttpRouting
from emulator.services.fc.invoking import Invoker
from emulator.services.fc.model import Function, display_name
from emulator.services.fc.ports import Enqueue, HostNames, TopicSubscriptions
from emulator.services.fc.resolving import Resolver
from emulator.services.fc.timer_triggers import TimerTriggers
from emulator.services.fc.topic_triggers import TopicTriggers
from emulator.services.fc.trigger_configs import bucket_of
from emulator.services.fc.trigger_events import ObjectChange, fires, object_event
from emulator.services.fc.trigger_model import Trigger, trigger_path
from emulator.services.fc.trigger_names import TriggerNames, names_of
from emulator.services.fc.trigger_sqlite import TriggerStore
from emulator.services.fc.triggers import Triggers
from emulator.storage.database import Database

if TYPE_CHECKING:
    from emulator.services.fc.firing import Fired

_log = logging.getLogger(__name__)


class EventSources:
    """The triggers and custom domains of every account, and what they do.

    *enqueue* takes asynchronous calls, *endpoint* returns the emulator's own address. Without *host_names* triggers
    are reached by their paths only; without *topics* topic triggers are kept and get no messages.
    """

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        ids: Ids,
        timers: Timers,
        resolver: Resolver,
        invoker: Invoker,
        enqueue: Enqueue,
        endpoint: Callable[[], str],
        host_names: HostNames | None = None,
        topics: TopicSubscriptions | None = None,
        may_fire: Callable[[Tenant, Trigger], bool] = lambda tenant, trigger: True,
    ) -> None:
        self._endpoint = endpoint
        self._enqueue = enqueue
        self._may_fire = may_fire
        self._store = TriggerStore(database)
        domain_store = DomainStore(database)
        self.triggers = Triggers(self._store, database, resolver, ids)
        self.domains = Domains(domain_store, database, ids, host_names)
        self.http_routing = HttpRouting(self._store, domain_store, resolver)
        self.http_invoker = HttpInvoker(invoker, enqueue)
        self._invoker = invoker
        self._clock = clock
        self._ids = ids
        self._timers = TimerTriggers(self._store, clock, timers, enqueue)
        self._names = TriggerNames(self._store, host_names) if host_names is not None else None
        self.triggers.watchers.append(self._timers)
        if self._names is not None:
            self.triggers.watchers.append(self._names)
        if topics is not None:
            self.triggers.watchers.append(TopicTriggers(topics))

    # --- life ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Take up what an earlier run has left: timers are armed, host names answered."""
        self.domains.start()
        if self._names is not None:
            self._names.start()
        self._timers.start()

    async def close(self) -> None:
        """Disarm the timers."""
        await self._timers.close()

    def clear(self) -> None:
        """Forget every trigger and domain."""
        self.triggers.clear()
        self.domains.clear()

    def follow_folder(self, tenant: Tenant, functions: Iterable[Function], now: Millis) -> None:
        """Make the triggers of the folder's functions be what their files say; versions are passed over."""
        self.triggers.follow_folder(tenant, [function for function in functions if not function.version], now)

    # --- addresses -----------------------------------------------------------------------------------------------

    def url(self, trigger: Trigger) -> str:
        """Return the address of an HTTP trigger that works from everywhere on this machine, without a final slash."""
        return f"{self._endpoint().rstrip('/')}{trigger_path(trigger)}"

    def host(self, tenant: Tenant, trigger: Trigger) -> str:
        """Return the host name of an HTTP trigger; ``.localhost`` in place of its domain works too."""
        return names_of(tenant, trigger)[0]

    # --- events --------------------------------------------------------------------------------------------------

    def object_changed(self, tenant: Tenant, change: ObjectChange) -> list[str]:
        """Queue a call for every object trigger that *change* fires, in the transaction of this moment.

        Returns the request ids. A trigger whose function cannot be called is logged and does not keep others from
        firing, nor the change from happening.
        """
        started = []
        for owner, trigger in self._store.of_kind("oss"):
            if owner != tenant or bucket_of(trigger.source_arn) != change.bucket:
                continue
            if fires(trigger.config, change) and self._may_fire(tenant, trigger):
                event = object_event(tenant, trigger.trigger_id, change)
                key = f"object/{trigger.trigger_id}/{change.request_id}/{change.key}"
                service = trigger.service or None
                try:
                    started.append(
                        self._enqueue(tenant, service, trigger.function, trigger.qualifier, event, key=key)
                    )  # fmt: skip
                except FcError as error:
                    _log.warning("trigger %s of %s did not fire: %s", trigger.name, trigger.function, error.message)
        return started

    async def fire(
        self, tenant: Tenant, service: str, function: str, name: str, *, payload: str | None, event: bytes | None
    ) -> "Fired":
        """Call a trigger's function now, as the trigger would, and wait for the result.

        *payload* stands for what the source brings: a timer's payload, a message's body, an object's key, the body of
        an HTTP request. *event* is the whole event, given to the function as it is.

        Raises: TriggerNotFound and what a call raises.
        """
        trigger = self.triggers.get(tenant, service, function, name)
        from emulator.services.fc.firing import Firing  # a start need not load what a person asks for now and then

        firing = Firing(self._invoker, self.http_invoker, self._clock, self._ids)
        return await firing.fire(tenant, trigger, payload=payload, event=event)

    def rows(self, tenant: Tenant) -> list[dict[str, Any]]:
        """Return what there is to tell about every trigger of *tenant*, in JSON's terms."""
        return [
            {
                "function": display_name(trigger.service, trigger.function),
                "trigger": trigger.name,
                "type": trigger.kind,
                "qualifier": trigger.qualifier,
                "enabled": trigger.enabled,
                "config": dict(trigger.config),
                "sourceArn": trigger.source_arn,
                "urls": [self.url(trigger), *self._own_urls(tenant, trigger)] if trigger.label else [],
            }
            for owner, trigger in self.triggers.all()
            if owner == tenant
        ]

    def _own_urls(self, tenant: Tenant, trigger: Trigger) -> list[str]:
        port = self._endpoint().rpartition(":")[2].strip("/")
        return [f"http://{name}:{port}" for name in names_of(tenant, trigger) if name.endswith(".localhost")]
