"""``flow graph``: a flow, or one of its executions, as a picture or as Mermaid text.

A tutorial's client records its executions, before it deletes their flow, in a file with one line of JSON per finished
execution: the answer of DescribeExecution, with every event as ``Events``. The last one is drawn.
"""

import json
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from emulator.cli.client import Client, connect
from emulator.cli.commands.execution import latest, name_execution
from emulator.cli.commands.flow_history import read_history
from emulator.cli.output import CommandFailed, _, complain, reason_of, say, tell, words_of
from emulator.cli.tree_view import Event
from emulator.config import Settings
from emulator.drawing.execution_tree import Execution
from emulator.kernel.phrases import said

STANDARD_OUTPUT = "-"
Recorded = Mapping[str, Any]
MERMAID_SUFFIX = ".mmd"


def run(arguments: Namespace, settings: Settings) -> int:
    """Write the picture to a file and print the file's name, or write it to standard output."""
    name_execution(arguments)
    text = _drawn(connect(settings), arguments)
    if arguments.output == STANDARD_OUTPUT:
        say(text.rstrip("\n"))
        return 0
    path = Path(arguments.output or arguments.flow + (MERMAID_SUFFIX if arguments.format == "mermaid" else ".svg"))
    write(path, text)
    if arguments.open:
        open_picture(path)
    return tell(arguments, _("wrote {file}", file=path), {"file": str(path), "format": arguments.format})


def open_picture(path: Path) -> None:
    """Show a picture in the user's browser, if there is one."""
    import webbrowser  # only for --open

    if not webbrowser.open(path.absolute().as_uri()):
        complain(_("{file} cannot be opened: there is no browser", file=path))


def write(path: Path, text: str) -> None:
    """Write the text of a picture to a file.

    Raises: CommandFailed when the file cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(_("{file} cannot be written: {reason}", file=path, reason=reason_of(error))) from error


def picture(definition: str, title: str, execution: Execution | None, form: str) -> str:
    """Return the text of a picture of a flow in the form ``svg`` or ``mermaid``.

    Raises: CommandFailed for an invalid definition.
    """
    # Imported here: reading definitions takes longer to load than most commands take to run.
    from emulator.drawing import picture as drawing
    from emulator.services.workflow.engine.language import DefinitionError

    try:
        return drawing.picture(definition, title, execution, "mermaid" if form == "mermaid" else "svg", _)
    except DefinitionError as error:
        raise CommandFailed(_("the definition cannot be drawn: {error}", error=said(str(error), _))) from error


def picture_of_execution(described: Mapping[str, Any], history: Iterable[Event], form: str) -> str:
    """Return the text of a picture of an execution, given the answer of DescribeExecution and all events.

    Raises: CommandFailed as `picture` does.
    """
    execution = Execution()
    for event in history:
        execution.add(event)
    title = f"{described['FlowName']} / {described['Name']}  {_(words_of(execution.status))}"
    return picture(str(described["FlowDefinition"]), title, execution, form)


def _drawn(client: Client, arguments: Namespace) -> str:
    flow = arguments.flow
    if arguments.execution is None:
        return picture(str(client.workflow("DescribeFlow", Name=flow)["Definition"]), flow, None, arguments.format)
    name = arguments.execution or latest(client, flow)
    described = client.workflow("DescribeExecution", FlowName=flow, ExecutionName=name)
    return picture_of_execution(described, read_history(client, flow, name), arguments.format)


@contextmanager
def record_file() -> Iterator[Path | None]:
    """Yield a path for a record, removed at the end of the block; None when no temporary file can be made."""
    try:
        folder = TemporaryDirectory(prefix="localyun-", ignore_cleanup_errors=True)
    except OSError as error:
        complain(_("no graph will be drawn: {reason}", reason=reason_of(error)))
        yield None
        return
    with folder:
        yield Path(folder.name) / "executions.jsonl"


def read_record(path: Path | None) -> list[Recorded]:
    """Return the executions in a record, in order; incomplete lines are left out."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path is not None else []
    except OSError:  # no execution has ended yet
        return []
    events = []
    for line in lines:
        try:
            events.append(json.loads(line))
        except ValueError:  # a line is incomplete when the disk was full; the client has reported that
            continue
    return events


def draw_last(recorded: Sequence[Recorded], path: Path) -> bool:
    """Draw the last of some executions to *path*, as Mermaid text or SVG by its suffix. Returns whether it was drawn.

    A picture that cannot be drawn is reported but does not fail the command, as the tutorial has run.
    """
    if not recorded:
        complain(_("no graph: no execution has ended"))
        return False
    form = "mermaid" if path.suffix == MERMAID_SUFFIX else "svg"
    try:
        text = _picture(recorded[-1], form)
        _make_folder(path.absolute().parent)
        write(path, text)
    except CommandFailed as error:
        complain(_("no graph: {error}", error=error))
        return False
    return True


def _make_folder(folder: Path) -> None:
    """Make a folder and its parents; new ones are private, as one may be the state folder.

    Raises: CommandFailed when a folder cannot be made.
    """
    try:
        for each in (*reversed(folder.parents), folder):
            each.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise CommandFailed(
            _("{folder} cannot be created: {reason}", folder=folder, reason=reason_of(error))
        ) from error


def with_mermaid(recorded: Recorded) -> Recorded:
    """Return an execution with its picture as the member ``Mermaid``, null when it cannot be drawn."""
    try:
        text = _picture(recorded, "mermaid")
    except CommandFailed:
        text = None
    return {**recorded, "Mermaid": text}


def _picture(recorded: Recorded, form: str) -> str:
    return picture_of_execution(recorded, recorded["Events"], form)
