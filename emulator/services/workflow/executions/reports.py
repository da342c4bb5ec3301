"""Reports of tasks that end outside the engine: by their tokens, from programs and from ended executions.

Source: ReportTaskSucceeded and ReportTaskFailed, Serverless Workflow API reference.
"""

from collections.abc import Callable

from emulator.kernel.identity import Tenant
from emulator.services.workflow.engine.driver import Driver
from emulator.services.workflow.engine.json_text import NotAnObject, parse_object
from emulator.services.workflow.engine.language import Reported, Result
from emulator.services.workflow.engine.model import Phase, Task
from emulator.services.workflow.engine.tokens import Mint, TaskToken, read_token
from emulator.services.workflow.errors import TaskAlreadyCompleted, invalid
from emulator.services.workflow.model import ExecutionId, ExecutionRecord


class Reports:
    """Accepts reports of tasks. *execution* returns an execution by tenant, flow and name.

    It raises FlowNotExists or ExecutionNotExists.
    """

    def __init__(self, engine: Driver, mint: Mint, execution: Callable[[Tenant, str, str], ExecutionRecord]) -> None:
        self._engine = engine
        self._mint = mint
        self._execution = execution

    def succeeded(self, tenant: Tenant, token: str, output: str) -> int:
        """Complete the attempt *token* was made for and return the id of the event.

        Raises: InvalidArgument, FlowNotExists, ExecutionNotExists, TaskAlreadyCompleted.
        """
        try:
            parse_object(output)
        except NotAnObject as error:
            raise invalid(f"Output must be a JSON object: {error}") from error
        return self.accept(tenant, token, Result(output=output))

    def failed(self, tenant: Tenant, token: str, error: str, cause: str) -> int:
        """Fail the attempt *token* was made for and return the id of the event.

        Raises: InvalidArgument, FlowNotExists, ExecutionNotExists, TaskAlreadyCompleted.
        """
        return self.accept(tenant, token, Result(error=error, cause=cause))

    def accept(self, tenant: Tenant, text: str, result: Result, reported: ExecutionId | None = None) -> int:
        """Complete the attempt the token *text* was made for and return the id of the event.

        *reported* is an ended execution whose end this is.

        Raises: InvalidArgument, FlowNotExists, ExecutionNotExists, TaskAlreadyCompleted.
        """
        token = read_token(text)
        if token is None:
            raise invalid("TaskToken is not a task token.")
        record = self._execution(tenant, token.flow, token.execution)
        if not self._mint.vouches_for(token, tenant, record.started_at):
            raise invalid("TaskToken is not a task token.")
        name = f"{token.flow}:{token.execution}:{token.entry}"
        if not record.is_open:
            raise TaskAlreadyCompleted(task=name)
        self._check_waiting(record.id, token, name)
        recorded = self._engine.deliver(record.id, Reported(token.entry, token.attempt, result), reported)
        if not recorded:
            raise TaskAlreadyCompleted(task=name)
        return recorded[-1].id

    def _check_waiting(self, execution: ExecutionId, token: TaskToken, name: str) -> None:
        state = self._engine.look(execution)
        live = state.find(token.entry) if state is not None else None
        if live is None:
            raise TaskAlreadyCompleted(task=name)
        entry = live[1]
        step = entry.step
        if isinstance(step, Task) and step.pattern == "requestResponse":
            raise invalid("The task does not wait for a report; its pattern is requestResponse.")
        if token.attempt != entry.retries or entry.phase not in {Phase.CALLING, Phase.SUBMITTED}:
            raise TaskAlreadyCompleted(task=name)
