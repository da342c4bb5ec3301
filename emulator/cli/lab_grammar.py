"""The grammar of the lab: clock, traces, faults, mocks, sinks, checkpoints, accounts, explorations, usage."""

from argparse import SUPPRESS

from emulator.cli.parameters import at_least_one, duration, none_or_more, probability, whole_number
from emulator.cli.parser import Commands, command, group


def _add_clock(commands: Commands) -> None:
    clock = command(commands, "clock", "lab:clock", "print the emulator's time and the next events, or move the clock")
    clock.add_argument(
        "action",
        nargs="?",
        choices=("advance", "to", "next", "freeze", "unfreeze"),
        metavar="advance D|to T|next [N]|freeze|unfreeze",
        help="move, freeze or unfreeze the clock (default: print it); D is a duration such as 1h30m",
    )
    clock.add_argument("value", nargs="?", metavar="", help=SUPPRESS)
    settle = command(commands, "settle", "lab:settle", "wait until the emulator is idle")
    settle.add_argument(
        "--timeout", type=duration, default="5s", metavar="D", help="maximum real time to wait (default: 5s)"
    )
    skip = command(commands, "skip", "lab:skip", "move the clock from event to event until a condition holds")
    until = skip.alternatives()
    until.add_argument("--execution", metavar="FLOW[/EXECUTION]", help="stop when this execution has ended")
    until.add_argument("--queue", metavar="QUEUE", help="stop when this queue has visible messages")
    until.add_argument("--calls", metavar="[SERVICE/]FUNCTION", help="stop when this function has been called")
    skip.add_argument(
        "--visible", type=at_least_one, default=1, metavar="N", help="with --queue: number of messages (default: 1)"
    )
    skip.add_argument(
        "--count", type=at_least_one, default=1, metavar="N", help="with --calls: number of calls (default: 1)"
    )
    skip.add_argument(
        "--limit", type=duration, default="1h", metavar="D", help="maximum time to move the clock (default: 1h)"
    )
    skip.add_argument(
        "--timeout", type=duration, default="10s", metavar="D", help="maximum real time to wait (default: 10s)"
    )


def _add_trace(commands: Commands) -> None:
    trace = command(commands, "trace", "logs:trace", "print the causes and effects of a request")
    trace.add_argument("id", metavar="ID", help="a request, message or call id, or FLOW/EXECUTION")
    trace.add_argument("--otlp", metavar="URL", help="also send it as OpenTelemetry spans to this OTLP/HTTP address")


@group("fault", "inject faults into calls")
def _add_fault(actions: Commands) -> None:
    add = command(actions, "add", "lab:add_fault", "inject a fault")
    services = ("fc", "fnf", "mns", "oss", "ram", "sts", "http")
    add.add_argument("--service", choices=services, help="match only calls of this service")
    add.add_argument("--operation", metavar="NAME", help="match only this operation; * and ? are wildcards")
    add.add_argument("--resource", metavar="NAME", help="match only this resource; * and ? are wildcards")
    origins = ("client", "flow", "trigger", "push", "async")
    add.add_argument("--from", dest="origin", choices=origins, help="match only calls from this source")
    effect = add.alternatives()
    effect.add_argument("--error", "--code", metavar="CODE", help="return this error of the service")
    effect.add_argument("--throttle", action="store_true", help="return the service's throttling error")
    effect.add_argument(
        "--drop",
        nargs="?",
        const="before",
        choices=("before", "after"),
        help="close the connection before or after the call is served (default: before)",
    )
    effect.add_argument(
        "--function", choices=("timeout", "crash", "oom", "exception"), help="make the function fail in this way"
    )
    add.add_argument(
        "--status", type=whole_number, metavar="N", help="with --error: HTTP status (default: the error's own)"
    )
    add.add_argument("--delay", type=duration, metavar="D", help="delay the call by this duration")
    add.add_argument("--after", type=whole_number, metavar="N", help="skip the first N calls")
    add.add_argument("--times", type=whole_number, metavar="N", help="inject the fault at most N times")
    add.add_argument("--probability", type=probability, metavar="P", help="probability of the fault, from 0 to 1")
    add.add_argument("--seed", type=whole_number, metavar="N", help="random seed (default: 0)")
    command(actions, "list", "lab:list_faults", "list the faults")
    remove = command(actions, "remove", "lab:remove_fault", "remove a fault")
    remove.add_argument("name", metavar="ID", nargs="?", help="the fault (default: all)")


@group("mock", "mock functions and tasks of flows")
def _add_mock(actions: Commands) -> None:
    add = command(actions, "add", "lab:add_mock", "mock a function or a task; the function need not exist")
    add.add_argument("function", metavar="[SERVICE/]FUNCTION[.QUALIFIER]", nargs="?", help="the function")
    add.add_argument("--step", metavar="FLOW/STEP", help="mock this task of a flow, whatever it calls")
    add.add_argument("--action", metavar="SERVICE:OPERATION", help="mock this action, which tasks call")
    add.add_argument("--returns", action="append", metavar="JSON", help="value to return; repeatable, one per call")
    add.add_argument("--raises", metavar="ERROR[:MESSAGE]", help="error to return after the values")
    add.add_argument("--answers", metavar="FILE", help="file with a JSON list of results, as in the HTTP API")
    add.add_argument("--delay", type=duration, metavar="D", help="duration of a call, by the emulator's clock")
    add.add_argument(
        "--then", choices=("repeat", "real", "fail"), help="how to answer calls after the last result (default: repeat)"
    )
    add.add_argument(
        "--strict", action="store_true", help="refuse results that the mocked function or action cannot return"
    )
    command(actions, "list", "lab:list_mocks", "list the mocks")
    calls = command(actions, "calls", "lab:calls", "print the calls that a mock or a function has received")
    calls.add_argument("mock", metavar="ID|[SERVICE/]FUNCTION", help="the mock or function")
    remove = command(actions, "remove", "lab:remove_mock", "remove a mock")
    remove.add_argument("name", metavar="ID", nargs="?", help="the mock (default: all)")


