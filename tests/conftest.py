"""A real emulator as a child process, and the official SDKs pointed at it."""

import collections
import contextlib
import functools
import gc
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from _pytest.pathlib import LOCK_TIMEOUT, cleanup_numbered_dir
from hypothesis import settings

from tests import commands, kits, ready_certificates, zygotes
from tests.waiting import eventually

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("dev", deadline=None, max_examples=100)
settings.register_profile("quick", deadline=None, max_examples=20)
settings.register_profile("nightly", deadline=None, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))

ROOT = Path(__file__).resolve().parent.parent
NODE_PACKAGES = ROOT / "tests" / "sdk" / "scripts" / "node_modules"

# A shell has its background jobs ignore Ctrl-C, and they hand that on to what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Function instances have a /tmp of their own: what they share with a test lies elsewhere.
_TEMPORARY = Path.home() / ".cache" / "localyun-tests"
_TEMPORARY.mkdir(parents=True, exist_ok=True)
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_TEMPORARY))
commands.take_shared()
# The command speaks the language of the locale, and tests read English.
os.environ["LC_ALL"] = "C.UTF-8"
os.environ.pop("LANGUAGE", None)

os.environ["NODE_PATH"] = os.pathsep.join(filter(None, (str(NODE_PACKAGES), os.environ.get("NODE_PATH"))))


STARTING = frozenset({"program", "project", "functions", "emulator", "new_emulator", "running_emulator"})
"""Fixtures that start programs."""


gc.disable()  # all that a collection makes stays: a third of its time went into looking for garbage

_GARBAGE = 10_000
"""How many objects may come before garbage is looked for among them: at 700, the default, that took a twentieth."""


def pytest_configure(config):
    """Have commands and zygotes of several processes forked from the same ones, which this one starts for them."""
    if config.getoption("numprocesses", None) and "not starts_programs" not in config.option.markexpr:
        os.environ.update(commands.shared())


def pytest_collection_finish():
    """Collect garbage from now on, but not among the tests themselves."""
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    gc.enable()


def pytest_collection_modifyitems(items):
    """Mark the tests that start programs, which `dev.py test --quick` leaves out; begin with those that wait long.

    They take one process much time and the processors little, so that none may be the last, or be beside another.
    """
    for item in items:
        if STARTING & set(getattr(item, "fixturenames", ())):
            item.add_marker("starts_programs")
    if "PYTEST_XDIST_WORKER" in os.environ:  # the first of several processes begins with the first part of the list
        items.sort(key=lambda item: item.get_closest_marker("waits") is None)


_NOTEWORTHY_S = 0.005
"""How long the preparation of a test takes that ``--durations`` shows."""


def pytest_sessionstart(session):
    """Have a process of several say how a test went, not that it begins or ends, or was prepared and ended well.

    That is four fifths of what they say. None of it is shown, and to say and to hear it took as long as most tests.
    """
    for plugin in session.config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor":
            plugin.sendevent = functools.partial(_say, plugin.sendevent)
    folders = session.config._tmp_path_factory
    folders.mktemp = functools.partial(_make_folder, folders, folders.mktemp, collections.Counter())
    if session.config.getoption("numprocesses", None) and not session.config.option.basetemp:
        threading.Thread(target=_clear_up, args=[folders.getbasetemp().parent]).start()


def _make_folder(folders, usual, made, name, numbered=True):
    """Make a folder for a test as `TempPathFactory.mktemp` does, which looks at those of all other tests for a number.

    That took 2 ms once there were some thousand. *made* is how many there are of each name.
    """
    if not numbered:
        return usual(name, numbered=False)
    made[name] += 1
    folder = folders.getbasetemp() / f"{name}{made[name] - 1}"
    folder.mkdir(mode=0o700)
    return folder


def _clear_up(folder):
    """Delete the folders of earlier runs as pytest does when all tests have ended, where it took 20 seconds more."""
    cleanup_numbered_dir(folder, "pytest-", 3, time.time() - LOCK_TIMEOUT)


def _say(usual, name, **what):
    if name in {"logstart", "logfinish"}:
        return
    if name == "testreport":
        report = what["data"]
        went_well = report["when"] != "call" and report["outcome"] == "passed"
        if went_well and report["duration"] < _NOTEWORTHY_S and not report["user_properties"]:
            return
    usual(name, **what)


PORT_ATTEMPTS = 20
"""A restarted emulator keeps its ports, which the system may lend to a client in between."""


