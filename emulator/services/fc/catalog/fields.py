"""The attribute tables of services, functions and aliases, and what answers show of them.

One row per field: wire name, attribute, rule. The same rows read a request, a ``service.yml`` or ``function.yml`` and
write an answer. 2021-04-06 differs from 2016-08-15 in aliases only; 2023-03-30 has functions without services, no
ETags.

Source: parameter tables of the three API versions and the published metadata of 2023-03-30; SDK models; aliyun-fc2
client.py.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from emulator.kernel.frozen import replace
from emulator.services.fc import limits
from emulator.services.fc.catalog import affinity
from emulator.services.fc.catalog.structures import (
    AFFINITY,
    CONTAINER_2,
    CONTAINER_3,
    CONTAINER_SHOWN,
    CUSTOM_RUNTIME,
    DNS,
    HEALTH,
    INJECTION,
    ISOLATION,
    JUICE_FS,
    LAYERS,
    LIFECYCLE_2,
    LIFECYCLE_3,
    LOG,
    MICRO_SANDBOX,
    NAS,
    OSS_MOUNT,
    POLAR_FS,
    TRACING,
    VPC,
)
from emulator.services.fc.errors import InvalidArgument
from emulator.services.fc.kinds import (
    CPU,
    DISK,
    ENVIRONMENT,
    ENVIRONMENT_2,
    GPU_MEMORY,
    MEMORY,
    RUNTIMES,
)
from emulator.services.fc.model import (
    CUSTOM_CONTAINER,
    FunctionConfig,
    ServiceConfig,
    is_custom,
)
from emulator.wire.schema.kinds import (
    ABSENT,
    FLAG,
    JSON_TEXT,
    TEXT,
    WHOLE,
    Field,
    Items,
    OneOf,
    Shape,
    Text,
    duration,
    record,
    whole,
)

_SHARED = (
    Field(
        "role",
        "role",
        Text(limits.ROLE_LENGTH),
        help=("role whose temporary credentials the function receives", "函数所用临时访问凭证对应的角色"),
    ),
    Field(
        "internetAccess",
        "internet_access",
        FLAG,
        help=("internet access; stored, without effect", "能否访问公网；保存，不起作用"),
    ),
    Field(
        "logConfig",
        "log_config",
        LOG,
        help=(
            "log project and log store, passed in the function's context; logs stay in the emulator",
            "日志项目（Project）和日志库（Logstore），写入函数的上下文；日志保留在模拟器中",
        ),
    ),
    Field(
        "vpcConfig",
        "vpc_config",
        VPC,
        help=("the private network; stored, without effect", "专有网络；保存，不起作用"),
    ),
    Field(
        "nasConfig",
        "nas_config",
        NAS,
        help=("network file systems; stored, without effect", "文件存储；保存，不起作用"),
    ),
    Field(
        "ossMountConfig",
        "oss_mount_config",
        OSS_MOUNT,
        help=("buckets mounted as folders; stored, without effect", "挂载为目录的存储空间；保存，不起作用"),
    ),
    Field(
        "tracingConfig",
        "tracing_config",
        TRACING,
        help=(
            "tracing by another service; functions see its address, nothing is sent",
            "由其他服务进行的链路追踪；函数可得到其地址，不上报数据",
        ),
    ),
)
"""The fields of a service of 2.0, for all its functions, and of a function of 3.0."""

ALWAYS_SHOWN: Mapping[str, dict[str, Any]] = {
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

DESCRIPTION = Field(
    "description",
    "description",
    Text(limits.DESCRIPTION_LENGTH),
    help=("a description, without effect", "说明文字，不影响执行"),
)

SERVICE = Shape(
    "Service",
    (
        DESCRIPTION,
        *(
            field._replace(unset={}, members=ALWAYS_SHOWN[field.name]) if field.name in ALWAYS_SHOWN else field
            for field in _SHARED
        ),
    ),
    ServiceConfig,
)

SERVICE_FILE = SERVICE.extended(
    Field(
        "environmentVariables",
        "environment",
        ENVIRONMENT_2,
        help=(
            "only in `service.yml`: environment variables of all its functions; a function's own value of a name wins",
            "仅用于 `service.yml`：服务中所有函数的环境变量；函数自身的同名变量优先",
        ),
    ),
)
"""The fields of a ``service.yml``: those of the service, and the environment variables of all its functions."""

_FUNCTION = (
    Field(
        "runtime",
        "runtime",
        OneOf(RUNTIMES, "Runtime"),
        required=True,
        help=("runtime of the code", "代码的运行时"),
    ),
    Field(
        "handler",
        "handler",
        Text(limits.HANDLER_LENGTH, 1),
        help=("the file and the function in it, `index.handler`", "文件及其中的函数，例如 `index.handler`"),
    ),
    DESCRIPTION,
    Field("timeout", "timeout_s", duration(limits.TIMEOUT_S), help=("timeout of a call", "一次调用的超时时间")),
    Field("memorySize", "memory_mb", MEMORY, help=("memory of an instance, a multiple of 64", "实例的内存，64 的倍数")),
    Field(
        "cpu",
        "cpu",
        CPU,
        help=(
            "virtual processors, 1 to 4 GB of memory each; stored, without effect",
            "vCPU 数；每个 vCPU 对应 1 到 4 GB 内存；保存，不起作用",
        ),
    ),
    Field(
        "diskSize",
        "disk_mb",
        DISK,
        unset=limits.GPU_DISK_MB[0],
        help=("disk of an instance in MB; stored, without effect", "实例的磁盘大小（MB）；保存，不起作用"),
    ),
    Field(
        "instanceConcurrency",
        "instance_concurrency",
        whole(limits.INSTANCE_CONCURRENCY),
        help=("number of calls that an instance serves at the same time", "一个实例同时处理的调用数"),
    ),
    Field(
        "customRuntimeConfig",
        "custom_runtime",
        CUSTOM_RUNTIME,
        help=("command, port and health check of a custom runtime", "自定义运行时的命令、端口和健康检查"),
    ),
    Field("customDNS", "custom_dns", DNS, help=("name servers; stored, without effect", "域名服务器；保存，不起作用")),
    Field(
        "instanceLifecycleConfig",
        "lifecycle",
        LIFECYCLE_3,
        help=(
            "hooks in the life of an instance; 2.0 has `preFreeze` instead of `initializer`",
            "实例生命周期回调；2.0 有 `preFreeze`，没有 `initializer`",
        ),
    ),
    Field(
        "layers",
        "layers",
        LAYERS,
        help=("ARNs of layers, mounted below `/opt`", "层的 ARN；其文件位于 `/opt`"),
    ),
)

FUNCTION_2 = Shape(
    "Function",
    (
        *(field._replace(unset=ABSENT) if field.name == "diskSize" else field for field in _FUNCTION),
        Field(
            "environmentVariables",
            "environment",
            ENVIRONMENT_2,
            help=("environment variables of the function", "函数的环境变量"),
        ),
        Field(
            "initializer",
            "initializer",
            Text(limits.HANDLER_LENGTH),
            help=("the function that an instance runs before its first call", "实例在首次调用之前运行的函数"),
        ),
        Field(
            "initializationTimeout",
            "initialization_timeout_s",
            duration(limits.INITIALIZATION_TIMEOUT_S),
            unset=limits.INITIALIZATION_TIMEOUT_S.default,
            help=("timeout of the initializer", "初始化函数的超时时间"),
        ),
        Field(
            "instanceSoftConcurrency",
            "instance_soft_concurrency",
            whole(limits.INSTANCE_CONCURRENCY),
            help=(
                "number of calls above which another instance starts; stored, without effect",
                "超过多少个调用时启动新实例；保存，不起作用",
            ),
        ),
        Field(
            "instanceType",
            "instance_type",
            OneOf({"e1", "c1", "g1", "fc.gpu.tesla.1", "fc.gpu.ampere.1"}),
            unset="e1",
            help=("instance type; stored, without effect", "实例类型；保存，不起作用"),
        ),
        Field(
            "gpuMemorySize",
            "gpu_memory_mb",
            GPU_MEMORY,
            help=("memory of the GPU in MB; stored, without effect", "GPU 的显存（MB）；保存，不起作用"),
        ),
        Field(
            "caPort",
            "ca_port",
            whole(limits.PORT),
            names={"file": ("caPort", "cAPort", "CAPort")},
            help=("the port that a custom runtime listens on", "自定义运行时监听的端口"),
        ),
        Field(
            "customContainerConfig",
            "custom_container",
            CONTAINER_2,
            members=CONTAINER_SHOWN,
            help=("image, command and port of a container", "容器的镜像、命令和端口"),
        ),
        Field(
            "customHealthCheckConfig",
            "health_check",
            HEALTH,
            help=("health check of an instance", "实例的健康检查"),
        ),
    ),
    FunctionConfig,
).with_kinds(instanceLifecycleConfig=LIFECYCLE_2)
"""A function of the two APIs that know services.

