"""Every fuzz target on its seeds, on what once failed, and on a bounded number of mutations; and its growth.

``python3 dev.py fuzz`` runs the same targets for as long as one likes, guided by coverage.
"""

import pytest

from tests.fuzz.catalog import TARGETS
from tests.fuzz.inputs import CORPUS, REGRESSIONS, mutations, read_inputs

MUTATIONS = 150
"""For each target; a second or two."""

SEED = 20261122


def failure_of(target, data):
    """Return the exception that *target* raises for *data*, None when it holds."""
    try:
        target(data)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_hold(name):
    """The committed corpus passes, so that a finding of the engine is one."""
    target = TARGETS[name].load()
    seeds = read_inputs(CORPUS, name)

    assert len(seeds) > 1
    for seed in seeds:
        target(seed)


@pytest.mark.parametrize("name", TARGETS)
def test_what_once_failed_holds(name):
    """Inputs that the engine has found stay right."""
    target = TARGETS[name].load()

    failing = {data: error for data in [b"", *read_inputs(REGRESSIONS, name)] if (error := failure_of(target, data))}

    assert failing == {}


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_inputs_hold(name):
    """A bounded run without the engine: seeds cut, joined, repeated and overwritten, the same ones every time."""
    target, longest = TARGETS[name].load(), TARGETS[name].longest
    seeds = read_inputs(CORPUS, name) + read_inputs(REGRESSIONS, name)

    for data in mutations(seeds, MUTATIONS, longest, SEED):
        error = failure_of(target, data)
        assert error is None, f"{name} fails on {data!r}: {type(error).__name__}: {error}"


def test_inputs_are_written_as_literals_that_read_back():
    """A corpus is text; each line is one input."""
    assert all(isinstance(data, bytes) for name in TARGETS for data in read_inputs(CORPUS, name))
    assert {path.stem for path in CORPUS.iterdir()} == set(TARGETS)
    assert {path.stem for path in REGRESSIONS.iterdir()} <= set(TARGETS)
