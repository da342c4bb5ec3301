"""The input and output of the function runtime: images, invocations, results, failures.

Nothing here starts a process. `InstancePool` in ``pool.py`` takes a `FunctionImage` and an `Invocation` and returns an
`InvocationResult`. A function that fails is data (``error_type``); only what the platform could not do is raised.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from emulator.kernel.frozen import field, frozen
from emulator.kernel.instrumentation import FunctionFault
from emulator.services.fc.runtime.streaming import RequestPieces, StreamedBody

ErrorType = Literal["HandledInvocationError", "UnhandledInvocationError", "InitializationError"]
"""The values of ``X-Fc-Error-Type`` for a failed function."""

InstanceState = Literal["starting", "idle", "busy", "stopping"]

DebugMode = Literal["", "wait", "run"]
"""Whether an instance has a debugger in it, and whether its first call waits until a client is attached to it."""


@frozen
class HealthCheck:
    """The health check of a program that listens: ``path`` has to be answered with a 2xx or 3xx status."""

    path: str
    initial_delay_s: int = 0
    period_s: int = 3
    timeout_s: int = 1
    failure_threshold: int = 3
    success_threshold: int = 1


@frozen
class Container:
    """The image of a custom container; ``entrypoint`` and ``command`` replace the image's own where they are given."""

    image: str
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    web_server: bool = True


class Size(NamedTuple):
    """The size of an instance, by which it is billed. ``type`` is the type of the instance, or of its GPU."""

    memory_mb: int = 128
    cpu: float = 0.0
    disk_mb: int = 512
    gpu_mb: int = 0
    type: str = "cpu"


@frozen
class FunctionImage:
    """Everything an instance is built from; calls with equal `key` share instances.

    ``key`` is unique per tenant, service, function, version and the state of its configuration and code: a change makes
    a new key. ``family`` (tenant/service/function/``LATEST`` or version) is what `InstancePool.retire_family` names.
    ``version`` is ``LATEST`` or a number; ``service`` is None for functions without one (3.0). Handlers of hooks are
    None when not configured. ``code_dir`` is used in place; ``layers`` are unpacked folders, first one first. ``port``,
    ``command`` and ``health_check`` are those of custom runtimes, ``container`` that of a custom container. With
    ``debug`` the instance has a debugger in it and its memory has no limit. ``keys_in_environment`` and
    ``keys_in_calls`` say where the keys of the role are: in variables; in the context or the fields of each request.
    ``label`` names the function in logs, ``size`` is what its instances are metered by. ``sessions`` is how many
    sessions an instance may have, 0 for a function whose calls are not bound; with ``exclusive`` an instance is for one
    session alone, with ``once`` for one call. ``idle_s`` is how long an instance may be idle, 0 for as long as usual.
    """

    key: str
    family: str
    generation: Literal["2.0", "3.0"]
    account: str
    region: str
    service: str | None
    function: str
    version: str
    runtime: str
    handler: str
    code_dir: Path
    memory_mb: int = 128
    timeout_s: int = 3
    initializer: str | None = None
    initializer_timeout_s: int = 3
    pre_freeze: str | None = None
    pre_freeze_timeout_s: int = 3
    pre_stop: str | None = None
    pre_stop_timeout_s: int = 3
    environment: Mapping[str, str] = field(default_factory=dict)
    instance_concurrency: int = 1
    layers: tuple[Path, ...] = ()
    log_project: str = ""
    log_store: str = ""
    role: str = ""
    port: int = 9000
    command: tuple[str, ...] = ()
    health_check: HealthCheck | None = None
    container: Container | None = None
    debug: DebugMode = ""
    keys_in_environment: bool = True
    keys_in_calls: bool = True
    label: str = ""
    size: Size = Size()
    sessions: int = 0
    exclusive: bool = False
    once: bool = False
    idle_s: int = 0

    @property
    def is_shared(self) -> bool:
        """Whether an instance is kept for other calls when the caller of one disconnects."""
        return self.sessions > 0 and self.instance_concurrency > 1


@frozen
class ShellCommand:
    """A command to run beside an instance, and which of its streams are connected.

    With ``tty`` it has a terminal for all three.
    """

    command: tuple[str, ...]
    stdin: bool = False
    stdout: bool = True
    stderr: bool = True
    tty: bool = False


class Credentials(NamedTuple):
    """Temporary keys of the function's role, as the context shows them."""

    access_key_id: str
    access_key_secret: str
    security_token: str


@frozen
class HttpCall:
    """An HTTP request that a function serves; its body is the invocation's event.

    ``path`` is what lies below the trigger's address, decoded, at least ``/``. ``request_uri`` is path and query as
    sent, and begins with ``base_path`` where the trigger's address is a part of it. ``headers`` are in order of
    arrival, texts with ``surrogateescape``. With ``websocket`` it asks for a WebSocket in place of an answer.
    """

    method: str
    path: str
    request_uri: str
    base_path: str
    client_ip: str
    host: str
    headers: tuple[tuple[str, str], ...]
    websocket: bool = False