@group("sink", "create addresses that record the requests they receive")
def _add_sink(actions: Commands) -> None:
    add = command(actions, "add", "lab:add_sink", "create a sink and print its address")
    add.add_argument(
        "--status",
        type=whole_number,
        action="append",
        metavar="N",
        help="HTTP status to return; repeatable, one per request",
    )
    command(actions, "list", "lab:list_sinks", "list the sinks")
    show = command(actions, "show", "lab:show_sink", "print what a sink has received")
    show.add_argument("name", metavar="ID|URL", help="the sink")
    show.add_argument("--full", action="store_true", help="print requests in full, with their headers")
    remove = command(actions, "remove", "lab:remove_sink", "remove a sink")
    remove.add_argument("name", metavar="ID", nargs="?", help="the sink (default: all)")


@group("checkpoint", "save the whole state under a name and restore it")
def _add_checkpoint(actions: Commands) -> None:
    command(actions, "save", "lab:save_checkpoint", "save the whole state under a name")
    command(actions, "restore", "lab:restore_checkpoint", "restore a checkpoint; running calls and steps are stopped")
    command(actions, "list", "lab:list_checkpoints", "list the checkpoints")
    command(actions, "delete", "lab:delete_checkpoint", "delete a checkpoint")
    export = command(actions, "export", "lab:export_checkpoint", "write a checkpoint or the current state to a file")
    export.add_argument("name", metavar="NAME", nargs="?", help="the checkpoint (default: the current state)")
    export.add_argument("file", metavar="FILE", help="the file to write")
    export.add_argument("--overwrite", action="store_true", help="overwrite the file if it exists")
    take_in = command(actions, "import", "lab:import_checkpoint", "import a file exported on this or another machine")
    take_in.add_argument("file", metavar="FILE", help="the file to read")
    take_in.add_argument(
        "name", metavar="NAME", nargs="?", help="name of the new checkpoint (default: restore it immediately)"
    )
    for name in ("save", "restore", "delete"):
        actions.parsers[name].add_argument("name", metavar="NAME", help="the checkpoint")


@group("account", "add, list and remove accounts")
def _add_account(actions: Commands) -> None:
    add = command(actions, "add", "server:add_account", "add an account and print its key")
    add.add_argument(
        "account", metavar="ID", nargs="?", default="", help="id of the account, digits only (default: generated)"
    )
    command(actions, "list", "server:list_accounts", "list the accounts with their keys")
    remove = command(actions, "remove", "server:remove_account", "delete an account, its key and its resources")
    remove.add_argument("account", metavar="ID", help="the account")


def _add_explore(commands: Commands) -> None:
    explore = command(
        commands, "explore", "explore:explore", "run a flow in every order of its effects and list the outcomes"
    )
    explore.add_argument("flow", metavar="FLOW", help="the flow")
    explore.add_argument("--input", default="{}", metavar="JSON", help="input of the execution (default: {})")
    explore.add_argument(
        "--deviations",
        type=none_or_more,
        default=2,
        metavar="N",
        help="maximum number of changes to the first order (default: 2); afterwards random orders follow, up to --runs",
    )
    explore.add_argument("--order", action="append", metavar="KINDS", help="kinds of effects to reorder (default: all)")
    explore.add_argument(
        "--faults",
        action="append",
        metavar="FAULTS",
        help="faults to inject into effects, such as lost-after,duplicate",
    )
    explore.add_argument(
        "--runs", type=at_least_one, default=500, metavar="N", help="maximum number of runs (default: 500)"
    )
    explore.add_argument("--mocks", metavar="FILE", help="file with a JSON list of mocks, as in the HTTP API")
    explore.add_argument(
        "--schedule", metavar="SCHEDULE", help="run only this order, such as 3:1,7:2, and keep the execution"
    )
    explore.add_argument(
        "--limit",
        type=duration,
        default="1d",
        metavar="D",
        help="maximum duration of a run, by the emulator's clock (default: 1d)",
    )
    explore.add_argument(
        "--patience",
        type=duration,
        default="1s",
        metavar="D",
        help="maximum real time to wait for a running function (default: 1s)",
    )
    explore.add_argument("--no-link", action="store_true", help="do not print the link to the outcomes in the console")


def _add_usage(commands: Commands) -> None:
    usage = command(commands, "usage", "usage:run", "print the usage that the cloud would bill")
    narrow = usage.alternatives()
    narrow.add_argument(
        "--execution", metavar="FLOW/EXECUTION", help="count only an execution and everything it caused"
    )
    narrow.add_argument("--deployment", metavar="NAME", help="count only the resources of a deployment")
    narrow.add_argument("--reset", action="store_true", help="reset the counters")
    usage.add_argument("--prices", metavar="FILE", help="also estimate the cost, with this price list in YAML")
    usage.add_argument(
        "--scale",
        type=float,
        default=1.0,
        metavar="N",
        help="multiply the usage by this factor, such as 1e6 (default: 1)",
    )


LAB_GROUPS = (
    ({"explore"}, _add_explore),
    ({"clock", "settle", "skip"}, _add_clock),
    ({"trace"}, _add_trace),
    ({"usage"}, _add_usage),
    ({"fault"}, _add_fault),
    ({"mock"}, _add_mock),
    ({"sink"}, _add_sink),
    ({"checkpoint"}, _add_checkpoint),
    ({"account"}, _add_account),
)
"""Functions that add groups of commands."""
