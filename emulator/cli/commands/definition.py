"""``flow check`` and ``flow convert``: definitions checked and converted without a server."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.cli.client import pause
from emulator.cli.output import CommandFailed, WrongUsage, _, say, say_json, tell, wants_json
from emulator.config import Settings

if TYPE_CHECKING:
    from emulator.services.workflow.engine.language import DefinitionError

ACCOUNT = "{accountID}"
"""What ``flow create`` replaces by the account's id."""

STANDARD_INPUT = "-"

AROUND = 60
"""Characters of an expression that are shown on either side of the trouble."""

WATCH_INTERVAL_S = 0.3

_ANY_RESOURCE = "acs:fc:::services/any/functions/any"
"""Stands for the value of a tag while a definition of a template is checked."""


def check(arguments: Namespace, settings: Settings) -> int:
    """Check a file; with ``--watch`` again whenever it changes, until Ctrl-C."""
    if not arguments.watch:
        return _check(arguments)
    if arguments.file == STANDARD_INPUT:
        raise WrongUsage(_("--watch goes with a file"))
    seen = None
    try:
        while True:
            state = _state_of(Path(arguments.file))
            if state != seen:
                seen = state
                try:
                    _check(arguments)
                except CommandFailed as error:  # it may be there again in a moment
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
    """Say ``ok``, the number of steps and what looks unintended; or what is wrong and where, with exit code 1."""
    # Imported here: the reader takes longer to load than most commands take to run.
    from emulator.services.workflow.engine.language import DefinitionError
    from emulator.services.workflow.engine.model import all_steps
    from emulator.services.workflow.languages.programs import read_program

    text, tags = _without_tags(read_definition(arguments.file))
    notes = [_("line {line}: {tag} gets its value from localyun deploy", line=line, tag=tag) for tag, line in tags]
    try:
        # Digits in the place of the account's id, as many as it takes to leave every column where it is.
        flow = read_program(text.replace(ACCOUNT, "0" * len(ACCOUNT)))
    except DefinitionError as error:
        _refuse(arguments, error)
        return 1
    steps = sum(1 for _step in all_steps(flow.steps))
    if wants_json(arguments):
        say_json({"ok": True, "steps": steps, "warnings": list(flow.warnings), "notes": notes})
        return 0
    say(_("ok, 1 step") if steps == 1 else _("ok, {number} steps", number=steps))
    for warning in flow.warnings:
        say(_("warning: {text}", text=warning))
    for note in notes:
        say(_("note: {text}", text=note))
    return 0


def convert(arguments: Namespace, settings: Settings) -> int:
    """Write the state machine that does what a flow of the old language does, with remarks where it differs."""
    # Imported here: see check()
    from emulator.services.workflow.engine.language import DefinitionError
    from emulator.services.workflow.languages.conversion import NotConvertible, convert
    from emulator.services.workflow.languages.fdl.decide import FlowProgram
    from emulator.services.workflow.languages.fields import NAME
    from emulator.services.workflow.languages.programs import read_program

    text, tags = _without_tags(read_definition(arguments.file))
    if tags:
        tag, line = tags[0]
        raise CommandFailed(_("line {line}: {tag} has no value here; convert what it stands for", line=line, tag=tag))
    stem = Path(arguments.file).stem
    name = arguments.name or (stem if NAME.match(stem) else "converted")
    zeros = "0" * len(ACCOUNT)
    try:
        program = read_program(text.replace(ACCOUNT, zeros))
        if not isinstance(program, FlowProgram):
            raise CommandFailed(_("{file} is a state machine already", file=arguments.file))
        converted = convert(program, name).replace(zeros, ACCOUNT)
    except DefinitionError as error:
        _refuse(arguments, error)
        return 1
    except NotConvertible as error:
        raise CommandFailed(str(error)) from error
    if arguments.output in {None, STANDARD_INPUT}:
        say(converted.rstrip("\n"))
        return 0
    Path(arguments.output).write_text(converted, encoding="utf-8")
    return tell(arguments, _("wrote {file}", file=arguments.output), {"file": arguments.output})


def _without_tags(text: str) -> tuple[str, list[tuple[str, int]]]:
    """Return *text* with a resource for each value with a tag of its own, and those tags with their lines.

    What stands outside of such values keeps its line, and its column as well unless it follows one on its line. A text
    that is no YAML is returned as it is.
    """
    import yaml  # slow to import

    events: Any = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    tags: list[tuple[str, int]] = []
    spans: list[tuple[Any, Any]] = []
    opened: list[bool] = []
    try:
        for event in events:
            kind = type(event).__name__
            if kind.endswith("EndEvent") and opened and kind[:1] in "SM" and kind != "StreamEndEvent":
                if opened.pop() and True not in opened:
                    spans[-1] = (spans[-1][0], event.end_mark)
                continue
            is_tagged = (getattr(event, "tag", None) or "")[:1] == "!" and event.tag != "!"
            if is_tagged:
                tags.append((event.tag, event.start_mark.line + 1))
                if True not in opened:
                    spans.append((event.start_mark, event.end_mark))
            if kind in {"SequenceStartEvent", "MappingStartEvent"}:
                opened.append(is_tagged)
    except (yaml.YAMLError, UnicodeEncodeError):
        return text, []
    lines = text.split("\n")
    for start, end in reversed(spans):
        last = lines[end.line] if end.line < len(lines) else ""
        rest = last[end.column :]
        inner = [""] * (end.line - start.line - 1) + [" " * end.column + rest] if end.line > start.line else []
        first = lines[start.line][: start.column] + f'"{_ANY_RESOURCE}"'
        lines[start.line : end.line + 1] = [first, *inner] if inner else [first + rest]
    return "\n".join(lines), tags


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
