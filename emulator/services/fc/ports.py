"""The ports of Function Compute: what it needs from other parts of the emulator; `emulator.joining` fills them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.frozen import field, frozen
from emulator.kernel.identity import AccountId, Tenant
from emulator.kernel.ids import Ids
from emulator.kernel.instrumentation import Interference, NoInterference, Origin
from emulator.kernel.timers import Timers
from emulator.services.fc.errors import FcError
from emulator.services.fc.model import FunctionName, MessageTarget
from emulator.services.fc.runtime.debugger import DebugSession
from emulator.services.fc.runtime.model import (
    Credentials,
    FunctionImage,
    InstanceInfo,
    Invocation,
    InvocationResult,
    ShellCommand,
)
from emulator.services.fc.runtime.seating import Seat
from emulator.storage.database import Database


class Shell(Protocol):
    """A command that runs beside an instance."""

    def write(self, data: bytes) -> None:
        """Write *data* to the command's standard input."""

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the command's terminal."""

    def pace(self, go: bool) -> None:
        """Stop reading the command's output (False), or resume it (True)."""

    def end(self) -> None:
        """End the command."""


StartShell = Callable[[Callable[[int, bytes], None], Callable[[], None]], Shell]
"""Starts the command; the arguments are called with its output, and at its end. Raises: OSError, RuntimeFailure."""


class Instances(Protocol):
    """Runs calls in instances; `emulator.services.fc.runtime.pool.InstancePool` in a running emulator."""

    def expect_calls(self) -> None:
        """Start preparing for quick first calls, without waiting; called once there is a function."""

    async def invoke(self, image: FunctionImage, invocation: Invocation, seat: Seat | None = None) -> InvocationResult:
        """Run one call in a warm instance of *image*, or in a new one; with a *seat*, in its session's instance.

        Raises: RuntimeFailure.
        """

    async def settle(self, image: FunctionImage, seat: Seat, invocation: Invocation) -> None:
        """Bind the *seat* of a session to an instance; a new one is initialized under the id of *invocation*.

        Raises: RuntimeFailure.
        """

    def vacate(self, seat: Seat, *, now: bool = False) -> None:
        """Unbind *seat* from its instance; one for a single session ends then, with *now* even during a call."""

    async def debug(self, image: FunctionImage, invocation: Invocation, session: DebugSession) -> InvocationResult:
        """Run one call in an instance of its own with a debugger in it.

        Raises: RuntimeFailure.
        """

    def retire_family(self, family: str) -> None:
        """Retire the instances of *family*, whose code or settings have changed: each ends after its current calls."""

    def end_all(self) -> None:
        """End every instance now, also during calls."""

    async def provision(self, image: FunctionImage, count: int, credentials: Credentials | None = None) -> int:
        """Keep *count* instances of *image* started and initialized, none at 0; return how many there are now.

        Raises: RuntimeFailure.
        """

    def shell(
        self,
        instance_id: str,
        command: ShellCommand,
        on_output: Callable[[int, bytes], None],
        on_end: Callable[[], None],
    ) -> Shell:
        """Run a command beside an instance.

        Raises: RuntimeFailure, OSError.
        """

    def families(self) -> list[str]:
        """Return the families, versions of functions, that have living instances, each once."""

    def instances(self, family: str) -> list[InstanceInfo]:
        """Return the living instances of a function's version, oldest first."""


class Called(NamedTuple):
    """A call of a function as mocks and records see it; ``qualifier`` is empty when the caller named none."""

    service: str
    function: str
    qualifier: str
    origin: Origin
    request_id: str
    event: bytes
    since: Millis


class Ended(NamedTuple):
    """A call that was made, with its cause and the time of its end."""

    call: Called
    result: InvocationResult
    cause: str
    at: Millis


class FunctionDoubles(Protocol):
    """Answers calls in place of functions, and keeps a record of all calls."""

    mocked: Mapping[str, object]
    """The active mocks; normally empty, which is checked first because it is quick."""

    ended: list[Ended]
    """Calls that wait for `record`, so that a warm call costs an append and no more."""

    def mocks(self, service: str, function: str, qualifier: str) -> bool:
        """Whether there is a mock for calls of a function, which need not exist then."""

    async def answer(self, call: Called) -> InvocationResult | None:
        """Return the result of a mock, None when the function itself is to be called."""

    def record(self) -> None:
        """Keep a record of the calls in ``ended``."""

    def refused(self, call: Called, error: FcError) -> None:
        """Keep a record of a call that the platform could not make."""


FC = "fc.aliyuncs.com"
"""How trust policies and ``acs:Service`` name Function Compute."""


class RoleGuard(Protocol):
    """Knows what the roles of functions and triggers may do; there is one only where rights are enforced."""

    def refusal(self, tenant: Tenant, role_arn: str, service: str, target: FunctionName | MessageTarget) -> str | None:
        """Return why the cloud *service* may not call or send to *target* with the rights of a role; None if it may."""


class DestinationRefused(Exception):
    """A destination did not take a message; the text says why."""