class RunningEmulator:
    """One emulator process on free ports; can be stopped, killed and started again on the same state and ports."""

    def __init__(self, folder: Path, functions: Path | None = None, *options: str) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.functions = functions
        self.options = list(options)
        self.environment: dict[str, str] = {}
        self.before_exec = None
        self.port = 0
        self.https_port = 0
        self.process: subprocess.Popen | None = None
        self._classic = []

    def start(self, wait_s: float = 30) -> "RunningEmulator":
        """Start it; a port that a connection of another test holds for a moment is waited for."""
        for attempt in range(PORT_ATTEMPTS):
            if self._start(wait_s):
                return self
            self.log.close()
            if attempt + 1 == PORT_ATTEMPTS or "is in use by another program" not in self.output()[-500:]:
                break
            time.sleep(0.5)
        return pytest.fail(f"the emulator did not answer:\n{self.output()}")

    def _start(self, wait_s: float) -> bool:
        words = [
            "start", "--port", str(self.port), "--https-port", str(self.https_port), "--state", str(self.state),
            *self.options,
        ]  # fmt: skip
        if self.functions is not None:
            words += ["--functions", str(self.functions)]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("LOCALYUN_")}
        environment |= {key: value for key, value in os.environ.items() if key == "LOCALYUN_CONFORMANCE"}
        environment["PYTHONPATH"] = str(ROOT)
        environment |= self.environment
        endpoint_file = self.state / "endpoint.json"
        endpoint_file.unlink(missing_ok=True)
        self.log = (self.folder / "server.log").open("ab")
        streams = {"stdin": subprocess.DEVNULL, "stdout": self.log, "stderr": self.log}
        if self.before_exec is None and "LOCALYUN_CONFORMANCE" not in os.environ:
            self.process = commands.popen(words, cwd=self.folder, env=environment, **streams)
        else:
            if self.process is None and self.before_exec is None:  # which may make it another user's process
                ready_certificates.give(self.state)
            module = "tests.conformance.served" if "LOCALYUN_CONFORMANCE" in os.environ else "emulator"
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, *words], cwd=self.folder, env=environment, preexec_fn=self.before_exec,
                **streams,
            )  # fmt: skip
        eventually(
            lambda: self._is_up(endpoint_file) or self.process.poll() is not None,
            wait_s,
            lambda: f"the emulator did not answer:\n{self.output()}",
        )
        return self.process.poll() is None

    def _is_up(self, endpoint_file: Path) -> bool:
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            told = json.loads(endpoint_file.read_text())
            self.port = int(told["http"].rsplit(":", 1)[1].strip("/"))
            self.https_port = int(told["https"].rsplit(":", 1)[1].strip("/")) if told.get("https") else 0
            if self.get("/_localyun/health")[0] == 200:
                self.keys = json.loads((self.state / "keys.json").read_text())
                return True
        return False

    def output(self) -> str:
        return (self.folder / "server.log").read_text(errors="replace")

    def kill(self) -> None:
        """End it as a power cut would."""
        self._close_clients()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)
        self.log.close()

    def stop(self) -> int:
        self._close_clients()
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(30)
                raise
        self.log.close()
        return self.process.returncode

    def _close_clients(self) -> None:
        """Close the connections that the SDKs keep; the newer ones keep them for all clients of a process."""
        while self._classic:
            self._classic.pop().session.close()
        core = sys.modules.get("darabonba.core")
        sessions = core.DaraCore._sessions if core is not None else {}
        for key in [key for key in sessions if f":{self.port}:" in key or f"127.0.0.1:{self.port}" in key]:
            sessions.pop(key).close()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def get(self, target: str, method: str = "GET", body: bytes | None = None, **headers: str):
        """Send one plain request; return (status, headers, body)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, target, body=body, headers=named)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def fc2(self, **other):
        """The classic Function Compute client."""
        import fc2

        return fc2.Client(
            endpoint=self.url,
            accessKeyID=other.get("key", self.keys["accessKeyId"]),
            accessKeySecret=other.get("secret", self.keys["accessKeySecret"]),
        )

    def fnf(self, **other):
        """The classic workflow client: `send(request class name, **parameters)` returns the decoded reply."""
        made = CoreFnf(self, **other)
        self._classic.append(made.client)
        return made

    def fnf_tea(self, **other):
        """The newer workflow client."""
        from alibabacloud_fnf20190315.client import Client

        return Client(self.tea_config(**other))

    def tea_config(self, key: str = "", secret: str = "", token: str | None = None):
        """Return what the newer client of any service is made with: the account's own key unless others are given."""
        from alibabacloud_tea_openapi.models import Config

        return Config(
            endpoint=self.address,
            protocol="http",
            region_id="cn-hangzhou",
            access_key_id=key or self.keys["accessKeyId"],
            access_key_secret=secret or self.keys["accessKeySecret"],
            security_token=token,
        )


class CoreFnf:
    """`aliyun-python-sdk-fnf` as its users write it, with less to type."""

    def __init__(self, emulator: RunningEmulator, **other) -> None:
        from aliyunsdkcore.client import AcsClient

        self._emulator = emulator
        self.client = AcsClient(
            other.get("key", emulator.keys["accessKeyId"]),
            other.get("secret", emulator.keys["accessKeySecret"]),
            other.get("region", "cn-hangzhou"),
            timeout=70,
        )

    def request(self, name: str, **parameters):
        import importlib

        module = importlib.import_module(f"aliyunsdkfnf.request.v20190315.{name}Request")
        request = getattr(module, f"{name}Request")()
        request.set_endpoint(self._emulator.address)
        for parameter, value in parameters.items():
            getattr(request, f"set_{parameter}")(value)
        return request

    def send(self, name: str, **parameters):
        return json.loads(self.client.do_action_with_exception(self.request(name, **parameters)))


@pytest.fixture(scope="session", autouse=True)
def _programs_are_forked():
    """`emulator.testing` starts the program as `RunningEmulator` does; workers of tests/plugin have it start by itself.

    Zygotes of pools in this process are forked too.
    """
    zygotes.are_forked()
    with pytest.MonkeyPatch.context() as patching:
        kits.are_forked(patching)
        yield


@pytest.fixture
def new_emulator(tmp_path):
    """Make emulators that are ended with the test; each has its own state."""
    made = []

    def make(functions: Path | None = None, *options: str) -> RunningEmulator:
        folder = tmp_path / f"emulator{len(made)}"
        folder.mkdir()
        made.append(RunningEmulator(folder, functions, *options))
        return made[-1]

    yield make
    for emulator in made:
        if emulator.process is not None and emulator.process.poll() is None:
            emulator.stop()


@pytest.fixture(scope="session")
def emulator(tmp_path_factory):
    """One emulator for all tests that leave no trace others could trip over; loads the project's own functions."""
    running = RunningEmulator(tmp_path_factory.mktemp("shared"), ROOT / "functions").start()
    yield running
    assert running.stop() == 0
