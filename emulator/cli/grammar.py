"""The grammar of the command line: every command with its arguments and the function that does it.

Texts stand here in English; `emulator.cli.parser` puts them into the user's language.
"""

from argparse import REMAINDER, SUPPRESS, ArgumentParser

from emulator.cli.deploy_grammar import add_deploy, add_within
from emulator.cli.lab_grammar import LAB_GROUPS
from emulator.cli.output import is_chinese
from emulator.cli.parser import Commands, Outline, add_option, command, group, sentence


def _add_start(commands: Commands) -> None:
    summary = "start an emulator in the foreground, or with -d in the background"
    start = commands.add_parser("start", help=summary, description=sentence(summary))
    start.set_defaults(run="start:run", help_of=start)
    if isinstance(start, Outline):
        return
    from emulator.config import FLAGS, OPTIONS  # as above

    for option in OPTIONS:
        if option.is_in(FLAGS):
            add_option(start, option)
    start.add_argument("--json", action="store_true", help="print JSON")
    start.add_argument(
        "-d", "--detach", action="store_true", help="run in the background; return once calls are served"
    )


def _add_init(commands: Commands) -> None:
    init = command(commands, "init", "init:run", "create a small project to start from")
    init.add_argument(
        "folder", nargs="?", default=".", metavar="FOLDER", help="folder to write to (default: the current one)"
    )
    init.add_argument(
        "--template",
        choices=("python", "node", "flow", "queue-worker"),
        default="python",
        help="template (default: python)",
    )


def _add_server_commands(commands: Commands) -> None:
    command(commands, "stop", "server:stop", "stop the emulator")
    command(commands, "status", "server:status", "print what is running and what it serves")
    command(commands, "list", "server:show_list", "list the emulators of this user")
    env = command(commands, "env", "server:env", "print the variables that point programs at the emulator")
    env.add_argument(
        "--shell",
        choices=("sh", "fish", "powershell", "dotenv"),
        help="shell syntax to print (default: fish if that is your shell, else sh)",
    )
    command(commands, "config", "server:config", "print every setting and where its value comes from")
    reset = command(
        commands, "reset", "server:reset", "delete everything except the functions of the folder and the keys"
    )
    reset.add_argument("-y", "--yes", action="store_true", help="do not ask")
    scope = reset.add_mutually_exclusive_group()
    scope.add_argument(
        "--service", choices=("fc", "fnf", "mns", "oss", "ram", "records"), help="only the resources of this service"
    )
    scope.add_argument("--queue", metavar="QUEUE", help="only the messages of a queue")
    scope.add_argument("--topic", metavar="TOPIC", help="only the deliveries of a topic")
    scope.add_argument("--flow", metavar="FLOW", help="only the executions of a flow")
    scope.add_argument("--function", metavar="SERVICE/FUNCTION", help="only the calls and instances of a function")
    summary = "print a script that completes commands, options and names in your shell"
    completion = command(commands, "completion", "completion:run", summary, prints_data=False)
    completion.add_argument("shell", choices=("bash", "zsh", "fish", "words"), metavar="bash|zsh|fish")
    completion.add_argument("words", nargs=REMAINDER, metavar="", help=SUPPRESS)
    command(commands, "version", "server:version", "print the version")
    command(commands, "doctor", "doctor:run", "check this machine and say how to fix what is wrong")
    support = command(commands, "support", "support:run", "pack logs, settings and versions, without secrets")
    support.add_argument("--output", metavar="FILE", help="the archive (default: localyun-support-TIME.zip)")


