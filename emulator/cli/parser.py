"""The grammar of the command line. Nothing is done here: each command names the function that does it.

Texts stand here in English; `build` puts them into the user's language. A command or option that does not exist is
answered with the nearest one that does.
"""

from argparse import (
    REMAINDER,
    SUPPRESS,
    Action,
    ArgumentError,
    ArgumentParser,
    BooleanOptionalAction,
    Namespace,
    RawDescriptionHelpFormatter,
    _SubParsersAction,
)
from collections.abc import Iterable, Sequence

from emulator.cli.output import _, is_translated
from emulator.config import OPTIONS, Option

_DESCRIPTION = "Function Compute, Message Service and Serverless Workflow of Alibaba Cloud on your own machine."
_EPILOG = """exit codes: 0 done, 1 failed, 2 wrong usage, 3 no emulator answered

Every option of start can also be given as an environment variable (LOCALYUN_PORT for --port) or in localyun.yaml."""

_Commands = _SubParsersAction


class Parser(ArgumentParser):
    """Suggests the nearest command for one that does not exist."""

    def _check_value(self, action: Action, value: object) -> None:
        if isinstance(action, _SubParsersAction) and value not in action.choices:
            text = _("there is no {value!r}{suggestion}")
            raise ArgumentError(None, text.format(value=value, suggestion=_nearest(str(value), action.choices)))
        super()._check_value(action, value)


def _nearest(word: str, names: Iterable[str]) -> str:
    import difflib  # for an error message only

    near = difflib.get_close_matches(word, list(names), n=1, cutoff=0.5)
    return _("; did you mean {name}?", name=near[0]) if near else ""


def parse(arguments: Sequence[str]) -> Namespace:
    """Read *arguments*; ``run`` of the result is the ``module:function`` of the command, or None.

    Ends the process itself for ``--help`` and wrong usage.
    """
    parsed, unknown = build(arguments[0] if arguments else "").parse_known_args(arguments)
    if unknown:
        command: ArgumentParser = parsed.help_of
        option = next((word for word in unknown if word.startswith("-")), "").partition("=")[0]
        text = _("unrecognized arguments: {words}{suggestion}")
        suggestion = _nearest(option, command._option_string_actions) if option else ""
        command.error(text.format(words=" ".join(unknown), suggestion=suggestion))
    return parsed


def build(command: str = "") -> ArgumentParser:
    """Return the grammar: the part that *command* needs, or all of it when there is no such command.

    The whole grammar takes several milliseconds to build, which ``start`` would pay for nothing.
    """
    translated = is_translated()  # before the first parser, whose own texts come from argparse
    parser = Parser(
        prog="localyun", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="store_const", dest="run", const="info:version", help="print the version")
    parser.set_defaults(run=None, help_of=parser)
    # With a name for the usage line argparse need not format one, for which it would load shutil and more.
    commands: _Commands[ArgumentParser] = parser.add_subparsers(  # type: ignore[assignment]  # invariant
        title="commands", metavar="COMMAND", prog=parser.prog
    )
    wanted = [add for names, add in _GROUPS if command in names] or [add for _, add in _GROUPS]
    for add in wanted:
        add(commands)
    if translated:
        _translate(parser)
    return parser


def _translate(parser: ArgumentParser) -> None:
    """Put the texts of *parser* and of its commands into the user's language."""
    for name in ("description", "epilog"):
        if text := getattr(parser, name):
            setattr(parser, name, _(text))
    for group in parser._action_groups:
        group.title = _(group.title) if group.title else group.title
    for action in parser._actions:
        action.help = _(action.help) if action.help else action.help
        if isinstance(action, _SubParsersAction):
            for choice in action._choices_actions:
                choice.help = _(choice.help or "")
                command = action.choices[choice.dest]
                _translate(command)
                command.description = _("{summary}.", summary=choice.help)


