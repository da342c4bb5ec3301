"""``flow check`` and ``flow convert``: definitions checked and converted without a server."""

import re
import shlex
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.cli.client import pause
from emulator.cli.output import (
    DONE,
    CallRefused,
    CommandFailed,
    WrongUsage,
    _,
    is_chinese,
    note,
    say,
    say_json,
    sentences,
    tell,
    unreadable,
    wants_json,
)
from emulator.cli.parameters import parameters_of
from emulator.config import Settings
from emulator.kernel.phrases import Phrase, said

if TYPE_CHECKING:
    from emulator.services.workflow.engine.language import DefinitionError
    from emulator.services.workflow.languages.references import Reference

STANDARD_INPUT = "-"

AROUND = 60
"""Characters of an expression that are shown on either side of an error."""

WATCH_INTERVAL_S = 0.3

OTHERWISE = 3
"""The exit code of ``convert --strict`` when the converted flow behaves differently."""


def check(arguments: Namespace, settings: Settings) -> int:
    """Check a file; with ``--watch`` again whenever it changes, until Ctrl-C."""
    if not arguments.watch:
        return _check(arguments)
    if arguments.file == STANDARD_INPUT:
        raise WrongUsage(_("--watch needs a file"))
    seen = None
    try:
        while True:
            state = _state_of(Path(arguments.file))
            if state != seen:
                seen = state
                try:
                    _check(arguments)
                except CommandFailed as error:  # the file may be missing while an editor saves it
                    say(str(error))
            pause(WATCH_INTERVAL_S)
    except KeyboardInterrupt:
        return 0


