"""Which calls may run now: limits of functions, and the switch that disables one.

Running calls are counted. The instance limit of 2.0 holds per qualifier and leaves out instances that are kept ready;
the reserved concurrency of 3.0 holds for the whole function and includes them. An instance serves as many calls at once
as the function's instance concurrency says.

Source: API reference for the configurations and error codes; which of the two codes a full limit gives, and that
reserved concurrency counts instances, are assumed.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from emulator.kernel.clock import Millis
from emulator.kernel.identity import Tenant
from emulator.services.fc.capacity.model import Kind, place_of
from emulator.services.fc.capacity.store import CapacityStore
from emulator.services.fc.catalog.resolving import Resolver
from emulator.services.fc.errors import FcError
from emulator.services.fc.model import LATEST, FunctionConfig, FunctionRef

_Function = tuple[Tenant, str, str]


class Ticket:
    """A running call and its asyncio task. ``aborted`` is the reason why `Admission.abort` ended it, None otherwise.

    ``connected`` is whether its answer has begun and is a connection on which the function waits for its client.
    """

    __slots__ = ("aborted", "connected", "place", "request_id", "since", "task")

    def __init__(self, place: FunctionRef, request_id: str, since: Millis) -> None:
        self.place = place
        self.request_id = request_id
        self.since = since
        self.task = asyncio.current_task()
        self.aborted: str | None = None
        self.connected = False


class _Rules(NamedTuple):
    disabled: str | None
    on_demand: int | None
    reserved: int | None


_NO_RULES = _Rules(None, None, None)

_RULES_KEPT = 4096
"""How many functions' rules are cached; deleted functions and mistyped names count as well."""


class Admission:
    """Counts running calls and refuses those over a limit.

    *kept_ready* returns how many instances are kept ready for a function and qualifier.
    """

    def __init__(self, store: CapacityStore, resolver: Resolver, kept_ready: Callable[[FunctionRef], int]) -> None:
        self._store = store
        self._resolver = resolver
        self._kept_ready = kept_ready
        self._running: dict[_Function, set[Ticket]] = {}
        self._rules: dict[FunctionRef, _Rules] = {}
        self._seen = -1

    def enter(self, place: FunctionRef, config: FunctionConfig, request_id: str, since: Millis) -> Ticket:
        """Count a call in; its id and start are for lists of what runs.

        Raises: InvocationDisabled, ResourceExhausted, ResourceThrottled.
        """
        rules = self._rules_of(place)
        if rules is not _NO_RULES:
            self._check(place, rules, config, self._running.get(place[:3], set()))
        ticket = Ticket(place, request_id, since)
        self._running.setdefault(place[:3], set()).add(ticket)
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Count a call out."""
        key = ticket.place[:3]
        running = self._running[key]
        running.discard(ticket)
        if not running:
            del self._running[key]

    def running(self) -> list[Ticket]:
        """Return the calls that run."""
        return [ticket for tickets in self._running.values() for ticket in tickets]

    def check_enabled(self, tenant: Tenant, service: str, function: str) -> None:
        """Make sure that a function may be called at all.

        Raises: InvocationDisabled.
        """
        rules = self._rules_of(FunctionRef(tenant, service, function, LATEST))
        if rules.disabled is not None:
            raise FcError("InvocationDisabled", function=function, reason=rules.disabled)

    def abort(self, tenant: Tenant, service: str, function: str, reason: str) -> None:
        """End every call of a function that is running; each is answered with `InvocationAborted`."""
        for ticket in list(self._running.get((tenant, service, function), ())):
            if ticket.task is not None and ticket.aborted is None:
                ticket.aborted = reason
                ticket.task.cancel()

    def aborted(self, ticket: Ticket) -> FcError | None:
        """Return the error for a call whose task was cancelled, None when it was not cancelled by `abort`."""
        if ticket.aborted is None:
            return None
        if ticket.task is not None:
            ticket.task.uncancel()
        return FcError("InvocationAborted", function=ticket.place.function, reason=ticket.aborted)

    def room(self, lane: FunctionRef) -> int | None:
        """Return how many calls of a queue can run at once, None when nothing limits them."""
        most = self.most_instances(lane)
        if most is None:
            return None
        try:
            config = self._resolver.function(*lane).config
        except FcError:
            return None  # its calls find out what is wrong
        return most * config.instance_concurrency

    def most_instances(self, place: FunctionRef) -> int | None:
        """Return how many instances calls through a qualifier may have, None when nothing limits them."""
        rules = self._rules_of(place)
        limits = [] if rules.reserved is None else [rules.reserved]
        if rules.on_demand is not None:
            limits.append(rules.on_demand + self._kept_ready(place))
        return min(limits, default=None)

    def _check(self, place: FunctionRef, rules: _Rules, config: FunctionConfig, running: set[Ticket]) -> None:
        if rules.disabled is not None:
            raise FcError("InvocationDisabled", function=place.function, reason=rules.disabled)
        each = config.instance_concurrency
        if rules.reserved is not None and len(running) >= rules.reserved * each:
            raise FcError(
                "ResourceExhausted",
                f"the reserved concurrency {rules.reserved} of function '{place.function}' is reached",
            )
        on_demand = rules.on_demand
        if on_demand is None:
            return
        mine = sum(ticket.place == place for ticket in running)
        if mine < (on_demand + self._kept_ready(place)) * each:
            return
        if on_demand:
            raise FcError(
                "ResourceExhausted", f"the maximum instance count {on_demand} of function '{place.function}' is reached"
            )
        raise FcError(
            "ResourceThrottled",
            f"function '{place.function}' has no instance on demand and all that are kept ready are busy",
        )

    def _rules_of(self, place: FunctionRef) -> _Rules:
        if self._seen != self._store.generation:
            self._rules.clear()
            self._seen = self._store.generation
        rules = self._rules.get(place)
        if rules is None:
            if len(self._rules) >= _RULES_KEPT:
                self._rules.clear()
            rules = self._rules[place] = self._read(place)
        return rules

    def _read(self, place: FunctionRef) -> _Rules:
        found = (self._store.get(kind, place_of(kind, place)) for kind in Kind)
        configs = {setting.kind: setting.config for setting in found if setting is not None}
        if not configs:
            return _NO_RULES
        switch = configs.get(Kind.SWITCH, {})
        on_demand = configs.get(Kind.ON_DEMAND, {}).get("maximumInstanceCount")
        if configs.get(Kind.SCALING, {}).get("enableOnDemandScaling") is False:
            on_demand = 0
        return _Rules(
            disabled=str(switch.get("reason") or "no reason given") if switch.get("disable") else None,
            on_demand=on_demand,
            reserved=configs.get(Kind.CONCURRENCY, {}).get("reservedConcurrency"),
        )
