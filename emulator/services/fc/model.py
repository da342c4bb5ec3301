"""The resources of Function Compute: services, functions, versions, aliases, code; and how they are named.

One model serves the three generations of the API. A function lives in a service, or in none (``service`` is empty:
a 3.0 function). Versions and aliases belong to a *scope*: the service of 2.0, the function itself in 3.0. A version is
a set of frozen functions: the same rows as the changeable ones (version 0, ``LATEST``) with the version's number.

Structures that nothing here acts on (VPC, NAS, tracing ...) stay what the API calls them: checked JSON objects.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, Literal, NamedTuple, Self

from emulator.kernel.clock import Millis
from emulator.kernel.frozen import ABSENT, field, fields_of, frozen, replace
from emulator.kernel.identity import Tenant
from emulator.kernel.instrumentation import Origin, Subject
from emulator.services.fc.errors import FcError

LATEST = "LATEST"
Struct = Mapping[str, Any]
"""A checked JSON object under the API's own field names."""

CUSTOM_CONTAINER = "custom-container"


def is_custom(runtime: str) -> bool:
    """Whether the code brings its own server, so that the handler means nothing."""
    return runtime.startswith("custom")


@frozen(kw_only=False)
class Scope:
    """The owner of versions and aliases: a service of 2.0 or a function of 3.0; the other name is empty."""

    service: str = ""
    function: str = ""

    def __str__(self) -> str:
        return f"service '{self.service}'" if self.service else f"function '{self.function}'"


def scope_of(service: str, function: str) -> Scope:
    """Return the scope a function's versions belong to."""
    return Scope(service=service) if service else Scope(function=function)


@frozen
class Dated:
    """The times at which a resource was created and last changed."""

    created_at: Millis
    modified_at: Millis


@frozen
class Resource(Dated):
    """A resource that can be updated. ``revision`` counts the updates, and ``etag`` changes with each."""

    id: str
    revision: int = 1

    @property
    def etag(self) -> str:
        """The opaque text that changes with every update."""
        return sha256(f"{self.id}:{self.revision}".encode()).hexdigest()[:32]

    def updated(self, now: Millis, **changes: Any) -> Self:
        """Return the resource after an update."""
        return replace(self, **changes, modified_at=now, revision=self.revision + 1)


@frozen
class SharedConfig:
    """The settings that a service of 2.0 makes for all its functions, and a function of 3.0 for itself."""

    description: str = ""
    role: str = ""
    internet_access: bool = True
    log_config: Struct | None = None
    vpc_config: Struct | None = None
    nas_config: Struct | None = None
    oss_mount_config: Struct | None = None
    tracing_config: Struct | None = None


@frozen
class ServiceConfig(SharedConfig):
    """The settings of a service of 2.0."""


@frozen
class Service(Resource):
    """A service of 2.0.

    ``folder`` is the directory it was loaded from, empty for one made by the API. ``base`` is then what the files say
    and ``changed`` the fields an API update has laid over it. ``last_version`` is the highest version number ever
    given out.
    """

    name: str
    config: ServiceConfig
    last_version: int = 0
    folder: str = ""
    base: ServiceConfig | None = None
    changed: Struct = field(default_factory=dict)


@frozen
class FunctionConfig(SharedConfig):
    """The settings of a function, in 3.0 with those that a service of 2.0 has.

    ``initializer`` with ``initialization_timeout_s`` is the form of 2.0, ``lifecycle`` holds the hooks of both.
    """

    runtime: str
    handler: str
    timeout_s: int = 3
    memory_mb: int = 128
    cpu: float | None = None
    disk_mb: int | None = None
    instance_concurrency: int = 1
    instance_soft_concurrency: int | None = None
    instance_type: str | None = None
    gpu_memory_mb: int | None = None
    gpu_config: Struct | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    initializer: str | None = None
    initialization_timeout_s: int | None = None
    lifecycle: Struct | None = None
    ca_port: int | None = None
    custom_runtime: Struct | None = None
    custom_container: Struct | None = None
    health_check: Struct | None = None
    custom_dns: Struct | None = None
    layers: tuple[str, ...] = ()
    resource_group_id: str | None = None
    disable_on_demand: bool | None = None
    inject_credentials: str | None = None
    idle_timeout_s: int | None = None
    long_living: bool | None = None
    isolation_mode: str | None = None
    session_affinity: str | None = None
    session_affinity_config: str | None = None
    juice_fs_config: Struct | None = None
    polar_fs_config: Struct | None = None
    micro_sandbox: Struct | None = None


