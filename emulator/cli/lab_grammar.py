"""The part of the grammar that turns the clock, breaks calls and looks into what happened."""

from argparse import SUPPRESS

from emulator.cli.parser import Commands, command, group


def _add_clock(commands: Commands) -> None:
    clock = command(commands, "clock", "lab:clock", "print the emulator's time and what comes, or move it")
    clock.add_argument(
        "action",
        nargs="?",
        choices=("advance", "to", "next", "freeze", "unfreeze"),
        metavar="advance D|to T|next [N]|freeze|unfreeze",
        help="how to change it (default: only look)",
    )
    clock.add_argument("value", nargs="?", metavar="", help=SUPPRESS)
    settle = command(commands, "settle", "lab:settle", "wait until the emulator is idle")
    settle.add_argument("--timeout", default="5s", metavar="D", help="real time to wait at the most (default: 5s)")
    skip = command(commands, "skip", "lab:skip", "jump from event to event until nothing is left to happen")
    until = skip.add_mutually_exclusive_group()
    until.add_argument("--execution", metavar="FLOW[/EXECUTION]", help="until this execution has ended")
    until.add_argument("--queue", metavar="QUEUE", help="until this queue has visible messages")
    until.add_argument("--calls", metavar="[SERVICE/]FUNCTION", help="until this function has been called")
    skip.add_argument("--visible", type=int, default=1, metavar="N", help="with --queue: so many (default: 1)")
    skip.add_argument("--count", type=int, default=1, metavar="N", help="with --calls: so often (default: 1)")
    skip.add_argument("--limit", default="1h", metavar="D", help="emulator's time that may pass (default: 1h)")
    skip.add_argument("--timeout", default="10s", metavar="D", help="real time to wait at the most (default: 10s)")


def _add_trace(commands: Commands) -> None:
    trace = command(commands, "trace", "logs:trace", "print what caused a request and what came of it")
    trace.add_argument("id", metavar="ID", help="a request, message or call id, or FLOW/EXECUTION")
    trace.add_argument("--otlp", metavar="URL", help="also send it as OpenTelemetry spans to this OTLP/HTTP address")


@group("fault", "inject faults into calls")
def _add_fault(actions: Commands) -> None:
    add = command(actions, "add", "lab:add_fault", "inject a fault")
    services = ("fc", "fnf", "mns", "oss", "ram", "sts", "http")
    add.add_argument("--service", choices=services, help="only calls of this service")
    add.add_argument("--operation", metavar="NAME", help="only this operation; * and ? stand for anything")
    add.add_argument("--resource", metavar="NAME", help="only this resource; * and ? stand for anything")
    origins = ("client", "flow", "trigger", "push", "async")
    add.add_argument("--from", dest="origin", choices=origins, help="only calls that come from there")
    effect = add.add_mutually_exclusive_group()
    effect.add_argument("--error", "--code", metavar="CODE", help="answer with this error of the service")
    effect.add_argument("--throttle", action="store_true", help="answer that there are too many calls")
    effect.add_argument(
        "--drop", nargs="?", const="before", choices=("before", "after"), help="close the connection, before the work"
    )
    effect.add_argument("--function", choices=("timeout", "crash", "oom", "exception"), help="break the function")
    add.add_argument("--status", type=int, metavar="N", help="with --error: HTTP status (default: the error's own)")
    add.add_argument("--delay", metavar="D", help="wait so long first")
    add.add_argument("--after", type=int, metavar="N", help="leave the first N calls alone")
    add.add_argument("--times", type=int, metavar="N", help="only so many times")
    add.add_argument("--probability", type=float, metavar="P", help="only to that part of the calls, 0 to 1")
    add.add_argument("--seed", type=int, metavar="N", help="what the draws follow from (default: 0)")
    command(actions, "list", "lab:list_faults", "list the faults")
    remove = command(actions, "remove", "lab:remove_fault", "remove a fault")
    remove.add_argument("name", metavar="ID", nargs="?", help="default: all")


@group("mock", "answer calls of functions in their place")
def _add_mock(actions: Commands) -> None:
    add = command(actions, "add", "lab:add_mock", "answer calls of a function, which need not exist")
    add.add_argument("function", metavar="[SERVICE/]FUNCTION[.QUALIFIER]", nargs="?", help="the function")
    add.add_argument("--step", metavar="FLOW/STEP", help="in place of a function: a task of a flow, whatever it calls")
    add.add_argument("--action", metavar="SERVICE:OPERATION", help="in place of a function: what tasks call")
    add.add_argument("--returns", action="append", metavar="JSON", help="return this; several are given in turn")
    add.add_argument("--raises", metavar="[TYPE:]MESSAGE", help="fail like this, after what is returned")
    add.add_argument("--answers", metavar="FILE", help="a JSON list of answers as in the HTTP API")
    add.add_argument("--delay", metavar="D", help="take so long, by the emulator's clock")
    add.add_argument("--then", choices=("repeat", "real", "fail"), help="after the last answer (default: repeat)")
    add.add_argument("--strict", action="store_true", help="refuse answers that what is mocked does not give")
    command(actions, "list", "lab:list_mocks", "list the mocks")
    calls = command(actions, "calls", "lab:calls", "print the calls that a mock or a function has had")
    calls.add_argument("mock", metavar="ID|[SERVICE/]FUNCTION", help="the mock or function")
    remove = command(actions, "remove", "lab:remove_mock", "let a function answer again")
    remove.add_argument("name", metavar="ID", nargs="?", help="default: all")


