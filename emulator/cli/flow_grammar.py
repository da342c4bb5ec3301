"""The grammar of flows: their executions, definitions, test cases and debugging."""

from argparse import SUPPRESS

from emulator.cli.deploy_grammar import add_within
from emulator.cli.parameters import at_least_one, percentage, whole_number
from emulator.cli.parser import Commands, Parser, command, group


@group("flow", "work with flows and their executions")
def add_flow(actions: Commands) -> None:
    """Add the actions of flows."""
    start = command(actions, "start", "flow:start", "start an execution", "flow")
    start.add_argument("--input", default="{}", metavar="JSON", help="input of the execution (default: {})")
    start.add_argument(
        "--inputs", metavar="FILE", help="start an execution for each line of JSON in a file and wait for all"
    )
    start.add_argument(
        "--parallel",
        type=at_least_one,
        default=4,
        metavar="N",
        help="maximum number of concurrent executions (default: 4)",
    )
    start.add_argument("--name", metavar="EXECUTION", help="name of the execution (default: generated)")
    start.add_argument(
        "--follow", action="store_true", help="wait for the execution to end and print each step when it ends"
    )
    start.add_argument("--events", action="store_true", help="with --follow: print events instead of steps")
    start.add_argument("--full", action="store_true", help="with --follow: do not cut long lines")
    history = command(actions, "history", "flow_history:history", "print the steps of an execution as a tree", "flow")
    history.add_argument("execution", metavar="EXECUTION", nargs="?", help="the execution (default: the latest)")
    history.add_argument("--events", action="store_true", help="print events instead of the tree of steps")
    history.add_argument("--full", action="store_true", help="do not cut long lines")
    graph = command(actions, "graph", "graph:run", "draw a flow or one of its executions", "flow")
    graph.add_argument(
        "--execution",
        nargs="?",
        const="",
        metavar="EXECUTION",
        help="draw the steps of an execution (default: the latest)",
    )
    _add_execution(graph)
    graph.add_argument("--format", choices=("svg", "mermaid"), default="svg", help="format to write (default: svg)")
    graph.add_argument(
        "--output", metavar="FILE", help="file to write, - for standard output (default: FLOW.svg or FLOW.mmd)"
    )
    graph.add_argument("--open", action="store_true", help="open the picture in the browser")
    check = command(actions, "check", "definition:check", "check a definition; needs no emulator")
    check.add_argument("file", metavar="FILE", help="definition in YAML, - for standard input")
    _add_parameters(check)
    check.add_argument("--watch", action="store_true", help="check again whenever the file changes")
    convert = command(actions, "convert", "definition:convert", "convert a flow of the old language to a state machine")
    convert.add_argument("file", metavar="FILE", help="definition in YAML, - for standard input")
    convert.add_argument("--name", help="name of the state machine (default: the file's)")
    convert.add_argument("--output", metavar="FILE", help="file to write (default: standard output)")
    _add_parameters(convert)
    convert.add_argument(
        "--strict", action="store_true", help="exit with code 3 if the state machine behaves differently"
    )
    step = command(actions, "step", "flow_debug:step", "run one step of a definition")
    step.add_argument("file", metavar="FILE", help="definition in YAML, - for standard input")
    step.add_argument("step", metavar="STEP", help="name of the step")
    step.add_argument("--input", default="{}", metavar="JSON", help="output of the previous step (default: {})")
    step.add_argument(
        "--local", default="{}", metavar="JSON", help="value of $local when the step begins (default: {})"
    )
    step.add_argument("--mocks", metavar="FILE", help="mocks for tasks, in JSON; tasks without a mock are called")
    _add_parameters(step)
    step.add_argument("--global", dest="variables", default="{}", metavar="JSON", help="value of $Global")
    debug = command(actions, "debug", "flow_debug:debug", "debug an execution with breakpoints", "flow")
    debug.add_argument("--before", action="append", default=[], metavar="STEP", help="stop before a step; repeatable")
    debug.add_argument("--after", action="append", default=[], metavar="STEP", help="stop after a step; repeatable")
    debug.add_argument("--on-failure", action="store_true", help="stop where a step fails")
    debug.add_argument("--input", default="{}", metavar="JSON", help="input of the execution (default: {})")
    debug.add_argument("--name", metavar="EXECUTION", help="name of the execution (default: generated)")
    debug.add_argument("--execution", metavar="EXECUTION", help="debug this running execution instead of starting one")
    _add_execution(debug)
    fork = command(actions, "fork", "flow_debug:fork", "start an execution from a point in another one's history")
    fork.add_argument("flow", metavar="FLOW/EXECUTION", help="the execution to fork")
    fork.add_argument(
        "execution", metavar="EXECUTION", nargs="?", help="the execution, if the first argument is the name of a flow"
    )
    fork.add_argument("--before", metavar="STEP", help="fork before the last time this step was entered")
    fork.add_argument("--event", type=whole_number, metavar="NUMBER", help="fork before this event")
    fork.add_argument("--input", metavar="JSON", help="input of the step (default: its original input)")
    fork.add_argument("--definition", metavar="FILE", help="continue with this definition")
    _add_parameters(fork)
    fork.add_argument("--name", metavar="EXECUTION", help="name of the fork (default: generated)")
    _add_rehearsals(actions)
    listing = command(actions, "list", "flow:show_list", "list flows or the executions of one flow")
    listing.add_argument("flow", metavar="FLOW", nargs="?", help="list the executions of this flow")
    _choose_executions(listing)
    listing.add_argument(
        "--error", dest="error_name", metavar="NAME", help="list only executions that ended with this error"
    )
    rerun = command(actions, "rerun", "flow_bulk:rerun", "run failed executions of a flow again", "flow")
    rerun.add_argument("--failed", action="store_true", required=True, help="select the failed executions (required)")
    rerun.add_argument(
        "--since", metavar="D|TIME", help="select only executions started since TIME, or within D, such as 2h"
    )
    rerun.add_argument(
        "--from", dest="before", metavar="STEP", help="continue before this step, with its original data"
    )
    rerun.add_argument("--definition", metavar="FILE", help="continue with this definition")
    _add_parameters(rerun)
    rerun.add_argument(
        "--parallel",
        type=at_least_one,
        default=4,
        metavar="N",
        help="maximum number of concurrent executions (default: 4)",
    )
    describe = command(actions, "describe", "flow:describe", "print a flow or one of its executions", "flow")
    describe.add_argument(
        "execution", metavar="EXECUTION", nargs="?", help="name of the execution (default: print the flow)"
    )
    create = command(actions, "create", "flow:create", "create or update a flow from a file", "flow")
    create.add_argument("file", metavar="FILE", help="definition in YAML; {accountID} is replaced with the account id")
    _add_parameters(create)
    create.add_argument("--description", default="", metavar="TEXT", help="description of the flow")
    create.add_argument("--role-arn", default="", metavar="ARN", help="ARN of the role that the flow assumes")
    create.add_argument("--update", action="store_true", help="update the flow if it exists")
    command(actions, "delete", "flow:delete", "delete a flow", "flow")
    command(actions, "schedules", "flow:schedules", "list the schedules of a flow", "flow")
    command(actions, "fire", "flow:fire", "run a schedule of a flow now", "flow", "schedule")
    stop = command(actions, "stop", "flow:stop", "stop one execution or all executions of a flow", "flow")
    stop.add_argument("execution", metavar="EXECUTION", nargs="?", help="name of the execution")
    stop.add_argument("--all", action="store_true", help="select all executions that have not ended")
    _choose_executions(stop)
    stop.add_argument("--error", default="", metavar="NAME", help="error to record for stopped executions")
    stop.add_argument("--cause", default="", metavar="TEXT", help="cause to record for stopped executions")


