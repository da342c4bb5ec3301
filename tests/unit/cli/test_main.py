"""Putting off the cyclic garbage collector."""

import gc
import sys
from gettext import NullTranslations
from types import SimpleNamespace

import pytest

from emulator.cli import output
from emulator.cli.main import collection_put_off, main
from emulator.cli.output import FAILED


def test_collector_rests_inside_the_block_and_works_again_after_it() -> None:
    """Blocks can be nested; only the outermost one turns the collector on again."""
    with collection_put_off():
        with collection_put_off():
            inner = gc.isenabled()
        between = gc.isenabled()

    assert (inner, between, gc.isenabled()) == (False, False, True)


def test_collector_works_again_after_a_failure() -> None:
    """An exception leaves the block like any other end does."""
    with pytest.raises(KeyError), collection_put_off():
        raise KeyError

    assert gc.isenabled()


def test_another_implementation_of_python_is_refused_by_name(monkeypatch, capsys) -> None:
    """Whatever the command: what another Python lacks would show as a traceback."""
    monkeypatch.setattr(sys, "implementation", SimpleNamespace(name="pypy"))
    monkeypatch.setattr("platform.python_implementation", lambda: "PyPy")
    monkeypatch.setattr(output, "catalogue", NullTranslations)

    code = main(["--version"])

    assert code == FAILED
    assert capsys.readouterr().err.startswith("localyun: localyun needs CPython, and this is PyPy 3.")
