"""The admin operations on flows, which the cloud does not have: debugging, forks, steps run alone; and metrics."""

import json
from collections.abc import Iterator
from typing import Any

from emulator.kernel.metrics import Family, counter, gauge, labelled
from emulator.services.workflow.service import Workflow
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.schema.kinds import LIST, OBJECT, Whole, argument

_BREAKPOINTS = argument(
    "breakpoints",
    LIST,
    'Where to stop: objects such as {"when": "before", "step": "NAME"}; when is before, after or failure, and without '
    "step it is every step. Without breakpoints the execution stops before its next step.",
    default=[],
)
_INPUT = argument("input", OBJECT, "The input, an object.", default={})


@operation(
    "step",
    "POST /flows/step",
    argument("definition", about="The text of the flow, in either language."),
    argument("step", about="The name of the step."),
    _INPUT,
    argument(
        "mocks",
        OBJECT,
        'Answers of tasks by the name of a step or function: {"return": VALUE} or {"error": {"errorType", '
        '"errorMessage"}}, or a list of them. Other tasks are really called.',
        default={},
    ),
    argument("local", OBJECT, "What the steps before it have left in $local.", default={}),
    argument("global", OBJECT, "The values of $Global before the step.", default={}),
)
async def run_step(service: Workflow, call: OperationRequest) -> dict[str, Any]:
    """Run one step of a definition alone; returns status, output, error, missing data, next step and events.

    Raises: InvalidArgument.
    """
    arguments = call.arguments
    return await service.lone_steps.run(
        call.tenant,
        arguments["definition"],
        arguments["step"],
        arguments["input"],
        arguments["local"],
        arguments["mocks"],
        arguments["global"],
    )


@operation(
    "debug-flow",
    "POST /flows/{flow}/debug",
    _INPUT,
    argument("name", about="The name of the execution.", default=""),
    _BREAKPOINTS,
)
def debug_flow(service: Workflow, call: OperationRequest) -> dict[str, Any]:
    """Start an execution that stops at breakpoints; returns its position.

    Raises: FlowNotExists, InvalidArgument, ExecutionAlreadyExists, ResourceThrottled.
    """
    arguments = call.arguments
    text = json.dumps(arguments["input"])
    return service.debugger.start(
        call.tenant, call.path["flow"], arguments["name"] or None, text, arguments["breakpoints"]
    )


@operation("stops", "GET /flows/{flow}/executions/{execution}/debug")
def stops(service: Workflow, call: OperationRequest) -> dict[str, Any]:
    """The breakpoints of an execution and where it stopped, with the data and the possible actions.

    Raises: FlowNotExists, ExecutionNotExists.
    """
    return service.debugger.show(call.tenant, call.path["flow"], call.path["execution"])


@operation("debug-execution", "POST /flows/{flow}/executions/{execution}/debug", _BREAKPOINTS)
def debug_execution(service: Workflow, call: OperationRequest) -> dict[str, Any]:
    """Replace the breakpoints of a running execution.

    Raises: FlowNotExists, ExecutionNotExists, ExecutionAlreadyCompleted, InvalidArgument.
    """
    path = call.path
    return service.debugger.watch(call.tenant, path["flow"], path["execution"], call.arguments["breakpoints"])


@operation(
    "debug-action",
    "POST /flows/{flow}/executions/{execution}/debug/{action}",
    argument("strand", Whole(0, 2**53), "The strand of the stop; without it the oldest stop.", default=None),
    argument("data", OBJECT, "What the data there become.", default=None),
)
def act(service: Workflow, call: OperationRequest) -> dict[str, Any]:
    """At a breakpoint: ``next``, ``continue``, ``change``, ``retry`` or ``skip``; or ``detach`` the execution.

    Raises: FlowNotExists, ExecutionNotExists, ExecutionAlreadyCompleted, InvalidArgument.
    """
    path, arguments = call.path, call.arguments
    return service.debugger.act(
        call.tenant, path["flow"], path["execution"], path["action"], arguments["strand"], arguments["data"]
    )


@operation(
    "fork",
    "POST /flows/{flow}/executions/{execution}/fork",
    argument("before", about="The step before which the fork begins; its last entry counts.", default=""),
    argument("event", Whole(0, 10**9), "In place of before: the id of the first event that is not shared.", default=0),
    argument("input", OBJECT, "The input of that step, in place of its own.", default=None),
    argument("definition", about="The definition of the fork, instead of the execution's.", default=""),
    argument("name", about="The name of the fork.", default=""),
)
async def fork(service: Workflow, call: OperationRequest) -> dict[str, Any]:
    """Start an execution that shares the history of another up to a step; returns its name.

    Raises: FlowNotExists, ExecutionNotExists, InvalidArgument, ExecutionAlreadyExists, ResourceThrottled.
    """
    flow, arguments = call.path["flow"], call.arguments
    name = await service.forks.fork(
        call.tenant,
        flow,
        call.path["execution"],
        before=arguments["before"],
        event=arguments["event"],
        data=arguments["input"],
        definition=arguments["definition"],
        name=arguments["name"],
    )
    return {"flow": flow, "execution": name}


def metrics(workflow: Workflow) -> Iterator[Family]:
    """Yield how many executions are open, and how many have started and ended since the emulator did."""
    yield gauge("localyun_executions_open", "Executions that have not ended.", workflow.open_executions)
    yield counter("localyun_executions_started_total", "Executions started.", workflow.executions.started)
    text = "Executions that have ended, by status."
    yield labelled("localyun_executions_ended_total", "counter", text, "status", workflow.ended)
    yield gauge("localyun_flow_calls_in_flight", "Calls of tasks being made.", workflow.calls_under_way)
