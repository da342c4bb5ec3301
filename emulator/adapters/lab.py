"""The lab joined to the services, in both directions.

The lab asks the services for unfinished, upcoming and waiting work (`emulator.kernel.instrumentation.Observed`), and
whether the condition of a skip holds. Function Compute asks the lab for mocks and has its calls recorded (its port
`FunctionDoubles`).
"""

from collections.abc import Callable, Iterator, Mapping

from emulator.kernel.clock import Clock, Millis
from emulator.kernel.identity import Tenant
from emulator.kernel.instrumentation import Busy, Upcoming, Waiting
from emulator.kernel.tracing import current_trace
from emulator.kernel.turnstile import Turnstile
from emulator.lab.errors import LabError, invalid
from emulator.lab.mocks import CALLS_KEPT, Mock, Mocks, MockTarget, Recorded
from emulator.lab.service import Bench
from emulator.services.fc.errors import FcError
from emulator.services.fc.ports import Called, Ended
from emulator.services.fc.runtime.model import InvocationResult
from emulator.services.fc.service import FunctionCompute
from emulator.services.mns.service import MessageService
from emulator.services.workflow.engine.language import TIMER_NAMES
from emulator.services.workflow.model import ExecutionFilter
from emulator.services.workflow.service import Workflow
from emulator.wire.answers import Answer, Script

_SHOWN = 50
"""Open executions listed in a diagnosis."""


class MessageActivity:
    """Pushes on their way, pushes to be tried again, messages that become visible."""

    def __init__(self, messages: MessageService, turns: Turnstile) -> None:
        self._messages = messages
        self._turns = turns

    def busy(self, now: Millis) -> Iterator[Busy]:
        """Yield the pushes that wait for their endpoints."""
        attempts = self._messages.courier.attempts_under_way()
        for topic, subscription, endpoint in attempts[self._turns.count("push") :]:
            yield Busy(kind="push", resource=f"{topic}/{subscription}", detail=f"an answer of {endpoint}")

    def upcoming(self, now: Millis, limit: int) -> Iterator[Upcoming]:
        """Yield attempts to come and, of each queue, the next message to become visible."""
        for topic, subscription, failures, at in self._messages.topic_store.upcoming(now, limit):
            yield Upcoming(at=at, what=f"push attempt {failures + 1}", resource=f"{topic}/{subscription}", kind="topic")
        for queue, at in self._messages.next_visible(now):
            yield Upcoming(at=at, what="a message becomes visible", resource=queue, kind="queue")

    def waiting(self) -> Iterator[Waiting]:
        """Return nothing: the service waits for no call from outside without a deadline."""
        yield from ()


class FunctionActivity:
    """Calls that run or are queued for now, retries, timer triggers, queues that triggers read."""

    def __init__(self, functions: FunctionCompute, mocks: Mocks, turns: Turnstile) -> None:
        self._functions = functions
        self._mocks = mocks
        self._turns = turns

    def busy(self, now: Millis) -> Iterator[Busy]:
        """Yield the calls under way, with their request ids, and the triggers that have messages to take."""
        running = self._functions.invoker.running()
        for function, since, request_id in running:
            yield Busy(
                kind="call", resource=function, since=since, detail=f"the end of call {request_id}", waits="function"
            )
        resting = self._mocks.count_resting()
        if self._functions.async_queue.under_way > resting + self._turns.count("async") and not running:
            yield Busy(kind="call", resource="", detail="an asynchronous call about to begin")

        for queue, trigger in self._functions.sources.behind():
            yield Busy(kind="trigger", resource=trigger, detail=f"messages of the queue {queue}")
        for timer in self._functions.sources.timer_triggers.counted():
            yield Busy(kind="trigger", resource=timer.name, detail="its first time, which is being counted")

    def upcoming(self, now: Millis, limit: int) -> Iterator[Upcoming]:
        """Yield attempts of asynchronous calls, ends of sessions and runs of timer triggers."""
        for service, function, failures, at in self._functions.async_queue.upcoming(now, limit):
            what = f"an asynchronous call, retry {failures}" if failures else "an asynchronous call"
            name = f"{service}/{function}" if service else function
            yield Upcoming(at=at, what=what, resource=name, kind="function")
        for function, session, at in self._functions.sessions.upcoming(now, limit):
            yield Upcoming(at=at, what=f"end of session {session}", resource=function, kind="function")
        yield from self._mocks.upcoming(now)
        for trigger, at in self._functions.sources.timer_triggers.upcoming():
            name = f"{trigger.service}/{trigger.function}" if trigger.service else trigger.function
            yield Upcoming(at=at, what=f"timer trigger {trigger.name}", resource=name, kind="function", recurring=True)

    def waiting(self) -> Iterator[Waiting]:
        """Yield the connections on which functions wait for their clients."""
        for function, _, request_id in self._functions.invoker.connected():
            yield Waiting(resource=function, detail=f"the client of the connection {request_id}")


