"""The command ``localyun``: parsing arguments, choosing the command, exit codes.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no emulator for this folder. Each command lives in a module of
`emulator.cli.commands` that is imported when the command is chosen, so that ``start`` does not pay for the others.
"""

from __future__ import annotations

import gc
import os
import sys
from argparse import Namespace

from emulator.cli.grammar import GROUPS
from emulator.cli.output import FAILED, WRONG_USAGE, CallRefused, CommandFailed, _, complain, speak_translated, spoken
from emulator.cli.parser import Parser, nearest

TYPE_CHECKING = False  # as in ``typing``, whose import would be a tenth of ``--help``
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_DESCRIPTION = (
    "Function Compute, Simple Message Queue (formerly MNS) and CloudFlow of Alibaba Cloud on your own machine."
)
_EPILOG = """localyun COMMAND --help describes a command; localyun docs WORDS searches the documentation.

exit codes: 0 done, 1 failed, 2 wrong usage, 3 no emulator for this folder, 4 diff found differences

Each option of start is also an environment variable (LOCALYUN_PORT for --port) and a key of localyun.yaml."""

_COMMON: dict[str, dict[str, Any]] = {
    "state": {"metavar": "DIR", "help": "state folder (also allowed after the command)"},
    "json": {"action": "store_true", "help": "print JSON (also allowed after the command)"},
}
"""The options that may stand before the command, as argparse takes them."""

_DESPITE_THE_FILE = ("server:stop", "server:status", "server:show_list")
"""Commands that work with an invalid ``localyun.yaml`` too, so that a running emulator can be found and stopped."""

INTERRUPTED = 130
"""The exit code that shells use for a program ended by Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; argparse ends the process itself for ``--help`` and wrong usage."""
    if sys.implementation.name != "cpython":
        return _refuse_implementation()
    with collection_put_off():
        parsed = parse(sys.argv[1:] if arguments is None else arguments)
        if parsed.run is None:
            parsed.help_of.print_help()
            return WRONG_USAGE
        from emulator.config import OPTIONS, ConfigError, load_here  # not needed for --help, which has ended above

    try:
        with collection_put_off():
            flags = {option.name: getattr(parsed, option.name, None) for option in OPTIONS}
            try:
                settings = load_here(flags)
            except ConfigError as error:
                if parsed.run not in _DESPITE_THE_FILE:
                    raise
                settings = load_here(flags, ignores_file=True)
                complain(spoken(str(error)))
            command = _command(parsed.run)
        try:
            return command(parsed, settings)
        except CallRefused as error:
            from emulator.cli.refusals import told  # for an error message only

            complain(told(error, parsed, settings))
            if error.status == 404 and not (error.is_own and error.code == "NotFound"):  # an unknown name
                from emulator.cli.client import say_where_else  # already imported by the call that failed

                say_where_else(settings)
            return error.exit_code
    except ConfigError as error:
        complain(spoken(str(error)))
        return WRONG_USAGE
    except CommandFailed as error:
        complain(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (| head). No message can reach it, also not at the flush when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _refuse_implementation() -> int:
    """Refuse to run on another Python than CPython, whose garbage collector and HTTP parser the emulator needs."""
    from platform import python_implementation, python_version  # only reached on other implementations

    complain(
        _(
            "localyun needs CPython, and this is {name} {version}; create the virtual environment with CPython",
            name=python_implementation(),
            version=python_version(),
        )
    )
    return FAILED


def parse(arguments: Sequence[str]) -> Namespace:
    """Parse *arguments*; ``run`` of the result is the ``module:function`` of the command, or None.

    Ends the process itself for ``--help`` and wrong usage.
    """
    parsed, unknown = build(arguments).parse_known_args(arguments)
    unknown += _moved_behind(parsed)
    if unknown:
        command: Parser = parsed.help_of
        option = next((word for word in unknown if word.startswith("-")), "").partition("=")[0]
        text = _("unrecognized arguments: {words}{suggestion}")
        command.error(text.format(words=" ".join(unknown), suggestion=_instead_of(option, command)))
    return parsed


def _instead_of(option: str, command: Parser) -> str:
    """Return the end of a message that suggests an option in place of *option*, which *command* does not have."""
    from emulator.config import FLAGS, OPTIONS, flag_of  # for an error message only

    if any(each.is_in(FLAGS) and flag_of(each) == option for each in OPTIONS):
        return _("; that option belongs to start; other commands find the emulator through --state")
    if not option and "--event" in command.options:
        return _("; write the event after --event, in quotes")
    if option[1:2].isdigit() and command.prog.endswith(" clock"):
        return _("; the emulator's time only goes forward, and localyun reset sets it to this machine's")
    return nearest(option, command.options) if option and not option[1:2].isdigit() else ""


def _moved_behind(parsed: Namespace) -> list[str]:
    """Move options before the command behind it, unless it was given them itself; return those it does not have."""
    unknown = []
    for option in _COMMON:
        value = getattr(parsed, _before(option))
        if value and not getattr(parsed, option, None):
            if parsed.run is not None and not hasattr(parsed, option):
                unknown.append(f"--{option}")
            setattr(parsed, option, value)
    return unknown


def _before(option: str) -> str:
    return f"{option}_before"


def build(words: Sequence[str] | None = None) -> Parser:
    """Return the grammar needed for these *words* of a command line; for None, all of it.

    The whole grammar takes tens of milliseconds to build. Commands and actions that are not among the words have only
    their names and summaries.
    """
    speak_translated()  # before the first parser, whose own texts come from argparse
    parser = Parser(words, prog="localyun", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="store_const", dest="run", const="server:version", help="print the version")
    for option, about in _COMMON.items():
        parser.add_argument(f"--{option}", dest=_before(option), **about)
    parser.set_defaults(run=None, help_of=parser)
    commands = parser.add_commands("commands", "COMMAND")
    named = [add for names, add in GROUPS if words and words[0] in names]
    for add in named or [add for names, add in GROUPS]:
        add(commands)
    return parser


def _command(name: str) -> Callable[..., int]:
    """Return the function named ``module:function`` in ``emulator.cli.commands``."""
    from importlib import import_module  # not needed for --help, which runs no command

    module, _, function = name.partition(":")
    command: Callable[..., int] = getattr(import_module(f"emulator.cli.commands.{module}"), function)
    return command


class collection_put_off:  # noqa: N801 - named like a function of `contextlib`, whose import is a thirtieth of ``--help``
    """Disable the garbage collector inside the block, where it would take a tenth of a start's time.

    A loading program makes tens of thousands of objects and drops none. They are exempted from later collections too.
    Source: documentation of ``gc.freeze``.
    """

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *error: object) -> None:
        if self._was_on:
            gc.freeze()
            gc.enable()
