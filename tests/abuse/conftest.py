"""A running emulator that is treated badly over real sockets, and what is measured of it from outside."""

import contextlib
import json
import os
import resource
import socket
import ssl
import struct
from pathlib import Path

import pytest

from tests.conftest import RunningEmulator
from tests.waiting import eventually

FUNCTIONS = {
    "echo": "def handler(event, context):\n    return event\n",
    "stops-itself": "import os, signal\ndef handler(event, context):\n    os.kill(os.getpid(), signal.SIGSTOP)\n",
    "stops-its-parent": "import os, signal\ndef handler(event, context):\n    os.kill(os.getppid(), signal.SIGSTOP)\n",
    "stops-everybody": (
        "import os, signal\n"
        "def handler(event, context):\n"
        "    for name in os.listdir('/proc'):\n"
        "        try:\n"
        "            with open(f'/proc/{name}/cmdline', 'rb') as file:\n"
        "                if b'__main__.py\\0zygote' in file.read() and name.isdigit() and int(name) != os.getpid():\n"
        "                    os.kill(int(name), signal.SIGSTOP)\n"
        "        except OSError:\n"
        "            pass\n"
        "    return 'stopped'\n"
    ),
    "empties-tmp": (
        "import os, subprocess\n"
        "def handler(event, context):\n"
        "    before = os.path.exists(event)\n"
        "    if os.getppid() == 1:\n"
        "        subprocess.run('rm -rf /tmp/*', shell=True)\n"
        "    return str(before)\n"
    ),
    "writes-everywhere": (
        "import os\n"
        "def handler(event, context):\n"
        "    for number in range(256):\n"
        "        try:\n"
        "            os.write(number, b'\\xff\\x00garbage\\r\\n\\r\\n' * 100)\n"
        "        except OSError:\n"
        "            pass\n"
        "    return b'still here'\n"
    ),
    "asks-the-admin": (
        "import json, os, urllib.error, urllib.request\n"
        "def ask(path, method, token=None):\n"
        "    headers = {'Content-Type': 'application/json'}\n"
        "    if token:\n"
        "        headers['X-Localyun-Token'] = token\n"
        "    body = b'{}' if method == 'POST' else None\n"
        "    url = os.environ['LOCALYUN_ENDPOINT'] + path\n"
        "    asked = urllib.request.Request(url, body, headers, method=method)\n"
        "    try:\n"
        "        return urllib.request.urlopen(asked, timeout=10).status\n"
        "    except urllib.error.HTTPError as error:\n"
        "        return error.code\n"
        "def handler(event, context):\n"
        "    pages = [('health', 'GET'), ('status', 'GET'), ('reset', 'POST'), ('stop', 'POST')]\n"
        "    told = {page: ask('/_localyun/' + page, method) for page, method in pages}\n"
        "    told['guess'] = ask('/_localyun/reset', 'POST', 'a' * 40)\n"
        "    told['secrets'] = [key for key in os.environ if 'ADMIN' in key or 'LOCALYUN_TOKEN' in key]\n"
        "    return json.dumps(told)\n"
    ),
    "reads-keys": (
        "import os\n"
        "def handler(event, context):\n"
        "    with open(event.decode()) as file:\n"
        "        return str(len(file.read()))\n"
    ),
}


class Victim(RunningEmulator):
    """The emulator, with raw connections and a look at its process."""

    def connect(self, *, port: int | None = None, timeout: float = 20) -> socket.socket:
        return socket.create_connection(("127.0.0.1", port or self.port), timeout=timeout)

    def exchange(self, sent: bytes, *, end: bool = False) -> bytes:
        """Send *sent* on a connection of its own and return all that comes until the emulator closes it.

        With *end* the client says that it has finished sending.
        """
        with self.connect() as wire:
            with contextlib.suppress(OSError):
                wire.sendall(sent)
                if end:
                    wire.shutdown(socket.SHUT_WR)
            return read_all(wire)

    def is_well(self) -> bool:
        """Ask for health on a fresh connection."""
        return self.get("/_localyun/health")[0] == 200

    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.state / "ca" / "ca.pem"))

    @property
    def memory_kib(self) -> int:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

    @property
    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def until(self, condition, what: str) -> None:
        eventually(condition, otherwise=lambda: what)

    def tracebacks(self) -> int:
        return self.output().count("Traceback (most recent call last)")


def read_all(wire: socket.socket) -> bytes:
    """Return what comes until the end of the connection, a reset being an end too."""
    told = b""
    with contextlib.suppress(ConnectionError):
        while piece := wire.recv(1 << 16):
            told += piece
    return told


def read_answer(stream) -> tuple[int, dict[str, str], bytes]:
    """Read one answer with a length from a connection's file."""
    status = int(stream.readline().split(b" ")[1])
    fields = {}
    while line := stream.readline().rstrip(b"\r\n"):
        name, _, value = line.decode("latin-1").partition(": ")
        fields[name.lower()] = value
    return status, fields, stream.read(int(fields.get("content-length", 0)))


def reset(wire: socket.socket) -> None:
    """Close with a reset, as a client that crashes."""
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()


_MANY = 5_000


def open_many() -> tuple[int, int]:
    """Let this process open `_MANY` files, or as many as the system allows; return the limits it had."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(soft, _MANY if hard == resource.RLIM_INFINITY else min(_MANY, hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return soft, hard


@pytest.fixture(scope="session")
def victim(tmp_path_factory):
    """One emulator for all abuse; no answer and no log line may show a failure inside when all is over."""
    folder = tmp_path_factory.mktemp("victim")
    for name, code in FUNCTIONS.items():
        (folder / "functions" / name).mkdir(parents=True)
        (folder / "functions" / name / "index.py").write_text(code)
    (folder / "functions" / "stops-itself" / "function.yml").write_text("timeout: 1\n")
    # Where the program lies below /tmp, there is much that it may not remove.
    (folder / "functions" / "empties-tmp" / "function.yml").write_text("timeout: 60\n")
    running = Victim(folder, folder / "functions")
    running.before_exec = open_many  # in its own process: one that is forked would have another's limits
    running.start()
    try:
        yield running
        failures = running.tracebacks()
        told = running.output()
    finally:
        code = running.stop()
    assert failures == 0, told[max(told.find("Traceback") - 2_000, 0) :][:20_000]
    assert code == 0


@pytest.fixture
def many_descriptors():
    """Let this process open thousands of sockets."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < _MANY:
        pytest.skip("this system allows too few open files")
    limits = open_many()
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.fixture
def invoke(victim):
    """Call a function of the folder over HTTP, signed, and return (status, headers, body)."""
    from alibabacloud_fc20230330.client import Client
    from alibabacloud_fc20230330.models import InvokeFunctionRequest

    client = Client(victim.tea_config())

    def call(name: str, event: bytes = b""):
        import io

        answer = client.invoke_function(name, InvokeFunctionRequest(body=io.BytesIO(event)))
        return answer.status_code, answer.headers, answer.body.read()

    return call


def error_of(body: bytes) -> str:
    """Return the code of the gateway's own refusal."""
    return json.loads(body)["Code"]
