"""The Node.js hook: connections to the cloud's names, made in any way, go to the emulator."""

import json
import os
import shutil
import socket
import subprocess
import threading

import pytest

import emulator.redirect
from emulator.http.certificates import CertificateAuthority
from emulator.kernel.clock import SystemClock
from tests import ready_certificates

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on the PATH")


def run(code, **variables):
    """Run *code* in Node.js with the hook and *variables*; return the JSON it prints."""
    command = ["node", "--require", str(emulator.redirect.node_hook()), "-e", code]
    environment = {"PATH": os.environ["PATH"]} | {name: str(value) for name, value in variables.items()}
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def answering():
    """A loopback port where each connection is answered with one HTTP response, and the heads that came."""
    listener = socket.create_server(("127.0.0.1", 0))
    heads = []

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                data = connection.recv(4096)
                heads.append(data.decode())
                connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1], heads
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.mark.parametrize(
    "connect",
    [
        "net.connect(80, 'mns.aliyuncs.com', done)",
        "net.connect({port: 80, host: 'X.FcApp.Run.'}, done)",
        "new net.Socket().connect(80, 'x.aliyuncs.com', done)",
        "new net.Socket().connect({port: '80', host: 'x.aliyuncs.com'}, done)",
        "net.createConnection(80, 'x.aliyuncs.com').on('connect', done)",
    ],
)
def test_cloud_names_lead_to_the_emulators_port(answering, connect):
    """However a connection is made, its callback included."""
    port, _ = answering
    code = f"""
        const net = require('net');
        function done() {{ console.log(JSON.stringify([this.remoteAddress, this.remotePort])); this.destroy(); }}
        {connect}"""

    assert run(code, LOCALYUN_HTTP_PORT=port) == ["127.0.0.1", port]


def test_http_requests_keep_the_host_they_name(answering):
    """The Host field is the cloud's: the emulator finds the service by it."""
    port, heads = answering
    code = """
        require('http').get('http://123.mns.cn-hangzhou.aliyuncs.com/queues', (answer) => {
          answer.on('data', (data) => console.log(JSON.stringify([answer.statusCode, data.toString()])));
        });"""

    assert run(code, LOCALYUN_HTTP_PORT=port) == [200, "ok"]
    assert "\r\nHost: 123.mns.cn-hangzhou.aliyuncs.com\r\n" in heads[0]


async def mint(folder, name):
    """Return the file of a new authority and a server context for *name*."""
    authority = ready_certificates.authority(CertificateAuthority)(
        folder, accepts=lambda host: True, clock=SystemClock()
    )
    try:
        return await authority.ensure_ca(), await authority.context(name)
    finally:
        await authority.close()


def serve_tls(listener, context):
    """Answer one request over TLS."""
    connection, _ = listener.accept()
    with context.wrap_socket(connection, server_side=True) as secure:
        secure.recv(4096)
        secure.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
        secure.shutdown(socket.SHUT_WR)
        while secure.recv(4096):  # to close before all has been read would reset the connection
            pass


@pytest.mark.parametrize(
    "code",
    [
        "require('https').get('https://x.fc.aliyuncs.com/', (a) => show(a.statusCode)).on('error', show);",
        "fetch('https://x.fc.aliyuncs.com/').then((a) => show(a.status), (e) => show(e.cause || e));",
        """const s = require('tls').connect(443, 'x.fc.aliyuncs.com', () => { s.end('GET / HTTP/1.1\\r\\n\\r\\n');
             show(s.authorized && s.servername === 'x.fc.aliyuncs.com' ? 200 : s.authorizationError); });""",
    ],
    ids=["https", "fetch", "tls"],
)
async def test_tls_verifies_the_name_that_was_asked_for(tmp_path, code):
    """With the emulator's authority made known, https works unchanged."""
    if "fetch" in code and not run("console.log(typeof fetch === 'function')"):
        pytest.skip("this Node.js has no fetch")
    authority, context = await mint(tmp_path, "x.fc.aliyuncs.com")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve_tls, args=(listener, context))
        thread.start()

        show = "const show = (what) => console.log(JSON.stringify(typeof what === 'number' ? what : String(what)));"
        result = run(show + code, LOCALYUN_HTTPS_PORT=listener.getsockname()[1], NODE_EXTRA_CA_CERTS=authority)

        thread.join(10)
    assert result == 200


@pytest.mark.parametrize("variables", [{}, {"LOCALYUN_HTTP_PORT": "none"}])
def test_program_without_the_variables_is_left_alone(variables):
    """The hook may stay in NODE_OPTIONS where there is no emulator."""
    code = "console.log(JSON.stringify('original' in require('net').Socket.prototype.connect))"

    assert run(code, **variables) is False


def test_other_names_and_ports_stay_what_they_are(answering):
    """Only the cloud's names, and of its ports only 80 and 443."""
    port, _ = answering
    code = f"""
        const net = require('net');
        const shown = [];
        function done() {{
          shown.push(this.remotePort); this.destroy(); if (shown.length === 2) console.log(JSON.stringify(shown));
        }}
        net.connect({port}, '127.0.0.1', done);
        net.connect({port}, 'x.aliyuncs.com', done);"""

    assert run(code, LOCALYUN_HTTP_PORT=1) == [port, port]


def test_emulator_s_proxy_is_hidden_and_inherited():
    """This program's calls to other hosts stay direct; programs it starts, in whatever way, find the proxy."""
    proxy = "http://forward:s3cret@127.0.0.1:8869"
    code = """
const c = require('child_process');
const found = [process.env.HTTPS_PROXY === undefined];
const script = 'printf "%s" "$HTTPS_PROXY"';
found.push(c.execSync(script).toString(), c.execFileSync('sh', ['-c', script], {encoding: 'utf8'}));
found.push(c.spawnSync('sh', ['-c', script]).stdout.toString());
found.push(c.spawnSync('sh', ['-c', script], {env: {PATH: '/bin:/usr/bin'}}).stdout.toString());
found.push(c.execSync(script, {env: Object.assign({}, process.env)}).toString());
c.exec(script, (error, output) => { found.push(output); console.log(JSON.stringify(found)); });
"""

    found = run(code, LOCALYUN_PROXY_URL=proxy, HTTPS_PROXY=proxy)

    assert found == [True, proxy, proxy, proxy, "", proxy, proxy]
