"""The attribute tables of services, functions and aliases, and what answers show of them.

One row per field: wire name, attribute, rule. The same rows read a request, a ``service.yml`` or ``function.yml`` and
write an answer. 2021-04-06 differs from 2016-08-15 in aliases only; 2023-03-30 has functions without services, no
ETags.

Source: parameter tables of the three API versions and the published metadata of 2023-03-30; SDK models; aliyun-fc2
client.py.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from emulator.kernel.identity import Tenant
from emulator.services.fc import limits
from emulator.services.fc.attributes import (
    ANYTHING,
    DISK,
    FLAG,
    GPU_MEMORY,
    MEMORY,
    METHOD,
    RUNTIMES,
    TEXT,
    TEXT_MAP,
    TEXTS,
    WHOLE,
    Check,
    Field,
    Items,
    OneOf,
    Ruled,
    Shape,
    Text,
    Whole,
    check_weights,
    cpu,
    environment,
    environment_2,
    is_custom,
    json_text,
    version_or_latest,
    write,
)
from emulator.services.fc.capacity.model import Setting
from emulator.services.fc.codec import times_of
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.model import (
    CUSTOM_CONTAINER,
    Alias,
    Function,
    FunctionConfig,
    Service,
    Version,
    function_arn,
)
from emulator.wire.dates import iso_seconds

_LOG = Shape(
    project=TEXT, logstore=TEXT, enableRequestMetrics=FLAG, enableInstanceMetrics=FLAG, enableLlmMetrics=FLAG,
    logBeginRule=OneOf({"None", "DefaultRegex"}),
)  # fmt: skip
_VPC = Shape(vpcId=TEXT, vSwitchIds=TEXTS, securityGroupId=TEXT, role=TEXT)
_NAS = Shape(
    userId=WHOLE, groupId=WHOLE,
    mountPoints=Items(Shape(serverAddr=TEXT, mountDir=TEXT, enableTLS=FLAG), limits.MOUNT_POINTS),
)  # fmt: skip
_OSS_MOUNT = Shape(
    mountPoints=Items(
        Shape(bucketName=TEXT, bucketPath=TEXT, endpoint=TEXT, mountDir=TEXT, readOnly=FLAG),
        limits.MOUNT_POINTS,
    )
)
_TRACING = Shape(type=TEXT, params=TEXT_MAP)
_HEALTH = Shape(
    httpGetUrl=Text(limits.HEALTH_URL_LENGTH), initialDelaySeconds=Whole(limits.HEALTH_DELAY_S),
    periodSeconds=Whole(limits.HEALTH_PERIOD_S), timeoutSeconds=Whole(limits.HEALTH_TIMEOUT_S),
    failureThreshold=Whole(limits.HEALTH_FAILURES), successThreshold=Whole(limits.HEALTH_SUCCESSES),
)  # fmt: skip
_DNS = Shape(nameServers=TEXTS, searches=TEXTS, dnsOptions=Items(Shape(name=TEXT, value=TEXT)))
_HOOK = Shape(handler=Text(limits.HANDLER_LENGTH), timeout=Whole(limits.HOOK_TIMEOUT_S), command=TEXTS)
_INITIALIZER = Shape(handler=Text(limits.HANDLER_LENGTH), timeout=Whole(limits.INITIALIZATION_TIMEOUT_S), command=TEXTS)
_LIFECYCLE = Shape(initializer=_INITIALIZER, preFreeze=_HOOK, preStop=_HOOK)
_CUSTOM_RUNTIME = Shape(command=TEXTS, args=TEXTS, port=Whole(limits.PORT), healthCheckConfig=_HEALTH)
_CONTAINER_2 = Shape(image=TEXT, command=TEXT, args=TEXT, accelerationType=TEXT, instanceID=TEXT, webServerMode=FLAG)
_CONTAINER_3 = Shape(
    image=TEXT, command=TEXTS, entrypoint=TEXTS, port=Whole(limits.PORT), acrInstanceId=TEXT,
    registryConfig=ANYTHING, healthCheckConfig=_HEALTH, accelerationType=TEXT,
    accelerationInfo=ANYTHING, resolvedImageUri=TEXT,
)  # fmt: skip
_CONTAINER_SHOWN = {"accelerationInfo": {"status": "Ready"}}
"""Images are never made faster here, so they always are.