@group("sink", "make addresses that keep what they are sent")
def _add_sink(actions: Commands) -> None:
    add = command(actions, "add", "lab:add_sink", "make an address to send to and print it")
    add.add_argument("--status", type=int, action="append", metavar="N", help="answer this; several are given in turn")
    command(actions, "list", "lab:list_sinks", "list the sinks")
    show = command(actions, "show", "lab:show_sink", "print what a sink has received")
    show.add_argument("name", metavar="ID|URL", help="the sink")
    show.add_argument("--full", action="store_true", help="all of each request, with its headers")
    remove = command(actions, "remove", "lab:remove_sink", "remove a sink")
    remove.add_argument("name", metavar="ID", nargs="?", help="default: all")


@group("checkpoint", "keep the whole state under a name and put it back")
def _add_checkpoint(actions: Commands) -> None:
    command(actions, "save", "lab:save_checkpoint", "keep the whole state under a name")
    command(actions, "restore", "lab:restore_checkpoint", "put a state back; what runs is ended")
    command(actions, "list", "lab:list_checkpoints", "list the checkpoints")
    command(actions, "delete", "lab:delete_checkpoint", "forget a checkpoint")
    export = command(actions, "export", "lab:export_checkpoint", "write a checkpoint, or the present state, to a file")
    export.add_argument("name", metavar="NAME", nargs="?", help="the checkpoint (default: the present state)")
    export.add_argument("file", metavar="FILE", help="the file to write")
    take_in = command(actions, "import", "lab:import_checkpoint", "take in what export has written, here or elsewhere")
    take_in.add_argument("file", metavar="FILE", help="the file to read")
    take_in.add_argument(
        "name", metavar="NAME", nargs="?", help="make it a checkpoint of this name (default: restore it at once)"
    )
    for name in ("save", "restore", "delete"):
        actions.choices[name].add_argument("name", metavar="NAME", help="the checkpoint")


@group("account", "work with accounts beside the emulator's own")
def _add_account(actions: Commands) -> None:
    add = command(actions, "add", "server:add_account", "add an account and print its key")
    add.add_argument("account", metavar="ID", nargs="?", default="", help="its id, digits (default: generated)")
    command(actions, "list", "server:list_accounts", "list the accounts with their keys")
    remove = command(actions, "remove", "server:remove_account", "forget an account, its key and what it has made")
    remove.add_argument("account", metavar="ID", help="the account")


def _add_explore(commands: Commands) -> None:
    explore = command(
        commands, "explore", "explore:explore", "run a flow in every order of its effects; list what comes out"
    )
    explore.add_argument("flow", metavar="FLOW", help="the flow")
    explore.add_argument("--input", default="{}", metavar="JSON", help="input of the execution (default: {})")
    explore.add_argument(
        "--deviations", type=int, default=2, metavar="N", help="choices that differ from the first order (default: 2)"
    )
    explore.add_argument("--order", metavar="KINDS", help="kinds of effects whose order is chosen (default: all)")
    explore.add_argument("--faults", metavar="VERDICTS", help="verdicts on effects, such as lost-after,duplicate")
    explore.add_argument("--runs", type=int, default=500, metavar="N", help="so many runs at the most (default: 500)")
    explore.add_argument("--mocks", metavar="FILE", help="a JSON list of mocks as in the HTTP API")
    explore.add_argument(
        "--schedule", metavar="SCHEDULE", help="run this schedule alone, such as 3:1,7:2, and keep the execution"
    )
    explore.add_argument("--limit", default="1d", metavar="D", help="emulator's time that a run may take (default: 1d)")
    explore.add_argument(
        "--patience", default="1s", metavar="D", help="real time that a function may hold others up (default: 1s)"
    )


def _add_usage(commands: Commands) -> None:
    usage = command(commands, "usage", "usage:run", "print what the cloud would meter for what has run")
    narrow = usage.add_mutually_exclusive_group()
    narrow.add_argument("--execution", metavar="FLOW/EXECUTION", help="only an execution with all that came of it")
    narrow.add_argument("--deployment", metavar="NAME", help="only the resources of a deployment")
    narrow.add_argument("--reset", action="store_true", help="set the counters to 0")
    usage.add_argument("--prices", metavar="FILE", help="also estimate the cost by this list of prices, YAML")
    usage.add_argument(
        "--scale", type=float, default=1.0, metavar="N", help="so many times what has run, such as 1e6 (default: 1)"
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
"""Commands that are built together."""