Source of what is shown of unset fields: the defaults of the parameter tables. That an unset diskSize is not shown:
terraform-provider-alicloud, whose tests ran against the service; its resource_alicloud_fcv2_function.go allows no value
that a file does not give, fcv3_function.go does.
"""

DEPLOYED = ("asyncInvokeConfig", "concurrencyConfig", "provisionConfig", "scalingConfig")
"""The members of a function in an ``s.yaml`` that are configurations of their own, not fields of the function."""

FUNCTION_3 = Shape(
    "Function",
    (
        *_FUNCTION,
        *_SHARED,
        Field(
            "environmentVariables",
            "environment",
            ENVIRONMENT,
            help=("environment variables of the function", "函数的环境变量"),
        ),
        Field(
            "gpuConfig",
            "gpu_config",
            record(gpuType=TEXT, gpuMemorySize=GPU_MEMORY),
            help=("kind and memory of a GPU; stored, without effect", "GPU 的类型和显存；保存，不起作用"),
        ),
        Field(
            "customContainerConfig",
            "custom_container",
            CONTAINER_3,
            help=("image, command and port of a container", "容器的镜像、命令和端口"),
        ),
        Field(
            "resourceGroupId",
            "resource_group_id",
            TEXT,
            help=("the resource group; stored, without effect", "资源组；保存，不起作用"),
        ),
        Field(
            "disableOndemand",
            "disable_on_demand",
            FLAG,
            help=(
                "whether only provisioned instances take calls; stored, without effect",
                "是否只由预留实例处理调用；保存，不起作用",
            ),
        ),
        Field(
            "disableInjectCredentials",
            "inject_credentials",
            INJECTION,
            help=("places where no temporary credentials are provided", "在哪些位置不提供临时访问凭证"),
        ),
        Field(
            "idleTimeout",
            "idle_timeout_s",
            WHOLE,
            help=(
                "seconds before an idle instance is released; -1, as without it: 300",
                "空闲实例释放前的秒数；-1 与不设置相同，为 300",
            ),
        ),
        Field(
            "enableLongLiving",
            "long_living",
            FLAG,
            help=("whether instances are long-running; stored, without effect", "实例是否长期运行；保存，不起作用"),
        ),
        Field(
            "instanceIsolationMode",
            "isolation_mode",
            ISOLATION,
            help=("whether calls, or sessions, share an instance", "调用或会话是否共用实例"),
        ),
        Field("sessionAffinity", "session_affinity", AFFINITY, help=("how sessions are identified", "如何区分会话")),
        Field(
            "sessionAffinityConfig",
            "session_affinity_config",
            JSON_TEXT,
            help=(
                "name of the header or cookie, length and number of sessions",
                "请求头或 cookie 的名称，会话的时长和数量",
            ),
        ),
        Field(
            "juiceFsConfig",
            "juice_fs_config",
            JUICE_FS,
            help=("JuiceFS volumes; stored, without effect", "JuiceFS 卷；保存，不起作用"),
        ),
        Field(
            "polarFsConfig",
            "polar_fs_config",
            POLAR_FS,
            help=("PolarFS volumes; stored, without effect", "PolarFS 卷；保存，不起作用"),
        ),
        Field(
            "microSandboxConfig",
            "micro_sandbox",
            MICRO_SANDBOX,
            help=("the sandbox's image; stored, without effect", "沙箱的镜像；保存，不起作用"),
        ),
    ),
    FunctionConfig,
)
"""A function of the API without services."""


def check_together(
    config: FunctionConfig, given: Mapping[str, Any] = MappingProxyType({}), before: FunctionConfig | None = None
) -> FunctionConfig:
    """Check the rules that concern several fields of a function, and return *config* with the values they derive.

    *given* are the fields that the caller has set, *before* is the configuration of an existing function.

    Raises: InvalidArgument. Source: terraform-provider-alicloud's tests, for a web server that is turned off.
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
    if config.ca_port is not None and "ca_port" not in given and _turns_web_server_off(given):
        config = replace(config, ca_port=None)
    if config.session_affinity or config.session_affinity_config is not None or config.isolation_mode:
        return affinity.settled(config, given, before)
    return config


def _turns_web_server_off(given: Mapping[str, Any]) -> bool:
    return (given.get("custom_container") or {}).get("webServerMode") is False


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


LAYER = Shape("Layer", (
    DESCRIPTION,
    Field("license", "license", Text(limits.LICENSE_LENGTH)),
    Field("compatibleRuntime", "runtimes", Items(OneOf(RUNTIMES), limits.COMPATIBLE_RUNTIMES), required=True),
))  # fmt: skip