Source: fc-java-sdk CreateUpdateFunctionTest; the word is assumed.
"""
_INJECTION = OneOf({"None", "Env", "Request", "All"})
_AFFINITY = OneOf({"NONE", "MCP_SSE", "GENERATED_COOKIE", "HEADER_FIELD"})


def _layers(value: Any, field: str) -> tuple[str, ...]:
    return tuple(Items(Text(shortest=1), limits.LAYERS)(value, field))


_SHARED = (
    Field("role", "role", Text(limits.ROLE_LENGTH)),
    Field("internetAccess", "internet_access", FLAG),
    Field("logConfig", "log_config", _LOG),
    Field("vpcConfig", "vpc_config", _VPC),
    Field("nasConfig", "nas_config", _NAS),
    Field("ossMountConfig", "oss_mount_config", _OSS_MOUNT),
    Field("tracingConfig", "tracing_config", _TRACING),
)
"""The fields of a service of 2.0, for all its functions, and of a function of 3.0."""

_ALWAYS_SHOWN: Mapping[str, dict[str, Any]] = {
    "logConfig": {
        "project": "", "logstore": "", "enableRequestMetrics": False, "enableInstanceMetrics": False,
        "logBeginRule": "None",
    },
    "vpcConfig": {"vpcId": "", "vSwitchIds": [], "securityGroupId": ""},
    "nasConfig": {"userId": -1, "groupId": -1, "mountPoints": []},
    "tracingConfig": {"type": None, "params": None},
}  # fmt: skip
"""The structures every answer with a service has, with all their members.

Source: fc-go-sdk client_test.go and fc-python-sdk test/service_test.py for what is there; fc-java-sdk, fc-nodejs-sdk
and fc-python-sdk for tracing; the members of an unset VPC and NAS are assumed from the models.
"""

DESCRIPTION = Field("description", "description", Text(limits.DESCRIPTION_LENGTH))

SERVICE = (
    DESCRIPTION,
    *(
        field._replace(unset={}, members=_ALWAYS_SHOWN[field.wire]) if field.wire in _ALWAYS_SHOWN else field
        for field in _SHARED
    ),
)

_FUNCTION = (
    Field("runtime", "runtime", OneOf(RUNTIMES, "Runtime")),
    Field("handler", "handler", Text(limits.HANDLER_LENGTH, 1)),
    DESCRIPTION,
    Field("timeout", "timeout_s", Whole(limits.TIMEOUT_S)),
    Field("memorySize", "memory_mb", MEMORY),
    Field("cpu", "cpu", cpu),
    Field("diskSize", "disk_mb", DISK, unset=limits.GPU_DISK_MB[0]),
    Field("instanceConcurrency", "instance_concurrency", Whole(limits.INSTANCE_CONCURRENCY)),
    Field("customRuntimeConfig", "custom_runtime", _CUSTOM_RUNTIME),
    Field("customDNS", "custom_dns", _DNS),
    Field("instanceLifecycleConfig", "lifecycle", _LIFECYCLE),
    Field("layers", "layers", _layers),
)

FUNCTION_2 = (
    *_FUNCTION,
    Field("environmentVariables", "environment", environment_2),
    Field("initializer", "initializer", Text(limits.HANDLER_LENGTH)),
    Field(
        "initializationTimeout",
        "initialization_timeout_s",
        Whole(limits.INITIALIZATION_TIMEOUT_S),
        unset=limits.INITIALIZATION_TIMEOUT_S.default,
    ),
    Field("instanceSoftConcurrency", "instance_soft_concurrency", Whole(limits.INSTANCE_CONCURRENCY)),
    Field(
        "instanceType",
        "instance_type",
        OneOf({"e1", "c1", "g1", "fc.gpu.tesla.1", "fc.gpu.ampere.1"}),
        unset="e1",
    ),
    Field("gpuMemorySize", "gpu_memory_mb", GPU_MEMORY),
    Field("caPort", "ca_port", Whole(limits.PORT)),
    Field("customContainerConfig", "custom_container", _CONTAINER_2, members=_CONTAINER_SHOWN),
    Field("customHealthCheckConfig", "health_check", _HEALTH),
)
"""A function of the two APIs that know services.

