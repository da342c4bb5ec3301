"""Large requests, signed and not: the loop goes on serving others, and memory stays bounded.

The lag is measured from outside, by asking for health all the while on a connection of its own.
"""

import base64
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from urllib.parse import quote

import pytest

from emulator.auth import fc as fc_scheme
from emulator.auth import rpc as rpc_scheme
from emulator.http.message import Headers, Request
from emulator.kernel.clock import SystemClock
from emulator.wire.dates import http_date
from tests.abuse.conftest import read_answer

MIB = 1024 * 1024
LONGEST_MS = 200
ATTEMPTS = 4
"""What holds up the loop does so every time; a busy machine does not."""

FORM = "application/x-www-form-urlencoded"


class Lag:
    """Asks for health every few milliseconds; ``worst_ms`` is the longest answer."""

    def __init__(self, victim):
        self._wire = victim.connect()
        self._stop = threading.Event()
        self._answered = threading.Condition()
        self._thread = threading.Thread(target=self._ask)
        self.spans = []

    def _ask(self):
        stream = self._wire.makefile("rb")
        while not self._stop.is_set():
            began = time.perf_counter()
            self._wire.sendall(b"GET /_localyun/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert read_answer(stream)[0] == 200
            with self._answered:
                self.spans.append((time.perf_counter() - began) * 1000)
                self._answered.notify()
            self._stop.wait(0.002)

    def answers(self, count):
        """Wait for *count* more answers."""
        with self._answered:
            wanted = len(self.spans) + count
            assert self._answered.wait_for(lambda: len(self.spans) >= wanted, 60)

    def __enter__(self):
        self._thread.start()
        self.answers(10)
        return self

    def __exit__(self, *_):
        self.answers(50)  # the work behind an answer may go on after it
        self._stop.set()
        self._thread.join()
        self._wire.close()

    @property
    def worst_ms(self):
        return max(self.spans)


def head(method, target, body_size, **fields):
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", f"Content-Length: {body_size}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def send(victim, data):
    """Send all of *data*, or as much as is taken, and return (status, headers, body)."""
    with victim.connect(timeout=120) as wire:
        with contextlib.suppress(OSError):  # answered and closed before the end
            wire.sendall(data)
        with wire.makefile("rb") as stream:
            return read_answer(stream)


def signed(victim, method, path, body, **fields):
    named = {"Host": "localhost", "Date": http_date(SystemClock().now()), "Content-Type": "application/json", **fields}
    request = Request(method, path, Headers(named.items()), b"")
    named["Authorization"] = fc_scheme.authorization(
        request, victim.keys["accessKeyId"], victim.keys["accessKeySecret"]
    )
    del named["Host"]
    return head(method, path, len(body), **named) + body


def repeated(size):
    pairs = b"Action=x&" + b"b%41=%41&" * (size // 9)
    return head("POST", "/", len(pairs), Content_Type=FORM) + pairs


def one_value(size):
    text = b"Action=x&Version=2019-03-15&Name=" + b"%41a" * (size // 4)
    return head("POST", "/", len(text), Content_Type=FORM) + text


def json_of(size):
    return b'{"a": [' + b'{"k": "v"},' * (size // 11) + b"1]}"


ATTACKS = {
    "form of 1 MB": (lambda victim: repeated(MIB - 100), (404,)),  # it names no service
    "form of 10 MB": (lambda victim: repeated(10 * MIB), (400, 413)),
    "form of 40 MB": (lambda victim: repeated(40 * MIB), (400, 413)),
    "one value of 1 MB": (lambda victim: one_value(MIB - 100), (400, 403, 404)),
    "form for a service": (
        lambda victim: head("POST", "/2016-08-15/services", 8 * MIB, Content_Type=FORM) + b"b%41=%41&" * (8 * MIB // 9),
        (401, 403, 400),
    ),
    "8 MB for a service": (
        lambda victim: head("POST", "/2016-08-15/services", 8 * MIB) + b"b%41=%41&" * (8 * MIB // 9),
        (401, 403, 400),
    ),
    "signed JSON of 20 MB": (
        lambda victim: signed(victim, "POST", "/2023-03-30/functions", json_of(20 * MIB)),
        (400, 413),
    ),
    "signed package of 46 MB": (
        lambda victim: signed(
            victim,
            "POST",
            "/2023-03-30/functions",
            json.dumps(
                {
                    "functionName": "large",
                    "runtime": "python3.10",
                    "handler": "index.handler",
                    "code": {"zipFile": base64.b64encode(os.urandom(46 * MIB)).decode()},
                }
            ).encode(),
        ),
        (400,),  # it is no zip file
    ),
    "signed invocation of 30 MB": (
        lambda victim: signed(victim, "POST", "/2023-03-30/functions/echo/invocations", json_of(30 * MIB)),
        (200,),
    ),
    "admin call of 20 MB": (
        lambda victim: (
            head(
                "POST",
                "/_localyun/fire-trigger",
                20 * MIB,
                Content_Type="application/json",
                X_Localyun_Token=victim.keys["adminToken"],
            )
            + json_of(20 * MIB).ljust(20 * MIB)[: 20 * MIB]
        ),
        (400, 413),
    ),
}


@pytest.mark.parametrize("attack", list(ATTACKS))
def test_a_large_request_holds_up_nobody(victim, attack):
    """No other call waits for over 200 ms, and the answer is an error of the service's own."""
    make, expected = ATTACKS[attack]
    data = make(victim)
    victim.is_well()

    lags = []
    for _ in range(ATTEMPTS):
        with Lag(victim) as quiet:
            quiet.answers(100)
        with Lag(victim) as lag:
            status, _, body = send(victim, data)
        assert status in expected, body[:300]
        assert status == 200 or b"Code" in body
        lags.append(lag.worst_ms - quiet.worst_ms)  # a busy machine is slow without large requests too
        if lags[-1] < LONGEST_MS:
            break
        data = make(victim)

    assert lags[-1] < LONGEST_MS, lags


def test_a_signed_form_with_a_large_value_is_served(victim):
    """The largest definition that fits into a form of a megabyte."""
    steps = "".join(f"  - {{type: pass, name: a{n}}}\n" for n in range(2_000))
    parameters = rpc_scheme.signed_parameters(
        "POST",
        {
            "Action": "CreateFlow",
            "Version": "2019-03-15",
            "Name": "large",
            "Type": "FDL",
            "Description": "",
            "Definition": "version: v1\ntype: flow\nsteps:\n" + steps,
        },
        key_id=victim.keys["accessKeyId"],
        secret=victim.keys["accessKeySecret"],
        timestamp=SystemClock().now(),
        nonce="large-form",
    )
    body = "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items()).encode()

    status, _, answer = send(victim, head("POST", "/", len(body), Content_Type=FORM) + body)

    assert status in {200, 400}, answer[:500]
    assert b"TooLarge" not in answer


UPLOADS = """
import contextlib, socket, sys, threading
from pathlib import Path
port, size = int(sys.argv[1]), int(sys.argv[2])
answers = []
def upload(number):
    with socket.create_connection(("127.0.0.1", port), timeout=120) as wire:
        with contextlib.suppress(OSError):
            wire.sendall(b"POST /bucket%d/ HTTP/1.1\\r\\nHost: localhost\\r\\n" % number)
            wire.sendall(b"Content-Length: %d\\r\\n" % size)
            wire.sendall(b"Content-Type: multipart/form-data; boundary=b\\r\\n\\r\\n")
            for _ in range(size >> 20):
                wire.sendall(bytes(1 << 20))
        with contextlib.suppress(OSError):
            answers.append(wire.recv(12))
threads = [threading.Thread(target=upload, args=(number,)) for number in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(*sorted(answer.decode()[9:] or "reset" for answer in answers))
"""


def has_ended(process, within_s):
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(within_s)
    return process.returncode is not None


@pytest.mark.unmeasured
def test_bodies_of_unknown_senders_share_a_bounded_memory(victim):
    """Twelve of 120 MB at once, in a form whose signature stands in it; most are refused."""
    victim.is_well()
    before = most = victim.memory_kib
    lags = []
    while len(lags) < ATTEMPTS and (not lags or lags[-1] >= LONGEST_MS):
        uploads = subprocess.Popen(
            [sys.executable, "-c", UPLOADS, str(victim.port), str(120 * MIB)], stdout=subprocess.PIPE, text=True
        )
        with Lag(victim) as lag:
            while not has_ended(uploads, within_s=0.02):
                most = max(most, victim.memory_kib)
        lags.append(lag.worst_ms)
        statuses = uploads.communicate()[0].split()
        assert set(statuses) <= {"400", "403", "413", "reset"}

    assert (most - before) // 1024 < 400
    assert lags[-1] < LONGEST_MS, lags


def test_a_caller_who_is_not_known_is_told_before_the_body(victim):
    """An upload with a wrong key is refused at its head, and the client reads why although it sends on."""
    body = b"x" * (40 * MIB)
    data = signed(victim, "POST", "/2023-03-30/functions", body).replace(victim.keys["accessKeyId"].encode(), b"other")
    before = victim.memory_kib

    status, _, answer = send(victim, data)

    assert status == 403
    assert json.loads(answer)["Code"] == "InvalidAccessKeyID"
    assert victim.memory_kib - before < 20 * 1024


UPLOAD = """
import sys
import oss2
address, key, secret, size, bucket = sys.argv[1:]
bucket = oss2.Bucket(oss2.Auth(key, secret), address, bucket, is_path_style=True, enable_crc=False)
bucket.create_bucket()
print("ready", flush=True)
sys.stdin.readline()
bucket.put_object("large", bytes(int(size)))
print(bucket.head_object("large").content_length)
"""


@pytest.mark.timeout(400)
def test_an_object_of_100_mb_holds_up_nobody(victim):
    """Its content is hashed and written beside the loop."""
    pytest.importorskip("oss2")
    pytest.importorskip("moto")
    keys = victim.keys
    size = 100 * MIB

    lags = []
    for attempt in range(ATTEMPTS):
        words = [f"http://127.0.0.1:{victim.port}", keys["accessKeyId"], keys["accessKeySecret"], str(size)]
        upload = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", UPLOAD, *words, f"lag-{attempt}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert upload.stdout.readline() == "ready\n"  # object storage is loaded by then, which takes a moment
        with Lag(victim) as quiet:
            quiet.answers(200)  # half a second and more of what the machine does by itself
        with Lag(victim) as lag:
            said = upload.communicate("go\n", timeout=120)[0]
        assert said == f"{size}\n"
        lags.append(lag.worst_ms - quiet.worst_ms)
        if lags[-1] < LONGEST_MS:
            break

    assert lags[-1] < LONGEST_MS, lags
