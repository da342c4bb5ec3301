"""Commands beside a running instance: `InstanceExec` through the official clients and as raw WebSocket messages."""

import base64
import contextlib
import gc
import hashlib
import hmac
import json
import shutil
import subprocess
import threading
import time
import uuid
import warnings
from email.utils import formatdate
from pathlib import Path

import pytest

pytestmark = pytest.mark.sdk

CODE = "def handler(event, context):\n    return 'done'\n"
PATIENCE_S = 30

NODE_PROGRAM = """
const FC = require('@alicloud/fc2');
const [endpoint, id, secret, service, instance] = process.argv.slice(2);
const client = new FC('1', { accessKeyID: id, accessKeySecret: secret, region: 'cn-hangzhou', endpoint });
let seen = '';
client.instanceExec(service, 'work', '', instance, { command: 'sh', tty: false, stdin: true }, {
  onStdout: (data) => { seen += data.toString(); },
  onError: (error) => { console.error(String(error)); process.exit(1); },
  onClose: () => { console.log(JSON.stringify(seen)); process.exit(0); },
}).then((session) => session.websocket.on('open', () => {
  session.sendMessage(Buffer.from('\\u0000echo node $FC_FUNCTION_NAME; exit\\n'));
}));
"""


@pytest.fixture
def instance(emulator, tmp_path):
    """A service with a function that has been called once, and the id of the instance that served the call."""
    client = emulator.fc2()
    service = f"s{uuid.uuid4().hex[:12]}"
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "index.py").write_text(CODE)
    client.create_service(service)
    client.create_function(service, "work", "python3.10", "index.handler", codeDir=str(tmp_path / "code"))
    answer = client.invoke_function(service, "work")
    yield service, answer.headers["x-fc-instance-id"]
    client.delete_function(service, "work")
    client.delete_service(service)


class Session:
    """A session of the classic client that runs in a thread of its own."""

    def __init__(self, emulator, service: str, instance: str, typed: str = "", **parameters) -> None:
        self.stdout, self.stderr, self.errors = "", "", []
        self._closed = threading.Event()

        def gather(name):
            return lambda session, text: setattr(self, name, getattr(self, name) + text)

        hooks = {
            "on_open": lambda session: session.send(typed) if typed else None,
            "on_stdout": gather("stdout"),
            "on_stderr": gather("stderr"),
            "on_error": lambda session, error: self.errors.append(str(error)),
            "on_close": lambda session: self._closed.set(),
        }
        session = emulator.fc2().instance_exec(service, "LATEST", "work", instance, params=parameters, hooks=hooks)
        thread = threading.Thread(target=session.start, daemon=True)
        thread.start()
        self.ended = self._closed.wait(PATIENCE_S)
        session.close()
        thread.join(PATIENCE_S)
        with warnings.catch_warnings():  # the client's library may leave its socket to the garbage collector
            warnings.simplefilter("ignore", ResourceWarning)
            del session, thread
            gc.collect()


def test_a_command_runs_in_the_folder_and_with_the_variables_of_the_instance(emulator, instance):
    """Output and errors come on channels of their own; the session ends with the command."""
    service, name = instance

    script = "cat index.py; echo $FC_INSTANCE_ID $FC_SERVICE_NAME >&2"
    session = Session(emulator, service, name, command=["sh", "-c", script], stdin=False, stderr=True, tty=False)

    assert session.stdout == CODE
    assert session.stderr == f"{name} {service}\n"
    assert session.ended
    assert [error for error in session.errors if "closed normally" not in error] == []


