"""What a custom container serves passes as it comes: event streams, bodies sent in pieces, WebSockets, MCP sessions.

The docker command is a stand-in that runs a program of this machine for the image's name, so no engine is needed.
"""

import http.client
import json
import os
import sys
from urllib.parse import urlsplit

import pytest

from emulator.testing import Emulator
from tests.sdk.test_fc_mcp import PythonClient, python_server, sessions_of
from tests.sdk.test_fc_request_streams import CHUNKED, SERVER, Sending
from tests.sdk.test_fc_sessions import SCRIPT, Site
from tests.sdk.test_fc_websockets import SERVER as SOCKETS
from tests.sdk.test_fc_websockets import connected
from tests.waiting import eventually

pytest.importorskip("alibabacloud_fc20230330")
pytestmark = [
    pytest.mark.sdk,
    pytest.mark.skipif(sys.platform == "win32", reason="the docker command of these tests is a script"),
]

DOCKER = f"""{SCRIPT}
import os, pathlib, sys
arguments = sys.argv[1:]
if arguments[0] == "version":
    print("27.0")
if arguments[0] == "run":
    os.environ["FC_SERVER_PORT"] = arguments[arguments.index("--publish") + 1].split(":")[1]
    image = pathlib.Path(os.environ["DOCKER_IMAGES"], arguments[-1].rpartition("/")[2])
    os.execv("/bin/sh", ["/bin/sh", str(image)])
"""
EVENTS = (
    b": a comment first\r\n\r\n",
    "event: word\ndata: gr\u00fc\u00df\ndata:  two blanks\nid: 1\n\n".encode(),
    b"retry: 5\rdata\r\r",
    b"data: \x00\xff no text at all\n\n" + b"data: " + b"x" * 70_000 + b"\n\n",
)
STREAM = f"""{SCRIPT}
import os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *parts):
        pass
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in {EVENTS!r}:
            self.wfile.write(event)
            while not os.path.exists(os.path.join(os.environ["HEARD"], str(len(event)))):
                time.sleep(0.005)
        self.close_connection = True
ThreadingHTTPServer(("127.0.0.1", int(os.environ["FC_SERVER_PORT"])), Handler).serve_forever()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docker")
    for name, program in (("pieces", SERVER), ("sockets", SOCKETS), ("events", STREAM), ("words", python_server())):
        (folder / name).write_text(program, encoding="utf-8")
    docker = folder / "docker"
    docker.write_text(DOCKER, encoding="utf-8")
    docker.chmod(0o755)
    config = folder / "localyun.yaml"
    config.write_text(json.dumps({"runtimes": {"custom-container": str(docker)}}), encoding="utf-8")
    environment = {"DOCKER_IMAGES": str(folder)}
    with Emulator(config=config, environment=environment, state=folder / "state") as localyun:
        yield Site(localyun)


def served(site, image, kind=None, config=None, **more):
    """Make a function of a container with an HTTP trigger and return its name."""
    name = site.function(
        kind, config, custom=True, runtime="custom-container", code=None, **more,
        customContainerConfig={"image": f"registry.example.com/tests/{image}", "port": 9000},
    )  # fmt: skip
    site.web(name)
    return name


def test_events_of_a_container_are_neither_held_back_nor_changed(site, tmp_path):
    """The container writes the next event once the client has the one before, whatever bytes these are."""
    name = served(site, "events", "HEADER_FIELD", environmentVariables={"HEARD": str(tmp_path)})
    address = urlsplit(site.localyun.endpoint)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
    connection.request("GET", f"/2023-03-30/proxy/{name}/", headers={"My-Session-Id": "mine"})

    answer = connection.getresponse()
    heard = []
    for event in EVENTS:
        heard.append(answer.read(len(event)))
        (tmp_path / str(len(event))).touch()
    rest = answer.read()
    connection.close()

    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/event-stream")
    assert answer.headers["X-Fc-Instance-Id"] == site.get(name, "mine").container_id
    assert heard == list(EVENTS)
    assert rest == b""


def test_container_reads_and_answers_while_the_client_sends(site):
    """Each piece is answered before the next one is sent."""
    name = served(site, "pieces")

    with Sending(site, name, "/echo", CHUNKED) as sending:
        sending.chunk(b"one")
        status = sending.head()[0]
        told = [sending.read_chunk()]
        for piece in (b"two", b"three"):
            sending.chunk(piece)
            told.append(sending.read_chunk())
        sending.send(b"0\r\n\r\n")
        told.append(sending.read_chunk())

    assert (status, told) == (200, [b"one", b"two", b"three", b""])


def test_messages_of_a_containers_socket_pass_both_ways(site):
    """In the session that the client names; the next connection finds the same instance."""
    pytest.importorskip("websockets.sync.server")
    name, large = served(site, "sockets", "HEADER_FIELD"), os.urandom(1_000_000)

    with connected(site, name, my_session_id="mine") as talk:
        first = json.loads(talk.recv(timeout=60))
        echoed = []
        for message in ("\u00e9", b"", large):
            talk.send(message)
            echoed.append(talk.recv(timeout=60))
    with connected(site, name, my_session_id="mine") as talk:
        again = json.loads(talk.recv(timeout=60))

    assert echoed == ["\u00e9", b"", large]
    assert (first["session"], first["opened"], again["opened"]) == ("mine", 1, 2)
    assert first["instance"] == again["instance"] == site.get(name, "mine").container_id


@pytest.mark.parametrize(("transport", "kind"), [("sse", "MCP_SSE"), ("streamable-http", "MCP_STREAMABLE")])
def test_clients_of_an_mcp_server_in_a_container_keep_apart(site, transport, kind):
    """Two official clients, each with an instance of its own that remembers its words."""
    pytest.importorskip("mcp")
    alone, variables = {"sessionConcurrencyPerInstance": 1}, {"TRANSPORT": transport}
    name = served(site, "words", kind, alone, environmentVariables=variables)
    way = "sse" if transport == "sse" else "mcp"
    url, host = f"{site.localyun.endpoint}/{way}", f"{name}.fc.localhost"

    clients = [PythonClient(url, host, way, f"{each}1", f"{each}2") for each in "ab"]
    heard = [each.said() for each in clients]
    for each in clients:
        each.go_on()
    again = [each.said() for each in clients]
    for each in clients:
        each.end()

    assert [words[1:] for words in again] == [["a1", "a2"], ["b1", "b2"]]
    assert [words[0] for words in again] == [words[0] for words in heard]
    assert heard[0][0] != heard[1][0]
    eventually(lambda: not sessions_of(site, name), 30, lambda: "the clients' sessions are still there")