def _add_function_commands(commands: Commands) -> None:
    logs = command(commands, "logs", "logs:run", "print the logs of functions")
    logs.add_argument("function", nargs="?", default="", metavar="SERVICE/FUNCTION", help="only this function's lines")
    logs.add_argument("-f", "--follow", action="store_true", help="print new lines as they come")
    logs.add_argument("-n", "--lines", type=int, default=100, help="number of earlier lines (default: 100)")
    logs.add_argument("--request", default="", metavar="ID", help="print instead what a recent request has caused")
    invoke = command(commands, "invoke", "invoke:run", "call a function and print what it returns")
    invoke.add_argument("function", metavar="[SERVICE[.QUALIFIER]/]FUNCTION", help="the function to call")
    event = invoke.add_mutually_exclusive_group()
    event.add_argument("--event", metavar="TEXT", help="the event (default: empty)")
    event.add_argument("--event-file", metavar="FILE", help="file that holds the event, - for standard input")
    invoke.add_argument("--log", action="store_true", help="print the call's log on standard error")
    invoke.add_argument(
        "--raw", action="store_true", help="print the bytes of the result, without a newline after text"
    )
    invoke.add_argument(
        "--async",
        dest="later",
        action="store_true",
        help="call asynchronously; wait, then print the result and the delivery to the destination",
    )
    invoke.add_argument(
        "--debug", action="store_true", help="run the call in an instance that a debugger can attach to"
    )
    invoke.add_argument(
        "--debug-port",
        type=int,
        default=0,
        metavar="PORT",
        help="with --debug: port for the debugger (default: any free one)",
    )
    invoke.add_argument("--no-wait", dest="wait", action="store_false", help="with --debug: do not wait for a debugger")


@group("function", "show the sessions of functions")
def _add_function(actions: Commands) -> None:
    sessions = command(actions, "sessions", "function:sessions", "list sessions and the instances they are bound to")
    sessions.add_argument("function", nargs="?", default="", metavar="FUNCTION", help="only this function's sessions")


@group("trigger", "list the triggers of functions and fire them")
def _add_trigger(actions: Commands) -> None:
    command(actions, "list", "invoke:list_triggers", "list triggers with the addresses of those for HTTP")
    fire = command(actions, "fire", "invoke:fire", "call a trigger's function now and print what it returns")
    fire.add_argument("function", metavar="[SERVICE/]FUNCTION", help="the function the trigger belongs to")
    fire.add_argument("trigger", metavar="TRIGGER", help="name of the trigger")
    event = fire.add_mutually_exclusive_group()
    event.add_argument(
        "--payload", metavar="TEXT", help="a timer's payload, a message's body, an object's key, a request's body"
    )
    event.add_argument("--event-file", metavar="FILE", help="file that holds the whole event, - for standard input")
    fire.add_argument("--log", action="store_true", help="print the call's log on standard error")


