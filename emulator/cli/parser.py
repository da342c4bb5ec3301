"""The building blocks of the command line's grammar: commands, groups of commands, options.

Texts are translated and folded to the terminal's width as they are added. For an unknown command the most similar one
is suggested.
"""

from __future__ import annotations

import os
import sys
from argparse import REMAINDER, Action, ArgumentError, ArgumentParser, BooleanOptionalAction, RawTextHelpFormatter

from emulator.cli.output import _, enumerated, is_chinese

TYPE_CHECKING = False  # as in ``typing``, whose import would be a tenth of ``--help``
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Any, NoReturn, TypeAlias

    from emulator.wire.schema.kinds import Field

_USUAL_COLUMNS = 80
_MARGIN = 2
_OPTION_COLUMN, _COMMAND_COLUMN = 24, 19
"""The rightmost columns at which argparse begins the help of an option, and the summary of a command."""
_INDENT = 2
"""By how much argparse indents commands below their placeholder."""
_NARROWEST = 11

Adds: TypeAlias = "Callable[[Commands], None]"


class PlainHelp(RawTextHelpFormatter):
    """Formats help with the lines of texts unchanged, and usage as wide as the terminal.

    argparse would wrap texts with ``textwrap``, which counts characters, while Chinese ones take two cells; and
    importing ``shutil`` for the width is slow.
    """

    def __init__(self, prog: str, **options: Any) -> None:
        begin = _("usage: ")
        super().__init__(prog, width=_width() - (0 if begin.isascii() else len(begin)), **options)

    def format_help(self) -> str:
        """Return the help without trailing blanks, with the user's language's colon after headings."""
        return "".join(f"{_with_colon(line.rstrip())}\n" for line in super().format_help().splitlines())


def _with_colon(line: str) -> str:
    """Return a line with the language's colon in place of argparse's English one."""
    return line if line[-2:-1].isascii() or not line.endswith(":") else f"{line[:-1]}\uff1a"


class Parser(ArgumentParser):
    """The parser of a command, with its options and arguments by name; *words* are the command line, None for any."""

    def __init__(self, words: Collection[str] | None = None, **given: Any) -> None:
        self._words = words
        self.options: dict[str, Action] = {}
        self.positionals: list[Action] = []
        self.commands: dict[str, Parser] = {}
        for name in ("description", "epilog"):
            given[name] = _folded(given.get(name), _width())
        super().__init__(formatter_class=PlainHelp, **given)
        self.color = False  # Python 3.14 would color the usage, which is parsed here, and the lines

    def add_argument(self, *names: Any, **options: Any) -> Action:
        """Add an option or a positional argument."""
        return self._noted(super().add_argument(*names, **_shown(options)))

    def alternatives(self) -> Alternatives:
        """Return a group of mutually exclusive options."""
        group = self.add_mutually_exclusive_group()
        return Alternatives(lambda *names, **options: self._noted(group.add_argument(*names, **_shown(options))))

    def add_commands(self, title: str, metavar: str) -> Commands:
        """Add subcommands; the result takes their parsers."""
        kind: Any = self._command  # a function that returns a parser works as its class
        added = self.add_subparsers(title=_(title), metavar=metavar, prog=self.prog, parser_class=kind)
        self.usage = self.format_usage().removeprefix(_("usage: ")).rstrip()  # it is translated in `add_parser` too
        return Commands(added, self.commands)

    def error(self, message: str) -> NoReturn:
        """Print usage and *message*, or that the command is unknown, and exit with code 2."""
        word = self._command_given()
        if self.commands and word is not None and word not in self.commands:
            help_command = f"{self.prog} --help"
            suggestion = nearest(word, self.commands) or _("; {command} lists the commands", command=help_command)
            message = _("unknown command {value!r}{suggestion}", value=word, suggestion=suggestion)
        super().error(message)

    def _check_value(self, action: Action, value: str) -> None:
        """Refuse a value outside of the choices, suggesting the most similar; argparse calls this for each value."""
        if action.choices is not None and value not in action.choices:
            shown, suggestion = enumerated(map(str, action.choices)), nearest(value, map(str, action.choices))
            text = _("invalid choice: {value!r} (choose from {choices}){suggestion}")
            raise ArgumentError(action, text.format(value=value, choices=shown, suggestion=suggestion))

    def _command(self, **given: Any) -> Parser:
        """Return the parser of a command among the words of the command line; an `Outline` for others."""
        named = given["prog"].split()[1:]
        words = self._words
        return (Parser if words is None or all(name in words for name in named) else Outline)(words, **given)

    def _noted(self, action: Action) -> Action:
        self.options |= dict.fromkeys(action.option_strings, action)
        if action.nargs == REMAINDER:
            action.required = False  # Python 3.11 would report it as a missing argument
        if not action.option_strings:
            self.positionals.append(action)
        return action

    def _command_given(self) -> str | None:
        """Return the word in the place of a command, None when there is none."""
        words = iter(self._words or ())
        for name in self.prog.split()[1:]:
            next((word for word in words if word == name), None)
        for word in words:
            if not word.startswith("-"):
                return word
            option = self.options.get(word)
            if option is not None and option.nargs is None:
                next(words, None)  # the option's value
        return None


