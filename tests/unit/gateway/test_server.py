"""Ports, TLS and the end of a server, over real sockets."""

import asyncio
import contextlib
import errno
import shutil
import socket
import ssl
import subprocess

import pytest

from emulator.gateway import server as server_module
from emulator.gateway.server import PortInUse, Server
from emulator.http.certificates import CertificateAuthority
from emulator.http.connections import HttpLimits
from emulator.http.message import Following, Response
from emulator.kernel.clock import SystemClock
from tests import ready_certificates
from tests.waiting import until

GET = b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n"


class Application:
    """Answers with what it knows of the connection; parks requests for /park."""

    def __init__(self):
        self.parked = []

    def admit(self, request):
        return 1000

    def early(self, request):
        return 0

    def too_large(self, request, limit):
        return Response(413)

    def malformed(self, status, reason):
        return Response(status, reason.encode())

    def serve(self, request, respond):
        if request.path == "/park":
            self.parked.append(respond)
        else:
            respond(Response(200, f"{request.scheme} {request.remote}".encode()))


@contextlib.asynccontextmanager
async def a_server(**options):
    """A server of the application while the block runs."""
    application = Application()
    server = Server(application, clock=SystemClock(), **options)
    await server.start()
    try:
        yield server, application
    finally:
        await server.stop(0)


async def ask(port, data=GET, host="127.0.0.1", **options):
    reader, writer = await asyncio.open_connection(host, port, **options)
    try:
        writer.write(data)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        return head, await reader.readexactly(length)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")
async def test_both_loopback_addresses_are_served_on_one_port():
    """A free port is found that IPv4 and IPv6 share."""
    async with a_server() as (server, _):
        bodies = [(await ask(server.port, host=host))[1] for host in ("127.0.0.1", "::1")]

    assert bodies == [b"http 127.0.0.1", b"http ::1"]


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")
async def test_commands_and_functions_find_their_address_whatever_is_listened_on():
    """They are told 127.0.0.1, on both ports."""
    async with a_server(hosts=["::1"]) as (server, _):
        bodies = [(await ask(server.port, host=host))[1] for host in ("::1", "127.0.0.1")]

    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(server_module.PortInUse):
        server_module.listen([(socket.AF_INET6, "::1")], taken.getsockname()[1])
    assert bodies == [b"http ::1", b"http 127.0.0.1"]


async def test_a_host_that_is_not_there_is_refused_though_there_is_a_loopback_address():
    """Nothing is listened on then."""
    with pytest.raises(OSError) as refused:
        server_module.listen([(socket.AF_INET, "192.0.2.1")], 0)

    assert refused.value.errno == errno.EADDRNOTAVAIL


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")
async def test_a_port_taken_on_the_second_address_is_passed_over(monkeypatch):
    """When the port IPv4 happened to get is taken on IPv6, another one is tried."""
    original = server_module._bind
    taken = []

    def bind(family, address, port):
        if family == socket.AF_INET6 and not taken:
            taken.append(port)
            raise OSError(98, "in use")
        return original(family, address, port)

    monkeypatch.setattr(server_module, "_bind", bind)

    async with a_server() as (server, _):
        port = server.port

    assert taken
    assert port


async def test_an_address_the_machine_does_not_have_is_skipped(monkeypatch):
    """Without IPv6 the server listens on IPv4 alone."""
    original = server_module._bind

    def bind(family, address, port):
        if family == socket.AF_INET6:
            raise OSError(99, "cannot assign requested address")
        return original(family, address, port)

    monkeypatch.setattr(server_module, "_bind", bind)

    async with a_server() as (server, _):
        head, _ = await ask(server.port)

    assert head.startswith(b"HTTP/1.1 200 ")


async def test_no_address_at_all_is_an_error(monkeypatch):
    """A server that can listen nowhere does not start."""
    monkeypatch.setattr(server_module, "_bind", lambda *where: (_ for _ in ()).throw(OSError(99, "no such address")))

    with pytest.raises(OSError, match="no such address"):
        await Server(Application(), clock=SystemClock()).start()


