"""The command ``localyun`` in processes forked from one that has loaded it: a test does not pay for loading it again.

Each is a process of its own, as from a shell: it gets arguments, environment, working directory and standard streams,
runs `emulator.cli.main.main` and ends as Python ends, but for the freeing of memory. What decides how Python itself
starts (its own variables, the locale) is not obeyed; where that matters, or where the system cannot do this, the
program is started the ordinary way. A state without an authority gets certificates that are made once, and what such a
process starts in the background (``start -d``) is forked from it in turn.

`popen_code` does the same for programs of tests, whose libraries take longer to load than what they are for.
"""

import array
import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

from emulator.kernel.system import own_command
from tests import ready_certificates, ready_templates

ROOT = Path(__file__).resolve().parent.parent
COMMAND = [sys.executable, "-m", "emulator"]
_OF_PYTHON = ("PYTHON", "LC_", "LANG", "COVERAGE_PROCESS", "LOCALYUN_WITHOUT")
"""Variables that are read when Python starts or modules are imported."""
_OF_LANGUAGE = ("LC_", "LANG", "PYTHONUTF8")
"""What the command alone reads, and as it runs, where PYTHONUTF8 has settled Python's encodings: as they are here."""
_BYTES = 256 * 1024
_LANGUAGES = "emulator.services.workflow.languages"
PROGRAM = (
    *("emulator.app", "emulator.composition", "emulator.cli.main", "emulator.cli.rehearsal", "yaml"),
    *(f"{_LANGUAGES}.fdl.reader", f"{_LANGUAGES}.statemachine.reader"),
    *(f"emulator.oss.{each}" for each in ("s3", "buckets", "settings", "objects", "uploads", "store")),
    "emulator.console.app",
)
"""What emulators and commands load, at once or when it is needed first: moto alone takes longer than most of them."""


def popen(words, *, cwd, env, stdin=None, stdout=None, stderr=None, start_new_session=False):
    """Start the command; return what `subprocess.Popen` does, with text where a stream is a pipe."""
    if _can_fork(env):
        return _parent().start(words, cwd, env, (stdin, stdout, stderr), start_new_session)
    given = {"stdin": stdin, "stdout": stdout, "stderr": stderr, "start_new_session": start_new_session}
    return subprocess.Popen([*COMMAND, *words], cwd=cwd, env=env, text=True, **given)


def popen_code(code, arguments, *, loaded, cwd=".", env=os.environ, stdin=None, stdout=None, stderr=None):
    """Run *code* as ``python -c`` does, with text where a stream is a pipe, in a process that has *loaded* modules."""
    if not hasattr(os, "pidfd_open"):
        given = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
        return subprocess.Popen([sys.executable, "-c", code, *arguments], cwd=cwd, env=env, text=True, **given)
    return _parent(*loaded).start([code, *arguments], Path(cwd).resolve(), env, (stdin, stdout, stderr))


class Forking:
    """`subprocess` for `emulator.testing`: what starts the program from this installation forks it."""

    OWN = own_command()

    def __getattr__(self, name):
        return getattr(subprocess, name)

    def run(self, command, **given):
        """Run *command* to its end without input; one that is not the program in a process of its own."""
        if command[: len(self.OWN)] == self.OWN and _can_fork(given["env"]):
            return run(command[len(self.OWN) :], cwd=Path.cwd(), env=given["env"], timeout=None)
        return subprocess.run(command, **given)

    def Popen(self, command, **given):
        """Start *command*, which a process of its own runs where it is not the program."""
        if command[: len(self.OWN)] == self.OWN and _can_fork(given["env"]):
            return popen(command[len(self.OWN) :], **given)
        return subprocess.Popen(command, **given)


def run(words, *, cwd, env, timeout):
    """Run the command to its end without input; return what `subprocess.run` does, with text."""
    if not _can_fork(env):
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
    process = _parent().start(words, cwd, env, pipes)
    try:
        out, err = process.communicate(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate(10)
        raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def _can_fork(env):
    """Whether a process forked from one with this process's environment behaves as a new one with *env*."""
    ours = {name: value for name, value in os.environ.items() if name.startswith(_OF_PYTHON)}
    theirs = {name: value for name, value in env.items() if name.startswith(_OF_PYTHON)}
    differs = {name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)}
    if theirs.get("PYTHONUTF8") == "1":
        differs = {name for name in differs if not name.startswith(_OF_LANGUAGE)}
    return hasattr(os, "pidfd_open") and not any(name.startswith("COVERAGE") for name in theirs) and (
        not differs - {"PYTHONPATH"} and env.get("PYTHONPATH", str(ROOT)) == str(ROOT)
    )  # fmt: skip


@functools.cache
def _parent(*modules):
    return Parent(*modules)


