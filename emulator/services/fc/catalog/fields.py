"""Which fields a service and a function have on the wire, what each is called inside and what it takes.

One row per field: wire name, attribute, rule. The same rows read a request, a ``service.yml`` or ``function.yml`` and
write an answer.

Source: parameter tables of the three API versions; SDK models.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from emulator.services.fc import checks, limits
from emulator.services.fc.catalog.versions import check_weights
from emulator.services.fc.checks import Check, flag, items, shape, text, texts, whole
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.model import CUSTOM_CONTAINER, FunctionConfig, ServiceConfig

C = TypeVar("C", ServiceConfig, FunctionConfig)


class Field(NamedTuple):
    """A field on the wire, the attribute it becomes, and the rule its value must pass."""

    wire: str
    attribute: str
    check: Check


_LOG = shape(
    project=text(), logstore=text(), enableRequestMetrics=flag, enableInstanceMetrics=flag, enableLlmMetrics=flag,
    logBeginRule=checks.one_of({"None", "DefaultRegex"}),
)  # fmt: skip
_VPC = shape(vpcId=text(), vSwitchIds=texts, securityGroupId=text(), role=text())
_NAS = shape(
    userId=whole(), groupId=whole(),
    mountPoints=items(shape(serverAddr=text(), mountDir=text(), enableTLS=flag), limits.MOUNT_POINTS),
)  # fmt: skip
_OSS_MOUNT = shape(
    mountPoints=items(
        shape(bucketName=text(), bucketPath=text(), endpoint=text(), mountDir=text(), readOnly=flag),
        limits.MOUNT_POINTS,
    )
)
_TRACING = shape(type=text(), params=checks.string_map)
_HEALTH = shape(
    httpGetUrl=text(limits.HEALTH_URL_LENGTH), initialDelaySeconds=whole(limits.HEALTH_DELAY_S),
    periodSeconds=whole(limits.HEALTH_PERIOD_S), timeoutSeconds=whole(limits.HEALTH_TIMEOUT_S),
    failureThreshold=whole(limits.HEALTH_FAILURES), successThreshold=whole(limits.HEALTH_SUCCESSES),
)  # fmt: skip
_DNS = shape(nameServers=texts, searches=texts, dnsOptions=items(shape(name=text(), value=text())))
_HOOK = shape(handler=text(limits.HANDLER_LENGTH), timeout=whole(limits.HOOK_TIMEOUT_S), command=texts)
_INITIALIZER = shape(handler=text(limits.HANDLER_LENGTH), timeout=whole(limits.INITIALIZATION_TIMEOUT_S), command=texts)
_LIFECYCLE = shape(initializer=_INITIALIZER, preFreeze=_HOOK, preStop=_HOOK)
_CUSTOM_RUNTIME = shape(command=texts, args=texts, port=whole(limits.PORT), healthCheckConfig=_HEALTH)
_CONTAINER_2 = shape(
    image=text(), command=text(), args=text(), accelerationType=text(), instanceID=text(), webServerMode=flag
)
_CONTAINER_3 = shape(
    image=text(), command=texts, entrypoint=texts, port=whole(limits.PORT), acrInstanceId=text(),
    registryConfig=checks.anything, healthCheckConfig=_HEALTH, accelerationType=text(),
    accelerationInfo=checks.anything, resolvedImageUri=text(),
)  # fmt: skip
_INJECTION = checks.one_of({"None", "Env", "Request", "All"})
_AFFINITY = checks.one_of({"NONE", "MCP_SSE", "GENERATED_COOKIE", "HEADER_FIELD"})


def _layers(value: Any, field: str) -> tuple[str, ...]:
    return tuple(items(text(shortest=1), limits.LAYERS)(value, field))


_SURROUNDINGS = (
    Field("role", "role", text(limits.ROLE_LENGTH)),
    Field("internetAccess", "internet_access", flag),
    Field("logConfig", "log_config", _LOG),
    Field("vpcConfig", "vpc_config", _VPC),
    Field("nasConfig", "nas_config", _NAS),
    Field("ossMountConfig", "oss_mount_config", _OSS_MOUNT),
    Field("tracingConfig", "tracing_config", _TRACING),
)
"""What is said once per service in 2.0 and per function in 3.0."""

DESCRIPTION = Field("description", "description", text(limits.DESCRIPTION_LENGTH))

SERVICE = (DESCRIPTION, *_SURROUNDINGS)

_FUNCTION = (
    Field("runtime", "runtime", checks.one_of(checks.RUNTIMES)),
    Field("handler", "handler", text(limits.HANDLER_LENGTH, 1)),
    DESCRIPTION,
    Field("timeout", "timeout_s", whole(limits.TIMEOUT_S)),
    Field("memorySize", "memory_mb", checks.memory),
    Field("cpu", "cpu", checks.cpu),
    Field("diskSize", "disk_mb", checks.disk),
    Field("instanceConcurrency", "instance_concurrency", whole(limits.INSTANCE_CONCURRENCY)),
    Field("customRuntimeConfig", "custom_runtime", _CUSTOM_RUNTIME),
    Field("customDNS", "custom_dns", _DNS),
    Field("instanceLifecycleConfig", "lifecycle", _LIFECYCLE),
    Field("layers", "layers", _layers),
)

FUNCTION_2 = (
    *_FUNCTION,
    Field("environmentVariables", "environment", checks.environment_2),
    Field("initializer", "initializer", text(limits.HANDLER_LENGTH)),
    Field("initializationTimeout", "initialization_timeout_s", whole(limits.INITIALIZATION_TIMEOUT_S)),
    Field("instanceSoftConcurrency", "instance_soft_concurrency", whole(limits.INSTANCE_CONCURRENCY)),
    Field(
        "instanceType",
        "instance_type",
        checks.one_of({"e1", "c1", "g1", "fc.gpu.tesla.1", "fc.gpu.ampere.1"}),
    ),
    Field("gpuMemorySize", "gpu_memory_mb", checks.gpu_memory),
    Field("caPort", "ca_port", whole(limits.PORT)),
    Field("customContainerConfig", "custom_container", _CONTAINER_2),
    Field("customHealthCheckConfig", "health_check", _HEALTH),
)
"""A function of the two APIs that know services."""

FUNCTION_3 = (
    *_FUNCTION,
    *_SURROUNDINGS,
    Field("environmentVariables", "environment", checks.environment),
    Field("gpuConfig", "gpu_config", shape(gpuType=text(), gpuMemorySize=checks.gpu_memory)),
    Field("customContainerConfig", "custom_container", _CONTAINER_3),
    Field("resourceGroupId", "resource_group_id", text()),
    Field("disableOndemand", "disable_on_demand", flag),
    Field("disableInjectCredentials", "inject_credentials", _INJECTION),
    Field("idleTimeout", "idle_timeout_s", whole()),
    Field("enableLongLiving", "long_living", flag),
    Field("instanceIsolationMode", "isolation_mode", text()),
    Field("sessionAffinity", "session_affinity", _AFFINITY),
    Field("sessionAffinityConfig", "session_affinity_config", checks.json_text),
)
"""A function of the API without services."""

ALIAS = (
    Field("versionId", "version_id", checks.version_or_latest),
    DESCRIPTION,
    Field("additionalVersionWeight", "weights", check_weights),
)
ALIAS_2021 = (
    *ALIAS,
    Field("resolvePolicy", "resolve_policy", checks.one_of({"Random", "Content"})),
    Field(
        "routePolicy",
        "route_policy",
        shape(
            condition=checks.one_of({"AND", "OR"}),
            policyItems=items(shape(type=text(), key=text(), operator=text(), value=text())),
        ),
    ),
)
"""An alias, and one of the version that has routing by content."""

SHOWN_3: Mapping[str, Any] = {"diskSize": limits.GPU_DISK_MB[0]}
SHOWN_2: Mapping[str, Any] = {
    **SHOWN_3,
    "instanceType": "e1",
    "initializationTimeout": limits.INITIALIZATION_TIMEOUT_S.default,
}
"""What answers show of a function for fields that nobody has set. Source: the defaults of the parameter tables."""


def read(fields: tuple[Field, ...], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return attribute -> checked value for the fields *body* has; null counts as absent, unknown names are ignored.

    Names match without regard to case: one official client sends ``InstanceConcurrency``.

    Raises: InvalidArgument.
    """
    given = {key.lower(): value for key, value in body.items() if value is not None}
    return {
        field.attribute: field.check(given[field.wire.lower()], field.wire)
        for field in fields
        if field.wire.lower() in given
    }


def write(fields: tuple[Field, ...], config: ServiceConfig | FunctionConfig) -> dict[str, Any]:
    """Return wire name -> value; fields that are unset are left out."""
    written = {}
    for field in fields:
        value = getattr(config, field.attribute)
        if value is not None:
            written[field.wire] = list(value) if isinstance(value, tuple) else value
    return written


def check_together(config: FunctionConfig) -> None:
    """Check what concerns more than one field of a function.

    Raises: InvalidArgument.
    """
    if config.cpu is not None and not 1 <= config.memory_mb / 1024 / config.cpu <= 4:
        raise InvalidArgument(
            f"cpu {config.cpu:g} does not fit memorySize {config.memory_mb}: "
            "the ratio of memory in GB to cpu must be between 1:1 and 4:1"
        )
    if config.instance_soft_concurrency is not None and config.instance_soft_concurrency > config.instance_concurrency:
        raise InvalidArgument("instanceSoftConcurrency must not be greater than instanceConcurrency")
    if config.runtime == CUSTOM_CONTAINER and not (config.custom_container or {}).get("image"):
        raise InvalidArgument("customContainerConfig.image is required for the runtime custom-container")
    if not config.handler and not checks.is_custom(config.runtime):
        raise InvalidArgument("handler is required")
