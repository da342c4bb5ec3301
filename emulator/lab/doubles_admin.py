"""The lab's admin operations on what stands in for something: faults, mocks, recorded calls, sinks."""

from typing import Any

from emulator.lab.faults import read_rule, shown_rule
from emulator.lab.mocks import read_target, shown_call
from emulator.lab.service import Lab
from emulator.lab.sinks import Sink, shown_request
from emulator.wire.operation import operation
from emulator.wire.request import OperationRequest
from emulator.wire.schema.kinds import FLAG, LIST, NUMBER, OBJECT, Whole, argument

_ANSWERS_OF_MOCK = (
    "Each is {return} or {error: {errorType, errorMessage}}, or {returns}, {raises}, with delay too; "
    "or {never: true}. Given in turn."
)
_ANSWERS_OF_SINK = "Each has status, headers, body, delay or drop; given in turn, the last again and again."


@operation(
    "add-fault",
    "POST /faults",
    argument("match", OBJECT, about="Which calls: service, operation, resource (patterns), from.", default=None),
    argument("do", OBJECT, about="The effect: error with status, throttle, drop, function, delay."),
    argument("after", Whole(0, 2**53), about="Number of matching calls to skip first.", default=0),
    argument("times", Whole(0, 2**53), about="Maximum number of calls it is injected into.", default=None),
    argument("probability", NUMBER, about="Share of the calls it is injected into, 0 to 1.", default=None),
    argument("seed", Whole(0, 2**53), about="Random seed.", default=0),
)
def add_fault(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Inject a fault."""
    return {"id": lab.bench.faults.add(read_rule(call.arguments, lab.bench.operations, lab.bench.errors()))}


@operation("list-faults", "GET /faults")
def list_faults(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The faults, each with the number of calls it matched and was injected into."""
    return {"faults": [shown_rule(entry) for entry in lab.bench.faults.book]}


@operation("remove-fault", "DELETE /faults/{id}")
def remove_fault(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Remove a fault."""
    lab.bench.faults.remove(call.path["id"])
    return {"removed": 1}


@operation("remove-faults", "DELETE /faults")
def remove_faults(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Remove all faults."""
    return {"removed": lab.bench.faults.clear()}


@operation(
    "add-mock",
    "POST /mocks",
    argument("function", about="service/function[.qualifier] or function[.qualifier].", default=""),
    argument(
        "step", about="Instead of a function: FLOW/STEP, a task whatever it calls; or STEP, in any flow.", default=""
    ),
    argument("action", about="Instead of a function: an action of tasks, such as MNS:SendMessage.", default=""),
    argument("answers", LIST, about=_ANSWERS_OF_MOCK, default=None),
    argument("then", about="What calls get after the last result: repeat, real or fail.", default="repeat"),
    argument("strict", FLAG, about="Refuse results that the mocked function or action cannot return.", default=False),
)
def add_mock(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Mock a function for all callers, or a task of a flow. The function or action need not exist."""
    return lab.bench.mocks.add(call.arguments).shown()


@operation("list-mocks", "GET /mocks")
def list_mocks(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The mocks."""
    return {"mocks": [mock.shown() for mock in lab.bench.mocks.by_id.values()]}


@operation("mock-calls", "GET /mocks/{id}/calls")
def mock_calls(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The calls that a mock answered or passed on, oldest first."""
    return {"calls": [shown_call(each) for each in lab.bench.calls_of_mock(call.path["id"])]}


@operation("remove-mock", "DELETE /mocks/{id}")
def remove_mock(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Remove a mock, so that the function runs again."""
    lab.bench.mocks.remove(call.path["id"])
    return {"removed": 1}


@operation("remove-mocks", "DELETE /mocks")
def remove_mocks(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Remove all mocks, so that functions run again."""
    return {"removed": lab.bench.mocks.clear()}


@operation("calls", "GET /calls/{service}/{function}")
@operation("calls", "GET /calls/{function}")
def calls(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The latest calls of a function, mocked or real, oldest first."""
    target = read_target("/".join(call.path.values()))
    return {
        "calls": [
            shown_call(each)
            for each in lab.bench.calls.of(target.name)
            if target.qualifier in {"", each.qualifier or "LATEST"}
        ]
    }


@operation("forget-calls", "DELETE /calls")
def forget_calls(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Delete the recorded calls of all functions."""
    removed = len(lab.bench.calls)
    lab.bench.calls.clear()
    return {"removed": removed}


@operation("add-sink", "POST /sinks", argument("answers", LIST, about=_ANSWERS_OF_SINK, default=None))
def add_sink(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Create an address that records the requests it receives; it needs no token."""
    return _shown_sink(lab, lab.bench.sinks.add(call.arguments["answers"] or []))


@operation("list-sinks", "GET /sinks")
def list_sinks(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The sinks."""
    return {"sinks": [{**_shown_sink(lab, sink), "received": sink.given} for sink in lab.bench.sinks.all()]}


@operation("sink", "GET /sinks/{id}")
async def get_sink(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """The requests a sink received, oldest first; signatures of pushes are verified."""
    sink = lab.bench.sinks.get(call.path["id"])
    requests = await lab.bench.sinks.received(sink, lab.bench.sign)
    return {**_shown_sink(lab, sink), "requests": [shown_request(each) for each in requests]}


@operation("remove-sink", "DELETE /sinks/{id}")
def remove_sink(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Remove a sink and its requests."""
    lab.bench.sinks.remove(call.path["id"])
    return {"removed": 1}


@operation("remove-sinks", "DELETE /sinks")
def remove_sinks(lab: Lab, call: OperationRequest) -> dict[str, Any]:
    """Remove all sinks."""
    return {"removed": lab.bench.sinks.clear()}


def _shown_sink(lab: Lab, sink: Sink) -> dict[str, Any]:
    return {"id": sink.id, "url": lab.bench.sinks.url(sink)}
