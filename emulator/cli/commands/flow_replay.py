"""``flow replay`` and ``flow show``: histories in files, of this emulator or of the cloud."""

import json
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.cli.commands.graph import write
from emulator.cli.output import (
    DONE,
    FAILED,
    WrongUsage,
    _,
    say,
    say_json,
    spoken,
    unreadable,
    wants_json,
)
from emulator.cli.parameters import parameters_of
from emulator.cli.tree_view import Style, render
from emulator.config import Settings
from emulator.drawing.execution_tree import Execution
from emulator.kernel.clock import Millis
from emulator.kernel.phrases import said
from emulator.wire.dates import iso_millis

if TYPE_CHECKING:
    from emulator.services.workflow.languages.references import Standalone
    from emulator.services.workflow.rehearsal.replay import Entered, Replayed


class UnreadableHistory(WrongUsage):
    """A file that is not a history, or an invalid definition."""


def replay(arguments: Namespace, settings: Settings) -> int:
    """Replay a history with a definition; the exit code is 1 when the flow deviates from it."""
    # Imported here: the languages take longer to load than most commands take to run.
    from emulator.services.workflow.engine.language import DefinitionError
    from emulator.services.workflow.languages.document import read_document
    from emulator.services.workflow.rehearsal import replay as rehearsal

    document, history = _history(arguments.file)
    definition, place = _definition(arguments, document, rehearsal.account_in(history))
    try:
        program = definition.program()
        root = read_document(definition.text)
    except DefinitionError as error:
        raise UnreadableHistory(f"{place}:{error.line}:{error.column}: {said(error.message, _)}") from error
    replayed = rehearsal.replay(program, history, definition.resources)
    if arguments.report:
        write(Path(arguments.report), json.dumps(rehearsal.report(replayed), indent=2) + "\n")
    line = None
    if replayed.difference is not None:
        # for a recorded step that the definition lacks, the line of the step that replaces it
        steps = replayed.difference.step, replayed.difference.found.partition(" ")[2]
        line = next((found for step in steps if (found := rehearsal.line_of(root, step)) is not None), None)
    if wants_json(arguments):
        difference = replayed.difference and {**replayed.difference._asdict(), "line": line}
        notes = [note._asdict() for note in replayed.notes] if arguments.from_cloud else []
        say_json({"events": replayed.events, "difference": difference, "notes": notes})
    else:
        _tell(arguments, replayed, place, line)
    return DONE if replayed.difference is None else FAILED


def _tell(arguments: Namespace, replayed: "Replayed", place: str, line: int | None) -> None:
    for note in replayed.notes if arguments.from_cloud else ():
        what = _("event {number}, {type} {step}: {member} {what}", number=note.event, **_named(note))
        say(what)
    difference = replayed.difference
    if difference is None:
        say(_("no difference in {number} events", number=replayed.events))
        return
    where = f"{place}:{line}: " if line is not None else ""
    say(where + _("the flow differs from event {number} onwards", number=difference.event))
    say(_("    recorded: {event}", event=difference.expected))
    say(_("    here:     {event}", event=difference.found))


def _named(note: Any) -> dict[str, str]:
    return {"type": note.type, "step": note.step, "member": note.member, "what": note.what}


def show(arguments: Namespace, settings: Settings) -> int:
    """Print a history as the tree of its steps, or write its graph."""
    from emulator.drawing.picture import picture
    from emulator.services.workflow.engine.language import DefinitionError
    from emulator.services.workflow.rehearsal.replay import account_in

    document, history = _history(arguments.file)
    execution = Execution()
    for event in history:
        execution.add(_shown(event))
    if arguments.output:
        definition, place = _definition(arguments, document, account_in(history))
        try:
            write(Path(arguments.output), picture(definition.text, Path(arguments.file).stem, execution, "svg"))
        except DefinitionError as error:
            raise UnreadableHistory(f"{place}:{error.line}:{error.column}: {said(error.message, _)}") from error
        say(_("wrote {file}", file=arguments.output))
        return DONE
    if wants_json(arguments):
        say_json([_shown(event) for event in history])
        return DONE
    for line in render(execution, Path(arguments.file).name, Style.of_terminal(full=arguments.full)):
        say(line)
    return DONE


def _shown(event: "Entered") -> dict[str, Any]:
    return {
        "EventId": event.id,
        "ScheduleEventId": event.scheduled,
        "StepName": event.step,
        "Type": event.type,
        "Time": iso_millis(Millis(event.at)),
        "EventDetail": json.dumps(event.detail, ensure_ascii=False),
    }


def _history(file: str) -> "tuple[Any, list[Entered]]":
    from emulator.services.workflow.rehearsal.replay import NoHistory, read_history, read_pages

    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        text = _("file {file} does not exist; to show an execution of the emulator: {command}")
        raise UnreadableHistory(text.format(file=file, command=f"localyun flow history {file}")) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableHistory(unreadable(file, error)) from error
    try:
        document = read_pages(text)
        return document, read_history(document)
    except NoHistory as error:
        raise UnreadableHistory(_("{file} is not a history: {error}", file=file, error=spoken(str(error)))) from error


def _definition(arguments: Namespace, document: Any, account: str) -> "tuple[Standalone, str]":
    """Return the definition and its place: a file, or the definition contained in the history."""
    from emulator.services.workflow.languages.references import standalone
    from emulator.services.workflow.rehearsal.replay import definition_in

    parameters = parameters_of(arguments.parameter)
    if arguments.definition:
        try:
            text = Path(arguments.definition).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise WrongUsage(unreadable(arguments.definition, error)) from error
        return standalone(text, parameters, account), arguments.definition
    found = definition_in(document)
    if found is not None:
        return standalone(found, parameters, account), arguments.file
    raise WrongUsage(_("the history file has no definition; name one with --definition FILE"))
