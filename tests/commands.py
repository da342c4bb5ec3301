"""The command ``localyun`` in processes forked from one that has loaded it: a test does not pay for loading it again.

Each is a process of its own, as from a shell: it gets arguments, environment, working directory and standard streams,
runs `emulator.cli.main.main` and ends as Python ends, but for the freeing of memory. What decides how Python itself
starts (its own variables, the locale) is not obeyed; where that matters, or where the system cannot do this, the
program is started the ordinary way. A state without an authority gets certificates that are made once, an empty one its
tables. The emulator that such a process starts (``start -d``, ``exec --start``) is forked from it in turn, and zygotes
from a process of their own.

`popen_code` does the same for programs of tests, whose libraries take longer to load than what they are for, and
`program` is what a shell, or any other program, starts to have such a process (tests/forked_command.py).
"""

import asyncio
import functools
import os
import subprocess
import sys
from pathlib import Path

from emulator.kernel.system import own_command
from tests import forking, ready_certificates, ready_templates, zygotes

ROOT = Path(__file__).resolve().parent.parent
_CLIENT = [sys.executable, "-I", "-S", "-B", str(ROOT / "tests" / "forked_command.py")]
_MODULE = "import runpy, sys; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
COMMAND = [sys.executable, "-m", "emulator"]
_OF_PYTHON = ("PYTHON", "LC_", "LANG", "COVERAGE_PROCESS", "LOCALYUN_WITHOUT")
"""Variables that are read when Python starts or modules are imported."""
_OF_LANGUAGE = ("LC_", "LANG", "PYTHONUTF8")
"""What the command alone reads, and as it runs, where PYTHONUTF8 has settled Python's encodings: as they are here."""
VARIABLE = "LOCALYUN_TESTS_COMMANDS"
FORK = hasattr(os, "pidfd_open")
_LANGUAGES = "emulator.services.workflow.languages"
PROGRAM = (
    *("emulator.app", "emulator.composition", "emulator.cli.main", "emulator.cli.rehearsal", "yaml"),
    *(f"{_LANGUAGES}.fdl.reader", f"{_LANGUAGES}.statemachine.reader"),
    *(f"emulator.oss.{each}" for each in ("s3", "buckets", "settings", "objects", "uploads", "store")),
    *("emulator.deploy.seeds", "emulator.services.fc.catalog.archive", "emulator.lab.checkpoints.archive"),
    "emulator.adapters.examination",
    *("emulator.console.app", "ctypes", "encodings.ascii", "encodings.utf_8_sig"),
)
"""What emulators and commands load, at once or when it is needed first: moto alone takes longer than most of them."""


def popen(words, *, cwd, env, stdin=None, stdout=None, stderr=None, start_new_session=False):
    """Start the command; return what `subprocess.Popen` does, with text where a stream is a pipe."""
    if can_fork(env):
        return _start(parent(), words, cwd, env, (stdin, stdout, stderr), start_new_session)
    given = {"stdin": stdin, "stdout": stdout, "stderr": stderr, "start_new_session": start_new_session}
    return subprocess.Popen([*COMMAND, *words], cwd=cwd, env=env, text=True, **given)


def popen_code(code, arguments, *, loaded, cwd=".", env=os.environ, stdin=None, stdout=None, stderr=None):
    """Run *code* as ``python -c`` does, with text where a stream is a pipe, in a process that has *loaded* modules."""
    if not FORK:
        given = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
        return subprocess.Popen([sys.executable, "-c", code, *arguments], cwd=cwd, env=env, text=True, **given)
    return _start(parent(*loaded), [code, *arguments], Path(cwd).resolve(), env, (stdin, stdout, stderr))


class Forking:
    """`subprocess` for `emulator.testing`: what starts the program from this installation forks it."""

    OWN = own_command()

    def __getattr__(self, name):
        return getattr(subprocess, name)

    def run(self, command, **given):
        """Run *command* to its end without input; one that is not the program in a process of its own."""
        if command[: len(self.OWN)] == self.OWN and can_fork(given["env"]):
            return run(command[len(self.OWN) :], cwd=given.get("cwd") or Path.cwd(), env=given["env"], timeout=None)
        return subprocess.run(command, **given)

    def Popen(self, command, **given):
        """Start *command*, which a process of its own runs where it is not the program."""
        if command[: len(self.OWN)] == self.OWN and can_fork(given["env"]):
            return popen(command[len(self.OWN) :], **given)
        return subprocess.Popen(command, **given)