def _command(
    commands: "_Commands[ArgumentParser]", name: str, run: str, summary: str, *, prints_data: bool = True
) -> ArgumentParser:
    """Add a client command: it takes ``--state``, and ``--json`` when it prints data."""
    command = commands.add_parser(name, help=summary, description=_sentence(summary))
    command.set_defaults(run=run, help_of=command)
    _add_option(command, next(option for option in OPTIONS if option.name == "state"))
    if prints_data:
        command.add_argument("--json", action="store_true", help="print JSON")
    return command


def _sentence(summary: str) -> str:
    return summary[0].upper() + summary[1:] + "."


def _add_option(command: ArgumentParser, option: Option) -> None:
    if option.is_switch:
        command.add_argument(option.flag, action=BooleanOptionalAction, default=None, help=option.help)
    elif option.choices:
        command.add_argument(option.flag, choices=option.choices, help=option.help)
    else:
        command.add_argument(option.flag, metavar=option.metavar, help=option.help)


def _add_start(commands: "_Commands[ArgumentParser]") -> None:
    summary = "start an emulator in the foreground, or with -d in the background"
    start = commands.add_parser("start", help=summary, description=_sentence(summary))
    start.set_defaults(run="start:run", help_of=start)
    for option in OPTIONS:
        if option.has_flag:
            _add_option(start, option)
    start.add_argument("--json", action="store_true", help="print JSON")
    start.add_argument("-d", "--detach", action="store_true", help="go to the background once calls are served")


def _add_server_commands(commands: "_Commands[ArgumentParser]") -> None:
    _command(commands, "stop", "server:stop", "stop the emulator")
    _command(commands, "status", "server:status", "print what is running and what it serves")
    _command(commands, "list", "server:show_list", "list the emulators of this user")
    env = _command(commands, "env", "info:env", "print the variables that point programs at the emulator")
    env.add_argument(
        "--shell",
        choices=("sh", "fish", "powershell", "dotenv"),
        help="whose syntax to print (default: fish if that is your shell, else sh)",
    )
    _command(commands, "config", "info:config", "print every setting and where its value comes from")
    reset = _command(commands, "reset", "server:reset", "delete everything but functions of the folder and the keys")
    reset.add_argument("-y", "--yes", action="store_true", help="do not ask")
    scope = reset.add_mutually_exclusive_group()
    scope.add_argument("--service", choices=("fc", "fnf", "mns", "oss", "ram"), help="only what this service keeps")
    scope.add_argument("--queue", metavar="QUEUE", help="only the messages of a queue")
    scope.add_argument("--topic", metavar="TOPIC", help="only the deliveries of a topic")
    scope.add_argument("--flow", metavar="FLOW", help="only the executions of a flow")
    scope.add_argument("--function", metavar="SERVICE/FUNCTION", help="only the calls and instances of a function")
    summary = "print a script that completes commands, options and names in your shell"
    completion = _command(commands, "completion", "completion:run", summary, prints_data=False)
    completion.add_argument("shell", choices=("bash", "zsh", "fish", "words"), metavar="bash|zsh|fish")
    completion.add_argument("words", nargs=REMAINDER, metavar="", help=SUPPRESS)
    _command(commands, "version", "info:version", "print the version")


def _add_diagnosis(commands: "_Commands[ArgumentParser]") -> None:
    _command(commands, "doctor", "doctor:run", "look for what is wrong on this machine, and say what to do about it")
    support = _command(commands, "support", "doctor:support", "pack logs, settings and versions, without secrets")
    support.add_argument("--output", metavar="FILE", help="the archive (default: localyun-support-TIME.zip)")


