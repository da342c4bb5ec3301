"""Where the service meets the rest: what tasks call and who calls it for them; how policies and faults name a call.

Ports are named after the need; adapters fill them. The vendor's pages write a flow's name in two ways (``flow/F`` and
``flows/F``) and give what belongs to it a longer one; a policy may use any of them.

Source: "Authorization rules" and "Create execution roles"; that the name of the flow covers its executions, schedules,
versions and aliases is assumed.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from emulator.kernel.frozen import frozen
from emulator.kernel.identity import Demand, Tenant, pass_role
from emulator.kernel.instrumentation import Dialect, Origin, Subject
from emulator.services.workflow.errors import WorkflowError
from emulator.wire.answers import Answer


@frozen(kw_only=False)
class FunctionResource:
    """``acs:fc:...:services/S[.Q]/functions/F`` (``service`` set) or ``acs:fc:...:functions/F[/Q]``."""

    service: str | None
    function: str
    qualifier: str | None

    @property
    def action(self) -> str:
        """What a state that calls it has for Action."""
        return "FC:InvokeFunction"

    @property
    def label(self) -> str:
        """What a person calls it."""
        behind = f".{self.qualifier}" if self.qualifier else ""
        return f"{self.service}{behind}/{self.function}" if self.service else self.function + behind


@frozen(kw_only=False)
class QueueResource:
    """``acs:mns:...:/queues/Q/messages``."""

    queue: str

    @property
    def action(self) -> str:
        """What a state that calls it has for Action."""
        return "MNS:SendMessage"

    @property
    def label(self) -> str:
        """What a person calls it."""
        return f"queue {self.queue}"


@frozen(kw_only=False)
class TopicResource:
    """``acs:mns:...:/topics/T/messages``."""

    topic: str

    @property
    def action(self) -> str:
        """What a state that calls it has for Action."""
        return "MNS:SendMessage"

    @property
    def label(self) -> str:
        """What a person calls it."""
        return f"topic {self.topic}"


@frozen(kw_only=False)
class FlowResource:
    """``acs:fnf:...:flow/NAME``."""

    flow: str

    @property
    def action(self) -> str:
        """What a state that calls it has for Action."""
        return "FNF:StartExecution"

    @property
    def label(self) -> str:
        """What a person calls it."""
        return f"flow {self.flow}"


@frozen(kw_only=False)
class ActionResource:
    """``action: service:Operation`` in place of an ARN."""

    service: str
    operation: str

    @property
    def action(self) -> str:
        """What a state that calls it has for Action."""
        return f"{self.service}:{self.operation}"

    @property
    def label(self) -> str:
        """What a person calls it."""
        return self.action


@frozen(kw_only=False)
class HttpResource:
    """An address that is called over HTTP."""

    method: str
    url: str

    @property
    def action(self) -> str:
        """What a state that calls it has for Action."""
        return "HTTP:Request"

    @property
    def label(self) -> str:
        """What a person calls it."""
        return f"{self.method} {self.url}"


@frozen(kw_only=False)
class ObjectResource:
    """An object in a bucket."""

    bucket: str
    name: str

    @property
    def action(self) -> str:
        """What a state that calls it has for Action."""
        return "OSS:GetObject"

    @property
    def label(self) -> str:
        """What a person calls it."""
        return f"object {self.bucket}/{self.name}"


@frozen(kw_only=False)
class MapResource:
    """A run of a distributed map, by its bounds."""

    at_once: int
    is_express: bool
    tolerated_count: int
    tolerated_percentage: float

    @property
    def action(self) -> str:
        """What a state that calls it has for Action."""
        return "Map:Run"

    @property
    def label(self) -> str:
        """What a person calls it."""
        return "a map run"


ArnTarget = FunctionResource | QueueResource | TopicResource | FlowResource
"""What an ARN can name."""

TaskTarget = ArnTarget | HttpResource | ObjectResource | MapResource
"""What the call of a task is made to."""

WrittenTarget = ArnTarget | ActionResource
"""What tasks of the flow definition language name."""

Resource = TaskTarget | ActionResource
"""What a task names."""


class Refusal(NamedTuple):
    """A service's refusal to do what was asked: HTTP status, its own error code, its message."""

    http_status: int
    code: str
    message: str


@frozen
class FunctionReply:
    """The result of a function call.

    ``refusal``: the function was not run. Else ``body`` is what it answered, and ``error_type`` is set when it failed
    (the value of ``X-Fc-Error-Type``); the body then has ``errorMessage`` and, for an exception of the function's own,
    ``errorType``.
    """

    body: bytes = b""
    error_type: str | None = None
    refusal: Refusal | None = None
    request_id: str = ""


class Submission(NamedTuple):
    """The result of queueing an asynchronous call: the id of its request, or the refusal."""

    request_id: str
    refusal: Refusal | None = None


class TaskGuard(Protocol):
    """Knows what the roles of flows may do."""

    def refusal(self, tenant: Tenant, role_arn: str, target: TaskTarget) -> Refusal | None:
        """Return what the called service answers when the role (``""``: the flow has none) lacks the right to call."""
        ...


class TaskDouble(Protocol):
    """What a mock gives in place of one call of a task."""

    @property
    def answer(self) -> Answer:
        """The answer."""
        ...

    async def rest(self) -> None:
        """Wait as long as the answer is to take."""
        ...