def run(words, *, cwd, env, timeout):
    """Run the command to its end without input; return what `subprocess.run` does, with text."""
    if not can_fork(env):
        return subprocess.run(
            [*COMMAND, *words],
            cwd=cwd,
            env=env,
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
        )
    pipes = (subprocess.DEVNULL, subprocess.PIPE, subprocess.PIPE)
    process = _start(parent(), words, cwd, env, pipes)
    try:
        out, err = process.communicate(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate(10)
        raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def program():
    """Return the command line of a program that runs the command in a forked process, with its own streams.

    Where the variables of a call say how Python itself starts, the program becomes the ordinary command.
    """
    return [*_CLIENT, parent().address] if FORK else COMMAND


def code_program(code, *loaded):
    """Return the command line of a program that runs *code* as `popen_code` does; not where nothing can be forked."""
    return [*_CLIENT, parent(*loaded).address, code]


def module_starter(*loaded):
    """Return what does as `emulator.kernel.tasks.start_module` does, forked from a process that has *loaded* modules.

    What is killed is the program that waits for it; it ends itself when its input does, as children of the server do.
    """
    program = code_program(_MODULE, *loaded)

    async def start_module(name, *arguments, stdin, stdout):
        error = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *program, name, *arguments, stdin=stdin, stdout=stdout, stderr=error
        )

    return start_module


def shared():
    """Return the variables by which a process finds those that fork commands and zygotes, and ready certificates."""
    if not FORK:
        return {}
    return {
        VARIABLE: parent().address,
        zygotes.VARIABLE: zygotes.server().address,
        ready_certificates.VARIABLE: str(ready_certificates.made()),
    }


def take_shared():
    """Use what the process that has started this one shares with it, but not with what this one starts.

    That may be a copy of the project whose code is another, which has processes of its own.
    """
    if VARIABLE in os.environ:
        for name in shared():
            del os.environ[name]


def can_fork(env):
    """Whether a process forked from one with this process's environment behaves as a new one with *env*."""
    ours = {name: value for name, value in os.environ.items() if name.startswith(_OF_PYTHON)}
    theirs = {name: value for name, value in env.items() if name.startswith(_OF_PYTHON)}
    differs = {name for name in ours.keys() | theirs.keys() if (ours.get(name) or "") != (theirs.get(name) or "")}
    if theirs.get("PYTHONUTF8") == "1":
        differs = {name for name in differs if not name.startswith(_OF_LANGUAGE)}
    return FORK and not any(name.startswith("COVERAGE") for name in theirs) and (
        not differs - {"PYTHONPATH"} and env.get("PYTHONPATH", str(ROOT)) == str(ROOT)
    )  # fmt: skip


@functools.cache
def parent(*modules):
    """Return the process that has loaded the command, or *modules* for programs of tests."""

    def environment():
        known = os.environ | {"PYTHONPATH": str(ROOT), zygotes.VARIABLE: zygotes.server().address}
        if modules:  # which may start the command in turn
            return known | {VARIABLE: parent().address}
        made = {
            ready_certificates.VARIABLE: ready_certificates.made(),
            ready_templates.VARIABLE: ready_templates.kept(),
        }
        return known | {name: str(folder) for name, folder in made.items()}

    return forking.Server(
        lambda number: [sys.executable, "-m", "tests.command_parent", str(number), *modules], cwd=ROOT, env=environment,
        variable="" if modules else VARIABLE,
    )  # fmt: skip


def _start(server, words, cwd, env, streams, apart=False):
    """Return a `Child` that runs the command, *apart* in a session of its own."""
    given, ours = [], []
    for number, stream in enumerate(streams):
        if stream == subprocess.PIPE:
            reading, writing = os.pipe()
            given.append(reading if number == 0 else writing)
            ours.append(writing if number == 0 else reading)
            continue
        ours.append(None)
        if stream == subprocess.STDOUT:
            given.append(os.dup(given[1]))
        elif stream in {None, subprocess.DEVNULL}:
            given.append(os.open(os.devnull, os.O_RDWR))
        else:
            given.append(os.dup(stream.fileno()))
    asked = {"words": list(map(str, words)), "cwd": str(cwd), "env": dict(env), "apart": apart}
    try:
        link = server.start(asked, given)
    finally:
        for number in given:
            os.close(number)
    return forking.Child(link, COMMAND, ours)
