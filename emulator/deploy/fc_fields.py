"""The properties of services, functions and what belongs to them, by their names in the API.

Source: the parameter tables of the API; the ROS resource types ``ALIYUN::FC::*`` and ``ALIYUN::FC3::*``; the schemas of
the components ``fc`` and ``fc3``.
"""

from collections.abc import Mapping
from typing import Any

from emulator.deploy.shapes import (
    Field,
    Part,
    Reader,
    anything,
    list_of,
    lowered,
    map_of,
    members,
    noted,
    number,
    suggestion,
    switch,
    text,
    text_map,
    texts,
)

_AUTO = "auto"
_NO_LOG = "logs go to the emulator's own log (localyun logs); kept, without effect"


def or_auto(read: Reader, why: str) -> Reader:
    """Make a reader that also takes the text ``auto``, which asks for a resource of the cloud and has no effect."""

    def read_or_auto(part: Part, capital: bool) -> Any:
        if isinstance(part.value, str) and part.value.lower() == _AUTO:
            part.note(f"auto: {why}")
            return None
        return read(part, capital)

    return read_or_auto


def with_note(read: Reader, why: str) -> Reader:
    """Make a reader of what is kept as given but has no effect."""

    def read_with_note(part: Part, capital: bool) -> Any:
        part.note(why)
        return read(part, capital)

    return read_with_note


def _mount_point(part: Part, capital: bool) -> dict[str, Any]:
    """Read a mount point; component fc splits its address into host and folder."""
    found = members(
        part,
        (
            Field("serverAddr", text, required=True),
            Field("mountDir", text, also=("fcDir",)),
            Field("nasDir", text),
            Field("enableTLS", switch),
        ),
        capital=capital,
    )
    if folder := found.pop("nasDir", None):
        found["serverAddr"] = f"{found.get('serverAddr')}:{folder}"
    return found


_LOG = map_of(
    Field("project", text),
    Field("logstore", text),
    Field("enableRequestMetrics", switch),
    Field("enableInstanceMetrics", switch),
    Field("enableLlmMetrics", switch),
    Field("logBeginRule", text),
)
_VPC = map_of(
    Field("vpcId", text),
    Field("vSwitchIds", texts, also=("vswitchIds", "vSwitchIDs", "VSwitchIds")),
    Field("securityGroupId", text),
    Field("role", text),
)
_NAS = map_of(Field("userId", number), Field("groupId", number), Field("mountPoints", list_of(_mount_point)))
_OSS_MOUNT = map_of(
    Field(
        "mountPoints",
        list_of(
            map_of(
                Field("bucketName", text),
                Field("bucketPath", text),
                Field("endpoint", text),
                Field("mountDir", text),
                Field("readOnly", switch),
            )
        ),
    )
)


def _tracing(part: Part, capital: bool) -> Any:
    """Read a tracing configuration; component fc says Enable or Disable."""
    if isinstance(part.value, str):
        part.note("there is no tracing here")
        return None
    return map_of(Field("type", text), Field("params", text_map))(part, capital)


HEALTH = map_of(
    Field("httpGetUrl", text, also=("HttpGetURL", "httpGetURL")),
    Field("initialDelaySeconds", number),
    Field("periodSeconds", number),
    Field("timeoutSeconds", number),
    Field("failureThreshold", number),
    Field("successThreshold", number),
)
_DNS = map_of(
    Field("nameServers", texts),
    Field("searches", texts),
    Field("dnsOptions", list_of(map_of(Field("name", text), Field("value", text)))),
)
_HOOK = map_of(Field("handler", text), Field("timeout", number), Field("command", texts))
_LIFECYCLE = map_of(Field("initializer", _HOOK), Field("preFreeze", _HOOK), Field("preStop", _HOOK))
_CUSTOM_RUNTIME = map_of(
    Field("command", texts), Field("args", texts), Field("port", number), Field("healthCheckConfig", HEALTH)
)
_CONTAINER_2 = map_of(
    Field("image", text, required=True),
    Field("command", anything),
    Field("args", anything),
    Field("accelerationType", text),
    Field("instanceID", text),
    Field("webServerMode", switch),
)
_CONTAINER_3 = map_of(
    Field("image", text, required=True),
    Field("command", texts),
    Field("entrypoint", texts),
    Field("port", number),
    Field("acrInstanceId", text),
    Field("registryConfig", lowered),
    Field("healthCheckConfig", HEALTH),
    Field("accelerationType", text),
    Field("accelerationInfo", lowered),
    Field("resolvedImageUri", text),
)