class MessageDestinations(Protocol):
    """Takes results of asynchronous calls into queues and topics, in the transaction of the caller."""

    def send(self, tenant: Tenant, target: MessageTarget, body: str) -> None:
        """Send *body* to a queue, or publish it to a topic.

        Raises: DestinationRefused.
        """


class CredentialIssuer(Protocol):
    """Gives functions the temporary keys of their role."""

    def for_role(self, account: AccountId, role_arn: str, session: str) -> Credentials:
        """Return keys of *role_arn* for *session*; an empty role stands for the emulator's default one."""


class ObjectTooLarge(Exception):
    """The object has more bytes than are wanted."""


class ObjectUnavailable(Exception):
    """There is no such object, no such bucket or no object storage; the text says which of them."""


@frozen
class UploadPlace:
    """Where a client may put a code package for some time, and with which keys."""

    bucket: str
    region: str
    credentials: Credentials
    expires_at: Millis


class PackageObjects(Protocol):
    """Code packages in object storage."""

    async def read(self, tenant: Tenant, bucket: str, name: str, limit: int) -> bytes:
        """Return the content of an object of at most *limit* bytes.

        Raises: ObjectTooLarge, ObjectUnavailable.
        """

    async def upload_place(self, tenant: Tenant) -> UploadPlace:
        """Return the account's bucket for large packages, made when it is not there, with keys that may write to it.

        Raises: ObjectUnavailable.
        """


class HostNames(Protocol):
    """The host names that the emulator answers because they lead to functions."""

    def allow(self, host: str, *, https: bool) -> None:
        """Answer *host* from now on, with *https* over TLS as well."""

    async def certified(self) -> None:
        """Wait until clients can trust the certificates of all names allowed over TLS, as far as they can be had."""

    def forget(self, host: str) -> None:
        """Stop answering *host*."""


class TopicMissing(Exception):
    """There is no such topic."""


class TopicSubscriptions(Protocol):
    """Subscribes functions to topics, in the transaction of the caller."""

    def subscribe(
        self,
        tenant: Tenant,
        topic: str,
        name: str,
        function_arn: str,
        *,
        filter_tag: str | None,
        content_format: str,
        strategy: str,
    ) -> None:
        """Make the subscription *name*, or change it when it is there.

        *content_format* is ``STREAM`` or ``JSON``, *strategy* ``BACKOFF_RETRY`` or ``EXPONENTIAL_DECAY_RETRY``.

        Raises: TopicMissing.
        """

    def unsubscribe(self, tenant: Tenant, topic: str, name: str) -> None:
        """Remove the subscription; does nothing when topic or subscription are gone."""

    def exists(self, tenant: Tenant, topic: str) -> bool:
        """Whether there is such a topic."""


class QueueMissing(Exception):
    """There is no queue of that name."""


@frozen
class QueuedMessage:
    """A received message. ``token`` identifies it to its queue, ``trace`` is the trace in which it was sent."""

    message_id: str
    body: str
    sent_at: Millis
    token: Any
    trace: str = ""


class SourceBuckets(Protocol):
    """Knows the buckets whose changes fire triggers."""

    def exists(self, tenant: Tenant, bucket: str) -> bool:
        """Whether the tenant has such a bucket."""


class SourceQueues(Protocol):
    """Gives the messages of queues to triggers."""

    def exists(self, tenant: Tenant, queue: str) -> bool:
        """Whether there is such a queue."""

    def has_messages(self, tenant: Tenant, queue: str) -> bool:
        """Whether `receive` would return messages at once; there need be no such queue."""

    async def receive(self, tenant: Tenant, queue: str, count: int, wait_s: int) -> Sequence[QueuedMessage]:
        """Return up to *count* messages, hidden from others, after at most *wait_s*; none when there were none.

        Raises: QueueMissing; ServiceError.
        """

    def delete(self, tenant: Tenant, queue: str, message: QueuedMessage) -> None:
        """Delete a message that was received, in the current transaction.

        Raises: ServiceError.
        """


@frozen
class Ports:
    """What other services do for Function Compute; None leaves the feature out.

    Without *credentials* functions get no keys; without *objects* code cannot come from a bucket and no bucket is lent
    for it; without *destinations* results of asynchronous calls go to functions only. Without *host_names* HTTP
    triggers are reached by their paths only, without *topics* topic triggers get no messages, without *queues* those
    of event buses none; without *buckets* no object trigger waits for one. Without *guard* roles may do everything,
    without *doubles* there are no mocks and records of calls.
    """

    credentials: CredentialIssuer | None = None
    objects: PackageObjects | None = None
    destinations: MessageDestinations | None = None
    host_names: HostNames | None = None
    topics: TopicSubscriptions | None = None
    queues: SourceQueues | None = None
    buckets: SourceBuckets | None = None
    guard: RoleGuard | None = None
    interference: Interference = field(default_factory=NoInterference)
    doubles: FunctionDoubles | None = None


@frozen
class Platform:
    """The infrastructure that every part of the service is built on."""

    database: Database
    clock: Clock
    ids: Ids
    timers: Timers
    ports: Ports
