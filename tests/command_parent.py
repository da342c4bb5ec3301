"""The process that the command, or a program of tests, is forked from (`commands`).

A program, its arguments a listening socket and the modules to load: none for the command.
"""

import asyncio
import atexit
import contextlib
import gc
import importlib
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

from emulator.kernel.system import own_command
from tests import commands, ready_certificates, ready_database, ready_templates, zygotes
from tests.fork_server import become, serve

_OF_CHILDREN = (
    *("cryptography.x509", "argparse", "emulator.http.certificate_files"),
    *(f"cryptography.hazmat.primitives.{each}" for each in ("serialization", "asymmetric.rsa", "asymmetric.ec")),
)
"""What the children load that make certificates and sign pushes, which takes ten times as long as what they do."""


def _load(modules):
    """Import *modules*, or what commands use; collections later look at what was made since."""
    if not modules:
        import emulator.cli.commands

        for module in pkgutil.iter_modules(emulator.cli.commands.__path__, "emulator.cli.commands."):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    for name in modules or commands.PROGRAM:
        with contextlib.suppress(ImportError):  # an extra may be missing; the program says what it says to that
            importlib.import_module(name)
    if not modules:
        from emulator import app
        from emulator.auth import push
        from emulator.http import certificates

        ready_templates.use()
        push.start_module = certificates.start_module = commands.module_starter(*_OF_CHILDREN)
        app.CertificateAuthority = ready_certificates.authority(app.CertificateAuthority)
        app.migrate = ready_database.migration(app.migrate, app._SCHEMAS)
        subprocess.Popen = Background
        _start_once(app.Emulator)
    commands.parent()  # its address is among the variables until a child has its own
    zygotes.are_forked()
    gc.collect()
    gc.freeze()


def _start_once(emulator_class):
    """Start an emulator and stop it: what that compiles and makes once per process is there in each that is forked."""
    from emulator.cli import output
    from emulator.cli.main import parse
    from emulator.config import Config

    async def once(config):
        emulator = emulator_class(config)
        await emulator.start()
        await emulator.stop()

    parse(["start"])
    output.catalogue.cache_clear()  # each process speaks the language of its own variables
    with tempfile.TemporaryDirectory(prefix="localyun-parent-") as folder:
        asyncio.run(once(Config(port=0, https_port=0, state=Path(folder) / "state", log_level="warning")))
    assert threading.active_count() == 1, threading.enumerate()


class Background(subprocess.Popen):
    """What a forked command starts: an emulator is forked from it, as long as that is all that it does."""

    OWN = own_command()
    STARTED = own_command("start")

    def __init__(self, command, **given):
        """Start *command*, which a process of its own runs where it is not the program."""
        environment = given.get("env", os.environ)
        if (
            command[: len(self.STARTED)] != self.STARTED
            or threading.active_count() > 1
            or ("env" in given and not commands.can_fork(environment))
        ):
            if [*command[: len(self.OWN)]] == self.OWN:
                command = [*commands.program(), *command[len(self.OWN) :]]
            super().__init__(command, **given)
            return
        ending = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ending)  # none finds the command's handlers in the child
        pid = os.fork()
        if pid == 0:
            stdin = given["stdin"]
            stdin = os.open(os.devnull, os.O_RDONLY) if stdin == subprocess.DEVNULL else stdin.fileno()
            streams = [stdin, given["stdout"].fileno(), given["stderr"].fileno()]
            for number in ending:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            words = command[len(self.STARTED) - 1 :]
            place = {"cwd": str(given.get("cwd") or Path.cwd()), "env": dict(environment)}
            _become({"words": words, "apart": given["start_new_session"], **place}, streams)
            _run(_command)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.pid, self.args, self.returncode = pid, command, None
        self.stdin = self.stdout = self.stderr = None
        self._child_created, self._waitpid_lock = True, threading.Lock()


def _become(request, streams):
    become(request, streams)
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path[0] = request["cwd"]
    sys.argv[1:] = request["words"]


def _end(code):
    """End as Python does: threads, what was registered for the end, what is still to be written.

    The memory is left to the system. Freeing it object by object writes to pages shared with the parent, and copying
    these takes several times as long as all that a short command does.
    """
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(code)  # Python says what it says to that
    if code is None or isinstance(code, int):
        os._exit((code or 0) & 0xFF)
    sys.exit(code)


def _code():
    """Run the first argument as ``python -c`` does."""
    code, sys.argv[0] = sys.argv.pop(1), "-c"
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})


def _command():
    """Run the command."""
    from emulator.cli.main import main

    return main()


def _run(program):
    """Run *program* to its end, which is that of this process."""
    try:
        code = program()
    except SystemExit as ended:
        code = ended.code
    except Exception:
        traceback.print_exc()
        code = 1
    _end(code)


if __name__ == "__main__":
    number, *loaded = sys.argv[1:]
    if not loaded:
        os.environ[commands.VARIABLE] = commands.forking.address_of(int(number))
    _load(loaded)
    takes = (lambda asked: True) if loaded else (lambda asked: commands.can_fork(asked["env"]))
    _become(*serve(int(number), takes))
    _run(_code if loaded else _command)