def _add_function_commands(commands: "_Commands[ArgumentParser]") -> None:
    logs = _command(commands, "logs", "logs:run", "print what functions have logged")
    logs.add_argument("function", nargs="?", default="", metavar="SERVICE/FUNCTION", help="only this function's lines")
    logs.add_argument("-f", "--follow", action="store_true", help="go on printing new lines")
    logs.add_argument("-n", "--lines", type=int, default=100, help="how many earlier lines (default: 100)")
    logs.add_argument("--request", default="", metavar="ID", help="instead: everything recent that came of a request")
    invoke = _command(commands, "invoke", "invoke:run", "call a function and print what it returns")
    invoke.add_argument("function", metavar="[SERVICE[.QUALIFIER]/]FUNCTION", help="the function to call")
    event = invoke.add_mutually_exclusive_group()
    event.add_argument("--event", metavar="TEXT", help="the event (default: empty)")
    event.add_argument("--event-file", metavar="FILE", help="file that holds the event, - for standard input")
    invoke.add_argument("--log", action="store_true", help="print the call's log on standard error")
    invoke.add_argument(
        "--debug", action="store_true", help="run the call in an instance that a debugger can attach to"
    )
    invoke.add_argument(
        "--debug-port", type=int, default=0, metavar="PORT", help="with --debug: where (default: any free port)"
    )
    invoke.add_argument(
        "--no-wait", dest="wait", action="store_false", help="with --debug: run before a debugger has attached"
    )


def _add_trigger(commands: "_Commands[ArgumentParser]") -> None:
    trigger = commands.add_parser("trigger", help="list the triggers of functions and fire them by hand")
    trigger.set_defaults(help_of=trigger)
    actions = trigger.add_subparsers(title="actions", metavar="ACTION")
    _command(actions, "list", "invoke:list_triggers", "list triggers with the addresses of those for HTTP")
    fire = _command(actions, "fire", "invoke:fire", "call a trigger's function now and print what it returns")
    fire.add_argument("function", metavar="[SERVICE/]FUNCTION", help="the function the trigger belongs to")
    fire.add_argument("trigger", metavar="TRIGGER", help="name of the trigger")
    event = fire.add_mutually_exclusive_group()
    event.add_argument(
        "--payload", metavar="TEXT", help="a timer's payload, a message's body, an object's key, a request's body"
    )
    event.add_argument("--event-file", metavar="FILE", help="file that holds the whole event, - for standard input")
    fire.add_argument("--log", action="store_true", help="print the call's log on standard error")


def _add_flow(commands: "_Commands[ArgumentParser]") -> None:
    flow = commands.add_parser("flow", help="work with flows and their executions")
    flow.set_defaults(help_of=flow)
    actions = flow.add_subparsers(title="actions", metavar="ACTION")
    start = _command(actions, "start", "flow:start", "start an execution")
    start.add_argument("flow", metavar="FLOW")
    start.add_argument("--input", default="{}", metavar="JSON", help="input of the execution (default: {})")
    start.add_argument("--name", metavar="EXECUTION", help="name of the execution (default: generated)")
    start.add_argument("--follow", action="store_true", help="print each step as it ends and wait for the end")
    start.add_argument("--events", action="store_true", help="with --follow: print each event instead")
    start.add_argument("--full", action="store_true", help="with --follow: do not cut long lines")
    history = _command(actions, "history", "flow:history", "print the steps of an execution as a tree")
    history.add_argument("flow", metavar="FLOW")
    history.add_argument("execution", metavar="EXECUTION", nargs="?", help="default: the one started last")
    history.add_argument("--events", action="store_true", help="print each event instead of the tree of steps")
    history.add_argument("--full", action="store_true", help="do not cut long lines")
    graph = _command(actions, "graph", "graph:run", "draw a flow, or one of its executions")
    graph.add_argument("flow", metavar="FLOW")
    graph.add_argument(
        "--execution", nargs="?", const="", metavar="EXECUTION", help="show how its steps went (default: the last one)"
    )
    graph.add_argument("--format", choices=("svg", "mermaid"), default="svg", help="what to write (default: svg)")
    graph.add_argument("--output", metavar="FILE", help="default: FLOW.svg or FLOW.mmd; - for standard output")
    graph.add_argument("--open", action="store_true", help="open the picture in the browser")
    check = _command(actions, "check", "flow_check:run", "check a definition without a server")
    check.add_argument("file", metavar="FILE", help="definition in YAML, - for standard input")
    listing = _command(actions, "list", "flow:show_list", "list flows, or the executions of one flow")
    listing.add_argument("flow", metavar="FLOW", nargs="?")
    describe = _command(actions, "describe", "flow:describe", "print a flow, or one of its executions")
    describe.add_argument("flow", metavar="FLOW")
    describe.add_argument("execution", metavar="EXECUTION", nargs="?")
    create = _command(actions, "create", "flow:create", "create a flow from a file, or update it")
    create.add_argument("flow", metavar="FLOW")
    create.add_argument("file", metavar="FILE", help="definition in YAML; {accountID} in it becomes the account's id")
    create.add_argument("--description", default="", help="what the flow is for")
    create.add_argument("--role-arn", default="", help="role the flow acts in")
    create.add_argument("--update", action="store_true", help="update the flow when it exists")
    delete = _command(actions, "delete", "flow:delete", "delete a flow")
    delete.add_argument("flow", metavar="FLOW")
    schedules = _command(actions, "schedules", "flow:schedules", "list the schedules of a flow")
    schedules.add_argument("flow", metavar="FLOW")
    fire = _command(actions, "fire", "flow:fire", "run a schedule of a flow now")
    fire.add_argument("flow", metavar="FLOW")
    fire.add_argument("schedule", metavar="SCHEDULE")
    stop = _command(actions, "stop", "flow:stop", "stop an execution")
    stop.add_argument("flow", metavar="FLOW")
    stop.add_argument("execution", metavar="EXECUTION")
    stop.add_argument("--error", default="", help="error name to record")
    stop.add_argument("--cause", default="", help="cause to record")


