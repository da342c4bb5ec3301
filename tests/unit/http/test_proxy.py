"""The proxy's decisions, and what becomes of connections that ask for it, over real sockets."""

import asyncio
import base64
import contextlib
import socket
import ssl
import time

import pytest

from emulator.gateway.hosts import HostPolicy
from emulator.gateway.server import Server
from emulator.http import proxy as tunnel
from emulator.http import tls_listener
from emulator.http.certificates import CertificateAuthority
from emulator.http.message import Response
from emulator.http.proxy import (
    Forward,
    NotProxyRequest,
    ProxyDesk,
    Refuse,
    Serve,
    forwarding_user,
    is_public,
    read_proxy_request,
)
from emulator.kernel.clock import SystemClock
from tests import ready_certificates

SECRET = "s3cret"
CLOUD = "1.cn-hangzhou.fc.aliyuncs.com"


def credentials(user="localyun", secret=SECRET):
    return b"Proxy-Authorization: Basic " + base64.b64encode(f"{user}:{secret}".encode()) + b"\r\n"


def connect(target, fields=b""):
    return b"CONNECT %b HTTP/1.1\r\nHost: x\r\n%b\r\n" % (target.encode(), fields)


def absolute(url, fields=b"", path_host="x"):
    return b"GET %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (url.encode(), path_host.encode(), fields)


def judge(data, policy=None):
    return ProxyDesk(SECRET, emulates=(policy or HostPolicy()).emulates).judge(read_proxy_request(data))


@pytest.mark.parametrize(
    "fields",
    [b"", credentials(secret="wrong"), credentials(user="root"), b"Proxy-Authorization: Bearer s3cret\r\n",
     b"Proxy-Authorization: Basic !!!\r\n", b"Proxy-Authorization: Basic " + base64.b64encode(b"s3cret") + b"\r\n"],
    ids=["none", "secret", "user", "scheme", "base64", "no user"],
)  # fmt: skip
def test_requests_without_the_secret_are_refused(fields):
    """Nothing but a known user name with this run's secret opens the proxy, for emulated hosts too."""
    verdict = judge(connect(f"{CLOUD}:443", fields))

    assert isinstance(verdict, Refuse)
    assert verdict.status == 407


@pytest.mark.parametrize("user", ["localyun", "forward"])
@pytest.mark.parametrize("target", [f"{CLOUD}:443", "STS.AliyunCS.com.:443", "x.cn-hangzhou.fcapp.run:80"])
def test_emulated_hosts_are_served_here(user, target):
    """Whatever the user name, the cloud's names never leave this machine."""
    assert judge(connect(target, credentials(user))) == Serve()


def test_other_hosts_are_passed_on_only_when_that_is_asked_for():
    """The user name tells; the default is a refusal that names the host."""
    refused = judge(connect("example.com:443", credentials()))
    passed = judge(connect("example.com:443", credentials("forward")))

    assert refused == Refuse(403, "example.com is not emulated, and this proxy passes nothing on")
    assert isinstance(passed, Forward)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "10.0.0.1", "a.localhost"])
def test_this_machine_and_addresses_are_never_emulated(host):
    """Not even when the emulator listens widely and serves requests to its addresses."""
    verdict = judge(connect(f"{host}:443", credentials()), HostPolicy(wide=True))

    assert verdict.status == 403


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("8.8.8.8", True), ("2606:4700::1111", True), ("127.0.0.1", False), ("10.1.2.3", False), ("::1", False),
        ("169.254.169.254", False), ("100.100.100.200", False), ("192.168.1.1", False), ("0.0.0.0", False),
        ("224.0.0.251", False), ("fe80::1", False), ("fd00::1", False), ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False), ("2002:a00:1::", False),
    ],
)  # fmt: skip
def test_only_addresses_of_the_internet_are_called(address, expected):
    """Loopback, private, link-local, metadata and multicast addresses are out, in IPv6 clothing too."""
    assert is_public(address) is expected


@pytest.mark.parametrize(
    ("entries", "host", "address", "expected"),
    [
        (["mirror.corp"], "mirror.corp", "10.0.0.1", True), (["corp"], "mirror.corp", "10.0.0.1", True),
        ([".corp"], "a.mirror.corp", "10.0.0.1", True), (["*.corp:8443"], "mirror.corp", "10.0.0.1", True),
        (["corp"], "notcorp", "10.0.0.1", False), (["10.0.0.0/8"], "mirror.corp", "10.0.0.1", True),
        (["10.0.0.0/8"], "mirror.corp", "192.168.0.1", False), (["192.0.2.7"], "192.0.2.7", "192.0.2.7", True),
        (["[fd00::1]"], "fd00::1", "fd00::1", True), (["*"], "any.test", "127.0.0.1", True),
        (["*"], "any.test", "169.254.169.254", False), (["any.test"], "any.test", "100.100.100.200", False),
        (["*"], "any.test", "224.0.0.251", False), ([], "any.test", "10.0.0.1", False), ([], "a.test", "8.8.8.8", True),
    ],
)  # fmt: skip
def test_hosts_that_were_allowed_are_called_too(entries, host, address, expected):
    """Names with all below them, addresses and networks; the user name carries them; metadata stays out."""
    verdict = judge(connect("mirror.corp:443", credentials(forwarding_user(entries))))

    assert verdict.allowed.permits(host)(address) is expected