class TaskDoubles(Protocol):
    """Answers calls of tasks in place of what they call."""

    def find(self, flow: str, execution: str, names: list[str], sent: str, attempt: int) -> TaskDouble | None:
        """Return what answers the call of a task that has *names*, the nearest first; None for the real thing.

        *sent* is the JSON text of what it sends, *attempt* counts from 1.
        """
        ...


class FunctionInvoker(Protocol):
    """Runs functions. The *key* of a call is the same when it is made again after a crash."""

    async def invoke(self, tenant: Tenant, resource: FunctionResource, event: bytes, key: str) -> FunctionReply:
        """Run a function with *event* and wait for its answer. Cancelling the coroutine cancels the call."""
        ...

    async def submit(
        self, tenant: Tenant, resource: FunctionResource, event: bytes, key: str, *, invocation_id: str
    ) -> Submission:
        """Queue an asynchronous call; with a *key* that is known, return its result then.

        *invocation_id* is the name the call has in Function Compute, ``""`` for none.
        """
        ...

    async def result(self, tenant: Tenant, request_id: str) -> FunctionReply:
        """Wait for the end of a call that was queued, through all its retries."""
        ...

    def abandon(self, tenant: Tenant, key: str) -> None:
        """Stop the call queued under *key*, if there is one and it has not ended."""
        ...


@frozen
class MessageReply:
    """The result of sending a message: the members of the service's reply, or its refusal."""

    members: dict[str, str]
    refusal: Refusal | None = None


class MessageSender(Protocol):
    """Puts messages into queues and topics. Bodies are sent as they are, without Base64."""

    async def send(
        self, tenant: Tenant, queue: str, body: str, *, delay_s: int | None, priority: int | None, key: str
    ) -> MessageReply:
        """Send to a queue; ``None`` means the queue's own default."""
        ...

    async def publish(
        self, tenant: Tenant, topic: str, body: str, *, tag: str | None, attributes: str | None, key: str
    ) -> MessageReply:
        """Publish to a topic; *attributes* is JSON text."""
        ...


@frozen
class HttpReply:
    """The result of a call over HTTP: the answer, whatever its status, or why there is none."""

    status: int = 0
    headers: dict[str, str]
    body: bytes = b""
    failure: str | None = None


class HttpCaller(Protocol):
    """Makes calls over HTTP, to where the emulator may call."""

    async def call(self, target: HttpResource, headers: dict[str, str], body: bytes) -> HttpReply:
        """Make a call; never raises but when cancelled or when a header cannot be sent, which is a ValueError."""
        ...


@frozen
class ObjectReply:
    """The result of reading an object: the members of the reply, or the refusal."""

    members: dict[str, Any]
    refusal: Refusal | None = None


class ObjectReader(Protocol):
    """Reads objects."""

    async def read(self, tenant: Tenant, target: ObjectResource, parameters: dict[str, str], limit: int) -> ObjectReply:
        """Read an object of at most *limit* bytes; *parameters* are ``range``, ``versionId`` and the like."""
        ...


DIALECT = Dialect(WorkflowError, "ResourceThrottled")


def subject(operation: str, parameters: Mapping[str, str], origin: Origin = "client") -> Subject:
    """Return an operation on a flow, or on what belongs to it, as faults know it."""
    flow = parameters.get("FlowName") or parameters.get("Name") or ""
    part = parameters.get("ExecutionName") or parameters.get("ScheduleName") or ""
    names = (f"{flow}/{part}", flow, part) if part else (flow,)
    return Subject("fnf", operation, names if flow or part else (), (origin,))


SERVICE = "fnf.aliyuncs.com"
"""How trust policies and ``acs:Service`` name Serverless Workflow."""

_BY_NAME = frozenset({"CreateFlow", "DescribeFlow", "UpdateFlow", "DeleteFlow"})
_FREE = frozenset({"DescribeRegions"})
_PARTS = (("execution", "ExecutionName"), ("schedule", "ScheduleName"))


def demands(tenant: Tenant, operation: str, parameters: Mapping[str, str]) -> Iterator[Demand]:
    """Yield what a call of *operation* needs."""
    if operation in _FREE:
        return
    flow = parameters.get("Name" if operation in _BY_NAME else "FlowName", "") or "*"
    if operation.startswith(("ReportTask", "DescribeMapRun", "UpdateMapRun")):
        yield Demand(f"fnf:{operation}", _arn(tenant, "*"))
    else:
        yield about_flow(tenant, operation, flow, parameters)
    role = parameters.get("RoleArn", "")
    if role and operation in {"CreateFlow", "UpdateFlow"}:
        yield pass_role(tenant.account, role, SERVICE)


def about_flow(tenant: Tenant, operation: str, flow: str, parameters: Mapping[str, str] | None = None) -> Demand:
    """Return the right to do *operation* on a flow, or on what *parameters* name of it."""
    names = [f"flows/{flow}"]
    for part, parameter in _PARTS:
        if part in operation.lower():
            name = (parameters or {}).get(parameter, "") or "*"
            names += [f"flow/{flow}/{part}/{name}", f"flows/{flow}/{part}s/{name}"]
    return Demand(f"fnf:{operation}", _arn(tenant, f"flow/{flow}"), tuple(_arn(tenant, name) for name in names))


def _arn(tenant: Tenant, name: str) -> str:
    return f"acs:fnf:{tenant.region}:{tenant.account}:{name}"
