"""Bodies of HTTP requests that reach a custom runtime while their clients still send them."""

import contextlib
import datetime
import hashlib
import http.client
import json
import socket
import sys
from email.utils import formatdate
from urllib.parse import urlsplit

import pytest

from emulator.auth import acs3, fc
from emulator.http.message import Headers, Request
from emulator.testing import Emulator
from tests.sdk.test_fc_sessions import Site, zipped
from tests.waiting import eventually

pytest.importorskip("alibabacloud_fc20230330")
pytestmark = pytest.mark.sdk

SERVER = f"""#!/bin/sh
'''exec' "{sys.executable}" "$0" "$@"
' '''
import json, os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
seen = {{"began": [], "broken": []}}
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *parts):
        pass
    def pieces(self):
        if "Content-Length" in self.headers:
            left = int(self.headers["Content-Length"])
            while left:
                piece = self.connection.recv(min(left, 65536)) if not self.rest else self.rest.pop()
                if not piece:
                    raise ConnectionError("cut")
                left -= len(piece)
                yield piece
            return
        while True:
            line = self.rfile.readline()
            if not line:
                raise ConnectionError("cut")
            size = int(line, 16)
            piece = self.rfile.read(size)
            if len(piece) < size:
                raise ConnectionError("cut")
            self.rfile.readline()
            if not size:
                return
            yield piece
    def say(self, content):
        content = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
    def do_GET(self):
        self.say(seen[self.path[1:]])
    def do_POST(self):
        seen["began"].append(self.path)
        self.rest = []
        if "Content-Length" in self.headers:
            left = int(self.headers["Content-Length"])
            buffered = self.rfile.peek(1)[:left] if left else b""
            self.rest = [self.rfile.read(len(buffered))] if buffered else []
        if self.path == "/early":
            self.close_connection = True
            self.say("enough")
        elif self.path == "/never":
            time.sleep(60)
        elif self.path == "/echo":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in self.pieces():
                self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(piece), piece))
            self.wfile.write(b"0\\r\\n\\r\\n")
        else:
            size = 0
            try:
                for piece in self.pieces():
                    size += len(piece)
            except (ConnectionError, ValueError):
                self.close_connection = True
                seen["broken"].append(self.path)
                return
            self.say({{
                "size": size, "length": self.headers.get("Content-Length"),
                "coding": self.headers.get("Transfer-Encoding"), "session": self.headers.get("my-session-id"),
                "instance": os.environ["FC_INSTANCE_ID"],
            }})
ThreadingHTTPServer(("127.0.0.1", int(os.environ["FC_SERVER_PORT"])), Handler).serve_forever()
"""
SESSION = ("My-Session-Id", "abc")
FORM = ("Content-Type", "application/x-www-form-urlencoded")
CHUNKED = ("Transfer-Encoding", "chunked")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with Emulator(state=tmp_path_factory.mktemp("state") / "a b") as localyun:
        yield Site(localyun)


def served(site, *, config=None, **more):
    """Make a function that reads its requests as they come, with an HTTP trigger, and return its name."""
    name = site.function(more.pop("kind", None), custom=True, code={"zipFile": zipped("bootstrap", SERVER)}, **more)
    site.web(name, **(config or {}))
    return name


def paths(site, name, what):
    """Return the paths of the requests that ``began`` in the function of `SESSION`, or whose bodies were ``broken``."""
    with Sending(site, name, f"/{what}", SESSION, method="GET") as sending:
        return json.loads(sending.answer()[2])


