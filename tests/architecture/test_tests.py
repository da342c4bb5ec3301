"""What holds for every test: it can fail, it does not wait for a time, the loop is the plugin's."""

import ast
import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.kinds import nodes
from tests.once import once

TESTS = Path(__file__).resolve().parents[1]

SLEEPS = {
    "conftest.py": "an emulator is started again on its port, which the system may have lent to a client",
    "operations/running.py": "what changes by itself is found by doing nothing for a moment",
    "unit/fc/runtime/listening_program.py": "a program that is slow because its test asks for it",
    "unit/fc/runtime/test_hostile_functions.py": "measures how late the loop is while a function floods it",
    "unit/fc/runtime/test_isolation.py": "a loop that is held up on purpose",
    "unit/gateway/test_server.py": "a greeting is cut into packets that travel one by one",
    "unit/http/test_proxy.py": "a loop that is held up on purpose",
    "unit/http/test_client.py": "a reader that is slow on purpose",
    "unit/http/test_protocol.py": "a client that sends slowly, against limits that real time ends",
    "waiting.py": "the two helpers that look again until something shows",
}
"""Files that sleep, each with its reason."""

OWN_LOOPS = {
    "command_parent.py": "a program",
    "operations/__main__.py": "a program",
    "sdk/scripts/clients.py": "a program of a user",
    "unit/fc/test_official_client.py": "the SDK blocks the test's thread, so the emulator has one of its own",
}
"""Files that run an event loop themselves, each with its reason."""

ASSERTING = {"raises", "warns", "fail", "eventually", "until"}


def trees() -> Iterator[tuple[str, ast.Module]]:
    """Give every Python file below tests: its path and its syntax."""
    for folder, below, names in os.walk(TESTS):
        below[:] = sorted(set(below) - {"node_modules"})  # tens of thousands of files that are not looked at
        for path in (Path(folder, name) for name in sorted(names) if name.endswith(".py")):
            yield path.relative_to(TESTS).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def called(below: list[ast.AST]) -> Iterator[tuple[ast.Call, str]]:
    """Give every call with the last part of the name of what is called."""
    for each in below:
        if isinstance(each, ast.Call):
            name = each.func
            yield each, name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")


def can_fail(below: list[ast.AST]) -> bool:
    if any(isinstance(node, ast.Assert | ast.Raise) for node in below):
        return True
    return any(name in ASSERTING or name.startswith("assert_") for _, name in called(below))


def at_hand(tree: ast.Module) -> set[str]:
    """Return the functions of a file and what it imports from other files of the tests."""
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return own | {alias.name for node in imports if (node.module or "").startswith("tests.") for alias in node.names}


def looked_at() -> dict[str, list[str]]:
    """Return what is found in all files, read once: the places or files of each kind, in order."""
    checks, others = set(), []
    found = {"empty": [], "constant": [], "sleeping": [], "loops": []}
    for file, tree in trees():
        below = nodes(tree)
        for node in below:
            if isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant | ast.Tuple):
                found["constant"].append(f"{file}:{node.lineno}")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if can_fail(inside := nodes(node)):
                    checks.add(node.name)
                elif node.name.startswith("test_"):
                    asked = {name for _, name in called(inside)} & at_hand(tree)
                    others.append((f"{file}:{node.lineno} {node.name}", asked))
        calls = list(called(below))
        if any(name == "sleep" and not waits_for_nothing(call) for call, name in calls):
            found["sleeping"].append(file)
        if any(name == "run" and ast.unparse(call.func) == "asyncio.run" for call, name in calls):
            found["loops"].append(file)
    found["empty"] = [test for test, asked in others if not asked & checks]
    return found


def waits_for_nothing(sleep: ast.Call) -> bool:
    return isinstance(sleep.args[0], ast.Constant) and sleep.args[0].value == 0


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What `looked_at` returns; looking for garbage among the trees would take longer than all it does."""
    usual = gc.get_threshold()
    gc.set_threshold(0)
    try:
        return once(tmp_path_factory, "tests", looked_at)
    finally:
        gc.set_threshold(*usual)


def test_every_test_can_fail(found):
    """It asserts, expects an error, waits for something that has to come, or calls a check that does."""
    assert found["empty"] == []


def test_no_assertion_holds_whatever_happens(found):
    """A constant or a tuple is always true."""
    assert found["constant"] == []


def test_tests_wait_for_what_they_mean(found):
    """`tests.waiting` looks again until it shows; a sleep of its own has a reason."""
    assert set(found["sleeping"]) == set(SLEEPS)


def test_the_plugin_runs_the_loop(found):
    """A test that awaits is async; only programs and threads call asyncio.run."""
    assert set(found["loops"]) == set(OWN_LOOPS)
