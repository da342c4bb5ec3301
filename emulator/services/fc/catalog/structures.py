"""The members of the structured fields of services and functions, such as ``vpcConfig``.

Source: parameter tables of the three API versions and the published metadata of 2023-03-30; SDK models.
"""

from typing import Any

from emulator.services.fc import limits
from emulator.services.fc.catalog import affinity
from emulator.services.fc.errors import InvalidArgument
from emulator.wire.schema.kinds import (
    ANYTHING,
    FLAG,
    TEXT,
    TEXT_MAP,
    TEXTS,
    WHOLE,
    Field,
    Items,
    OneOf,
    Ruled,
    Text,
    duration,
    needed,
    record,
    spelled,
    whole,
)

LOG = record(
    project=TEXT, logstore=TEXT, enableRequestMetrics=FLAG, enableInstanceMetrics=FLAG, enableLlmMetrics=FLAG,
    logBeginRule=OneOf({"None", "DefaultRegex"}),
)  # fmt: skip
VPC = record(
    Field("vpcId", "vpcId"),
    spelled("vSwitchIds", TEXTS, "vswitchIds", "vSwitchIDs", "VSwitchIds"),
    securityGroupId=TEXT, role=TEXT,
)  # fmt: skip
NAS = record(
    userId=WHOLE, groupId=WHOLE,
    mountPoints=Items(
        record(needed("serverAddr"), spelled("mountDir", TEXT, "fcDir"), enableTLS=FLAG), limits.MOUNT_POINTS
    ),
)  # fmt: skip
OSS_MOUNT = record(
    mountPoints=Items(
        record(spelled("mountDir", TEXT, "fcDir"), bucketName=TEXT, bucketPath=TEXT, endpoint=TEXT, readOnly=FLAG),
        limits.MOUNT_POINTS,
    )
)
TRACING = record(type=TEXT, params=TEXT_MAP)
HEALTH = record(
    spelled("httpGetUrl", Text(limits.HEALTH_URL_LENGTH), "HttpGetURL", "httpGetURL"),
    initialDelaySeconds=duration(limits.HEALTH_DELAY_S),
    periodSeconds=duration(limits.HEALTH_PERIOD_S), timeoutSeconds=duration(limits.HEALTH_TIMEOUT_S),
    failureThreshold=whole(limits.HEALTH_FAILURES), successThreshold=whole(limits.HEALTH_SUCCESSES),
)  # fmt: skip
DNS = record(nameServers=TEXTS, searches=TEXTS, dnsOptions=Items(record(name=TEXT, value=TEXT)))
HOOK = record(handler=Text(limits.HANDLER_LENGTH), timeout=duration(limits.HOOK_TIMEOUT_S), command=TEXTS)
INITIALIZER = record(
    handler=Text(limits.HANDLER_LENGTH), timeout=duration(limits.INITIALIZATION_TIMEOUT_S), command=TEXTS
)
LIFECYCLE_2 = record(preFreeze=HOOK, preStop=HOOK)  # whose initializer is a field of the function
LIFECYCLE_3 = record(initializer=INITIALIZER, preStop=HOOK)
CUSTOM_RUNTIME = record(command=TEXTS, args=TEXTS, port=whole(limits.PORT), healthCheckConfig=HEALTH)
WORDS = Text(holds_json=True)
CONTAINER_2 = record(
    needed("image"), command=WORDS, args=WORDS, accelerationType=TEXT, instanceID=TEXT, webServerMode=FLAG
)
CONTAINER_3 = record(
    needed("image"), command=TEXTS, entrypoint=TEXTS, port=whole(limits.PORT), acrInstanceId=TEXT,
    registryConfig=ANYTHING, healthCheckConfig=HEALTH, accelerationType=TEXT,
    accelerationInfo=ANYTHING, resolvedImageUri=TEXT,
)  # fmt: skip
CONTAINER_SHOWN = {"accelerationInfo": {"status": "Ready"}}
"""What answers show about image acceleration, which the emulator does not do: it is always ready.

Source: fc-java-sdk CreateUpdateFunctionTest; the word is assumed.
"""
INJECTION = OneOf({"None", "Env", "Request", "All"})
AFFINITY = OneOf({affinity.NONE, affinity.SSE, affinity.STREAMABLE, affinity.COOKIE, affinity.HEADER})
ISOLATION = OneOf({affinity.SHARE, affinity.SESSION_EXCLUSIVE, affinity.REQUEST_EXCLUSIVE})


def _of_a_volume(mount: dict[str, Any], field: str) -> dict[str, Any]:
    for name in ("volumeName", "mountDir"):
        if not mount.get(name):
            raise InvalidArgument(f"{field}.{name} is required")
    return mount


JUICE_FS = record(
    envs=TEXT_MAP,
    mountPoints=Items(
        Ruled(record(needed("volumeName"), needed("mountDir"), remoteDir=TEXT, token=TEXT, args=TEXTS), _of_a_volume),
        limits.MOUNT_POINTS,
    ),
)
"""Source: alibabacloud_fc20230330, comments of JuiceFsMountConfig for the members that are required."""
POLAR_FS = record(
    userId=WHOLE, groupId=WHOLE,
    mountPoints=Items(
        record(instanceId=TEXT, mountDir=TEXT, remoteDir=TEXT, readOnly=FLAG, extraOptions=ANYTHING),
        limits.MOUNT_POINTS,
    ),
)  # fmt: skip
MICRO_SANDBOX = record(
    image=TEXT, acrInstanceId=TEXT, osType=TEXT, startCommand=TEXT, readyCommand=TEXT, registryConfig=ANYTHING
)


LAYERS = Ruled(Items(Text(shortest=1), limits.LAYERS), lambda layers, _: tuple(layers))