SURROUNDINGS = (
    Field("role", text),
    Field("internetAccess", switch),
    Field("logConfig", or_auto(with_note(_LOG, _NO_LOG), _NO_LOG)),
    Field("vpcConfig", or_auto(with_note(_VPC, "there is no VPC here; kept, without effect"), "there is no VPC here")),
    Field(
        "nasConfig",
        or_auto(with_note(_NAS, "no file system is mounted; kept, without effect"), "no file system is mounted"),
    ),
    Field(
        "ossMountConfig",
        or_auto(with_note(_OSS_MOUNT, "no bucket is mounted; kept, without effect"), "no bucket is mounted"),
    ),
    Field("tracingConfig", _tracing),
)
"""What is said once per service in 2.0 and per function in 3.0."""

SERVICE = (
    Field("description", text),
    *SURROUNDINGS,
    Field("vpcBinding", noted("there is no VPC here"), also=("VpcBindings",)),
    Field("tags", noted("tags of services are set through the API")),
    Field("resourceGroupId", noted("there are no resource groups here")),
)

_FUNCTION = (
    Field("runtime", text, required=True),
    Field("handler", text),
    Field("description", text),
    Field("timeout", number),
    Field("memorySize", number),
    Field("cpu", number),
    Field("diskSize", number),
    Field("instanceConcurrency", number),
    Field("environmentVariables", text_map),
    Field("customRuntimeConfig", _CUSTOM_RUNTIME),
    Field("customDNS", _DNS),
    Field("instanceLifecycleConfig", _LIFECYCLE),
    Field("layers", texts),
)

FUNCTION_2 = (
    *_FUNCTION,
    Field("initializer", text),
    Field("initializationTimeout", number),
    Field("instanceSoftConcurrency", number),
    Field("instanceType", text),
    Field("gpuMemorySize", number),
    Field("caPort", number),
    Field("customContainerConfig", _CONTAINER_2),
    Field("customHealthCheckConfig", HEALTH),
)

FUNCTION_3 = (
    *_FUNCTION,
    *SURROUNDINGS,
    Field("gpuConfig", map_of(Field("gpuType", text), Field("gpuMemorySize", number))),
    Field("customContainerConfig", _CONTAINER_3),
    Field("resourceGroupId", text),
    Field("disableOndemand", switch),
    Field("disableInjectCredentials", text),
    Field("idleTimeout", number),
    Field("enableLongLiving", switch),
    Field("instanceIsolationMode", text),
    Field("sessionAffinity", text),
    Field("sessionAffinityConfig", anything),
    Field("tags", noted("tags are set through the API")),
)

DEFAULTS_2 = {"description": "", "memorySize": 128, "timeout": 3, "environmentVariables": {}, "initializer": ""}
"""What a function is without a property: a property that a file no longer has goes back to this."""

DEFAULTS_3 = {"description": "", "memorySize": 512, "timeout": 3, "environmentVariables": {}}

_DESTINATION = map_of(Field("destination", text, required=True))


def _side(part: Part, capital: bool) -> Any:
    """Read where results go: a resource name, or a map with it."""
    return {"destination": part.value} if isinstance(part.value, str) else _DESTINATION(part, capital)


_DESTINATIONS = map_of(Field("onSuccess", _side), Field("onFailure", _side))
ASYNC = (
    Field("destinationConfig", _DESTINATIONS, also=("destination", "Destination")),
    Field("maxAsyncEventAgeInSeconds", number),
    Field("maxAsyncRetryAttempts", number),
)
ASYNC_2 = (*ASYNC, Field("statefulInvocation", switch))
ASYNC_3 = (*ASYNC, Field("asyncTask", switch, also=("AsyncTask", "statefulInvocation")), Field("qualifier", text))

_WINDOW = (Field("name", text), Field("startTime", text), Field("endTime", text), Field("timeZone", text))
_ACTIONS = list_of(map_of(*_WINDOW, Field("target", number), Field("scheduleExpression", text)))
_METRIC = (Field("metricType", text), Field("metricTarget", number))
PROVISION = (
    Field("target", number, also=("defaultTarget", "DefaultTarget")),
    Field("alwaysAllocateCPU", switch),
    Field("alwaysAllocateGPU", switch),
    Field("scheduledActions", _ACTIONS),
    Field(
        "targetTrackingPolicies",
        list_of(map_of(*_WINDOW, *_METRIC, Field("minCapacity", number), Field("maxCapacity", number))),
    ),
)
SCALING = (
    Field("minInstances", number),
    Field("residentPoolId", text),
    Field("enableOnDemandScaling", switch),
    Field("enableMixMode", switch),
    Field("requestDispatchPolicy", text),
    Field("scheduledPolicies", _ACTIONS),
    Field(
        "horizontalScalingPolicies",
        list_of(map_of(*_WINDOW, *_METRIC, Field("minInstances", number), Field("maxInstances", number))),
    ),
)
CONCURRENCY = (Field("reservedConcurrency", number, required=True),)

