"""``localyun invoke --debug`` against a running emulator, with real debuggers attached."""

import importlib.util
import io
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from alibabacloud_fc20230330.client import Client
from alibabacloud_fc20230330.models import InvokeFunctionRequest, ListInstancesRequest

from tests import commands
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parent.parent.parent
TIMEOUT_S = 1

PYTHON = """
def handler(event, context):
    seen = event.decode()
    answer = seen.upper()
    return answer
"""
NODE = """
exports.handler = async (event) => {
  const seen = event.toString();
  return seen.toUpperCase();
};
"""
ENDLESS = """
def handler(event, context):
    while True:
        pass
"""

pytestmark = pytest.mark.sdk


def fc3(site) -> Client:
    return Client(site.tea_config())


def instances(site, function: str) -> list:
    return fc3(site).list_instances(function, ListInstancesRequest()).body.instances


needs_debugpy = pytest.mark.skipif(importlib.util.find_spec("debugpy") is None, reason="debugpy is not installed")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on the PATH")


@pytest.fixture
def clients():
    """The two debuggers of ``debugger_clients.py``."""
    pytest.importorskip("websockets")
    spec = importlib.util.spec_from_file_location("debugger_clients", Path(__file__).parent / "debugger_clients.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def site(new_emulator, tmp_path):
    """An emulator with a Python, an endless and a Node.js function whose calls may take a second."""
    functions = tmp_path / "functions"
    for name, file, code in (
        ("loud", "index.py", PYTHON),
        ("endless", "index.py", ENDLESS),
        ("nodey", "index.js", NODE),
    ):
        folder = functions / name
        folder.mkdir(parents=True)
        (folder / file).write_text(code.lstrip())
        runtime = "nodejs18" if file.endswith("js") else "python3.10"
        (folder / "function.yml").write_text(f"runtime: {runtime}\ntimeout: {TIMEOUT_S}\n")
    return new_emulator(functions).start()


class Command:
    """``localyun invoke --debug`` as a user runs it; ``configuration`` is what it prints for the editor."""

    def __init__(self, site, *arguments: str) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCALYUN_")}
        environment |= {"PYTHONPATH": str(ROOT), "LOCALYUN_ENDPOINT": site.url, "LOCALYUN_STATE": str(site.state)}
        self.process = commands.popen(
            ["invoke", "--debug", "--json", "--log", *arguments], cwd=Path.cwd(), env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        lines: list[str] = []
        for line in self.process.stderr:
            lines.append(line)
            if line == "}\n":
                break
        else:
            self.process.communicate(timeout=30)
            pytest.fail("".join(lines))
        self.introduction = lines[0]
        self.configuration = json.loads("".join(lines[1:]))

    @property
    def port(self) -> int:
        told = self.configuration
        return told["connect"]["port"] if "connect" in told else told["port"]

    def result(self) -> dict:
        out, _ = self.process.communicate(timeout=60)
        return json.loads(out)


@pytest.fixture
def command(site):
    """Starts debugged calls and ends those that are left over."""
    started = []

    def start(*arguments: str) -> Command:
        started.append(Command(site, *arguments))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
        each.process.communicate(timeout=30)


@needs_debugpy
def test_a_python_function_stops_at_a_breakpoint_for_longer_than_its_time_out_and_answers_then(site, command, clients):
    """The clock of the function stands still while a debugger is attached."""
    called = command("loud", "--event", "quiet")
    source = str(site.functions / "loud" / "index.py")
    assert called.configuration["pathMappings"][0]["localRoot"] == str(site.functions / "loud")

    with clients.Adapter(called.port) as debugger:
        debugger.attach(stops={source: [3]})
        thread = debugger.event("stopped")["threadId"]
        frame = debugger.ask("stackTrace", threadId=thread)["stackFrames"][0]
        passed = f"__import__('time').sleep({TIMEOUT_S * 2})"
        debugger.ask("evaluate", expression=passed, frameId=frame["id"])
        seen = debugger.ask("evaluate", expression="seen", frameId=frame["id"])["result"]
        debugger.ask("evaluate", expression="seen = 'changed'", frameId=frame["id"], context="repl")
        debugger.tell("continue", threadId=thread)
        result = called.result()

    assert (frame["line"], seen) == (3, "'quiet'")
    assert (result["result"], result["error"]) == ("CHANGED", None)
    assert "FC Invoke End" in result["log"]


@needs_node
def test_a_node_function_stops_at_a_breakpoint_for_longer_than_its_time_out_and_answers_then(site, command, clients):
    """The inspector of a Node.js instance takes breakpoints in code that is not loaded yet."""
    called = command("nodey", "--event", "quiet")
    assert called.configuration["type"] == "node"

    with clients.Inspector(called.port) as inspector:
        inspector.ask("Runtime.enable")
        inspector.ask("Debugger.enable")
        inspector.ask("Debugger.setBreakpointByUrl", lineNumber=2, urlRegex=".*/nodey/index.js")
        inspector.ask("Runtime.runIfWaitingForDebugger")
        frame = inspector.event("Debugger.paused")["callFrames"][0]["callFrameId"]
        passed = f"{{ const end = Date.now() + {TIMEOUT_S * 2000}; while (Date.now() < end); }}"
        inspector.ask("Debugger.evaluateOnCallFrame", callFrameId=frame, expression=passed)
        seen = inspector.ask("Debugger.evaluateOnCallFrame", callFrameId=frame, expression="seen")
        inspector.tell("Debugger.resume")
        result = called.result()

    assert seen["result"]["value"] == "quiet"
    assert (result["result"], result["error"]) == ("QUIET", None)


@needs_debugpy
def test_the_time_out_counts_while_no_debugger_is_attached(command):
    """With --no-wait the function runs at once, and its clock too."""
    result = command("endless", "--no-wait").result()

    assert result["error"] == "UnhandledInvocationError"
    assert "timed out after 1 seconds" in result["result"]["errorMessage"]


@needs_debugpy
def test_the_time_out_counts_again_after_the_debugger_has_left(command, clients):
    """Who detaches leaves an ordinary call behind."""
    called = command("endless")

    with clients.Adapter(called.port) as debugger:
        debugger.attach(stops={})
        debugger.ask("disconnect", terminateDebuggee=False)
    result = called.result()

    assert "timed out after 1 seconds" in result["result"]["errorMessage"]


@needs_debugpy
def test_ctrl_c_ends_the_call_and_its_instance(site, command):
    """A call that nobody attaches to does not stay behind."""
    called = command("loud", "--event", "quiet")
    assert eventually(lambda: instances(site, "loud"))

    called.process.send_signal(signal.SIGINT)

    assert called.process.wait(30) == 130
    assert eventually(lambda: not instances(site, "loud"))


@needs_debugpy
def test_a_debugged_instance_serves_no_other_call(site, command, clients):
    """Calls made meanwhile run elsewhere, at their usual pace."""
    called = command("loud", "--event", "quiet")

    answer = fc3(site).invoke_function("loud", InvokeFunctionRequest(body=io.BytesIO(b"other")))
    with clients.Adapter(called.port) as debugger:
        debugger.attach(stops={})
        result = called.result()

    assert (answer.status_code, answer.body.read()) == (200, b"OTHER")
    assert answer.headers["x-localyun-start"] == "cold"
    assert result["result"] == "QUIET"


def test_nobody_opens_a_debugger_without_the_admin_token(site):
    """A signature is not enough, and a wrong token is not either."""
    body = json.dumps({"function": "loud", "wait": False, "port": 0}).encode()

    for headers in ({}, {"X_Localyun_Token": "wrong"}, {"Authorization": "FC a:b"}):
        status, _, answer = site.get("/_localyun/debug", "POST", body, Content_Type="application/json", **headers)
        assert status == 403, answer


@needs_debugpy
def test_a_taken_port_is_told(site, command, clients):
    """A second debugged call cannot have the port of the first."""
    first = command("loud", "--event", "quiet")

    with pytest.raises(pytest.fail.Exception, match=f"nobody can listen on port {first.port}"):
        command("loud", "--debug-port", str(first.port))
