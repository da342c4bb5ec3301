"""A function under the names of its own over HTTPS, for programs that trust the emulator's authority."""

import shutil
import socket
import ssl
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from emulator.testing import Emulator
from tests.waiting import eventually

pytestmark = pytest.mark.sdk

NAMES = ["greet.fc.localhost", "greet.shop.fc.localhost", "order_page.fc.localhost", "order_page.shop.fc.localhost"]

TRIGGER = """
triggers:
- triggerName: web
  triggerType: http
  triggerConfig: {authType: anonymous, methods: [GET]}
"""
CODE = """
def handler(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"hello from %s" % environ["HTTP_HOST"].encode()]
"""


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """Two functions of a service, and what a client needs to trust."""
    folder = tmp_path_factory.mktemp("functions")
    for name in ("greet", "order_page"):
        place = folder / "shop" / name
        place.mkdir(parents=True)
        (place / "index.py").write_text(CODE, encoding="ascii")
        (place / "function.yml").write_text(TRIGGER, encoding="ascii")
    with Emulator(functions=folder, state=tmp_path_factory.mktemp("state") / "s") as started:
        eventually((Path(started.state) / "ca" / "ca.pem").exists)
        yield started


@pytest.fixture(scope="module")
def authority(kit):
    return Path(kit.state) / "ca" / "ca.pem"


@pytest.fixture(scope="module")
def port(kit):
    return urlsplit(kit.https_endpoint).port


@pytest.mark.parametrize("name", NAMES)
def test_a_client_that_checks_the_certificate_reaches_the_function(authority, port, name):
    """At the first connection: the certificate for a name of two levels is made meanwhile."""
    context = ssl.create_default_context(cafile=authority)
    with (  # not every system resolves names below localhost
        socket.create_connection(("127.0.0.1", port), timeout=60) as plain,
        context.wrap_socket(plain, server_hostname=name) as connection,
        connection.makefile("rwb") as stream,
    ):
        stream.write(f"GET / HTTP/1.1\r\nHost: {name}:{port}\r\nConnection: close\r\n\r\n".encode())
        stream.flush()
        head, _, body = stream.read().partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 200 ")
    assert body.decode() == f"hello from {name}:{port}"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_reaches_the_function_too(authority, port):
    """With another TLS library and its own check of the name."""
    words = ["curl", "-sS", "--noproxy", "*", "--cacert", str(authority)]
    found = [
        subprocess.run(
            [*words, "--resolve", f"{name}:{port}:127.0.0.1", f"https://{name}:{port}/"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        for name in NAMES
    ]

    assert [each.stdout or each.stderr for each in found] == [f"hello from {name}:{port}" for name in NAMES]