@group("flow", "work with flows and their executions")
def _add_flow(actions: Commands) -> None:
    start = command(actions, "start", "flow:start", "start an execution", "flow")
    start.add_argument("--input", default="{}", metavar="JSON", help="input of the execution (default: {})")
    start.add_argument(
        "--inputs", metavar="FILE", help="start one execution per line of JSON in a file, and wait for all"
    )
    start.add_argument("--parallel", type=int, default=4, metavar="N", help="how many run at once (default: 4)")
    start.add_argument("--name", metavar="EXECUTION", help="name of the execution (default: generated)")
    start.add_argument("--follow", action="store_true", help="print each step as it ends and wait for the end")
    start.add_argument("--events", action="store_true", help="with --follow: print each event instead")
    start.add_argument("--full", action="store_true", help="with --follow: do not cut long lines")
    history = command(actions, "history", "flow:history", "print the steps of an execution as a tree", "flow")
    history.add_argument(
        "execution", metavar="EXECUTION", nargs="?", help="the execution (default: the one started last)"
    )
    history.add_argument("--events", action="store_true", help="print each event instead of the tree of steps")
    history.add_argument("--full", action="store_true", help="do not cut long lines")
    graph = command(actions, "graph", "graph:run", "draw a flow, or one of its executions", "flow")
    graph.add_argument(
        "--execution",
        nargs="?",
        const="",
        metavar="EXECUTION",
        help="draw the steps of an execution (default: the last one)",
    )
    graph.add_argument("--format", choices=("svg", "mermaid"), default="svg", help="format to write (default: svg)")
    graph.add_argument(
        "--output", metavar="FILE", help="file to write, - for standard output (default: FLOW.svg or FLOW.mmd)"
    )
    graph.add_argument("--open", action="store_true", help="open the picture in the browser")
    check = command(actions, "check", "definition:check", "check a definition, without an emulator")
    check.add_argument("file", metavar="FILE", help="definition in YAML, - for standard input")
    check.add_argument("--watch", action="store_true", help="check again whenever the file changes")
    convert = command(actions, "convert", "definition:convert", "convert a flow of the old language to a state machine")
    convert.add_argument("file", metavar="FILE", help="definition in YAML, - for standard input")
    convert.add_argument("--name", help="name of the state machine (default: the file's)")
    convert.add_argument("--output", metavar="FILE", help="file to write (default: standard output)")
    convert.add_argument(
        "--parameter", action="append", default=[], metavar="NAME=VALUE", help="value of !Ref NAME and ${NAME}"
    )
    convert.add_argument(
        "--strict", action="store_true", help="exit with code 3 if the state machine differs in behaviour"
    )
    step = command(actions, "step", "flow_debug:step", "run one step of a definition alone")
    step.add_argument("file", metavar="FILE", help="definition in YAML, - for standard input")
    step.add_argument("step", metavar="STEP")
    step.add_argument("--input", default="{}", metavar="JSON", help="output of the step before (default: {})")
    step.add_argument(
        "--local", default="{}", metavar="JSON", help="content of $local when the step begins (default: {})"
    )
    step.add_argument("--mocks", metavar="FILE", help="mocks for tasks, in JSON; other tasks are really called")
    step.add_argument("--global", dest="variables", default="{}", metavar="JSON", help="values of $Global")
    debug = command(actions, "debug", "flow_debug:debug", "debug an execution with breakpoints", "flow")
    debug.add_argument("--before", action="append", default=[], metavar="STEP", help="stop before a step; repeatable")
    debug.add_argument("--after", action="append", default=[], metavar="STEP", help="stop after a step; repeatable")
    debug.add_argument("--on-failure", action="store_true", help="stop where a step fails")
    debug.add_argument("--input", default="{}", metavar="JSON", help="input of the execution (default: {})")
    debug.add_argument("--name", metavar="EXECUTION", help="name of the execution (default: generated)")
    debug.add_argument("--execution", metavar="EXECUTION", help="debug a running execution instead of starting one")
    fork = command(actions, "fork", "flow_debug:fork", "start an execution that shares the history of another one")
    fork.add_argument("flow", metavar="FLOW/EXECUTION")
    fork.add_argument(
        "execution", metavar="EXECUTION", nargs="?", help="the execution, when the first argument names only the flow"
    )
    fork.add_argument("--before", metavar="STEP", help="fork before this step, where it was last entered")
    fork.add_argument("--event", type=int, metavar="NUMBER", help="fork before this event")
    fork.add_argument("--input", metavar="JSON", help="input of the step (default: its original input)")
    fork.add_argument("--definition", metavar="FILE", help="continue with this definition")
    fork.add_argument("--name", metavar="EXECUTION", help="name of the fork (default: generated)")
    _add_rehearsals(actions)
    listing = command(actions, "list", "flow:show_list", "list flows, or the executions of one flow")
    listing.add_argument("flow", metavar="FLOW", nargs="?")
    _choose_executions(listing)
    listing.add_argument(
        "--error", dest="error_name", metavar="NAME", help="only executions that ended with this error"
    )
    rerun = command(actions, "rerun", "flow_bulk:rerun", "run failed executions of a flow again", "flow")
    rerun.add_argument("--failed", action="store_true", required=True, help="the failed executions")
    rerun.add_argument("--since", metavar="D|TIME", help="only executions started since a time, or in the last 2h")
    rerun.add_argument(
        "--from", dest="before", metavar="STEP", help="continue before this step, with the data it had then"
    )
    rerun.add_argument("--definition", metavar="FILE", help="continue with this definition")
    rerun.add_argument("--parallel", type=int, default=4, metavar="N", help="how many run at once (default: 4)")
    describe = command(actions, "describe", "flow:describe", "print a flow, or one of its executions", "flow")
    describe.add_argument("execution", metavar="EXECUTION", nargs="?")
    create = command(actions, "create", "flow:create", "create a flow from a file, or update it", "flow")
    create.add_argument("file", metavar="FILE", help="definition in YAML; {accountID} in it becomes the account's id")
    create.add_argument("--description", default="", help="what the flow is for")
    create.add_argument("--role-arn", default="", help="role the flow acts in")
    create.add_argument("--update", action="store_true", help="update the flow if it exists")
    command(actions, "delete", "flow:delete", "delete a flow", "flow")
    command(actions, "schedules", "flow:schedules", "list the schedules of a flow", "flow")
    command(actions, "fire", "flow:fire", "run a schedule of a flow now", "flow", "schedule")
    stop = command(actions, "stop", "flow:stop", "stop an execution, or all of a flow", "flow")
    stop.add_argument("execution", metavar="EXECUTION", nargs="?")
    stop.add_argument("--all", action="store_true", help="all executions that have not ended")
    _choose_executions(stop)
    stop.add_argument("--error", default="", help="error name to record")
    stop.add_argument("--cause", default="", help="cause to record")