def _add_queue(commands: "_Commands[ArgumentParser]") -> None:
    queue = commands.add_parser("queue", help="work with queues and their messages")
    queue.set_defaults(help_of=queue)
    actions = queue.add_subparsers(title="actions", metavar="ACTION")
    create = _command(actions, "create", "queue:create", "create a queue")
    _add_queue_attributes(create)
    _command(actions, "delete", "queue:delete", "delete a queue and its messages")
    listing = _command(actions, "list", "queue:show_list", "list queues with the numbers of their messages")
    listing.add_argument("--prefix", default="", metavar="TEXT", help="only names that begin with this")
    send = _command(actions, "send", "queue:send", "send a message")
    receive = _command(actions, "receive", "queue:receive", "receive messages and hide them for a while")
    peek = _command(actions, "peek", "queue:peek", "print visible messages and change nothing")
    _command(actions, "purge", "queue:purge", "delete every message of a queue, hidden and delayed ones too")
    attributes = _command(
        actions, "attributes", "queue:attributes", "print the attributes of a queue, after changing those given"
    )
    _add_queue_attributes(attributes)
    for name in ("create", "delete", "send", "receive", "peek", "purge", "attributes"):
        actions.choices[name].add_argument("queue", metavar="QUEUE")
    _add_body(send)
    send.add_argument("--delay-seconds", type=int, metavar="N", help="visible only then (default: the queue's delay)")
    send.add_argument("--priority", type=int, metavar="N", help="1 to 16, smaller is earlier (default: 8)")
    for getter in (receive, peek):
        getter.add_argument("-n", "--number", type=int, default=1, help="at most so many, up to 16 (default: 1)")
        getter.add_argument("--base64", action="store_true", help="decode bodies, as the Python and Java SDKs do")
    receive.add_argument("--wait", type=int, metavar="N", help="wait up to N seconds for the first (default: queue's)")
    receive.add_argument("--delete", action="store_true", help="delete what was received after printing it")


def _add_queue_attributes(command: ArgumentParser) -> None:
    command.add_argument("--delay-seconds", type=int, metavar="N", help="messages become visible N seconds after sent")
    command.add_argument("--maximum-message-size", type=int, metavar="N", help="largest body, in bytes")
    command.add_argument("--message-retention-period", type=int, metavar="N", help="messages live N seconds")
    command.add_argument("--visibility-timeout", type=int, metavar="N", help="a receive hides for N seconds")
    command.add_argument("--polling-wait-seconds", type=int, metavar="N", help="a receive waits N seconds by itself")
    command.add_argument("--logging-enabled", action=BooleanOptionalAction, help="kept, without effect")


