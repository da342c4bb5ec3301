"""Small inputs that would grow: refused in the service's own words, quickly, and with nothing left behind."""

import base64
import hashlib
import io
import json
import stat
import struct
import time
import zipfile
from urllib.parse import quote

import pytest

from emulator.auth import acs3
from emulator.auth import fc as fc_scheme
from emulator.auth import mns as mns_scheme
from emulator.http.message import Headers, Request
from emulator.kernel.clock import SystemClock
from emulator.wire.dates import http_date, iso_seconds

MEMORY_KIB = 96 * 1024
"""How much one refused input may leave the process larger: what is freed is not always given back at once."""


class Caller:
    """Signed calls of all three services, over fresh connections."""

    def __init__(self, victim):
        self._victim = victim
        self._key = (victim.keys["accessKeyId"], victim.keys["accessKeySecret"])

    def fc(self, method, path, body=b"", **headers):
        fields = {"Date": http_date(SystemClock().now()), "Content-Type": "application/json", **headers}
        return self._send(method, path, fields, body, fc_scheme.authorization)

    def mns(self, method, path, body=b""):
        fields = {"Date": http_date(SystemClock().now()), "Content-Type": "text/xml", "x-mns-version": "2015-06-06"}
        return self._send(method, path, fields, body, mns_scheme.authorization)

    def rpc(self, action, version="2019-03-15", **parameters):
        body = "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items()).encode()
        now = SystemClock().now()
        digest = hashlib.sha256(body).hexdigest()
        fields = {
            "x-acs-action": action, "x-acs-version": version, "x-acs-date": iso_seconds(now),
            "x-acs-signature-nonce": str(time.time_ns()), "x-acs-content-sha256": digest,
            "Content-Type": "application/x-www-form-urlencoded",
        }  # fmt: skip
        return self._send("POST", "/", fields, body, acs3.authorization)

    def _send(self, method, path, fields, body, sign):
        fields = {"Host": self._victim.address, **fields}
        request = Request(method, path, Headers(fields.items()), body)
        fields["Authorization"] = sign(request, *self._key)
        named = {name.replace("-", "_"): value for name, value in fields.items()}
        status, headers, answer = self._victim.get(path, method, body, **named)
        return status, headers, answer.decode()


@pytest.fixture
def caller(victim):
    """The signed calls; the process must be about as large afterwards as before."""
    victim.is_well()
    before = victim.memory_kib
    yield Caller(victim)
    assert victim.is_well()
    assert victim.memory_kib - before < MEMORY_KIB


def create(caller, package: bytes):
    """Ask for a function with this package; return (status, answer)."""
    content = {
        "functionName": "bomb", "runtime": "python3.10", "handler": "index.handler",
        "code": {"zipFile": base64.b64encode(package).decode()},
    }  # fmt: skip
    status, _, answer = caller.fc("POST", "/2023-03-30/functions", json.dumps(content).encode())
    assert caller.fc("GET", "/2023-03-30/functions/bomb")[0] == 404
    return status, json.loads(answer)


def zipped(*entries, compress=zipfile.ZIP_STORED):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", compress) as archive:
        for name, mode, content in entries:
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr, info.compress_type = 3, mode << 16, compress
            archive.writestr(info, content)
    return sink.getvalue()


def _listed_again(package: bytes, times: int) -> bytes:
    """Return *package* with its one entry in the directory so many times, all of them with the same content."""
    start, end = package.rfind(b"PK\x01\x02"), package.rfind(b"PK\x05\x06")
    record = package[start:end]
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, times, times, len(record) * times, start, 0)
    return package[:start] + record * times + tail


FILE, LINK = stat.S_IFREG | 0o644, stat.S_IFLNK | 0o777


def test_a_zip_bomb_is_not_unpacked(victim, caller):
    """More than a gigabyte of zeros in a hundred kilobytes, told truthfully: refused, and no file stays."""
    package = zipped(("zeros", FILE, bytes(1 << 20)), compress=zipfile.ZIP_DEFLATED)

    status, answer = create(caller, _listed_again(package, 1_100))

    assert (status, answer["Code"]) == (400, "InvalidArgument")
    assert "unpacks to more than" in answer["Message"]
    assert [path for path in victim.state.rglob("zeros") if path.is_file()] == []


def test_entries_that_lie_about_their_size_are_not_unpacked(victim, caller):
    """The directory says one byte, the content is megabytes."""
    package = bytearray(zipped(("liar", FILE, bytes(50 << 20)), compress=zipfile.ZIP_DEFLATED))
    directory = package.rfind(b"PK\x01\x02")
    package[directory + 24 : directory + 28] = (1).to_bytes(4, "little")

    status, answer = create(caller, bytes(package))

    assert (status, answer["Code"]) == (400, "InvalidArgument")
    assert list(victim.state.rglob("liar")) == []


@pytest.mark.parametrize(
    "entries",
    [
        [("../outside", FILE, b"x")],
        [("/tmp/outside", FILE, b"x")],
        [("link", LINK, b"/etc/passwd")],
        [("link", LINK, b"../../../../outside")],
        [("a", LINK, b".."), ("a/outside", FILE, b"x")],
        [("a", LINK, b"b"), ("b", LINK, b"../..")],
        [("a/b/link", LINK, b"../../..")],
        [("a", LINK, b"."), ("a/a/a/outside", FILE, b"x")],
    ],
    ids=["parent", "absolute", "absolute link", "relative link", "through a link", "link to a link", "deep link",
    "below a link"],
)  # fmt: skip
def test_packages_that_reach_outside_are_refused(victim, caller, entries):
    """Whatever the form of the way out."""
    status, answer = create(caller, zipped(*entries, ("index.py", FILE, b"")))

    assert (status, answer["Code"]) == (400, "InvalidArgument")
    assert list(victim.state.rglob("outside")) == []