def _choose_executions(action: ArgumentParser) -> None:
    action.add_argument("--status", metavar="STATUS", help="only executions with this status, such as Running")
    action.add_argument("--since", metavar="D|TIME", help="only executions started since a time, or in the last 2h")


def _add_rehearsals(actions: Commands) -> None:
    test = command(actions, "test", "flow_test:test", "run the cases of flows, without an emulator")
    test.add_argument("files", metavar="FILE", nargs="*", help="files of cases, or folders of *.test.yaml (default: .)")
    test.add_argument("-k", dest="name", action="append", metavar="TEXT", help="only cases whose names contain this")
    test.add_argument("--tag", action="append", metavar="TAG", help="only cases with this tag")
    test.add_argument("--junit", metavar="FILE", help="write a report that CI systems read")
    test.add_argument(
        "--coverage", nargs="?", const="text", choices=("text", "html"),
        help="report what no case covers, or write coverage.html with graphs",
    )  # fmt: skip
    test.add_argument(
        "--fail-under", type=float, metavar="PERCENT", help="fail when the coverage of a flow is below this"
    )
    test.add_argument(
        "--update", action="store_true", help="replace the expected results in the files with the actual ones"
    )
    test.add_argument("--jobs", type=int, metavar="N", help="processes for many cases (default: one for each core)")
    add_within(test)
    cases = command(actions, "cases", "flow_test:cases", "propose cases for the paths of a flow that no case covers")
    cases.add_argument("file", metavar="FILE", help="a definition, or a file of cases that is to be completed")
    cases.add_argument("--output", metavar="FILE", help="file to write (default: standard output)")
    replay = command(
        actions, "replay", "flow_replay:replay", "compare a recorded history with what a definition would do"
    )
    replay.add_argument("file", metavar="HISTORY.json", help="a history as GetExecutionHistory returns it")
    replay.add_argument("--definition", metavar="FILE", help="the definition (default: the one in the history's file)")
    replay.add_argument(
        "--from-cloud", action="store_true", help="also report which details the cloud's events show differently"
    )
    replay.add_argument("--report", metavar="FILE", help="write the differences without names and data")
    shown = command(actions, "show", "flow_replay:show", "show a recorded history as a tree, or as a graph")
    shown.add_argument("file", metavar="HISTORY.json", help="a history as GetExecutionHistory returns it")
    shown.add_argument("--definition", metavar="FILE", help="definition to draw it on")
    shown.add_argument("--output", metavar="FILE", help="file for the graph, as SVG")
    shown.add_argument("--full", action="store_true", help="do not cut long lines")