_REWRITES = list_of(map_of(Field("match", text, required=True), Field("replacement", text, required=True)))
ROUTE = (
    Field("path", text),
    Field("serviceName", text),
    Field("functionName", text),
    Field("qualifier", text),
    Field("methods", texts),
    Field(
        "rewriteConfig",
        map_of(Field("equalRules", _REWRITES), Field("wildcardRules", _REWRITES), Field("regexRules", _REWRITES)),
    ),
)
CERTIFICATE = map_of(Field("certName", text), Field("certificate", text), Field("privateKey", text))
DOMAIN = (
    Field("domainName", text, required=True),
    Field("protocol", text),
    Field("certConfig", CERTIFICATE),
    Field("tlsConfig", lowered),
    Field("authConfig", lowered),
    Field("wafConfig", noted("there is no firewall here")),
)
ROUTES = map_of(Field("routes", list_of(map_of(*ROUTE)), required=True))

VERSION = (Field("description", text),)
ALIAS = (
    Field("aliasName", text, required=True),
    Field("versionId", text, required=True),
    Field("description", text),
    Field("additionalVersionWeight", lambda part, capital: {each.name: number(each) for each in part.entries()}),
)
LAYER = (
    Field("layerName", text, required=True),
    Field("compatibleRuntime", texts, required=True),
    Field("description", text),
)


def _filter(part: Part, capital: bool) -> Any:
    """Read which objects count: ``{Key: {Prefix, Suffix}}``."""
    return _known(part, {"key": ("key", lambda key, _: _known(key, _PREFIX, capital))}, capital)


def _lower(part: Part, capital: bool) -> Any:
    """Read a word; templates write it in capitals."""
    found = text(part, capital)
    return found.lower() if found else found


_PREFIX: Mapping[str, tuple[str, Reader]] = {"prefix": ("prefix", text), "suffix": ("suffix", text)}

_CONFIGS: Mapping[str, Mapping[str, tuple[str, Reader]]] = {
    "http": {
        "authtype": ("authType", _lower),
        "methods": ("methods", texts),
        "disableurlinternet": ("disableURLInternet", switch),
        "authconfig": ("authConfig", anything),
        "corsconfig": ("corsConfig", anything),
    },
    "timer": {
        "cronexpression": ("cronExpression", text),
        "payload": ("payload", text),
        "enable": ("enable", switch),
    },
    "oss": {"events": ("events", texts), "filter": ("filter", _filter)},
    "mns_topic": {
        "filtertag": ("filterTag", text),
        "notifycontentformat": ("notifyContentFormat", text),
        "notifystrategy": ("notifyStrategy", text),
    },
    "log": {
        "sourceconfig": ("sourceConfig", anything),
        "jobconfig": ("jobConfig", anything),
        "logconfig": ("logConfig", anything),
        "functionparameter": ("functionParameter", text_map),
        "enable": ("enable", switch),
    },
    "cdn_events": {
        "eventname": ("eventName", text),
        "eventversion": ("eventVersion", text),
        "notes": ("notes", text),
        "filter": ("filter", anything),
    },
    "rds": {
        "subscriptionobjects": ("subscriptionObjects", list_of(text)),
        "retry": ("retry", number),
        "concurrency": ("concurrency", number),
        "eventformat": ("eventFormat", text),
    },
    "tablestore": {},
}
"""Names in lower case -> the API's name and the reader. A type that is missing here (eventbridge) takes anything."""

TRIGGER_TYPES = frozenset({*_CONFIGS, "eventbridge"})


def trigger_config(part: Part, kind: str) -> Any:
    """Return the configuration of a trigger of type *kind*."""
    table = _CONFIGS.get(kind)
    return part.value if table is None else _known(part, table, capital=False)


def _known(part: Part, table: Mapping[str, tuple[str, Reader]], capital: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for entry in part.entries():
        name, read = table.get(entry.name.lower(), ("", anything))
        if not name:
            known = [name for name, _ in table.values()]
            entry.problem(f"there is no such property{suggestion(entry.name, known)}")
        elif entry.value is not None:
            found[name] = read(entry, capital)
    return found