class Sending:
    """A request that is sent bit by bit."""

    def __init__(self, site, name, path, *fields, method="POST", host=""):
        self._at = urlsplit(site.localyun.endpoint)
        self._socket = socket.create_connection((self._at.hostname, self._at.port), timeout=30)
        self._file = self._socket.makefile("rb")
        host = host or f"{name}.fc.localhost:{self._at.port}"
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *(f"{key}: {value}" for key, value in fields)]
        self.send("\r\n".join([*lines, "", ""]).encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
        self._socket.close()

    def send(self, data):
        self._socket.sendall(data)

    def chunk(self, data):
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def head(self):
        status = int(self._file.readline().split()[1])
        return status, http.client.parse_headers(self._file)

    def read_chunk(self):
        size = int(self._file.readline(), 16)
        piece = self._file.read(size)
        self._file.readline()
        return piece

    def answer(self):
        status, fields = self.head()
        return status, fields, self._file.read(int(fields["Content-Length"]))

    def rest(self):
        return self._file.read()


@pytest.mark.parametrize("way", ["trigger", "domain", "path"])
@pytest.mark.parametrize("coding", ["chunked", "length"])
def test_function_reads_and_answers_while_the_client_sends(site, way, coding):
    """Each piece comes back before the next one leaves, whatever address the request has and however it is framed."""
    name = served(site)
    path, host = ("/echo", "") if way != "path" else (f"/2023-03-30/proxy/{name}/echo", "localhost")
    if way == "domain":
        host = f"{name}.example.com"
        routes = {"routes": [{"path": "/*", "functionName": name, "methods": ["POST"]}]}
        body = {"domainName": host, "protocol": "HTTP", "routeConfig": routes}
        made = site.models.CreateCustomDomainInput().from_map(body)
        site.client.create_custom_domain(site.models.CreateCustomDomainRequest(body=made))
    field = CHUNKED if coding == "chunked" else ("Content-Length", "9")

    with Sending(site, name, path, field, host=host) as sending:
        send = sending.chunk if coding == "chunked" else sending.send
        send(b"one")
        status, _ = sending.head()
        back = [sending.read_chunk()]
        for piece in (b"two", b"end"):
            send(piece)
            back.append(sending.read_chunk())
        if coding == "chunked":
            sending.send(b"0\r\n\r\n")
        last = sending.read_chunk()

    assert status == 200
    assert (back, last) == ([b"one", b"two", b"end"], b"")


def test_large_body_reaches_the_function_whole_and_the_connection_goes_on(site):
    """Chunked as it came, with a length where it had one; the next request takes the same connection."""
    name = served(site)
    with Sending(site, name, "/count", CHUNKED) as sending:
        for _ in range(300):
            sending.chunk(b"x" * 100_000)
        sending.send(b"0\r\nX-Trailer: 1\r\n\r\n")
        chunked = json.loads(sending.answer()[2])
        host = f"{name}.fc.localhost".encode()
        sending.send(b"POST /count HTTP/1.1\r\nHost: " + host + b"\r\nContent-Length: 1000000\r\n\r\n")
        sending.send(b"x" * 1_000_000)
        whole = json.loads(sending.answer()[2])

    assert (chunked["size"], chunked["length"], chunked["coding"]) == (30_000_000, None, "chunked")
    assert (whole["size"], whole["length"], whole["coding"]) == (1_000_000, "1000000", None)


def test_session_header_goes_with_a_body_that_still_comes(site):
    """A call with affinity streams like any other, to the instance of its session."""
    name = served(site, kind="HEADER_FIELD")
    answers = []
    for _ in range(2):
        with Sending(site, name, "/count", CHUNKED, SESSION) as sending:
            sending.chunk(b"x" * 10)
            sending.chunk(b"x" * 10)
            sending.send(b"0\r\n\r\n")
            answers.append(json.loads(sending.answer()[2]))

    assert [(each["size"], each["session"]) for each in answers] == [(20, "abc")] * 2
    assert answers[0]["instance"] == answers[1]["instance"]


def test_body_that_outgrows_its_limit_is_refused_in_the_middle(site):
    """With the platform's text; the function's connection is cut, and other calls of the instance go on."""
    name = served(site, kind="HEADER_FIELD")
    with Sending(site, name, "/count", CHUNKED, SESSION) as sending:
        with contextlib.suppress(ConnectionError):
            for _ in range(34):
                sending.chunk(b"x" * 1024 * 1024)
        status, fields, content = sending.answer()

    assert (status, json.loads(content)["Code"]) == (400, "InvalidArgument")
    assert json.loads(content)["Message"] == ("the body of the request must not be larger than 33554432 bytes")
    assert fields["Connection"] == "close"
    eventually(lambda: paths(site, name, "broken") == ["/count"])


def test_body_with_broken_framing_is_refused_in_the_middle(site):
    """The function does not take a half for the whole."""
    name = served(site, kind="HEADER_FIELD")
    with Sending(site, name, "/count", CHUNKED, SESSION) as sending:
        sending.chunk(b"x" * 10)
        eventually(lambda: paths(site, name, "began") == ["/count"])
        sending.send(b"zz\r\n")
        status, _, content = sending.answer()

    assert (status, json.loads(content)["Code"]) == (400, "InvalidArgument")
    eventually(lambda: paths(site, name, "broken") == ["/count"])


def test_client_that_goes_in_the_middle_ends_the_functions_request(site):
    """The function sees its connection end before the body has."""
    name = served(site, kind="HEADER_FIELD")
    with Sending(site, name, "/count", CHUNKED, SESSION) as sending:
        sending.chunk(b"one")
        eventually(lambda: paths(site, name, "began") == ["/count"])

    eventually(lambda: paths(site, name, "broken") == ["/count"])
    assert paths(site, name, "began") == ["/count"]


def test_mock_gets_the_body_whole_and_a_record_of_calls_has_it(site):
    """What stands in for a function, and what tests ask for later, knows nothing of streams."""
    name = served(site)
    mock = site.localyun.mock(name, returns={"statusCode": 200})
    with Sending(site, name, "/count", CHUNKED) as sending:
        for piece in (b"one", b"two"):
            sending.chunk(piece)
        sending.send(b"0\r\n\r\n")
        sending.head()
    mocked = mock.calls
    mock.remove()
    with Sending(site, name, "/count", CHUNKED) as sending:
        for piece in (b"end", b"ed"):
            sending.chunk(piece)
        sending.send(b"0\r\n\r\n")
        counted = json.loads(sending.answer()[2])

    assert [each.event for each in mocked] == ["onetwo"]
    assert counted["size"] == 5
    assert site.localyun.calls(name)[-1].event == "ended"


@pytest.mark.parametrize("case", ["event", "async", "form"])
def test_other_requests_reach_their_functions_whole(site, case):
    """Events of built-in runtimes, calls that nobody waits for, and forms, which tokens may be in."""
    custom = case != "event"
    name = served(site) if custom else site.function(None)
    if not custom:
        site.web(name)
    fields = {"async": [("X-Fc-Invocation-Type", "Async")], "form": [FORM]}.get(case, [])
    with Sending(site, name, "/count", CHUNKED, *fields) as sending:
        for piece in (b"{", b"}"):
            sending.chunk(piece)
            site.localyun.api.admin("GET", "health")
        sending.send(b"0\r\n\r\n")
        status, _, content = sending.answer()

    assert status == (202 if case == "async" else 200)
    if case == "form":
        assert (json.loads(content)["length"], json.loads(content)["coding"]) == ("2", None)
    if case == "event":
        assert json.loads(content)["calls"] == 1
    eventually(lambda: custom or site.localyun.calls(name))


def test_function_may_answer_without_the_body(site):
    """The client, which sends on, reads the answer; its connection ends."""
    name = served(site)
    with Sending(site, name, "/early", CHUNKED) as sending:
        sending.chunk(b"one")
        status, fields, content = sending.answer()
        with contextlib.suppress(ConnectionError):
            sending.chunk(b"x" * 100_000)

    assert (status, content, fields["Connection"]) == (200, b'"enough"', "close")


def test_function_that_never_reads_runs_out_of_time(site):
    """Its sender is held back meanwhile, and gets what a function that takes too long answers."""
    name = served(site, timeout=1)
    with Sending(site, name, "/never", CHUNKED) as sending:
        sending.chunk(b"one")
        status, _, content = sending.answer()

    assert status == 502
    assert b"timed out after 1 seconds" in content


def test_client_that_asks_first_is_told_to_send(site):
    """``Expect: 100-continue`` gets its word, and the function the body."""
    name = served(site)
    with Sending(site, name, "/count", CHUNKED, ("Expect", "100-continue")) as sending:
        told, _ = sending.head()
        sending.chunk(b"x" * 10)
        sending.send(b"0\r\n\r\n")
        _, _, content = sending.answer()

    assert told == 100
    assert json.loads(content)["size"] == 10


def signed(site, name, scheme, fields, key=None):
    """Return *fields* with those of a signature."""
    port = urlsplit(site.localyun.endpoint).port
    fields = [("Host", f"{name}.fc.localhost:{port}"), *fields]
    secret = key or site.localyun.access_key_secret
    request = Request("POST", "/echo", Headers(fields))
    value = scheme.authorization(request, site.localyun.access_key_id, secret)
    return [*fields[1:], ("Authorization", value)]


def test_signed_request_streams_where_the_signature_leaves_the_body_out(site):
    """It is checked by the head; a wrong one reaches no function."""
    name = served(site, config={"authType": "function"})
    fields = [CHUNKED, ("Date", formatdate(usegmt=True))]

    with Sending(site, name, "/echo", *signed(site, name, fc, fields)) as sending:
        sending.chunk(b"one")
        status, _ = sending.head()
        back = sending.read_chunk()
    with Sending(site, name, "/echo", *signed(site, name, fc, fields, key="wrong")) as sending:
        refused, _, content = sending.answer()

    assert (status, back) == (200, b"one")
    assert (refused, json.loads(content)["Code"]) == (403, "SignatureNotMatch")


@pytest.mark.parametrize("honest", [True, False])
def test_signed_digest_is_compared_before_the_function_is_called(site, honest):
    """A body that is covered by the signature is awaited."""
    name = served(site, config={"authType": "function"})
    digest = hashlib.sha256(b"onetwo" if honest else b"other").hexdigest()
    fields = [
        CHUNKED,
        ("x-acs-date", formatted_now()),
        ("x-acs-content-sha256", digest),
        ("x-acs-signature-nonce", f"n{honest}"),
    ]
    with Sending(site, name, "/echo", *signed(site, name, acs3, fields)) as sending:
        sending.chunk(b"one")
        sending.chunk(b"two")
        sending.send(b"0\r\n\r\n")
        status, _ = sending.head()
        back = sending.read_chunk() if status == 200 else b""

    assert (status, back) == ((200, b"onetwo") if honest else (403, b""))


def formatted_now():
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_first_piece_after_an_edit_is_answered(tmp_path):
    """A client that waits for what comes of its first piece gets it while the emulator still reads edited files."""
    folder = tmp_path / "functions" / "edited"
    folder.mkdir(parents=True)
    program = folder / "bootstrap"
    program.write_text(SERVER)
    program.chmod(0o755)
    settings = {"runtime": "custom.debian12", "triggers": [
        {"name": "web", "type": "http", "config": {"authType": "anonymous", "methods": ["POST"]}}]}  # fmt: skip
    (folder / "function.yml").write_text(json.dumps(settings))
    with Emulator(functions=tmp_path / "functions") as localyun:
        address = urlsplit(localyun.endpoint)
        for number in range(5):
            (folder / f"note{number}.txt").write_text("edited")
            with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
                connection.sendall(
                    b"POST /2023-03-30/proxy/edited/echo HTTP/1.1\r\nHost: localhost\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"
                )
                answer = http.client.HTTPResponse(connection, method="POST")
                answer.begin()
                assert (answer.status, answer.read(2)) == (200, b"hi")
                connection.sendall(b"0\r\n\r\n")
                assert answer.read() == b""