def _add_parameters(action: Parser) -> None:
    action.add_argument(
        "--parameter", action="append", default=[], metavar="NAME=VALUE", help="value of !Ref NAME and ${NAME}"
    )


def _choose_executions(action: Parser) -> None:
    action.add_argument("--status", metavar="STATUS", help="select only executions with this status, such as Running")
    action.add_argument(
        "--since", metavar="D|TIME", help="select only executions started since TIME, or within D, such as 2h"
    )


def _add_execution(command: Parser) -> None:
    """Accept an execution as FLOW/EXECUTION too, in a command that has an option for it."""
    command.add_argument(
        "execution", metavar="EXECUTION", nargs="?", default=SUPPRESS, help="the same as --execution EXECUTION"
    )


def _add_rehearsals(actions: Commands) -> None:
    test = command(actions, "test", "flow_test:test", "run the test cases of flows; needs no emulator")
    test.add_argument("files", metavar="FILE", nargs="*", help="case files, or folders with *.test.yaml (default: .)")
    test.add_argument(
        "-k", dest="name", action="append", metavar="TEXT", help="run only cases whose name contains this text"
    )
    test.add_argument("--tag", action="append", metavar="TAG", help="run only cases with this tag")
    _add_parameters(test)
    test.add_argument("--junit", metavar="FILE", help="write a JUnit report for CI")
    test.add_argument(
        "--coverage", nargs="?", const="text", choices=("text", "html"),
        help="report uncovered steps and paths, or write coverage.html with graphs",
    )  # fmt: skip
    test.add_argument(
        "--fail-under", type=percentage, metavar="PERCENT", help="fail if the coverage of a flow is below this"
    )
    test.add_argument(
        "--update", action="store_true", help="write the actual results into the files as the expected ones"
    )
    test.add_argument("--jobs", type=at_least_one, metavar="N", help="number of processes (default: one per core)")
    add_within(test)
    cases = command(actions, "cases", "flow_test:cases", "propose test cases for the uncovered paths of a flow")
    cases.add_argument("file", metavar="FILE", help="a definition, or a case file to complete")
    _add_parameters(cases)
    cases.add_argument("--output", metavar="FILE", help="file to write (default: standard output)")
    replay = command(
        actions, "replay", "flow_replay:replay", "replay a recorded history against a definition and list differences"
    )
    replay.add_argument("file", metavar="HISTORY.json", help="a history in the form that GetExecutionHistory returns")
    replay.add_argument("--definition", metavar="FILE", help="the definition (default: the one in the history's file)")
    _add_parameters(replay)
    replay.add_argument("--from-cloud", action="store_true", help="also report differences in the details of events")
    replay.add_argument("--report", metavar="FILE", help="file for the differences, without names and data")
    shown = command(actions, "show", "flow_replay:show", "show a recorded history as a tree or a graph")
    shown.add_argument("file", metavar="HISTORY.json", help="a history in the form that GetExecutionHistory returns")
    shown.add_argument("--definition", metavar="FILE", help="definition to draw the history on")
    _add_parameters(shown)
    shown.add_argument("--output", metavar="FILE", help="file for the graph, as SVG")
    shown.add_argument("--full", action="store_true", help="do not cut long lines")