@group("queue", "work with queues and their messages")
def _add_queue(actions: Commands) -> None:
    create = command(actions, "create", "messages:create_queue", "create a queue", "queue")
    command(actions, "delete", "messages:delete_queue", "delete a queue and its messages", "queue")
    listing = command(actions, "list", "messages:list_queues", "list queues with the numbers of their messages")
    listing.add_argument("--prefix", default="", metavar="TEXT", help="only names that begin with this")
    send = command(actions, "send", "messages:send", "send a message", "queue")
    receive = command(actions, "receive", "messages:receive", "receive messages and hide them for a while", "queue")
    peek = command(actions, "peek", "messages:peek", "print visible messages and change nothing", "queue")
    command(actions, "purge", "messages:purge", "delete every message of a queue, hidden and delayed ones too", "queue")
    summary = "print the attributes of a queue, after changing those given"
    attributes = command(actions, "attributes", "messages:attributes", summary, "queue")
    _add_attributes(create, "Queue")
    _add_attributes(attributes, "Queue")
    _add_body(send)
    send.add_argument(
        "--delay-seconds", type=int, metavar="N", help="seconds until it is visible (default: the queue's delay)"
    )
    send.add_argument("--priority", type=int, metavar="N", help="1 to 16, 1 is received first (default: 8)")
    for getter in (receive, peek):
        getter.add_argument(
            "-n", "--number", type=int, default=1, help="maximum number of messages, up to 16 (default: 1)"
        )
        getter.add_argument("--base64", action="store_true", help="decode bodies, as the Python and Java SDKs do")
    receive.add_argument("--wait", type=int, metavar="N", help="wait up to N seconds for the first (default: queue's)")
    receive.add_argument("--delete", action="store_true", help="delete what was received after printing it")


def _add_attributes(command: ArgumentParser, resource: str, without: str = "") -> None:
    """Add an option for each attribute of *resource* that its XML form sets, but for the one *without*."""
    if isinstance(command, Outline):
        return
    from emulator.cli.mns import resources  # only these commands need it
    from emulator.wire.schema.command_line import options

    for each in options(resources()[resource].without(without), "xml", chinese=is_chinese()):
        command.add_argument(*each.flags, **each.settings)


def _add_body(command: ArgumentParser) -> None:
    command.add_argument("body", metavar="BODY", help="the message, - for standard input")
    command.add_argument("--base64", action="store_true", help="encode the body, as the Python and Java SDKs expect")
    command.add_argument("--group", metavar="ID", help="message group, for FIFO")


@group("topic", "work with topics, subscriptions and deliveries")
def _add_topic(actions: Commands) -> None:
    _add_attributes(command(actions, "create", "messages:create_topic", "create a topic", "topic"), "Topic")
    command(actions, "delete", "messages:delete_topic", "delete a topic and its subscriptions", "topic")
    listing = command(actions, "list", "messages:list_topics", "list topics")
    listing.add_argument("--prefix", default="", metavar="TEXT", help="only names that begin with this")
    publish = command(actions, "publish", "messages:publish", "publish a message", "topic")
    both = ("topic", "subscription")
    subscribe = command(actions, "subscribe", "messages:subscribe", "subscribe an endpoint to a topic", *both)
    command(actions, "unsubscribe", "messages:unsubscribe", "end a subscription", *both)
    command(actions, "subscriptions", "messages:subscriptions", "list the subscriptions of a topic", "topic")
    summary = "print the deliveries of a subscription"
    deliveries = command(actions, "deliveries", "messages:deliveries", summary, *both)
    outbox = command(actions, "outbox", "messages:outbox", "print mails and short messages, which are never sent")
    _add_body(publish)
    publish.add_argument("--tag", metavar="TAG", help="tag that subscriptions filter by")
    subscribe.add_argument("endpoint", metavar="ENDPOINT", help="queue:NAME, an http URL, or another form of the API")
    _add_attributes(subscribe, "Subscription", without="Endpoint")
    deliveries.add_argument("--full", action="store_true", help="all of each delivery: body, URL, headers")
    for shown in (deliveries, outbox):
        shown.add_argument("-n", "--number", type=int, default=100, help="maximum number (default: 100)")


def _add_console(commands: Commands) -> None:
    console = command(commands, "console", "server:console", "open the emulator's pages in the browser")
    console.add_argument(
        "page", nargs="?", default="", metavar="PAGE", help="the page, such as queues/orders (default: the overview)"
    )
    console.add_argument(
        "--print", dest="print_only", action="store_true", help="print the link, which works once, instead"
    )