Source of what is shown of unset fields: the defaults of the parameter tables.
"""

FUNCTION_3 = (
    *_FUNCTION,
    *_SHARED,
    Field("environmentVariables", "environment", environment),
    Field("gpuConfig", "gpu_config", Shape(gpuType=TEXT, gpuMemorySize=GPU_MEMORY)),
    Field("customContainerConfig", "custom_container", _CONTAINER_3),
    Field("resourceGroupId", "resource_group_id", TEXT),
    Field("disableOndemand", "disable_on_demand", FLAG),
    Field("disableInjectCredentials", "inject_credentials", _INJECTION),
    Field("idleTimeout", "idle_timeout_s", WHOLE),
    Field("enableLongLiving", "long_living", FLAG),
    Field("instanceIsolationMode", "isolation_mode", TEXT),
    Field("sessionAffinity", "session_affinity", _AFFINITY),
    Field("sessionAffinityConfig", "session_affinity_config", json_text),
)
"""A function of the API without services."""

_ALIAS = (Field("versionId", "version_id", version_or_latest), DESCRIPTION)
ALIAS = (*_ALIAS, Field("additionalVersionWeight", "weights", check_weights, unset=None))
ALIAS_2023 = (*_ALIAS, Field("additionalVersionWeight", "weights", check_weights, unset={}))
ALIAS_2021 = (
    *ALIAS,
    Field("resolvePolicy", "resolve_policy", OneOf({"Random", "Content"})),
    Field(
        "routePolicy",
        "route_policy",
        Shape(
            condition=OneOf({"AND", "OR"}),
            policyItems=Items(Shape(type=TEXT, key=TEXT, operator=TEXT, value=TEXT)),
        ),
    ),
)
"""An alias of each version of the API; one has routing by content."""


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
    if not config.handler and not is_custom(config.runtime):
        raise InvalidArgument("handler is required")


def check_tags(tags: object) -> Mapping[str, str]:
    """Check a map of tags: 1 to 20 a call, texts.

    Raises: InvalidArgument.
    Source: the classic SDK's comments; lengths are the cloud-wide ones.
    """
    if not isinstance(tags, dict) or not limits.TAGS_PER_CALL.contains(len(tags)):
        raise InvalidArgument(f"tags must be an object with 1 to {limits.TAGS_PER_CALL.high} entries")
    for key, value in tags.items():
        if not isinstance(key, str) or not 1 <= len(key) <= limits.TAG_KEY_LENGTH:
            raise InvalidArgument(f"a tag key must have 1 to {limits.TAG_KEY_LENGTH} characters")
        if not isinstance(value, str) or len(value) > limits.TAG_VALUE_LENGTH:
            raise InvalidArgument(f"the value of tag '{key}' must be a string of at most {limits.TAG_VALUE_LENGTH}")
    return tags


def wildcard(rule: str) -> re.Pattern[str]:
    """Return what a wildcard rule means: ``*`` is any text, and ``^`` at its front binds it to the beginning."""
    anchored = rule.startswith("^")
    text = rule[1:] if anchored else rule
    return re.compile(("^" if anchored else "") + "(.*)".join(re.escape(part) for part in text.split("*")) + "$")


def _path(path: str, field: str) -> str:
    if not path.startswith("/") or "*" in path[:-1]:
        raise InvalidArgument(f"{field} '{path[:200]}' is invalid: it must begin with / and may end with *")
    return path


def _rules(compiled: Callable[[str], object] | None) -> Check:
    """Return the kind of a list of rewrite rules; *compiled* fails for what is no pattern."""
    rule = Shape(match=Text(limits.REWRITE_RULE_LENGTH, 1), replacement=Text(limits.REWRITE_RULE_LENGTH, 1))

    def check(rules: list[dict[str, str]], field: str) -> list[dict[str, str]]:
        for index, each in enumerate(rules):
            if len(each) < 2:
                raise InvalidArgument(f"{field}[{index}] must have match and replacement")
            try:
                if compiled is not None:
                    compiled(each["match"])
            except (re.error, RecursionError, OverflowError) as error:
                raise InvalidArgument(f"{field}[{index}].match is not a regular expression: {error}") from None
        return rules

    return Ruled(Items(rule, limits.REWRITE_RULES), check)


_REWRITE = Shape(equalRules=_rules(None), wildcardRules=_rules(wildcard), regexRules=_rules(re.compile))
ROUTE = Shape(
    path=Ruled(Text(limits.ROUTE_PATH_LENGTH, 1), _path),
    serviceName=Text(limits.SERVICE_NAME_LENGTH),
    functionName=Text(limits.FUNCTION_NAME_LENGTH, 1),
    qualifier=Text(limits.ALIAS_NAME_LENGTH),
    methods=Items(METHOD),
    rewriteConfig=_REWRITE,
)


DOMAIN = Shape(
    protocol=OneOf(frozenset({"HTTP", "HTTPS", "HTTP,HTTPS"})),
    routeConfig=Shape(routes=Items(ROUTE, limits.ROUTES)),
    certConfig=Shape(certName=TEXT, certificate=TEXT, privateKey=TEXT),
    tlsConfig=Shape(minVersion=TEXT, maxVersion=TEXT, cipherSuites=TEXTS),
    wafConfig=Shape(enableWAF=FLAG),
    authConfig=Shape(authType=OneOf(frozenset({"anonymous", "function", "jwt"})), authInfo=TEXT),
    corsConfig=Shape(
        allowOrigins=TEXTS, allowMethods=TEXTS, allowHeaders=TEXTS, exposeHeaders=TEXTS, allowCredentials=FLAG,
        maxAge=WHOLE,
    ),
)  # fmt: skip


LAYER = (
    DESCRIPTION,
    Field("license", "license", Text(limits.LICENSE_LENGTH)),
    Field("compatibleRuntime", "runtimes", Items(OneOf(RUNTIMES), limits.COMPATIBLE_RUNTIMES)),
)


def _code_size(function: Function) -> dict[str, Any]:
    code = function.code
    return {"codeSize": code.size if code else 0, "codeChecksum": code.checksum if code else "0"}


def render_service(service: Service) -> dict[str, Any]:
    """Write a service."""
    return {
        "serviceName": service.name,
        "serviceId": service.id,
        **write(SERVICE, service.config),
        **times_of(service),
        "useSLRAuthentication": False,
    }


def render_function_2(function: Function) -> dict[str, Any]:
    """Write a function of a service."""
    return {
        "functionName": function.name,
        "functionId": function.id,
        **write(FUNCTION_2, function.config),
        "layersArnV2": list(function.config.layers),
        **_code_size(function),
        **times_of(function),
    }


def render_function_3(
    tenant: Tenant,
    function: Function,
    *,
    layer_size: Callable[[str], int],
    tags: Mapping[str, str],
    switch: Setting | None,
) -> dict[str, Any]:
    """Write a function without a service. It is ready at once, which deployment tools poll for.

    *layer_size* returns the size of a layer's package by its ARN; *switch* is what disables invocation, if anything.
    """
    body = {
        "functionName": function.name,
        "functionId": function.id,
        "functionArn": function_arn(tenant, "", function.name),
        **write(FUNCTION_3, function.config),
        "layers": [{"arn": arn, "size": layer_size(arn)} for arn in function.config.layers],
        **_code_size(function),
        **times_of(function),
        "state": "Active",
        "stateReason": "",
        "stateReasonCode": "",
        "lastUpdateStatus": "Successful",
        "lastUpdateStatusReason": "",
        "lastUpdateStatusReasonCode": "",
    }
    if switch is not None:
        body["invocationRestriction"] = {**switch.config, "lastModifiedTime": iso_seconds(switch.modified_at)}
    if tags:
        body["tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
    return body


def render_version(version: Version) -> dict[str, Any]:
    """Write a version; 2023-03-30 has the same form."""
    return {"versionId": str(version.number), "description": version.description, **times_of(version)}


def render_alias(alias: Alias, table: tuple[Field, ...]) -> dict[str, Any]:
    """Write an alias with the fields of *table*."""
    return {"aliasName": alias.name, **write(table, alias), **times_of(alias)}
