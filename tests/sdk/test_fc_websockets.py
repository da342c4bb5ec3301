"""WebSockets of custom runtimes behind HTTP triggers and custom domains: bytes pass both ways as they come."""

import contextlib
import http.client
import json
import os
import socket
import ssl
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from emulator.testing import Emulator
from tests.sdk.test_fc_sessions import Site, zipped
from tests.waiting import eventually

pytest.importorskip("alibabacloud_fc20230330")
websockets = pytest.importorskip("websockets.sync.client")
from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: E402 - once it is there

pytestmark = pytest.mark.sdk

SERVER = f"""#!/bin/sh
'''exec' "{sys.executable}" "$0" "$@"
' '''
import http, json, os
from websockets.sync.server import serve
opened = []
def choose(connection, request):
    if request.path == "/closed":
        return connection.respond(http.HTTPStatus.FORBIDDEN, "not today")
    if "Upgrade" not in request.headers:
        return connection.respond(http.HTTPStatus.OK, os.environ["FC_INSTANCE_ID"])
def talk(connection):
    opened.append(1)
    asked = connection.request
    connection.send(json.dumps({{
        "instance": os.environ["FC_INSTANCE_ID"], "opened": len(opened), "path": asked.path,
        "session": asked.headers.get("my-session-id"),
    }}))
    for message in connection:
        if message == "die":
            os.kill(os.getpid(), 9)
        connection.send(message)
port = int(os.environ["FC_SERVER_PORT"])
with serve(talk, "127.0.0.1", port, process_request=choose, subprotocols=["words"], max_size=None) as server:
    server.serve_forever()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with Emulator(state=tmp_path_factory.mktemp("state") / "s") as localyun:
        eventually((Path(localyun.state) / "ca" / "ca.pem").exists)
        yield Site(localyun)


def served(site, kind=None, **more):
    """Make a function that speaks WebSocket, with an HTTP trigger, and return its name."""
    pytest.importorskip("websockets.sync.server")
    name = site.function(kind, custom=True, code={"zipFile": zipped("bootstrap", SERVER)}, **more)
    site.web(name)
    return name


def connected(site, name, path="/", *, host="", tls=False, **fields):
    """Open a WebSocket; `websockets` checks the handshake and every frame."""
    host = host or f"{name}.fc.localhost"
    address = urlsplit(site.localyun.https_endpoint if tls else site.localyun.endpoint)
    options = {}
    if tls:
        options["ssl"] = ssl.create_default_context(cafile=Path(site.localyun.state) / "ca" / "ca.pem")
    return websockets.connect(
        f"ws{'s' if tls else ''}://{host}:{address.port}{path}",
        sock=socket.create_connection((address.hostname, address.port), timeout=60),
        additional_headers={key.replace("_", "-"): value for key, value in fields.items()},
        subprotocols=["words"], max_size=None, **options,
    )  # fmt: skip


@pytest.mark.parametrize("way", ["trigger", "domain", "tls"])
def test_messages_of_any_size_pass_both_ways(site, way):
    """The function speaks first; what it agreed on with the client is not changed."""
    name = served(site)
    host = ""
    if way == "domain":
        host = f"{name}.example.com"
        routes = {"routes": [{"path": "/*", "functionName": name, "methods": ["GET"]}]}
        body = {"domainName": host, "protocol": "HTTP", "routeConfig": routes}
        made = site.models.CreateCustomDomainInput().from_map(body)
        site.client.create_custom_domain(site.models.CreateCustomDomainRequest(body=made))
    large = os.urandom(3_000_000)

    with connected(site, name, "/talk?a=%20b", host=host, tls=way == "tls") as talk:
        told = json.loads(talk.recv(timeout=60))
        echoed = []
        for message in ("é", b"", large, "end"):
            talk.send(message)
            echoed.append(talk.recv(timeout=60))

    assert (told["path"], talk.subprotocol, talk.response.status_code) == ("/talk?a=%20b", "words", 101)
    assert echoed == ["é", b"", large, "end"]
    assert (talk.close_code, talk.response.headers["X-Fc-Instance-Id"]) == (1000, told["instance"])


def test_client_that_has_gone_leaves_the_instance(site):
    """With a close or without; its call has ended, so the next one takes the same instance."""
    name = served(site)

    with connected(site, name) as talk:
        first = json.loads(talk.recv(timeout=60))
    eventually(lambda: left(site, name), 30, lambda: "the call goes on after its client")
    with contextlib.suppress(ConnectionClosed), connected(site, name) as talk:
        again = json.loads(talk.recv(timeout=60))
        talk.socket.shutdown(socket.SHUT_RDWR)
    eventually(lambda: left(site, name), 30, lambda: "the call goes on without its client")
    with connected(site, name) as talk:
        third = json.loads(talk.recv(timeout=60))

    assert [each["opened"] for each in (first, again, third)] == [1, 2, 3]
    assert len({each["instance"] for each in (first, again, third)}) == 1


def left(site, name):
    """Whether no connection to a function is open any more."""
    return not [each for each in site.localyun.api.admin("POST", "settle")["waiting"] if each["resource"] == name]


def test_handshake_that_the_function_refuses_is_its_answer(site):
    """Whoever asks without an upgrade gets an answer as ever."""
    name = served(site)

    with pytest.raises(InvalidStatus) as refused:
        connected(site, name, "/closed")
    address = urlsplit(site.localyun.endpoint)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    connection.request("GET", f"/2023-03-30/proxy/{name}/")
    answer = connection.getresponse()
    status, body = answer.status, answer.read()
    connection.close()

    assert (refused.value.response.status_code, refused.value.response.body.strip()) == (403, b"not today")
    assert (status, body.decode().strip()) == (200, next(iter(site.instances(name))))


def test_session_of_a_websocket_is_the_one_that_the_client_names(site):
    """A header of the client's own holds; the answer 101 names none."""
    name = served(site, "HEADER_FIELD", sessionAffinityConfig=json.dumps(
        {"affinityHeaderFieldName": "my-session-id", "sessionConcurrencyPerInstance": 1}))  # fmt: skip
    told = []
    for session in ("one", "two", "one"):
        with connected(site, name, my_session_id=session) as talk:
            told.append(json.loads(talk.recv(timeout=60)))
    with connected(site, name) as unnamed:
        json.loads(unnamed.recv(timeout=60))

    assert [each["session"] for each in told] == ["one", "two", "one"]
    assert told[0]["instance"] == told[2]["instance"] != told[1]["instance"]
    assert site.get(name, "one").container_id == told[0]["instance"]
    assert "my-session-id" not in unnamed.response.headers
    cookie = served(site, "GENERATED_COOKIE")
    with connected(site, cookie) as talk:
        talk.recv(timeout=60)
    assert "Set-Cookie" not in talk.response.headers