@pytest.mark.parametrize("user", ["forward.!", "forward.\xff", "forwarding", "localyun.Y29ycA"])
def test_a_user_name_that_says_nothing_is_refused(user):
    """As one that is wrong."""
    assert judge(connect("mirror.corp:443", credentials(user))).status == 407


def test_head_that_is_passed_on_has_no_word_to_the_proxy():
    """Origin form, the host of the target, and no field of this hop but the end of the connection."""
    asked = read_proxy_request(
        absolute("http://example.com:81/a?b=c", credentials() + b"Proxy-Connection: x\r\nX-A: 1\r\n") + b"body"
    )

    assert asked.onward_head() == (
        b"GET /a?b=c HTTP/1.1\r\nHost: example.com:81\r\nConnection: close\r\nX-A: 1\r\n\r\n"
    )
    assert (asked.host, asked.port) == ("example.com", 81)


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01", b"CONNECT nowhere\r\n\r\n"])
def test_other_input_is_no_proxy_request(data):
    """An ordinary request, TLS and nonsense are told apart from requests to a proxy."""
    with pytest.raises(NotProxyRequest):
        read_proxy_request(data)


def test_head_in_pieces_is_waited_for():
    """Half a head is no verdict, an endless one is a refusal."""
    assert read_proxy_request(connect(CLOUD + ":443")[:-3]) is None
    with pytest.raises(NotProxyRequest):
        read_proxy_request(b"CONNECT a:443 HTTP/1.1\r\nA: " + b"a" * 20_000)


class Application:
    """Answers with what it knows of the request."""

    def admit(self, request):
        return 1000

    def early(self, request):
        return 0

    def too_large(self, request, limit):
        return Response(413)

    def malformed(self, status, reason):
        return Response(status, reason.encode())

    def serve(self, request, respond):
        proxy_fields = [name for name in request.headers if name.startswith("proxy-")]
        respond(Response(200, f"{request.scheme} {request.authority} {proxy_fields}".encode()))


@contextlib.asynccontextmanager
async def a_server(folder):
    policy = HostPolicy()
    authority = ready_certificates.authority(CertificateAuthority)(folder, accepts=policy.allows, clock=SystemClock())
    desk = ProxyDesk(SECRET, emulates=policy.emulates)
    server = Server(Application(), clock=SystemClock(), hosts=["127.0.0.1"], authority=authority, proxy=desk)
    await server.start()
    try:
        yield server
    finally:
        await server.stop(0)


