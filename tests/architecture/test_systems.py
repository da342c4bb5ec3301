"""What systems differ in is used in few places, each behind `emulator.kernel.system` or on a system that has it."""

import ast
import re
from pathlib import Path

import pytest

from emulator.kernel import system

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

MODULES = {"fcntl", "grp", "msvcrt", "pty", "pwd", "resource", "termios", "tty", "winreg"}
CALLS = {
    *("fork", "forkpty", "kill", "killpg", "setsid", "setpgid", "wait4", "waitpid", "pidfd_open", "unshare", "setns"),
    *("execv", "execve", "execvp", "execvpe", "getuid", "geteuid", "getgid", "umask", "chown", "mkfifo", "symlink"),
    *("AF_UNIX", "socketpair", "send_fds", "recv_fds", "setitimer", "chmod", "fchmod", "add_signal_handler"),
    *("SIGKILL", "SIGALRM", "SIGHUP", "SIGCHLD", "SIGUSR1", "SIGUSR2", "SIGPIPE"),
}
ANYWHERE = {"chmod", "add_signal_handler"}
"""Methods of paths and loops too."""
NAMED = re.compile(rf"\b({'|'.join(sorted(MODULES | CALLS))})\b")
"""What a module that uses any of them says somewhere: most say nothing of the kind, and need not be parsed."""

AGENT = "the agent of instances, which is started in its form for the system"
PLACES = {
    "cli/commands/exec.py": "exec",
    "cli/commands/start.py": "a loop without signals is expected",
    "deploy/files.py": "modes of exported files, which Windows takes and leaves",
    "kernel/owned_folders.py": "locks",
    "kernel/system.py": "the module itself",
    "kernel/tasks.py": "after a check of the system",
    "redirect/network.py": "network",
    "services/fc/catalog/archive.py": "modes of code, which Windows takes and leaves",
    "services/fc/triggers/http_routing.py": "alarms",
    "services/fc/runtime/bootstrap/python/children.py": AGENT,
    "services/fc/runtime/bootstrap/python/process.py": AGENT,
    "services/fc/runtime/bootstrap/python/sandbox.py": AGENT,
    "services/fc/runtime/bootstrap/python/zygote.py": "fork",
    "services/fc/runtime/forking.py": "fork",
    "services/fc/runtime/shell.py": "terminals",
    "services/fc/runtime/spawn.py": "sessions",
    "services/fc/runtime/zygote.py": "fork",
    "storage/state_file.py": "modes of the database, which Windows takes and leaves",
    "storage/folder.py": "modes",
}
"""Where it is used, and under which name of `system`, or why without one."""


def used(tree):
    """Return what of `MODULES` and `CALLS` a module uses."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom) and node.module in {*MODULES, "os", "signal", "socket"}:
            found |= {node.module} & MODULES | {alias.name for alias in node.names} & CALLS
        elif isinstance(node, ast.Attribute) and node.attr in CALLS:
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if owner in {"os", "signal", "socket"} or node.attr in ANYWHERE:
                found.add(node.attr)
    return found


def test_what_systems_differ_in_is_used_in_known_places():
    """A new use gets a substitute, or a reason; a place that needs none any more leaves the table."""
    package = ROOT / "emulator"
    places = {
        path.relative_to(package).as_posix(): found
        for path in package.rglob("*.py")
        if NAMED.search(text := path.read_text(encoding="utf-8"))
        if (found := used(ast.parse(text)))
    }

    assert {place: found for place, found in places.items() if place not in PLACES} == {}
    assert PLACES.keys() == places.keys()


@pytest.mark.parametrize("name", system.NAMES)
def test_each_ability_is_asked_for_by_name(name):
    """Nobody uses one of them without the constant that can be switched off."""
    package = ROOT / "emulator"
    asking = [path for path in package.rglob("*.py") if f"system.{name.upper()}" in path.read_text(encoding="utf-8")]

    assert asking


@pytest.mark.parametrize("page", ["systems.md", "zh-CN/systems.md"])
def test_page_has_every_ability_with_its_substitute(page):
    """In the order of the module, each with where it is missing and what stands in."""
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+) \|$", (DOCS / page).read_text(encoding="utf-8"), re.M)

    assert tuple(name for name, _, _ in rows) == system.NAMES
