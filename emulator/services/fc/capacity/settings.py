"""What is configured about the instances of functions: what may be put, and what keeps a function from going."""

from collections.abc import Callable, Mapping
from typing import Any

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import replace
from emulator.kernel.identity import Tenant
from emulator.kernel.ids import Ids
from emulator.services.fc.capacity.model import Kind, Setting, default_target, metric_of, resource_of
from emulator.services.fc.capacity.store import CapacityStore
from emulator.services.fc.catalog.resolving import Resolver, is_version
from emulator.services.fc.errors import FcError, InvalidArgument
from emulator.services.fc.model import Function, FunctionRef, Scope, check_if_match

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
        changed: Callable[[], None],
    ) -> None:
        self.store = store
        self._ids = ids
        self._resolver = resolver
        self._changed = changed

    def put(
        self, kind: Kind, place: FunctionRef, config: Mapping[str, Any], now: Millis, if_match: str = ""
    ) -> Setting:
        """Write the configuration of exactly *place*; the next call goes by it.

        Raises: PreconditionFailed.
        """
        old = self.store.get(kind, place)
        check_if_match(if_match, old.etag if old else "")
        if old is None:
            new = Setting(
                kind=kind, place=place, config=config, setting_id=self._ids.uuid(), created_at=now, modified_at=now
            )
        else:
            new = replace(old, config=config, modified_at=now, revision=old.revision + 1)
        self.store.put(new)
        self._changed()
        return new

    def delete(self, setting: Setting) -> None:
        """Remove a configuration."""
        self.store.delete(setting)
        self._changed()

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
        old = self.store.get(kind, ref)
        if ref.service and old is not None:
            config = {name: old.config[name] for name in _POLICIES if name in old.config} | dict(config)
        setting = self.put(kind, ref, config, now, if_match)
        if not ref.service and _keeps_nothing(setting):
            self.store.delete(setting)
        return setting

    def _check_metrics(self, function: Function, config: Mapping[str, Any]) -> None:
        metric = metric_of(config)
        log = function.config.log_config or {}
        if metric and not function.service and not log.get("enableInstanceMetrics"):
            raise FcError("InstanceMetricsRequired", metric=metric)

    def _check_other(self, kind: Kind, place: FunctionRef) -> None:
        provision = self.store.get(Kind.PROVISION, place)
        if kind is Kind.SCALING and provision is not None and not _keeps_nothing(provision):
            raise FcError("ProvisionConfigExist", resource=resource_of(place))
        if kind is Kind.PROVISION and self.store.get(Kind.SCALING, place) is not None:
            raise FcError("ResidentScalingConfigExists", resource=resource_of(place))

    def switch(self, tenant: Tenant, function: str) -> Setting | None:
        """Return the switch of a 3.0 function, None when it was never used."""
        return self.store.get(Kind.SWITCH, FunctionRef(tenant, "", function, ""))

    def check_deletable(self, tenant: Tenant, service: str, function: str) -> None:
        """Make sure that no instances are kept ready for a function.

        Raises: ProvisionConfigExist, ResidentScalingConfigExists.
        """
        for setting in self.store.of_function(tenant, service, function):
            self._refuse(setting)

    def check_qualifier_deletable(self, tenant: Tenant, scope: Scope, qualifier: str) -> None:
        """Make sure that no instances are kept ready for an alias or version, of any function of a service.

        Raises: ProvisionConfigExist, ResidentScalingConfigExists.
        """
        for setting in self._of_qualifier(tenant, scope, qualifier):
            self._refuse(setting)

    def forget_function(self, tenant: Tenant, service: str, function: str) -> None:
        """Remove everything configured for a function."""
        for setting in self.store.of_function(tenant, service, function):
            self.store.delete(setting)
        self._changed()

    def forget_qualifier(self, tenant: Tenant, scope: Scope, qualifier: str) -> None:
        """Remove everything configured for an alias or version, of every function of a service."""
        for setting in self._of_qualifier(tenant, scope, qualifier):
            self.store.delete(setting)
        self._changed()

    def _of_qualifier(self, tenant: Tenant, scope: Scope, qualifier: str) -> list[Setting]:
        return [
            setting
            for kind in (Kind.PROVISION, Kind.SCALING, Kind.ON_DEMAND)
            for setting in self.store.list(kind, tenant)
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
