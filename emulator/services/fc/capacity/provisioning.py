"""Instances kept ready: how many of each version are wanted, which the pool is asked for; and lists of instances.

The wanted numbers follow from the configurations, the aliases, the functions and the time; they are not stored, but
computed again when any of these changes, so that an alias that moves takes its instances along, and after a restart.

Source: provisioned instances, Function Compute; that instances are there as soon as they are asked for is assumed.
"""

import logging
from functools import partial
from typing import NamedTuple

from emulator.kernel.clock import SECOND, Millis
from emulator.kernel.identity import AccountId, Region, Tenant
from emulator.kernel.tasks import TaskGroup
from emulator.services.fc import limits
from emulator.services.fc.capacity.model import (
    Kind,
    Setting,
    actions_of,
    default_target,
    next_change,
    place_of,
    restricts,
    target_at,
)
from emulator.services.fc.capacity.store import CapacityStore
from emulator.services.fc.catalog.resolving import FunctionKeys, Resolver, Target
from emulator.services.fc.catalog.store import CatalogStore
from emulator.services.fc.errors import FcError
from emulator.services.fc.model import LATEST, FunctionRef, family, function_path, scope_of
from emulator.services.fc.ports import Instances, Platform
from emulator.services.fc.runtime.model import InstanceInfo, RuntimeFailure
from emulator.storage.database import CommitFailed

_log = logging.getLogger(__name__)

_TIMER = ("fc", "instances kept ready")
_AGAIN_AFTER_MS = 30 * SECOND


class Share(NamedTuple):
    """How many instances of one version a configuration wants."""

    target: Target
    number: int


class Readiness(NamedTuple):
    """How far a configuration is fulfilled: the number wanted now, the instances there are, and why not all are."""

    target: int
    current: int
    error: str