class Outline(Parser):
    """A substitute for the parser of a command of which only the name and the summary are shown; it has no arguments.

    A parser of argparse would take 0.1 ms to make, and there are up to fifty commands besides the one given.
    """

    def __init__(self, words: Collection[str] | None = None, *, prog: str, **given: Any) -> None:
        self.prog = prog

    def set_defaults(self, **defaults: object) -> None:
        """Ignore the arguments."""

    def add_argument(self, *names: Any, **options: Any) -> Any:
        """Ignore the arguments."""

    def _check_help(self, action: Action) -> None:
        """Do nothing; argparse calls this from Python 3.14 on, and only its own parser has what it needs."""

    def alternatives(self) -> Alternatives:
        """Return a group that ignores its options."""
        return Alternatives(self.add_argument)


class Alternatives:
    """A group of mutually exclusive options; *add* is called as `Parser.add_argument`."""

    def __init__(self, add: Callable[..., Any]) -> None:
        self.add_argument = add


class Commands:
    """The subcommands of a parser; *added* is argparse's action for them, *parsers* collects their parsers."""

    def __init__(self, added: Any, parsers: dict[str, Parser]) -> None:
        self._added = added
        self.parsers = parsers

    def add_parser(self, name: str, summary: str) -> Parser:
        """Add a command and return its parser."""
        shown = _(summary)
        about = _("{summary}.", summary=shown[0].upper() + shown[1:])
        parser: Parser = self._added.add_parser(name, help=_help(summary, _COMMAND_COLUMN), description=about)
        parser.set_defaults(run=None, help_of=parser)
        self.parsers[name] = parser
        if len(name) + _INDENT > len(self._added.metavar):  # argparse aligns the summaries by the length of the metavar
            self._added.metavar = self._added.metavar.ljust(len(name) + _INDENT)
        return parser


def _width() -> int:
    return _columns() - _MARGIN


def _shown(options: dict[str, Any]) -> dict[str, Any]:
    return {**options, "help": _help(options["help"], _OPTION_COLUMN)} if options.get("help") else options


def _help(text: str, column: int) -> str:
    """Return a help text folded to the width that is left beside *column*."""
    return "\n".join(wrapped(_(text), max(_width() - column, _NARROWEST)))


def _folded(text: str | None, width: int) -> str | None:
    if text is None:
        return None
    lines = ([line] if len(line) <= width and line.isascii() else wrapped(line, width) for line in _(text).splitlines())
    return "\n".join(each for folded in lines for each in folded or [""])


def wrapped(text: str, width: int) -> list[str]:
    """Return *text* in lines of *width* cells; a longer word stays whole."""
    if not text.isascii():
        from emulator.drawing.text_width import fold  # English help does not need it

        return fold(text, width)
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + len(word) < width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def nearest(word: str, names: Iterable[str]) -> str:
    """Return the end of a message that suggests the most similar of *names*; "" when none is similar."""
    near = near_name(word, names)
    return meant(near) if near else ""


def meant(name: str) -> str:
    """Return the end of a message that suggests *name*."""
    return _("; did you mean {name}?", name=name)


def near_name(word: str, names: Iterable[str]) -> str:
    """Return the one of *names* most similar to *word*; "" when none is similar."""
    import difflib  # for an error message only

    near = difflib.get_close_matches(word, list(names), n=1, cutoff=0.6)
    return near[0] if near else ""


def _columns() -> int:
    """Return the same as `shutil.get_terminal_size`."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _USUAL_COLUMNS  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return _USUAL_COLUMNS


def command(commands: Commands, name: str, run: str, summary: str, *names: str, prints_data: bool = True) -> Parser:
    """Add a client command: it takes *names*, ``--state``, and ``--json`` when it prints data."""
    added = commands.add_parser(name, summary)
    added.set_defaults(run=run)
    if isinstance(added, Outline):
        return added
    from emulator.config import OPTIONS  # an outline has no options

    add_option(added, next(option for option in OPTIONS if option.name == "state"))
    if prints_data:
        added.add_argument("--json", action="store_true", help="print JSON")
    for each in names:
        added.add_argument(each, metavar=each.upper(), help=f"name of the {each}")
    return added


def add_option(command: Parser, option: Field) -> None:
    """Add the flag of a setting."""
    from emulator.config import flag_of  # an outline has no options
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
    """Turn a function that adds actions into one that adds the command *name* with these actions."""

    def having(add_actions: Adds) -> Adds:
        def add(commands: Commands) -> None:
            added = commands.add_parser(name, summary)
            if not isinstance(added, Outline):
                add_actions(added.add_commands("actions", "ACTION"))

        return add

    return having
