"""The command ``localyun``: reading arguments, choosing the command, exit codes.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no emulator answered. Each command lives in a module of
`emulator.cli.commands` that is imported when the command is chosen, so that ``start`` does not pay for the others.
"""

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from emulator.cli.output import FAILED, WRONG_USAGE, CommandFailed, complain
from emulator.cli.parser import parse

INTERRUPTED = 130
"""What shells report for a program that ended on Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; argparse ends the process itself for ``--help`` and wrong usage."""
    with collection_put_off():
        parsed = parse(sys.argv[1:] if arguments is None else arguments)
    if parsed.run is None:
        parsed.help_of.print_help()
        return WRONG_USAGE
    from emulator.config import OPTIONS, ConfigError, load_here  # --help, which ends above, needs none of it

    try:
        with collection_put_off():
            settings = load_here({option.name: getattr(parsed, option.name, None) for option in OPTIONS})
            command = _command(parsed.run)
        return command(parsed, settings)
    except ConfigError as error:
        complain(str(error))
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


def _command(name: str) -> Callable[..., int]:
    """Return the function ``module:function`` names, within ``emulator.cli.commands``."""
    module, _, function = name.partition(":")
    command: Callable[..., int] = getattr(import_module(f"emulator.cli.commands.{module}"), function)
    return command


@contextmanager
def collection_put_off() -> Iterator[None]:
    """Keep the cyclic garbage collector from running inside the block; it takes a tenth of a start's time.

    A program that loads makes tens of thousands of objects and drops none. They are exempt from later collections,
    which look only at what was made since. Source: documentation of ``gc.freeze``.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()
            gc.enable()