def _add_exec(commands: Commands) -> None:
    summary = "run an unmodified program against the emulator instead of the cloud"
    execute = command(commands, "exec", "exec:run", summary, prints_data=False)
    options = "[--state DIR] [--start] [--keep-proxy] [--proxy-allow HOSTS] [--preload] [--network]"
    execute.usage = f"{execute.prog} {options} [--] COMMAND ..."
    execute.add_argument("--start", action="store_true", help="start an emulator for the command only, on free ports")
    execute.add_argument(
        "--network",
        action="store_true",
        help="run the command in a network of its own, where the cloud's names lead to the emulator (Linux)",
    )
    execute.add_argument(
        "--preload", action="store_true", help="redirect programs that use the C library, by LD_PRELOAD (Linux)"
    )
    execute.add_argument("--keep-proxy", action="store_true", help="pass proxy variables on to the command")
    execute.add_argument(
        "--proxy-allow", action="append", default=[], metavar="HOSTS",
        help="hosts and networks that the proxy calls although they are not public",
    )  # fmt: skip
    execute.add_argument("command", nargs=REMAINDER, metavar="COMMAND", help="the program and its arguments")


def _add_comparison(commands: Commands) -> None:
    compare = command(commands, "compare", "compare:run", "compare the emulator's responses with a recording")
    compare.add_argument("recording", metavar="FILE.har", help="the recording, as browsers and proxies write it")
    compare.add_argument("--redact", metavar="FILE", help="write a copy without your data instead, to share")
    record = command(
        commands, "record", "record:run", "run a program and record its requests with the responses", prints_data=False
    )
    record.usage = f"{record.prog} [--state DIR] [-o FILE.har] [--] COMMAND ..."
    record.add_argument(
        "-o", "--output", default="recording.har", metavar="FILE.har", help="the file to write (default: recording.har)"
    )
    record.add_argument("command", nargs=REMAINDER, metavar="COMMAND", help="the program and its arguments")


@group("tutorial", "list and run the tutorials")
def _add_tutorial(actions: Commands) -> None:
    command(actions, "list", "tutorial:show_list", "list the tutorials")
    run = command(actions, "run", "tutorial:run", "run a tutorial; starts an emulator when none answers")
    run.add_argument("name", metavar="TUTORIAL")
    run.add_argument("--input", metavar="JSON", help="input of the execution (default: the tutorial's own)")
    run.add_argument("--sdk", choices=("core", "tea"), default="core", help="official SDK to use (default: core)")
    languages = ("fdl", "statemachine")
    run.add_argument("--language", choices=languages, default="fdl", help="language of the flow (default: fdl)")
    form = run.add_mutually_exclusive_group()
    form.add_argument("--steps", action="store_true", default=None, help="show steps (default on a terminal)")
    form.add_argument("--events", dest="steps", action="store_false", help="show every event (default in a pipe)")
    run.add_argument(
        "--keep", action="store_true", help="keep flows, queues, topics and everything else that was created"
    )
    run.add_argument("--open", action="store_true", help="end on the execution's page in the browser; implies --keep")
    run.add_argument("--graph", metavar="FILE", help="file for the picture of the execution, SVG or .mmd for Mermaid")


def _add_reference(commands: Commands) -> None:
    from emulator.cli import reference_grammar  # start needs none of it

    reference_grammar.add(commands)


GROUPS = (
    ({"start"}, _add_start),
    (
        {"stop", "status", "list", "env", "config", "reset", "completion", "version", "doctor", "support"},
        _add_server_commands,
    ),
    ({"init"}, _add_init),
    ({"logs", "invoke"}, _add_function_commands),
    ({"function"}, _add_function),
    ({"trigger"}, _add_trigger),
    ({"flow"}, _add_flow),
    ({"queue"}, _add_queue),
    ({"topic"}, _add_topic),
    *LAB_GROUPS,
    ({"deploy", "export", "diff", "deployments"}, add_deploy),
    ({"console"}, _add_console),
    ({"exec"}, _add_exec),
    ({"compare", "record"}, _add_comparison),
    ({"tutorial"}, _add_tutorial),
    ({"docs", "explain", "mcp"}, _add_reference),
)
"""Commands that are built together."""