def test_what_is_typed_reaches_a_terminal(emulator, instance):
    """With a terminal a shell answers as on one, echo included."""
    service, name = instance

    typed = "test -t 0 && echo on-a-tty; stty size; exit\n"
    session = Session(emulator, service, name, typed=typed, command="sh", stdin=True, tty=True)

    assert "on-a-tty\r\n" in session.stdout
    assert "stty size" in session.stdout
    assert session.ended


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on the PATH")
def test_the_node_client_runs_a_command(emulator, instance, tmp_path):
    """`@alicloud/fc2` types into a shell and reads what it says."""
    service, name = instance
    script = tmp_path / "exec.js"
    script.write_text(NODE_PROGRAM)
    probe = subprocess.run(["node", "-e", "require('@alicloud/fc2')"], cwd=tmp_path, capture_output=True)
    if probe.returncode:
        pytest.skip("@alicloud/fc2 is not installed")

    keys = emulator.keys
    command = ["node", str(script), emulator.url, keys["accessKeyId"], keys["accessKeySecret"], service, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == "node work\n"


def connected(emulator, service: str, instance: str, query: str, **headers: str):
    """Return a context with a raw WebSocket to a command."""
    sync = pytest.importorskip("websockets.sync.client")
    path = f"/2016-08-15/services/{service}/functions/work/instances/{instance}/exec"
    keys = emulator.keys
    signed = {"Date": formatdate(usegmt=True), **headers}
    if "Authorization" not in headers:
        signed["Authorization"] = fc_authorization(keys, path, signed["Date"])
    return sync.connect(f"ws://{emulator.address}{path}?{query}", additional_headers=signed, open_timeout=PATIENCE_S)


def fc_authorization(keys, path: str, date: str) -> str:
    text = f"GET\n\n\n{date}\n{path}"
    digest = hmac.new(keys["accessKeySecret"].encode(), text.encode(), hashlib.sha256)
    return f"FC {keys['accessKeyId']}:{base64.b64encode(digest.digest()).decode()}"


def everything(socket) -> bytes:
    """Read to the end what a session says, without the channels."""
    said = b""
    for message in socket:
        data = message.encode() if isinstance(message, str) else message
        said += data[1:]
    return said


def test_a_terminal_learns_its_size(emulator, instance):
    """A message on channel 4 resizes it."""
    service, name = instance

    with connected(emulator, service, name, "command=sh") as socket:
        socket.send(b"\x04" + json.dumps({"Width": 71, "Height": 19}).encode())
        socket.send(b"\0stty size; exit\n")
        said = everything(socket)

    assert b"19 71" in said


def test_a_flood_of_output_arrives_whole_and_binary_output_unchanged(emulator, instance):
    """A command waits for its reader; bytes that are no text come in binary messages."""
    service, name = instance
    script = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 20000)"
    query = "command=python3&command=-c&stdin=false&tty=false&command=" + script.replace(" ", "%20").replace(";", "%3B")

    with connected(emulator, service, name, query) as socket:
        said = everything(socket)

    assert said == bytes(range(256)) * 20000


def test_a_command_ends_when_its_client_leaves(emulator, instance):
    """Nothing that a session started is left, not even what ignores hang-ups."""
    service, name = instance
    seconds = f"600.{time.monotonic_ns()}"
    script = f"trap '' HUP; echo ready; exec sleep {seconds}"
    query = "stdin=true&tty=false&command=sh&command=-c&command=" + script.replace(" ", "%20").replace(";", "%3B")

    with connected(emulator, service, name, query) as socket:
        assert "ready" in str(socket.recv(PATIENCE_S))
        assert becomes(lambda: len(sleepers(seconds)) == 1)

    assert becomes(lambda: sleepers(seconds) == [])


def sleepers(seconds: str) -> list[Path]:
    """Return the processes of this machine that run ``sleep`` with that argument; an instance has ids of its own."""
    wanted, found = f"sleep\0{seconds}\0".encode(), []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if line.read_bytes() == wanted:
                found.append(line)
    return found


def becomes(condition) -> bool:
    """Wait until *condition* holds."""
    waiting = threading.Event()
    for _ in range(PATIENCE_S * 50):
        if condition():
            return True
        waiting.wait(0.02)
    return False


def test_a_command_ends_with_its_instance(emulator, instance):
    """An update of the function retires the instance, and its terminals with it."""
    service, name = instance

    with connected(emulator, service, name, "stdin=true&tty=false&command=cat") as socket:
        socket.send(b"\0hello")
        assert socket.recv(PATIENCE_S) == "\x01hello"
        emulator.fc2().update_function(service, "work", description="new")
        said = everything(socket)

    assert said == b""


@pytest.mark.parametrize(
    ("query", "name", "authorization", "status"),
    [
        ("command=sh", "c-unknown", None, 404),
        ("command=%22open", None, None, 400),
        ("command=sh&idleTimeout=0", None, None, 400),
        ("command=sh", None, "FC x:y", 403),
    ],
    ids=["no such instance", "an open quote", "no idle time", "a wrong key"],
)
def test_what_cannot_be_run_is_refused_before_the_handshake(emulator, instance, query, name, authorization, status):
    """The answer is an ordinary error."""
    exceptions = pytest.importorskip("websockets.exceptions")
    service, known = instance
    headers = {"Authorization": authorization} if authorization else {}

    with (
        pytest.raises(exceptions.InvalidStatus) as refused,
        connected(emulator, service, name or known, query, **headers),
    ):
        pass

    assert refused.value.response.status_code == status
    assert json.loads(refused.value.response.body)["ErrorCode"]


def test_a_program_that_is_not_there_is_told_on_the_error_channel(emulator, instance):
    """The session opens, says why on channel 3 and ends."""
    service, name = instance

    with connected(emulator, service, name, "command=no-such-program") as socket:
        first = socket.recv(PATIENCE_S)

    assert first[0] == "\x03"
    assert "no-such-program" in first


def test_an_ordinary_get_is_told_to_upgrade(emulator, instance):
    """Without a handshake the path answers an error that says so."""
    service, name = instance
    path = f"/2016-08-15/services/{service}/functions/work/instances/{name}/exec"
    date = formatdate(usegmt=True)

    status, _, body = emulator.get(path, Date=date, Authorization=fc_authorization(emulator.keys, path, date))

    assert status == 400
    assert "websocket" in json.loads(body)["ErrorMessage"]
