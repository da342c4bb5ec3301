"""From service, function and qualifier to what runs: version, function, image, program.

A qualifier is a version, ``LATEST`` or an alias, which shares calls out by weight or by their content. Images are kept
between calls and dropped with any change of the store, so a warm call costs no query.

Source: versions and aliases, Function Compute API reference; that a draw below an additional version's weight takes
that version is assumed.
"""

import json
import operator
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from emulator.http.message import Request
from emulator.kernel.clock import MINUTE, Millis
from emulator.kernel.digits import read_digits
from emulator.kernel.identity import Tenant
from emulator.services.fc import limits
from emulator.services.fc.catalog.affinity import REQUEST_EXCLUSIVE, Affinity, affinity_of
from emulator.services.fc.catalog.code import CodeStore
from emulator.services.fc.catalog.layers import Layers
from emulator.services.fc.catalog.sizes import size_of
from emulator.services.fc.catalog.store import CatalogStore
from emulator.services.fc.codec import value_at
from emulator.services.fc.errors import FcError, InvalidArgument, function_not_found
from emulator.services.fc.model import (
    LATEST,
    Alias,
    Function,
    FunctionConfig,
    Scope,
    ServiceConfig,
    Version,
    display_name,
    family,
    hook_of,
    initializer_of,
    listen_port,
    scope_of,
)
from emulator.services.fc.ports import CredentialIssuer
from emulator.services.fc.runtime.model import Container, Credentials, FunctionImage, HealthCheck

KEYS_SHARED_MS = 15 * MINUTE
"""Calls of one role get the same temporary keys for this long; they live many times longer."""

BY_CONTENT = "Content"


_PLACES: Mapping[str, str] = {
    "header": "header",
    "cookie": "cookie",
    "query": "query",
    "param": "query",
    "parameter": "query",
    "body": "form",
}


def _is_among(have: str, percent: str) -> bool:
    """Whether *have* belongs to the chosen *percent* of all values; a value always does or never."""
    share = read_digits(percent, 3) or 0
    return crc32(have.encode("utf-8", "surrogateescape")) % 100 < share


_OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    "in": lambda have, want: have in want,
    "percent": _is_among,
    "percentage": _is_among,
}
"""The operators of routing by content; numbers are compared as texts too. The vendor's pages have both last names."""


def is_diverted(policy: Mapping[str, Any] | None, request: Request) -> bool:
    """Whether *policy* sends *request* to the additional version; a policy without rules sends none."""
    items = (policy or {}).get("policyItems") or []
    held = (_holds(item, request) for item in items)
    return bool(items) and (any(held) if (policy or {}).get("condition") == "OR" else all(held))


def _holds(item: Mapping[str, str], request: Request) -> bool:
    place = _PLACES.get(item.get("type", "").lower())
    compare = _OPERATORS.get(item.get("operator", ""))
    if place is None or compare is None:
        return False
    have = value_at(request, place, item.get("key", ""))
    return have is not None and compare(have, item.get("value", ""))


def is_latest(qualifier: str | None) -> bool:
    """Whether *qualifier* means the changeable head: None, an empty text, or ``LATEST``."""
    return not qualifier or qualifier == LATEST


def is_version(qualifier: str) -> bool:
    """Whether *qualifier* is a version id; everything else is an alias, which never starts with a digit."""
    return qualifier.isascii() and qualifier.isdigit()


def is_fixed(qualifier: str | None) -> bool:
    """Whether *qualifier* always means the same version, or the head; an alias may be pointed to another one."""
    return is_latest(qualifier) or is_version(qualifier or "")


def pick(alias: Alias, draw: float, request: Request | None = None) -> str:
    """Return the version id one call through *alias* goes to; *draw* is a random number in [0, 1).

    An additional version of weight w gets the calls whose draw is below w, the main version the rest. Where the alias
    routes by content, the additional version gets the calls whose *request* meets the rules, whatever its weight.
    """
    if alias.resolve_policy == BY_CONTENT:
        diverted = request is not None and is_diverted(alias.route_policy, request)
        return next(iter(alias.weights), alias.version_id) if diverted else alias.version_id
    start = 0.0
    for version_id, weight in sorted(alias.weights.items()):
        if start <= draw < start + weight:
            return version_id
        start += weight
    return alias.version_id


def command_of(config: FunctionConfig) -> tuple[str, ...]:
    """Return the command line of a custom runtime, empty when it is the default one."""
    runtime = config.custom_runtime or {}
    return (*(runtime.get("command") or ()), *(runtime.get("args") or ()))


def tracing_of(config: ServiceConfig | FunctionConfig) -> dict[str, str]:
    """Return the header that tells a function where the configured tracing collects; nothing without an address.

    Source: the published runtimes, which read it into the context; assumed: it comes with each call.
    """
    endpoint = ((config.tracing_config or {}).get("params") or {}).get("endpoint")
    return {"x-fc-tracing-jaeger-endpoint": endpoint} if endpoint else {}