def test_session_that_is_connected_does_not_expire(site):
    """The idle time begins with the end of the connection."""
    name = served(site, "HEADER_FIELD", sessionAffinityConfig=json.dumps(
        {"affinityHeaderFieldName": "my-session-id", "sessionIdleTimeoutInSeconds": 60}))  # fmt: skip
    with connected(site, name, my_session_id="on") as talk:
        talk.recv(timeout=60)
        site.localyun.clock.advance("10m")
        talk.send("still here")
        assert talk.recv(timeout=60) == "still here"
        assert site.get(name, "on").session_status == "Active"
    eventually(lambda: left(site, name), 30, lambda: "the call goes on after its client")
    site.localyun.clock.advance("2m")

    assert [each.session_status for each in site.sessions(name).sessions] == ["Expired"]


@pytest.mark.parametrize("kind", [None, "GENERATED_COOKIE"])
def test_connection_ends_without_a_word_at_the_time_out_of_the_function(site, kind):
    """As the platform's does (1006), in an instance of its own or one with others."""
    name = served(site, kind, timeout=1)

    with connected(site, name) as talk:
        talk.recv(timeout=60)
        with pytest.raises(ConnectionClosed):
            talk.recv(timeout=60)

    assert talk.close_code == 1006
    eventually(lambda: "timed out after 1 seconds" in site.localyun.logs(name), 30, lambda: site.localyun.logs(name))


def test_killed_function_ends_its_connections(site):
    """`kill -9` of the program: the client sees it at once, and the next one gets another instance."""
    name = served(site)

    with connected(site, name) as talk:
        first = json.loads(talk.recv(timeout=60))
        talk.send("die")
        with pytest.raises(ConnectionClosed):
            talk.recv(timeout=60)
    with connected(site, name) as talk:
        second = json.loads(talk.recv(timeout=60))

    assert second["instance"] != first["instance"]
