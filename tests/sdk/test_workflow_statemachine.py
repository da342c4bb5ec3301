"""Flows of the state machine language through both official SDKs, against a started emulator."""

import http.server
import importlib
import json
import threading
from contextlib import contextmanager

import pytest

pytest.importorskip("aliyunsdkfnf")
pytest.importorskip("alibabacloud_fnf20190315")

pytestmark = pytest.mark.sdk


class Core:
    """The classic SDK."""

    def __init__(self, emulator) -> None:
        self._fnf = emulator.fnf()

    def call(self, operation, **parameters):
        request = self._fnf.request(operation, **parameters)
        request.set_protocol_type("http")  # that of StartSyncExecution is https else
        return json.loads(self._fnf.client.do_action_with_exception(request))


class Tea:
    """The newer SDK."""

    def __init__(self, emulator) -> None:
        from alibabacloud_fnf20190315.client import Client

        self._client = Client(emulator.tea_config())

    def call(self, operation, **parameters):
        models = importlib.import_module("alibabacloud_fnf20190315.models")
        request = getattr(models, f"{operation}Request")().from_map(parameters)
        method = "".join("_" + letter.lower() if letter.isupper() else letter for letter in operation).lstrip("_")
        return getattr(self._client, method)(request).body.to_map()


@pytest.fixture(params=[Core, Tea], ids=["core", "tea"])
def fnf(request, emulator):
    """A client of either SDK; flows it has made go with the test."""
    client = request.param(emulator)
    client.made = []
    yield client
    for name in client.made:
        client.call("DeleteFlow", Name=name)


def machine(name, *states):
    document = {"Type": "StateMachine", "Name": name, "SpecVersion": "v1", "StartAt": states[0]["Name"]}
    return json.dumps({**document, "States": list(states)})


def create(fnf, name, *states, **more):
    fnf.made.append(name)
    return fnf.call("CreateFlow", Name=name, Definition=machine(name, *states), Description="d", Type="FDL", **more)


def outcome(fnf, flow, given):
    """Run the flow and return its status and output."""
    started = fnf.call("StartExecution", FlowName=flow, Input=json.dumps(given))["Name"]
    done = fnf.call("DescribeExecution", FlowName=flow, ExecutionName=started, WaitTimeSeconds=20)
    return done["Status"], json.loads(done["Output"] or "null")


ORDER = (
    {
        "Type": "Pass", "Name": "prepare", "Next": "big",
        "OutputConstructor": {
            "ticket.$": "uuid()", "amount.$": "$Input.order.amount", "lines.$": "length($Input.order.lines)",
            "source": "web",
        },
    },
    {
        "Type": "Choice", "Name": "big", "Default": "done",
        "Branches": [
            {"Condition": "$Input.amount >= 1000 && $Input.lines > 0", "Next": "review"},
            {"Condition": "$Input.lines == 0", "Next": "refuse"},
        ],
    },
    {"Type": "Pass", "Name": "review", "OutputConstructor": {"queue": "manual"}, "End": True},
    {"Type": "Fail", "Name": "refuse", "Code": "EmptyOrder", "Detail": "an order needs a line"},
    {"Type": "Succeed", "Name": "done"},
)  # fmt: skip


def test_a_flow_is_made_described_changed_and_run(fnf):
    """The definition comes back verbatim; each order takes its way."""
    created = create(fnf, "sm-orders", *ORDER)
    described = fnf.call("DescribeFlow", Name="sm-orders")

    assert created["Type"] == described["Type"] == "FDL"
    assert described["Definition"] == machine("sm-orders", *ORDER)
    status, small = outcome(fnf, "sm-orders", {"order": {"amount": 20, "lines": [1]}})
    assert (status, small["amount"], small["source"], len(small["ticket"])) == ("Succeeded", 20, "web", 36)
    assert outcome(fnf, "sm-orders", {"order": {"amount": 5000, "lines": [1]}}) == ("Succeeded", {"queue": "manual"})
    assert outcome(fnf, "sm-orders", {"order": {"amount": 1, "lines": []}}) == ("Failed", None)
    changed = machine("sm-orders", {"Type": "Succeed", "Name": "only"})
    assert fnf.call("UpdateFlow", Name="sm-orders", Definition=changed)["Definition"] == changed


