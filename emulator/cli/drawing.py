"""``flow graph``: a flow, or one of its executions, as a picture or as Mermaid text."""

from argparse import Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from emulator.cli import history as events
from emulator.cli.client import Client
from emulator.cli.failures import CommandFailed
from emulator.cli.flow import latest
from emulator.cli.output import say
from emulator.cli.session import connect
from emulator.cli.tree import spoken
from emulator.cli.visits import Execution
from emulator.config import Settings

STANDARD_OUTPUT = "-"
_SUFFIXES = {"svg": "svg", "mermaid": "mmd"}


def graph(arguments: Namespace, settings: Settings) -> int:
    """Write the picture to a file and print the file's name, or write it to standard output."""
    text = _drawn(connect(settings), arguments)
    if arguments.output == STANDARD_OUTPUT:
        say(text.rstrip("\n"))
        return 0
    path = Path(arguments.output or f"{arguments.flow}.{_SUFFIXES[arguments.format]}")
    write(path, text)
    say(f"wrote {path}")
    return 0


def write(path: Path, text: str) -> None:
    """Write the text of a picture to a file.

    Raises: CommandFailed when that is not possible.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{path} cannot be written: {error.strerror}") from error


def picture(definition: str, title: str, execution: Execution | None, form: str) -> str:
    """Return the text of a picture of a flow in the form ``svg`` or ``mermaid``.

    Raises: CommandFailed for a definition that is no flow.
    """
    # Imported here: reading definitions takes longer to load than most commands take to run.
    from emulator.cli.graph import mermaid, svg
    from emulator.cli.graph.layout import draw
    from emulator.cli.graph.model import build, steps_of
    from emulator.cli.graph.states import states, taken
    from emulator.services.workflow.engine.language import DefinitionError
    from emulator.services.workflow.languages.fdl.reader import parse_flow

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


def picture_of_execution(described: Mapping[str, Any], history: Iterable[events.Event], form: str) -> str:
    """Return the text of a picture of an execution, of the answer of DescribeExecution and every event.

    Raises: CommandFailed as `picture` does.
    """
    execution = Execution()
    for event in history:
        execution.add(event)
    title = f"{described['FlowName']} / {described['Name']}  {spoken(execution.status)}"
    return picture(str(described["FlowDefinition"]), title, execution, form)


def _drawn(client: Client, arguments: Namespace) -> str:
    flow = arguments.flow
    if arguments.execution is None:
        return picture(str(client.workflow("DescribeFlow", Name=flow)["Definition"]), flow, None, arguments.format)
    name = arguments.execution or latest(client, flow)
    described = client.workflow("DescribeExecution", FlowName=flow, ExecutionName=name)
    return picture_of_execution(described, events.read(client, flow, name), arguments.format)
