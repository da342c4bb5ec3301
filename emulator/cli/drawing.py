"""``flow graph``: a flow, or one of its executions, as a picture or as Mermaid text."""

from argparse import Namespace
from pathlib import Path

from emulator.cli import history as events
from emulator.cli.client import Client
from emulator.cli.failures import CommandFailed
from emulator.cli.flow import latest
from emulator.cli.output import say
from emulator.cli.session import connect
from emulator.cli.tree import spoken
from emulator.cli.visits import Execution
from emulator.config import Settings
from emulator.kernel.frozen import frozen

STANDARD_OUTPUT = "-"
_SUFFIXES = {"svg": "svg", "mermaid": "mmd"}


@frozen
class _Subject:
    """What is to be drawn: the definition, the heading, and the execution if one was asked for."""

    definition: str
    title: str
    execution: Execution | None = None


def graph(arguments: Namespace, settings: Settings) -> int:
    """Write the picture to a file and print the file's name, or write it to standard output."""
    subject = _subject(connect(settings), arguments)
    text = picture(subject.definition, subject.title, subject.execution, arguments.format)
    if arguments.output == STANDARD_OUTPUT:
        say(text.rstrip("\n"))
        return 0
    path = Path(arguments.output or f"{arguments.flow}.{_SUFFIXES[arguments.format]}")
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{path} cannot be written: {error.strerror}") from error
    say(f"wrote {path}")
    return 0


def picture(definition: str, title: str, execution: Execution | None, form: str) -> str:
    """Return the text of a picture of a flow in the form ``svg`` or ``mermaid``.

    Raises: CommandFailed for a definition that is no flow.
    """
    # Imported here: reading definitions takes longer to load than most commands take to run.
    from emulator.cli.graph import mermaid, svg
    from emulator.cli.graph.layout import draw
    from emulator.cli.graph.model import build, steps_of
    from emulator.cli.graph.states import states, taken
    from emulator.services.workflow.definition.errors import DefinitionError
    from emulator.services.workflow.definition.parse import parse_flow

    try:
        flow = parse_flow(definition)
    except DefinitionError as error:
        raise CommandFailed(f"the definition cannot be drawn: {error}") from error
    model = build(flow)
    run = None
    notes = {}
    if execution is not None:
        found = states(execution, [node.name for node in steps_of(model)])
        run = svg.Run(states=found, taken=taken(execution))
        notes = {name: state.note for name, state in found.items()}
    if form == "mermaid":
        return mermaid.render(model, title, run.states if run is not None else None)
    return svg.render(draw(model, notes), title, run)


def _subject(client: Client, arguments: Namespace) -> _Subject:
    flow = arguments.flow
    if arguments.execution is None:
        return _Subject(definition=str(client.workflow("DescribeFlow", Name=flow)["Definition"]), title=flow)
    name = arguments.execution or latest(client, flow)
    described = client.workflow("DescribeExecution", FlowName=flow, ExecutionName=name)
    execution = Execution()
    for event in events.read(client, flow, name):
        execution.add(event)
    title = f"{flow} / {name}  {spoken(execution.status)}"
    return _Subject(definition=str(described["FlowDefinition"]), title=title, execution=execution)
