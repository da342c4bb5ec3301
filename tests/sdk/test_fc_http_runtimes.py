"""The same requests to HTTP triggers of both generations, served by Node.js and by a program of one's own."""

import base64
import http.client
import io
import shutil
import uuid
import zipfile

import pytest

pytestmark = pytest.mark.sdk

NODE_2 = """
exports.handler = (request, response, context) => {
  if (request.path === '/redirect') {
    response.setStatusCode(302);
    response.setHeader('Location', '/elsewhere');
    response.setHeader('Set-Cookie', ['a=1', 'b=2; Path=/']);
    response.send('');
    return;
  }
  response.setHeader('Content-Type', 'application/octet-stream');
  response.setHeader('X-Method', request.method);
  response.setHeader('X-Query', JSON.stringify(request.queries));
  response.send(request.method === 'HEAD' ? '' : request.body);
};
"""
NODE_3 = """
exports.handler = async (event) => {
  const asked = JSON.parse(event);
  if (asked.rawPath === '/redirect') {
    const headers = { Location: '/elsewhere', 'Set-Cookie': ['a=1', 'b=2; Path=/'] };
    return { statusCode: 302, headers, body: '' };
  }
  const headers = {
    'Content-Type': 'application/octet-stream',
    'X-Method': asked.requestContext.http.method,
    'X-Query': JSON.stringify(asked.queryParameters),
  };
  return { statusCode: 200, headers, isBase64Encoded: asked.isBase64Encoded, body: asked.body };
};
"""
PROGRAM = """#!/usr/bin/env python3
import json, os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if urlsplit(self.path).path.endswith("/redirect"):
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.send_header("Set-Cookie", "a=1")
            self.send_header("Set-Cookie", "b=2; Path=/")
            body = b""
        else:
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("X-Method", self.command)
            self.send_header("X-Query", json.dumps(dict(parse_qsl(urlsplit(self.path).query))))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = answer
    def log_message(self, *parts):
        pass

ThreadingHTTPServer(("0.0.0.0", int(os.environ["FC_SERVER_PORT"])), Handler).serve_forever()
"""
CASES = {
    "node 2.0": ("nodejs18", "index.js", NODE_2, "2.0"),
    "node 3.0": ("nodejs18", "index.js", NODE_3, "3.0"),
    "custom 2.0": ("custom.debian10", "bootstrap", PROGRAM, "2.0"),
    "custom 3.0": ("custom.debian10", "bootstrap", PROGRAM, "3.0"),
}
LARGE = {"2.0": 5_000_000, "3.0": 20_000_000}
METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD"]


def zipped(name: str, content: str) -> str:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = 0o100755 << 16
        archive.writestr(entry, content)
    return base64.b64encode(sink.getvalue()).decode()


def fc3(emulator):
    from alibabacloud_fc20230330.client import Client

    return Client(emulator.tea_config())


@pytest.fixture(scope="module", params=CASES)
def web(request, emulator, tmp_path_factory):
    """A function behind an anonymous trigger: the path it is reached by, and its generation; removed again."""
    runtime, file, code, generation = CASES[request.param]
    if runtime.startswith("nodejs") and shutil.which("node") is None:
        pytest.skip("there is no node on the PATH")
    name = f"w{uuid.uuid4().hex[:12]}"
    config = {"authType": "anonymous", "methods": METHODS}
    if generation == "2.0":
        folder = tmp_path_factory.mktemp("code")
        (folder / file).write_text(code.lstrip())
        (folder / file).chmod(0o755)
        client = emulator.fc2()
        client.create_service(name)
        client.create_function(name, name, runtime, "index.handler", codeDir=str(folder))
        client.create_trigger(name, name, "web", "http", config, None, None)
        yield f"/2016-08-15/proxy/{name}/{name}", generation
        client.delete_trigger(name, name, "web")
        client.delete_function(name, name)
        client.delete_service(name)
        return
    import json

    from alibabacloud_fc20230330 import models

    client = fc3(emulator)
    made = models.CreateFunctionInput(
        function_name=name,
        runtime=runtime,
        handler="index.handler",
        timeout=60,
        memory_size=1024,
        code=models.InputCodeLocation(zip_file=zipped(file, code.lstrip())),
    )
    client.create_function(models.CreateFunctionRequest(body=made))
    trigger = models.CreateTriggerInput(trigger_name="web", trigger_type="http", trigger_config=json.dumps(config))
    client.create_trigger(name, models.CreateTriggerRequest(body=trigger))
    yield f"/2023-03-30/proxy/{name}", generation
    client.delete_trigger(name, "web")
    client.delete_function(name)


def ask(emulator, method: str, target: str, body: bytes | None = None, **headers: str):
    """Send one request; return the answer, read, with its header fields in order."""
    connection = http.client.HTTPConnection("127.0.0.1", emulator.port, timeout=60)
    try:
        connection.request(method, target, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_a_redirect_with_two_cookies_reaches_the_client_as_it_is(emulator, web):
    """Nothing is followed, and no cookie swallowed."""
    status, headers, body = ask(emulator, "GET", f"{web[0]}/redirect")

    assert (status, headers["Location"], body) == (302, "/elsewhere", b"")
    assert headers.get_all("Set-Cookie") == ["a=1", "b=2; Path=/"]


def test_methods_and_queries_reach_the_function(emulator, web):
    """HEAD is answered without a body, and the query decoded where the runtime decodes it."""
    seen = {}
    for method in METHODS:
        status, headers, body = ask(emulator, method, f"{web[0]}/any?a=1%202&b=%C3%BC")
        seen[method] = (status, headers["X-Method"], body)
        assert headers["X-Query"].replace(" ", "") in {'{"a":"12","b":"ü"}', '{"a":"12","b":"\\u00fc"}', _latin()}

    assert seen == {method: (200, method, b"") for method in METHODS}


def _latin() -> str:
    """How a header of UTF-8 bytes is read by a client that takes them for Latin-1."""
    return '{"a":"12","b":"ü"}'.encode().decode("latin-1")


def test_binary_content_comes_back_unharmed(emulator, web):
    """Every byte, in both directions."""
    content = bytes(range(256)) * 40

    status, _, body = ask(emulator, "POST", f"{web[0]}/echo", content, Content_Type="application/octet-stream")

    assert (status, body) == (200, content)


def test_a_large_upload_is_answered_in_full(emulator, web):
    """As much as the generation allows, give or take the envelope."""
    path, generation = web
    content = bytes(range(251)) * (LARGE[generation] // 251)

    status, _, body = ask(emulator, "PUT", f"{path}/echo", content, Content_Type="application/octet-stream")

    assert status == 200
    assert body == content
