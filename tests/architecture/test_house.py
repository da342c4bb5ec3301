"""The way of a request stays short, and modules do not import each other in circles."""

import json
import subprocess
import sys

import pytest

from benchmarks.house import (
    BOUNDS,
    ROOT,
    VOCABULARIES,
    VOCABULARY,
    arrows_upward,
    circles,
    import_graph,
    modules,
    vocabularies,
)


@pytest.fixture(scope="module")
def requests():
    """What the four warm requests visit, counted in a process of their own: profiling is per process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.house", "--json"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)["requests"]


@pytest.mark.parametrize("kind", list(BOUNDS))
def test_a_warm_request_visits_few_files_and_makes_few_calls(requests, kind):
    """Counted from the socket to the store and back."""
    files, calls = BOUNDS[kind]
    cost = requests[kind]

    assert cost["files"] <= files, cost["by_file"]
    assert cost["calls"] <= calls, cost["by_function"]


def test_no_circle_of_imports():
    """Imports for type checking count."""
    assert circles(import_graph(modules())) == []


def test_no_room_reaches_up():
    """What a room needs of the service that holds it is a port."""
    assert arrows_upward(import_graph(modules())) == []


def test_attributes_are_described_in_few_vocabularies():
    """A new way to describe attributes joins the one there is."""
    found = vocabularies(modules())

    assert VOCABULARY in found
    assert len(found) <= VOCABULARIES, found
