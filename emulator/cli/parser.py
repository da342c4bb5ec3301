"""What the grammar of the command line is made with: commands, groups of them, options; and their translation.

A command or option that does not exist is answered with the nearest one that does.
"""

from __future__ import annotations

import os
import sys
from argparse import (
    Action,
    ArgumentError,
    ArgumentParser,
    BooleanOptionalAction,
    HelpFormatter,
    RawDescriptionHelpFormatter,
    _SubParsersAction,
)
from typing import TYPE_CHECKING

from emulator.cli.output import _, is_chinese

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Any, TypeAlias

    from emulator.wire.schema.kinds import Field

_USUAL_COLUMNS = 80

Commands: TypeAlias = "_SubParsersAction[ArgumentParser]"
Adds: TypeAlias = "Callable[[Commands], None]"


class Parser(ArgumentParser):
    """Suggests the nearest command for one that does not exist."""

    def _get_formatter(self) -> HelpFormatter:
        """Return the formatter for the terminal's width, to learn which argparse would load ``shutil``.

        It counts characters: what stands in front of the usage takes twice as many cells in Chinese.
        """
        begin = _("usage: ")
        width = _columns() - 2 - (0 if begin.isascii() else len(begin))
        return self.formatter_class(prog=self.prog, width=width)  # type: ignore[call-arg]  # all take it

    def _check_value(self, action: Action, value: object) -> None:
        if isinstance(action, _SubParsersAction) and value not in action.choices:
            text = _("there is no {value!r}{suggestion}")
            raise ArgumentError(None, text.format(value=value, suggestion=nearest(str(value), action.choices)))
        super()._check_value(action, value)


class PlainHelp(RawDescriptionHelpFormatter):
    """Keeps the lines of descriptions, and wraps text itself: loading ``textwrap`` is a twentieth of ``--help``."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(text, width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        room = width - len(indent)
        given = text.splitlines()
        lines = [[line] if len(line) <= room and line.isascii() else wrapped(line, room) for line in given]
        return "".join(f"{indent}{each}\n" for folded in lines for each in folded)


def wrapped(text: str, width: int) -> list[str]:
    """Return *text* in lines of *width* cells; a word that is longer stays whole."""
    if not text.isascii():
        from emulator.drawing.text_width import fold  # English help needs none

        return fold(text, width)
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + len(word) < width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def nearest(word: str, names: Iterable[str]) -> str:
    """Return the end of a message that suggests the one of *names* most like *word*; empty when none is."""
    import difflib  # for an error message only

    near = difflib.get_close_matches(word, list(names), n=1, cutoff=0.6)
    return _("; did you mean {name}?", name=near[0]) if near else ""


def translate(parser: ArgumentParser) -> None:
    """Put the texts of *parser* and of its commands into the user's language."""
    for name in ("description", "epilog"):
        if text := getattr(parser, name):
            setattr(parser, name, _(text))
    for group in parser._action_groups:
        group.title = _(group.title) if group.title else group.title
    for action in parser._actions:
        action.help = _(action.help) if action.help else action.help
        if isinstance(action, _SubParsersAction):
            for choice in action._choices_actions:
                choice.help = _(choice.help or "")
                command = action.choices[choice.dest]
                if not isinstance(command, Outline):
                    translate(command)
                    command.description = _("{summary}.", summary=choice.help)


def parser_among(words: Collection[str], **given: Any) -> ArgumentParser:
    """Return the parser of a command that is among the *words* of a command line, and of others an `Outline`."""
    named = given["prog"].split()[1:]
    return (
        Parser(formatter_class=PlainHelp, **given) if all(name in words for name in named) else Outline(given["prog"])
    )


def _columns() -> int:
    """Return what `shutil.get_terminal_size` does."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _USUAL_COLUMNS  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return _USUAL_COLUMNS


class Outline(ArgumentParser):
    """The parser of a command of which only the name and the summary are shown; it keeps no arguments."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog=prog, add_help=False)

    def set_defaults(self, **defaults: object) -> None:
        """Keep nothing."""

    def add_argument(self, *names: Any, **options: Any) -> Any:
        """Keep nothing."""

    def add_mutually_exclusive_group(self, **options: Any) -> Any:
        """Return this, which keeps nothing."""
        return self


def command(
    commands: Commands, name: str, run: str, summary: str, *names: str, prints_data: bool = True
) -> ArgumentParser:
    """Add a client command: it takes *names*, ``--state``, and ``--json`` when it prints data."""
    added = commands.add_parser(name, help=summary, description=sentence(summary))
    added.set_defaults(run=run, help_of=added)
    if isinstance(added, Outline):
        return added
    from emulator.config import OPTIONS  # in an outline there are no options

    add_option(added, next(option for option in OPTIONS if option.name == "state"))
    if prints_data:
        added.add_argument("--json", action="store_true", help="print JSON")
    for each in names:
        added.add_argument(each, metavar=each.upper())
    return added


def sentence(summary: str) -> str:
    """Return *summary* as a sentence."""
    return summary[0].upper() + summary[1:] + "."


def add_option(command: ArgumentParser, option: Field) -> None:
    """Add the flag of a setting."""
    from emulator.config import flag_of  # as above
    from emulator.wire.schema.kinds import Flag, OneOf

    flag, about = flag_of(option), option.help[is_chinese()]
    match option.kind:
        case Flag():
            command.add_argument(flag, action=BooleanOptionalAction, default=None, help=about)
        case OneOf(choices=choices):
            command.add_argument(flag, choices=tuple(choices), help=about)
        case _:
            command.add_argument(flag, metavar=option.name_in("value"), help=about)


def group(name: str, summary: str) -> Callable[[Adds], Adds]:
    """Make of a function that adds actions one that adds the command *name*, which has them."""

    def having(add_actions: Adds) -> Adds:
        def add(commands: Commands) -> None:
            added = commands.add_parser(name, help=summary)
            added.set_defaults(help_of=added)
            if not isinstance(added, Outline):
                kind = commands._parser_class
                add_actions(added.add_subparsers(title="actions", metavar="ACTION", prog=added.prog, parser_class=kind))

        return add

    return having