@frozen
class HttpAnswer:
    """Status and header fields of a function's answer to an HTTP request; the body is the result's."""

    status: int
    headers: tuple[tuple[str, str], ...]


@frozen
class Invocation:
    """One call: the event's bytes and what the context shows of the call.

    ``qualifier`` is what the caller named (``LATEST``, a version or an alias). ``tracing`` holds the request headers
    whose names start with ``x-fc-tracing-`` (lower case), and what the function's configuration adds to them. With
    ``http`` the handler is called for an HTTP request; with ``stream`` its answer may be passed on as it comes.
    ``fault`` is how the function shall break, empty for not at all.
    ``body`` stands for the event when the client still sends it: pieces, and `BodyBroken` when the rest will not come.
    ``session`` is the header field that names the call's session, where it has one and no HTTP request to carry it.
    ``repeated`` means that an instance was lost with this call, and that it goes to another one.
    """

    request_id: str
    event: bytes
    qualifier: str = "LATEST"
    retry_count: int = 0
    credentials: Credentials | None = None
    tracing: Mapping[str, str] = field(default_factory=dict)
    http: HttpCall | None = None
    stream: bool = False
    fault: FunctionFault | Literal[""] = ""
    repeated: bool = False
    body: RequestPieces | None = None
    session: tuple[str, str] | None = None


@frozen
class InvocationResult:
    """How one call ended.

    ``body`` is what the function returned, or the error JSON when ``error_type`` is set. ``log`` is this call's part of
    the instance's log with markers and summary, cut at the front when it is long. ``cold`` is whether an instance
    was started for this call, ``provisioned`` whether it was one kept ready. ``http`` is set when an HTTP request was
    served without failure. ``stream`` stands for ``body`` when the function still writes it: the call goes on, and the
    log, until it has been read or closed.
    """

    body: bytes
    error_type: ErrorType | None
    log: bytes
    duration_ms: float
    max_memory_mb: float
    instance_id: str
    cold: bool
    provisioned: bool = False
    http: HttpAnswer | None = None
    stream: StreamedBody | None = None


class InstanceInfo(NamedTuple):
    """One living instance as lists show it; ``started_at`` is a time of the emulator's clock.

    ``memory_mb`` is the most that its latest call has used, 0 before the first.
    """

    instance_id: str
    version: str
    state: InstanceState
    provisioned: bool = False
    started_at: int = 0
    memory_mb: float = 0.0


class RuntimeFailure(Exception):
    """A failure of the platform, not of the function.

    ::

        RuntimeFailure
        |-- RuntimeUnavailable    no way to run that runtime on this machine
        |   `-- ProgramMissing    the code has no such program
        |-- InstanceStartFailed   the process of an instance did not come up
        |   `-- PortBusy          another instance holds the port that the program insists on
        |-- InstancesExhausted    as many instances as allowed are busy
        |-- SeatBusy              the instance of a session can take no further call
        |-- RequestBroken         the rest of the request will not come
        `-- ResponseTooLarge      the function returned more than may be answered
    """


class RuntimeUnavailable(RuntimeFailure):
    """The runtime is unknown, or nothing on this machine can run it."""

    def __init__(self, runtime: str, reason: str) -> None:
        self.runtime = runtime
        self.reason = reason
        super().__init__(f"runtime {runtime} is not available: {reason}")


class ProgramMissing(RuntimeUnavailable):
    """A custom runtime's program is not there."""

    def __init__(self, runtime: str, path: str) -> None:
        super().__init__(runtime, f"the file {path} is not exist")

    def __str__(self) -> str:
        return f"Failed to start function instance. Error: {self.reason}"


class InstanceStartFailed(RuntimeFailure):
    """The process of an instance could not be started or ended before it was ready."""


class PortBusy(InstanceStartFailed):
    """Another instance, *holder*, listens on the port that a program insists on."""

    def __init__(self, port: int, holder: str) -> None:
        self.holder = holder
        super().__init__(f"port {port} is held by another instance")


class InstancesExhausted(RuntimeFailure):
    """As many instances as allowed are busy."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"all {limit} instances are busy")


class SeatBusy(RuntimeFailure):
    """The instance that a session is bound to can take no further call."""

    def __init__(self, session: str, limit: int) -> None:
        super().__init__(f"the instance of session '{session}' is busy with {limit} calls, as many as it may have")


class RequestBroken(RuntimeFailure):
    """The rest of a request that the function was already reading will not come, or is more than *limit* bytes."""

    def __init__(self, reason: str, limit: int = 0) -> None:
        self.limit = limit
        super().__init__(f"the body of the request is broken: {reason}")


class ResponseTooLarge(RuntimeFailure):
    """The function returned more bytes than may be answered."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        super().__init__(f"payload size exceeds maximum allowed size ({limit_bytes} bytes)")
