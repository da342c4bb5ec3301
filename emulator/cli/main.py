"""The command ``localyun``: reading arguments, choosing the command, exit codes.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no emulator answered. Each command lives in a module of
`emulator.cli.commands` that is imported when the command is chosen, so that ``start`` does not pay for the others.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from emulator.cli.failures import FAILED, WRONG_USAGE, CommandFailed
from emulator.cli.output import complain
from emulator.cli.parser import parse
from emulator.config import OPTIONS, ConfigError, load
from emulator.kernel.garbage import collection_put_off

INTERRUPTED = 130
"""What shells report for a program that ended on Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; argparse ends the process itself for ``--help`` and wrong usage."""
    with collection_put_off():
        given = parse(sys.argv[1:] if arguments is None else arguments)
    if given.run is None:
        given.help_of.print_help()
        return WRONG_USAGE
    try:
        with collection_put_off():
            flags = {option.name: getattr(given, option.name, None) for option in OPTIONS}
            settings = load(flags, os.environ, Path.cwd())
            command = _command(given.run)
        return command(given, settings)
    except ConfigError as error:
        complain(str(error))
        return WRONG_USAGE
    except CommandFailed as error:
        complain(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (| head). Nobody is left to tell, also not at the flush when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _command(name: str) -> Callable[..., int]:
    """Return the function ``module:function`` names, within ``emulator.cli.commands``."""
    module, _, function = name.partition(":")
    found: Callable[..., int] = getattr(import_module(f"emulator.cli.commands.{module}"), function)
    return found