class Provisioner:
    """Keeps the pool's provisioned instances as the configurations want them."""

    def __init__(
        self,
        platform: Platform,
        settings: CapacityStore,
        store: CatalogStore,
        resolver: Resolver,
        instances: Instances,
        keys: FunctionKeys,
    ) -> None:
        self._database = platform.database
        self._clock = platform.clock
        self._timers = platform.timers
        self._settings = settings
        self._store = store
        self._resolver = resolver
        self._instances = instances
        self._keys = keys
        self._tasks = TaskGroup("fc-provision")
        self._wanted: dict[str, Share] = {}
        self._applied: dict[str, int] = {}
        self._errors: dict[str, str] = {}
        self._busy: set[str] = set()
        self._targets: dict[tuple[str, int], tuple[int, Millis | None]] = {}
        self._listed: list[Setting] = []
        self._seen = -1
        self._is_full = False
        self._dirty = False
        self._open = False
        settings.watch(self.changed)
        store.watch(self.changed)

    def start(self) -> None:
        """Start to keep instances ready; does not wait for them."""
        self._open = True
        self.changed()

    async def close(self) -> None:
        """Start no more instances; those there are belong to the pool."""
        self._open = False
        self._timers.cancel(_TIMER)
        await self._tasks.close()
        self._wanted.clear()
        self._applied.clear()
        self._errors.clear()
        self._busy.clear()

    def changed(self) -> None:
        """Plan anew, once the current transaction is committed."""
        if self._dirty or not self._open:
            return
        self._dirty = True

        def look(_: CommitFailed | None) -> None:  # a change that was undone costs one look
            self._dirty = False
            if self._open:
                self._plan()

        self._database.after_commit(look)

    def readiness(self, setting: Setting) -> Readiness:
        """Return how far a configuration is fulfilled."""
        wanted = self.target(setting)
        current, errors = 0, []
        try:
            for share in self._shares(setting, wanted):
                ready = self._ready(share.target)
                current += min(ready, share.number)
                if ready < share.number and (error := self._errors.get(share.target.image.key)):
                    errors.append(error)
        except FcError as error:
            errors.append(error.message)
        if current < wanted and not errors and self._is_full:
            errors.append(
                f"this machine keeps at most {limits.PROVISIONED_INSTANCES} instances ready for all functions"
            )
        return Readiness(wanted, current, "; ".join(errors))

    def kept_ready(self, place: FunctionRef) -> int:
        """Return how many instances are ready for a function and qualifier."""
        configured = [self._settings.get(kind, place) for kind in (Kind.PROVISION, Kind.SCALING)]
        return sum(self.readiness(setting).current for setting in configured if setting is not None)

    def target(self, setting: Setting) -> int:
        """Return how many instances a configuration wants now."""
        now = self._clock.now()
        key = (setting.id, setting.revision)
        known = self._targets.get(key)
        if known is None or (known[1] is not None and known[1] <= now):
            actions = actions_of(setting.config)
            target = target_at(actions, default_target(setting), now)
            known = self._targets[key] = (target, next_change(actions, now))
        return known[0]

    def _ready(self, target: Target) -> int:
        instances = self._instances.instances(target.image.family)
        return sum(info.provisioned and info.state in {"idle", "busy"} for info in instances)

    def _plan(self) -> None:
        wanted: dict[str, Share] = {}
        left, asked_in_all = limits.PROVISIONED_INSTANCES, 0
        settings = self._ready_settings()
        for setting in settings:
            number = self.target(setting)
            if not number or not left:  # what it has had until now goes, below
                asked_in_all += number
                continue
            try:
                shares = self._shares(setting, number)
            except FcError as error:
                _log.info("no instances are kept ready for %s: %s", function_path(*setting.place[1:]), error)
                continue
            for target, asked in shares:
                key = target.image.key
                granted = min(asked, left)
                left -= granted
                asked_in_all += asked
                wanted[key] = Share(target, granted + (wanted[key].number if key in wanted else 0))
        self._is_full = asked_in_all > limits.PROVISIONED_INSTANCES
        for key, share in self._wanted.items():
            if key not in wanted and self._applied.get(key):
                wanted[key] = Share(share.target, 0)
        self._wanted = wanted
        current = {(setting.id, setting.revision) for setting in settings}
        self._targets = {key: known for key, known in self._targets.items() if key in current}
        for key in wanted:
            if key not in self._busy and self._applied.get(key, 0) != wanted[key].number:
                self._busy.add(key)
                self._tasks.spawn(self._apply(key), key)
        changes = [when for _, when in self._targets.values() if when is not None]
        if changes:
            self._timers.call_at(min(changes), _TIMER, self._plan)

    def _ready_settings(self) -> list[Setting]:
        """Return the configurations, which are read again when one has changed; of a disabled function none counts.

        Source: DisableFunctionInvocation.
        """
        if self._seen != self._settings.generation:
            self._seen = self._settings.generation
            self._listed = [each for each in self._settings.ready() if not self._is_disabled(each.place)]
        return self._listed

    def _is_disabled(self, place: FunctionRef) -> bool:
        return restricts(self._settings.get(Kind.SWITCH, place_of(Kind.SWITCH, place)))

    def _shares(self, setting: Setting, wanted: int) -> list[Share]:
        """Return how many instances of which version *setting* wants; an additional version gets its weight's part.

        Raises: FcError when there is no such function or alias any more.
        """
        tenant, service, function, qualifier = setting.place
        main = self._resolver.target(tenant, service, function, qualifier, 1.0)
        alias = self._store.alias(tenant, scope_of(service, function), qualifier)
        weight = sum(alias.weights.values()) if alias else 0.0
        part = round(wanted * min(weight, 1.0))
        if not part:
            return [Share(main, wanted)]
        other = self._resolver.target(tenant, service, function, qualifier, 0.0)
        return [Share(main, wanted - part), Share(other, part)]

    async def _apply(self, key: str) -> None:
        """Bring the instances of one version to the wanted number, also when that changes meanwhile."""
        try:
            while (share := self._wanted.get(key)) is not None and self._applied.get(key, 0) != share.number:
                self._applied[key] = share.number
                self._errors.pop(key, None)
                await self._provision(key, share)
                if not share.number and self._wanted.get(key) == share:
                    for known in (self._wanted, self._applied, self._errors):
                        known.pop(key, None)
        finally:
            self._busy.discard(key)

    async def _provision(self, key: str, share: Share) -> None:
        target, count = share
        image = target.image
        if target.function.problem:
            self._errors[key] = target.function.problem
            return
        tenant = Tenant(AccountId(image.account), Region(image.region))
        try:
            credentials = self._keys.of(tenant, target, self._clock.now())
            ready = await self._instances.provision(image, count, credentials)
        except RuntimeFailure as failure:
            _log.warning("instances of %s are not kept ready: %s", image.family, failure)
            self._errors[key] = str(failure)
            self._timers.call_at(Millis(self._clock.now() + _AGAIN_AFTER_MS), (*_TIMER, key), partial(self._retry, key))
            return
        if ready < count:
            self._errors[key] = f"{count - ready} of {count} instances did not initialize"

    def _retry(self, key: str) -> None:
        self._applied.pop(key, None)
        if self._open:
            self._plan()


class InstanceList:
    """Lists the living instances of functions; ``service`` is empty for a function of 3.0."""

    def __init__(self, store: CatalogStore, resolver: Resolver, instances: Instances) -> None:
        self._store = store
        self._resolver = resolver
        self._instances = instances

    def of_qualifier(self, tenant: Tenant, service: str, function: str, qualifier: str | None) -> list[InstanceInfo]:
        """Return the instances that serve calls through *qualifier*; of an alias those of all its versions.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound.
        """
        self._resolver.function(tenant, service, function, qualifier)
        scope = scope_of(service, function)
        alias = self._store.alias(tenant, scope, qualifier) if qualifier else None
        if alias is None:
            numbers = [self._resolver.number(tenant, scope, qualifier)]
        else:
            named = (alias.version_id, *alias.weights)
            numbers = [0 if version_id == LATEST else int(version_id) for version_id in named]
        return self._of_versions(tenant, service, function, numbers)

    def of_function(self, tenant: Tenant, service: str, function: str) -> list[InstanceInfo]:
        """Return the instances of every version.

        Raises: ServiceNotFound, FunctionNotFound.
        """
        self._resolver.function(tenant, service, function)
        own = family(tenant, service, function, 0).rpartition("/")[0]
        living = (each.rpartition("/") for each in self._instances.families())
        numbers = sorted(0 if version == LATEST else int(version) for place, _, version in living if place == own)
        return self._of_versions(tenant, service, function, numbers)

    def _of_versions(self, tenant: Tenant, service: str, function: str, numbers: list[int]) -> list[InstanceInfo]:
        instances = [
            info for number in numbers for info in self._instances.instances(family(tenant, service, function, number))
        ]
        return sorted(instances, key=lambda info: (info.started_at, info.instance_id))