_DEFAULTS = {
    kind: [
        (entry.name, entry.default if entry.default_factory is ABSENT else entry.default_factory())
        for entry in fields_of(kind)
    ]
    for kind in (ServiceConfig, FunctionConfig)
}


def config_json(config: ServiceConfig | FunctionConfig) -> str:
    """Write *config*; equal configurations give equal texts."""
    values = {name: value for name, default in _DEFAULTS[type(config)] if (value := getattr(config, name)) != default}
    return json.dumps(values, separators=(",", ":"), sort_keys=True)


def parse_values(text: str) -> dict[str, Any]:
    """Read attribute values of a configuration, such as `config_json` writes."""
    return {name: tuple(value) if name == "layers" else value for name, value in json.loads(text).items()}


@frozen
class Hook:
    """A handler called at a moment of an instance's life, within ``timeout_s``."""

    handler: str
    timeout_s: int
    command: tuple[str, ...] = ()


@frozen
class Code:
    """Where a function's code is.

    ``digest`` names a package in the code store; for code of the functions folder it is empty and ``folder`` is the
    directory that is used in place. ``checksum`` is the CRC-64 of the package as decimal text; for a folder it stands
    for names, sizes and times of its files and changes with them.
    """

    checksum: str
    size: int
    digest: str = ""
    folder: str = ""


@frozen
class Function(Resource):
    """A function, changeable (``version`` 0) or frozen in a version.

    ``folder``, ``base`` and ``changed`` as in `Service`. ``problem`` is what is wrong with the files it was loaded
    from: its callers get it as the function's own failure. ``triggers`` are those its file names, as written.
    ``last_version`` counts the versions of a 3.0 function.
    """

    service: str
    name: str
    config: FunctionConfig
    code: Code | None
    version: int = 0
    last_version: int = 0
    folder: str = ""
    base: FunctionConfig | None = None
    changed: Struct = field(default_factory=dict)
    problem: str = ""
    triggers: tuple[Struct, ...] = ()

    @property
    def scope(self) -> Scope:
        """The scope of its versions and aliases."""
        return scope_of(self.service, self.name)


@frozen
class Version(Dated):
    """A published version. ``config`` is the frozen service configuration (None in 3.0), ``content`` the digest of
    everything that was frozen, by which a publish without a change is noticed.
    """  # noqa: D205 - two short facts about two fields

    scope: Scope
    number: int
    description: str
    config: ServiceConfig | None
    content: str
    folder: str = ""


@frozen
class Alias(Resource):
    """A name for a version, with at most one additional version that gets a share of the calls.

    ``version_id`` is a number as text, or ``LATEST``. ``weights`` maps a version id to its share, 0..1.
    With the ``resolve_policy`` ``Content`` the ``route_policy`` decides which calls it gets, whatever its share.
    """

    scope: Scope
    name: str
    version_id: str
    description: str = ""
    weights: Mapping[str, float] = field(default_factory=dict)
    resolve_policy: str | None = None
    route_policy: Struct | None = None
    folder: str = ""


def content_of(
    config: ServiceConfig | None, functions: Iterable[Function], tags: Mapping[str, str] | None = None
) -> str:
    """Return a digest of all that a publish would freeze; equal digests mean that nothing has changed.

    *tags* of a service count too. Source: terraform-provider-alicloud, resource_alicloud_fc_service_test.go, which
    publishes after a change of tags alone.
    """
    state: list[Any] = [config_json(config) if config is not None else None]
    state += [
        [function.name, config_json(function.config), function.code.checksum if function.code else None]
        for function in functions
    ]
    if tags:
        state.append(dict(tags))
    return sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def initializer_of(config: FunctionConfig) -> Hook | None:
    """Return the initializer, whichever generation's form it was given in."""
    if config.initializer:
        return Hook(handler=config.initializer, timeout_s=config.initialization_timeout_s or 3)
    return hook_of(config, "initializer")


def hook_of(config: FunctionConfig, moment: str) -> Hook | None:
    """Return the hook of ``initializer``, ``preFreeze`` or ``preStop``; None when there is none."""
    hook = (config.lifecycle or {}).get(moment)
    if not hook or not (hook.get("handler") or hook.get("command")):
        return None
    return Hook(
        handler=hook.get("handler", ""), timeout_s=hook.get("timeout", 3), command=tuple(hook.get("command", ()))
    )


def listen_port(config: FunctionConfig) -> int:
    """Return the port a custom runtime listens on."""
    for struct in (config.custom_runtime, config.custom_container):
        if struct and struct.get("port"):
            return int(struct["port"])
    return config.ca_port or 9000


def arn_of(tenant: Tenant, path: str) -> str:
    """Return the resource name for *path*, such as ``services/x``."""
    return f"acs:fc:{tenant.region}:{tenant.account}:{path}"


