"""The ports of the service: the targets of tasks and who calls them; the names of calls in policies and faults.

Ports are named after the need; adapters fill them. The vendor's pages write the resource name of a flow in two ways
(``flow/F`` and ``flows/F``), and extend it for executions, schedules and the like; a policy may use any of these forms.

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
        """The Action of a state that calls this resource."""
        return "FC:InvokeFunction"

    @property
    def label(self) -> str:
        """A short name of the resource for people."""
        behind = f".{self.qualifier}" if self.qualifier else ""
        return f"{self.service}{behind}/{self.function}" if self.service else self.function + behind


@frozen(kw_only=False)
class QueueResource:
    """``acs:mns:...:/queues/Q/messages``."""

    queue: str

    @property
    def action(self) -> str:
        """The Action of a state that calls this resource."""
        return "MNS:SendMessage"

    @property
    def label(self) -> str:
        """A short name of the resource for people."""
        return f"queue {self.queue}"


@frozen(kw_only=False)
class TopicResource:
    """``acs:mns:...:/topics/T/messages``."""

    topic: str

    @property
    def action(self) -> str:
        """The Action of a state that calls this resource."""
        return "MNS:SendMessage"

    @property
    def label(self) -> str:
        """A short name of the resource for people."""
        return f"topic {self.topic}"


@frozen(kw_only=False)
class FlowResource:
    """``acs:fnf:...:flow/NAME``."""

    flow: str

    @property
    def action(self) -> str:
        """The Action of a state that calls this resource."""
        return "FNF:StartExecution"

    @property
    def label(self) -> str:
        """A short name of the resource for people."""
        return f"flow {self.flow}"


@frozen(kw_only=False)
class ActionResource:
    """``action: service:Operation`` in place of an ARN."""

    service: str
    operation: str

    @property
    def action(self) -> str:
        """The Action of a state that calls this resource."""
        return f"{self.service}:{self.operation}"

    @property
    def label(self) -> str:
        """A short name of the resource for people."""
        return self.action


@frozen(kw_only=False)
class HttpResource:
    """An address that is called over HTTP."""

    method: str
    url: str

    @property
    def action(self) -> str:
        """The Action of a state that calls this resource."""
        return "HTTP:Request"

    @property
    def label(self) -> str:
        """A short name of the resource for people."""
        return f"{self.method} {self.url}"


@frozen(kw_only=False)
class ObjectResource:
    """An object in a bucket."""

    bucket: str
    name: str

    @property
    def action(self) -> str:
        """The Action of a state that calls this resource."""
        return "OSS:GetObject"

    @property
    def label(self) -> str:
        """A short name of the resource for people."""
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
        """The Action of a state that calls this resource."""
        return "Map:Run"

    @property
    def label(self) -> str:
        """A short name of the resource for people."""
        return "a map run"


ArnTarget = FunctionResource | QueueResource | TopicResource | FlowResource
"""The resources that an ARN can name."""

TaskTarget = ArnTarget | HttpResource | ObjectResource | MapResource
"""The possible targets of a task's call."""

WrittenTarget = ArnTarget | ActionResource
"""The resources that tasks of the flow definition language can name."""

Resource = TaskTarget | ActionResource
"""The resources that a task of any language can name."""


class Refusal(NamedTuple):
    """A service's refusal of a call: HTTP status, the service's error code, its message."""

    http_status: int
    code: str
    message: str


@frozen
class FunctionReply:
    """The result of a function call.

    With ``refusal`` the function was not run. Else ``body`` is its answer, and ``error_type`` (the value of
    ``X-Fc-Error-Type``) is set when it failed; the body then has ``errorMessage`` and, for an exception of the
    function's own, ``errorType``.
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
    """Checks the rights of flows' roles."""

    def refusal(self, tenant: Tenant, role_arn: str, target: TaskTarget) -> Refusal | None:
        """Return the called service's refusal when the role (``""`` for none) lacks the right to call, else None."""
        ...


class TaskDouble(Protocol):
    """A mock's reply to one call of a task."""

    @property
    def answer(self) -> Answer:
        """The answer."""
        ...

    async def rest(self) -> None:
        """Wait for the mock's delay."""
        ...


class TaskDoubles(Protocol):
    """Answers calls of tasks by mocks instead of their targets."""

    def find(self, flow: str, execution: str, names: list[str], sent: str, attempt: int) -> TaskDouble | None:
        """Return the mock for the call of a task with *names*, the first one that has a mock; None to call the target.

        *sent* is the JSON text that the call sends, *attempt* counts from 1.
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
        """Queue an asynchronous call; for a *key* that is known, return the submission of the first call.

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
    """Makes calls over HTTP, to addresses that the emulator may call."""

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
    """Return an operation on a flow, execution or schedule under the names by which faults select it."""
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
    """Yield the rights that a call of *operation* needs."""
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
    """Return the right to *operation* on a flow, or on the execution, schedule or the like that *parameters* name."""
    names = [f"flows/{flow}"]
    for part, parameter in _PARTS:
        if part in operation.lower():
            name = (parameters or {}).get(parameter, "") or "*"
            names += [f"flow/{flow}/{part}/{name}", f"flows/{flow}/{part}s/{name}"]
    return Demand(f"fnf:{operation}", _arn(tenant, f"flow/{flow}"), tuple(_arn(tenant, name) for name in names))


def _arn(tenant: Tenant, name: str) -> str:
    return f"acs:fnf:{tenant.region}:{tenant.account}:{name}"
