"""Functions see the emulator's time; traces survive a kill; spans reach a collector."""

import os
import re
import shutil
import signal
import sys
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from emulator.services.fc.runtime.settings import faketime_library
from emulator.testing import ApiError, Emulator
from tests import commands

pytestmark = pytest.mark.sdk

PYTHON = """
import datetime, json, sys, time, uuid
LOADED = time.time()
def handler(event, context):
    began = time.monotonic()
    time.sleep(0.01)
    return json.dumps({
        "loaded": LOADED, "time": time.time(), "ns": time.time_ns() / 1e9, "year": time.gmtime().tm_year,
        "local": time.localtime().tm_year, "strftime": int(time.strftime("%Y")),
        "now": datetime.datetime.now(datetime.timezone.utc).timestamp(), "today": datetime.date.today().year,
        "uuid1": (uuid.uuid1().time - 0x01B21DD213814000) / 1e7, "slept": time.monotonic() - began,
        "machine": "time_machine" in sys.modules,
    })
"""
NODE = """
const LOADED = Date.now();
exports.handler = (event, context, callback) => callback(null, JSON.stringify({
  loaded: LOADED / 1000, time: Date.now() / 1000, year: new Date().getUTCFullYear(), text: Date(),
  given: new Date(0).toISOString(), origin: (performance.timeOrigin + performance.now()) / 1000,
  same: new Date() instanceof Date && new Date().constructor === Date,
}));
"""
SIGNING = """
import os
from aliyunsdkcore.auth.credentials import StsTokenCredential
from aliyunsdkcore.client import AcsClient
from aliyunsdkcore.request import CommonRequest
def handler(event, context):
    keys = StsTokenCredential(*(os.environ["ALIBABA_CLOUD_" + name]
        for name in ("ACCESS_KEY_ID", "ACCESS_KEY_SECRET", "SECURITY_TOKEN")))
    request = CommonRequest(domain="cn-hangzhou.fnf.aliyuncs.com", version="2019-03-15", action_name="ListFlows")
    request.set_protocol_type("http")
    return AcsClient(region_id="cn-hangzhou", credential=keys).do_action_with_exception(request)
"""
PROGRAM = f"['{sys.executable}', server.py]"
PYTHON_PARENT = """
import subprocess
def handler(event, context):
    return subprocess.check_output(["date", "+%s.%N"])
"""
NODE_PARENT = """
const { execFileSync } = require('child_process');
exports.handler = (event, context, callback) => callback(null, execFileSync('date', ['+%s.%N']).toString());
"""
SERVER = """
import http.server, os, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        time.sleep(0.01)
        body = str(time.time()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST
http.server.HTTPServer(("0.0.0.0", int(os.environ["FC_SERVER_PORT"])), Handler).serve_forever()
"""
YEARS_S = 3 * 365 * 86_400


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Functions that tell the time."""
    made = tmp_path_factory.mktemp("functions")
    for name, file, code, settings in (
        ("python", "index.py", PYTHON, ""),
        ("node", "index.js", NODE, "runtime: nodejs18\n"),
        ("signing", "index.py", SIGNING, ""),
        ("python-parent", "index.py", PYTHON_PARENT, ""),
        ("node-parent", "index.js", NODE_PARENT, "runtime: nodejs18\n"),
        ("program", "server.py", SERVER, f"runtime: custom\ncustomRuntimeConfig: {{command: {PROGRAM}, port: 9000}}\n"),
    ):
        (made / name).mkdir()
        (made / name / file).write_text(code)
        (made / name / "function.yml").write_text(f"timeout: 20\n{settings}")
    return made


@pytest.mark.parametrize("function", ["python", "node"])
def test_warm_and_cold_functions_see_a_moved_clock(folder, function):
    """Every way of asking, from the first line of the code on; sleeping stays real."""
    if function == "node" and shutil.which("node") is None:
        pytest.skip("no node here")
    with Emulator(functions=folder) as localyun:
        before = localyun.invoke(function).json()
        localyun.clock.advance("100s")
        warm = localyun.invoke(function).json()
        localyun.api.admin("POST", "reset", {"function": function})
        cold = localyun.invoke(function).json()

    assert not before.get("machine")
    assert 99 < warm["time"] - before["time"] < 160
    assert warm["loaded"] == before["loaded"]
    for seen in ("loaded", "ns", "now", "uuid1", "origin"):
        assert seen not in cold or abs(cold[seen] - cold["time"]) < 10
    assert cold["time"] > warm["time"]


def test_a_frozen_clock_stands_still_for_functions(folder):
    """And goes on when it is let go."""
    with Emulator(functions=folder) as localyun:
        localyun.clock.freeze()
        first, second = (localyun.invoke("python").json() for _ in range(2))
        now = localyun.clock.now().timestamp()
        localyun.clock.unfreeze()
        third = localyun.invoke("python").json()

    assert first["time"] == second["time"] == pytest.approx(now, abs=0.001)
    assert second["slept"] >= 0.01
    assert third["time"] > second["time"]


@pytest.mark.skipif(not faketime_library(), reason="libfaketime is not installed")
@pytest.mark.parametrize("function", ["python-parent", "node-parent", "program"])
def test_programs_see_the_time_through_libfaketime(folder, function):
    """Those that functions start, and custom runtimes, which may sleep, warm too; moved, frozen, and real again."""
    if function == "node-parent" and shutil.which("node") is None:
        pytest.skip("no node here")

    def seen(localyun):
        return float(localyun.invoke(function).text)

    with Emulator(functions=folder) as localyun:
        real = seen(localyun)
        localyun.clock.advance(YEARS_S)
        moved = seen(localyun)
        localyun.clock.freeze()
        standing = [seen(localyun) for _ in range(2)]
        now = localyun.clock.now().timestamp()
        localyun.reset()
        again = seen(localyun)

    assert YEARS_S <= moved - real < YEARS_S + 60
    assert standing == pytest.approx([now, now], abs=0.01)
    assert real < again < real + 60


@pytest.mark.parametrize("frozen", [False, True], ids=["moved", "frozen"])
def test_a_reset_puts_the_clock_back(frozen):
    """To the machine's time; what is sent then is due by it, and the state that a restart finds is at it too."""
    with Emulator() as localyun:
        localyun.clock.advance(YEARS_S)
        if frozen:
            localyun.clock.freeze()
        localyun.queue("q").send("then", delay_s=60)

        localyun.reset()
        localyun.queue("q").send("now", delay_s=60)
        view = localyun.api.admin("GET", "clock")
        localyun.clock.advance("60s")

        assert (view["offset_ms"], view["frozen"]) == (0, False)
        assert [message.body for message in localyun.queue("q").peek(2)] == ["now"]