def function_path(service: str, function: str, qualifier: str = "") -> str:
    """Return ``services/{service}.{qualifier}/functions/{function}``; of 3.0 ``functions/{function}/{qualifier}``."""
    if service:
        place = f"services/{service}.{qualifier}" if qualifier else f"services/{service}"
        return f"{place}/functions/{function}"
    return f"functions/{function}/{qualifier}" if qualifier else f"functions/{function}"


def function_arn(tenant: Tenant, service: str, function: str, qualifier: str = "") -> str:
    """Return the resource name of a function, in a service or outside any."""
    return arn_of(tenant, function_path(service, function, qualifier))


def family(tenant: Tenant, service: str, function: str, version: int) -> str:
    """Return the name under which the instances of a function's version are known."""
    return f"{tenant.account}/{tenant.region}/{service}/{function}/{version or LATEST}"


def display_name(service: str, function: str) -> str:
    """Return ``service/function``, or the function's name when it has no service."""
    return f"{service}/{function}" if service else function


class FunctionRef(NamedTuple):
    """A function of a tenant through a qualifier: a version, an alias or ``LATEST``, as its caller names it.

    ``service`` is empty for a 3.0 function; ``qualifier`` is empty where the whole function is meant.
    """

    tenant: Tenant
    service: str
    function: str
    qualifier: str


class FunctionName(NamedTuple):
    """A function by name. ``service`` is empty for a 3.0 function; no qualifier means ``LATEST``."""

    service: str
    function: str
    qualifier: str | None


class MessageTarget(NamedTuple):
    """A queue or a topic of the message service by name."""

    kind: Literal["queue", "topic"]
    name: str


def parse_function_arn(arn: str) -> FunctionName | None:
    """Read the resource name of a function of 2.0 or 3.0, with or without a qualifier; None for any other name.

    Region and account are ignored; they may be empty.
    """
    parts = _resource(arn, "fc").split("/")
    match parts:
        case ["services", place, "functions", function] if place and function:
            service, _, qualifier = place.partition(".")
            return FunctionName(service, function, _named(qualifier))
        case ["functions", function, *rest] if function and len(rest) < 2:
            return FunctionName("", function, _named(rest[0] if rest else ""))
    return None


def parse_message_arn(arn: str) -> MessageTarget | None:
    """Read the resource name of a queue or topic; None for any other name."""
    match _resource(arn, "mns").strip("/").split("/"):
        case ["queues", name] | ["queues", name, "messages"] if name:
            return MessageTarget("queue", name)
        case ["topics", name] | ["topics", name, "messages"] if name:
            return MessageTarget("topic", name)
    return None


def _resource(arn: str, service: str) -> str:
    """Return the part after region and account in a resource name of *service*, empty for another service's."""
    parts = arn.split(":", 4)
    return parts[4] if len(parts) == 5 and parts[0] == "acs" and parts[1] == service else ""


def _named(qualifier: str) -> str | None:
    return qualifier if qualifier and qualifier != LATEST else None


ABOVE_ALL_NAMES = "\U0010ffff"


@frozen
class Slice:
    """A part of a list of names: from *start* on, with *prefix*, carrying *tags*; an empty value stands for any."""

    limit: int
    start: str = ""
    prefix: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def bounds(self) -> tuple[str, str, int]:
        """The first name, the end of the names, and how many to read: one more than the limit, if there are more."""
        return max(self.start, self.prefix), self.prefix + ABOVE_ALL_NAMES, self.limit + 1


SLICED = "name >= ? AND name < ? ORDER BY name LIMIT ?"
"""The end of a query that reads a slice; `Slice.bounds` are its values."""

EVERY = Slice(limit=1_000_000)
"""A slice with the whole list."""


def check_if_match(if_match: str, etag: str) -> None:
    """Allow a change only when *if_match* is empty, ``*`` or the resource's current *etag*.

    Raises: PreconditionFailed.
    """
    wanted = if_match.strip().strip('"')
    if wanted and wanted not in {"*", etag}:
        raise FcError("PreconditionFailed")


def invocation_of(
    service: str, function: str, qualifier: str | None, *origins: Origin, operation: str = "InvokeFunction"
) -> Subject:
    """Return a call of a function, or another *operation* on it, under the names that faults and mocks may use."""
    own = display_name(service, function)
    path = f"services/{service}/functions/{function}" if service else f"functions/{function}"
    qualified = (f"{own}.{qualifier}",) if qualifier and qualifier != LATEST else ()
    return Subject("fc", operation, (own, *qualified, path, *((function,) if service else ())), origins)
