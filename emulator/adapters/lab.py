"""The lab joined to the services, each way.

The lab asks what the services are at, what comes and what waits (`emulator.kernel.instrumentation.Observed`), and
whether the condition of a skip holds. Function Compute asks for mocks and a record of its calls (its port
`FunctionDoubles`).
"""

from collections.abc import Callable, Iterator, Mapping

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.instrumentation import Busy, Upcoming, Waiting
from emulator.kernel.tracing import trace
from emulator.lab.errors import LabError
from emulator.lab.mocks import Mock, Mocks, Recorded
from emulator.lab.service import Bench
from emulator.services.fc.errors import FcError
from emulator.services.fc.ports import Called, Ended
from emulator.services.fc.runtime.model import InvocationResult
from emulator.services.fc.service import FunctionCompute
from emulator.services.mns.service import MessageService
from emulator.services.workflow.model import ExecutionFilter
from emulator.services.workflow.service import Workflow

_SHOWN = 50
"""Open executions looked at for a diagnosis."""

_WAKEUPS = {
    "wait": "end of a wait",
    "retry": "retry",
    "timeout": "time-out of a step",
    "flow": "time-out of the flow",
}


class MessageActivity:
    """Pushes on their way, pushes to be tried again, messages that become visible."""

    def __init__(self, messages: MessageService) -> None:
        self._messages = messages

    def busy(self, now: Millis) -> Iterator[Busy]:
        """Yield the pushes that wait for their endpoints."""
        for topic, subscription, endpoint in self._messages.courier.attempts_under_way():
            yield Busy(kind="push", resource=f"{topic}/{subscription}", detail=f"an answer of {endpoint}")

    def upcoming(self, now: Millis, limit: int) -> Iterator[Upcoming]:
        """Yield attempts to come and, of each queue, the next message to become visible."""
        for topic, subscription, failures, at in self._messages.topic_store.upcoming(now, limit):
            yield Upcoming(at=at, what=f"push attempt {failures + 1}", resource=f"{topic}/{subscription}", kind="topic")
        for queue, at in self._messages.next_visible(now):
            yield Upcoming(at=at, what="a message becomes visible", resource=queue, kind="queue")

    def waiting(self) -> Iterator[Waiting]:
        """Nothing here waits for the outside without a time."""
        yield from ()


class FunctionActivity:
    """Calls that run or are queued for now, retries, timer triggers, queues that triggers read."""

    def __init__(self, functions: FunctionCompute, mocks: Mocks) -> None:
        self._functions = functions
        self._mocks = mocks

    def busy(self, now: Millis) -> Iterator[Busy]:
        """Yield the calls under way, with their request ids, and the triggers that have messages to take."""
        running = self._functions.invoker.running()
        for function, since, request_id in running:
            yield Busy(kind="call", resource=function, since=since, detail=f"the end of call {request_id}")
        resting = self._mocks.resting()
        if self._functions.async_queue.under_way > len(resting) and not running:
            yield Busy(kind="call", resource="", detail="an asynchronous call about to begin")

        for queue, trigger in self._functions.sources.behind():
            yield Busy(kind="trigger", resource=trigger, detail=f"messages of the queue {queue}")

    def upcoming(self, now: Millis, limit: int) -> Iterator[Upcoming]:
        """Yield attempts of asynchronous calls and runs of timer triggers."""
        for service, function, failures, at in self._functions.async_queue.upcoming(now, limit):
            what = f"an asynchronous call, retry {failures}" if failures else "an asynchronous call"
            name = f"{service}/{function}" if service else function
            yield Upcoming(at=at, what=what, resource=name, kind="function")
        yield from self._mocks.upcoming(now)
        for trigger, at in self._functions.sources.timer_triggers.upcoming():
            name = f"{trigger.service}/{trigger.function}" if trigger.service else trigger.function
            yield Upcoming(at=at, what=f"timer trigger {trigger.name}", resource=name, kind="function", recurring=True)

    def waiting(self) -> Iterator[Waiting]:
        """Nothing here waits for the outside."""
        yield from ()


