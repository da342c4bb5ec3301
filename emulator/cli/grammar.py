"""The grammar of the command line: every command with its arguments and the function that runs it.

Texts are in English here; `emulator.cli.parser` translates them.
"""

from argparse import REMAINDER, SUPPRESS

from emulator.cli.deploy_grammar import add_deploy
from emulator.cli.flow_grammar import add_flow
from emulator.cli.lab_grammar import LAB_GROUPS
from emulator.cli.message_grammar import add_queue, add_topic
from emulator.cli.parameters import whole_number
from emulator.cli.parser import Commands, Outline, add_option, command, group


def _add_start(commands: Commands) -> None:
    summary = "start an emulator in the foreground, or with -d in the background"
    start = commands.add_parser("start", summary)
    start.set_defaults(run="start:run")
    if isinstance(start, Outline):
        return
    from emulator.config import FLAGS, OPTIONS  # only commands with options of the configuration need it

    for option in OPTIONS:
        if option.is_in(FLAGS):
            add_option(start, option)
    start.add_argument("--json", action="store_true", help="print JSON")
    start.add_argument(
        "-d", "--detach", action="store_true", help="run in the background; return when the emulator is ready"
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


class _Shells(tuple[str, ...]):
    """The shells that have a script; ``words``, used by the scripts, is accepted but not shown."""

    def __contains__(self, name: object) -> bool:
        return name == "words" or super().__contains__(name)


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
    reset = command(commands, "reset", "server:reset", "delete all resources; keep the keys and the functions folder")
    reset.add_argument("-y", "--yes", action="store_true", help="do not ask")
    scope = reset.alternatives()
    scope.add_argument(
        "--service",
        choices=("fc", "fnf", "mns", "oss", "ram", "records"),
        help="delete only the resources of this service",
    )
    scope.add_argument("--queue", metavar="QUEUE", help="delete only the messages of a queue")
    scope.add_argument("--topic", metavar="TOPIC", help="delete only the deliveries of a topic")
    scope.add_argument("--flow", metavar="FLOW", help="delete only the executions of a flow")
    scope.add_argument("--function", metavar="SERVICE/FUNCTION", help="end only the calls and instances of a function")
    summary = "print a script that completes commands, options and names in your shell"
    completion = command(commands, "completion", "completion:run", summary, prints_data=False)
    completion.add_argument("shell", choices=_Shells(("bash", "zsh", "fish")), metavar="bash|zsh|fish")
    completion.add_argument("words", nargs=REMAINDER, metavar="", help=SUPPRESS)
    command(commands, "version", "server:version", "print the version")
    command(commands, "doctor", "doctor:run", "check this machine and suggest how to fix problems")
    support = command(
        commands, "support", "support:run", "pack logs, settings and versions into an archive, without secrets"
    )
    support.add_argument("--output", metavar="FILE", help="file to write (default: localyun-support-TIME.zip)")


def _add_function_commands(commands: Commands) -> None:
    logs = command(commands, "logs", "logs:run", "print the logs of functions")
    logs.add_argument(
        "function", nargs="?", default="", metavar="SERVICE/FUNCTION", help="print only this function's lines"
    )
    logs.add_argument("-f", "--follow", action="store_true", help="print new lines as they arrive")
    logs.add_argument("-n", "--lines", type=whole_number, default=100, help="number of earlier lines (default: 100)")
    logs.add_argument(
        "--request",
        default="",
        metavar="ID",
        help="print the lines of one recent request, call, message or FLOW/EXECUTION, from all services",
    )
    invoke = command(commands, "invoke", "invoke:run", "call a function and print what it returns")
    invoke.add_argument("function", metavar="[SERVICE/]FUNCTION[.QUALIFIER]", help="the function to call")
    event = invoke.alternatives()
    event.add_argument("--event", metavar="TEXT", help="the event (default: empty)")
    event.add_argument("--event-file", metavar="FILE", help="file with the event, - for standard input")
    invoke.add_argument("--log", action="store_true", help="print the call's log on standard error")
    invoke.add_argument("--raw", action="store_true", help="print the result's bytes without a newline at the end")
    invoke.add_argument(
        "--async",
        dest="later",
        action="store_true",
        help="call asynchronously, wait for the end, and print the result and its delivery to the destination",
    )
    invoke.add_argument(
        "--debug", action="store_true", help="run the call in an instance that a debugger can attach to"
    )
    invoke.add_argument(
        "--debug-port",
        type=whole_number,
        default=0,
        metavar="PORT",
        help="with --debug: port for the debugger (default: any free one)",
    )
    invoke.add_argument("--no-wait", dest="wait", action="store_false", help="with --debug: do not wait for a debugger")


@group("function", "list functions and their sessions")
def _add_function(actions: Commands) -> None:
    listed = command(actions, "list", "function:list_functions", "list functions with their configuration")
    listed.add_argument("--prefix", default="", metavar="TEXT", help="only names that begin with this")
    sessions = command(actions, "sessions", "function:sessions", "list sessions and the instances they are bound to")
    sessions.add_argument("function", nargs="?", default="", metavar="FUNCTION", help="only this function's sessions")


@group("trigger", "list the triggers of functions and fire them")
def _add_trigger(actions: Commands) -> None:
    command(actions, "list", "invoke:list_triggers", "list triggers, with the address of each HTTP trigger")
    fire = command(actions, "fire", "invoke:fire", "call a trigger's function and print what it returns")
    fire.add_argument("function", metavar="[SERVICE/]FUNCTION", help="function that the trigger belongs to")
    fire.add_argument("trigger", metavar="TRIGGER", help="name of the trigger")
    event = fire.alternatives()
    event.add_argument(
        "--payload", metavar="TEXT", help="a timer's payload, a message's body, an object's key, a request's body"
    )
    event.add_argument("--event-file", metavar="FILE", help="file with the whole event, - for standard input")
    fire.add_argument("--log", action="store_true", help="print the call's log on standard error")


def _add_console(commands: Commands) -> None:
    console = command(commands, "console", "server:console", "open the emulator's pages in the browser")
    console.add_argument(
        "page", nargs="?", default="", metavar="PAGE", help="the page, such as queues/orders (default: the overview)"
    )
    console.add_argument(
        "--print",
        dest="print_only",
        action="store_true",
        help="print a link that works once instead of opening a browser",
    )


def _add_exec(commands: Commands) -> None:
    summary = "run an unmodified program against the emulator"
    execute = command(commands, "exec", "exec:run", summary, prints_data=False)
    options = "[--state DIR] [--start] [--keep-proxy] [--proxy-allow HOSTS] [--preload] [--network]"
    execute.usage = f"{execute.prog} {options} [--] COMMAND ..."
    execute.add_argument("--start", action="store_true", help="start an emulator for the command only, on free ports")
    execute.add_argument(
        "--network",
        action="store_true",
        help="run the command in its own network, in which the cloud's host names resolve to the emulator (Linux)",
    )
    execute.add_argument(
        "--preload", action="store_true", help="redirect programs that use the C library, with LD_PRELOAD (Linux)"
    )
    execute.add_argument("--keep-proxy", action="store_true", help="keep the proxy variables for the command")
    execute.add_argument(
        "--proxy-allow", action="append", default=[], metavar="HOSTS",
        help="private hosts and networks that the proxy may call",
    )  # fmt: skip
    execute.add_argument("command", nargs=REMAINDER, metavar="COMMAND", help="the program and its arguments")


def _add_comparison(commands: Commands) -> None:
    compare = command(commands, "compare", "compare:run", "compare the emulator's responses with recorded ones")
    compare.add_argument("recording", metavar="FILE.har", help="the recording: a HAR file from a browser or a proxy")
    compare.add_argument("--redact", metavar="FILE", help="write a redacted copy that can be shared; compare nothing")
    record = command(
        commands, "record", "record:run", "run a program and record its requests and the responses", prints_data=False
    )
    record.usage = f"{record.prog} [--state DIR] [-o FILE.har] [--] COMMAND ..."
    record.add_argument(
        "-o", "--output", default="recording.har", metavar="FILE.har", help="the file to write (default: recording.har)"
    )
    record.add_argument("command", nargs=REMAINDER, metavar="COMMAND", help="the program and its arguments")


@group("tutorial", "list and run the tutorials")
def _add_tutorial(actions: Commands) -> None:
    command(actions, "list", "tutorial:show_list", "list the tutorials")
    run = command(actions, "run", "tutorial:run", "run a tutorial; start an emulator if none is running")
    run.add_argument("name", metavar="TUTORIAL", help="name of the tutorial, from localyun tutorial list")
    run.add_argument("--input", metavar="JSON", help="input of the execution (default: the tutorial's own)")
    run.add_argument("--sdk", choices=("core", "tea"), default="core", help="official SDK to use (default: core)")
    languages = ("fdl", "statemachine")
    run.add_argument("--language", choices=languages, default="fdl", help="language of the flow (default: fdl)")
    form = run.alternatives()
    form.add_argument("--steps", action="store_true", default=None, help="print each step (default on a terminal)")
    form.add_argument("--events", dest="steps", action="store_false", help="print each event (default in a pipe)")
    run.add_argument("--keep", action="store_true", help="keep the flow and all other resources that were created")
    run.add_argument(
        "--open", action="store_true", help="open the execution's page in the browser at the end; implies --keep"
    )
    run.add_argument(
        "--graph", metavar="FILE", help="file for the graph of the execution: SVG, or Mermaid if it ends in .mmd"
    )


def _add_reference(commands: Commands) -> None:
    from emulator.cli import reference_grammar  # the start command does not need it

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
    ({"flow"}, add_flow),
    ({"queue"}, add_queue),
    ({"topic"}, add_topic),
    *LAB_GROUPS,
    ({"deploy", "export", "diff", "deployments"}, add_deploy),
    ({"console"}, _add_console),
    ({"exec"}, _add_exec),
    ({"compare", "record"}, _add_comparison),
    ({"tutorial"}, _add_tutorial),
    ({"docs", "explain", "mcp"}, _add_reference),
)
"""Functions that add groups of commands."""
