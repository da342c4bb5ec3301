"""`localyun exec`: programs written for the cloud, run unchanged as real processes against a real emulator."""

import contextlib
import functools
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from tests import commands
from tests.jvm import JAVA, JAVAC
from tests.waiting import eventually

pytest.importorskip("aliyunsdkfnf")

pytestmark = pytest.mark.sdk

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent / "scripts"
PROXIES = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}

SDKS = {
    "aliyun-python-sdk-core": {
        "core-fnf-http": "Flows", "core-fnf-https": "Flows", "core-sts-https": "AccountId",
        "core-located-fnf": "Flows", "core-located-mns": "Success",
    },
    "alibabacloud_fnf20190315": {
        "tea-fnf": "Flows", "tea-fnf-http": "Flows", "tea-fnf-default-credentials": "Flows", "tea-fnf-async": "Flows",
    },
    "fc2": {"fc2-http": "services", "fc2-https": "services"},
    "alibabacloud_fc20230330": {"fc3": "functions", "fc3-regional": "functions", "fc3-async": "functions"},
    "alibabacloud_fc_open20210406": {
        "fc-open": "services", "fc-open-default": "services",
        "fc-open-trigger-http": "triggered", "fc-open-trigger-https": "triggered",
    },
    "mns": {"mns-http": "hello", "mns-https": "hello"},
    "alibabacloud_mns_open20220119": {"mns-open": "Success"},
    "alibabacloud_sts20150401": {"sts": "AccountId"},
}  # fmt: skip
"""What a client's answer has in it, by SDK."""

NODE_SDKS = {
    "@alicloud/pop-core": {"pop-http": "Flows", "pop-https": "Flows"},
    "@alicloud/fnf-2019-03-15": {"fnf": "Flows"},
    "@alicloud/fc2": {"fc2-http": "services", "fc2-https": "services"},
    "@alicloud/fc20230330": {"fc3": "functions", "fc3-regional": "functions"},
    "@alicloud/sts20150401": {"sts": "accountId"},
    "@alicloud/mns": {"mns-http": "hello", "mns-https": "hello"},
    "ali-mns": {"ali-mns": "MessageId"},
}
CLIENTS = [(sdk, client) for sdk, clients in SDKS.items() for client in clients]
NODE_CLIENTS = [(sdk, client) for sdk, clients in NODE_SDKS.items() for client in clients]


def words(state, *arguments):
    return ["exec", *(["--state", str(state)] if state else []), *arguments]


def environment(**more):
    """An environment like a user's: no emulator named, no proxy unless given."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("LOCALYUN_") and name.upper() not in PROXIES
    }
    return inherited | {"PYTHONPATH": str(ROOT)} | more


def execute(state, *arguments, folder=None, **more):
    """Run `exec` to its end."""
    return commands.run(words(state, *arguments), cwd=folder or Path.cwd(), env=environment(**more), timeout=60)


def create_queue(state, name):
    done = commands.run(["queue", "create", "--state", str(state), name], cwd=Path.cwd(), env=environment(), timeout=60)
    assert done.returncode == 0, done.stderr


def seen_by_command(state, **more):
    """The environment a command finds, and what was said on the way."""
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    done = execute(state, "--", sys.executable, "-c", code, **more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@contextlib.contextmanager
def running(state, *arguments, **more):
    """Run `exec` in the background; yields the process and its lines of output as they come."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = commands.popen(words(state, *arguments), cwd=Path.cwd(), env=environment(**more), **streams)
    with read(process) as lines:
        yield process, lines


@contextlib.contextmanager
def read(process):
    """Yield the lines of a process's output as they come, and end it."""
    lines = queue.Queue()
    reader = threading.Thread(target=lambda: [lines.put(line) for line in process.stdout], daemon=True)
    reader.start()
    try:
        yield lines
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)
        reader.join(30)
        process.stdout.close()


def wait_for(lines, text, within_s=60):
    """Return the next line that contains *text*."""
    deadline = time.monotonic() + within_s
    before = []
    while (left := deadline - time.monotonic()) > 0:
        with contextlib.suppress(queue.Empty):
            before.append(lines.get(timeout=left))
            if text in before[-1]:
                return before[-1]
    pytest.fail(f"{text!r} did not come after {before}")


