"""The metered items, a row each, for the command, the console, price lists and the documentation."""

from typing import Final

from emulator.kernel.frozen import frozen


@frozen
class Item:
    """A metered item. ``source`` is where the rule is known from.

    Each text is English and Chinese; ``assumed`` is the part of the rule that is a guess, if any.
    """

    name: str
    unit: tuple[str, str]
    help: tuple[str, str]
    source: tuple[str, str]
    assumed: tuple[str, str] = ("", "")


_FC = ("Function Compute, Billing overview; Pay-as-you-go", "函数计算：计费概述；按量付费")
_MNS = ("Simple Message Queue (formerly MNS), Billing", "轻量消息队列（原 MNS）：计费说明")
_FNF = ("CloudFlow, Billing overview", "云工作流 CloudFlow：计费概述")
_OSS = ("OSS, API operation calling fees", "对象存储 OSS：请求费用")

_IDLE = ("A provisioned instance is idle while it serves no call.", "预留实例未处理请求时视为闲置。")
_TOGETHER = (
    "Concurrent calls of one instance are counted separately; the cloud counts the instance once.",
    "同一实例并发处理的请求各自计量；云上只计量实例一次。",
)

ITEMS: Final = (
    Item(
        name="fc.calls",
        unit=("calls", "次"),
        help=("Calls of functions.", "函数调用次数。"),
        source=_FC,
        assumed=("A mocked call counts as a call.", "由 mock 返回结果的调用计为一次调用。"),
    ),
    Item(
        name="fc.vcpu_seconds.active",
        unit=("vCPU-seconds", "vCPU 秒"),
        help=("vCPUs while a call is served.", "处理请求期间的 vCPU 使用量。"),
        source=_FC,
        assumed=(
            "If the number of vCPUs is not configured, it is one per 2 GB of memory, at least 0.05. "
            + _TOGETHER[0],
            "未配置 vCPU 时按每 2 GB 内存一个计，至少 0.05。" + _TOGETHER[1],
        ),
    ),
    Item(
        name="fc.vcpu_seconds.idle",
        unit=("vCPU-seconds", "vCPU 秒"),
        help=("vCPUs of provisioned instances while they are idle.", "预留实例闲置期间的 vCPU 使用量。"),
        source=_FC,
        assumed=_IDLE,
    ),
    Item(
        name="fc.memory_gb_seconds.active",
        unit=("GB-seconds", "GB 秒"),
        help=("Configured memory while a call is served, rounded up to a millisecond.",
              "处理请求期间按配置计的内存使用量，不足一毫秒按一毫秒计。"),
        source=(f"{_FC[0]}; the line Billed Duration of a call's log", f"{_FC[1]}；调用日志中的 Billed Duration"),
        assumed=_TOGETHER,
    ),
    Item(
        name="fc.memory_gb_seconds.idle",
        unit=("GB-seconds", "GB 秒"),
        help=("Memory of provisioned instances while they are idle.", "预留实例闲置期间的内存使用量。"),
        source=_FC,
        assumed=_IDLE,
    ),
    Item(
        name="fc.disk_gb_seconds",
        unit=("GB-seconds", "GB 秒"),
        help=("Disk beyond 512 MB.", "超出 512 MB 的磁盘使用量。"),
        source=_FC,
        assumed=("The first 512 MB are free.", "前 512 MB 免费。"),
    ),
    Item(
        name="fc.gpu_gb_seconds.active",
        unit=("GB-seconds", "GB 秒"),
        help=("GPU memory while a call is served.", "处理请求期间的 GPU 显存使用量。"),
        source=_FC,
        assumed=_TOGETHER,
    ),
    Item(
        name="fc.gpu_gb_seconds.idle",
        unit=("GB-seconds", "GB 秒"),
        help=("GPU memory of provisioned instances while they are idle.", "预留实例闲置期间的 GPU 显存使用量。"),
        source=_FC,
        assumed=_IDLE,
    ),
    Item(
        name="mns.requests.queue",
        unit=("requests", "次"),
        help=(
            "Requests to queues, one per 64 KB or part of it; a batch and an empty receive count as one.",
            "队列请求次数：批量操作计一次，空轮询也计一次；不足 64 KB 也按一次计。",
        ),
        source=_MNS,
        assumed=(
            "The larger of request and response is measured; refused requests count.",
            "按请求与响应中较大者计；被拒绝的请求也计。",
        ),
    ),
    Item(
        name="mns.requests.topic",
        unit=("requests", "次"),
        help=("Requests to topics and subscriptions, by the same rule.", "主题与订阅的请求次数，规则相同。"),
        source=_MNS,
        assumed=(
            "The larger of request and response is measured; refused requests count.",
            "按请求与响应中较大者计；被拒绝的请求也计。",
        ),
    ),
    Item(
        name="mns.pushes",
        unit=("pushes", "次"),
        help=("Delivery attempts of topic messages, by kind of endpoint.", "主题消息的投递次数，按接收端类型。"),
        source=_MNS,
        assumed=("Failed attempts count, too.", "每次尝试都计，失败的也计。"),
    ),
    Item(
        name="fnf.transitions",
        unit=("transitions", "次"),
        help=(
            "Steps that standard executions enter, by kind, including those in branches and iterations.",
            "标准模式执行进入的步骤数（状态转换），按步骤类型；分支与循环中的步骤也计。",
        ),
        source=_FNF,
        assumed=("The retry of a task is not a transition.", "任务重试不计为状态转换。"),
    ),
    Item(
        name="fnf.express.executions",
        unit=("executions", "次"),
        help=("Express executions that have ended.", "已结束的快速模式执行次数。"),
        source=_FNF,
    ),
    Item(
        name="fnf.express.gb_seconds",
        unit=("GB-seconds", "GB 秒"),
        help=("Duration of express executions.", "快速模式执行的时长。"),
        source=_FNF,
        assumed=("Each is counted with 64 MB, the lowest tier.", "每次执行按最低档 64 MB 计。"),
    ),
    Item(
        name="fnf.schedules",
        unit=("starts", "次"),
        help=("Executions started by schedules; the cloud does not charge for them.",
              "定时调度启动的执行次数；云上不收费。"),
        source=_FNF,
    ),
    Item(
        name="oss.requests.put",
        unit=("requests", "次"),
        help=("Successful PUT requests to buckets: write, copy, delete and list.",
              "成功的 PUT 类请求：写入、复制、删除与列举。"),
        source=_OSS,
    ),
    Item(
        name="oss.requests.get",
        unit=("requests", "次"),
        help=("Successful GET requests to buckets: read.", "成功的 GET 类请求：读取。"),
        source=_OSS,
        assumed=(
            "Reading the settings of a bucket or an object is a GET request.",
            "读取存储空间或对象设置的请求计入 GET 类。",
        ),
    ),
    Item(
        name="oss.bytes.in",
        unit=("bytes", "字节"),
        help=("Bytes written to buckets.", "写入存储空间的字节数。"),
        source=("OSS, Traffic fees", "对象存储 OSS：流量费用"),
    ),
    Item(
        name="oss.bytes.out",
        unit=("bytes", "字节"),
        help=("Bytes read from buckets.", "从存储空间读出的字节数。"),
        source=("OSS, Traffic fees", "对象存储 OSS：流量费用"),
    ),
    Item(
        name="net.bytes.out",
        unit=("bytes", "字节"),
        help=(
            "Bytes of response bodies, by service; those of buckets are in oss.bytes.out.",
            "响应正文的字节数，按服务；存储空间的计入 oss.bytes.out。",
        ),
        source=("Cloud Data Transfer (CDT), Services and metering methods", "云数据传输 CDT：服务及计量方式"),
        assumed=(
            "All clients are on the internet. Responses that are streamed without a length do not count, nor do the "
            "requests that functions send.",
            "所有客户端都在公网。未给出长度的流式响应以及函数自己发出的请求不计。",
        ),
    ),
)  # fmt: skip
"""All items, in the order in which they are shown."""

BY_NAME: Final = {item.name: item for item in ITEMS}

OSS_LISTS: Final = frozenset({"ListObjects", "ListBuckets", "ListMultipartUploads", "ListParts"})
"""Operations that read but are billed in the class PUT. Source: OSS, "API operation calling fees"."""
