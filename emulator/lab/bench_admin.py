"""The admin operations of faults, mocks, recorded calls and sinks."""

from typing import Any

from emulator.lab.bench import Bench
from emulator.lab.calls import shown_call
from emulator.lab.faults import read_rule, shown_rule
from emulator.lab.mocks import read_target
from emulator.lab.sinks import Sink, shown_request
from emulator.wire.operation import Parameter, operation
from emulator.wire.request import OperationRequest

_ANSWERS_OF_MOCK = "Each is {return}, {error: {errorType, errorMessage}}, with delay or without; given in turn."
_ANSWERS_OF_SINK = "Each has status, headers, body, delay or drop; given in turn, the last again and again."


# --- faults ----------------------------------------------------------------------------------------------------------


@operation(
    "add-fault",
    "POST /faults",
    Parameter("match", dict, about="Which calls: service, operation, resource (patterns), from.", default=None),
    Parameter("do", dict, about="What happens: error with status, throttle, drop, function, delay."),
    Parameter("after", int, about="So many calls that match are left alone first.", default=0, most=2**53),
    Parameter("times", int, about="How many calls it happens to.", default=None, most=2**53),
    Parameter("probability", float, about="To what part of the calls it happens.", default=None),
    Parameter("seed", int, about="What the draws follow from.", default=0, most=2**53),
)
def add_fault(bench: Bench, call: OperationRequest) -> dict[str, Any]:
    """Let calls go wrong."""
    return {"id": bench.add_fault(read_rule(call.arguments))}


@operation("list-faults", "GET /faults")
def list_faults(bench: Bench, call: OperationRequest) -> dict[str, Any]:
    """The faults there are, with how many calls each has matched and struck."""
    del call
    return {"faults": [shown_rule(entry) for entry in bench.faults.book]}


@operation("remove-fault", "DELETE /faults/{id}")
def remove_fault(bench: Bench, call: OperationRequest) -> dict[str, Any]:
    """Remove a fault."""
    bench.remove_fault(call.path["id"])
    return {"removed": 1}


@operation("remove-faults", "DELETE /faults")
def remove_faults(bench: Bench, call: OperationRequest) -> dict[str, Any]:
    """Remove all faults."""
    del call
    return {"removed": bench.clear_faults()}


# --- mocks and calls -------------------------------------------------------------------------------------------------


@operation(
    "add-mock",
    "POST /mocks",
    Parameter("function", about="service/function[.qualifier] or function[.qualifier]."),
    Parameter("answers", list, about=_ANSWERS_OF_MOCK, default=None),
    Parameter("then", about="What follows the last answer: repeat, real or fail.", default="repeat"),
)
def add_mock(bench: Bench, call: OperationRequest) -> dict[str, Any]:
    """Answer calls of a function, from anywhere, in its place; it need not exist."""
    return bench.mocks.add(call.arguments).shown()


@operation("list-mocks", "GET /mocks")
def list_mocks(bench: Bench, call: OperationRequest) -> dict[str, Any]:
    """The mocks there are."""
    del call
    return {"mocks": [mock.shown() for mock in bench.mocks.by_id.values()]}


@operation("mock-calls", "GET /mocks/{id}/calls")
def mock_calls(bench: Bench, call: OperationRequest) -> dict[str, Any]:
    """The calls that a mock has answered or let through, oldest first."""
    return {"calls": [shown_call(each) for each in bench.mocks.get(call.path["id"]).calls]}


@operation("remove-mock", "DELETE /mocks/{id}")
def remove_mock(bench: Bench, call: OperationRequest) -> dict[str, Any]:
    """Let the function answer again."""
    bench.mocks.remove(call.path["id"])
    return {"removed": 1}


@operation("remove-mocks", "DELETE /mocks")
def remove_mocks(bench: Bench, call: OperationRequest) -> dict[str, Any]:
    """Let all functions answer again."""
    del call
    return {"removed": bench.mocks.clear()}


@operation("calls", "GET /calls/{service}/{function}")
@operation("calls", "GET /calls/{function}")
def calls(bench: Bench, call: OperationRequest) -> dict[str, Any]:
    """The latest calls of a function, mocked or real, oldest first."""
    target = read_target("/".join(call.path.values()))
    return {
        "calls": [
            shown_call(each)
            for each in bench.calls.of(target.name)
            if target.qualifier in {"", each.qualifier or "LATEST"}
        ]
    }


@operation("forget-calls", "DELETE /calls")
def forget_calls(bench: Bench, call: OperationRequest) -> dict[str, Any]:
    """Forget the recorded calls of all functions."""
    del call
    removed = len(bench.calls)
    bench.calls.clear()
    return {"removed": removed}


# --- sinks -----------------------------------------------------------------------------------------------------------


@operation("add-sink", "POST /sinks", Parameter("answers", list, about=_ANSWERS_OF_SINK, default=None))
def add_sink(bench: Bench, call: OperationRequest) -> dict[str, Any]:
    """Make an address that keeps what it is sent; it needs no token."""
    return _shown(bench, bench.sinks.add(call.arguments["answers"] or []))


@operation("list-sinks", "GET /sinks")
def list_sinks(bench: Bench, call: OperationRequest) -> dict[str, Any]:
    """The sinks there are."""
    del call
    return {"sinks": [{**_shown(bench, sink), "received": sink.given} for sink in bench.sinks.all()]}


@operation("sink", "GET /sinks/{id}")
async def get_sink(bench: Bench, call: OperationRequest) -> dict[str, Any]:
    """What a sink has received, oldest first, with the signatures of pushes checked."""
    sink = bench.sinks.get(call.path["id"])
    requests = await bench.sinks.received(sink, bench.sign)
    return {**_shown(bench, sink), "requests": [shown_request(each) for each in requests]}


@operation("remove-sink", "DELETE /sinks/{id}")
def remove_sink(bench: Bench, call: OperationRequest) -> dict[str, Any]:
    """Remove a sink with what it has received."""
    bench.sinks.remove(call.path["id"])
    return {"removed": 1}


@operation("remove-sinks", "DELETE /sinks")
def remove_sinks(bench: Bench, call: OperationRequest) -> dict[str, Any]:
    """Remove all sinks."""
    del call
    return {"removed": bench.sinks.clear()}


def _shown(bench: Bench, sink: Sink) -> dict[str, Any]:
    return {"id": sink.id, "url": bench.sinks.url(sink)}