def test_keys_of_functions_work_three_years_ahead(folder):
    """The function signs with the emulator's date, the client outside with its own."""
    with Emulator(functions=folder) as localyun:
        localyun.clock.advance(YEARS_S)

        answer = localyun.invoke("signing")

    assert "Flows" in answer.json()


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "ephemeral"])
def test_years_in_which_nothing_happens_have_few_stops(tmp_path, kept):
    """Housekeeping has nothing to do then; what is due on the way is done at its time."""
    wait = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: rest, duration: 172800}\n"
    with Emulator(state=tmp_path if kept else None) as localyun:
        localyun.clock.freeze()
        queue = localyun.queue("quiet")
        queue.send("later", delay_s=604_800)
        run = localyun.flow("rest", wait).start({})
        began = localyun.clock.now()

        moved = localyun.clock.advance(YEARS_S)

        assert moved["ran"] < 2_000
        assert localyun.clock.now() == began + timedelta(seconds=YEARS_S)
        assert queue.counters["active"] == 0  # has expired long ago
        with pytest.raises(ApiError, match="ExecutionNotExists"):
            run.describe()  # so has the execution


def test_a_trace_survives_a_kill(tmp_path):
    """The tree is asked for after the next start."""
    emulator = Emulator(state=tmp_path / "state")
    with emulator as localyun:
        localyun.queue("kept")
        message = localyun.queue("kept").send("one")
        before = localyun.trace(message)
        localyun.clock.advance("1s")
        os.kill(emulator._process.pid, signal.SIGKILL)
        emulator._process.wait()

    with Emulator(state=tmp_path / "state") as localyun:
        after = localyun.trace(message)

    assert [node["name"] for node in after["tree"]] == ["mns SendMessage"]
    assert after == before


class Collector(BaseHTTPRequestHandler):
    """Takes spans over OTLP/HTTP."""

    def do_POST(self):
        """Decode and keep them."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        self.server.received.append((self.path, ExportTraceServiceRequest.FromString(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        """Be quiet."""


def test_a_trace_is_printed_and_sent_to_a_collector():
    """As one trace whose spans hang together as the tree does."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    collector = HTTPServer(("127.0.0.1", 0), Collector)
    collector.received = []
    thread = threading.Thread(target=collector.serve_forever)
    thread.start()
    address = f"http://127.0.0.1:{collector.server_port}"
    try:
        with Emulator() as localyun:
            sink = localyun.sink()
            localyun.topic("t").subscribe(sink.url)
            message = localyun.topic("t").publish("hello")
            localyun.settle()
            environment = {**os.environ, **localyun.env}
            words = ["trace", message, "--otlp", address]
            done = commands.run(words, cwd=Path.cwd(), env=environment, timeout=60)
    finally:
        collector.shutdown()
        thread.join()
        collector.server_close()

    assert done.returncode == 0, done.stderr
    assert re.findall(r"\+\S+  (\w+)", done.stdout) == ["request", "message", "push"]
    ((path, request),) = collector.received
    (scope,) = request.resource_spans[0].scope_spans
    spans = {span.span_id: span for span in scope.spans}
    assert path == "/v1/traces"
    assert [span.name.split()[0] for span in spans.values()] == ["request", "message", "push"]
    assert [span.parent_span_id in spans for span in spans.values()] == [False, True, True]
    assert len({span.trace_id for span in spans.values()}) == 1


def test_an_unknown_id_has_no_trace():
    """The answer says so."""
    with Emulator() as localyun, pytest.raises(ApiError) as caught:
        localyun.trace("nothing")

    assert (caught.value.status, caught.value.code) == (404, "NotFound")
