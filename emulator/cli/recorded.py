"""The executions of a tutorial, which its client records before it deletes their flow, and the pictures of them.

The record has one line of JSON per finished execution: the answer of DescribeExecution, with every event as ``Events``.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from emulator.cli import drawing
from emulator.cli.failures import CommandFailed
from emulator.cli.output import complain

Recorded = Mapping[str, Any]

MERMAID_SUFFIX = ".mmd"


@contextmanager
def place() -> Iterator[Path | None]:
    """Offer the name of a file for a record, which goes with the context; None when there is no room for one."""
    try:
        folder = TemporaryDirectory(prefix="localyun-", ignore_cleanup_errors=True)
    except OSError as error:
        complain(f"no graph will be drawn: {error.strerror}")
        yield None
        return
    with folder:
        yield Path(folder.name) / "executions.jsonl"


def read(path: Path | None) -> list[Recorded]:
    """Return the executions of a record in their order; those that were cut off, or none at all, are left out."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path is not None else []
    except OSError:  # no execution came to its end
        return []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:  # the disk was full, of which the client has told
            continue
    return found


def draw(recorded: Sequence[Recorded], path: Path) -> bool:
    """Draw the last of some executions to *path*, as Mermaid text or SVG by its suffix; tell whether that was done.

    That it cannot be done is told, and is no reason to fail: the tutorial has run.
    """
    if not recorded:
        complain("no graph: no execution came to its end")
        return False
    form = "mermaid" if path.suffix == MERMAID_SUFFIX else "svg"
    try:
        text = _picture(recorded[-1], form)
        _make_folder(path.absolute().parent)
        drawing.write(path, text)
    except CommandFailed as error:
        complain(f"no graph: {error}")
        return False
    return True


def _make_folder(folder: Path) -> None:
    """Make a folder and those it is in; only the user may enter new ones, as one may be the state folder.

    Raises: CommandFailed when that is not possible.
    """
    try:
        for each in (*reversed(folder.parents), folder):
            each.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise CommandFailed(f"{folder} cannot be made: {error.strerror}") from error


def with_mermaid(recorded: Recorded) -> Recorded:
    """Return an execution with its picture as the member ``Mermaid``, null when it cannot be drawn."""
    try:
        text = _picture(recorded, "mermaid")
    except CommandFailed:
        text = None
    return {**recorded, "Mermaid": text}


def _picture(recorded: Recorded, form: str) -> str:
    return drawing.picture_of_execution(recorded, recorded["Events"], form)