class Parent:
    """The process that has loaded the command, or *modules* for programs of tests; ends with this one."""

    def __init__(self, *modules):
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", "tests.commands", str(theirs.fileno()), *modules]
            environment = os.environ | {"PYTHONPATH": str(ROOT)}
            if not modules:
                environment[ready_certificates.VARIABLE] = str(ready_certificates.made())
                environment[ready_templates.VARIABLE] = str(ready_templates.kept())
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )  # fmt: skip
        self._codes = {}
        atexit.register(self.close)

    def close(self):
        """Let the process end, which it does when nobody can ask it for more."""
        self._socket.close()
        self._process.wait(30)

    def start(self, words, cwd, env, streams, apart=False):
        """Return a `Child` that runs the command, *apart* in a session of its own."""
        given, ours = [], []
        for number, stream in enumerate(streams):
            if stream == subprocess.PIPE:
                reading, writing = os.pipe()
                given.append(reading if number == 0 else writing)
                ours.append(writing if number == 0 else reading)
            else:
                given.append(
                    os.open(os.devnull, os.O_RDWR) if stream in {None, subprocess.DEVNULL} else os.dup(stream.fileno())
                )
                ours.append(None)
        asked = json.dumps({"words": list(map(str, words)), "cwd": str(cwd), "env": dict(env), "apart": apart}).encode()
        with contextlib.ExitStack() as closing:
            for number in given:
                closing.callback(os.close, number)
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", given))]
            self._socket.sendmsg([asked], rights)
        while (pid := self._codes.pop("pid", None)) is None:
            self._hear(30)
        return Child(self, pid, ours)

    def code_of(self, pid, timeout):
        """Return the exit code of a child, None while it runs; wait for it at most *timeout* seconds."""
        until = time.monotonic() + timeout
        while pid not in self._codes:
            if not self._hear(max(0.0, until - time.monotonic())):
                return None
        return self._codes[pid]

    def _hear(self, timeout):
        self._socket.settimeout(timeout or 1e-6)
        try:
            told = self._socket.recv(_BYTES)
        except (TimeoutError, BlockingIOError):
            return False
        if not told:
            raise RuntimeError("the process that forks commands has ended")
        message = json.loads(told)
        if "code" in message:
            self._codes[message["pid"]] = message["code"]
        else:
            self._codes["pid"] = message["pid"]
            self._codes.pop(message["pid"], None)  # of an earlier process that had the number
        return True


class Child(subprocess.Popen):
    """A command that runs: the part of `subprocess.Popen` that does not depend on being the parent."""

    def __init__(self, parent, pid, streams):
        self._parent = parent
        self.pid = pid
        self.args = COMMAND
        self.returncode = None
        self.stdin, self.stdout, self.stderr = (
            None if number is None else os.fdopen(number, "w" if which == 0 else "r", encoding="utf-8")
            for which, number in enumerate(streams)
        )
        self.universal_newlines = self.text_mode = True
        self.encoding, self.errors = "utf-8", None
        self.pipesize = -1
        self._child_created = True
        self._communication_started = False
        self._input = None

    def __del__(self):
        """Nothing: the process that forks waits for its children."""

    def poll(self):
        """Return the exit code, None while it runs."""
        if self.returncode is None:
            self.returncode = self._parent.code_of(self.pid, 0)
        return self.returncode

    def wait(self, timeout=None):
        """Return the exit code."""
        if self.returncode is None:
            self.returncode = self._parent.code_of(self.pid, 3600 if timeout is None else timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def send_signal(self, sig):
        """Send a signal to it, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, sig)


def serve(number, modules):
    """Fork a child for each request that arrives at a socket; in the child, return its arguments."""
    _load(modules)
    asking = socket.socket(fileno=number)
    waiting = selectors.DefaultSelector()
    waiting.register(asking, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is not asking:
                _pid, status = os.waitpid(key.data, 0)
                waiting.unregister(key.fileobj)
                os.close(key.fd)
                asking.send(json.dumps({"pid": key.data, "code": os.waitstatus_to_exitcode(status)}).encode())
                continue
            message, streams, _flags, _address = socket.recv_fds(asking, _BYTES, 3)
            if not message:
                sys.exit()
            pid = os.fork()
            if pid == 0:
                waiting.close()  # a later collection would close what has its number by then
                asking.close()
                return _become(json.loads(message), streams)
            for each in streams:
                os.close(each)
            waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, pid)
            asking.send(json.dumps({"pid": pid}).encode())


def _load(modules):
    """Import *modules*, or what commands use; collections later look at what was made since."""
    if not modules:
        import emulator.cli.commands

        for module in pkgutil.iter_modules(emulator.cli.commands.__path__, "emulator.cli.commands."):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    for name in modules or PROGRAM:
        with contextlib.suppress(ImportError):  # an extra may be missing; the program says what it says to that
            importlib.import_module(name)
    if not modules:
        from emulator import app

        ready_templates.use()
        app.CertificateAuthority = ready_certificates.authority(app.CertificateAuthority)
        subprocess.Popen = Background
    gc.collect()
    gc.freeze()


class Background(subprocess.Popen):
    """What a forked command starts: an emulator is forked from it, as long as that is all that it does."""

    STARTED = own_command("start")

    def __init__(self, command, **given):
        """Start *command*, which a process of its own runs where it is no emulator."""
        if command[: len(self.STARTED)] != self.STARTED or "env" in given or threading.active_count() > 1:
            super().__init__(command, **given)
            return
        pid = os.fork()
        if pid == 0:
            streams = [os.open(os.devnull, os.O_RDONLY), given["stdout"].fileno(), given["stderr"].fileno()]
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            words = command[len(self.STARTED) - 1 :]
            place = {"cwd": str(Path.cwd()), "env": dict(os.environ), "apart": given["start_new_session"]}
            sys.argv[1:] = _become({"words": words, **place}, streams)
            _run(_command)
        self.pid, self.args, self.returncode = pid, command, None
        self.stdin = self.stdout = self.stderr = None
        self._child_created, self._waitpid_lock = True, threading.Lock()


def _become(request, streams):
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX") if os.sysconf("SC_OPEN_MAX") < 4096 else 4096)
    if request["apart"]:
        os.setsid()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path[0] = request["cwd"]
    return request["words"]


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
    sys.argv[1:] = serve(int(number), loaded)
    _run(_code if loaded else _command)