def _add_body(command: ArgumentParser) -> None:
    command.add_argument("body", metavar="BODY", help="the message, - for standard input")
    command.add_argument("--base64", action="store_true", help="encode the body, as the Python and Java SDKs expect")
    command.add_argument("--group", metavar="ID", help="message group, for FIFO")


def _add_topic(commands: "_Commands[ArgumentParser]") -> None:
    topic = commands.add_parser("topic", help="work with topics, subscriptions and deliveries")
    topic.set_defaults(help_of=topic)
    actions = topic.add_subparsers(title="actions", metavar="ACTION")
    create = _command(actions, "create", "topic:create", "create a topic")
    create.add_argument("--maximum-message-size", type=int, metavar="N", help="largest body, in bytes")
    create.add_argument("--logging-enabled", action=BooleanOptionalAction, help="kept, without effect")
    _command(actions, "delete", "topic:delete", "delete a topic and its subscriptions")
    listing = _command(actions, "list", "topic:show_list", "list topics")
    listing.add_argument("--prefix", default="", metavar="TEXT", help="only names that begin with this")
    publish = _command(actions, "publish", "topic:publish", "publish a message")
    subscribe = _command(actions, "subscribe", "topic:subscribe", "subscribe an endpoint to a topic")
    _command(actions, "unsubscribe", "topic:unsubscribe", "end a subscription")
    _command(actions, "subscriptions", "topic:subscriptions", "list the subscriptions of a topic")
    deliveries = _command(actions, "deliveries", "topic:deliveries", "print what became of messages for a subscription")
    outbox = _command(actions, "outbox", "topic:outbox", "print mails and short messages, which are never sent")
    for name in ("create", "delete", "publish", "subscribe", "unsubscribe", "subscriptions", "deliveries"):
        actions.choices[name].add_argument("topic", metavar="TOPIC")
    for name in ("subscribe", "unsubscribe", "deliveries"):
        actions.choices[name].add_argument("subscription", metavar="SUBSCRIPTION")
    _add_body(publish)
    publish.add_argument("--tag", metavar="TAG", help="tag that subscriptions filter by")
    subscribe.add_argument("endpoint", metavar="ENDPOINT", help="queue:NAME, an http URL, or another form of the API")
    subscribe.add_argument("--tag", metavar="TAG", help="only messages with this tag")
    subscribe.add_argument(
        "--strategy",
        choices=("BACKOFF_RETRY", "EXPONENTIAL_DECAY_RETRY"),
        help="when a failed push is tried again (default: BACKOFF_RETRY)",
    )
    subscribe.add_argument(
        "--format", choices=("XML", "JSON", "SIMPLIFIED"), help="what is pushed (default: XML); SIMPLIFIED is the body"
    )
    deliveries.add_argument("--full", action="store_true", help="all of each delivery: body, URL, headers")
    for shown in (deliveries, outbox):
        shown.add_argument("-n", "--number", type=int, default=100, help="at most so many (default: 100)")


def _add_clock(commands: "_Commands[ArgumentParser]") -> None:
    clock = _command(commands, "clock", "clock:clock", "print the emulator's time and what comes, or move it")
    clock.add_argument(
        "action",
        nargs="?",
        choices=("advance", "to", "next", "freeze", "unfreeze"),
        metavar="advance D|to T|next [N]|freeze|unfreeze",
        help="how to change it (default: only look)",
    )
    clock.add_argument("value", nargs="?", metavar="", help=SUPPRESS)
    settle = _command(commands, "settle", "clock:settle", "wait until nothing works any more")
    settle.add_argument("--timeout", default="5s", metavar="D", help="real time to wait at the most (default: 5s)")
    skip = _command(commands, "skip", "clock:skip", "jump from event to event until nothing is left to happen")
    until = skip.add_mutually_exclusive_group()
    until.add_argument("--execution", metavar="FLOW/EXECUTION", help="until this execution has ended")
    until.add_argument("--queue", metavar="QUEUE", help="until this queue has visible messages")
    until.add_argument("--calls", metavar="[SERVICE/]FUNCTION", help="until this function has been called")
    skip.add_argument("--visible", type=int, default=1, metavar="N", help="with --queue: so many (default: 1)")
    skip.add_argument("--count", type=int, default=1, metavar="N", help="with --calls: so often (default: 1)")
    skip.add_argument("--limit", default="1h", metavar="D", help="emulator's time that may pass (default: 1h)")
    skip.add_argument("--timeout", default="10s", metavar="D", help="real time to wait at the most (default: 10s)")


