"""Puts, gets, deletes and lists what is configured about the instances of functions."""

from collections.abc import Callable, Mapping
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.paging import Page, cut
from emulator.services.fc.capacity.admission import Admission
from emulator.services.fc.capacity.model import Kind, Setting, default_target, metric_of, place_of, resource_of
from emulator.services.fc.capacity.store import CapacityStore
from emulator.services.fc.catalog.resolving import Resolver, is_version
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.model import Function, FunctionRef, Scope, check_if_match

_MISSING: Mapping[Kind, str] = {
    Kind.ON_DEMAND: "OnDemandConfigNotFound",
    Kind.CONCURRENCY: "OnDemandConfigNotFound",  # observed: 3.0 answers the older code here
    Kind.PROVISION: "ProvisionConfigNotFound",
    Kind.SCALING: "ScalingConfigNotFound",
}


_POLICIES = ("scheduledActions", "targetTrackingPolicies")


class Settings:
    """The configurations of every account; ``service`` is empty for functions of 3.0.

    *changed* is called when the instances to keep ready may be others now.
    """

    def __init__(
        self,
        store: CapacityStore,
        ids: Ids,
        resolver: Resolver,
        admission: Admission,
        changed: Callable[[], None],
    ) -> None:
        self._store = store
        self._ids = ids
        self._resolver = resolver
        self._admission = admission
        self._changed = changed

    # --- any kind ------------------------------------------------------------------------------------------------

    def get(self, kind: Kind, ref: FunctionRef) -> Setting:
        """Return the configuration of exactly this qualifier, or of the function where there is one for all.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, and the kind's own "not found".
        """
        place = self._place(kind, ref)
        setting = self._store.get(kind, place)
        if setting is None:
            raise FcError(_MISSING[kind], resource=resource_of(place))
        return setting

    def delete(self, kind: Kind, ref: FunctionRef, if_match: str = "") -> None:
        """Remove a configuration.

        Raises: as `get`; PreconditionFailed.
        """
        setting = self.get(kind, ref)
        check_if_match(if_match, setting.etag)
        self._store.delete(setting)
        self._changed()

    def page(
        self,
        kind: Kind,
        tenant: Tenant,
        wanted: Callable[[Setting], bool],
        key: Callable[[Setting], str],
        start: str,
        limit: int,
    ) -> Page[Setting]:
        """Return the configurations that are *wanted*, ordered by *key*, from *start* on."""
        rows = sorted(filter(wanted, self._store.list(kind, tenant)), key=key)
        return cut([row for row in rows if key(row) >= start][: limit + 1], limit, key)

    def _place(self, kind: Kind, ref: FunctionRef) -> FunctionRef:
        """Return the place of a configuration; a limit of instances may be for what is not there yet.

        Raises: as `get`.
        Source: fc-java-sdk FunctionComputeClientTest, whose on-demand configurations are for no service.
        """
        if kind is not Kind.ON_DEMAND:
            self._resolver.function(*ref)
        return place_of(kind, ref)

    def _put(self, kind: Kind, place: FunctionRef, config: Mapping[str, Any], if_match: str, now: Millis) -> Setting:
        old = self._store.get(kind, place)
        check_if_match(if_match, old.etag if old else "")
        if old is None:
            new = Setting(
                kind=kind, place=place, config=config, setting_id=self._ids.uuid(), created_at=now, modified_at=now
            )
        else:
            new = replace(old, config=config, modified_at=now, revision=old.revision + 1)
        self._store.put(new)
        self._changed()
        return new

    # --- limits --------------------------------------------------------------------------------------------------

    def limit(
        self, kind: Kind, ref: FunctionRef, config: Mapping[str, Any], now: Millis, if_match: str = ""
    ) -> Setting:
        """Set the limit of instances of a qualifier, or the reserved concurrency of a function.

        The next call goes by it.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, PreconditionFailed.
        """
        return self._put(kind, self._place(kind, ref), config, if_match, now)

    # --- instances kept ready ------------------------------------------------------------------------------------

    def provision(
        self, kind: Kind, ref: FunctionRef, config: Mapping[str, Any], now: Millis, if_match: str = ""
    ) -> Setting:
        """Set how many instances are kept ready; with none and no schedule a 3.0 function's configuration is removed.

        In 2.0 schedules and policies that *config* does not have stay; empty lists remove them.
        *kind* is PROVISION or SCALING; one function and qualifier has one of them.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, PreconditionFailed,
        InstanceMetricsRequired, ProvisionConfigExist, ResidentScalingConfigExists; InvalidArgument for a version of
        2.0, where only an alias and LATEST can have instances kept ready.
        Source: fc-java-sdk FunctionComputeClientTest for 2.0.
        """
        target = self._resolver.function(*ref)
        if ref.service and is_version(ref.qualifier):
            raise InvalidArgument(f"qualifier '{ref.qualifier}' is invalid: it must be an alias or LATEST")
        self._check_metrics(target, config)
        self._check_other(kind, ref)
        old = self._store.get(kind, ref)
        if ref.service and old is not None:
            config = {name: old.config[name] for name in _POLICIES if name in old.config} | dict(config)
        setting = self._put(kind, ref, config, if_match, now)
        if not ref.service and _keeps_nothing(setting):
            self._store.delete(setting)
        return setting

    def _check_metrics(self, function: Function, config: Mapping[str, Any]) -> None:
        metric = metric_of(config)
        log = function.config.log_config or {}
        if metric and not function.service and not log.get("enableInstanceMetrics"):
            raise FcError("InstanceMetricsRequired", metric=metric)

    def _check_other(self, kind: Kind, place: FunctionRef) -> None:
        provision = self._store.get(Kind.PROVISION, place)
        if kind is Kind.SCALING and provision is not None and not _keeps_nothing(provision):
            raise FcError("ProvisionConfigExist", resource=resource_of(place))
        if kind is Kind.PROVISION and self._store.get(Kind.SCALING, place) is not None:
            raise FcError("ResidentScalingConfigExists", resource=resource_of(place))

    # --- the switch ----------------------------------------------------------------------------------------------

    def disable(self, tenant: Tenant, function: str, reason: str, now: Millis, *, abort: bool) -> None:
        """Let no call of a 3.0 function begin any more; with *abort* those that run are ended.

        Raises: FunctionNotFound.
        """
        self._resolver.function(tenant, "", function)
        place = FunctionRef(tenant, "", function, "")
        self._put(Kind.SWITCH, place, {"disable": True, "reason": reason}, "", now)
        if abort:
            self._admission.abort(tenant, "", function, reason or "no reason given")

    def enable(self, tenant: Tenant, function: str, now: Millis) -> None:
        """Let a 3.0 function be called again.

        Raises: FunctionNotFound.
        """
        self._resolver.function(tenant, "", function)
        place = FunctionRef(tenant, "", function, "")
        if self._store.get(Kind.SWITCH, place) is not None:
            self._put(Kind.SWITCH, place, {"disable": False, "reason": ""}, "", now)

    def switch(self, tenant: Tenant, function: str) -> Setting | None:
        """Return the switch of a 3.0 function, None when it was never used."""
        return self._store.get(Kind.SWITCH, FunctionRef(tenant, "", function, ""))

    # --- functions and aliases that go ---------------------------------------------------------------------------

    def check_deletable(self, tenant: Tenant, service: str, function: str) -> None:
        """Make sure that no instances are kept ready for a function.

        Raises: ProvisionConfigExist, ResidentScalingConfigExists.
        """
        for setting in self._store.of_function(tenant, service, function):
            self._refuse(setting)

    def check_qualifier_deletable(self, tenant: Tenant, scope: Scope, qualifier: str) -> None:
        """Make sure that no instances are kept ready for an alias or version, of any function of a service.

        Raises: ProvisionConfigExist, ResidentScalingConfigExists.
        """
        for setting in self._of_qualifier(tenant, scope, qualifier):
            self._refuse(setting)

    def forget_function(self, tenant: Tenant, service: str, function: str) -> None:
        """Remove everything configured for a function."""
        for setting in self._store.of_function(tenant, service, function):
            self._store.delete(setting)
        self._changed()

    def forget_qualifier(self, tenant: Tenant, scope: Scope, qualifier: str) -> None:
        """Remove everything configured for an alias or version, of every function of a service."""
        for setting in self._of_qualifier(tenant, scope, qualifier):
            self._store.delete(setting)
        self._changed()

    def _of_qualifier(self, tenant: Tenant, scope: Scope, qualifier: str) -> list[Setting]:
        return [
            setting
            for kind in (Kind.PROVISION, Kind.SCALING, Kind.ON_DEMAND)
            for setting in self._store.list(kind, tenant)
            if setting.place.service == scope.service
            and setting.place.function == (scope.function or setting.place.function)
            and setting.place.qualifier == qualifier
        ]

    @staticmethod
    def _refuse(setting: Setting) -> None:
        if setting.kind is Kind.PROVISION and not _keeps_nothing(setting):
            raise FcError("ProvisionConfigExist", resource=resource_of(setting.place))
        if setting.kind is Kind.SCALING:
            raise FcError("ResidentScalingConfigExists", resource=resource_of(setting.place))


def _keeps_nothing(setting: Setting) -> bool:
    """Whether it is a provision configuration with a target of 0 and without schedules and policies."""
    return (
        setting.kind is Kind.PROVISION
        and not default_target(setting)
        and not any(setting.config.get(name) for name in _POLICIES)
    )
