"""The way of a request stays short, and modules do not import each other in circles."""

import json
import os
import subprocess
import sys

import pytest

from benchmarks.house import BOUNDS, ROOT, VOCABULARIES, VOCABULARY
from benchmarks.kinds import incomplete
from emulator.kernel import system
from tests.once import once

ROOT_FOLDERS = {
    ".ci",
    ".github",
    "benchmarks",
    "changes",
    "docker",
    "docs",
    "emulator",
    "examples",
    "functions",
    "sample-apps",
    "tests",
    "tools",
}
ROOT_FILES = {
    ".gitignore",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "README.zh-CN.md",
    "SECURITY.md",
    "action.yml",
    "constraints.txt",
    "dev.py",
    "pyproject.toml",
}

INCOMPLETE = 0
"""How many places deal with kinds and are not completed by the type checker."""

FORGETFUL = """
from typing import Literal, assert_never

Kind = Literal["a", "b", "c", "d"]


def default(kind):
    match kind:
        case "a" | "b":
            return 1
        case _:
            return 2


TABLE = {"a": 1, "b": 2, "c": 3}


def chain(kind):
    if kind == "a" or kind == "b":
        return 1
    return 2 if kind == "c" else 3


WHOLE = {"a": 1, "b": 2, "c": 3, "d": 4}


def complete(kind):
    match kind:
        case "a" | "b":
            return 1
        case "c" | "d":
            return 2
        case _:
            assert_never(kind)
"""
"""A module with three places that are not complete, and two that are."""


def measured():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.house", "--json"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """Every figure of the house, from a process of its own: what requests visit is counted per process."""
    return once(tmp_path_factory, "house", measured)


@pytest.mark.skipif(bool(os.environ.get(system.VARIABLE)), reason="what stands in for the system has files of its own")
@pytest.mark.parametrize("kind", list(BOUNDS))
def test_a_warm_request_visits_few_files_and_makes_few_calls(house, kind):
    """Counted from the socket to the store and back."""
    files, calls = BOUNDS[kind]
    cost = house["requests"][kind]

    assert cost["files"] <= files, cost["by_file"]
    assert cost["calls"] <= calls, cost["by_function"]


def test_no_circle_of_imports(house):
    """Imports for type checking count."""
    assert house["circles"] == []


def test_no_room_reaches_up(house):
    """What a room needs of the service that holds it is a port."""
    assert house["upward"] == []


def test_attributes_are_described_in_few_vocabularies(house):
    """A new way to describe attributes joins the one there is."""
    found = house["vocabularies"]

    assert VOCABULARY in found
    assert len(found) <= VOCABULARIES, found


def test_kinds_are_completed_by_the_type_checker(house):
    """A place that would take a new kind without a word is not added to those there are."""
    found = house["incomplete"]

    assert len(found) <= INCOMPLETE, found


def test_a_place_that_forgets_a_kind_is_found(tmp_path):
    """Whether it is a match with a default, a dict, or a chain of tests; those that are complete are not named."""
    module = tmp_path / "kinds.py"
    module.write_text(FORGETFUL)

    found = incomplete({"kinds": module})

    assert [(each.line, each.missing) for each in found] == [
        (8, ("'c'", "'d'")),
        (15, ("'d'",)),
        (18, ("'d'",)),
    ]


def test_the_root_holds_what_belongs_there():
    """A tool's leftover that is committed by accident does not stay."""
    done = subprocess.run(["git", "ls-tree", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("no repository: " + done.stderr.strip())
    rows = [line.split(None, 3) for line in done.stdout.splitlines()]

    assert {name for _, kind, _, name in rows if kind == "tree"} == ROOT_FOLDERS
    assert {name for _, kind, _, name in rows if kind == "blob"} == ROOT_FILES