def _state_of(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _check(arguments: Namespace) -> int:
    """Print ``ok``, the number of steps and warnings; or the error with its place, and exit code 1."""
    # Imported here: the reader takes longer to load than most commands take to run.
    from emulator.services.workflow.engine.language import DefinitionError
    from emulator.services.workflow.engine.model import all_steps
    from emulator.services.workflow.languages.references import standalone

    text = read_definition(arguments.file)
    if re.search(r"^flow:", text, re.MULTILINE) and re.search(r"^cases:", text, re.MULTILINE):
        command = f"localyun flow test {arguments.file}"
        raise WrongUsage(_("{file} is a file of cases: {command}", file=arguments.file, command=command))
    definition = standalone(text, parameters_of(arguments.parameter))
    notes = [
        _("line {line}: {tag} gets its value from localyun deploy", line=line, tag=tag)
        for each in definition.references
        for tag, line in each.tags
    ]
    try:
        flow = definition.program()
    except DefinitionError as error:
        _refuse(arguments, error)
        return 1
    steps = sum(1 for _step in all_steps(flow.steps))
    if wants_json(arguments):
        say_json({"ok": True, "steps": steps, "warnings": list(flow.warnings), "notes": notes})
        return 0
    say(_("ok, 1 step") if steps == 1 else _("ok, {number} steps", number=steps))
    for warning in flow.warnings:
        say(_("warning: {text}", text=said(warning, _)))
    for each in notes:
        say(_("note: {text}", text=each))
    return 0


def convert(arguments: Namespace, settings: Settings) -> int:
    """Write a state machine that is equivalent to a flow of the old language, with remarks about differences."""
    # Imported here: see check()
    from emulator.services.workflow.engine.language import DefinitionError
    from emulator.services.workflow.languages.conversion import NotConvertible, convert
    from emulator.services.workflow.languages.document import A_NAME, NAME
    from emulator.services.workflow.languages.fdl.decide import FlowProgram
    from emulator.services.workflow.languages.programs import read_program
    from emulator.services.workflow.languages.references import ACCOUNT, ZEROS, Misplaced, put_back, stand_ins

    source, references = stand_ins(read_definition(arguments.file), parameters_of(arguments.parameter))
    stem = Path(arguments.file).stem
    name = arguments.name or (stem if NAME.match(stem) else "converted")
    if not NAME.match(name):
        raise WrongUsage(_("--name: {name!r} is not {what}", name=name, what=said(A_NAME, _)))
    try:
        program = read_program(source.replace(ACCOUNT, ZEROS))
        if not isinstance(program, FlowProgram):
            raise CommandFailed(_("{file} is a state machine already", file=arguments.file))
        converted = convert(program, name, _)
        text = put_back(converted.text.replace(ZEROS, ACCOUNT), references)
    except DefinitionError as error:
        at_fault = next((each for each in references if each.line == error.line), None)
        if at_fault is not None:
            raise _without_value(at_fault) from error
        _refuse(arguments, error)
        return 1
    except Misplaced as error:
        raise _without_value(error.reference) from error
    except NotConvertible as error:
        raise CommandFailed(said(str(error), _)) from error
    return _converted(arguments, text, converted.remarks)


def _without_value(reference: "Reference") -> CommandFailed:
    where = {"line": reference.line, "tag": reference.tag}
    return CommandFailed(_("line {line}: {tag} has no value here; --parameter NAME=VALUE gives it one", **where))


def _converted(arguments: Namespace, text: str, remarks: int) -> int:
    if arguments.output in {None, STANDARD_INPUT}:
        say(text.rstrip("\n"))
    else:
        Path(arguments.output).write_text(text, encoding="utf-8")
        tell(arguments, _("wrote {file}", file=arguments.output), {"file": arguments.output, "remarks": remarks})
    if not remarks:
        return DONE
    note(
        _("1 comment in it describes a difference")
        if remarks == 1
        else _("{number} comments in it describe differences", number=remarks)
    )
    return OTHERWISE if arguments.strict else DONE


def definition_to_send(arguments: Namespace, name: str, account: str) -> str:
    """Return the definition in a file, for the emulator, with the account's id and the values of parameters filled in.

    Raises: CommandFailed, also for a reference without a value.
    """
    from emulator.services.workflow.languages.references import ACCOUNT, stand_ins

    text, references = stand_ins(read_definition(name), parameters_of(arguments.parameter))
    if references:
        raise _without_value(references[0])
    return text.replace(ACCOUNT, account)


def explained(refusal: CallRefused, definition: str, file: str) -> CallRefused:
    """Return the refusal of a *definition*, with its error in the user's language, and how to see further ones."""
    if "Definition: " not in refusal.said:
        return refusal
    from emulator.services.workflow.engine.language import DefinitionError
    from emulator.services.workflow.languages.programs import read_program

    try:
        read_program(definition)
    except DefinitionError as error:
        text = refusal.said
        if is_chinese():
            text = said(Phrase("Definition: {problem}", problem=str(error)), _)
        if (number := len(error.every())) > 1 and file != STANDARD_INPUT:
            command = f"localyun flow check {shlex.quote(file)}"
            text = sentences(text, _("({number} mistakes; {command} shows them all)", number=number, command=command))
        return CallRefused(refusal.status, refusal.code, text, refusal.content)
    return refusal


def read_definition(name: str) -> str:
    """Return the text of the file *name*, or of standard input for ``-``.

    Raises: CommandFailed.
    """
    try:
        if name == STANDARD_INPUT:
            return sys.stdin.buffer.read().decode("utf-8")
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(unreadable(name, error)) from error


def _refuse(arguments: Namespace, error: "DefinitionError") -> None:
    mistakes = error.every()
    if wants_json(arguments):
        errors = [_as_json(each) for each in mistakes]
        say_json({"ok": False, "error": errors[0], "errors": errors})
        return
    name = "<stdin>" if arguments.file == STANDARD_INPUT else arguments.file
    for each in mistakes:
        # The format and the stream that editors and CI systems parse.
        say(f"{name}:{each.line}:{each.column}: {said(each.sentence, _)}")
        if each.expression is not None:
            for line in pointed_at(*each.expression):
                say(line)
    if len(mistakes) > 1:
        note(_("{number} mistakes", number=len(mistakes)))


def _as_json(error: "DefinitionError") -> dict[str, object]:
    where: dict[str, object] = {"line": error.line, "column": error.column, "field": error.field}
    if error.expression is not None:
        where["expression"], where["position"] = error.expression
    return {**where, "message": error.message}


def pointed_at(expression: str, position: int) -> tuple[str, str]:
    """Return the line of *expression* with the character at *position*, and a line with a caret under it.

    A long line is cut around the position. Characters that take two cells count as two.
    """
    from unicodedata import east_asian_width  # few calls need the width of characters

    start = expression.rfind("\n", 0, position) + 1
    line = expression[start:].partition("\n")[0].replace("\t", " ")
    place = position - start
    cut = max(place - AROUND, 0)
    shown = line[cut : place + AROUND]
    width = sum(2 if east_asian_width(character) in "WF" else 1 for character in shown[: place - cut])
    return f"    {shown}", f"    {' ' * width}^"