def _add_trace(commands: "_Commands[ArgumentParser]") -> None:
    trace = _command(commands, "trace", "trace:run", "print what caused a request and what came of it")
    trace.add_argument("id", metavar="ID", help="a request, message or call id, or FLOW/EXECUTION")
    trace.add_argument("--otlp", metavar="URL", help="also send it as OpenTelemetry spans to this OTLP/HTTP address")


def _add_fault(commands: "_Commands[ArgumentParser]") -> None:
    fault = commands.add_parser("fault", help="let calls go wrong on purpose")
    fault.set_defaults(help_of=fault)
    actions = fault.add_subparsers(title="actions", metavar="ACTION")
    add = _command(actions, "add", "doubles:add_fault", "let calls go wrong")
    add.add_argument("--service", choices=("fc", "fnf", "mns", "oss", "ram", "sts"), help="only calls of this service")
    add.add_argument("--operation", metavar="NAME", help="only this operation; * and ? stand for anything")
    add.add_argument("--resource", metavar="NAME", help="only this resource; * and ? stand for anything")
    origins = ("client", "flow", "trigger", "push", "async")
    add.add_argument("--from", dest="origin", choices=origins, help="only calls that come from there")
    effect = add.add_mutually_exclusive_group()
    effect.add_argument("--error", metavar="CODE", help="answer with this error of the service")
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
    _command(actions, "list", "doubles:list_faults", "list the faults")
    remove = _command(actions, "remove", "doubles:remove_fault", "remove a fault")
    remove.add_argument("name", metavar="ID", nargs="?", help="default: all")


def _add_mock(commands: "_Commands[ArgumentParser]") -> None:
    mock = commands.add_parser("mock", help="answer calls of functions in their place")
    mock.set_defaults(help_of=mock)
    actions = mock.add_subparsers(title="actions", metavar="ACTION")
    add = _command(actions, "add", "doubles:add_mock", "answer calls of a function, which need not exist")
    add.add_argument("function", metavar="[SERVICE/]FUNCTION[.QUALIFIER]", help="the function")
    add.add_argument("--returns", action="append", metavar="JSON", help="return this; several are given in turn")
    add.add_argument("--raises", metavar="[TYPE:]MESSAGE", help="fail like this, after what is returned")
    add.add_argument("--answers", metavar="FILE", help="a JSON list of answers as in the HTTP API")
    add.add_argument("--delay", metavar="D", help="take so long, by the emulator's clock")
    add.add_argument("--then", choices=("repeat", "real", "fail"), help="after the last answer (default: repeat)")
    _command(actions, "list", "doubles:list_mocks", "list the mocks")
    calls = _command(actions, "calls", "doubles:calls", "print the calls that a mock or a function has had")
    calls.add_argument("mock", metavar="ID|[SERVICE/]FUNCTION", help="the mock or function")
    remove = _command(actions, "remove", "doubles:remove_mock", "let a function answer again")
    remove.add_argument("name", metavar="ID", nargs="?", help="default: all")


def _add_sink(commands: "_Commands[ArgumentParser]") -> None:
    sink = commands.add_parser("sink", help="make addresses that keep what they are sent")
    sink.set_defaults(help_of=sink)
    actions = sink.add_subparsers(title="actions", metavar="ACTION")
    add = _command(actions, "add", "doubles:add_sink", "make an address to send to and print it")
    add.add_argument("--status", type=int, action="append", metavar="N", help="answer this; several are given in turn")
    _command(actions, "list", "doubles:list_sinks", "list the sinks")
    show = _command(actions, "show", "doubles:show_sink", "print what a sink has received")
    show.add_argument("name", metavar="ID|URL", help="the sink")
    show.add_argument("--full", action="store_true", help="all of each request, with its headers")
    remove = _command(actions, "remove", "doubles:remove_sink", "remove a sink")
    remove.add_argument("name", metavar="ID", nargs="?", help="default: all")


