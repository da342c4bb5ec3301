"""What holds for every test: it can fail, it does not wait for a time, the loop is the plugin's."""

import ast
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks.kinds import nodes

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
    "operations/__main__.py": "a program",
    "sdk/scripts/clients.py": "a program of a user",
    "unit/fc/test_official_client.py": "the SDK blocks the test's thread, so the emulator has one of its own",
}
"""Files that run an event loop themselves, each with its reason."""

ASSERTING = {"raises", "warns", "fail", "eventually", "until"}


@cache
def trees() -> dict[str, ast.Module]:
    """Return every Python file below tests, by its path."""
    found = {}
    for folder, below, names in os.walk(TESTS):
        below[:] = sorted(set(below) - {"node_modules"})  # tens of thousands of files that are not looked at
        for path in (Path(folder, name) for name in sorted(names) if name.endswith(".py")):
            found[path.relative_to(TESTS).as_posix()] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def called(node: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """Give every call below *node* with the last part of the name of what is called."""
    for each in nodes(node):
        if isinstance(each, ast.Call):
            name = each.func
            yield each, name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")


def can_fail(function: ast.AST) -> bool:
    if any(isinstance(node, ast.Assert | ast.Raise) for node in nodes(function)):
        return True
    return any(name in ASSERTING or name.startswith("assert_") for _, name in called(function))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in nodes(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def at_hand(tree: ast.Module) -> set[str]:
    """Return the functions of a file and what it imports from other files of the tests."""
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return own | {alias.name for node in imports if (node.module or "").startswith("tests.") for alias in node.names}


def test_every_test_can_fail():
    """It asserts, expects an error, waits for something that has to come, or calls a check that does."""
    checks = {each.name for tree in trees().values() for each in functions(tree) if can_fail(each)}
    empty = [
        f"{file}:{each.lineno} {each.name}"
        for file, tree in trees().items()
        for each in functions(tree)
        if each.name.startswith("test_")
        if not can_fail(each) and not {name for _, name in called(each)} & at_hand(tree) & checks
    ]

    assert empty == []


def test_no_assertion_holds_whatever_happens():
    """A constant or a tuple is always true."""
    constant = [
        f"{file}:{node.lineno}"
        for file, tree in trees().items()
        for node in nodes(tree)
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant | ast.Tuple)
    ]

    assert constant == []


def test_tests_wait_for_what_they_mean():
    """`tests.waiting` looks again until it shows; a sleep of its own has a reason."""
    sleeping = {
        file
        for file, tree in trees().items()
        for call, name in called(tree)
        if name == "sleep" and not (isinstance(call.args[0], ast.Constant) and call.args[0].value == 0)
    }

    assert sleeping == set(SLEEPS)


def test_the_plugin_runs_the_loop():
    """A test that awaits is async; only programs and threads call asyncio.run."""
    own = {
        file
        for file, tree in trees().items()
        for call, name in called(tree)
        if name == "run" and ast.unparse(call.func) == "asyncio.run"
    }

    assert own == set(OWN_LOOPS)
