"""The command ``localyun`` in processes forked from one that has loaded it: a test does not pay for loading it again.

Each is a process of its own, as from a shell: it gets arguments, environment, working directory and standard streams,
runs `emulator.cli.main.main` and ends as Python ends, but for the freeing of memory. What decides how Python itself
starts (its own variables, the locale) is not obeyed; where that matters, or where the system cannot do this, the
program is started the ordinary way. A state without an authority gets certificates that are made once, and the emulator
that such a process starts (``start -d``, ``exec --start``) is forked from it in turn.

`popen_code` does the same for programs of tests, whose libraries take longer to load than what they are for, and
`typed` gives the words with which a shell, or any other program, has such a process (tests/knock.py).
"""

import array
import atexit
import contextlib
import functools
import gc
import importlib
import marshal
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

from emulator.kernel.system import own_command
from tests import ready_certificates, ready_database

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
    *("emulator.deploy.seeds", "emulator.services.fc.catalog.archive", "emulator.lab.checkpoints.archive"),
    *("ctypes", "encodings.ascii", "encodings.utf_8_sig"),
)
"""What emulators and commands load, at once or when it is needed first: moto alone takes longer than most of them."""


def popen(words, *, cwd, env, stdin=None, stdout=None, stderr=None, start_new_session=False):
    """Start the command; return what `subprocess.Popen` does, with text where a stream is a pipe."""
    if _can_fork(env):
        return _parent().start(words, cwd, env, (stdin, stdout, stderr), start_new_session)
    given = {"stdin": stdin, "stdout": stdout, "stderr": stderr, "start_new_session": start_new_session}
    return subprocess.Popen([*COMMAND, *words], cwd=cwd, env=env, text=True, **given)


def load():
    """Begin to load the command now, not when it is asked for first."""
    _parent()


def typed():
    """Return the words that a program runs, with the command's own behind them, to have the command."""
    return _knocking(_parent().door) if hasattr(os, "pidfd_open") else COMMAND


def _knocking(door):
    return [sys.executable, "-I", "-S", "-B", str(ROOT / "tests" / "knock.py"), door, *COMMAND, "--"]


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
            return run(command[len(self.OWN) :], cwd=given.get("cwd") or Path.cwd(), env=given["env"], timeout=None)
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
        self._folder = tempfile.TemporaryDirectory(prefix="localyun-door-")
        self.door = f"{self._folder.name}/door"
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            listening.bind(self.door)
            listening.listen()
            numbers = [theirs.fileno(), listening.fileno()]
            command = [sys.executable, "-m", "tests.commands", *map(str, numbers), *modules]
            environment = os.environ | {"PYTHONPATH": str(ROOT)}
            if not modules:
                environment[ready_certificates.VARIABLE] = str(ready_certificates.made())
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=environment, pass_fds=numbers, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )  # fmt: skip
        self._codes = {}
        atexit.register(self.close)

    def close(self):
        """Let the process end, which it does when nobody can ask it for more."""
        self._socket.close()
        self._process.wait(30)
        self._folder.cleanup()

    def start(self, words, cwd, env, streams, apart=False):
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
        asked = marshal.dumps({"words": [*map(str, words)], "cwd": str(cwd), "env": dict(env), "apart": apart})
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
        pid, code = marshal.loads(told)
        if code is not None:
            self._codes[pid] = code
        else:
            self._codes["pid"] = pid
            self._codes.pop(pid, None)  # of an earlier process that had the number
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


def serve(number, door, modules):
    """Fork a child for each request that arrives at a socket, or from those that come in by the door.

    In the child, return its arguments. Who asks is told the child's number, none when it has to start the command
    itself, and its exit code; a child ends with its asker.
    """
    _load(modules)
    ours = socket.socket(fileno=number)
    listening = socket.socket(fileno=door)
    Background.door = listening.getsockname()
    waiting = selectors.DefaultSelector()
    waiting.register(ours, selectors.EVENT_READ)
    waiting.register(listening, selectors.EVENT_READ)
    children = {}
    while True:
        for key, _ in waiting.select():
            asking = key.fileobj
            if asking is listening:
                waiting.register(asking.accept()[0], selectors.EVENT_READ)
                continue
            if isinstance(asking, int):
                _pid, status = os.waitpid(key.data, 0)
                waiting.unregister(asking)
                os.close(asking)
                _tell(children.pop(key.data), key.data, os.waitstatus_to_exitcode(status))
                continue
            message, streams, _flags, _address = socket.recv_fds(asking, _BYTES, 3)
            if not message and asking is ours:
                sys.exit()
            if not message:
                waiting.unregister(asking)
                asking.close()
                for pid in [pid for pid, asker in children.items() if asker is asking]:
                    os.kill(pid, signal.SIGKILL)
                continue
            request = marshal.loads(message)
            pid = os.fork() if asking is ours or _can_fork(request["env"]) else None
            if pid == 0:
                waiting.close()  # a later collection would close what has its number by then
                for each in (ours, listening, *(asker for asker in children.values()), asking):
                    each.close()
                return _become(request, streams)
            for each in streams:
                os.close(each)
            if pid is not None:
                children[pid] = asking
                waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, pid)
            _tell(asking, pid)


def _tell(asking, pid, code=None):
    with contextlib.suppress(OSError):  # it has gone
        asking.send(marshal.dumps((pid, code)))


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

        app.CertificateAuthority = ready_certificates.authority(app.CertificateAuthority)
        app.migrate = ready_database.migration(app.migrate, app._SCHEMAS)
        subprocess.Popen = Background
    gc.collect()
    gc.freeze()


class Background(subprocess.Popen):
    """What a forked command starts: an emulator is forked from it, as long as that is all that it does."""

    OWN = own_command()
    STARTED = own_command("start")
    door = ""

    def __init__(self, command, **given):
        """Start *command*, which a process of its own runs where it is not the program."""
        environment = given.get("env", os.environ)
        if (
            command[: len(self.STARTED)] != self.STARTED
            or threading.active_count() > 1
            or ("env" in given and not _can_fork(environment))
        ):
            if [*command[: len(self.OWN)]] == self.OWN:
                command = [*_knocking(self.door), *command[len(self.OWN) :]]
            super().__init__(command, **given)
            return
        ending = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ending)  # none finds the command's handlers in the child
        pid = os.fork()
        if pid == 0:
            streams = [os.open(os.devnull, os.O_RDONLY), given["stdout"].fileno(), given["stderr"].fileno()]
            for number in ending:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            words = command[len(self.STARTED) - 1 :]
            place = {"cwd": str(given.get("cwd") or Path.cwd()), "env": dict(environment)}
            sys.argv[1:] = _become({"words": words, "apart": given["start_new_session"], **place}, streams)
            _run(_command)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
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
    number, door, *loaded = sys.argv[1:]
    sys.argv[1:] = serve(int(number), int(door), loaded)
    _run(_code if loaded else _command)