@functools.cache
def node_packages():
    """The SDKs that Node.js finds."""
    code = "for (const each of process.argv.slice(1)) try { require.resolve(each); console.log(each); } catch {}"
    return subprocess.run(["node", "-e", code, *NODE_SDKS], capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture(scope="module")
def answers(emulator):
    """What the clients of an SDK are answered, by name, and what their program has said to standard error.

    SDKs that load the same libraries run in one process: the old ones, the newer ones of Python, those of Node.js.
    """

    @functools.cache
    def of(*sdks):
        program, clients = ("node", NODE_SDKS) if sdks[0] in NODE_SDKS else (sys.executable, SDKS)
        script = SCRIPTS / ("clients.js" if program == "node" else "clients.py")
        if program == "node":
            create_queue(emulator.state, "node-mns")  # of the client that makes none
        done = execute(emulator.state, "--", program, str(script), *(name for sdk in sdks for name in clients[sdk]))
        assert done.returncode == 0, done.stderr
        return {name: json.dumps(answer) for name, answer in map(json.loads, done.stdout.splitlines())}, done.stderr

    newer = [sdk for sdk in SDKS if sdk.startswith("alibabacloud_")]
    older = [sdk for sdk in SDKS if sdk not in newer]
    return lambda sdk: of(*next(group for group in (newer, older, NODE_SDKS) if sdk in group))


@pytest.mark.parametrize(("sdk", "client"), CLIENTS)
def test_client_at_the_cloud_s_address_reaches_the_emulator(answers, sdk, client):
    """A program that names only account and region gets its answers from the emulator."""
    told, errors = answers(sdk)

    assert client in told, errors
    assert SDKS[sdk][client] in told[client]


def test_clients_that_obey_proxies_do_not_call_them(emulator):
    """Proxy variables of the user's shell lead nobody past the emulator, and the user is told."""
    nowhere = "http://127.0.0.1:9"
    done = execute(
        emulator.state, "--", sys.executable, str(SCRIPTS / "clients.py"), "tea-fnf",
        HTTPS_PROXY=nowhere, http_proxy=nowhere, NO_PROXY="localhost",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "without HTTPS_PROXY, http_proxy" in done.stderr


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_node_program_at_the_cloud_s_address_reaches_the_emulator(emulator, scheme):
    """The name, the port and the certificate all come out right without a change to the program."""
    code = (
        f"require('{scheme}').get('{scheme}://1.cn-hangzhou.fc.aliyuncs.com/2023-03-30/functions', (answer) => "
        "answer.on('data', (data) => process.stdout.write(data)))"
    )
    done = execute(emulator.state, "--", "node", "-e", code, NODE_OPTIONS="--no-warnings")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["Code"] == "MissingRequiredHeader"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
@pytest.mark.parametrize(("sdk", "client"), NODE_CLIENTS)
def test_node_client_at_the_cloud_s_address_reaches_the_emulator(emulator, answers, sdk, client):
    """As for Python, for the packages that Node.js finds through NODE_PATH."""
    if sdk not in node_packages():
        pytest.skip(f"needs {sdk} (python3 dev.py clients)")

    told, errors = answers(sdk)

    assert client in told, errors
    assert NODE_SDKS[sdk][client] in told[client]


FC_ADDRESS = "1.cn-hangzhou.fc.aliyuncs.com/2016-08-15/services"
GO_CLIENTS = {
    "core-http": "Flows", "core-https": "Flows", "sts-https": "AccountId", "tea-https": "Flows",
}  # fmt: skip


GO_LINKED = ["-ldflags=-s -w"]
"""Options of a build without what only debuggers read, which takes a third of its time."""


@pytest.fixture(scope="session")
def go_program(tmp_path_factory):
    """Builds Go programs of the scripts folder, with what the module cache has; yields a function."""
    if shutil.which("go") is None:
        pytest.skip("needs Go")
    folder = tmp_path_factory.mktemp("go")

    def build(source):
        program = folder / Path(source).stem
        if not program.exists():
            is_module = (SCRIPTS / source).is_dir()
            done = subprocess.run(
                ["go", "build", *GO_LINKED, "-o", str(program), "." if is_module else source],
                cwd=SCRIPTS / source if is_module else SCRIPTS,
                env=os.environ
                | {"GOPROXY": "off", "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"},
                capture_output=True, text=True, timeout=300, check=False,
            )  # fmt: skip
            if done.returncode and "GOPROXY=off" in done.stderr:
                pytest.skip(f"needs the modules of {source}/go.mod in the module cache")
            assert done.returncode == 0, done.stderr
        return str(program)

    return build


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_curl_at_the_cloud_s_address_reaches_the_emulator(emulator, scheme):
    """It finds the proxy, its secret and the certificate authority in the environment."""
    done = execute(emulator.state, "--", "curl", "-sS", f"{scheme}://{FC_ADDRESS}")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ErrorCode"] == "MissingRequiredHeader"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_go_program_at_the_cloud_s_address_reaches_the_emulator(emulator, go_program, scheme):
    """As curl does."""
    done = execute(emulator.state, "--", go_program("plain.go"), f"{scheme}://{FC_ADDRESS}")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ErrorCode"] == "MissingRequiredHeader"


@pytest.mark.parametrize(("client", "expected"), GO_CLIENTS.items(), ids=GO_CLIENTS)
def test_go_client_at_the_cloud_s_address_reaches_the_emulator(emulator, go_program, client, expected):
    """The SDKs find their way as programs without one do."""
    done = execute(emulator.state, "--", go_program("go"), client)

    assert done.returncode == 0, done.stderr
    assert expected in done.stdout


def _has_networks():
    """Whether this user may have a network namespace."""
    words = ["unshare", "--net", "--mount", *([] if os.getuid() == 0 else ["--user"]), "true"]
    return (
        shutil.which("unshare") is not None and subprocess.run(words, check=False, capture_output=True).returncode == 0
    )


needs_networks = pytest.mark.skipif(not _has_networks(), reason="this system gives no network namespaces")
WITHOUT_PROXY = ["env", "-u", "HTTP_PROXY", "-u", "HTTPS_PROXY", "-u", "http_proxy", "-u", "https_proxy"]


@needs_networks
def test_static_go_client_that_ignores_proxies_reaches_the_emulator_in_a_network(emulator, go_program):
    """aliyun-mns-go-sdk knows no proxy."""
    create_queue(emulator.state, "go-mns")

    done = execute(emulator.state, "--network", "--", go_program("go"), "mns-http")

    assert done.returncode == 0, done.stderr
    assert "MessageId " in done.stdout


@needs_networks
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_static_program_without_a_proxy_reaches_the_emulator_in_a_network(emulator, go_program, scheme):
    """By name and usual port, with a certificate it trusts."""
    address = f"{scheme}://{FC_ADDRESS}"

    done = execute(emulator.state, "--network", "--", *WITHOUT_PROXY, go_program("plain.go"), address)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ErrorCode"] == "MissingRequiredHeader"


@needs_networks
def test_network_has_the_emulator_s_own_address_and_nothing_else_of_this_machine(emulator):
    """Another port of this machine is closed in there."""
    code = (
        "import os, socket, urllib.request as u\n"
        "print(u.urlopen(os.environ['LOCALYUN_ENDPOINT'] + '/_localyun/health').status)\n"
        "print(socket.socket().connect_ex(('127.0.0.1', int(os.environ['OTHER']))) != 0)\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = execute(emulator.state, "--network", "--", sys.executable, "-c", code, OTHER=port)

    assert (done.returncode, done.stdout.split()) == (0, ["200", "True"]), done.stderr


@pytest.mark.skipif(shutil.which("cc") is None or shutil.which("curl") is None, reason="needs a C compiler and curl")
@pytest.mark.skipif(sys.platform != "linux", reason="needs LD_PRELOAD")
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_program_with_a_c_library_that_ignores_proxies_reaches_the_emulator_by_preloading(emulator, scheme):
    """The library resolves the name and connects to the emulator's port."""
    done = execute(emulator.state, "--preload", "--", "curl", "-sS", "--noproxy", "*", f"{scheme}://{FC_ADDRESS}")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ErrorCode"] == "MissingRequiredHeader"


def test_programs_started_by_a_hooked_program_find_the_proxy(emulator, go_program):
    """A script in Python that runs a Go program with a changed copy of its environment."""
    program = go_program("plain.go")
    code = (
        "import os, subprocess; "
        f"subprocess.run([{program!r}, 'https://{FC_ADDRESS}'], env={{**os.environ, 'MODE': 'x'}}, check=True)"
    )

    done = execute(emulator.state, "--", sys.executable, "-c", code)

    assert done.returncode == 0, done.stderr
    assert "MissingRequiredHeader" in done.stdout


@pytest.fixture(scope="module")
def java(tmp_path_factory):
    """The words that run a Java program of the scripts folder, which need its name."""
    if shutil.which("javac") is None:
        pytest.skip("needs a JDK")
    folder = tmp_path_factory.mktemp("java")
    subprocess.run([*JAVAC, "-d", str(folder), *map(str, SCRIPTS.glob("*.java"))], check=True, timeout=60)
    return [*JAVA, "-cp", str(folder)]


@pytest.fixture(scope="module")
def java_answers(emulator, java):
    """What a Java program is answered by one of its two clients: at the emulator's own address, and at the cloud's."""

    @functools.cache
    def of(client):
        own = f"https://localhost:{emulator.https_port}/_localyun/health"
        cloud = (f"{scheme}://{FC_ADDRESS}" for scheme in ("http", "https"))
        done = execute(emulator.state, "--", *java, "Plain", client, own, *cloud)
        assert done.returncode == 0, done.stderr
        return dict(zip(("own", "http", "https"), done.stdout.splitlines(), strict=True)), done.stderr

    return of


JAVA_CLIENTS = ["HttpURLConnection", "java.net.http"]


@pytest.mark.parametrize("client", JAVA_CLIENTS)
def test_java_program_trusts_the_emulator_s_certificates(java_answers, client):
    """The trust store of the options holds the authority."""
    answers, _ = java_answers(client)

    assert answers["own"].startswith('200 {"status": "ok"')


@pytest.mark.parametrize("client", JAVA_CLIENTS)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_java_programs_that_cannot_log_in_to_a_proxy_reach_the_emulator(java_answers, client, scheme):
    """The agent does it for them; nothing of the secret is among the options that Java prints."""
    answers, errors = java_answers(client)

    assert answers[scheme].startswith("400 ")
    assert "MissingRequiredHeader" in answers[scheme]
    assert "proxyPassword" not in errors


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can act as another user")
def test_java_programs_get_through_while_another_user_has_the_same_port_at_another_address(emulator, java):
    """As a connection of a moment ago has, which waits for its last packets and belongs to root."""
    host = FC_ADDRESS.partition("/")[0]
    with running(emulator.state, "--", *java, "Waiting") as (_process, lines):
        proxy = "127.0.0.1", int(wait_for(lines, "proxy at ").rpartition(" ")[2])
        client = socket.socket()
        client.settimeout(20)
        client.bind(("127.0.0.1", 0))
        with another_user():
            other = socket.create_server(("127.0.0.2", client.getsockname()[1]))
        with other, client:
            client.connect(proxy)
            client.sendall(b"CONNECT %(host)s:443 HTTP/1.1\r\nHost: %(host)s\r\n\r\n" % {b"host": host.encode()})
            answer = client.recv(1000)
        with another_user():
            stranger = socket.create_connection(proxy, 20)
        with stranger:
            refused = stranger.recv(1000)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert refused == b""


@contextlib.contextmanager
def another_user():
    """What is opened in the block belongs to somebody who is not root."""
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_other_hosts_are_refused_by_the_proxy_when_they_are_near(emulator):
    """A program that insists on the proxy for this machine is told why it does not get through."""
    code = (
        "import http.client, os, urllib.parse as p, base64\n"
        "u = p.urlsplit(os.environ['LOCALYUN_PROXY_URL'])\n"
        "c = http.client.HTTPConnection(u.hostname, u.port)\n"
        "token = base64.b64encode(f'{u.username}:{u.password}'.encode()).decode()\n"
        "c.request('GET', 'http://localhost:1/', headers={'Proxy-Authorization': 'Basic ' + token})\n"
        "r = c.getresponse(); print(r.status, r.read().decode())"
    )

    done = execute(emulator.state, "--", sys.executable, "-c", code)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("403 ")
    assert "NO_PROXY" in done.stdout


QUEUE_FLOW = """
version: v1
type: flow
steps:
  - type: task
    name: mns-task
    resourceArn: acs:mns:::/queues/fnf-demo/messages
    pattern: waitForCallback
    inputMappings:
      - target: task_token
        source: $context.task.token
      - target: key
        source: value
    outputMappings:
      - target: key
        source: $local.key
    serviceParams:
      MessageBody: $
      Priority: 1
"""

CALLBACK_FLOW = """
version: v1
type: flow
steps:
  - type: task
    name: mytask
    resourceArn: acs:fc:::services/fnf-demo/functions/echo
    pattern: waitForCallback
    inputMappings:
      - target: taskToken
        source: $context.task.token
    outputMappings:
      - target: s
        source: $local.status
outputMappings:
  - target: s
    source: $local.s
"""


def start_flow(fnf, definition):
    name = f"exec-{uuid4().hex}"
    fnf.send(
        "CreateFlow", Name=name, Definition=definition, Description="exec", Type="FDL", RoleArn="acs:ram::1:role/r"
    )
    fnf.send("StartExecution", FlowName=name, ExecutionName="one", Input="{}")
    return name


def end_of(fnf, name, within_s=60):
    deadline = time.monotonic() + within_s
    reply = {}
    while time.monotonic() < deadline:
        reply = fnf.send("DescribeExecution", FlowName=name, ExecutionName="one", WaitTimeSeconds=10)
        if reply["Status"] not in {"Starting", "Running"}:
            return reply
    pytest.fail(f"the execution did not end: {reply}")


def token_of(fnf, name, within_s=30):
    """Read the token out of the history as the guide's reader does."""

    def submitted():
        events = fnf.send("GetExecutionHistory", FlowName=name, ExecutionName="one", Limit=100)["Events"]
        return [json.loads(event["EventDetail"]) for event in events if event["Type"] == "TaskSubmitted"]

    return eventually(submitted, within_s)[0]["output"]["taskToken"]


@pytest.fixture
def guide(new_emulator, tmp_path):
    """An emulator with the function and the queue that the guide's chapters have."""
    code = tmp_path / "functions" / "fnf-demo" / "echo"
    code.mkdir(parents=True)
    (code / "index.py").write_text("def handler(event, context):\n    return event\n")
    running_emulator = new_emulator(tmp_path / "functions").start()
    create_queue(running_emulator.state, "fnf-demo")
    return running_emulator


def test_the_guide_s_worker_reports_the_tasks_of_the_queue(guide):
    """It receives the message, reports the task and deletes the message; SIGTERM ends it as it would without us."""
    fnf = guide.fnf()

    with running(guide.state, "--", sys.executable, "-u", str(SCRIPTS / "worker.py")) as (process, lines):
        wait_for(lines, "receiving")
        name = start_flow(fnf, QUEUE_FLOW)
        received = wait_for(lines, "received")
        wait_for(lines, "report finished")
        wait_for(lines, "deleted")
        ended = end_of(fnf, name)
        process.send_signal(signal.SIGTERM)
        code = process.wait(30)

    assert json.loads(received.split(" ", 2)[2])["key"] == "value"
    assert (ended["Status"], json.loads(ended["Output"])) == ("Succeeded", {"key": "value"})
    assert code == -signal.SIGTERM


def test_the_guide_s_callback_script_reports_its_token(guide):
    """The script gets the token from the history as its argument, and the execution ends with what it reports."""
    fnf = guide.fnf()
    name = start_flow(fnf, CALLBACK_FLOW)

    done = execute(guide.state, "--", sys.executable, str(SCRIPTS / "callback.py"), token_of(fnf, name))

    assert done.returncode == 0, done.stderr
    ended = end_of(fnf, name)
    assert (ended["Status"], json.loads(ended["Output"])) == ("Succeeded", {"s": "ok"})


def test_command_finds_the_emulator_s_identity(emulator):
    """The names of the guide, of the SDKs and of localyun agree; the hooks stand in front of what was there."""
    found, _ = seen_by_command(emulator.state, NODE_OPTIONS="--no-warnings", ALIBABA_CLOUD_SECURITY_TOKEN="old")

    keys = emulator.keys
    for name in ("AK_ID", "ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIYUN_ACCESS_KEY_ID", "LOCALYUN_ACCESS_KEY_ID"):
        assert found[name] == keys["accessKeyId"]
    assert found["ACCOUNT_ID"] == keys["accountId"]
    assert found["REGION"] == keys["region"]
    assert found["LOCALYUN_ENDPOINT"] == emulator.url
    assert found["PYTHONPATH"].endswith(os.pathsep + str(ROOT))
    assert found["NODE_OPTIONS"].startswith('--require "')
    assert found["NODE_OPTIONS"].endswith(" --no-warnings")
    assert "ALIBABA_CLOUD_SECURITY_TOKEN" not in found


def test_real_looking_keys_are_not_passed_on(emulator):
    """Neither the key nor its secret reaches the command under any name; the warning names the variable alone."""
    found, said = seen_by_command(
        emulator.state,
        ALIBABA_CLOUD_ACCESS_KEY_ID="LTAI5tExampleExample", ALIBABA_CLOUD_ACCESS_KEY_SECRET="hush-one",
        SHOP_KEY_ID="LTAI5tExampleExample", SHOP_KEY_SECRET="hush-two",
        ALICLOUD_ACCESS_KEY="LTAI5tExampleExample", ALICLOUD_SECRET_KEY="hush-three",
    )  # fmt: skip

    assert not [name for name, value in found.items() if "LTAI" in value or "hush" in value]
    assert found["ALIBABA_CLOUD_ACCESS_KEY_ID"] == emulator.keys["accessKeyId"]
    assert "SHOP_KEY_ID looks like a real cloud access key" in said
    assert "LTAI" not in said


def test_proxies_are_kept_on_request(emulator):
    """With --keep-proxy the variables stay and nothing is said."""
    code = "import os; print(os.environ['HTTPS_PROXY'])"
    done = execute(emulator.state, "--keep-proxy", sys.executable, "-c", code, HTTPS_PROXY="http://proxy.example:3128")

    assert (done.stdout, done.stderr) == ("http://proxy.example:3128\n", "")


def test_authorities_the_user_had_named_are_still_trusted(emulator, tmp_path):
    """The bundle holds what REQUESTS_CA_BUNDLE named; every variable names the bundle."""
    own = tmp_path / "company.pem"
    own.write_text("-----BEGIN CERTIFICATE-----\ncompany\n-----END CERTIFICATE-----\n")

    found, _ = seen_by_command(emulator.state, REQUESTS_CA_BUNDLE=str(own))

    bundle = Path(found["REQUESTS_CA_BUNDLE"])
    assert own.read_text() in bundle.read_text()
    assert (emulator.state / "ca" / "ca.pem").read_text() in bundle.read_text()
    assert found["SSL_CERT_FILE"] == found["NODE_EXTRA_CA_CERTS"] == str(bundle)


def test_other_hosts_are_left_alone(emulator):
    """Names outside the cloud's domains resolve as without us."""
    code = "import socket; print(socket.getaddrinfo('127.0.0.1', 443)[0][4][1], socket.gethostbyname('localhost'))"

    done = execute(emulator.state, "--", sys.executable, "-c", code)

    assert done.stdout == "443 127.0.0.1\n"


@pytest.mark.parametrize("start", [[], ["--start"]], ids=["running", "started"])
def test_streams_and_exit_code_are_the_command_s(emulator, tmp_path, start):
    """Arguments that look like ours, input, output and the exit code go through untouched."""
    code = "import sys; sys.stdout.write(sys.stdin.read() + ' '.join(sys.argv[1:])); sys.exit(7)"

    arguments = words(emulator.state, *start, "--", sys.executable, "-c", code, "--", "--start", "--state")
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = commands.popen(arguments, cwd=tmp_path, env=environment(), **pipes)
    said = process.communicate("in ", timeout=60)

    assert (process.returncode, *said) == (7, "in -- --start --state", "")


def test_signals_reach_the_command_of_an_emulator_of_its_own(tmp_path):
    """SIGINT and SIGTERM are passed on; a command that is ended by one gives 128 and its number; the emulator ends."""
    code = (
        "import os, signal, time\n"
        # not by print, which it may interrupt
        "signal.signal(signal.SIGINT, lambda *_: os.write(1, b'interrupted\\n'))\n"
        "print('ready', os.environ['LOCALYUN_STATE'], flush=True)\n"
        "while True: time.sleep(0.05)"
    )

    with running(None, "--start", "--", sys.executable, "-c", code) as (process, lines):
        state = Path(wait_for(lines, "ready").split()[1])
        address = urlsplit(json.loads((state / "endpoint.json").read_text())["http"])
        process.send_signal(signal.SIGINT)
        wait_for(lines, "interrupted")
        process.send_signal(signal.SIGTERM)
        exit_code = process.wait(60)

    assert exit_code == 128 + signal.SIGTERM
    assert not state.exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address.hostname, address.port), 5)


def processes_with(word):
    """The command lines of the processes whose arguments hold *word*, where the system shows them."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(file.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
    return [line for line in lines if word in line]


def test_signal_during_the_start_leaves_nothing_behind(tmp_path):
    """SIGTERM before the command runs ends the emulator that was being started, and its folder goes."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    # not forked, so that what it leaves behind would be known by its words
    process = subprocess.Popen(
        [*commands.COMMAND, *words(None, "--start", "--", "echo", "ran")], env=environment(TMPDIR=str(scratch)),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    with read(process) as lines:
        eventually(lambda: list(scratch.rglob("server.log")))
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)

    assert code == 128 + signal.SIGTERM
    assert lines.empty()
    assert list(scratch.iterdir()) == []
    assert processes_with(str(scratch)) == []


def test_emulator_of_its_own_is_reached_by_clients_and_commands(tmp_path):
    """--start leaves nothing in the working directory; localyun's commands inside find the same emulator."""
    script = f"'{sys.executable}' -m emulator queue create inner && '{sys.executable}' -m emulator status --json"

    done = execute(None, "--start", "--", "sh", "-c", script, folder=tmp_path)

    assert done.returncode == 0, done.stderr
    assert '"https"' in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_without_an_emulator_the_command_does_not_run(tmp_path):
    """Exit code 3 and a reason; nothing of the command happens."""
    done = execute(tmp_path / "none", "--", "touch", str(tmp_path / "ran"), LOCALYUN_PORT="9")

    assert done.returncode == 3
    assert done.stderr.startswith("localyun: ")
    assert not (tmp_path / "ran").exists()


def test_commands_that_cannot_run_are_told_as_shells_do(emulator, tmp_path):
    """127 for a missing program, 126 for one that is not executable, 2 for none at all."""
    plain = tmp_path / "plain"
    plain.write_text("")

    codes = [
        execute(emulator.state, *words).returncode for words in (["--", "no-such-program"], ["--", str(plain)], [])
    ]

    assert codes == [127, 126, 2]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_a_state_machine_runs_through_the_official_client_for_node(emulator):
    """Made, started, its token reported both ways, described, its history read; a bad update says why."""
    for package in ("@alicloud/fnf-2019-03-15", "@alicloud/mns"):
        if package not in node_packages():
            pytest.skip(f"needs {package} (python3 dev.py clients)")

    done = execute(emulator.state, "--", "node", str(SCRIPTS / "statemachine.js"))

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    code, message = found.pop("refusal")
    assert code == "InvalidArgument"
    assert "'other' is not the name of the flow" in message
    assert found == {
        "created": "node-approval",
        "approved": ["Succeeded", '{"by":"lee","length":3}'],
        "refused": ["Succeeded", '{"why":"no"}'],
        "events": [
            "ExecutionStarted", "StepEntered", "TaskScheduled", "TaskStarted", "TaskSubmitted", "TaskSucceeded",
            "StepExited", "StepEntered", "StepStarted", "StepSucceeded", "StepExited", "ExecutionSucceeded",
        ],
    }  # fmt: skip
