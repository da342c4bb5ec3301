"""Nothing left to work with: a folder that cannot be written, no file descriptors, no processes, no threads."""

import base64
import contextlib
import ctypes
import io
import json
import os
import resource
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import fc2
import pytest

from emulator.auth import fc as fc_scheme
from emulator.http.message import Headers, Request
from emulator.kernel.clock import SystemClock
from emulator.wire.dates import http_date
from tests.waiting import eventually

pytestmark = [
    pytest.mark.recovery,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits another process from outside"),
]

ECHO = "def handler(event, context):\n    return event\n"
_READ_ANYTHING = 2
_PR_CAPBSET_DROP, _PR_SET_KEEPCAPS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 24, 8, 47, 2
_CAPABILITIES_V3 = 0x20080522
NOBODY = 65534


def as_owner_only():
    """In a child: keep root from writing where the mode forbids it."""
    if os.getuid() == 0:
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, 1, 0, 0, 0)


def as_nobody():
    """In a child: become a user with limits, who may read everything (the interpreter can be in root's home)."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    only = 1 << _READ_ANYTHING
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_V3, 0)
    libc.capset(header, (ctypes.c_uint32 * 6)(only, only, only, 0, 0, 0))
    libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _READ_ANYTHING, 0, 0)


@pytest.fixture
def functions(tmp_path):
    """A folder with functions that echo."""
    for name in ("first", "second", "third"):
        (tmp_path / "functions" / "s" / name).mkdir(parents=True)
        (tmp_path / "functions" / "s" / name / "index.py").write_text(ECHO)
    return tmp_path / "functions"


@contextlib.contextmanager
def limit(pid, which, soft, *, user=None):
    """Lower a limit of another process for a while; *user* is what makes a process one of that other's user."""
    before = resource.getrlimit(which)[1]

    def put(number):
        code = f"import resource as r; r.prlimit({pid}, {which}, ({number}, r.prlimit({pid}, {which})[1]))"
        done = subprocess.run(
            [sys.executable, "-c", code], check=False, preexec_fn=user, timeout=60, capture_output=True, text=True
        )
        assert done.returncode == 0 or "ProcessLookupError" in done.stderr, done.stderr

    put(soft)
    try:
        yield
    finally:
        put(before)


def call(emulator, function):
    """Return the body a function answered with, or the error the client raised."""
    try:
        return emulator.fc2().invoke_function("s", function, b"hi").data
    except fc2.fc_exceptions.FcError as error:
        return error


def test_a_state_folder_that_cannot_be_written_is_named(new_emulator):
    """The start ends with one sentence; with the mode put right the next one works and everything is there."""
    emulator = new_emulator().start()
    emulator.fc2().create_service("kept")
    emulator.stop()
    for path in [*emulator.state.rglob("*"), emulator.state]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    command = [sys.executable, "-m", "emulator", "start", "--port", "0", "--state", str(emulator.state)]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, preexec_fn=as_owner_only
    )
    for path in [emulator.state, *emulator.state.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
        if path.is_dir():
            for inner in path.iterdir():
                inner.chmod(0o700 if inner.is_dir() else 0o600)

    emulator.start()

    assert ended.returncode == 1
    assert str(emulator.state) in ended.stderr
    assert "permission denied" in ended.stderr
    assert "--state DIR" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert emulator.fc2().get_service("kept").data["serviceName"] == "kept"


@pytest.mark.parametrize("handles", [8, 10, 13, 14])
def test_a_start_without_enough_file_handles_says_so(tmp_path, functions, handles):
    """Wherever they end: at the state file, at a port, or while modules load. From 16 on some starts succeed."""
    command = [sys.executable, "-m", "emulator", "start", "--port", "0", "--https-port", "0"]
    ended = subprocess.run(
        [*command, "--state", str(tmp_path / "state"), "--functions", str(functions)],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (handles, handles)),
    )

    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("localyun: too few file descriptors to start")


def test_a_state_folder_that_becomes_read_only_does_not_stop_a_running_emulator(new_emulator):
    """The database is open already; what needs new files fails with the service's error, and works again after."""
    emulator = new_emulator()
    emulator.before_exec = as_owner_only
    emulator.start()
    emulator.fc2().create_service("s")
    for path in (emulator.state / "code", emulator.state):
        path.chmod(0o500)
    try:
        refused = create_function(emulator)
        emulator.fc2().update_service("s", "changed")
    finally:
        for path in (emulator.state, emulator.state / "code"):
            path.chmod(0o700)
    made = create_function(emulator)

    assert emulator.fc2().get_service("s").data["description"] == "changed"
    assert (refused["ErrorCode"], made["functionName"]) == ("InternalServerError", "f")
    eventually(lambda: "Permission denied" in emulator.output())
    assert call(emulator, "f") == b"hi"