@contextlib.asynccontextmanager
async def opened(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def answer(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return head, await reader.readexactly(length)


async def test_tls_begins_inside_the_connection_that_was_asked_for(tmp_path):
    """After CONNECT the client finds the certificate of the cloud's name and the application behind it."""
    async with a_server(tmp_path) as server:
        await server._authority.ensure_ca()
        async with opened(server.https_port) as (reader, writer):
            writer.write(connect(f"{CLOUD}:443", credentials()))
            established = await reader.readuntil(b"\r\n\r\n")
            context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
            await writer.start_tls(context, server_hostname=CLOUD)
            writer.write(b"GET /x HTTP/1.1\r\nHost: %b\r\n\r\n" % CLOUD.encode())
            (head, body) = await answer(reader)

    assert established.startswith(b"HTTP/1.1 200 ")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert body == b"https None []"


async def test_a_loop_that_stood_still_takes_no_time_from_the_client(tmp_path, monkeypatch):
    """What the client has sent meanwhile is served; one that sends nothing is closed after the time."""
    monkeypatch.setattr(tls_listener, "_HELLO_S", 1)
    async with a_server(tmp_path) as server:
        async with opened(server.https_port) as (reader, writer):
            await asyncio.sleep(0.1)  # the server waits for the first byte
            with socket.create_connection(("127.0.0.1", server.https_port)) as late:
                late.sendall(connect(f"{CLOUD}:80"))
                writer.write(connect(f"{CLOUD}:80", credentials()))
                time.sleep(1.5)
                established = await reader.readuntil(b"\r\n\r\n")
                late.settimeout(5)
                refused = await asyncio.to_thread(late.recv, 12)
        async with opened(server.https_port) as (silent, _):
            nothing = await silent.read()

    assert established.startswith(b"HTTP/1.1 200 ")
    assert refused == b"HTTP/1.1 407"
    assert nothing == b""


async def test_plain_http_inside_the_connection_is_served_too(tmp_path):
    """Clients that tunnel http:// URLs find the same application."""
    async with a_server(tmp_path) as server, opened(server.https_port) as (reader, writer):
        writer.write(connect(f"{CLOUD}:80", credentials()))
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
        assert (await answer(reader))[1] == b"http None []"


async def test_whole_urls_are_served_once_per_connection(tmp_path):
    """The application does not see the secret; the next request may be for another host, so the connection ends."""
    async with a_server(tmp_path) as server, opened(server.https_port) as (reader, writer):
        writer.write(absolute(f"http://{CLOUD}/x", credentials()))
        got = await answer(reader)
        head, body, rest = *got, await reader.read()

    assert b"connection: close" in head.lower()
    assert body == f"http {CLOUD} []".encode()
    assert rest == b""


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (connect(f"{CLOUD}:443"), b"407"),
        (absolute(f"http://{CLOUD}/"), b"407"),
        (connect("example.com:443", credentials()), b"403"),
        (connect("127.0.0.1:22", credentials("forward")), b"403"),
        (absolute("http://localhost:80/", credentials("forward")), b"403"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"400"),
    ],
    ids=["connect", "url", "other host", "own port", "own url", "no proxy request"],
)
async def test_refusals_are_answers(tmp_path, data, status):
    """Each refusal is a whole HTTP answer; one for want of the secret names the scheme."""
    async with a_server(tmp_path) as server, opened(server.https_port) as (reader, writer):
        writer.write(data)
        head, _ = await answer(reader)

    assert head.split()[1] == status
    assert (b"Via: 1.1 localyun" in head) is (status != b"400")
    assert (b'Proxy-Authenticate: Basic realm="localyun"' in head) is (status == b"407")


@pytest.mark.parametrize("is_connect", [True, False])
async def test_bytes_are_passed_on_unchanged(tmp_path, monkeypatch, is_connect):
    """A forwarded connection carries what both sides say until both have ended."""
    monkeypatch.setattr(tunnel, "is_public", lambda address: True)  # the only other host a test may call is this one
    received = []

    async def echo(reader, writer):
        received.append(await reader.read())
        writer.write(b"answer " * 100_000)
        writer.close()

    async with a_server(tmp_path) as server:
        other = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = other.sockets[0].getsockname()[1]
        async with other, opened(server.https_port) as (reader, writer):
            if is_connect:
                writer.write(connect(f"127.0.0.1:{port}", credentials("forward")))
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"question")
            else:
                writer.write(absolute(f"http://127.0.0.1:{port}/p", credentials("forward")) + b"question")
            writer.write_eof()
            came_back = await reader.read()

    head = b"" if is_connect else b"GET /p HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % port
    assert received == [head + b"question"]
    assert came_back == b"answer " * 100_000


async def test_host_that_cannot_be_reached_is_told(tmp_path, monkeypatch):
    """A refused connection becomes 502 with the reason."""
    monkeypatch.setattr(tunnel, "is_public", lambda address: True)

    async with a_server(tmp_path) as server:
        closed = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = closed.sockets[0].getsockname()[1]
        closed.close()
        await closed.wait_closed()
        async with opened(server.https_port) as (reader, writer):
            writer.write(connect(f"127.0.0.1:{port}", credentials("forward")))
            head, body = await answer(reader)

    assert head.split()[1] == b"502"
    assert b"127.0.0.1 cannot be reached" in body


async def test_open_tunnels_end_with_the_server(tmp_path, monkeypatch):
    """Neither side is left waiting for the other."""
    monkeypatch.setattr(tunnel, "is_public", lambda address: True)
    ended = asyncio.Event()

    async def wait(reader, writer):
        with contextlib.suppress(OSError):
            await reader.read()
        ended.set()
        writer.close()

    async with a_server(tmp_path) as server:
        other = await asyncio.start_server(wait, "127.0.0.1", 0)
        port = other.sockets[0].getsockname()[1]
        async with other, opened(server.https_port) as (reader, writer):
            writer.write(connect(f"127.0.0.1:{port}", credentials("forward")))
            await reader.readuntil(b"\r\n\r\n")
            await server.stop(0)
            rest = await reader.read()
            await ended.wait()
            assert rest == b""