def _add_checkpoint(commands: "_Commands[ArgumentParser]") -> None:
    checkpoint = commands.add_parser("checkpoint", help="keep the whole state under a name and put it back")
    checkpoint.set_defaults(help_of=checkpoint)
    actions = checkpoint.add_subparsers(title="actions", metavar="ACTION")
    _command(actions, "save", "checkpoint:save", "keep the whole state under a name")
    _command(actions, "restore", "checkpoint:restore", "put a state back; what runs is ended")
    _command(actions, "list", "checkpoint:show_list", "list the checkpoints")
    _command(actions, "delete", "checkpoint:delete", "forget a checkpoint")
    export = _command(actions, "export", "checkpoint:export", "write a checkpoint, or the present state, to a file")
    export.add_argument("name", metavar="NAME", nargs="?", help="the checkpoint (default: the present state)")
    export.add_argument("file", metavar="FILE", help="the file to write")
    take_in = _command(actions, "import", "checkpoint:take_in", "take in what export has written, here or elsewhere")
    take_in.add_argument("file", metavar="FILE", help="the file to read")
    take_in.add_argument(
        "name", metavar="NAME", nargs="?", help="make it a checkpoint of this name (default: restore it at once)"
    )
    for name in ("save", "restore", "delete"):
        actions.choices[name].add_argument("name", metavar="NAME", help="the checkpoint")


def _add_account(commands: "_Commands[ArgumentParser]") -> None:
    account = commands.add_parser("account", help="work with accounts beside the emulator's own")
    account.set_defaults(help_of=account)
    actions = account.add_subparsers(title="actions", metavar="ACTION")
    add = _command(actions, "add", "server:add_account", "add an account and print its key")
    add.add_argument("account", metavar="ID", nargs="?", default="", help="its id, digits (default: generated)")
    _command(actions, "list", "server:list_accounts", "list the accounts with their keys")
    remove = _command(actions, "remove", "server:remove_account", "forget an account and its key")
    remove.add_argument("account", metavar="ID", help="the account")


def _add_deploy(commands: "_Commands[ArgumentParser]") -> None:
    deploy = _command(commands, "deploy", "deploy:run", "make what a template.yml or an s.yaml describes")
    deploy.add_argument(
        "file", metavar="FILE", nargs="?", help="file or its folder (default: template.yml or s.yaml of this folder)"
    )
    deploy.add_argument("--name", metavar="NAME", help="of the deployment (default: the file's own, else the folder's)")
    deploy.add_argument(
        "--parameter", action="append", default=[], metavar="NAME=VALUE", help="value of a template's parameter"
    )
    deploy.add_argument("--plan", action="store_true", help="only tell what would be done")
    deploy.add_argument(
        "--run-actions",
        action="store_true",
        help="run the commands by which an s.yaml builds its code, after showing them",
    )
    deploy.add_argument("--remove", action="store_true", help="take away what the deployment made")
    deploy.add_argument("-y", "--yes", action="store_true", help="do not ask before something is taken away")
    export = _command(commands, "export", "export:run", "write what runs as files that the cloud's tools deploy")
    export.add_argument(
        "--format",
        choices=("s.yaml", "template.yml", "terraform"),
        default="s.yaml",
        help="what to write (default: s.yaml)",
    )
    export.add_argument("--output", metavar="DIR", required=True, help="folder for the file and the code")
    export.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="GROUPS",
        help="only these, with commas: functions,queues,flows ...",
    )
    export.add_argument("--overwrite", action="store_true", help="write over an earlier export in the folder")
    diff = _command(commands, "diff", "export:diff", "show what differs between a deployment file and what runs")
    diff.add_argument(
        "file", metavar="FILE", nargs="?", help="file or its folder (default: template.yml or s.yaml of this folder)"
    )
    diff.add_argument("--name", metavar="NAME", help="of the deployment (default: the file's own, else the folder's)")
    diff.add_argument(
        "--parameter", action="append", default=[], metavar="NAME=VALUE", help="value of a template's parameter"
    )
    diff.add_argument("--all", action="store_true", help="also what runs and is not in the file")
    _command(commands, "deployments", "deploy:list_all", "list the deployments")