class FlowActivity:
    """Executions with something to do, their waits, retries and time-outs, schedules, task tokens."""

    def __init__(self, workflow: Workflow, mocks: Mocks) -> None:
        self._workflow = workflow
        self._mocks = mocks

    def busy(self, now: Millis) -> Iterator[Busy]:
        """Yield what the engine works on: steps to take, calls of tasks."""
        if not self._workflow.is_idle:
            yield Busy(kind="execution", resource="", detail="steps to take")
        calls = self._workflow.calls_under_way - len(self._mocks.resting("flow"))
        if calls > 0:
            yield Busy(kind="execution", resource="", detail=f"{calls} calls of tasks")

    def upcoming(self, now: Millis, limit: int) -> Iterator[Upcoming]:
        """Yield waits, retries and time-outs of executions, and runs of schedules."""
        for flow, execution, kind, at in self._workflow.engine_store.upcoming(now, limit):
            yield Upcoming(at=at, what=_WAKEUPS.get(kind, kind), resource=f"{flow}/{execution}", kind="execution")
        for flow, schedule, at in self._workflow.schedule_store.upcoming(now, limit):
            yield Upcoming(at=at, what=f"schedule {schedule}", resource=flow, kind="flow", recurring=True)

    def waiting(self) -> Iterator[Waiting]:
        """Yield the steps of open executions that wait for the report of a task token."""
        for flow, execution, step in self._workflow.waiting_for_reports(_SHOWN):
            yield Waiting(resource=f"{flow}/{execution}", detail=f"a report of the task token of step {step}")


class SkipConditions:
    """Looks at executions, queues and calls of functions for the conditions of a skip (`lab.service.Conditions`)."""

    def __init__(self, messages: MessageService, functions: FunctionCompute, workflow: Workflow) -> None:
        self._messages = messages
        self._functions = functions
        self._workflow = workflow

    def look(self, kind: str, tenant: Tenant, name: str, number: int) -> Callable[[], bool]:
        """Return a function that says whether the condition holds; for a flow alone its latest execution is meant.

        Raises: LabError (InvalidParameter); ServiceError when there is no such resource.
        """
        if kind == "execution":
            flow, _, execution = name.partition("/")
            execution = execution or self._latest(tenant, flow)
            self._workflow.executions.get(tenant, flow, execution)
            return lambda: not self._workflow.executions.get(tenant, flow, execution).is_open
        if kind == "queue":
            self._messages.queues.view(tenant, name)
            return lambda: self._messages.queues.view(tenant, name).counters.active >= number
        before = self._functions.invoker.made(name)
        return lambda: self._functions.invoker.made(name) - before >= number

    def _latest(self, tenant: Tenant, flow: str) -> str:
        newest = self._workflow.executions.page(tenant, flow, ExecutionFilter(), 1, "").items
        if not newest:
            raise LabError("InvalidParameter", reason=f"flow {flow} has not been executed yet")
        return newest[0].name


class Doubles:
    """Answers calls by the *bench*'s mocks, and records all calls there."""

    def __init__(self, bench: Bench, clock: Clock) -> None:
        self._mocks = bench.mocks
        self.mocked: Mapping[str, object] = bench.mocks.by_id
        self._calls = bench.calls
        self._clock = clock
        self.ended: list[Ended] = []
        bench.calls.late = self.record

    def mocks(self, service: str, function: str, qualifier: str) -> bool:
        """Whether there is a mock for calls of a function."""
        return bool(self.mocked) and self._mocks.find(service, function, qualifier) is not None

    async def answer(self, call: Called) -> InvocationResult | None:
        """Return what a mock answers, None when the function itself is to answer."""
        mock = self._mocks.find(call.service, call.function, call.qualifier)
        if mock is None:
            return None
        answer = mock.next()
        if answer is None:
            return None
        began = self._clock.now()
        await self._mocks.rest(answer, mock.target.name, call.request_id, call.origin)
        result = InvocationResult(
            body=answer.body,
            error_type="UnhandledInvocationError" if answer.failed else None,
            log=b"",
            duration_ms=float(self._clock.now() - began),
            max_memory_mb=0.0,
            instance_id="",
            cold=False,
        )
        self.record()
        self._keep(call, answer.body, result.error_type or "", b"", mock)
        return result

    def record(self) -> None:
        """Keep a record of the calls in ``ended``."""
        ended = self.ended[:]
        self.ended.clear()
        for call, result, cause, at in ended:
            spy = self._mocks.find(call.service, call.function, call.qualifier) if self.mocked else None
            self._keep(call, result.body, result.error_type or "", result.log, spy, cause=cause, at=at)

    def refused(self, call: Called, error: FcError) -> None:
        """Keep a record of a call that the platform could not make."""
        self.record()
        self._keep(call, error.message.encode("utf-8", "replace"), error.code, b"", None)

    def _keep(
        self,
        call: Called,
        answer: bytes,
        error: str,
        log: bytes,
        mock: Mock | None,
        *,
        cause: str | None = None,
        at: Millis | None = None,
    ) -> None:
        recorded = Recorded(
            service=call.service,
            function=call.function,
            qualifier=call.qualifier,
            request_id=call.request_id,
            cause=(trace() if cause is None else cause) or call.request_id,
            caller=call.origin,
            at=call.since,
            ended_at=self._clock.now() if at is None else at,
            event=call.event,
            answer=answer,
            error_type=error,
            log=log,
            mock=mock.id if mock is not None else "",
        )
        self._calls.add(recorded)
        if mock is not None:
            mock.calls.add(recorded)