async def test_a_used_port_is_named_in_the_error():
    """The command line can tell which of the two ports is in use."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        port = sock.getsockname()[1]

        with pytest.raises(PortInUse) as caught:
            await Server(Application(), clock=SystemClock(), port=port).start()

    assert caught.value.port == port


async def test_a_used_https_port_frees_the_http_port(tmp_path):
    """A start that fails half-way leaves nothing listening."""

    with socket.socket() as taken, socket.socket() as probe:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        server = Server(
            Application(),
            clock=SystemClock(),
            hosts=["127.0.0.1"],
            port=port,
            https_port=taken.getsockname()[1],
            authority=an_authority(tmp_path),
        )
        with pytest.raises(PortInUse) as caught:
            await server.start()
        with socket.socket() as again:
            again.bind(("127.0.0.1", port))
        reported, used = caught.value.port, taken.getsockname()[1]

    assert reported == used


async def test_a_port_can_be_used_again_at_once():
    """A restart does not wait for the connections of the server before it to expire."""

    port = 0
    for _ in range(3):
        server = Server(Application(), clock=SystemClock(), port=port)
        await server.start()
        port = server.port
        await ask(port)
        await server.stop(0)
    assert port


# The end.


async def test_stopping_closes_idle_connections_and_lets_busy_ones_finish():
    """An answer under way still arrives, with ``Connection: close``; new connections are refused."""
    async with a_server() as (server, application):
        idle, idle_writer = await asyncio.open_connection("127.0.0.1", server.port)
        busy, busy_writer = await asyncio.open_connection("127.0.0.1", server.port)
        busy_writer.write(b"GET /park HTTP/1.1\r\nHost: a\r\n\r\n")
        await until(lambda: application.parked)

        stopping = asyncio.create_task(server.stop(10))
        assert await idle.read() == b""
        assert not stopping.done()
        with pytest.raises(ConnectionRefusedError):
            await ask(server.port)
        application.parked[0](Response(200, b"late"))
        answer = await busy.read()
        await stopping

        idle_writer.close()
        busy_writer.close()

    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Connection: close\r\n" in answer
    assert answer.endswith(b"late")


async def test_stopping_cuts_what_does_not_finish_in_time():
    """The grace period is a limit."""
    async with a_server() as (server, application):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /park HTTP/1.1\r\nHost: a\r\n\r\n")
        await until(lambda: application.parked)

        await server.stop(0.05)

        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        assert server.open_connections == 0


async def test_the_application_is_told_before_parked_requests_are_waited_for():
    """Long polls are answered by the application when the server stops, so the grace period is not used up."""
    told = []

    application = Application()

    def on_stopping():
        told.append(True)
        for respond in application.parked:
            respond(Response(204))

    server = Server(application, clock=SystemClock(), on_stopping=on_stopping)
    await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /park HTTP/1.1\r\nHost: a\r\n\r\n")
    await until(lambda: application.parked)
    async with asyncio.timeout(5):
        await server.stop(60)
    answer = await reader.read()
    writer.close()
    answer = answer

    assert told == [True]
    assert answer.startswith(b"HTTP/1.1 204 ")


async def test_answers_that_follow_something_end_at_once():
    """A page of the console that is open does not keep the emulator from ending; what ends by itself may."""
    go_on = asyncio.Event()

    async def pieces():
        yield b"first"
        await go_on.wait()
        yield b"last"

    async with a_server() as (server, application):
        streams = []
        for kind in (Following, Response):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"GET /park HTTP/1.1\r\nHost: a\r\n\r\n")
            await until(lambda: application.parked)
            application.parked.pop()(kind(200, pieces()))
            await reader.readuntil(b"first")
            streams.append((reader, writer))
        stopping = asyncio.create_task(server.stop(60))
        (followed, _), (ending, _) = streams

        assert await followed.read() == b"\r\n0\r\n\r\n"
        assert not stopping.done()
        go_on.set()
        assert b"last" in await ending.read()
        await stopping
        for _, writer in streams:
            writer.close()


# TLS.


def an_authority(folder):
    return ready_certificates.authority(CertificateAuthority)(
        folder / "ca", accepts=lambda name: "evil" not in name, clock=SystemClock()
    )


@contextlib.asynccontextmanager
async def a_tls_server(tmp_path, **options):
    """As `a_server`, with an HTTPS port and a client context that trusts its authority."""
    authority = an_authority(tmp_path)
    async with a_server(authority=authority, **options) as (server, _):
        context = ssl.create_default_context(cafile=await authority.ensure_ca())
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        context.set_alpn_protocols(["h2", "http/1.1"])
        yield server, context


@pytest.mark.parametrize("name", ["123.cn-hangzhou.fc.aliyuncs.com", "localhost", "127.0.0.1"])
async def test_every_emulated_name_is_served(tmp_path, name):
    """A client that trusts the authority is served under any of them."""
    async with a_tls_server(tmp_path) as (server, context):
        assert (await ask(server.https_port, ssl=context, server_hostname=name))[1] == b"https 127.0.0.1"


@pytest.mark.parametrize(
    "name", ["a.b.fcapp.run", "greet.shop.fc.localhost", "order_page.fc.localhost", "order_page.my_shop.fc.localhost"]
)
async def test_a_name_nobody_has_mentioned_is_served_at_once(tmp_path, name):
    """Its certificate is made before the handshake begins; a label may have an underscore, as names of functions do."""
    async with a_tls_server(tmp_path) as (server, context):
        _, body = await ask(server.https_port, ssl=context, server_hostname=name)

    assert body == b"https 127.0.0.1"


async def test_only_http_1_1_is_offered(tmp_path):
    """A client that could speak HTTP/2 is told not to."""
    async with a_tls_server(tmp_path) as (server, context):
        _, writer = await asyncio.open_connection("localhost", server.https_port, ssl=context)
        protocol = writer.get_extra_info("ssl_object").selected_alpn_protocol()
        writer.close()
        assert protocol == "http/1.1"


@pytest.mark.parametrize("name", ["www.example.com", "evil.shop.fcapp.run"])
async def test_a_name_that_is_not_served_has_no_certificate(tmp_path, name):
    """The client learns that the name is the reason."""
    async with a_tls_server(tmp_path) as (server, context):
        with pytest.raises(ssl.SSLCertVerificationError, match=r"(?i)hostname mismatch"):
            await ask(server.https_port, ssl=context, server_hostname=name)


async def test_plain_http_on_the_https_port_is_answered_in_clear(tmp_path):
    """Whoever forgets the ``s`` reads what is wrong instead of waiting."""
    async with a_tls_server(tmp_path) as (server, _):
        head, body = await ask(server.https_port)

    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"https://" in body


async def test_clients_that_do_not_finish_their_handshake_harm_nobody(tmp_path):
    """Silence, garbage, half a greeting and distrust leave the port serving others."""
    async with a_tls_server(tmp_path) as (server, context):
        silent = await asyncio.open_connection("127.0.0.1", server.https_port)
        half = await asyncio.open_connection("127.0.0.1", server.https_port)
        half[1].write(b"\x16\x03\x01\x02\x00\x01\x00")
        gone = await asyncio.open_connection("127.0.0.1", server.https_port)
        gone[1].close()
        with pytest.raises(ssl.SSLError):
            await ask(server.https_port, ssl=ssl.create_default_context(), server_hostname="localhost")
        _, body = await ask(server.https_port, ssl=context, server_hostname="localhost")
        for _, writer in (silent, half):
            writer.close()
        assert body == b"https 127.0.0.1"


async def test_a_greeting_in_many_packets_is_understood(tmp_path):
    """The name is found however slowly the first message comes."""
    async with a_tls_server(tmp_path) as (server, context):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = context.wrap_bio(incoming, outgoing, server_hostname="slow.cn-hangzhou.fcapp.run")
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.https_port)
        hello = outgoing.read()
        for start in range(0, len(hello), 100):
            writer.write(hello[start : start + 100])
            await asyncio.sleep(0.01)
        while True:
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                incoming.write(await reader.read(65536))
        names = client.getpeercert()["subjectAltName"]
        writer.close()
        assert ("DNS", "*.cn-hangzhou.fcapp.run") in names


async def test_stopping_ends_tls_connections_too(tmp_path):
    """Neither an idle TLS connection nor one in its handshake delays the end."""
    async with a_tls_server(tmp_path, limits=HttpLimits()) as (server, context):
        waiting = await asyncio.open_connection("127.0.0.1", server.https_port)
        idle = await asyncio.open_connection("127.0.0.1", server.https_port, ssl=context, server_hostname="localhost")
        await until(lambda: server.open_connections)
        async with asyncio.timeout(5):
            await server.stop(30)
        ends = [await idle[0].read(), await waiting[0].read()]
        for _, writer in (waiting, idle):
            writer.close()
        assert ends == [b"", b""]


@pytest.mark.parametrize("program", ["openssl", "curl"])
async def test_programs_trust_what_the_authority_signed(tmp_path, program):
    """They verify the chain, its constraints and the name, whichever of the many names they ask for."""
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program} here")
    names = ("123.mns.cn-beijing.aliyuncs.com", "fcv3.ap-southeast-1.aliyuncs.com", "localhost")

    async with a_tls_server(tmp_path) as (server, _):
        ca = tmp_path / "ca" / "ca.pem"
        for name in names:
            if program == "curl":
                words = ["--silent", "--cacert", str(ca), "--resolve", f"{name}:{server.https_port}:127.0.0.1"]
                words.append(f"https://{name}:{server.https_port}/")
            else:
                words = ["s_client", "-connect", f"127.0.0.1:{server.https_port}", "-servername", name, "-brief"]
                words += ["-CAfile", str(ca), "-verify_hostname", name, "-verify_return_error", "-x509_strict"]
            child = await asyncio.create_subprocess_exec(
                program, *words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            output, _ = await child.communicate()
            assert child.returncode == 0, output
            assert (b"https 127.0.0.1" if program == "curl" else b"Verification: OK") in output