def health_check_of(config: FunctionConfig) -> HealthCheck | None:
    """Return the health check of a custom runtime or container, from the member that its generation uses; else None."""
    inside = (config.custom_runtime or {}, config.custom_container or {})
    check = config.health_check or next(
        (each["healthCheckConfig"] for each in inside if "healthCheckConfig" in each), None
    )
    if not check or not check.get("httpGetUrl"):
        return None
    return HealthCheck(
        path=check["httpGetUrl"],
        initial_delay_s=check.get("initialDelaySeconds", 0),
        period_s=check.get("periodSeconds", 3),
        timeout_s=check.get("timeoutSeconds", 1),
        failure_threshold=check.get("failureThreshold", 3),
        success_threshold=check.get("successThreshold", 1),
    )


def container_of(config: FunctionConfig) -> Container | None:
    """Return the container a function runs in.

    Its ``command`` and ``args`` of 2.0, texts that hold JSON arrays, are what 3.0 calls ``entrypoint`` and ``command``.
    """
    settings = config.custom_container
    if not settings or not settings.get("image"):
        return None
    command = settings.get("command")
    if "entrypoint" in settings or ("args" not in settings and isinstance(command, list)):
        entrypoint, arguments = _words(settings.get("entrypoint")), _words(command)
    else:
        entrypoint, arguments = _words(command), _words(settings.get("args"))
    return Container(
        image=settings["image"],
        entrypoint=entrypoint,
        command=arguments,
        web_server=settings.get("webServerMode") is not False,
    )


def _words(value: object) -> tuple[str, ...]:
    """Return a list of texts as it is, and a text as the JSON array it holds, or as one word when it holds none."""
    if isinstance(value, str):
        try:
            parsed = json.loads(value) if value.strip() else []
        except ValueError:
            parsed = [value]
        value = parsed if isinstance(parsed, list) else [value]
    return tuple(str(word) for word in value) if isinstance(value, (list, tuple)) else ()


class Target(NamedTuple):
    """The target of one call: function, version and image. ``version`` is ``LATEST`` or a number as text.

    ``role`` is the role whose keys the call gets. ``affinity`` is the session affinity, None without one. ``tracing``
    are tracing headers that the platform adds to each call.
    """

    function: Function
    version: str
    image: FunctionImage
    role: str
    affinity: Affinity | None = None
    tracing: Mapping[str, str] = {}