def _add_console(commands: "_Commands[ArgumentParser]") -> None:
    console = _command(commands, "console", "console:run", "open the emulator's pages in the browser")
    console.add_argument(
        "page", nargs="?", default="", metavar="PAGE", help="the page, such as queues/orders (default: the overview)"
    )
    console.add_argument(
        "--print", dest="print_only", action="store_true", help="print the link, which works once, instead"
    )


def _add_exec(commands: "_Commands[ArgumentParser]") -> None:
    summary = "run a program written for the cloud, unchanged, with the emulator in the cloud's place"
    execute = _command(commands, "exec", "exec:run", summary, prints_data=False)
    execute.usage = f"{execute.prog} [--state DIR] [--start] [--keep-proxy] [--preload] [--network] [--] COMMAND ..."
    execute.add_argument("--start", action="store_true", help="start an emulator for the command only, on free ports")
    execute.add_argument(
        "--network",
        action="store_true",
        help="give the command a network in which the cloud is the emulator (Linux)",
    )
    execute.add_argument(
        "--preload", action="store_true", help="lead programs with a C library to the emulator by LD_PRELOAD (Linux)"
    )
    execute.add_argument("--keep-proxy", action="store_true", help="pass proxy variables on to the command")
    execute.add_argument("command", nargs=REMAINDER, metavar="COMMAND", help="the program and its arguments")


def _add_tutorial(commands: "_Commands[ArgumentParser]") -> None:
    tutorial = commands.add_parser("tutorial", help="list and run the tutorials")
    tutorial.set_defaults(help_of=tutorial)
    actions = tutorial.add_subparsers(title="actions", metavar="ACTION")
    _command(actions, "list", "tutorial:show_list", "list the tutorials")
    run = _command(actions, "run", "tutorial:run", "run a tutorial; starts an emulator when none answers")
    run.add_argument("name", metavar="TUTORIAL")
    run.add_argument("--input", metavar="JSON", help="input of the execution (default: the tutorial's own)")
    run.add_argument("--sdk", choices=("core", "tea"), default="core", help="official SDK to use (default: core)")
    languages = ("fdl", "statemachine")
    run.add_argument("--language", choices=languages, default="fdl", help="language of the flow (default: fdl)")
    form = run.add_mutually_exclusive_group()
    form.add_argument("--steps", action="store_true", default=None, help="show steps (default on a terminal)")
    form.add_argument("--events", dest="steps", action="store_false", help="show every event (default in a pipe)")
    run.add_argument("--keep", action="store_true", help="leave flows, queues, topics and all else that was made")
    run.add_argument("--open", action="store_true", help="open the graph in the browser at the end")
    run.add_argument("--graph", metavar="FILE", help="file for the picture of the execution, SVG or .mmd for Mermaid")


_GROUPS = (
    ({"start"}, _add_start),
    ({"stop", "status", "list", "env", "config", "reset", "completion", "version"}, _add_server_commands),
    ({"doctor", "support"}, _add_diagnosis),
    ({"logs", "invoke"}, _add_function_commands),
    ({"trigger"}, _add_trigger),
    ({"flow"}, _add_flow),
    ({"queue"}, _add_queue),
    ({"topic"}, _add_topic),
    ({"clock", "settle", "skip"}, _add_clock),
    ({"trace"}, _add_trace),
    ({"fault"}, _add_fault),
    ({"mock"}, _add_mock),
    ({"sink"}, _add_sink),
    ({"checkpoint"}, _add_checkpoint),
    ({"account"}, _add_account),
    ({"deploy", "export", "diff", "deployments"}, _add_deploy),
    ({"console"}, _add_console),
    ({"exec"}, _add_exec),
    ({"tutorial"}, _add_tutorial),
)
"""Commands that are built together."""