def create_function(emulator):
    """Create a function; the official client leaves the package open when it is refused."""
    code = base64.b64encode(package(ECHO)).decode()
    body = {"functionName": "f", "runtime": "python3.10", "handler": "index.handler", "code": {"zipFile": code}}
    content = json.dumps(body).encode()
    path = "/2016-08-15/services/s/functions"
    headers = [
        ("Host", emulator.address),
        ("Date", http_date(SystemClock().now())),
        ("Content-Type", "application/json"),
    ]
    keys = emulator.keys["accessKeyId"], emulator.keys["accessKeySecret"]
    signed = fc_scheme.authorization(Request("POST", path, Headers(headers), content), *keys)
    named = {name.replace("-", "_"): value for name, value in [*headers, ("Authorization", signed)]}
    return json.loads(emulator.get(path, "POST", content, **named)[2])


def package(source):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("index.py", source)
    return made.getvalue()


@pytest.mark.waits
def test_without_file_descriptors_calls_wait_or_fail_and_then_work_again(new_emulator, functions):
    """Connections are taken up once there is room; the warm function goes on, a cold one fails with an error."""
    emulator = new_emulator(functions).start()
    assert call(emulator, "first") == b"hi"
    client = emulator.fc2()
    client.list_services()
    pid = emulator.process.pid
    with limit(pid, resource.RLIMIT_NOFILE, _first_free(pid) + 1):
        crowd = [socket.create_connection(("127.0.0.1", emulator.port), timeout=30) for _ in range(20)]
        eventually(lambda: "new connections have to wait: [Errno 24] Too many open files" in emulator.output())
        os.utime(next(functions.rglob("*.py")))  # it is read when something has changed
        eventually(lambda: "functions folder cannot be read now" in emulator.output())
        for other in crowd:
            other.close()
        eventually(lambda: emulator.get("/_localyun/health")[0] == 200)
    with limit(pid, resource.RLIMIT_NOFILE, _first_free(pid) + 1):
        cold = call(emulator, "second")

    assert isinstance(cold, fc2.fc_exceptions.FcError)
    assert "Too many open files" in str(cold)
    assert [call(emulator, name) for name in ("first", "second", "third")] == [b"hi"] * 3
    assert emulator.stop() == 0
    assert "Traceback" not in emulator.output()


@pytest.mark.unmeasured
def test_without_processes_cold_calls_fail_and_then_work_again(new_emulator, functions, tmp_path):
    """A warm function goes on; a cold one is told why; everything works once processes can be started."""
    emulator = new_emulator(functions)
    user = as_nobody if os.getuid() == 0 else None
    emulator.before_exec = user or (lambda: None)  # not forked: what it forks from in turn would be no child of it
    if user is not None:
        for path in (emulator.folder, functions, *functions.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
    emulator.start()
    assert call(emulator, "first") == b"hi"
    with contextlib.ExitStack() as limits:
        for pid in (emulator.process.pid, *_children(emulator.process.pid)):
            limits.enter_context(limit(pid, resource.RLIMIT_NPROC, 1, user=user))
        warm = call(emulator, "first")
        cold = call(emulator, "second")
        third = call(emulator, "third")

    assert warm == b"hi"
    assert [type(answer) for answer in (cold, third)].count(bytes) <= 1, "one spare process may be there already"
    assert any(isinstance(answer, fc2.fc_exceptions.FcError) for answer in (cold, third))
    eventually(lambda: "could be started: fork: Resource temporarily unavailable" in emulator.output())
    assert [call(emulator, name) for name in ("first", "second", "third")] == [b"hi"] * 3
    assert emulator.stop() == 0
    assert "Traceback" not in emulator.output()


def _children(pid):
    """Return the ids of the processes a process has started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "stat").read_text().rpartition(")")[2].split()[1] == str(pid):
                found.append(int(entry.name))
    return found


def _first_free(pid):
    """Return the number above all open descriptors of a process."""
    return max(int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir()) + 1
