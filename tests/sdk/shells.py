"""Scripts that stand for Python and pytest in the shells of tests.

A pytest is forked, as `own_pytest.run_pytest` has it, where nothing in front of the module path says that its Python
shall load something first, as `localyun exec` does; one in four runs below that, and shows what a new process does.
"""

import shlex
import sys

from tests import commands, own_pytest


def pytest(*options: str) -> str:
    """Return the script of a pytest with *options*; who starts it has the project alone on PYTHONPATH."""
    anew = shlex.join([sys.executable, "-m", "pytest", *own_pytest.FORKED, *options])
    if not commands.FORK:
        return f'#!/bin/sh\nexec {anew} "$@"\n'
    forked = [*commands.code_program(own_pytest.PROGRAM, *own_pytest.LOADED), *options]
    alone = f'[ "$PYTHONPATH" = {shlex.quote(str(commands.ROOT))} ]'
    return f'#!/bin/sh\n{alone} && exec {shlex.join(forked)} "$@"\nexec {anew} "$@"\n'


def python(pytest: str) -> str:
    """Return the script of a Python whose module pytest is the script of that path."""
    is_pytest = '[ "$1 $2" = "-m pytest" ]'
    run = f'shift 2 && exec {shlex.quote(pytest)} "$@"'
    return f'#!/bin/sh\n{is_pytest} && {run}\nexec {shlex.quote(sys.executable)} "$@"\n'
