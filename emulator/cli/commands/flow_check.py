"""``flow check``: check a definition without a server."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.cli.failures import CommandFailed
from emulator.cli.messages import _
from emulator.cli.output import say, say_json, wants_json
from emulator.config import Settings

if TYPE_CHECKING:
    from emulator.services.workflow.engine.language import DefinitionError
    from emulator.services.workflow.engine.model import StepList

ACCOUNT = "{accountID}"
"""What ``flow create`` replaces by the account's id."""

STANDARD_INPUT = "-"


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
    say(_("ok, 1 step") if steps == 1 else _("ok, {number} steps", number=steps))
    for warning in flow.warnings:
        say(_("warning: {text}", text=warning))
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
        raise CommandFailed(_("{file} cannot be read: {error}", file=name, error=error)) from error


def _refuse(arguments: Namespace, error: "DefinitionError") -> None:
    if wants_json(arguments):
        where = {"line": error.line, "column": error.column, "field": error.field}
        say_json({"ok": False, "error": {**where, "message": error.message}})
        return
    subject = f"{error.field}: " if error.field else ""
    name = "<stdin>" if arguments.file == STANDARD_INPUT else arguments.file
    # The form that editors and CI systems read, and where they read it.
    say(f"{name}:{error.line}:{error.column}: {subject}{error.message}")


def count_steps(steps: "StepList") -> int:
    """Return the number of steps in all depths."""
    from emulator.services.workflow.engine.model import all_steps  # here: see run()

    return sum(1 for _ in all_steps(steps))