class FlowActivity:
    """Executions with something to do, their waits, retries and time-outs, schedules, task tokens."""

    def __init__(self, workflow: Workflow, mocks: Mocks, turns: Turnstile) -> None:
        self._workflow = workflow
        self._mocks = mocks
        self._turns = turns

    def busy(self, now: Millis) -> Iterator[Busy]:
        """Yield what the engine works on: steps to take, calls of tasks."""
        if not self._workflow.is_idle:
            yield Busy(kind="execution", resource="", detail="steps to take")
        calls = self._workflow.calls_under_way - self._mocks.count_resting("flow") - self._turns.count("call", "reply")
        if calls > 0:
            yield Busy(kind="execution", resource="", detail=f"{calls} calls of tasks", waits="function")

    def upcoming(self, now: Millis, limit: int) -> Iterator[Upcoming]:
        """Yield waits, retries and time-outs of executions, and runs of schedules."""
        for flow, execution, kind, at in self._workflow.engine_store.upcoming(now, limit):
            yield Upcoming(at=at, what=TIMER_NAMES[kind], resource=f"{flow}/{execution}", kind="execution")
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

    def held(self, kind: str, tenant: Tenant, name: str) -> list[Waiting]:
        """Return the breakpoints at which an execution stands; for a flow alone its latest execution is meant."""
        if kind != "execution":
            return []
        flow, _, execution = name.partition("/")
        execution = execution or self._latest(tenant, flow)
        stops = self._workflow.debugger.show(tenant, flow, execution)["stops"]
        detail = "a debugger, which has stopped it at step {step}"
        return [Waiting(resource=f"{flow}/{execution}", detail=detail.format(step=stop["step"])) for stop in stops]

    def _latest(self, tenant: Tenant, flow: str) -> str:
        newest = self._workflow.executions.page(tenant, flow, ExecutionFilter(), 1, "").items
        if not newest:
            raise LabError("InvalidParameter", reason=f"flow {flow} has not been executed yet")
        return newest[0].name


class TaskNames:
    """Checks that the step or action of a mock exists."""

    def __init__(self, workflow: Workflow, tenant: Tenant) -> None:
        self._workflow = workflow
        self._tenant = tenant

    def check(self, target: MockTarget, script: Script) -> list[str]:
        """Check the target of a mock, and return warnings about answers that the real service would not give.

        The flow need not exist yet; a step of an existing flow, and an action, has to exist.

        Raises: LabError (InvalidParameter), with the names that exist.
        """
        if not target.step and not target.action:
            return []
        from emulator.services.workflow.rehearsal.names import nearest, wrong_action  # slow to load, seldom needed
        from emulator.services.workflow.rehearsal.replies import doubts_of_action, doubts_of_task

        if target.action:
            problem = wrong_action(target.action)
            if problem:
                raise invalid(problem)
            return list(doubts_of_action(target.action, script))
        flow, slash, step = target.step.partition("/")
        tasks = self._workflow.tasks(self._tenant, flow) if slash else None
        if tasks is None:
            return []
        if step not in tasks:
            raise invalid(f"the flow {flow} has no task {step!r}; {nearest(step, list(tasks))}")
        return list(doubts_of_task(tasks[step], script))


class _TaskDouble:
    """The answer of a mock to one call of a task."""

    def __init__(self, mocks: Mocks, name: str, key: str, answer: Answer) -> None:
        self.answer = answer
        self._mocks = mocks
        self._name = name
        self._key = key

    async def rest(self) -> None:
        """Wait for the delay of the answer."""
        await self._mocks.rest(self.answer, self._name, self._key, "flow")


class FlowDoubles:
    """Answers calls of tasks by the *bench*'s mocks of steps and actions, and records them there."""

    def __init__(self, bench: Bench, clock: Clock) -> None:
        self._mocks = bench.mocks
        self._clock = clock

    def find(self, flow: str, execution: str, names: list[str], sent: str, attempt: int) -> _TaskDouble | None:
        """Return the mocked answer to a call of a task; None when the real service is to answer."""
        mock = self._mocks.find_task(flow, names) if self._mocks.by_id else None
        if mock is None:
            return None
        answer = mock.next()
        name, now = f"{flow}/{execution}/{names[0]}", self._clock.now()
        error = "" if answer is None or not answer.failed else answer.error_type
        recorded = Recorded(
            service="", function=names[0], qualifier="", request_id=f"{name}#{attempt}", cause=current_trace(),
            caller="flow", at=now, ended_at=Millis(now + (answer.delay_ms if answer else 0)), event=sent.encode(),
            answer=answer.body if answer else b"", error_type=error, log=b"", mock=mock.id,
        )  # fmt: skip
        mock.calls.add(recorded)
        return None if answer is None else _TaskDouble(self._mocks, name, recorded.request_id, answer)


class Doubles:
    """Answers calls by the *bench*'s mocks, and records all calls there."""

    def __init__(self, bench: Bench, clock: Clock) -> None:
        self._mocks = bench.mocks
        self.mocked: Mapping[str, object] = bench.mocks.by_id
        self._calls = bench.calls
        self._clock = clock
        self.ended: list[Ended] = []
        self._let_through: dict[str, Mock] = {}
        """Mocks that have left a call to the function, by the call's request id, until it is recorded."""
        bench.calls.late = self.record

    def mocks(self, service: str, function: str, qualifier: str) -> bool:
        """Whether there is a mock for calls of a function."""
        return bool(self.mocked) and self._mocks.find(service, function, qualifier) is not None

    async def answer(self, call: Called) -> InvocationResult | None:
        """Return a mock's answer, after its delay; None when the function itself is to answer."""
        mock = self._mocks.find(call.service, call.function, call.qualifier)
        if mock is None:
            return None
        answer = mock.next()
        if answer is None:
            if len(self._let_through) >= CALLS_KEPT:  # entries of calls that were cancelled
                self._let_through.pop(next(iter(self._let_through)))
            self._let_through[call.request_id] = mock
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
        """Record the calls in ``ended``."""
        ended = self.ended[:]
        self.ended.clear()
        for call, result, cause, at in ended:
            spy = self._let_through.pop(call.request_id, None)
            self._keep(call, result.body, result.error_type or "", result.log, spy, cause=cause, at=at)

    def refused(self, call: Called, error: FcError) -> None:
        """Record a call that the platform refused."""
        self.record()
        spy = self._let_through.pop(call.request_id, None)
        self._keep(call, error.message.encode("utf-8", "replace"), error.code, b"", spy)

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
            cause=(current_trace() if cause is None else cause) or call.request_id,
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
