"""The engine without a driver, as in the tests of the engine, for machines."""

import importlib.util
import sys
from pathlib import Path

import pytest


def _engine_conftest():
    path = Path(__file__).parents[2] / "engine" / "conftest.py"
    spec = importlib.util.spec_from_file_location("workflow_engine_play", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_ENGINE = _engine_conftest()


@pytest.fixture(scope="session")
def play():
    """One execution, played in virtual time; see the engine's tests."""
    return _ENGINE.Play


@pytest.fixture(scope="session")
def replay():
    """Fold a history as it would be read from the store."""
    return _ENGINE.replayed