class Resolver:
    """Resolves qualifiers to versions, and functions to the images that their calls run."""

    def __init__(self, store: CatalogStore, codes: CodeStore, layers: Layers) -> None:
        self._store = store
        self._codes = codes
        self._layers = layers
        self._targets: dict[tuple[Tenant, str, str, int], Target] = {}
        self._seen = -1
        self.why_unusable: Callable[[str, str], str | None] = lambda service, function: None
        """Returns why a folder cannot be a function, by service and function."""

    def number(
        self,
        tenant: Tenant,
        scope: Scope,
        qualifier: str | None,
        draw: float = 1.0,
        request: Request | None = None,
        chosen: str = "",
    ) -> int:
        """Return the number of the version that *qualifier* names, 0 for the head.

        For an alias with an additional version *draw* or *request* decide, as in `pick`; a draw of 1 gives the main
        version, for operations that read. *chosen* is the version that the alias chose for this call before; it is kept
        while the alias still leads to it.

        Raises: ServiceNotFound, FunctionNotFound, AliasNotFound; VersionNotFound for a number that no version can have,
        but not for one that does not exist.
        """
        if qualifier is None or is_latest(qualifier):
            return 0
        if is_version(qualifier):
            if len(qualifier) <= limits.VERSION_ID_DIGITS and (number := int(qualifier)):
                return number
            self._store.existing_owner(tenant, scope)
            raise FcError("VersionNotFound", version=qualifier, owner=scope)
        alias = self._store.alias(tenant, scope, qualifier)
        if alias is None:
            self._store.existing_owner(tenant, scope)
            raise FcError("AliasNotFound", alias=qualifier, owner=scope)
        if chosen != alias.version_id and chosen not in alias.weights:
            chosen = pick(alias, draw, request)
        return 0 if chosen == LATEST else int(chosen)

    def version(self, tenant: Tenant, scope: Scope, number: int) -> Version:
        """Return a published version.

        Raises: VersionNotFound.
        """
        version = self._store.version(tenant, scope, number)
        if version is None:
            raise FcError("VersionNotFound", version=number, owner=scope)
        return version

    def function(self, tenant: Tenant, service: str, name: str, qualifier: str | None = None) -> Function:
        """Return a function in the version that *qualifier* names; *service* is empty for a 3.0 function.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound.
        """
        return self._function(tenant, service, name, self.number(tenant, scope_of(service, name), qualifier))

    def target(
        self,
        tenant: Tenant,
        service: str,
        name: str,
        qualifier: str | None,
        draw: float,
        request: Request | None = None,
        chosen: str = "",
    ) -> Target:
        """Return the target of a call; *draw*, *request* and *chosen* as in `number`.

        Raises: ServiceNotFound, FunctionNotFound, VersionNotFound, AliasNotFound, InvalidArgument.
        """
        if self._seen != self._store.generation:
            self._targets.clear()
            self._seen = self._store.generation
        number = 0 if not qualifier else self.number(tenant, scope_of(service, name), qualifier, draw, request, chosen)
        key = (tenant, service, name, number)
        target = self._targets.get(key)
        if target is None:
            target = self._targets[key] = self._build(tenant, service, name, number)
        return target

    def choices(self, tenant: Tenant, service: str, name: str, alias: str) -> list[Target]:
        """Return the targets that a call through an alias may run; none when there is no such alias.

        Raises: FunctionNotFound, VersionNotFound.
        """
        known = self._store.alias(tenant, scope_of(service, name), alias)
        versions = () if known is None else (known.version_id, *known.weights)
        return [self.target(tenant, service, name, version, 1.0) for version in versions]

    def _function(self, tenant: Tenant, service: str, name: str, number: int) -> Function:
        function = self._store.function(tenant, service, name, number)
        if function is not None:
            return function
        if service:
            self._store.existing_service(tenant, service)
        if number and (service or self._store.function(tenant, "", name) is not None):
            self.version(tenant, scope_of(service, name), number)
        if (reason := self.why_unusable(service, name)) is not None:
            raise InvalidArgument(reason)
        raise function_not_found(name, service=service)

    def _build(self, tenant: Tenant, service: str, name: str, number: int) -> Target:
        function = self._function(tenant, service, name, number)
        config, state = function.config, function.etag
        shared: ServiceConfig | FunctionConfig = config
        if service:
            shared, of_service = self._service_config(tenant, service, number)
            state += of_service
        log = shared.log_config or {}
        initializer, freeze, stop = initializer_of(config), hook_of(config, "preFreeze"), hook_of(config, "preStop")
        instances, affinity = family(tenant, service, name, number), affinity_of(config)
        image = FunctionImage(
            key=f"{instances}#{state}",
            label=display_name(service, name),
            family=instances,
            generation="2.0" if service else "3.0",
            account=tenant.account,
            region=tenant.region,
            service=service or None,
            function=name,
            version=str(number) if number else LATEST,
            runtime=config.runtime,
            handler=config.handler,
            code_dir=self._codes.path(function.code) if function.code else Path(),
            memory_mb=config.memory_mb,
            size=size_of(config),
            timeout_s=config.timeout_s,
            initializer=initializer.handler if initializer else None,
            initializer_timeout_s=initializer.timeout_s if initializer else 3,
            pre_freeze=freeze.handler if freeze else None,
            pre_freeze_timeout_s=freeze.timeout_s if freeze else 3,
            pre_stop=stop.handler if stop else None,
            pre_stop_timeout_s=stop.timeout_s if stop else 3,
            environment=config.environment,
            instance_concurrency=config.instance_concurrency,
            layers=self._layers.folders(tenant, config.layers) if config.layers else (),
            log_project=log.get("project", ""),
            log_store=log.get("logstore", ""),
            role=shared.role,
            port=listen_port(config),
            command=command_of(config),
            health_check=health_check_of(config),
            container=container_of(config),
            keys_in_environment=config.inject_credentials not in {"Env", "All"},
            keys_in_calls=config.inject_credentials not in {"Request", "All"},
            sessions=affinity.per_instance if affinity else 0,
            exclusive=affinity is not None and affinity.exclusive,
            once=config.isolation_mode == REQUEST_EXCLUSIVE,
            idle_s=max(config.idle_timeout_s or 0, 0),
        )
        return Target(function, image.version, image, shared.role, affinity, tracing_of(shared))

    def _service_config(self, tenant: Tenant, service: str, number: int) -> tuple[ServiceConfig, str]:
        """Return the service's configuration, current or frozen, and a text that changes with it."""
        if number:
            version = self.version(tenant, Scope(service=service), number)
            return version.config or ServiceConfig(), version.content
        current = self._store.existing_service(tenant, service)
        return current.config, current.etag


class FunctionKeys:
    """Temporary keys of functions' roles; without an *issuer* functions get none."""

    def __init__(self, issuer: CredentialIssuer | None) -> None:
        self._issuer = issuer
        self._keys: dict[tuple[str, str], tuple[Credentials, Millis]] = {}

    def of(self, tenant: Tenant, target: Target, now: Millis) -> Credentials | None:
        """Return temporary keys of the role of *target*, None without an issuer; cached for `KEYS_SHARED_MS`."""
        if self._issuer is None or target.function.config.inject_credentials == "All":
            return None
        known = (tenant.account, target.role)
        kept = self._keys.get(known)
        if kept is None or kept[1] <= now:
            keys = self._issuer.for_role(tenant.account, target.role, "fc")
            kept = self._keys[known] = (keys, Millis(now + KEYS_SHARED_MS))
        return kept[0]

    def forget(self) -> None:
        """Drop the cached keys, so that the next calls get new ones."""
        self._keys.clear()