def test_an_express_flow_answers_at_once(fnf):
    """With its output, or the error's code and message."""
    create(fnf, "sm-express", *ORDER, ExecutionMode="Express")

    good = fnf.call("StartSyncExecution", FlowName="sm-express", Input='{"order":{"amount":1000,"lines":[1]}}')
    bad = fnf.call("StartSyncExecution", FlowName="sm-express", Input='{"order":{"amount":1,"lines":[]}}')

    assert (good["Status"], json.loads(good["Output"])) == ("Succeeded", {"queue": "manual"})
    assert (bad["Status"], bad["ErrorCode"], bad["ErrorMessage"]) == ("Failed", "EmptyOrder", "an order needs a line")


def test_functions_children_and_addresses_are_called(fnf, emulator):
    """A parallel of all three; the result has one member for each branch."""
    twice = {"twice.$": "intAdd($Input.n, $Input.n)"}
    create(fnf, "sm-child", {"Type": "Pass", "Name": "p", "OutputConstructor": twice, "End": True})
    function = {
        "Type": "Task", "Name": "echo", "Action": "FC:InvokeFunction", "End": True,
        "Parameters": {"resourceArn": "acs:fc:::services/fnf-demo/functions/echo", "body": {"n.$": "$Input.n"}},
    }  # fmt: skip
    child = {
        "Type": "Task", "Name": "child", "Action": "FNF:StartExecution", "TaskMode": "WaitForSystemCallback",
        "End": True,
        "Parameters": {
            "resourceArn": "acs:fnf:::flow/sm-child", "input.$": "$Input",
            "executionName.$": 'format("of-{}", hash($Context.Execution.Name, "MD5"))',
        },
    }  # fmt: skip
    address = {
        "Type": "Task", "Name": "call", "Action": "HTTP:Request", "End": True,
        "Parameters": {"url.$": "$Input.url", "method": "Post", "body": {"n.$": "$Input.n"}},
    }  # fmt: skip
    branches = [{"StartAt": state["Name"], "States": [state]} for state in (function, child, address)]
    create(
        fnf,
        "sm-calls",
        {
            "Type": "Parallel", "Name": "all", "Branches": branches, "End": True,
            "OutputConstructor": {
                "function.$": "$Output.Branch0.Body", "child.$": "$Output.Branch1", "code.$": "$Output.Branch2.Code",
                "answer.$": "$Output.Branch2.Body", "kind.$": '$Output.Branch2.Header["Content-Type"]',
            },
        },
    )  # fmt: skip

    with teapot() as url:
        found = outcome(fnf, "sm-calls", {"n": 21, "url": url})

    assert found == (
        "Succeeded",
        {
            "function": {"n": 21},
            "child": {"twice": 42},
            "code": 418,
            "answer": {"got": {"n": 21}},
            "kind": "application/json",
        },
    )


def test_an_address_that_is_not_allowed_fails_the_task(fnf):
    """Calls leave the machine only to where pushes may go."""
    call = {
        "Type": "Task", "Name": "call", "Action": "HTTP:Request", "Next": "end",
        "Parameters": {"url": "http://192.0.2.1/", "method": "GET"},
        "Catch": [{"Errors": ["FnF.ALL"], "OutputConstructor": {"error.$": "$Context.Current.Error"}, "Next": "end"}],
    }  # fmt: skip
    create(fnf, "sm-outside", call, {"Type": "Succeed", "Name": "end"})

    status, found = outcome(fnf, "sm-outside", {})

    assert (status, found["error"]["Code"]) == ("Succeeded", "HTTP.Unknown")


def test_a_broken_definition_is_refused(fnf):
    """With the code InvalidArgument and the place."""
    broken = machine("sm-broken", {"Type": "Pass", "Name": "p", "Next": "q"})

    with pytest.raises(Exception, match=r"States\[0\]\.Next: there is no state 'q'") as refused:
        fnf.call("CreateFlow", Name="sm-broken", Definition=broken, Description="d", Type="FDL")

    code = getattr(refused.value, "error_code", None) or refused.value.code
    assert code == "InvalidArgument"


@contextmanager
def teapot():
    """Serve an address that answers 418 with what it got."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps({"got": got}).encode()
            self.send_response(418)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
