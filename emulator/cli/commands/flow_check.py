"""``flow check``: check a definition without a server."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.cli.failures import CommandFailed
from emulator.cli.output import say, say_json, wants_json
from emulator.config import Settings

if TYPE_CHECKING:
    from emulator.services.workflow.engine.language import DefinitionError
    from emulator.services.workflow.engine.model import StepList

ACCOUNT = "{accountID}"
"""What ``flow create`` replaces by the account's id."""

STANDARD_INPUT = "-"

AROUND = 60
"""Characters of an expression that are shown on either side of the trouble."""


def run(arguments: Namespace, settings: Settings) -> int:
    """Say ``ok``, the number of steps and what looks unintended; or what is wrong and where, with exit code 1."""
    # Imported here: the reader takes longer to load than most commands take to run.
    from emulator.services.workflow.engine.language import DefinitionError
    from emulator.services.workflow.languages.programs import read_program

    del settings
    text = read_definition(arguments.file)
    try:
        # Digits in the place of the account's id, as many as it takes to leave every column where it is.
        flow = read_program(text.replace(ACCOUNT, "0" * len(ACCOUNT)))
    except DefinitionError as error:
        _refuse(arguments, error)
        return 1
    steps = count_steps(flow.steps)
    if wants_json(arguments):
        say_json({"ok": True, "steps": steps, "warnings": list(flow.warnings)})
        return 0
    say(f"ok, {steps} {'step' if steps == 1 else 'steps'}")
    for warning in flow.warnings:
        say(f"warning: {warning}")
    return 0


def read_definition(name: str) -> str:
    """Return the text of the file *name*, or of standard input for ``-``.

    Raises: CommandFailed.
    """
    try:
        if name == STANDARD_INPUT:
            return sys.stdin.buffer.read().decode("utf-8")
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(f"{name} cannot be read: {error}") from error


def _refuse(arguments: Namespace, error: "DefinitionError") -> None:
    if wants_json(arguments):
        where: dict[str, object] = {"line": error.line, "column": error.column, "field": error.field}
        if error.expression is not None:
            where["expression"], where["position"] = error.expression
        say_json({"ok": False, "error": {**where, "message": error.message}})
        return
    subject = f"{error.field}: " if error.field else ""
    name = "<stdin>" if arguments.file == STANDARD_INPUT else arguments.file
    # The form that editors and CI systems read, and where they read it.
    say(f"{name}:{error.line}:{error.column}: {subject}{error.message}")
    if error.expression is not None:
        for line in pointed_at(*error.expression):
            say(line)


def pointed_at(expression: str, position: int) -> tuple[str, str]:
    """Return the line of *expression* that has the character at *position*, and a line with a caret under it.

    Of a long line some of what is around it. Characters as wide as two columns get two columns.
    """
    from unicodedata import east_asian_width  # here: see run()

    start = expression.rfind("\n", 0, position) + 1
    line = expression[start:].partition("\n")[0].replace("\t", " ")
    place = position - start
    cut = max(place - AROUND, 0)
    shown = line[cut : place + AROUND]
    width = sum(2 if east_asian_width(character) in "WF" else 1 for character in shown[: place - cut])
    return f"    {shown}", f"    {' ' * width}^"


def count_steps(steps: "StepList") -> int:
    """Return the number of steps in all depths."""
    from emulator.services.workflow.engine.model import all_steps  # here: see run()

    return sum(1 for _ in all_steps(steps))