LAUGHS = b"<!DOCTYPE a [<!ENTITY a0 'ha'>" + b"".join(
    b"<!ENTITY a%d '%s'>" % (number, b"&a%d;" % (number - 1) * 10) for number in range(1, 12)
) + b"]><Message><MessageBody>&a11;</MessageBody></Message>"  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        LAUGHS,
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><Message><MessageBody>a</MessageBody></Message>',
        b"<Message><MessageBody>&file;</MessageBody></Message>",
        b"<a>" * 100_000,
        b"<Message>" + b"<a/>" * 50_000 + b"</Message>",
        b'<Message xmlns:x="'
        + b"u" * 200_000
        + b'"><MessageBody '
        + b" ".join(b'x:a%d=""' % n for n in range(15_000))
        + b"/>",
        b"<Message><MessageBody>a</MessageBody><Priority>" + b"9" * 100_000 + b"</Priority></Message>",
    ],
    ids=["laughs", "external", "entity", "depth", "breadth", "namespace", "number"],
)
def test_xml_bombs_are_refused(caller, body):
    """Entities, depth, breadth, names that grow: the code for a document that cannot be used."""
    assert caller.mns("PUT", "/queues/bombs")[0] in {201, 204}

    status, _, answer = caller.mns("POST", "/queues/bombs/messages", body)

    assert status == 400
    assert "<Code>MalformedXML</Code>" in answer or "<Code>InvalidArgument</Code>" in answer
    assert "root:" not in answer


STEP = "version: v1\ntype: flow\nsteps:\n"


@pytest.mark.parametrize(
    "definition",
    [
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]\n" for n in range(1, 40)),
        STEP + "  - " * 5_000 + "x",
        STEP + "[" * 100_000,
        "{" * 100_000,
        "&a [*a]",
        "!!python/object/apply:os.system ['touch /tmp/never']",
        STEP + "  - {type: wait, name: w, duration: " + "9" * 5_000 + "}",
        STEP + "  - {type: choice, name: c, choices: [{condition: '" + "(" * 20_000 + "', goto: d}]}",
        STEP + "  - {type: choice, name: c, choices: [{condition: '$.a == \"" + "\\\\" * 20_000 + "', goto: d}]}",
        "\t" * 100_000,
        "a: " * 50_000,
    ],
    ids=["laughs", "lists", "brackets", "braces", "loop", "tag", "number", "condition", "escapes", "tabs", "colons"],
)
def test_yaml_bombs_are_refused(caller, definition):
    """Aliases that multiply, depth, tags that run programs, conditions without an end."""
    status, _, answer = caller.rpc("CreateFlow", Name="bomb", Type="FDL", Description="", Definition=definition)

    assert (status, json.loads(answer)["Code"]) == (400, "InvalidArgument")
    assert caller.rpc("DescribeFlow", Name="bomb")[0] == 404


DEEP = [
    b"[" * 200_000,
    b'{"a":' * 100_000,
    b"[" * 900 + b"]" * 900,
    b'{"description": ' + b"9" * 100_000 + b"}",
    b'{"timeout": 1e400}',
]


@pytest.mark.parametrize("body", DEEP, ids=["lists", "objects", "closed", "digits", "infinity"])
def test_json_bombs_are_refused(caller, body):
    """Depth and numbers that no reader keeps."""
    status, _, answer = caller.fc("POST", "/2023-03-30/functions", body)

    assert status == 400
    assert json.loads(answer)["Code"] == "InvalidArgument"


@pytest.mark.parametrize("body", [b"[" * 50_000, b'{"a":' * 20_000], ids=["lists", "objects"])
def test_json_bombs_are_input_like_any_other_or_refused(caller, body):
    """An execution's input that is no JSON is refused."""
    assert caller.rpc(
        "CreateFlow", Name="plain", Type="FDL", Description="", Definition=STEP + "  - {type: pass, name: a}"
    )[0] in {200, 409}

    status, _, answer = caller.rpc("StartExecution", FlowName="plain", Input=body.decode())

    assert (status, json.loads(answer)["Code"]) == (400, "InvalidArgument")


@pytest.mark.parametrize("body", DEEP[:2], ids=["lists", "objects"])
def test_json_bombs_at_the_admin_pages_are_refused(victim, body):
    """The token's holder may make mistakes too."""
    status, _, answer = victim.get(
        "/_localyun/fire-trigger",
        "POST",
        body,
        Content_Type="application/json",
        X_Localyun_Token=victim.keys["adminToken"],
    )

    assert (status, json.loads(answer)["Code"]) == (400, "InvalidArgument")


def test_a_rewrite_rule_without_an_end_stops_nobody(victim, caller):
    """A custom domain whose expression takes for ever on one path: that path is served, and so is everything else."""
    rules = [{"match": "^/(a+)+$", "replacement": "/rewritten"}]
    route = {"path": "/*", "functionName": "echo", "rewriteConfig": {"regexRules": rules}}
    content = {"domainName": "bomb.example.com", "protocol": "HTTP", "routeConfig": {"routes": [route]}}
    assert caller.fc("POST", "/2023-03-30/custom-domains", json.dumps(content).encode())[0] == 200

    with victim.connect() as wire:
        wire.sendall(b"GET /" + b"a" * 60 + b"! HTTP/1.1\r\nHost: bomb.example.com\r\nConnection: close\r\n\r\n")
        assert victim.is_well()
        assert wire.recv(100).startswith(b"HTTP/1.1 ")

    assert caller.fc("DELETE", "/2023-03-30/custom-domains/bomb.example.com")[0] == 204
